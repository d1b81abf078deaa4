//! Decides whether a charge is allowed, and records it, for releases, fits and live walks alike. What a release costs is computed by
//! `veilwalk::guarantee::Price`.

use std::collections::BTreeMap;

use veilwalk::Rational;

use crate::entry::{Entry, LossUnit, Terms};
use crate::error::Problem;
use crate::store::Records;
use crate::total::{CountedIn, NoSum, add, largest, times, total};
use crate::window::Window;

/// A walk to be charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge<'a> {
    person: &'a str,
    walk: &'a str,
    digest: Option<[u8; 16]>,
}

impl<'a> Charge<'a> {
    /// All walks of a person together.
    #[must_use]
    pub const fn of_person(person: &'a str) -> Self {
        Self { person, walk: person, digest: None }
    }

    /// A walk that is its own person.
    #[must_use]
    pub const fn of_walk(walk: &'a str) -> Self {
        Self { person: walk, walk, digest: None }
    }

    /// Whose walk it is.
    #[must_use]
    pub const fn person(self, person: &'a str) -> Self {
        Self { person, ..self }
    }

    /// A keyed digest of the real walk. It tells the same release, made again, from another one.
    #[must_use]
    pub const fn digest(self, digest: Option<[u8; 16]>) -> Self {
        Self { digest, ..self }
    }
}

/// What a person may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// ε.
    pub budget: Rational,
    /// How far back it looks; over all time if not given.
    pub window: Option<Window>,
}

impl Limit {
    /// So much over all time.
    #[must_use]
    pub const fn in_all(budget: Rational) -> Self {
        Self { budget, window: None }
    }

    /// So much in the last days.
    #[must_use]
    pub const fn within(budget: Rational, window: Window) -> Self {
        Self { budget, window: Some(window) }
    }
}

/// What a charge did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charged {
    /// Walks that were charged.
    pub new: usize,
    /// Walks that were released before under the same id with the same real states: they cost nothing.
    pub repeated: usize,
}

/// Charges these walks within a transaction.
pub(crate) fn charge(
    records: &mut dyn Records,
    terms: &Terms,
    walks: &[Charge<'_>],
    limit: Option<Limit>,
    now: i64,
) -> Result<Charged, Problem> {
    let mut asked: BTreeMap<&str, &Charge<'_>> = BTreeMap::new();
    for charge in walks {
        let first = asked.entry(charge.walk).or_insert(charge);
        if first.person != charge.person {
            return Err(Problem::TwoPersons {
                walk: charge.walk.to_owned(),
                first: first.person.to_owned(),
                second: charge.person.to_owned(),
            });
        }
    }
    let names: Vec<&str> = asked.keys().copied().collect();
    let mut repeated = 0;
    for entry in records.under(terms.release, &names)? {
        if let Some(charge) = asked.remove(entry.walk.as_str()) {
            same_release_again(&entry, terms, charge)?;
            repeated += 1;
        }
    }
    let new: Vec<Entry> = asked
        .values()
        .map(|charge| Entry {
            person: charge.person.to_owned(),
            walk: charge.walk.to_owned(),
            terms: *terms,
            releases: 1,
            charged: now,
            digest: charge.digest,
        })
        .collect();
    let mut summary = records.summary()?;
    let kept = summary.budget.map(|(budget, window)| Limit { budget, window });
    let limits: Vec<Limit> = limit.into_iter().chain(kept).collect();
    if !limits.is_empty() && !new.is_empty() {
        keep_to(records, terms, &new, &limits, now)?;
    }
    if new.is_empty() {
        return Ok(Charged { new: 0, repeated });
    }
    records.insert(&new)?;
    for entry in &new {
        summary.sum.add(entry.row().1);
    }
    summary.count += new.len() as u64;
    records.set_summary(&summary)?;
    Ok(Charged { new: new.len(), repeated })
}

/// Whether this is what was released before: then it tells nothing new.
fn same_release_again(entry: &Entry, terms: &Terms, charge: &Charge<'_>) -> Result<(), Problem> {
    let why = if entry.person != charge.person {
        "it belonged to another person"
    } else if entry.terms != *terms {
        match terms.promise.unit {
            LossUnit::Walk(_) => "the mechanism, the promise, the chain or the start is another",
            LossUnit::Person => {
                "the promise, the public moves or what is counted of a person are others"
            }
        }
    } else {
        match (entry.digest, charge.digest) {
            (Some(before), Some(now)) if before == now => return Ok(()),
            (Some(_), Some(_)) => match terms.promise.unit {
                LossUnit::Walk(_) => "the real states or the key are others",
                LossUnit::Person => "the rows or the key are others",
            },
            (None, _) => "it was charged without a look at all of its states, as streams are",
            (_, None) => "in a stream its states are not known when it is charged",
        }
    };
    let charged = terms.promise.unit.purpose();
    Err(Problem::OtherUnderId { walk: entry.walk.clone(), release: terms.release, why, charged })
}

/// Refuses what would bring some person above some limit.
fn keep_to(
    records: &mut dyn Records,
    terms: &Terms,
    new: &[Entry],
    limits: &[Limit],
    now: i64,
) -> Result<(), Problem> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in new {
        *counts.entry(&entry.person).or_default() += 1;
    }
    let persons: Vec<&str> = counts.keys().copied().collect();
    let mut past: BTreeMap<String, Vec<(i64, Terms)>> = BTreeMap::new();
    for entry in records.of_persons(&persons)? {
        past.entry(entry.person).or_default().push((entry.charged, entry.terms));
    }
    for limit in limits {
        let mut over: Option<Problem> = None;
        let mut more = 0;
        for (&person, &count) in &counts {
            let counted = |charged| limit.window.is_none_or(|window| window.covers(charged, now));
            let before = past.get(person).map_or(&[][..], Vec::as_slice);
            let before = || before.iter().filter(|(at, _)| counted(*at)).map(|(_, terms)| terms);
            let own = match terms.promise.unit {
                LossUnit::Walk(unit) => CountedIn::Unit(unit, terms.chain),
                // It is counted in whatever the others are.
                LossUnit::Person => largest(before().chain([terms])),
            };
            let (unit, spent, cost) =
                spent_and_cost(own, terms, count, before()).map_err(|why| {
                    let person = person.to_owned();
                    match why {
                        NoSum::NotCountable => {
                            Problem::NotCountable { person, unit: own.to_string() }
                        }
                        NoSum::TooMuch => Problem::TooMuch { person },
                    }
                })?;
            let all = add(spent, cost);
            if !matches!(all, Ok(all) if all <= limit.budget) {
                more += u32::from(over.is_some());
                over.get_or_insert_with(|| Problem::OverBudget {
                    person: person.into(),
                    spent,
                    cost,
                    unit: unit.to_string().into(),
                    budget: limit.budget,
                    window: limit.window,
                    others: 0,
                    charged: terms.promise.unit.purpose(),
                });
            }
        }
        if let Some(mut over) = over {
            if let Problem::OverBudget { others, .. } = &mut over {
                *others = more;
            }
            return Err(over);
        }
    }
    Ok(())
}

/// What was spent and what so many more walks cost, both in the unit of the charge if it has to do with
/// all entries, and in replaced states otherwise.
fn spent_and_cost<'a>(
    own: CountedIn,
    terms: &Terms,
    count: u64,
    before: impl Iterator<Item = &'a Terms> + Clone,
) -> Result<(CountedIn, Rational, Rational), NoSum> {
    let (unit, spent) = total(own, before)?;
    let each = unit.cost(terms)?.ok_or(NoSum::NotCountable)?;
    Ok((unit, spent, times(each, count)?))
}
