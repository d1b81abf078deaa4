//! What was observed after a step says more about it: the posterior of a step within a window.
//!
//! Let `β_s(x)` be how likely everything observed after step `s` is if the real state was `x` then. It
//! is one for the last step, and `β_s(x) = Σ P(x, x') ℓ_{s+1}(x') β_{s+1}(x')` before. The posterior of
//! `x_s` is the belief of that step times `β_s`, normalised: exact, over the states that were kept.
//!
//! Only ratios matter, so each step is divided by its largest term. Where doubles do not reach all the
//! same (the likely part of one step leads to the likely part of the next only with a probability below
//! 10⁻³⁰⁰), what was observed after that is left out.

use super::filter::Belief;
use super::moves::Moves;
use super::space::{BeliefSpace, Sums};
use crate::chain::StateId;

/// One observed step that waits for its answer. It takes 20 bytes for each state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// What was believed of the step when it was observed.
    pub(crate) belief: Belief,
    /// The likelihood of its observation for each of these states, up to a factor.
    pub(crate) factors: Vec<f64>,
}

impl Seen {
    /// What an update of the belief with this space has left.
    pub(crate) fn after_update(belief: &Belief, space: &BeliefSpace) -> Self {
        Self { belief: belief.clone(), factors: space.factors.clone() }
    }
}

/// One step back: takes `β` of the later step in `after`, and leaves the one for these states there.
fn look_back(
    law: &impl Moves,
    later: Option<&Seen>,
    states: &[StateId],
    after: &mut Vec<f64>,
    sums: &mut Sums,
) {
    let Some(later) = later else {
        after.clear();
        after.resize(states.len(), 1.0);
        return;
    };
    weigh(law, later, after, sums);
    gather(law, states, after, sums);
    sums.drain(|_, _| ());
}

/// Puts `ℓ(x') β(x')` of the later step into the sums, the largest being one.
fn weigh(law: &impl Moves, later: &Seen, after: &mut [f64], sums: &mut Sums) {
    let mut largest = 0.0;
    for (after, &factor) in after.iter_mut().zip(&later.factors) {
        *after *= factor;
        largest = if *after > largest { *after } else { largest };
    }
    sums.fit(law.states());
    for (&state, &after) in later.belief.states().iter().zip(after.iter()) {
        sums.add(state, if largest > 0.0 { after / largest } else { 1.0 });
    }
}

/// Adds up over the moves of each state what lies in the sums.
fn gather(law: &impl Moves, states: &[StateId], after: &mut Vec<f64>, sums: &Sums) {
    after.clear();
    after.extend(states.iter().map(|&from| {
        let moves = law.targets(from).iter().zip(law.probabilities(from));
        moves.fold(0.0, |sum, (&to, probability)| sum + probability * sums.get(to))
    }));
}

/// Goes back through a whole window, which may have been followed under any law of moves: replaces every
/// belief by its posterior, and tells `take` the posterior probability of every move between two steps
/// (from where, its place among the moves from there, and the probability).
pub(crate) fn smooth(
    law: &impl Moves,
    window: &mut [Seen],
    space: &mut BeliefSpace,
    mut take: impl FnMut(StateId, usize, f64),
) {
    let BeliefSpace { sums, after, posterior, .. } = space;
    for place in (0..window.len()).rev() {
        let (earlier, later) = window.split_at_mut(place + 1);
        let belief = &mut earlier[place].belief;
        match later.first() {
            None => {
                after.clear();
                after.resize(belief.states().len(), 1.0);
            }
            Some(later) => {
                weigh(law, later, after, sums);
                gather(law, belief.states(), after, sums);
                let weighed = belief.masses().iter().zip(after.iter());
                let total: f64 = weighed.map(|(mass, after)| mass * after).sum();
                if total > 0.0 {
                    for (&from, &mass) in belief.states().iter().zip(belief.masses()) {
                        let moves = law.targets(from).iter().zip(law.probabilities(from));
                        for (place, (&to, probability)) in moves.enumerate() {
                            let share = mass * probability * sums.get(to);
                            if share > 0.0 {
                                take(from, place, share / total);
                            }
                        }
                    }
                }
                sums.drain(|_, _| ());
            }
        }
        combine(belief.masses(), after, posterior);
        belief.set_masses(posterior);
    }
}

/// The posterior of the first step of a window given all of it, with the states of that step's belief.
pub(crate) fn posterior_of_first<'s>(
    law: &impl Moves,
    window: &[Seen],
    space: &'s mut BeliefSpace,
) -> &'s [f64] {
    let BeliefSpace { sums, after, posterior, .. } = space;
    let mut later: Option<&Seen> = None;
    for seen in window.iter().rev() {
        look_back(law, later, seen.belief.states(), after, sums);
        later = Some(seen);
    }
    if let Some(first) = later {
        combine(first.belief.masses(), after, posterior);
    }
    posterior
}

/// The product of a belief and `β`, normalised; the belief alone if nothing is left of it.
fn combine(masses: &[f64], after: &[f64], posterior: &mut Vec<f64>) {
    posterior.clear();
    posterior.extend(masses.iter().zip(after).map(|(mass, after)| mass * after));
    let total = posterior.iter().fold(0.0, |sum, mass| sum + mass);
    if total > 0.0 {
        posterior.iter_mut().for_each(|mass| *mass /= total);
    } else {
        posterior.copy_from_slice(masses);
    }
}
