//! The budget ledger: how much ε was spent on each walk, over all releases.
//!
//! Releasing the same walk again adds up. The ledger is charged *before* anything is released, in one
//! transaction that is on the disk when it returns; a run that is killed after that has been charged
//! for a release that nobody saw, never the other way round.
//!
//! One ledger counts one thing: releases on one chain, in one unit. Losses in different units do not
//! add up to anything, so a release in another is refused.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use redb::{
    Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition,
};
use thiserror::Error;
use veilwalk::rational::Rational;

use crate::output::{directory_of, sync_directory, temporary_in};

/// A walk's name to the numerator and denominator of the ε spent, and the number of releases.
const SPENT: TableDefinition<&str, (u64, u64, u64)> = TableDefinition::new("spent");
/// What the ledger counts: `chain` and `unit`.
const SCOPE: TableDefinition<&str, &str> = TableDefinition::new("scope");

/// What is counted together: releases on this chain, in this unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerScope {
    /// The chain's content hash.
    pub chain: String,
    /// What ε refers to, such as `radius 3.5 nats`.
    pub unit: String,
}

/// What was spent on one walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The walk's name.
    pub trajectory: String,
    /// ε in all.
    pub spent: Rational,
    /// How many releases were charged.
    pub releases: u64,
}

/// Why the ledger cannot be used, or refuses.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// Another process has it open.
    #[error("{0}: the ledger is in use by another process; try again when that is done")]
    InUse(String),
    /// No such file.
    #[error("{0}: there is no such ledger; a release with --ledger makes it")]
    Missing(String),
    /// Another kind of file.
    #[error(
        "{0}: this is not a ledger; name one that a release with --ledger has made, or a new file"
    )]
    NotALedger(String),
    /// The file cannot be read or written.
    #[error("{path}: the ledger cannot be read or written: {reason}")]
    Storage {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// Another chain or unit than the ledger's.
    #[error(
        "{path}: this ledger counts releases at {} on the chain {}…, and this release is at {} on \
         the chain {}…; losses in different units do not add up, so use a ledger of its own",
        .ledger.unit, cut(&.ledger.chain), .release.unit, cut(&.release.chain)
    )]
    OtherScope {
        /// The file.
        path: String,
        /// What the ledger counts.
        ledger: LedgerScope,
        /// What was to be released.
        release: LedgerScope,
    },
    /// A walk has not enough left.
    #[error(
        "{path}: {trajectory:?} has spent epsilon {spent}, and {epsilon} more would exceed the \
         budget of {budget}{}; nothing was released. Leave such walks out, or take a smaller \
         epsilon or a larger budget",
        match .others {
            0 => String::new(),
            1 => " (and so it is for one other walk)".to_owned(),
            n => format!(" (and so it is for {n} other walks)"),
        }
    )]
    OverBudget {
        /// The file.
        path: String,
        /// The first such walk by name.
        trajectory: String,
        /// What it has spent.
        spent: Rational,
        /// What the release would cost.
        epsilon: Rational,
        /// What it may spend in all.
        budget: Rational,
        /// How many more walks have not enough left.
        others: usize,
    },
    /// A total beyond what can be counted.
    #[error("{path}: the total of {trajectory:?} is beyond what can be counted")]
    TooMuch {
        /// The file.
        path: String,
        /// The walk.
        trajectory: String,
    },
}

fn cut(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// A ledger on the disk, open for this process alone.
#[derive(Debug)]
pub struct Ledger {
    path: String,
    database: Database,
}

impl Ledger {
    /// Opens a ledger for releases of this kind, or makes one.
    ///
    /// # Errors
    ///
    /// If it is in use, cannot be written, or counts something else.
    pub fn open(path: &Path, scope: &LedgerScope) -> Result<Self, LedgerError> {
        if !path.exists() {
            Self::make(path, scope)?;
        }
        let ledger = Self::open_existing(path)?;
        ledger.settle_scope(scope)?;
        Ok(ledger)
    }

    /// Makes a ledger beside its place and puts it there when it is complete: a file that a killed
    /// run has left half made could never be opened again.
    fn make(path: &Path, scope: &LedgerScope) -> Result<(), LedgerError> {
        let name = path.display().to_string();
        let fail = |error: io::Error| LedgerError::Storage {
            path: name.clone(),
            reason: error.to_string(),
        };
        let directory = directory_of(path);
        if !directory.is_dir() {
            let reason = format!("there is no folder {}; make it first", directory.display());
            return Err(LedgerError::Storage { path: name, reason });
        }
        let (file, _listed) = temporary_in(directory).map_err(fail)?;
        let database = Database::create(file.path()).map_err(|error| opening(&name, error))?;
        let ledger = Self { path: name.clone(), database };
        ledger.settle_scope(scope)?;
        drop(ledger);
        match file.persist_noclobber(path) {
            Ok(_) => sync_directory(directory).map_err(fail),
            // Another run was faster: that one is used.
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(fail(error.error)),
        }
    }

    /// Opens a ledger that is there, to look at it.
    ///
    /// # Errors
    ///
    /// If there is none, or it is in use or damaged.
    pub fn open_existing(path: &Path) -> Result<Self, LedgerError> {
        let name = path.display().to_string();
        if !path.exists() {
            return Err(LedgerError::Missing(name));
        }
        let database = Database::open(path).map_err(|error| opening(&name, error))?;
        Ok(Self { path: name, database })
    }

    /// What this ledger counts.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn scope(&self) -> Result<LedgerScope, LedgerError> {
        let read = self.database.begin_read().map_err(|e| self.storage(e))?;
        let table = read.open_table(SCOPE).map_err(|e| self.storage(e))?;
        let part = |key| -> Result<String, LedgerError> {
            let value = table.get(key).map_err(|e| self.storage(e))?;
            Ok(value.map(|v| v.value().to_owned()).unwrap_or_default())
        };
        let unit = match part("unit")?.as_str() {
            // As it was once written.
            "radius 1 nats" => "radius 1 nat".to_owned(),
            unit => unit.to_owned(),
        };
        Ok(LedgerScope { chain: part("chain")?, unit })
    }

    /// Every walk that was charged, by name.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn entries(&self) -> Result<Vec<LedgerEntry>, LedgerError> {
        let read = self.database.begin_read().map_err(|e| self.storage(e))?;
        let table = read.open_table(SPENT).map_err(|e| self.storage(e))?;
        let mut entries = Vec::new();
        for row in table.iter().map_err(|e| self.storage(e))? {
            let (name, value) = row.map_err(|e| self.storage(e))?;
            let (spent, releases) = self.entry(value.value())?;
            entries.push(LedgerEntry { trajectory: name.value().to_owned(), spent, releases });
        }
        Ok(entries)
    }

    /// Charges one release of each of these walks. When this returns, the charge is on the disk, and
    /// the walks may be released. A walk named twice is charged once.
    ///
    /// # Errors
    ///
    /// If some walk has not enough of its budget left: then none is charged.
    pub fn charge<'a>(
        &self,
        trajectories: impl IntoIterator<Item = &'a str>,
        epsilon: Rational,
        budget: Option<Rational>,
    ) -> Result<(), LedgerError> {
        let trajectories: BTreeSet<&str> = trajectories.into_iter().collect();
        let write = self.database.begin_write().map_err(|e| self.storage(e))?;
        let mut over: Option<(String, Rational)> = None;
        let mut others = 0;
        {
            let mut table = write.open_table(SPENT).map_err(|e| self.storage(e))?;
            for trajectory in trajectories {
                let found = table.get(trajectory).map_err(|e| self.storage(e))?;
                let (spent, releases) = match found.map(|value| value.value()) {
                    Some(value) => self.entry(value)?,
                    None => (Rational::ZERO, 0),
                };
                let total = spent.add_rounding_up(epsilon).ok_or_else(|| LedgerError::TooMuch {
                    path: self.path.clone(),
                    trajectory: trajectory.to_owned(),
                })?;
                if budget.is_some_and(|budget| total > budget) {
                    match over {
                        None => over = Some((trajectory.to_owned(), spent)),
                        Some(_) => others += 1,
                    }
                    continue;
                }
                let value = (total.numerator(), total.denominator(), releases + 1);
                table.insert(trajectory, value).map_err(|e| self.storage(e))?;
            }
        }
        if let (Some((trajectory, spent)), Some(budget)) = (over, budget) {
            write.abort().map_err(|e| self.storage(e))?;
            let path = self.path.clone();
            return Err(LedgerError::OverBudget {
                path,
                trajectory,
                spent,
                epsilon,
                budget,
                others,
            });
        }
        // Durable when it returns: the default of the store is to wait for the disk.
        write.commit().map_err(|e| self.storage(e))
    }

    /// Writes down what a new ledger counts, or compares with what is written.
    fn settle_scope(&self, release: &LedgerScope) -> Result<(), LedgerError> {
        let write = self.database.begin_write().map_err(|e| self.storage(e))?;
        {
            write.open_table(SPENT).map_err(|e| self.storage(e))?;
            let mut table = write.open_table(SCOPE).map_err(|e| self.storage(e))?;
            if table.get("chain").map_err(|e| self.storage(e))?.is_none() {
                for (key, value) in [("chain", &release.chain), ("unit", &release.unit)] {
                    table.insert(key, value.as_str()).map_err(|e| self.storage(e))?;
                }
            }
        }
        write.commit().map_err(|e| self.storage(e))?;
        let ledger = self.scope()?;
        if ledger != *release {
            let path = self.path.clone();
            return Err(LedgerError::OtherScope { path, ledger, release: release.clone() });
        }
        Ok(())
    }

    fn entry(
        &self,
        (above, below, releases): (u64, u64, u64),
    ) -> Result<(Rational, u64), LedgerError> {
        let spent = Rational::new(above, below).ok_or_else(|| self.storage("a total over zero"))?;
        Ok((spent, releases))
    }

    fn storage(&self, reason: impl ToString) -> LedgerError {
        LedgerError::Storage { path: self.path.clone(), reason: reason.to_string() }
    }
}

/// Whether there is a ledger at this path, by its first bytes. It is not opened, so another process
/// may have it.
#[must_use]
pub fn is_ledger(path: &Path) -> bool {
    const FIRST_BYTES: [u8; 4] = *b"redb";
    let mut found = [0; FIRST_BYTES.len()];
    let read = path.is_file().then(|| File::open(path)?.read_exact(&mut found));
    read.is_some_and(|read| read.is_ok()) && found == FIRST_BYTES
}

fn opening(path: &str, error: DatabaseError) -> LedgerError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => LedgerError::InUse(path.to_owned()),
        DatabaseError::Storage(StorageError::Io(error))
            if error.kind() == io::ErrorKind::InvalidData =>
        {
            LedgerError::NotALedger(path.to_owned())
        }
        other => LedgerError::Storage { path: path.to_owned(), reason: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> LedgerScope {
        LedgerScope { chain: "abc".repeat(20), unit: "radius 3.5 nats".into() }
    }

    fn rational(text: &str) -> Rational {
        text.parse().unwrap()
    }

    #[test]
    fn charges_add_up_and_outlive_the_process() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("budget");
        for round in 1..=3u64 {
            let ledger = Ledger::open(&path, &scope()).unwrap();
            ledger.charge(["a", "b", "a"], rational("1/3"), Some(Rational::ONE)).unwrap();
            let entries = ledger.entries().unwrap();
            assert_eq!(entries.len(), 2);
            assert_eq!(entries[0].spent, Rational::new(round, 3).unwrap());
            assert_eq!(entries[0].releases, round);
        }
        let ledger = Ledger::open(&path, &scope()).unwrap();
        let error = ledger.charge(["a", "c"], rational("0.01"), Some(Rational::ONE)).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("\"a\" has spent epsilon 1"), "{message}");
        assert_eq!(ledger.entries().unwrap().len(), 2, "nobody is charged");
        ledger.charge(["c"], rational("0.01"), Some(Rational::ONE)).unwrap();
    }

    #[test]
    fn one_nat_was_once_written_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.ledger");
        let of = |unit: &str| LedgerScope { unit: unit.into(), ..scope() };
        let database = Database::create(&path).unwrap();
        let ledger = Ledger { path: "old".into(), database };
        // It is written down, and then read as it is written now.
        assert!(ledger.settle_scope(&of("radius 1 nats")).is_err());
        drop(ledger);
        let ledger = Ledger::open(&path, &of("radius 1 nat")).unwrap();
        assert_eq!(ledger.scope().unwrap().unit, "radius 1 nat");
        assert!(matches!(
            ledger.settle_scope(&of("radius 2 nats")),
            Err(LedgerError::OtherScope { .. })
        ));
    }

    #[test]
    fn what_does_not_add_up_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("budget");
        drop(Ledger::open(&path, &scope()).unwrap());
        let other = LedgerScope { unit: "1 substitution".into(), ..scope() };
        let message = Ledger::open(&path, &other).unwrap_err().to_string();
        assert!(message.contains("3.5") && message.contains("substitution"), "{message}");
        let held = Ledger::open_existing(&path).unwrap();
        assert!(matches!(Ledger::open_existing(&path), Err(LedgerError::InUse(_))));
        drop(held);
        std::fs::write(&path, "not a ledger").unwrap();
        assert!(matches!(Ledger::open_existing(&path), Err(LedgerError::NotALedger(_))));
        let missing = directory.path().join("none");
        assert!(matches!(Ledger::open_existing(&missing), Err(LedgerError::Missing(_))));
    }
}
