//! What a private fit costs, and how much of it goes where.

use std::num::NonZeroU32;

use thiserror::Error;

use crate::chain::Chain;
use crate::random::{DiscreteLaplace, SAMPLER_VERSION};
use crate::rational::Rational;

/// The price of a private fit: ε for one person added or removed, and how it is spent.
///
/// Unless it is changed, a count has a floor of one, and all of ε goes to the moves.
///
/// Beside the moves, each person may count once in three more tables: where one of the person's walks starts, where
/// one ends, and how long one is. Each has a share of ε, and the moves have the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FitTerms {
    epsilon: Rational,
    max_moves: NonZeroU32,
    starts_share: Rational,
    ends_share: Rational,
    lengths_share: Rational,
    longest: u32,
    floor: Rational,
}

/// Why something is not the price of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FitTermsError {
    /// ε is zero, or too little for so many moves.
    #[error(
        "epsilon {epsilon} is too little for {max_moves} moves of each person; give a larger epsilon or fewer moves"
    )]
    TooLittle {
        /// ε.
        epsilon: Rational,
        /// How many moves a person contributes.
        max_moves: NonZeroU32,
    },
    /// A share of ε that leaves nothing, or is nothing.
    #[error("the share of epsilon is {0}; give a number above 0 and below 1, such as 0.1")]
    Share(Rational),
    /// Shares of ε that leave nothing to the moves.
    #[error(
        "the shares of epsilon add up to {0}, which leaves nothing for moves; give smaller ones"
    )]
    NothingLeft(Rational),
    /// More classes of lengths than make sense.
    #[error(
        "walks of {0} moves are longer than the limit of {most}; longer walks may be counted as that long",
        most = FitTerms::LONGEST
    )]
    TooLong(u32),
    /// A floor of zero.
    #[error("the floor is 0, and a public move could become impossible; give a number above 0")]
    NoFloor,
}

impl FitTerms {
    /// The share of ε that goes to first states, to last states or to lengths where they are wanted and nothing
    /// else is said: one tenth each.
    pub const USUAL_SHARE: Rational = match Rational::new(1, 10) {
        Some(share) => share,
        None => Rational::HALF,
    };

    /// The longest walk that lengths may tell apart from longer ones.
    pub const LONGEST: u32 = 1_000_000;

    /// So much for each person, who contributes at most this many moves.
    ///
    /// # Errors
    ///
    /// If ε is zero, or too little to tell from it once it is spread over the moves.
    pub fn new(epsilon: Rational, max_moves: NonZeroU32) -> Result<Self, FitTermsError> {
        let none = Rational::ZERO;
        let terms = Self {
            epsilon,
            max_moves,
            starts_share: none,
            ends_share: none,
            lengths_share: none,
            longest: 0,
            floor: Rational::ONE,
        };
        terms.checked()
    }

    /// The same with noisy first states, for this share of ε.
    ///
    /// # Errors
    ///
    /// If it is not between zero and one, or nothing is left for moves.
    pub fn with_starts(self, share: Rational) -> Result<Self, FitTermsError> {
        Self { starts_share: proper(share)?, ..self }.checked()
    }

    /// The same with noisy last states, for this share of ε.
    ///
    /// # Errors
    ///
    /// As [`FitTerms::with_starts`].
    pub fn with_ends(self, share: Rational) -> Result<Self, FitTermsError> {
        Self { ends_share: proper(share)?, ..self }.checked()
    }

    /// The same with noisy lengths, for this share of ε. Walks of more moves than `longest` count as that long.
    ///
    /// # Errors
    ///
    /// As [`FitTerms::with_starts`], and if `longest` is beyond [`FitTerms::LONGEST`].
    pub fn with_lengths(self, share: Rational, longest: NonZeroU32) -> Result<Self, FitTermsError> {
        let longest = longest.get();
        if longest > Self::LONGEST {
            return Err(FitTermsError::TooLong(longest));
        }
        Self { lengths_share: proper(share)?, longest, ..self }.checked()
    }

    /// The same with this much added to every noisy count.
    ///
    /// # Errors
    ///
    /// If it is zero.
    pub fn with_floor(self, floor: Rational) -> Result<Self, FitTermsError> {
        if floor.is_zero() {
            return Err(FitTermsError::NoFloor);
        }
        Ok(Self { floor, ..self })
    }

    fn checked(self) -> Result<Self, FitTermsError> {
        let shares = self.shares();
        if shares >= Rational::ONE {
            return Err(FitTermsError::NothingLeft(shares));
        }
        let each = [self.starts_share, self.ends_share, self.lengths_share];
        let lost = |share: Rational| !share.is_zero() && self.rate_of(share).is_zero();
        if self.moves_rate().is_zero() || each.into_iter().any(lost) {
            let Self { epsilon, max_moves, .. } = self;
            return Err(FitTermsError::TooLittle { epsilon, max_moves });
        }
        Ok(self)
    }

    /// ε, for one person added or removed.
    #[must_use]
    pub fn epsilon(&self) -> Rational {
        self.epsilon
    }

    /// At most so many moves of each person are counted.
    #[must_use]
    pub fn max_moves(&self) -> NonZeroU32 {
        self.max_moves
    }

    /// The share of ε that goes to first states; zero if they are not released.
    #[must_use]
    pub fn starts_share(&self) -> Rational {
        self.starts_share
    }

    /// What is added to every noisy count.
    #[must_use]
    pub fn floor(&self) -> Rational {
        self.floor
    }

    /// The share of ε that goes to last states; zero if they are not released.
    #[must_use]
    pub fn ends_share(&self) -> Rational {
        self.ends_share
    }

    /// The share of ε that goes to lengths; zero if they are not released.
    #[must_use]
    pub fn lengths_share(&self) -> Rational {
        self.lengths_share
    }

    /// Walks with more moves than this count as that long; zero if lengths are not released.
    #[must_use]
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// At least what does not go to moves. Where it is rounded, moves get less, and nobody loses more.
    fn shares(&self) -> Rational {
        let sum = self.starts_share.add_rounding_up(self.ends_share);
        let sum = sum.and_then(|sum| sum.add_rounding_up(self.lengths_share));
        sum.unwrap_or(Rational::ONE)
    }

    /// The noise on counts to each of which a person adds at most one in all, for this share of ε.
    fn rate_of(&self, share: Rational) -> Rational {
        Rational::floor_of_products(
            [self.epsilon.numerator().into(), share.numerator().into()],
            [self.epsilon.denominator().into(), share.denominator().into()],
        )
    }

    /// How much noise the counts of moves have: one over its scale.
    #[must_use]
    pub fn moves_rate(&self) -> Rational {
        let share = self.shares();
        let rest = u128::from(share.denominator() - share.numerator());
        Rational::floor_of_products(
            [self.epsilon.numerator().into(), rest],
            [
                self.epsilon.denominator().into(),
                share.denominator().into(),
                self.max_moves.get().into(),
            ],
        )
    }

    /// How much noise the counts of first states have.
    #[must_use]
    pub fn starts_rate(&self) -> Rational {
        self.rate_of(self.starts_share)
    }

    /// How much noise the counts of last states have.
    #[must_use]
    pub fn ends_rate(&self) -> Rational {
        self.rate_of(self.ends_share)
    }

    /// How much noise the counts of lengths have.
    #[must_use]
    pub fn lengths_rate(&self) -> Rational {
        self.rate_of(self.lengths_share)
    }

    pub(super) fn noise_on_moves(&self) -> DiscreteLaplace {
        DiscreteLaplace::new(self.moves_rate()).expect("terms are checked")
    }

    pub(super) fn noise_on_starts(&self) -> Option<DiscreteLaplace> {
        DiscreteLaplace::new(self.starts_rate())
    }

    pub(super) fn noise_on_ends(&self) -> Option<DiscreteLaplace> {
        DiscreteLaplace::new(self.ends_rate())
    }

    pub(super) fn noise_on_lengths(&self) -> Option<DiscreteLaplace> {
        DiscreteLaplace::new(self.lengths_rate())
    }

    /// At least what is lost if all walks of a person are replaced by any others: `2ε`. `None` if that is
    /// beyond what can be counted.
    #[must_use]
    pub fn replaced_person(&self) -> Option<Rational> {
        self.epsilon.add_rounding_up(self.epsilon)
    }

    /// At least what is lost if one state of one walk is replaced. Lengths stay what they are.
    #[must_use]
    pub fn one_state(&self) -> Option<Rational> {
        let moves = u64::from(self.max_moves.get()).saturating_mul(2).min(4);
        let moves = self.moves_rate().multiply_rounding_up(Rational::whole(moves))?;
        let twice = |rate: Rational| rate.multiply_rounding_up(Rational::whole(2));
        let (starts, ends) = (twice(self.starts_rate())?, twice(self.ends_rate())?);
        let one_state = moves.add_rounding_up(starts)?.add_rounding_up(ends)?;
        Some(self.replaced_person().map_or(one_state, |all| all.min(one_state)))
    }

    /// What derived randomness depends on beside the key and the rows.
    pub(super) fn fingerprint(&self, graph: &Chain) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("veilwalk 2026 private fit v1");
        hasher.update(&SAMPLER_VERSION.to_le_bytes()).update(&graph.hash().0);
        for number in [self.epsilon, self.starts_share, self.floor] {
            hasher.update(&number.numerator().to_le_bytes());
            hasher.update(&number.denominator().to_le_bytes());
        }
        hasher.update(&self.max_moves.get().to_le_bytes());
        // Fits without these repeat what they were before there were any.
        if !self.ends_share.is_zero() || !self.lengths_share.is_zero() {
            for number in [self.ends_share, self.lengths_share] {
                hasher.update(&number.numerator().to_le_bytes());
                hasher.update(&number.denominator().to_le_bytes());
            }
            hasher.update(&self.longest.to_le_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}

/// A share that is one.
fn proper(share: Rational) -> Result<Rational, FitTermsError> {
    match share.is_zero() || share >= Rational::ONE {
        true => Err(FitTermsError::Share(share)),
        false => Ok(share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Rational {
        text.parse().unwrap()
    }

    fn terms(epsilon: &str, moves: u32) -> FitTerms {
        FitTerms::new(number(epsilon), moves.try_into().unwrap()).unwrap()
    }

    #[test]
    fn epsilon_is_spent_exactly() {
        let terms = terms("1", 20);
        assert_eq!((terms.moves_rate(), terms.starts_rate()), (number("1/20"), Rational::ZERO));
        let terms = terms.with_starts(FitTerms::USUAL_SHARE).unwrap();
        assert_eq!((terms.moves_rate(), terms.starts_rate()), (number("9/200"), number("1/10")));
        // 20 moves and one start make up for all of it.
        let all = terms.moves_rate().multiply_rounding_up(number("20")).unwrap();
        assert_eq!(all.add_rounding_up(terms.starts_rate()), Some(number("1")));
    }

    #[test]
    fn one_state_costs_less_than_the_person() {
        let one = terms("1", 20).with_starts(number("0.1")).unwrap();
        assert_eq!(one.one_state(), Some(number("0.38")), "four moves and two starts");
        assert_eq!(one.replaced_person(), Some(number("2")));
        assert_eq!(terms("1", 1).one_state(), Some(number("2")), "the one move there is, twice");
        assert_eq!(terms("1", 2).one_state(), Some(number("2")));
        assert_eq!(terms("1", 3).one_state(), Some(number("4/3")));
    }

    #[test]
    fn every_part_has_its_share() {
        let share = FitTerms::USUAL_SHARE;
        let all = terms("1", 20).with_starts(share).unwrap().with_ends(number("0.2")).unwrap();
        let all = all.with_lengths(share, NonZeroU32::MIN).unwrap();
        assert_eq!((all.moves_rate(), all.starts_rate()), (number("3/100"), number("0.1")));
        assert_eq!((all.ends_rate(), all.lengths_rate()), (number("0.2"), number("0.1")));
        // 20 moves, a start, an end and a length make up for all of it.
        assert_eq!(all.one_state(), Some(number("0.72")), "four moves, two starts, two ends");
        let third = number("1/3");
        let thirds = terms("1", 1).with_starts(third).unwrap().with_ends(third).unwrap();
        let none = thirds.with_lengths(third, NonZeroU32::MIN);
        assert_eq!(none, Err(FitTermsError::NothingLeft(Rational::ONE)));
        let long = NonZeroU32::new(FitTerms::LONGEST + 1).unwrap();
        assert!(matches!(all.with_lengths(share, long), Err(FitTermsError::TooLong(_))));
    }

    #[test]
    fn rates_that_do_not_fit_are_rounded_down() {
        let odd = terms("0.123456789012345", 999_983);
        let exact = 0.123_456_789_012_345 / 999_983.0;
        let rate = odd.moves_rate().as_f64();
        assert!(rate <= exact && rate > exact - 1.0 / (1u64 << 31) as f64, "{rate}");
    }

    #[test]
    fn what_is_no_price_is_refused() {
        let one = NonZeroU32::MIN;
        assert!(FitTerms::new(Rational::ZERO, one).is_err());
        assert!(FitTerms::new(number("1e-15"), one).is_err());
        assert!(terms("1", 1).with_starts(Rational::ONE).is_err());
        assert!(terms("1", 1).with_starts(Rational::ZERO).is_err());
        assert_eq!(terms("1", 1).with_floor(Rational::ZERO), Err(FitTermsError::NoFloor));
    }
}
