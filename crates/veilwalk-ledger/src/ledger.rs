//! A ledger, wherever it is kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use veilwalk::Rational;

use crate::charge::{Charge, Charged, Limit, charge};
use crate::entry::{Entry, LossUnit, Terms};
use crate::error::{LedgerError, Problem};
use crate::sqlite::Sqlite;
use crate::store::{Records, Store, check};
use crate::total::{CountedIn, NoSum, largest, total};

/// A ledger that was checked and is open. It may be shared by threads; they wait for each other.
#[derive(Debug)]
pub struct Ledger {
    name: String,
    store: Mutex<Box<dyn Store>>,
    /// The time, for tests.
    clock: Option<fn() -> i64>,
}

/// The budget that a ledger keeps.
pub type Kept = Limit;

/// What was spent on one person.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spending {
    /// The person.
    pub person: String,
    /// ε in all, at least; `None` if the losses cannot be added.
    pub spent: Option<Rational>,
    /// What of it counts in the window of the budget that the ledger keeps; `None` without a window.
    pub recent: Option<Rational>,
    /// What it is counted in.
    pub counted_in: CountedIn,
    /// How many different walks were released.
    pub walks: usize,
    /// How many releases there were, of all walks, and of chains that were fitted on them.
    pub releases: u64,
    /// In how many of them the first state was disclosed, which no loss covers.
    pub starts_disclosed: u64,
}

/// Whether this names a ledger on a server rather than a file.
#[must_use]
pub fn is_server(location: &Path) -> bool {
    let text = location.to_string_lossy();
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

impl Ledger {
    /// Opens a ledger, or makes one: a file, or `postgres://…` for a server. All of it is checked.
    ///
    /// # Errors
    ///
    /// If it is damaged, of an earlier format, or cannot be read and written.
    pub fn open(location: impl Into<PathBuf>) -> Result<Self, LedgerError> {
        let location = location.into();
        if is_server(&location) {
            return Self::on_server(&location, true);
        }
        if !location.exists() {
            Sqlite::make(&location)
                .map_err(|problem| problem.of(&location.display().to_string()))?;
        }
        Self::open_existing(location)
    }

    /// Opens a ledger that is there. All of it is checked.
    ///
    /// # Errors
    ///
    /// As [`Ledger::open`], and if there is none.
    pub fn open_existing(location: impl Into<PathBuf>) -> Result<Self, LedgerError> {
        let location = location.into();
        if is_server(&location) {
            return Self::on_server(&location, false);
        }
        let name = location.display().to_string();
        let store = Sqlite::open(&location).map_err(|problem| problem.of(&name))?;
        Self::checked(name, Box::new(store))
    }

    #[cfg(feature = "postgres")]
    fn on_server(location: &Path, make: bool) -> Result<Self, LedgerError> {
        let (name, store) = crate::postgresql::open(&location.to_string_lossy(), make)?;
        Self::checked(name, Box::new(store))
    }

    #[cfg(not(feature = "postgres"))]
    fn on_server(_: &Path, _: bool) -> Result<Self, LedgerError> {
        Err(Problem::Unusable(
            "this build keeps ledgers in files only; build it with the feature `postgres`, or name a \
             file"
            .to_owned(),
        )
        .of("postgres"))
    }

    fn checked(name: String, mut store: Box<dyn Store>) -> Result<Self, LedgerError> {
        check(&mut *store).map_err(|problem| problem.of(&name))?;
        Ok(Self { name, store: Mutex::new(store), clock: None })
    }

    /// The file, or the server without its password.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the time from here instead of the clock.
    #[doc(hidden)]
    #[must_use]
    pub fn with_clock(self, clock: fn() -> i64) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// Charges one release of each of these walks, or none of them. When this returns, the charge is
    /// on the disk, and the walks may be released. A walk named twice is charged once. A walk that was
    /// released before under the same id, with the same digest and on the same terms, costs nothing.
    ///
    /// Both this limit and the budget that the ledger keeps have to hold.
    ///
    /// # Errors
    ///
    /// If some person has not enough left, or a walk was charged under this id for something else.
    pub fn charge(
        &self,
        terms: &Terms,
        walks: &[Charge<'_>],
        limit: Option<Limit>,
    ) -> Result<Charged, LedgerError> {
        let mut charged = Charged::default();
        if walks.is_empty() {
            return Ok(charged);
        }
        let clock = self.clock;
        self.write(&mut |records| {
            let now = clock.map_or_else(|| records.now(), |clock| Ok(clock()))?;
            charged = charge(records, terms, walks, limit, now)?;
            Ok(())
        })?;
        Ok(charged)
    }

    /// The budget that the ledger keeps.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn budget(&self) -> Result<Option<Kept>, LedgerError> {
        let mut kept = None;
        self.read(&mut |records| {
            kept = records.summary()?.budget.map(|(budget, window)| Limit { budget, window });
            Ok(())
        })?;
        Ok(kept)
    }

    /// Keeps a budget in the ledger: every charge from now on is held to it. `None` takes it away.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be written.
    pub fn set_budget(&self, budget: Option<Kept>) -> Result<(), LedgerError> {
        self.write(&mut |records| {
            let mut summary = records.summary()?;
            summary.budget = budget.map(|limit| (limit.budget, limit.window));
            records.set_summary(&summary)
        })
    }

    /// Every walk that was charged, by release and name.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read, or is damaged.
    pub fn entries(&self) -> Result<Vec<Entry>, LedgerError> {
        let mut entries = Vec::new();
        self.read(&mut |records| {
            entries.clear();
            records.all(&mut |entry, _| {
                entries.push(entry);
                Ok(())
            })
        })?;
        Ok(entries)
    }

    /// The entries of one person, by release and walk.
    ///
    /// # Errors
    ///
    /// As [`Ledger::entries`].
    pub fn entries_of(&self, person: &str) -> Result<Vec<Entry>, LedgerError> {
        let mut entries = Vec::new();
        self.read(&mut |records| {
            entries = records.of_persons(&[person])?;
            Ok(())
        })?;
        Ok(entries)
    }

    /// What was spent on each person, by name.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read, is damaged, or a total is beyond what can be counted.
    pub fn spending(&self) -> Result<Vec<Spending>, LedgerError> {
        self.spending_of_entries(&|records, each| records.all(&mut |entry, _| each(entry)))
    }

    /// What was spent on one person; `None` if there is nothing of them.
    ///
    /// # Errors
    ///
    /// As [`Ledger::spending`].
    pub fn spending_of(&self, person: &str) -> Result<Option<Spending>, LedgerError> {
        let all = self.spending_of_entries(&|records, each| {
            records.of_persons(&[person])?.into_iter().try_for_each(each)
        })?;
        Ok(all.into_iter().next())
    }

    fn spending_of_entries(&self, entries: &Entries<'_>) -> Result<Vec<Spending>, LedgerError> {
        let mut all = Vec::new();
        let clock = self.clock;
        self.read(&mut |records| {
            let window = records.summary()?.budget.and_then(|(_, window)| window);
            let now = clock.map_or_else(|| records.now(), |clock| Ok(clock()))?;
            let mut people: BTreeMap<String, Person> = BTreeMap::new();
            entries(records, &mut |entry| {
                people.entry(entry.person).or_default().add(
                    entry.walk,
                    entry.releases,
                    entry.charged,
                    entry.terms,
                );
                Ok(())
            })?;
            let recent = |at| window.map(|window| window.covers(at, now));
            let spending = people.into_iter().map(|(name, person)| person.spending(name, &recent));
            all = spending.collect::<Result<_, _>>()?;
            Ok(())
        })?;
        Ok(all)
    }

    pub(crate) fn write(
        &self,
        work: &mut dyn FnMut(&mut dyn Records) -> Result<(), Problem>,
    ) -> Result<(), LedgerError> {
        self.store().write(work).map_err(|problem| problem.of(&self.name))
    }

    fn read(
        &self,
        work: &mut dyn FnMut(&mut dyn Records) -> Result<(), Problem>,
    ) -> Result<(), LedgerError> {
        self.store().read(work).map_err(|problem| problem.of(&self.name))
    }

    fn store(&self) -> MutexGuard<'_, Box<dyn Store>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives out some entries.
type Entries<'a> = dyn Fn(&mut dyn Records, &mut dyn FnMut(Entry) -> Result<(), Problem>) -> Result<(), Problem>
    + 'a;

/// What is known of one person while it is added up.
#[derive(Default)]
struct Person {
    walks: std::collections::HashSet<String>,
    releases: u64,
    starts_disclosed: u64,
    charges: Vec<(i64, Terms)>,
}

impl Person {
    fn add(&mut self, walk: String, releases: u64, charged: i64, terms: Terms) {
        if terms.promise.unit != LossUnit::Person {
            self.walks.insert(walk);
        }
        self.releases += releases;
        self.starts_disclosed += if terms.start_disclosed { releases } else { 0 };
        self.charges.push((charged, terms));
    }

    fn spending(
        self,
        person: String,
        recent: &dyn Fn(i64) -> Option<bool>,
    ) -> Result<Spending, Problem> {
        let all = || self.charges.iter().map(|(_, terms)| terms);
        let (counted_in, spent, within) = match total(largest(all()), all()) {
            Ok((unit, spent)) => {
                let newer = self.charges.iter().filter(|(at, _)| recent(*at) == Some(true));
                let within = unit.sum(newer.map(|(_, terms)| terms)).ok();
                (unit, Some(spent), within.filter(|_| recent(0).is_some()))
            }
            Err(NoSum::NotCountable) => (CountedIn::ReplacedStates, None, None),
            Err(NoSum::TooMuch) => return Err(Problem::TooMuch { person }),
        };
        Ok(Spending {
            person,
            spent,
            recent: within,
            counted_in,
            walks: self.walks.len(),
            releases: self.releases,
            starts_disclosed: self.starts_disclosed,
        })
    }
}
