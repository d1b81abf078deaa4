//! Walks from message brokers: what the flags ask for, and messages in the form that HTTP has too.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use tokio::sync::watch;
use tokio::task::JoinSet;
use veilwalk::Model;
use veilwalk::chain::{Coordinates, UnknownState};
use veilwalk::internal::request::Span;
use veilwalk_brokers::{
    Address, Form, Location, Login, News, Pattern, Protocol, Refused, Shell, Source, States,
    Syntax, Tracks,
};
use veilwalk_io::UnknownStates;
use veilwalk_ledger::Window;
use veilwalk_live::{Answer, Delay, Done, Limits, Refusal, Request, WalkName};
use veilwalk_prepare::{Clock, LiveClock, Places, Window as Hours, Zone};
use veilwalk_roads::{MatchSettings, Streets};

use super::http::{App, Persons};
use super::message::{self, Answered};
use crate::args::{self, Input};
use crate::terminal;

/// The shortest and the longest a step may wait for those before it.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Where walks come from beside HTTP.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Brokers")]
pub(crate) struct BrokerArgs {
    /// Answer messages of an MQTT broker: mqtt://HOST:PORT, or mqtts:// with TLS. Answers are published beside the
    /// topic: fleet/7/real is answered on fleet/7/released, and refusals come on fleet/7/refused
    #[arg(long, value_name = "URL")]
    mqtt: Option<Address>,

    /// The MQTT topics with the real states; a + stands for the name of the walk. `owntracks/+/+` with --owntracks
    #[arg(long, value_name = "TOPICS", requires = "mqtt")]
    topic: Option<String>,

    /// Answer messages of a NATS server with JetStream: nats://HOST:PORT, or tls:// with TLS. Answers are published
    /// beside the subject, as with --mqtt
    #[arg(long, value_name = "URL")]
    nats: Option<Address>,

    /// The NATS subjects with the real states; a * stands for the name of the walk
    #[arg(long, value_name = "SUBJECTS", requires = "nats")]
    subject: Option<String>,

    /// The name of this service at the broker, which keeps under it what is not answered yet
    #[arg(long, value_name = "NAME", default_value = "veilwalk")]
    client: String,

    /// The user at the broker
    #[arg(long, value_name = "NAME")]
    broker_user: Option<String>,

    /// A file with the password at the broker, or a token for NATS, and nothing else
    #[arg(long, value_name = "FILE")]
    broker_password: Option<PathBuf>,

    /// Certificates (PEM) of whoever vouches for the broker, instead of those the system trusts
    #[arg(long, value_name = "FILE")]
    broker_ca: Option<PathBuf>,

    /// How long a step that came too early waits for the ones before it; `0s` refuses it at once
    #[arg(long, value_name = "SPAN", default_value = "10s", value_parser = wait)]
    reorder: Duration,

    /// Read MQTT messages as the app OwnTracks sends them: locations, which --cells or --map makes states of, and a
    /// clock (--tick) makes steps of. Every device has a walk for each day, USER/DEVICE/2024-03-01
    #[arg(long, requires = "mqtt", requires = "located", requires = "tick")]
    owntracks: bool,

    /// Make states of locations: the cells of H3 of this fineness, such as h3:9 for cells of about 350 m
    #[arg(long, value_name = "CELLS", requires = "owntracks", group = "located")]
    cells: Option<Places>,

    /// Make states of locations: the nearest streets of this map, a model that `veilwalk chain osm` wrote. The chain
    /// has the same streets as states
    #[arg(long, value_name = "MODEL", requires = "owntracks", group = "located")]
    map: Option<PathBuf>,

    /// How long it is from one step of a day to the next, such as 5m
    #[arg(long, value_name = "SPAN", requires = "owntracks")]
    tick: Option<Span>,

    /// The part of the day that has steps
    #[arg(long, value_name = "FROM-TO", default_value = "00:00-24:00", requires = "owntracks")]
    hours: Hours,

    /// The time zone of days and --hours
    #[arg(long, value_name = "ZONE", default_value = "UTC", requires = "owntracks")]
    timezone: Zone,

    /// The state of a device of which nothing is known
    #[arg(long, value_name = "STATE", requires = "owntracks")]
    away: Option<String>,

    /// How long a location is known for; the device is --away after it
    #[arg(long, value_name = "SPAN", requires = "away")]
    gap: Option<Span>,
}

/// `Window` knows no zero.
fn wait(text: &str) -> Result<Duration, String> {
    if matches!(text.trim(), "0" | "0s") {
        return Ok(Duration::ZERO);
    }
    let span: Window =
        text.parse().map_err(|error: veilwalk_ledger::WindowError| error.to_string())?;
    let span = Duration::from_secs(span.seconds());
    if span <= LONGEST_WAIT { Ok(span) } else { Err("at most an hour".to_owned()) }
}

impl BrokerArgs {
    pub(super) fn inputs(&self) -> Vec<Input<'_>> {
        let password =
            self.broker_password.iter().map(|path| (path.as_path(), "the file of the password"));
        let authorities = self.broker_ca.iter().map(|path| (path.as_path(), "the certificates"));
        let map = self.map.iter().map(|path| (path.as_path(), "the map"));
        password.chain(authorities).chain(map).collect()
    }

    /// How long walks wait for messages, if that was not said: those on a clock go on for a day.
    pub(super) fn usual_idle(&self) -> Duration {
        if self.owntracks { Duration::from_secs(26 * 3600) } else { Limits::default().idle }
    }

    /// Looks at what can be looked at before anything is opened.
    pub(super) fn read(&self) -> Result<Brokers> {
        let login = self.login()?;
        let address = |given: &Option<Address>, protocol, flag| match given {
            Some(address) if address.protocol != protocol => {
                bail!("{flag} {address}: that is the address of another kind of broker")
            }
            other => Ok(other.clone()),
        };
        let usual = self.owntracks.then_some("owntracks/+/+");
        let mqtt = address(&self.mqtt, Protocol::Mqtt, "--mqtt")?;
        let mqtt =
            mqtt.map(|mqtt| place(mqtt, self.topic.as_deref().or(usual), Syntax::Mqtt, "--topic"));
        let nats = address(&self.nats, Protocol::Nats, "--nats")?;
        let nats = nats.map(|nats| place(nats, self.subject.as_deref(), Syntax::Nats, "--subject"));
        let brokers = Brokers { mqtt: mqtt.transpose()?, nats: nats.transpose()?, login };
        let name = &self.client;
        if brokers.any()
            && (name.is_empty()
                || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)))
        {
            bail!("--client {name:?}: give it letters, digits, - and _ only; brokers take no more");
        }
        for (address, _) in brokers.mqtt.iter().chain(&brokers.nats) {
            if !address.is_private() {
                terminal::warning(format!(
                    "{address}: the connection is not encrypted, and real states go over the network; use mqtts:// \
                     or tls://"
                ));
            }
        }
        Ok(brokers)
    }

    fn login(&self) -> Result<Login> {
        let password = self.broker_password.as_deref().map(|path| {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let password = text.trim_end_matches(['\n', '\r']);
            if password.is_empty() || password.contains('\n') {
                bail!("{}: a password on one line is expected, and nothing else", path.display());
            }
            Ok(password.to_owned())
        });
        if self.broker_user.is_some() && password.is_none() {
            bail!("--broker-user: give the password too, with --broker-password FILE");
        }
        let authorities = self.broker_ca.clone();
        Ok(Login { user: self.broker_user.clone(), password: password.transpose()?, authorities })
    }

    /// Refuses delays with which messages could be lost, or answers never come.
    pub(super) fn check_delay(&self, delay: Delay) -> Result<()> {
        if delay.keeps_real_states() && (self.mqtt.is_some() || self.nats.is_some()) {
            bail!(
                "--block: in blocks real states wait in memory only, so their messages could be acknowledged only when the \
                 block is full, and brokers hold back all others after a few; leave --mqtt and --nats out and post \
                 steps over HTTP, or take --lag with --mechanism tight"
            );
        }
        if delay != Delay::None && self.owntracks {
            bail!(
                "--owntracks: with --lag the last answers of a day come with its end, and the app sends none; leave --lag \
                 out"
            );
        }
        Ok(())
    }

    /// What makes requests of locations, if that was asked for.
    pub(super) fn tracks(
        &self,
        model: &Arc<Model>,
        unknown: UnknownStates,
        limits: &Limits,
    ) -> Result<Option<Tracks>> {
        let (Some(tick), true) = (self.tick, self.owntracks) else { return Ok(None) };
        let clock =
            Clock::new(tick, self.hours).map_err(|error| anyhow!("--tick {tick}: {error}"))?;
        let clock = LiveClock::new(&clock, self.timezone.clone());
        let chain = model.chain();
        let away =
            self.away.as_deref().map(|label| args::state(chain, "--away", label)).transpose()?;
        let gap = self.gap.map(|gap| i64::try_from(gap.seconds()).unwrap_or(i64::MAX));
        let states = self.states(model, unknown)?;
        let tracks = Tracks::new(clock, away, gap, states, limits);
        Ok(Some(tracks.map_err(|error| anyhow!("--owntracks: {error} (--idle, --keep-answers)"))?))
    }

    /// What makes states of locations.
    fn states(&self, model: &Arc<Model>, unknown: UnknownStates) -> Result<States> {
        let label: Label = match (&self.cells, &self.map) {
            (Some(cells), _) => {
                let cells = *cells;
                Box::new(move |at| {
                    let label = cells.label(at.latitude, at.longitude);
                    label.map(Some)
                })
            }
            (None, Some(map)) => {
                let name = map.display().to_string();
                let streets = Streets::of(&args::prior(&name)?);
                let streets = streets.map_err(|error| anyhow!("--map {name}: {error}"))?;
                let chain = model.chain();
                if !streets
                    .chain()
                    .states()
                    .any(|street| chain.state(streets.label(street)).is_some())
                {
                    bail!(
                        "--map {name}: not one of its streets is a state of the chain; give the model that the chain was \
                         made with"
                    );
                }
                Box::new(move |at| street(&streets, at))
            }
            (None, None) => {
                bail!("--owntracks: give --cells or --map, to make states of locations")
            }
        };
        let model = model.clone();
        let state = move |label: Option<String>| {
            let state = label.and_then(|label| model.chain().state(&label));
            match (state, unknown) {
                (Some(state), _) | (None, UnknownStates::Replace(state)) => Ok(state),
                (None, _) => Err(UnknownState { label: String::new(), closest: None }),
            }
        };
        Ok(Arc::new(move |at| label(at).map(&state)))
    }

    /// How far apart steps are by a clock, which what is promised for stays has to agree with.
    pub(super) fn tick(&self) -> Option<Span> {
        self.tick
    }
}

/// The label of a location, if it has one. None if there is no such place on the earth.
type Label = Box<dyn Fn(Location) -> Option<Option<String>> + Send + Sync>;

/// The nearest street, in the direction in which somebody moves.
fn street(streets: &Streets, at: Location) -> Option<Option<String>> {
    let place = Coordinates::from_degrees(at.latitude, at.longitude).ok()?;
    let near = streets.nearest(place, MatchSettings::default().radius);
    Some(near.map(|near| {
        let state = at.course.map_or(near.state, |course| streets.along(&near, course));
        streets.label(state).to_owned()
    }))
}

fn place(
    address: Address,
    pattern: Option<&str>,
    syntax: Syntax,
    flag: &str,
) -> Result<(Address, Pattern)> {
    let Some(pattern) = pattern else {
        bail!("{address}: say which messages to read, with {flag}");
    };
    let pattern = Pattern::new(pattern, syntax).map_err(|error| anyhow!("{flag} {error}"))?;
    Ok((address, pattern))
}

/// Brokers that were asked for.
#[derive(Debug)]
pub(super) struct Brokers {
    mqtt: Option<(Address, Pattern)>,
    nats: Option<(Address, Pattern)>,
    login: Login,
}

/// What runs beside HTTP until the service stops.
pub(super) type Running = JoinSet<Result<()>>;

impl Brokers {
    pub(super) fn any(&self) -> bool {
        self.mqtt.is_some() || self.nats.is_some()
    }

    /// What is to be started once there is a runtime.
    pub(super) fn prepare(
        self,
        args: &BrokerArgs,
        tracks: Option<Tracks>,
        app: &Arc<App>,
        release_id: String,
        stop: &watch::Receiver<bool>,
    ) -> Starting {
        let source = |pattern: Pattern, form: Form| Source {
            pattern,
            form,
            client: args.client.clone(),
            patience: args.reorder,
            longest: app.max_body(),
            live: app.live().clone(),
            shell: Arc::new(Service(app.clone())),
            stop: stop.clone(),
        };
        let form = tracks.map_or(Form::Shell, |tracks| Form::OwnTracks(Box::new(tracks)));
        let mqtt = self.mqtt.map(|(address, pattern)| (address, source(pattern, form)));
        let nats = self.nats.map(|(address, pattern)| (address, source(pattern, Form::Shell)));
        Starting { mqtt, nats, login: self.login, release_id }
    }
}

/// Brokers, and all that is needed to answer their messages.
pub(super) struct Starting {
    mqtt: Option<(Address, Source)>,
    nats: Option<(Address, Source)>,
    login: Login,
    release_id: String,
}

impl Starting {
    pub(super) fn start(self) -> Running {
        let mut running = JoinSet::new();
        let Self { mqtt, nats, login, release_id } = self;
        if let Some((address, source)) = mqtt {
            let login = login.clone();
            running.spawn(async move { mqtt_until_stopped(&address, &login, source).await });
        }
        if let Some((address, source)) = nats {
            running.spawn(async move {
                nats_until_stopped(&address, &login, &release_id, source).await
            });
        }
        running
    }
}

#[cfg(feature = "mqtt")]
async fn mqtt_until_stopped(address: &Address, login: &Login, source: Source) -> Result<()> {
    Ok(veilwalk_brokers::mqtt::run(address, login, source).await?)
}

#[cfg(not(feature = "mqtt"))]
async fn mqtt_until_stopped(_: &Address, _: &Login, _: Source) -> Result<()> {
    bail!("this veilwalk was built without MQTT; build it with the feature `mqtt`")
}

#[cfg(feature = "nats")]
async fn nats_until_stopped(
    address: &Address,
    login: &Login,
    id: &str,
    source: Source,
) -> Result<()> {
    Ok(veilwalk_brokers::nats::run(address, login, id, source).await?)
}

#[cfg(not(feature = "nats"))]
async fn nats_until_stopped(_: &Address, _: &Login, _: &str, _: Source) -> Result<()> {
    bail!("this veilwalk was built without NATS; build it with the feature `nats`")
}

/// Messages in the form that HTTP has.
struct Service(Arc<App>);

impl Shell for Service {
    fn read(&self, walk: WalkName, payload: &[u8]) -> Result<Request, Refused> {
        if message::is_end(payload) {
            return Ok(Request::end(&walk));
        }
        // Where it is wrong may tell how long a state's name is, so that is not said.
        let steps = message::Steps::read(
            payload,
            self.0.mechanism().model().chain(),
            self.0.unknown_states(),
        );
        let steps = steps.map_err(|_| Refused::new("body", message::BROKER_EXAMPLE))?;
        if steps.person.is_some() && self.0.persons() == Persons::NotCounted {
            let error = "`person` is for a ledger, and this service was started without --ledger; leave it out";
            return Err(Refused::new("person", error));
        }
        Ok(Request { walk, person: steps.person, ask: veilwalk_live::Ask::Steps(steps.steps) })
    }

    fn answer(&self, answer: &Answer) -> Vec<u8> {
        serde_json::to_vec(&Answered::new(answer, self.0.mechanism())).unwrap_or_default()
    }

    fn tell(&self, news: News<'_>) {
        match news {
            News::Connected(place) => terminal::note(format!("reading {place}")),
            News::Lost(why) => terminal::warning(format!("{why}; trying again")),
            News::Warning(what) => terminal::warning(what),
            _ => {}
        }
    }

    fn outcome(&self, outcome: &Result<Done, Refusal>) {
        self.0.tell_trouble(outcome);
    }
}
