//! Many coins flipped together, sixteen at a time, and one of those that land heads.
//!
//! Four coins share a word of randomness, sixteen bits each, and nearly all are settled by those: by
//! exact exponents, or by rounded ones where only these are at hand. The few that are left open go on,
//! each with a word of its own, so that how a coin lands depends neither on what was enough to settle
//! another nor on whether exponents were rounded at first.

use pulp::{Arch, Simd, WithSimd};

use super::sixteen_bits::{COINS, Lanes, RoundedUnit, SixteenBits, bits};
use super::{ExpCoin, Words, uniform_below_starting};

/// Coins that are flipped together, sixteen at a time: the first bits of each, and how they landed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flips {
    coins: usize,
    words: Vec<[u64; 4]>,
    /// The word by which one of those that land heads is taken.
    choice: u64,
    sixteens: Vec<Sixteen>,
    heads: u32,
}

/// A bit for each of sixteen coins.
#[derive(Clone, Copy, Debug, Default)]
struct Sixteen {
    /// Those that landed heads.
    heads: u16,
    /// Those that sixteen bits have not settled.
    open: u16,
}

impl Flips {
    /// Draws the first sixteen bits of this many coins, and a word to choose by. Four coins share one
    /// word, and more than that is hardly ever needed.
    #[inline]
    pub(crate) fn draw(&mut self, coins: usize, words: &mut impl Words) {
        self.coins = coins;
        // One more, in which there is room for the word to choose by. It is never made smaller, since
        // that would be done one way or the other at random, which processors cannot foresee.
        let room = coins.div_ceil(COINS) + 1;
        if self.words.len() < room {
            self.words.resize(room, [0; 4]);
            self.sixteens.resize(room, Sixteen::default());
        }
        let drawn = &mut self.words.as_flattened_mut()[..=coins.div_ceil(4)];
        words.fill(drawn);
        self.choice = drawn[drawn.len() - 1];
    }

    /// Tries to settle all coins by numbers of which only a rounded value is known, in these units;
    /// the probability of each is `exp(-x)`, with `x` what it is above the smallest. Whether that was
    /// enough: the others are left open.
    #[inline]
    pub(crate) fn settle_by_rounded(
        &mut self,
        rounded: &[[u16; COINS]],
        unit: RoundedUnit,
    ) -> bool {
        Arch::new().dispatch(DecideByRounded { flips: self, rounded, unit })
    }

    /// Settles the coins as far as sixteen bits do, and says whether that is all of them. `decide` is
    /// asked for one sixteen after the other.
    #[inline(always)]
    fn settle(&mut self, decide: impl Fn(usize, &[u64; 4]) -> Lanes) -> bool {
        let count = self.coins.div_ceil(COINS);
        let (sixteens, words) = (&mut self.sixteens[..count], &self.words[..count]);
        // The last sixteen may be fewer.
        let last = u16::MAX >> (count * COINS - self.coins);
        let (mut heads_of_all, mut any_open) = (0u32, 0);
        for i in 0..count {
            let lanes = decide(i, &words[i]);
            let there = if i + 1 == count { last } else { u16::MAX };
            let (heads, open) = (bits(&lanes.heads) & there, bits(&lanes.open) & there);
            sixteens[i] = Sixteen { heads, open };
            heads_of_all = heads_of_all.wrapping_add(heads.count_ones());
            any_open |= open;
        }
        self.heads = heads_of_all;
        any_open == 0
    }

    /// The place of a uniformly random one of those that landed heads.
    ///
    /// # Panics
    ///
    /// If none did.
    #[inline]
    pub(crate) fn choose(&self, words: &mut impl Words) -> usize {
        self.place_of_heads(uniform_below_starting(self.choice, words, self.heads.into()) as u32)
    }

    /// The place of one that landed heads, of which `before` come before it.
    #[inline]
    fn place_of_heads(&self, mut before: u32) -> usize {
        for (lands, first) in self.sixteens.iter().zip((0..).step_by(COINS)) {
            let mut heads = lands.heads;
            let here = heads.count_ones();
            if before < here {
                for _ in 0..before {
                    heads &= heads - 1;
                }
                return first + heads.trailing_zeros() as usize;
            }
            before -= here;
        }
        panic!("fewer coins have landed heads");
    }
}

impl ExpCoin {
    /// Flips a coin for each of these costs, heads with probability `exp(-(cost - least)/b)`; none is
    /// below `least`. Their first bits are [drawn](Flips::draw) already.
    #[inline]
    pub(crate) fn flip_all(
        &self,
        costs: &[u64],
        least: u64,
        flips: &mut Flips,
        words: &mut impl Words,
    ) {
        let decide = Decide { flips, bits: self.sixteen_bits(), costs, least };
        if !Arch::new().dispatch(decide) {
            self.flip_open(|i| costs[i] - least, flips, words);
        }
    }

    /// Goes on with the coins that sixteen bits have not settled; `exponent` gives the `a` of each.
    #[cold]
    #[inline(never)]
    pub(crate) fn flip_open(
        &self,
        exponent: impl Fn(usize) -> u64,
        flips: &mut Flips,
        words: &mut impl Words,
    ) {
        // Each coin has a word of its own, whether it is open or not, so that how a coin lands does not
        // depend on what was enough to settle another.
        let (mut later, mut drawn) = (0, 0);
        let sixteens = flips.words.iter().zip(&mut flips.sixteens);
        for ((beginnings, lands), first) in sixteens.zip((0..flips.coins).step_by(COINS)) {
            for i in (0..COINS).filter(|i| lands.open >> i & 1 == 1) {
                while drawn <= first + i {
                    later = words.word();
                    drawn += 1;
                }
                let beginning = beginnings[i / 4] >> (16 * (i % 4)) & 0xffff;
                let number = beginning << 48 | later >> 16;
                let a = exponent(first + i);
                let heads = a == 0 || self.flip_later(number, 0, a, words);
                lands.heads |= u16::from(heads) << i;
                flips.heads += u32::from(heads);
            }
        }
    }
}

/// What sixteen bits say of coins, in whatever vector registers the machine has, and whether that
/// settles all.
struct Decide<'a> {
    flips: &'a mut Flips,
    bits: SixteenBits,
    costs: &'a [u64],
    least: u64,
}

impl WithSimd for Decide<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Self { flips, bits, costs, least } = self;
        let (sixteens, rest) = costs.as_chunks();
        let mut last = [least; COINS];
        last[..rest.len()].copy_from_slice(rest);
        flips.settle(|i, words| bits.decide(sixteens.get(i).unwrap_or(&last), least, words))
    }
}

/// The same by rounded numbers.
struct DecideByRounded<'a> {
    flips: &'a mut Flips,
    rounded: &'a [[u16; COINS]],
    unit: RoundedUnit,
}

impl WithSimd for DecideByRounded<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Self { flips, rounded, unit } = self;
        let mut least = [u16::MAX; COINS];
        for sixteen in rounded {
            least.iter_mut().zip(sixteen).for_each(|(least, rounded)| *least = *rounded.min(least));
        }
        let least = least.into_iter().fold(u16::MAX, u16::min);
        flips.settle(|i, words| unit.decide(&rounded[i], least, words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Given, Source, UnitExponent};

    /// Coins flipped together are those flipped one by one, with the same bits: by exact costs, and by
    /// rounded ones with the exact ones behind them.
    #[test]
    fn many_coins_are_many_single_coins() {
        let mut words = Source::seeded(13).words_for_tests();
        let (mut flips, mut again) = (Flips::default(), Flips::default());
        let (mut settled_late, mut settled_by_rounded, mut tried_rounded) = (0, 0, 0);
        for round in 0..20_000 {
            // Numbers of which sixteen bits are left when they are rounded, up to some nats.
            let shift = (words.word() % 12) as u32;
            let factor = 1 + (words.word() % 1_000) as u32;
            let nats = 1 + words.word() % 40;
            let coin = ExpCoin::new((u64::from(factor) << (16 + shift)) / nats + 1);
            let inverse = 1.0 / coin.denominator() as f64;
            let n = 1 + words.word() as usize % 70;
            let numbers: Vec<u64> = (0..n).map(|_| words.word() >> (48 - shift)).collect();
            let costs: Vec<u64> = numbers.iter().map(|d| d * u64::from(factor)).collect();
            let least = *costs.iter().min().expect("at least one");
            // Anywhere, or near the threshold.
            let beginning = |&cost: &u64| {
                let p = (-((cost - least) as f64) * inverse).exp() * 65536.0;
                let near = p + (words.word() % 64) as f64 - 32.0;
                if round % 2 == 0 { words.word() as u16 } else { near as u16 }
            };
            let beginnings: Vec<u16> = costs.iter().map(beginning).collect();
            let four = |four: &[u16]| four.iter().rev().fold(0, |w, &b| w << 16 | u64::from(b));
            let first: Vec<u64> = beginnings.chunks(4).map(four).chain([words.word()]).collect();
            let later: Vec<u64> = (0..n).map(|_| words.word()).collect();
            let all = [first.clone(), later.clone()].concat();

            let single = (0..n).filter(|&i| {
                let first = u64::from(beginnings[i]) << 48 | later[i] >> 16;
                coin.flip(costs[i] - least, &mut Given(vec![first]))
            });
            let single: Vec<usize> = single.collect();
            let places = |f: &Flips| (0..f.heads).map(|k| f.place_of_heads(k)).collect::<Vec<_>>();

            let mut given = Given(all.clone());
            flips.draw(n, &mut given);
            coin.flip_all(&costs, least, &mut flips, &mut given);
            settled_late += all.len() - given.0.len() - first.len();
            assert_eq!(places(&flips), single);
            assert_eq!(flips.choice, *first.last().expect("never empty"));

            let unit = UnitExponent::new(factor, coin.denominator());
            let Some(unit) = unit.and_then(|unit| RoundedUnit::new(unit, shift)) else { continue };
            let mut rounded = vec![[(numbers[n - 1] >> shift) as u16; COINS]; n.div_ceil(COINS)];
            for (slot, d) in rounded.as_flattened_mut().iter_mut().zip(&numbers) {
                *slot = (d >> shift) as u16;
            }
            let mut given = Given(all);
            again.draw(n, &mut given);
            tried_rounded += 1;
            if again.settle_by_rounded(&rounded, unit) {
                settled_by_rounded += 1;
            } else {
                coin.flip_open(|i| costs[i] - least, &mut again, &mut given);
            }
            assert_eq!(places(&again), single);
        }
        assert!((10_000..1_000_000).contains(&settled_late), "{settled_late}");
        assert!(tried_rounded > 10_000, "{tried_rounded}");
        assert!(settled_by_rounded > tried_rounded / 3, "{settled_by_rounded} of {tried_rounded}");
    }
}
