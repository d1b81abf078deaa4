//! The figures that every route gives: exact for one walk, exact on average, simulated.

#[cfg(feature = "serde")]
use serde::Serialize;

use crate::chain::Chain;
use crate::nats::Nats;

/// What a release is worth, over a number of steps.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Utility {
    /// How many steps were taken after the start.
    pub steps: usize,
    /// The distance from the released to the real state, averaged over steps 1 to the last.
    pub mean_distance_nats: f64,
    /// The share of steps at which the released state is not the real one.
    pub wrong_state_share: f64,
    /// Entropies per transition.
    pub entropy_nats: EntropyFigures,
    /// How often a distance is exceeded.
    pub exceedance: Vec<Exceedance>,
    /// The expected distance at each step, from step 0.
    pub distance_by_step: Vec<f64>,
    /// The probability of a wrong state at each step, from step 0.
    pub wrong_by_step: Vec<f64>,
}

/// Expected `−ln P` per transition.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct EntropyFigures {
    /// Of the released walk.
    pub released: f64,
    /// Of the real walk.
    pub real: f64,
    /// The chain's entropy rate; `None` if its stationary distribution could not be computed.
    pub rate: Option<f64>,
}

/// How often the distance from the released to the real state exceeds a level.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Exceedance {
    /// The level in nats.
    pub nats: f64,
    /// The probability of being above it, averaged over steps 1 to the last.
    pub per_step: f64,
    /// The probability of having been above it at any step, the start included.
    pub ever: f64,
    /// The probability of being above it at each step, from step 0.
    pub at_step: Vec<f64>,
    /// The probability of having been above it at that step or before, from step 0.
    pub ever_by_step: Vec<f64>,
}

/// The exact distribution of a distance: its values, ascending, with their probabilities.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct DistanceLaw {
    /// The values with positive probability.
    pub values: Vec<Nats>,
    /// Their probabilities.
    pub probabilities: Vec<f64>,
}

impl DistanceLaw {
    pub(super) fn collect(pairs: impl Iterator<Item = (Nats, f64)>) -> Self {
        let mut pairs: Vec<_> = pairs.filter(|&(_, p)| p > 0.0).collect();
        pairs.sort_by_key(|&(distance, _)| distance);
        let (mut values, mut probabilities) = (Vec::new(), Vec::new());
        for (distance, p) in pairs {
            if values.last() == Some(&distance) {
                *probabilities.last_mut().expect("as long as the values") += p;
            } else {
                values.push(distance);
                probabilities.push(p);
            }
        }
        Self { values, probabilities }
    }

    /// The probability of a distance above `nats`.
    #[must_use]
    pub fn exceeds(&self, nats: f64) -> f64 {
        let above = self.values.partition_point(|v| v.as_f64() <= nats);
        self.probabilities[above..].iter().sum()
    }

    /// The expected distance in nats.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.values.iter().zip(&self.probabilities).map(|(v, p)| v.as_f64() * p).sum()
    }
}

/// Everything but the absorbing passes, collected step by step.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) distance: Vec<f64>,
    pub(super) wrong: Vec<f64>,
    /// One list for each level.
    pub(super) above: Vec<Vec<f64>>,
    pub(super) released_weight: f64,
    pub(super) real_weight: f64,
}

impl Collected {
    pub(super) fn new(levels: usize) -> Self {
        Self { above: vec![Vec::new(); levels], ..Self::default() }
    }

    /// The finished figures. `ever` has one list for each level.
    pub(super) fn finish(self, chain: &Chain, levels: &[f64], ever: Vec<Vec<f64>>) -> Utility {
        let steps = self.distance.len() - 1;
        let per_transition = |sum: f64| if steps == 0 { 0.0 } else { sum / steps as f64 };
        let exceedance = levels.iter().zip(self.above).zip(ever);
        Utility {
            steps,
            mean_distance_nats: after_start(&self.distance),
            wrong_state_share: after_start(&self.wrong),
            entropy_nats: EntropyFigures {
                released: per_transition(self.released_weight),
                real: per_transition(self.real_weight),
                rate: entropy_rate(chain),
            },
            exceedance: exceedance
                .map(|((&nats, at_step), ever_by_step)| Exceedance {
                    nats,
                    per_step: after_start(&at_step),
                    ever: ever_by_step.last().copied().unwrap_or(0.0),
                    at_step,
                    ever_by_step,
                })
                .collect(),
            distance_by_step: self.distance,
            wrong_by_step: self.wrong,
        }
    }
}

/// The mean of all entries but the first; zero if there are none.
pub(super) fn after_start(by_step: &[f64]) -> f64 {
    let steps = &by_step[1..];
    if steps.is_empty() { 0.0 } else { steps.iter().sum::<f64>() / steps.len() as f64 }
}

/// The chain's entropy rate, where its stationary distribution can be computed.
pub(super) fn entropy_rate(chain: &Chain) -> Option<f64> {
    Some(chain.entropy_rate(&chain.stationary().ok()?))
}
