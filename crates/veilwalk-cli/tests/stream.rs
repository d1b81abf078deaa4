//! `privatize --stream`: a pipe that is answered line by line, goes on after errors and restarts, and ends in good
//! order.
#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use common::{CELL, CREDIT, Folder, VEILWALK, both, stderr, stdout};
use serde_json::Value;

const STREAM: [&str; 3] = ["privatize", "-", "--stream"];

/// A stream under way.
struct Live {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Live {
    fn start(folder: &Folder, more: &[&str]) -> Self {
        let mut command = Command::new(VEILWALK);
        command.current_dir(folder.root()).args(STREAM).args(CELL).args(more);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Self { child, input, output }
    }

    fn say(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Waits for the end without closing the input: what else was printed, and what was said.
    fn end(mut self) -> (ExitStatus, String, String) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        let (mut rest, mut said) = (String::new(), String::new());
        if let Some(mut output) = self.output.take() {
            output.read_to_string(&mut rest).unwrap();
        }
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), rest, said)
    }
}

fn stream(folder: &Folder, more: &[&str], input: &str) -> (String, String) {
    let run = folder.run_with(
        both(&both(&STREAM, &CELL).iter().map(String::as_str).collect::<Vec<_>>(), more),
        input,
    );
    let run = run.success();
    (stdout(&run), stderr(&run))
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn walks_go_on_after_a_restart_and_a_row_that_comes_again_gets_its_answer() {
    let folder = Folder::new();
    let state = ["--state", "s"];
    let (first, said) = stream(&folder, &state, "trajectory,state\na,Caa\nb,B\na,Caa\n");
    let steps = |text: &str| -> Vec<String> {
        text.lines().skip(1).map(|l| l.rsplit_once(',').unwrap().0.to_owned()).collect()
    };
    assert_eq!(steps(&first), ["a,0", "b,0", "a,1"]);
    assert!(said.contains("released 3 states; 2 walks open"), "{said}");
    let (second, said) = stream(&folder, &state, "trajectory,state\nb,B\na,Caa\nb,B\n");
    assert_eq!(steps(&second), ["b,1", "a,2", "b,2"]);
    assert!(said.contains("2 walks open in s"), "{said}");

    // With numbers, what came before gets the answer that it got then.
    let state = ["--state", "numbered", "--step-column", "n"];
    let rows = "trajectory,n,state\na,0,Caa\na,1,B\nb,0,B\n";
    let (first, _) = stream(&folder, &state, rows);
    let (again, said) = stream(&folder, &state, &rows.replace("Caa", "Aaa"));
    assert_eq!(first, again);
    assert!(said.contains("released 0 states"), "{said}");
    let wrong = "trajectory,n,state\na,5,B\na,x,B\na,2,nowhere\na,2,B\n";
    let (answers, _) = stream(&folder, &[&state[..], &["--on-error", "answer"]].concat(), wrong);
    let lines: Vec<&str> = answers.lines().collect();
    assert_eq!(lines[0], "trajectory,step,state,error");
    assert_eq!(lines[1..4], [",,,line 2: gap", ",,,line 3: step", ",,,line 4: unknown-state"]);
    assert!(lines[4].starts_with("a,2,") && lines[4].ends_with(','), "{answers}");
    let stops = both(&both(&STREAM, &CELL).iter().map(String::as_str).collect::<Vec<_>>(), &state);
    let stopped = folder.run_with(stops, "trajectory,n,state\na,9,B\n").code(2);
    assert!(stderr(&stopped).contains("line 2: step 9 does not follow"), "{}", stderr(&stopped));
}

#[test]
fn a_line_that_is_wrong_is_answered_and_the_stream_goes_on() {
    let folder = Folder::new();
    let long = format!("{{\"trajectory\":\"a\",\"state\":\"B\",\"more\":\"{}\"}}", "x".repeat(300));
    let lines = [
        r#"{"trajectory":"a","state":"Caa"}"#,
        r#"{"trajectory":"a","state":"nowhere"}"#,
        "not json",
        &long,
        r#"{"trajectory":"a"}"#,
        r#"{"trajectory":"","state":"B"}"#,
        r#"{"trajectory":"a","state":"B"}"#,
    ];
    let input = lines.join("\n") + "\n";
    for state in [&[][..], &["--state", "s"]] {
        let (answers, said) = stream(&folder, &[&["--max-line", "200"], state].concat(), &input);
        let answers = objects(&answers);
        let errors: Vec<(u64, &str)> = answers[1..6]
            .iter()
            .map(|answer| (answer["line"].as_u64().unwrap(), answer["error"].as_str().unwrap()))
            .collect();
        let codes = ["unknown-state", "json", "too-long", "missing-key", "empty-field"];
        assert_eq!(errors, (2..7).zip(codes).collect::<Vec<_>>());
        assert_eq!((&answers[0]["step"], &answers[6]["step"]), (&0.into(), &1.into()));
        assert!(said.contains("5 lines answered with an error"), "{said}");
        // Asked to stop there, it does.
        let stop = [&["--on-error", "stop"], state].concat();
        let run = folder.run_with(
            both(&both(&STREAM, &CELL).iter().map(String::as_str).collect::<Vec<_>>(), &stop),
            &input,
        );
        assert!(stderr(&run.code(2)).contains("line 2"));
    }
    let table = "trajectory,state\na,Caa\na,B,C\na,\"B\nb,B\n";
    let (answers, _) = stream(&folder, &["--on-error", "answer"], table);
    let lines: Vec<&str> = answers.lines().collect();
    assert!(lines[1].starts_with("a,0,") && lines[1].ends_with(','), "{answers}");
    assert_eq!(lines[2..], [",,,line 3: fields", ",,,line 4: quote"]);
}

#[test]
fn a_signal_ends_it_in_good_order() {
    let folder = Folder::new();
    let (kept, other) = (&["--state", "s"][..], &["--state", "t"][..]);
    for (state, signal) in [(&[][..], "-TERM"), (&[], "-HUP"), (kept, "-TERM"), (other, "-HUP")] {
        let mut live = Live::start(&folder, state);
        live.say("trajectory,state\na,Caa\n");
        assert_eq!(live.answer(), "trajectory,step,state");
        assert!(live.answer().starts_with("a,0,"));
        // A row that has not come as a whole is none.
        live.say("a,B");
        std::thread::sleep(Duration::from_millis(200));
        live.signal(signal);
        let (status, rest, said) = live.end();
        assert_eq!((status.code(), rest.as_str()), (Some(0), ""), "{said}");
        assert!(said.contains("released"), "{said}");
    }
}

#[test]
fn a_reader_that_has_gone_is_no_success() {
    let folder = Folder::new();
    for state in [&[][..], &["--state", "s"]] {
        let mut live = Live::start(&folder, state);
        live.say("trajectory,state\na,Caa\n");
        live.answer();
        live.output = None;
        let input = live.input.as_mut().unwrap();
        while input.write_all("a,Caa\n".repeat(100).as_bytes()).is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (status, _, said) = live.end();
        assert_eq!(status.code(), Some(141), "{said}");
    }
}

#[test]
fn rows_are_in_the_file_as_soon_as_they_are_answered() {
    let folder = Folder::new();
    let mut live = Live::start(&folder, &["-o", "out.csv", "--state", "s"]);
    live.say("trajectory,state\na,Caa\n");
    let rows = |count: usize| {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let text = std::fs::read_to_string(folder.path("out.csv")).unwrap_or_default();
            if text.lines().count() == count {
                return text;
            }
            assert!(Instant::now() < deadline, "{text}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    rows(2);
    live.signal("-KILL");
    live.end();
    // As if a row had been cut by a crash.
    let text = folder.read("out.csv") + "a,1,C";
    folder.write("out.csv", &text);
    let (_, said) = stream(&folder, &["-o", "out.csv", "--state", "s"], "trajectory,state\na,B\n");
    assert!(said.contains("the last row was not complete"), "{said}");
    let text = rows(3);
    assert!(text.lines().nth(2).unwrap().starts_with("a,1,"), "{text}");
    // Without a state, a stream does not go on with what is there.
    let run = both(
        &both(&STREAM, &CELL).iter().map(String::as_str).collect::<Vec<_>>(),
        &["-o", "out.csv"],
    );
    let refused = folder.run_with(run, "trajectory,state\na,B\n").code(2);
    assert!(stderr(&refused).contains("--state DIR"), "{}", stderr(&refused));
    assert_eq!(folder.read("out.csv"), text);
    // A file of its own has a manifest when the stream ends, which fits it.
    stream(&folder, &["-o", "own.csv"], "trajectory,state\na,B\n");
    folder.run(["verify", "own.csv", "--chain", "credit"]).success();
}

#[test]
fn nothing_in_is_nothing_out() {
    let folder = Folder::new();
    for state in [&[][..], &["--state", "s"]] {
        for (input, output) in
            [("", ""), ("\n\n", ""), ("trajectory,state\n", "trajectory,step,state\n")]
        {
            assert_eq!(stream(&folder, state, input).0, output);
        }
    }
}

#[test]
fn numbers_that_are_kept_stay_numbers() {
    let folder = Folder::new();
    let line = r#"{"trajectory":"a","state":"Caa","n":7,"x":0.1,"when":"8:00 \"sharp\""}"#;
    for state in [&[][..], &["--state", "s"]] {
        let keep = ["--keep", "n", "--keep", "x", "--keep", "when"];
        let (answer, _) = stream(&folder, &[&keep[..], state].concat(), &format!("{line}\n"));
        let (answer, line) = (&objects(&answer)[0], serde_json::from_str::<Value>(line).unwrap());
        for key in ["n", "x", "when"] {
            assert_eq!(answer[key], line[key]);
        }
    }
}

#[test]
fn what_comes_later_comes_after_a_restart_too() {
    let folder = Folder::new();
    let run = |more: &[&str], input: &str| {
        let args =
            both(&both(&STREAM, &CREDIT).iter().map(String::as_str).collect::<Vec<_>>(), more);
        stdout(&folder.run_with(args, input).success())
    };
    let lag = ["--mechanism", "tight", "--lag", "2", "--state", "s", "--grouped"];
    let first = run(&lag, "trajectory,state\na,Caa\na,B\na,B\n");
    assert_eq!(first.lines().count(), 2, "{first}");
    // Another walk ends the first, whose last answers come with it.
    let second = run(&lag, "trajectory,state\na,B\nb,B\n");
    let steps: Vec<&str> = second.lines().skip(1).map(|line| &line[..3]).collect();
    assert_eq!(steps, ["a,1", "a,2", "a,3"], "{second}");
    let refused =
        both(&both(&STREAM, &CREDIT).iter().map(String::as_str).collect::<Vec<_>>(), &lag);
    let refused: Vec<&str> = refused.iter().map(String::as_str).collect();
    let refused = folder.run_with(both(&refused, &["--keep", "n"]), "trajectory,state,n\na,B,1\n");
    assert!(stderr(&refused.code(2)).contains("kept values would be lost"));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = Folder::new();
    let refuses = |more: &[&str], words: &[&str]| {
        let args = both(&both(&STREAM, &CELL).iter().map(String::as_str).collect::<Vec<_>>(), more);
        folder.refuses(args, words);
    };
    refuses(&["--state", "s", "--seed", "1"], &["--state", "randomness"]);
    refuses(&["--state", "s", "--unknown-state", "skip"], &["--unknown-state STATE"]);
    refuses(&["--step-column", "n"], &["--state DIR"]);
    folder.refuses(both(&["privatize", "w.csv", "--state", "s"], &CELL), &["--stream"]);
    folder.refuses(both(&["privatize", "w.csv", "--on-error", "stop"], &CELL), &["--stream"]);
}

/// Two inputs that differ in real states only: nothing but the released states may differ.
#[test]
fn nothing_but_released_states_depends_on_real_ones() {
    let line =
        |walk: u64, state: &str| format!("{{\"trajectory\":\"w{walk}\",\"state\":\"{state}\"}}\n");
    let input = |states: [&str; 3]| {
        let mut text = String::new();
        for at in 0..300 {
            text += &line(at % 7, states[at as usize % 3]);
            if at % 50 == 0 {
                text += "{\"trajectory\":\"w1\",\"state\":\"no such\"}\nnot json\n";
            }
        }
        text
    };
    let run = |states: [&str; 3], more: &[&str]| {
        let folder = Folder::new();
        let (answers, said) = stream(&folder, more, &input(states));
        let shown = objects(&answers).into_iter().map(|mut answer| {
            if let Some(state) = answer.get_mut("state") {
                *state = Value::Null;
            }
            answer
        });
        let said: Vec<String> = said
            .lines()
            .map(|line| match line.strip_prefix("release id ") {
                Some(rest) => {
                    rest.split_once(',').map_or(String::new(), |(_, rest)| rest.to_owned())
                }
                None => line.to_owned(),
            })
            .collect();
        (shown.collect::<Vec<_>>(), said)
    };
    for more in [&[][..], &["--state", "s"]] {
        let (one, other) = (run(["Aaa", "Aa", "A"], more), run(["Ca/C", "Aaa", "Caa"], more));
        assert_eq!(one, other);
        assert_eq!(one.0.len(), 312);
    }
}
