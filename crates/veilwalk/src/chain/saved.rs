//! A chain as bytes, to be sent to another process: exact to the last bit, so that its hash stays.
//!
//! A version byte, then what follows in `postcard`, then the chain's hash. Nothing is taken on trust:
//! what is read is checked as a chain that is built would be, and has to have that hash.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Chain, ChainBuilder, ChainHash, ChainParts, Initial, Labels, StateId, structure};
use crate::nats::Nats;

const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct Saved {
    labels: Vec<Box<str>>,
    row_starts: Vec<u64>,
    targets: Vec<StateId>,
    probabilities: Vec<f64>,
    initial: Vec<u64>,
}

/// Why bytes are not a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SavedChainError {
    /// Bytes that no chain was written as, or that were cut or changed.
    #[error("these bytes are not a chain, or were cut or changed since it was written")]
    Damaged,
    /// Another version of the format.
    #[error("the chain was written in format {found}, and this version reads format {VERSION}")]
    Version {
        /// The format's number.
        found: u8,
    },
}

impl Chain {
    /// The chain as bytes, for [`Chain::from_bytes`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let saved = Saved {
            labels: self.labels.iter().map(Box::from).collect(),
            row_starts: self.row_starts.iter().map(|&n| n as u64).collect(),
            targets: self.targets.to_vec(),
            probabilities: self.probabilities.to_vec(),
            initial: self.initial.running_totals().to_vec(),
        };
        let mut bytes = vec![VERSION];
        bytes.extend(postcard::to_allocvec(&saved).expect("numbers and texts always serialize"));
        bytes.extend(self.hash().0);
        bytes
    }

    /// The chain that was written as these bytes.
    ///
    /// # Errors
    ///
    /// If they are not a chain, or were changed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SavedChainError> {
        let (content, hash) = bytes.split_last_chunk::<32>().ok_or(SavedChainError::Damaged)?;
        let (&version, body) = content.split_first().ok_or(SavedChainError::Damaged)?;
        if version != VERSION {
            return Err(SavedChainError::Version { found: version });
        }
        let saved: Saved = postcard::from_bytes(body).map_err(|_| SavedChainError::Damaged)?;
        saved.into_chain(ChainHash(*hash)).ok_or(SavedChainError::Damaged)
    }
}

impl Saved {
    /// The chain with this hash, if it is one.
    fn into_chain(self, hash: ChainHash) -> Option<Chain> {
        let mut labels = Labels::default();
        for label in &self.labels {
            labels.add(label).ok()?;
        }
        let positive = self.probabilities.iter().all(|&p| p > 0.0 && p <= 1.0);
        let weights = positive
            .then(|| self.probabilities.iter().map(|&p| Nats::weight_of(p)).collect::<Vec<_>>())?;
        let row_starts = self.row_starts.iter().map(|&n| usize::try_from(n));
        let chain = Chain::from_parts(ChainParts {
            labels,
            row_starts: row_starts.collect::<Result<_, _>>().ok()?,
            targets: self.targets.into(),
            probabilities: self.probabilities.into(),
            weights: weights.into(),
            initial: Initial::from_running_totals(self.initial)?,
            hash,
        })
        .ok()?;
        let sums_to_one = |state| {
            let sum: f64 = chain.probabilities(state).iter().sum();
            (sum - 1.0).abs() <= ChainBuilder::TOLERANCE
        };
        let sound = chain.states().all(sums_to_one)
            && structure::unreachable_pair(&chain.row_starts, &chain.targets).is_none()
            && chain.has_its_hash();
        sound.then_some(chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_comes_back_to_the_last_bit() {
        let credit = Chain::credit();
        let started = Initial::stationary(&credit).unwrap();
        for chain in [Chain::credit(), Chain::downtown(), credit.with_initial(started)] {
            let again = Chain::from_bytes(&chain.to_bytes()).unwrap();
            assert_eq!(again.hash(), chain.hash());
            for state in chain.states() {
                assert_eq!(again.label(state), chain.label(state));
                assert_eq!(again.weights(state), chain.weights(state));
            }
        }
    }

    #[test]
    fn whatever_was_changed_is_refused() {
        let bytes = Chain::credit().to_bytes();
        assert_eq!(Chain::from_bytes(&[]).unwrap_err(), SavedChainError::Damaged);
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            assert!(Chain::from_bytes(&changed).is_err(), "byte {place}");
            assert!(Chain::from_bytes(&bytes[..place]).is_err(), "cut at {place}");
        }
        let mut newer = bytes;
        newer[0] = 9;
        assert_eq!(Chain::from_bytes(&newer).unwrap_err(), SavedChainError::Version { found: 9 });
    }
}
