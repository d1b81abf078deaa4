//! The family of mechanisms: one rule with a few choices.
//!
//! At each step the last released state is `z`, the real state is `x`, and the candidates are the
//! states that `z` can move to. Every candidate `y` has a cost in nats,
//!
//! ```text
//! c(y | z, x) = η · D(y, x) + β · w(z, y),        w(z, y) = −ln P(y | z),
//! ```
//!
//! and a [`Rule`] picks one, cheaper ones more often. A [`Design`] chooses the distance `D`, the
//! rule and the chain weight β; a [`Promise`] fixes the scale η. Named members are in [`Preset`].
//!
//! # Privacy
//!
//! Let `x` and `x'` be two real walks of equal length. The released walk is made one state at a time,
//! each from the last released state and the current real one, so the probability of releasing
//! `y₀ y₁ … y_n` is `K₀(y₀ | x₀) Π_t K(y_t | y_{t−1}, x_t)`, where the first factor is public, or that of
//! a private start ([`first_state`]). The
//! log-ratio for the two walks is therefore at most the sum over steps of the largest log-ratio of
//! `K(y | z, x_t)` and `K(y | z, x'_t)`. The offset `β·w(z, y)` does not depend on the real state;
//! the distance term moves by `η·|D(y, x_t) − D(y, x'_t)|`, and each rule turns that into at most
//! twice as much loss ([`permute_and_flip`], [`exponential`]). [`scale`] says how much `D` can move
//! in all between adjacent walks, and sets η so that the sum is at most ε; [`cell`] has a distance
//! made to measure, and a scale for each last released state; [`block`] releases several states
//! together; and in [`observation`] what is drawn is not a move, and the released walk is made of what was
//! drawn. Nothing is assumed of the real walk: it may take moves that the chain does not have.
//!
//! The argument is about real numbers, and the program keeps to it exactly: distances and costs are
//! integers, parameters fractions, coins and indices exact. Where a number has to be rounded, η is
//! rounded down.

pub mod believed;
pub mod block;
pub mod cell;
mod design;
pub mod exponential;
pub mod first_state;
mod log_total;
pub mod observation;
pub mod permute_and_flip;
pub mod plane;
pub(crate) mod promise;
pub mod response;
pub mod scale;
pub(crate) mod step;
mod tracking;

use std::fmt;
use std::sync::Arc;

pub use block::{BlockError, BlockLength, Blocks, NotABlockLength};
pub use design::{
    Calibration, CandidateKind, Candidates, Design, Distance, LeastShare, Preset, Rule,
    StateWeights, UnknownName,
};
pub use first_state::{NoPrivateStart, Start};
pub use observation::{Observation, WeightsFound};
pub use plane::PlaneError;
pub use promise::{ChainWeight, Epsilon, ParameterError, Promise, Radius, Unit};
pub use scale::{CostScale, ScaleError};
pub use tracking::{TrackAim, Tracking};

pub(crate) use believed::Predicted;
pub(crate) use design::named;
pub(crate) use log_total::exp_minus;
pub(crate) use observation::ObservationSpace;
pub(crate) use response::{Allowance, LogRow};
pub(crate) use step::Workspace;

use cell::CellScale;
use first_state::FirstState;
use step::Scale;

use crate::chain::StateId;
use crate::distance::{Cells, CellsTooLarge, Hamming, Metric, Nearest};
use crate::model::{Certified, Model};
use crate::random::SAMPLER_VERSION;
use crate::rational::Rational;
use crate::watch::{Watch, unwatched};

/// A member of the family on a chain: gives its exact kernel, and takes exact sampled steps.
///
/// ```
/// use std::sync::Arc;
/// use veilwalk::{Chain, Mechanism, Model, Preset, Promise};
///
/// let model = Arc::new(Model::new(Chain::credit())?);
/// let promise = Promise::within_radius("1".parse()?, "3.5".parse()?);
/// let mechanism = Mechanism::new(model.clone(), Preset::Sharp.design(), promise)?;
///
/// let chain = model.chain();
/// let (previous, real) = (chain.require("Caa")?, chain.require("Ca/C")?);
/// let kernel = mechanism.kernel(previous, real);
/// assert_eq!(kernel.len(), chain.successors(previous).len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Mechanism {
    model: Arc<Model>,
    design: Design,
    promise: Option<Promise>,
    metric: Arc<dyn Metric>,
    scales: Scales,
    certificate: Option<Arc<[CellScale]>>,
    blocks: Option<Arc<Blocks>>,
    first_state: FirstState,
    observation: Option<Arc<Observation>>,
}

/// One scale for all, or one for each last released state, which is public.
#[derive(Clone, Debug)]
enum Scales {
    Uniform(Scale),
    PerState(Arc<[Scale]>),
}

/// Working space for kernels.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelWorkspace {
    costs: Workspace,
    accept: Vec<f64>,
}

impl Mechanism {
    /// The mechanism of this design that keeps this promise. Its scale is the one the theorem gives;
    /// for cells, the largest that the audit allows.
    ///
    /// # Errors
    ///
    /// If no scale keeps the promise on this chain, or cells would need too much memory.
    pub fn new(model: Arc<Model>, design: Design, promise: Promise) -> Result<Self, ScaleError> {
        Self::watched(model, design, promise, &unwatched)
    }

    /// The same, watched: making and calibrating cells takes seconds on chains of thousands of
    /// states.
    ///
    /// # Errors
    ///
    /// As [`Mechanism::new`], and if the watcher asks to stop.
    pub fn watched(
        model: Arc<Model>,
        design: Design,
        promise: Promise,
        watch: Watch<'_>,
    ) -> Result<Self, ScaleError> {
        if design.observes() {
            return Self::observing(model, design, promise, Calibration::Exact, watch);
        }
        if design.cells().is_some() {
            return Self::with_cells(model, design, promise, Calibration::Exact, watch);
        }
        let eta = scale::theorem_scale(&model, design, promise)?;
        let exact = Calibration::Exact;
        let first_state = FirstState::for_promise(&model, design.distance, promise, exact)?;
        let promise = Some(promise);
        Ok(Self { promise, first_state, ..Self::with_scale(model, design, eta)? })
    }

    /// The mechanism of a design that goes by cells, with a choice of calibration.
    ///
    /// # Errors
    ///
    /// If no scale keeps the promise on this chain, the tables would need too much memory, or the
    /// watcher asks to stop.
    ///
    /// # Panics
    ///
    /// If the design's distance is not one of cells.
    pub fn with_cells(
        model: Arc<Model>,
        design: Design,
        promise: Promise,
        calibration: Calibration,
        watch: Watch<'_>,
    ) -> Result<Self, ScaleError> {
        let nearest = design.distance.nearest().expect("a distance that goes by cells");
        let cells = model.cells(nearest)?.clone();
        let scales = match model.certified(design, promise, calibration) {
            Some(scales) => scales.clone(),
            None => cell::calibrated(&model, &cells, design, promise, calibration, watch)?.into(),
        };
        let certified = Certified { design, promise, calibration, scales };
        Self::with_certified(model, cells, &certified)
    }

    /// The mechanism with scales that were calibrated before.
    pub(crate) fn certified(model: Arc<Model>, certified: &Certified) -> Result<Self, ScaleError> {
        let nearest = certified.design.distance.nearest().expect("a distance that goes by cells");
        let cells = model.cells(nearest)?.clone();
        Self::with_certified(model, cells, certified)
    }

    fn with_certified(
        model: Arc<Model>,
        cells: Arc<Cells>,
        certified: &Certified,
    ) -> Result<Self, ScaleError> {
        let Certified { design, promise, calibration, scales } = certified;
        let first_state = FirstState::for_promise(&model, design.distance, *promise, *calibration)?;
        let metric: Arc<dyn Metric> = match promise.unit {
            Unit::Radius(_) => Arc::new(cell::ByRadius::new(cells)),
            Unit::Substitutions(_) => Arc::new(cell::BySubstitution(cells)),
        };
        Ok(Self {
            model,
            design: *design,
            promise: Some(*promise),
            metric,
            scales: Scales::PerState(scales.iter().map(|c| Scale::new(c.scale)).collect()),
            certificate: Some(scales.clone()),
            blocks: None,
            first_state,
            observation: None,
        })
    }

    /// The mechanism of this design with a scale of the caller's choice. It makes no promise of its
    /// own: the caller has to know what the scale gives.
    ///
    /// # Errors
    ///
    /// If the design goes by cells and their tables would need too much memory.
    pub fn with_scale(
        model: Arc<Model>,
        design: Design,
        eta: Rational,
    ) -> Result<Self, CellsTooLarge> {
        let scale = Scale::new(CostScale::new(eta, design.chain_weight));
        Self::assemble(model, design, Scales::Uniform(scale))
    }

    /// The same with one scale for each last released state, in the order of the states.
    ///
    /// # Errors
    ///
    /// If the design goes by cells and their tables would need too much memory.
    ///
    /// # Panics
    ///
    /// If there is not exactly one scale for each state.
    pub fn with_scales(
        model: Arc<Model>,
        design: Design,
        etas: &[Rational],
    ) -> Result<Self, CellsTooLarge> {
        assert_eq!(etas.len(), model.chain().len(), "one scale for each state");
        let scale = |&eta: &Rational| Scale::new(CostScale::new(eta, design.chain_weight));
        let scales = etas.iter().map(scale);
        Self::assemble(model, design, Scales::PerState(scales.collect()))
    }

    fn assemble(model: Arc<Model>, design: Design, scales: Scales) -> Result<Self, CellsTooLarge> {
        let metric: Arc<dyn Metric> = match design.distance {
            Distance::Directed => model.directed_metric(),
            Distance::Symmetric => model.symmetric_metric(),
            Distance::Hamming => Arc::new(Hamming),
            Distance::Cell => {
                Arc::new(cell::ByRadius::new(model.cells(Nearest::Directed)?.clone()))
            }
            Distance::CellSymmetric => {
                Arc::new(cell::ByRadius::new(model.cells(Nearest::Symmetric)?.clone()))
            }
        };
        Ok(Self {
            model,
            design,
            promise: None,
            metric,
            scales,
            certificate: None,
            blocks: None,
            first_state: FirstState::default(),
            observation: None,
        })
    }

    /// What is certified of the scale of each last released state, for mechanisms that go by cells.
    #[must_use]
    pub fn certificate(&self) -> Option<&[CellScale]> {
        self.certificate.as_deref()
    }

    /// The model it works on.
    #[must_use]
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Its choices.
    #[must_use]
    pub fn design(&self) -> Design {
        self.design
    }

    /// What it promises, if it was made to a promise.
    #[must_use]
    pub fn promise(&self) -> Option<Promise> {
        self.promise
    }

    /// What releases several steps together, if it does.
    #[must_use]
    pub fn blocks(&self) -> Option<&Blocks> {
        self.blocks.as_deref()
    }

    /// The scale η in force when the last released state is `previous`.
    #[must_use]
    pub fn scale(&self, previous: StateId) -> CostScale {
        self.scale_after(previous).cost
    }

    fn scale_after(&self, previous: StateId) -> &Scale {
        match &self.scales {
            Scales::Uniform(scale) => scale,
            Scales::PerState(all) => &all[previous.index()],
        }
    }

    /// The exact distribution of what is drawn next: one probability for each of the
    /// [candidates](Mechanism::candidates) after `previous`, in order. In blocks, that of the same costs one step at a time;
    /// [`Mechanism::log_law`] has the distribution of a block, and [`Mechanism::noise`] that of points on a plane, which
    /// have no end and are left out here.
    #[must_use]
    pub fn kernel(&self, previous: StateId, real: StateId) -> Vec<f64> {
        let mut kernel = self.log_kernel(previous, real);
        kernel.iter_mut().for_each(|l| *l = l.exp());
        kernel
    }

    /// The logarithms of [`Mechanism::kernel`]. They are finite however small a probability is.
    #[must_use]
    pub fn log_kernel(&self, previous: StateId, real: StateId) -> Vec<f64> {
        if let Some(observation) = self.observation() {
            return self.log_kernel_of_observation(observation, previous, real);
        }
        let scale = self.scale(previous);
        let mut space = Workspace::default();
        self.fill_costs(previous, real, scale, &mut space);
        let mut out = vec![0.0; space.costs.len()];
        log_kernel_of(self.design.rule, &space.costs, scale, &mut out);
        out
    }

    /// How much each candidate costs above the cheapest, over the denominator of
    /// [`Mechanism::scale`]. Real states with equal answers have equal kernels, exactly.
    pub(crate) fn excess_costs(&self, previous: StateId, real: StateId) -> Vec<u64> {
        let scale = self.scale(previous);
        let mut space = Workspace::default();
        let least = match self.observation() {
            Some(observation) => {
                self.observation_costs(observation, previous, real, &mut space.costs);
                space.costs.iter().copied().min().unwrap_or(0)
            }
            None => self.fill_costs(previous, real, scale, &mut space),
        };
        space.costs.iter_mut().for_each(|cost| *cost -= least);
        space.costs
    }

    /// The same mechanism, one step at a time, with every scale times a factor, rounded down. It keeps the promise in
    /// name; the caller has to check that it keeps it in fact.
    pub(crate) fn rescaled(&self, factor: Rational) -> Self {
        let times = |scale: &Scale| {
            let eta = scale.cost.eta();
            let eta = Rational::floor_of_products(
                [eta.numerator().into(), factor.numerator().into()],
                [eta.denominator().into(), factor.denominator().into()],
            );
            Scale::new(CostScale::new(eta, self.design.chain_weight))
        };
        let scales = match &self.scales {
            Scales::Uniform(scale) => Scales::Uniform(times(scale)),
            Scales::PerState(all) => Scales::PerState(all.iter().map(times).collect()),
        };
        // Within a radius, what is left for the first state depends on what the steps then lose.
        let replaced = matches!(self.promise, Some(Promise { unit: Unit::Substitutions(_), .. }));
        let first_state = if replaced { self.first_state.clone() } else { FirstState::default() };
        Self { scales, certificate: None, blocks: None, first_state, ..self.clone() }
    }

    /// Writes [`Mechanism::kernel`] into `out`, without memory of its own: analysis asks for
    /// hundreds of millions of probabilities.
    pub(crate) fn kernel_into(
        &self,
        previous: StateId,
        real: StateId,
        space: &mut KernelWorkspace,
        out: &mut [f64],
    ) {
        let scale = self.scale(previous);
        let least = self.fill_costs(previous, real, scale, &mut space.costs);
        let costs = &space.costs.costs;
        let per_unit = 1.0 / scale.denominator() as f64;
        space.accept.clear();
        space.accept.extend(costs.iter().map(|c| (-((c - least) as f64 * per_unit)).exp()));
        match self.design.rule {
            Rule::PermuteAndFlip => permute_and_flip::kernel(&space.accept, out),
            Rule::Exponential => exponential::kernel(&space.accept, out),
        }
    }

    /// The logarithm of the probability of one outcome, by its place among the moves from `previous`: an entry
    /// of [`Mechanism::log_kernel`], for a mechanism that draws moves.
    pub(crate) fn log_kernel_at(
        &self,
        previous: StateId,
        real: StateId,
        place: usize,
        space: &mut KernelWorkspace,
    ) -> f64 {
        let scale = self.scale(previous);
        let least = self.fill_costs(previous, real, scale, &mut space.costs);
        let denominator = scale.denominator() as f64;
        let excess = |cost: &u64| (cost - least) as f64 / denominator;
        let costs = &space.costs.costs;
        space.accept.clear();
        space.accept.extend(costs.iter().map(|cost| (-excess(cost)).exp()));
        let share = match self.design.rule {
            Rule::PermuteAndFlip => permute_and_flip::integral(&space.accept, place),
            Rule::Exponential => 1.0 / space.accept.iter().sum::<f64>(),
        };
        share.ln() - excess(&costs[place])
    }

    /// Thirty-two bytes that differ whenever chain, design, scale, blocks or the version of the sampler
    /// do.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let steps = self.fingerprint_of_steps();
        let Some(blocks) = self.blocks() else { return steps };
        let mut hasher = blake3::Hasher::new_derive_key("veilwalk 2026 block mechanism v2");
        hasher.update(&steps);
        hasher.update(&[u8::from(matches!(blocks.length(), BlockLength::Whole { .. }))]);
        hasher.update(&blocks.length().most_steps().get().to_le_bytes());
        *hasher.finalize().as_bytes()
    }

    fn fingerprint_of_steps(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("veilwalk 2026 mechanism v2");
        hasher.update(&SAMPLER_VERSION.to_le_bytes());
        hasher.update(&self.model.hash().0);
        hasher.update(self.design.to_string().as_bytes());
        // Cells are other tables for substitutions than for a radius.
        let unit = self.promise.map(|promise| promise.unit);
        if let (Some(_), Some(Unit::Substitutions(_))) = (self.design.cells(), unit) {
            hasher.update(b"substitutions");
        }
        if let Some(observation) = self.observation() {
            observation.hash_into(&mut hasher);
        }
        if self.first_state.is_by_theorem() {
            hasher.update(b"start by theorem");
        }
        let mut scale = |scale: CostScale| {
            for part in scale.parts() {
                hasher.update(&part.to_le_bytes());
            }
        };
        match &self.scales {
            Scales::Uniform(only) => scale(only.cost),
            Scales::PerState(all) => all.iter().for_each(|each| scale(each.cost)),
        }
        *hasher.finalize().as_bytes()
    }
}

/// The logarithms of the kernel that a rule makes of these costs.
fn log_kernel_of(rule: Rule, costs: &[u64], scale: CostScale, out: &mut [f64]) {
    let least = costs.iter().min().expect("every state has a successor");
    let denominator = scale.denominator() as f64;
    let excess: Vec<f64> = costs.iter().map(|c| (c - least) as f64 / denominator).collect();
    match rule {
        Rule::PermuteAndFlip => permute_and_flip::log_kernel(&excess, out),
        Rule::Exponential => exponential::log_kernel(&excess, out),
    }
}

impl fmt::Debug for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mechanism")
            .field("model", &self.model.hash())
            .field("design", &self.design)
            .field("promise", &self.promise)
            .field("blocks", &self.blocks)
            .finish_non_exhaustive()
    }
}
