//! Scratch memory for beliefs: a number for each state, and which of them are in use.
//!
//! One is enough for any number of walks. Between uses it holds nothing of them.

use super::filter::Belief;
use super::moves::Moves;
use super::tracker::AnswerSpace;
use crate::chain::StateId;

/// Memory that steps of walks share, so that a step allocates nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct BeliefSpace {
    /// Sums by state.
    pub(super) sums: Sums,
    /// The belief that a walk is about to have. The two change places, so that the memory for what is
    /// predicted, which is much, stays here, and walks have that for what they keep.
    pub(super) belief: Belief,
    /// The logarithm of each state's likelihood.
    pub(super) logs: Vec<f64>,
    /// The likelihood of each state that was predicted, the largest being one.
    pub(super) likelihoods: Vec<f64>,
    /// The likelihood of each state of a belief, the largest being one.
    pub(super) factors: Vec<f64>,
    /// A bit for each state of a belief that is kept.
    pub(super) chosen: Vec<u64>,
    /// The posterior of a step with what was observed after it.
    pub(super) posterior: Vec<f64>,
    /// How likely what was observed afterwards is from each state, up to a factor.
    pub(super) after: Vec<f64>,
    /// For answers.
    pub(super) answer: AnswerSpace,
}

/// A number for each state, nearly all of them zero.
///
/// Adding is as quick as in an array, and what is not zero is found in order without looking at every
/// state: a bit for each state says that it is in use, and a bit for each 64 of those that one of them
/// is. So taking all sums costs their number, and one look for each 4,096 states of the chain.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// All zero between uses, as are the bits.
    numbers: Vec<f64>,
    used: Vec<u64>,
    used_words: Vec<u64>,
}

#[cfg(test)]
impl BeliefSpace {
    /// How many candidates the last answer was chosen from in the end.
    pub(super) fn answered_from(&self) -> usize {
        self.answer.places.len()
    }
}

impl Sums {
    /// Makes room for a chain of this many states.
    pub(super) fn fit(&mut self, states: usize) {
        if self.numbers.len() < states {
            self.numbers.resize(states, 0.0);
            self.used.resize(states.div_ceil(64), 0);
            self.used_words.resize(self.used.len().div_ceil(64), 0);
        }
    }

    /// Adds to the sum of a state.
    #[inline]
    pub(super) fn add(&mut self, state: StateId, term: f64) {
        let place = state.index();
        self.numbers[place] += term;
        let word = &mut self.used[place / 64];
        if *word == 0 {
            self.used_words[place / 4096] |= 1 << (place / 64 % 64);
        }
        *word |= 1 << (place % 64);
    }

    /// Adds to each state's sum what moves there of these states' masses, without a note that it is in use:
    /// for [`Sums::drain_all`] or [`Sums::all`].
    pub(super) fn add_moves(&mut self, law: &impl Moves, states: &[StateId], masses: &[f64]) {
        for (&from, &mass) in states.iter().zip(masses) {
            self.add_all_unnoted(law.targets(from), law.probabilities(from), mass);
        }
    }

    /// The sums of the first so many states. They are to be zero again afterwards.
    pub(super) fn all(&mut self, chain_states: usize) -> &mut [f64] {
        &mut self.numbers[..chain_states]
    }

    /// Adds shares of a mass to the sums of different states.
    #[inline]
    fn add_all_unnoted(&mut self, states: &[StateId], shares: &[f64], mass: f64) {
        let numbers = &mut self.numbers[..];
        for (state, share) in states.iter().zip(shares) {
            numbers[state.index()] += mass * share;
        }
    }

    /// Takes out all sums of the first so many states by looking at each of them, and puts those that are
    /// not zero in place of what is in the two lists.
    pub(super) fn drain_all(
        &mut self,
        chain_states: usize,
        states: &mut Vec<StateId>,
        masses: &mut Vec<f64>,
    ) {
        // What lies there is written over.
        states.resize(chain_states, StateId::new(0));
        masses.resize(chain_states, 0.0);
        let mut kept = 0;
        let (eights, rest) = self.numbers[..chain_states].as_chunks_mut::<8>();
        let mut eight: [u32; 8] = std::array::from_fn(|i| i as u32);
        for sums in eights {
            let both =
                (states[kept..].first_chunk_mut::<8>(), masses[kept..].first_chunk_mut::<8>());
            // There is room: no more was kept than was looked at.
            let (Some(states), Some(masses)) = both else { unreachable!("room for eight") };
            let eight_states: &[StateId; 8] = bytemuck::cast_ref(&eight);
            // Often all of them are in use.
            if sums.iter().fold(true, |all, &sum| all & (sum > 0.0)) {
                (*states, *masses) = (*eight_states, *sums);
                kept += 8;
            } else {
                kept += push_positive(eight_states, sums, states, masses);
            }
            *sums = [0.0; 8];
            // The chain has fewer than 2³² states, so nobody looks at these where they wrap around.
            eight = eight.map(|place| place.wrapping_add(8));
        }
        let place = chain_states - rest.len();
        for (place, sum) in (place..).zip(rest) {
            (states[kept], masses[kept]) = (StateId::new(place), *sum);
            kept += usize::from(*sum > 0.0);
            *sum = 0.0;
        }
        states.truncate(kept);
        masses.truncate(kept);
    }

    /// The sum of a state.
    #[inline]
    pub(super) fn get(&self, state: StateId) -> f64 {
        self.numbers[state.index()]
    }

    /// Takes out all sums, from the first state to the last.
    pub(super) fn drain(&mut self, mut take: impl FnMut(StateId, f64)) {
        for (outer, words) in self.used_words.iter_mut().enumerate() {
            for inner in bits(std::mem::take(words)) {
                let word = 64 * outer + inner;
                for bit in bits(std::mem::take(&mut self.used[word])) {
                    let place = 64 * word + bit;
                    take(StateId::new(place), std::mem::take(&mut self.numbers[place]));
                }
            }
        }
    }
}

/// Puts those of eight sums that are not zero first, with their states, and says how many there are.
#[inline(always)]
fn push_positive(
    eight: &[StateId; 8],
    sums: &[f64; 8],
    states: &mut [StateId; 8],
    masses: &mut [f64; 8],
) -> usize {
    // Each is written, and written over by the next one if it is zero: a branch would be guessed wrong often.
    let mut kept = 0;
    for (&state, &sum) in eight.iter().zip(sums) {
        (states[kept & 7], masses[kept & 7]) = (state, sum);
        kept += usize::from(sum > 0.0);
    }
    kept
}

/// The places of the ones, from the lowest up.
#[inline]
pub(super) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_come_out_in_order_and_leave_nothing() {
        let mut sums = Sums::default();
        sums.fit(9000);
        for _ in 0..2 {
            for (state, term) in
                [(8999, 1.0), (0, 0.5), (63, 2.0), (64, 3.0), (0, 0.25), (4096, 0.0)]
            {
                sums.add(StateId::new(state), term);
            }
            assert_eq!(sums.get(StateId::new(0)), 0.75);
            let mut taken = Vec::new();
            sums.drain(|state, sum| taken.push((state.index(), sum)));
            assert_eq!(taken, [(0, 0.75), (63, 2.0), (64, 3.0), (4096, 0.0), (8999, 1.0)]);
        }
        sums.drain(|state, _| panic!("{state:?} was left"));
        assert!(sums.numbers.iter().all(|&sum| sum == 0.0));
    }

    /// With and without a note of what is in use.
    #[test]
    fn sums_are_the_same_however_they_are_found() {
        let (mut noted, mut unnoted) = (Sums::default(), Sums::default());
        let mut number = 1u64;
        let mut next = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (number >> 33) as usize
        };
        for states in [1, 7, 8, 64, 301] {
            for rows in [1, 3, 40] {
                noted.fit(states);
                unnoted.fit(states);
                for _ in 0..rows {
                    let moves: Vec<StateId> =
                        (0..states).filter(|_| next() % 3 == 0).map(StateId::new).collect();
                    let shares: Vec<f64> =
                        moves.iter().map(|_| (next() % 5) as f64 / 7.0).collect();
                    let mass = next() as f64;
                    let terms = moves.iter().zip(&shares);
                    terms.for_each(|(&state, share)| noted.add(state, mass * share));
                    unnoted.add_all_unnoted(&moves, &shares, mass);
                }
                let mut expected = Vec::new();
                noted.drain(|state, sum| expected.extend((sum > 0.0).then_some((state, sum))));
                // What was in the lists before goes.
                let (mut found, mut sums) = (vec![StateId::new(5)], vec![0.5; 3]);
                unnoted.drain_all(states, &mut found, &mut sums);
                let found: Vec<_> = found.into_iter().zip(sums).collect();
                assert_eq!(found, expected);
                assert!(unnoted.numbers.iter().all(|&sum| sum == 0.0));
            }
        }
    }
}
