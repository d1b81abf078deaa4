//! A ledger in a file.
//!
//! SQLite with its rollback journal (the [crate] says why not its log) and `synchronous = EXTRA`, which
//! waits for the disk also after the journal is deleted: until then a power cut would take the
//! transaction back. Several processes may use one ledger; they wait for each other, up to a minute.
//! Between transactions nothing is locked, so a ledger can be looked at while a stream runs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params};

use crate::entry::{Entry, Row};
use crate::error::Problem;
use crate::store::{Each, Records, Store, Summary, SummaryRow, Work};

const SCHEMA: &str = "
CREATE TABLE entry (
    release BLOB NOT NULL,
    walk TEXT NOT NULL,
    person TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    unit TEXT NOT NULL,
    chain BLOB NOT NULL,
    one_state TEXT,
    linear INTEGER NOT NULL,
    start_disclosed INTEGER NOT NULL,
    releases INTEGER NOT NULL,
    charged INTEGER NOT NULL,
    digest BLOB,
    checksum BLOB NOT NULL,
    PRIMARY KEY (release, walk)
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_by_person ON entry (person);
CREATE TABLE summary (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    count INTEGER NOT NULL,
    sum BLOB NOT NULL,
    budget TEXT,
    window INTEGER,
    checksum BLOB NOT NULL
) STRICT;
";
const COLUMNS: &str = "release, walk, person, epsilon, unit, chain, one_state, linear, \
                       start_disclosed, releases, charged, digest, checksum";
/// `vwlg`.
const APPLICATION: i32 = 0x7677_6c67;
const VERSION: i32 = 1;
const PATIENCE: Duration = Duration::from_secs(60);

/// How many connections this process has to each ledger. Closing any handle on a file drops every lock
/// that the process has on it, SQLite's too, so a file that is open here is never opened otherwise.
static OPEN: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

fn open_here() -> MutexGuard<'static, BTreeMap<PathBuf, usize>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The changes to ledgers' files that are under way in this process, and whether more may begin.
struct Changes {
    count: usize,
    ending: bool,
}

static CHANGES: Mutex<Changes> = Mutex::new(Changes { count: 0, ending: false });
static CHANGED: Condvar = Condvar::new();

fn changes() -> MutexGuard<'static, Changes> {
    CHANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A change that [`settle`] waits for until it is dropped.
struct Change(());

impl Change {
    /// Waits for good if the program is about to end.
    fn begin() -> Self {
        let changes = CHANGED.wait_while(changes(), |changes| changes.ending);
        changes.unwrap_or_else(PoisonError::into_inner).count += 1;
        Self(())
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        changes().count -= 1;
        CHANGED.notify_all();
    }
}

/// Keeps this process from beginning another change to a ledger's file, for good, and waits for those
/// that are under way. Call it right before the program is ended at once. Otherwise a journal or a
/// temporary file may be left beside the ledger. (No charge is lost even then: the next run takes an
/// unfinished change back.)
///
/// Gives up after `patience`, and says whether all changes were complete.
pub fn settle(patience: Duration) -> bool {
    let mut changes = changes();
    changes.ending = true;
    let waited = CHANGED.wait_timeout_while(changes, patience, |changes| changes.count > 0);
    let (changes, _) = waited.unwrap_or_else(PoisonError::into_inner);
    changes.count == 0
}

/// What a file is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ledger,
    Old,
    Other,
}

fn kind_of(path: &Path) -> io::Result<Kind> {
    const SQLITE: &[u8; 16] = b"SQLite format 3\0";
    let open = open_here();
    if path.canonicalize().is_ok_and(|path| open.contains_key(&path)) {
        return Ok(Kind::Ledger);
    }
    if !path.is_file() {
        return Ok(Kind::Other);
    }
    let mut first = [0; 72];
    let mut file = File::open(path)?;
    let mut filled = 0;
    while filled < first.len() {
        match file.read(&mut first[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let ours = first[68..72] == APPLICATION.to_be_bytes();
    Ok(match () {
        // One of the two marks is enough: a ledger in which the other is damaged is still a ledger.
        () if first[..16] == *SQLITE || ours => Kind::Ledger,
        () if first.starts_with(b"redb") => Kind::Old,
        () => Kind::Other,
    })
}

/// Whether there is a ledger at this path, of this or the earlier format, by its first bytes.
#[must_use]
pub fn is_ledger(path: &Path) -> bool {
    kind_of(path).is_ok_and(|kind| kind != Kind::Other)
}

/// A ledger in a file, open.
#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Option<Connection>,
    path: PathBuf,
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        let mut open = open_here();
        self.connection = None;
        if let Some(count) = open.get_mut(&self.path) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.path);
            }
        }
    }
}

impl Sqlite {
    /// Opens a ledger that is there.
    pub(crate) fn open(path: &Path) -> Result<Self, Problem> {
        if !path.exists() {
            return Err(Problem::Missing);
        }
        match kind_of(path).map_err(|error| Problem::Storage(error.to_string()))? {
            Kind::Ledger => {}
            Kind::Old => return Err(Problem::OldFormat),
            Kind::Other => return Err(Problem::NotALedger),
        }
        let path = path.canonicalize().map_err(|error| Problem::Storage(error.to_string()))?;
        let mut open = open_here();
        let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(problem)?;
        *open.entry(path.clone()).or_default() += 1;
        Ok(Self { connection: Some(connection), path })
    }

    /// Makes a ledger beside its place and puts it there when it is complete. If there is one
    /// already, that one stays.
    pub(crate) fn make(path: &Path) -> Result<(), Problem> {
        let fail = |error: io::Error| Problem::Storage(error.to_string());
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(Problem::Storage(format!("there is no folder {folder}; make it first")));
        }
        let _change = Change::begin();
        let temporary = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(folder);
        // SQLite must have the only handle on the file.
        let temporary = temporary.map_err(fail)?.into_temp_path();
        let connection = connect(&temporary, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(problem)?;
        let made = || -> rusqlite::Result<()> {
            connection.pragma_update(None, "application_id", APPLICATION)?;
            connection.pragma_update(None, "user_version", VERSION)?;
            connection.execute_batch(&format!("BEGIN;{SCHEMA}"))?;
            connection.execute("INSERT INTO summary VALUES (1, 0, x'', NULL, NULL, x'')", ())?;
            set_summary(&connection, &Summary::default())?;
            connection.execute_batch("COMMIT")
        };
        made().map_err(problem)?;
        connection.close().map_err(|(_, error)| problem(error))?;
        match temporary.persist_noclobber(path) {
            Ok(()) => sync_folder(folder).map_err(fail),
            // Another run was faster: that one is used.
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(fail(error.error)),
        }
    }

    fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("open until it is dropped")
    }

    /// Writes pages before a transaction ends, as large ones do.
    #[cfg(test)]
    pub(crate) fn spill_early(&mut self) {
        self.connection().pragma_update(None, "cache_size", 5).unwrap();
    }

    fn run(&mut self, behavior: TransactionBehavior, work: Work<'_>) -> Result<(), Problem> {
        let transaction = self.connection().transaction_with_behavior(behavior).map_err(problem)?;
        // Nothing has been written yet, and other processes were waited for without holding this.
        let _change = Change::begin();
        match work(&mut &*transaction) {
            Ok(()) => transaction.commit().map_err(problem),
            Err(error) => {
                drop(transaction);
                Err(error)
            }
        }
    }
}

/// Makes a new name last through a loss of power. Elsewhere than on Unix a folder cannot be opened like a file, and the
/// file system keeps names by itself.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "synchronous", "EXTRA")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_prepared_statement_cache_capacity(16);
    Ok(connection)
}

/// What an error of SQLite means for a ledger.
fn problem(error: rusqlite::Error) -> Problem {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Problem::Busy,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Problem::Damaged(error.to_string())
        }
        Some(
            ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OperationInterrupted,
        ) => Problem::Storage(error.to_string()),
        // A table, a column or a type that is not there or not as it was made.
        _ => Problem::Damaged(error.to_string()),
    }
}

impl Store for Sqlite {
    fn write(&mut self, work: Work<'_>) -> Result<(), Problem> {
        self.run(TransactionBehavior::Immediate, work)
    }

    fn read(&mut self, work: Work<'_>) -> Result<(), Problem> {
        self.run(TransactionBehavior::Deferred, work)
    }

    fn check_structure(&mut self) -> Result<(), Problem> {
        let transaction = self.connection().transaction().map_err(problem)?;
        let number = |name: &str| {
            transaction.pragma_query_value(None, name, |row| row.get::<_, i32>(0)).map_err(problem)
        };
        let word = |name: &str| {
            transaction
                .pragma_query_value(None, name, |row| row.get::<_, String>(0))
                .map_err(problem)
        };
        let schema = schema_of(&transaction).map_err(problem)?;
        if number("application_id")? != APPLICATION {
            return Err(if schema == wanted_schema()? {
                Problem::Damaged("the file's mark is wrong".to_owned())
            } else {
                Problem::NotALedger
            });
        }
        let version = number("user_version")?;
        if version != VERSION {
            return Err(Problem::Damaged(format!(
                "its format has the number {version}, and this version of veilwalk reads {VERSION}"
            )));
        }
        if schema != wanted_schema()? {
            return Err(Problem::Damaged("its tables are not those of a ledger".to_owned()));
        }
        let mode = word("journal_mode")?;
        if mode != "delete" {
            return Err(Problem::Unusable(format!(
                "another program has switched the ledger to the journal mode {mode}; switch it back \
                 with `sqlite3 LEDGER 'PRAGMA journal_mode = DELETE'`"
            )));
        }
        if word("encoding")? != "UTF-8" || number("auto_vacuum")? != 0 {
            return Err(Problem::Damaged("the file's header is wrong".to_owned()));
        }
        let found = transaction
            .query_row("PRAGMA integrity_check(1)", (), |row| row.get::<_, String>(0))
            .map_err(problem)?;
        match found.as_str() {
            "ok" => transaction.commit().map_err(problem),
            _ => Err(Problem::Damaged(found)),
        }
    }
}

/// The type, name, table and text of everything in a schema.
type Schema = Vec<[Option<String>; 4]>;

fn schema_of(connection: &Connection) -> rusqlite::Result<Schema> {
    let sql = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";
    let mut statement = connection.prepare(sql)?;
    let rows =
        statement.query_map((), |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))?;
    rows.collect()
}

fn wanted_schema() -> Result<Schema, Problem> {
    let wanted = || {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(SCHEMA)?;
        schema_of(&connection)
    };
    wanted().map_err(problem)
}

fn set_summary(connection: &Connection, summary: &Summary) -> rusqlite::Result<()> {
    let row = SummaryRow::of(summary);
    let sql = "UPDATE summary SET count = ?1, sum = ?2, budget = ?3, window = ?4, checksum = ?5";
    let mut statement = connection.prepare_cached(sql)?;
    statement.execute(params![row.count, row.sum, row.budget, row.window, row.checksum])?;
    Ok(())
}

impl Records for &Connection {
    fn summary(&mut self) -> Result<Summary, Problem> {
        let sql = "SELECT count, sum, budget, window, checksum FROM summary";
        let mut statement = self.prepare_cached(sql).map_err(problem)?;
        let row = statement.query_row((), |row| {
            Ok(SummaryRow {
                count: row.get(0)?,
                sum: row.get(1)?,
                budget: row.get(2)?,
                window: row.get(3)?,
                checksum: row.get(4)?,
            })
        });
        row.map_err(problem)?.summary()
    }

    fn set_summary(&mut self, summary: &Summary) -> Result<(), Problem> {
        set_summary(self, summary).map_err(problem)
    }

    fn all(&mut self, each: Each<'_>) -> Result<(), Problem> {
        let sql = format!("SELECT {COLUMNS} FROM entry ORDER BY release, walk");
        let mut statement = self.prepare(&sql).map_err(problem)?;
        let mut rows = statement.query(()).map_err(problem)?;
        while let Some(row) = rows.next().map_err(problem)? {
            let (entry, hash) = row_of(row).map_err(problem)?.entry()?;
            each(entry, hash)?;
        }
        Ok(())
    }

    fn under(&mut self, release: [u8; 16], walks: &[&str]) -> Result<Vec<Entry>, Problem> {
        let sql = format!("SELECT {COLUMNS} FROM entry WHERE release = ?1 AND walk = ?2");
        let mut statement = self.prepare_cached(&sql).map_err(problem)?;
        let mut found = Vec::new();
        for walk in walks {
            let mut rows = statement.query(params![&release[..], walk]).map_err(problem)?;
            while let Some(row) = rows.next().map_err(problem)? {
                found.push(row_of(row).map_err(problem)?.entry()?.0);
            }
        }
        Ok(found)
    }

    fn of_persons(&mut self, persons: &[&str]) -> Result<Vec<Entry>, Problem> {
        let sql =
            format!("SELECT {COLUMNS} FROM entry INDEXED BY entry_by_person WHERE person = ?1");
        let mut statement = self.prepare_cached(&sql).map_err(problem)?;
        let mut found = Vec::new();
        for person in persons {
            let mut rows = statement.query(params![person]).map_err(problem)?;
            while let Some(row) = rows.next().map_err(problem)? {
                found.push(row_of(row).map_err(problem)?.entry()?.0);
            }
        }
        Ok(found)
    }

    fn insert(&mut self, entries: &[Entry]) -> Result<(), Problem> {
        let sql = format!(
            "INSERT INTO entry ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        );
        let mut statement = self.prepare_cached(&sql).map_err(problem)?;
        for entry in entries {
            let (row, _) = entry.row();
            let values = params![
                row.release,
                row.walk,
                row.person,
                row.epsilon,
                row.unit,
                row.chain,
                row.one_state,
                row.linear,
                row.start_disclosed,
                row.releases,
                row.charged,
                row.digest,
                row.checksum,
            ];
            statement.execute(values).map_err(problem)?;
        }
        Ok(())
    }

    fn now(&mut self) -> Result<i64, Problem> {
        Ok(match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            Err(error) => i64::try_from(error.duration().as_secs()).map_or(i64::MIN, |s| -s),
        })
    }
}

/// A truth value: nothing but zero or one, so that no bit of it goes unchecked.
struct Truth(bool);

impl FromSql for Truth {
    fn column_result(value: ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        match value {
            ValueRef::Integer(0) => Ok(Self(false)),
            ValueRef::Integer(1) => Ok(Self(true)),
            ValueRef::Integer(other) => Err(rusqlite::types::FromSqlError::OutOfRange(other)),
            _ => Err(rusqlite::types::FromSqlError::InvalidType),
        }
    }
}

fn row_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        release: row.get(0)?,
        walk: row.get(1)?,
        person: row.get(2)?,
        epsilon: row.get(3)?,
        unit: row.get(4)?,
        chain: row.get(5)?,
        one_state: row.get(6)?,
        linear: row.get::<_, Truth>(7)?.0,
        start_disclosed: row.get::<_, Truth>(8)?.0,
        releases: row.get(9)?,
        charged: row.get(10)?,
        digest: row.get(11)?,
        checksum: row.get(12)?,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// In a process of its own, since nothing can be written after `settle`.
    #[test]
    fn a_program_that_ends_waits_for_what_is_being_written() {
        const CHILD: &str = "VEILWALK_LEDGER_TEST_SETTLE";
        if std::env::var_os(CHILD).is_none() {
            let name = "sqlite::tests::a_program_that_ends_waits_for_what_is_being_written";
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            let status = child.args([name, "--exact"]).env(CHILD, "1").status().unwrap();
            assert_eq!(status.code(), Some(7), "the program ended by itself");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spent.ledger");
        Sqlite::make(&path).unwrap();
        let (begun, has_begun) = mpsc::channel();
        let writer = std::thread::spawn({
            let path = path.clone();
            move || {
                let mut ledger = Sqlite::open(&path).unwrap();
                ledger.write(&mut |_| {
                    begun.send(()).unwrap();
                    std::thread::sleep(Duration::from_millis(300));
                    Ok(())
                })
            }
        });
        has_begun.recv().unwrap();
        assert!(!settle(Duration::from_millis(20)), "the other thread still writes");
        assert!(settle(Duration::from_secs(20)));
        writer.join().unwrap().unwrap();
        // Another change does not begin any more.
        let (begun, has_begun) = mpsc::channel();
        std::thread::spawn(move || {
            let mut ledger = Sqlite::open(&path).unwrap();
            let _ = ledger.write(&mut |_| {
                begun.send(()).unwrap();
                Ok(())
            });
        });
        assert!(has_begun.recv_timeout(Duration::from_millis(200)).is_err());
        drop(folder);
        std::process::exit(7);
    }
}
