//! `--ledger` and `veilwalk ledger`: what is charged, when, and what is refused.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use assert_cmd::assert::Assert;
use common::{CREDIT, Folder, VEILWALK, both, json, stderr, stdout};
use serde_json::{Value, json};

const WALKS: &str = "trajectory,state\nnorth,Baa\nsouth,B\nnorth,Ba\n";
const LEDGER: [&str; 2] = ["--ledger", "spent.ledger"];

fn release(folder: &Folder, more: &[&str]) -> Assert {
    let args = both(&["privatize", "walks.csv"], &CREDIT);
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
        [["trajectory", "epsilon", "releases"], ["north", "1", "1"], ["south", "1", "1"]]
    );
    assert!(stderr(&run).contains("radius 3.5 nats"), "{}", stderr(&run));
    let answer = shown(&folder);
    assert_eq!(answer["unit"], "radius 3.5 nats");
    assert_eq!(answer["chain"].as_str().unwrap().len(), 64);
    let one = json!({ "epsilon": 1.0, "exact": "1", "releases": 1 });
    assert_eq!(answer["spent"], json!({ "north": one, "south": one }));
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
        assert!(message.contains("one other walk"), "{message}");
        assert!(message.contains("nothing was released. Leave such walks out"), "{message}");
    }
    assert_eq!(folder.read("out.csv"), first);
    assert_eq!(spent(&folder, "north"), ("1".into(), 1));
    assert_eq!(spent(&folder, "new"), ("0".into(), 0), "none is charged if one is refused");
    let names: Vec<String> = folder.files().into_keys().collect();
    assert_eq!(names, ["out.csv", "out.csv.manifest.json", "spent.ledger", "walks.csv"]);
    // What fits exactly is allowed.
    release(&folder, &["--budget", "2"]).success();
    let args = both(&["privatize", "walks.csv", "--budget", "1"], &CREDIT);
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
fn losses_in_different_units_are_not_added() {
    let folder = Folder::with("walks.csv", WALKS);
    release(&folder, &[]).success();
    let before = shown(&folder);
    let start = ["privatize", "walks.csv", "--ledger", "spent.ledger", "--epsilon", "1"];
    let others: [&[&str]; 3] = [
        &["--chain", "credit", "--radius", "4"],
        &["--chain", "credit", "--substitutions", "1"],
        &["--chain", "credit", "--radius", "3.5", "--initial", "stationary"],
    ];
    for other in others {
        let run = folder.run([&start[..], other].concat()).code(2);
        let message = stderr(&run);
        assert!(message.contains("counts releases at radius 3.5 nats"), "{message}");
        assert!(message.contains("use a ledger of its own"), "{message}");
        assert_eq!(stdout(&run), "");
    }
    assert_eq!(shown(&folder), before);
}

#[test]
fn a_ledger_that_cannot_be_used_is_named() {
    let folder = Folder::with("walks.csv", WALKS);
    folder.refuses(["ledger", "show", "none.ledger"], &["none.ledger", "there is no such ledger"]);
    folder.write("spent.ledger", "this is not a ledger");
    folder.refuses(["ledger", "show", "spent.ledger"], &["spent.ledger"]);
    let args = both(&["privatize", "walks.csv", "--ledger", "spent.ledger"], &CREDIT);
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
        command.current_dir(folder.root()).args(both(args, &CREDIT)).args(LEDGER);
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
fn a_ledger_in_use_is_left_alone_and_a_stream_charges_on_first_sight() {
    let folder = Folder::with("walks.csv", WALKS);
    let mut live = Live::start(&folder, &["privatize", "-", "--stream", "--budget", "1"]);
    live.say("trajectory,state");
    live.say("north,Baa");
    assert_eq!(live.answer(), "trajectory,step,state\n");
    assert!(live.answer().starts_with("north,0,"));
    let run = release(&folder, &[]).code(2);
    assert!(stderr(&run).contains("in use by another process"), "{}", stderr(&run));
    assert_eq!(stdout(&run), "");
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
    let args = both(&["privatize", "-", "--ledger", "spent.ledger"], &CREDIT);
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
        CREDIT.join(" "),
        LEDGER.join(" ")
    );
    let mut shell = Command::new("sh");
    let done = shell.args(["-c", &line]).current_dir(folder.root()).output().unwrap();
    let message = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{message}");
    assert_eq!(String::from_utf8_lossy(&done.stdout).lines().count(), 4);
    assert_eq!(spent(&folder, "north"), ("1".into(), 1));
}
