//! Products of small square matrices, with the same bits everywhere.

use pulp::Arch;
use rayon::prelude::*;

/// Rows that are worked on together, so that each row on the right is read once for all of them.
const ROWS: usize = 4;

/// The product of two square matrices of this side, row by row. Each entry is summed from the first
/// term to the last, with a rounding after each product and each sum.
pub(super) fn product(side: usize, left: &[f64], right: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; side * side];
    let bands = out.par_chunks_mut(side * ROWS).zip(left.par_chunks(side * ROWS));
    bands.for_each(|(out, left)| {
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (k, right) in right.chunks_exact(side).enumerate() {
                    for (out, left) in out.chunks_exact_mut(side).zip(left.chunks_exact(side)) {
                        for (out, right) in out.iter_mut().zip(right) {
                            *out += left[k] * right;
                        }
                    }
                }
            },
        );
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_is_that_of_three_plain_loops() {
        for side in [1, 2, 5, 8, 31] {
            let entry = |i: usize| libm::exp(-((i * 37 % 101) as f64) / 7.0);
            let left: Vec<f64> = (0..side * side).map(entry).collect();
            let right: Vec<f64> = (0..side * side).map(|i| entry(i + 5)).collect();
            let fast = product(side, &left, &right);
            for i in 0..side {
                for j in 0..side {
                    let terms = (0..side).map(|k| left[i * side + k] * right[k * side + j]);
                    let plain = terms.fold(0.0, |sum, term| sum + term);
                    assert_eq!(fast[i * side + j].to_bits(), plain.to_bits());
                }
            }
        }
    }
}
