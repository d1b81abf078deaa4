//! The exact privacy loss of replacing one real state by another.
//!
//! ```text
//! ℓ(x, x') = max over last states z and outcomes y of |ln K(y | z, x) − ln K(y | z, x')|
//! ```
//!
//! Two walks that differ in one state have release probabilities whose log-ratio is at most this,
//! and for walks that differ in several states the losses add up, step by step. Kernels are known,
//! so the loss is computed rather than bounded: for one pair, for all transitions, and for all
//! pairs where that is affordable. Where it is not, the losses of transitions bound those of all
//! pairs: ℓ obeys the triangle inequality, so along any path of transitions they add up to an upper
//! bound (the proof is in this module's `paths`; if `ℓ(i, j) ≤ λ·w(i, j)` on every transition, it
//! gives `ℓ(x, x') ≤ λ·min(d(x, x'), d(x', x))`).
//!
//! Every figure is an upper bound: the error of computed kernels ([`rounding`](crate::rounding)) is
//! added, and quotients and means are rounded up.

#[cfg(feature = "serde")]
use serde::Serialize;

use super::loss_collectors::{Collect, Collected};
use super::pair_losses::{losses, same_kernels, work};
use super::pairs::Pairs;
use super::paths::{LossGraph, bound_all};
use super::running_loss::{Entry, Tally, per_nat};
use crate::chain::StateId;
use crate::distance::Ground;
use crate::mechanism::{Mechanism, Observation, Unit};
use crate::nats::Nats;
use crate::rational::Rational;
use crate::rounding::{add_up, log_kernel_error};
use crate::watch::{Stopped, Watch, part};

/// Which pairs were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Coverage {
    /// Every two states.
    AllPairs,
    /// The ends of transitions; other pairs are bounded by sums along paths.
    TransitionsOnly,
}

/// What a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum FigureKind {
    /// The loss itself, but for rounding up.
    Exact,
    /// Something it cannot exceed.
    UpperBound,
}

/// How much work may be spent: comparisons of two probabilities, about a nanosecond each, and in blocks
/// exponentials, about ten each.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Effort {
    comparisons: f64,
    exponentials: f64,
}

impl Effort {
    /// Whatever it takes to compare all pairs of states; in blocks, a few minutes.
    pub const UNLIMITED: Self = Self { comparisons: f64::INFINITY, exponentials: 2e10 };
    /// Transitions only, however small the chain.
    pub const LEAST: Self = Self { comparisons: 0.0, exponentials: 0.0 };

    /// At most this many comparisons, or exponentials in blocks.
    #[must_use]
    pub const fn comparisons(count: u64) -> Self {
        Self { comparisons: count as f64, exponentials: count as f64 }
    }

    /// Whether comparing this many pairs is within it.
    pub(super) fn affords(self, mechanism: &Mechanism, pairs: usize) -> bool {
        work(mechanism, pairs) <= self.comparisons
    }

    pub(super) fn affords_exponentials(self, count: f64) -> bool {
        count <= self.exponentials
    }

    /// What an audit with this effort would cover.
    #[must_use]
    pub fn coverage(self, mechanism: &Mechanism) -> Coverage {
        let all = Pairs::All { states: mechanism.model().chain().len() };
        match self.affords(mechanism, all.len()) {
            true => Coverage::AllPairs,
            false => Coverage::TransitionsOnly,
        }
    }
}

impl Default for Effort {
    /// A hundred thousand million comparisons: under a minute on two cores. In blocks, a second or two.
    fn default() -> Self {
        Self { comparisons: 1e11, exponentials: 1e8 }
    }
}

/// The loss of one pair, and where it is attained.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct PairLoss {
    /// The loss, rounded up.
    pub loss: f64,
    /// The last released state that tells the two apart best.
    pub previous: StateId,
    /// The outcome that does.
    pub outcome: StateId,
}

/// The loss of replacing `x` by `other`, or the reverse.
///
/// ```
/// use std::sync::Arc;
/// use veilwalk::guarantee::pair_loss;
/// use veilwalk::{Chain, Mechanism, Model, Preset, Promise};
///
/// let model = Arc::new(Model::new(Chain::credit())?);
/// let promise = Promise::for_substitutions("1".parse()?, 1.try_into()?);
/// let chen = Mechanism::new(model.clone(), Preset::Chen.design(), promise)?;
/// let (a, b) = (model.chain().require("Baa")?, model.chain().require("Ba")?);
/// assert!((pair_loss(&chen, a, b).loss - 1.0).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn pair_loss(mechanism: &Mechanism, x: StateId, other: StateId) -> PairLoss {
    let first = StateId::new(0);
    if let Some(plane) = mechanism.observation().and_then(Observation::plane) {
        // It is attained at the point of either state.
        return PairLoss { loss: plane.pair_loss(x, other), previous: first, outcome: x };
    }
    let outcome = mechanism.candidates(first)[0];
    let mut worst = PairLoss { loss: 0.0, previous: first, outcome };
    let mut widest = 0;
    if x == other {
        return worst;
    }
    let mut largest_log = 0f64;
    for previous in mechanism.last_states() {
        let (p, q) = (mechanism.log_kernel(previous, x), mechanism.log_kernel(previous, other));
        let candidates = mechanism.candidates(previous);
        widest = widest.max(candidates.len());
        for ((&outcome, p), q) in candidates.iter().zip(p).zip(q) {
            largest_log = largest_log.max(p.abs()).max(q.abs());
            let loss = (p - q).abs();
            if loss > worst.loss {
                worst = PairLoss { loss, previous, outcome };
            }
        }
    }
    let apart = mechanism.model().symmetric_between(x, other);
    if apart > Nats::ZERO || !same_kernels(mechanism, x, other) {
        let error = 2.0 * log_kernel_error(widest, largest_log);
        worst.loss = add_up(worst.loss, error);
    }
    worst
}

/// The pair with the largest figure of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Worst {
    /// A real state.
    pub real: StateId,
    /// The one that replaces it.
    pub other: StateId,
    /// Their symmetric distance.
    pub distance: Nats,
    /// Their loss.
    pub loss: f64,
    /// The last released state and the outcome that attain it, where the loss is exact.
    pub attained: Option<(StateId, StateId)>,
}

/// The losses of a set of pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Summary {
    /// Whether these are the losses or bounds on them.
    pub figures: FigureKind,
    /// How many unordered pairs there are.
    pub pairs: u64,
    /// The largest loss; zero for no pairs.
    pub max: f64,
    /// The mean loss.
    pub mean: f64,
    /// The pair with the largest loss.
    pub worst: Option<Worst>,
    /// The largest loss per nat of symmetric distance. Infinite if two states at distance zero can
    /// be told apart.
    pub per_nat: f64,
    /// The pair with the largest loss per nat.
    pub worst_per_nat: Option<Worst>,
}

impl Summary {
    fn new(mechanism: &Mechanism, figures: FigureKind, tally: &Tally) -> Self {
        let worst = |entry: Entry| {
            let Entry { x, other, distance, loss } = entry;
            let attained = (figures == FigureKind::Exact).then(|| {
                let pair = pair_loss(mechanism, x, other);
                (pair.previous, pair.outcome)
            });
            Worst { real: x, other, distance, loss, attained }
        };
        Self {
            figures,
            pairs: tally.pairs,
            max: tally.max(),
            mean: tally.mean(mechanism.model().chain().len()),
            worst: tally.worst.map(worst),
            per_nat: tally.max_per_nat(),
            worst_per_nat: tally.worst_per_nat.map(worst),
        }
    }
}

/// What replacing the first state loses, where it is drawn near the real one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct FirstStateLoss {
    /// The scale of the start.
    pub scale: f64,
    /// The largest loss for each nat of distance; none where the start counts replaced states.
    pub per_nat: Option<f64>,
    /// The largest loss of any replacement.
    pub max: f64,
}

impl FirstStateLoss {
    /// Of a private start under this mechanism; none if it cannot start so.
    pub(super) fn of(mechanism: &Mechanism) -> Option<Self> {
        let start = mechanism.private_start().ok()?;
        let scale = start.scale().eta().as_f64();
        let per_unit = start.loss_per_unit();
        Some(if start.counts_nats() {
            let diameter = mechanism.model().diameter().distance.as_f64();
            Self { scale, per_nat: Some(per_unit), max: (per_unit * diameter).next_up() }
        } else {
            Self { scale, per_nat: None, max: per_unit }
        })
    }
}

/// The audited losses of a mechanism.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Losses {
    /// Which pairs were compared.
    pub coverage: Coverage,
    /// Replacing a state by any other.
    pub any: Summary,
    /// Replacing a state by one within the promised radius; `None` without such a promise.
    pub within_radius: Option<Summary>,
    /// Replacing a state by one that it can move to, or that can move to it.
    pub transitions: Summary,
    /// Replacing a state by one that keeps a walk possible: they share a state before and a state
    /// after.
    pub feasible: Summary,
    /// The largest `ℓ(i, j) / w(i, j)` over transitions: a bound per nat of the shorter direction,
    /// infinite where a certain move (of weight zero) has a loss.
    pub per_weight: f64,
    /// What a private start loses; `None` where there can be none.
    pub first_state: Option<FirstStateLoss>,
    /// The largest loss of two whole walks that are adjacent under the promise, from a private start if
    /// there can be one; `None` without a promise.
    pub walk: Option<f64>,
}

/// Audits the losses of a mechanism: all pairs if the effort allows it, transitions otherwise.
///
/// # Errors
///
/// If the watcher asks to stop.
///
/// # Panics
///
/// If the chain is too large for a table of all distances
/// ([`Model::require_tables`](crate::Model::require_tables)).
pub fn audited_loss(
    mechanism: &Mechanism,
    effort: Effort,
    watch: Watch<'_>,
) -> Result<Losses, Stopped> {
    let (model, chain) = (mechanism.model(), mechanism.model().chain());
    let transitions = Pairs::transitions(chain);
    let feasible = Pairs::feasible(chain);
    let coverage = effort.coverage(mechanism);
    let measured = match coverage {
        Coverage::AllPairs => Pairs::All { states: chain.len() },
        Coverage::TransitionsOnly => transitions.clone().and(&Pairs::within(model, Nats::ZERO)),
    };
    // What matters most is measured as well, where it is affordable: pairs within the radius, then
    // those that keep a walk possible.
    let widen = |measured: Pairs, count: usize, more: &dyn Fn() -> Pairs| match measured {
        Pairs::All { .. } => (measured, FigureKind::Exact),
        _ if effort.affords(mechanism, measured.len() + count) => {
            (measured.and(&more()), FigureKind::Exact)
        }
        _ => (measured, FigureKind::UpperBound),
    };
    let reach = promised_reach(mechanism);
    let (measured, within_figures) = match reach {
        Some(reach) => {
            widen(measured, Pairs::count_within(model, reach), &|| Pairs::within(model, reach))
        }
        None => (measured, FigureKind::Exact),
    };
    let (measured, feasible_figures) = widen(measured, feasible.len(), &|| feasible.clone());
    // Measuring is the larger part of the work where bounds along paths follow it.
    let first_part = match coverage {
        Coverage::AllPairs => 1.0,
        Coverage::TransitionsOnly => 0.7,
    };
    let values = losses(mechanism, &measured, &part(watch, 0.0..first_part))?;
    let entry = |(x, other): (StateId, StateId), loss| {
        let distance = model.symmetric().between(x, other);
        Entry { x, other, distance, loss }
    };
    let known = |x, other| measured.place(x, other).map(|place| values[place]);
    let tally_of = |pairs: &Pairs| {
        let mut tally = Tally::default();
        for (x, other) in pairs.iter() {
            let loss = known(x, other).expect("the set was measured");
            tally.add(entry((x, other), loss));
        }
        tally
    };

    let exact = |tally: &Tally| Summary::new(mechanism, FigureKind::Exact, tally);
    let collected = match coverage {
        Coverage::AllPairs => {
            let mut collected = Collected::new(mechanism, None);
            for (pair, &loss) in measured.iter().zip(&values) {
                collected.add(entry(pair, loss));
            }
            collected
        }
        Coverage::TransitionsOnly => {
            let graph = LossGraph::new(chain.len(), measured.iter().zip(values.iter().copied()));
            let bounded = (feasible_figures == FigureKind::UpperBound).then_some(&feasible);
            let empty = || Collected::new(mechanism, bounded);
            let after = part(watch, first_part..1.0);
            bound_all(model, &graph, &empty, &after)?
        }
    };
    let figures = match coverage {
        Coverage::AllPairs => FigureKind::Exact,
        Coverage::TransitionsOnly => FigureKind::UpperBound,
    };
    let summary = |tally: &Tally| Summary::new(mechanism, figures, tally);
    let any = summary(&collected.any);
    // A path is never shorter than the loss of its ends, so for measured pairs the two agree.
    let within_radius = reach.map(|_| Summary::new(mechanism, within_figures, &collected.within));
    let first_state = FirstStateLoss::of(mechanism);
    let walk = match first_state {
        Some(first) => collected.walk_loss_from_start(first),
        None => collected.walk_loss(),
    };
    let feasible = match feasible_figures {
        FigureKind::Exact => exact(&tally_of(&feasible)),
        FigureKind::UpperBound => summary(&collected.feasible),
    };
    let mut per_weight = 0f64;
    for i in chain.states() {
        for (&j, &weight) in chain.successors(i).iter().zip(chain.weights(i)) {
            if let Some(loss) = known(i, j) {
                let weight = match model.ground() {
                    Ground::Nats => weight,
                    _ => model.symmetric_between(i, j),
                };
                per_weight = per_weight.max(per_nat(loss, weight));
            }
        }
    }
    let transitions = exact(&tally_of(&transitions));
    Ok(Losses {
        coverage,
        any,
        within_radius,
        transitions,
        feasible,
        per_weight,
        first_state,
        walk,
    })
}

/// The largest distance within the promised radius.
pub(super) fn promised_reach(mechanism: &Mechanism) -> Option<Nats> {
    match mechanism.promise()?.unit {
        Unit::Radius(radius) => Some(reach_of(radius.value())),
        Unit::Substitutions(_) => None,
    }
}

/// The largest distance that is at most this many nats, exactly.
pub(super) fn reach_of(radius: Rational) -> Nats {
    let above = u128::from(radius.numerator()) * u128::from(Nats::PER_NAT);
    let units = above / u128::from(radius.denominator());
    Nats::from_units(u32::try_from(units).unwrap_or(u32::MAX))
}
