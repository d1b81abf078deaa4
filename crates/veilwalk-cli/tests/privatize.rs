//! `veilwalk privatize`: what is read, what is released, and what is said about it.

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use assert_cmd::assert::Assert;
use common::{CELL, Folder, VEILWALK, both, stderr, stdout};
use veilwalk::Chain;
use veilwalk_io::{WalkOptions, WalkReader};

const WALKS: &str = "trajectory,year,state
north,2015,Baa
south,2015,Caa
north,2016,Baa
south,2016,Ca/C
north,2017,Ba
north,2018,Ba
south,2017,Caa
";

/// The id of a run that is repeated.
const ID: &str = "00112233445566778899aabbccddeeff";

/// Released walks by trajectory.
type Walks = BTreeMap<String, Vec<String>>;

fn walks_of(text: &str) -> Walks {
    let mut walks = Walks::new();
    let mut reader = WalkReader::new(text.as_bytes(), "out", WalkOptions::default()).unwrap();
    while let Some(row) = reader.next_row().unwrap() {
        walks.entry(row.trajectory.to_owned()).or_default().push(row.state.to_owned());
    }
    walks
}

fn assert_feasible(walks: &Walks, chain: &Chain) {
    for (name, walk) in walks {
        let states: Vec<_> = walk.iter().map(|label| chain.require(label).unwrap()).collect();
        assert!(states.windows(2).all(|pair| chain.allows(pair[0], pair[1])), "{name}: {walk:?}");
    }
}

fn release(folder: &Folder, args: &[&str]) -> Assert {
    folder.run(both(args, &CELL))
}

/// Whether anything is warned of, but for the states that the radius of these tests does not cover.
fn warned(message: &str) -> bool {
    let mut warnings = message.lines().filter(|line| line.starts_with("warning"));
    warnings.any(|line| !line.contains("fewer than 95 %"))
}

/// Rows are released as they stand, so rows that say they stand otherwise are refused.
#[test]
fn rows_in_another_order_than_their_steps_are_refused() {
    let release = |more: &str| {
        let line =
            "privatize w.csv --chain credit --epsilon 1 --radius 3.5 --mechanism cell -o out.csv";
        format!("{line} {more}").split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let folder = Folder::with("w.csv", "trajectory,step,state\na,1,B\nb,0,B\na,0,Caa\nb,1,B\n");
    folder.refuses(
        release(""),
        &[
            "w.csv, line 4",
            "\"a\" has step 0 after 1",
            "sort the file by trajectory and step",
            "--step-column none",
        ],
    );
    folder.run(release("--step-column none")).success();
    std::fs::remove_file(folder.path("out.csv")).unwrap();
    folder.write("w.csv", "trajectory,step,state\na,1,B\nb,7,B\na,1,Caa\n");
    folder.refuses(release(""), &["line 4", "has step 1 a second time"]);
    folder.write("w.csv", "trajectory,hour,state\na,2,B\nb,0.5,B\na,10,Caa\nb,2,B\n");
    folder.run(release("--step-column hour")).success();
    folder.refuses(
        release("--step-column day"),
        &["\"day\"", "--step-column", "trajectory, hour, state"],
    );
    folder.write("w.csv", "trajectory,step,state\na,monday,B\na,tuesday,Caa\n");
    let said = stderr(&folder.run(release("")).success());
    assert!(said.contains("line 2: the step \"monday\" is no number"), "{said}");
    folder.refuses(release("--step-column step"), &["no number", "--step-column none"]);
    folder.refuses(release("--step-column step --stream"), &["--step-column", "no --stream"]);
}

/// Nothing is said of a release that there will not be, and what is printed has no manifest.
#[test]
fn a_refusal_stands_alone() {
    let folder = Folder::with("w.csv", "trajectory,state\na,B\n");
    let promise = ["--chain", "credit", "--epsilon", "1", "--radius", "3.5", "--seed", "1"];
    for more in [&["privatize", "no.csv"][..], &["privatize", "w.csv", "--keep", "observed"]] {
        let message = folder.refuses(both(more, &promise), &[]);
        assert!(!message.contains("release id") && !message.contains("NOT"), "{message}");
    }
    let run = folder.run(both(&["privatize", "w.csv"], &promise)).success();
    assert!(stderr(&run).contains("printed without a manifest"), "{}", stderr(&run));
    let run = folder.run(both(&["privatize", "w.csv", "-o", "out.csv"], &promise)).success();
    assert!(!stderr(&run).contains("without a manifest"), "{}", stderr(&run));
}

#[test]
fn a_row_is_answered_by_a_row_and_other_columns_stay() {
    let folder = Folder::with("walks.csv", WALKS);
    let run = release(&folder, &["privatize", "walks.csv"]).success();
    let shown = stdout(&run);
    let keys: Vec<&str> = shown.lines().map(|line| line.rsplit_once(',').unwrap().0).collect();
    assert_eq!(
        keys,
        [
            "trajectory,step",
            "north,0",
            "south,0",
            "north,1",
            "south,1",
            "north,2",
            "north,3",
            "south,2"
        ]
    );
    assert!(!shown.contains("year") && !shown.contains("2015"));
    assert_feasible(&walks_of(&shown), &Chain::credit());
    let message = stderr(&run);
    assert!(message.contains("released 2 walks, 7 states"), "{message}");
    assert!(!warned(&message), "{message}");
    assert!(!shown.contains('\u{1b}') && !message.contains('\u{1b}'), "plain in a pipe");
}

#[test]
fn every_mechanism_releases_walks_that_the_chain_allows() {
    let chain = Chain::downtown();
    let labels: Vec<&str> = chain.states().map(|s| chain.label(s)).collect();
    // A walk that jumps about: infeasible moves are legal, and answered by feasible ones.
    let mut text = String::from("trajectory,state\n");
    for step in 0..200 {
        let row = format!("w{},{}\n", step % 3, labels[step * step % labels.len()]);
        text.push_str(&row);
    }
    let folder = Folder::with("walks.csv", text);
    for mechanism in
        ["auto", "cell", "sharp", "paper", "exponential", "chen", "exponential-hamming"]
    {
        let unit = match mechanism {
            "chen" | "exponential-hamming" => "--substitutions",
            _ => "--radius",
        };
        let args = format!(
            "privatize walks.csv --chain downtown --mechanism {mechanism} --epsilon 0.5 {unit} 2"
        );
        let run = folder.run(args.split(' ')).success();
        let walks = walks_of(&stdout(&run));
        assert_eq!(walks.values().map(Vec::len).sum::<usize>(), 200, "{mechanism}");
        assert_feasible(&walks, &chain);
    }
}

#[test]
fn impossible_real_moves_are_counted_and_not_refused() {
    let text = "trajectory,state\na,Aaa\na,Def\nb,Aaa\na,Def\nb,Caa\n";
    let folder = Folder::with("walks.csv", text);
    let run = release(&folder, &["privatize", "walks.csv"]).success();
    let message = stderr(&run);
    assert!(message.contains("2 moves of the real walks"), "{message}");
    assert_feasible(&walks_of(&stdout(&run)), &Chain::credit());
}

#[test]
fn columns_by_name() {
    let renamed = WALKS.replace("trajectory,year,state", "firm,trajectory,rating");
    let folder = Folder::with("walks.csv", renamed);
    let args =
        ["privatize", "walks.csv", "--trajectory-column", "firm", "--state-column", "rating"];
    let shown = stdout(&release(&folder, &args).success());
    assert!(shown.starts_with("trajectory,step,state\nnorth,0,"), "{shown}");
    assert_eq!(walks_of(&shown).len(), 2);
}

#[test]
fn kept_columns_are_copied_with_a_warning() {
    let folder = Folder::with("walks.csv", WALKS);
    let run = release(&folder, &["privatize", "walks.csv", "--keep", "year"]).success();
    let shown = stdout(&run);
    let years: Vec<&str> = shown.lines().map(|line| line.rsplit_once(',').unwrap().1).collect();
    assert_eq!(years, ["year", "2015", "2015", "2016", "2016", "2017", "2018", "2017"]);
    let message = stderr(&run);
    assert!(message.contains("warning: --keep: year"), "{message}");
    assert!(message.contains("unprotected"), "{message}");
}

#[test]
fn the_output_has_the_format_of_its_name_or_of_the_input() {
    let folder = Folder::with("walks.csv", WALKS);
    folder.write("walks.tsv", WALKS.replace(',', "\t"));
    let objects =
        "{\"state\":\"Baa\",\"trajectory\":7,\"x\":[]}\n{\"trajectory\":7,\"state\":\"Ba\"}\n";
    folder.write("walks.ndjson", objects);
    let first = |input: &str, output: &str| {
        let run = release(&folder, &["privatize", input, "-o", output, "--start", "Baa"]).success();
        assert_eq!(stdout(&run), "", "nothing but the file");
        folder.read(output).lines().next().unwrap().to_owned()
    };
    assert_eq!(first("walks.csv", "out.csv"), "trajectory,step,state");
    assert_eq!(first("walks.csv", "out.tsv"), "trajectory\tstep\tstate");
    assert_eq!(first("walks.csv", "out"), "trajectory,step,state");
    assert_eq!(first("walks.tsv", "out.dat"), "trajectory\tstep\tstate");
    let object = "{\"trajectory\":\"north\",\"step\":0,\"state\":\"Baa\"}";
    assert_eq!(first("walks.csv", "out.ndjson"), object);
    assert_eq!(first("walks.csv", "out.jsonl"), object);
    assert_eq!(first("walks.ndjson", "out.txt"), object.replace("north", "7"));
    assert_eq!(first("walks.ndjson", "out2.csv"), "trajectory,step,state");
    assert!(folder.files().keys().all(|name| !name.contains("tmp")), "no temporary files");
    let run = release(&folder, &["privatize", "walks.ndjson"]).success();
    assert_eq!(walks_of(&stdout(&run))["7"].len(), 2);
}

#[test]
fn standard_input_is_a_dash() {
    let folder = Folder::new();
    let args = both(&["privatize", "-"], &CELL);
    let run = folder.run_with(&args, WALKS).success();
    assert_eq!(walks_of(&stdout(&run))["north"].len(), 4);
    let run = folder.run_with(&args, "{\"trajectory\":1,\"state\":\"Aa\"}\n").success();
    assert!(stdout(&run).starts_with("{\"trajectory\":\"1\",\"step\":0,"));
    let run = folder.run_with(&args, "trajectory,state\nx,Zzz\n").code(2);
    assert!(stderr(&run).contains("standard input, line 2"), "{}", stderr(&run));
    let run = folder.run_with(&args, "").code(2);
    assert!(stderr(&run).contains("standard input: the file is empty"), "{}", stderr(&run));
    folder.run_with(both(&["privatize", "-", "-o", "-"], &CELL), WALKS).success();
    assert!(folder.files().is_empty(), "a dash is not a file");
}

#[test]
fn a_header_without_rows_is_no_walks() {
    let folder = Folder::with("walks.csv", "trajectory,state\n");
    let run = release(&folder, &["privatize", "walks.csv"]).success();
    assert_eq!(stdout(&run), "trajectory,step,state\n");
    assert!(stderr(&run).contains("released 0 walks, 0 states"));
    let warning = "warning: walks.csv: there are no walks in it, so the release is empty";
    assert!(stderr(&run).contains(warning), "{}", stderr(&run));
    let run = release(&folder, &["privatize", "walks.csv", "-o", "out.csv"]).success();
    assert!(stderr(&run).contains(warning), "{}", stderr(&run));
    folder.write("walks.csv", "trajectory,state\nnorth,Zzz\n");
    let run = release(&folder, &["privatize", "walks.csv", "--unknown-state", "skip"]).success();
    assert!(stderr(&run).contains("not one of its rows has a state of the chain"));
}

#[test]
fn a_seed_gives_the_same_release_and_says_it_is_not_private() {
    let folder = Folder::with("walks.csv", WALKS.to_owned() + &"north,2019,Ba\n".repeat(50));
    let seeded = |seed| release(&folder, &["privatize", "walks.csv", "--seed", seed]).success();
    assert_eq!(stdout(&seeded("1")), stdout(&seeded("1")));
    assert_ne!(stdout(&seeded("1")), stdout(&seeded("2")));
    assert!(
        stderr(&seeded("1")).contains("warning:") && stderr(&seeded("1")).contains("NOT private")
    );
    let fresh = || stdout(&release(&folder, &["privatize", "walks.csv"]).success());
    assert_ne!(fresh(), fresh(), "without a seed every release is another");
}

#[test]
fn with_a_key_a_walk_is_released_the_same_whatever_is_around_it() {
    let walk = |name: &str, states: &[&str]| -> Vec<String> {
        states.iter().map(|state| format!("{name},{state}\n")).collect()
    };
    let long: Vec<&str> = ["Baa", "Ba", "B", "Caa", "B", "Ba"].repeat(10);
    let (a, b) = (walk("a", &long), walk("b", &long[3..]));
    let one_by_one = [a.clone(), b.clone()].concat();
    let mut mixed = Vec::new();
    for (i, row) in b.iter().enumerate() {
        mixed.extend([row.clone(), a[i].clone()]);
    }
    mixed.extend_from_slice(&a[b.len()..]);
    let folder = Folder::with("my.key", "a secret of more than sixteen bytes");
    folder.write("other.key", "another secret of more than sixteen");
    let released = |rows: &[String], key: &str| {
        folder.write("walks.csv", format!("trajectory,state\n{}", rows.concat()));
        let args = ["privatize", "walks.csv", "--key-file", key, "--release-id", ID];
        let run = release(&folder, &args).success();
        assert!(!warned(&stderr(&run)), "{}", stderr(&run));
        walks_of(&stdout(&run))
    };
    let expected = released(&one_by_one, "my.key");
    assert_eq!(expected, released(&mixed, "my.key"));
    assert_eq!(expected["a"], released(&a, "my.key")["a"]);
    assert_eq!(expected["a"][..30], released(&a[..30], "my.key")["a"]);
    assert_ne!(expected["a"][3..], expected["b"][..], "every walk has randomness of its own");
    assert_ne!(expected, released(&one_by_one, "other.key"));
}

#[test]
fn walks_start_where_they_are_told_to() {
    let folder = Folder::with("walks.csv", WALKS);
    let first = |args: &[&str]| {
        let run = release(&folder, &[&["privatize", "walks.csv"], args].concat()).success();
        let walks = walks_of(&stdout(&run));
        (walks["north"][0].clone(), walks["south"][0].clone(), stderr(&run))
    };
    let (north, south, message) = first(&["--start", "first"]);
    assert_eq!((north.as_str(), south.as_str()), ("Baa", "Caa"));
    assert!(message.contains("warning: --start first") && message.contains("disclosed"));
    for args in [["--start", "Aaa"], ["--initial", "Aaa"]] {
        let (north, south, message) = first(&args);
        assert_eq!((north.as_str(), south.as_str()), ("Aaa", "Aaa"));
        assert!(!warned(&message), "{message}");
    }
    folder.write("start.csv", "state,probability\nAa,1\nB,0\n");
    assert_eq!(first(&["--initial", "start.csv"]).0, "Aa");
}

#[test]
fn the_initial_distribution_is_drawn_from() {
    let mut text = String::from("trajectory,state\n");
    for walk in 0..400 {
        text.push_str(&format!("{walk},Baa\n"));
    }
    let folder = Folder::with("walks.csv", text);
    folder.write("start.csv", "state,probability\nAa,0.5\nB,0.5\n");
    let starts = |initial: &str| {
        let args = ["privatize", "walks.csv", "--seed", "5", "--initial", initial];
        let walks = walks_of(&stdout(&release(&folder, &args).success()));
        let mut counts = BTreeMap::new();
        for walk in walks.into_values() {
            *counts.entry(walk[0].clone()).or_insert(0) += 1;
        }
        counts
    };
    assert_eq!(starts("uniform").len(), 9);
    assert!(starts("stationary")["Def"] > 390);
    let halves = starts("start.csv");
    assert_eq!(halves.keys().collect::<Vec<_>>(), ["Aa", "B"]);
    assert!(halves["Aa"] > 150 && halves["B"] > 150, "{halves:?}");
}

#[test]
fn rows_with_unknown_states_are_left_out_on_request_and_counted() {
    let text = "trajectory,state\na,Baa\na,Zzz\nb,Zzz\na,Ba\na,Yyy\n";
    let folder = Folder::with("walks.csv", text);
    let run = release(&folder, &["privatize", "walks.csv", "--unknown-state", "skip"]).success();
    let walks = walks_of(&stdout(&run));
    assert_eq!((walks.len(), walks["a"].len()), (1, 2));
    assert!(stdout(&run).contains("\na,1,"), "steps are numbered as they are released");
    let message = stderr(&run);
    assert!(message.contains("warning: 3 rows left out"), "{message}");
    assert!(message.contains("released 1 walk, 2 states"), "{message}");
}

#[test]
fn an_existing_output_is_replaced() {
    let folder = Folder::with("walks.csv", WALKS);
    folder.write("out.csv", "yesterday\n");
    release(&folder, &["privatize", "walks.csv", "-o", "out.csv"]).success();
    assert!(folder.read("out.csv").starts_with("trajectory,step,state\n"));
}

/// A run of the command on pipes, whose answers are waited for, but not forever.
struct Live {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Live {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new(VEILWALK);
        command.args(both(args, &CELL)).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                if send.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { input: child.stdin.take(), child, answers }
    }

    fn say(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    fn answer(&mut self) -> String {
        match self.answers.recv_timeout(Duration::from_secs(30)) {
            Ok(line) => line,
            Err(error) => {
                self.child.kill().unwrap();
                panic!("no answer before the next line: {error}");
            }
        }
    }

    /// Ends the input, and gives what is left of the output and the messages.
    fn end(mut self) -> (Vec<String>, String, Option<i32>) {
        drop(self.input.take());
        let rest = self.answers.iter().collect();
        let done = self.child.wait_with_output().unwrap();
        (rest, String::from_utf8(done.stderr).unwrap(), done.status.code())
    }
}

#[test]
fn a_stream_is_answered_line_by_line() {
    let mut live = Live::start(&["privatize", "-", "--stream", "--start", "first"]);
    live.say("trajectory,state");
    live.say("a,Baa");
    assert_eq!(live.answer(), "trajectory,step,state");
    assert_eq!(live.answer(), "a,0,Baa");
    live.say("b,Caa");
    assert_eq!(live.answer(), "b,0,Caa");
    for step in 1..20 {
        live.say("a,Ba");
        let answer = live.answer();
        assert!(answer.starts_with(&format!("a,{step},")), "{answer}");
        assert!(!answer.contains('\u{1b}'), "{answer}");
    }
    let (rest, message, status) = live.end();
    assert!(rest.is_empty() && status == Some(0), "{rest:?} {message}");
    assert!(message.contains("released 2 walks, 21 states"), "{message}");
}

#[test]
fn a_stream_in_blocks_is_answered_a_block_at_a_time() {
    let args = ["privatize", "-", "--stream", "--start", "first", "--block", "2"];
    let mut live = Live::start(&args);
    live.say("trajectory,state");
    live.say("a,Baa");
    assert_eq!(live.answer(), "trajectory,step,state");
    assert_eq!(live.answer(), "a,0,Baa");
    live.say("a,Ba");
    live.say("b,Caa");
    assert_eq!(live.answer(), "b,0,Caa", "the second row of a waits");
    live.say("a,Ba");
    for start in ["a,1,", "a,2,"] {
        let answer = live.answer();
        assert!(answer.starts_with(start), "{answer}");
    }
    live.say("b,Caa");
    let (rest, message, status) = live.end();
    assert!(rest.len() == 1 && rest[0].starts_with("b,1,"), "{rest:?} {message}");
    assert_eq!(status, Some(0), "{message}");
    assert!(message.contains("released 2 walks, 5 states"), "{message}");
}

#[test]
fn a_stream_of_objects_is_answered_by_objects() {
    let mut live = Live::start(&["privatize", "-", "--stream", "--start", "first"]);
    for step in 0..3 {
        live.say("{\"trajectory\":\"a\",\"state\":\"Baa\"}");
        let answer: serde_json::Value = serde_json::from_str(&live.answer()).unwrap();
        assert_eq!((&answer["trajectory"], &answer["step"]), (&"a".into(), &step.into()));
    }
    live.say("{\"trajectory\":\"a\",\"state\":\"Zzz\"}");
    let (rest, message, status) = live.end();
    assert_eq!((rest.len(), status), (1, Some(0)), "{message}");
    assert_eq!(rest[0], "{\"error\":\"unknown-state\",\"line\":4}");
    assert!(
        message.contains("1 line answered with an error") && !message.contains("Zzz"),
        "{message}"
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::with("walks.csv", WALKS.to_owned() + &"north,2020,Ba\n".repeat(50_000));
    // For a stream it is one: stream.rs.
    let mut command = Command::new(VEILWALK);
    command
        .current_dir(folder.root())
        .args(both(&["privatize", "walks.csv"], &CELL))
        .stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "trajectory,step,state");
    drop(lines);
    let done = child.wait_with_output().unwrap();
    let message = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(0), "{message}");
    assert!(!message.contains("error") && !message.contains("panicked"), "{message}");
}
