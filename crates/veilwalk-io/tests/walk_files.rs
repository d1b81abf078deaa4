//! Walks in files and on pipes.

use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::Duration;

use proptest::prelude::*;
use veilwalk_io::{ReadError, ReleaseWriter, WalkFormat, WalkOptions, WalkReader};

type Rows = Vec<(u64, String, String, Vec<String>)>;

fn rows(text: impl AsRef<[u8]>, options: WalkOptions) -> Result<Rows, ReadError> {
    let mut reader = WalkReader::new(text.as_ref(), "trips.csv", options)?;
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row()? {
        let kept = row.kept.map(str::to_owned).collect();
        rows.push((row.line, row.trajectory.into(), row.state.into(), kept));
    }
    Ok(rows)
}

fn keeping(columns: &[&str]) -> WalkOptions {
    WalkOptions { keep: columns.iter().map(|&c| c.to_owned()).collect(), ..Default::default() }
}

#[track_caller]
fn refused(text: impl AsRef<[u8]>, options: WalkOptions, line: Option<u64>, words: &[&str]) {
    let error = rows(text, options).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("trips.csv"), "{message}");
    assert_eq!(error.line(), line, "{message}");
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}

fn expected(list: &[(u64, &str, &str, &[&str])]) -> Rows {
    let kept = |k: &[&str]| k.iter().map(|&v| v.to_owned()).collect();
    list.iter().map(|&(line, t, s, k)| (line, t.to_owned(), s.to_owned(), kept(k))).collect()
}

#[test]
fn interleaved_trajectories_come_in_the_order_of_the_lines() {
    let text = "when,state,trajectory\n8,home,ann\n9,\"a, b\",bob\n\n10,é,ann\n";
    let wanted = expected(&[
        (2, "ann", "home", &["8"]),
        (3, "bob", "a, b", &["9"]),
        (5, "ann", "é", &["10"]),
    ]);
    assert_eq!(rows(text, keeping(&["when"])).unwrap(), wanted);
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(rows(windows, keeping(&["when"])).unwrap(), wanted);
    let tabs = "when\tstate\ttrajectory\n8\thome\tann\n9\ta, b\tbob\n\n10\té\tann";
    assert_eq!(rows(tabs, keeping(&["when"])).unwrap(), wanted);
    let json = concat!(
        "{\"trajectory\":\"ann\",\"state\":\"home\",\"when\":8}\n",
        "{\"when\":9, \"x\":[1,{\"state\":2}], \"state\":\"a, b\", \"trajectory\":\"bob\"}\r\n\n",
        "{\"state\":\"\\u00e9\",\"when\":\"10\",\"trajectory\":\"ann\",\"x\":null}",
    );
    let lines = |rows: Rows| rows.into_iter().map(|r| (r.1, r.2, r.3)).collect::<Vec<_>>();
    let found = rows(json, keeping(&["when"])).unwrap();
    assert_eq!(found.iter().map(|r| r.0).collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(lines(found), lines(wanted));
}

#[test]
fn the_format_is_told_from_the_options_the_path_or_the_first_line() {
    let json = "\n  {\"trajectory\":-7,\"state\":18446744073709551615}\n";
    let reader = WalkReader::new(json.as_bytes(), "-", WalkOptions::default()).unwrap();
    assert_eq!(reader.format(), WalkFormat::Ndjson);
    assert_eq!(reader.name(), "-");
    let wanted = expected(&[(2, "-7", "18446744073709551615", &[])]);
    assert_eq!(rows(json, WalkOptions::default()).unwrap(), wanted);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("walks.JSONL");
    std::fs::write(&path, "").unwrap();
    let mut reader = WalkReader::open(&path, WalkOptions::default()).unwrap();
    assert_eq!(reader.format(), WalkFormat::Ndjson);
    assert!(reader.next_row().unwrap().is_none());
    let path = folder.path().join("walks");
    std::fs::write(&path, "trajectory,state\n1,a\n").unwrap();
    let mut reader = WalkReader::open(&path, WalkOptions::default()).unwrap();
    assert_eq!(reader.format(), WalkFormat::Csv);
    assert_eq!(reader.next_row().unwrap().unwrap().state, "a");
    let path = folder.path().join("walks.csv");
    std::fs::write(&path, "trajectory\tstate\n1\ta\n").unwrap();
    let reader = WalkReader::open(&path, WalkOptions::default()).unwrap();
    assert_eq!(reader.format(), WalkFormat::Tsv, "the header tells, not the name");
    let missing = WalkReader::open(&folder.path().join("no.csv"), WalkOptions::default());
    assert!(missing.unwrap_err().to_string().contains("no such file"));
}

#[test]
fn no_rows_are_no_walks_but_no_header_is_an_error() {
    assert!(rows("trajectory,state\n", WalkOptions::default()).unwrap().is_empty());
    assert!(rows("trajectory,state", WalkOptions::default()).unwrap().is_empty());
    for text in ["", "\n\n"] {
        refused(text, WalkOptions::default(), None, &["empty", "trajectory,state"]);
    }
}

#[test]
fn missing_columns_are_named_with_the_setting() {
    let text = "id,when,place\n1,8,home\n";
    let words = ["\"trajectory\"", "\"id\", \"when\", \"place\"", "trajectory_column"];
    refused(text, WalkOptions::default(), Some(1), &words);
    let mut options = WalkOptions { trajectory_column: "id".into(), ..Default::default() };
    refused(text, options.clone(), Some(1), &["\"state\"", "state_column"]);
    options.state_column = "place".into();
    options.keep.push("speed".into());
    refused(text, options, Some(1), &["\"speed\"", "::keep"]);

    let json = "{\"trajectory\":1,\"state\":2}\n{\"trajectory\":1,\"place\":2}\n";
    let words = ["\"state\"", "\"place\", \"trajectory\"", "state_column"];
    refused(json, WalkOptions::default(), Some(2), &words);
    let twice = "trajectory,state,state\n";
    refused(twice, WalkOptions::default(), Some(1), &["columns 2 and 3", "\"state\""]);
}

#[test]
fn the_states_themselves_cannot_be_kept() {
    let text = "trajectory,state\n1,a\n";
    for column in ["state", " state "] {
        refused(text, keeping(&[column]), None, &["as the state", "::keep"]);
    }
    refused(text, keeping(&["trajectory"]), None, &["as the trajectory"]);
    refused(text, keeping(&["x", "x"]), None, &["\"x\"", "again"]);
}

#[test]
fn lines_that_are_refused() {
    let head = "trajectory,state\n";
    let with = |line: &[u8]| [head.as_bytes(), b"1,a\n\n", line].concat();
    for (line, words) in [
        (&b"1,\n"[..], &["\"state\"", "empty"][..]),
        (b",a\n", &["\"trajectory\"", "empty"]),
        (b"1\n", &["1 fields", "has 2"]),
        (b"1,a,b\n", &["3 fields"]),
        (b"1,\xff\n", &["UTF-8"]),
        (b"1,\"a\n2,b\n", &["never closed"]),
    ] {
        refused(with(line), WalkOptions::default(), Some(4), words);
    }
}

#[test]
fn json_that_is_refused() {
    for (line, words) in [
        ("{\"trajectory\":1,\"state\":1.5}", &["\"state\"", "fraction"][..]),
        ("{\"trajectory\":true,\"state\":1}", &["\"trajectory\"", "true or false"]),
        ("{\"trajectory\":1,\"state\":null}", &["\"state\"", "null"]),
        ("{\"trajectory\":1,\"state\":[1,[2]]}", &["\"state\"", "a list"]),
        ("{\"trajectory\":1,\"state\":{\"a\":{}}}", &["\"state\"", "an object"]),
        ("{\"trajectory\":1,\"state\":\"a\",\"state\":\"b\"}", &["\"state\"", "twice"]),
        ("{\"trajectory\":1,\"state\":\"\"}", &["\"state\"", "empty"]),
        ("{\"trajectory\":1,\"state\":\"a\"", &["not JSON", "column 27"]),
        ("{\"trajectory\":1,\"state\":\"a\"} x", &["not JSON", "one object"]),
        ("[1,2]", &["not JSON", "expected an object"]),
        ("1,a", &["not JSON"]),
    ] {
        let text = format!("{{\"trajectory\":1,\"state\":2}}\n\n{line}\n");
        refused(text, WalkOptions::default(), Some(3), words);
    }
}

/// Each line is written only after the row of the one before has come out at the other end.
fn answered_line_by_line(header: Option<&str>, lines: &[&str], format: Option<WalkFormat>) {
    let (pipe_out, mut pipe_in) = std::io::pipe().unwrap();
    let (sender, answers) = mpsc::channel();
    let options = WalkOptions { format, ..Default::default() };
    let reading = std::thread::spawn(move || {
        let mut reader = WalkReader::new(pipe_out, "-", options).unwrap();
        while let Some(row) = reader.next_row().unwrap() {
            sender.send(row.state.to_owned()).unwrap();
        }
    });
    if let Some(header) = header {
        pipe_in.write_all(header.as_bytes()).unwrap();
    }
    for (number, line) in lines.iter().enumerate() {
        // In two halves: a row must not come out before its line is complete, either.
        let (left, right) = line.split_at(line.len() / 2);
        pipe_in.write_all(left.as_bytes()).unwrap();
        assert!(answers.recv_timeout(Duration::from_millis(20)).is_err());
        pipe_in.write_all(right.as_bytes()).unwrap();
        let answer = answers.recv_timeout(Duration::from_secs(10));
        assert_eq!(answer.as_deref(), Ok(format!("s{number}").as_str()));
    }
    drop(pipe_in);
    reading.join().unwrap();
}

#[test]
fn a_pipe_is_answered_line_by_line() {
    let header = Some("trajectory,state\n");
    let rows = ["a,s0\n", "b,s1\r\n", "\"a\",\"s2\"\n", "b,s3\n"];
    answered_line_by_line(header, &rows, None);
    let objects =
        ["{\"trajectory\":1,\"state\":\"s0\"}\n", "{\"trajectory\":1,\"state\":\"s1\"}\r\n"];
    answered_line_by_line(None, &objects, None);
    answered_line_by_line(None, &objects, Some(WalkFormat::Ndjson));
}

/// Gives one byte at a time, as the slowest of pipes.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}

proptest! {
    #[test]
    fn a_release_comes_back(
        steps in proptest::collection::vec(("\\PC{1,5}", "[ -~é\t\r\n]{1,6}", ".{0,4}"), 0..12),
        format in prop_oneof![
            Just(WalkFormat::Csv),
            Just(WalkFormat::Tsv),
            Just(WalkFormat::Ndjson)
        ],
    ) {
        let kept = ["wann, \"wo\"".to_owned()];
        let mut release = ReleaseWriter::new(Vec::new(), "r", format, &kept).unwrap();
        for (step, (trajectory, state, value)) in steps.iter().enumerate() {
            release.write_row(trajectory, step as u64, state, [value.as_str()]).unwrap();
        }
        let bytes = release.finish().unwrap();
        let options = WalkOptions {
            format: Some(format),
            keep: vec!["step".to_owned(), kept[0].clone()],
            ..Default::default()
        };
        let mut reader = WalkReader::new(Slow(&bytes), "r", options).unwrap();
        for (step, (trajectory, state, value)) in steps.iter().enumerate() {
            let row = reader.next_row().unwrap().unwrap();
            prop_assert_eq!(row.trajectory, trajectory);
            prop_assert_eq!(row.state, state);
            prop_assert_eq!(row.kept.len(), 2);
            prop_assert_eq!(row.kept.collect::<Vec<_>>(), [&step.to_string(), value]);
        }
        prop_assert!(reader.next_row().unwrap().is_none());
    }

    #[test]
    fn no_text_makes_it_panic(
        header in prop_oneof![Just("trajectory,state\n"), Just("{\"trajectory\":1,\"state\":1}\n")],
        text in "[{}:a1,\"\n\r\té\\[\\]\\\\-]{0,60}",
    ) {
        let _ = rows(format!("{header}{text}"), WalkOptions::default());
    }
}
