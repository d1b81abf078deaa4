//! Members without exact figures: walks that are made of observations, and blocks.
//!
//! All members release the same walks of the chain's own, from a fixed public seed, so that what differs
//! between them is what they do and not which walks they met.

use rayon::prelude::*;

use super::{Simulated, TuneFigures};
use crate::analysis::{Origin, OwnWalks, edge_weights};
use crate::chain::{Chain, StateId};
use crate::mechanism::Mechanism;
use crate::model::Model;
use crate::random::{Source, Words};
use crate::session::{Start, Walker};
use crate::watch::{Stage, Stopped, Watch, report};

/// Where the walks come from.
const SEED: u64 = 1;
const WALKS_PER_BATCH: usize = 32;

/// The walks that members release.
pub(super) struct Walks<'a> {
    model: &'a Model,
    start: Start,
    reals: Vec<Vec<StateId>>,
    /// `−ln P` of every transition.
    weights: Vec<f64>,
    /// What the real walk's entropy per move is, exactly.
    real_entropy: f64,
}

impl<'a> Walks<'a> {
    /// So many walks of so many steps, which start with these probabilities.
    pub(super) fn new(
        model: &'a Model,
        real: &[f64],
        (start, real_entropy): (Start, f64),
        (walks, steps): (usize, usize),
    ) -> Self {
        let chain = model.chain();
        let own = OwnWalks::new(chain);
        let mut source =
            Source::seeded(SEED).open([0; 32]).expect("a seed needs no operating system");
        let key = source.walk(b"the walks that tune compares");
        let words = source.at(&key, 0, None);
        let walk = |_| {
            let first = drawn(chain, real, words);
            own.walk(Origin::At(first), steps, words)
        };
        let reals = (0..walks).map(walk).collect();
        Self { model, start, reals, weights: edge_weights(chain), real_entropy }
    }

    /// The walks themselves.
    pub(super) fn into_reals(self) -> Vec<Vec<StateId>> {
        self.reals
    }

    /// The figures of a member, with their standard errors.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    pub(super) fn figures(
        &self,
        mechanism: &Mechanism,
        watch: Watch<'_>,
    ) -> Result<(TuneFigures, Simulated), Stopped> {
        let batches: Vec<&[Vec<StateId>]> = self.reals.chunks(WALKS_PER_BATCH).collect();
        let mut each: Vec<[f64; 3]> = Vec::with_capacity(self.reals.len());
        let at_a_time = 16;
        for (round, some) in batches.chunks(at_a_time).enumerate() {
            report(watch, Stage::Simulation, round * at_a_time, batches.len())?;
            let first = round * at_a_time;
            let found: Vec<Vec<[f64; 3]>> = some
                .par_iter()
                .enumerate()
                .map(|(place, reals)| self.batch(mechanism, first + place, reals))
                .collect();
            each.extend(found.into_iter().flatten());
        }
        let [distance, wrong, entropy] = [0, 1, 2].map(|k| mean_and_error(&each, k));
        let figures = TuneFigures {
            mean_distance_nats: distance.0,
            wrong_state_share: wrong.0,
            entropy_gap_nats: (entropy.0 - self.real_entropy).abs(),
        };
        let standard_errors = TuneFigures {
            mean_distance_nats: distance.1,
            wrong_state_share: wrong.1,
            entropy_gap_nats: entropy.1,
        };
        Ok((figures, Simulated { walks: each.len() as u64, standard_errors }))
    }

    /// Distance, wrong states and entropy of each walk, per step.
    fn batch(&self, mechanism: &Mechanism, number: usize, reals: &[Vec<StateId>]) -> Vec<[f64; 3]> {
        let source = Source::seeded(SEED).open(mechanism.fingerprint());
        let mut source = source.expect("a seed needs no operating system");
        let key = source.walk(format!("tuning batch {number}").as_bytes());
        let words = source.at(&key, 0, None);
        let mut walker = Walker::new(mechanism);
        let figures = |real: &Vec<StateId>| {
            let released = &walker.release(self.start, real, words).states;
            let (mut distance, mut wrong, mut entropy) = (0.0, 0u32, 0.0);
            for t in 1..real.len() {
                let (x, z) = (real[t], released[t]);
                distance += self.model.directed().between(z, x).as_f64();
                wrong += u32::from(x != z);
                entropy += self.weight(released[t - 1], z);
            }
            let steps = (real.len() - 1).max(1) as f64;
            [distance / steps, f64::from(wrong) / steps, entropy / steps]
        };
        reals.iter().map(figures).collect()
    }

    fn weight(&self, from: StateId, to: StateId) -> f64 {
        let chain = self.model.chain();
        match chain.successors(from).binary_search(&to) {
            Ok(place) => self.weights[chain.row(from)][place],
            Err(_) => f64::INFINITY,
        }
    }
}

/// A state drawn with these probabilities.
fn drawn(chain: &Chain, probabilities: &[f64], words: &mut impl Words) -> StateId {
    let total: f64 = probabilities.iter().sum();
    let mut left = (words.word() >> 11) as f64 * 2f64.powi(-53) * total;
    let mut last = StateId::new(0);
    for (state, &probability) in chain.states().zip(probabilities) {
        if probability > 0.0 {
            last = state;
            if left < probability {
                break;
            }
            left -= probability;
        }
    }
    last
}

fn mean_and_error(each: &[[f64; 3]], k: usize) -> (f64, f64) {
    let n = each.len() as f64;
    let mean = each.iter().map(|figures| figures[k]).sum::<f64>() / n;
    let squares: f64 = each.iter().map(|figures| (figures[k] - mean) * (figures[k] - mean)).sum();
    (mean, (squares / ((n - 1.0).max(1.0) * n)).sqrt())
}
