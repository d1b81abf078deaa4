//! The model: a chain together with its distances.
//!
//! Immutable, shared by [`Arc`], and named by its chain's content hash, since the distances follow
//! from the chain. (With another metric than the chain's own moves, the metric is part of its name.) The distances are in a table of all pairs, or, for a chain too large for that,
//! found by searching when they are asked for; a release is the same either way.

use std::sync::{Arc, OnceLock};

use thiserror::Error;

use crate::ahead::{Ahead, Loss, TooLargeToLookAhead};
use crate::chain::{Chain, ChainHash, Initial, StateId};
use crate::distance::{
    CacheSize, Cells, CellsTooLarge, Directed, DistanceTable, Edges, Ground, GroundError, Metric,
    Nearest, OnDemand, SearchedDirected, SearchedSymmetric, Symmetric, line,
};
use crate::measure::Measure;
use crate::mechanism::Calibration;
use crate::mechanism::cell::{self, CellScale};
use crate::mechanism::{Design, Promise};
use crate::nats::Nats;
use crate::remedy::Remedy;
use crate::watch::{Stopped, Watch};

/// A chain with the distances between its states.
#[derive(Debug)]
pub struct Model {
    chain: Chain,
    ground: Ground,
    on_demand: Option<Arc<OnDemand>>,
    directed: OnceLock<Arc<DistanceTable>>,
    symmetric: OnceLock<Arc<DistanceTable>>,
    cells: [OnceLock<Arc<Cells>>; 2],
    states_ahead: OnceLock<Arc<Ahead>>,
    distance_ahead: OnceLock<Arc<Ahead>>,
    closest_pair: OnceLock<Option<Pair>>,
    certified: Vec<Certified>,
    origin: Option<Arc<dyn TableOrigin>>,
}

/// Where a model's tables lie, if that is not in memory of its own: a file that is mapped, and that
/// somebody else could write to.
pub trait TableOrigin: std::fmt::Debug + Send + Sync {
    /// Whether everything that was read from there so far is what was there when the model was opened.
    ///
    /// # Errors
    ///
    /// If it is not, or cannot be known.
    fn check(&self) -> Result<(), ModelChanged>;
}

/// The file of a model was written to or cut short while the model was in use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0}: the model was changed in place while it was in use, so nothing more is released with it; \
     write it again with {how}, which replaces the file, and start anew",
    how = Remedy::CompileModel
)]
pub struct ModelChanged(pub String);

/// What was computed of a model before, for [`Model::with_tables`].
#[derive(Debug, Default)]
pub struct Tables {
    /// The metric they are of.
    pub ground: Ground,
    /// All distances, from every state to every state, and the larger of the two directions.
    pub distances: Option<(Arc<DistanceTable>, Arc<DistanceTable>)>,
    /// The chain's transitions turned around, for chains too large for a table.
    pub incoming: Option<Edges>,
    /// Cells, with what "nearest" means for them.
    pub cells: Vec<(Nearest, Arc<Cells>)>,
    /// Scales that were calibrated.
    pub certified: Vec<Certified>,
    /// Where all of these lie, if somebody else could change them.
    pub origin: Option<Arc<dyn TableOrigin>>,
}

/// The scales of a mechanism that goes by cells, calibrated before.
#[derive(Clone, Debug)]
pub struct Certified {
    /// The mechanism's choices.
    pub design: Design,
    /// What it promises.
    pub promise: Promise,
    /// How the scales were found.
    pub calibration: Calibration,
    /// The scale of each last released state, and what is certified of it.
    pub scales: Arc<[CellScale]>,
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
     and the limit is {} states. Without one there are `chain check`, and releases state by state with \
     their `guarantee` and `kernel`: by sharp, paper or exponential within a radius, or by chen",
    (*states as u128).pow(2) * 4 / (1 << 30),
    Model::LARGEST_TABLE
)]
pub struct TooLarge {
    /// How many states the chain has.
    pub states: usize,
}

/// Why there is no table for looking ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum LookAheadError {
    /// The chain is too large.
    #[error(transparent)]
    TooLarge(#[from] TooLargeToLookAhead),
    /// The watcher asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl Certified {
    /// Whether there is one scale for each state, none above what the promise allows at most. (That
    /// they keep the promise is for [`check_certificate`](crate::guarantee::check_certificate).)
    #[must_use]
    pub fn fits(&self, chain: &Chain) -> bool {
        let allowed = cell::allowed(self.promise);
        self.scales.len() == chain.len()
            && self.design.distance.nearest().is_some()
            && self.scales.iter().all(|c| c.scale.eta() <= allowed)
    }
}

impl Model {
    /// The most states for which a table of all distances is made.
    pub const LARGEST_TABLE: usize = DistanceTable::MOST_STATES;

    /// A chain with a table of all its distances: everything there is can be computed from it.
    ///
    /// # Errors
    ///
    /// If the chain has more than [`Model::LARGEST_TABLE`] states.
    pub fn new(chain: Chain) -> Result<Self, TooLarge> {
        let model = Self::without_distances(chain, Ground::Nats, None);
        model.require_tables()?;
        let _ = model.directed();
        Ok(model)
    }

    /// A chain with the distances of a metric, of any size that it allows: in a table where that fits, or searched for.
    ///
    /// ```
    /// use veilwalk::chain::{Length, Places};
    /// use veilwalk::{Chain, Ground, Model};
    ///
    /// let chain = Chain::downtown();
    /// let block = Length::from_millimetres(80_000).unwrap();
    /// let places = Places { lengths: Some(vec![block; chain.transitions()]), ..Places::default() };
    /// let model = Model::measured(chain.with_places(places)?, Ground::Street)?;
    /// let closest = model.closest_pair().unwrap();
    /// assert_eq!(model.measure().distance(closest.distance), "80 m");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the chain does not know what the metric rests on, or has too many states for it.
    pub fn measured(chain: Chain, ground: Ground) -> Result<Self, GroundError> {
        ground.check(&chain)?;
        let large = chain.len() > Self::LARGEST_TABLE;
        let model = Self::without_distances(chain, ground, None);
        if large {
            return Ok(model.searching(CacheSize::default()));
        }
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
        let model = Self::without_distances(chain, Ground::Nats, None);
        let _ = model.directed();
        model
    }

    /// A chain whose distances are searched for when they are asked for, whatever its size. Tables
    /// are made only if something needs them.
    #[must_use]
    pub fn on_demand(chain: Chain, cache_size: CacheSize) -> Self {
        let on_demand = Arc::new(OnDemand::new(&chain, cache_size));
        Self::without_distances(chain, Ground::Nats, Some(on_demand))
    }

    fn without_distances(chain: Chain, ground: Ground, on_demand: Option<Arc<OnDemand>>) -> Self {
        Self {
            chain,
            ground,
            on_demand,
            directed: OnceLock::new(),
            symmetric: OnceLock::new(),
            cells: Default::default(),
            states_ahead: OnceLock::new(),
            distance_ahead: OnceLock::new(),
            closest_pair: OnceLock::new(),
            certified: Vec::new(),
            origin: None,
        }
    }

    /// A chain with what was computed for it before. Everything is taken as it is: a mechanism's
    /// promise rests on the tables and scales being those of this chain.
    #[must_use]
    pub fn with_tables(chain: Chain, tables: Tables) -> Self {
        let mut model = Self::without_distances(chain, tables.ground, None);
        model.certified = tables.certified;
        model.origin = tables.origin;
        if let Some((directed, symmetric)) = tables.distances {
            let _ = model.directed.set(directed);
            let _ = model.symmetric.set(symmetric);
        } else if model.require_tables().is_err() {
            let incoming = tables.incoming.filter(|edges| edges.states() == model.chain.len());
            let incoming = incoming.unwrap_or_else(|| model.ground.incoming(&model.chain));
            model.on_demand = Some(model.searches_of(incoming, CacheSize::default()));
        }
        for (nearest, cells) in tables.cells {
            let _ = model.cells[nearest as usize].set(cells);
        }
        model
    }

    /// Whether the model is still what it was when it was opened. Models whose tables are in memory
    /// always are; one that is mapped from a file is not once the file is changed in place.
    ///
    /// Ask after computing and before handing on: what was computed until then is right if this says
    /// so. Releases of files and sessions in Python do this by themselves.
    ///
    /// # Errors
    ///
    /// If the file was changed. Nothing that was computed since the last check should be used.
    pub fn check_unchanged(&self) -> Result<(), ModelChanged> {
        self.origin.as_ref().map_or(Ok(()), |origin| origin.check())
    }

    /// Where its tables lie, if somebody else could change them. A model that is made of parts of this
    /// one has the same origin ([`Tables::origin`]).
    #[must_use]
    pub fn origin(&self) -> Option<&Arc<dyn TableOrigin>> {
        self.origin.as_ref()
    }

    /// Does some work with the model, and gives its result if the model is still what it was.
    ///
    /// While its file is changed, a model can have any numbers in it, and so lead to anything, even a
    /// panic: that is told as what it is.
    ///
    /// # Errors
    ///
    /// Those of the work, and as [`Model::check_unchanged`].
    pub fn guarded<T, E: From<ModelChanged>>(
        &self,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        self.check_unchanged()?;
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Scales that were calibrated for this before.
    pub(crate) fn certified(
        &self,
        design: Design,
        promise: Promise,
        calibration: Calibration,
    ) -> Option<&Arc<[CellScale]>> {
        let wanted =
            |c: &&Certified| (c.design, c.promise, c.calibration) == (design, promise, calibration);
        self.certified.iter().find(wanted).map(|c| &c.scales)
    }

    /// The same model with distances on demand, and this much kept of the searches. A metric that cannot be searched
    /// for keeps its table.
    #[must_use]
    pub fn searching(mut self, cache_size: CacheSize) -> Self {
        match self.on_demand.as_mut().and_then(Arc::get_mut) {
            Some(searches) => searches.set_cache_size(cache_size),
            None if self.ground.can_be_searched() => {
                let incoming = self.ground.incoming(&self.chain);
                self.on_demand = Some(self.searches_of(incoming, cache_size));
            }
            None => {}
        }
        self
    }

    fn searches_of(&self, incoming: Edges, cache_size: CacheSize) -> Arc<OnDemand> {
        Arc::new(match (&self.ground, self.ground.is_undirected()) {
            (Ground::Line, _) => {
                let line = line(&self.chain).expect("it was checked");
                OnDemand::of_lines(&self.chain, incoming, line)
            }
            (_, true) => OnDemand::undirected(incoming, cache_size),
            (_, false) => OnDemand::with_incoming(&self.chain, incoming, cache_size),
        })
    }

    /// Whether every distance takes a search, so that only few can be asked for while somebody waits.
    pub(crate) fn needs_searches(&self) -> bool {
        self.require_tables().is_err()
            && self.searches().is_none_or(|searches| !searches.is_quick())
    }

    /// The metric that distances are taken from.
    #[must_use]
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// What distances are counted in.
    #[must_use]
    pub fn measure(&self) -> Measure {
        self.ground.measure()
    }

    /// The pairs of states whose distances make all others, where the metric is that of a graph without directions.
    pub(crate) fn spanning_pairs(&self) -> Option<Vec<(StateId, StateId, Nats)>> {
        self.ground.spanning_pairs(&self.chain)
    }

    /// All scales that were calibrated before.
    #[must_use]
    pub fn all_certified(&self) -> &[Certified] {
        &self.certified
    }

    /// Cells that have been computed already.
    #[must_use]
    pub fn ready_cells(&self, nearest: Nearest) -> Option<&Arc<Cells>> {
        self.cells[nearest as usize].get()
    }

    /// The same model under another initial distribution. Distances, cells and scales do not depend
    /// on it.
    #[must_use]
    pub fn with_initial(self, initial: Initial) -> Self {
        Self { chain: self.chain.with_initial(initial), ..self }
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

    /// What names this model: the hash of its chain, and, with another metric than nats, of that and the metric.
    #[must_use]
    pub fn hash(&self) -> ChainHash {
        let chain = self.chain.hash();
        if self.ground == Ground::Nats {
            return chain;
        }
        let mut hasher = blake3::Hasher::new_derive_key("veilwalk 2026 model v1");
        hasher.update(&chain.0);
        self.ground.hash_into(&mut hasher);
        ChainHash(*hasher.finalize().as_bytes())
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
            Arc::new(self.ground.table(&self.chain))
        })
    }

    /// All symmetric distances `max(d(y, x), d(x, y))`, computed when first asked for.
    ///
    /// # Panics
    ///
    /// As [`Model::directed`].
    #[must_use]
    pub fn symmetric(&self) -> &Arc<DistanceTable> {
        self.symmetric.get_or_init(|| match self.ground.is_undirected() {
            true => self.directed().clone(),
            false => Arc::new(self.directed().symmetric()),
        })
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

    /// How many states are expected to be wrong from each answer on, computed when first asked for.
    ///
    /// # Errors
    ///
    /// If the chain is too large, or the watcher asks to stop.
    pub(crate) fn states_ahead(&self, watch: Watch<'_>) -> Result<&Arc<Ahead>, LookAheadError> {
        self.ahead(&self.states_ahead, || Loss::States, watch)
    }

    /// The same for distances.
    pub(crate) fn distance_ahead(&self, watch: Watch<'_>) -> Result<&Arc<Ahead>, LookAheadError> {
        self.ahead(&self.distance_ahead, || Loss::Distance(self.symmetric()), watch)
    }

    fn ahead<'a>(
        &self,
        slot: &'a OnceLock<Arc<Ahead>>,
        loss: impl FnOnce() -> Loss<'a>,
        watch: Watch<'_>,
    ) -> Result<&'a Arc<Ahead>, LookAheadError> {
        if slot.get().is_none() {
            Ahead::affordable(&self.chain)?;
            let ahead = Ahead::new(&self.chain, loss(), watch)?;
            // Another thread may have been faster; its table is the same.
            let _ = slot.set(Arc::new(ahead));
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
