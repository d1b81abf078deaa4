//! How many moves walks have: a public distribution, sampled exactly.

use thiserror::Error;

use super::running_totals::RunningTotals;
use crate::random::Words;

/// A distribution over numbers of moves, from none up to a longest walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkLengths {
    fewest: usize,
    /// One weight for each number of moves, from the fewest up.
    weights: RunningTotals,
}

/// Why numbers are not a distribution of lengths.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum WalkLengthsError {
    /// A probability that is not a finite number from zero up.
    #[error("the probability {value} of {moves} moves is not a finite number from zero up")]
    BadEntry {
        /// The number of moves.
        moves: usize,
        /// Its probability as given.
        value: f64,
    },
    /// The probabilities do not sum to one.
    #[error("the probabilities sum to {sum:.9}, not to 1")]
    Sum {
        /// What they sum to.
        sum: f64,
    },
}

impl WalkLengths {
    /// Every walk has so many moves.
    #[must_use]
    pub fn always(moves: usize) -> Self {
        Self { fewest: moves, weights: RunningTotals::uniform(1) }
    }

    /// Given as probabilities of no move, one move, two, and so on.
    ///
    /// # Errors
    ///
    /// If an entry is negative or not finite, or the sum is off by more than 1e-6.
    pub fn from_probabilities(probabilities: &[f64]) -> Result<Self, WalkLengthsError> {
        let bad = |&(_, value): &(usize, &f64)| !value.is_finite() || *value < 0.0;
        if let Some((moves, &value)) = probabilities.iter().enumerate().find(bad) {
            return Err(WalkLengthsError::BadEntry { moves, value });
        }
        // A sum of nothing is minus zero.
        let sum = probabilities.iter().sum::<f64>() + 0.0;
        if (sum - 1.0).abs() > 1e-6 {
            return Err(WalkLengthsError::Sum { sum });
        }
        Ok(Self { fewest: 0, weights: RunningTotals::of_shares(probabilities) })
    }

    /// The most moves that have a probability, which may be zero for some on the way.
    #[must_use]
    pub fn longest(&self) -> usize {
        let totals = self.weights.totals();
        self.fewest + totals.partition_point(|&upto| upto < self.weights.total())
    }

    /// The probability of so many moves.
    #[must_use]
    pub fn probability(&self, moves: usize) -> f64 {
        let place = moves.checked_sub(self.fewest);
        let place = place.filter(|&place| place < self.weights.totals().len());
        place.map_or(0.0, |place| self.weights.share(place))
    }

    /// Draws a number of moves.
    pub fn draw(&self, words: &mut impl Words) -> usize {
        self.fewest + self.weights.draw(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Source;

    #[test]
    fn draws_follow_the_weights() {
        let lengths = WalkLengths::from_probabilities(&[0.0, 0.25, 0.0, 0.75, 0.0]).unwrap();
        assert_eq!((lengths.longest(), lengths.probability(1)), (3, 0.25));
        assert_eq!((lengths.probability(2), lengths.probability(99)), (0.0, 0.0));
        let mut words = Source::seeded(7).words_for_tests();
        let mut counts = [0u32; 5];
        (0..40_000).for_each(|_| counts[lengths.draw(&mut words)] += 1);
        assert_eq!(counts[1] + counts[3], 40_000);
        // Five standard deviations of a binomial with p = 1/4.
        assert!((f64::from(counts[1]) - 10_000.0).abs() < 5.0 * 7500f64.sqrt(), "{counts:?}");
        let always = WalkLengths::always(3);
        assert!((0..100).all(|_| always.draw(&mut words) == 3));
        assert_eq!((always.longest(), always.probability(3), always.probability(2)), (3, 1.0, 0.0));
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        let error = |shares: &[f64]| WalkLengths::from_probabilities(shares).unwrap_err();
        assert_eq!(error(&[0.5]), WalkLengthsError::Sum { sum: 0.5 });
        assert_eq!(error(&[]), WalkLengthsError::Sum { sum: 0.0 });
        assert!(error(&[0.5, -0.5]).to_string().contains("of 1 moves"));
        assert!(error(&[f64::NAN]).to_string().contains("NaN"));
    }
}
