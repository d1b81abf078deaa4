//! One client that publishes real states and listens to answers.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rumqttc::{AsyncClient, Event, EventLoop, Incoming, MqttOptions, QoS};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use crate::{Load, Record, real};

/// How long it is waited for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn drive(load: &Load, address: SocketAddr, ahead: usize) -> Result<Record> {
    let client = |name: &str| {
        let mut options = MqttOptions::new(name, address.ip().to_string(), address.port());
        options.set_inflight(5_000);
        options.set_max_packet_size(1 << 20, 1 << 20);
        AsyncClient::new(options, 10_000)
    };
    let (listener, events) = client("veilwalk-load-answers");
    listener.try_subscribe("fleet/+/released", QoS::AtLeastOnce)?;
    let (sender, mut answers) = unbounded_channel();
    tokio::spawn(listen(events, sender));
    heard(&mut answers).await.context("no broker answers")?;
    let (client, mut events) = client("veilwalk-load");
    tokio::spawn(async move { while events.poll().await.is_ok() {} });
    let mut record = Record::new();
    'all: for step in 0..load.steps {
        for walk in 0..load.walks {
            if record.begun().elapsed() > load.time() {
                break 'all;
            }
            while record.open() >= ahead {
                note(&mut record, load, heard(&mut answers).await?)?;
            }
            record.sent(walk, step);
            let message = json!({ "step": step, "state": real(walk, step) }).to_string();
            let topic = format!("fleet/{}/real", load.walk(walk));
            client.publish(topic, QoS::AtLeastOnce, false, message).await?;
        }
    }
    while record.open() > 0 {
        note(&mut record, load, heard(&mut answers).await?)?;
    }
    record.over();
    Ok(record)
}

type Answer = (String, Vec<u8>);

async fn listen(mut events: EventLoop, sender: UnboundedSender<Answer>) {
    loop {
        let heard = match events.poll().await {
            Ok(Event::Incoming(Incoming::SubAck(_))) => Default::default(),
            Ok(Event::Incoming(Incoming::Publish(message))) => {
                (message.topic, message.payload.to_vec())
            }
            Ok(_) => continue,
            Err(_) => return,
        };
        if sender.send(heard).is_err() {
            return;
        }
    }
}

async fn heard(answers: &mut UnboundedReceiver<Answer>) -> Result<Answer> {
    match timeout(PATIENCE, answers.recv()).await {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => bail!("the broker has closed the connection"),
        Err(_) => bail!("no answer for {} s", PATIENCE.as_secs()),
    }
}

fn note(record: &mut Record, load: &Load, (topic, payload): Answer) -> Result<()> {
    let walk =
        topic.split('/').nth(1).and_then(|name| name.strip_prefix(&load.name)?.strip_prefix('-'));
    // Answers to another run may come late.
    let Some(walk) = walk.and_then(|walk| walk.parse().ok()) else { return Ok(()) };
    record.answer(walk, &serde_json::from_slice::<Value>(&payload)?)
}
