//! Solving large dense systems, with the same bits everywhere.
//!
//! Gaussian elimination with partial pivoting. Its one idea for coming out the same on every
//! machine: whatever blocks the work is cut into, every entry of the matrix goes through the same
//! operations in the same order. Column by column, from the first to the last, the product of a
//! multiplier and an entry of the pivot's row is rounded, taken off, and rounded again. So neither
//! the width of vector registers nor the number of threads can show in the result, and the test
//! asks for every bit that the three plain loops of a textbook give.
//!
//! # Complexity
//!
//! 2/3·n³ operations, nearly all of them in [`Subtract`], which keeps a few rows of the result in
//! vector registers; and 8·n² bytes. On two cores of 2025, 3,800 unknowns take half a second.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::watch::{Stage, Stopped, Watch, report_share};

/// Columns that are eliminated before the rest of the matrix hears of it.
const SIDE: usize = 64;

/// A square of entries, small enough for the cache next to the processor.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Tile([[f64; SIDE]; SIDE]);

/// Some columns of a row of the matrix.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Strip([f64; SIDE]);

/// A matrix as the product of a lower and an upper triangle, with its rows in another order.
pub(super) struct Lu {
    unknowns: usize,
    /// Entries of a row: the unknowns, and ones on the diagonal up to whole tiles.
    stride: usize,
    /// Multipliers below the diagonal, the upper triangle from it on.
    entries: Vec<f64>,
    /// Which row of the given matrix is in each place.
    order: Vec<usize>,
}

impl Lu {
    /// Takes the matrix apart whose rows `fill` writes. `None` if a pivot is zero or not a number.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    pub(super) fn of(
        unknowns: usize,
        fill: impl Fn(usize, &mut [f64]) + Sync,
        watch: Watch<'_>,
    ) -> Result<Option<Self>, Stopped> {
        let stride = unknowns.next_multiple_of(SIDE);
        let mut entries = vec![0.0; stride * stride];
        entries.par_chunks_mut(stride.max(1)).enumerate().for_each(|(i, row)| {
            if i < unknowns {
                fill(i, &mut row[..unknowns]);
            } else {
                row[i] = 1.0;
            }
        });
        let mut lu = Self { unknowns, stride, entries, order: (0..stride).collect() };
        for first in (0..stride).step_by(SIDE) {
            let rest = 1.0 - first as f64 / stride as f64;
            report_share(watch, Stage::Weights, 1.0 - rest * rest * rest)?;
            if !lu.eliminate(first) {
                return Ok(None);
            }
        }
        Ok(Some(lu))
    }

    /// Eliminates the next columns, and says whether there was a pivot for each.
    fn eliminate(&mut self, first: usize) -> bool {
        let (stride, next) = (self.stride, first + SIDE);
        // The columns in a run of their own: in the matrix, their rows are far apart.
        let rows = self.entries[first * stride..].chunks(stride);
        let mut strips: Vec<Strip> = rows.map(|row| Strip(strip(row, first))).collect();
        let Some(exchanges) = pivots(&mut strips) else { return false };
        for (here, &there) in exchanges.iter().enumerate() {
            self.exchange(first + here, first + there);
        }
        let rows = self.entries[first * stride..].chunks_mut(stride);
        rows.zip(&strips).for_each(|(row, strip)| row[first..next].copy_from_slice(&strip.0));
        // The rows of the pivots, to the right of these columns.
        let (pivots, below) = self.entries[first * stride..].split_at_mut(SIDE * stride);
        let (upper, lower) = strips.split_at(SIDE);
        let right: Vec<Tile> = (next..stride)
            .into_par_iter()
            .step_by(SIDE)
            .map(|column| {
                let mut tile = Tile([[0.0; SIDE]; SIDE]);
                let rows = tile.0.iter_mut().zip(pivots.chunks(stride));
                rows.for_each(|(to, row)| *to = strip(row, column));
                tile.forward(upper);
                tile
            })
            .collect();
        for (tile, column) in right.iter().zip((next..stride).step_by(SIDE)) {
            let rows = pivots.chunks_mut(stride).zip(&tile.0);
            rows.for_each(|(row, from)| row[column..column + SIDE].copy_from_slice(from));
        }
        // What is left of the matrix, a few rows at a time.
        let bands = below.par_chunks_mut(stride * BAND).zip(lower.par_chunks(BAND));
        bands.for_each(|(out, left)| {
            Arch::new().dispatch(Subtract { out, stride, column: next, left, right: &right });
        });
        true
    }

    fn exchange(&mut self, here: usize, there: usize) {
        if here < there {
            self.order.swap(here, there);
            let (above, below) = self.entries.split_at_mut(there * self.stride);
            above[here * self.stride..][..self.stride].swap_with_slice(&mut below[..self.stride]);
        }
    }

    /// The unknowns for these right-hand sides.
    pub(super) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let row = |i: usize| &self.entries[i * self.stride..][..self.unknowns];
        let mut x = Vec::with_capacity(self.unknowns);
        for i in 0..self.unknowns {
            let known = row(i).iter().zip(&x);
            x.push(known.fold(right[self.order[i]], |rest, (entry, x)| rest - entry * x));
        }
        for i in (0..self.unknowns).rev() {
            let known = row(i)[i + 1..].iter().zip(&x[i + 1..]);
            let rest = known.fold(x[i], |rest, (entry, x)| rest - entry * x);
            x[i] = rest / row(i)[i];
        }
        x
    }
}

/// The entries of a row from a column on.
fn strip(row: &[f64], column: usize) -> [f64; SIDE] {
    std::array::from_fn(|j| row[column + j])
}

/// Eliminates the columns of these strips, and gives the row that each row of a pivot was exchanged
/// with. `None` if a column has no pivot.
fn pivots(strips: &mut [Strip]) -> Option<Vec<usize>> {
    let mut exchanges = Vec::with_capacity(SIDE);
    for k in 0..SIDE {
        // The largest, and the first of several: the order of rows decides, nothing else.
        let (mut there, mut largest) = (k, 0.0);
        for (row, strip) in strips.iter().enumerate().skip(k) {
            let size = strip.0[k].abs();
            if size > largest {
                (there, largest) = (row, size);
            }
        }
        if !(largest > 0.0 && largest.is_finite()) {
            return None;
        }
        strips.swap(k, there);
        exchanges.push(there);
        let (above, below) = strips.split_at_mut(k + 1);
        let pivot = &above[k].0;
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for strip in below {
                    let multiplier = strip.0[k] / pivot[k];
                    strip.0[k] = multiplier;
                    for (out, entry) in strip.0[k + 1..].iter_mut().zip(&pivot[k + 1..]) {
                        *out -= multiplier * entry;
                    }
                }
            },
        );
    }
    Some(exchanges)
}

impl Tile {
    /// Takes off each row what the rows above it are to be taken off.
    fn forward(&mut self, multipliers: &[Strip]) {
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for k in 0..SIDE {
                    let (above, below) = self.0.split_at_mut(k + 1);
                    for (row, multipliers) in below.iter_mut().zip(&multipliers[k + 1..]) {
                        for (out, entry) in row.iter_mut().zip(&above[k]) {
                            *out -= multipliers.0[k] * entry;
                        }
                    }
                }
            },
        );
    }
}

/// How many rows go through all tiles before the next ones do.
const BAND: usize = 32;
/// Rows and vector registers of the result that are worked on at a time. There are no more
/// registers.
const ROWS: usize = 4;
const VECTORS: usize = 2;

/// `out −= left · right`, in whatever vector registers the machine has, with a rounding after each
/// product and each difference.
struct Subtract<'a> {
    /// Rows of the matrix, as many as there are on the left.
    out: &'a mut [f64],
    stride: usize,
    /// Where the first tile of the result begins.
    column: usize,
    left: &'a [Strip],
    right: &'a [Tile],
}

impl WithSimd for Subtract<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { out, stride, column, left, right } = self;
        for (tile, column) in right.iter().zip((column..).step_by(SIDE)) {
            // Bands and tiles are whole, so there are always as many rows.
            for (out, left) in out.chunks_exact_mut(ROWS * stride).zip(left.as_chunks::<ROWS>().0) {
                for vector in (0..SIDE / S::F64_LANES).step_by(VECTORS) {
                    let mut rest: [[S::f64s; VECTORS]; ROWS] = std::array::from_fn(|row| {
                        vectors::<S>(&out[row * stride + column..][..SIDE], vector)
                    });
                    for (k, pivot) in tile.0.iter().enumerate() {
                        let pivot = vectors::<S>(pivot, vector);
                        for row in 0..ROWS {
                            let multiplier = simd.splat_f64s(left[row].0[k]);
                            for v in 0..VECTORS {
                                let product = simd.mul_f64s(multiplier, pivot[v]);
                                rest[row][v] = simd.sub_f64s(rest[row][v], product);
                            }
                        }
                    }
                    for (row, rest) in rest.into_iter().enumerate() {
                        let out = &mut out[row * stride + column..][..SIDE];
                        S::as_mut_simd_f64s(out).0[vector..][..VECTORS].copy_from_slice(&rest);
                    }
                }
            }
        }
    }
}

/// Some vectors of a row.
#[inline(always)]
fn vectors<S: Simd>(row: &[f64], vector: usize) -> [S::f64s; VECTORS] {
    let all = S::as_simd_f64s(row).0;
    std::array::from_fn(|v| all[vector + v])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::unwatched;

    /// The three loops of a textbook, on the matrix with its right-hand sides beside it.
    fn plain(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
        let n = rows.len();
        for k in 0..n {
            let mut pivot = k;
            for i in k..n {
                if rows[i][k].abs() > rows[pivot][k].abs() {
                    pivot = i;
                }
            }
            rows.swap(k, pivot);
            let (above, below) = rows.split_at_mut(k + 1);
            for row in below {
                let multiplier = row[k] / above[k][k];
                for j in k + 1..=n {
                    row[j] -= multiplier * above[k][j];
                }
            }
        }
        let mut x = vec![0.0; n];
        for i in (0..n).rev() {
            x[i] = rows[i][n];
            for j in i + 1..n {
                x[i] -= rows[i][j] * x[j];
            }
            x[i] /= rows[i][i];
        }
        x
    }

    fn matrix(n: usize, seed: u64) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.3
        };
        (
            (0..n).map(|_| (0..n).map(|_| next()).collect()).collect(),
            (0..n).map(|_| next()).collect(),
        )
    }

    #[test]
    fn every_bit_is_that_of_the_textbook() {
        for (n, seed) in [(1, 1), (2, 2), (7, 3), (63, 4), (64, 5), (65, 6), (129, 7), (300, 8)] {
            let (rows, right) = matrix(n, seed);
            let lu = Lu::of(n, |i, row| row.copy_from_slice(&rows[i]), &unwatched);
            let x = lu.unwrap().unwrap().solve(&right);
            for (row, right) in rows.iter().zip(&right) {
                let left: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
                assert!((left - right).abs() < 1e-9, "{n}: {left} {right}");
            }
            let beside = rows.into_iter().zip(right).map(|(mut row, b)| {
                row.push(b);
                row
            });
            let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&x), bits(&plain(beside.collect())), "{n}");
        }
    }

    #[test]
    fn a_matrix_without_an_inverse_is_refused() {
        let same = |_: usize, row: &mut [f64]| row.fill(0.5);
        assert!(Lu::of(70, same, &unwatched).unwrap().is_none());
        let not_numbers = |_: usize, row: &mut [f64]| row.fill(f64::NAN);
        assert!(Lu::of(3, not_numbers, &unwatched).unwrap().is_none());
    }
}
