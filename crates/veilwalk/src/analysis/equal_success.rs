//! Mechanisms at equal success of the attacker: whoever reads the release guesses as many states right.
//!
//! At equal ε mechanisms promise the same, and may give away different amounts. Here each has the ε at which
//! somebody who knows the chain guesses a given share of states right ([`attack`](fn@super::attack)), found by
//! bisection over simulated walks. What is left to differ is how much of what leaks is of use: the share of right
//! released states over the share of right guesses.

use super::compare::Setting;
use super::{Attack, Attacked, attack};
use crate::inference::Inference;
use crate::mechanism::{Epsilon, Mechanism, Preset, Promise, ScaleError, Unit};
use crate::rational::Rational;
use crate::watch::{Progress, Stopped, Watch};

/// A mechanism at the ε at which an attacker guesses as much as was asked for.
#[derive(Clone, Debug)]
pub struct AtSuccess {
    /// Which mechanism.
    pub preset: Preset,
    /// Its ε and figures, or why there are none.
    pub outcome: Result<(Epsilon, Attack), String>,
}

/// How many walks are guessed for each ε that is tried.
const WALKS: usize = 300;
/// How often the range of ε is halved.
const HALVINGS: u32 = 12;

/// Guesses the releases of one mechanism under a promise.
///
/// # Errors
///
/// If the watcher asks to stop. That the mechanism cannot keep the promise, or starts in another way, is told
/// inside.
pub fn attacked(
    setting: &Setting,
    preset: Preset,
    promise: Promise,
    watch: Watch<'_>,
) -> Result<Result<Attack, String>, Stopped> {
    let made = Mechanism::watched(setting.model.clone(), preset.design(), promise, watch);
    let mechanism = match made {
        Ok(mechanism) => mechanism,
        Err(ScaleError::Stopped(stopped)) => return Err(stopped),
        Err(refusal) => return Ok(Err(refusal.to_string())),
    };
    let inference = match Inference::new(mechanism.into(), setting.start) {
        Ok(inference) => inference,
        Err(refusal) => return Ok(Err(refusal.to_string())),
    };
    let own = Attacked::Own { origin: setting.origin, steps: setting.steps, walks: WALKS };
    attack(&inference, own, 1, watch).map(Ok)
}

/// The ε at which an attacker guesses this share of states right, for walks that are protected within this unit.
///
/// # Errors
///
/// If the watcher asks to stop.
pub fn at_success(
    setting: &Setting,
    preset: Preset,
    unit: Unit,
    share: f64,
    watch: Watch<'_>,
) -> Result<AtSuccess, Stopped> {
    // From 2⁻⁶ to 2⁷, in steps of 2⁻⁸ at least.
    let epsilon = |exponent: f64| {
        let thousandths = (exponent.exp2() * 1000.0).round().max(1.0) as u64;
        Epsilon::new(Rational::new(thousandths, 1000)?)
    };
    let (mut low, mut high) = (-6.0, 7.0);
    let mut best: Option<(Epsilon, Attack)> = None;
    for halving in 0..=HALVINGS {
        let told = |progress: Progress| {
            let share = (f64::from(halving) + progress.share) / f64::from(HALVINGS + 1);
            watch(Progress { share, ..progress })
        };
        let middle = 0.5 * (low + high);
        let Some(epsilon) = epsilon(middle) else { break };
        let found = match attacked(setting, preset, Promise { epsilon, unit }, &told)? {
            Ok(found) => found,
            Err(refusal) => return Ok(AtSuccess { preset, outcome: Err(refusal) }),
        };
        let right = found.state.attacker;
        if right < share {
            low = middle
        } else {
            high = middle
        }
        let off = |found: &Attack| (found.state.attacker - share).abs();
        if best.as_ref().is_none_or(|(_, before)| off(&found) < off(before)) {
            best = Some((epsilon, found));
        }
    }
    // Some mechanisms have no ε at which so much, or so little, is guessed.
    const NEAR: f64 = 0.02;
    let outcome = match best {
        Some((epsilon, found)) if (found.state.attacker - share).abs() <= NEAR => {
            Ok((epsilon, found))
        }
        Some((epsilon, found)) => Err(format!(
            "the nearest is {:.1} % right at epsilon {epsilon}",
            100.0 * found.state.attacker
        )),
        None => Err("no epsilon was tried".to_owned()),
    };
    Ok(AtSuccess { preset, outcome })
}
