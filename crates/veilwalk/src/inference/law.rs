//! How real walks start and move, as far as somebody knows: the chain, or what was learned.

use thiserror::Error;

use crate::belief::{Belief, Moves};
use crate::chain::{BuildOptions, Chain, ChainBuilder, ChainError, Entries, Initial, StateId};

/// A law of real walks over the states of a chain, in the numbers of that chain.
///
/// Its moves need not be those of the chain that walks are released under.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    initial: Vec<f64>,
    row_starts: Vec<usize>,
    targets: Vec<StateId>,
    probabilities: Vec<f64>,
}

/// Why a chain cannot say how the real walks of a release move.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OtherStates {
    /// It lacks a state.
    #[error(
        "the other chain has no state {label:?}, which the chain of the release has; both need the same states"
    )]
    Lacks {
        /// The state.
        label: String,
    },
    /// From some state it leads only to states that the chain of the release lacks.
    #[error(
        "the other chain leads from {label:?} only to states that the chain of the release does not have; both need \
         the same states"
    )]
    LeadsAway {
        /// The state.
        label: String,
    },
    /// It starts only at such states.
    #[error(
        "the other chain starts only at states that the chain of the release does not have; both need the same states"
    )]
    StartsElsewhere,
}

impl Law {
    /// The law of a chain.
    #[must_use]
    pub fn of(chain: &Chain) -> Self {
        let (row_starts, targets, _) = chain.moves();
        Self {
            initial: chain.states().map(|state| chain.initial().probability(state)).collect(),
            row_starts: row_starts.to_vec(),
            targets: targets.to_vec(),
            probabilities: chain.states().flat_map(|s| chain.probabilities(s)).copied().collect(),
        }
    }

    /// The law of another chain in the numbers of this one. States that only the other one has are left
    /// out, and the rows that lead to them scaled up.
    ///
    /// # Errors
    ///
    /// If the other chain lacks a state, or nothing is left of its initial distribution or of a row.
    pub fn of_other(other: &Chain, chain: &Chain) -> Result<Self, OtherStates> {
        let mut law = Self {
            initial: Vec::with_capacity(chain.len()),
            row_starts: vec![0],
            targets: Vec::new(),
            probabilities: Vec::new(),
        };
        for state in chain.states() {
            let label = chain.label(state);
            let lacks = || OtherStates::Lacks { label: label.to_owned() };
            let there = other.state(label).ok_or_else(lacks)?;
            law.initial.push(other.initial().probability(there));
            let moves = other.successors(there).iter().zip(other.probabilities(there));
            let mut row: Vec<(StateId, f64)> = moves
                .filter_map(|(&to, &probability)| {
                    Some((chain.state(other.label(to))?, probability))
                })
                .collect();
            row.sort_by_key(|&(to, _)| to);
            if row.is_empty() {
                return Err(OtherStates::LeadsAway { label: label.to_owned() });
            }
            law.targets.extend(row.iter().map(|&(to, _)| to));
            law.probabilities.extend(row.iter().map(|&(_, probability)| probability));
            law.row_starts.push(law.targets.len());
        }
        if law.initial.iter().sum::<f64>() <= 0.0 {
            return Err(OtherStates::StartsElsewhere);
        }
        let rows = law.row_starts.windows(2).map(|ends| ends[0]..ends[1]).collect::<Vec<_>>();
        rows.into_iter().for_each(|row| normalize(&mut law.probabilities[row]));
        normalize(&mut law.initial);
        Ok(law)
    }

    /// The same moves with other probabilities: one for each first state, and one for each move in order. Every
    /// row is made to sum to one.
    ///
    /// # Panics
    ///
    /// If there are not as many of them.
    #[must_use]
    pub fn with(&self, mut initial: Vec<f64>, mut probabilities: Vec<f64>) -> Self {
        assert_eq!(initial.len(), self.initial.len(), "one probability for each first state");
        assert_eq!(probabilities.len(), self.probabilities.len(), "one for each move");
        normalize(&mut initial);
        for row in self.row_starts.windows(2) {
            normalize(&mut probabilities[row[0]..row[1]]);
        }
        let (row_starts, targets) = (self.row_starts.clone(), self.targets.clone());
        Self { initial, row_starts, targets, probabilities }
    }

    /// The same law of walks that all start at this state.
    #[must_use]
    pub fn starting_at(mut self, state: StateId) -> Self {
        self.initial.fill(0.0);
        self.initial[state.index()] = 1.0;
        self
    }

    /// The same law of walks that start with these probabilities, one for each state.
    #[must_use]
    pub fn starting_with(mut self, initial: &[f64]) -> Self {
        self.initial.copy_from_slice(initial);
        normalize(&mut self.initial);
        self
    }

    /// The probability that a walk starts at each state.
    #[must_use]
    pub fn initial(&self) -> &[f64] {
        &self.initial
    }

    /// Where the moves of a state lie among all moves.
    #[must_use]
    pub fn row(&self, from: StateId) -> std::ops::Range<usize> {
        self.row_starts[from.index()]..self.row_starts[from.index() + 1]
    }

    /// All moves, from the first state to the last.
    pub fn all_moves(&self) -> impl Iterator<Item = (StateId, StateId)> + '_ {
        let states = (0..self.initial.len()).map(StateId::new);
        states.flat_map(|from| self.targets[self.row(from)].iter().map(move |&to| (from, to)))
    }

    /// Their probabilities, in the same order.
    #[must_use]
    pub fn all_probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// What is known of a first state.
    pub(super) fn first_belief(&self) -> Belief {
        Belief::of_masses(
            self.initial.iter().enumerate().map(|(state, &mass)| (StateId::new(state), mass)),
        )
    }

    /// The chain of this law, with the labels of the chain whose states it is about.
    ///
    /// # Errors
    ///
    /// If walks cannot go from every state to every other by moves that have a probability.
    pub fn to_chain(&self, labels: &Chain) -> Result<Chain, ChainError> {
        let mut builder = ChainBuilder::new(Entries::Probabilities);
        for state in labels.states() {
            builder.state(labels.label(state));
        }
        for ((from, to), &probability) in self.all_moves().zip(&self.probabilities) {
            builder.transition(from, to, probability)?;
        }
        let (chain, _) = builder.build(BuildOptions::default())?;
        let initial = Initial::from_probabilities(&chain, &self.initial);
        Ok(chain.with_initial(initial.expect("the first states of a law sum to one")))
    }

    /// The distribution after one more step.
    pub(crate) fn moved(&self, law: &[f64]) -> Vec<f64> {
        let mut next = vec![0.0; law.len()];
        for (from, &mass) in law.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            let row = self.row(StateId::new(from));
            for (to, p) in self.targets[row.clone()].iter().zip(&self.probabilities[row]) {
                next[to.index()] += mass * p;
            }
        }
        next
    }
}

impl Moves for Law {
    fn states(&self) -> usize {
        self.initial.len()
    }

    fn targets(&self, from: StateId) -> &[StateId] {
        &self.targets[self.row(from)]
    }

    fn probabilities(&self, from: StateId) -> &[f64] {
        &self.probabilities[self.row(from)]
    }
}

/// Makes numbers sum to one; all alike if they are all zero.
fn normalize(numbers: &mut [f64]) {
    let total: f64 = numbers.iter().sum();
    let even = 1.0 / numbers.len().max(1) as f64;
    numbers.iter_mut().for_each(|p| *p = if total > 0.0 { *p / total } else { even });
}
