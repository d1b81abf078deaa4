//! What was observed after a step says more about it: the posterior of a step within a window.
//!
//! Let `β_s(x)` be how likely everything observed after step `s` is if the real state was `x` then. It
//! is one for the last step, and `β_s(x) = Σ P(x, x') ℓ_{s+1}(x') β_{s+1}(x')` before. The posterior of
//! `x_s` is the belief of that step times `β_s`, normalised: exact, over the states that were kept.
//!
//! Only ratios matter, so each step is divided by its largest term. Where doubles do not reach all the
//! same (the likely part of one step leads to the likely part of the next only with a probability below
//! 10⁻³⁰⁰), what was observed after that is left out.

use std::collections::VecDeque;

use super::filter::Belief;
use super::space::{BeliefSpace, Sums};
use crate::chain::{Chain, StateId};

/// One observed step that waits for its answer. It takes 20 bytes for each state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// What was believed of the step when it was observed.
    pub(super) belief: Belief,
    /// The likelihood of its observation for each of these states, up to a factor.
    pub(super) factors: Vec<f64>,
}

/// Leaves the posterior of the first step of a window, given all of it, in `space.posterior`.
pub(super) fn first_posterior(chain: &Chain, window: &VecDeque<Seen>, space: &mut BeliefSpace) {
    let BeliefSpace { sums, after, posterior, .. } = space;
    let mut later: Option<&Seen> = None;
    for seen in window.iter().rev() {
        look_back(chain, later, seen.belief.states(), after, sums);
        later = Some(seen);
    }
    if let Some(first) = later {
        combine(first.belief.masses(), after, posterior);
    }
}

/// Replaces the belief of every step of a window by its posterior given all of it.
pub(super) fn all_posteriors(chain: &Chain, window: &mut VecDeque<Seen>, space: &mut BeliefSpace) {
    let BeliefSpace { sums, after, posterior, .. } = space;
    for place in (0..window.len()).rev() {
        look_back(chain, window.get(place + 1), window[place].belief.states(), after, sums);
        let belief = &mut window[place].belief;
        combine(belief.masses(), after, posterior);
        belief.set_masses(posterior);
    }
}

/// One step back: takes `β` of the later step in `after`, and leaves the one for these states there.
fn look_back(
    chain: &Chain,
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
    let mut largest = 0.0;
    for (after, &factor) in after.iter_mut().zip(&later.factors) {
        *after *= factor;
        largest = if *after > largest { *after } else { largest };
    }
    sums.fit(chain.len());
    for (&state, &after) in later.belief.states().iter().zip(after.iter()) {
        sums.add(state, if largest > 0.0 { after / largest } else { 1.0 });
    }
    after.clear();
    after.extend(states.iter().map(|&from| {
        let moves = chain.successors(from).iter().zip(chain.probabilities(from));
        moves.fold(0.0, |sum, (&to, probability)| sum + probability * sums.get(to))
    }));
    sums.drain(|_, _| ());
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
