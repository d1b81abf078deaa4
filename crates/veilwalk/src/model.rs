//! The model: a chain together with its distances.
//!
//! Immutable, shared by [`Arc`], and named by its chain's content hash, since the distances follow
//! from the chain. The distances are in a table of all pairs, or, for a chain too large for that,
//! found by searching when they are asked for; a release is the same either way.

use std::sync::{Arc, OnceLock};

use thiserror::Error;

use crate::chain::{Chain, ChainHash, StateId};
use crate::distance::{
    CacheSize, Cells, CellsTooLarge, Directed, DistanceTable, Metric, Nearest, OnDemand,
    SearchedDirected, SearchedSymmetric, Symmetric,
};
use crate::nats::Nats;

/// A chain with the distances between its states.
#[derive(Debug)]
pub struct Model {
    chain: Chain,
    on_demand: Option<Arc<OnDemand>>,
    directed: OnceLock<Arc<DistanceTable>>,
    symmetric: OnceLock<Arc<DistanceTable>>,
    cells: [OnceLock<Arc<Cells>>; 2],
    closest_pair: OnceLock<Option<Pair>>,
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
    "the chain has {states} states; this needs a table of all distances, which would take {} GiB, \
     and the limit is {} states. Releases, `guarantee`, `kernel` and `chain check` work without one",
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

    /// A chain with a table of all its distances: everything there is can be computed from it.
    ///
    /// # Errors
    ///
    /// If the chain has more than [`Model::LARGEST_TABLE`] states.
    pub fn new(chain: Chain) -> Result<Self, TooLarge> {
        let model = Self::without_distances(chain, None);
        model.require_tables()?;
        let _ = model.directed();
        Ok(model)
    }

    /// A chain with a table where it is small enough for one, and distances on demand otherwise.
    /// What needs a table says so in its documentation ([`Model::require_tables`]).
    #[must_use]
    pub fn of_any_size(chain: Chain) -> Self {
        if chain.len() > Self::LARGEST_TABLE {
            return Self::on_demand(chain, CacheSize::default());
        }
        let model = Self::without_distances(chain, None);
        let _ = model.directed();
        model
    }

    /// A chain whose distances are searched for when they are asked for, whatever its size. Tables
    /// are made only if something needs them.
    #[must_use]
    pub fn on_demand(chain: Chain, cache_size: CacheSize) -> Self {
        let on_demand = Arc::new(OnDemand::new(&chain, cache_size));
        Self::without_distances(chain, Some(on_demand))
    }

    fn without_distances(chain: Chain, on_demand: Option<Arc<OnDemand>>) -> Self {
        Self {
            chain,
            on_demand,
            directed: OnceLock::new(),
            symmetric: OnceLock::new(),
            cells: Default::default(),
            closest_pair: OnceLock::new(),
        }
    }

    /// Whether there can be a table of all distances, which the exact audit, calibration, cells,
    /// blocks and everything in [`analysis`](crate::analysis) need.
    ///
    /// # Errors
    ///
    /// If the chain is too large for one.
    pub fn require_tables(&self) -> Result<(), TooLarge> {
        match self.chain.len() {
            states if states > Self::LARGEST_TABLE => Err(TooLarge { states }),
            _ => Ok(()),
        }
    }

    /// The searches that answer for this model; `None` if a table does.
    #[must_use]
    pub fn searches(&self) -> Option<&Arc<OnDemand>> {
        self.on_demand.as_ref()
    }

    /// What says how far the real state is from each candidate.
    #[must_use]
    pub fn directed_metric(&self) -> Arc<dyn Metric> {
        match &self.on_demand {
            Some(searches) => Arc::new(SearchedDirected(searches.clone())),
            None => Arc::new(Directed(self.directed().clone())),
        }
    }

    /// The same for the larger of the two directions.
    #[must_use]
    pub fn symmetric_metric(&self) -> Arc<dyn Metric> {
        match &self.on_demand {
            Some(searches) => Arc::new(SearchedSymmetric(searches.clone())),
            None => Arc::new(Symmetric(self.symmetric().clone())),
        }
    }

    /// The symmetric distance of two states.
    #[must_use]
    pub fn symmetric_between(&self, x: StateId, other: StateId) -> Nats {
        match &self.on_demand {
            Some(searches) => searches.symmetric(x, other),
            None => self.symmetric().between(x, other),
        }
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
    ///
    /// # Panics
    ///
    /// If the chain is too large for a table ([`Model::require_tables`]). A model made with
    /// [`Model::new`] has one.
    #[must_use]
    pub fn directed(&self) -> &Arc<DistanceTable> {
        self.directed.get_or_init(|| {
            self.require_tables().unwrap_or_else(|error| panic!("{error}"));
            Arc::new(DistanceTable::directed(&self.chain))
        })
    }

    /// All symmetric distances `max(d(y, x), d(x, y))`, computed when first asked for.
    ///
    /// # Panics
    ///
    /// As [`Model::directed`].
    #[must_use]
    pub fn symmetric(&self) -> &Arc<DistanceTable> {
        self.symmetric.get_or_init(|| Arc::new(self.directed().symmetric()))
    }

    /// The right answers and the distances to cells, computed when first asked for.
    ///
    /// # Errors
    ///
    /// If the tables would need too much memory.
    pub fn cells(&self, nearest: Nearest) -> Result<&Arc<Cells>, CellsTooLarge> {
        let slot = &self.cells[nearest as usize];
        if slot.get().is_none() {
            Cells::affordable(&self.chain)?;
            let cells = Cells::new(&self.chain, self.directed(), self.symmetric(), nearest)?;
            // Another thread may have been faster; its cells are the same.
            let _ = slot.set(Arc::new(cells));
        }
        Ok(slot.get().expect("just filled"))
    }

    /// The largest distance between two states.
    ///
    /// # Panics
    ///
    /// As [`Model::directed`].
    #[must_use]
    pub fn diameter(&self) -> Pair {
        let (from, to, distance) = self.directed().largest();
        Pair { from, to, distance }
    }

    /// The two different states that are closest by the symmetric distance: the radius from which
    /// on anything at all is protected. `None` for a chain of one state. Computed when first asked
    /// for.
    #[must_use]
    pub fn closest_pair(&self) -> Option<Pair> {
        *self.closest_pair.get_or_init(|| {
            let (from, to, distance) = match &self.on_demand {
                Some(searches) => searches.closest_pair()?,
                None => self.symmetric().smallest_between_distinct()?,
            };
            Some(Pair { from, to, distance })
        })
    }
}
