//! Bounds on every pair from the losses of transitions alone.
//!
//! **Claim.** Let `ℓ(i, j)` be the exact loss of the two ends of each transition. Then the loss of
//! any pair `(x, x')` is at most the smallest sum of `ℓ` along any path of transitions between them,
//! taken in either direction.
//!
//! **Proof.** The loss is a sup-norm distance between vectors (see `pair_losses`), so it is symmetric and
//! obeys the triangle inequality: `ℓ(x, x') ≤ ℓ(x, i) + ℓ(i, j) + … + ℓ(k, x')`. ∎
//!
//! **Corollary.** If `ℓ(i, j) ≤ λ·w(i, j)` on every transition, then
//! `ℓ(x, x') ≤ λ·min(d(x, x'), d(x', x))`: take the shortest path of the cheaper direction. (For
//! distances below the ceiling of [`Nats`](crate::nats::Nats), at which a distance is less than the sum of its
//! weights.) The claim is never looser, and stays finite where a certain move, of weight zero, makes
//! λ infinite.
//!
//! # Complexity
//!
//! One search for each state, O(|E| log |S|) each, on all cores; no table of pairs is kept.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::loss_collectors::Collect;
use super::running_loss::Entry;
use crate::chain::StateId;
use crate::model::Model;
use crate::watch::{Stage, Stopped, Watch, report_share};

/// The losses of transitions as a graph without directions.
pub(super) struct LossGraph {
    neighbours: Vec<Vec<(StateId, f64)>>,
}

impl LossGraph {
    pub(super) fn new(
        states: usize,
        edges: impl Iterator<Item = ((StateId, StateId), f64)>,
    ) -> Self {
        let mut neighbours = vec![Vec::new(); states];
        for ((i, j), loss) in edges {
            neighbours[i.index()].push((j, loss));
            neighbours[j.index()].push((i, loss));
        }
        Self { neighbours }
    }

    /// Upper bounds on the losses between `source` and every state.
    pub(super) fn from(&self, source: StateId) -> Vec<f64> {
        let mut row = vec![f64::INFINITY; self.neighbours.len()];
        row[source.index()] = 0.0;
        // Non-negative doubles are in the order of their bits.
        let mut heap = BinaryHeap::from([Reverse((0u64, source))]);
        while let Some(Reverse((bits, state))) = heap.pop() {
            let sum = f64::from_bits(bits);
            if sum > row[state.index()] {
                continue;
            }
            for &(next, loss) in &self.neighbours[state.index()] {
                let through = sum + loss;
                if through < row[next.index()] {
                    row[next.index()] = through;
                    heap.push(Reverse((through.to_bits(), next)));
                }
            }
        }
        // A path has fewer than |S| additions, each off by half a unit.
        let slack = 1.0 + self.neighbours.len() as f64 * f64::EPSILON;
        row.iter_mut().for_each(|bound| *bound *= slack);
        row
    }
}

/// Bounds for all pairs, collected in order.
pub(super) fn bound_all<C: Collect>(
    model: &Model,
    graph: &LossGraph,
    empty: &(dyn Fn() -> C + Sync),
    watch: Watch<'_>,
) -> Result<C, Stopped> {
    const BATCH: usize = 64;
    let states: Vec<StateId> = model.chain().states().collect();
    let mut total = empty();
    for (round, batch) in states.chunks(BATCH).enumerate() {
        report_share(watch, Stage::Losses, (round * BATCH) as f64 / states.len() as f64)?;
        let rows: Vec<C> = batch
            .par_iter()
            .map(|&x| {
                let bounds = graph.from(x);
                let apart = model.symmetric().to(x);
                let mut row = empty();
                for &other in &states[x.index() + 1..] {
                    let (distance, loss) = (apart[other.index()], bounds[other.index()]);
                    row.add(Entry { x, other, distance, loss });
                }
                row
            })
            .collect();
        rows.iter().for_each(|row| total.merge(row));
    }
    report_share(watch, Stage::Losses, 1.0)?;
    Ok(total)
}
