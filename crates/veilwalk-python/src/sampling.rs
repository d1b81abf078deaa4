//! Walks that a chain itself makes.

use numpy::PyArray1;
use pyo3::prelude::*;
use veilwalk::analysis::{EndedWalks, Origin, OwnWalks};
use veilwalk::chain::WalkLengths;
use veilwalk::{Initial, Source};

use crate::chain::Chain;
use crate::error::parameter_error;
use crate::interrupt;

/// Walks of the chain itself, one after another, each of so many steps after its start.
#[pyfunction]
pub(crate) fn sample_walks<'py>(
    py: Python<'py>,
    chain: &Chain,
    walks: usize,
    steps: usize,
    start: Option<&Bound<'py, PyAny>>,
    seed: Option<u64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let origin = start.map_or(Ok(Origin::Initial), |s| chain.state("start", s).map(Origin::At))?;
    if walks.checked_mul(steps.saturating_add(1)).is_none_or(|n| n > 1 << 40) {
        return Err(parameter_error("more states than fit into memory; draw fewer"));
    }
    let chain = chain.chain().clone();
    let drawn = interrupt::run(py, move |stop| {
        let source = seed.map_or_else(Source::system, Source::seeded);
        let mut randomness = source.open(chain.hash().0).map_err(parameter_error)?;
        let own = OwnWalks::new(&chain);
        let mut drawn = Vec::with_capacity(walks * (steps + 1));
        for walk in 0..walks {
            if stop.requested() {
                return Err(parameter_error("stopped on request"));
            }
            let key = randomness.walk(walk.to_string().as_bytes());
            let walk = own.walk(origin, steps, randomness.at(&key, 0, None));
            drawn.extend(walk.into_iter().map(|state| state.index() as i64));
        }
        Ok(drawn)
    })?;
    Ok(PyArray1::from_vec(py, drawn))
}

/// Walks of the chain with numbers of moves drawn from their law, which end by a law of last states if there is one: all
/// states one after another, how many each walk has, and how many walks end elsewhere than they should.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "what Python unpacks")]
pub(crate) fn sample_trips<'py>(
    py: Python<'py>,
    chain: &Chain,
    walks: usize,
    lengths: Vec<f64>,
    ends: Option<Vec<f64>>,
    seed: Option<u64>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, f64)> {
    let lengths = WalkLengths::from_probabilities(&lengths)
        .map_err(|error| parameter_error(format!("lengths: {error}")))?;
    let ends = ends.map(|ends| Initial::from_probabilities(chain.chain(), &ends)).transpose();
    let ends = ends.map_err(|error| parameter_error(format!("ends: {error}")))?;
    let chain = chain.chain().clone();
    let (drawn, sizes, off) = interrupt::run(py, move |stop| {
        let source = seed.map_or_else(Source::system, Source::seeded);
        let mut randomness = source.open(chain.hash().0).map_err(parameter_error)?;
        let own = OwnWalks::new(&chain);
        let ended = ends.map(|ends| {
            let (origin, lengths) = (Origin::Initial, lengths.clone());
            EndedWalks::new(&chain, origin, lengths, &ends, &|_| stop.flow())
        });
        let ended = ended.transpose().map_err(parameter_error)?;
        let (mut drawn, mut sizes) = (Vec::new(), Vec::with_capacity(walks));
        for walk in 0..walks {
            if stop.requested() {
                return Err(parameter_error("stopped on request"));
            }
            let key = randomness.walk(walk.to_string().as_bytes());
            let words = randomness.at(&key, 0, None);
            let walk = match &ended {
                Some(ended) => ended.walk(words),
                None => own.walk(Origin::Initial, lengths.draw(words), words),
            };
            sizes.push(walk.len() as i64);
            drawn.extend(walk.into_iter().map(|state| state.index() as i64));
        }
        Ok((drawn, sizes, ended.map_or(0.0, |ended| ended.ends_off())))
    })?;
    Ok((PyArray1::from_vec(py, drawn), PyArray1::from_vec(py, sizes), off))
}
