//! A ledger on a PostgreSQL server, for several machines.
//!
//! The same records in two tables of the schema `veilwalk`. A charge locks the summary first, so charges
//! wait for each other and each sees what the others have spent. Times are the server's, so that the
//! clocks of the machines do not matter. A charge is on the server's disk when it returns, unless the
//! server was told not to wait (`fsync`, `synchronous_commit`), which is refused.

use std::error::Error;
use std::time::Duration;

use postgres::config::{Host, SslMode};
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Config, IsolationLevel, NoTls, Transaction};

use crate::entry::{Entry, Row};
use crate::error::{LedgerError, Problem};
use crate::store::{Each, Records, Store, Summary, SummaryRow, Work};

const SCHEMA: &str = r#"
CREATE SCHEMA veilwalk;
CREATE TABLE veilwalk.entry (
    release BYTEA NOT NULL,
    walk TEXT COLLATE "C" NOT NULL,
    person TEXT COLLATE "C" NOT NULL,
    epsilon TEXT NOT NULL,
    unit TEXT NOT NULL,
    chain BYTEA NOT NULL,
    one_state TEXT,
    linear BOOLEAN NOT NULL,
    start_disclosed BOOLEAN NOT NULL,
    releases BIGINT NOT NULL,
    charged BIGINT NOT NULL,
    digest BYTEA,
    checksum BYTEA NOT NULL,
    PRIMARY KEY (release, walk)
);
CREATE INDEX entry_by_person ON veilwalk.entry (person);
CREATE TABLE veilwalk.summary (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    count BIGINT NOT NULL,
    sum BYTEA NOT NULL,
    budget TEXT,
    "window" BIGINT,
    checksum BYTEA NOT NULL
);
"#;
const COLUMNS: &str = "release, walk, person, epsilon, unit, chain, one_state, linear, \
                       start_disclosed, releases, charged, digest, checksum";
/// Locks out everybody else who would make a ledger.
const MAKING: i64 = 0x7677_6c67;
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to a server.
pub(crate) struct Postgres {
    client: Client,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Postgres")
    }
}

/// Connects to a server, and makes the tables if there are none.
pub(crate) fn open(url: &str, make: bool) -> Result<(String, Postgres), LedgerError> {
    let parsed: Result<Config, _> = url.parse();
    let mut config = parsed.map_err(|error| {
        let reason = format!("this is not the address of a server: {}", full(&error));
        Problem::Unusable(reason).of("postgres://…")
    })?;
    let name = name_of(&config);
    let connect = |config: &mut Config| {
        if config.get_ssl_mode() == SslMode::Require {
            return Err(Problem::Unusable(
                "sslmode=require: this build speaks to servers without encryption only; use a socket, \
                 a tunnel or a network that you trust, and sslmode=disable"
                    .to_owned(),
            ));
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        let mut client = config.connect(NoTls).map_err(problem)?;
        // Numbers of milliseconds, so that nothing of the address gets into the command.
        let patience = PATIENCE.as_millis();
        client
            .batch_execute(&format!(
                "SET lock_timeout = {patience}; SET synchronous_commit = on; \
                 SET client_min_messages = warning"
            ))
            .map_err(problem)?;
        refuse_unsafe(&mut client)?;
        if make {
            make_tables(&mut client)?;
        }
        Ok(Postgres { client })
    };
    let store = connect(&mut config).map_err(|problem| problem.of(&name))?;
    Ok((name, store))
}

/// The server and the database, without the password.
fn name_of(config: &Config) -> String {
    let host = config.get_hosts().first().map_or_else(String::new, |host| match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    });
    format!("postgres://{host}/{}", config.get_dbname().unwrap_or_default())
}

/// A server that says that something is on the disk when it is not.
fn refuse_unsafe(client: &mut Client) -> Result<(), Problem> {
    let row = client.query_one("SELECT current_setting('fsync')", &[]).map_err(problem)?;
    match row.try_get::<_, String>(0).map_err(problem)?.as_str() {
        "on" => Ok(()),
        other => Err(Problem::Unusable(format!(
            "the server has fsync = {other}, so a power cut could take back what was charged; set it on"
        ))),
    }
}

fn make_tables(client: &mut Client) -> Result<(), Problem> {
    let mut transaction = client.transaction().map_err(problem)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&MAKING]).map_err(problem)?;
    if !has_tables(&mut transaction)? {
        transaction.batch_execute(SCHEMA).map_err(problem)?;
        let row = SummaryRow::of(&Summary::default());
        let sql = "INSERT INTO veilwalk.summary VALUES (1, $1, $2, NULL, NULL, $3)";
        transaction.execute(sql, &[&row.count, &row.sum, &row.checksum]).map_err(problem)?;
    }
    transaction.commit().map_err(problem)
}

fn has_tables(transaction: &mut Transaction<'_>) -> Result<bool, Problem> {
    let sql = "SELECT to_regclass('veilwalk.summary') IS NOT NULL";
    let row = transaction.query_one(sql, &[]).map_err(problem)?;
    row.try_get(0).map_err(problem)
}

fn problem(error: postgres::Error) -> Problem {
    match error.code() {
        Some(&SqlState::LOCK_NOT_AVAILABLE) => Problem::Busy,
        Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME) => Problem::Missing,
        Some(
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED | &SqlState::UNDEFINED_COLUMN,
        ) => Problem::Damaged(full(&error)),
        Some(&SqlState::CHARACTER_NOT_IN_REPERTOIRE | &SqlState::UNTRANSLATABLE_CHARACTER) => {
            Problem::Unusable(format!("a name that the server cannot hold: {}", full(&error)))
        }
        _ => Problem::Storage(full(&error)),
    }
}

/// What is wrong, with what it comes from.
fn full(error: &postgres::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl Postgres {
    fn run(&mut self, read_only: bool, work: Work<'_>) -> Result<(), Problem> {
        let builder = self.client.build_transaction();
        let mut transaction = if read_only {
            builder.isolation_level(IsolationLevel::RepeatableRead).read_only(true).start()
        } else {
            builder.isolation_level(IsolationLevel::ReadCommitted).start()
        }
        .map_err(problem)?;
        if !read_only {
            let sql = "SELECT one FROM veilwalk.summary FOR UPDATE";
            transaction.execute(sql, &[]).map_err(problem)?;
        }
        work(&mut transaction)?;
        transaction.commit().map_err(problem)
    }
}

impl Store for Postgres {
    fn write(&mut self, work: Work<'_>) -> Result<(), Problem> {
        self.run(false, work)
    }

    fn read(&mut self, work: Work<'_>) -> Result<(), Problem> {
        self.run(true, work)
    }

    fn check_structure(&mut self) -> Result<(), Problem> {
        let mut transaction = self.client.transaction().map_err(problem)?;
        if has_tables(&mut transaction)? { Ok(()) } else { Err(Problem::Missing) }
    }
}

impl Records for Transaction<'_> {
    fn summary(&mut self) -> Result<Summary, Problem> {
        let sql = "SELECT count, sum, budget, \"window\", checksum FROM veilwalk.summary";
        let row = self.query_opt(sql, &[]).map_err(problem)?;
        let row = row.ok_or_else(|| Problem::Damaged("it has no summary".to_owned()))?;
        let read = || -> Result<SummaryRow, postgres::Error> {
            Ok(SummaryRow {
                count: row.try_get(0)?,
                sum: row.try_get(1)?,
                budget: row.try_get(2)?,
                window: row.try_get(3)?,
                checksum: row.try_get(4)?,
            })
        };
        read().map_err(damaged)?.summary()
    }

    fn set_summary(&mut self, summary: &Summary) -> Result<(), Problem> {
        let row = SummaryRow::of(summary);
        let sql = "UPDATE veilwalk.summary \
                   SET count = $1, sum = $2, budget = $3, \"window\" = $4, checksum = $5";
        let values: &[&(dyn postgres::types::ToSql + Sync)] =
            &[&row.count, &row.sum, &row.budget, &row.window, &row.checksum];
        self.execute(sql, values).map_err(problem)?;
        Ok(())
    }

    fn all(&mut self, each: Each<'_>) -> Result<(), Problem> {
        let sql = format!("SELECT {COLUMNS} FROM veilwalk.entry ORDER BY release, walk");
        let none: [&(dyn postgres::types::ToSql + Sync); 0] = [];
        let mut rows = self.query_raw(sql.as_str(), none.iter().copied()).map_err(problem)?;
        while let Some(row) = rows.next().map_err(problem)? {
            let (entry, hash) = row_of(&row).map_err(damaged)?.entry()?;
            each(entry, hash)?;
        }
        Ok(())
    }

    fn under(&mut self, release: [u8; 16], walks: &[&str]) -> Result<Vec<Entry>, Problem> {
        holdable(walks)?;
        let sql =
            format!("SELECT {COLUMNS} FROM veilwalk.entry WHERE release = $1 AND walk = ANY($2)");
        let rows = self.query(sql.as_str(), &[&&release[..], &walks]).map_err(problem)?;
        entries(&rows)
    }

    fn of_persons(&mut self, persons: &[&str]) -> Result<Vec<Entry>, Problem> {
        holdable(persons)?;
        let sql = format!("SELECT {COLUMNS} FROM veilwalk.entry WHERE person = ANY($1)");
        let rows = self.query(sql.as_str(), &[&persons]).map_err(problem)?;
        entries(&rows)
    }

    fn insert(&mut self, all: &[Entry]) -> Result<(), Problem> {
        let sql = format!(
            "INSERT INTO veilwalk.entry ({COLUMNS}) SELECT * FROM unnest($1::bytea[], $2::text[], \
             $3::text[], $4::text[], $5::text[], $6::bytea[], $7::text[], $8::bool[], $9::bool[], \
             $10::int8[], $11::int8[], $12::bytea[], $13::bytea[])"
        );
        let statement = self.prepare(&sql).map_err(problem)?;
        for part in all.chunks(1000) {
            let rows: Vec<Row> = part.iter().map(|entry| entry.row().0).collect();
            let persons: Vec<&str> = rows.iter().map(|row| row.person.as_str()).collect();
            holdable(&persons)?;
            macro_rules! column {
                ($name:ident) => {
                    &rows.iter().map(|row| &row.$name).collect::<Vec<_>>()
                };
            }
            let values: [&(dyn postgres::types::ToSql + Sync); 13] = [
                column!(release),
                column!(walk),
                &persons,
                column!(epsilon),
                column!(unit),
                column!(chain),
                column!(one_state),
                column!(linear),
                column!(start_disclosed),
                column!(releases),
                column!(charged),
                column!(digest),
                column!(checksum),
            ];
            self.execute(&statement, &values).map_err(problem)?;
        }
        Ok(())
    }

    fn now(&mut self) -> Result<i64, Problem> {
        let sql = "SELECT floor(extract(epoch FROM clock_timestamp()))::int8";
        let row = self.query_one(sql, &[]).map_err(problem)?;
        row.try_get(0).map_err(problem)
    }
}

/// PostgreSQL has no texts with a zero byte in them.
fn holdable(names: &[&str]) -> Result<(), Problem> {
    match names.iter().find(|name| name.contains('\0')) {
        Some(name) => Err(Problem::Unusable(format!(
            "{name:?}: the server cannot hold a name with a zero byte"
        ))),
        None => Ok(()),
    }
}

/// A value of another type than it was written as.
fn damaged(error: postgres::Error) -> Problem {
    Problem::Damaged(full(&error))
}

fn entries(rows: &[postgres::Row]) -> Result<Vec<Entry>, Problem> {
    rows.iter().map(|row| Ok(row_of(row).map_err(damaged)?.entry()?.0)).collect()
}

fn row_of(row: &postgres::Row) -> Result<Row, postgres::Error> {
    Ok(Row {
        release: row.try_get(0)?,
        walk: row.try_get(1)?,
        person: row.try_get(2)?,
        epsilon: row.try_get(3)?,
        unit: row.try_get(4)?,
        chain: row.try_get(5)?,
        one_state: row.try_get(6)?,
        linear: row.try_get(7)?,
        start_disclosed: row.try_get(8)?,
        releases: row.try_get(9)?,
        charged: row.try_get(10)?,
        digest: row.try_get(11)?,
        checksum: row.try_get(12)?,
    })
}
