//! The chain alone: walks drawn from the chain without a look at the real ones.
//!
//! It costs no privacy at all, so it is the line to beat: what a release has in common with the real walk
//! beyond this is what was bought with ε. The real walk and the one drawn alone move independently, each by
//! the chain, from where they start. So the law of the pair is moved one half at a time by the same sparse
//! product, and every figure is exact.
//!
//! A walk drawn alone starts where releases do: at the real first state where that is disclosed, else at
//! the state that is given, else at a state of the initial distribution. (A private start costs privacy;
//! without it nothing is known of where the real walk starts.)

use super::figures::Utility;
use super::joint::{JointLaw, Sparse, figures_of_pairs, for_rows};
use super::{Origin, row_entropies};
use crate::chain::{Chain, StateId};
use crate::model::Model;
use crate::session::Start;
use crate::watch::{Stopped, Watch};

/// The exact figures of walks that are drawn from the chain alone.
///
/// # Errors
///
/// If the watcher asks to stop.
///
/// # Complexity
///
/// 2·|S|·|E| multiplications for each step, and as many for each step and level.
pub fn chain_alone(
    model: &Model,
    origin: Origin,
    start: Start,
    steps: usize,
    levels: &[f64],
    watch: Watch<'_>,
) -> Result<Utility, Stopped> {
    let chain = model.chain();
    let pair = IndependentPair::new(chain);
    let first = law_at_start(chain, origin, start);
    let entropies = row_entropies(chain);
    let weight =
        |marginal: Vec<f64>| marginal.iter().zip(&entropies).map(|(p, h)| p * h).sum::<f64>();
    let sweep = |law: &mut [f64], between: &mut [f64]| pair.sweep(law, between);
    figures_of_pairs(model, &first, (steps, levels), watch, sweep, |law, between| {
        let real = weight(law.real_marginal());
        let released = weight(released_marginal(law, chain.len()));
        pair.sweep(law.raw_mut(), between);
        (real, released)
    })
}

/// Two walks that know nothing of each other.
struct IndependentPair {
    states: usize,
    /// For each state, who moves to it and with which probability.
    incoming: Sparse,
    /// For each state, where it moves.
    outgoing: Sparse,
}

impl IndependentPair {
    fn new(chain: &Chain) -> Self {
        let [incoming, outgoing] = Sparse::moves(chain);
        Self { states: chain.len(), incoming, outgoing }
    }

    /// One step of both: the real state moves whole rows, the other one moves within each.
    fn sweep(&self, law: &mut [f64], between: &mut [f64]) {
        let n = self.states;
        self.incoming.combine(n, law, between);
        let between = &*between;
        for_rows(law, n, |(x, out)| {
            out.fill(0.0);
            for (z, &mass) in between[x * n..][..n].iter().enumerate() {
                if mass > 0.0 {
                    self.outgoing.list(z).iter().for_each(|&(y, p)| out[y as usize] += mass * p);
                }
            }
        });
    }
}

fn law_at_start(chain: &Chain, origin: Origin, start: Start) -> JointLaw {
    let n = chain.len();
    let at = |state: StateId, x: StateId| f64::from(u8::from(state == x));
    let initial = |x: StateId| chain.initial().probability(x);
    let real = |x: StateId| match origin {
        Origin::Initial => initial(x),
        Origin::At(state) => at(state, x),
    };
    let alone = |x: StateId, z: StateId| match start {
        Start::First => at(x, z),
        Start::At(state) => at(state, z),
        Start::Private | Start::Initial => initial(z),
    };
    let rows = chain.states().flat_map(|x| {
        let mass = real(x);
        chain.states().map(move |z| if mass > 0.0 { mass * alone(x, z) } else { 0.0 })
    });
    JointLaw::from_rows(n, rows.collect())
}

fn released_marginal(law: &JointLaw, states: usize) -> Vec<f64> {
    let mut sums = vec![0.0; states];
    for row in law.raw().chunks(states) {
        sums.iter_mut().zip(row).for_each(|(sum, p)| *sum += p);
    }
    sums
}
