//! Many coins, flipped together, and one of those that land heads.

use super::pick_heads::{Coins, FurtherWords};
use super::quick_test::{COINS, bits, quarters};
use super::{ExpCoin, Words, uniform_below_starting};

/// All coins, flipped together: the first bits of each, and how they landed.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllFlips {
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

impl AllFlips {
    /// Draws the first sixteen bits of this many coins, and a word to choose by. Four coins share one
    /// word, and more than that is hardly ever needed.
    #[inline]
    pub(super) fn draw(&mut self, coins: usize, words: &mut impl Words) {
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

    /// Settles the coins as far as sixteen bits do, and says whether that is all of them.
    #[inline(always)]
    pub(super) fn settle(&mut self, coins: &Coins<'_>) -> bool {
        let count = self.coins.div_ceil(COINS);
        let (sixteens, words) = (&mut self.sixteens[..count], &self.words[..count]);
        // The last sixteen may be fewer.
        let last = u16::MAX >> (count * COINS - self.coins);
        let (mut heads_of_all, mut any_open) = (0u32, 0);
        for i in 0..count {
            let lanes = coins.look_from(i, &words[i]);
            let there = if i + 1 == count { last } else { u16::MAX };
            let (heads, open) = (bits(&lanes.heads) & there, bits(&lanes.open) & there);
            sixteens[i] = Sixteen { heads, open };
            heads_of_all = heads_of_all.wrapping_add(heads.count_ones());
            any_open |= open;
        }
        self.heads = heads_of_all;
        any_open == 0
    }

    /// Goes on with the coins that sixteen bits have not settled; the further word of the first has
    /// the number `from`.
    #[cold]
    #[inline(never)]
    pub(super) fn go_on<W: Words>(
        &mut self,
        coin: &ExpCoin,
        coins: &Coins<'_>,
        from: usize,
        further: &mut FurtherWords<'_, W>,
    ) {
        let sixteens = self.words.iter().zip(&mut self.sixteens);
        for ((beginnings, lands), first) in sixteens.zip((0..self.coins).step_by(COINS)) {
            for i in (0..COINS).filter(|i| lands.open >> i & 1 == 1) {
                let beginning = quarters(beginnings)[i];
                let place = first + i;
                let a = coins.exponent(place);
                let heads = coin.flip_further(beginning, a, from + place, further);
                lands.heads |= u16::from(heads) << i;
                self.heads += u32::from(heads);
            }
        }
    }

    /// Leaves out a coin that is settled already, and has landed tails.
    pub(super) fn leave_out(&mut self, place: usize) {
        let sixteen = &mut self.sixteens[place / COINS];
        let bit = 1 << (place % COINS);
        self.heads -= u32::from(sixteen.heads & bit != 0);
        sixteen.heads &= !bit;
        sixteen.open &= !bit;
    }

    /// The place of a uniformly random one of those that landed heads.
    ///
    /// # Panics
    ///
    /// If none did.
    #[inline]
    pub(super) fn choose(&self, words: &mut impl Words) -> usize {
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
