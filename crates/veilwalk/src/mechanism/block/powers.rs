//! `exp(−a·n/b)` for every whole number `n`, from three small tables.
//!
//! A distance is a whole number, so its factor in a weight is a power of one number, `exp(−a/b)`. The
//! number's bits are cut into three parts, and the powers for each part are looked up and multiplied:
//! no exponential is computed while walks are released.
//!
//! # Precision
//!
//! Powers are multiplied up with mantissas of 128 bits. Each product is cut off, by a relative 2⁻¹²⁶
//! at most, and so is the first power, which comes from an enclosure in whole numbers; a table has at
//! most 2¹¹ entries, and the first of each is a product from the table before it, so that after three
//! tables errors are below `2¹¹·2¹¹·2¹¹·2⁻¹²⁴ = 2⁻⁹¹`. An entry is then rounded to the nearest double: a
//! relative u = 2⁻⁵³ and nothing to speak of besides. The product of three entries has two more
//! roundings, together `5u`.

use super::weight::Product;
use crate::random::exp_enclosure;

/// Powers of `exp(−a/b)`.
#[derive(Clone, Debug)]
pub(super) struct Powers {
    /// How many bits of the exponent each table takes.
    bits: u32,
    /// For the low, the middle and the high bits.
    tables: [Vec<Product>; 3],
}

impl Powers {
    /// For exponents up to `largest`.
    pub(super) fn new(a: u64, b: u64, largest: u32) -> Self {
        let bits = (u32::BITS - largest.leading_zeros()).div_ceil(3).max(1);
        let mut base = Long::exp_minus(a, b);
        let tables = [(); 3].map(|()| {
            let mut powers = vec![base];
            for _ in 2..=1u32 << bits {
                powers.push(powers[powers.len() - 1].times(base));
            }
            // What the lowest bit of the next part stands for.
            base = powers.pop().expect("two to the bits is at least two");
            let ones = std::iter::once(Product::new(1.0, 0));
            ones.chain(powers.iter().map(|power| power.rounded())).collect()
        });
        Self { bits, tables }
    }

    /// `exp(−a·n/b)`.
    #[inline]
    pub(super) fn power(&self, n: u32) -> Product {
        let mask = (1u32 << self.bits) - 1;
        let [low, middle, high] = &self.tables;
        low[(n & mask) as usize]
            .times(middle[((n >> self.bits) & mask) as usize])
            .times(high[(n >> (2 * self.bits)) as usize])
    }
}

/// `mantissa · 2^(exponent − 128)` with a mantissa of exactly 128 bits.
#[derive(Clone, Copy, Debug)]
struct Long {
    mantissa: u128,
    exponent: i64,
}

impl Long {
    /// At most a relative 2⁻¹²⁶ below `exp(−a/b)`.
    fn exp_minus(a: u64, b: u64) -> Self {
        if a == 0 {
            return Self { mantissa: 1 << 127, exponent: 1 };
        }
        // So many zeros come first, at most.
        let zeros = (a as f64 / b as f64 * std::f64::consts::LOG2_E * 1.01).ceil() as u32;
        let places = zeros + 192;
        let (below, _) = exp_enclosure(a, b, places.into());
        let cut = below.bits() - 128;
        let mantissa = u128::try_from(&below >> cut).expect("128 bits are left");
        Self { mantissa, exponent: cut as i64 + 128 - i64::from(places) }
    }

    fn times(self, other: Self) -> Self {
        let product = high_half(self.mantissa, other.mantissa);
        let shift = product.leading_zeros();
        let exponent = self.exponent + other.exponent - i64::from(shift);
        Self { mantissa: product << shift, exponent }
    }

    fn rounded(self) -> Product {
        Product::new(self.mantissa as f64 * 2f64.powi(-128), self.exponent)
    }
}

/// The upper 128 bits of a product of 256.
fn high_half(one: u128, two: u128) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let (a, b, c, d) = (one >> 64, one & LOW, two >> 64, two & LOW);
    let middle = ((b * d) >> 64) + ((a * d) & LOW) + ((b * c) & LOW);
    a * c + ((a * d) >> 64) + ((b * c) >> 64) + (middle >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;

    #[test]
    fn high_halves_are_those_of_big_numbers() {
        let numbers =
            [1, u128::MAX, 1 << 127, (1 << 127) + 12345, u128::from(u64::MAX), 0x1234_5678 << 90];
        for one in numbers {
            for two in numbers {
                let exact = (BigUint::from(one) * BigUint::from(two)) >> 128u8;
                assert_eq!(BigUint::from(high_half(one, two)), exact);
            }
        }
    }

    /// Every product of entries is within 5u of an enclosure.
    #[test]
    fn powers_are_within_their_bound_of_an_enclosure() {
        let cases = [
            (1, 1 << 20, u32::MAX),
            (1, 2 << 20, 22_000_000),
            (7, 3 << 20, 1 << 25),
            (123_456, 1 << 21, 5_000),
            (1 << 31, 1 << 20, 40),
            (0, 5, 100),
        ];
        for (a, b, largest) in cases {
            let powers = Powers::new(a, b, largest);
            let mut random = 1u64;
            for round in 0..400u32 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let n = match round {
                    0..=20 => round.min(largest),
                    21 => largest,
                    _ => ((random >> 32) % (u64::from(largest) + 1)) as u32,
                };
                let nats = a as f64 * f64::from(n) / b as f64;
                if nats > 3000.0 {
                    continue;
                }
                let power = powers.power(n);
                let places = (nats * 1.45) as u32 + 200;
                let (low, high) = exp_enclosure(a * u64::from(n), b, places.into());
                // The power over 2^-places, with 60 bits behind the point.
                let number = power.over(power.exponent());
                let whole = BigUint::from((number * 2f64.powi(60)) as u64);
                let shift = i64::from(places) + power.exponent();
                let ours = whole << u32::try_from(shift).unwrap();
                let slack = |exact: &BigUint| ((exact * 5u8) >> 53u8) + 1u8;
                let (low, high) = (low << 60u8, high << 60u8);
                assert!(ours >= &low - slack(&low) && ours <= &high + slack(&high), "{a} {b} {n}");
            }
        }
    }
}
