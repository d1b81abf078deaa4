//! Everything that changes with the length of a walk, in one pass.
//!
//! [`JointChain::utility`] gives figures for one length, and asks for a sweep for each distance that
//! may ever be exceeded. A curve over lengths and many distances would take that many runs. But what
//! a shorter walk gives is on the way to a longer one, and how often distances are exceeded follows
//! from the laws of all steps added up: one pass gives every length and every distance.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use super::edge_weights;
use super::joint::{JointChain, JointLaw, dot, map_rows};
use crate::chain::{Chain, StateId};
use crate::watch::{Stage, Stopped, Watch, report};

/// Exact figures by step, on average over the chain's own walks.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Profile {
    /// The expected distance from the released to the real state at each step, from step 0.
    pub distance_by_step: Vec<f64>,
    /// The probability of a wrong state at each step, from step 0.
    pub wrong_by_step: Vec<f64>,
    /// The expected weight `−ln P` of each released move, from the first.
    pub released_weight: Vec<f64>,
    /// For each level, the probability of being above it, averaged over steps 1 to the last.
    pub exceedance: Vec<f64>,
}

impl Profile {
    /// The expected entropy per transition of released walks of 1, 2, … transitions.
    #[must_use]
    pub fn entropy_by_length(&self) -> Vec<f64> {
        running_means(&self.released_weight)
    }
}

fn running_means(values: &[f64]) -> Vec<f64> {
    let sums = values.iter().scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum)
    });
    sums.enumerate().map(|(k, sum)| sum / (k + 1) as f64).collect()
}

impl JointChain<'_> {
    /// The figures of every length up to `steps`, and how often each level (ascending, in nats) is
    /// exceeded.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    ///
    /// # Complexity
    ///
    /// One sweep for each step.
    pub fn profile(
        &self,
        mut law: JointLaw,
        steps: usize,
        levels: &[f64],
        watch: Watch<'_>,
    ) -> Result<Profile, Stopped> {
        let model = self.mechanism().model();
        let n = self.states();
        let weights = self.released_weights();
        let mut between = vec![0.0; n * n];
        let mut sum = vec![0.0; n * n];
        let mut profile = Profile {
            distance_by_step: vec![law.mean_distance(model)],
            wrong_by_step: vec![law.wrong_share()],
            released_weight: Vec::with_capacity(steps),
            exceedance: Vec::new(),
        };
        for t in 1..=steps {
            report(watch, Stage::Steps, t, steps)?;
            self.sweep(law.raw_mut(), &mut between);
            profile.released_weight.push(dot(n, &between, &weights));
            profile.distance_by_step.push(law.mean_distance(model));
            profile.wrong_by_step.push(law.wrong_share());
            sum.iter_mut().zip(law.raw()).for_each(|(sum, p)| *sum += p);
        }
        // What lies between two levels, row by row; a level is exceeded by all that lies above.
        let between_levels = map_rows(&sum, n, |x, row| {
            let mut bins = vec![0.0; levels.len() + 1];
            for (p, d) in row.iter().zip(model.directed().to(StateId::new(x))) {
                bins[levels.partition_point(|&level| level < d.as_f64())] += p;
            }
            bins
        });
        let mut bins = vec![0.0; levels.len() + 1];
        for row in between_levels {
            bins.iter_mut().zip(row).for_each(|(bin, p)| *bin += p);
        }
        let mut above = 0.0;
        let exceedance = (1..bins.len()).rev().map(|k| {
            above += bins[k];
            above / steps.max(1) as f64
        });
        profile.exceedance = exceedance.collect();
        profile.exceedance.reverse();
        Ok(profile)
    }
}

/// The entropy per transition of the chain's own walks of some length.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct OwnEntropy {
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation from walk to walk.
    pub deviation: f64,
}

/// Mean and standard deviation of the entropy per transition of the chain's own walks of 1, 2, …
/// up to `steps` transitions, when the first state has these probabilities.
///
/// The sum of weights has more values than can be listed, but its first two moments, split by where
/// the walk stands, move along with its law.
///
/// # Panics
///
/// If there is not exactly one probability for each state.
///
/// # Complexity
///
/// Three multiplications for each transition and step.
#[must_use]
pub fn own_entropy(chain: &Chain, first: &[f64], steps: usize) -> Vec<OwnEntropy> {
    assert_eq!(first.len(), chain.len(), "one probability for each state");
    let weights = edge_weights(chain);
    // For each state: its probability, and the first two moments of the sum for walks that are there.
    let mut now: Vec<[f64; 3]> = first.iter().map(|&p| [p, 0.0, 0.0]).collect();
    let mut out = Vec::with_capacity(steps);
    for t in 1..=steps {
        let mut next = vec![[0.0; 3]; chain.len()];
        for x in chain.states() {
            let [mass, sum, square] = now[x.index()];
            if mass == 0.0 {
                continue;
            }
            let moves = chain.successors(x).iter().zip(chain.probabilities(x));
            for ((y, p), w) in moves.zip(&weights[chain.row(x)]) {
                let slot = &mut next[y.index()];
                slot[0] += p * mass;
                slot[1] += p * (sum + w * mass);
                slot[2] += p * (square + 2.0 * w * sum + w * w * mass);
            }
        }
        now = next;
        let total = |k: usize| now.iter().map(|moments| moments[k]).sum::<f64>();
        let (mean, square, n) = (total(1), total(2), t as f64);
        let variance = (square - mean * mean).max(0.0);
        out.push(OwnEntropy { mean: mean / n, deviation: variance.sqrt() / n });
    }
    out
}
