//! One setting: the mechanism is made, and everything that figures show of it is measured.

use std::sync::Arc;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use veilwalk::analysis::Origin;
use veilwalk::guarantee::{CalibrationError, Effort, Guarantee, calibrate};
use veilwalk::internal::drift::{Drift, DriftReport};
use veilwalk::internal::guarantee::FigureKind as Kind;
use veilwalk::internal::joint::{JointChain, KernelMemory};
use veilwalk::internal::profile::Profile;
use veilwalk::internal::simulate;
use veilwalk::internal::simulate::{
    RealWalks, SimulatedExceedance, Simulation, simulate as simulated,
};
use veilwalk::mechanism::Calibration;
use veilwalk::session::Releaser;
use veilwalk::{Mechanism, Preset, Promise, Source, Start};

use crate::Host;
use crate::plan::{Basis, Extent, LENGTHS, RADIUS, SEED, STEPS, Setting, Work};
use crate::subject::Subject;

/// What was measured of a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// The smallest and the largest scale in force.
    pub(crate) scale: (f64, f64),
    /// What to know of how it was made.
    pub(crate) remark: Option<String>,
    pub(crate) guarantee: Option<Promised>,
    /// Walks from the chain's own starting state.
    pub(crate) fixed: Figures,
    /// Walks from anywhere.
    pub(crate) uniform: Figures,
    pub(crate) drift: Option<DriftShares>,
    /// A release of each walk to look at, as places of states.
    pub(crate) samples: Vec<Vec<u32>>,
}

/// What a setting promises, and what is lost in fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Promised {
    pub(crate) vacuous: bool,
    pub(crate) covered_pairs: u64,
    pub(crate) covered_states: f64,
    pub(crate) smallest_radius: Option<f64>,
    pub(crate) bound_per_nat: Option<f64>,
    pub(crate) per_nat: Option<f64>,
    /// The largest loss of replacing one state.
    pub(crate) substitution: f64,
    /// Whether the losses are exact, or bounds.
    pub(crate) exact: bool,
}

/// Figures over walks of a hundred steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) exact: Option<Profile>,
    /// For each simulated level, the exact probability of ever exceeding it.
    pub(crate) ever: Option<Vec<f64>>,
    pub(crate) simulated: Option<Simulated>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Simulated {
    pub(crate) walks: u64,
    pub(crate) distance: Estimate,
    pub(crate) wrong: Estimate,
    /// For each simulated level.
    pub(crate) per_step: Vec<Estimate>,
    pub(crate) ever: Vec<Estimate>,
    /// For each simulated length.
    pub(crate) entropy: Vec<Estimate>,
}

/// A mean with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    pub(crate) error: f64,
}

impl From<simulate::Estimate> for Estimate {
    fn from(estimate: simulate::Estimate) -> Self {
        Self { mean: estimate.mean, error: estimate.standard_error }
    }
}

/// Shares of joint states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DriftShares {
    pub(crate) joint_states: usize,
    pub(crate) negative: f64,
    pub(crate) published: Option<f64>,
    pub(crate) corrected: Option<f64>,
    pub(crate) published_wrongly: Option<f64>,
}

impl From<DriftReport> for DriftShares {
    fn from(report: DriftReport) -> Self {
        Self {
            joint_states: report.joint_states,
            negative: report.attractive,
            published: report.published,
            corrected: report.corrected,
            published_wrongly: report.published_wrongly,
        }
    }
}

impl Figures {
    /// The mean distance: exact, or else simulated with its error.
    pub(crate) fn mean_distance(&self) -> Option<(f64, f64)> {
        let exact = self.exact.as_ref().map(|p| (after_start(&p.distance_by_step), 0.0));
        exact.or_else(|| self.simulated.as_ref().map(|s| (s.distance.mean, s.distance.error)))
    }

    /// The share of wrong states, likewise.
    pub(crate) fn wrong_share(&self) -> Option<(f64, f64)> {
        let exact = self.exact.as_ref().map(|p| (after_start(&p.wrong_by_step), 0.0));
        exact.or_else(|| self.simulated.as_ref().map(|s| (s.wrong.mean, s.wrong.error)))
    }

    /// Entropy per transition for lengths, with errors: exact for every length, or else simulated
    /// for some.
    pub(crate) fn entropies(&self) -> Vec<(usize, f64, f64)> {
        match (&self.exact, &self.simulated) {
            (Some(exact), _) => {
                let by_length = exact.entropy_by_length().into_iter().enumerate();
                by_length.map(|(k, h)| (k + 1, h, 0.0)).collect()
            }
            (None, Some(simulated)) => {
                let by_length = LENGTHS.iter().zip(&simulated.entropy);
                by_length.map(|(&n, e)| (n, e.mean, e.error)).collect()
            }
            (None, None) => Vec::new(),
        }
    }

    /// The entropy of the longest walks.
    pub(crate) fn last_entropy(&self) -> Option<(f64, f64)> {
        self.entropies().last().map(|&(_, mean, error)| (mean, error))
    }

    /// The probability of being above each of the levels at a step, with errors. `levels` are all,
    /// `simulated_levels` those that are simulated.
    pub(crate) fn tail(&self, levels: &[f64], simulated_levels: &[f64]) -> Vec<(f64, f64, f64)> {
        match (&self.exact, &self.simulated) {
            (Some(exact), _) => {
                levels.iter().zip(&exact.exceedance).map(|(&v, &p)| (v, p, 0.0)).collect()
            }
            (None, Some(simulated)) => {
                let points = simulated_levels.iter().zip(&simulated.per_step);
                points.map(|(&v, e)| (v, e.mean, e.error)).collect()
            }
            (None, None) => Vec::new(),
        }
    }
}

fn after_start(by_step: &[f64]) -> f64 {
    by_step[1..].iter().sum::<f64>() / (by_step.len() - 1).max(1) as f64
}

/// The promise of a mechanism on the basis of equal ε.
pub(crate) fn promise(setting: Setting) -> Result<Promise> {
    let epsilon = setting.epsilon.parse()?;
    Ok(match setting.basis {
        Basis::Epsilon if !setting.preset.counts_substitutions() => {
            Promise::within_radius(epsilon, RADIUS.parse()?)
        }
        _ => Promise::for_substitutions(epsilon, 1.try_into()?),
    })
}

/// The mechanism of a setting, and what to know of how it was made.
pub(crate) fn made(
    subject: &Subject,
    setting: Setting,
    work: Work,
    host: &dyn Host,
) -> Result<(Mechanism, Option<String>)> {
    let design = setting.preset.design();
    let (model, promise) = (Arc::clone(&subject.model), promise(setting)?);
    let large = subject.extent == Extent::Large;
    let label = format!("{}: calibrating {}", subject.key, setting.preset);
    let looked_at = !(work.exact || work.simulated || work.drift);
    if setting.preset == Preset::Cell && subject.extent != Extent::Tiny && looked_at {
        // The exact calibration would take longer than a look is worth.
        let mechanism = host.watched(&label, |watch| {
            Mechanism::with_cells(model, design, promise, Calibration::Theorem, watch)
        })?;
        return Ok((mechanism, Some("scales of the theorem, not calibrated".to_owned())));
    }
    let mechanism =
        host.watched(&label, |watch| Mechanism::watched(model, design, promise, watch))?;
    if setting.basis == Basis::Epsilon || setting.preset == Preset::Chen {
        return Ok((mechanism, None));
    }
    if mechanism.certificate().is_some() {
        return Ok((mechanism, None));
    }
    if large {
        let remark = "the theorem's scale for one substitution: it keeps to the loss, and may be \
                      smaller than need be";
        return Ok((mechanism, Some(remark.to_owned())));
    }
    match host.watched(&label, |watch| calibrate(&mechanism, Effort::default(), watch)) {
        Ok((calibrated, _)) => Ok((calibrated, None)),
        Err(error @ CalibrationError::Stopped(_)) => Err(error.into()),
        Err(error) => Ok((mechanism, Some(format!("the theorem's scale: {error}")))),
    }
}

/// Measures a setting.
pub(crate) fn measure(
    subject: &Subject,
    setting: Setting,
    work: Work,
    host: &dyn Host,
) -> Result<Measured> {
    let label = format!("{}: {} at epsilon {}", subject.key, setting.preset, setting.epsilon);
    let (mechanism, remark) = made(subject, setting, work, host)?;
    host.stop_if_asked()?;
    let mechanism = Arc::new(mechanism);
    let samples = subject.walks.iter().map(|walk| release(&mechanism, walk));
    let samples = samples.collect::<Result<_>>()?;
    let (mut fixed, mut uniform) = (Figures::default(), Figures::default());
    let mut drift = None;
    let here = (Origin::At(subject.from), Start::First);
    let anywhere = (Origin::Initial, Start::Initial);
    if work.exact || work.uniform_exact || work.drift {
        let joint = host.watched(&format!("{label}, kernels"), |watch| {
            JointChain::new(&mechanism, KernelMemory::default(), watch)
        })?;
        let levels = subject.levels();
        let profile = |(origin, start): (Origin, Start), words: &str| {
            host.watched(&format!("{label}, {words}"), |watch| {
                joint.profile(joint.start(origin, start), STEPS, &levels, watch)
            })
        };
        if work.exact {
            fixed.exact = Some(profile(here, "steps")?);
        }
        if work.uniform_exact {
            uniform.exact = Some(profile(anywhere, "steps from anywhere")?);
        }
        if work.ever {
            let levels = subject.simulated_levels();
            let utility = host.watched(&format!("{label}, ever"), |watch| {
                joint.utility(here.0, here.1, STEPS, &levels, watch)
            })?;
            fixed.ever = Some(utility.exceedance.iter().map(|level| level.ever).collect());
        }
        if work.drift {
            let found =
                host.watched(&format!("{label}, drift"), |watch| Drift::new(&joint, watch))?;
            drift = Some(found.report().into());
        }
    }
    if work.simulated {
        fixed.simulated = Some(simulation(subject, &mechanism, here, &label, host)?);
    }
    if work.uniform_simulated {
        uniform.simulated = Some(simulation(subject, &mechanism, anywhere, &label, host)?);
    }
    let guarantee = match work.guarantee {
        true => Some(promised(subject, &mechanism, &label, host)?),
        false => None,
    };
    let etas = || subject.model.chain().states().map(|z| mechanism.scale(z).eta().as_f64());
    let scale = (etas().fold(f64::INFINITY, f64::min), etas().fold(0.0, f64::max));
    Ok(Measured { scale, remark, guarantee, fixed, uniform, drift, samples })
}

fn release(mechanism: &Arc<Mechanism>, real: &[veilwalk::StateId]) -> Result<Vec<u32>> {
    let mut releaser = Releaser::new(Arc::clone(mechanism), &Source::seeded(SEED), Start::First)?;
    let released = releaser.release("a walk to look at", real)?;
    Ok(released.iter().map(|state| state.index() as u32).collect())
}

fn simulation(
    subject: &Subject,
    mechanism: &Mechanism,
    (origin, start): (Origin, Start),
    label: &str,
    host: &dyn Host,
) -> Result<Simulated> {
    let levels = subject.simulated_levels();
    let run = |steps: usize, levels: &[f64]| {
        let simulation = Simulation {
            real: RealWalks::Own { origin, steps },
            start,
            walks: subject.extent.walks(),
            seed: SEED,
            levels,
            etas: &[],
        };
        host.watched(&format!("{label}, simulation"), |watch| {
            simulated(mechanism, simulation, watch)
        })
    };
    let longest = run(STEPS, &levels)?;
    let mut entropy = Vec::new();
    for &length in &LENGTHS[..LENGTHS.len() - 1] {
        entropy.push(run(length, &[])?.entropy_nats.released.into());
    }
    entropy.push(longest.entropy_nats.released.into());
    let each = |pick: fn(&SimulatedExceedance) -> simulate::Estimate| {
        longest.exceedance.iter().map(|level| pick(level).into()).collect()
    };
    Ok(Simulated {
        walks: longest.walks,
        distance: longest.mean_distance_nats.into(),
        wrong: longest.wrong_state_share.into(),
        per_step: each(|level| level.per_step),
        ever: each(|level| level.ever),
        entropy,
    })
}

fn promised(
    subject: &Subject,
    mechanism: &Mechanism,
    label: &str,
    host: &dyn Host,
) -> Result<Promised> {
    let effort = match subject.extent {
        Extent::Tiny | Extent::Small => Effort::default(),
        Extent::Large => Effort::LEAST,
    };
    let guarantee = host
        .watched(&format!("{label}, losses"), |watch| Guarantee::new(mechanism, effort, watch))?;
    let losses = guarantee.of_steps().context("states are released one at a time here")?;
    let finite = |number: f64| number.is_finite().then_some(number);
    Ok(Promised {
        vacuous: guarantee.vacuous,
        covered_pairs: guarantee.covered_pairs,
        covered_states: guarantee.covered_states,
        smallest_radius: guarantee.smallest_radius_nats,
        bound_per_nat: losses.loss_per_nat.bound.and_then(finite),
        per_nat: finite(losses.loss_per_nat.exact),
        substitution: losses.substitution_loss.max,
        exact: losses.substitution_loss.figures == Kind::Exact,
    })
}
