//! `--ledger` and `veilwalk ledger`: what is charged, when, and what is refused.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use assert_cmd::assert::Assert;
use common::{CELL, Folder, VEILWALK, both, json, stderr, stdout};
use serde_json::{Value, json};

const WALKS: &str = "trajectory,state\nnorth,Baa\nsouth,B\nnorth,Ba\n";
const LEDGER: [&str; 2] = ["--ledger", "spent.ledger"];

fn release(folder: &Folder, more: &[&str]) -> Assert {
    let args = both(&["privatize", "walks.csv"], &CELL);
    folder.run(args.iter().map(String::as_str).chain(LEDGER).chain(more.iter().copied()))
}

fn shown(folder: &Folder) -> Value {
    json(&folder.run(["ledger", "show", "spent.ledger", "--format", "json"]).success())
}

/// ε spent, exactly, and releases of a walk.
fn spent(folder: &Folder, walk: &str) -> (String, u64) {
    let spent = &shown(folder)["spent"][walk];
    (spent["exact"].as_str().unwrap_or("0").to_owned(), spent["releases"].as_u64().unwrap_or(0))
}

#[test]
fn every_release_of_a_walk_is_charged() {
    let folder = Folder::with("walks.csv", WALKS);
    for round in 1..=3 {
        release(&folder, &["-o", "out.csv"]).success();
        assert_eq!(spent(&folder, "north"), (round.to_string(), round));
    }
    folder.write("walks.csv", "trajectory,state\nsouth,Baa\neast,B\n");
    let other = both(&["privatize", "walks.csv", "--ledger", "spent.ledger"], &[]);
    let other = other.iter().map(String::as_str).chain(["--chain", "credit", "--radius", "3.5"]);
    folder.run(other.chain(["--epsilon", "1/3", "--mechanism", "paper"])).success();
    assert_eq!(spent(&folder, "north"), ("3".into(), 3));
    assert_eq!(spent(&folder, "south"), ("10/3".into(), 4));
    assert_eq!(spent(&folder, "east"), ("1/3".into(), 1));
}

#[test]
fn the_ledger_is_shown_to_people_and_programs() {
    let folder = Folder::with("walks.csv", WALKS);
    release(&folder, &[]).success();
    let run = folder.run(["ledger", "show", "spent.ledger"]).success();
    let lines: Vec<Vec<String>> = stdout(&run)
        .lines()
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect();
    assert_eq!(
        lines,
        [
            vec!["person", "epsilon", "walks", "releases", "counted", "in"],
            vec!["north", "1", "1", "1", "radius", "3.5", "nats"],
            vec!["south", "1", "1", "1", "radius", "3.5", "nats"],
        ]
    );
    let answer = shown(&folder);
    let one = &answer["spent"]["south"];
    assert_eq!(answer["spent"]["north"], *one);
    assert_eq!((&one["epsilon"], &one["exact"]), (&json!(1.0), &json!("1")));
    assert_eq!((&one["walks"], &one["releases"]), (&json!(1), &json!(1)));
    assert_eq!(one["unit"], "radius 3.5 nats");
    assert_eq!(one["chain"].as_str().unwrap().len(), 64);
    assert_eq!(answer["budget"], Value::Null);
    // One person, with every release.
    let args = ["ledger", "show", "spent.ledger", "--person", "north"];
    let text = stdout(&folder.run(args).success());
    assert!(text.contains("one replaced state") && !text.contains("south"), "{text}");
    let one = json(&folder.run([&args[..], &["--format", "json"]].concat()).success());
    assert_eq!(one["releases"][0]["walk"], "north");
    assert_eq!(one["releases"][0]["release_id"].as_str().unwrap().len(), 32);
    folder.refuses(["ledger", "show", "spent.ledger", "--person", "west"], &["nothing", "west"]);
}

#[test]
fn a_release_over_the_budget_is_refused_before_anything_is_written() {
    let folder = Folder::with("walks.csv", WALKS);
    let budget = ["--budget", "1.5", "-o", "out.csv"];
    release(&folder, &budget).success();
    let first = folder.read("out.csv");
    folder.write("walks.csv", WALKS.to_owned() + "new,Baa\n");
    for more in [&budget[..], &["--budget", "1.5"], &["--budget", "1.5", "--stream"]] {
        let run = release(&folder, more).code(2);
        let message = stderr(&run);
        assert_eq!(stdout(&run), "", "{message}");
        assert!(message.contains("\"north\" has spent epsilon 1"), "{message}");
        assert!(message.contains("budget of 1.5"), "{message}");
        assert!(message.contains("one other person"), "{message}");
        assert!(
            message.contains("none of these walks was released. Leave such walks out"),
            "{message}"
        );
    }
    assert_eq!(folder.read("out.csv"), first);
    assert_eq!(spent(&folder, "north"), ("1".into(), 1));
    assert_eq!(spent(&folder, "new"), ("0".into(), 0), "none is charged if one is refused");
    let names: Vec<String> = folder.files().into_keys().collect();
    assert_eq!(names, ["out.csv", "out.csv.manifest.json", "spent.ledger", "walks.csv"]);
    // What fits exactly is allowed.
    release(&folder, &["--budget", "2"]).success();
    let args = both(&["privatize", "walks.csv", "--budget", "1"], &CELL);
    folder.refuses(args, &["--ledger"]);
}

#[test]
fn what_cannot_be_released_is_not_charged() {
    let folder = Folder::with("walks.csv", WALKS.to_owned() + "east,Zzz\n");
    release(&folder, &[]).code(2);
    release(&folder, &["--unknown-state", "skip", "-o", "nowhere/out.csv"]).code(2);
    assert_eq!(shown(&folder)["spent"], json!({}));
    release(&folder, &["--unknown-state", "skip"]).success();
    assert_eq!(spent(&folder, "north").1, 1);
    assert_eq!(spent(&folder, "east").1, 0, "nothing of it was released");
}

#[test]
fn losses_in_different_units_add_up() {
    let folder = Folder::with("walks.csv", WALKS);
    release(&folder, &[]).success();
    let start = ["privatize", "walks.csv", "--ledger", "spent.ledger", "--epsilon", "1"];
    let larger = ["--chain", "credit", "--radius", "7"];
    folder.run([&start[..], &larger[..]].concat()).success();
    let north = &shown(&folder)["spent"]["north"];
    assert_eq!((&north["exact"], &north["unit"]), (&json!("3"), &json!("radius 7 nats")));
    let states = ["--chain", "credit", "--substitutions", "1"];
    let run = folder.run([&start[..], &states[..], &["--budget", "1.5"]].concat()).code(2);
    assert!(stderr(&run).contains("replaced state"), "{}", stderr(&run));
    assert_eq!(stdout(&run), "");
    folder.run([&start[..], &states[..]].concat()).success();
    let north = &shown(&folder)["spent"]["north"];
    assert_eq!(north["unit"], "one replaced state in each walk");
    assert!(north["epsilon"].as_f64().unwrap() > 3.0, "{north}");
    assert_eq!(north["releases"], 3);
}

const DAYS: &str = "day,who,state\nmon,ann,Baa\ntue,ann,B\nmon,ann,Ba\nwed,bob,B\n";

fn by_person<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let args = ["--trajectory-column", "day", "--person-column", "who"];
    [&args[..], more].concat()
}

#[test]
fn the_walks_of_a_person_add_up() {
    let folder = Folder::with("walks.csv", DAYS);
    release(&folder, &by_person(&["-o", "out.csv"])).success();
    let people = shown(&folder)["spent"].clone();
    assert_eq!((&people["ann"]["exact"], &people["ann"]["walks"]), (&json!("2"), &json!(2)));
    assert_eq!(people["bob"]["exact"], "1");
    let header = folder.read("out.csv").lines().next().unwrap().to_owned();
    assert_eq!(header, "trajectory,step,state", "whose it is is not released");
    let run = release(&folder, &by_person(&["--budget", "3"])).code(2);
    assert!(stderr(&run).contains("\"ann\" has spent epsilon 2"), "{}", stderr(&run));
    // Row by row the same.
    release(&folder, &by_person(&["--stream"])).success();
    assert_eq!(shown(&folder)["spent"]["ann"]["exact"], "4");
    let pipe = both(&["privatize", "-", "--stream"], &CELL);
    let pipe: Vec<&str> = pipe.iter().map(String::as_str).chain(LEDGER).collect();
    folder.run_with([&pipe[..], &by_person(&[])].concat(), DAYS).success();
    assert_eq!(shown(&folder)["spent"]["ann"]["exact"], "6");

    let refuses = |more: &[&str], parts: &[&str]| {
        let message = stderr(&release(&folder, more).code(2));
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    refuses(&by_person(&["--keep", "who"]), &["--keep who", "whose walk"]);
    refuses(&["--trajectory-column", "day", "--person-column", "state"], &["column of the states"]);
    refuses(
        &["--trajectory-column", "day", "--person-column", "x"],
        &["--person-column", "\"x\"", "who"],
    );
    let piped: Vec<&str> = pipe.iter().copied().filter(|arg| *arg != "--stream").collect();
    let run = folder.run_with([&piped[..], &by_person(&[])].concat(), DAYS).code(2);
    assert!(stderr(&run).contains("--stream"), "{}", stderr(&run));
    for (text, said) in [("mon,bob,B\n", "one person"), ("thu,,B\n", "who")] {
        folder.write("walks.csv", DAYS.to_owned() + text);
        for more in [&[][..], &["--stream"]] {
            refuses(&by_person(more), &["walks.csv, line 6", said]);
        }
    }
    let before = shown(&folder);
    assert_eq!(before["spent"]["bob"]["exact"], "3", "a file that is refused costs nothing");
}

#[test]
fn a_budget_can_be_kept_in_the_ledger() {
    let folder = Folder::with("walks.csv", WALKS);
    release(&folder, &[]).success();
    folder.run(["ledger", "set-budget", "spent.ledger", "1.5", "--window", "30d"]).success();
    let budget = &shown(&folder)["budget"];
    assert_eq!((&budget["exact"], &budget["window"]), (&json!("1.5"), &json!("30d")));
    let text = stdout(&folder.run(["ledger", "show", "spent.ledger"]).success());
    assert!(text.contains("in 30d"), "{text}");
    for more in [&[][..], &["--budget", "100"], &["--budget", "100", "--window", "1h"]] {
        let message = stderr(&release(&folder, more).code(2));
        assert!(message.contains("has spent epsilon 1 in the last 30d"), "{message}");
    }
    folder.run(["ledger", "set-budget", "spent.ledger", "--remove"]).success();
    release(&folder, &[]).success();
    folder.refuses(["ledger", "set-budget", "spent.ledger"], &["E"]);
    folder.refuses(["ledger", "set-budget", "none", "1"], &["there is no such ledger"]);
    folder.refuses(["ledger", "set-budget", "spent.ledger", "1", "--window", "soon"], &["30d"]);
}

#[test]
fn a_first_state_that_is_disclosed_is_shown() {
    let folder = Folder::with("walks.csv", WALKS);
    release(&folder, &["--start", "first"]).success();
    assert_eq!(shown(&folder)["spent"]["north"]["first_states_disclosed"], 1);
    let text = stdout(&folder.run(["ledger", "show", "spent.ledger"]).success());
    assert!(text.contains("first states disclosed"), "{text}");
}

#[test]
fn a_run_that_is_repeated_costs_nothing() {
    let folder = Folder::with("walks.csv", WALKS);
    // A seed stands for a release id of its own.
    let seeded = ["--seed", "7"];
    let first = release(&folder, &seeded).success();
    let again = release(&folder, &seeded).success();
    assert_eq!(stdout(&first), stdout(&again));
    assert!(stderr(&again).contains("costs nothing"), "{}", stderr(&again));
    assert_eq!(spent(&folder, "north"), ("1".into(), 1));
    let refused = |more: &[&str], why: &str| {
        let run = release(&folder, &[&seeded[..], more].concat()).code(2);
        let message = stderr(&run);
        assert!(message.contains("Leave the release id out") && message.contains(why), "{message}");
        assert_eq!(stdout(&run), "");
    };
    refused(&["--start", "first"], "the start");
    // One state changed: the two releases would show where.
    folder.write("walks.csv", WALKS.replace("north,Ba\n", "north,Aa\n"));
    refused(&[], "real states");
    assert_eq!(spent(&folder, "north"), ("1".into(), 1));
    // With a key, another key under the id is another release.
    folder.write("walks.csv", "trajectory,state\nwest,Baa\nwest,Ba\n");
    folder.write("secret", "0123456789abcdef0123456789abcdef");
    let keyed = ["--key-file", "secret", "--release-id", "00112233445566778899aabbccddeeff"];
    let first = release(&folder, &keyed).success();
    assert_eq!(stdout(&first), stdout(&release(&folder, &keyed).success()));
    folder.write("secret", "another secret, just as long as the first");
    let message = stderr(&release(&folder, &keyed).code(2));
    assert!(message.contains("or the key"), "{message}");
    assert_eq!(spent(&folder, "west"), ("1".into(), 1));
    // What a stream has charged was not seen whole, so it cannot be compared.
    let pipe = both(&["privatize", "-", "--stream", "--seed", "8"], &CELL);
    let pipe: Vec<&str> = pipe.iter().map(String::as_str).chain(LEDGER).collect();
    folder.run_with(&pipe, WALKS).success();
    let message = stderr(&folder.run_with(&pipe, WALKS).code(2));
    assert!(message.contains("as streams are"), "{message}");
}

#[test]
fn a_ledger_that_cannot_be_used_is_named() {
    let folder = Folder::with("walks.csv", WALKS);
    folder.refuses(["ledger", "show", "none.ledger"], &["none.ledger", "there is no such ledger"]);
    folder.write("spent.ledger", "this is not a ledger");
    folder.refuses(["ledger", "show", "spent.ledger"], &["spent.ledger"]);
    let args = both(&["privatize", "walks.csv", "--ledger", "spent.ledger"], &CELL);
    folder.refuses(args, &["spent.ledger"]);
}

/// A run on a pipe that waits for its input.
struct Live {
    child: std::process::Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Live {
    fn start(folder: &Folder, args: &[&str]) -> Self {
        let mut command = Command::new(VEILWALK);
        command.current_dir(folder.root()).args(both(args, &CELL)).args(LEDGER);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn say(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }
}

#[test]
fn a_ledger_in_use_can_be_shared_and_a_stream_charges_on_first_sight() {
    let folder = Folder::with("walks.csv", WALKS);
    let mut live = Live::start(&folder, &["privatize", "-", "--stream", "--budget", "1"]);
    live.say("trajectory,state");
    live.say("north,Baa");
    assert_eq!(live.answer(), "trajectory,step,state\n");
    assert!(live.answer().starts_with("north,0,"));
    // Others may look at it, and charge it.
    assert_eq!(spent(&folder, "north"), ("1".into(), 1));
    folder.write("walks.csv", "trajectory,state\neast,B\n");
    release(&folder, &[]).success();
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    // Only what was seen is charged.
    assert_eq!(spent(&folder, "north"), ("1".into(), 1));
    assert_eq!(spent(&folder, "south").1, 0);

    let mut live = Live::start(&folder, &["privatize", "-", "--stream", "--budget", "1"]);
    for line in ["trajectory,state", "south,B", "south,B", "north,Baa"] {
        live.say(line);
    }
    assert_eq!(live.answer(), "trajectory,step,state\n");
    assert!(live.answer().starts_with("south,0,") && live.answer().starts_with("south,1,"));
    assert_eq!(live.answer(), "", "north has spent its budget");
    let done = live.child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let message = String::from_utf8(done.stderr).unwrap();
    assert!(message.contains("\"north\" has spent epsilon 1"), "{message}");
    assert_eq!(spent(&folder, "north"), ("1".into(), 1));
    assert_eq!(spent(&folder, "south"), ("1".into(), 1), "once for all its states");
}

#[test]
fn walks_from_standard_input_are_charged_once_each() {
    let folder = Folder::new();
    let args = both(&["privatize", "-", "--ledger", "spent.ledger"], &CELL);
    for round in 1..=2 {
        folder.run_with(&args, WALKS).success();
        assert_eq!(spent(&folder, "north").1, round);
        assert_eq!(spent(&folder, "south").1, round);
    }
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_once() {
    let folder = Folder::with("real.csv", WALKS);
    let line = format!(
        "cat real.csv | '{VEILWALK}' privatize /dev/stdin {} {}",
        CELL.join(" "),
        LEDGER.join(" ")
    );
    let mut shell = Command::new("sh");
    let done = shell.args(["-c", &line]).current_dir(folder.root()).output().unwrap();
    let message = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{message}");
    assert_eq!(String::from_utf8_lossy(&done.stdout).lines().count(), 4);
    assert_eq!(spent(&folder, "north"), ("1".into(), 1));
}
