//! Ctrl-C: long work stops with a message, and leaves nothing half done.
#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{CELL, Folder, VEILWALK};

fn start(folder: &Folder, args: &[&str]) -> Child {
    let mut command = Command::new(VEILWALK);
    command.current_dir(folder.root()).args(args).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits until the run has begun to write, as a temporary file shows.
fn until_it_writes(folder: &Folder) {
    let started = Instant::now();
    while !folder.files().keys().any(|name| name.ends_with(".tmp")) {
        assert!(started.elapsed() < Duration::from_secs(30), "nothing is written");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn assert_stopped(folder: &Folder, done: &Output, before: &[&str]) {
    let message = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(130), "{message}");
    let last = message.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: stopped on request; nothing was written"), "{message}");
    assert!(done.stdout.is_empty());
    assert_eq!(folder.files().keys().collect::<Vec<_>>(), before, "{message}");
}

#[test]
fn a_long_release_stops_between_two_rows() {
    let rows = "a,Baa\nb,Ba\n".repeat(1_500_000);
    let folder = Folder::with("walks.csv", format!("trajectory,state\n{rows}"));
    let child = start(&folder, &[&["privatize", "walks.csv", "-o", "out.csv"], &CELL[..]].concat());
    until_it_writes(&folder);
    interrupt(&child);
    let done = child.wait_with_output().unwrap();
    assert_stopped(&folder, &done, &["walks.csv"]);
}

#[test]
fn what_was_there_before_stays() {
    let folder = Folder::with("walks.csv", "trajectory,state\na,Baa\n");
    let args = ["privatize", "walks.csv", "-o", "out.csv", "--ledger", "spent.ledger"];
    let args = [&args, &CELL[..]].concat();
    folder.run(&args).success();
    let rows = "a,Baa\nb,Ba\n".repeat(1_500_000);
    folder.write("walks.csv", format!("trajectory,state\n{rows}"));
    folder.write("out.csv", "yesterday\n");
    let child = start(&folder, &args);
    until_it_writes(&folder);
    interrupt(&child);
    let done = child.wait_with_output().unwrap();
    assert_stopped(
        &folder,
        &done,
        &["out.csv", "out.csv.manifest.json", "spent.ledger", "walks.csv"],
    );
    assert_eq!(folder.read("out.csv"), "yesterday\n");
    assert!(String::from_utf8_lossy(&done.stderr).contains("stays charged"));
}

/// Wherever a run is with its ledger when Ctrl-C comes: no journal and no temporary file stays.
#[test]
fn a_ledger_is_left_complete() {
    let walks: String = (0..20_000).map(|walk| format!("w{walk},Baa\n")).collect();
    let folder = Folder::with("walks.csv", format!("trajectory,state\n{walks}"));
    let args = ["privatize", "walks.csv", "-o", "out.csv", "--ledger", "spent.ledger"];
    for milliseconds in (10..250).step_by(10) {
        let child = start(&folder, &[&args, &CELL[..]].concat());
        std::thread::sleep(Duration::from_millis(milliseconds));
        interrupt(&child);
        let done = child.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&done.stderr);
        // Either it was not listening yet, or it stopped, or it was faster.
        assert!(matches!(done.status.code(), None | Some(0 | 130)), "{message}");
        let expected = ["out.csv", "out.csv.manifest.json", "spent.ledger", "walks.csv"];
        let files = folder.files();
        let left: Vec<&String> =
            files.keys().filter(|name| !expected.contains(&name.as_str())).collect();
        assert!(left.is_empty(), "{left:?} after {milliseconds} ms: {message}");
    }
    folder.run(["ledger", "show", "spent.ledger"]).success();
}

#[test]
fn inference_stops_and_writes_nothing() {
    let folder = Folder::new();
    let sample = "chain sample credit --walks 40000 --steps 19 --seed 1 -o real.csv";
    folder.run(sample.split(' ')).success();
    let args = ["privatize", "real.csv", "-o", "r.csv", "--seed", "1"];
    folder.run([&args, &CELL[..]].concat()).success();
    let before = ["r.csv", "r.csv.manifest.json", "real.csv"];
    let refine = ["refine", "r.csv", "--chain", "credit", "-o", "out.csv", "--lag", "15"];
    let child = start(&folder, &refine);
    until_it_writes(&folder);
    interrupt(&child);
    assert_stopped(&folder, &child.wait_with_output().unwrap(), &before);
    let estimate = ["estimate", "r.csv", "--chain", "credit", "-o", "out.json"];
    let child = start(&folder, &estimate);
    std::thread::sleep(Duration::from_secs(3));
    interrupt(&child);
    assert_stopped(&folder, &child.wait_with_output().unwrap(), &before);
}

#[test]
fn a_release_that_waits_for_input_stops_at_once() {
    let folder = Folder::new();
    let mut child = start(&folder, &[&["privatize", "-", "-o", "out.csv"], &CELL[..]].concat());
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"trajectory,state\na,Baa\n").unwrap();
    until_it_writes(&folder);
    std::thread::sleep(Duration::from_millis(200));
    interrupt(&child);
    let done = child.wait_with_output().unwrap();
    drop(input);
    assert_stopped(&folder, &done, &[]);
}

/// So many states that work on all pairs of them takes far longer than any wait here.
const MANY: u64 = 4800;

/// A ring with chords. A multiple of six, or moves meet.
fn ring_with_chords(states: u64) -> String {
    let mut chain = String::from("from,to,count\n");
    for state in 0..states {
        for (to, count) in [(state + 1, 5), (state * 7 + 3, 2), (state * 13 + 11, 1)] {
            chain += &format!("s{state},s{},{count}\n", to % states);
        }
    }
    chain
}

fn stops_soon(child: Child) -> Output {
    interrupt(&child);
    let interrupted = Instant::now();
    let done = child.wait_with_output().unwrap();
    assert!(interrupted.elapsed() < Duration::from_secs(20), "it stops soon");
    done
}

#[test]
fn a_long_comparison_stops() {
    let folder = Folder::with("chain.csv", ring_with_chords(MANY));
    let args = ["guarantee", "--chain", "chain.csv", "--epsilon", "1", "--substitutions", "1"];
    let more = ["--mechanism", "paper", "--all-pairs"];
    let child = start(&folder, &[&args[..], &more].concat());
    std::thread::sleep(Duration::from_millis(1500));
    assert_stopped(&folder, &stops_soon(child), &["chain.csv"]);
}

/// On a chain whose cells take long, and wherever they are when Ctrl-C comes.
#[test]
fn making_cells_stops() {
    let folder = Folder::with("chain.csv", ring_with_chords(MANY));
    for milliseconds in [300, 3000, 8000] {
        let args = ["chain", "compile", "chain.csv", "-o", "chain.model"];
        let more = ["--mechanism", "cell", "--epsilon", "2", "--radius", "2"];
        let child = start(&folder, &[&args[..], &more].concat());
        std::thread::sleep(Duration::from_millis(milliseconds));
        assert_stopped(&folder, &stops_soon(child), &["chain.csv"]);
    }
}

#[test]
fn a_stream_says_that_what_was_printed_is_released() {
    let folder = Folder::new();
    let mut child = start(&folder, &[&["privatize", "-", "--stream"], &CELL[..]].concat());
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"trajectory,state\na,Baa\n").unwrap();
    let mut rows = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(rows.next().unwrap().unwrap(), "trajectory,step,state");
    assert!(rows.next().unwrap().unwrap().starts_with("a,0,"));
    interrupt(&child);
    let done = child.wait_with_output().unwrap();
    drop(input);
    let message = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(130), "{message}");
    let expected = "error: stopped on request; the rows that were printed are released\n";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn work_that_never_looks_ends_at_once() {
    let folder = Folder::with("chain.csv", "as it was");
    let mut child = start(&folder, &["chain", "fit", "-", "-o", "chain.csv"]);
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().contains("this will replace"));
    // It waits for walks now.
    interrupt(&child);
    let rest: Vec<String> = said.map(Result::unwrap).collect();
    assert_eq!(rest, ["error: stopped on request; nothing was written"]);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folder.files().len(), 1);
    assert_eq!(folder.read("chain.csv"), "as it was");
}
