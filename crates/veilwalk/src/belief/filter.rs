//! The belief: where the real walk is, as far as the observations so far tell.
//!
//! `b(x) ← Σ b(z) P(z, x)` before an observation, `b(x) ← b(x) ℓ(x)`, normalised, after it. Together
//! with the observation's kernel the chain is a hidden Markov model that is known, so this is what
//! Bayes' rule gives: exact but for rounding, and for pruning.
//!
//! # Pruning
//!
//! After an observation, states with less than a small part of the largest mass are dropped: far from
//! every observation a belief has a long tail that costs time and changes no answer. Let `K_s` be the
//! states kept at step `s`. The pruned belief is the exact law of `x_t` given the observations *and* that
//! every `x_s` is in its `K_s`. So it is within `Pr[some x_s is not in K_s | observations]` of the exact
//! one, in total variation. `dropped` adds up, over the steps, the share of the mass that was dropped.
//! Over observations that follow the model, its mean bounds the mean of that probability: the sum over
//! `s` of what is dropped at `s` is at least `Pr[the first x_s outside is this one | y_1 … y_s]`, and
//! the mean of that does not change as more is observed. A single walk can be off by more, if later
//! observations point to what was dropped.

use pulp::Arch;

use super::moves::Moves;
use super::passes::{Select, Weigh, Weighed};
use super::space::{BeliefSpace, bits};
use crate::chain::{Chain, StateId};
use crate::mechanism::LogRow;

/// A distribution over the states, by those that have mass.
///
/// It takes 12 bytes for each of them. Masses are positive and finite, and sum to one up to rounding.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Belief {
    /// Ascending.
    states: Vec<StateId>,
    /// The mass of each of them.
    masses: Vec<f64>,
}

/// What an observation did to a belief.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Updated {
    /// The share of the mass that was dropped.
    pub(crate) dropped: f64,
    /// Whether the belief could explain what was observed.
    pub(crate) explained: Explained,
    /// The largest logarithm of a likelihood.
    top: f64,
    /// The mass after the observation, with likelihoods relative to the largest.
    total: f64,
}

impl Updated {
    fn of(weighed: Weighed, dropped: f64) -> Self {
        let Weighed { top, total, .. } = weighed;
        let possible = top > f64::NEG_INFINITY;
        let explained = if possible { Explained::Yes } else { Explained::No };
        Self { dropped: dropped / total, explained, top, total }
    }

    /// The logarithm of the observation's probability, up to the common term of its likelihoods.
    pub(crate) fn log_evidence(&self) -> f64 {
        self.top + libm::log(self.total)
    }
}

/// Whether a belief could explain an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explained {
    /// At least one of its states could lead to it.
    Yes,
    /// None could: the belief stays what was predicted.
    No,
}

impl Belief {
    /// The chain's initial distribution.
    pub(crate) fn initial(chain: &Chain) -> Self {
        let mut belief = Self::default();
        for state in chain.states() {
            let mass = chain.initial().probability(state);
            if mass > 0.0 {
                belief.states.push(state);
                belief.masses.push(mass);
            }
        }
        belief
    }

    /// All mass on one state.
    pub(crate) fn at(state: StateId) -> Self {
        Self { states: vec![state], masses: vec![1.0] }
    }

    /// These masses of states, ascending; they are made to sum to one.
    pub(crate) fn of_masses(masses: impl IntoIterator<Item = (StateId, f64)>) -> Self {
        let mut belief = Self::default();
        for (state, mass) in masses.into_iter().filter(|(_, mass)| *mass > 0.0) {
            belief.push(state, mass);
        }
        let total: f64 = belief.masses.iter().sum();
        belief.masses.iter_mut().for_each(|mass| *mass /= total);
        belief
    }

    /// The belief with these states and masses; `None` if they are not one on a chain of this many
    /// states.
    pub(super) fn from_parts(
        states: Vec<StateId>,
        masses: Vec<f64>,
        chain_states: usize,
    ) -> Option<Self> {
        let ascending = states.windows(2).all(|pair| pair[0] < pair[1]);
        let known = states.last().is_some_and(|last| last.index() < chain_states);
        let positive = masses.iter().all(|&mass| mass > 0.0 && mass <= 1.0 + Self::ROUNDING);
        let whole = (masses.iter().sum::<f64>() - 1.0).abs() <= Self::ROUNDING;
        let fits = states.len() == masses.len() && ascending && known && positive && whole;
        fits.then_some(Self { states, masses })
    }

    /// More than the masses can be off one by, together. Rows of a chain are.
    const ROUNDING: f64 = 1e-6;

    /// The states that have mass, ascending.
    pub(crate) fn states(&self) -> &[StateId] {
        &self.states
    }

    /// Their masses, in the same order.
    pub(crate) fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// Makes it a copy of another one.
    pub(super) fn copy_from(&mut self, other: &Self, space: &mut BeliefSpace) {
        space.belief.states.clone_from(&other.states);
        space.belief.masses.clone_from(&other.masses);
        std::mem::swap(self, &mut space.belief);
    }

    /// Replaces the masses by others of the same states.
    pub(crate) fn set_masses(&mut self, masses: &[f64]) {
        self.masses.copy_from_slice(masses);
    }

    /// Moves on by one step of the chain.
    ///
    /// A row sums to one, so the largest mass passes on a fair part of itself: something always remains,
    /// though products of the smallest numbers there are may vanish.
    pub(crate) fn predict(&mut self, law: &impl Moves, space: &mut BeliefSpace) {
        let BeliefSpace { sums, belief: moved, .. } = space;
        sums.fit(law.states());
        moved.clear();
        // The sums are the same either way: only how states in use are found differs.
        if self.moves_widely(law) {
            sums.add_moves(law, &self.states, &self.masses);
            sums.drain_all(law.states(), &mut moved.states, &mut moved.masses);
        } else {
            for (&from, &mass) in self.states.iter().zip(&self.masses) {
                let moves = law.targets(from).iter().zip(law.probabilities(from));
                moves.for_each(|(&to, &probability)| sums.add(to, mass * probability));
            }
            sums.drain(|state, mass| {
                if mass > 0.0 {
                    moved.push(state, mass);
                }
            });
        }
        std::mem::swap(self, moved);
    }

    /// Whether looking at every state is quicker than noting which ones are moved to.
    pub(super) fn moves_widely(&self, law: &impl Moves) -> bool {
        let (mut moves, most) = (0, law.states() / Self::FEW);
        self.states.iter().any(|&from| {
            moves += law.targets(from).len();
            moves >= most
        })
    }

    /// It is, with more moves than one for so many states of the chain.
    const FEW: usize = 8;

    /// Moves on by one step of the chain and takes in an observation: what [`Belief::predict`] and
    /// [`Belief::update`] do, to the last bit, without a list of all that is predicted. (The share that was
    /// dropped and the total are sums in another order.) For a belief that
    /// [moves widely](Belief::moves_widely).
    pub(super) fn predict_and_update(
        &mut self,
        law: &impl Moves,
        row: LogRow<'_>,
        threshold: f64,
        space: &mut BeliefSpace,
    ) -> Updated {
        let BeliefSpace { sums, belief: kept, logs, likelihoods, factors, chosen, .. } = space;
        sums.fit(law.states());
        sums.add_moves(law, &self.states, &self.masses);
        let masses = sums.all(law.states());
        row.fill_where(masses, logs);
        likelihoods.resize(masses.len(), 1.0);
        let weighed = Arch::new().dispatch(Weigh { logs, masses, factors: likelihoods });
        let least = Self::least(threshold, weighed.largest);
        let dropped = Arch::new().dispatch(Select { masses, least, chosen });
        kept.take_chosen(chosen, StateId::new, masses, likelihoods, factors);
        masses.fill(0.0);
        std::mem::swap(self, kept);
        Updated::of(weighed, dropped)
    }

    /// Takes in an observation: the logarithm of its likelihood for each state, in order, up to a common
    /// term. Minus infinity is impossible, and so is what is not a number. Drops the states whose mass
    /// is then below `threshold` times the largest. Leaves the likelihoods that were used of those that
    /// are kept in `space.factors`.
    ///
    /// # Panics
    ///
    /// If there is not one logarithm for each state.
    pub(crate) fn update(
        &mut self,
        log_likelihoods: &[f64],
        threshold: f64,
        space: &mut BeliefSpace,
    ) -> Updated {
        assert_eq!(log_likelihoods.len(), self.states.len(), "one likelihood for each state");
        let BeliefSpace { belief: kept, likelihoods, factors, chosen, .. } = space;
        let Self { states, masses } = self;
        likelihoods.resize(masses.len(), 1.0);
        let weigh = Weigh { logs: log_likelihoods, masses, factors: likelihoods };
        let weighed = Arch::new().dispatch(weigh);
        // The likeliest state has mass, and the factor one: there is always something left.
        let least = Self::least(threshold, weighed.largest);
        let dropped = Arch::new().dispatch(Select { masses, least, chosen });
        kept.take_chosen(chosen, |place| states[place], masses, likelihoods, factors);
        std::mem::swap(self, kept);
        Updated::of(weighed, dropped)
    }

    /// What has no mass is not kept, whatever the threshold is.
    fn least(threshold: f64, largest: f64) -> f64 {
        let least = threshold * largest;
        if least > 0.0 { least } else { f64::from_bits(1) }
    }

    /// Becomes the states at the chosen places, normalised, and puts their likelihoods into `factors`.
    fn take_chosen(
        &mut self,
        chosen: &[u64],
        state: impl Fn(usize) -> StateId,
        masses: &[f64],
        likelihoods: &[f64],
        factors: &mut Vec<f64>,
    ) {
        let count = chosen.iter().map(|word| word.count_ones() as usize).sum();
        self.states.resize(count, StateId::new(0));
        self.masses.resize(count, 0.0);
        factors.resize(count, 0.0);
        let (mut sum, mut kept) = (0.0, 0);
        for (word, &chosen) in chosen.iter().enumerate() {
            for bit in bits(chosen) {
                let place = 64 * word + bit;
                (self.states[kept], self.masses[kept]) = (state(place), masses[place]);
                factors[kept] = likelihoods[place];
                sum += masses[place];
                kept += 1;
            }
        }
        self.masses.iter_mut().for_each(|mass| *mass /= sum);
        self.give_back_memory();
    }

    /// Keeps at most so many states, the heaviest, normalised, with their likelihoods in `space.factors`. Gives
    /// the share of the mass that was dropped.
    pub(crate) fn keep_heaviest(&mut self, most: usize, space: &mut BeliefSpace) -> f64 {
        if self.states.len() <= most {
            return 0.0;
        }
        let mut places: Vec<usize> = (0..self.states.len()).collect();
        // Of equals the first, so that it is the same everywhere.
        places.sort_by(|&a, &b| self.masses[b].total_cmp(&self.masses[a]).then(a.cmp(&b)));
        places.truncate(most);
        places.sort_unstable();
        for (to, &from) in places.iter().enumerate() {
            self.states[to] = self.states[from];
            self.masses[to] = self.masses[from];
            space.factors[to] = space.factors[from];
        }
        self.states.truncate(most);
        self.masses.truncate(most);
        space.factors.truncate(most);
        let kept = self.masses.iter().fold(0.0, |sum, mass| sum + mass);
        self.masses.iter_mut().for_each(|mass| *mass /= kept);
        if kept < 1.0 { 1.0 - kept } else { 0.0 }
    }

    fn clear(&mut self) {
        self.states.clear();
        self.masses.clear();
    }

    fn push(&mut self, state: StateId, mass: f64) {
        self.states.push(state);
        self.masses.push(mass);
    }

    /// A walk that has become sharp does not hold on to the memory of a belief of everything.
    fn give_back_memory(&mut self) {
        if self.states.capacity() > 4 * self.states.len() + 64 {
            self.states.shrink_to_fit();
            self.masses.shrink_to_fit();
        }
    }
}
