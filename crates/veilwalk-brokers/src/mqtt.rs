//! MQTT 3.1.1, at least once in and at least once out.
//!
//! A message is acknowledged when its answer is on the disk *and* the broker has acknowledged the answer. The session
//! at the broker is persistent, so whatever is not acknowledged comes again: after a lost connection, a killed service,
//! a broker that was restarted. It then gets the same answer, which is published again.
//!
//! Nothing is carried over from one connection to the next. Each begins as the first did, and the broker says what is
//! left to do.
//!
//! Messages are acknowledged as they are done with, not in the order they came in. The standard asks for their order; but one walk
//! that waits for a lost step would then hold back all others, and brokers tell acknowledgements apart by their packet anyway.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rumqttc::{
    AsyncClient, Event, EventLoop, Incoming, MqttOptions, Outgoing, Publish, QoS,
    SubscribeReasonCode, Transport,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::address::{Address, Encryption, Login};
use crate::desk::{Desk, Finished};
use crate::shell::News;
use crate::source::{Read, Source, stopped};
use crate::tls::{self, TlsError};

/// How many answers may wait for the broker's acknowledgement.
const INFLIGHT: u16 = 10_000;
/// How many messages may wait here that the broker does not send again. More are dropped.
const MOST_UNACKNOWLEDGED: usize = 50_000;
/// The longest message there is in MQTT. A shorter limit would end the connection, and the message would come again.
const LONGEST: usize = 268_435_455;
/// How often what waits is looked at.
const TICK: Duration = Duration::from_millis(10);
/// How long it is waited between attempts to connect, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Answers messages of an MQTT broker until the service stops.
///
/// # Errors
///
/// If the certificates to trust cannot be read. A broker that cannot be reached is tried again.
pub async fn run(address: &Address, login: &Login, mut source: Source) -> Result<(), TlsError> {
    let options = options(address, login, &source.client)?;
    let mut pause = PAUSES.0;
    let mut told = String::new();
    while !*source.stop.borrow() {
        let ended = Connection::new(&options, &mut source).run(address).await;
        let Ended { why: Some(why), been } = ended else { break };
        if been == Been::Connected {
            (pause, told) = (PAUSES.0, String::new());
        }
        // A broker that is away is said once.
        if why != told {
            source.shell.tell(News::Lost(&format!("{address}: {why}")));
            told = why;
        }
        let _ = timeout(pause, stopped(source.stop.clone())).await;
        pause = (pause * 2).min(PAUSES.1);
    }
    Ok(())
}

fn options(address: &Address, login: &Login, client: &str) -> Result<MqttOptions, TlsError> {
    let host = address.host.trim_start_matches('[').trim_end_matches(']');
    // The library puts host and port together again, and needs the brackets of an address to do so.
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let mut options = MqttOptions::new(client, host, address.port);
    options.set_clean_session(false);
    options.set_manual_acks(true);
    options.set_inflight(INFLIGHT);
    options.set_keep_alive(Duration::from_secs(15));
    options.set_max_packet_size(LONGEST, LONGEST);
    match (&login.user, &login.password) {
        (None, None) => {}
        (user, password) => {
            options.set_credentials(
                user.clone().unwrap_or_default(),
                password.clone().unwrap_or_default(),
            );
        }
    }
    if address.encryption == Encryption::Tls {
        let config = tls::config(login.authorities.as_deref())?;
        options.set_transport(Transport::tls_with_config(rumqttc::TlsConfiguration::Rustls(
            Arc::new(config),
        )));
    }
    Ok(options)
}

/// Whether there was a connection at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Been {
    Connected,
    Never,
}

/// How a connection ended: with a reason, or because the service stops.
struct Ended {
    why: Option<String>,
    been: Been,
}

/// What the broker said.
enum Heard {
    Connected,
    Message(Publish),
    /// The broker has the answer that was published as the one of this number.
    Has(u64),
    Lost(String),
}

/// A message that is under way, and how many answers the broker does not have yet.
struct Message {
    publish: Publish,
    left: usize,
}

/// One connection.
struct Connection<'a> {
    source: &'a mut Source,
    client: AsyncClient,
    heard: UnboundedReceiver<Heard>,
    desk: Desk<Publish>,
    unacknowledged: Arc<AtomicUsize>,
    pump: tokio::task::JoinHandle<()>,
    /// How many answers were published.
    published: u64,
    /// The message of each answer that the broker does not have yet.
    answers: HashMap<u64, u64>,
    messages: HashMap<u64, Message>,
    been: Been,
}

impl<'a> Connection<'a> {
    fn new(options: &MqttOptions, source: &'a mut Source) -> Self {
        source.begin_again();
        let (client, events) = AsyncClient::new(options.clone(), 1_024);
        let (sender, heard) = unbounded_channel();
        let unacknowledged = Arc::new(AtomicUsize::new(0));
        let pump = Pump { events, sender, unacknowledged: unacknowledged.clone() };
        let pump = tokio::spawn(pump.run(client.clone(), source.pattern.as_str().to_owned()));
        let desk = Desk::new(source.live.clone(), source.shell.clone(), source.patience);
        let (published, answers, messages) = Default::default();
        let been = Been::Never;
        Self {
            source,
            client,
            heard,
            desk,
            unacknowledged,
            pump,
            published,
            answers,
            messages,
            been,
        }
    }

    async fn run(mut self, address: &Address) -> Ended {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stop = pin!(stopped(self.source.stop.clone()));
        let mut stopping = false;
        let why = loop {
            if stopping && self.messages.is_empty() && self.desk.busy() == 0 {
                break None;
            }
            let done = tokio::select! {
                heard = self.heard.recv() => match heard {
                    None => Err("the connection has ended".to_owned()),
                    Some(Heard::Lost(why)) => Err(why),
                    Some(Heard::Connected) => {
                        self.been = Been::Connected;
                        let place = format!("{address}, {}", self.source.pattern);
                        self.source.shell.tell(News::Connected(&place));
                        Ok(())
                    }
                    // The broker keeps what is not answered any more.
                    Some(Heard::Message(_)) if stopping => Ok(()),
                    Some(Heard::Message(publish)) => self.message(publish).await,
                    Some(Heard::Has(number)) => self.has(number).await,
                },
                finished = self.desk.finished() => self.publish(finished).await,
                _ = ticks.tick() => {
                    self.desk.tick();
                    Ok(())
                }
                () = &mut stop, if !stopping => {
                    stopping = true;
                    Ok(())
                }
            };
            if let Err(why) = done {
                break Some(why);
            }
        };
        if why.is_none() && self.client.disconnect().await.is_ok() {
            // Acknowledgements that wait go out before it.
            let _ = timeout(Duration::from_secs(2), &mut self.pump).await;
        }
        self.pump.abort();
        // When it stops without ever having been connected, nothing is to be told.
        Ended { why: why.filter(|_| !stopping), been: self.been }
    }

    async fn message(&mut self, publish: Publish) -> Result<(), String> {
        match self.source.read(&publish.topic, &publish.payload) {
            Read::Ask(request, refill) => self.desk.take(publish, request, refill),
            Read::Refuse(walk, refused) => self.desk.refuse(publish, walk, &refused),
            Read::Nothing => self.acknowledge(&publish).await?,
        }
        Ok(())
    }

    /// Publishes what came of a message.
    async fn publish(&mut self, finished: Finished<Publish>) -> Result<(), String> {
        let publish = finished.token;
        let messages = finished.reply.messages().map(|(word, _, payload)| {
            let topic = self.source.pattern.beside(&publish.topic, word);
            (topic, self.source.named(&finished.walk, payload))
        });
        let messages: Vec<(String, Vec<u8>)> = messages.collect();
        if messages.is_empty() {
            return self.acknowledge(&publish).await;
        }
        // Numbers are counted up from here, so no two messages have one.
        let id = self.published;
        self.messages.insert(id, Message { publish, left: messages.len() });
        for (topic, payload) in messages {
            self.answers.insert(self.published, id);
            self.published += 1;
            self.client
                .publish(topic, QoS::AtLeastOnce, false, payload)
                .await
                .map_err(|_| "the connection has ended".to_owned())?;
        }
        Ok(())
    }

    /// The broker has an answer; if it has all of a message's, that is done with.
    async fn has(&mut self, number: u64) -> Result<(), String> {
        let Some(id) = self.answers.remove(&number) else { return Ok(()) };
        let Some(message) = self.messages.get_mut(&id) else { return Ok(()) };
        message.left -= 1;
        if message.left > 0 {
            return Ok(());
        }
        match self.messages.remove(&id) {
            Some(message) => self.acknowledge(&message.publish).await,
            None => Ok(()),
        }
    }

    async fn acknowledge(&self, publish: &Publish) -> Result<(), String> {
        if publish.qos == QoS::AtMostOnce {
            self.unacknowledged.fetch_sub(1, Ordering::Relaxed);
            return Ok(());
        }
        self.client.ack(publish).await.map_err(|_| "the connection has ended".to_owned())
    }
}

/// Reads from the connection, writes to it, and says what was heard. It never waits for whoever listens, so that it always
/// goes on.
struct Pump {
    events: EventLoop,
    sender: UnboundedSender<Heard>,
    unacknowledged: Arc<AtomicUsize>,
}

impl Pump {
    async fn run(mut self, client: AsyncClient, pattern: String) {
        // Answers go out in the order they were published in, so counting says which packet is whose.
        let mut sent = 0;
        let mut packets = vec![None; usize::from(INFLIGHT) + 1];
        loop {
            let heard = match self.events.poll().await {
                Ok(Event::Incoming(Incoming::ConnAck(_))) => {
                    // Also in a session that is there: it may be of other topics.
                    match client.try_subscribe(pattern.as_str(), QoS::AtLeastOnce) {
                        Ok(()) => continue,
                        Err(error) => Heard::Lost(error.to_string()),
                    }
                }
                Ok(Event::Incoming(Incoming::SubAck(ack))) => {
                    if ack.return_codes.contains(&SubscribeReasonCode::Failure) {
                        Heard::Lost(format!("the broker does not let us read {pattern}"))
                    } else {
                        Heard::Connected
                    }
                }
                Ok(Event::Incoming(Incoming::Publish(publish))) => {
                    if publish.qos == QoS::AtMostOnce
                        && self.unacknowledged.fetch_add(1, Ordering::Relaxed)
                            >= MOST_UNACKNOWLEDGED
                    {
                        self.unacknowledged.fetch_sub(1, Ordering::Relaxed);
                        continue;
                    }
                    Heard::Message(publish)
                }
                Ok(Event::Outgoing(Outgoing::Publish(packet))) => {
                    if let Some(place) = packets.get_mut(usize::from(packet)) {
                        *place = Some(sent);
                    }
                    sent += 1;
                    continue;
                }
                Ok(Event::Incoming(Incoming::PubAck(ack))) => {
                    match packets.get_mut(usize::from(ack.pkid)).and_then(Option::take) {
                        Some(number) => Heard::Has(number),
                        None => continue,
                    }
                }
                Ok(Event::Outgoing(Outgoing::Disconnect)) => Heard::Lost("disconnected".to_owned()),
                Ok(_) => continue,
                Err(error) => Heard::Lost(error.to_string()),
            };
            let lost = matches!(heard, Heard::Lost(_));
            if self.sender.send(heard).is_err() || lost {
                return;
            }
        }
    }
}
