//! The engine under kill -9, with messages that come twice, late, and with other real states: among all that was ever
//! sent out each step has one answer, and what was sent out is there afterwards.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Start, StateId};
use veilwalk_live::{Ask, Done, Engine, Limits, Live, Refusal, Request, Step};

/// Processes that were killed while they worked.
const KILLS: u32 = 60;
const WALKS: u64 = 24;
/// Where the child finds the store.
const FOLDER: &str = "VEILWALK_LIVE_KILL_TEST";
/// What a line of the child's begins with; the test harness prints others.
const ANSWER: &str = "answer ";

fn engine(folder: &Path) -> Engine {
    let model = Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
    let mechanism = Mechanism::new(model, Preset::Sharp.design(), promise).unwrap();
    let limits = Limits { cached_walks: 8, kept_answers: 1 << 20, ..Limits::default() };
    Engine::open(folder, Arc::new(mechanism), Start::Private, limits).unwrap()
}

/// `walk number state number state …` on standard input, `walk number released` on standard output. Does
/// nothing unless it is told where.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let (live, running) = Live::start(engine(Path::new(&folder)), 10_000).unwrap();
    println!("\n{ANSWER}ready");
    for line in stdin().lines().map_while(Result::ok) {
        let mut words = line.split(' ');
        let walk = words.next().unwrap().to_owned();
        let numbers: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
        let step =
            |pair: &[u64]| Step { number: pair[0], real: Ok(StateId::new(pair[1] as usize)) };
        let ask = Ask::Steps(numbers.chunks_exact(2).map(step).collect());
        let request = Request { walk: walk.parse().unwrap(), person: None, ask };
        let reply = move |outcome: Result<Done, Refusal>| {
            let mut lines = String::new();
            match outcome {
                Ok(Done::Answered(answers)) => {
                    for answer in answers {
                        let (number, state) = (answer.number, answer.state.index());
                        lines += &format!("{ANSWER}{walk} {number} {state}\n");
                    }
                }
                Err(Refusal::Gap { .. }) => {}
                other => panic!("{other:?}"),
            }
            // One write, so that a kill cuts between lines or within one, and never mixes two.
            stdout().write_all(lines.as_bytes()).unwrap();
        };
        live.ask(request, reply).unwrap();
    }
    live.stop();
    running.join().unwrap();
}

/// Pseudorandom words for the load; nothing that is released depends on them.
struct Words(u64);

impl Words {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// All that was ever sent out.
#[derive(Default)]
struct Seen {
    answers: BTreeMap<(String, u64), usize>,
    lines: u64,
}

impl Seen {
    fn add(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let [walk, number, state] = words[..] else { panic!("{line:?}") };
        let key = (walk.to_owned(), number.parse().unwrap());
        let state: usize = state.parse().unwrap();
        let first = *self.answers.entry(key).or_insert(state);
        assert_eq!(first, state, "a second release of step {number} of {walk}");
        self.lines += 1;
    }
}

fn start(folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(FOLDER, folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// Reads all that the child writes, also after it was killed.
fn read(output: ChildStdout, seen: &Mutex<Seen>, ready: &std::sync::mpsc::Sender<()>) {
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8(line).unwrap();
        match line.strip_prefix(ANSWER) {
            Some("ready") => ready.send(()).unwrap(),
            // A line that was cut has lost its end, but not what comes before it.
            Some(answer) if answer.split(' ').filter(|word| !word.is_empty()).count() == 3 => {
                seen.lock().unwrap().add(answer);
            }
            _ => {}
        }
    }
}

/// Sends steps until the child is gone: a third comes twice, a third late or early, with fresh real states.
fn load(mut input: impl Write, seen: &Mutex<Seen>, words: &mut Words) {
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    for (walk, number) in seen.lock().unwrap().answers.keys() {
        next.insert(walk[1..].parse().unwrap(), number + 1);
    }
    loop {
        let walk = words.below(WALKS);
        let at = next.entry(walk).or_default();
        let first = match words.below(3) {
            0 => at.saturating_sub(words.below(4)),
            1 => *at + words.below(2),
            _ => *at,
        };
        let mut line = format!("w{walk}");
        let count = 1 + words.below(3);
        for number in first..first + count {
            line += &format!(" {number} {}", words.below(8));
        }
        line.push('\n');
        // A gap is refused, and the next one begins where the walk is believed to be.
        if first <= *at {
            *at = (*at).max(first + count);
        }
        if input.write_all(line.as_bytes()).and_then(|()| input.flush()).is_err() {
            return;
        }
        if words.below(20) == 0 {
            thread::sleep(Duration::from_micros(words.below(2_000)));
        }
    }
}

#[test]
fn a_kill_at_any_moment_releases_nothing_twice_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut words = Words(0x9e37_79b9_7f4a_7c15);
    let mut kills = 0;
    while kills < KILLS {
        let mut child = start(folder.path());
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (ready, is_ready) = std::sync::mpsc::channel();
        let lifetime = Duration::from_micros(words.below(60_000));
        let mut moments = Words(words.below(u64::MAX) | 1);
        thread::scope(|scope| {
            let reader = seen.clone();
            scope.spawn(move || read(output, &reader, &ready));
            let sent = seen.clone();
            scope.spawn(move || load(input, &sent, &mut moments));
            // Some are killed while they start.
            if words.below(10) > 0 {
                is_ready.recv_timeout(Duration::from_secs(60)).expect("the child starts");
            }
            thread::sleep(lifetime);
            let alive = child.try_wait().unwrap().is_none();
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(alive, "the child ended by itself");
            kills += 1;
        });
    }
    let seen = Arc::try_unwrap(seen).ok().unwrap().into_inner().unwrap();
    assert!(seen.answers.len() > 1_000, "{} steps under load", seen.answers.len());
    assert!(seen.lines > seen.answers.len() as u64 * 11 / 10, "{} answers", seen.lines);
    // All that was sent out is there, and gets the same answer whatever real state comes.
    let mut engine = engine(folder.path());
    for ((walk, number), &state) in &seen.answers {
        let real = Ok(StateId::new(words.below(8) as usize));
        let outcome = engine.answer(Request::step(&walk.parse().unwrap(), *number, real));
        let Ok(Done::Answered(answers)) = outcome else { panic!("{walk} {number}: {outcome:?}") };
        assert!(answers[0].replayed, "{walk} {number} was lost");
        assert_eq!(answers[0].state.index(), state, "{walk} {number}");
    }
    println!("{kills} kills, {} steps, {} answers", seen.answers.len(), seen.lines);
}
