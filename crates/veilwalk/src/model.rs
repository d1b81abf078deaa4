//! The model: a chain together with its distances.
//!
//! Immutable, shared by [`Arc`], and named by its chain's content hash, since the distances follow
//! from the chain.

use std::sync::{Arc, OnceLock};

use thiserror::Error;

use crate::chain::{Chain, ChainHash, StateId};
use crate::distance::{Cells, CellsTooLarge, DistanceTable, Nearest};
use crate::nats::Nats;

/// A chain with the distances between its states.
#[derive(Debug)]
pub struct Model {
    chain: Chain,
    directed: Arc<DistanceTable>,
    symmetric: OnceLock<Arc<DistanceTable>>,
    cells: [OnceLock<Arc<Cells>>; 2],
}

/// Two states and how far apart they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The first state.
    pub from: StateId,
    /// The second state.
    pub to: StateId,
    /// The distance between them.
    pub distance: Nats,
}

/// A chain too large for a table of all distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the chain has {states} states; a table of all distances would take {} GiB, and the limit is \
     {} states",
    states * states * 4 / (1 << 30),
    Model::LARGEST_TABLE
)]
pub struct TooLarge {
    /// How many states the chain has.
    pub states: usize,
}

impl Model {
    /// The most states for which a table of all distances is made.
    pub const LARGEST_TABLE: usize = 16_384;

    /// Computes the distances of a chain.
    ///
    /// # Errors
    ///
    /// If the chain has more than [`Model::LARGEST_TABLE`] states.
    pub fn new(chain: Chain) -> Result<Self, TooLarge> {
        if chain.len() > Self::LARGEST_TABLE {
            return Err(TooLarge { states: chain.len() });
        }
        let directed = Arc::new(DistanceTable::directed(&chain));
        Ok(Self { chain, directed, symmetric: OnceLock::new(), cells: Default::default() })
    }

    /// The chain.
    #[must_use]
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// What names this model: the hash of its chain.
    #[must_use]
    pub fn hash(&self) -> ChainHash {
        self.chain.hash()
    }

    /// All distances `d(y, x)`.
    #[must_use]
    pub fn directed(&self) -> &Arc<DistanceTable> {
        &self.directed
    }

    /// All symmetric distances `max(d(y, x), d(x, y))`, computed when first asked for.
    #[must_use]
    pub fn symmetric(&self) -> &Arc<DistanceTable> {
        self.symmetric.get_or_init(|| Arc::new(self.directed.symmetric()))
    }

    /// The right answers and the distances to cells, computed when first asked for.
    ///
    /// # Errors
    ///
    /// If the tables would need too much memory.
    pub fn cells(&self, nearest: Nearest) -> Result<&Arc<Cells>, CellsTooLarge> {
        let slot = &self.cells[nearest as usize];
        if slot.get().is_none() {
            let cells = Cells::new(&self.chain, &self.directed, self.symmetric(), nearest)?;
            // Another thread may have been faster; its cells are the same.
            let _ = slot.set(Arc::new(cells));
        }
        Ok(slot.get().expect("just filled"))
    }

    /// The largest distance between two states.
    #[must_use]
    pub fn diameter(&self) -> Pair {
        let (from, to, distance) = self.directed.largest();
        Pair { from, to, distance }
    }

    /// The two different states that are closest by the symmetric distance: the radius from which
    /// on anything at all is protected. `None` for a chain of one state.
    #[must_use]
    pub fn closest_pair(&self) -> Option<Pair> {
        let (from, to, distance) = self.symmetric().smallest_between_distinct()?;
        Some(Pair { from, to, distance })
    }
}
