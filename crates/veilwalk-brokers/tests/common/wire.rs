//! Who sends real states and listens to answers: clients of their own, that live on when the broker is restarted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use futures_util::StreamExt;
use rumqttc::{AsyncClient, Event, Incoming, MqttOptions, QoS};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use super::{Broker, Kind};

/// All that was ever published, beside the topics with real states.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) states: BTreeMap<(String, u64), u64>,
    pub(crate) refused: Vec<(String, Value)>,
    pub(crate) ended: Vec<(String, Value)>,
    pub(crate) answers: u64,
    /// What is wrong, for the thread of the test.
    pub(crate) wrong: Option<String>,
}

impl Seen {
    fn add(&mut self, walk: &str, word: &str, payload: &[u8]) {
        let body: Value = serde_json::from_slice(payload).unwrap();
        if word == "refused" {
            self.refused.push((walk.to_owned(), body));
            return;
        }
        if body["ended"] == true {
            self.ended.push((walk.to_owned(), body));
            return;
        }
        let (number, state) = (body["step"].as_u64().unwrap(), body["state"].as_u64().unwrap());
        let first = *self.states.entry((walk.to_owned(), number)).or_insert(state);
        self.answers += 1;
        if first != state {
            self.wrong = Some(format!("a second release of step {number} of {walk}"));
        }
    }
}

/// One client that sends and one that listens.
pub(crate) struct Wire {
    kind: Kind,
    mqtt: Option<AsyncClient>,
    nats: Option<jetstream::Context>,
    runtime: Runtime,
    pub(crate) seen: Arc<Mutex<Seen>>,
}

impl Wire {
    pub(crate) fn new(broker: &Broker) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (mut mqtt, mut nats) = (None, None);
        let (ready, is_ready) = std::sync::mpsc::channel();
        match broker.kind {
            Kind::Mqtt => {
                let mut options = MqttOptions::new("load", "127.0.0.1", broker.port);
                options.set_inflight(1_000);
                let (client, mut events) = AsyncClient::new(options, 10_000);
                runtime.spawn(async move {
                    loop {
                        if events.poll().await.is_err() {
                            sleep(Duration::from_millis(20)).await;
                        }
                    }
                });
                mqtt = Some(client);
                runtime.spawn(listen_mqtt(broker.port, seen.clone(), ready));
            }
            Kind::Nats => {
                let options = async_nats::ConnectOptions::new()
                    .retry_on_initial_connect()
                    .reconnect_delay_callback(|_| Duration::from_millis(30));
                let client = runtime.block_on(options.connect(broker.url())).unwrap();
                let _inside = runtime.enter();
                nats = Some(jetstream::new(client.clone()));
                runtime.spawn(listen_nats(client, seen.clone(), ready));
            }
        }
        is_ready.recv().unwrap();
        Self { kind: broker.kind, mqtt, nats, runtime, seen }
    }

    pub(crate) fn step(&self, walk: &str, number: u64, state: u64, delay: Duration) {
        self.send(walk, json!({ "step": number, "state": state }).to_string(), delay);
    }

    /// Sends a message after some time, and again until the broker says that it has it.
    pub(crate) fn send(&self, walk: &str, payload: impl Into<Vec<u8>>, delay: Duration) {
        let (topic, payload) = (self.kind.real(walk), payload.into());
        if let Some(client) = self.mqtt.clone() {
            let (topic, payload) = (topic.clone(), payload.clone());
            self.runtime.spawn(async move {
                sleep(delay).await;
                client.publish(topic, QoS::AtLeastOnce, false, payload).await.unwrap();
            });
        }
        if let Some(context) = self.nats.clone() {
            self.runtime.spawn(async move {
                sleep(delay).await;
                loop {
                    if let Ok(ack) = context.publish(topic.clone(), payload.clone().into()).await
                        && ack.await.is_ok()
                    {
                        return;
                    }
                    sleep(Duration::from_millis(100)).await;
                }
            });
        }
    }

    /// Reads all answers that the NATS server has stored, and says how many were not heard when they were published: whoever only
    /// listens hears nothing while the server is away, and the service may be back before.
    pub(crate) fn read_stored(&self) -> usize {
        let Some(context) = &self.nats else { return 0 };
        let before = self.look(|seen| seen.states.len());
        self.runtime.block_on(async {
            let Ok(stream) = context.get_stream("fleet_ALL_released").await else { return };
            let config = OrderedConfig {
                filter_subject: "fleet.*.released".to_owned(),
                ..OrderedConfig::default()
            };
            let Ok(consumer) = stream.create_consumer(config).await else { return };
            let Ok(mut messages) = consumer.messages().await else { return };
            while let Ok(Some(Ok(message))) = timeout(Duration::from_secs(1), messages.next()).await
            {
                let walk = message.subject.split('.').nth(1).unwrap();
                self.seen.lock().unwrap().add(walk, "released", &message.payload);
            }
        });
        self.look(|seen| seen.states.len()) - before
    }

    /// Looks at what was published; fails if a step was released twice.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        let seen = self.seen.lock().unwrap();
        assert_eq!(seen.wrong, None);
        look(&seen)
    }
}

async fn listen_mqtt(port: u16, seen: Arc<Mutex<Seen>>, ready: std::sync::mpsc::Sender<()>) {
    let mut options = MqttOptions::new("watch", "127.0.0.1", port);
    options.set_clean_session(false);
    let (client, mut events) = AsyncClient::new(options, 100);
    loop {
        match events.poll().await {
            Ok(Event::Incoming(Incoming::ConnAck(_))) => {
                client.try_subscribe("fleet/+/released", QoS::AtLeastOnce).unwrap();
                client.try_subscribe("fleet/+/refused", QoS::AtLeastOnce).unwrap();
            }
            Ok(Event::Incoming(Incoming::SubAck(_))) => {
                let _ = ready.send(());
            }
            Ok(Event::Incoming(Incoming::Publish(message))) => {
                let parts: Vec<&str> = message.topic.split('/').collect();
                seen.lock().unwrap().add(parts[1], parts[2], &message.payload);
            }
            Ok(_) => {}
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn listen_nats(
    client: async_nats::Client,
    seen: Arc<Mutex<Seen>>,
    ready: std::sync::mpsc::Sender<()>,
) {
    let mut messages = client.subscribe("fleet.*.*").await.unwrap();
    client.flush().await.unwrap();
    let _ = ready.send(());
    while let Some(message) = messages.next().await {
        let parts: Vec<&str> = message.subject.split('.').collect();
        if parts[2] != "real" {
            seen.lock().unwrap().add(parts[1], parts[2], &message.payload);
        }
    }
}
