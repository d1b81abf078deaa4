//! Mechanisms side by side, at equal ε and radius or at equal exact loss.
//!
//! At equal ε and radius, each mechanism has the scale that its own theorem gives. At equal loss,
//! each scale is chosen so that replacing any one state changes the odds by exactly exp(ε), as
//! audited: all give the same away, and only accuracy is left to differ.

use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::Arc;

#[cfg(feature = "serde")]
use serde::{Serialize, Serializer};

use super::joint::{JointChain, KernelMemory};
use super::{Origin, Utility};
use crate::guarantee::{CalibrationError, Cover, Effort, FigureKind, audited_loss, calibrate};
use crate::mechanism::{Epsilon, Mechanism, Preset, Promise, Radius, ScaleError, Unit};
use crate::model::Model;
use crate::session::Start;
use crate::watch::{Progress, Stopped};

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
    /// One for each mechanism.
    pub rows: Vec<Row>,
}

/// What is equal between the mechanisms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// ε and the radius, by each mechanism's theorem.
    Radius(Radius),
    /// The audited loss of the worst single substitution.
    Loss,
}

impl Basis {
    /// What all mechanisms then promise.
    #[must_use]
    pub fn promise(self, epsilon: Epsilon) -> Promise {
        match self {
            Self::Radius(radius) => Promise::within_radius(epsilon, radius),
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
    /// The largest loss of replacing one state.
    pub loss: f64,
    /// Whether that is the loss itself or a bound.
    pub figures: FigureKind,
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
        let rows = presets.iter().map(|&preset| Row::new(setting, preset, basis, epsilon, watch));
        let rows = rows.collect::<Result<_, _>>()?;
        let vacuous = match basis {
            Basis::Radius(radius) => {
                let cover = Cover::new(&setting.model, Unit::Radius(radius));
                let closest = setting.model.closest_pair().filter(|_| cover.is_vacuous());
                closest.map(|pair| pair.distance.to_string())
            }
            Basis::Loss => None,
        };
        Ok(Self { basis, epsilon, vacuous, rows })
    }

    /// The best row for a purpose; none if no mechanism could be made. The first of equals.
    #[must_use]
    pub fn winner(&self, purpose: Purpose) -> Option<(&Row, &Measured)> {
        let rows = self.rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().ok()?)));
        let figure = |measured: &Measured| purpose.figure(&measured.utility);
        rows.min_by(|a, b| figure(a.1).total_cmp(&figure(b.1)))
    }
}

impl Row {
    fn new(
        setting: &Setting,
        preset: Preset,
        basis: Basis,
        epsilon: Epsilon,
        watch: WatchEach<'_>,
    ) -> Result<Self, Stopped> {
        let outcome = match made(setting, preset, basis, epsilon, watch)? {
            Ok(mechanism) => Ok(Measured::new(setting, preset, &mechanism, watch)?),
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
        watch: WatchEach<'_>,
    ) -> Result<Self, Stopped> {
        let watch = |progress: Progress| watch(preset, progress);
        let pair = JointChain::new(mechanism, KernelMemory::default(), &watch)?;
        let levels = [setting.level];
        let utility =
            pair.utility(setting.origin, setting.start, setting.steps, &levels, &watch)?;
        drop(pair);
        let losses = audited_loss(mechanism, setting.effort, &watch)?;
        Ok(Self { utility, loss: losses.any.max, figures: losses.any.figures })
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
    // Cells come calibrated.
    if basis != Basis::Loss || theorem.certificate().is_some() {
        return Ok(Ok(theorem));
    }
    match calibrate(&theorem, setting.effort, &watch) {
        Ok((mechanism, _)) => Ok(Ok(mechanism)),
        Err(CalibrationError::Stopped(stopped)) => Err(stopped),
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
            vacuous: bool,
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
        let (basis, radius_nats) = match self.basis {
            Basis::Radius(radius) => ("equal_epsilon_and_radius", Some(radius.value().as_f64())),
            Basis::Loss => ("equal_substitution_loss", None),
        };
        Whole {
            basis,
            epsilon: self.epsilon.value().as_f64(),
            radius_nats,
            vacuous: self.vacuous.is_some(),
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
            mean_distance_nats: f64,
            wrong_state_share: f64,
            entropy_nats: super::figures::EntropyFigures,
            exceedance: Vec<Level>,
            substitution_loss: Loss,
        }
        #[derive(Serialize)]
        struct Level {
            nats: f64,
            per_step: f64,
            ever: f64,
        }
        #[derive(Serialize)]
        struct Loss {
            max: f64,
            figures: FigureKind,
        }
        let figures = |Measured { utility, loss, figures }: &Measured| RowFigures {
            mean_distance_nats: utility.mean_distance_nats,
            wrong_state_share: utility.wrong_state_share,
            entropy_nats: utility.entropy_nats,
            exceedance: utility
                .exceedance
                .iter()
                .map(|at| Level { nats: at.nats, per_step: at.per_step, ever: at.ever })
                .collect(),
            substitution_loss: Loss { max: *loss, figures: *figures },
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
