//! The first few of many coins, in a uniformly random order.
//!
//! Each of sixteen visits draws the place of a coin and the first sixteen bits of its number. The place
//! is the upper half of the product of sixteen bits and the number of coins; a visit whose bits would
//! favour some places (Lemire 2019) is passed over, so that all places are equally likely. A visit to
//! a place where another one has been is passed over too. What remains is places drawn one after the
//! other, each equally likely among those that were not drawn before: the beginning of a uniformly
//! random order. Nearly always one of these coins lands heads, and those that would come after the first
//! one need not be known, so that most of many coins are never flipped.

use std::hint::black_box;

use pulp::{Arch, Simd, WithSimd};

use super::Words;
use super::flips::Coins;
use super::sixteen_bits::{COINS, bits, quarters};

/// Sixteen visits: the bits of their places, and the first ones of the coins there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visits {
    coins: u16,
    /// Four words for the places, and four for the coins.
    words: [[u64; 4]; 2],
}

impl Visits {
    /// Draws visits to this many coins. `None`, and nothing drawn, if they are so many that sixteen bits
    /// do not number them.
    #[inline(always)]
    pub(super) fn draw(coins: usize, words: &mut impl Words) -> Option<Self> {
        let coins = u16::try_from(coins).ok().filter(|&coins| usize::from(coins) > COINS)?;
        let mut drawn = [[0; 4]; 2];
        words.fill(drawn.as_flattened_mut());
        Some(Self { coins, words: drawn })
    }

    /// The first sixteen bits of the coin at this visit.
    pub(super) fn beginning(&self, visit: usize) -> u16 {
        quarters(&self.words[1])[visit]
    }

    /// The place of the first coin that lands heads, if sixteen bits are enough to find it.
    #[inline(always)]
    pub(super) fn first_heads(&self, coins: &impl Coins) -> Option<usize> {
        Arch::new().dispatch(FirstHeads { visits: self, coins })
    }

    /// What sixteen bits say of all the visits.
    pub(super) fn look(&self, coins: &impl Coins) -> Looked {
        Arch::new().dispatch(Look { visits: self, coins })
    }
}

/// What sixteen bits say of the visits. In each number there is a bit for each of them, the lowest for
/// the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looked {
    pub(super) places: [u16; COINS],
    /// The visits whose bits favour no place.
    pub(super) fair: u16,
    /// Those at which the coin lands heads for certain.
    pub(super) heads: u16,
    /// Those at which it is open.
    pub(super) open: u16,
}

impl Looked {
    /// The visits to the same place as this one.
    #[inline(always)]
    pub(super) fn same_place(&self, visit: usize) -> u16 {
        let place = self.places[visit];
        let mut same = [0u8; COINS];
        for (same, &other) in same.iter_mut().zip(&self.places) {
            *same = u8::from(other == place);
        }
        bits(&same) & self.fair
    }

    /// The place of the first visit with heads where no other one has been before. `None` if there is
    /// none, or if one before it is open.
    #[inline(always)]
    fn first_heads(&self) -> Option<usize> {
        let mut heads = self.heads;
        while heads != 0 {
            let visit = heads.trailing_zeros() as usize % COINS;
            let before = (1u16 << visit) - 1;
            if self.open & before != 0 {
                return None;
            }
            if self.same_place(visit) & before == 0 {
                return Some(self.places[visit].into());
            }
            heads &= heads - 1;
        }
        None
    }
}

/// [`Visits::look`], in whatever vector registers the machine has.
struct Look<'a, C> {
    visits: &'a Visits,
    coins: &'a C,
}

impl<C: Coins> WithSimd for Look<'_, C> {
    type Output = Looked;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Looked {
        let Self { visits: &Visits { coins: count, words: [where_to, beginnings] }, coins } = self;
        // For each place there are as many numbers whose product has a lower half of at least this.
        let least = ((1u32 << 16) % u32::from(count)) as u16;
        let numbers = quarters(&where_to);
        let (mut places, mut fair) = ([0u16; COINS], [0u8; COINS]);
        for i in 0..COINS {
            places[i] = ((u32::from(numbers[i]) * u32::from(count)) >> 16) as u16;
        }
        for i in 0..COINS {
            fair[i] = u8::from(numbers[i].wrapping_mul(count) >= least);
        }
        // Both are to stay whole: compilers would compute them one by one, since places are used so.
        let (places, fair) = (black_box(places), bits(&black_box(fair)));
        let lanes = coins.look_at(&places, &beginnings);
        Looked { places, fair, heads: bits(&lanes.heads) & fair, open: bits(&lanes.open) & fair }
    }
}

/// [`Visits::first_heads`], likewise.
struct FirstHeads<'a, C> {
    visits: &'a Visits,
    coins: &'a C,
}

impl<C: Coins> WithSimd for FirstHeads<'_, C> {
    type Output = Option<usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<usize> {
        Look { visits: self.visits, coins: self.coins }.with_simd(simd).first_heads()
    }
}
