//! Mechanisms side by side, at equal ε and radius or at equal exact loss.
//!
//! At equal ε and radius, each mechanism has the scale that its own theorem gives. At equal loss,
//! each scale is chosen so that replacing any one state changes the odds by exactly exp(ε), as
//! audited: all give the same away, and only accuracy is left to differ.
//!
//! Beside them all is [the chain alone](super::chain_alone), which gives nothing away: a setting that does
//! not beat it spends ε for nothing. Walks that are made of observations have no exact figures; theirs are
//! simulated, and have standard errors.

use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::Arc;

#[cfg(feature = "serde")]
use serde::{Serialize, Serializer};

use super::block_plan::affordable_tracked_walks;
use super::figures::{EntropyFigures, Exceedance};
use super::joint::{JointChain, KernelMemory};
use super::simulate::{RealWalks, SimulatedUtility, Simulation, simulate};
use super::{Origin, Utility, chain_alone};
use crate::guarantee::{CalibrationError, Cover, Effort, FigureKind, audited_loss, calibrate};
use crate::mechanism::{
    Epsilon, Mechanism, NoPrivateStart, Preset, Promise, Radius, ScaleError, Unit,
};
use crate::model::Model;
use crate::session::Start;
use crate::watch::{Progress, Stopped, Watch};

/// What every row has in common.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The chain with its distances.
    pub model: Arc<Model>,
    /// Where the chain's own walks start.
    pub origin: Origin,
    /// How released walks start.
    pub start: Start,
    /// How many steps the walks take.
    pub steps: usize,
    /// The distance whose exceedance is computed, in nats.
    pub level: f64,
    /// How many pairs of states may be compared when losses are audited.
    pub effort: Effort,
}

impl Setting {
    /// As many comparisons of pairs as take seconds on chains of hundreds of states.
    pub const SOME_EFFORT: Effort = Effort::comparisons(10_000_000_000);

    /// The level where nobody names one: the second of the [usual](super::usual_levels) ones, 5 nats
    /// on the credit chain.
    #[must_use]
    pub fn usual_level(model: &Model) -> f64 {
        super::usual_levels(model).get(1).copied().unwrap_or(0.0)
    }
}

/// A [`Watch`](crate::watch::Watch) that is also told which mechanism is being worked on.
pub type WatchEach<'a> = &'a (dyn Fn(Preset, Progress) -> ControlFlow<()> + Sync);

/// All mechanisms on one basis.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What is equal between them.
    pub basis: Basis,
    /// ε.
    pub epsilon: Epsilon,
    /// The smallest radius that protects anything, where this one protects nothing.
    pub vacuous: Option<String>,
    /// Walks that are drawn without a look at the real ones.
    pub alone: Utility,
    /// One for each mechanism.
    pub rows: Vec<Row>,
}

/// What is equal between the mechanisms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// ε and the radius, by each mechanism's theorem.
    Radius(Radius),
    /// ε and the number of replaced states, by each mechanism's theorem.
    Substitutions(NonZeroU32),
    /// The audited loss of the worst single substitution.
    Loss,
}

impl Basis {
    /// What all mechanisms then promise.
    #[must_use]
    pub fn promise(self, epsilon: Epsilon) -> Promise {
        match self {
            Self::Radius(radius) => Promise::within_radius(epsilon, radius),
            Self::Substitutions(count) => Promise::for_substitutions(epsilon, count),
            Self::Loss => Promise::for_substitutions(epsilon, NonZeroU32::MIN),
        }
    }
}

/// A mechanism in a comparison.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which.
    pub preset: Preset,
    /// What to know about how it was made.
    pub remark: Option<&'static str>,
    /// Its figures, or why it could not be made.
    pub outcome: Result<Measured, String>,
}

/// What a mechanism gives, and what it gives away.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// How good its releases are.
    pub utility: Utility,
    /// How sure that is, if it was simulated; none if it is exact.
    pub simulated: Option<Simulated>,
    /// The largest loss of replacing one state.
    pub loss: f64,
    /// Whether that is the loss itself or a bound.
    pub figures: FigureKind,
}

/// The standard errors of figures that were simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Simulated {
    /// How many walks were made.
    pub walks: u64,
    /// The standard errors.
    pub standard_errors: StandardErrors,
}

/// One standard error for each figure.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct StandardErrors {
    /// Of the mean distance.
    pub mean_distance_nats: f64,
    /// Of the share of wrong states.
    pub wrong_state_share: f64,
    /// Of the released walk's entropy.
    pub released_entropy_nats: f64,
    /// Of the share of steps above the level.
    pub exceedance_per_step: f64,
}

/// What someone may want of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Closest to the real walk.
    Closeness,
    /// Fewest wrong states.
    WrongStates,
    /// Entropy nearest to the real walk's.
    Typicality,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Closeness, Self::WrongStates, Self::Typicality];

    /// Those for which the chain alone is the line to beat. (Nothing is more typical than that.)
    pub const OF_THE_LINE: [Self; 2] = [Self::Closeness, Self::WrongStates];

    /// The word for it in files.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Closeness => "closeness",
            Self::WrongStates => "wrong_states",
            Self::Typicality => "typicality",
        }
    }

    /// What is to be small.
    #[must_use]
    pub fn figure(self, utility: &Utility) -> f64 {
        match self {
            Self::Closeness => utility.mean_distance_nats,
            Self::WrongStates => utility.wrong_state_share,
            Self::Typicality => (utility.entropy_nats.released - utility.entropy_nats.real).abs(),
        }
    }
}

impl Comparison {
    /// Measures these mechanisms on one basis.
    ///
    /// # Errors
    ///
    /// If whoever is told asks to stop. A mechanism that cannot keep the promise is no error: its row
    /// says why.
    pub fn new(
        setting: &Setting,
        presets: &[Preset],
        basis: Basis,
        epsilon: Epsilon,
        watch: WatchEach<'_>,
    ) -> Result<Self, Stopped> {
        let Setting { model, origin, start, steps, level, .. } = setting;
        // It is part of the first row's work, as far as anybody is told.
        let tell = |progress: Progress| match presets.first() {
            Some(&first) => watch(first, progress),
            None => ControlFlow::Continue(()),
        };
        let alone = chain_alone(model, *origin, *start, *steps, &[*level], &tell)?;
        let row = |&preset: &Preset| Row::new(setting, preset, basis, (epsilon, &alone), watch);
        let rows = presets.iter().map(row);
        let rows = rows.collect::<Result<_, _>>()?;
        let vacuous = match basis {
            Basis::Radius(radius) => {
                let cover = Cover::new(&setting.model, Unit::Radius(radius));
                let closest = setting.model.closest_pair().filter(|_| cover.is_vacuous());
                closest.map(|pair| setting.model.measure().distance(pair.distance))
            }
            Basis::Substitutions(_) | Basis::Loss => None,
        };
        Ok(Self { basis, epsilon, vacuous, alone, rows })
    }

    /// The mechanisms that do not beat the chain alone for a purpose. A simulated figure beats it if it
    /// does by more than two standard errors.
    #[must_use]
    pub fn no_better_than_the_chain(&self, purpose: Purpose) -> Vec<Preset> {
        let line = purpose.figure(&self.alone);
        let loses = |measured: &Measured| {
            let figure = purpose.figure(&measured.utility);
            // An exact figure has rounding left.
            figure + 2.0 * measured.standard_error(purpose) >= line - 1e-9
        };
        let rows = self.rows.iter().filter(|row| row.outcome.as_ref().is_ok_and(loses));
        rows.map(|row| row.preset).collect()
    }

    /// The best row for a purpose; none if no mechanism could be made. The first of equals, and of those that
    /// are within two standard errors of a simulated figure the best exact one.
    #[must_use]
    pub fn winner(&self, purpose: Purpose) -> Option<(&Row, &Measured)> {
        let rows = || self.rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().ok()?)));
        let figure = |measured: &Measured| purpose.figure(&measured.utility);
        let by_figure =
            |a: &(&Row, &Measured), b: &(&Row, &Measured)| figure(a.1).total_cmp(&figure(b.1));
        let best = rows().min_by(by_figure)?;
        let exact = rows().filter(|row| row.1.simulated.is_none()).min_by(by_figure);
        let reach = figure(best.1) + 2.0 * best.1.standard_error(purpose);
        Some(exact.filter(|row| figure(row.1) <= reach).unwrap_or(best))
    }
}

impl Row {
    fn new(
        setting: &Setting,
        preset: Preset,
        basis: Basis,
        (epsilon, alone): (Epsilon, &Utility),
        watch: WatchEach<'_>,
    ) -> Result<Self, Stopped> {
        let outcome = match made(setting, preset, basis, epsilon, watch)? {
            Ok(mechanism) => Ok(Measured::new(setting, preset, &mechanism, alone, watch)?),
            Err(refusal) => Err(refusal),
        };
        Ok(Self { preset, remark: remark(preset, basis), outcome })
    }
}

impl Measured {
    fn new(
        setting: &Setting,
        preset: Preset,
        mechanism: &Mechanism,
        alone: &Utility,
        watch: WatchEach<'_>,
    ) -> Result<Self, Stopped> {
        let watch = |progress: Progress| watch(preset, progress);
        let (utility, simulated) = match mechanism.observation() {
            None => (Self::exact(setting, mechanism, &watch)?, None),
            Some(_) => {
                let (utility, simulated) = Self::simulated(setting, mechanism, alone, &watch)?;
                (utility, Some(simulated))
            }
        };
        let losses = audited_loss(mechanism, setting.effort, &watch)?;
        Ok(Self { utility, simulated, loss: losses.any.max, figures: losses.any.figures })
    }

    fn exact(
        setting: &Setting,
        mechanism: &Mechanism,
        watch: Watch<'_>,
    ) -> Result<Utility, Stopped> {
        let pair = JointChain::new(mechanism, KernelMemory::default(), watch)?;
        let Setting { origin, start, steps, level, .. } = *setting;
        pair.utility(origin, start, steps, &[level], watch)
    }

    /// Simulated figures. What is known of the real walks is exact in any case.
    fn simulated(
        setting: &Setting,
        mechanism: &Mechanism,
        alone: &Utility,
        watch: Watch<'_>,
    ) -> Result<(Utility, Simulated), Stopped> {
        let Setting { origin, start, steps, level, .. } = *setting;
        let simulation = Simulation {
            real: RealWalks::Own { origin, steps },
            start,
            walks: affordable_tracked_walks(setting.model.chain(), steps),
            seed: 1,
            levels: &[level],
            etas: &[],
        };
        let found = simulate(mechanism, simulation, watch)?;
        let errors = StandardErrors {
            mean_distance_nats: found.mean_distance_nats.standard_error,
            wrong_state_share: found.wrong_state_share.standard_error,
            released_entropy_nats: found.entropy_nats.released.standard_error,
            exceedance_per_step: found.exceedance[0].per_step.standard_error,
        };
        let simulated = Simulated { walks: found.walks, standard_errors: errors };
        Ok((means(found, alone), simulated))
    }

    /// The standard error of what matters for a purpose; zero if it is exact.
    #[must_use]
    pub fn standard_error(&self, purpose: Purpose) -> f64 {
        self.simulated.map_or(0.0, |simulated| {
            let errors = simulated.standard_errors;
            match purpose {
                Purpose::Closeness => errors.mean_distance_nats,
                Purpose::WrongStates => errors.wrong_state_share,
                Purpose::Typicality => errors.released_entropy_nats,
            }
        })
    }
}

/// The means of simulated figures, with nothing for each step.
fn means(found: SimulatedUtility, alone: &Utility) -> Utility {
    let exceedance = found.exceedance.into_iter().map(|level| Exceedance {
        nats: level.nats,
        per_step: level.per_step.mean,
        ever: level.ever.mean,
        at_step: level.at_step,
        ever_by_step: level.ever_by_step,
    });
    Utility {
        steps: found.steps,
        mean_distance_nats: found.mean_distance_nats.mean,
        wrong_state_share: found.wrong_state_share.mean,
        entropy_nats: EntropyFigures {
            released: found.entropy_nats.released.mean,
            ..alone.entropy_nats
        },
        exceedance: exceedance.collect(),
        distance_by_step: Vec::new(),
        wrong_by_step: Vec::new(),
    }
}

/// The mechanism on the basis, or why there is none.
fn made(
    setting: &Setting,
    preset: Preset,
    basis: Basis,
    epsilon: Epsilon,
    watch: WatchEach<'_>,
) -> Result<Result<Mechanism, String>, Stopped> {
    let promise = basis.promise(epsilon);
    let watch = |progress: Progress| watch(preset, progress);
    let model = Arc::clone(&setting.model);
    let theorem = match Mechanism::watched(model, preset.design(), promise, &watch) {
        Ok(theorem) => theorem,
        Err(ScaleError::Stopped(stopped)) => return Err(stopped),
        Err(refusal) => return Ok(Err(refusal.to_string())),
    };
    // Cells and observations come calibrated.
    let calibrated = theorem.certificate().is_some() || theorem.observation().is_some();
    let made = if basis != Basis::Loss || calibrated {
        theorem
    } else {
        match calibrate(&theorem, setting.effort, &watch) {
            Ok((mechanism, _)) => mechanism,
            Err(CalibrationError::Stopped(stopped)) => return Err(stopped),
            Err(refusal) => return Ok(Err(refusal.to_string())),
        }
    };
    // Where it cannot start so, that is what there is to say of it.
    match made.check_start(setting.start, &watch) {
        Ok(()) => Ok(Ok(made)),
        Err(NoPrivateStart::Scale(ScaleError::Stopped(stopped))) => Err(stopped),
        Err(refusal) => Ok(Err(refusal.to_string())),
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
        (Preset::Tight, _) => Some(
            "tight answers real states by any state; its walks are made of that for little distance, and \
             --track states makes them for few wrong states",
        ),
        (Preset::Believed, _) => Some(
            "believed answers them by states believed from a share of 0.1; veilwalk tune tries other shares",
        ),
        (Preset::Plane, _) => Some(
            "plane answers them by points on the earth, in straight-line metres: planar Laplace noise, and a \
             feasible walk made of it",
        ),
        _ => None,
    }
}

/// What `veilwalk compare` prints, but for its commands.
#[cfg(feature = "serde")]
impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            basis: &'static str,
            epsilon: f64,
            radius_nats: Option<f64>,
            substitutions: Option<u32>,
            vacuous: bool,
            chain_alone: Figures,
            no_better_than_the_chain: std::collections::BTreeMap<&'static str, Vec<&'static str>>,
            rows: &'a [Row],
            winners: std::collections::BTreeMap<&'static str, Winner>,
        }
        #[derive(Serialize)]
        struct Winner {
            mechanism: &'static str,
            figure: f64,
        }
        let winner = |purpose: Purpose| {
            let (row, measured) = self.winner(purpose)?;
            let figure = purpose.figure(&measured.utility);
            Some((purpose.key(), Winner { mechanism: row.preset.name(), figure }))
        };
        let (basis, radius_nats, substitutions) = match self.basis {
            Basis::Radius(radius) => {
                ("equal_epsilon_and_radius", Some(radius.value().as_f64()), None)
            }
            Basis::Substitutions(count) => {
                ("equal_epsilon_and_substitutions", None, Some(count.get()))
            }
            Basis::Loss => ("equal_substitution_loss", None, None),
        };
        let no_better = |purpose: Purpose| {
            let presets = self.no_better_than_the_chain(purpose);
            (purpose.key(), presets.into_iter().map(Preset::name).collect())
        };
        Whole {
            basis,
            epsilon: self.epsilon.value().as_f64(),
            radius_nats,
            substitutions,
            vacuous: self.vacuous.is_some(),
            chain_alone: Figures::of(&self.alone),
            no_better_than_the_chain: Purpose::OF_THE_LINE.into_iter().map(no_better).collect(),
            rows: &self.rows,
            winners: Purpose::ALL.into_iter().filter_map(winner).collect(),
        }
        .serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            mechanism: &'static str,
            remark: Option<&'static str>,
            refused: Option<&'a String>,
            #[serde(flatten)]
            figures: Option<RowFigures>,
        }
        #[derive(Serialize)]
        struct RowFigures {
            #[serde(flatten)]
            figures: Figures,
            simulated: Option<Simulated>,
            substitution_loss: Loss,
        }
        #[derive(Serialize)]
        struct Loss {
            max: f64,
            figures: FigureKind,
        }
        let figures = |measured: &Measured| RowFigures {
            figures: Figures::of(&measured.utility),
            simulated: measured.simulated,
            substitution_loss: Loss { max: measured.loss, figures: measured.figures },
        };
        Whole {
            mechanism: self.preset.name(),
            remark: self.remark,
            refused: self.outcome.as_ref().err(),
            figures: self.outcome.as_ref().ok().map(figures),
        }
        .serialize(serializer)
    }
}

/// The figures of a row.
#[cfg(feature = "serde")]
#[derive(Serialize)]
struct Figures {
    mean_distance_nats: f64,
    wrong_state_share: f64,
    entropy_nats: EntropyFigures,
    exceedance: Vec<Level>,
}

#[cfg(feature = "serde")]
#[derive(Serialize)]
struct Level {
    nats: f64,
    per_step: f64,
    ever: f64,
}

#[cfg(feature = "serde")]
impl Figures {
    fn of(utility: &Utility) -> Self {
        let level = |at: &Exceedance| Level { nats: at.nats, per_step: at.per_step, ever: at.ever };
        Self {
            mean_distance_nats: utility.mean_distance_nats,
            wrong_state_share: utility.wrong_state_share,
            entropy_nats: utility.entropy_nats,
            exceedance: utility.exceedance.iter().map(level).collect(),
        }
    }
}
