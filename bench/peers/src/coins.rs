//! The same step with exact coins and with coins of doubles, for a profiler to count what exactness
//! costs: `bench/instructions` does so.

use std::sync::Arc;

use anyhow::Result;
use clap::ValueEnum;
use serde_json::{Value, json};
use veilwalk::mechanism::Workspace;
use veilwalk::random::Words;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Source, StateId};

use crate::own_walk;

/// Which coins a step flips.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Coins {
    /// Those that are released with.
    Exact,
    /// A random double below `f64::exp`: not exact, and not for releases.
    F64,
}

/// Takes steps of the mechanism `paper` at epsilon 1 and radius 1.
pub(crate) fn take(chain: Chain, coins: Coins, steps: usize) -> Result<Value> {
    let model = Arc::new(Model::new(chain)?);
    let promise = Promise::within_radius("1".parse()?, "1".parse()?);
    let mechanism = Mechanism::new(model.clone(), Preset::Paper.design(), promise)?;
    // The same whatever is counted, so that making it can be taken off.
    let real = own_walk(model.chain(), 2_000)?;
    let mut randomness = Source::seeded(2).open(mechanism.fingerprint())?;
    let walk = randomness.walk(b"coins");
    let words = randomness.at(&walk, 0, None);
    let eta = mechanism.scale(real[0]).eta().as_f64();
    let (mut space, mut doubles) = (Workspace::default(), Doubles::default());
    let (mut released, mut right) = (real[0], 0usize);
    for step in 0..steps {
        let real = real[1 + step % (real.len() - 1)];
        released = match coins {
            Coins::Exact => mechanism.step(released, real, words, &mut space),
            Coins::F64 => doubles.step(&model, eta, released, real, words),
        };
        right += usize::from(released == real);
    }
    Ok(json!({ "steps": steps, "right": right }))
}

/// Working space of the step with doubles.
#[derive(Default)]
struct Doubles {
    costs: Vec<f64>,
    accepted: Vec<StateId>,
}

impl Doubles {
    fn step(
        &mut self,
        model: &Model,
        eta: f64,
        previous: StateId,
        real: StateId,
        words: &mut impl Words,
    ) -> StateId {
        let row = model.directed().to(real);
        let candidates = model.chain().successors(previous);
        self.costs.clear();
        self.costs.extend(candidates.iter().map(|y| eta * row[y.index()].as_f64()));
        let least = self.costs.iter().copied().fold(f64::INFINITY, f64::min);
        let mut uniform = || (words.word() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        self.accepted.clear();
        for (&candidate, cost) in candidates.iter().zip(&self.costs) {
            if uniform() < (least - cost).exp() {
                self.accepted.push(candidate);
            }
        }
        self.accepted[(uniform() * self.accepted.len() as f64) as usize]
    }
}
