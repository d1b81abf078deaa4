//! One of many coins that land heads, each of them as likely.
//!
//! That is the first one to land heads when they are flipped in a uniformly random order, and it is
//! also a uniformly random one of those that would land heads if all were flipped. Both are used:
//! [a few are flipped in random order](super::random_visits), and one of them nearly always lands
//! heads; if none does, [all that are left are flipped together](super::flip_all).
//!
//! Sixteen are looked at together, with sixteen bits of randomness each, which settle nearly all. The
//! few that are left open go on, each with a word of its own, so that how a coin lands does not depend
//! on how many bits it took to settle another.

use pulp::{Arch, Simd, WithSimd};

use super::flip_all::AllFlips;
use super::quick_test::{COINS, Lanes, QuickTest};
use super::random_visits::{Looked, RandomVisits};
use super::{ExpCoin, Words};

/// Coins with the probabilities `exp(-(cost - least)/b)`, of which one is certain to land heads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coins<'a> {
    test: QuickTest,
    costs: &'a [u64],
    least: u64,
}

impl Coins<'_> {
    /// How many there are; at least one.
    #[inline(always)]
    fn count(&self) -> usize {
        self.costs.len()
    }

    /// What the first sixteen bits say of the coins at these places.
    #[inline(always)]
    pub(super) fn look_at(&self, places: &[u16; COINS], bits: &[u64; 4]) -> Lanes {
        let mut costs = [0; COINS];
        for i in 0..COINS {
            costs[i] = self.costs[usize::from(places[i])];
        }
        self.test.decide(&costs, self.least, bits)
    }

    /// The same for the coins from `16·sixteen` on. Beyond the last one, anything.
    #[inline(always)]
    pub(super) fn look_from(&self, sixteen: usize, bits: &[u64; 4]) -> Lanes {
        let (sixteens, rest) = self.costs.as_chunks();
        match sixteens.get(sixteen) {
            Some(costs) => self.test.decide(costs, self.least, bits),
            None => {
                let mut costs = [self.least; COINS];
                costs[..rest.len()].copy_from_slice(rest);
                self.test.decide(&costs, self.least, bits)
            }
        }
    }

    /// The exponent `a` of one of them.
    #[inline]
    pub(super) fn exponent(&self, place: usize) -> u64 {
        self.costs[place] - self.least
    }
}

/// A word for each coin that sixteen bits may leave open, by its number. Each has its own, whether it
/// is asked for or not; they are asked for in order.
pub(super) struct FurtherWords<'a, W> {
    words: &'a mut W,
    drawn: usize,
    last: u64,
}

impl<'a, W: Words> FurtherWords<'a, W> {
    fn new(words: &'a mut W) -> Self {
        Self { words, drawn: 0, last: 0 }
    }

    fn at(&mut self, number: usize) -> u64 {
        while self.drawn <= number {
            self.last = self.words.word();
            self.drawn += 1;
        }
        self.last
    }
}

impl ExpCoin {
    /// The place of one of the coins that land heads, each of them as likely. There is a coin with
    /// probability `exp(-(cost - least)/b)` for each cost; `least` is the smallest.
    #[inline]
    pub(crate) fn pick_heads(
        &self,
        costs: &[u64],
        least: u64,
        flips: &mut AllFlips,
        words: &mut impl Words,
    ) -> usize {
        let coins = Coins { test: self.quick_test(), costs, least };
        Arch::new().dispatch(PickHeads { coin: self, coins, flips, words })
    }

    /// Goes on with one coin that these sixteen bits have not settled.
    pub(super) fn flip_further<W: Words>(
        &self,
        beginning: u16,
        a: u64,
        number: usize,
        further: &mut FurtherWords<'_, W>,
    ) -> bool {
        let first = u64::from(beginning) << 48 | further.at(number) >> 16;
        a == 0 || self.flip_later(first, 0, a, further.words)
    }
}

/// [`ExpCoin::pick_heads`], in whatever vector registers the machine has.
struct PickHeads<'a, W> {
    coin: &'a ExpCoin,
    coins: Coins<'a>,
    flips: &'a mut AllFlips,
    words: &'a mut W,
}

impl<W: Words> WithSimd for PickHeads<'_, W> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        let Self { coin, coins, flips, words } = self;
        let coins = &coins;
        let Some(visits) = RandomVisits::draw(coins.count(), words) else {
            flips.draw(coins.count(), words);
            if !flips.settle(coins) {
                flips.go_on(coin, coins, 0, &mut FurtherWords::new(words));
            }
            return flips.choose(words);
        };
        let looked = visits.look(coins);
        looked.first_heads(&[]).unwrap_or_else(|| {
            LookFurther { coin, visits, looked, coins, flips, words }.pick_heads()
        })
    }
}

/// The same where sixteen bits have not found heads in the first round of visits.
struct LookFurther<'a, W> {
    coin: &'a ExpCoin,
    visits: RandomVisits,
    looked: Looked,
    coins: &'a Coins<'a>,
    flips: &'a mut AllFlips,
    words: &'a mut W,
}

impl<W: Words> LookFurther<'_, W> {
    #[cold]
    #[inline(never)]
    fn pick_heads(self) -> usize {
        Arch::new().dispatch(self)
    }

    /// The first heads of these visits, or one of all others that land heads.
    #[inline(always)]
    fn flip(self, visits: [RandomVisits; 2], looked: [Looked; 2]) -> usize {
        let Self { coin, coins, flips, words, .. } = self;
        // These are drawn in any case, and before any further words, so that they are always the same.
        flips.draw(coins.count(), words);
        let mut further = FurtherWords::new(words);
        for (round, now) in looked.iter().enumerate() {
            let may_be_heads = now.heads | now.open;
            for visit in (0..COINS).filter(|visit| may_be_heads >> visit & 1 == 1) {
                if now.is_repeated(visit, &looked[..round]) {
                    continue;
                }
                let place = now.places[visit].into();
                let number = round * COINS + visit;
                let beginning = visits[round].beginning(visit);
                let mut flip =
                    || coin.flip_further(beginning, coins.exponent(place), number, &mut further);
                if now.heads >> visit & 1 == 1 || flip() {
                    return place;
                }
            }
        }
        // No coin that was visited lands heads: the first one is among all others.
        let settled = flips.settle(coins);
        for now in &looked {
            for visit in (0..COINS).filter(|visit| now.fair >> visit & 1 == 1) {
                flips.leave_out(now.places[visit].into());
            }
        }
        if !settled {
            flips.go_on(coin, coins, looked.len() * COINS, &mut further);
        }
        flips.choose(words)
    }
}

impl<W: Words> WithSimd for LookFurther<'_, W> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        let first = self.looked;
        let visits = [self.visits, self.visits.draw_again(self.words)];
        let second = visits[1].look(self.coins);
        let found = if first.open == 0 { second.first_heads(&[first]) } else { None };
        found.unwrap_or_else(|| self.flip(visits, [first, second]))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::random::{Given, Source, Stream, uniform_below, uniform_below_starting};

    const VISITS: usize = 2 * COINS;

    /// All words that some coins may need, by what they are for.
    struct Bits {
        visits: Vec<u16>,
        beginnings_of_visits: Vec<u16>,
        beginnings: Vec<u16>,
        choice: u64,
        further: Vec<u64>,
    }

    impl Bits {
        /// In the order in which they are drawn.
        fn words(&self, coins: usize) -> Vec<u64> {
            let four = |four: &[u16]| four.iter().rev().fold(0, |w, &b| w << 16 | u64::from(b));
            let of = |all: &[u16]| all.chunks(4).map(four).collect::<Vec<_>>();
            let rounds = self.visits.chunks(COINS).zip(self.beginnings_of_visits.chunks(COINS));
            let rounds = rounds.flat_map(|(places, coins)| [of(places), of(coins)].concat());
            let visits = if coins > COINS { rounds.collect() } else { Vec::new() };
            [visits, of(&self.beginnings), vec![self.choice], self.further.clone()].concat()
        }
    }

    /// The same, one coin after the other and without haste: the place, in which round it was visited if
    /// it was, and whether a visit was passed over.
    fn oracle(
        coin: &ExpCoin,
        costs: &[u64],
        least: u64,
        bits: &Bits,
    ) -> (usize, (Option<usize>, bool)) {
        let flip = |place: usize, beginning: u16, further: usize| {
            let first = u64::from(beginning) << 48 | bits.further[further] >> 16;
            coin.flip(costs[place] - least, &mut Given(vec![first]))
        };
        let mut visited = BTreeSet::new();
        let (mut visits, mut passed_over) = (0, false);
        if costs.len() > COINS {
            visits = VISITS;
            for (i, &number) in bits.visits.iter().enumerate() {
                let product = u32::from(number) * costs.len() as u32;
                let fair = product % 65536 >= 65536 % costs.len() as u32;
                let place = (product / 65536) as usize;
                if !fair || !visited.insert(place) {
                    passed_over = true;
                } else if flip(place, bits.beginnings_of_visits[i], i) {
                    return (place, (Some(i / COINS), passed_over));
                }
            }
        }
        let left = (0..costs.len()).filter(|place| !visited.contains(place));
        let heads: Vec<usize> =
            left.filter(|&place| flip(place, bits.beginnings[place], visits + place)).collect();
        let chosen = uniform_below_starting(bits.choice, &mut Given(vec![]), heads.len() as u64);
        (heads[chosen as usize], (None, passed_over))
    }

    /// Which coin is picked is the same with sixteen at a time as with one after the other.
    #[test]
    fn many_coins_are_many_single_coins() {
        let mut words = Source::seeded(13).words_for_tests();
        let mut flips = AllFlips::default();
        let mut ways = BTreeMap::new();
        let mut longer = 0;
        for round in 0..40_000 {
            // Costs of up to some nats, over denominators of many sizes.
            let shift = (words.word() % 12) as u32;
            let factor = 1 + (words.word() % 1_000) as u32;
            let nats = 1 + words.word() % 40;
            let coin = ExpCoin::new((u64::from(factor) << (16 + shift)) / nats + 1);
            let n = 1 + uniform_below(&mut words, [16, 30, 300][round % 3]) as usize;
            let numbers: Vec<u64> = (0..n).map(|_| words.word() >> (48 - shift)).collect();
            let costs: Vec<u64> = numbers.iter().map(|d| d * u64::from(factor)).collect();
            let least = *costs.iter().min().expect("at least one");
            // Anywhere, or near the threshold.
            let beginning = |cost: u64, words: &mut Stream| {
                let p = (-((cost - least) as f64) / coin.denominator() as f64).exp() * 65536.0;
                let near = p + (words.word() % 64) as f64 - 32.0;
                if round % 2 == 0 { words.word() as u16 } else { near as u16 }
            };
            let visits: Vec<u16> = (0..VISITS).map(|_| words.word() as u16).collect();
            let at = |&number: &u16| costs[(u32::from(number) * n as u32 / 65536) as usize];
            let bits = Bits {
                beginnings_of_visits: visits.iter().map(|v| beginning(at(v), &mut words)).collect(),
                visits,
                beginnings: costs.iter().map(|&cost| beginning(cost, &mut words)).collect(),
                choice: words.word(),
                further: (0..VISITS + n).map(|_| words.word()).collect(),
            };
            let (expected, way) = oracle(&coin, &costs, least, &bits);
            *ways.entry(way).or_insert(0) += usize::from(n > COINS);

            let mut given = Given(bits.words(n));
            let all = given.0.len();
            let picked = coin.pick_heads(&costs, least, &mut flips, &mut given);
            assert_eq!(picked, expected, "{way:?}");
            longer += usize::from(all - given.0.len() > 8);
        }
        for way in [(Some(0), false), (Some(0), true), (Some(1), true), (None, true)] {
            assert!(ways[&way] > 500, "{ways:?}");
        }
        assert!((5_000..35_000).contains(&longer), "{longer}");
    }

    /// More than sixteen bits can number, of which only one can land heads.
    #[test]
    fn very_many_coins() {
        let mut words = Source::seeded(14).words_for_tests();
        let mut flips = AllFlips::default();
        let coin = ExpCoin::new(1 << 20);
        for (n, certain) in [(65_535, 40_000), (65_536, 65_535), (100_000, 70_123)] {
            let mut costs = vec![1 << 40; n];
            costs[certain] = 5;
            let picked = coin.pick_heads(&costs, 5, &mut flips, &mut words);
            assert_eq!(picked, certain);
        }
    }
}
