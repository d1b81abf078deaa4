//! NATS JetStream: a durable consumer in, answers with a message id out.
//!
//! A message is acknowledged when its answer is on the disk *and* the server has stored the answer. What is not
//! acknowledged is delivered again, after a restart of either side too. The answer that is then published again has
//! the same id, by which the server drops it as long as it remembers the id (its window of two minutes, unless
//! the stream says otherwise).
//!
//! The consumer at the server says which directory it belongs to. Two services on one consumer would each get a part of a walk's
//! messages, and both might release it.

use std::collections::HashMap;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::GetStreamByNameErrorKind;
use async_nats::jetstream::message::{Acker, PublishMessage};
use async_nats::jetstream::stream::{Config, RetentionPolicy, StorageType};
use async_nats::jetstream::{AckKind, Context};
use async_nats::{Client, ConnectOptions, Event, Subject};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, Stream, StreamExt};
use thiserror::Error;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::address::{Address, Encryption, Login};
use crate::desk::{Desk, Finished, Named};
use crate::pattern::{Pattern, REFUSED, RELEASED};
use crate::shell::{News, Shell};
use crate::source::{Read, Source, stopped};

/// How long the server waits for an acknowledgement before it delivers again: what a service that was killed had, the
/// next one gets only then.
const ACK_WAIT: Duration = Duration::from_secs(5);
/// How often it is told that a message is still under way.
const PROGRESS: Duration = Duration::from_secs(2);
/// How many messages are under way at most.
const MOST_UNACKNOWLEDGED: i64 = 10_000;
/// How many are asked for at a time.
const MOST_AT_ONCE: usize = 1_000;
/// How often what waits is looked at.
const TICK: Duration = Duration::from_millis(10);
/// How long it is waited after something failed.
const PAUSE: Duration = Duration::from_millis(500);

/// Why messages of a server cannot be answered at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NatsError {
    /// The consumer is another service's.
    #[error(
        "the consumer {name} of the stream {stream} belongs to another directory ({theirs}; this one is {ours}): the \
         two would each release a part of the walks. Give the directory it was made with, or another name for this \
         service"
    )]
    OtherService {
        /// Its name.
        name: String,
        /// Its stream.
        stream: String,
        /// What it says it belongs to.
        theirs: String,
        /// What this service is.
        ours: String,
    },
    /// Options that make no connection.
    #[error("cannot connect to a NATS server: {0}")]
    Options(String),
}

/// Why it has to be tried again.
#[derive(Debug)]
enum Setback {
    Passing(String),
    Lasting(NatsError),
}

fn passing(what: &str) -> impl Fn(String) -> Setback + '_ {
    move |why| Setback::Passing(format!("{what}: {why}"))
}

type Incoming = Pin<Box<dyn Stream<Item = Result<async_nats::jetstream::Message, String>> + Send>>;

/// Answers messages of a NATS server until the service stops. `id` is that of the directory of answers.
///
/// # Errors
///
/// If the consumer belongs to another directory. A server that cannot be reached is tried again.
pub async fn run(
    address: &Address,
    login: &Login,
    id: &str,
    mut source: Source,
) -> Result<(), NatsError> {
    let client = connect(address, login, &source).await?;
    let context = async_nats::jetstream::context::ContextBuilder::new()
        .max_ack_inflight(2 * MOST_UNACKNOWLEDGED as usize)
        .backpressure_on_inflight(true)
        .build(client.clone());
    let desk = Desk::new(source.live.clone(), source.shell.clone(), source.patience);
    let (under_way, publishing) = (HashMap::new(), FuturesUnordered::new());
    let place = format!("{address}, {}", source.pattern);
    let mut told = String::new();
    let opening = Opening {
        context: context.clone(),
        pattern: source.pattern.clone(),
        client: source.client.clone(),
        ours: format!("veilwalk, release id {id}"),
        shell: source.shell.clone(),
    };
    let mut service = Service { context, id: id.to_owned(), desk, next: 0, under_way, publishing };
    loop {
        let incoming = tokio::select! {
            incoming = opening.open() => incoming,
            () = stopped(source.stop.clone()) => break,
        };
        let setback = match incoming {
            Ok(incoming) => {
                source.shell.tell(News::Connected(&place));
                told.clear();
                match service.serve(incoming, &mut source).await {
                    Some(why) => why,
                    None => break,
                }
            }
            Err(Setback::Passing(why)) => why,
            Err(Setback::Lasting(error)) => return Err(error),
        };
        if setback != told {
            source.shell.tell(News::Lost(&format!("{place}: {setback}")));
            told = setback;
        }
        let _ = timeout(PAUSE, stopped(source.stop.clone())).await;
    }
    // Acknowledgements that wait go out.
    let _ = timeout(Duration::from_secs(2), client.flush()).await;
    Ok(())
}

async fn connect(address: &Address, login: &Login, source: &Source) -> Result<Client, NatsError> {
    let shell = source.shell.clone();
    let mut options = ConnectOptions::new()
        .name(&source.client)
        .retry_on_initial_connect()
        .client_capacity(16_384)
        .subscription_capacity(1 << 17)
        .reconnect_delay_callback(|attempt| Duration::from_millis((50 << attempt.min(6)) as u64))
        .event_callback(move |event| {
            let shell = shell.clone();
            async move { tell_event(&*shell, &event) }
        });
    options = match (&login.user, &login.password) {
        (Some(user), password) => {
            options.user_and_password(user.clone(), password.clone().unwrap_or_default())
        }
        (None, Some(token)) => options.token(token.clone()),
        (None, None) => options,
    };
    if address.encryption == Encryption::Tls {
        // Whatever else of the program encrypts may have chosen already.
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        options = options.require_tls(true);
        if let Some(path) = &login.authorities {
            options = options.add_root_certificates(path.clone());
        }
    }
    let connected = options.connect(address.to_string()).await;
    connected.map_err(|error| NatsError::Options(error.to_string()))
}

fn tell_event(shell: &dyn Shell, event: &Event) {
    if let Event::ServerError(_) | Event::ClientError(_) | Event::SlowConsumer(_) = event {
        shell.tell(News::Warning(&format!("NATS: {event}")));
    }
}

/// What is needed at the server.
struct Opening {
    context: Context,
    pattern: Pattern,
    client: String,
    /// What the consumer says it belongs to.
    ours: String,
    shell: Arc<dyn Shell>,
}

impl Opening {
    /// Finds or makes what is needed at the server, and begins to read.
    async fn open(&self) -> Result<Incoming, Setback> {
        let stream = self.stream().await?;
        let consumer = self.consumer(&stream).await?;
        let incoming = consumer
            .stream()
            .max_messages_per_batch(MOST_AT_ONCE)
            .expires(Duration::from_secs(10))
            .heartbeat(Duration::from_secs(2))
            .messages()
            .await;
        let incoming =
            incoming.map_err(|error| passing("cannot read the stream")(error.to_string()))?;
        Ok(Box::pin(incoming.map(|message| message.map_err(|error| error.to_string()))))
    }

    /// The stream with the real states, and one for answers.
    async fn stream(&self) -> Result<String, Setback> {
        let pattern = &self.pattern;
        let answers: Vec<String> = [RELEASED, REFUSED].map(|word| pattern.all_beside(word)).into();
        for subject in &answers {
            if self.stream_of(subject).await?.is_none() {
                let config = Config {
                    name: name_of(&answers[0]),
                    subjects: answers.clone(),
                    storage: StorageType::File,
                    ..Config::default()
                };
                self.make(config).await?;
                break;
            }
        }
        if let Some(name) = self.stream_of(pattern.as_str()).await? {
            return Ok(name);
        }
        let config = Config {
            name: name_of(pattern.as_str()),
            subjects: vec![pattern.as_str().to_owned()],
            // Real states leave the server when they are answered.
            retention: RetentionPolicy::WorkQueue,
            storage: StorageType::File,
            ..Config::default()
        };
        self.make(config).await
    }

    async fn make(&self, config: Config) -> Result<String, Setback> {
        let (name, subjects) = (config.name.clone(), config.subjects.join(" and "));
        let made = self.context.create_stream(config).await;
        made.map_err(|error| passing("cannot make a stream")(error.to_string()))?;
        self.shell
            .tell(News::Warning(&format!("NATS: there was no stream of {subjects}; made {name}")));
        Ok(name)
    }

    async fn stream_of(&self, subject: &str) -> Result<Option<String>, Setback> {
        match self.context.stream_by_subject(subject).await {
            Ok(name) => Ok(Some(name)),
            Err(error) if error.kind() == GetStreamByNameErrorKind::NotFound => Ok(None),
            Err(error) => Err(passing("cannot look for the stream")(error.to_string())),
        }
    }

    async fn consumer(&self, stream: &str) -> Result<PullConsumer, Setback> {
        let wrong = passing("cannot open the consumer");
        let ours = self.ours.clone();
        let stream_name = stream.to_owned();
        let stream =
            self.context.get_stream(stream).await.map_err(|error| wrong(error.to_string()))?;
        let config = pull::Config {
            durable_name: Some(self.client.clone()),
            description: Some(ours.clone()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            filter_subject: self.pattern.as_str().to_owned(),
            max_ack_pending: MOST_UNACKNOWLEDGED,
            ..pull::Config::default()
        };
        let found = stream.get_or_create_consumer(&self.client, config).await;
        let found: PullConsumer = found.map_err(|error| wrong(error.to_string()))?;
        let theirs = found.cached_info().config.description.clone().unwrap_or_default();
        if theirs == ours {
            return Ok(found);
        }
        let (name, theirs) = (
            self.client.clone(),
            if theirs.is_empty() { "it does not say which".to_owned() } else { theirs },
        );
        Err(Setback::Lasting(NatsError::OtherService { name, stream: stream_name, theirs, ours }))
    }
}

/// A message that is under way.
struct Message {
    acker: Acker,
    /// How many answers the server does not have yet.
    left: usize,
    /// When the server was last told of it.
    told: Instant,
}

/// All that goes on, whatever becomes of the connection: what is under way stays so, and is acknowledged later.
struct Service {
    context: Context,
    id: String,
    desk: Desk<(u64, Subject)>,
    next: u64,
    under_way: HashMap<u64, Message>,
    publishing: FuturesUnordered<BoxFuture<'static, u64>>,
}

impl Service {
    /// Answers messages until the service stops, or says why no more come.
    async fn serve(&mut self, mut incoming: Incoming, source: &mut Source) -> Option<String> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stop = pin!(stopped(source.stop.clone()));
        let mut stopping = false;
        loop {
            // What waits for a step comes again.
            if stopping && self.desk.busy() == 0 && self.publishing.is_empty() {
                return None;
            }
            tokio::select! {
                message = incoming.next(), if !stopping => match message {
                    Some(Ok(message)) => self.message(message, source).await,
                    Some(Err(why)) => return Some(why),
                    None => return Some("no more messages come".to_owned()),
                },
                finished = self.desk.finished() => self.publish(finished, source),
                Some(id) = self.publishing.next() => self.has(id).await,
                _ = ticks.tick() => {
                    self.desk.tick();
                    self.progress().await;
                }
                () = &mut stop, if !stopping => stopping = true,
            }
        }
    }

    async fn message(&mut self, message: async_nats::jetstream::Message, source: &mut Source) {
        let (message, acker) = message.split();
        let id = self.next;
        self.next += 1;
        self.under_way.insert(id, Message { acker, left: 0, told: Instant::now() });
        let token = (id, message.subject.clone());
        match source.read(&message.subject, &message.payload) {
            Read::Ask(request, refill) => self.desk.take(token, request, refill),
            Read::Refuse(walk, refused) => self.desk.refuse(token, walk, &refused),
            Read::Nothing => self.acknowledge(id).await,
        }
    }

    /// Publishes what came of a message, until the server has it.
    fn publish(&mut self, finished: Finished<(u64, Subject)>, source: &Source) {
        let (id, subject) = finished.token;
        let walk = finished.walk.as_str();
        let mut left = 0;
        for (word, named, payload) in finished.reply.messages() {
            left += 1;
            let name = match named {
                Named::Step(step) => format!("{} {walk} {step}", self.id),
                Named::End => format!("{} {walk} end", self.id),
                Named::Nothing => String::new(),
            };
            let (context, shell) = (self.context.clone(), source.shell.clone());
            let subject = source.pattern.beside(&subject, word);
            self.publishing.push(
                async move {
                    until_stored(&context, subject, name, payload, &shell).await;
                    id
                }
                .boxed(),
            );
        }
        if left == 0 {
            self.publishing.push(async move { id }.boxed());
        }
        if let Some(message) = self.under_way.get_mut(&id) {
            message.left = left.max(1);
        }
    }

    /// The server has an answer; if it has all of a message's, that is done with.
    async fn has(&mut self, id: u64) {
        if let Some(message) = self.under_way.get_mut(&id) {
            message.left -= 1;
            if message.left == 0 {
                self.acknowledge(id).await;
            }
        }
    }

    async fn acknowledge(&mut self, id: u64) {
        if let Some(message) = self.under_way.remove(&id) {
            // If this is lost, the message comes again and gets the same answer.
            let _ = message.acker.ack().await;
        }
    }

    /// Tells the server what is still under way, so that it does not deliver it again.
    async fn progress(&mut self) {
        let now = Instant::now();
        for message in self.under_way.values_mut() {
            if now - message.told > PROGRESS {
                message.told = now;
                let _ = message.acker.ack_with(AckKind::Progress).await;
            }
        }
    }
}

/// Publishes until the server says that it has stored it.
async fn until_stored(
    context: &Context,
    subject: String,
    name: String,
    payload: Vec<u8>,
    shell: &Arc<dyn Shell>,
) {
    let payload = async_nats::jetstream::message::PublishMessage::build().payload(payload.into());
    let message: PublishMessage = if name.is_empty() { payload } else { payload.message_id(name) };
    let mut told = false;
    loop {
        let why = match context.send_publish(subject.clone(), message.clone()).await {
            Ok(stored) => match stored.await {
                Ok(_) => return,
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        // A server that is being restarted is told by whoever reads.
        if !std::mem::replace(&mut told, true)
            && context.client().connection_state() == async_nats::connection::State::Connected
        {
            shell.tell(News::Warning(&format!(
                "NATS: an answer could not be published and is tried again: {why}"
            )));
        }
        sleep(PAUSE).await;
    }
}

/// A name for a stream of these subjects.
fn name_of(subject: &str) -> String {
    subject.replace('*', "ALL").replace(['.', '/', '\\'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_names_that_are_allowed() {
        assert_eq!(name_of("fleet.*.real"), "fleet_ALL_real");
    }
}
