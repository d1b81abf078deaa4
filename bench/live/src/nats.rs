//! One client that publishes real states to a stream and listens to answers.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use async_nats::{ConnectOptions, Subscriber, jetstream};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{Load, Record, real};

/// How long it is waited for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn drive(load: &Load, address: SocketAddr, ahead: usize) -> Result<Record> {
    let options = ConnectOptions::new().subscription_capacity(1 << 17);
    let client =
        options.connect(format!("nats://{address}")).await.context("no NATS server answers")?;
    let mut answers = client.subscribe("fleet.*.released").await?;
    client.flush().await?;
    let context = jetstream::context::ContextBuilder::new()
        .max_ack_inflight(2 * ahead)
        .backpressure_on_inflight(true)
        .build(client);
    let mut record = Record::new();
    'all: for step in 0..load.steps {
        for walk in 0..load.walks {
            if record.begun().elapsed() > load.time() {
                break 'all;
            }
            while record.open() >= ahead {
                note(&mut record, load, &mut answers).await?;
            }
            record.sent(walk, step);
            let message = json!({ "step": step, "state": real(walk, step) }).to_string();
            let subject = format!("fleet.{}.real", load.walk(walk));
            let stored = context.publish(subject, message.into()).await?;
            // One that the server does not take has no answer, which is found in the end.
            tokio::spawn(async move { stored.await.is_ok() });
        }
    }
    while record.open() > 0 {
        note(&mut record, load, &mut answers).await?;
    }
    record.over();
    Ok(record)
}

async fn note(record: &mut Record, load: &Load, answers: &mut Subscriber) -> Result<()> {
    let message = match timeout(PATIENCE, answers.next()).await {
        Ok(Some(message)) => message,
        Ok(None) => bail!("the server has closed the connection"),
        Err(_) => bail!("no answer for {} s", PATIENCE.as_secs()),
    };
    let walk = message
        .subject
        .split('.')
        .nth(1)
        .and_then(|name| name.strip_prefix(&load.name)?.strip_prefix('-'));
    // Answers to another run may come late.
    let Some(walk) = walk.and_then(|walk| walk.parse().ok()) else { return Ok(()) };
    record.answer(walk, &serde_json::from_slice::<Value>(&message.payload)?)
}
