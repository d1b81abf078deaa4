//! Forward and backward through one walk.

use super::emission::EmissionSpace;
use super::law::Law;
use super::{Inference, UnlikelyRelease};
use crate::belief::{Belief, BeliefSpace, Explained, Moves, Seen, largest, smooth};
use crate::chain::StateId;
use crate::mechanism::Start;
use crate::outcome::Outcome;

/// Working space, for any number of walks one after the other.
#[derive(Debug, Default)]
pub struct InferenceSpace {
    pub(super) emission: EmissionSpace,
    pub(super) beliefs: BeliefSpace,
    pub(super) logs: Vec<f64>,
}

/// What is known of a real walk from all that was released for it.
#[derive(Clone, Debug)]
pub struct Posterior {
    steps: Vec<Marginal>,
    log_likelihood: f64,
    dropped: f64,
    surprises: u64,
}

/// How likely each state is at one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Marginal(Seen);

impl Marginal {
    /// The states that are possible, ascending.
    #[must_use]
    pub fn states(&self) -> &[StateId] {
        self.0.belief.states()
    }

    /// Their probabilities, in the same order.
    #[must_use]
    pub fn probabilities(&self) -> &[f64] {
        self.0.belief.masses()
    }

    /// The probability of a state.
    #[must_use]
    pub fn probability(&self, state: StateId) -> f64 {
        self.states().binary_search(&state).map_or(0.0, |place| self.probabilities()[place])
    }

    /// The likeliest state and its probability; of equals the first.
    #[must_use]
    pub fn likeliest(&self) -> (StateId, f64) {
        let best = largest(self.probabilities());
        (self.states()[best], self.probabilities()[best])
    }

    /// How likely the draw of this step was for each of the states, up to a factor.
    pub(super) fn factors(&self) -> &[f64] {
        &self.0.factors
    }
}

impl Posterior {
    /// One law for each step, the first state included.
    #[must_use]
    pub fn steps(&self) -> &[Marginal] {
        &self.steps
    }

    /// The logarithm of the probability of what was released, up to a term that does not depend on how real
    /// walks move. Surprises are left out.
    #[must_use]
    pub fn log_likelihood(&self) -> f64 {
        self.log_likelihood
    }

    /// The shares of the mass that were dropped, added up over the steps. Averaged over walks that follow the
    /// law, it bounds how far the posteriors are off in total variation.
    #[must_use]
    pub fn dropped(&self) -> f64 {
        self.dropped
    }

    /// At how many steps what was released contradicted everything that was believed.
    #[must_use]
    pub fn surprises(&self) -> u64 {
        self.surprises
    }
}

/// What was believed at each step of a walk when only the steps before it, and it, were known.
#[derive(Clone, Debug, Default)]
pub(super) struct Filtered {
    pub(super) seen: Vec<Seen>,
    pub(super) log_likelihood: f64,
    pub(super) dropped: f64,
    pub(super) surprises: u64,
}

impl Inference {
    /// What follows from a release about the real walk: from the released states of a mechanism that draws moves, or
    /// from the observations of one that observes.
    ///
    /// # Errors
    ///
    /// If the mechanism cannot have drawn these states.
    pub fn posterior<D: Copy + Into<Outcome>>(
        &self,
        drawn: &[D],
        space: &mut InferenceSpace,
    ) -> Result<Posterior, UnlikelyRelease> {
        let drawn = Outcome::all(drawn);
        self.emission.check(&drawn)?;
        let mut filtered = self.filter(&self.law, &drawn, space);
        smooth(&self.law, &mut filtered.seen, &mut space.beliefs, |_, _, _| ());
        let Filtered { seen, log_likelihood, dropped, surprises } = filtered;
        let steps = seen.into_iter().map(Marginal).collect();
        Ok(Posterior { steps, log_likelihood, dropped, surprises })
    }

    /// Forward through a walk, under any law of real walks.
    pub(super) fn filter(
        &self,
        law: &Law,
        drawn: &[Outcome],
        space: &mut InferenceSpace,
    ) -> Filtered {
        let InferenceSpace { emission, beliefs, logs } = space;
        let mut out = Filtered { seen: Vec::with_capacity(drawn.len()), ..Filtered::default() };
        let mut belief = match self.emission.start() {
            // Disclosed: whatever the law says of first states.
            Start::First => Belief::at(drawn[0].state().expect("it was checked")),
            Start::Private | Start::Initial | Start::At(_) => law.first_belief(),
        };
        self.emission.begin(emission);
        for step in 0..drawn.len() {
            if step > 0 {
                belief.predict(law, beliefs);
            }
            self.emission.fill(drawn, step, belief.states(), emission, logs);
            let updated = belief.update(logs, self.dropped_below, beliefs);
            out.dropped += updated.dropped + belief.keep_heaviest(self.most_states(), beliefs);
            match updated.explained {
                Explained::Yes => out.log_likelihood += updated.log_evidence(),
                Explained::No => out.surprises += 1,
            }
            out.seen.push(Seen::after_update(&belief, beliefs));
        }
        out
    }

    /// The likeliest of all real walks, given all that was released; of equals one.
    #[must_use]
    pub fn likeliest_walk(&self, posterior: &Posterior) -> Vec<StateId> {
        let law = &self.law;
        let mut place = vec![0u32; law.initial().len()];
        let mut before: Vec<Vec<u32>> = Vec::with_capacity(posterior.steps.len());
        let mut scores: Vec<f64> = Vec::new();
        for (t, marginal) in posterior.steps.iter().enumerate() {
            let (states, factors) = (marginal.states(), marginal.factors());
            let mut best = vec![f64::NEG_INFINITY; states.len()];
            let mut from = vec![0; states.len()];
            if t == 0 {
                // Alone among the states, a disclosed one need not be a start of the law.
                for (best, state) in best.iter_mut().zip(states) {
                    let first = law.initial()[state.index()];
                    *best = if states.len() == 1 { 0.0 } else { first.ln() };
                }
            } else {
                for (number, state) in (1..).zip(states) {
                    place[state.index()] = number;
                }
                let earlier = posterior.steps[t - 1].states();
                for ((number, &state), score) in (0..).zip(earlier).zip(&scores) {
                    for (to, p) in law.targets(state).iter().zip(law.probabilities(state)) {
                        let Some(to) = place[to.index()].checked_sub(1) else { continue };
                        let reached = score + p.ln();
                        if reached > best[to as usize] {
                            (best[to as usize], from[to as usize]) = (reached, number);
                        }
                    }
                }
                states.iter().for_each(|state| place[state.index()] = 0);
            }
            for (best, factor) in best.iter_mut().zip(factors) {
                *best += factor.ln();
            }
            scores = best;
            before.push(from);
        }
        let mut here = largest(&scores);
        let mut walk = Vec::with_capacity(posterior.steps.len());
        for (marginal, before) in posterior.steps.iter().zip(&before).rev() {
            walk.push(marginal.states()[here]);
            here = before[here] as usize;
        }
        walk.reverse();
        walk
    }
}
