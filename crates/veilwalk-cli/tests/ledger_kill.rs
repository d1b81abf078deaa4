//! The ledger under kill -9: whatever the moment, no walk has been released more often than it was
//! charged.

mod common;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::{CREDIT, Folder, VEILWALK};
use veilwalk_ledger::{Ledger, Problem};

/// Runs on a file that were alive when they were killed.
const KILLS: u32 = 110;
/// A ledger is used for this many runs, so that its making is interrupted as well.
const RUNS_A_LEDGER: u32 = 4;

/// How often each walk was seen released.
type Released = BTreeMap<String, u64>;

/// The run's moment to die, between none and all of `whole`: spread evenly, and never in step.
fn moment(run: u32, whole: Duration) -> Duration {
    whole.mul_f64((f64::from(run) * 0.618_033_988_749_894_9).fract())
}

fn assert_charged(ledger: &Path, released: &Released, run: u32) {
    let entries = match Ledger::open_existing(ledger) {
        Ok(ledger) => ledger.spending(),
        Err(error) if matches!(error.problem, Problem::Missing) => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    let entries = entries.unwrap_or_else(|error| panic!("run {run}: {error}"));
    let spent = entries.into_iter().map(|e| (e.person, (e.releases, e.spent.unwrap().as_f64())));
    let charged: BTreeMap<_, _> = spent.collect();
    for (walk, &times) in released {
        let (releases, spent) = charged.get(walk).copied().unwrap_or_default();
        assert!(releases >= times, "run {run}: {walk} released {times} times, charged {releases}");
        assert!(spent >= times as f64, "run {run}: {walk} released {times} times, spent {spent}");
    }
}

fn start(folder: &Folder, args: &[&str], ledger: &str) -> Child {
    let mut command = Command::new(VEILWALK);
    command.current_dir(folder.root()).args(["privatize"]).args(args).args(CREDIT);
    command.args(["--ledger", ledger]).stderr(Stdio::null());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

fn writing(output: &str) -> [&str; 3] {
    ["walks.csv", "-o", output]
}

/// Ends a run at once, and says whether it was still alive.
fn kill(child: &mut Child) -> bool {
    let alive = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    alive
}

#[test]
fn slow_a_file_that_is_there_was_charged() {
    let mut text = String::from("trajectory,state\n");
    for row in 0..20_000 {
        text += &format!("walk{},Baa\n", row % 5);
    }
    let folder = Folder::with("walks.csv", text);
    let started = Instant::now();
    assert!(start(&folder, &writing("first.csv"), "first").wait().unwrap().success());
    let whole = started.elapsed();

    let (mut kills, mut files, mut run) = (0, 0, 0);
    let mut released = Released::new();
    while kills < KILLS {
        assert!(run < 10 * KILLS, "most runs ended before they were killed");
        let ledger = format!("{}.ledger", run / RUNS_A_LEDGER);
        if run % RUNS_A_LEDGER == 0 {
            released.clear();
        }
        let output = format!("{run}.csv");
        let mut child = start(&folder, &writing(&output), &ledger);
        std::thread::sleep(moment(run, whole));
        kills += u32::from(kill(&mut child));
        if folder.path(&output).exists() {
            files += 1;
            for walk in 0..5 {
                *released.entry(format!("walk{walk}")).or_default() += 1;
            }
        }
        // What was half written may be read by someone, too.
        for entry in std::fs::read_dir(folder.root()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "tmp") {
                let half = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                let seen = (0..5).map(|walk| format!("walk{walk}"));
                for walk in seen.filter(|walk| half.contains(&format!("\n{walk},"))) {
                    *released.entry(walk).or_default() += 1;
                }
                std::fs::remove_file(path).unwrap();
            }
        }
        assert_charged(&folder.path(&ledger), &released, run);
        run += 1;
    }
    println!("{kills} runs killed, {files} files complete");
    // Nothing that a kill leaves is in the way of the next run.
    let last = format!("{}.ledger", (run - 1) / RUNS_A_LEDGER);
    assert!(start(&folder, &writing("last.csv"), &last).wait().unwrap().success());
    folder.run(["ledger", "show", &last]).success();
}

/// Processes that charge one ledger at a time, and rounds of them: a thousand kills.
const AT_A_TIME: u32 = 4;
const ROUNDS: u32 = 250;
const SHORT: Duration = Duration::from_millis(200);

#[test]
fn slow_a_walk_seen_in_a_stream_was_charged() {
    let folder = Folder::new();
    let mut text = String::from("trajectory,state\n");
    for row in 0..2000 {
        // Walks come and come again: a new one every second row.
        text += &format!("walk{},Baa\n", if row % 2 == 0 { row / 2 } else { row / 7 });
    }
    let mut released = Released::new();
    let (mut lines, mut kills) = (0, 0);
    // How long the last run of a round may take: longer where the machine is too busy for a first line.
    let mut longest = SHORT;
    for round in 0..ROUNDS {
        let ledger = format!("{}.ledger", round / RUNS_A_LEDGER);
        if round % RUNS_A_LEDGER == 0 {
            released.clear();
        }
        let started = Instant::now();
        let mut streams: Vec<Stream> =
            (0..AT_A_TIME).map(|_| Stream::start(&folder, &ledger, &text)).collect();
        for (number, stream) in (0..).zip(&mut streams) {
            let moment = moment(round * AT_A_TIME + number, longest);
            std::thread::sleep(moment.saturating_sub(started.elapsed()));
            kills += u32::from(kill(&mut stream.child));
        }
        let lines_before = lines;
        for stream in streams {
            let seen = stream.reader.join().unwrap();
            drop(stream.writer.join());
            let rows = seen.lines().skip(1).filter_map(|line| line.split_once(','));
            let mut walks: Vec<&str> = rows.map(|row| row.0).collect();
            lines += walks.len();
            walks.sort_unstable();
            walks.dedup();
            for walk in walks {
                *released.entry(walk.to_owned()).or_default() += 1;
            }
        }
        longest = match lines > lines_before {
            true => SHORT.max(longest * 7 / 8),
            false => (longest * 5 / 4).min(SHORT * 5),
        };
        assert_charged(&folder.path(&ledger), &released, round);
    }
    println!("{kills} runs killed, {lines} lines seen");
    assert_eq!(kills, ROUNDS * AT_A_TIME, "a run whose input is open goes on");
    assert!(lines > 0, "no run was killed while it released");
}

/// A run on a pipe that stays open.
struct Stream {
    child: Child,
    writer: JoinHandle<ChildStdin>,
    reader: JoinHandle<String>,
}

impl Stream {
    fn start(folder: &Folder, ledger: &str, text: &str) -> Self {
        let mut child = start(folder, &["-", "--stream"], ledger);
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let rows = text.to_owned();
        // The pipe closes under the writer when the run is killed.
        let writer = std::thread::spawn(move || {
            let _ = input.write_all(rows.as_bytes());
            input
        });
        let reader = std::thread::spawn(move || {
            let mut seen = Vec::new();
            output.read_to_end(&mut seen).unwrap();
            String::from_utf8(seen).unwrap()
        });
        Self { child, writer, reader }
    }
}
