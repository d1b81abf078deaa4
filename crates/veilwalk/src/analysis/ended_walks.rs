//! Walks of a chain that have given lengths and end in given places.
//!
//! A chain knows where walks go, and neither where they stop nor when. Here the number n of moves and the first state
//! x₀ are drawn first, each from its own law. The rest is drawn from the chain's own walks of n moves from x₀, of which
//! one that ends in y counts `w(y)` times:
//!
//! `P(x₁ … x_n | x₀, n) ∝ P(x₁|x₀) ⋯ P(x_n|x_{n−1}) · w(x_n)`
//!
//! With `h₀ = w` and `h_k = P·h_{k−1}`, a move with k more to come after it goes from x to y with a probability
//! proportional to `P(y|x)·h_k(y)`: the whole walk has the law above, and is drawn forward.
//!
//! The weights make the law of the last state the given one. They are found by scaling (Sinkhorn 1967): the law of
//! the last state under w is computed, and every weight is multiplied by what is wanted over what is there. Among all laws
//! with these starts, lengths and ends, the one that comes out is the nearest to the chain's own (in relative entropy;
//! Csiszár 1975). Where no law has all three, such as walks without a move that should end where none starts, scaling does
//! not settle. Weights keep within a factor of 10⁹ of each other, and the best that were seen are used.
//!
//! In doubles, as [`OwnWalks`](super::OwnWalks): these walks are nobody's.

use thiserror::Error;

use super::Origin;
use crate::chain::{Chain, Initial, StateId, WalkLengths};
use crate::random::Words;
use crate::watch::{Stage, Stopped, Watch, report};

/// Draws walks of a chain with given lengths and last states.
#[derive(Clone, Debug)]
pub struct EndedWalks<'c> {
    chain: &'c Chain,
    origin: Origin,
    lengths: WalkLengths,
    /// `h_k`, one after another, each with an entry for every state.
    ahead: Vec<f64>,
    off: f64,
}

/// Why walks cannot be made to end in given places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndedWalksError {
    /// The tables would not fit.
    #[error(
        "last states of walks of up to {moves} moves on {states} states need more memory than the limit of 1 GiB; \
         give shorter walks, or no last states"
    )]
    TooLarge {
        /// The most moves of a walk.
        moves: usize,
        /// The states of the chain.
        states: usize,
    },
    /// It was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Rounds of scaling.
const ROUNDS: usize = 50;
/// Near enough: the total variation between the law of last states and the given one.
const NEAR: f64 = 1e-6;
/// No weight is a smaller share of the largest.
const LEAST_WEIGHT: f64 = 1e-9;
/// Entries of the tables, of eight bytes each.
const MOST_ENTRIES: usize = 1 << 27;

impl<'c> EndedWalks<'c> {
    /// Walks from `origin` with these lengths, whose last states have the law `ends`.
    ///
    /// # Errors
    ///
    /// If the tables are too large, or the watcher stops the work.
    ///
    /// # Panics
    ///
    /// If `ends` is a law over another number of states.
    pub fn new(
        chain: &'c Chain,
        origin: Origin,
        lengths: WalkLengths,
        ends: &Initial,
        watch: Watch<'_>,
    ) -> Result<Self, EndedWalksError> {
        let (states, moves) = (chain.len(), lengths.longest());
        assert_eq!(ends.running_totals().len(), states, "a law over the chain's states");
        let entries = moves.checked_add(1).and_then(|rows| rows.checked_mul(states));
        let Some(entries) = entries.filter(|&entries| entries <= MOST_ENTRIES) else {
            return Err(EndedWalksError::TooLarge { moves, states });
        };
        let wanted: Vec<f64> = chain.states().map(|state| ends.probability(state)).collect();
        let mut walks = Self { chain, origin, lengths, ahead: vec![0.0; entries], off: f64::MAX };
        let mut weights = vec![1.0; states];
        let mut best = weights.clone();
        for round in 0..ROUNDS {
            report(watch, Stage::Ends, round, ROUNDS)?;
            walks.look_ahead(&weights);
            let found = walks.last_states();
            let apart = found.iter().zip(&wanted).map(|(found, wanted)| (found - wanted).abs());
            let off = apart.sum::<f64>() / 2.0;
            if off < walks.off {
                walks.off = off;
                best.copy_from_slice(&weights);
            }
            if off < NEAR {
                break;
            }
            scale(&mut weights, &wanted, &found);
        }
        walks.look_ahead(&best);
        Ok(walks)
    }

    /// How far the law of last states is from the given one, in total variation.
    #[must_use]
    pub fn ends_off(&self) -> f64 {
        self.off
    }

    /// Draws a walk.
    pub fn walk(&self, words: &mut impl Words) -> Vec<StateId> {
        let mut here = match self.origin {
            Origin::Initial => self.chain.initial().draw(words),
            Origin::At(state) => state,
        };
        let moves = self.lengths.draw(words);
        let mut walk = Vec::with_capacity(moves + 1);
        walk.push(here);
        for left in (0..moves).rev() {
            here = self.next(here, self.row(left), words);
            walk.push(here);
        }
        walk
    }

    fn next(&self, from: StateId, ahead: &[f64], words: &mut impl Words) -> StateId {
        let (successors, shares) = (self.chain.successors(from), self.chain.probabilities(from));
        let weight = |place: usize| shares[place] * ahead[successors[place].index()];
        let total: f64 = (0..shares.len()).map(weight).sum();
        let u = (words.word() >> 11) as f64 * 2f64.powi(-53) * total;
        let mut upto = 0.0;
        let place = (0..shares.len()).find(|&place| {
            upto += weight(place);
            u < upto
        });
        successors[place.unwrap_or(shares.len() - 1)]
    }

    fn row(&self, left: usize) -> &[f64] {
        &self.ahead[left * self.chain.len()..][..self.chain.len()]
    }

    /// Fills in `h_k` for these weights.
    fn look_ahead(&mut self, weights: &[f64]) {
        let states = self.chain.len();
        self.ahead[..states].copy_from_slice(weights);
        for left in 1..=self.lengths.longest() {
            let (before, after) = self.ahead.split_at_mut(left * states);
            let before = &before[(left - 1) * states..];
            for (state, entry) in self.chain.states().zip(after) {
                let (to, p) = (self.chain.successors(state), self.chain.probabilities(state));
                *entry = to.iter().zip(p).map(|(to, p)| p * before[to.index()]).sum();
            }
        }
    }

    /// The law of the last state. Walks of n moves from x have `P(n)·P(x)/h_n(x)` in all to give to their ways; moved
    /// forward n times and weighed by `w`, that is where they end. All lengths move together, the longest first.
    fn last_states(&self) -> Vec<f64> {
        let states = self.chain.len();
        let mut moving = vec![0.0; states];
        for left in (0..=self.lengths.longest()).rev() {
            let share = self.lengths.probability(left);
            for (state, ahead) in self.chain.states().zip(self.row(left)) {
                let start = match self.origin {
                    Origin::Initial => self.chain.initial().probability(state),
                    Origin::At(at) => f64::from(u8::from(at == state)),
                };
                moving[state.index()] += share * start / ahead;
            }
            if left > 0 {
                let mut moved = vec![0.0; states];
                for from in self.chain.states() {
                    let (to, p) = (self.chain.successors(from), self.chain.probabilities(from));
                    let there = moving[from.index()];
                    to.iter().zip(p).for_each(|(to, p)| moved[to.index()] += there * p);
                }
                moving = moved;
            }
        }
        moving.iter().zip(self.row(0)).map(|(moved, weight)| moved * weight).collect()
    }
}

/// Multiplies every weight by what is wanted over what was found.
fn scale(weights: &mut [f64], wanted: &[f64], found: &[f64]) {
    for ((weight, wanted), found) in weights.iter_mut().zip(wanted).zip(found) {
        // Nothing ends where nothing leads: any weight will do there.
        if *found > 0.0 {
            *weight *= wanted / found;
        }
    }
    let largest = weights.iter().copied().fold(0.0, f64::max);
    weights.iter_mut().for_each(|weight| *weight = (*weight / largest).max(LEAST_WEIGHT));
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::random::Source;
    use crate::watch::unwatched;

    /// A chain of five states with its own starts.
    fn chain() -> Chain {
        let mut builder = crate::chain::ChainBuilder::new(crate::chain::Entries::Probabilities);
        let states = ["a", "b", "c", "d", "e"].map(|label| builder.state(label));
        for (from, to, p) in [
            (0, 1, 0.5),
            (0, 2, 0.5),
            (1, 1, 0.2),
            (1, 3, 0.8),
            (2, 3, 0.3),
            (2, 4, 0.7),
            (3, 0, 0.9),
            (3, 4, 0.1),
            (4, 0, 0.4),
            (4, 2, 0.6),
        ] {
            builder.transition(states[from], states[to], p).unwrap();
        }
        let chain = builder.build(Default::default()).unwrap().0;
        let starts = Initial::from_probabilities(&chain, &[0.5, 0.2, 0.1, 0.1, 0.1]).unwrap();
        chain.with_initial(starts)
    }

    fn lengths() -> WalkLengths {
        WalkLengths::from_probabilities(&[0.05, 0.0, 0.25, 0.4, 0.2, 0.1]).unwrap()
    }

    /// All walks of the chain with up to so many moves, each with the chain's probability after its start.
    fn all_walks(chain: &Chain, most: usize) -> Vec<(Vec<StateId>, f64)> {
        let mut walks: Vec<_> = chain.states().map(|state| (vec![state], 1.0)).collect();
        let mut from = 0;
        for _ in 0..most {
            let upto = walks.len();
            for number in from..upto {
                let (walk, p) = walks[number].clone();
                let last = walk[walk.len() - 1];
                for &to in chain.successors(last) {
                    let more = walk.iter().copied().chain([to]).collect();
                    walks.push((more, p * chain.probability(last, to)));
                }
            }
            from = upto;
        }
        walks
    }

    /// The law of whole walks, from its formula: every walk is written down.
    fn law(walks: &EndedWalks<'_>) -> HashMap<Vec<StateId>, f64> {
        let all = all_walks(walks.chain, walks.lengths.longest());
        let weight = |walk: &[StateId]| walks.row(0)[walk[walk.len() - 1].index()];
        let mut sums: HashMap<(StateId, usize), f64> = HashMap::new();
        for (walk, p) in &all {
            *sums.entry((walk[0], walk.len())).or_default() += p * weight(walk);
        }
        let initial = walks.chain.initial();
        let share = |(walk, p): (Vec<StateId>, f64)| {
            let first = initial.probability(walk[0]) * walks.lengths.probability(walk.len() - 1);
            let share = first * p * weight(&walk) / sums[&(walk[0], walk.len())];
            (walk, share)
        };
        all.into_iter().map(share).filter(|(_, share)| *share > 0.0).collect()
    }

    fn sums_by(law: &HashMap<Vec<StateId>, f64>, of: impl Fn(&[StateId]) -> usize) -> Vec<f64> {
        let mut sums = vec![0.0; 6];
        law.iter().for_each(|(walk, share)| sums[of(walk)] += share);
        sums
    }

    fn near(found: &[f64], wanted: &[f64]) {
        let apart = found.iter().zip(wanted).map(|(found, wanted)| (found - wanted).abs());
        assert!(apart.fold(0.0, f64::max) < 1e-5, "{found:?} is not {wanted:?}");
    }

    #[test]
    fn starts_lengths_and_ends_are_those_that_were_given() {
        let chain = chain();
        let ends = Initial::from_probabilities(&chain, &[0.1, 0.1, 0.1, 0.6, 0.1]).unwrap();
        let walks = EndedWalks::new(&chain, Origin::Initial, lengths(), &ends, &unwatched).unwrap();
        assert!(walks.ends_off() < 1e-6, "{}", walks.ends_off());
        let law = law(&walks);
        near(&sums_by(&law, |walk| walk[0].index()), &[0.5, 0.2, 0.1, 0.1, 0.1]);
        near(&sums_by(&law, |walk| walk.len() - 1), &[0.05, 0.0, 0.25, 0.4, 0.2, 0.1]);
        near(&sums_by(&law, |walk| walk[walk.len() - 1].index()), &[0.1, 0.1, 0.1, 0.6, 0.1]);
    }

    /// What is drawn has the law that is written down.
    #[test]
    fn walks_have_the_exact_law() {
        let chain = chain();
        let ends = Initial::from_probabilities(&chain, &[0.3, 0.1, 0.1, 0.1, 0.4]).unwrap();
        let walks = EndedWalks::new(&chain, Origin::Initial, lengths(), &ends, &unwatched).unwrap();
        let law = law(&walks);
        let (mut words, draws) = (Source::seeded(5).words_for_tests(), 400_000);
        let mut seen: HashMap<Vec<StateId>, u32> = HashMap::new();
        for _ in 0..draws {
            *seen.entry(walks.walk(&mut words)).or_default() += 1;
        }
        assert!(seen.keys().all(|walk| law.contains_key(walk)));
        for (walk, share) in &law {
            let (seen, expected) = (seen.get(walk).copied().unwrap_or(0), share * draws as f64);
            let off = (f64::from(seen) - expected).abs();
            assert!(off < 6.0 * expected.sqrt() + 4.0, "{walk:?}: {seen} of {expected}");
        }
    }

    /// Where the ends are those of the chain anyway, nothing changes.
    #[test]
    fn ends_that_are_the_chains_own_leave_it_alone() {
        let chain = chain();
        let mut own = vec![0.0; chain.len()];
        for (walk, p) in all_walks(&chain, 3).into_iter().filter(|(walk, _)| walk.len() == 4) {
            own[walk[3].index()] += chain.initial().probability(walk[0]) * p;
        }
        let ends = Initial::from_probabilities(&chain, &own).unwrap();
        let three = WalkLengths::always(3);
        let walks = EndedWalks::new(&chain, Origin::Initial, three, &ends, &unwatched).unwrap();
        let largest = walks.row(0).iter().copied().fold(0.0, f64::max);
        assert!(walks.row(0).iter().all(|weight| *weight > largest * (1.0 - 1e-9)));
    }

    /// Walks without a move end where they start, whatever is wanted. The others make up for it.
    #[test]
    fn what_cannot_be_is_come_near_to() {
        let chain = chain();
        let ends = Initial::at(StateId::new(3), chain.len());
        let walks = EndedWalks::new(&chain, Origin::Initial, lengths(), &ends, &unwatched).unwrap();
        let law = law(&walks);
        let last = sums_by(&law, |walk| walk[walk.len() - 1].index());
        // Some two moves lead from nowhere to d either, and 45 in 1,000 walks have no move and start elsewhere.
        let plain = EndedWalks {
            ahead: vec![1.0; walks.ahead.len()],
            ..EndedWalks::new(&chain, Origin::Initial, lengths(), &ends, &unwatched).unwrap()
        };
        let without = sums_by(&self::law(&plain), |walk| walk[walk.len() - 1].index());
        assert!(last[3] > 2.0 * without[3] && last[3] < 0.955, "{last:?} and {without:?}");
        assert!((walks.ends_off() - (1.0 - last[3])).abs() < 1e-6, "{}", walks.ends_off());
        let from = EndedWalks::new(
            &chain,
            Origin::At(StateId::new(0)),
            WalkLengths::always(2),
            &ends,
            &unwatched,
        );
        let (from, mut words) = (from.unwrap(), Source::seeded(5).words_for_tests());
        for _ in 0..1000 {
            let walk = from.walk(&mut words);
            assert_eq!((walk[0].index(), walk[2].index()), (0, 3));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let chain = chain();
        let ends = Initial::uniform(chain.len());
        let long = WalkLengths::always(usize::MAX);
        let error = EndedWalks::new(&chain, Origin::Initial, long, &ends, &unwatched).unwrap_err();
        assert!(error.to_string().contains("1 GiB"), "{error}");
        let stop = |_| std::ops::ControlFlow::Break(());
        let stopped = EndedWalks::new(&chain, Origin::Initial, lengths(), &ends, &stop);
        assert_eq!(stopped.unwrap_err(), EndedWalksError::Stopped(Stopped));
    }
}
