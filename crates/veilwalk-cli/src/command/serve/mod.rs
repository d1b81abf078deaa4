//! `veilwalk serve`: releases walks while they happen, over HTTP.

mod answer;
mod brokers;
mod config;
mod connections;
mod http;
#[cfg(test)]
mod http_fuzz;
mod http_rate;
mod message;
mod metrics;
mod server;
mod tls;
mod tokens;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use tokio::sync::watch;
use veilwalk::Start;
use veilwalk_io::UnknownStates;
use veilwalk_ledger::Window;
use veilwalk_live::{Charging, Delay, Engine, Limits, Live};

use self::brokers::BrokerArgs;
pub(crate) use self::config::Configured;
use self::connections::Connections;
use self::http::{App, Persons};
use self::http_rate::Rate;
use self::tokens::Tokens;
use crate::args::{
    self, Input, LedgerArgs, ProtectionArgs, ReleaseArgs, UnknownState, counted, whole,
};
use crate::progress::{self, Stoppable};
use crate::terminal;

/// Release walks while they happen, over HTTP
///
/// A step is posted with its number and its real state to /v1/walks/NAME/steps, and answered with a released
/// state. The answer is on the disk before it is sent, so that a step that is posted again gets the same
/// answer, whatever real state comes with it, also after a restart. Real states are never stored or logged. DELETE
/// /v1/walks/NAME ends a walk; /healthz, /readyz and /metrics are for whoever watches the service. SIGTERM and Ctrl-C
/// let requests that are under way finish.
///
/// With --mqtt and --nats, steps come as messages of a broker too, and answers are published there.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseArgs,

    /// How released walks start: `private` (drawn near the real first state, as private as every other),
    /// `initial` (drawn from the initial distribution, whatever the real first state is), `first` (the
    /// real first state, which is disclosed) or a state
    #[arg(long, value_name = "HOW", default_value = "private", help_heading = "Release")]
    start: String,

    /// What to do with a state that the chain does not have: `error` (refuse the request), or a state of the
    /// chain to use in its place, which does not show (`state:NAME` for a state called `error`)
    #[arg(long, default_value = "error", value_name = "WHAT", help_heading = "Release")]
    unknown_state: UnknownState,

    #[command(flatten)]
    protection: ProtectionArgs,

    #[command(flatten)]
    budget: LedgerArgs,

    /// The directory that keeps answers and walks; made if it is not there. It belongs to this chain,
    /// mechanism, promise and start from then on, and to one service at a time
    #[arg(long, value_name = "DIR", help_heading = "Service")]
    state: PathBuf,

    /// The address to listen on
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8700",
        help_heading = "Service"
    )]
    listen: SocketAddr,

    /// A file with a token on each line; a request has to bring one as `Authorization: Bearer TOKEN`. Needed
    /// to listen on an address that other machines reach
    #[arg(long, value_name = "FILE", help_heading = "Service")]
    tokens: Option<PathBuf>,

    /// Take these flags from a TOML file: `epsilon = 1`, `state = "live"` and so on. Flags that are given win
    #[arg(long, value_name = "FILE", help_heading = "Service")]
    config: Option<PathBuf>,

    /// Say whether flags, configuration file and the files they name are valid, and end. Nothing is made, charged or
    /// listened on
    #[arg(long, help_heading = "Service")]
    check: bool,

    /// How to log on standard error: as `text`, or as an object of `json` on each line
    #[arg(long, value_name = "FORM", default_value = "text", help_heading = "Service")]
    log: LogForm,

    /// The certificate for TLS, in PEM, with those that vouch for it
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "Service")]
    tls_cert: Option<PathBuf>,

    /// The private key of --tls-cert, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Service")]
    tls_key: Option<PathBuf>,

    /// The most requests a second of each token, or without --tokens of each address; others are answered with
    /// status 429. No limit if not given
    #[arg(
        long,
        value_name = "COUNT",
        allow_negative_numbers = true,
        value_parser = whole::<NonZeroU32>(1..=1_000_000),
        help_heading = "Service"
    )]
    max_rate: Option<NonZeroU32>,

    /// How many connections there may be at a time; further ones wait
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 1_024,
        allow_negative_numbers = true,
        value_parser = whole::<usize>(1..=1_000_000),
        help_heading = "Service"
    )]
    max_connections: usize,

    /// The longest head of a request, in bytes
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 16_384,
        allow_negative_numbers = true,
        value_parser = whole::<usize>(8_192..=1 << 20),
        help_heading = "Service"
    )]
    max_header: usize,

    /// End a walk for which nothing came for this long
    ///
    /// 2h if not given, and 26h with --owntracks
    #[arg(long, value_name = "SPAN", help_heading = "Service")]
    idle: Option<Window>,

    /// How many walks may be open; requests that start more are refused
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = Limits::default().open_walks,
        allow_negative_numbers = true,
        value_parser = whole::<u64>(1..=1_000_000_000),
        help_heading = "Service"
    )]
    max_walks: u64,

    /// For how many of the last steps of an open walk the answers are kept; a step before them that comes again is
    /// refused
    #[arg(
        long,
        value_name = "STEPS",
        default_value_t = Limits::default().kept_answers,
        allow_negative_numbers = true,
        value_parser = whole::<u64>(1..=1_000_000_000),
        help_heading = "Service"
    )]
    keep_answers: u64,

    /// How many walks are held in memory; the others are read from the directory when they go on
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = Limits::default().cached_walks,
        allow_negative_numbers = true,
        value_parser = whole::<usize>(1..=100_000_000),
        help_heading = "Service"
    )]
    cached_walks: usize,

    /// The longest body of a request, in bytes
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 1 << 20,
        allow_negative_numbers = true,
        value_parser = whole::<usize>(64..=1 << 30),
        help_heading = "Service"
    )]
    max_body: usize,

    /// How long requests that are under way may take to finish when the service is stopped
    #[arg(long, value_name = "SPAN", default_value = "10s", help_heading = "Service")]
    drain: Window,

    #[command(flatten)]
    brokers: BrokerArgs,
}

/// How many requests may wait for the disk.
const MOST_WAITING: usize = 10_000;

/// How to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogForm {
    Text,
    Json,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.log == LogForm::Json {
        terminal::log_as_json();
    }
    args.check()?;
    let connections = args.connections()?;
    let brokers = args.brokers.read()?;
    let tokens = args.tokens.as_deref().map(Tokens::read).transpose()?;
    let model = args.release.any_model()?;
    let chain = model.chain();
    let start = args::start(chain, &args.start)?;
    let unknown_states = args.unknown_state.on(chain)?;
    if unknown_states == UnknownStates::Skip {
        bail!(
            "--unknown-state skip: a live step has to be answered; take a state of the chain instead with \
             --unknown-state STATE, or refuse such steps with --unknown-state error"
        );
    }
    let asked = args.release.asked()?.starting(start);
    let promise = asked.request.promise;
    asked.check(chain)?;
    let cover = args.protection.cover(&model, promise)?;
    let chosen = asked.on(&model)?;
    terminal::note(format!("mechanism {}, {promise}", chosen.name));
    if let Some(visit) = args.release.mechanism.visit() {
        terminal::note(visit);
    }
    args::tell_coverage(&cover, promise);
    if start == Start::First {
        terminal::warning("--start first: the first state of every walk is disclosed as it is");
    }
    let delay = Delay::of(&chosen.mechanism, start);
    args.brokers.check_delay(delay)?;
    let tracks = args.brokers.tracks(&model, unknown_states, &args.limits())?;
    if args.check {
        args.check_state()?;
        terminal::note("this configuration is valid");
        return Ok(());
    }
    let mut engine = Engine::open(&args.state, chosen.mechanism.clone(), start, args.limits())?;
    let release_id = engine.release_id();
    terminal::note(format!(
        "release id {release_id}, {} open in {}",
        counted(engine.figures().open() as usize, "walk"),
        args.state.display()
    ));
    if let Some(ledger) = args.budget.open()? {
        let limit = args.budget.limit();
        let charging = Charging::new(ledger, &chosen.mechanism, start, release_id, limit);
        let charging = charging
            .ok_or_else(|| anyhow!("the mechanism makes no promise that a ledger could count"))?;
        engine = engine.charging(charging);
    }
    engine.settle_ledger()?;
    progress::when_stopped("answers that were sent are kept");
    let _stoppable = Stoppable::new();
    tell_delay(delay);
    let (live, running) = Live::start(engine, MOST_WAITING)?;
    let persons = if args.budget.is_given() { Persons::Counted } else { Persons::NotCounted };
    let mechanism = chosen.mechanism.clone();
    let body = args.max_body;
    let app = App::new(live.clone(), mechanism, delay, unknown_states, tokens, body, persons);
    let app = app.limiting(args.max_rate.map(Rate::new));
    let app = Arc::new(app);
    let (stop, stopped) = watch::channel(false);
    let id = release_id.to_string();
    let brokers = brokers.prepare(&args.brokers, tracks, &app, id, &stopped);
    let served = server::serve(app, brokers, &stop, connections, args.listen, span(args.drain));
    // Whatever has happened, what was taken is answered or stored.
    live.stop();
    let stopped = running.join();
    served?;
    stopped.map_err(|_| anyhow!("the engine has stopped; answers that were sent are kept"))?;
    terminal::note("stopped; every answer that was sent is kept");
    Ok(())
}

/// Says when answers come, if that is not at once.
fn tell_delay(delay: Delay) {
    match delay {
        Delay::None => {}
        Delay::Lag { steps, .. } => terminal::note(format!(
            "with a lag of {}: an answer comes with the step so many steps later, and the last ones with the \
             end of the walk",
            counted(steps as usize, "step")
        )),
        Delay::Block { length, .. } => terminal::note(format!(
            "in {}: the answers to a block come with its last step. Until then its real states wait in memory \
             only: whoever sends steps keeps them until their answers have come",
            args::blocks_in_words(length)
        )),
    }
}

impl Args {
    fn check(&self) -> Result<()> {
        if let (Some(visit), Some(tick)) = (self.release.mechanism.visit(), self.brokers.tick())
            && visit.every != tick
        {
            bail!(
                "--every {}: steps are --tick {tick} apart, and the promise for a stay has to count those",
                visit.every
            );
        }
        if self.tokens.is_none() && !self.listen.ip().is_loopback() {
            bail!(
                "--listen {}: other machines reach this address, and whoever does may post real states and \
                 ask for answers; give --tokens FILE, or listen on 127.0.0.1",
                self.listen
            );
        }
        for (path, what) in self.inputs() {
            if path == self.state {
                bail!("--state {}: that is {what}; name a directory", self.state.display());
            }
        }
        if self.state.exists() && !self.state.is_dir() {
            bail!("--state {}: this is not a directory", self.state.display());
        }
        Ok(())
    }

    /// The files that are read, and the ledger.
    fn inputs(&self) -> Vec<Input<'_>> {
        let mut inputs = self.release.chain.inputs();
        inputs.extend(self.release.mechanism.input());
        inputs.extend(self.budget.input());
        inputs.extend(self.brokers.inputs());
        inputs.extend(self.tokens.iter().map(|path| (path.as_path(), "the file of tokens")));
        inputs.extend(self.tls_cert.iter().map(|path| (path.as_path(), "the certificate")));
        inputs
            .extend(self.tls_key.iter().map(|path| (path.as_path(), "the key of the certificate")));
        inputs.extend(self.config.iter().map(|path| (path.as_path(), "the configuration")));
        inputs
    }

    /// What connections may be.
    fn connections(&self) -> Result<Connections> {
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(tls::acceptor(certificate, key)?),
            _ => None,
        };
        Ok(Connections { tls, most: self.max_connections, longest_head: self.max_header })
    }

    /// What can be said of the directory without opening it: another service may use it.
    fn check_state(&self) -> Result<()> {
        let parent = self.state.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        if !self.state.exists() && !parent.is_dir() {
            bail!("--state {}: there is no directory {}", self.state.display(), parent.display());
        }
        Ok(())
    }

    fn limits(&self) -> Limits {
        Limits {
            idle: self.idle.map_or(self.brokers.usual_idle(), span),
            open_walks: self.max_walks,
            kept_answers: self.keep_answers,
            cached_walks: self.cached_walks,
        }
    }
}

fn span(window: Window) -> Duration {
    Duration::from_secs(window.seconds())
}
