//! The distances of the family, behind one trait.

use std::fmt::Debug;
use std::sync::Arc;

use super::DistanceTable;
use crate::chain::StateId;
use crate::nats::Nats;

/// A public rule that says how bad each candidate is when the real state is `x`.
///
/// The rule may depend on the last released state, which is public. It must depend on nothing
/// secret but `x`.
pub trait Metric: Debug + Send + Sync {
    /// Writes into `out` the distance of every candidate, in order. `candidates` are all the
    /// successors of `previous`; `out` is as long.
    fn fill(&self, previous: StateId, candidates: &[StateId], real: StateId, out: &mut [Nats]);
}

/// `d(y, x)`: how far the real state is from the candidate.
#[derive(Clone, Debug)]
pub struct Directed(pub Arc<DistanceTable>);

/// `max(d(y, x), d(x, y))`, from a table of that larger direction.
#[derive(Clone, Debug)]
pub struct Symmetric(pub Arc<DistanceTable>);

/// One nat for every candidate that is not the real state.
#[derive(Clone, Copy, Debug)]
pub struct Hamming;

fn gather(table: &DistanceTable, candidates: &[StateId], real: StateId, out: &mut [Nats]) {
    let row = table.to(real);
    // Eight by eight, without the bookkeeping of a loop: this is a good part of a step.
    let (eights, rest) = out.as_chunks_mut::<8>();
    let (candidates, last) = candidates.as_chunks::<8>();
    for (slots, candidates) in eights.iter_mut().zip(candidates) {
        *slots = std::array::from_fn(|i| row[candidates[i].index()]);
    }
    for (slot, candidate) in rest.iter_mut().zip(last) {
        *slot = row[candidate.index()];
    }
}

impl Metric for Directed {
    fn fill(&self, _: StateId, candidates: &[StateId], real: StateId, out: &mut [Nats]) {
        gather(&self.0, candidates, real, out);
    }
}

impl Metric for Symmetric {
    fn fill(&self, _: StateId, candidates: &[StateId], real: StateId, out: &mut [Nats]) {
        gather(&self.0, candidates, real, out);
    }
}

impl Metric for Hamming {
    fn fill(&self, _: StateId, candidates: &[StateId], real: StateId, out: &mut [Nats]) {
        for (slot, &candidate) in out.iter_mut().zip(candidates) {
            let wrong = u32::from(candidate != real);
            *slot = Nats::from_units(wrong * Nats::PER_NAT);
        }
    }
}
