//! One mechanism on one basis: its figures, or why it has none.

use std::sync::Arc;

use anyhow::Result;
use veilwalk::analysis::Utility;
use veilwalk::analysis::joint::{JointChain, KernelMemory};
use veilwalk::guarantee::{CalibrationError, Figures, audited_loss, calibrate};
use veilwalk::mechanism::{Epsilon, Radius};
use veilwalk::{Mechanism, Preset, Promise};

use super::{Comparison, Setting};
use crate::progress::{observed, observed_passes, with_progress};

/// What is equal between the mechanisms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Basis {
    /// ε and the radius, by each mechanism's theorem.
    Radius(Radius),
    /// The audited loss of the worst single substitution.
    Loss,
}

/// A mechanism in a comparison.
pub(super) struct Row {
    pub(super) preset: Preset,
    /// The command that releases walks with it.
    pub(super) command: String,
    /// What to know about how it was made.
    pub(super) remark: Option<&'static str>,
    /// Its figures, or why it could not be made.
    pub(super) outcome: Result<Measured, String>,
}

pub(super) struct Measured {
    pub(super) utility: Utility,
    /// The largest loss of replacing one state.
    pub(super) loss: f64,
    /// Whether that is the loss itself or a bound.
    pub(super) figures: Figures,
}

/// What someone may want of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Closeness,
    WrongStates,
    Typicality,
}

impl Purpose {
    pub(super) const ALL: [Self; 3] = [Self::Closeness, Self::WrongStates, Self::Typicality];

    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Closeness => "closeness",
            Self::WrongStates => "wrong_states",
            Self::Typicality => "typicality",
        }
    }

    /// What is to be small.
    pub(super) fn figure(self, utility: &Utility) -> f64 {
        match self {
            Self::Closeness => utility.mean_distance_nats,
            Self::WrongStates => utility.wrong_state_share,
            Self::Typicality => (utility.entropy_nats.released - utility.entropy_nats.real).abs(),
        }
    }
}

impl Comparison {
    /// The best row for a purpose; none if no mechanism could be made. The first of equals.
    pub(super) fn winner(&self, purpose: Purpose) -> Option<(&Row, &Measured)> {
        let rows = self.rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().ok()?)));
        let figure = |measured: &Measured| purpose.figure(&measured.utility);
        rows.min_by(|a, b| figure(a.1).total_cmp(&figure(b.1)))
    }
}

impl Row {
    pub(super) fn new(
        setting: &Setting<'_>,
        preset: Preset,
        basis: Basis,
        epsilon: Epsilon,
    ) -> Result<Self> {
        let made = made(setting, preset, basis, epsilon)?;
        let outcome = match made {
            Ok(mechanism) => Ok(Measured::new(setting, preset, &mechanism)?),
            Err(refusal) => Err(refusal),
        };
        Ok(Self {
            preset,
            command: command(setting, preset, basis, epsilon),
            remark: remark(preset, basis),
            outcome,
        })
    }
}

impl Measured {
    fn new(setting: &Setting<'_>, preset: Preset, mechanism: &Mechanism) -> Result<Self> {
        let pair = observed(&format!("{preset}: kernels"), |observer| {
            JointChain::new(mechanism, KernelMemory::default(), observer)
        })?;
        let utility = observed_passes(&format!("{preset}: steps"), 1, |observer| {
            let levels = [setting.level];
            pair.utility(setting.origin, setting.start, setting.steps, &levels, observer)
        })?;
        drop(pair);
        let losses = with_progress(&format!("{preset}: comparing states"), |watch| {
            audited_loss(mechanism, setting.effort, watch)
        })?;
        Ok(Self { utility, loss: losses.any.max, figures: losses.any.figures })
    }
}

/// The mechanism on the basis, or why there is none.
fn made(
    setting: &Setting<'_>,
    preset: Preset,
    basis: Basis,
    epsilon: Epsilon,
) -> Result<Result<Mechanism, String>> {
    let promise = match basis {
        Basis::Radius(radius) => Promise::within_radius(epsilon, radius),
        Basis::Loss => Promise::for_substitutions(epsilon, 1.try_into()?),
    };
    let theorem = match Mechanism::new(Arc::clone(setting.model), preset.design(), promise) {
        Ok(theorem) => theorem,
        Err(refusal) => return Ok(Err(refusal.to_string())),
    };
    // Cells come calibrated.
    if basis != Basis::Loss || theorem.certificate().is_some() {
        return Ok(Ok(theorem));
    }
    let calibrated = with_progress(&format!("{preset}: calibrating"), |watch| {
        calibrate(&theorem, setting.effort, watch)
    });
    match calibrated {
        Ok((mechanism, _)) => Ok(Ok(mechanism)),
        Err(error @ CalibrationError::Cancelled(_)) => Err(error.into()),
        Err(refusal) => Ok(Err(refusal.to_string())),
    }
}

fn command(setting: &Setting<'_>, preset: Preset, basis: Basis, epsilon: Epsilon) -> String {
    let chain = &setting.chain_flags;
    let start = format!("veilwalk privatize WALKS {chain} --mechanism");
    match basis {
        // The names of those that count substitutions do not go with a radius; their choices do.
        Basis::Radius(radius) => {
            let choices = match preset {
                Preset::Chen => "exponential --distance hamming",
                Preset::ExponentialHamming => "exponential",
                other => other.name(),
            };
            format!("{start} {choices} --epsilon {epsilon} --radius {radius}")
        }
        Basis::Loss => {
            let how = if preset == Preset::Cell { "" } else { " --calibrate exact" };
            format!("{start} {preset} --epsilon {epsilon} --substitutions 1{how}")
        }
    }
}

fn remark(preset: Preset, basis: Basis) -> Option<&'static str> {
    match (preset, basis) {
        (Preset::Chen, Basis::Radius(_)) => {
            Some("chen counts replaced states: its scale allows for as many as fit into the radius")
        }
        (Preset::ExponentialHamming, Basis::Radius(_)) => {
            Some("exponential-hamming counts replaced states; with a radius it is exponential")
        }
        (Preset::ExponentialHamming, Basis::Loss) => {
            Some("exponential-hamming and exponential differ by their scale only: here in nothing")
        }
        _ => None,
    }
}
