//! Brokers and services as processes, and mosquitto's own clients to drive them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::{Folder, VEILWALK};

pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A process that is stopped with the test, and the lines that it says.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    pub(crate) fn of(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let outputs: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for output in outputs {
            let sender = sender.clone();
            thread::spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                lines.take_while(|line| sender.send(line.clone()).is_ok()).for_each(drop);
            });
        }
        Self { child, lines }
    }

    /// The next line with this in it.
    pub(crate) fn line(&self, with: &str) -> String {
        let mut said = String::new();
        loop {
            match self.lines.recv_timeout(LONG) {
                Ok(line) if line.contains(with) => return line,
                Ok(line) => said = said + &line + "\n",
                Err(_) => panic!("{with:?} is not said: {said}"),
            }
        }
    }

    pub(crate) fn stop(mut self) -> String {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
        self.lines.iter().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a program is, which Debian may have put where only root looks.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    places.push("/usr/sbin".into());
    let found = places.iter().map(|place| place.join(name)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("SKIPPED: {name} is not installed");
    }
    found
}

/// Starts a server on a port that was free a moment ago.
pub(crate) fn server(name: &str, flags: impl Fn(u16) -> Vec<String>) -> Option<(Running, u16)> {
    let path = program(name)?;
    for _ in 0..20 {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(&path);
        command.args(flags(port));
        let mut running = Running::of(command);
        for _ in 0..2_000 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some((running, port));
            }
            if running.child.try_wait().unwrap().is_some() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
    panic!("{name} does not start");
}

pub(crate) fn mosquitto(folder: &Folder, more: &str) -> Option<(Running, u16)> {
    let config = folder.path("mosquitto.conf");
    server("mosquitto", |port| {
        std::fs::write(&config, format!("listener {port} 127.0.0.1\nuser root\n{more}\n")).unwrap();
        vec!["-c".to_owned(), config.display().to_string()]
    })
}

/// A NATS server with JetStream.
pub(crate) fn nats_server(folder: &Folder, more: &[&str]) -> Option<(Running, u16)> {
    let store = folder.path("jetstream").display().to_string();
    server("nats-server", |port| {
        let port = port.to_string();
        let flags = ["-js", "-a", "127.0.0.1", "-p", &port, "-sd", &store];
        flags.iter().chain(more).map(|&flag| flag.to_owned()).collect()
    })
}

pub(crate) fn serve(folder: &Path, flags: &[&str], more: &[&str]) -> Running {
    let mut command = Command::new(VEILWALK);
    command.current_dir(folder).arg("serve").args(flags);
    command.args(["--state", "state", "--listen", "127.0.0.1:0"]).args(more);
    Running::of(command)
}

pub(crate) fn subscribe(port: u16, more: &[&str]) -> Option<Running> {
    // Into a pipe it would keep its lines until there are many.
    let mut command = Command::new("stdbuf");
    command.arg("-oL").arg(program("mosquitto_sub")?);
    command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-v", "-q", "1", "-d"]).args(more);
    let running = Running::of(command);
    running.line("Subscribed");
    Some(running)
}

pub(crate) fn publish(port: u16, more: &[&str]) {
    let mut command = Command::new(program("mosquitto_pub").unwrap());
    let status =
        command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-q", "1"]).args(more).status();
    assert!(status.unwrap().success());
}

/// What was published on a topic.
pub(crate) fn body(line: &str) -> Value {
    serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap()
}

/// What a broker publishes, and somebody who sends: by MQTT or NATS.
pub(crate) enum Wire {
    Mqtt { port: u16, listener: Running },
    Nats(BufReader<TcpStream>),
}

impl Wire {
    pub(crate) fn mqtt(port: u16) -> Option<Self> {
        let listener = subscribe(port, &["-t", "fleet/+/released", "-t", "fleet/+/refused"])?;
        Some(Self::Mqtt { port, listener })
    }

    /// Its protocol is lines of text.
    pub(crate) fn nats(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut stream = BufReader::new(stream);
        let hello = "CONNECT {\"verbose\":false}\r\nSUB fleet.*.released 1\r\nSUB fleet.*.refused 2\r\nPING\r\n";
        stream.get_mut().write_all(hello.as_bytes()).unwrap();
        let mut line = String::new();
        while !line.starts_with("PONG") {
            line.clear();
            assert!(stream.read_line(&mut line).unwrap() > 0, "the server is gone");
        }
        Self::Nats(stream)
    }

    pub(crate) fn send(&mut self, walk: &str, payload: &str) {
        match self {
            Self::Mqtt { port, .. } => {
                publish(*port, &["-t", &format!("fleet/{walk}/real"), "-m", payload]);
            }
            Self::Nats(stream) => {
                let message = format!("PUB fleet.{walk}.real {}\r\n{payload}\r\n", payload.len());
                stream.get_mut().write_all(message.as_bytes()).unwrap();
            }
        }
    }

    /// The next message, and the last word of its topic.
    pub(crate) fn next(&mut self) -> (String, Value) {
        let stream = match self {
            Self::Mqtt { listener, .. } => {
                let line = listener.line(" {");
                let topic = line.split(' ').next().unwrap();
                return (topic.rsplit('/').next().unwrap().to_owned(), body(&line));
            }
            Self::Nats(stream) => stream,
        };
        loop {
            let mut line = String::new();
            assert!(stream.read_line(&mut line).unwrap() > 0, "the server is gone");
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["PING"] => stream.get_mut().write_all(b"PONG\r\n").unwrap(),
                ["MSG", subject, .., length] => {
                    let mut payload = vec![0; length.parse::<usize>().unwrap() + 2];
                    stream.read_exact(&mut payload).unwrap();
                    let word = subject.rsplit('.').next().unwrap().to_owned();
                    return (word, serde_json::from_slice(&payload).unwrap());
                }
                _ => {}
            }
        }
    }
}
