//! The probability of a typical walk, enclosed.
//!
//! A released walk is η-typical when its weights `−ln P`, added up over its n transitions and
//! divided by n, are within η of the chain's entropy rate. (The first state, which is drawn from a
//! public distribution, does not enter.) The sum has as many values as there are paths, so its
//! distribution cannot be listed. But if every weight is rounded down to a multiple of a width `h`,
//! the rounded sum has few values, its distribution moves along with the law of the pair, and the
//! real sum lies less than `n·h` above it. That encloses the probability between two numbers: no
//! error bar, and no chance of being wrong. The width is as small as the allowed work permits.

#[cfg(feature = "serde")]
use serde::Serialize;

use super::figures::entropy_rate;
use super::given_walk::first_law;
use super::joint::JointChain;
use super::kernels::{Kernels, RowSpace};
use super::{Origin, edge_weights};
use crate::chain::{Chain, StateId};
use crate::mechanism::Mechanism;
use crate::session::Start;
use crate::watch::{Stage, Stopped, Watch, report};

/// The probability that the released walk is η-typical, between two bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct TypicalEnclosure {
    /// η, in nats per transition.
    pub eta: f64,
    /// The probability is at least this.
    pub at_least: f64,
    /// The probability is at most this.
    pub at_most: f64,
    /// How much a walk's entropy per transition may be off because of rounding.
    pub width_nats: f64,
}

/// How much may be spent on an enclosure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spending {
    /// The most multiplications.
    pub operations: f64,
    /// The most numbers held at a time.
    pub numbers: usize,
}

impl Default for Spending {
    /// Some ten seconds, and half a gibibyte.
    fn default() -> Self {
        Self { operations: 1e10, numbers: 1 << 26 }
    }
}

/// The widest rounding that still tells anything, as a share of the largest typical entropy.
const WIDEST: f64 = 0.05;

/// On average over the chain's own walks. `None` if the chain has no known entropy rate, or what may
/// be spent does not give a useful width: simulate then.
///
/// # Errors
///
/// If the watcher asks to stop.
pub fn of_own_walks(
    joint: &JointChain<'_>,
    (origin, start): (Origin, Start),
    steps: usize,
    eta: f64,
    spending: Spending,
    watch: Watch<'_>,
) -> Result<Option<TypicalEnclosure>, Stopped> {
    let chain = joint.mechanism().model().chain();
    let pairs = chain.len() * chain.len();
    let per_bin = (2 * chain.len() * chain.transitions()) as f64;
    let Some(grid) = Grid::new(chain, steps, eta, pairs, per_bin, spending) else {
        return Ok(None);
    };
    let bins = grid.bins;
    let mut law = vec![0.0; pairs * bins];
    for (cells, p) in law.chunks_mut(bins).zip(joint.start(origin, start).raw()) {
        cells[0] = *p;
    }
    let mut between = vec![0.0; law.len()];
    for t in 1..=steps {
        report(watch, Stage::Typical, t, steps)?;
        joint.move_real(bins, &law, &mut between);
        joint.move_released(bins, &between, &mut law, |kernels, cells, out| {
            grid.release(chain, kernels, cells, out);
        });
    }
    Ok(Some(grid.enclose(&law)))
}

/// For one real walk. `None` likewise.
///
/// # Errors
///
/// If the watcher asks to stop.
///
/// # Panics
///
/// If the walk is empty.
pub fn of_given_walk(
    mechanism: &Mechanism,
    real: &[StateId],
    start: Start,
    eta: f64,
    spending: Spending,
    watch: Watch<'_>,
) -> Result<Option<TypicalEnclosure>, Stopped> {
    let chain = mechanism.model().chain();
    let (first, rest) = real.split_first().expect("a walk has a first state");
    let per_bin = chain.transitions() as f64;
    let Some(grid) = Grid::new(chain, rest.len(), eta, chain.len(), per_bin, spending) else {
        return Ok(None);
    };
    let kernels = Kernels::new(mechanism, 0, watch)?;
    let mut space = RowSpace::default();
    let mut law = vec![0.0; chain.len() * grid.bins];
    for (cells, p) in law.chunks_mut(grid.bins).zip(first_law(mechanism, start, *first)) {
        cells[0] = p;
    }
    let mut next = vec![0.0; law.len()];
    for (t, x) in rest.iter().enumerate() {
        report(watch, Stage::Typical, t + 1, rest.len())?;
        grid.release(chain, kernels.row(x.index(), &mut space), &law, &mut next);
        std::mem::swap(&mut law, &mut next);
    }
    Ok(Some(grid.enclose(&law)))
}

/// Rounded sums: bin `b` stands for `b` widths.
struct Grid {
    steps: usize,
    eta: f64,
    rate: f64,
    width: f64,
    bins: usize,
    /// The rounded weight of every transition, in widths.
    shifts: Vec<usize>,
    /// The smallest and the largest part that rounding takes off a weight.
    rest: (f64, f64),
}

impl Grid {
    fn new(
        chain: &Chain,
        steps: usize,
        eta: f64,
        cells: usize,
        per_bin: f64,
        spending: Spending,
    ) -> Option<Self> {
        const MOST_BINS: f64 = 1e6;
        let rate = entropy_rate(chain)?;
        if steps == 0 {
            return None;
        }
        let affordable = (spending.operations / (per_bin * steps as f64))
            .min(spending.numbers as f64 / (2 * cells) as f64)
            .min(MOST_BINS)
            .floor();
        // A walk whose rounded sum is beyond the last bin is certainly not typical.
        let largest = steps as f64 * (rate + eta);
        let width = largest / (affordable - 1.0).max(1.0);
        if width > WIDEST * largest / steps as f64 {
            return None;
        }
        let weights = edge_weights(chain);
        let shifts: Vec<usize> = weights.iter().map(|w| (w / width) as usize).collect();
        let rests = weights.iter().zip(&shifts).map(|(w, s)| w - *s as f64 * width);
        let rest = rests.fold((f64::INFINITY, 0.0f64), |(a, b), r| (a.min(r), b.max(r)));
        Some(Self { steps, eta, rate, width, bins: affordable as usize, shifts, rest })
    }

    /// Moves the released state under one real state's kernels, adding up rounded weights.
    fn release(&self, chain: &Chain, kernels: &[f64], cells: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (z, cells) in chain.states().zip(cells.chunks(self.bins)) {
            let Some(first) = cells.iter().position(|p| *p != 0.0) else { continue };
            for (edge, y) in chain.row(z).zip(chain.successors(z)) {
                let to = first + self.shifts[edge];
                if to < self.bins {
                    let out = &mut out[y.index() * self.bins..][to..self.bins];
                    let k = kernels[edge];
                    out.iter_mut().zip(&cells[first..]).for_each(|(sum, p)| *sum += k * p);
                }
            }
        }
    }

    fn enclose(&self, law: &[f64]) -> TypicalEnclosure {
        let n = self.steps as f64;
        // Rounding in the sums themselves is far below this.
        const SLACK: f64 = 1e-9;
        let (lowest, highest) = (n * (self.rate - self.eta), n * (self.rate + self.eta));
        let (mut at_least, mut at_most) = (0.0, 0.0);
        for bin in 0..self.bins {
            let rounded = bin as f64 * self.width;
            let least = rounded + n * self.rest.0 - SLACK;
            let most = rounded + n * self.rest.1 + SLACK;
            let mass: f64 = law.iter().skip(bin).step_by(self.bins).sum();
            if least >= lowest && most <= highest {
                at_least += mass;
            }
            if most >= lowest && least <= highest {
                at_most += mass;
            }
        }
        let width_nats = self.rest.1 - self.rest.0;
        TypicalEnclosure { eta: self.eta, at_least, at_most, width_nats }
    }
}
