//! Fitting a chain that may be published: noisy counts of the moves of persons.
//!
//! A chain that is counted from sensitive walks tells about them. Here every person contributes little, noise
//! hides that little, and what comes out may be public. The one idea: the graph is public, only its counts are
//! not. A move that the public graph does not have is not counted, and every move that it has stays possible.
//!
//! # Privacy
//!
//! **What is protected.** The data are persons, each with any number of walks. Two sets of data are neighbours if
//! one of them has one person more, with all of the person's walks. The probability of everything that is
//! released changes by a factor of at most `exp(ε)` between neighbours. To replace a person's walks by any others
//! is to remove the person and to add another, so it changes the odds by at most `exp(2ε)`.
//!
//! **Contributions.** Of all moves of a person that the public graph has, M are drawn at random without
//! replacement, or all are taken if there are no more; of the first states of the person's walks that the graph
//! has, one is drawn. So is one of the last states that the graph has, and the number of moves of one walk (its
//! rows but one, whatever their states), where those are wanted. What is drawn of a person depends on the rows of
//! that person alone and on random bits that nothing else uses. The walks of a person may come in any order and
//! be mixed with those of others: every move is as likely to be drawn as any other. (To take the first M moves
//! instead would be as private, but favours what comes early in the file, and early in a walk.)
//!
//! **Noise.** Let `ε = ε_m + ε_s + ε_e + ε_l`. Each count of a public move gets discrete Laplace noise of the
//! rate `ε_m/M`, each count of first states that of the rate `ε_s`, each of last states `ε_e`, and each of
//! lengths, from none to a public longest one that stands for all longer ones, `ε_l`, all independent
//! ([`DiscreteLaplace`]: `P(k) ∝ exp(−rate·|k|)`). A table that is not wanted has no share and is not released.
//! *Proof.* Fix what is drawn of all persons but the one that is added, which has the same law in both sets of
//! data. For every outcome of the person's own draw, the counts of moves of the two sets differ by at most M in
//! all, and those of first states, of last states and of lengths by at most one each. By the triangle inequality
//! the log-ratio of the probabilities of any noisy counts is at most `(ε_m/M)·M + ε_s + ε_e + ε_l = ε`. The bound
//! holds for each outcome of the draws, so it holds for their mixture. ∎ A rate whose parts do not fit 32 bits is
//! rounded down, which is more noise.
//!
//! **One replaced state** of one walk changes at most two moves, one first state, one last state and no length.
//! Give every move of the walk its own random priority, and let the M of the highest priority be drawn: that is
//! the same law. To put another move in the place of one, to take one away or to add one changes what is drawn by
//! at most one move that leaves and one that enters. So the counts of moves differ by at most `min(4, 2M)` and
//! those of first and of last states by two each, and the log-ratio is at most `min(4, 2M)·ε_m/M + 2·ε_s + 2·ε_e`
//! ([`FitTerms::one_state`]).
//!
//! **Everything after the noise** looks at noisy counts and the public graph alone: negative counts become zero,
//! each row keeps its noisy sum, a public floor is added, and shares are taken. That costs nothing, and
//! floats do no harm there. No float decides a noisy count: counts and rates are whole numbers and fractions, and
//! the noise is made of exact coins.
//!
//! **What is not protected.** How many persons, walks and moves there are, and how many moves the graph does not
//! have ([`FitTally`]), is for whoever holds the data. A walk that is said to be of two persons is an error, and
//! nothing is released.
//!
//! **Randomness.** Derived noise (seeded or keyed) is derived from a digest of all rows as well: the same rows
//! under the same id give the same chain again, which tells nothing new. Other rows get other noise; without
//! that, two chains under one id would differ by exactly what their rows do. Even so, an id is not to be used
//! for other rows, and a ledger refuses that.

mod consistent;
mod contributions;
mod terms;

pub use contributions::{FitTally, TwoPersons};
pub use terms::{FitTerms, FitTermsError};

use thiserror::Error;

use self::contributions::Contributions;
use super::{
    BuildOptions, Chain, ChainBuilder, ChainError, Entries, Initial, InitialError, StateId,
    WalkLengths, WalkLengthsError,
};
use crate::random::{DiscreteLaplace, Forked, Randomness, ReleaseId, Source, Unavailable};

/// Collects the moves of persons on a public graph, to release their noisy counts as a chain.
///
/// ```
/// use std::num::NonZeroU32;
/// use veilwalk::chain::{FitTerms, PrivateFit};
/// use veilwalk::{Chain, Rational, Source};
///
/// let graph = Chain::credit();
/// let most_moves = NonZeroU32::new(10).unwrap();
/// let terms = FitTerms::new("1".parse()?, most_moves)?;
/// let mut fit = PrivateFit::new(&graph, terms, &Source::system())?;
/// for (person, walk, state) in [("ann", "a", "Baa"), ("ann", "a", "Ba"), ("bob", "b", "B")] {
///     fit.add(person, walk, state)?;
/// }
/// let fitted = fit.collected().release()?;
/// assert_eq!(fitted.chain.transitions(), graph.transitions());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PrivateFit<'a> {
    graph: &'a Chain,
    terms: FitTerms,
    randomness: Randomness,
    contributions: Contributions,
}

/// Why no private fit can be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PrivateFitError {
    /// The operating system gave no randomness.
    #[error(transparent)]
    NoRandomness(#[from] Unavailable),
    /// The process was forked, and another one has the same random bits.
    #[error(transparent)]
    Forked(#[from] Forked),
    /// The noisy counts make no chain.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The noisy first states make no distribution.
    #[error(transparent)]
    Initial(#[from] InitialError),
    /// The noisy lengths make no distribution.
    #[error(transparent)]
    Lengths(#[from] WalkLengthsError),
}

impl<'a> PrivateFit<'a> {
    /// Nothing collected yet.
    ///
    /// # Errors
    ///
    /// If the operating system has no randomness to give.
    pub fn new(graph: &'a Chain, terms: FitTerms, source: &Source) -> Result<Self, Unavailable> {
        let randomness = source.open(terms.fingerprint(graph))?;
        let contributions =
            Contributions::new(terms.max_moves(), randomness.release_id().is_some());
        Ok(Self { graph, terms, randomness, contributions })
    }

    /// Takes the next state of a walk of a person. Rows of different walks may be mixed. A state that the graph
    /// does not have is part of no public move, and neither is a move that the graph does not have.
    ///
    /// # Errors
    ///
    /// If the walk is another person's.
    pub fn add(&mut self, person: &str, walk: &str, state: &str) -> Result<(), TwoPersons> {
        let known = self.graph.state(state);
        self.contributions.add(self.graph, &mut self.randomness, (person, walk, state), known)
    }

    /// Ends the collection. Nothing has been released yet, so this is where a ledger is charged.
    #[must_use]
    pub fn collected(self) -> Collected<'a> {
        Collected(self)
    }
}

/// All contributions of all persons, without noise. For nobody's eyes.
#[derive(Debug)]
pub struct Collected<'a>(PrivateFit<'a>);

/// A chain that may be published.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fitted {
    /// The chain: the public graph with noisy shares, and noisy first states if they have a share of ε.
    pub chain: Chain,
    /// The noisy counts in the order of the chain's transitions, from the floor up.
    pub counts: Vec<f64>,
    /// Where walks end, if last states have a share of ε. No floor is added to them.
    pub ends: Option<Initial>,
    /// How many moves walks have, if lengths have a share of ε. No floor is added to them.
    pub lengths: Option<WalkLengths>,
}

impl Collected<'_> {
    /// Everybody who has a row.
    pub fn persons(&self) -> impl Iterator<Item = &str> {
        self.0.contributions.persons()
    }

    /// How much there was to count. Not protected.
    #[must_use]
    pub fn tally(&self) -> FitTally {
        self.0.contributions.tally()
    }

    /// The id that derived randomness has.
    #[must_use]
    pub fn release_id(&self) -> Option<ReleaseId> {
        self.0.randomness.release_id()
    }

    /// A keyed digest of all rows, where randomness is derived: it tells the same release again from another.
    #[must_use]
    pub fn digest(&self) -> Option<[u8; 16]> {
        let digest = self.0.randomness.walk(&self.noise_name()).for_digests()?;
        digest.first_chunk().copied()
    }

    /// Adds the noise and makes the chain.
    ///
    /// # Errors
    ///
    /// If the process was forked since the fit began.
    pub fn release(mut self) -> Result<Fitted, PrivateFitError> {
        self.0.randomness.check_process()?;
        let (graph, terms) = (self.0.graph, self.0.terms);
        let (moves, starts) = self.0.contributions.counts(graph);
        let noisy_moves = self.noisy(&moves, terms.noise_on_moves(), 0);
        let noisy_starts = terms.noise_on_starts().map(|noise| self.noisy(&starts, noise, 1));
        let noisy_ends = terms.noise_on_ends().map(|noise| {
            let PrivateFit { contributions, randomness, .. } = &mut self.0;
            let ends = contributions.ends(graph, randomness);
            self.noisy(&ends, noise, 2)
        });
        let noisy_lengths = terms.noise_on_lengths().map(|noise| {
            let PrivateFit { contributions, randomness, .. } = &mut self.0;
            let lengths = contributions.lengths(terms.longest(), randomness);
            self.noisy(&lengths, noise, 3)
        });
        // From here on, nothing but noisy counts is looked at.
        let floor = terms.floor().as_f64();
        let mut fitted = chain_of(graph, &noisy_moves, floor)?;
        if let Some(noisy) = noisy_starts {
            let initial = Initial::from_probabilities(&fitted.chain, &shares_of(&noisy, floor))?;
            fitted.chain = fitted.chain.with_initial(initial);
        }
        if let Some(noisy) = noisy_ends {
            let ends = Initial::from_probabilities(&fitted.chain, &shares_of(&noisy, 0.0))?;
            fitted.ends = Some(ends);
        }
        if let Some(noisy) = noisy_lengths {
            fitted.lengths = Some(WalkLengths::from_probabilities(&shares_of(&noisy, 0.0))?);
        }
        Ok(fitted)
    }

    fn noisy(&mut self, counts: &[u64], noise: DiscreteLaplace, purpose: u64) -> Vec<i64> {
        let key = self.0.randomness.walk(&self.noise_name());
        let words = self.0.randomness.at(&key, purpose, None);
        let exact = counts.iter().map(|&count| i64::try_from(count).unwrap_or(i64::MAX));
        exact.map(|count| count.saturating_add(noise.draw(words))).collect()
    }

    /// What derived noise is derived from: all rows.
    fn noise_name(&self) -> Vec<u8> {
        [&b"all rows "[..], &self.0.contributions.digest()].concat()
    }
}

/// The chain that noisy counts of the graph's transitions stand for. It looks at nothing else.
///
/// # Errors
///
/// Never, for a graph that is a chain and a positive floor.
pub fn chain_of(graph: &Chain, noisy: &[i64], floor: f64) -> Result<Fitted, ChainError> {
    let mut builder = ChainBuilder::new(Entries::Counts);
    for state in graph.states() {
        builder.new_state(graph.label(state))?;
    }
    let mut counts = Vec::with_capacity(noisy.len());
    for from in graph.states() {
        let row = consistent::consistent(&noisy[graph.row(from)]);
        for (&to, count) in graph.successors(from).iter().zip(row) {
            counts.push(count + floor);
            builder.transition(from, to, count + floor)?;
        }
    }
    let (chain, _) = builder.build(BuildOptions::default())?;
    Ok(Fitted { chain, counts, ends: None, lengths: None })
}

/// The shares that noisy counts stand for, with a floor for each; all equal if nothing is left of them.
fn shares_of(noisy: &[i64], floor: f64) -> Vec<f64> {
    let counts = consistent::consistent(noisy).into_iter().map(|count| count + floor);
    let counts: Vec<f64> = counts.collect();
    let sum: f64 = counts.iter().sum();
    if sum > 0.0 {
        counts.iter().map(|count| count / sum).collect()
    } else {
        vec![1.0 / counts.len() as f64; counts.len()]
    }
}

/// The place of a move among the graph's transitions, if the graph has it.
fn place(graph: &Chain, from: StateId, to: StateId) -> Option<usize> {
    let within = graph.successors(from).binary_search(&to).ok()?;
    Some(graph.row(from).start + within)
}
