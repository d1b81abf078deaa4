//! Rows whose state is not one of the chain's: refused, left out, or taken as a state of the chain.

mod common;

use common::{CREDIT, Folder, both, json, stderr, stdout};
use serde_json::{Value, json};

/// Walk `b` has unknown states only, walk `a` two of five.
const WALKS: &str = "trajectory,state,note
a,Baa,1
a,Zzz,2
b,Zzz,3
a,Ba,4
a,Yyy,5
a,B,6
";

fn release(folder: &Folder, more: &[&str]) -> assert_cmd::assert::Assert {
    let start = both(&["privatize", "walks.csv"], &CREDIT);
    folder.run(start.iter().map(String::as_str).chain(more.iter().copied()))
}

fn refuses(folder: &Folder, more: &[&str], words: &[&str]) -> String {
    let start = both(&["privatize", "walks.csv"], &CREDIT);
    folder.refuses(start.iter().map(String::as_str).chain(more.iter().copied()), words)
}

/// The same walks with a state of the chain in the place of unknown ones.
fn with(state: &str) -> String {
    WALKS.replace("Zzz", state).replace("Yyy", state)
}

#[test]
fn rows_are_not_left_out_beside_kept_columns() {
    let folder = Folder::with("walks.csv", WALKS);
    let words = ["--unknown-state skip", "--keep", "note", "show which rows were left out"];
    refuses(&folder, &["--unknown-state", "skip", "--keep", "note"], &words);
    release(&folder, &["--unknown-state", "B", "--keep", "note"]).success();
}

#[test]
fn what_was_left_out_is_counted_and_said_to_show() {
    let folder = Folder::with("walks.csv", WALKS);
    for how in [&[][..], &["--stream"], &["--block", "2"], &["--block", "all", "--grouped"]] {
        // The rows of walks stand together for the last of these.
        let mut lines: Vec<&str> = WALKS.lines().collect();
        if how.contains(&"--grouped") {
            lines[1..].sort_unstable();
        }
        folder.write("walks.csv", lines.join("\n"));
        let more = [&["--unknown-state", "skip"], how].concat();
        let message = stderr(&release(&folder, &more).success());
        assert!(message.contains("warning: 3 rows left out"), "{how:?}: {message}");
        assert!(message.contains("warning: 1 walk left out whole"), "{how:?}: {message}");
        assert!(message.contains("depends on what was left out"), "{how:?}: {message}");
        assert!(message.contains("released 1 walk, 3 states"), "{how:?}: {message}");
    }
    // It is said whether or not something was left out: that depends on the real walks.
    folder.write("walks.csv", with("B"));
    let message = stderr(&release(&folder, &["--unknown-state", "skip"]).success());
    assert!(message.contains("depends on what was left out"), "{message}");
    assert!(!message.contains("rows left out") && !message.contains("left out whole"), "{message}");
}

#[test]
fn the_manifest_says_that_rows_may_be_missing_and_counts_only_on_request() {
    let folder = Folder::with("walks.csv", WALKS);
    let manifest =
        || -> Value { serde_json::from_str(&folder.read("out.csv.manifest.json")).unwrap() };
    release(&folder, &["--unknown-state", "skip", "-o", "out.csv"]).success();
    assert_eq!(manifest()["unknown_states"], "skip");
    assert_eq!(manifest()["counts"], json!({ "walks": 1, "steps": 3 }));
    release(&folder, &["--unknown-state", "skip", "-o", "out.csv", "--disclose-counts"]).success();
    let counts = &manifest()["counts"];
    assert_eq!((&counts["skipped"], &counts["vanished"]), (&json!(3), &json!(1)));
    release(&folder, &["--unknown-state", "B", "-o", "out.csv", "--disclose-counts"]).success();
    let counts = &manifest()["counts"];
    assert_eq!((&counts["skipped"], &counts["replaced"]), (&json!(0), &json!(3)));
    assert_eq!(manifest()["unknown_states"], "state:B");
    release(&folder, &["--unknown-state", "state:B", "-o", "out.csv"]).success();
    assert_eq!(manifest()["unknown_states"], "state:B");
    assert_eq!(manifest()["counts"], json!({ "walks": 2, "steps": 6 }));
}

/// The release is that of the walks with the state in the place of unknown ones, to the last byte.
#[test]
fn a_state_of_the_chain_can_be_taken_instead() {
    let folder = Folder::with("walks.csv", WALKS);
    let seeded = |more: &[&str]| {
        let run = release(&folder, &[more, &["--seed", "5"]].concat()).success();
        (stdout(&run), stderr(&run))
    };
    for how in [&[][..], &["--stream"], &["--block", "2"], &["--keep", "note"]] {
        folder.write("walks.csv", with("Def"));
        let (expected, _) = seeded(how);
        folder.write("walks.csv", WALKS);
        let (found, message) = seeded(&[how, &["--unknown-state", "Def"]].concat());
        assert_eq!(found, expected, "{how:?}");
        assert!(message.contains("3 rows taken as \"Def\""), "{message}");
        assert!(!message.contains("left out"), "{message}");
    }
    let words = ["--unknown-state", "\"Deff\" is not a state", "Def"];
    refuses(&folder, &["--unknown-state", "Deff"], &words);
    refuses(&folder, &[], &["walks.csv, line 3", "--unknown-state STATE", "--unknown-state skip"]);
}

#[test]
fn states_that_are_called_like_the_words_are_reached_with_a_prefix() {
    let chain = "from,to,count\nskip,error,1\nerror,skip,1\nerror,error,1\n";
    let walks = "trajectory,state\na,skip\na,Zzz\n";
    let folder = Folder::with("walks.csv", walks);
    folder.write("chain.csv", chain);
    let start = ["privatize", "walks.csv", "--chain", "chain.csv", "--epsilon", "1"];
    let run = |more: &[&str]| {
        folder.run([&start[..], &["--substitutions", "1", "-o", "out.csv"], more].concat())
    };
    run(&["--unknown-state", "error"]).code(2);
    run(&["--unknown-state", "state:skip"]).success();
    assert_eq!(folder.read("out.csv").lines().count(), 3);
    run(&["--unknown-state", "skip"]).success();
    assert_eq!(folder.read("out.csv").lines().count(), 2);
}

#[test]
fn a_walk_that_vanishes_is_not_charged() {
    for how in [&[][..], &["--stream"]] {
        let folder = Folder::with("walks.csv", WALKS);
        let ledger = ["--ledger", "spent.ledger", "--unknown-state", "skip"];
        release(&folder, &[&ledger, how].concat()).success();
        let shown = json(&folder.run(["ledger", "show", "spent.ledger", "--format", "json"]));
        assert!(shown.to_string().contains("\"a\""), "{shown}");
        assert!(!shown.to_string().contains("\"b\""), "{shown}");
        // From a pipe, walks are charged when they are first seen.
        let folder = Folder::new();
        let args = both(&["privatize", "-"], &CREDIT);
        let args = args.iter().map(String::as_str).chain(ledger).chain(how.iter().copied());
        folder.run_with(args, WALKS).success();
        let shown = json(&folder.run(["ledger", "show", "spent.ledger", "--format", "json"]));
        assert!(shown.to_string().contains("\"a\""), "{shown}");
        assert!(!shown.to_string().contains("\"b\""), "{shown}");
    }
}

#[test]
fn an_analysis_takes_a_state_instead_too() {
    let folder = Folder::with("walks.csv", with("Def"));
    let start =
        ["analyze", "--chain", "credit", "--epsilon", "1", "--radius", "3.5", "--format", "json"];
    let figures = |more: &[&str]| {
        let run = folder.run([&start[..], &["--real", "walks.csv"], more].concat()).success();
        let mut figures = json(&run);
        figures.as_object_mut().unwrap().remove("seconds");
        figures
    };
    let expected = figures(&[]);
    folder.write("walks.csv", WALKS);
    assert_eq!(figures(&["--unknown-state", "Def"]), expected);
    folder.refuses([&start[..], &["--real", "walks.csv"]].concat(), &["--unknown-state STATE"]);
}
