//! Ledgers of the first format, which counted one chain and one unit, walk by walk.

use std::io;
use std::num::NonZeroU32;
use std::path::Path;

use redb::{
    Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition,
};
use veilwalk::Rational;
use veilwalk::chain::ChainHash;
use veilwalk::mechanism::{Epsilon, Radius, Unit};

use crate::entry::{Entry, Loss, LossUnit, Terms};
use crate::error::{LedgerError, Problem};
use crate::ledger::Ledger;
use crate::sqlite::Sqlite;

/// A walk's name to the numerator and denominator of the ε spent, and the number of releases.
const SPENT: TableDefinition<&str, (u64, u64, u64)> = TableDefinition::new("spent");
/// What the ledger counts: `chain` and `unit`.
const SCOPE: TableDefinition<&str, &str> = TableDefinition::new("scope");

/// What was migrated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migrated {
    /// How many walks.
    pub walks: usize,
    /// The unit that the earlier ledger counted in.
    pub unit: Unit,
}

/// Makes a ledger of what one of the first format has. Each walk becomes its own person with one entry
/// for all of its releases. Nothing is known beyond a radius, nor about one replaced state:
/// such an entry adds up with releases on the same chain within that radius or a smaller one, and with
/// no others.
///
/// # Errors
///
/// If the old ledger cannot be read, or the new one is there already.
pub fn migrate(old: &Path, new: &Path) -> Result<Migrated, LedgerError> {
    let (old_name, new_name) = (old.display().to_string(), new.display().to_string());
    if new.exists() {
        let there = "there is a file of that name already; give -o a new one";
        return Err(Problem::Unusable(there.to_owned()).of(&new_name));
    }
    let (unit, terms, spent) = read(old).map_err(|problem| problem.of(&old_name))?;
    Sqlite::make(new).map_err(|problem| problem.of(&new_name))?;
    let ledger = Ledger::open_existing(new)?;
    ledger.write(&mut |records| {
        let now = records.now()?;
        let entry = |(walk, epsilon, releases): &Spent| Entry {
            person: walk.clone(),
            walk: walk.clone(),
            terms: Terms { promise: Loss { epsilon: *epsilon, ..terms.promise }, ..terms },
            releases: *releases,
            charged: now,
            digest: None,
        };
        let entries: Vec<Entry> = spent.iter().map(entry).collect();
        records.insert(&entries)?;
        let mut summary = records.summary()?;
        summary.count += entries.len() as u64;
        entries.iter().for_each(|entry| summary.sum.add(entry.row().1));
        records.set_summary(&summary)
    })?;
    Ok(Migrated { walks: spent.len(), unit })
}

/// A walk, what was spent on it, and in how many releases.
type Spent = (String, Epsilon, u64);

fn read(path: &Path) -> Result<(Unit, Terms, Vec<Spent>), Problem> {
    fn storage(error: impl ToString) -> Problem {
        Problem::Storage(error.to_string())
    }
    if !path.exists() {
        return Err(Problem::Missing);
    }
    let database = Database::open(path).map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => Problem::Busy,
        DatabaseError::Storage(StorageError::Io(error))
            if error.kind() == io::ErrorKind::InvalidData =>
        {
            Problem::Unusable("this is not a ledger of an earlier version".to_owned())
        }
        other => storage(other),
    })?;
    let read = database.begin_read().map_err(storage)?;
    let scope = read.open_table(SCOPE).map_err(storage)?;
    let part = |key| -> Result<String, Problem> {
        let value = scope.get(key).map_err(storage)?;
        Ok(value.map(|v| v.value().to_owned()).unwrap_or_default())
    };
    let (unit, chain) = (part("unit")?, part("chain")?);
    let unread =
        |what: &str| Problem::Damaged(format!("it counts in {what:?}, which cannot be read"));
    let chain = hash_of(&chain).ok_or_else(|| unread(&chain))?;
    let unit = unit_of(&unit).ok_or_else(|| unread(&unit))?;
    let mut release = [0; 16];
    getrandom::fill(&mut release).map_err(storage)?;
    // ε is set for each walk.
    let epsilon = Epsilon::new(Rational::ONE).expect("not zero");
    let terms = Terms {
        release,
        promise: Loss { epsilon, unit: LossUnit::Walk(unit) },
        chain,
        one_state: None,
        linear: false,
        start_disclosed: false,
    };
    let mut spent = Vec::new();
    for row in read.open_table(SPENT).map_err(storage)?.iter().map_err(storage)? {
        let (name, value) = row.map_err(storage)?;
        let (above, below, releases) = value.value();
        let epsilon = Rational::new(above, below).and_then(Epsilon::new);
        let epsilon = epsilon.ok_or_else(|| unread(&format!("{above}/{below}")))?;
        spent.push((name.value().to_owned(), epsilon, releases));
    }
    Ok((unit, terms, spent))
}

/// `radius 3.5 nats`, `1 substitution`.
fn unit_of(text: &str) -> Option<Unit> {
    if let Some(rest) = text.strip_prefix("radius ") {
        let number = rest.strip_suffix(" nats").or_else(|| rest.strip_suffix(" nat"))?;
        return Some(Unit::Radius(number.parse::<Radius>().ok()?));
    }
    let number =
        text.strip_suffix(" substitutions").or_else(|| text.strip_suffix(" substitution"))?;
    Some(Unit::Substitutions(number.parse::<NonZeroU32>().ok()?))
}

fn hash_of(hex: &str) -> Option<ChainHash> {
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, place) in hash.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&hex[place..place + 2], 16).ok()?;
    }
    Some(ChainHash(hash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::{Charge, Limit};

    fn old_ledger(path: &Path, unit: &str) {
        let database = Database::create(path).unwrap();
        let write = database.begin_write().unwrap();
        {
            let mut scope = write.open_table(SCOPE).unwrap();
            scope.insert("chain", "ab".repeat(32).as_str()).unwrap();
            scope.insert("unit", unit).unwrap();
            let mut spent = write.open_table(SPENT).unwrap();
            spent.insert("north", (7, 2, 3)).unwrap();
            spent.insert("south", (1, 1, 1)).unwrap();
        }
        write.commit().unwrap();
    }

    #[test]
    fn an_old_ledger_is_refused_and_migrated() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        old_ledger(&old, "radius 1 nats");
        let refused = Ledger::open(&old).unwrap_err();
        assert!(matches!(refused.problem, Problem::OldFormat));
        assert!(refused.to_string().contains("migrate makes one"), "{refused}");
        let migrated = migrate(&old, &new).unwrap();
        assert_eq!((migrated.walks, migrated.unit.to_string()), (2, "radius 1 nat".to_owned()));
        assert!(migrate(&old, &new).is_err(), "nothing is written over");
        let ledger = Ledger::open(&new).unwrap();
        let north = ledger.spending_of("north").unwrap().unwrap();
        assert_eq!((north.spent, north.releases, north.walks), (Rational::new(7, 2), 3, 1));
        let terms = Terms { release: [1; 16], linear: true, ..ledger.entries().unwrap()[0].terms };
        let limit = Some(Limit::in_all(Rational::whole(100)));
        ledger.charge(&terms, &[Charge::of_walk("north")], limit).unwrap();
        // What is not known is not guessed: with a budget it is refused, without one it is charged.
        let larger = veilwalk::Promise::within_radius("1".parse().unwrap(), "2".parse().unwrap());
        let larger = Terms { release: [2; 16], promise: larger.into(), ..terms };
        let refused = ledger.charge(&larger, &[Charge::of_walk("north")], limit).unwrap_err();
        assert!(matches!(refused.problem, Problem::NotCountable { .. }), "{refused}");
        ledger.charge(&larger, &[Charge::of_walk("north")], None).unwrap();
        assert_eq!(ledger.spending_of("north").unwrap().unwrap().spent, None);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        assert!(matches!(migrate(&old, &new).unwrap_err().problem, Problem::Missing));
        old_ledger(&old, "3 of something");
        assert!(migrate(&old, &new).unwrap_err().to_string().contains("3 of something"));
        std::fs::write(&old, "not a ledger").unwrap();
        assert!(migrate(&old, &new).unwrap_err().to_string().contains("not a ledger"));
        assert!(!new.exists());
        for (text, shown) in
            [("2 substitutions", "2 substitutions"), ("1 substitution", "1 substitution")]
        {
            assert_eq!(unit_of(text).unwrap().to_string(), shown);
        }
    }
}
