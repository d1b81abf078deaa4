//! All distances at once, one row for each target.

use rayon::prelude::*;

use super::full_search::{Buckets, distances_to};
use super::{Edges, dense};
use crate::chain::{Chain, StateId};
use crate::nats::Nats;
use crate::storage::Storage;

/// The distance between every ordered pair of states. Row `x` holds `d(y, x)` for every `y`, so
/// that a step, which has one real state and many candidates, reads a single row.
#[derive(Clone, PartialEq, Eq)]
pub struct DistanceTable {
    states: usize,
    rows: Storage<Nats>,
}

impl DistanceTable {
    /// The shortest-path distances of a chain, on all cores: by one search for each target, or, where
    /// a large part of all moves is possible, by blocks of the whole matrix.
    #[must_use]
    pub fn directed(chain: &Chain) -> Self {
        let states = chain.len();
        // Searching takes |S|·|E| steps of some nanoseconds, blocks |S|³ of some hundredths of one.
        let dense = chain.transitions() * Self::DENSE_FROM >= states * states && states >= 64;
        let by_blocks = if dense { dense::all_pairs(chain) } else { None };
        let rows = by_blocks.unwrap_or_else(|| Self::by_searches(chain));
        Self { states, rows: rows.into() }
    }

    /// A table that was computed before: row by row, as [`DistanceTable::rows`] gives it. `None` if
    /// it is not as large as this many states ask for.
    ///
    /// The numbers are taken as they are. A mechanism's promise rests on their being the distances
    /// of its chain.
    #[must_use]
    pub fn from_rows(states: usize, rows: Storage<Nats>) -> Option<Self> {
        (states.checked_mul(states) == Some(rows.len())).then_some(Self { states, rows })
    }

    /// All rows, one after the other.
    #[must_use]
    pub fn rows(&self) -> &[Nats] {
        &self.rows
    }

    /// The most states for which a table is made.
    pub const MOST_STATES: usize = 16_384;

    /// A chain is taken for dense from one in this many possible moves on.
    const DENSE_FROM: usize = 32;

    fn by_searches(chain: &Chain) -> Vec<Nats> {
        Self::rows_of(&Edges::incoming(chain))
    }

    /// The shortest paths of a graph, given by who leads to each state.
    pub(super) fn of_edges(incoming: &Edges) -> Self {
        Self { states: incoming.states(), rows: Self::rows_of(incoming).into() }
    }

    fn rows_of(incoming: &Edges) -> Vec<Nats> {
        let states = incoming.states();
        let mut rows = vec![Nats::ZERO; states * states];
        rows.par_chunks_mut(states).enumerate().for_each_init(
            || Buckets::new(incoming),
            |queue, (x, row)| distances_to(incoming, StateId::new(x), row, queue),
        );
        rows
    }

    /// The larger of the two directions for every pair.
    #[must_use]
    pub fn symmetric(&self) -> Self {
        self.with_mirror(|here, mirrored| here.max(mirrored))
    }

    /// Row `y` holds `d(y, x)` for every `x`.
    pub(super) fn transposed(&self) -> Self {
        self.with_mirror(|_, mirrored| mirrored)
    }

    /// A table made of each entry and the one with its states exchanged.
    fn with_mirror(&self, combine: impl Fn(Nats, Nats) -> Nats + Sync) -> Self {
        const TILE: usize = 64;
        let n = self.states;
        let entries: &[Nats] = &self.rows;
        let mut rows = vec![Nats::ZERO; n * n];
        // Tiles keep both the rows and the columns of a square in the cache.
        rows.par_chunks_mut(n * TILE).enumerate().for_each(|(band, out)| {
            let first = band * TILE;
            for column in (0..n).step_by(TILE) {
                for (i, row) in out.chunks_mut(n).enumerate() {
                    let x = first + i;
                    let end = (column + TILE).min(n);
                    for (slot, y) in row[column..end].iter_mut().zip(column..) {
                        *slot = combine(entries[x * n + y], entries[y * n + x]);
                    }
                }
            }
        });
        Self { states: n, rows: rows.into() }
    }

    /// How many states there are.
    #[must_use]
    pub fn states(&self) -> usize {
        self.states
    }

    /// The distances to `target`, from every state in order.
    #[inline]
    #[must_use]
    pub fn to(&self, target: StateId) -> &[Nats] {
        &self.rows[target.index() * self.states..][..self.states]
    }

    /// The distance from one state to another.
    #[inline]
    #[must_use]
    pub fn between(&self, from: StateId, to: StateId) -> Nats {
        self.to(to)[from.index()]
    }

    /// The largest entry, with the states it lies between: (from, to, distance).
    #[must_use]
    pub fn largest(&self) -> (StateId, StateId, Nats) {
        let (place, distance) = self
            .rows
            .par_iter()
            .copied()
            .enumerate()
            .max_by_key(|&(place, distance)| (distance, std::cmp::Reverse(place)))
            .expect("a chain has at least one state");
        (StateId::new(place % self.states), StateId::new(place / self.states), distance)
    }

    /// The smallest entry between two different states; `None` for a single state.
    #[must_use]
    pub fn smallest_between_distinct(&self) -> Option<(StateId, StateId, Nats)> {
        (0..self.states)
            .into_par_iter()
            .filter_map(|x| {
                let row = self.to(StateId::new(x)).iter().enumerate();
                row.filter(|&(y, _)| y != x).map(|(y, &d)| (d, x, y)).min()
            })
            .min()
            .map(|(d, x, y)| (StateId::new(y), StateId::new(x), d))
    }
}

impl std::fmt::Debug for DistanceTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DistanceTable").field("states", &self.states).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{ChainBuilder, Entries};

    /// Chains of every density, with weights from nothing to hundreds of nats.
    fn scattered(states: usize, one_in: u64, seed: u64) -> Chain {
        let mut numbers = seed;
        let mut next = || {
            numbers = numbers.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            numbers >> 33
        };
        let mut builder = ChainBuilder::new(Entries::Counts);
        let ids: Vec<_> = (0..states).map(|i| builder.state(&i.to_string())).collect();
        for i in 0..states {
            for j in 0..states {
                if j == (i + 1) % states || next() % one_in == 0 {
                    let tiny = if next() % 10 == 0 { 1e-200 } else { 1.0 };
                    builder.transition(ids[i], ids[j], (1 + next() % 1000) as f64 * tiny).unwrap();
                }
            }
        }
        builder.build(Default::default()).unwrap().0
    }

    #[test]
    fn blocks_and_searches_agree() {
        // From one tile to eleven: odd and even halves, and parts that threads share.
        let few = [(64, 1), (65, 2), (100, 3), (127, 20), (200, 8), (193, 50), (257, 4), (449, 30)];
        for (states, one_in) in few.into_iter().chain([(700, 2)]) {
            for seed in 0..3 {
                let chain = scattered(states, one_in, seed);
                let blocks = dense::all_pairs(&chain).expect("distances below the ceiling");
                assert_eq!(blocks, DistanceTable::by_searches(&chain), "{states} {one_in} {seed}");
            }
        }
    }
}
