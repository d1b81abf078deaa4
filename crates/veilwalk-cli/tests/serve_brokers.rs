//! `veilwalk serve` with real brokers, as a newcomer drives it: with mosquitto's own clients.
#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::{CELL, Folder, VEILWALK, both};
use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(60);

/// A process that is stopped with the test, and the lines that it says.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    fn of(mut command: Command) -> Self {
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
    fn line(&self, with: &str) -> String {
        let mut said = String::new();
        loop {
            match self.lines.recv_timeout(LONG) {
                Ok(line) if line.contains(with) => return line,
                Ok(line) => said = said + &line + "\n",
                Err(_) => panic!("{with:?} is not said: {said}"),
            }
        }
    }

    fn stop(mut self) -> String {
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
fn program(name: &str) -> Option<PathBuf> {
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
fn server(name: &str, flags: impl Fn(u16) -> Vec<String>) -> Option<(Running, u16)> {
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

fn mosquitto(folder: &Folder, more: &str) -> Option<(Running, u16)> {
    let config = folder.path("mosquitto.conf");
    server("mosquitto", |port| {
        std::fs::write(&config, format!("listener {port} 127.0.0.1\nuser root\n{more}\n")).unwrap();
        vec!["-c".to_owned(), config.display().to_string()]
    })
}

fn serve(folder: &Path, flags: &[&str], more: &[&str]) -> Running {
    let mut command = Command::new(VEILWALK);
    command.current_dir(folder).arg("serve").args(flags);
    command.args(["--state", "state", "--listen", "127.0.0.1:0"]).args(more);
    Running::of(command)
}

fn subscribe(port: u16, more: &[&str]) -> Option<Running> {
    // Into a pipe it would keep its lines until there are many.
    let mut command = Command::new("stdbuf");
    command.arg("-oL").arg(program("mosquitto_sub")?);
    command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-v", "-q", "1", "-d"]).args(more);
    let running = Running::of(command);
    running.line("Subscribed");
    Some(running)
}

fn publish(port: u16, more: &[&str]) {
    let mut command = Command::new(program("mosquitto_pub").unwrap());
    let status =
        command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-q", "1"]).args(more).status();
    assert!(status.unwrap().success());
}

/// What was published on a topic.
fn body(line: &str) -> Value {
    serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap()
}

#[test]
fn mosquittos_clients_send_and_listen() {
    let folder = Folder::new();
    folder.write("passwords", "");
    folder.write("password", "secret\n");
    let made = program("mosquitto_passwd").map(|path| {
        Command::new(path)
            .args(["-b"])
            .arg(folder.path("passwords"))
            .args(["veilwalk", "secret"])
            .status()
    });
    if made.is_none() {
        return;
    }
    let more =
        format!("allow_anonymous false\npassword_file {}", folder.path("passwords").display());
    let Some((_broker, port)) = mosquitto(&folder, &more) else { return };
    let login = ["-u", "veilwalk", "-P", "secret"];
    let released = ["-t", "fleet/+/released", "-t", "fleet/+/refused"];
    let Some(listener) = subscribe(port, &[&login[..], &released[..]].concat()) else { return };
    let url = format!("mqtt://127.0.0.1:{port}");
    let flags = ["--mqtt", &url, "--topic", "fleet/+/real", "--broker-user", "veilwalk"];
    let flags = [&flags[..], &["--broker-password", "password"]].concat();
    let service = serve(folder.root(), &CELL, &flags);
    service.line("reading mqtt://");
    let send = |message: &str| {
        publish(port, &[&login[..], &["-t", "fleet/firm-12/real", "-m", message]].concat())
    };
    send(r#"{"step": 0, "state": "Caa"}"#);
    let first = listener.line("fleet/firm-12/released {");
    send(r#"{"step": 0, "state": "Aaa"}"#);
    let again = listener.line("fleet/firm-12/released {");
    assert_eq!(body(&first)["state"], body(&again)["state"]);
    assert_eq!(
        (&body(&first)["replayed"], &body(&again)["replayed"]),
        (&json!(false), &json!(true))
    );
    send(r#"{"steps": [{"step": 1, "state": "Caa"}, {"step": 2, "state": "B"}]}"#);
    for step in [1, 2] {
        assert_eq!(body(&listener.line("fleet/firm-12/released {"))["step"], step);
    }
    send(r#"{"step": 3, "state": "caa"}"#);
    let refused = listener.line("fleet/firm-12/refused {");
    assert!(
        body(&refused)["code"] == "unknown-state" && !refused.to_lowercase().contains("caa"),
        "{refused}"
    );
    send(r#"{"state": "Caa"}"#);
    assert_eq!(body(&listener.line("fleet/firm-12/refused {"))["code"], "body");
    let log = service.stop();
    assert!(log.contains("every answer that was sent is kept"), "{log}");
    // What comes meanwhile waits at the broker.
    send(r#"{"end": true}"#);
    let service = serve(folder.root(), &CELL, &flags);
    assert_eq!(
        body(&listener.line("fleet/firm-12/released {")),
        json!({ "ended": true, "steps": 3 })
    );
    service.stop();
    // Nobody is let in without a password, and that is said.
    let service = serve(folder.root(), &CELL, &["--mqtt", &url, "--topic", "fleet/+/real"]);
    service.line("trying again");
    service.stop();
}

#[test]
fn nats_is_read_with_jetstream() {
    let folder = Folder::new();
    let store = folder.path("jetstream").display().to_string();
    let server = server("nats-server", |port| {
        ["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd", &store].map(str::to_owned).into()
    });
    let Some((_server, port)) = server else { return };
    let url = format!("nats://127.0.0.1:{port}");
    let flags = ["--nats", url.as_str(), "--subject", "fleet.*.real"];
    let service = serve(folder.root(), &CELL, &flags);
    service.line("reading nats://");
    service.stop();
    let other = Folder::new();
    let service = serve(other.root(), &CELL, &flags);
    let error = service.line("error");
    assert!(error.contains("belongs to another directory"), "{error}");
}

#[test]
fn locations_of_owntracks_are_steps_of_a_clock() {
    let folder = Folder::new();
    let Some((_broker, port)) = mosquitto(&folder, "allow_anonymous true") else { return };
    // Two cells of about 350 m, in Paris and San Francisco.
    folder.write("places.csv", "from,to,probability\n8928308280fffff,891fb467603ffff,1\n891fb467603ffff,8928308280fffff,1\n");
    let Some(listener) =
        subscribe(port, &["-t", "owntracks/+/+/released", "-t", "owntracks/+/+/refused"])
    else {
        return;
    };
    let url = format!("mqtt://127.0.0.1:{port}");
    let flags = ["--chain", "places.csv", "--epsilon", "1", "--substitutions", "2"];
    let more = ["--mqtt", &url, "--owntracks", "--cells", "h3:9", "--tick", "1h"];
    let service = serve(folder.root(), &flags, &more);
    service.line("reading mqtt://");
    // Yesterday, at three o'clock.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let day = now / 86_400 * 86_400 - 86_400;
    let send = |time: u64, lat: f64, lon: f64| {
        let message = json!({ "_type": "location", "lat": lat, "lon": lon, "tst": time, "acc": 9, "tid": "an" });
        publish(port, &["-t", "owntracks/ann/phone", "-m", &message.to_string()]);
    };
    send(day + 3 * 3600 + 60, 37.775_938_728_915_946, -122.417_950_630_187_99);
    let steps: Vec<Value> =
        (0..4).map(|_| body(&listener.line("owntracks/ann/phone/released {"))).collect();
    assert!(steps.iter().enumerate().all(|(number, step)| step["step"] == number), "{steps:?}");
    let walk = steps[0]["walk"].as_str().unwrap();
    assert!(
        walk.starts_with("ann/phone/20") && steps.iter().all(|step| step["walk"] == walk),
        "{walk}"
    );
    // Later in the same hour, and the same message again: the same step, and nothing new.
    for seconds in [120, 60] {
        send(day + 3 * 3600 + seconds, 37.775_938_728_915_946, -122.417_950_630_187_99);
        let again = body(&listener.line("owntracks/ann/phone/released {"));
        assert_eq!((&again["state"], &again["replayed"]), (&steps[3]["state"], &json!(true)));
    }
    // Somewhere the chain does not know.
    send(day + 4 * 3600, 0.0, 0.0);
    let refused = listener.line("owntracks/ann/phone/refused {");
    assert_eq!(body(&refused)["code"], "unknown-state");
    publish(port, &["-t", "owntracks/ann/phone", "-m", r#"{"_type":"lwt","tst":1}"#]);
    service.stop();
}

#[test]
fn flags_that_do_not_fit_are_refused_before_anything_is_made() {
    let folder = Folder::new();
    let mqtt = ["--mqtt", "mqtt://127.0.0.1:1"];
    let tracks = both(&mqtt, &["--owntracks", "--cells", "h3:9", "--tick", "5m"]);
    let tracks: Vec<&str> = tracks.iter().map(String::as_str).collect();
    for (more, words) in [
        (mqtt.to_vec(), vec!["--topic"]),
        ([&mqtt[..], &["--topic", "fleet/#"]].concat(), vec!["--topic", "fleet/+/real"]),
        ([&mqtt[..], &["--topic", "$share/a/+/real"]].concat(), vec!["each would release"]),
        ([&mqtt[..], &["--topic", "+/real", "--client", "a b"]].concat(), vec!["--client"]),
        (
            [&mqtt[..], &["--topic", "+/real", "--broker-user", "a"]].concat(),
            vec!["--broker-password"],
        ),
        (vec!["--mqtt", "nats://a", "--topic", "+/real"], vec!["another kind of broker"]),
        ([&tracks[..], &["--idle", "2h"]].concat(), vec!["--idle", "90000 s"]),
        (
            [&mqtt[..], &["--owntracks", "--cells", "h3:9", "--tick", "7m"]].concat(),
            vec!["--tick 7m"],
        ),
        ([&tracks[..], &["--away", "nowhere"]].concat(), vec!["--away", "nowhere"]),
        (vec!["--owntracks"], vec!["--mqtt"]),
    ] {
        let args = both(&["serve", "--state", "state"], &CELL);
        let args: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
        folder.refuses(args, &words);
    }
}
