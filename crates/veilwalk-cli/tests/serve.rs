//! `veilwalk serve`: a real server, driven over real sockets, stopped, restarted and killed.
#![cfg(unix)]

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use common::{CELL, Folder, VEILWALK, both};
use serde_json::{Value, json};

/// The labels of the credit chain, some of them.
const RATINGS: [&str; 6] = ["Aaa", "A", "Baa", "B", "Caa", "Ca/C"];

const JSON: &str = "Content-Type: application/json\r\n";

/// A server that runs, on a port of its own.
struct Server {
    child: Child,
    address: SocketAddr,
    log: JoinHandle<String>,
}

/// What a server answered.
#[derive(Debug)]
struct Answer {
    status: u16,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn state(&self) -> String {
        assert_eq!(self.status, 200, "{}", self.body);
        self.json()["state"].as_str().unwrap().to_owned()
    }

    fn code(&self) -> (u16, String) {
        (self.status, self.json()["code"].as_str().unwrap().to_owned())
    }
}

fn command(folder: &Folder, more: &[&str]) -> Command {
    let mut command = Command::new(VEILWALK);
    command.current_dir(folder.root()).arg("serve").args(CELL);
    command.args(["--state", "state", "--listen", "127.0.0.1:0"]).args(more);
    command
}

impl Server {
    fn start(folder: &Folder, more: &[&str]) -> Self {
        Self::of(command(folder, more))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "it does not start: {said}");
            said += &line;
            if let Some(address) = line.trim().strip_prefix("listening on http://") {
                break address.parse().unwrap();
            }
        };
        let log = thread::spawn(move || {
            log.read_to_string(&mut said).unwrap();
            said
        });
        Self { child, address, log }
    }

    /// Sends a request, and reads the answer.
    fn try_ask(&self, line: &str, headers: &str, body: &str) -> std::io::Result<Answer> {
        let mut connection = TcpStream::connect(self.address)?;
        connection.set_read_timeout(Some(Duration::from_secs(30)))?;
        let length = body.len();
        let kind = if headers.contains("Content-Type") { "" } else { JSON };
        let host = if headers.contains("Host") { "" } else { "Host: localhost\r\n" };
        write!(
            connection,
            "{line} HTTP/1.1\r\n{host}Connection: close\r\nContent-Length: {length}\r\n{kind}{headers}\r\n{body}"
        )?;
        let answer = read_answer(&mut connection)?;
        check_described(line, &answer);
        Ok(answer)
    }

    fn ask(&self, line: &str, body: &str) -> Answer {
        self.try_ask(line, "", body).unwrap()
    }

    fn step(&self, walk: &str, number: u64, state: &str) -> Answer {
        let body = json!({ "step": number, "state": state }).to_string();
        self.ask(&format!("POST /v1/walks/{walk}/steps"), &body)
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Waits for the end, and gives what was logged.
    fn end(mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
        (self.child.wait().unwrap(), self.log.join().unwrap())
    }

    fn stop(self) -> String {
        self.signal("-TERM");
        let (status, log) = self.end();
        assert!(status.success(), "{log}");
        log
    }
}

const DESCRIPTION: &str = include_str!("../src/command/serve/openapi.json");

/// The path of a request, as the description has it.
fn described_path(path: &str) -> String {
    match path.strip_prefix("/v1/walks/") {
        Some(walk) if walk.ends_with("/steps") => "/v1/walks/{walk}/steps".to_owned(),
        Some(_) => "/v1/walks/{walk}".to_owned(),
        None => path.to_owned(),
    }
}

/// Every answer of these tests is one that openapi.json describes.
fn check_described(line: &str, answer: &Answer) {
    let description: Value = serde_json::from_str(DESCRIPTION).unwrap();
    let (method, path) = line.split_once(' ').unwrap();
    let path = &description["paths"][described_path(path)];
    let Some(method) = path.get(method.to_lowercase()) else {
        let (status, code) = answer.code();
        let expected = if path.is_null() { (404, "no-such-path") } else { (405, "method") };
        return assert_eq!((status, code.as_str()), expected, "{line}");
    };
    let response = &method["responses"][answer.status.to_string()];
    assert!(!response.is_null(), "{line}: status {} is not described", answer.status);
    if let Some(code) =
        serde_json::from_str::<Value>(&answer.body).ok().as_ref().and_then(|body| body.get("code"))
    {
        let words = response["description"].as_str().unwrap();
        assert!(
            words.contains(&format!("`{}`", code.as_str().unwrap())),
            "{line}: {code} in {words}"
        );
    }
}

#[test]
fn what_is_described_is_there() {
    let folder = Folder::new();
    let server = Server::start(&folder, &[]);
    let served = server.ask("GET /openapi.json", "");
    let description: Value = serde_json::from_str(DESCRIPTION).unwrap();
    assert_eq!((served.status, served.json()), (200, description.clone()));
    for (path, methods) in description["paths"].as_object().unwrap() {
        let here = path.replace("{walk}", "a");
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            // Each answer is held against the description.
            let answer = server.ask(&format!("{method} {here}"), "");
            let described = methods.get(method.to_lowercase()).is_some();
            assert_eq!(answer.status != 405, described, "{method} {path}");
            assert!(answer.status != 404 || answer.code().1 != "no-such-path", "{method} {path}");
        }
    }
    // The table for people has the same statuses and words.
    let page = include_str!("../../../docs/serve.md");
    for row in page.lines().filter_map(|line| line.strip_prefix("| ")) {
        let mut cells = row.split(" | ");
        let (Some(status), Some(codes)) = (cells.next(), cells.next()) else { continue };
        if status.len() != 3 || status.parse::<u16>().is_err() {
            continue;
        }
        for code in codes.split(", ") {
            let said = |response: &Value| response["description"].as_str().unwrap().contains(code);
            let operations = description["paths"].as_object().unwrap().values();
            let mut responses =
                operations.flat_map(|methods| methods.as_object().unwrap().values());
            let general = description["components"]["responses"].as_object().unwrap();
            let known = responses.any(|method| {
                method.get("responses").is_some_and(|all| said_in(all, status, &said))
            }) || general.values().any(said);
            assert!(known, "{status} {code} is not described");
        }
    }
    server.stop();
}

fn said_in(responses: &Value, status: &str, said: &impl Fn(&Value) -> bool) -> bool {
    responses.get(status).is_some_and(said)
}

fn read_answer(connection: &mut TcpStream) -> std::io::Result<Answer> {
    let mut text = String::new();
    connection.read_to_string(&mut text)?;
    let cut = || std::io::Error::other("the answer was cut");
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(cut)?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    if length.is_some_and(|length| length.parse() != Ok(body.len())) {
        return Err(cut());
    }
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(cut)?;
    Ok(Answer { status, body: body.to_owned() })
}

#[test]
fn a_step_gets_one_answer_whatever_comes_with_it_and_after_a_restart() {
    let folder = Folder::new();
    let server = Server::start(&folder, &[]);
    let first = server.step("firm%2012", 0, "Caa").state();
    let again = server.step("firm%2012", 0, "Aaa").json();
    assert_eq!(again, json!({ "step": 0, "state": first, "replayed": true }));
    // What is no state of the chain is looked at only if the step is new.
    assert_eq!(server.step("firm%2012", 0, "nowhere").state(), first);
    let list = json!({ "steps": [
        { "step": 1, "state": "B" }, { "step": 0, "state": "B" }, { "step": 2, "state": "Caa" },
    ] });
    let list = server.ask("POST /v1/walks/firm%2012/steps", &list.to_string()).json();
    let flags: Vec<_> = list.as_array().unwrap().iter().map(|answer| &answer["replayed"]).collect();
    assert_eq!(flags, [false, true, false]);
    let log = server.stop();
    assert!(log.contains("0 walks open") && log.contains("every answer that was sent is kept"));

    let server = Server::start(&folder, &[]);
    assert_eq!(server.step("firm%2012", 2, "Aaa").state(), list[2]["state"]);
    assert_eq!(server.step("firm%2012", 0, "Aaa").state(), first);
    assert_eq!(server.step("firm%2012", 3, "Aaa").json()["replayed"], false);
    let ended = server.ask("DELETE /v1/walks/firm%2012", "");
    assert_eq!((ended.status, ended.json()), (200, json!({ "ended": true, "steps": 4 })));
    assert_eq!(server.ask("DELETE /v1/walks/firm%2012", "").status, 200, "it is over either way");
    assert_eq!(server.step("firm%2012", 0, "Caa").code(), (410, "over".to_owned()));
    assert!(server.stop().contains("1 walk open"));
}

#[test]
fn what_is_refused_says_why_by_a_status_and_in_words() {
    let folder = Folder::new();
    folder.write("tokens", "# for the test\n0123456789abcdef-ann\n");
    let flags =
        ["--tokens", "tokens", "--max-body", "300", "--max-walks", "2", "--keep-answers", "2"];
    let server = Server::start(&folder, &flags);
    let bearer = "Authorization: Bearer 0123456789abcdef-ann\r\n";
    let ask = |line: &str, body: &str| server.try_ask(line, bearer, body).unwrap();
    let step = |walk: &str, number: u64, state: &str| {
        let body = json!({ "step": number, "state": state }).to_string();
        ask(&format!("POST /v1/walks/{walk}/steps"), &body)
    };
    let is = |answer: Answer, status: u16, code: &str| {
        assert_eq!(answer.code(), (status, code.to_owned()), "{}", answer.body);
        answer.json()
    };
    assert_eq!(step("a", 0, "Caa").status, 200);
    assert_eq!(is(step("a", 5, "Caa"), 409, "gap")["next"], 1);
    let unknown = is(step("a", 1, "caa"), 422, "unknown-state");
    assert!(unknown["error"].as_str().unwrap().contains("did you mean \"Caa\"?"), "{unknown}");
    is(ask("POST /v1/walks/a/steps", r#"{"step": 1}"#), 400, "body");
    is(ask("POST /v1/walks/a/steps", r#"{"steps": []}"#), 422, "no-steps");
    is(ask("POST /v1/walks/a/steps", r#"{"step":1,"state":"B","person":"ann"}"#), 400, "person");
    is(ask("POST /v1/walks/a/steps", &" ".repeat(301)), 413, "too-long");
    is(ask("POST /v1/walks/a%0Ab/steps", r#"{"step":0,"state":"B"}"#), 400, "name");
    is(ask("POST /v1/walks/%ff/steps", r#"{"step":0,"state":"B"}"#), 400, "name");
    is(ask("GET /v1/walks/a/steps", ""), 405, "method");
    is(ask("GET /v2", ""), 404, "no-such-path");
    is(ask("DELETE /v1/walks/nobody", ""), 404, "no-such-walk");
    // None of these took the step.
    for number in 1..5 {
        assert_eq!(step("a", number, "B").json()["replayed"], false);
    }
    is(step("a", 2, "B"), 410, "forgotten");
    assert_eq!(step("a", 3, "B").json()["replayed"], true);
    assert_eq!(step("b", 0, "B").status, 200);
    is(step("c", 0, "B"), 429, "too-many-walks");
    assert_eq!(ask("DELETE /v1/walks/b", "").status, 200);
    assert_eq!(step("c", 0, "B").status, 200);
    for headers in ["", "Authorization: Bearer 0123456789abcdef-bob\r\n"] {
        for line in ["POST /v1/walks/a/steps", "DELETE /v1/walks/a", "GET /metrics"] {
            is(server.try_ask(line, headers, "").unwrap(), 401, "token");
        }
    }
    assert_eq!(server.ask("GET /healthz", "").status, 200);
    assert_eq!(server.ask("GET /readyz", "").status, 200);
    server.stop();
}

#[test]
fn a_web_page_of_elsewhere_cannot_post_steps() {
    let folder = Folder::new();
    let server = Server::start(&folder, &[]);
    let body = r#"{"step": 0, "state": "Caa"}"#;
    let post = |headers: &str| server.try_ask("POST /v1/walks/a/steps", headers, body).unwrap();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""] {
        let answer = post(&format!("Content-Type: {kind}\r\n"));
        assert_eq!(answer.code(), (415, "content-type".to_owned()), "{kind}");
    }
    for host in ["evil.example", "evil.example:8700", "localhost.evil.example", "192.0.2.1", ""] {
        let host = format!("Host: {host}\r\n");
        assert_eq!(post(&host).code(), (421, "host".to_owned()), "{host}");
        for line in ["DELETE /v1/walks/a", "GET /metrics"] {
            let answer = server.try_ask(line, &host, "").unwrap();
            assert_eq!(answer.code(), (421, "host".to_owned()), "{host}");
        }
    }
    // None of these took the step.
    assert_eq!(post("Content-Type: Application/JSON; charset=utf-8\r\n").json()["replayed"], false);
    for host in ["localhost", "LOCALHOST:8700", "127.0.0.1:8700", "127.9.9.9", "[::1]:8700"] {
        assert_eq!(post(&format!("Host: {host}\r\n")).status, 200, "{host}");
    }
    server.stop();
}

#[test]
fn what_cannot_be_served_is_refused_before_anything_is_made() {
    let folder = Folder::new();
    let serve = |more: &[&str], words: &[&str]| {
        folder.refuses(
            both(
                &both(&["serve", "--state", "state"], &CELL)
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>(),
                more,
            ),
            words,
        );
        assert!(!folder.path("state").exists(), "{more:?}");
    };
    serve(&["--listen", "0.0.0.0:0"], &["--tokens"]);
    serve(&["--unknown-state", "skip"], &["--unknown-state STATE"]);
    serve(&["--tokens", "nothing"], &["cannot read nothing"]);
}

#[test]
fn a_directory_belongs_to_one_service_and_one_promise() {
    let folder = Folder::new();
    let server = Server::start(&folder, &[]);
    let state = server.step("a", 0, "Caa").state();
    let flags = |epsilon| {
        let flags = ["serve", "--chain", "credit", "--radius", "3.5", "--mechanism", "cell"];
        both(&flags, &["--epsilon", epsilon, "--state", "state", "--listen", "127.0.0.1:0"])
    };
    let refused = folder.run(flags("1")).code(2);
    assert!(common::stderr(&refused).contains("in use by another service"));
    assert_eq!(server.step("a", 0, "Caa").state(), state);
    server.stop();
    let refused = folder.run(flags("2")).code(2);
    let message = common::stderr(&refused);
    assert!(
        message.contains("another promise (epsilon 1") && message.contains("this is epsilon 2")
    );
}

#[test]
fn what_was_observed_is_answered_too() {
    let folder = Folder::new();
    let mut command = Command::new(VEILWALK);
    let flags = "serve --chain credit --epsilon 1 --radius 3.5 --mechanism tight --state s";
    command.current_dir(folder.root()).args(flags.split(' ')).args(["--listen", "127.0.0.1:0"]);
    let server = Server::of(command);
    let first = server.step("a", 0, "Caa").json();
    assert!(first["observed"].is_string(), "{first}");
    let again = server.step("a", 0, "B").json();
    assert_eq!((&again["observed"], &again["state"]), (&first["observed"], &first["state"]));
    server.stop();
}

/// A service with these flags instead of those of a mechanism that draws moves.
fn with_flags(folder: &Folder, flags: &str) -> Server {
    let mut command = Command::new(VEILWALK);
    let flags = format!("serve --chain credit --state s --listen 127.0.0.1:0 {flags}");
    command.current_dir(folder.root()).args(flags.split(' '));
    Server::of(command)
}

/// The numbers of the answers in a list, and whether they were answered before.
fn numbers(list: &Value) -> Vec<(u64, bool)> {
    let number =
        |answer: &Value| (answer["step"].as_u64().unwrap(), answer["replayed"].as_bool().unwrap());
    list.as_array().unwrap().iter().map(number).collect()
}

#[test]
fn with_a_lag_answers_come_later_and_the_last_with_the_end_also_after_a_restart() {
    let folder = Folder::new();
    let flags = "--epsilon 1 --radius 3.5 --mechanism tight --lag 2";
    let server = with_flags(&folder, flags);
    for number in [0, 1] {
        let answer = server.step("a", number, "Caa");
        assert_eq!((answer.status, answer.json()), (200, json!([])));
    }
    let third = server.step("a", 2, "B").json();
    assert_eq!(numbers(&third), [(0, false)]);
    server.stop();
    // What waits are observations, which are on the disk.
    let server = with_flags(&folder, flags);
    let again = server.step("a", 2, "Aaa").json();
    assert_eq!(numbers(&again), [(0, true)]);
    assert_eq!(
        (&again[0]["state"], &again[0]["observed"]),
        (&third[0]["state"], &third[0]["observed"])
    );
    let list = json!({ "steps": [{ "step": 3, "state": "B" }, { "step": 4, "state": "B" }] });
    let list = server.ask("POST /v1/walks/a/steps", &list.to_string()).json();
    assert_eq!(numbers(&list), [(1, false), (2, false)]);
    let end = server.ask("DELETE /v1/walks/a", "").json();
    assert_eq!((&end["ended"], &end["steps"]), (&json!(true), &json!(5)));
    assert_eq!(numbers(&end["answers"]), [(3, false), (4, false)]);
    server.stop();
    let server = with_flags(&folder, flags);
    let again = server.ask("DELETE /v1/walks/a", "").json();
    assert_eq!(numbers(&again["answers"]), [(3, true), (4, true)]);
    assert_eq!(again["answers"][1]["state"], end["answers"][1]["state"]);
    server.stop();
}

#[test]
fn in_blocks_a_step_is_taken_for_good_when_its_answer_has_come() {
    let folder = Folder::new();
    let flags = "--epsilon 3.5 --radius 3.5 --mechanism exponential --block 2";
    let server = with_flags(&folder, flags);
    assert_eq!(server.step("a", 0, "Caa").json(), json!([]));
    assert_eq!(server.step("a", 0, "Aaa").json(), json!([]), "it waits");
    let block = server.step("a", 1, "B").json();
    assert_eq!(numbers(&block), [(0, false), (1, false)]);
    assert_eq!(server.step("a", 2, "B").json(), json!([]));
    server.stop();
    // The step that waited is not on the disk, and has to be sent again.
    let server = with_flags(&folder, flags);
    let gap = server.step("a", 3, "B");
    assert_eq!((gap.code(), &gap.json()["next"]), ((409, "gap".to_owned()), &json!(2)));
    let again = server.step("a", 1, "Aaa").json();
    assert_eq!(numbers(&again), [(0, true), (1, true)]);
    assert_eq!(again[0]["state"], block[0]["state"]);
    assert_eq!(server.step("a", 2, "B").json(), json!([]));
    let end = server.ask("DELETE /v1/walks/a", "").json();
    assert_eq!(numbers(&end["answers"]), [(2, false)]);
    server.stop();
}

#[test]
fn a_request_that_is_under_way_is_answered_when_the_service_stops() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--drain", "20s"]);
    let body = r#"{"step": 0, "state": "Caa"}"#;
    let mut connection = TcpStream::connect(server.address).unwrap();
    write!(
        connection,
        "POST /v1/walks/a/steps HTTP/1.1\r\nHost: [::1]:1\r\n{JSON}Content-Length: {}\r\n\r\n{}",
        body.len(),
        &body[..9]
    )
    .unwrap();
    // It has come so far once another one is answered.
    thread::sleep(Duration::from_millis(200));
    assert_eq!(server.ask("GET /readyz", "").status, 200);
    server.signal("-TERM");
    thread::sleep(Duration::from_millis(300));
    connection.write_all(&body.as_bytes()[9..]).unwrap();
    let answer = read_answer(&mut connection).unwrap();
    let state = answer.state();
    let (status, log) = server.end();
    assert!(status.success() && !log.contains("cut off"), "{log}");
    let server = Server::start(&folder, &["--drain", "1s"]);
    assert_eq!(server.step("a", 0, "B").state(), state);
    // One that never becomes complete is cut off.
    let mut connection = TcpStream::connect(server.address).unwrap();
    connection
        .write_all(b"POST /v1/walks/a/steps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{")
        .unwrap();
    thread::sleep(Duration::from_millis(200));
    let log = server.stop();
    assert!(log.contains("cut off"), "{log}");
}

#[test]
fn ctrl_c_stops_it_in_good_order() {
    let folder = Folder::new();
    let server = Server::start(&folder, &[]);
    server.step("a", 0, "Caa").state();
    server.signal("-INT");
    let (status, log) = server.end();
    assert!(status.success() && log.contains("stopped; every answer"), "{log}");
}

/// Posts steps of some walks from several threads until the server is gone, twice and out of order, and notes
/// all answers.
fn load(server: &Server, seen: &Mutex<BTreeMap<(String, u64), String>>, over: &AtomicBool) {
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            scope.spawn(move || {
                let mut turn = thread;
                while !over.load(Ordering::Relaxed) {
                    turn =
                        turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(thread * 2 + 1);
                    let walk = format!("w{}", (turn >> 33) % 5);
                    let next = {
                        let seen = seen.lock().unwrap();
                        let steps = seen.range((walk.clone(), 0)..=(walk.clone(), u64::MAX));
                        steps.last().map_or(0, |((_, number), _)| number + 1)
                    };
                    let number = (next + (turn >> 50) % 2).saturating_sub((turn >> 40) % 3);
                    let state = RATINGS[(turn >> 45) as usize % RATINGS.len()];
                    let body = json!({ "step": number, "state": state }).to_string();
                    let line = format!("POST /v1/walks/{walk}/steps");
                    let Ok(answer) = server.try_ask(&line, "", &body) else { continue };
                    if answer.status == 409 {
                        continue;
                    }
                    let state = answer.state();
                    let mut seen = seen.lock().unwrap();
                    let first = seen.entry((walk, number)).or_insert_with(|| state.clone());
                    assert_eq!(*first, state, "a second release");
                }
            });
        }
    });
}

#[test]
fn slow_a_kill_under_load_loses_no_answer_and_releases_nothing_twice() {
    const KILLS: u64 = 15;
    let folder = Folder::new();
    let seen = Mutex::default();
    for kill in 0..KILLS {
        let mut server = Server::start(&folder, &["--keep-answers", "1000000"]);
        let over = AtomicBool::new(false);
        let id = server.child.id().to_string();
        thread::scope(|scope| {
            scope.spawn(|| load(&server, &seen, &over));
            thread::sleep(Duration::from_millis(40 + 37 * kill % 200));
            assert!(Command::new("kill").args(["-KILL", &id]).status().unwrap().success());
            thread::sleep(Duration::from_millis(20));
            over.store(true, Ordering::Relaxed);
        });
        assert!(!server.child.wait().unwrap().success());
    }
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() as u64 > KILLS * 5, "{} steps", seen.len());
    let server = Server::start(&folder, &["--keep-answers", "1000000"]);
    for ((walk, number), state) in &seen {
        let answer = server.step(walk, *number, "Aaa");
        assert_eq!(answer.state(), *state, "{walk} {number}");
        assert_eq!(answer.json()["replayed"], true, "{walk} {number} was lost");
    }
    server.stop();
}

#[test]
fn a_disk_that_takes_no_more_releases_nothing() {
    let folder = Folder::new();
    // A limit on the size of files, which is an error of the disk to the store.
    let mut limited = Command::new("sh");
    limited.current_dir(folder.root()).arg("-c");
    limited.arg(r#"trap '' XFSZ; ulimit -f 150; exec "$0" "$@""#);
    limited.arg(VEILWALK).arg("serve").args(CELL);
    limited.args(["--state", "state", "--listen", "127.0.0.1:0"]);
    let server = Server::of(limited);
    let mut sent = Vec::new();
    let refused = loop {
        assert!(sent.len() < 1_000, "the disk is never full");
        let answer = server.step("a", sent.len() as u64, "Caa");
        match answer.status {
            200 => sent.push(answer.state()),
            _ => break answer,
        }
    };
    assert_eq!(refused.code(), (503, "store".to_owned()));
    assert_eq!(server.step("b", 0, "Caa").status, 503);
    assert_eq!(server.ask("GET /readyz", "").status, 503);
    assert_eq!(server.ask("GET /healthz", "").status, 200);
    let log = server.stop();
    assert_eq!(log.matches("nothing is released").count(), 1, "said once: {log}");
    let server = Server::start(&folder, &[]);
    assert_eq!(server.ask("GET /readyz", "").status, 200);
    for (number, state) in sent.iter().enumerate() {
        assert_eq!(server.step("a", number as u64, "Aaa").state(), *state);
    }
    assert_eq!(server.step("b", 0, "Caa").json()["replayed"], false);
    server.stop();
}

#[test]
fn nothing_but_answers_depends_on_real_states() {
    /// All that can be seen of a run, without answers, times, and what differs between any two runs.
    fn run(states: [&str; 6]) -> (Vec<u16>, Vec<usize>, String, String) {
        let folder = Folder::new();
        let server = Server::start(&folder, &["--max-walks", "3", "--keep-answers", "3"]);
        let (mut statuses, mut fields) = (Vec::new(), Vec::new());
        let mut note = |answer: Answer| {
            statuses.push(answer.status);
            fields.push(answer.json().as_object().map_or(0, |object| object.len()));
        };
        for round in 0..4 {
            for (place, state) in states.into_iter().enumerate() {
                let walk = format!("w{}", place % 4);
                note(server.step(&walk, round, state));
                note(server.step(&walk, round + 3, state));
                note(server.step(&walk, 0, state));
            }
        }
        note(server.ask("DELETE /v1/walks/w1", ""));
        let metrics = server.ask("GET /metrics", "").body;
        let metrics = metrics.lines().filter(|line| !line.contains("_seconds_"));
        let metrics = metrics.collect::<Vec<_>>().join("\n");
        let log = server.stop();
        let same = |line: &&str| !line.contains("release id") && !line.contains("listening on");
        let log = log.lines().filter(same).collect::<Vec<_>>().join("\n");
        (statuses, fields, metrics, log)
    }
    let one = run(RATINGS);
    let other = run(["Caa", "Caa", "Aa", "Aaa", "Def", "Ba"]);
    assert_eq!(one, other);
    assert!(one.0.contains(&409) && one.0.contains(&410) && one.0.contains(&429), "{:?}", one.0);
    for state in RATINGS.into_iter().filter(|state| state.len() > 2) {
        assert!(!one.2.contains(state) && !one.3.contains(state), "{state}");
    }
}

#[test]
fn a_ledger_is_charged_when_a_walk_starts() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--ledger", "spent.ledger", "--budget", "2"]);
    let start = |walk: &str| {
        let body = r#"{"step": 0, "state": "Caa", "person": "ann"}"#;
        server.ask(&format!("POST /v1/walks/{walk}/steps"), body)
    };
    assert_eq!((start("monday").status, start("tuesday").status), (200, 200));
    assert_eq!(start("wednesday").code(), (403, "budget".to_owned()));
    assert_eq!(server.step("monday", 1, "B").status, 200, "what has started goes on");
    server.stop();
    let shown = folder.run(["ledger", "show", "spent.ledger", "--format", "json"]).success();
    let shown = common::stdout(&shown);
    assert!(shown.contains("ann") && shown.contains('2'), "{shown}");
}
