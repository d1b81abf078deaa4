//! The pair (real state, released state) as a Markov chain, on average over the chain's own walks.
//!
//! The pair has |S|² states, and a matrix of all its moves would have |S|⁴ entries. But a step is
//! two moves that each touch one half of the pair: the real state moves for every released one,
//! then the released state moves for every new real one. Each is a sparse product of |S|·|E|
//! multiplications, and the matrix is never made.
//!
//! A law of the pair is an |S|×|S| array with one row for each real state. In this layout the
//! first move adds whole rows to rows, and the second works within one row, with that real state's
//! kernels as one contiguous run: both stream through memory, and both run on all cores.
//!
//! ```
//! use std::sync::Arc;
//! use veilwalk::internal::joint::{JointChain, KernelMemory};
//! use veilwalk::analysis::Origin;
//! use veilwalk::unwatched;
//! use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Start};
//!
//! let model = Arc::new(Model::new(Chain::credit())?);
//! let promise = Promise::within_radius("1".parse()?, "1".parse()?);
//! let mechanism = Mechanism::new(model.clone(), Preset::Paper.design(), promise)?;
//!
//! let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched)?;
//! let origin = Origin::At(model.chain().require("Caa")?);
//! let figures = joint.utility(origin, Start::First, 100, &[5.0], &unwatched)?;
//! assert!((figures.exceedance[0].per_step - 0.0075241).abs() < 5e-8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod law;

use rayon::prelude::*;

pub use law::JointLaw;

use super::figures::{Collected, Utility};
use super::kernels::{Kernels, RowSpace};
use super::{Origin, edge_weights, row_entropies};
use crate::chain::Chain;
use crate::mechanism::Mechanism;
use crate::model::Model;
use crate::session::Start;
use crate::watch::{Stage, Stopped, Watch, report};

/// How many bytes of kernels may be stored. What does not fit is computed again in every sweep,
/// which is slower by far and takes next to no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelMemory(pub u64);

impl Default for KernelMemory {
    /// Four gibibytes.
    fn default() -> Self {
        Self(4 << 30)
    }
}

/// The operator of the pair (real state, released state).
#[derive(Debug)]
pub struct JointChain<'m> {
    kernels: Kernels<'m>,
    states: usize,
    /// For each state, who moves to it and with which probability.
    incoming: Sparse,
    /// For each state, where it moves.
    outgoing: Sparse,
    /// The successors of every state, as places in a row.
    targets: Vec<u32>,
    weights: Vec<f64>,
    entropies: Vec<f64>,
}

/// Weighted rows to add up, one list for each row of the result.
#[derive(Debug)]
pub(super) struct Sparse {
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl Sparse {
    /// For each state who moves to it, and for each state where it moves, with the probabilities.
    pub(super) fn moves(chain: &Chain) -> [Self; 2] {
        let (mut incoming, mut outgoing) =
            (vec![Vec::new(); chain.len()], vec![Vec::new(); chain.len()]);
        for i in chain.states() {
            for (j, &p) in chain.successors(i).iter().zip(chain.probabilities(i)) {
                incoming[j.index()].push((i.index() as u32, p));
                outgoing[i.index()].push((j.index() as u32, p));
            }
        }
        [Self::from_lists(incoming), Self::from_lists(outgoing)]
    }

    fn from_lists(lists: Vec<Vec<(u32, f64)>>) -> Self {
        let mut starts = vec![0];
        starts.extend(lists.iter().scan(0, |sum, list| {
            *sum += list.len();
            Some(*sum)
        }));
        Self { starts, entries: lists.into_iter().flatten().collect() }
    }

    pub(super) fn list(&self, i: usize) -> &[(u32, f64)] {
        &self.entries[self.starts[i]..self.starts[i + 1]]
    }

    /// `out[i] = Σ p · rows[j]` over the entries `(j, p)` of list `i`, for rows of `n` numbers.
    ///
    /// Goes through the columns in bands, so that one band of all rows stays in the cache while
    /// every row is read as often as it has entries.
    pub(super) fn combine(&self, n: usize, rows: &[f64], out: &mut [f64]) {
        const BAND: usize = 512;
        for first in (0..n).step_by(BAND) {
            let band = first..(first + BAND).min(n);
            let each = |(i, out): (usize, &mut [f64])| {
                let out = &mut out[band.clone()];
                out.fill(0.0);
                for &(j, p) in self.list(i) {
                    let row = &rows[j as usize * n..][band.clone()];
                    out.iter_mut().zip(row).for_each(|(sum, value)| *sum += p * value);
                }
            };
            for_rows(out, n, each);
        }
    }
}

/// Below this many numbers, handing rows to other threads costs more than it saves.
const SERIAL: usize = 1 << 14;

/// Runs over the rows of an array, on all cores if it is large.
pub(super) fn for_rows(
    array: &mut [f64],
    n: usize,
    each: impl Fn((usize, &mut [f64])) + Sync + Send,
) {
    if array.len() < SERIAL {
        array.chunks_mut(n).enumerate().for_each(each);
    } else {
        array.par_chunks_mut(n).enumerate().for_each(each);
    }
}

/// One number for each row, in order, computed on all cores if the array is large.
pub(super) fn map_rows<T: Send>(
    array: &[f64],
    n: usize,
    each: impl Fn(usize, &[f64]) -> T + Sync + Send,
) -> Vec<T> {
    if array.len() < SERIAL {
        array.chunks(n).enumerate().map(|(x, row)| each(x, row)).collect()
    } else {
        array.par_chunks(n).enumerate().map(|(x, row)| each(x, row)).collect()
    }
}

impl<'m> JointChain<'m> {
    /// Prepares the operator, storing the kernels if they fit.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    pub fn new(
        mechanism: &'m Mechanism,
        memory: KernelMemory,
        watch: Watch<'_>,
    ) -> Result<Self, Stopped> {
        let chain = mechanism.model().chain();
        let [incoming, outgoing] = Sparse::moves(chain);
        let targets = chain.states().flat_map(|z| chain.successors(z));
        Ok(Self {
            kernels: Kernels::new(mechanism, memory.0, watch)?,
            states: chain.len(),
            incoming,
            outgoing,
            targets: targets.map(|y| y.index() as u32).collect(),
            weights: edge_weights(chain),
            entropies: row_entropies(chain),
        })
    }

    /// The mechanism it is made of.
    #[must_use]
    pub fn mechanism(&self) -> &'m Mechanism {
        self.kernels.mechanism()
    }

    /// Whether the kernels are stored, rather than computed again in every sweep.
    #[must_use]
    pub fn stores_kernels(&self) -> bool {
        self.kernels.are_stored()
    }

    pub(super) fn states(&self) -> usize {
        self.states
    }

    /// The law of the pair at the start.
    #[must_use]
    pub fn start(&self, origin: Origin, start: Start) -> JointLaw {
        JointLaw::at_start(self.mechanism(), origin, start)
    }

    /// The law of the pair at the start, when the real state has these probabilities.
    ///
    /// # Panics
    ///
    /// If there is not exactly one probability for each state.
    #[must_use]
    pub fn start_from(&self, real: &[f64], start: Start) -> JointLaw {
        assert_eq!(real.len(), self.states, "one probability for each state");
        JointLaw::with_real(self.mechanism(), start, |x| real[x.index()])
    }

    /// Moves a law on by one step.
    ///
    /// # Complexity
    ///
    /// 2·|S|·|E| multiplications; one more array of |S|² numbers.
    pub fn advance(&self, law: &mut JointLaw) {
        let mut between = vec![0.0; law.raw().len()];
        self.sweep(law.raw_mut(), &mut between);
    }

    /// Moves any array on by one step, `between` being working space of the same size. After it,
    /// `between` holds the law with the real state moved and the released one not yet.
    pub(super) fn sweep(&self, law: &mut [f64], between: &mut [f64]) {
        let chain = self.mechanism().model().chain();
        self.move_real(1, law, between);
        self.move_released(1, between, law, |kernels, masses, out| {
            out.fill(0.0);
            for (z, &mass) in chain.states().zip(masses) {
                if mass == 0.0 {
                    continue;
                }
                let row = chain.row(z);
                for (&y, k) in self.targets[row.clone()].iter().zip(&kernels[row]) {
                    out[y as usize] += mass * k;
                }
            }
        });
    }

    /// The first move: the real state moves for every released one. A pair may have any number
    /// of numbers, `each`, which move together.
    pub(super) fn move_real(&self, each: usize, law: &[f64], out: &mut [f64]) {
        self.incoming.combine(self.states * each, law, out);
    }

    /// The second move: `release` gets a real state's kernels, its row and the row to fill.
    pub(super) fn move_released(
        &self,
        each: usize,
        rows: &[f64],
        out: &mut [f64],
        release: impl Fn(&[f64], &[f64], &mut [f64]) + Sync + Send,
    ) {
        let n = self.states * each;
        let row = |space: &mut RowSpace, (x, out): (usize, &mut [f64])| {
            release(self.kernels.row(x, space), &rows[x * n..][..n], out);
        };
        if out.len() < SERIAL {
            let mut space = RowSpace::default();
            out.chunks_mut(n).enumerate().for_each(|each| row(&mut space, each));
        } else {
            out.par_chunks_mut(n).enumerate().for_each_init(RowSpace::default, row);
        }
    }

    /// The expectation of a function of the pair after one step, for every pair before it: the
    /// same operator from the other side. `value` gets real and released state's places.
    ///
    /// # Complexity
    ///
    /// 2·|S|·|E| multiplications.
    #[must_use]
    pub fn expectation(&self, value: impl Fn(usize, usize) -> f64 + Sync + Send) -> Vec<f64> {
        let (n, chain) = (self.states, self.mechanism().model().chain());
        // The released state's move, for every new real state and last released one.
        let mut moved = vec![0.0; n * n];
        moved.par_chunks_mut(n).enumerate().for_each_init(
            || (RowSpace::default(), vec![0.0; n]),
            |(space, values), (x, out)| {
                values.iter_mut().enumerate().for_each(|(y, slot)| *slot = value(x, y));
                let kernels = self.kernels.row(x, space);
                for (z, slot) in chain.states().zip(out) {
                    let row = chain.row(z);
                    let terms = self.targets[row.clone()].iter().zip(&kernels[row]);
                    *slot = terms.map(|(&y, k)| k * values[y as usize]).sum();
                }
            },
        );
        let mut out = vec![0.0; n * n];
        self.average_over_real_moves(&moved, &mut out);
        out
    }

    /// `out(x, z) = Σ_{x'} P(x, x') f(x', z)`.
    pub(super) fn average_over_real_moves(&self, f: &[f64], out: &mut [f64]) {
        self.outgoing.combine(self.states, f, out);
    }

    /// The expected weight of the released move, for every new real state and last released one.
    pub(super) fn released_weights(&self) -> Vec<f64> {
        let (n, chain) = (self.states, self.mechanism().model().chain());
        let mut out = vec![0.0; n * n];
        out.par_chunks_mut(n).enumerate().for_each_init(RowSpace::default, |space, (x, out)| {
            let kernels = self.kernels.row(x, space);
            for (z, slot) in chain.states().zip(out) {
                let row = chain.row(z);
                let terms = kernels[row.clone()].iter().zip(&self.weights[row]);
                *slot = terms.map(|(k, w)| k * w).sum();
            }
        });
        out
    }

    /// The expected weight of the next real move under a law.
    pub(super) fn real_weight(&self, law: &JointLaw) -> f64 {
        law.real_marginal().iter().zip(&self.entropies).map(|(p, h)| p * h).sum()
    }

    /// The exact figures on average over the chain's own walks.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    ///
    /// # Complexity
    ///
    /// One sweep for each step, and one more for each step and level.
    pub fn utility(
        &self,
        origin: Origin,
        start: Start,
        steps: usize,
        levels: &[f64],
        watch: Watch<'_>,
    ) -> Result<Utility, Stopped> {
        self.utility_from(self.start(origin, start), steps, levels, watch)
    }

    /// The same from any law of the pair at the start.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    pub fn utility_from(
        &self,
        first: JointLaw,
        steps: usize,
        levels: &[f64],
        watch: Watch<'_>,
    ) -> Result<Utility, Stopped> {
        let model = self.mechanism().model();
        let weights = self.released_weights();
        let sweep = |law: &mut [f64], between: &mut [f64]| self.sweep(law, between);
        figures_of_pairs(model, &first, (steps, levels), watch, sweep, |law, between| {
            let real = self.real_weight(law);
            self.sweep(law.raw_mut(), between);
            (real, dot(self.states, between, &weights))
        })
    }
}

/// The figures of a pair of walks over so many steps, from its law at the start. `sweep` moves an array on by
/// one step, with working space of the same size; `advance` does so with the law itself, and gives the
/// expected weights of the real and of the released move.
pub(super) fn figures_of_pairs(
    model: &Model,
    first: &JointLaw,
    (steps, levels): (usize, &[f64]),
    watch: Watch<'_>,
    sweep: impl Fn(&mut [f64], &mut [f64]),
    mut advance: impl FnMut(&mut JointLaw, &mut [f64]) -> (f64, f64),
) -> Result<Utility, Stopped> {
    let (mut law, mut between) = (first.clone(), vec![0.0; first.raw().len()]);
    let mut collected = Collected::new(levels.len());
    for t in 0..=steps {
        if t > 0 {
            report(watch, Stage::Steps, t, steps)?;
            let (real, released) = advance(&mut law, &mut between);
            collected.real_weight += real;
            collected.released_weight += released;
        }
        collected.distance.push(law.mean_distance(model));
        collected.wrong.push(law.wrong_share());
        for (above, &level) in collected.above.iter_mut().zip(levels) {
            above.push(law.exceeds(model, level));
        }
    }
    let mut ever = Vec::with_capacity(levels.len());
    for (k, &level) in levels.iter().enumerate() {
        let mut survivors = first.clone();
        let mut taken = survivors.remove_above(model, level);
        let mut by_step = vec![taken];
        for t in 1..=steps {
            report(watch, Stage::Ever, k * steps + t, levels.len() * steps)?;
            sweep(survivors.raw_mut(), &mut between);
            taken += survivors.remove_above(model, level);
            by_step.push(taken);
        }
        ever.push(by_step);
    }
    Ok(collected.finish(model.chain(), levels, ever))
}

/// The sum of the products of two arrays of rows of `n`, in a fixed order.
pub(super) fn dot(n: usize, a: &[f64], b: &[f64]) -> f64 {
    let row = |x: usize, row: &[f64]| row.iter().zip(&b[x * n..]).map(|(p, q)| p * q).sum::<f64>();
    map_rows(a, n, row).iter().sum()
}
