//! A chain in the numbers it is made of, for files that keep one ready to use.

use std::sync::{Arc, OnceLock};

use thiserror::Error;

use super::{Chain, ChainHash, Initial, Places, StateId, StateLabels};
use crate::nats::Nats;
use crate::storage::Storage;

/// Everything that makes a chain, as [`Chain::parts`] takes it apart.
#[derive(Clone, Debug)]
pub struct ChainParts {
    /// The labels of the states, in order.
    pub labels: StateLabels,
    /// Where the moves of each state start in the lists below, and where the last ones end.
    pub row_starts: Vec<usize>,
    /// Where the moves lead, ascending for each state.
    pub targets: Storage<StateId>,
    /// Their probabilities.
    pub probabilities: Storage<f64>,
    /// Their weights.
    pub weights: Storage<Nats>,
    /// Where walks start.
    pub initial: Initial,
    /// Where its states are.
    pub places: Option<Arc<Places>>,
    /// The content hash of all this.
    pub hash: ChainHash,
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
            places: self.places.clone(),
            hash: self.hash(),
        }
    }

    /// Puts a chain together again that was taken apart. What could make the program fail is checked;
    /// what was found out when the chain was first built is taken for granted
    /// ([`Model::verify`](crate::Model::verify) does not).
    ///
    /// # Errors
    ///
    /// If the parts are not those of a chain.
    pub fn from_parts(parts: ChainParts) -> Result<Self, PartsError> {
        let ChainParts {
            labels,
            row_starts,
            targets,
            probabilities,
            weights,
            initial,
            places,
            hash,
        } = parts;
        let (states, moves) = (labels.len(), targets.len());
        let lengths = states > 0
            && row_starts.len() == states + 1
            && row_starts.first() == Some(&0)
            && row_starts.last() == Some(&moves)
            && row_starts.windows(2).all(|w| w[0] < w[1] && w[1] - w[0] <= Self::MOST_SUCCESSORS)
            && probabilities.len() == moves
            && weights.len() == moves
            && initial.running_totals().len() == states;
        if !lengths {
            return Err(PartsError::Lengths);
        }
        let leads: &[StateId] = &targets;
        let ascending = |w: &[usize]| leads[w[0]..w[1]].windows(2).all(|t| t[0] < t[1]);
        if leads.iter().any(|t| t.index() >= states) || !row_starts.windows(2).all(ascending) {
            return Err(PartsError::Targets);
        }
        if !probabilities.iter().all(|&p| p > 0.0 && p <= 1.0) {
            return Err(PartsError::Probabilities);
        }
        let hash = OnceLock::from(hash);
        let chain =
            Self { labels, row_starts, targets, probabilities, weights, initial, places, hash };
        match chain.places().is_none_or(|places| places.fit(&chain)) {
            true => Ok(chain),
            false => Err(PartsError::Lengths),
        }
    }

    /// Whether the content is that with the hash the chain goes by.
    #[must_use]
    pub fn has_its_hash(&self) -> bool {
        self.hash() == self.clone().with_initial(self.initial.clone()).hash()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_put_together_again() {
        for chain in [Chain::credit(), Chain::downtown()] {
            let again = Chain::from_parts(chain.parts()).unwrap();
            assert!(again.has_its_hash() && again.hash() == chain.hash());
            let last = StateId::new(chain.len() - 1);
            assert_eq!(again.state(chain.label(last)), Some(last));
            assert_eq!(again.weights(last), chain.weights(last));
        }
        let parts = ChainParts { hash: Chain::downtown().hash(), ..Chain::credit().parts() };
        assert!(!Chain::from_parts(parts).unwrap().has_its_hash());
    }

    #[test]
    fn parts_of_no_chain_are_refused() {
        let refused = |change: &dyn Fn(&mut ChainParts)| {
            let mut parts = Chain::credit().parts();
            change(&mut parts);
            Chain::from_parts(parts).unwrap_err()
        };
        let targets = |change: &dyn Fn(&mut [StateId])| {
            let mut targets = Chain::credit().parts().targets.to_vec();
            change(&mut targets);
            refused(&|parts| parts.targets = targets.clone().into())
        };
        assert_eq!(refused(&|parts| parts.labels = StateLabels::default()), PartsError::Lengths);
        assert_eq!(refused(&|parts| parts.row_starts[3] = 1), PartsError::Lengths);
        assert_eq!(targets(&|targets| targets[0] = StateId::new(9)), PartsError::Targets);
        assert_eq!(targets(&|targets| targets.swap(0, 1)), PartsError::Targets);
        let zero = |parts: &mut ChainParts| parts.probabilities = vec![0.0; 50].into();
        assert_eq!(refused(&zero), PartsError::Probabilities);
    }
}
