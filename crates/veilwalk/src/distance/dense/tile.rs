//! A square of distances, small enough for the cache next to the processor, and the two things done
//! with it.
//!
//! Nearly all the work of [`all_pairs`](super::all_pairs) is [`Tile::relax`], a product in which
//! times is plus and plus is the minimum, and that runs in vector registers.

use pulp::{Arch, Simd, WithSimd};

/// States along one side of a tile.
pub(super) const SIDE: usize = 64;

/// No way known yet. Two of these add up without overflow; a distance that large is left to the
/// searches, which know how to saturate.
pub(super) const FAR: u32 = u32::MAX / 2;

/// Distances in units, row by row.
///
/// Tiles start where a cache line does. If they did not, every other vector would lie across two
/// lines, and the whole would take nearly twice as long.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Tile(pub(super) [[u32; SIDE]; SIDE]);

impl Tile {
    /// No way from anywhere to anywhere.
    pub(super) const EMPTY: Self = Self([[FAR; SIDE]; SIDE]);

    /// Shortest paths among the states of a tile.
    pub(super) fn close(&mut self) {
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for k in 0..SIDE {
                    let through = self.0[k];
                    for row in &mut self.0 {
                        let first = row[k];
                        for (best, rest) in row.iter_mut().zip(&through) {
                            // Nothing here is above FAR, so nothing wraps.
                            *best = (*best).min(first.wrapping_add(*rest));
                        }
                    }
                }
            },
        );
    }

    /// With rows as columns.
    pub(super) fn turned(&self) -> Self {
        let mut turned = Self::EMPTY;
        for (row, distances) in self.0.iter().enumerate() {
            for (column, &distance) in distances.iter().enumerate() {
                turned.0[column][row] = distance;
            }
        }
        turned
    }

    /// `self = min(self, left ⊗ right)`: the best way through any state between the two.
    pub(super) fn relax(&mut self, left: &Self, right: &Self) {
        Arch::new().dispatch(Relax { out: self, left, right });
    }
}

/// [`Tile::relax`], in whatever vector registers the machine has. `ROWS` rows by `VECTORS` registers
/// of the result stay in registers throughout: eight minima that do not wait for each other, and two
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
        let (out, left) = (self.out.0.as_chunks_mut::<ROWS>().0, self.left.0.as_chunks::<ROWS>().0);
        // All of the right tile is read again for each few rows, and half the nearest cache holds it.
        for (out, left) in out.iter_mut().zip(left) {
            for column in (0..SIDE / S::U32_LANES).step_by(VECTORS) {
                let mut best: [[S::u32s; VECTORS]; ROWS] =
                    std::array::from_fn(|row| vectors::<S>(&out[row], column));
                for (k, right) in self.right.0.iter().enumerate() {
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
