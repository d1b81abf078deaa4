//! Where answers are kept: one SQLite file with its write-ahead log.
//!
//! SQLite and not redb, for three reasons. A transaction in the log is one write in a row and one wait for the disk,
//! however many walks it touches, and that wait is what a batch costs. A full disk and a file that cannot be written
//! are errors of their own, after which the file is as it was. And the ledger uses it already, and people
//! can look inside with a tool they have.
//!
//! `synchronous = FULL` waits for the disk at every commit. The lock is exclusive from opening on: two services on
//! one directory would both release. The system frees it when a process is killed.
//!
//! What a log cannot do: if the disk changes bits in it *after* a crash and before the next start, recovery ends
//! at the first frame whose checksum is wrong, and the answers after it are gone. The [ledger](veilwalk_ledger)
//! pays for a rollback journal to rule that out. Here every batch would pay twice, and the log is short: it is written
//! back into the file every thousand pages.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use thiserror::Error;
use veilwalk::{Outcome, ReleaseId, StateId};

use crate::request::{Answer, WalkName};

const FILE: &str = "live.db";
/// `vwlv`.
const APPLICATION: i32 = 0x7677_6c76;
const VERSION: i32 = 2;
/// How long another service on the same directory is waited for, which may be about to stop.
const PATIENCE: Duration = Duration::from_secs(2);

/// An open walk has a session and the time when it was last used, one that is over has neither. The last answers of
/// one that is over are kept for a while where they came with its end: it has a row in `rest`.
const SCHEMA: &str = "
CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE walk (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    steps INTEGER NOT NULL,
    session BLOB,
    seen INTEGER
) STRICT;
CREATE INDEX open_walk ON walk (seen) WHERE seen IS NOT NULL;
CREATE TABLE answer (
    walk INTEGER NOT NULL,
    step INTEGER NOT NULL,
    state INTEGER NOT NULL,
    observed INTEGER,
    PRIMARY KEY (walk, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE rest (walk INTEGER PRIMARY KEY, ended INTEGER NOT NULL) STRICT;
CREATE INDEX old_rest ON rest (ended);
";

/// Why the store cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: {trouble}")]
pub struct StoreError {
    /// The file.
    pub path: Box<str>,
    /// What is wrong.
    pub trouble: Trouble,
}

/// What is wrong with a store.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Trouble {
    /// No room.
    #[error("the disk is full, so nothing is released; make room and try again")]
    Full,
    /// Not to be written.
    #[error("it cannot be written, so nothing is released; make it writable and try again")]
    ReadOnly,
    /// Another process.
    #[error("it is in use by another service; stop that one, or take another directory")]
    InUse,
    /// Made with something else.
    #[error(
        "it was made with another {what} ({before}, and this is {now}); give the one it was made with, or \
         another directory"
    )]
    Other {
        /// What differs.
        what: &'static str,
        /// What it was made with.
        before: String,
        /// What was given.
        now: String,
    },
    /// Walks that are open were charged elsewhere.
    #[error(
        "{open} of its walks are open and were started with {before}, and this is {now}: they would go on without \
         being charged there. Give what it had before until these walks are over, or take another directory"
    )]
    OtherLedger {
        /// How many walks are open.
        open: u64,
        /// What they were started with.
        before: String,
        /// What was given.
        now: String,
    },
    /// Not one of ours.
    #[error("this is not a store of live walks; take another directory")]
    NotAStore,
    /// Not as it was written.
    #[error(
        "it is damaged ({0}), so nothing is released; put back a copy that is whole only if no answer was \
         given since it was made, or take a new directory and new names for the walks"
    )]
    Damaged(String),
    /// Anything else. What the disk holds is not known, so the service has to be started anew.
    #[error(
        "it cannot be read or written ({0}), so nothing is released; mend that and start again"
    )]
    Failed(String),
}

/// What a store belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) chain: String,
    pub(crate) promise: String,
    pub(crate) mechanism: String,
    pub(crate) start: String,
}

/// A walk as the store has it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) row: i64,
    pub(crate) steps: u64,
    pub(crate) life: Life,
}

#[derive(Debug)]
pub(crate) enum Life {
    Open { session: Vec<u8>, seen: i64 },
    Over,
}

#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    path: PathBuf,
    release_id: ReleaseId,
}

impl Store {
    /// Opens the store in this folder, or makes both.
    pub(crate) fn open(folder: &Path, identity: &Identity) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let named = |trouble| StoreError { path: path.display().to_string().into(), trouble };
        make_folder(folder).map_err(|error| named(Trouble::Failed(error.to_string())))?;
        make_file(&path).map_err(|error| named(Trouble::Failed(error.to_string())))?;
        let connection = connect(&path).map_err(|error| named(trouble(&error)))?;
        let release_id = settle(&connection, identity).map_err(named)?;
        Ok(Self { connection, path, release_id })
    }

    /// The id of everything that is released into this store.
    pub(crate) fn release_id(&self) -> ReleaseId {
        self.release_id
    }

    pub(crate) fn named(&self, trouble: Trouble) -> StoreError {
        StoreError { path: self.path.display().to_string().into(), trouble }
    }

    pub(crate) fn begin(&self) -> Result<(), Trouble> {
        self.run("BEGIN IMMEDIATE")
    }

    /// When this returns, what was done since [`Store::begin`] is on the disk.
    pub(crate) fn commit(&self) -> Result<(), Trouble> {
        self.run("COMMIT")
    }

    /// Takes back what was done since [`Store::begin`], if anything was begun.
    pub(crate) fn roll_back(&self) -> Result<(), Trouble> {
        if self.connection.is_autocommit() { Ok(()) } else { self.run("ROLLBACK") }
    }

    /// Writes a page as it is, to see whether pages can be written.
    pub(crate) fn rewrite(&self) -> Result<(), Trouble> {
        self.run("UPDATE about SET value = value")
    }

    pub(crate) fn open_walks(&self) -> Result<u64, Trouble> {
        let count = "SELECT count(*) FROM walk WHERE seen IS NOT NULL";
        let count = self.connection.query_row(count, (), |row| row.get(0));
        count.map(unsigned).map_err(|error| trouble(&error))
    }

    /// What walks are charged to, if that was kept.
    pub(crate) fn ledger(&self) -> Result<Option<String>, Trouble> {
        let query = "SELECT value FROM about WHERE name = 'ledger'";
        let found = self.connection.query_row(query, (), |row| row.get::<_, Vec<u8>>(0)).optional();
        let found = found.map_err(|error| trouble(&error))?;
        Ok(found.map(|value| String::from_utf8_lossy(&value).into_owned()))
    }

    pub(crate) fn keep_ledger(&self, ledger: &str) -> Result<(), Trouble> {
        let insert = "INSERT OR REPLACE INTO about VALUES ('ledger', ?1)";
        self.change(insert, params![ledger.as_bytes()])
    }

    pub(crate) fn find(&self, name: &WalkName) -> Result<Option<Found>, Trouble> {
        let found = || {
            let query = "SELECT id, steps, session, seen FROM walk WHERE name = ?1";
            let mut query = self.connection.prepare_cached(query)?;
            query
                .query_row([name.as_str()], |row| {
                    let life = match (row.get(2)?, row.get(3)?) {
                        (Some(session), Some(seen)) => Life::Open { session, seen },
                        _ => Life::Over,
                    };
                    Ok(Found { row: row.get(0)?, steps: unsigned(row.get(1)?), life })
                })
                .optional()
        };
        found().map_err(|error| trouble(&error))
    }

    /// A walk that begins, and its row.
    pub(crate) fn begin_walk(&self, name: &WalkName, seen: i64) -> Result<i64, Trouble> {
        let insert = "INSERT INTO walk (name, steps, session, seen) VALUES (?1, 0, x'', ?2)";
        self.change(insert, params![name.as_str(), seen])?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Where a walk stands now. The time has an index, so it is written only where it changed.
    pub(crate) fn keep(
        &self,
        row: i64,
        steps: u64,
        session: &[u8],
        seen: Option<i64>,
    ) -> Result<(), Trouble> {
        match seen {
            None => {
                let update = "UPDATE walk SET steps = ?2, session = ?3 WHERE id = ?1";
                self.change(update, params![row, signed(steps), session])
            }
            Some(seen) => {
                let update = "UPDATE walk SET steps = ?2, session = ?3, seen = ?4 WHERE id = ?1";
                self.change(update, params![row, signed(steps), session, seen])
            }
        }
    }

    /// Ends a walk. Its answers are deleted, and these last ones kept, which came with its end.
    pub(crate) fn end_walk(
        &self,
        row: i64,
        steps: u64,
        rest: &[Answer],
        now: i64,
    ) -> Result<(), Trouble> {
        let update = "UPDATE walk SET steps = ?2, session = NULL, seen = NULL WHERE id = ?1";
        self.change(update, params![row, signed(steps)])?;
        self.change("DELETE FROM answer WHERE walk = ?1", [row])?;
        if rest.is_empty() {
            return Ok(());
        }
        rest.iter().try_for_each(|answer| self.keep_answer(row, answer))?;
        self.change("INSERT INTO rest (walk, ended) VALUES (?1, ?2)", [row, now])
    }

    /// Forgets the last answers of some of the walks that were over at this time or before.
    pub(crate) fn forget_rests(&self, until: i64, most: u32) -> Result<(), Trouble> {
        let old = "SELECT walk FROM rest WHERE ended <= ?1 ORDER BY ended LIMIT ?2";
        let values = params![until, most];
        self.change(&format!("DELETE FROM answer WHERE walk IN ({old})"), values)?;
        self.change(&format!("DELETE FROM rest WHERE walk IN ({old})"), values)
    }

    /// Some of the open walks that were last used at this time or before, the oldest first.
    pub(crate) fn idle(&self, until: i64, most: u32) -> Result<Vec<(i64, u64, WalkName)>, Trouble> {
        let found = || {
            let query = "SELECT id, steps, name FROM walk WHERE seen <= ?1 ORDER BY seen LIMIT ?2";
            let mut query = self.connection.prepare_cached(query)?;
            let rows = query.query_map(params![until, most], |row| {
                Ok((row.get(0)?, unsigned(row.get(1)?), row.get::<_, String>(2)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let found = found().map_err(|error| trouble(&error))?;
        let named = |(row, steps, name): (_, _, String)| match name.parse() {
            Ok(name) => Ok((row, steps, name)),
            Err(_) => Err(Trouble::Damaged("a walk has a name that none can have".to_owned())),
        };
        found.into_iter().map(named).collect()
    }

    /// What was answered at a step.
    pub(crate) fn answer(&self, row: i64, number: u64) -> Result<Option<Answer>, Trouble> {
        let found = || {
            let query = "SELECT state, observed FROM answer WHERE walk = ?1 AND step = ?2";
            let mut query = self.connection.prepare_cached(query)?;
            query
                .query_row(params![row, signed(number)], |row| {
                    let observed: Option<i64> = row.get(1)?;
                    Ok((row.get::<_, u32>(0)?, observed))
                })
                .optional()
        };
        let state = |number: u32| StateId::new(number as usize);
        let Some((released, observed)) = found().map_err(|error| trouble(&error))? else {
            return Ok(None);
        };
        // Numbers of points are above those that the file counts as positive: the bits are what is kept.
        let outcome = |bits: i64| {
            let outcome = Outcome::from_number(bits.cast_unsigned());
            outcome.ok_or_else(|| Trouble::Damaged("an answer that none can have".to_owned()))
        };
        let observed = observed.map(outcome).transpose()?;
        Ok(Some(Answer { number, state: state(released), observed, replayed: true }))
    }

    pub(crate) fn keep_answer(&self, row: i64, answer: &Answer) -> Result<(), Trouble> {
        let Answer { number, state: released, observed, .. } = *answer;
        let number_of = |state: StateId| state.index() as u32;
        let insert = "INSERT INTO answer (walk, step, state, observed) VALUES (?1, ?2, ?3, ?4)";
        let bits = observed.map(|outcome| outcome.number().cast_signed());
        let values = params![row, signed(number), number_of(released), bits];
        self.change(insert, values)
    }

    /// Forgets the answers before this one.
    pub(crate) fn forget_before(&self, row: i64, number: u64) -> Result<(), Trouble> {
        self.change(
            "DELETE FROM answer WHERE walk = ?1 AND step < ?2",
            params![row, signed(number)],
        )
    }

    fn run(&self, statement: &str) -> Result<(), Trouble> {
        self.change(statement, ())
    }

    fn change(&self, statement: &str, values: impl rusqlite::Params) -> Result<(), Trouble> {
        let run = || self.connection.prepare_cached(statement)?.execute(values);
        run().map(|_| ()).map_err(|error| trouble(&error))
    }

    /// For tests of what happens when the disk does not do what it should.
    #[cfg(test)]
    pub(crate) fn set_pragma(&self, name: &str, value: i64) {
        self.connection.pragma_update(None, name, value).unwrap();
    }

    #[cfg(test)]
    pub(crate) fn pages(&self) -> i64 {
        self.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap()
    }
}

/// A folder that only its owner reads: the names of walks are in it.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    // Where a folder cannot be synced, as on Windows, it need not be.
    fs::File::open(parent.unwrap_or(Path::new("."))).and_then(|parent| parent.sync_all()).ok();
    Ok(())
}

/// A file that only its owner reads, also in a folder that was there. Its log gets the same mode from SQLite.
fn make_file(path: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", true)?;
    // 64 MiB.
    connection.pragma_update(None, "cache_size", -65_536)?;
    // Before the log is first used: it then needs no shared memory, and the lock is never let go.
    connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Makes the tables of a new file, or looks whether those that are there are ours, and for this mechanism.
fn settle(connection: &Connection, identity: &Identity) -> Result<ReleaseId, Trouble> {
    let trouble = |error: rusqlite::Error| trouble(&error);
    let number = |name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0)).map_err(trouble)
    };
    let tables = "SELECT count(*) FROM sqlite_schema";
    let tables: u32 = connection.query_row(tables, (), |row| row.get(0)).map_err(trouble)?;
    if tables > 0 && number("application_id")? != APPLICATION {
        return Err(Trouble::NotAStore);
    }
    let found = number("user_version")?;
    if tables > 0 && found != VERSION {
        return Err(Trouble::Other {
            what: "version of veilwalk",
            before: format!("format {found}"),
            now: format!("format {VERSION}"),
        });
    }
    let mode = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
    let mode = mode.map_err(trouble)?;
    if mode != "wal" {
        return Err(Trouble::Failed(format!("its journal is {mode} and cannot be a log")));
    }
    if tables == 0 {
        make(connection, identity)?;
    }
    // A write takes the lock that is kept from here on.
    connection.execute_batch("BEGIN IMMEDIATE; COMMIT").map_err(trouble)?;
    let about = |name: &'static str| -> Result<Vec<u8>, Trouble> {
        let query = "SELECT value FROM about WHERE name = ?1";
        let value = connection.query_row(query, [name], |row| row.get(0)).optional();
        value.map_err(trouble)?.ok_or_else(|| Trouble::Damaged(format!("it has no {name}")))
    };
    for (what, now) in identity.parts() {
        let before = String::from_utf8_lossy(&about(what)?).into_owned();
        if before != now {
            return Err(Trouble::Other { what, before, now: now.to_owned() });
        }
    }
    let id = <[u8; 16]>::try_from(about("release id")?);
    let id = id.map_err(|_| Trouble::Damaged("its release id has another length".to_owned()))?;
    Ok(ReleaseId::from_bytes(id))
}

/// In one transaction: a file that was left half made is one without tables.
fn make(connection: &Connection, identity: &Identity) -> Result<(), Trouble> {
    let id = ReleaseId::random().map_err(|error| Trouble::Failed(error.to_string()))?;
    let make = || -> rusqlite::Result<()> {
        connection.execute_batch(&format!("BEGIN IMMEDIATE;{SCHEMA}"))?;
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "user_version", VERSION)?;
        let insert = "INSERT INTO about VALUES (?1, ?2)";
        for (what, value) in identity.parts() {
            connection.execute(insert, params![what, value.as_bytes()])?;
        }
        connection.execute(insert, params!["release id", id.to_bytes()])?;
        connection.execute_batch("COMMIT")
    };
    make().map_err(|error| trouble(&error))
}

impl Identity {
    fn parts(&self) -> [(&'static str, &str); 4] {
        [
            ("chain", &self.chain),
            ("promise", &self.promise),
            ("mechanism", &self.mechanism),
            ("start", &self.start),
        ]
    }
}

/// A number as SQLite has it. No walk has so many steps that it does not fit.
fn signed(number: u64) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    number.try_into().unwrap_or(0)
}

/// What an error of SQLite means here.
fn trouble(error: &rusqlite::Error) -> Trouble {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Trouble::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Trouble::ReadOnly,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Trouble::InUse,
        Some(ErrorCode::NotADatabase) => Trouble::NotAStore,
        Some(ErrorCode::DatabaseCorrupt) => Trouble::Damaged(error.to_string()),
        _ => Trouble::Failed(error.to_string()),
    }
}
