//! How long a stay a promise covers.
//!
//! A promise counts over the whole walk: a stay of k steps in one state instead of another adds the
//! distance between the two k times to a radius, or replaces k states.

#[cfg(feature = "serde")]
use serde::Serialize;

use super::cover::SuggestedRadii;
use super::loss::reach_of;
use crate::mechanism::Unit;
use crate::nats::Nats;

/// How many steps a stay may have so that the promise still covers it, as a stay somewhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Stays {
    /// In one of the two closest states instead of the other: no stay is covered for longer. `None`
    /// if there is no limit, because the two are at distance zero.
    pub closest_pair_steps: Option<u64>,
    /// Half of the states have an alternative for a stay of this many steps.
    pub typical_state_steps: Option<u64>,
}

impl Stays {
    /// The stays that a unit covers, on a chain with these radii.
    #[must_use]
    pub fn new(unit: Unit, radii: SuggestedRadii) -> Self {
        let steps = |distance: Nats| match unit {
            Unit::Substitutions(count) => Some(u64::from(count.get())),
            Unit::Radius(radius) => {
                reach_of(radius.value()).units().checked_div(distance.units()).map(u64::from)
            }
        };
        Self {
            closest_pair_steps: steps(radii.something),
            typical_state_steps: steps(radii.half_of_states),
        }
    }

    /// What is to be said of stays.
    pub(super) fn in_words(self, substitutions: Option<u32>) -> String {
        if let Some(count) = substitutions {
            return format!(
                "A stay of k steps counts as k replaced states. Where somebody stayed for more than \
                 {} is not protected by this promise.",
                steps(u64::from(count))
            );
        }
        let Some(longest) = self.closest_pair_steps else {
            return "The radius is a total over the whole walk, and a stay of k steps counts k times. \
                    Only for states at distance zero is a stay covered however many steps it has."
                .to_owned();
        };
        let typical = match self.typical_state_steps {
            Some(0) => "more than half of the states are not covered for a single step".to_owned(),
            Some(typical) => {
                format!("half of the states are covered for {} or more", steps(typical))
            }
            None => "half of the states are covered however many steps it has".to_owned(),
        };
        format!(
            "The radius is a total over the whole walk, and a stay of k steps counts k times. A stay in \
             one of the two closest states is covered for up to {}; {typical}. Where somebody \
             stayed for longer is hardly protected.",
            steps(longest)
        )
    }
}

fn steps(count: u64) -> String {
    if count == 1 { "1 step".to_owned() } else { format!("{count} steps") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Chain, StateId};
    use crate::mechanism::Promise;
    use crate::model::Model;

    /// For every state the longest stay that is within the radius, by adding distances up one step
    /// at a time.
    #[test]
    fn stays_are_as_long_as_distances_added_up_allow() {
        for chain in [Chain::credit(), Chain::downtown()] {
            let model = Model::new(chain).unwrap();
            for radius in ["0.5", "2.7333", "2.7334", "4", "9.3", "50", "1000/7"] {
                let unit =
                    Promise::within_radius("1".parse().unwrap(), radius.parse().unwrap()).unit;
                let Unit::Radius(exact) = unit else { unreachable!() };
                let exact = exact.value();
                // k · units / 2^20 <= numerator / denominator, in whole numbers.
                let within = |total: u128| {
                    total * u128::from(exact.denominator())
                        <= u128::from(exact.numerator()) * u128::from(Nats::PER_NAT)
                };
                let mut longest: Vec<u64> = model
                    .chain()
                    .states()
                    .map(|state| {
                        let row = model.symmetric().to(state).iter().enumerate();
                        let others = row.filter(|&(other, _)| StateId::new(other) != state);
                        let nearest = others.map(|(_, &d)| u128::from(d.units())).min().unwrap();
                        let (mut steps, mut total) = (0, nearest);
                        while within(total) {
                            steps += 1;
                            total += nearest;
                        }
                        steps
                    })
                    .collect();
                longest.sort_unstable_by(|a, b| b.cmp(a));
                let stays = Stays::new(unit, SuggestedRadii::new(&model).unwrap());
                assert_eq!(stays.closest_pair_steps, Some(longest[0]), "{radius}");
                let half = longest[longest.len().div_ceil(2) - 1];
                assert_eq!(stays.typical_state_steps, Some(half), "{radius}");
            }
            let unit = Promise::for_substitutions("1".parse().unwrap(), 3.try_into().unwrap()).unit;
            let stays = Stays::new(unit, SuggestedRadii::new(&model).unwrap());
            assert_eq!((stays.closest_pair_steps, stays.typical_state_steps), (Some(3), Some(3)));
        }
    }
}
