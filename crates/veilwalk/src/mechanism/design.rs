//! The choices that make a member of the family, and the members that have names.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::promise::{ChainWeight, ParameterError, Unit};
use crate::distance::Nearest;
use crate::rational::Rational;

/// How far a candidate is from the real state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Distance {
    /// `d(y, x)`, from the candidate to the real state.
    Directed,
    /// The larger of `d(y, x)` and `d(x, y)`.
    Symmetric,
    /// One for every candidate but the real state.
    Hamming,
    /// How far the real state is from those for which the candidate is the nearest one (see
    /// [`cell`](super::cell)).
    Cell,
    /// The same, with "nearest" by the symmetric distance.
    CellSymmetric,
}

impl Distance {
    /// What "nearest" means, for the distances that go by cells.
    #[must_use]
    pub const fn nearest(self) -> Option<Nearest> {
        match self {
            Self::Cell => Some(Nearest::Directed),
            Self::CellSymmetric => Some(Nearest::Symmetric),
            Self::Directed | Self::Symmetric | Self::Hamming => None,
        }
    }
}

/// How a candidate is picked by its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Visit the candidates in a random order, and take each with its own probability.
    PermuteAndFlip,
    /// Pick in proportion to `exp(-cost)`.
    Exponential,
}

/// How the scale is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Calibration {
    /// By the proven formula.
    Theorem,
    /// The largest whose audited loss keeps the promise.
    #[default]
    Exact,
}

impl Calibration {
    /// How the scale of a design is found unless someone says otherwise.
    #[must_use]
    pub const fn default_for(design: Design) -> Self {
        if design.observes() || design.cells().is_some() { Self::Exact } else { Self::Theorem }
    }
}

/// The public weights of the states, where every state can be drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StateWeights {
    /// Such that the normaliser is the same for every real state, as far as there are such weights.
    #[default]
    Tight,
    /// The same for every state.
    Even,
}

/// κ: the least share of the largest predicted mass with which a state is believed possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeastShare(Rational);

impl LeastShare {
    /// One tenth.
    pub const TENTH: Self = match Rational::new(1, 10) {
        Some(share) => Self(share),
        None => Self(Rational::ZERO),
    };

    /// The share with this value; `None` above one.
    #[must_use]
    pub fn new(value: Rational) -> Option<Self> {
        (value <= Rational::ONE).then_some(Self(value))
    }

    /// The exact value.
    #[must_use]
    pub const fn value(self) -> Rational {
        self.0
    }
}

impl fmt::Display for LeastShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for LeastShare {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const NAME: &str = "the least share";
        let value =
            text.parse().map_err(|source| ParameterError::NotANumber { name: NAME, source })?;
        Self::new(value).ok_or(ParameterError::AboveOne { name: NAME, value })
    }
}

/// Which states can be drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Candidates {
    /// The moves from the last released state: what is drawn is released.
    #[default]
    Moves,
    /// All states, with public weights: what is drawn is an observation.
    States(StateWeights),
    /// The states that the public belief holds possible: an observation too.
    Believed(LeastShare),
    /// The points of a lattice on the earth, in straight-line metres: an observation too.
    Plane,
}

/// The kinds of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CandidateKind {
    /// The moves from the last released state.
    Moves,
    /// All states.
    States,
    /// The states that the belief holds possible.
    Believed,
    /// The points of a lattice.
    Plane,
}

impl CandidateKind {
    /// The kind of these.
    #[must_use]
    pub const fn of(candidates: Candidates) -> Self {
        match candidates {
            Candidates::Moves => Self::Moves,
            Candidates::States(_) => Self::States,
            Candidates::Believed(_) => Self::Believed,
            Candidates::Plane => Self::Plane,
        }
    }
}

/// A member of the family, all but its scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design {
    /// The distance.
    pub distance: Distance,
    /// The rule.
    pub rule: Rule,
    /// The chain weight β.
    pub chain_weight: ChainWeight,
    /// Which states can be drawn.
    pub candidates: Candidates,
}

impl Design {
    /// A member that draws moves.
    #[must_use]
    pub const fn of_moves(distance: Distance, rule: Rule, chain_weight: ChainWeight) -> Self {
        Self { distance, rule, chain_weight, candidates: Candidates::Moves }
    }

    /// Whether what is drawn is an observation, and the released walk is made of it.
    #[must_use]
    pub const fn observes(self) -> bool {
        !matches!(self.candidates, Candidates::Moves)
    }

    /// What "nearest" means for the cells of its moves, if it goes by cells.
    #[must_use]
    pub const fn cells(self) -> Option<Nearest> {
        match self.candidates {
            Candidates::Moves => self.distance.nearest(),
            Candidates::States(_) | Candidates::Believed(_) | Candidates::Plane => None,
        }
    }
}

/// A member of the family with a name.
///
/// | name | distance | rule | β | scale η |
/// |---|---|---|---|---|
/// | `paper` | directed | permute-and-flip | 0 | ε / 2ρ |
/// | `chen` | hamming | exponential | 0 | ε / b |
/// | `exponential-hamming` | directed | exponential | 0 | ε / (2 b D_max) |
/// | `exponential` | directed | exponential | 0 | ε / 2ρ |
/// | `sharp` | symmetric | permute-and-flip | ½ | ε / 2ρ |
/// | `cell` | cell | exponential | 0 | calibrated, up to ε / ρ or ε / b |
/// | `tight` | what the promise counts, over all states | exponential | weights | ε / ρ or ε / b, but for rounding |
/// | `believed` | cell, over believed states | exponential | 0 | ε / 2ρ or ε / b |
/// | `plane` | straight-line metres, over a lattice | exponential | 0 | ε / ρ, but for rounding |
///
/// The first four are the mechanisms of Benvenuti and Hale and, second, of Chen et al. as they
/// restate it. ρ is the radius, b the number of substitutions, D_max the largest distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// The paper's own mechanism.
    Paper,
    /// Randomised response on the successors, after Chen et al.
    Chen,
    /// The paper's third mechanism: substitutions, with scores by distance.
    ExponentialHamming,
    /// The paper's fourth mechanism: its first with the exponential rule.
    Exponential,
    /// Symmetric distance and half a chain weight: accurate on chains of any size.
    Sharp,
    /// Distance to the cell of each candidate, calibrated for each last state: the most accurate that draws
    /// moves.
    Cell,
    /// Observations over all states, with tight weights.
    Tight,
    /// Observations among the states that the belief holds possible.
    Believed,
    /// Observations on a plane: planar Laplace noise, drawn exactly.
    Plane,
}

impl Preset {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 9] = [
        Self::Paper,
        Self::Chen,
        Self::ExponentialHamming,
        Self::Exponential,
        Self::Sharp,
        Self::Cell,
        Self::Tight,
        Self::Believed,
        Self::Plane,
    ];

    /// Those that draw states, which work on every chain.
    pub const OF_STATES: [Self; 8] = [
        Self::Paper,
        Self::Chen,
        Self::ExponentialHamming,
        Self::Exponential,
        Self::Sharp,
        Self::Cell,
        Self::Tight,
        Self::Believed,
    ];

    /// Those that draw moves.
    pub const OF_MOVES: [Self; 6] = [
        Self::Paper,
        Self::Chen,
        Self::ExponentialHamming,
        Self::Exponential,
        Self::Sharp,
        Self::Cell,
    ];

    /// The choices it stands for.
    #[must_use]
    pub const fn design(self) -> Design {
        use Distance::{Cell, Directed, Hamming, Symmetric};
        use Rule::{Exponential, PermuteAndFlip};
        let (distance, rule, chain_weight) = match self {
            Self::Paper => (Directed, PermuteAndFlip, ChainWeight::ZERO),
            Self::Chen => (Hamming, Exponential, ChainWeight::ZERO),
            Self::ExponentialHamming | Self::Exponential => {
                (Directed, Exponential, ChainWeight::ZERO)
            }
            Self::Sharp => (Symmetric, PermuteAndFlip, ChainWeight::HALF),
            Self::Cell | Self::Believed => (Cell, Exponential, ChainWeight::ZERO),
            Self::Tight | Self::Plane => (Symmetric, Exponential, ChainWeight::ZERO),
        };
        let candidates = match self {
            Self::Tight => Candidates::States(StateWeights::Tight),
            Self::Believed => Candidates::Believed(LeastShare::TENTH),
            Self::Plane => Candidates::Plane,
            _ => Candidates::Moves,
        };
        Design { distance, rule, chain_weight, candidates }
    }

    /// The member that has these choices and whose guarantee is counted in this unit, if it has a name.
    #[must_use]
    pub fn of(design: Design, unit: Unit) -> Option<Self> {
        let substitutions = matches!(unit, Unit::Substitutions(_));
        let fits = |preset: &Self| match preset {
            // The same choices under two names, one for each unit.
            Self::Exponential => !substitutions,
            _ => substitutions || !preset.counts_substitutions(),
        };
        Self::ALL.into_iter().find(|preset| preset.design() == design && fits(preset))
    }

    /// Whether its guarantee is counted in substitutions rather than in a radius, as published.
    #[must_use]
    pub const fn counts_substitutions(self) -> bool {
        matches!(self, Self::Chen | Self::ExponentialHamming)
    }
}

/// A word that is not one of the choices.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{found:?} is not a {what}; choose one of {choices}")]
pub struct UnknownName {
    pub(crate) what: &'static str,
    pub(crate) found: String,
    pub(crate) choices: String,
}

macro_rules! named {
    ($type:ident, $what:literal, $($variant:ident => $name:literal),+ $(,)?) => {
        impl $type {
            /// Every choice by its name.
            pub const NAMES: &[(&str, Self)] = &[$(($name, Self::$variant)),+];

            /// The name used on the command line and in files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let known = Self::NAMES.iter().find(|(name, _)| *name == text);
                known.map(|(_, value)| *value).ok_or_else(|| UnknownName {
                    what: $what,
                    found: text.to_owned(),
                    choices: [$($name),+].join(", "),
                })
            }
        }
    };
}

pub(crate) use named;

named!(Distance, "distance",
    Directed => "directed",
    Symmetric => "symmetric",
    Hamming => "hamming",
    Cell => "cell",
    CellSymmetric => "cell-symmetric",
);
named!(Rule, "rule",
    PermuteAndFlip => "permute-and-flip",
    Exponential => "exponential",
);
named!(Calibration, "way to find a scale",
    Theorem => "theorem",
    Exact => "exact",
);
named!(Preset, "mechanism",
    Paper => "paper",
    Chen => "chen",
    ExponentialHamming => "exponential-hamming",
    Exponential => "exponential",
    Sharp => "sharp",
    Cell => "cell",
    Tight => "tight",
    Believed => "believed",
    Plane => "plane",
);
named!(CandidateKind, "kind of candidates",
    Moves => "moves",
    States => "states",
    Believed => "believed",
    Plane => "plane",
);
named!(StateWeights, "kind of weights",
    Tight => "tight",
    Even => "even",
);

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { distance, rule, chain_weight, candidates } = self;
        match candidates {
            Candidates::Moves => {
                write!(f, "{distance} distance, {rule} rule, chain weight {chain_weight}")
            }
            Candidates::States(weights) => write!(f, "all states, {weights} weights"),
            Candidates::Believed(least) => {
                write!(f, "{distance} distance, states believed from a share of {least}")
            }
            Candidates::Plane => f.write_str("points on a plane"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse(), Ok(preset));
        }
        let error = "papper".parse::<Preset>().unwrap_err().to_string();
        assert!(error.contains("\"papper\"") && error.contains("sharp"), "{error}");
    }

    #[test]
    fn sharp_and_paper_differ_only_as_the_table_says() {
        let (sharp, paper) = (Preset::Sharp.design(), Preset::Paper.design());
        let changed =
            Design { distance: Distance::Symmetric, chain_weight: ChainWeight::HALF, ..paper };
        assert_eq!(sharp, changed);
    }
}
