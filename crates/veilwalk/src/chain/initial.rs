//! Where the walks of a chain start: a public distribution, sampled exactly. How a release starts is in
//! `mechanism::first_state`.

use thiserror::Error;

use super::running_totals::RunningTotals;
use super::{Chain, NotConverged, StateId};
use crate::random::Words;

/// A distribution over the states, held as whole-number weights so that a draw from it is exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initial {
    /// One weight for each state.
    weights: RunningTotals,
}

/// Why numbers are not an initial distribution.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InitialError {
    /// A probability that is not a finite number from zero up.
    #[error("the probability {value} of {state:?} is not a finite number from zero up")]
    BadEntry {
        /// The state's label.
        state: String,
        /// Its probability as given.
        value: f64,
    },
    /// The probabilities do not sum to one.
    #[error("the probabilities sum to {sum:.9}, not to 1")]
    Sum {
        /// What they sum to.
        sum: f64,
    },
    /// Not one probability for each state.
    #[error("there are {given} initial probabilities for {states} states")]
    Length {
        /// How many were given.
        given: usize,
        /// How many there should be.
        states: usize,
    },
    /// The stationary distribution could not be computed.
    #[error(transparent)]
    NotConverged(#[from] NotConverged),
}

impl Initial {
    /// Every state with the same probability.
    #[must_use]
    pub fn uniform(states: usize) -> Self {
        Self { weights: RunningTotals::uniform(states) }
    }

    /// Always this state.
    #[must_use]
    pub fn at(state: StateId, states: usize) -> Self {
        Self { weights: RunningTotals::at(state.index(), states) }
    }

    /// The chain's stationary distribution.
    ///
    /// # Errors
    ///
    /// If it could not be computed.
    pub fn stationary(chain: &Chain) -> Result<Self, InitialError> {
        Self::from_probabilities(chain, &chain.stationary()?)
    }

    /// A distribution given as probabilities, one for each state.
    ///
    /// # Errors
    ///
    /// If an entry is negative or not finite, or the sum is off by more than 1e-6.
    pub fn from_probabilities(chain: &Chain, probabilities: &[f64]) -> Result<Self, InitialError> {
        if probabilities.len() != chain.len() {
            return Err(InitialError::Length { given: probabilities.len(), states: chain.len() });
        }
        for (state, &value) in chain.states().zip(probabilities) {
            if !value.is_finite() || value < 0.0 {
                return Err(InitialError::BadEntry { state: chain.label(state).into(), value });
            }
        }
        let sum: f64 = probabilities.iter().sum();
        if (sum - 1.0).abs() > 1e-6 {
            return Err(InitialError::Sum { sum });
        }
        Ok(Self { weights: RunningTotals::of_shares(probabilities) })
    }

    /// Running totals of the weights, one for each state: the exact distribution in numbers.
    #[must_use]
    pub fn running_totals(&self) -> &[u64] {
        self.weights.totals()
    }

    /// The distribution with these running totals; `None` if they go down or end at zero.
    #[must_use]
    pub fn from_running_totals(totals: Vec<u64>) -> Option<Self> {
        Some(Self { weights: RunningTotals::of_totals(totals)? })
    }

    /// The probability of a state.
    #[must_use]
    pub fn probability(&self, state: StateId) -> f64 {
        self.weights.share(state.index())
    }

    /// The one state that every walk starts from, if there is only one.
    #[must_use]
    pub fn only(&self) -> Option<StateId> {
        let places = 0..self.weights.totals().len();
        let mut positive = places.filter(|&place| self.weights.weight(place) > 0);
        let first = positive.next()?;
        positive.next().is_none().then_some(StateId::new(first))
    }

    /// Draws a state.
    pub fn draw(&self, words: &mut impl Words) -> StateId {
        StateId::new(self.weights.draw(words))
    }

    pub(super) fn hash_into(&self, number: &mut impl FnMut(u64)) {
        self.weights.totals().iter().for_each(|&n| number(n));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Source;

    #[test]
    fn draws_follow_the_weights() {
        let chain = Chain::credit();
        let mut p = vec![0.0; 9];
        (p[2], p[5], p[8]) = (0.25, 0.75 - 1e-30, 1e-30);
        let initial = Initial::from_probabilities(&chain, &p).unwrap();
        assert!(initial.probability(StateId::new(8)) > 0.0, "rare, not lost");
        assert_eq!(initial.probability(StateId::new(0)), 0.0);
        let mut words = Source::seeded(7).words_for_tests();
        let mut counts = [0u32; 9];
        for _ in 0..40_000 {
            counts[initial.draw(&mut words).index()] += 1;
        }
        assert_eq!(counts[2] + counts[5], 40_000);
        // five standard deviations of a binomial with p = 1/4
        assert!((f64::from(counts[2]) - 10_000.0).abs() < 5.0 * 7500f64.sqrt(), "{counts:?}");
    }

    #[test]
    fn one_state_and_uniform() {
        let at = Initial::at(StateId::new(3), 5);
        assert_eq!(at.only(), Some(StateId::new(3)));
        assert_eq!(Initial::uniform(5).only(), None);
        assert_eq!(Initial::uniform(1).only(), Some(StateId::new(0)));
        let mut words = Source::seeded(7).words_for_tests();
        assert!((0..100).all(|_| at.draw(&mut words) == StateId::new(3)));
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        let chain = Chain::credit();
        let mut p = vec![0.0; 9];
        p[0] = 0.5;
        assert_eq!(Initial::from_probabilities(&chain, &p), Err(InitialError::Sum { sum: 0.5 }));
        p[1] = -0.5;
        assert!(
            Initial::from_probabilities(&chain, &p).unwrap_err().to_string().contains("\"Aa\"")
        );
        assert!(Initial::from_probabilities(&chain, &p[1..]).is_err());
    }
}
