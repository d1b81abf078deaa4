//! `veilwalk demo`.

mod common;

use std::process::Stdio;

use common::{VEILWALK, stderr, stdout, veilwalk};
use veilwalk::Chain;

#[test]
fn every_row_is_a_walk_that_the_chain_allows() {
    let chain = Chain::credit();
    let shown = stdout(&veilwalk(["demo"]).success());
    let mut rows = Vec::new();
    let mut real = Vec::new();
    let (table, _) = shown.split_once("What is protected").unwrap();
    for line in table.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["(real)", walk @ ..] => real = walk.to_vec(),
            [epsilon, mechanism, walk @ ..] if epsilon.parse::<f64>().is_ok() => {
                rows.push((*epsilon, *mechanism, walk.to_vec()));
            }
            _ => {}
        }
    }
    assert_eq!(real.len(), 10);
    for epsilon in ["0.1", "1", "2", "5"] {
        for mechanism in ["chen", "paper", "sharp"] {
            assert!(
                rows.iter().any(|row| (row.0, row.1) == (epsilon, mechanism)),
                "{epsilon} {mechanism}"
            );
        }
    }
    for (epsilon, mechanism, walk) in rows {
        let row = format!("{mechanism} at {epsilon}: {walk:?}");
        let labels: Vec<&str> = walk.iter().map(|label| label.trim_end_matches('*')).collect();
        for ((shown, label), real) in walk.iter().zip(&labels).zip(&real) {
            assert_eq!(shown.ends_with('*'), label != real, "deviations are marked in {row}");
        }
        let states: Vec<_> = labels.iter().map(|label| chain.require(label).unwrap()).collect();
        assert_eq!(states.len(), real.len(), "{row}");
        assert!(states.windows(2).all(|pair| chain.allows(pair[0], pair[1])), "{row}");
    }
}

#[test]
fn a_seed_shows_the_same_again_and_is_marked() {
    let first = veilwalk(["demo", "--seed", "7"]).success();
    let again = veilwalk(["demo", "--seed", "7"]).success();
    assert_eq!(stdout(&first), stdout(&again));
    assert_ne!(stdout(&first), stdout(&veilwalk(["demo", "--seed", "8"]).success()));
    assert!(stderr(&first).contains("NOT private"));
    assert_eq!(stderr(&veilwalk(["demo"]).success()), "");
}

#[test]
fn it_says_what_to_try_next_and_the_advice_works() {
    let shown = stdout(&veilwalk(["demo"]).success());
    let (_, next) = shown.split_once("makes `veilwalk` a command):\n").unwrap();
    // The tests run in the folder of the crate; the advice is for the top of the repository.
    let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut commands = 0;
    for line in next.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some("veilwalk"));
        let mut command = assert_cmd::Command::new(VEILWALK);
        command.current_dir(&top).args(words).assert().success();
        commands += 1;
    }
    assert!(commands >= 3);
}

#[test]
fn in_a_pipe_there_are_no_escape_codes() {
    for args in [&["demo"][..], &["chain", "check", "credit"], &["--help"]] {
        let run = veilwalk(args).success();
        assert!(!stdout(&run).contains('\u{1b}') && !stderr(&run).contains('\u{1b}'), "{args:?}");
    }
    let run = veilwalk(["chain", "check", "nowhere"]).failure();
    assert!(!stderr(&run).contains('\u{1b}'));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    for args in [&["demo"][..], &["chain", "check", "credit", "--format", "json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = std::process::Command::new(VEILWALK);
        command.args(args).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let done = command.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{args:?}");
        assert!(done.status.success(), "{args:?}");
    }
}
