//! Plain counts with Laplace noise: what whoever holds all real walks could publish in place of a release, at the same price.
//!
//! Somebody who may see the real walks counts visits, moves, first states, and first and last states together. These four
//! tables share ε evenly. Each number gets noise of the Laplace law, wide enough for walks that differ in so many
//! states: one replaced state changes the visits of two states by one each, takes up to two moves away and puts as many in their
//! place, and changes one entry of the other tables for another. Then negative numbers are set to zero. Moves that the
//! public chain does not have are not counted.
//!
//! It is there to be compared with, and so in doubles: nothing of it is released.

use veilwalk::Chain;
use veilwalk::internal::random::Stream;
use veilwalk::random::Words;

use crate::shares::Shares;
use crate::statistics::Statistics;

/// Counts at the price of a release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlainCounts {
    /// ε for a walk.
    pub epsilon: f64,
    /// In how many states walks differ that the promise does not tell apart.
    pub substitutions: u32,
}

/// Up to so many pairs of states first and last states are counted together: each pair has noise of its own.
const MOST_PAIRS: usize = 4_000_000;

/// How many tables share ε.
const TABLES: f64 = 4.0;

impl PlainCounts {
    /// How wide the noise is on a table that changes by so much in all.
    fn width(self, sensitivity: f64) -> f64 {
        sensitivity * TABLES / self.epsilon
    }

    /// Noisy counts of so many walks with so many states in all, whose statistics are these.
    pub(crate) fn drawn(
        self,
        chain: &Chain,
        real: &Statistics,
        (walks, states): (usize, usize),
        words: &mut Stream,
    ) -> Statistics {
        let changed = f64::from(self.substitutions);
        let (visits, moves) = (self.width(2.0 * changed), self.width(4.0 * changed));
        // A walk has one first state, and one pair of a first and a last one.
        let ends = self.width(2.0);
        let list = |shares: &Option<Vec<f64>>, total: usize, width: f64, words: &mut Stream| {
            let shares = shares.as_ref()?;
            let noisy = |share: &f64| (share * total as f64 + laplace(width, words)).max(0.0);
            let counts: Vec<f64> = shares.iter().map(noisy).collect();
            let sum: f64 = counts.iter().sum();
            // Nothing is left of the counts: then they say nothing.
            let even = 1.0 / counts.len() as f64;
            Some(counts.iter().map(|count| if sum > 0.0 { count / sum } else { even }).collect())
        };
        let of_pairs = |shares: &Option<Shares>,
                        keys: &mut dyn Iterator<Item = u128>,
                        total: usize,
                        width: f64,
                        words: &mut Stream| {
            let shares = shares.as_ref()?;
            let noisy = |key| {
                let count = shares.of(key) * total as f64 + laplace(width, words);
                (key, count.max(0.0))
            };
            Some(Shares::of_counts(keys.map(noisy).collect()))
        };
        let each_move = &mut chain.states().flat_map(|from| {
            chain.successors(from).iter().map(move |&to| Statistics::pair(from, to))
        });
        let few = chain.len() * chain.len() <= MOST_PAIRS;
        let each_pair = &mut chain
            .states()
            .flat_map(|from| chain.states().map(move |to| Statistics::pair(from, to)));
        Statistics {
            visits: list(&real.visits, states, visits, words),
            moves: of_pairs(&real.moves, each_move, states - walks, moves, words),
            starts: list(&real.starts, walks, ends, words),
            trips: few.then(|| of_pairs(&real.trips, each_pair, walks, ends, words)).flatten(),
            ..Statistics::default()
        }
    }
}

/// Noise of the Laplace law of this width.
fn laplace(width: f64, words: &mut Stream) -> f64 {
    // In the open interval, so that the logarithm is finite.
    let u = ((words.word() >> 12) as f64 + 0.5) * 2f64.powi(-52);
    let centred = u - 0.5;
    -width * centred.signum() * (1.0 - 2.0 * centred.abs()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walks::Walks;
    use crate::{Measure, Yardstick};
    use veilwalk::{Source, StateId};

    fn with_words<T>(work: impl FnOnce(&mut Stream) -> T) -> T {
        let mut randomness = Source::seeded(5).open([7; 32]).unwrap();
        let key = randomness.walk(b"counts");
        work(randomness.at(&key, 0, None))
    }

    /// Half of the noise is below `width ln 2` in size, and it is as often above zero as below.
    #[test]
    fn noise_has_the_laplace_law() {
        with_words(|words| {
            let drawn: Vec<f64> = (0..200_000).map(|_| laplace(3.0, words)).collect();
            let share = |of: &dyn Fn(f64) -> bool| {
                drawn.iter().filter(|x| of(**x)).count() as f64 / drawn.len() as f64
            };
            assert!((share(&|x| x > 0.0) - 0.5).abs() < 0.005);
            assert!((share(&|x| x.abs() < 3.0 * 2f64.ln()) - 0.5).abs() < 0.005);
            // e^-3 of it is beyond three widths.
            assert!((share(&|x| x.abs() > 9.0) - (-3f64).exp()).abs() < 0.003);
        });
    }

    #[test]
    fn next_to_no_noise_gives_the_counts() {
        let chain = Chain::credit();
        let walk = |states: &[usize]| -> Vec<StateId> {
            states.iter().map(|&state| StateId::new(state)).collect()
        };
        let all = [walk(&[0, 1, 2]), walk(&[4, 4, 5, 8])];
        let walks: Walks = all.iter().map(Vec::as_slice).collect();
        let yard = Yardstick::new(&chain, &walks);
        let real = yard.statistics(&walks, None);
        let made = |epsilon| {
            let counts = PlainCounts { epsilon, substitutions: 1 };
            with_words(|words| counts.drawn(&chain, &real, (2, 7), words))
        };
        let off = |measure, epsilon| yard.figure(measure, &real, &made(epsilon)).unwrap();
        for measure in [
            Measure::VisitsVariation,
            Measure::MovesVariation,
            Measure::StartsVariation,
            Measure::TripsVariation,
        ] {
            assert!(off(measure, 1e9) < 1e-6, "{measure:?}");
            assert!(off(measure, 0.1) > 0.3, "{measure:?}");
        }
        assert!(made(1.0).patterns.is_none() && made(1.0).passing.is_none());
    }
}
