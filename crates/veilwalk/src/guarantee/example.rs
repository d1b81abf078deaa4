//! An example from the user's own chain: two walks that differ in one state, and how well a release
//! tells them apart. `in_words` makes the sentence of it.
//!
//! The factor compares these two walks. It does not bound what somebody who knows the chain learns about
//! that one state: they infer it from the states before and after it, too.

#[cfg(feature = "serde")]
use serde::Serialize;

use super::loss::{pair_loss, promised_reach};
use crate::chain::StateId;
use crate::distance::OnDemand;
use crate::mechanism::Mechanism;
use crate::nats::Nats;

/// Two states, and how well a release tells two walks apart that differ in one step only, where one
/// has this state and the other has that.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Example {
    /// A state.
    pub real: String,
    /// Another one.
    pub other: String,
    /// Their symmetric distance.
    pub distance_nats: f64,
    /// Whether the promise covers replacing one by the other.
    pub covered: Covered,
    /// The loss of doing so, rounded up.
    pub loss: f64,
    /// The odds between the two walks change by at most this factor: `exp(loss)`.
    pub odds_factor: f64,
}

/// Whether a promise covers a pair of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Covered {
    /// They are within the radius, or substitutions are counted.
    Yes,
    /// They are too far apart.
    No,
}

impl Example {
    /// The covered pair whose rarer state is most frequent in the long run; without any, the
    /// closest pair. `None` for a chain of one state.
    pub(super) fn new(mechanism: &Mechanism) -> Option<Self> {
        let model = mechanism.model();
        let reach = promised_reach(mechanism).unwrap_or(Nats::MAX);
        let covers = |x, other| model.symmetric_between(x, other) <= reach;
        let found = match model.searches() {
            Some(searches) => first_pair(searches, mechanism, reach),
            None => frequent_pair(mechanism, &covers),
        };
        let (real, other, covered) = match found {
            Some((real, other)) => (real, other, Covered::Yes),
            None => {
                let closest = model.closest_pair()?;
                (closest.from, closest.to, Covered::No)
            }
        };
        let loss = pair_loss(mechanism, real, other).loss;
        let label = |state| model.chain().label(state).to_owned();
        Some(Self {
            real: label(real),
            other: label(other),
            distance_nats: model.symmetric_between(real, other).as_f64(),
            covered,
            loss,
            // `exp` is good to a unit in the last place.
            odds_factor: loss.exp() * (1.0 + 4.0 * f64::EPSILON),
        })
    }
}

fn frequent_pair(
    mechanism: &Mechanism,
    covers: &dyn Fn(StateId, StateId) -> bool,
) -> Option<(StateId, StateId)> {
    let chain = mechanism.model().chain();
    let mut order: Vec<StateId> = chain.states().collect();
    // Without long-run shares the order of the states has to do.
    if let Ok(share) = chain.stationary() {
        order.sort_by(|a, b| share[b.index()].total_cmp(&share[a.index()]));
    }
    let later = (1..order.len()).map(|rank| order.split_at(rank));
    later
        .filter_map(|(before, after)| {
            let rarer = after[0];
            before.iter().find(|&&x| covers(x, rarer)).map(|&x| (x, rarer))
        })
        .next()
}

/// The same where distances are on demand, by the order of the states: on a chain that large,
/// long-run shares would take longer than everything else.
fn first_pair(
    searches: &OnDemand,
    mechanism: &Mechanism,
    reach: Nats,
) -> Option<(StateId, StateId)> {
    mechanism.model().chain().states().find_map(|later| {
        let near = searches.within(later, reach).into_iter().map(|(state, _)| state);
        near.filter(|&earlier| earlier < later).min().map(|earlier| (earlier, later))
    })
}
