//! Which states a radius makes hard to tell apart.
//!
//! A radius covers a pair of states when their symmetric distance is at most the radius: then two
//! walks that differ in that one state are adjacent, and ε says something about them. All of it is
//! decided on whole numbers.

use std::fmt;
use std::ops::Range;

use rayon::prelude::*;
#[cfg(feature = "serde")]
use serde::Serialize;
use thiserror::Error;

use super::loss::reach_of;
use crate::chain::StateId;
use crate::measure::Measure;
use crate::mechanism::{Promise, Radius, Unit};
use crate::model::Model;
use crate::nats::Nats;
use crate::rational::Rational;
use crate::watch::{Stage, Stopped, Watch, report_share, unwatched};

/// What a promise's unit covers on a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Cover {
    /// How many states the chain has.
    pub states: usize,
    /// How many of them have at least one alternative.
    pub covered_states: usize,
    /// How many unordered pairs are covered.
    pub covered_pairs: u64,
    /// How many alternatives a state has, on average.
    pub mean_alternatives: f64,
    /// How many alternatives half of the states have at least.
    pub median_alternatives: usize,
}

/// A promise that protects nothing on a chain.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the guarantee would be empty: on this chain {why}, so epsilon {} would protect nothing{}",
    .promise.epsilon,
    .closest.as_ref().map(ToString::to_string).unwrap_or_default()
)]
pub struct EmptyGuarantee {
    /// What would be promised.
    pub promise: Promise,
    /// Why nothing is protected.
    pub why: String,
    /// What the smallest radius that protects anything would protect.
    pub closest: Option<Box<ClosestStates>>,
}

/// The two states of a chain that are closest to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosestStates {
    /// One of them.
    pub from: String,
    /// The other.
    pub to: String,
    /// The smallest radius that covers them.
    pub radius: Radius,
}

impl fmt::Display for ClosestStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, radius } = self;
        write!(f, ". The two closest states, {from:?} and {to:?}, are {} apart", radius.in_words())
    }
}

impl Cover {
    /// Refuses a promise that covers nothing; `self` is what its unit covers.
    ///
    /// # Errors
    ///
    /// If no two different walks are within the promise's unit.
    pub fn refuse_empty(&self, model: &Model, promise: Promise) -> Result<(), EmptyGuarantee> {
        if !self.is_vacuous() {
            return Ok(());
        }
        let closest = model.closest_pair().map(|pair| {
            Box::new(ClosestStates {
                from: model.chain().label(pair.from).to_owned(),
                to: model.chain().label(pair.to).to_owned(),
                radius: smallest_radius(pair.distance, model.measure()),
            })
        });
        let why = match closest {
            Some(_) => format!("no two different walks are within {}", promise.unit),
            None => "there is only one state".to_owned(),
        };
        Err(EmptyGuarantee { promise, why, closest })
    }

    /// What this unit covers. With substitutions, every other state is an alternative.
    #[must_use]
    pub fn new(model: &Model, unit: Unit) -> Self {
        Self::watched(model, unit, &unwatched).expect("nobody asks to stop")
    }

    /// The same, for chains large enough that someone may not want to wait.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    pub fn watched(model: &Model, unit: Unit, watch: Watch<'_>) -> Result<Self, Stopped> {
        let states = model.chain().len();
        let mut alternatives: Vec<usize> = match unit {
            Unit::Substitutions(_) => vec![states - 1; states],
            Unit::Radius(radius) => {
                let reach = reach_of(radius.value());
                in_parts(states, watch, |part| match model.searches() {
                    Some(searches) => searches.count_within(part, reach),
                    None => {
                        let within = |x| model.symmetric().to(StateId::new(x)).iter();
                        let count = |x| within(x).filter(|&&d| d <= reach).count() - 1;
                        part.into_par_iter().map(count).collect()
                    }
                })?
            }
        };
        alternatives.sort_unstable_by(|a, b| b.cmp(a));
        let total: u64 = alternatives.iter().map(|&count| count as u64).sum();
        Ok(Self {
            states,
            covered_states: alternatives.iter().filter(|&&count| count > 0).count(),
            covered_pairs: total / 2,
            mean_alternatives: total as f64 / states as f64,
            median_alternatives: alternatives[states.div_ceil(2) - 1],
        })
    }

    /// The share of states with at least one alternative.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.covered_states as f64 / self.states as f64
    }

    /// Whether every state has an alternative.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.covered_states == self.states
    }

    /// Whether fewer than 95 % of the states have an alternative.
    #[must_use]
    pub fn leaves_many_out(&self) -> bool {
        100 * self.covered_states < 95 * self.states
    }

    /// How many states have an alternative: `5 of 9 states (55.5 %)`, rounded down.
    #[must_use]
    pub fn in_words(&self) -> String {
        let (covered, states) = (self.covered_states, self.states);
        format!("{covered} of {states} states ({} %)", percent_down(covered, states))
    }

    /// Whether nothing is protected: no two different walks are adjacent.
    #[must_use]
    pub fn is_vacuous(&self) -> bool {
        self.covered_pairs == 0
    }
}

/// A share in percent with one decimal, rounded down, so that 100.0 means all.
pub(super) fn percent_down(part: usize, whole: usize) -> String {
    let tenths = 1000 * part / whole;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Radii worth choosing, smallest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuggestedRadii {
    /// What they are counted in.
    pub measure: Measure,
    /// At least two states are covered.
    pub something: Nats,
    /// Half of the states have an alternative.
    pub half_of_states: Nats,
    /// 95 % of them do.
    pub most_states: Nats,
    /// Any state may be replaced by any other; not known where the chain is too large
    /// for a table of all distances.
    pub any_state: Option<Nats>,
}

impl SuggestedRadii {
    /// The radii for a chain; `None` for a chain of one state.
    #[must_use]
    pub fn new(model: &Model) -> Option<Self> {
        Self::watched(model, &unwatched).expect("nobody asks to stop")
    }

    /// The same, for chains large enough that someone may not want to wait.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    pub fn watched(model: &Model, watch: Watch<'_>) -> Result<Option<Self>, Stopped> {
        let states = model.chain().len();
        if states < 2 {
            return Ok(None);
        }
        let mut nearest = in_parts(states, watch, |part| match model.searches() {
            Some(searches) => {
                let found = searches.nearest(part).expect("there is another state");
                found.into_iter().map(|(distance, _)| distance).collect()
            }
            None => {
                let nearest = |x: usize| {
                    let row = model.symmetric().to(StateId::new(x)).iter().enumerate();
                    let others = row.filter(|&(other, _)| other != x).map(|(_, &d)| d);
                    others.min().expect("there is another state")
                };
                part.into_par_iter().map(nearest).collect::<Vec<_>>()
            }
        })?;
        nearest.sort_unstable();
        // The smallest radius at which this share of the states, or more, has an alternative.
        let share = |percent: usize| nearest[(states * percent).div_ceil(100) - 1];
        Ok(Some(Self {
            measure: model.measure(),
            something: nearest[0],
            half_of_states: share(50),
            most_states: share(95),
            any_state: model.require_tables().ok().map(|()| model.symmetric().largest().2),
        }))
    }

    /// The radii with what they do, smallest first.
    #[must_use]
    pub fn list(&self) -> Vec<(&'static str, Nats)> {
        let mut list = vec![
            ("protects something", self.something),
            ("half of the states", self.half_of_states),
            ("95 % of the states", self.most_states),
        ];
        list.extend(self.any_state.map(|nats| ("any single state", nats)));
        list
    }
}

/// Something for every state, a part of them at a time.
fn in_parts<T>(
    states: usize,
    watch: Watch<'_>,
    each: impl Fn(Range<usize>) -> Vec<T>,
) -> Result<Vec<T>, Stopped> {
    const PARTS: usize = 200;
    let mut all = Vec::with_capacity(states);
    for first in (0..states).step_by(states.div_ceil(PARTS).max(256)) {
        report_share(watch, Stage::Cover, first as f64 / states as f64)?;
        let last = states.min(first + states.div_ceil(PARTS).max(256));
        all.extend(each(first..last));
    }
    Ok(all)
}

#[cfg(feature = "serde")]
impl Serialize for SuggestedRadii {
    /// Numbers that can be given as a radius: of nats with four decimals, rounded up.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Rounded {
            something: f64,
            half_of_states: f64,
            most_states: f64,
            any_state: Option<f64>,
        }
        let up = |distance| smallest_radius(distance, self.measure).number().as_f64();
        Rounded {
            something: up(self.something),
            half_of_states: up(self.half_of_states),
            most_states: up(self.most_states),
            any_state: self.any_state.map(up),
        }
        .serialize(serializer)
    }
}

/// The smallest radius that reaches this far: of nats, with four decimals.
#[must_use]
pub fn smallest_radius(distance: Nats, measure: Measure) -> Radius {
    // A radius is above zero.
    let units = u64::from(distance.units()).max(1);
    let value = match measure {
        Measure::Nats => radius_reaching(Nats::from_units(distance.units().max(1))),
        Measure::Metres | Measure::Own => {
            Rational::new(units, Nats::PER_NAT.into()).expect("the denominator is positive")
        }
    };
    Radius::in_units(value, measure).expect("above zero")
}

/// The smallest radius with four decimals that reaches this far.
#[must_use]
pub fn radius_reaching(distance: Nats) -> Rational {
    let ten_thousandths = (u64::from(distance.units()) * 10_000).div_ceil(Nats::PER_NAT.into());
    Rational::new(ten_thousandths, 10_000).expect("the denominator is positive")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Chain;

    #[test]
    fn shares_of_states_are_rounded_down_and_the_limit_is_exact() {
        let of = |covered_states, states| Cover {
            states,
            covered_states,
            covered_pairs: covered_states as u64 / 2,
            mean_alternatives: 1.0,
            median_alternatives: 1,
        };
        assert_eq!(of(5, 9).in_words(), "5 of 9 states (55.5 %)");
        assert_eq!(of(99_999, 100_000).in_words(), "99999 of 100000 states (99.9 %)");
        assert!(!of(99_999, 100_000).leaves_many_out() && !of(99_999, 100_000).is_complete());
        assert!(of(9, 9).is_complete() && of(9, 9).in_words().contains("100.0 %"));
        assert!(!of(19, 20).leaves_many_out() && of(94, 100).leaves_many_out());
    }

    #[test]
    fn suggested_radii_do_what_they_say_and_nothing_smaller_does() {
        for chain in [Chain::credit(), Chain::downtown()] {
            let model = Model::new(chain).unwrap();
            let radii = SuggestedRadii::new(&model).unwrap();
            let cover = |units: u32| {
                let exact = Rational::new(units.into(), Nats::PER_NAT.into()).unwrap();
                let radius = crate::mechanism::Radius::new(exact).unwrap();
                Cover::new(&model, Unit::Radius(radius))
            };
            let n = model.chain().len() as f64;
            let all_pairs = (model.chain().len() * (model.chain().len() - 1) / 2) as u64;
            type Holds = Box<dyn Fn(Cover) -> bool>;
            let checks: [Holds; 4] = [
                Box::new(|c| !c.is_vacuous()),
                Box::new(move |c| c.covered_states as f64 >= 0.5 * n),
                Box::new(move |c| c.covered_states as f64 >= 0.95 * n),
                Box::new(move |c| c.covered_pairs == all_pairs),
            ];
            for ((name, nats), holds) in radii.list().into_iter().zip(checks) {
                assert!(holds(cover(nats.units())), "{name}");
                assert!(!holds(cover(nats.units() - 1)), "{name}");
                assert!(reach_of(radius_reaching(nats)) >= nats);
            }
        }
    }
}
