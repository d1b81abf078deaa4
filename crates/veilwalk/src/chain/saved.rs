//! A chain as bytes, to be sent to another process: exact to the last bit, so that its hash stays.
//!
//! A version byte, then what follows in `postcard`, then the chain's hash. Nothing is taken on trust:
//! what is read is checked as a chain that is built would be, and has to have that hash.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Chain, Initial, StateId, structure};
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
            labels: self.labels.clone(),
            row_starts: self.row_starts.iter().map(|&n| n as u64).collect(),
            targets: self.targets.clone(),
            probabilities: self.probabilities.clone(),
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
        let chain = saved.into_chain().ok_or(SavedChainError::Damaged)?;
        if chain.hash().0 == *hash { Ok(chain) } else { Err(SavedChainError::Damaged) }
    }
}

impl Saved {
    /// The chain, if it is one.
    fn into_chain(self) -> Option<Chain> {
        let states = self.labels.len();
        let edges = self.targets.len();
        let row_starts: Vec<usize> =
            self.row_starts.iter().map(|&n| usize::try_from(n)).collect::<Result<_, _>>().ok()?;
        let by_label: HashMap<Box<str>, StateId> =
            self.labels.iter().enumerate().map(|(i, l)| (l.clone(), StateId::new(i))).collect();
        let well_formed = by_label.len() == states
            && row_starts.len() == states + 1
            && row_starts.first() == Some(&0)
            && row_starts.last() == Some(&edges)
            && row_starts.windows(2).all(|w| w[0] < w[1])
            && self.probabilities.len() == edges
            && self.targets.iter().all(|target| target.index() < states)
            && row_starts.windows(2).all(|w| self.targets[w[0]..w[1]].is_sorted_by(|a, b| a < b))
            && self.probabilities.iter().all(|&p| p > 0.0 && p <= 1.0)
            && row_starts.windows(2).all(|w| {
                let sum: f64 = self.probabilities[w[0]..w[1]].iter().sum();
                (sum - 1.0).abs() <= super::ChainBuilder::TOLERANCE
            });
        if !well_formed || structure::unreachable_pair(&row_starts, &self.targets).is_some() {
            return None;
        }
        let initial = Initial::from_running_totals(self.initial)
            .filter(|initial| initial.running_totals().len() == states)?;
        let weights = self.probabilities.iter().map(|&p| Nats::weight_of(p)).collect();
        Some(Chain {
            initial,
            labels: self.labels,
            by_label,
            row_starts,
            targets: self.targets,
            probabilities: self.probabilities,
            weights,
            hash: OnceLock::new(),
        })
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
