//! The loss as a distance between vectors, for many pairs at once.
//!
//! Give every real state `x` the vector of all `ln K(y | z, x)`, one entry for each transition
//! `z → y`. The loss of a pair is then the largest difference between two vectors in any entry: a
//! sup-norm distance, and so a metric on kernels. The vectors are made a block of columns at a time
//! (whole last states `z`, some hundreds of transitions), each block for all real states; then every
//! pair is compared on the block and keeps its largest difference.
//!
//! # Complexity
//!
//! |S| kernels for each `z`, then one comparison for each pair and transition. Memory: a block, and
//! one number for each pair. Results do not depend on the number of threads, since a maximum does
//! not depend on order.

use rayon::prelude::*;

use super::pairs::Pairs;
use crate::chain::StateId;
use crate::mechanism::{Mechanism, Observation, Rule};
use crate::model::Model;
use crate::nats::Nats;
use crate::rounding::{add_up, log_kernel_error};
use crate::watch::{Stage, Stopped, Watch, report_share};

/// Columns a block has at least, unless they run out.
const BLOCK: usize = 256;
/// Rows that are compared while they are in the cache.
const BAND: usize = 8;

/// How many comparisons and kernel terms this many pairs take: a unit is about a nanosecond on one
/// core.
pub(super) fn work(mechanism: &Mechanism, pairs: usize) -> f64 {
    let chain = mechanism.model().chain();
    if mechanism.observation().is_some() {
        return 10.0 * pairs as f64;
    }
    let per_state: f64 = chain
        .states()
        .map(|z| {
            let n = chain.successors(z).len() as f64;
            match mechanism.design().rule {
                Rule::PermuteAndFlip => n * (2.0 * n + 30.0),
                Rule::Exponential => 30.0 * n,
            }
        })
        .sum();
    pairs as f64 * chain.transitions() as f64 + chain.len() as f64 * per_state
}

/// Upper bounds on the losses of pairs, in the order of the set.
pub(super) fn losses(
    mechanism: &Mechanism,
    pairs: &Pairs,
    watch: Watch<'_>,
) -> Result<Vec<f64>, Stopped> {
    let model = mechanism.model();
    let chain = model.chain();
    if let Some(observation) = mechanism.observation() {
        return losses_of_observations(observation, model, pairs, watch);
    }
    let mut largest = vec![0.0; pairs.len()];
    let mut largest_log = 0f64;
    let mut table = Vec::new();
    let states: Vec<StateId> = chain.states().collect();
    let mut first = 0;
    while first < states.len() {
        report_share(
            watch,
            Stage::Losses,
            chain.row(states[first]).start as f64 / chain.transitions() as f64,
        )?;
        let (mut end, mut width) = (first, 0);
        while end < states.len() && (width == 0 || width < BLOCK) {
            width += chain.row(states[end]).len();
            end += 1;
        }
        table.resize(chain.len() * width, 0.0);
        largest_log = largest_log.max(fill(mechanism, &states[first..end], width, &mut table));
        match pairs {
            Pairs::All { states } => compare_all(&table, width, *states, &mut largest),
            Pairs::Listed(list) => compare_listed(&table, width, list, &mut largest),
        }
        first = end;
    }
    let error = 2.0 * log_kernel_error(chain.largest_out_degree(), largest_log);
    for (loss, (x, other)) in largest.iter_mut().zip(pairs.iter()) {
        let apart = model.symmetric().between(x, other);
        let certainly_none = apart == Nats::ZERO && same_kernels(mechanism, x, other);
        *loss = if certainly_none { 0.0 } else { add_up(*loss, error) };
    }
    report_share(watch, Stage::Losses, 1.0)?;
    Ok(largest)
}

/// The losses of observations: each pair by itself, without a table of kernels.
fn losses_of_observations(
    observation: &Observation,
    model: &Model,
    pairs: &Pairs,
    watch: Watch<'_>,
) -> Result<Vec<f64>, Stopped> {
    report_share(watch, Stage::Losses, 0.0)?;
    let all: Vec<(StateId, StateId)> = pairs.iter().collect();
    let loss = |&(x, other): &(StateId, StateId)| observation.loss_at_most(model, x, other);
    let losses = all.par_iter().map(loss).collect();
    report_share(watch, Stage::Losses, 1.0)?;
    Ok(losses)
}

/// Whether two real states have the same kernel whatever was released last, decided on integers.
pub(super) fn same_kernels(mechanism: &Mechanism, x: StateId, other: StateId) -> bool {
    let mut previous = mechanism.last_states();
    previous.all(|z| mechanism.excess_costs(z, x) == mechanism.excess_costs(z, other))
}

/// Fills the block, a row for each real state, and gives the largest absolute entry.
fn fill(mechanism: &Mechanism, previous: &[StateId], width: usize, table: &mut [f64]) -> f64 {
    table
        .par_chunks_mut(width)
        .enumerate()
        .map(|(x, row)| {
            let mut rest = &mut *row;
            for &z in previous {
                let kernel = mechanism.log_kernel(z, StateId::new(x));
                let (here, after) = rest.split_at_mut(kernel.len());
                here.copy_from_slice(&kernel);
                rest = after;
            }
            row.iter().fold(0f64, |m, l| m.max(l.abs()))
        })
        .reduce(|| 0.0, f64::max)
}

fn compare_listed(table: &[f64], width: usize, list: &[(StateId, StateId)], largest: &mut [f64]) {
    let row = |x: StateId| &table[x.index() * width..][..width];
    largest.par_iter_mut().zip(list).with_min_len(64).for_each(|(slot, &(x, other))| {
        *slot = slot.max(sup_distance(row(x), row(other)));
    });
}

fn compare_all(table: &[f64], width: usize, states: usize, largest: &mut [f64]) {
    let row = |x: usize| &table[x * width..][..width];
    // The pairs of each first state lie together.
    let mut rest = largest;
    let mut by_first: Vec<&mut [f64]> = Vec::with_capacity(states);
    for x in 0..states {
        let (here, after) = rest.split_at_mut(states - x - 1);
        by_first.push(here);
        rest = after;
    }
    by_first.par_chunks_mut(BAND).enumerate().for_each(|(band, firsts)| {
        let start = band * BAND;
        for other in start + 1..states {
            for (offset, slots) in firsts.iter_mut().enumerate().take(other - start) {
                let x = start + offset;
                let slot = &mut slots[other - x - 1];
                *slot = slot.max(sup_distance(row(x), row(other)));
            }
        }
    });
}

/// The largest difference in any entry. Eight lanes, so that the compiler can use vectors.
fn sup_distance(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0f64; 8];
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let (b_chunks, b_rest) = b.as_chunks::<8>();
    for (p, q) in a_chunks.iter().zip(b_chunks) {
        for ((lane, p), q) in lanes.iter_mut().zip(p).zip(q) {
            let apart = (p - q).abs();
            // Not `max`: it would look for what is not a number, which does not occur.
            *lane = if apart > *lane { apart } else { *lane };
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(p, q)| (p - q).abs());
    lanes.into_iter().chain(rest).fold(0.0, f64::max)
}
