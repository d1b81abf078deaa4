//! All pairs at once, for chains in which a large part of all moves is possible.
//!
//! Floyd and Warshall's recursion on square tiles: for each tile on the diagonal, first that tile,
//! then its row and column, then every other tile from a pair of those. Nearly all the work is the
//! last, a product of two tiles in which times is plus and plus is the minimum, and that runs in
//! vector registers.
//!
//! # Complexity
//!
//! |S|³ additions and minima of 32-bit integers, eight or sixteen at a time.
//!
//! # Literature
//!
//! Floyd (1962); Venkataraman, Sahni and Mukhopadhyaya (2003) for the tiles.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::chain::Chain;
use crate::nats::Nats;

const SIDE: usize = 64;

/// Distances in units, row by row.
type Tile = [[u32; SIDE]; SIDE];

/// No way known yet. Two of these add up without overflow; a distance that large is left to the
/// searches, which know how to saturate.
const FAR: u32 = u32::MAX / 2;

/// The distances to each state in turn, from every state; `None` if some are beyond about 2048 nats.
pub(super) fn all_pairs(chain: &Chain) -> Option<Vec<Nats>> {
    let states = chain.len();
    let side = states.div_ceil(SIDE);
    let mut tiles = vec![[[FAR; SIDE]; SIDE]; side * side];
    // Turned around: row x holds the moves to x.
    for from in chain.states() {
        for (to, weight) in chain.successors(from).iter().zip(chain.weights(from)) {
            let (x, y) = (to.index(), from.index());
            tiles[x / SIDE * side + y / SIDE][x % SIDE][y % SIDE] = weight.units().min(FAR);
        }
    }
    for x in 0..states {
        tiles[x / SIDE * side + x / SIDE][x % SIDE][x % SIDE] = 0;
    }
    for k in 0..side {
        close(&mut tiles[k * side + k]);
        let middle = tiles[k * side + k];
        let relax_cross = |(place, tile): (usize, &mut Tile)| {
            let before = *tile;
            match (place / side == k, place % side == k) {
                (true, false) => relax(tile, &middle, &before),
                (false, true) => relax(tile, &before, &middle),
                _ => {}
            }
        };
        tiles.par_iter_mut().enumerate().for_each(relax_cross);
        let row: Vec<Tile> = (0..side).map(|j| tiles[k * side + j]).collect();
        let column: Vec<Tile> = (0..side).map(|i| tiles[i * side + k]).collect();
        tiles.par_iter_mut().enumerate().for_each(|(place, tile)| {
            let (i, j) = (place / side, place % side);
            if i != k && j != k {
                relax(tile, &column[i], &row[j]);
            }
        });
    }
    let mut rows = vec![Nats::ZERO; states * states];
    let all_near = rows.par_chunks_mut(states).enumerate().all(|(x, row)| {
        let band = &tiles[x / SIDE * side..][..side];
        row.chunks_mut(SIDE).zip(band).all(|(out, tile)| {
            let units = &tile[x % SIDE][..out.len()];
            out.iter_mut().zip(units).for_each(|(slot, &units)| *slot = Nats::from_units(units));
            units.iter().all(|&units| units < FAR)
        })
    });
    all_near.then_some(rows)
}

/// Shortest paths within one tile.
fn close(tile: &mut Tile) {
    for k in 0..SIDE {
        let through = tile[k];
        for row in tile.iter_mut() {
            let first = row[k];
            row.iter_mut().zip(&through).for_each(|(d, rest)| *d = (*d).min(first + rest));
        }
    }
}

/// `out = min(out, left ⊗ right)`: the best way through any state of the tile between.
fn relax(out: &mut Tile, left: &Tile, right: &Tile) {
    Arch::new().dispatch(Relax { out, left, right });
}

/// [`relax`], in whatever vector registers the machine has. `ROWS` rows by `VECTORS` registers of
/// the result stay in registers throughout: eight minima that do not wait for each other, and two
/// loads that serve four rows.
struct Relax<'a> {
    out: &'a mut Tile,
    left: &'a Tile,
    right: &'a Tile,
}

const ROWS: usize = 4;
const VECTORS: usize = 2;

impl WithSimd for Relax<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Lengths are part of the types here, so that the compiler unrolls the loops over rows and
        // vectors: only then are they registers.
        let (out, left) = (self.out.as_chunks_mut::<ROWS>().0, self.left.as_chunks::<ROWS>().0);
        for column in (0..SIDE / S::U32_LANES).step_by(VECTORS) {
            for (out, left) in out.iter_mut().zip(left) {
                let mut best: [[S::u32s; VECTORS]; ROWS] =
                    std::array::from_fn(|row| vectors::<S>(&out[row], column));
                for (k, right) in self.right.iter().enumerate() {
                    let rest = vectors::<S>(right, column);
                    for row in 0..ROWS {
                        let first = simd.splat_u32s(left[row][k]);
                        for v in 0..VECTORS {
                            let through = simd.add_u32s(first, rest[v]);
                            best[row][v] = simd.min_u32s(best[row][v], through);
                        }
                    }
                }
                for (row, best) in out.iter_mut().zip(best) {
                    S::as_mut_simd_u32s(row).0[column..][..VECTORS].copy_from_slice(&best);
                }
            }
        }
    }
}

/// Some vectors of a row.
#[inline(always)]
fn vectors<S: Simd>(row: &[u32; SIDE], column: usize) -> [S::u32s; VECTORS] {
    let all = S::as_simd_u32s(row).0;
    std::array::from_fn(|v| all[column + v])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{ChainBuilder, Entries, StateId};

    #[test]
    fn what_is_too_far_is_left_to_the_searches() {
        // Ever onward at 690 nats a move, or back to the start.
        let mut builder = ChainBuilder::new(Entries::Counts);
        let ids: Vec<StateId> = (0..8).map(|i| builder.state(&i.to_string())).collect();
        for i in 0..7 {
            builder.transition(ids[i], ids[i + 1], 1e-300).unwrap();
            builder.transition(ids[i], ids[0], 1.0).unwrap();
        }
        builder.transition(ids[7], ids[0], 1.0).unwrap();
        let chain = builder.build(Default::default()).unwrap().0;
        assert_eq!(all_pairs(&chain), None);
    }
}
