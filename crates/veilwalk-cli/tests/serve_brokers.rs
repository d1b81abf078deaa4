//! `veilwalk serve` with real brokers, as a newcomer drives it: with mosquitto's own clients.
#![cfg(unix)]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use common::running::{Wire, body, mosquitto, nats_server, program, publish, serve, subscribe};
use common::{CELL, Folder, both};
use serde_json::json;

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
    let Some((_server, port)) = nats_server(&folder, &[]) else { return };
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
fn connections_are_encrypted_and_whoever_nobody_vouches_for_is_not_trusted() {
    let folder = Folder::new();
    folder.write("cert.pem", include_str!("fixtures/localhost.cert.pem"));
    folder.write("key.pem", include_str!("fixtures/localhost.key.pem"));
    folder.write("other.pem", OTHER);
    let (certificate, key) = (folder.path("cert.pem"), folder.path("key.pem"));
    let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
    let tls = format!("allow_anonymous true\ncertfile {certificate}\nkeyfile {key}");
    let Some((_broker, port)) = mosquitto(&folder, &tls) else { return };
    let url = format!("mqtts://localhost:{port}");
    let mqtt = |authorities| {
        ["--mqtt", url.as_str(), "--topic", "fleet/+/real", "--broker-ca", authorities]
    };
    let service = serve(folder.root(), &CELL, &mqtt("other.pem"));
    let said = service.line("trying again");
    assert!(said.to_lowercase().contains("certificate"), "{said}");
    service.stop();
    let service = serve(folder.root(), &CELL, &mqtt("cert.pem"));
    service.line("reading mqtts://localhost");
    let send = ["--cafile", &certificate, "-h", "localhost", "-t", "fleet/a/real", "-m"];
    publish(port, &[&send[..], &[r#"{"step": 0, "state": "Caa"}"#]].concat());
    let listen = ["--cafile", &certificate, "-h", "localhost", "-t", "fleet/+/released"];
    let Some(listener) = subscribe(port, &listen) else { return };
    publish(port, &[&send[..], &[r#"{"step": 0, "state": "Aaa"}"#]].concat());
    assert_eq!(body(&listener.line(" {"))["step"], 0);
    let log = service.stop();
    assert!(!log.contains("not encrypted"), "{log}");

    let flags = ["--tls", "--tlscert", &certificate, "--tlskey", &key];
    let Some((_server, port)) = nats_server(&folder, &flags) else { return };
    let url = format!("tls://localhost:{port}");
    let nats = |authorities| {
        ["--nats", url.as_str(), "--subject", "fleet.*.real", "--broker-ca", authorities]
    };
    let service = serve(folder.root(), &CELL, &nats("other.pem"));
    let said = service.line("trying again");
    assert!(!said.contains("reading"), "{said}");
    service.stop();
    let service = serve(folder.root(), &CELL, &nats("cert.pem"));
    // The server has answered: streams and a consumer are there.
    service.line("reading tls://localhost");
    service.stop();
}

/// A certificate of somebody else.
const OTHER: &str = include_str!("fixtures/other.cert.pem");

/// All that two runs which differ in real states only show, but for released states, and times, names and addresses
/// that no two runs share.
fn shown(mut wire: Wire, folder: &Folder, flags: &[&str], states: [&str; 4]) -> [String; 3] {
    let more = [flags, &["--reorder", "0s", "--keep-answers", "4"]].concat();
    let service = serve(folder.root(), &CELL, &more);
    let address = service.line("listening on http://");
    let address = address.split("http://").nth(1).unwrap().trim().to_owned();
    service.line("reading ");
    let mut answers = String::new();
    let mut ask = |walk: &str, message: String| {
        wire.send(walk, &message);
        let (word, mut body) = wire.next();
        if let Some(answer) = body.as_object_mut() {
            answer.remove("state");
        }
        answers += &format!("{word} {body}\n");
    };
    let step = |number: usize, state: &str| json!({ "step": number, "state": state }).to_string();
    for number in 0..8 {
        ask("a", step(number, states[number % 4]));
        // Again, too early, and forgotten.
        ask("a", step(number, states[(number + 1) % 4]));
        ask("a", step(number + 2, states[(number + 2) % 4]));
        ask("a", step(0, states[(number + 3) % 4]));
    }
    ask("a", step(8, &format!("no {}", states[0])));
    ask("a", format!("{{\"state\": {:?}}}", states[1]));
    ask("a", json!({ "end": true }).to_string());
    ask("a", step(8, states[2]));
    let mut http = TcpStream::connect(address).unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    http.write_all(request.as_bytes()).unwrap();
    let mut metrics = String::new();
    http.read_to_string(&mut metrics).unwrap();
    let metrics = metrics.lines().filter(|line| line.starts_with("veilwalk_"));
    let metrics = metrics.filter(|line| !line.contains("_seconds_"));
    let metrics = metrics.collect::<Vec<_>>().join("\n");
    [answers, metrics, service.stop()]
}

#[test]
fn nothing_but_answers_depends_on_real_states() {
    let run = |broker: &str, states| {
        let folder = Folder::new();
        let (_broker, port) = match broker {
            "mqtt" => mosquitto(&folder, "allow_anonymous true")?,
            _ => nats_server(&folder, &[])?,
        };
        let url = format!("{broker}://127.0.0.1:{port}");
        Some(match broker {
            "mqtt" => {
                let flags = ["--mqtt", &url, "--topic", "fleet/+/real"];
                shown(Wire::mqtt(port)?, &folder, &flags, states)
            }
            _ => {
                let flags = ["--nats", &url, "--subject", "fleet.*.real"];
                shown(Wire::nats(port), &folder, &flags, states)
            }
        })
    };
    for broker in ["mqtt", "nats"] {
        let (one, other) = (["Aaa", "Aa", "A", "Baa"], ["Ca/C", "Caa", "Caa", "B"]);
        let Some(first) = run(broker, one) else { continue };
        let second = run(broker, other).unwrap();
        assert_eq!(first, second);
        let [answers, metrics, log] = first;
        for code in ["gap", "forgotten", "unknown-state", "body", "over"] {
            assert!(answers.contains(&format!("{code:?}")), "{code}: {answers}");
        }
        assert!(metrics.contains("veilwalk_steps_released_total 8"), "{metrics}");
        assert!(log.contains("stopped"), "{log}");
    }
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
        ([&mqtt[..], &["--owntracks", "--tick", "5m"]].concat(), vec!["--cells", "--map"]),
        ([&tracks[..], &["--map", "town.model"]].concat(), vec!["--cells", "--map"]),
        (
            [&mqtt[..], &["--owntracks", "--map", "credit", "--tick", "5m"]].concat(),
            vec!["--map credit", "no lines"],
        ),
    ] {
        let args = both(&["serve", "--state", "state"], &CELL);
        let args: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
        folder.refuses(args, &words);
    }
    let credit =
        ["serve", "--state", "state", "--chain", "credit", "--epsilon", "1", "--radius", "3.5"];
    let topic = [&mqtt[..], &["--topic", "+/real", "--mechanism", "exponential", "--block", "5"]];
    folder.refuses([&credit[..], &topic.concat()].concat(), &["--block", "--lag"]);
    let late = [&credit[..], &tracks, &["--mechanism", "tight", "--lag", "2"]];
    folder.refuses(late.concat(), &["--owntracks", "--lag"]);
}
