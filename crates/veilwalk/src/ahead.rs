//! What an answer is expected to cost from here on: a table for answers that look ahead.
//!
//! The best answer for this step may lead to a place from which the walk can no longer follow the real one,
//! such as a one-way street. So an answer `y` to a real state `x` costs more than the [`Loss`]
//! `ℓ(y, x)` of this step. Let `N(y)` be the moves from `y`, and `g` the discount. Then
//!
//! ```text
//! V₀(y, x) = ℓ(y, x),   V_{k+1}(y, x) = ℓ(y, x) + g · Σ P(x, x') · min { V_k(y', x') : y' ∈ N(y) }
//! ```
//!
//! is the expected sum of losses, discounted, over `k + 1` moves from here, if whoever answers sees the real walk
//! from the next step on. They never do, so it is too hopeful: but it knows which answers are dead ends. A
//! tracker takes the mean over what is believed of `x`. That is the rule QMDP for what is observed in part.
//!
//! # Privacy
//!
//! The table is made of the public chain alone, and what a tracker makes of it and of the observations is computed
//! after they were drawn. So it loses nothing, and no proof changes.
//!
//! # The same everywhere
//!
//! The table decides which states are released, so it is the same to the last bit on every machine and for any
//! number of threads. Values are whole numbers of a unit that is a power of two, and minima of those are exact; means are sums
//! in the chain's order, without fused operations, rounded to a unit after every round.
//!
//! # Complexity
//!
//! [`Ahead::ROUNDS`] rounds of |S|·|E| comparisons and as many multiplications: the minimum is taken for every
//! `x'` first, and the mean over `x'` then. 4·|S|² bytes, and twice that while it is made.
//!
//! # Literature
//!
//! Littman, Cassandra and Kaelbling (1995), for QMDP.

use rayon::prelude::*;
use thiserror::Error;

use crate::chain::{Chain, StateId};
use crate::distance::DistanceTable;
use crate::nats::Nats;
use crate::watch::{Counter, Stage, Stopped, Watch};

/// What an answer loses at one step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loss<'a> {
    /// One, if it is not the real state.
    States,
    /// The distance from the real state, by this table of symmetric distances.
    Distance(&'a DistanceTable),
}

/// For each answer and each real state, what is expected to be lost from here on.
#[derive(Clone, PartialEq)]
pub(crate) struct Ahead {
    states: usize,
    /// What one state or one nat is, in units.
    one: f64,
    /// Row `y` holds the value of every `x`.
    rows: Vec<u32>,
}

/// A chain too large for looking ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "looking ahead needs a table for all pairs of states, and passes over all moves for each state; the limits are {} \
     states, and {} for states times moves. The chain has {states} states and {transitions} moves: `states` \
     and `distance` look at each step by itself, and have no limit",
    Ahead::MOST_STATES,
    Ahead::MOST_WORK
)]
pub struct TooLargeToLookAhead {
    /// How many states the chain has.
    pub states: usize,
    /// How many moves.
    pub transitions: usize,
}

/// Rows that are made together: sums of as many run side by side.
const TOGETHER: usize = 8;

impl Ahead {
    /// The most states for which the table is made: it then takes 256 MiB.
    pub(crate) const MOST_STATES: usize = 8192;
    /// The most for states times moves.
    pub(crate) const MOST_WORK: usize = 1_000_000_000;
    /// Up to so many for states times moves the table is made for comparisons that nobody asked for by name.
    pub(crate) const QUICK_WORK: usize = 100_000_000;

    /// How many moves are looked ahead. With the discount, what is beyond counts for 1.5 % of what is before.
    pub(crate) const ROUNDS: usize = 40;
    /// What a loss counts for a move later.
    ///
    /// Shares of right states on the roads of Shanghai for one replaced state, walks that were not used for the chain,
    /// 1,000 of them (one standard error is 0.01), without looking ahead and by this discount:
    ///
    /// | | none | 0.5 | 0.8 | 0.9 | 0.95 | 1 |
    /// |---|---|---|---|---|---|---|
    /// | `believed`, ε = 4 | 0.814 | 0.836 | 0.839 | 0.843 | 0.845 | 0.843 |
    /// | ε = 2 | 0.534 | 0.530 | 0.530 | 0.532 | 0.535 | 0.538 |
    /// | ε = 1 | 0.458 | 0.465 | 0.461 | 0.459 | 0.458 | 0.449 |
    /// | `tight`, ε = 4 | 0.452 | 0.461 | 0.461 | 0.450 | 0.443 | 0.433 |
    pub(crate) const DISCOUNT: f64 = 0.9;
    /// The largest loss in units. A power of two; with the discount all values are below eleven times as much, and
    /// so fit.
    const LARGEST_LOSS: f64 = (1 << 28) as f64;

    /// Whether the table can be made.
    ///
    /// # Errors
    ///
    /// If the chain is too large.
    pub(crate) fn affordable(chain: &Chain) -> Result<(), TooLargeToLookAhead> {
        let (states, transitions) = (chain.len(), chain.transitions());
        let fits = states <= Self::MOST_STATES && Self::work(chain) <= Self::MOST_WORK;
        if fits { Ok(()) } else { Err(TooLargeToLookAhead { states, transitions }) }
    }

    /// Whether it is made so soon that nobody has to ask for it.
    pub(crate) fn is_quick(chain: &Chain) -> bool {
        chain.len() <= Self::MOST_STATES && Self::work(chain) <= Self::QUICK_WORK
    }

    fn work(chain: &Chain) -> usize {
        chain.len().saturating_mul(chain.transitions())
    }

    /// Makes the table, on all cores.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    pub(crate) fn new(chain: &Chain, loss: Loss<'_>, watch: Watch<'_>) -> Result<Self, Stopped> {
        Self::with_rounds(chain, loss, Self::ROUNDS, watch)
    }

    fn with_rounds(
        chain: &Chain,
        loss: Loss<'_>,
        rounds: usize,
        watch: Watch<'_>,
    ) -> Result<Self, Stopped> {
        let states = chain.len();
        let losses = Losses::new(loss);
        let mut rows = vec![0; states * states];
        rows.par_chunks_mut(states).enumerate().for_each(|(answer, row)| {
            let each = row.iter_mut().enumerate();
            each.for_each(|(x, slot)| *slot = nearest_whole(losses.of(answer, x)));
        });
        let mut next = vec![0; states * states];
        let counter = Counter::new(watch, Stage::Ahead, rounds * states.div_ceil(TOGETHER));
        for _ in 0..rounds {
            next.par_chunks_mut(states * TOGETHER).enumerate().try_for_each_init(
                || Round::new(chain, losses, &rows),
                |round, (block, out)| {
                    round.fill(block * TOGETHER, out);
                    counter.add(1)
                },
            )?;
            std::mem::swap(&mut rows, &mut next);
        }
        Ok(Self { states, one: losses.one(), rows })
    }

    /// The values of an answer, for every real state in order.
    #[inline]
    pub(crate) fn of(&self, answer: StateId) -> &[u32] {
        &self.rows[answer.index() * self.states..][..self.states]
    }

    /// What one state or one nat is, in units.
    pub(crate) fn one(&self) -> f64 {
        self.one
    }
}

/// Losses in units of a table.
#[derive(Clone, Copy)]
struct Losses<'a> {
    loss: Loss<'a>,
    /// What one state, or one unit of distances, is.
    scale: f64,
}

impl<'a> Losses<'a> {
    fn new(loss: Loss<'a>) -> Self {
        let largest = match loss {
            Loss::States => 1,
            Loss::Distance(table) => u64::from(table.largest().2.units()),
        };
        Self { loss, scale: Ahead::LARGEST_LOSS / largest.next_power_of_two() as f64 }
    }

    fn of(&self, answer: usize, x: usize) -> f64 {
        match self.loss {
            Loss::States if answer == x => 0.0,
            Loss::States => self.scale,
            Loss::Distance(table) => {
                let distance = table.between(StateId::new(answer), StateId::new(x));
                self.scale * f64::from(distance.units())
            }
        }
    }

    fn one(&self) -> f64 {
        match self.loss {
            Loss::States => self.scale,
            Loss::Distance(_) => self.scale * f64::from(Nats::PER_NAT),
        }
    }
}

/// The nearest whole number, of two the larger.
fn nearest_whole(value: f64) -> u32 {
    // Values are never negative, and far below what fits.
    (value + 0.5) as u32
}

impl std::fmt::Debug for Ahead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ahead").field("states", &self.states).finish_non_exhaustive()
    }
}

/// One more move ahead, for some rows at a time.
struct Round<'a> {
    chain: &'a Chain,
    losses: Losses<'a>,
    /// The values with a move less.
    before: &'a [u32],
    /// The least value over the moves of one answer.
    least: Vec<u32>,
    /// The same of several answers side by side, in units.
    side_by_side: Vec<[f64; TOGETHER]>,
}

impl<'a> Round<'a> {
    fn new(chain: &'a Chain, losses: Losses<'a>, before: &'a [u32]) -> Self {
        let (least, side_by_side) = (vec![0; chain.len()], vec![[0.0; TOGETHER]; chain.len()]);
        Self { chain, losses, before, least, side_by_side }
    }

    /// Fills the rows from this state on.
    fn fill(&mut self, first: usize, out: &mut [u32]) {
        let states = self.chain.len();
        let answers = out.len() / states;
        for lane in 0..answers {
            self.take_least(StateId::new(first + lane));
            for (slot, &least) in self.side_by_side.iter_mut().zip(&self.least) {
                slot[lane] = f64::from(least);
            }
        }
        for x in self.chain.states() {
            let moves = self.chain.successors(x).iter().zip(self.chain.probabilities(x));
            let mut means = [0.0; TOGETHER];
            for (to, probability) in moves {
                for (mean, value) in means.iter_mut().zip(&self.side_by_side[to.index()]) {
                    *mean += probability * value;
                }
            }
            for (lane, mean) in means.iter().enumerate().take(answers) {
                let here = self.losses.of(first + lane, x.index());
                out[lane * states + x.index()] = nearest_whole(here + Ahead::DISCOUNT * mean);
            }
        }
    }

    /// The least value over the moves of an answer, for every real state.
    fn take_least(&mut self, answer: StateId) {
        let states = self.chain.len();
        self.least.fill(u32::MAX);
        for to in self.chain.successors(answer) {
            let row = &self.before[to.index() * states..][..states];
            for (least, &value) in self.least.iter_mut().zip(row) {
                *least = (*least).min(value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
