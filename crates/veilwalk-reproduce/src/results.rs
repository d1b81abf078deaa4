//! All stages of a chain, run or taken from before.

use anyhow::Result;
use serde::Serialize;
use veilwalk::Preset;
use veilwalk::internal::drift::Drift;
use veilwalk::internal::joint::{JointChain, KernelMemory};
use veilwalk_report::counted;

use crate::Host;
use crate::about::About;
use crate::guesses::{self, Guessed};
use crate::measure::{DriftShares, Figures, Measured, made, measure};
use crate::plan::{self, Basis, MECHANISMS, Setting, Work};
use crate::store::Store;
use crate::subject::Subject;

/// What was found on a chain.
pub(crate) struct Results {
    pub(crate) subject: Subject,
    pub(crate) about: About,
    settings: Vec<(Setting, Work, Measured)>,
    drift: Vec<(Preset, &'static str, DriftShares)>,
    /// What somebody who knows the chain guesses; empty on large chains.
    pub(crate) guesses: Vec<Guessed>,
}

/// Everything about a chain that decides what a stage gives.
#[derive(Serialize)]
struct Inputs<'a> {
    chain: String,
    from: usize,
    walks: &'a [Vec<veilwalk::StateId>],
    basis: &'a str,
    mechanism: &'a str,
    epsilon: &'a str,
    work: Option<Work>,
    simulated_walks: u64,
}

impl Results {
    pub(crate) fn new(subject: Subject, store: &Store, host: &dyn Host) -> Result<Self> {
        let key = subject.key;
        let inputs = |basis, mechanism, epsilon, work| Inputs {
            chain: subject.model.hash().to_string(),
            from: subject.from.index(),
            walks: &subject.walks,
            basis,
            mechanism,
            epsilon,
            work,
            simulated_walks: subject.extent.walks(),
        };
        let about = store
            .stage(&format!("{key}/chain"), &inputs("", "", "", None), || About::new(&subject))?;
        host.note(&format!(
            "{key}: {}, {}",
            counted(about.states, "state"),
            counted(about.transitions, "transition")
        ));
        let levels = subject.simulated_levels().len();
        let mut settings = Vec::new();
        for (setting, work) in plan::settings(&subject.model, subject.more_epsilons, levels) {
            host.stop_if_asked()?;
            if let Some(same) = same_promise(&settings, setting) {
                settings.push((setting, work, same));
                continue;
            }
            let (basis, mechanism) = (setting.basis.key(), setting.preset.name());
            let name = format!("{key}/{basis}-{mechanism}-{}", setting.epsilon);
            let inputs = inputs(basis, mechanism, setting.epsilon, Some(work));
            let measured =
                store.stage(&name, &inputs, || measure(&subject, setting, work, host))?;
            settings.push((setting, work, measured));
        }
        let mut drift = Vec::new();
        for preset in MECHANISMS {
            for epsilon in plan::drift_epsilons(&subject.model, preset) {
                host.stop_if_asked()?;
                let name = format!("{key}/drift-{preset}-{epsilon}");
                let inputs = inputs("drift", preset.name(), epsilon, None);
                let setting = Setting { basis: Basis::Epsilon, preset, epsilon };
                let shares = store.stage(&name, &inputs, || drift_of(&subject, setting, host))?;
                drift.push((preset, epsilon, shares));
            }
        }
        for (setting, _, measured) in &settings {
            drift.extend(measured.drift.map(|shares| (setting.preset, setting.epsilon, shares)));
        }
        drift.sort_by(|a, b| number(a.1).total_cmp(&number(b.1)));
        let name = format!("{key}/guesses");
        let guesses = store
            .stage(&name, &inputs("guesses", "", "", None), || guesses::all(&subject, host))?;
        let (kept, made, spent) = store.tally();
        host.note(&format!(
            "{key}: {} run in {:.1} s{}",
            counted(made, "stage"),
            spent.as_secs_f64(),
            if kept > 0 { format!(", {kept} kept from before") } else { String::new() }
        ));
        Ok(Self { subject, about, settings, drift, guesses })
    }

    /// What was measured of a setting.
    pub(crate) fn of(&self, basis: Basis, preset: Preset, epsilon: &str) -> Option<&Measured> {
        let wanted = |s: &Setting| s.basis == basis && s.preset == preset && s.epsilon == epsilon;
        self.settings.iter().find(|(setting, ..)| wanted(setting)).map(|(_, _, measured)| measured)
    }

    /// Everything that was measured, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Setting, &Measured)> {
        self.settings.iter().map(|(setting, _, measured)| (*setting, measured))
    }

    /// Drift over ε for a mechanism.
    pub(crate) fn drift(&self, preset: Preset) -> Vec<(f64, DriftShares)> {
        let points = self.drift.iter().filter(|(other, ..)| *other == preset);
        points.map(|(_, epsilon, shares)| (number(epsilon), *shares)).collect()
    }

    pub(crate) fn levels(&self) -> (Vec<f64>, Vec<f64>) {
        (self.subject.levels(), self.subject.simulated_levels())
    }

    /// How often the distance is above each level, at equal ε.
    pub(crate) fn tail(&self, figures: &Figures) -> Vec<(f64, f64, f64)> {
        let (levels, simulated) = self.levels();
        figures.tail(&levels, &simulated)
    }
}

/// A mechanism that counts substitutions makes the same promise on both bases: what was measured
/// at equal ε holds at equal loss too, and is exact where that is.
fn same_promise(done: &[(Setting, Work, Measured)], setting: Setting) -> Option<Measured> {
    if setting.basis != Basis::Loss || !setting.preset.counts_substitutions() {
        return None;
    }
    let same = |s: &Setting| s.preset == setting.preset && s.epsilon == setting.epsilon;
    let (_, _, measured) = done.iter().find(|(s, ..)| s.basis == Basis::Epsilon && same(s))?;
    let Measured { scale, remark, guarantee, fixed, samples, .. } = measured.clone();
    // Simulated points belong to the figures that the paper has.
    let simulated = fixed.simulated.filter(|_| fixed.exact.is_none());
    let fixed = Figures { exact: fixed.exact, ever: None, simulated };
    let (uniform, drift) = (Figures::default(), None);
    Some(Measured { scale, remark, guarantee, fixed, uniform, drift, samples })
}

fn drift_of(subject: &Subject, setting: Setting, host: &dyn Host) -> Result<DriftShares> {
    let work = Work {
        exact: false,
        ever: false,
        uniform_exact: false,
        simulated: false,
        uniform_simulated: false,
        guarantee: true,
        drift: true,
    };
    let label =
        format!("{}: drift of {} at epsilon {}", subject.key, setting.preset, setting.epsilon);
    let (mechanism, _) = made(subject, setting, work, host)?;
    host.stop_if_asked()?;
    let joint =
        host.watched(&label, |o| JointChain::new(&mechanism, KernelMemory::default(), o))?;
    Ok(host.watched(&label, |o| Drift::new(&joint, o))?.report().into())
}

/// ε as a number: all of them are written in the plan.
pub(crate) fn number(epsilon: &str) -> f64 {
    epsilon.parse().expect("a number of the plan")
}
