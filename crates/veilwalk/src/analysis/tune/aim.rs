//! What a mechanism is tuned for.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "serde")]
use serde::Serialize;
use thiserror::Error;

use super::TuneFigures;

/// What counts when members of the family are compared. Smaller is better in each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Aim {
    /// The mean distance from the released to the real state.
    #[default]
    Closeness,
    /// The share of steps at which the released state is not the real one.
    WrongStates,
    /// How far the entropy of the released walk is from that of the real one, per move.
    Typicality,
    /// All three, each as a multiple of the best value that any member reaches.
    Weighted(Weights),
}

/// How much each figure counts. Not all of them are zero.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Weights {
    closeness: f64,
    wrong_states: f64,
    typicality: f64,
}

/// Why a text is not an aim.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} is not an aim; choose closeness, wrong-states or typicality, or give three weights from \
     zero up in that order, such as 1,1,0.5"
)]
pub struct AimError(String);

/// Values below this are as good as none when figures are put in proportion to the best: a
/// hundredth of a nat, or one state in a thousand.
const NEGLIGIBLE: TuneFigures =
    TuneFigures { mean_distance_nats: 0.01, wrong_state_share: 0.001, entropy_gap_nats: 0.01 };

impl Weights {
    /// Weights for distance, wrong states and entropy; `None` unless they are finite, none is below
    /// zero and one is above it.
    #[must_use]
    pub fn new(closeness: f64, wrong_states: f64, typicality: f64) -> Option<Self> {
        let all = [closeness, wrong_states, typicality];
        let valid = all.iter().all(|w| w.is_finite() && *w >= 0.0) && all.iter().any(|w| *w > 0.0);
        valid.then_some(Self { closeness, wrong_states, typicality })
    }
}

impl Aim {
    /// The figure to be made small, given the best value of each that any member reaches.
    #[must_use]
    pub fn score(self, figures: &TuneFigures, best: &TuneFigures) -> f64 {
        match self {
            Self::Closeness => figures.mean_distance_nats,
            Self::WrongStates => figures.wrong_state_share,
            Self::Typicality => figures.entropy_gap_nats,
            Self::Weighted(weights) => {
                let part = |weight: f64, of: fn(&TuneFigures) -> f64| {
                    weight * of(figures) / of(best).max(of(&NEGLIGIBLE))
                };
                part(weights.closeness, |f| f.mean_distance_nats)
                    + part(weights.wrong_states, |f| f.wrong_state_share)
                    + part(weights.typicality, |f| f.entropy_gap_nats)
            }
        }
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closeness => f.pad("closeness"),
            Self::WrongStates => f.pad("wrong-states"),
            Self::Typicality => f.pad("typicality"),
            Self::Weighted(Weights { closeness, wrong_states, typicality }) => {
                write!(f, "{closeness},{wrong_states},{typicality}")
            }
        }
    }
}

impl FromStr for Aim {
    type Err = AimError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let weights = || {
            let numbers: Vec<f64> =
                text.split(',').map(|w| w.trim().parse().ok()).collect::<Option<_>>()?;
            let [closeness, wrong_states, typicality] = numbers.try_into().ok()?;
            Weights::new(closeness, wrong_states, typicality)
        };
        match text {
            "closeness" => Ok(Self::Closeness),
            "wrong-states" => Ok(Self::WrongStates),
            "typicality" => Ok(Self::Typicality),
            _ => weights().map(Self::Weighted).ok_or_else(|| AimError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aims_are_read_back() {
        for text in ["closeness", "wrong-states", "typicality", "1,0,0.5"] {
            assert_eq!(text.parse::<Aim>().unwrap().to_string(), text);
        }
        for text in ["", "near", "1,1", "1,1,1,1", "0,0,0", "-1,1,1", "NaN,1,1", "inf,1,1"] {
            assert!(text.parse::<Aim>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_figure_is_weighed_in_proportion_to_the_best() {
        let figures = |a, b, c| TuneFigures {
            mean_distance_nats: a,
            wrong_state_share: b,
            entropy_gap_nats: c,
        };
        let aim: Aim = "1,2,1".parse().unwrap();
        let score = aim.score(&figures(1.0, 0.3, 0.0), &figures(0.5, 0.1, 0.0));
        assert!((score - 8.0).abs() < 1e-12, "{score}");
        // Where the best is next to nothing, a hundredth of a nat stands for it.
        let score = aim.score(&figures(0.0, 0.0, 0.005), &figures(0.0, 0.0, 1e-9));
        assert!((score - 0.5).abs() < 1e-12, "{score}");
    }
}
