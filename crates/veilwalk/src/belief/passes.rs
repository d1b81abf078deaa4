//! Passes over all that is predicted: of a step of a belief, what looks at every state.
//!
//! Several states at a time, in whatever vector registers the machine has. What a state's mass becomes is
//! found by the same operations as one by one. Sums that are taken here go into figures alone; they are
//! eight, each of every eighth state, so they are the same on every machine too.

use pulp::{Simd, WithSimd};

use crate::mechanism::exp_minus;

/// Weighs masses by likelihoods relative to the largest one: in [0, 1], whatever the logarithms are.
pub(super) struct Weigh<'a> {
    /// The logarithms of the likelihoods, up to a common term.
    pub(super) logs: &'a [f64],
    pub(super) masses: &'a mut [f64],
    /// Where the likelihoods are left.
    pub(super) factors: &'a mut [f64],
}

/// What [`Weigh`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weighed {
    /// The largest of the logarithms; minus infinity if nothing was possible, and then nothing was weighed.
    pub(super) top: f64,
    /// The sum of the masses afterwards.
    pub(super) total: f64,
    /// The largest of them.
    pub(super) largest: f64,
}

impl WithSimd for Weigh<'_> {
    type Output = Weighed;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Weighed {
        let Self { logs, masses, factors } = self;
        let top = largest_of(logs);
        if top == f64::NEG_INFINITY {
            factors.fill(1.0);
            return Weighed { top, total: sum_of(masses), largest: largest_of(masses) };
        }
        let (mut sums, mut largest) = ([0.0; 8], [f64::NEG_INFINITY; 8]);
        // Part by part, so that what is added up was just written and is still at hand.
        let parts = masses.chunks_mut(PART).zip(logs.chunks(PART)).zip(factors.chunks_mut(PART));
        for ((masses, logs), factors) in parts {
            for ((slot, mass), &log) in factors.iter_mut().zip(masses.iter_mut()).zip(logs) {
                // Where both are infinite the difference is no number, and the state is as likely as the top.
                let below = if log == top { 0.0 } else { top - log };
                let factor = exp_minus(below);
                // 700 nats and more count as impossible, and so does what is not a number.
                *slot = if below < 700.0 { factor } else { 0.0 };
                *mass *= *slot;
            }
            let eights = masses.as_chunks().0;
            add_eights(&mut sums, eights);
            raise_by_eights(&mut largest, eights);
        }
        let rest = masses.as_chunks::<8>().1;
        let total = sums.iter().chain(rest).sum();
        Weighed { top, total, largest: largest.iter().chain(rest).fold(f64::NEG_INFINITY, larger) }
    }
}

/// How many states are weighed before their masses are added up: some eights of them.
const PART: usize = 512;

/// The largest of these.
pub(super) struct Largest<'a>(pub(super) &'a [f64]);

impl WithSimd for Largest<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        largest_of(self.0)
    }
}

/// Says which masses are at least so much.
pub(super) struct Select<'a> {
    pub(super) masses: &'a [f64],
    /// Above zero.
    pub(super) least: f64,
    /// Where a bit for each mass is left, the first one lowest.
    pub(super) chosen: &'a mut Vec<u64>,
}

impl WithSimd for Select<'_> {
    /// The sum of the other masses.
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let Self { masses, least, chosen } = self;
        chosen.clear();
        chosen.resize(masses.len().div_ceil(64), 0);
        let (eights, rest) = masses.as_chunks::<8>();
        let mut others = [0.0; 8];
        for (place, eight) in eights.iter().enumerate() {
            let flags = eight.map(|mass| u8::from(mass >= least));
            for (sum, mass) in others.iter_mut().zip(eight) {
                *sum += if *mass >= least { 0.0 } else { *mass };
            }
            chosen[place / 8] |= low_bits(flags) << (place % 8 * 8);
        }
        for (place, mass) in (8 * eights.len()..).zip(rest) {
            chosen[place / 64] |= u64::from(*mass >= least) << (place % 64);
            others[place % 8] += if *mass >= least { 0.0 } else { *mass };
        }
        others.iter().sum()
    }
}

/// The lowest bit of each byte, side by side.
#[inline(always)]
fn low_bits(bytes: [u8; 8]) -> u64 {
    // Byte i goes to bit 56 + i: its bit 8i is moved up by 56 − 7i. No two of the products meet.
    const MOVES: u64 = 0x0102_0408_1020_4080;
    u64::from_le_bytes(bytes).wrapping_mul(MOVES) >> 56
}

/// The largest of these that are numbers; minus infinity if there are none.
#[inline(always)]
fn largest_of(values: &[f64]) -> f64 {
    let (eights, rest) = values.as_chunks();
    let mut largest = [f64::NEG_INFINITY; 8];
    raise_by_eights(&mut largest, eights);
    largest.iter().chain(rest).fold(f64::NEG_INFINITY, larger)
}

/// The sum, of eight sums.
#[inline(always)]
fn sum_of(values: &[f64]) -> f64 {
    let (eights, rest) = values.as_chunks();
    let mut sums = [0.0; 8];
    add_eights(&mut sums, eights);
    sums.iter().chain(rest).sum()
}

#[inline(always)]
fn add_eights(sums: &mut [f64; 8], eights: &[[f64; 8]]) {
    let mut added = *sums;
    for eight in eights {
        for (sum, value) in added.iter_mut().zip(eight) {
            *sum += value;
        }
    }
    *sums = added;
}

#[inline(always)]
fn raise_by_eights(largest: &mut [f64; 8], eights: &[[f64; 8]]) {
    let mut raised = *largest;
    for eight in eights {
        for (largest, value) in raised.iter_mut().zip(eight) {
            *largest = larger(*largest, value);
        }
    }
    *largest = raised;
}

#[inline(always)]
fn larger(a: f64, b: &f64) -> f64 {
    if *b > a { *b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use pulp::Arch;

    fn weighed(logs: &[f64], masses: &mut [f64]) -> (Weighed, Vec<f64>) {
        let mut factors = vec![0.5; logs.len()];
        let weigh = Weigh { logs, masses, factors: &mut factors };
        (Arch::new().dispatch(weigh), factors)
    }

    proptest! {
        /// Masses one by one, to the last bit; sums nearly.
        #[test]
        fn states_are_weighed_as_if_one_by_one(
            pairs in vec((1e-12f64..1.0, prop_oneof![
                8 => -900.0f64..5.0,
                1 => prop_oneof![
                    Just(f64::NEG_INFINITY), Just(f64::INFINITY), Just(f64::NAN), Just(-1e308)
                ],
            ]), 1..1200)
        ) {
            let (before, logs): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut masses = before.clone();
            let (found, factors) = weighed(&logs, &mut masses);
            prop_assert_eq!(found.top, top);
            for (place, log) in logs.iter().enumerate() {
                let expected = match top - log {
                    _ if top == f64::NEG_INFINITY || *log == top => 1.0,
                    below if below < 700.0 => exp_minus(below),
                    _ => 0.0,
                };
                prop_assert_eq!(factors[place], expected);
                prop_assert_eq!(masses[place], before[place] * expected);
            }
            prop_assert_eq!(found.largest, masses.iter().copied().fold(0.0, f64::max));
            let total: f64 = masses.iter().sum();
            prop_assert!((found.total - total).abs() <= 1e-12 * total);
        }

        #[test]
        fn a_bit_is_set_where_a_mass_is_enough(
            masses in vec(prop_oneof![Just(0.0), Just(0.25), 0.0f64..1.0], 1..300),
            least in prop_oneof![Just(f64::from_bits(1)), Just(0.25), 0.1f64..0.9],
        ) {
            let mut chosen = vec![7; 3];
            let others = Arch::new().dispatch(Select { masses: &masses, least, chosen: &mut chosen });
            prop_assert_eq!(chosen.len(), masses.len().div_ceil(64));
            let mut expected = 0.0;
            for (place, &mass) in masses.iter().enumerate() {
                prop_assert_eq!(chosen[place / 64] >> (place % 64) & 1 == 1, mass >= least);
                expected += if mass >= least { 0.0 } else { mass };
            }
            prop_assert!((others - expected).abs() <= 1e-12 * (1.0 + expected));
            let beyond = 64 * chosen.len() - masses.len();
            prop_assert_eq!(chosen[chosen.len() - 1].leading_zeros() as usize >= beyond, true);
        }
    }
}
