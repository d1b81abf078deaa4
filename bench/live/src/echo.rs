//! A service that answers with the real state: everything but the mechanism. It promises nothing.
//!
//! The store has the tables of the real one and is written in the same way: a row of the walk and one of the answer for each step, one
//! transaction and one wait for the disk for all requests that came together.

use std::net::SocketAddr;
use std::path::Path as FilePath;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::{Context, Result, anyhow};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use axum::serve::ListenerExt;
use axum::{Json, Router};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// How many steps are put into one transaction.
const MOST_STEPS: usize = 4_096;
/// As long as the sessions of the real service are on this chain.
const SESSION: [u8; 64] = [0; 64];

struct Posted {
    walk: String,
    steps: Vec<(u64, String)>,
    done: oneshot::Sender<Result<()>>,
}

pub(crate) async fn serve(address: SocketAddr, folder: &FilePath) -> Result<()> {
    std::fs::create_dir(folder).with_context(|| format!("{} has to be new", folder.display()))?;
    let store = open(folder)?;
    let (sender, receiver) = sync_channel(10_000);
    thread::spawn(move || write(store, receiver));
    let router = Router::new().route("/v1/walks/{walk}/steps", post(steps)).with_state(sender);
    let listener = TcpListener::bind(address).await?.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}

fn open(folder: &FilePath) -> Result<Connection> {
    let store = Connection::open(folder.join("echo.db"))?;
    store.execute_batch(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE walk (
             id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, steps INTEGER NOT NULL, session BLOB, seen INTEGER
         ) STRICT;
         CREATE INDEX open_walk ON walk (seen) WHERE seen IS NOT NULL;
         CREATE TABLE answer (
             walk INTEGER NOT NULL, step INTEGER NOT NULL, state INTEGER NOT NULL, observed INTEGER,
             PRIMARY KEY (walk, step)
         ) STRICT, WITHOUT ROWID;",
    )?;
    Ok(store)
}

/// Writes what came together.
fn write(mut store: Connection, receiver: Receiver<Posted>) {
    while let Ok(first) = receiver.recv() {
        let mut batch = vec![first];
        let mut weight = batch[0].steps.len();
        while weight < MOST_STEPS
            && let Ok(posted) = receiver.try_recv()
        {
            weight += posted.steps.len();
            batch.push(posted);
        }
        let written = write_batch(&mut store, &batch).map_err(|error| error.to_string());
        for posted in batch {
            let _ = posted.done.send(written.clone().map_err(|error| anyhow!(error)));
        }
    }
}

fn write_batch(store: &mut Connection, batch: &[Posted]) -> Result<()> {
    let transaction = store.transaction()?;
    for Posted { walk, steps, .. } in batch {
        let find = "SELECT id, steps FROM walk WHERE name = ?1";
        let found: Option<(i64, i64)> = transaction
            .prepare_cached(find)?
            .query_row([walk], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let (row, mut next) = match found {
            Some(found) => found,
            None => {
                let insert = "INSERT INTO walk (name, steps, session, seen) VALUES (?1, 0, x'', 0)";
                transaction.prepare_cached(insert)?.execute([walk])?;
                (transaction.last_insert_rowid(), 0)
            }
        };
        for (step, _) in steps {
            let insert = "INSERT OR IGNORE INTO answer (walk, step, state, observed) VALUES (?1, ?2, 1, NULL)";
            transaction.prepare_cached(insert)?.execute(params![row, *step as i64])?;
            next = next.max(*step as i64 + 1);
        }
        let update = "UPDATE walk SET steps = ?2, session = ?3 WHERE id = ?1";
        transaction.prepare_cached(update)?.execute(params![row, next, SESSION])?;
    }
    transaction.commit()?;
    Ok(())
}

async fn steps(
    State(sender): State<SyncSender<Posted>>,
    Path(walk): Path<String>,
    Json(body): Json<Value>,
) -> Result<Json<Value>, (StatusCode, String)> {
    let wrong = || (StatusCode::BAD_REQUEST, "send a step or a list of them".to_owned());
    let read = |step: &Value| Some((step["step"].as_u64()?, step["state"].as_str()?.to_owned()));
    let steps: Option<Vec<(u64, String)>> = match body["steps"].as_array() {
        Some(steps) => steps.iter().map(read).collect(),
        None => read(&body).map(|step| vec![step]),
    };
    let steps = steps.ok_or_else(wrong)?;
    let answers: Vec<Value> = steps
        .iter()
        .map(|(step, state)| json!({ "step": step, "state": state, "replayed": false }))
        .collect();
    let (done, stored) = oneshot::channel();
    let busy = || (StatusCode::SERVICE_UNAVAILABLE, "not now".to_owned());
    sender.try_send(Posted { walk, steps, done }).map_err(|_| busy())?;
    match stored.await {
        Ok(Ok(())) if body["steps"].is_array() => Ok(Json(Value::Array(answers))),
        Ok(Ok(())) => Ok(Json(answers.into_iter().next().unwrap_or_default())),
        Ok(Err(error)) => Err((StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
        Err(_) => Err(busy()),
    }
}
