//! The logarithm of a normaliser, several terms at a time.
//!
//! Sums are taken in a fixed order, and the functions are the same on every machine, so the result is too.

use pulp::{Simd, WithSimd};

use crate::nats::Nats;

/// `ln Σ exp(−(d·per_unit + offset))`, over the candidates.
///
/// # Precision
///
/// Costs are off by a few units in their last place, and [`exp_minus`] by a relative 10⁻¹⁴: for costs
/// up to a thousand nats that is 10⁻¹². What costs 700 nats more than the cheapest counts as that much.
pub(super) struct LogTotal<'a> {
    pub(super) distances: &'a [Nats],
    pub(super) offsets: &'a [f64],
    pub(super) per_unit: f64,
}

impl WithSimd for LogTotal<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let Self { distances, offsets, per_unit } = self;
        let cost = |d: &Nats, offset: &f64| f64::from(d.units()) * per_unit + offset;
        // Four minima and four sums, so that the compiler may keep them in one register.
        let smaller = |a: f64, b: f64| if a < b { a } else { b };
        let mut smallest = [f64::INFINITY; 4];
        let mut totals = [0f64; 4];
        let (chunks, rest) = distances.as_chunks::<4>();
        let (offset_chunks, offset_rest) = offsets.as_chunks::<4>();
        for (chunk, offset) in chunks.iter().zip(offset_chunks) {
            for ((smallest, d), offset) in smallest.iter_mut().zip(chunk).zip(offset) {
                *smallest = smaller(cost(d, offset), *smallest);
            }
        }
        for (d, offset) in rest.iter().zip(offset_rest) {
            smallest[0] = smaller(cost(d, offset), smallest[0]);
        }
        let least = smallest.into_iter().fold(f64::INFINITY, smaller);
        for (chunk, offset) in chunks.iter().zip(offset_chunks) {
            for ((total, d), offset) in totals.iter_mut().zip(chunk).zip(offset) {
                *total += exp_minus(cost(d, offset) - least);
            }
        }
        for (d, offset) in rest.iter().zip(offset_rest) {
            totals[0] += exp_minus(cost(d, offset) - least);
        }
        libm::log(totals.iter().sum::<f64>()) - least
    }
}

/// `exp(−x)` for x from zero up, without branches, so that it can be computed several at a time.
///
/// # Precision
///
/// A relative 10⁻¹⁴: `x = n·ln 2 + r` with `|r| ≤ ½ ln 2`, and twelve terms of the power series of
/// `exp(−r)`, which leave out less than `0.3466¹²/12! < 10⁻¹⁴`. Beyond 700 it stays at `exp(−700)`.
#[inline(always)]
pub(crate) fn exp_minus(x: f64) -> f64 {
    // Added and taken off again, this rounds to a whole number, which is left in the low bits.
    const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
    // ln 2 in two parts, the first with so few bits that its multiples are exact.
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const INVERSE_FACTORIALS: [f64; 12] = [
        1.0,
        1.0,
        1.0 / 2.0,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5_040.0,
        1.0 / 40_320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
        1.0 / 39_916_800.0,
    ];
    let x = if x < 700.0 { x } else { 700.0 };
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let minus_r = n * LN_2_HIGH - x + n * LN_2_LOW;
    let mut series = INVERSE_FACTORIALS[11];
    for &term in INVERSE_FACTORIALS[..11].iter().rev() {
        series = series * minus_r + term;
    }
    let exponent = (1023u64 << 52).wrapping_sub(shifted.to_bits() << 52);
    series * f64::from_bits(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use pulp::Arch;

    #[test]
    fn the_branchless_exponential_is_as_good_as_said() {
        let mut worst = 0f64;
        for i in 0..2_000_000u32 {
            let x = f64::from(i) * 3.5e-4 * (1.0 + f64::from(i % 7) * 1e-9);
            worst = worst.max((exp_minus(x) / libm::exp(-x.min(700.0)) - 1.0).abs());
        }
        assert!(worst < 1e-14, "{worst}");
        assert_eq!(exp_minus(0.0), 1.0);
        assert_eq!(exp_minus(1e9), exp_minus(700.0));
    }

    proptest! {
        #[test]
        fn totals_agree_with_the_kernel(
            units in proptest::collection::vec((0u32..30_000_000, 0u32..20_000_000), 1..40)
        ) {
            let distances: Vec<Nats> = units.iter().map(|u| Nats::from_units(u.0)).collect();
            let offsets: Vec<f64> = units.iter().map(|u| f64::from(u.1) / 1e6).collect();
            let per_unit = 1.3 / f64::from(Nats::PER_NAT);
            let costs = distances.iter().zip(&offsets).map(|(d, o)| d.as_f64() * 1.3 + o);
            let least = costs.clone().fold(f64::INFINITY, f64::min);
            let plain = costs.map(|c| (least - c).exp()).sum::<f64>().ln() - least;
            let total = LogTotal { distances: &distances, offsets: &offsets, per_unit };
            prop_assert!((Arch::new().dispatch(total) - plain).abs() < 1e-12);
        }
    }
}
