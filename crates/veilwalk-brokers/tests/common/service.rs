//! The service in a process of its own: the program of the test, started again.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use veilwalk::mechanism::Tracking;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Start, StateId};
use veilwalk_brokers::{
    Address, Form, Login, News, Pattern, Refused, Shell, Source, Syntax, mqtt, nats,
};
use veilwalk_live::{Answer, Done, Engine, Limits, Live, Refusal, Request, WalkName};

use super::{Kind, within};

/// Where the child finds the store and the broker.
const FOLDER: &str = "VEILWALK_BROKER_TEST_FOLDER";
const BROKER: &str = "VEILWALK_BROKER_TEST_URL";
/// Set where messages have labels.
const LABELS: &str = "VEILWALK_BROKER_TEST_LABELS";
/// Set to a number of steps where answers come later.
const LAG: &str = "VEILWALK_BROKER_TEST_LAG";
const READY: &str = "ready: ";
/// How many answers are kept of a walk.
const ANSWERS: u64 = 1 << 20;

pub(crate) fn engine(folder: &Path) -> Engine {
    engine_with(folder, 0)
}

/// The same where answers come so many steps later.
pub(crate) fn engine_with(folder: &Path, lag: u32) -> Engine {
    let model = Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
    let mechanism = match lag {
        0 => Mechanism::new(model, Preset::Sharp.design(), promise).unwrap(),
        lag => Mechanism::new(model, Preset::Tight.design(), promise)
            .unwrap()
            .tracking(Tracking { lag, ..Tracking::default() }),
    };
    let limits = Limits { cached_walks: 8, kept_answers: ANSWERS, ..Limits::default() };
    Engine::open(folder, Arc::new(mechanism), Start::Private, limits).unwrap()
}

/// Steps with numbers for states; or with labels, where `veilwalk-load` drives it.
struct Plain {
    labels: Option<Chain>,
}

impl Shell for Plain {
    fn read(&self, walk: WalkName, payload: &[u8]) -> Result<Request, Refused> {
        let body = || Refused::new("body", "send a step");
        let message: Value = serde_json::from_slice(payload).map_err(|_| body())?;
        if message["end"] == true {
            return Ok(Request::end(&walk));
        }
        let state = match (&self.labels, message["state"].as_str()) {
            (Some(chain), Some(label)) => chain.state(label).map(|state| state.index() as u64),
            _ => message["state"].as_u64(),
        };
        let (Some(number), Some(state)) = (message["step"].as_u64(), state) else {
            return Err(body());
        };
        let label = || veilwalk::chain::UnknownState { label: state.to_string(), closest: None };
        let real = if state < 8 { Ok(StateId::new(state as usize)) } else { Err(label()) };
        Ok(Request::step(&walk, number, real))
    }

    fn answer(&self, answer: &Answer) -> Vec<u8> {
        let state = match &self.labels {
            Some(chain) => json!(chain.label(answer.state)),
            None => json!(answer.state.index()),
        };
        json!({ "step": answer.number, "state": state, "replayed": answer.replayed })
            .to_string()
            .into_bytes()
    }

    fn tell(&self, news: News<'_>) {
        if matches!(news, News::Connected(_)) {
            println!("\n{READY}{news:?}");
        }
        eprintln!("{news:?}");
    }

    fn outcome(&self, _: &Result<Done, Refusal>) {}
}

/// Answers until standard input ends. Does nothing unless it is told where.
pub(crate) fn child() {
    let (Some(folder), Some(url)) = (std::env::var_os(FOLDER), std::env::var(BROKER).ok()) else {
        return;
    };
    let lag = std::env::var(LAG).map_or(0, |lag| lag.parse().unwrap());
    let engine = engine_with(Path::new(&folder), lag);
    let id = engine.release_id().to_string();
    let (live, running) = Live::start(engine, 10_000).unwrap();
    let address: Address = url.parse().unwrap();
    let (kind, syntax) = match address.protocol {
        veilwalk_brokers::Protocol::Mqtt => (Kind::Mqtt, Syntax::Mqtt),
        veilwalk_brokers::Protocol::Nats => (Kind::Nats, Syntax::Nats),
    };
    let labels = std::env::var_os(LABELS).map(|_| Chain::credit());
    let (stop, stopped) = watch::channel(false);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        stop.send_replace(true);
    });
    let source = Source {
        pattern: Pattern::new(kind.pattern(), syntax).unwrap(),
        form: Form::Shell,
        client: "veilwalk".to_owned(),
        patience: Duration::from_secs(10),
        longest: 1_000,
        live: live.clone(),
        shell: Arc::new(Plain { labels }),
        stop: stopped,
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        match kind {
            Kind::Mqtt => mqtt::run(&address, &Login::default(), source).await.unwrap(),
            Kind::Nats => nats::run(&address, &Login::default(), &id, source).await.unwrap(),
        }
    });
    live.stop();
    running.join().unwrap();
}

pub(crate) struct Service {
    folder: PathBuf,
    url: String,
    lag: u32,
    child: Child,
}

impl Service {
    /// Starts it; the test has to have a test `child` that calls the function of that name.
    pub(crate) fn start(folder: &Path, url: &str) -> Self {
        Self::start_with_lag(folder, url, 0)
    }

    /// The same where answers come so many steps later.
    pub(crate) fn start_with_lag(folder: &Path, url: &str, lag: u32) -> Self {
        let command = Command::new(std::env::current_exe().unwrap());
        Self::of(command, folder, url, lag)
    }

    /// The same with a disk on which files have at most so many blocks of 512 bytes.
    pub(crate) fn start_on_small_disk(folder: &Path, url: &str, blocks: u32) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!(r#"trap '' XFSZ; ulimit -f {blocks}; exec "$0" "$@""#)]);
        command.arg(std::env::current_exe().unwrap());
        Self::of(command, folder, url, 0)
    }

    fn of(mut command: Command, folder: &Path, url: &str, lag: u32) -> Self {
        command.args(["--exact", "child", "--nocapture"]).env(FOLDER, folder).env(BROKER, url);
        command.env(LAG, lag.to_string());
        let log = std::env::var_os("VEILWALK_BROKER_TEST_LOG");
        command.stderr(if log.is_some() { Stdio::inherit() } else { Stdio::null() });
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        Self { folder: folder.to_owned(), url: url.to_owned(), lag, child }
    }

    /// Waits until it reads messages.
    pub(crate) fn ready(mut self) -> Self {
        let mut lines = BufReader::new(self.child.stdout.take().unwrap()).lines();
        let ready = lines.by_ref().map_while(Result::ok).any(|line| line.starts_with(READY));
        assert!(ready, "it does not start");
        // What it says later has to go somewhere.
        std::thread::spawn(move || lines.for_each(drop));
        self
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn start_again(&mut self) {
        *self = Self::start_with_lag(&self.folder.clone(), &self.url.clone(), self.lag);
    }

    /// Waits until it has ended by itself.
    pub(crate) fn status(&mut self) -> std::process::ExitStatus {
        // To wait for it would close its standard input, which stops it.
        assert!(within(Duration::from_secs(60), || self.child.try_wait().unwrap().is_some()));
        self.child.wait().unwrap()
    }

    /// Lets it end in good order.
    pub(crate) fn stop(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
