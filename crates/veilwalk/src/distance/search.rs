//! One search: the distances from every state to one target.
//!
//! # Literature
//!
//! Dijkstra (1959), with a binary heap and lazy deletion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::chain::{Chain, StateId};
use crate::nats::Nats;

/// The transitions of a chain turned around: for each state, who can move to it, and at what
/// weight. Self-loops are left out, since no shortest path takes one.
#[derive(Debug)]
pub(super) struct Incoming {
    starts: Vec<usize>,
    edges: Vec<(StateId, Nats)>,
}

impl Incoming {
    pub(super) fn new(chain: &Chain) -> Self {
        let mut starts = vec![0; chain.len() + 1];
        let moves = |from: StateId| {
            let row = chain.successors(from).iter().zip(chain.weights(from));
            row.filter(move |(to, _)| **to != from)
        };
        for from in chain.states() {
            moves(from).for_each(|(to, _)| starts[to.index() + 1] += 1);
        }
        for i in 0..chain.len() {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut edges = vec![(StateId::new(0), Nats::ZERO); starts[chain.len()]];
        for from in chain.states() {
            for (to, weight) in moves(from) {
                edges[next[to.index()]] = (from, *weight);
                next[to.index()] += 1;
            }
        }
        Self { starts, edges }
    }

    fn to(&self, state: StateId) -> &[(StateId, Nats)] {
        &self.edges[self.starts[state.index()]..self.starts[state.index() + 1]]
    }
}

/// Writes the distance from each state to `target` into `row`.
///
/// # Complexity
///
/// O(|E| log |S|) time; the heap holds at most |E| entries.
pub(super) fn distances_to(
    incoming: &Incoming,
    target: StateId,
    row: &mut [Nats],
    heap: &mut BinaryHeap<Reverse<(Nats, StateId)>>,
) {
    row.fill(Nats::MAX);
    heap.clear();
    row[target.index()] = Nats::ZERO;
    heap.push(Reverse((Nats::ZERO, target)));
    while let Some(Reverse((distance, state))) = heap.pop() {
        if distance > row[state.index()] {
            continue;
        }
        for &(source, weight) in incoming.to(state) {
            let through = weight.saturating_add(distance);
            if through < row[source.index()] {
                row[source.index()] = through;
                heap.push(Reverse((through, source)));
            }
        }
    }
}
