//! How losses in different units are added.
//!
//! # Privacy
//!
//! An entry promises ε in a unit of its own. What does it cost in another unit `U`? Each rule gives an
//! upper bound on the loss of replacing the entry's walk by any other within `U`; then the bounds add
//! up over the entries of a person, because releases are independent and each depends on its own walk
//! alone.
//!
//! **Radii**, on the same chain (distances on different chains have nothing to do with each other):
//!
//! - `R ≥ U`: walks within `U` are within `R`. The cost is ε.
//! - `R < U`, and the loss is linear: walks within `U` lose at most `ε·U/R`, which is what linear means.
//! - `R < U` otherwise: the promise says nothing of walks that far apart, and no chain of walks within
//!   `R` needs to lead from one to the other, since there may be no states in between. No cost.
//!
//! **Substitutions**, on whatever chain: states are counted, not distances.
//!
//! - `b ≥ b_U`: the cost is ε.
//! - `b < b_U`: two walks that differ in at most `b_U` states are joined by `⌈b_U/b⌉` replacements of at
//!   most `b` states each, one after the other, so the loss is at most `⌈b_U/b⌉·ε` (group privacy; any
//!   state may be replaced by any other, so the walks in between are there). It is also at most `b_U`
//!   times the loss of one replaced state. The lesser is taken.
//!
//! **Persons.** An entry may be about all walks of a person, replaced by any others. Walks within any unit of each
//! other are others, so it costs its ε in every unit. What is promised of one walk says nothing of all of them.
//!
//! **One replaced state.** Every entry has a bound on the loss of replacing one state of its walk. So
//! where units do not agree, all entries are counted in that: the total says what can be told if one
//! state in each walk is replaced.
//!
//! A unit that is the same for all is better than one replaced state, because it is what was promised.
//! So a charge is counted in its own unit if all entries of the person have a cost in it, and in
//! replaced states otherwise; what is shown is counted in the largest unit among the entries, with the
//! same way out. Sums and products are exact fractions, or rounded up where they do not fit.

use std::fmt;

use veilwalk::Rational;
use veilwalk::chain::ChainHash;
use veilwalk::mechanism::Unit;

use crate::entry::{LossUnit, Terms};

/// What a total is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedIn {
    /// A unit of the entries; a radius is one on this chain.
    Unit(Unit, ChainHash),
    /// All walks of the person replaced by any others.
    Person,
    /// One replaced state in each walk.
    ReplacedStates,
}

impl fmt::Display for CountedIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(unit, _) => unit.fmt(f),
            Self::Person => LossUnit::Person.fmt(f),
            Self::ReplacedStates => f.write_str("one replaced state in each walk"),
        }
    }
}

/// Why there is no sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSum {
    /// Some entry has no cost in any unit that would do.
    NotCountable,
    /// It does not fit.
    TooMuch,
}

/// Exact, or rounded up.
pub(crate) fn add(a: Rational, b: Rational) -> Result<Rational, NoSum> {
    a.add_rounding_up(b).ok_or(NoSum::TooMuch)
}

/// Exact, or rounded up.
pub(crate) fn times(a: Rational, count: u64) -> Result<Rational, NoSum> {
    a.multiply_rounding_up(Rational::whole(count)).ok_or(NoSum::TooMuch)
}

impl CountedIn {
    /// At least what one release on these terms loses in this unit; `None` if nothing is known of it.
    pub(crate) fn cost(self, terms: &Terms) -> Result<Option<Rational>, NoSum> {
        let epsilon = terms.promise.epsilon.value();
        let (own, unit, chain) = match (terms.promise.unit, self) {
            (_, Self::ReplacedStates) => return Ok(one_state(terms)),
            (LossUnit::Person, _) => return Ok(Some(epsilon)),
            (LossUnit::Walk(_), Self::Person) => return Ok(None),
            (LossUnit::Walk(own), Self::Unit(unit, chain)) => (own, unit, chain),
        };
        Ok(match (own, unit) {
            (Unit::Radius(own), Unit::Radius(asked)) if terms.chain == chain => {
                if own >= asked {
                    Some(epsilon)
                } else if terms.linear {
                    let per_nat = own.value().inverse().ok_or(NoSum::TooMuch)?;
                    let share = asked.value().multiply_rounding_up(per_nat);
                    Some(
                        share
                            .and_then(|s| epsilon.multiply_rounding_up(s))
                            .ok_or(NoSum::TooMuch)?,
                    )
                } else {
                    None
                }
            }
            (Unit::Substitutions(own), Unit::Substitutions(asked)) if own >= asked => Some(epsilon),
            (Unit::Substitutions(own), Unit::Substitutions(asked)) => {
                let groups = times(epsilon, asked.get().div_ceil(own.get()).into())?;
                match one_state(terms) {
                    Some(each) => Some(groups.min(times(each, asked.get().into())?)),
                    None => Some(groups),
                }
            }
            _ => None,
        })
    }

    /// What all of these lose together.
    pub(crate) fn sum<'a>(
        self,
        all: impl IntoIterator<Item = &'a Terms>,
    ) -> Result<Rational, NoSum> {
        let mut sum = Rational::ZERO;
        for terms in all {
            sum = add(sum, self.cost(terms)?.ok_or(NoSum::NotCountable)?)?;
        }
        Ok(sum)
    }
}

/// At least the loss of one replaced state: what is known of it, and ε where that covers one state.
fn one_state(terms: &Terms) -> Option<Rational> {
    let known = terms.one_state;
    match terms.promise.unit {
        LossUnit::Walk(Unit::Radius(_)) => known,
        LossUnit::Walk(Unit::Substitutions(_)) | LossUnit::Person => {
            let epsilon = terms.promise.epsilon.value();
            Some(known.map_or(epsilon, |known| known.min(epsilon)))
        }
    }
}

/// The total of some entries, counted in the preferred unit or, where one has no cost in it, in replaced
/// states.
pub(crate) fn total<'a>(
    preferred: CountedIn,
    all: impl IntoIterator<Item = &'a Terms> + Clone,
) -> Result<(CountedIn, Rational), NoSum> {
    match preferred.sum(all.clone()) {
        Ok(sum) => Ok((preferred, sum)),
        Err(NoSum::NotCountable) => {
            Ok((CountedIn::ReplacedStates, CountedIn::ReplacedStates.sum(all)?))
        }
        Err(NoSum::TooMuch) => Err(NoSum::TooMuch),
    }
}

/// The largest unit among these, if they are all of one kind. What covers all walks of a person is of every
/// kind.
pub(crate) fn largest<'a>(all: impl IntoIterator<Item = &'a Terms>) -> CountedIn {
    let mut largest: Option<(Unit, ChainHash)> = None;
    let mut otherwise = CountedIn::ReplacedStates;
    for terms in all {
        let LossUnit::Walk(unit) = terms.promise.unit else {
            otherwise = CountedIn::Person;
            continue;
        };
        largest = match (largest, unit) {
            (None, _) => Some((unit, terms.chain)),
            (Some((Unit::Radius(a), chain)), Unit::Radius(b)) if chain == terms.chain => {
                Some((Unit::Radius(a.max(b)), chain))
            }
            (Some((Unit::Substitutions(a), chain)), Unit::Substitutions(b)) => {
                Some((Unit::Substitutions(a.max(b)), chain))
            }
            _ => return CountedIn::ReplacedStates,
        };
    }
    largest.map_or(otherwise, |(unit, chain)| CountedIn::Unit(unit, chain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Loss;
    use crate::entry::tests::terms;
    use veilwalk::Promise;

    fn number(text: &str) -> Rational {
        text.parse().unwrap()
    }

    fn radius(epsilon: &str, radius: &str) -> Terms {
        let promise = Promise::within_radius(epsilon.parse().unwrap(), radius.parse().unwrap());
        Terms { one_state: Some(number("9")), ..terms(promise) }
    }

    fn substitutions(epsilon: &str, b: u32) -> Terms {
        let promise = Promise::for_substitutions(epsilon.parse().unwrap(), b.try_into().unwrap());
        Terms { one_state: None, ..terms(promise) }
    }

    fn cost(entry: &Terms, unit: &Terms) -> Option<Rational> {
        let LossUnit::Walk(own) = unit.promise.unit else { unreachable!("a unit of walks") };
        CountedIn::Unit(own, unit.chain).cost(entry).unwrap()
    }

    #[test]
    fn radii_are_counted_in_each_other() {
        let (small, large) = (radius("1", "2"), radius("0.5", "3"));
        assert_eq!(
            cost(&large, &small),
            Some(number("0.5")),
            "a larger radius covers a smaller one"
        );
        assert_eq!(cost(&small, &large), Some(number("1.5")), "k radii cost k times");
        let audited = Terms { linear: false, ..small };
        assert_eq!(cost(&audited, &large), None);
        assert_eq!(cost(&audited, &small), Some(number("1")));
        let other_chain = Terms { chain: ChainHash([1; 32]), ..small };
        assert_eq!(cost(&other_chain, &small), None);
        assert_eq!(cost(&substitutions("1", 1), &small), None);
        assert_eq!(CountedIn::ReplacedStates.cost(&small).unwrap(), Some(number("9")));
    }

    #[test]
    fn substitutions_are_counted_in_groups() {
        let (one, two, five) =
            (substitutions("1", 1), substitutions("1", 2), substitutions("1", 5));
        assert_eq!(cost(&five, &two), Some(number("1")));
        assert_eq!(cost(&two, &five), Some(number("3")), "two, four, five");
        assert_eq!(cost(&one, &five), Some(number("5")));
        let known = Terms { one_state: Some(number("0.5")), ..two };
        assert_eq!(cost(&known, &five), Some(number("2.5")), "five states, one after the other");
        assert_eq!(CountedIn::ReplacedStates.cost(&known).unwrap(), Some(number("0.5")));
        assert_eq!(CountedIn::ReplacedStates.cost(&two).unwrap(), Some(number("1")));
    }

    #[test]
    fn a_whole_person_is_counted_in_every_unit() {
        let unit = LossUnit::Person;
        let person = terms(Loss { epsilon: "2".parse().unwrap(), unit });
        let person = Terms { one_state: Some(number("0.4")), ..person };
        let (near, two) = (radius("1", "3"), substitutions("1", 2));
        assert_eq!(largest(&[person, person]), CountedIn::Person);
        assert_eq!(CountedIn::Person.to_string(), "all walks of the person replaced");
        let sum = |all: &[Terms]| total(largest(all), all).unwrap().1;
        assert_eq!(sum(&[person, person]), number("4"));
        assert_eq!(sum(&[person, near]), number("3"));
        assert_eq!(sum(&[two, person]), number("3"));
        assert_eq!(
            largest(&[person, near]),
            CountedIn::Unit("3".parse().map(Unit::Radius).unwrap(), near.chain)
        );
        // One replaced state: 9, 1 and 0.4.
        assert_eq!(sum(&[near, two, person]), number("10.4"));
        assert_eq!(CountedIn::Person.cost(&near).unwrap(), None);
    }

    #[test]
    fn what_does_not_agree_is_counted_in_replaced_states() {
        let all = [radius("1", "2"), substitutions("1", 2)];
        assert_eq!(largest(&all), CountedIn::ReplacedStates);
        assert_eq!(total(largest(&all), &all), Ok((CountedIn::ReplacedStates, number("10"))));
        let audited = [radius("1", "2"), radius("1", "3")].map(|t| Terms { linear: false, ..t });
        assert_eq!(
            total(largest(&audited), &audited),
            Ok((CountedIn::ReplacedStates, number("18")))
        );
        let unknown = [Terms { one_state: None, ..all[0] }, all[1]];
        assert_eq!(total(largest(&unknown), &unknown), Err(NoSum::NotCountable));
        let huge = [radius("999999", "2"), radius("2", "2")];
        let sum = total(largest(&huge), &huge).map(|(_, sum)| sum);
        assert_eq!(sum, Ok(number("1000001")));
        let beyond = Terms {
            promise: Loss { epsilon: "18446744073709551615/1".parse().unwrap(), ..all[0].promise },
            ..all[0]
        };
        assert_eq!(total(largest(&[beyond, beyond]), &[beyond, beyond]), Err(NoSum::TooMuch));
    }
}
