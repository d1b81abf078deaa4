//! The largest scale that keeps a promise, found by auditing instead of by the theorem.
//!
//! The theorem's scale has to be right for every chain, so on a given one it is too small. Kernels
//! are known, so a trial scale can be audited: it will do if the audited loss, rounded up, keeps the
//! promise.
//!
//! # Privacy
//!
//! **b substitutions.** Two adjacent walks differ in at most b states, and each of these steps loses
//! at most `max ℓ(x, x')` over all pairs. If that is at most `ε/b`, the steps add up to at most ε.
//!
//! **A radius ρ.** The steps in which two adjacent walks differ have distances that add up to at
//! most ρ. Their losses add up, so the walks lose at most the largest sum of losses of pairs whose
//! distances add up to at most ρ. If that is at most ε, the promise is kept. ∎ (The module `walk_loss`
//! bounds this sum. It is at most ε, in particular, where `ℓ(x, x') ≤ (ε/ρ)·d_sym(x, x')` for
//! all pairs within the radius; but where few replaced states fit into the radius, it allows more.)
//! Pairs farther apart than the radius never meet in adjacent walks, so they need no check. Pairs at
//! distance zero must have no loss at all, since any number of them fits.
//!
//! What such a calibration gives up is everything beyond the radius: the theorem's scale loses at
//! most ε/ρ for each nat, so also 2ε for walks within 2ρ. A calibrated one promises ε within ρ.
//!
//! **Transitions only.** Where the pairs are too many, their losses are bounded by sums along paths
//! of transitions, which are upper bounds and so keep the promise just as well.
//!
//! **A private start.** The first state has a kernel of its own. Within a radius, if it is replaced by one
//! at distance `d`, the steps after it lose at most the largest sum for `ρ − d`. What that leaves of ε, for
//! each nat of `d` and for the `d` that leaves least, is what the first state may lose. For substitutions
//! each state may lose `ε/b`, the first one as well.
//!
//! Trial factors are fractions, and the audit that accepts the last one is its certificate: nothing
//! depends on how the search came by it. The search takes it that a larger scale loses more.

use std::fmt;

#[cfg(feature = "serde")]
use serde::Serialize;
use thiserror::Error;

use super::loss::{Coverage, Effort, reach_of};
use super::loss_collectors::{Collect, Collected};
use super::pair_losses::losses;
use super::pairs::Pairs;
use super::paths::{LossGraph, bound_all};
use super::running_loss::Entry;
use crate::mechanism::{Mechanism, Promise, Radius, Unit};
use crate::model::TooLarge;
use crate::nats::Nats;
use crate::rational::Rational;
use crate::rounding::{below, divide_up};
use crate::watch::{Progress, Stage, Stopped, Watch, part, report_share};

/// How close to the promise the audited loss is brought, as a share of it.
const TOLERANCE: f64 = 1e-5;
/// Trials after which the best so far is taken.
const MOST_TRIALS: u32 = 60;
/// A scale this many times the theorem's is large enough, whatever the audit would still allow.
const LARGEST_GAIN: f64 = 1024.0;

/// What a calibration found.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Calibrated {
    /// The scale of the theorem; the smallest, where it differs between states.
    pub theorem_scale: f64,
    /// The calibrated scale; the smallest, where it differs between states.
    pub scale: f64,
    /// What every scale was multiplied by.
    pub gain: f64,
    /// ε as promised.
    pub epsilon: f64,
    /// ε as the audit certifies it, rounded up: never above what was promised.
    pub audited_epsilon: f64,
    /// Which pairs the audit compared.
    pub coverage: Coverage,
    /// How many scales were audited.
    pub trials: u32,
}

impl fmt::Display for Calibrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = match self.coverage {
            Coverage::AllPairs => "every pair that matters",
            Coverage::TransitionsOnly => "all transitions, and bounds for other pairs",
        };
        write!(
            f,
            "scale {:.7}, {:.3} times the theorem's {:.7}; audited epsilon {:.6} of {} \
             ({pairs}; {} audits)",
            self.scale,
            self.gain,
            self.theorem_scale,
            self.audited_epsilon,
            self.epsilon,
            self.trials
        )
    }
}

/// Why there is no calibrated scale.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// The mechanism was made without a promise.
    #[error("the mechanism makes no promise to calibrate to; make it with one")]
    NoPromise,
    /// An audit needs all distances, and there are too many.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// No two states are within the radius, so every scale keeps the promise.
    #[error(
        "no two states are within the radius, so the promise is empty and every scale keeps it; \
         the smallest radius that protects anything is {}",
        .smallest.in_words()
    )]
    Vacuous {
        /// The smallest radius that protects anything, rounded up.
        smallest: Radius,
    },
    /// No scale was found that keeps the promise.
    #[error(
        "no scale was found whose audited loss keeps {promise}; use the theorem's scale instead, \
         or allow more effort so that all pairs can be compared"
    )]
    OutOfReach {
        /// What was asked for.
        promise: Promise,
    },
    /// Stopped on request.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The same mechanism with the largest scale whose audited loss keeps its promise.
///
/// `theorem` is the mechanism as [`Mechanism::new`] makes it. Its scale is where the search starts;
/// where scales differ from one last state to the next, as for cells, all are multiplied by the
/// same factor. (Cells come calibrated for each last state already; what can be left to gain for
/// them is that few replaced states fit into the radius.)
///
/// # Errors
///
/// If it has no promise, if the promise is empty on this chain, or if the watcher asks to stop.
///
/// ```
/// use std::sync::Arc;
/// use veilwalk::guarantee::{Effort, calibrate};
/// use veilwalk::unwatched;
/// use veilwalk::{Chain, Mechanism, Model, Preset, Promise};
///
/// let model = Arc::new(Model::new(Chain::credit())?);
/// let promise = Promise::for_substitutions("1".parse()?, 1.try_into()?);
/// let paper = Mechanism::new(model, Preset::Paper.design(), promise)?;
/// let (better, found) = calibrate(&paper, Effort::default(), &unwatched)?;
/// assert!(found.gain > 1.5 && found.audited_epsilon <= 1.0);
/// assert_eq!(better.promise(), Some(promise));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn calibrate(
    theorem: &Mechanism,
    effort: Effort,
    watch: Watch<'_>,
) -> Result<(Mechanism, Calibrated), CalibrationError> {
    let promise = theorem.promise().ok_or(CalibrationError::NoPromise)?;
    theorem.model().require_tables()?;
    let criterion = Criterion::new(theorem, promise, effort)?;
    let chain = theorem.model().chain();
    let smallest_scale = |mechanism: &Mechanism| {
        let scales = chain.states().map(|z| mechanism.scale(z).eta());
        scales.min().expect("a chain has states").as_f64()
    };
    let mut search = Search { theorem, criterion: &criterion, watch, trials: 0 };
    let (factor, used) = search.run()?.ok_or(CalibrationError::OutOfReach { promise })?;
    report_share(watch, Stage::Scales, 1.0)?;
    let nearly = |_| watch(Progress { stage: Stage::Scales, share: 1.0 });
    let mechanism = criterion.with_first_state(theorem.rescaled(factor), &nearly)?;
    let epsilon = promise.epsilon.value().as_f64();
    let found = Calibrated {
        theorem_scale: smallest_scale(theorem),
        scale: smallest_scale(&mechanism),
        gain: factor.as_f64(),
        epsilon,
        audited_epsilon: (used * epsilon).next_up().min(epsilon),
        coverage: criterion.coverage,
        trials: search.trials,
    };
    Ok((mechanism, found))
}

/// What a scale has to meet, and on which pairs it is checked.
struct Criterion {
    promise: Promise,
    coverage: Coverage,
    /// The pairs to measure: those that matter, or transitions to bound them by.
    pairs: Pairs,
}

impl Criterion {
    fn new(
        theorem: &Mechanism,
        promise: Promise,
        effort: Effort,
    ) -> Result<Self, CalibrationError> {
        let model = theorem.model();
        let pairs = match promise.unit {
            Unit::Substitutions(_) => Pairs::All { states: model.chain().len() },
            Unit::Radius(radius) => Pairs::within(model, reach_of(radius.value())),
        };
        if pairs.len() == 0 {
            let smallest = model.closest_pair().map_or(Nats::ZERO, |pair| pair.distance);
            let smallest = super::cover::smallest_radius(smallest, model.measure());
            return Err(CalibrationError::Vacuous { smallest });
        }
        if effort.affords(theorem, pairs.len()) {
            return Ok(Self { promise, coverage: Coverage::AllPairs, pairs });
        }
        let pairs = Pairs::transitions(model.chain()).and(&Pairs::within(model, Nats::ZERO));
        Ok(Self { promise, coverage: Coverage::TransitionsOnly, pairs })
    }

    /// The audited loss as a share of what is allowed: the promise is kept up to one.
    fn used(&self, mechanism: &Mechanism, watch: Watch<'_>) -> Result<f64, Stopped> {
        let loss = self.collected(mechanism, watch)?.walk_loss().expect("a trial has the promise");
        Ok(divide_up(loss, below(self.promise.epsilon.value())))
    }

    /// The mechanism with what its steps leave to a private start.
    fn with_first_state(
        &self,
        mechanism: Mechanism,
        watch: Watch<'_>,
    ) -> Result<Mechanism, Stopped> {
        let spare = self.collected(&mechanism, watch)?.spare_per_nat();
        Ok(match spare.and_then(Rational::at_most) {
            Some(spare) => mechanism.with_first_state_losing(spare),
            None => mechanism,
        })
    }

    fn collected(
        &self,
        mechanism: &Mechanism,
        watch: Watch<'_>,
    ) -> Result<Collected<'static>, Stopped> {
        let model = mechanism.model();
        let measuring = match self.coverage {
            Coverage::AllPairs => 1.0,
            Coverage::TransitionsOnly => 0.7,
        };
        let values = losses(mechanism, &self.pairs, &part(watch, 0.0..measuring))?;
        let measured = self.pairs.iter().zip(values);
        Ok(match self.coverage {
            Coverage::AllPairs => {
                let mut collected = Collected::new(mechanism, None);
                for ((x, other), loss) in measured {
                    let distance = model.symmetric().between(x, other);
                    collected.add(Entry { x, other, distance, loss });
                }
                collected
            }
            Coverage::TransitionsOnly => {
                let graph = LossGraph::new(model.chain().len(), measured);
                let after = part(watch, measuring..1.0);
                bound_all(model, &graph, &|| Collected::new(mechanism, None), &after)?
            }
        })
    }
}

struct Search<'a> {
    theorem: &'a Mechanism,
    criterion: &'a Criterion,
    watch: Watch<'a>,
    trials: u32,
}

impl Search<'_> {
    fn audit(&mut self, factor: Rational) -> Result<f64, Stopped> {
        // How many trials it will take is not known: each is shown as a share of what is left.
        let before = f64::from(self.trials);
        let watch = |Progress { share, .. }: Progress| {
            let share = 1.0 - 0.75f64.powf(before + share);
            (self.watch)(Progress { stage: Stage::Scales, share })
        };
        self.trials += 1;
        self.criterion.used(&self.theorem.rescaled(factor), &watch)
    }

    /// The largest factor found that keeps the promise, with the share of it that it uses.
    ///
    /// The loss grows almost in proportion to the scale, so a straight line through two trials
    /// mostly lands within the tolerance; halving the interval is the fallback.
    fn run(&mut self) -> Result<Option<(Rational, f64)>, Stopped> {
        let mut kept: Option<(Rational, f64)> = None;
        let mut broken: Option<(f64, f64)> = None;
        let mut next = Rational::ONE;
        while self.trials < MOST_TRIALS {
            let used = self.audit(next)?;
            if used <= 1.0 {
                kept = kept.filter(|(factor, _)| *factor > next).or(Some((next, used)));
            } else {
                broken = Some((next.as_f64(), used));
            }
            let aimed = match (kept, broken) {
                (Some((_, used)), _) if used >= 1.0 - TOLERANCE => break,
                (Some((factor, _)), None) if factor.as_f64() >= LARGEST_GAIN => break,
                (Some((factor, used)), None) => {
                    factor.as_f64() * ((1.0 + TOLERANCE) / used).clamp(1.0 + TOLERANCE, 2.0)
                }
                // Rounding can put the theorem's own scale a hair above what it promises.
                (None, Some((factor, used))) => {
                    factor * ((1.0 - TOLERANCE / 4.0) / used).clamp(0.01, 1.0 - TOLERANCE / 4.0)
                }
                (Some((low, low_used)), Some((high, high_used))) => {
                    let low = low.as_f64();
                    if high - low <= low * TOLERANCE / 64.0 {
                        break;
                    }
                    let goal = 1.0 - TOLERANCE / 2.0;
                    let line = low + (high - low) * (goal - low_used) / (high_used - low_used);
                    let middle = low + (high - low) / 2.0;
                    // Every third trial halves, in case lines keep landing on the same side.
                    let straight = !self.trials.is_multiple_of(3) && line > low && line < high;
                    if straight { line } else { middle }
                }
                (None, None) => unreachable!("a trial is either kept or broken"),
            };
            next = floor_to_seven_digits(aimed);
            if next.is_zero() || kept.is_some_and(|(factor, _)| factor >= next) {
                break;
            }
        }
        Ok(kept)
    }
}

/// The fraction with about seven significant decimal digits at or below a number.
fn floor_to_seven_digits(value: f64) -> Rational {
    let whole_digits = value.max(1e-12).log10().floor() as i32 + 1;
    let decimals = (7 - whole_digits).clamp(0, 9) as u32;
    let denominator = 10u64.pow(decimals);
    Rational::new((value * denominator as f64).floor() as u64, denominator)
        .expect("the denominator is positive")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_rounded_down_to_seven_digits() {
        for (value, shown) in
            [(0.123_456_789, "0.1234567"), (12.345_678_9, "12.34567"), (2e-3, "0.002")]
        {
            let rounded = floor_to_seven_digits(value);
            assert_eq!(rounded.to_string(), shown);
            assert!(rounded.as_f64() <= value);
        }
        assert_eq!(floor_to_seven_digits(3e12), Rational::whole(3_000_000_000_000));
    }
}
