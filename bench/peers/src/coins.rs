//! The same step with exact coins and with coins of doubles, for a profiler to count what exactness
//! costs: `bench/instructions` does so.

use anyhow::Result;
use clap::ValueEnum;
use serde_json::{Value, json};
use veilwalk::internal::mechanism::Workspace;
use veilwalk::random::Words;
use veilwalk::{Chain, Distance, Mechanism, Nats, Rule, Source, StateId};

use crate::{mechanism, own_walk, table};

/// Which coins a step flips.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Coins {
    /// Those that are released with.
    Exact,
    /// A random double below `f64::exp`: not exact, and not for releases.
    F64,
}

/// Takes steps of a mechanism at epsilon 1 and radius 1.
pub(crate) fn take(chain: Chain, preset: &str, coins: Coins, steps: usize) -> Result<Value> {
    let mechanism = mechanism(chain, preset)?;
    // The same whatever is counted, so that making it can be taken off.
    let real = own_walk(mechanism.model().chain(), 2_000)?;
    let mut randomness = Source::seeded(2).open(mechanism.fingerprint())?;
    let walk = randomness.walk(b"coins");
    let words = randomness.at(&walk, 0, None);
    let (mut space, mut doubles) = (Workspace::default(), Doubles::new(&mechanism)?);
    let (mut released, mut right) = (real[0], 0usize);
    for step in 0..steps {
        let real = real[1 + step % (real.len() - 1)];
        released = match coins {
            Coins::Exact => mechanism.step(released, real, words, &mut space),
            Coins::F64 => doubles.step(released, real, words),
        };
        right += usize::from(released == real);
    }
    Ok(json!({ "steps": steps, "right": right }))
}

/// The step with doubles, and its working space.
struct Doubles<'a> {
    mechanism: &'a Mechanism,
    table: &'a [Nats],
    scales: Vec<f64>,
    chain_weight: f64,
    weights: Vec<f64>,
    accepted: Vec<StateId>,
}

impl<'a> Doubles<'a> {
    fn new(mechanism: &'a Mechanism) -> Result<Self> {
        let states = mechanism.model().chain().states();
        Ok(Self {
            mechanism,
            table: table(mechanism)?,
            scales: states.map(|z| mechanism.scale(z).eta().as_f64()).collect(),
            chain_weight: mechanism.design().chain_weight.value().as_f64(),
            weights: Vec::new(),
            accepted: Vec::new(),
        })
    }

    fn step(&mut self, previous: StateId, real: StateId, words: &mut impl Words) -> StateId {
        let chain = self.mechanism.model().chain();
        let candidates = chain.successors(previous);
        let (eta, beta) = (self.scales[previous.index()], self.chain_weight);
        let cost = |(distance, weight): (Nats, &Nats)| {
            let weight = if beta == 0.0 { 0.0 } else { beta * weight.as_f64() };
            eta * distance.as_f64() + weight
        };
        self.weights.clear();
        if self.mechanism.design().distance == Distance::Cell {
            let start = chain.row(previous).start * chain.len() + real.index() * candidates.len();
            let row = &self.table[start..][..candidates.len()];
            self.weights.extend(row.iter().copied().zip(chain.weights(previous)).map(cost));
        } else {
            let row = &self.table[real.index() * chain.len()..][..chain.len()];
            let distances = candidates.iter().map(|y| row[y.index()]);
            self.weights.extend(distances.zip(chain.weights(previous)).map(cost));
        }
        let least = self.weights.iter().copied().fold(f64::INFINITY, f64::min);
        let mut uniform = || (words.word() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        match self.mechanism.design().rule {
            Rule::PermuteAndFlip => {
                self.accepted.clear();
                for (&candidate, cost) in candidates.iter().zip(&self.weights) {
                    if uniform() < (least - cost).exp() {
                        self.accepted.push(candidate);
                    }
                }
                self.accepted[(uniform() * self.accepted.len() as f64) as usize]
            }
            Rule::Exponential => {
                let mut total = 0.0;
                for weight in &mut self.weights {
                    total += (least - *weight).exp();
                    *weight = total;
                }
                let drawn = uniform() * total;
                let place = self.weights.iter().position(|&up_to| drawn < up_to);
                candidates[place.unwrap_or(candidates.len() - 1)]
            }
        }
    }
}
