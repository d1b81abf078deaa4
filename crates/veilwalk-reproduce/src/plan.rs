//! What is run: the settings of the paper's evaluation, and how much each chain can afford.

use serde::Serialize;
use veilwalk::{Model, Preset};

/// How many steps walks take, as in the paper.
pub(crate) const STEPS: usize = 100;
/// Simulations and samples are the same in every run.
pub(crate) const SEED: u64 = 2026;
/// The mechanisms in every figure: the paper's two, then ours.
pub(crate) const MECHANISMS: [Preset; 4] =
    [Preset::Chen, Preset::Paper, Preset::Sharp, Preset::Cell];
/// ε of the main figures.
pub(crate) const EPSILONS: [&str; 3] = ["1", "3", "5"];
/// The paper's radius, in nats.
pub(crate) const RADIUS: &str = "1";
/// Lengths at which entropies are simulated.
pub(crate) const LENGTHS: [usize; 4] = [10, 25, 50, STEPS];

/// What is equal between the mechanisms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Basis {
    /// ε, with the paper's radius for those that have one and one substitution for `chen`.
    Epsilon,
    /// The loss of replacing any one state by any other.
    Loss,
}

impl Basis {
    pub(crate) const ALL: [Self; 2] = [Self::Epsilon, Self::Loss];

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Epsilon => "equal-epsilon",
            Self::Loss => "equal-loss",
        }
    }
}

/// A mechanism in one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) basis: Basis,
    pub(crate) preset: Preset,
    pub(crate) epsilon: &'static str,
}

/// How large a chain is for what is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Extent {
    /// Everything takes no time.
    Tiny,
    /// A sweep over all pairs of states takes some milliseconds: everything is exact.
    Small,
    /// A sweep takes a good part of a second: what matters most is exact, the rest simulated.
    Large,
}

impl Extent {
    pub(crate) fn of(model: &Model) -> Self {
        match sweep(model) {
            s if s < 1e5 => Self::Tiny,
            s if s < 1e7 => Self::Small,
            _ => Self::Large,
        }
    }

    /// Walks in each simulation.
    pub(crate) fn walks(self) -> u64 {
        match self {
            Self::Tiny => 10_000,
            Self::Small => 2_500,
            Self::Large => 2_000,
        }
    }
}

/// Multiplications in one sweep of the pair of walks.
fn sweep(model: &Model) -> f64 {
    2.0 * model.chain().len() as f64 * model.chain().transitions() as f64
}

/// What is measured of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Work {
    /// Averages over the chain's own walks from one state, exact.
    pub(crate) exact: bool,
    /// How often a distance is ever exceeded, exact.
    pub(crate) ever: bool,
    /// The same averages with a uniform start, exact.
    pub(crate) uniform_exact: bool,
    /// Both by simulation.
    pub(crate) simulated: bool,
    pub(crate) uniform_simulated: bool,
    /// The losses of replacing states.
    pub(crate) guarantee: bool,
    /// The drift of every pair.
    pub(crate) drift: bool,
}

impl Work {
    /// Only walks to look at.
    const SAMPLES: Self = Self {
        exact: false,
        ever: false,
        uniform_exact: false,
        simulated: false,
        uniform_simulated: false,
        guarantee: false,
        drift: false,
    };

    fn of(model: &Model, setting: Setting, levels: usize) -> Self {
        if !EPSILONS.contains(&setting.epsilon) {
            return Self { guarantee: Extent::of(model) != Extent::Large, ..Self::SAMPLES };
        }
        let published = setting.basis == Basis::Epsilon;
        match Extent::of(model) {
            Extent::Tiny | Extent::Small => Self {
                exact: true,
                ever: published && sweep(model) * (STEPS * levels) as f64 <= 1e8,
                uniform_exact: published,
                simulated: published,
                uniform_simulated: published,
                guarantee: true,
                // Calibrating cells takes longest: their drift comes with what is made anyway.
                drift: published
                    && setting.preset == Preset::Cell
                    && Extent::of(model) == Extent::Small,
            },
            Extent::Large => {
                // The figures of the paper that show error probabilities have ε 1 and 3.
                let shown = published && setting.epsilon != "5";
                Self {
                    exact: shown,
                    ever: false,
                    uniform_exact: false,
                    simulated: true,
                    uniform_simulated: published,
                    guarantee: true,
                    drift: shown,
                }
            }
        }
    }
}

/// Everything that is run on a chain, in order.
pub(crate) fn settings(
    model: &Model,
    more_epsilons: &[&'static str],
    levels: usize,
) -> Vec<(Setting, Work)> {
    let mut all = Vec::new();
    for basis in Basis::ALL {
        let more = if basis == Basis::Epsilon { more_epsilons } else { &[] };
        for &epsilon in EPSILONS.iter().chain(more) {
            for preset in MECHANISMS {
                let setting = Setting { basis, preset, epsilon };
                all.push((setting, Work::of(model, setting, levels)));
            }
        }
    }
    all
}

/// ε at which drift is computed for a mechanism, beyond what comes with its settings.
pub(crate) fn drift_epsilons(model: &Model, preset: Preset) -> Vec<&'static str> {
    const ALL: [&str; 20] = [
        "0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4", "4.5", "5", "5.5", "6", "6.5", "7", "7.5",
        "8", "8.5", "9", "9.5", "10",
    ];
    match (Extent::of(model), preset) {
        (Extent::Small, Preset::Cell) => Vec::new(),
        (Extent::Tiny | Extent::Small, _) => ALL.to_vec(),
        (Extent::Large, Preset::Paper) => vec!["0.5", "5", "10"],
        (Extent::Large, _) => Vec::new(),
    }
}
