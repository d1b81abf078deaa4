//! mosquitto or nats-server, started, killed and started again.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::within;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Mqtt,
    Nats,
}

pub(crate) struct Broker {
    pub(crate) kind: Kind,
    pub(crate) port: u16,
    folder: PathBuf,
    more: String,
    child: Child,
}

impl Kind {
    fn program(self) -> &'static str {
        match self {
            Self::Mqtt => "mosquitto",
            Self::Nats => "nats-server",
        }
    }

    pub(crate) fn real(self, walk: &str) -> String {
        match self {
            Self::Mqtt => format!("fleet/{walk}/real"),
            Self::Nats => format!("fleet.{walk}.real"),
        }
    }

    pub(crate) fn pattern(self) -> &'static str {
        match self {
            Self::Mqtt => "fleet/+/real",
            Self::Nats => "fleet.*.real",
        }
    }
}

impl Broker {
    /// Starts one. None, with a word about it, where the program is not installed.
    pub(crate) fn start(kind: Kind, folder: &Path) -> Option<Self> {
        Self::start_with(kind, folder, "")
    }

    /// The same with more lines of its configuration.
    pub(crate) fn start_with(kind: Kind, folder: &Path, more: &str) -> Option<Self> {
        let found =
            ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"]
                .map(|place| Path::new(place).join(kind.program()))
                .into_iter()
                .find(|path| path.exists());
        let Some(program) = found else {
            eprintln!("SKIPPED: {} is not installed", kind.program());
            return None;
        };
        // Somebody else may take a port that was free a moment ago.
        for _ in 0..20 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let folder = folder.join(kind.program());
            fs::create_dir_all(&folder).unwrap();
            if let Some(child) = spawn(kind, &program, port, &folder, more) {
                return Some(Self { kind, port, folder, more: more.to_owned(), child });
            }
        }
        panic!("{} does not start", kind.program());
    }

    pub(crate) fn url(&self) -> String {
        match self.kind {
            Kind::Mqtt => format!("mqtt://127.0.0.1:{}", self.port),
            Kind::Nats => format!("nats://127.0.0.1:{}", self.port),
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn start_again(&mut self) {
        let program = Path::new("/usr/sbin").join(self.kind.program());
        let program = if program.exists() { program } else { self.kind.program().into() };
        for _ in 0..20 {
            if let Some(child) = spawn(self.kind, &program, self.port, &self.folder, &self.more) {
                self.child = child;
                return;
            }
        }
        panic!("{} does not start again", self.kind.program());
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(kind: Kind, program: &Path, port: u16, folder: &Path, more: &str) -> Option<Child> {
    let mut command = Command::new(program);
    match kind {
        Kind::Mqtt => {
            let config = folder.join("mosquitto.conf");
            let text = format!(
                "listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {}/\n\
                 max_inflight_messages 1000\nmax_queued_messages 1000000\nuser root\n{more}",
                folder.display()
            );
            fs::write(&config, text).unwrap();
            command.arg("-c").arg(config);
        }
        Kind::Nats => {
            command.args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]).arg(folder);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let up = within(Duration::from_secs(20), || {
        TcpStream::connect(("127.0.0.1", port)).is_ok() || child.try_wait().unwrap().is_some()
    });
    if up && child.try_wait().unwrap().is_none() {
        return Some(child);
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}
