//! What somebody who knows the chain guesses of real walks, over how much of what is released is right.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use veilwalk::analysis::{Attacked, Origin, attack};
use veilwalk::inference::Inference;
use veilwalk::{Mechanism, Preset, Start};

use crate::Host;
use crate::measure::promise;
use crate::plan::{Basis, Extent, SEED, STEPS, Setting};
use crate::subject::Subject;

/// The mechanisms that are guessed: those of every figure, and the one that observes.
pub(crate) const GUESSED: [Preset; 5] =
    [Preset::Chen, Preset::Paper, Preset::Sharp, Preset::Cell, Preset::Tight];
/// ε, so that the curves go from the chain alone to nearly everything.
pub(crate) const EPSILONS: [&str; 7] = ["0.1", "0.25", "0.5", "1", "2", "4", "8"];
const WALKS: usize = 200;

/// What was guessed of one mechanism's releases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Guessed {
    pub(crate) mechanism: String,
    pub(crate) epsilon: String,
    /// The share of states that an attacker guesses right, with its standard error.
    pub(crate) attacker: f64,
    pub(crate) error: f64,
    /// The same from the chain alone.
    pub(crate) chain_alone: f64,
    /// The share of right released states.
    pub(crate) release: f64,
    /// The odds of the true state moved by no more than this in half of all states.
    pub(crate) median_odds: f64,
}

/// Guesses releases of every mechanism and ε; nothing on chains where that would take long.
pub(crate) fn all(subject: &Subject, host: &dyn Host) -> Result<Vec<Guessed>> {
    let mut found = Vec::new();
    if subject.extent == Extent::Large {
        return Ok(found);
    }
    for preset in GUESSED {
        for epsilon in EPSILONS {
            host.stop_if_asked()?;
            let setting = Setting { basis: Basis::Epsilon, preset, epsilon };
            let (model, design) = (subject.model.clone(), preset.design());
            let label = format!("{}: guessing {preset} at epsilon {epsilon}", subject.key);
            let attacked =
                Attacked::Own { origin: Origin::At(subject.from), steps: STEPS, walks: WALKS };
            let guessed = host.watched(&label, |watch| -> Result<_> {
                let made = Mechanism::watched(model, design, promise(setting)?, watch)?;
                let inference = Inference::new(made.into(), Start::First)?;
                Ok(attack(&inference, attacked, SEED, watch)?)
            })?;
            found.push(Guessed {
                mechanism: preset.name().to_owned(),
                epsilon: epsilon.to_owned(),
                attacker: guessed.state.attacker,
                error: guessed.state.standard_error,
                chain_alone: guessed.state.chain_alone,
                release: guessed.state.release,
                median_odds: guessed.odds.median,
            });
        }
    }
    Ok(found)
}
