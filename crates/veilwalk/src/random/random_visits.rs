//! The first few of many coins, in a uniformly random order.
//!
//! They are visited in rounds of sixteen. Each visit draws the place of a coin and the first sixteen
//! bits of its number. The place is the upper half of the product of sixteen bits and the number of
//! coins; a visit whose bits would favour some places (Lemire 2019) is passed over, so that all places
//! are equally likely. A visit to a place where another one has been is passed over too. What remains is
//! places drawn one after the other, each equally likely among those that were not drawn before: the
//! beginning of a uniformly random order. Nearly always one of these coins lands heads, and those that
//! would come after the first one need not be known, so that most of many coins are never flipped.

use std::hint::black_box;

use super::Words;
use super::pick_heads::Coins;
use super::quick_test::{COINS, bits, quarters};

/// Sixteen visits: the bits of their places, and the first ones of the coins there.
#[derive(Clone, Copy, Debug)]
pub(super) struct RandomVisits {
    coins: u16,
    /// Four words for the places, and four for the coins.
    words: [[u64; 4]; 2],
}

impl RandomVisits {
    /// Draws visits to this many coins. `None`, and nothing drawn, if they are so few that all may as
    /// well be flipped, or so many that sixteen bits do not number them.
    #[inline(always)]
    pub(super) fn draw(coins: usize, words: &mut impl Words) -> Option<Self> {
        let coins = u16::try_from(coins).ok().filter(|&coins| usize::from(coins) > COINS)?;
        let mut drawn = [[0; 4]; 2];
        words.fill(drawn.as_flattened_mut());
        Some(Self { coins, words: drawn })
    }

    /// Draws another round.
    #[inline(always)]
    pub(super) fn draw_again(&self, words: &mut impl Words) -> Self {
        let mut again = *self;
        words.fill(again.words.as_flattened_mut());
        again
    }

    /// The first sixteen bits of the coin at this visit.
    pub(super) fn beginning(&self, visit: usize) -> u16 {
        quarters(&self.words[1])[visit]
    }

    /// What sixteen bits say of all the visits.
    #[inline(always)]
    pub(super) fn look(&self, coins: &Coins<'_>) -> Looked {
        let [where_to, beginnings] = &self.words;
        // For each place there are as many numbers whose product has a lower half of at least this.
        let least = ((1u32 << 16) % u32::from(self.coins)) as u16;
        let numbers = quarters(where_to);
        let (mut places, mut fair) = ([0u16; COINS], [0u8; COINS]);
        for i in 0..COINS {
            places[i] = ((u32::from(numbers[i]) * u32::from(self.coins)) >> 16) as u16;
        }
        for i in 0..COINS {
            fair[i] = u8::from(numbers[i].wrapping_mul(self.coins) >= least);
        }
        // Both are to stay whole: compilers would compute them one by one, since places are used so.
        let (places, fair) = (black_box(places), bits(&black_box(fair)));
        let lanes = coins.look_at(&places, beginnings);
        Looked { places, fair, heads: bits(&lanes.heads) & fair, open: bits(&lanes.open) & fair }
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
    /// The visits to this place.
    #[inline(always)]
    fn visits_to(&self, place: u16) -> u16 {
        let mut same = [0u8; COINS];
        for (same, &other) in same.iter_mut().zip(&self.places) {
            *same = u8::from(other == place);
        }
        // Kept whole, as above.
        bits(&black_box(same)) & self.fair
    }

    /// Whether there was a visit to the same place before this one, here or among the `earlier`.
    #[inline(always)]
    pub(super) fn is_repeated(&self, visit: usize, earlier: &[Looked]) -> bool {
        let place = self.places[visit];
        let before = (1u16 << visit) - 1;
        self.visits_to(place) & before != 0
            || earlier.iter().any(|looked| looked.visits_to(place) != 0)
    }

    /// The place of the first visit with heads where none has been before, here or among the `earlier`.
    /// `None` if there is none, or if one before it is open.
    #[inline(always)]
    pub(super) fn first_heads(&self, earlier: &[Looked]) -> Option<usize> {
        let mut heads = self.heads;
        while heads != 0 {
            let visit = heads.trailing_zeros() as usize % COINS;
            if self.open & ((1u16 << visit) - 1) != 0 {
                return None;
            }
            if !self.is_repeated(visit, earlier) {
                return Some(self.places[visit].into());
            }
            heads &= heads - 1;
        }
        None
    }
}
