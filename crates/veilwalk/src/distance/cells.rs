//! Cells: which candidate is the right answer, and how far every state is from each cell.
//!
//! See [`mechanism::cell`](crate::mechanism::cell) for what they are good for.

use std::sync::{Arc, OnceLock};

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use thiserror::Error;

use super::DistanceTable;
use crate::chain::{Chain, StateId};
use crate::nats::Nats;
use crate::storage::Storage;
use crate::watch::{Counter, Stage, Stopped, Watch, unwatched};

/// What "nearest" means when the right answer is chosen. The guarantee is the same either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nearest {
    /// Smallest `d(y, x)`.
    Directed,
    /// Smallest `max(d(y, x), d(x, y))`.
    Symmetric,
}

/// The right answers for every last released state and real state, and the distances to the cells.
///
/// The distances are made when first asked for: substitutions need none.
pub struct Cells {
    states: usize,
    /// Where the successors of each state start in the list of transitions.
    row_starts: Vec<usize>,
    /// For each last state, the place among its successors of the right answer for each real state.
    best: Storage<u16>,
    symmetric: Arc<DistanceTable>,
    /// Each candidate itself, for cells that are empty.
    candidates: Vec<StateId>,
    distances: OnceLock<Storage<Nats>>,
}

/// Tables that would not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "cells on this chain ({states} states, {transitions} transitions) need a table of {:.1} GiB, \
     and the limit is {:.1} GiB; use the mechanism `sharp`, which needs only distances",
    gib(*entries),
    gib(Cells::MOST_ENTRIES)
)]
pub struct CellsTooLarge {
    /// How many states there are.
    pub states: usize,
    /// How many transitions there are.
    pub transitions: usize,
    /// How many entries the table would have.
    pub entries: u64,
}

fn gib(entries: u64) -> f64 {
    entries as f64 * 4.0 / (1u64 << 30) as f64
}

impl Cells {
    /// The most entries (states times transitions) a table may have: 1.25 GiB.
    pub const MOST_ENTRIES: u64 = 5 << 26;

    /// Refuses a chain whose tables would not fit, before anything is computed.
    ///
    /// # Errors
    ///
    /// If they would not fit.
    pub fn affordable(chain: &Chain) -> Result<(), CellsTooLarge> {
        let (states, transitions) = (chain.len(), chain.transitions());
        let entries = (states as u64).saturating_mul(transitions as u64);
        let too_wide = chain.largest_out_degree() > usize::from(u16::MAX);
        let too_many = states > DistanceTable::MOST_STATES;
        if entries > Self::MOST_ENTRIES || too_wide || too_many {
            return Err(CellsTooLarge { states, transitions, entries });
        }
        Ok(())
    }

    /// Finds the right answers.
    pub(crate) fn new(
        chain: &Chain,
        directed: &DistanceTable,
        symmetric: &Arc<DistanceTable>,
        nearest: Nearest,
    ) -> Result<Self, CellsTooLarge> {
        Self::affordable(chain)?;
        let states = chain.len();
        // Row y of `by` says how far y is from every real state.
        let transposed;
        let by = match nearest {
            Nearest::Directed => {
                transposed = directed.transposed();
                &transposed
            }
            Nearest::Symmetric => &**symmetric,
        };
        let mut best = vec![0u16; states * states];
        best.par_chunks_mut(states).enumerate().for_each_init(Vec::new, |smallest, (z, row)| {
            smallest.clear();
            smallest.resize(states, Nats::MAX);
            for (place, y) in by_preference(chain, StateId::new(z)).into_iter().rev() {
                let distances = by.to(y);
                Arch::new().dispatch(TakeNearer { distances, place, smallest, best: row });
            }
        });
        Ok(Self::with_answers(chain, symmetric, best.into()))
    }

    fn with_answers(chain: &Chain, symmetric: &Arc<DistanceTable>, best: Storage<u16>) -> Self {
        Self {
            states: chain.len(),
            row_starts: chain.states().map(|z| chain.row(z).start).collect(),
            best,
            symmetric: symmetric.clone(),
            candidates: chain.states().flat_map(|z| chain.successors(z).iter().copied()).collect(),
            distances: OnceLock::new(),
        }
    }

    /// Cells that were computed before: the tables that [`Cells::answers`] and
    /// [`Cells::all_distances`] give. `None` if they are not as large as the chain asks for, or an
    /// answer is not one of the candidates.
    ///
    /// The distances are taken as they are. A mechanism's promise rests on their being those of its
    /// chain.
    #[must_use]
    pub fn from_tables(
        chain: &Chain,
        symmetric: &Arc<DistanceTable>,
        best: Storage<u16>,
        distances: Storage<Nats>,
    ) -> Option<Self> {
        Self::affordable(chain).ok()?;
        let (states, transitions) = (chain.len(), chain.transitions());
        let fit = best.len() == states * states && distances.len() == states * transitions;
        let candidates = |z: usize| chain.successors(StateId::new(z)).len();
        let known = |(z, row): (usize, &[u16])| {
            row.iter().max().is_none_or(|&most| usize::from(most) < candidates(z))
        };
        if !fit || !best.par_chunks(states).enumerate().all(known) {
            return None;
        }
        let cells = Self::with_answers(chain, symmetric, best);
        let _ = cells.distances.set(distances);
        Some(cells)
    }

    /// The right answers for each last state and real state, as places among the successors.
    #[must_use]
    pub fn answers(&self) -> &[u16] {
        &self.best
    }

    /// All distances to cells, computed when first asked for.
    #[must_use]
    pub fn all_distances(&self) -> &[Nats] {
        self.table()
    }

    fn successors(&self, previous: StateId) -> std::ops::Range<usize> {
        let next = self.row_starts.get(previous.index() + 1);
        self.row_starts[previous.index()]..next.copied().unwrap_or(self.candidates.len())
    }

    /// The place, among the successors of `previous`, of the right answer for `real`.
    #[inline]
    #[must_use]
    pub fn best(&self, previous: StateId, real: StateId) -> usize {
        usize::from(self.best[previous.index() * self.states + real.index()])
    }

    /// The distance of `real` to the cell of each successor of `previous`.
    #[inline]
    #[must_use]
    pub fn distances(&self, previous: StateId, real: StateId) -> &[Nats] {
        let row = self.successors(previous);
        let start = row.start * self.states + real.index() * row.len();
        &self.table()[start..start + row.len()]
    }

    pub(crate) fn symmetric(&self) -> &DistanceTable {
        &self.symmetric
    }

    pub(crate) fn states(&self) -> usize {
        self.states
    }

    fn table(&self) -> &[Nats] {
        if self.distances.get().is_none() {
            let _ = self.make_distances(&unwatched);
        }
        self.distances.get().expect("just made")
    }

    /// Makes the distances, unless they are there.
    ///
    /// Nobody waits for another thread that makes them as well: that thread may wait for work which
    /// the waiting one was to do.
    pub(crate) fn make_distances(&self, watch: Watch<'_>) -> Result<(), Stopped> {
        if self.distances.get().is_none() {
            let _ = self.distances.set(self.compute(watch)?.into());
        }
        Ok(())
    }

    /// All distances to cells: for each last state, the smallest of the rows of the symmetric table
    /// that belong to each cell.
    ///
    /// # Complexity
    ///
    /// |S|³ minima of whole numbers, in runs of [`TILE`] that the compiler turns into vector
    /// instructions. The columns are taken tile by tile, so that the part of the table in use stays
    /// in the cache while all last states go through it.
    fn compute(&self, watch: Watch<'_>) -> Result<Vec<Nats>, Stopped> {
        let n = self.states;
        let done = Counter::new(watch, Stage::Cells, n.div_ceil(TILE) * n);
        let cells: Vec<Vec<u16>> = (0..n).into_par_iter().map(|z| self.members(z)).collect();
        let mut table = vec![Nats::ZERO; self.candidates.len() * n];
        let mut parts = Vec::with_capacity(n);
        let mut rest = table.as_mut_slice();
        for z in 0..n {
            let (part, after) = rest.split_at_mut(self.successors(StateId::new(z)).len() * n);
            parts.push(part);
            rest = after;
        }
        let mut tile = vec![[Nats::MAX; TILE]; n];
        for first in (0..n).step_by(TILE) {
            let width = TILE.min(n - first);
            tile.par_iter_mut().enumerate().for_each(|(x, row)| {
                row[..width].copy_from_slice(&self.symmetric.to(StateId::new(x))[first..][..width]);
            });
            let fill = |nearest: &mut Vec<[Nats; TILE]>, (z, part): (usize, &mut &mut [Nats])| {
                self.fill_part(z, &cells[z], &tile, nearest);
                let degree = nearest.len();
                let columns = part[first * degree..][..width * degree].chunks_exact_mut(degree);
                for (column, out) in columns.enumerate() {
                    out.iter_mut().zip(nearest.iter()).for_each(|(slot, row)| *slot = row[column]);
                }
                done.add(1)
            };
            parts.par_iter_mut().enumerate().try_for_each_init(Vec::new, fill)?;
        }
        Ok(table)
    }

    /// For each successor of `z`, the smallest entry of the tile's rows in its cell.
    fn fill_part(
        &self,
        z: usize,
        order: &[u16],
        tile: &[[Nats; TILE]],
        out: &mut Vec<[Nats; TILE]>,
    ) {
        let successors = self.successors(StateId::new(z));
        out.clear();
        out.resize(successors.len(), [Nats::MAX; TILE]);
        let best = &self.best[z * self.states..][..self.states];
        for run in order.chunk_by(|&a, &b| best[usize::from(a)] == best[usize::from(b)]) {
            out[usize::from(best[usize::from(run[0])])] =
                Arch::new().dispatch(Smallest { tile, rows: run });
        }
        // The nearest state of a cell that has states is never at the ceiling from everything, so
        // a row that is still untouched is an empty cell: the candidate stands for itself.
        let mut full = vec![false; successors.len()];
        order.iter().for_each(|&x| full[usize::from(best[usize::from(x)])] = true);
        for (place, candidate) in self.candidates[successors].iter().enumerate() {
            if !full[place] {
                out[place] = tile[candidate.index()];
            }
        }
    }

    /// All states, in the order of the cells of `z` they are in.
    fn members(&self, z: usize) -> Vec<u16> {
        let best = &self.best[z * self.states..][..self.states];
        let mut order: Vec<u16> = (0..self.states as u16).collect();
        order.sort_unstable_by_key(|&x| (best[usize::from(x)], x));
        order
    }
}

/// The smallest entry of each column, over some rows of the tile, in whatever vector registers the
/// machine has.
struct Smallest<'a> {
    tile: &'a [[Nats; TILE]],
    rows: &'a [u16],
}

impl WithSimd for Smallest<'_> {
    type Output = [Nats; TILE];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [Nats; TILE] {
        let mut least = [Nats::MAX; TILE];
        for &x in self.rows {
            let row = &self.tile[usize::from(x)];
            least.iter_mut().zip(row).for_each(|(a, b)| *a = (*a).min(*b));
        }
        least
    }
}

/// Columns worked on at a time: 512 bytes of a row, so that the rows of four thousand states take
/// two megabytes.
const TILE: usize = 128;

/// Gives the candidate at this place every state that is at most as far from it as from the best one
/// so far. Called with the least preferred first, so that of equals the preferred one is kept.
struct TakeNearer<'a> {
    distances: &'a [Nats],
    place: u16,
    smallest: &'a mut [Nats],
    best: &'a mut [u16],
}

impl WithSimd for TakeNearer<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { distances, place, smallest, best } = self;
        for ((&d, smallest), best) in distances.iter().zip(smallest).zip(best) {
            let nearer = d <= *smallest;
            *smallest = if nearer { d } else { *smallest };
            *best = if nearer { place } else { *best };
        }
    }
}

/// The successors of a state with their places, likelier ones first, then by state order.
fn by_preference(chain: &Chain, z: StateId) -> Vec<(u16, StateId)> {
    let probabilities = chain.probabilities(z);
    let mut order: Vec<(u16, StateId)> =
        chain.successors(z).iter().enumerate().map(|(place, &y)| (place as u16, y)).collect();
    order.sort_by(|a, b| {
        let p = |place: u16| probabilities[usize::from(place)];
        p(b.0).total_cmp(&p(a.0)).then(a.1.cmp(&b.1))
    });
    order
}

impl std::fmt::Debug for Cells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cells").field("states", &self.states).finish_non_exhaustive()
    }
}
