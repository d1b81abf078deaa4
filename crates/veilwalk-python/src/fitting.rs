//! Chains of the moves of walks, counted as they are or with noise.

use std::num::NonZeroU32;

use pyo3::prelude::*;
use veilwalk::chain::{FitTerms, FitTermsError, Fitted, PrivateFit, TransitionCounts};
use veilwalk::{Rational, Source};

use crate::chain::{Chain, options};
use crate::error::{parameter_error, walk_error};

/// Counts the transitions of walks.
#[pyfunction]
pub(crate) fn fit_chain(
    py: Python<'_>,
    walks: Vec<Vec<String>>,
    restart: bool,
    largest_component: bool,
) -> PyResult<Chain> {
    let mut counts = TransitionCounts::new();
    for walk in &walks {
        counts.add_walk(walk.iter().map(String::as_str));
    }
    if counts.total() == 0 {
        return Err(walk_error(format!(
            "there is not a single transition to count in {} walks; a chain is fitted to walks of \
             two states or more",
            walks.len()
        )));
    }
    if restart {
        for (first, last) in walks.iter().filter_map(|walk| walk.first().zip(walk.last())) {
            counts.add_walk([last.as_str(), first.as_str()]);
        }
    }
    Chain::built(py, counts.build(options(false, largest_component)))
}

/// Counts the moves of a public graph with noise. `asked` is epsilon, the most moves of a person and the floor;
/// `shares` are those of epsilon for first states, for last states and for lengths, and `longest` is the longest walk.
/// Gives the chain, and if they were asked for the laws of last states and of numbers of moves.
#[pyfunction]
#[allow(
    clippy::too_many_arguments,
    clippy::type_complexity,
    reason = "Python's keyword arguments, and what it unpacks"
)]
pub(crate) fn fit_chain_privately(
    py: Python<'_>,
    walks: Vec<Vec<String>>,
    persons: Vec<String>,
    graph: &Chain,
    asked: (String, u32, Option<String>),
    shares: (Option<String>, Option<String>, Option<String>),
    longest: Option<u32>,
    seed: Option<u64>,
) -> PyResult<(Chain, Option<Vec<f64>>, Option<Vec<f64>>)> {
    let (epsilon, max_moves, floor) = asked;
    let (starts, ends, lengths) = shares;
    let number = |text: &str| text.parse::<Rational>().map_err(parameter_error);
    let at_least_one = |name: &str, number: u32| {
        NonZeroU32::new(number)
            .ok_or_else(|| parameter_error(format!("{name}: give a whole number from 1 up")))
    };
    let of = |name: &str, error: FitTermsError| parameter_error(format!("{name}: {error}"));
    let max_moves = at_least_one("max_moves", max_moves)?;
    let mut terms = FitTerms::new(number(&epsilon)?, max_moves).map_err(parameter_error)?;
    if let Some(share) = starts {
        terms = terms.with_starts(number(&share)?).map_err(|error| of("starts", error))?;
    }
    if let Some(share) = ends {
        terms = terms.with_ends(number(&share)?).map_err(|error| of("ends", error))?;
    }
    if let (Some(share), Some(longest)) = (lengths, longest) {
        let longest = at_least_one("longest_walk", longest)?;
        let with_lengths = terms.with_lengths(number(&share)?, longest);
        terms = with_lengths.map_err(|error| of("lengths", error))?;
    }
    if let Some(floor) = floor {
        terms = terms.with_floor(number(&floor)?).map_err(parameter_error)?;
    }
    let source = seed.map_or_else(Source::system, Source::seeded);
    let mut fit = PrivateFit::new(graph.chain(), terms, &source).map_err(parameter_error)?;
    for (number, (walk, person)) in walks.iter().zip(&persons).enumerate() {
        let name = number.to_string();
        for state in walk {
            fit.add(person, &name, state).map_err(walk_error)?;
        }
    }
    let Fitted { chain, ends, lengths, .. } = fit.collected().release().map_err(parameter_error)?;
    let ends = ends.map(|ends| chain.states().map(|state| ends.probability(state)).collect());
    let lengths = lengths
        .map(|lengths| (0..=lengths.longest()).map(|moves| lengths.probability(moves)).collect());
    Ok((Chain::new(py, chain, Vec::new()), ends, lengths))
}
