//! The chain: labelled states, the transitions between them, and where a walk starts.
//!
//! A chain is public by assumption. Everything veilwalk does with the real walk is protected;
//! nothing it does with the chain is. A chain fitted on the sensitive walks themselves is therefore
//! not a safe choice: use one from public records, or from walks that need no protection, or a
//! [private fit](PrivateFit).
//!
//! A [`Chain`] is immutable and checked: every row is a probability distribution, every state can
//! be left, and every state can be reached from every other. Build one with a [`ChainBuilder`], or
//! take a built-in one ([`Chain::credit`], [`Chain::downtown`]) or a made-up one of any size
//! ([`Chain::grid`]).

pub(crate) mod builder;
mod credit;
#[cfg(test)]
pub(crate) mod dense;
mod did_you_mean;
pub(crate) mod downtown;
mod even;
mod fit;
mod fixed_numbers;
mod grid;
mod initial;
pub(crate) mod parts;
mod places;
pub(crate) mod private_fit;
mod running_totals;
pub(crate) mod state_labels;
mod stationary;
mod structure;
mod walk_lengths;

use std::fmt;
use std::sync::{Arc, OnceLock};

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

pub use builder::{BuildOptions, BuildReport, ChainBuilder, ChainError, Entries, RowSums, Scope};

pub use fit::TransitionCounts;
pub use grid::{Grid, GridTooLarge, SpacingError};
pub use initial::{Initial, InitialError};
pub use places::{Coordinates, CoordinatesError, Length, LengthError, Places, PlacesError};
pub use private_fit::{
    Collected, FitTally, FitTerms, FitTermsError, Fitted, PrivateFit, PrivateFitError, TwoPersons,
};

pub(crate) use state_labels::StateLabels;
pub use stationary::NotConverged;
pub use walk_lengths::{WalkLengths, WalkLengthsError};

pub use crate::state::StateId;

use crate::nats::Nats;
use crate::storage::Storage;

/// A content hash: equal for chains that are equal in every respect, on every platform.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct ChainHash(pub [u8; 32]);

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChainHash({self})")
    }
}

/// A label that is not a state of the chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{label:?} is not a state of the chain{}", closest.as_ref().map(|c| format!("; did you mean {c:?}?")).unwrap_or_default())]
pub struct UnknownState {
    /// What was asked for.
    pub label: String,
    /// The state that seems to have been meant: its label differs in case or the space around it, in
    /// two neighbours that have changed places, or in one letter.
    pub closest: Option<String>,
}

/// A public Markov chain: irreducible, finite, labelled.
#[derive(Clone)]
pub struct Chain {
    labels: StateLabels,
    /// Row `i` of the transition matrix is at `row_starts[i]..row_starts[i + 1]`.
    row_starts: Vec<usize>,
    /// Successors, ascending within a row.
    targets: Storage<StateId>,
    probabilities: Storage<f64>,
    weights: Storage<Nats>,
    initial: Initial,
    places: Option<Arc<Places>>,
    hash: OnceLock<ChainHash>,
}

impl Chain {
    /// The most states that one state can move to. A step adds up as many whole-number weights, and
    /// this many fit 64 bits.
    pub const MOST_SUCCESSORS: usize = (1 << 24) - 1;

    /// How many states there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Never: a chain has at least one state.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// How many transitions are possible.
    #[must_use]
    pub fn transitions(&self) -> usize {
        self.targets.len()
    }

    /// All states, in order.
    pub fn states(&self) -> impl ExactSizeIterator<Item = StateId> + use<> {
        (0..self.len()).map(StateId::new)
    }

    /// The label of a state.
    #[must_use]
    pub fn label(&self, state: StateId) -> &str {
        self.labels.get(state.index())
    }

    /// The state with this label.
    #[must_use]
    pub fn state(&self, label: &str) -> Option<StateId> {
        self.labels.find(label)
    }

    /// The state with this label, or an error that names it.
    ///
    /// # Errors
    ///
    /// If no state has this label.
    pub fn require(&self, label: &str) -> Result<StateId, UnknownState> {
        self.state(label).ok_or_else(|| self.unknown(label))
    }

    /// What is to be said of a label that is not one of the chain's. It looks at all of them.
    #[must_use]
    pub fn unknown(&self, label: &str) -> UnknownState {
        let closest = did_you_mean::closest(self.labels.iter(), label).map(str::to_owned);
        UnknownState { label: label.to_owned(), closest }
    }

    /// The states that `from` can move to, ascending.
    #[must_use]
    pub fn successors(&self, from: StateId) -> &[StateId] {
        &self.targets[self.row(from)]
    }

    /// The probabilities of the moves from `from`, in the order of [`Chain::successors`].
    #[must_use]
    pub fn probabilities(&self, from: StateId) -> &[f64] {
        &self.probabilities[self.row(from)]
    }

    /// The weights `-ln P`, rounded down, in the order of [`Chain::successors`].
    #[must_use]
    pub fn weights(&self, from: StateId) -> &[Nats] {
        &self.weights[self.row(from)]
    }

    /// The places of the transitions from `from` in the list of all transitions.
    #[must_use]
    pub fn row(&self, from: StateId) -> std::ops::Range<usize> {
        self.row_starts[from.index()]..self.row_starts[from.index() + 1]
    }

    /// All moves: where those of each state start, where they lead, and their weights.
    pub(crate) fn moves(&self) -> (&[usize], &Storage<StateId>, &Storage<Nats>) {
        (&self.row_starts, &self.targets, &self.weights)
    }

    /// The probability of moving from `from` to `to`, zero if that is impossible.
    #[must_use]
    pub fn probability(&self, from: StateId, to: StateId) -> f64 {
        match self.successors(from).binary_search(&to) {
            Ok(place) => self.probabilities(from)[place],
            Err(_) => 0.0,
        }
    }

    /// Whether the chain can move from `from` to `to`.
    #[must_use]
    pub fn allows(&self, from: StateId, to: StateId) -> bool {
        self.successors(from).binary_search(&to).is_ok()
    }

    /// The distribution of a released walk's first state.
    #[must_use]
    pub fn initial(&self) -> &Initial {
        &self.initial
    }

    /// The same chain with another initial distribution.
    #[must_use]
    pub fn with_initial(mut self, initial: Initial) -> Self {
        self.initial = initial;
        self.hash = OnceLock::new();
        self
    }

    /// The largest number of moves that any state has.
    #[must_use]
    pub fn largest_out_degree(&self) -> usize {
        self.row_starts.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
    }

    /// The content hash over labels, transitions, probabilities, the initial distribution, and lengths and
    /// coordinates if there are some.
    #[must_use]
    pub fn hash(&self) -> ChainHash {
        *self.hash.get_or_init(|| {
            let mut hasher = Buffered::new("veilwalk 2026 chain v1");
            let mut number = |n: u64| hasher.update(&n.to_le_bytes());
            number(self.len() as u64);
            self.row_starts.iter().for_each(|&n| number(n as u64));
            self.targets.iter().for_each(|t| number(t.index() as u64));
            self.probabilities.iter().for_each(|p| number(p.to_bits()));
            self.initial.hash_into(&mut number);
            self.labels.iter().for_each(|label| number(label.len() as u64));
            self.labels.iter().for_each(|label| hasher.update(label.as_bytes()));
            if let Some(places) = &self.places {
                places.hash_into(|n| hasher.update(&n.to_le_bytes()));
            }
            ChainHash(hasher.finish())
        })
    }

    /// The period: one for an aperiodic chain.
    #[must_use]
    pub fn period(&self) -> usize {
        structure::period(&self.row_starts, &self.targets)
    }

    /// The stationary distribution, in the order of the states.
    ///
    /// # Errors
    ///
    /// If the iteration used for large chains has not settled.
    pub fn stationary(&self) -> Result<Vec<f64>, NotConverged> {
        stationary::stationary(self)
    }

    /// The entropy rate in nats: `-Σ μ_i P_ij ln P_ij` for the stationary distribution `μ`.
    #[must_use]
    pub fn entropy_rate(&self, stationary: &[f64]) -> f64 {
        self.states()
            .map(|i| {
                let row: f64 = self.probabilities(i).iter().map(|p| -p * p.ln()).sum();
                stationary[i.index()] * row
            })
            .sum()
    }
}

/// Hashes many small pieces as fast as a few large ones.
struct Buffered {
    hasher: blake3::Hasher,
    waiting: Vec<u8>,
}

impl Buffered {
    const SIZE: usize = 1 << 16;

    fn new(context: &str) -> Self {
        let waiting = Vec::with_capacity(Self::SIZE);
        Self { hasher: blake3::Hasher::new_derive_key(context), waiting }
    }

    fn update(&mut self, bytes: &[u8]) {
        if self.waiting.len() + bytes.len() > Self::SIZE {
            self.hasher.update(&self.waiting);
            self.waiting.clear();
        }
        self.waiting.extend_from_slice(bytes);
    }

    fn finish(mut self) -> [u8; 32] {
        self.hasher.update(&self.waiting);
        *self.hasher.finalize().as_bytes()
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("states", &self.len())
            .field("transitions", &self.transitions())
            .field("hash", &self.hash())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_has_the_known_figures() {
        let chain = Chain::credit();
        let mu = chain.stationary().unwrap();
        let default = chain.state("Def").unwrap();
        assert_eq!((chain.len(), chain.transitions()), (9, 50));
        assert!((mu[default.index()] - 0.998_259_68).abs() < 5e-9);
        assert!((chain.entropy_rate(&mu) - 0.002_112_53).abs() < 5e-9);
        assert_eq!(chain.period(), 1);
    }

    #[test]
    fn the_hash_sees_every_part() {
        let chain = Chain::credit();
        let same = Chain::credit();
        assert_eq!(chain.hash(), same.hash());
        let moved = Chain::credit().with_initial(Initial::at(StateId::new(0), 9));
        assert_ne!(chain.hash(), moved.hash());
        assert_ne!(chain.hash(), Chain::downtown().hash());
    }

    #[test]
    fn an_unknown_label_is_named_and_a_near_miss_offered() {
        let error = Chain::credit().require("caa ").unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"caa \" is not a state of the chain; did you mean \"Caa\"?"
        );
        let error = Chain::credit().require("aBa").unwrap_err();
        assert_eq!(error.closest.as_deref(), Some("Baa"), "two letters have changed places");
        let error = Chain::credit().require("Zzz").unwrap_err();
        assert_eq!(error.to_string(), "\"Zzz\" is not a state of the chain");
    }
}
