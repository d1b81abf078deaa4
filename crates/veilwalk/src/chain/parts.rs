//! A chain in the numbers it is made of, for files that keep one ready to use.

use std::sync::OnceLock;

use thiserror::Error;

use super::{Chain, ChainHash, Initial, StateId};
use crate::nats::Nats;

/// Everything that makes a chain, as [`Chain::parts`] takes it apart.
#[derive(Clone, Debug)]
pub struct ChainParts {
    /// The labels of the states, in order.
    pub labels: Vec<Box<str>>,
    /// Where the moves of each state start in the lists below, and where the last ones end.
    pub row_starts: Vec<usize>,
    /// Where the moves lead, ascending for each state.
    pub targets: Vec<StateId>,
    /// Their probabilities.
    pub probabilities: Vec<f64>,
    /// Their weights.
    pub weights: Vec<Nats>,
    /// Where walks start.
    pub initial: Initial,
}

/// Why parts make no chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PartsError {
    /// The lists do not go together.
    #[error("its lists do not go together")]
    Lengths,
    /// A move to a state that does not exist, or moves out of order.
    #[error("a move leads to no state, or moves are out of order")]
    Targets,
    /// A probability that is none.
    #[error("a probability is not above zero and at most one")]
    Probabilities,
    /// Two states with one label.
    #[error("two states have the same label")]
    Labels,
    /// The content is not that with this hash.
    #[error("its content does not have the hash it goes by")]
    Hash,
}

impl Chain {
    /// Takes the chain apart.
    #[must_use]
    pub fn parts(&self) -> ChainParts {
        ChainParts {
            labels: self.labels.clone(),
            row_starts: self.row_starts.clone(),
            targets: self.targets.clone(),
            probabilities: self.probabilities.clone(),
            weights: self.weights.clone(),
            initial: self.initial.clone(),
        }
    }

    /// Puts a chain together again that was taken apart, and checks that it is the one with this
    /// hash. That it is irreducible was found when it was first built, and weights are taken as they
    /// are.
    ///
    /// # Errors
    ///
    /// If the parts are not those of a chain, or of another chain.
    pub fn from_parts(parts: ChainParts, hash: ChainHash) -> Result<Self, PartsError> {
        let ChainParts { labels, row_starts, targets, probabilities, weights, initial } = parts;
        let (states, moves) = (labels.len(), targets.len());
        let lengths = states > 0
            && row_starts.len() == states + 1
            && row_starts.first() == Some(&0)
            && row_starts.last() == Some(&moves)
            && row_starts.windows(2).all(|w| w[0] < w[1])
            && probabilities.len() == moves
            && weights.len() == moves
            && initial.running_totals().len() == states;
        if !lengths {
            return Err(PartsError::Lengths);
        }
        let ascending = |w: &[usize]| targets[w[0]..w[1]].windows(2).all(|t| t[0] < t[1]);
        if targets.iter().any(|t| t.index() >= states) || !row_starts.windows(2).all(ascending) {
            return Err(PartsError::Targets);
        }
        if !probabilities.iter().all(|&p| p > 0.0 && p <= 1.0) {
            return Err(PartsError::Probabilities);
        }
        let ids = labels.iter().enumerate().map(|(i, label)| (label.clone(), StateId::new(i)));
        let by_label: std::collections::HashMap<_, _> = ids.collect();
        if by_label.len() != states {
            return Err(PartsError::Labels);
        }
        let chain = Self {
            labels,
            by_label,
            row_starts,
            targets,
            probabilities,
            weights,
            initial,
            hash: OnceLock::new(),
        };
        if chain.hash() != hash { Err(PartsError::Hash) } else { Ok(chain) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_put_together_again() {
        for chain in [Chain::credit(), Chain::downtown()] {
            let again = Chain::from_parts(chain.parts(), chain.hash()).unwrap();
            assert_eq!(again.hash(), chain.hash());
            let last = StateId::new(chain.len() - 1);
            assert_eq!(again.state(chain.label(last)), Some(last));
            assert_eq!(again.weights(last), chain.weights(last));
        }
    }

    #[test]
    fn parts_of_no_chain_are_refused() {
        let chain = Chain::credit();
        let refused = |change: &dyn Fn(&mut ChainParts)| {
            let mut parts = chain.parts();
            change(&mut parts);
            Chain::from_parts(parts, chain.hash()).unwrap_err()
        };
        assert_eq!(refused(&|parts| parts.labels.clear()), PartsError::Lengths);
        assert_eq!(refused(&|parts| parts.row_starts[3] = 1), PartsError::Lengths);
        assert_eq!(refused(&|parts| parts.targets[0] = StateId::new(9)), PartsError::Targets);
        assert_eq!(refused(&|parts| parts.targets.swap(0, 1)), PartsError::Targets);
        assert_eq!(refused(&|parts| parts.probabilities[4] = 0.0), PartsError::Probabilities);
        assert_eq!(refused(&|parts| parts.labels[1] = "Aaa".into()), PartsError::Labels);
        assert_eq!(refused(&|parts| parts.labels[1] = "Ab".into()), PartsError::Hash);
        assert_eq!(refused(&|parts| parts.probabilities[4] = 0.5), PartsError::Hash);
    }
}
