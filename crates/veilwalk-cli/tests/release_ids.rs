//! Every run has an id: runs with different ids are independent, and one that is given again repeats.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write;

use common::{CREDIT, Folder, both, stderr, stdout};
use serde_json::Value;

const WALKS: usize = 3_000;
const STEPS: usize = 12;
/// The step at which the second file of walks differs from the first.
const CHANGED: usize = 6;
const PROMISE: [&str; 8] =
    ["--chain", "credit", "--mechanism", "paper", "--epsilon", "0.01", "--radius", "3.5"];

/// The same walk again and again, with this state in one place.
fn walks(at_changed: &str) -> String {
    let mut text = String::from("trajectory,state\n");
    for walk in 0..WALKS {
        for step in 0..STEPS {
            let state = if step == CHANGED { at_changed } else { "Ba" };
            writeln!(text, "w{walk},{state}").unwrap();
        }
    }
    text
}

fn released(folder: &Folder, file: &str, more: &[&str]) -> BTreeMap<String, Vec<String>> {
    let run = folder.run(both(&[&["privatize", file], &PROMISE[..]].concat(), more)).success();
    let mut walks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in stdout(&run).lines().skip(1) {
        let mut values = row.split(',');
        let (name, state) = (values.next().unwrap(), values.nth(1).unwrap());
        walks.entry(name.to_owned()).or_default().push(state.to_owned());
    }
    assert_eq!(walks.len(), WALKS);
    walks
}

/// How many pairs of releases part for the first time at each step; the last number is of those that
/// never do.
fn partings(
    one: &BTreeMap<String, Vec<String>>,
    two: &BTreeMap<String, Vec<String>>,
) -> [u32; STEPS + 1] {
    let mut counts = [0; STEPS + 1];
    for (name, walk) in one {
        let apart = walk.iter().zip(&two[name]).position(|(a, b)| a != b);
        counts[apart.unwrap_or(STEPS)] += 1;
    }
    counts
}

/// The two-sample chi-square statistic. With at most 13 kinds it exceeds [`FAR`] less than once in
/// 10⁹ times if both samples come from one law.
fn difference(one: &[u32], two: &[u32]) -> f64 {
    let term = |(&a, &b): (&u32, &u32)| match f64::from(a + b) {
        0.0 => 0.0,
        sum => (f64::from(a) - f64::from(b)).powi(2) / sum,
    };
    one.iter().zip(two).map(term).sum()
}

const FAR: f64 = 70.0;

#[test]
fn two_runs_under_one_key_part_as_independent_ones_do() {
    let folder = Folder::with("my.key", "a secret of more than sixteen bytes");
    folder.write("x.csv", walks("Ba"));
    folder.write("y.csv", walks("B"));
    let key = ["--key-file", "my.key"];
    let apart = partings(&released(&folder, "x.csv", &key), &released(&folder, "y.csv", &key));
    let independent = partings(&released(&folder, "x.csv", &[]), &released(&folder, "y.csv", &[]));
    assert!(difference(&apart, &independent) < FAR, "{apart:?} {independent:?}");
    assert!(apart[0] > 2_000, "from the first step on: {apart:?}");
    // The same comparison notices what one id for both would do: all pairs agree until the state that
    // changed, and part there.
    let one_id = [&key[..], &["--release-id", "00112233445566778899aabbccddeeff"]].concat();
    let shared =
        partings(&released(&folder, "x.csv", &one_id), &released(&folder, "y.csv", &one_id));
    assert!(difference(&shared, &independent) > FAR, "{shared:?} {independent:?}");
    assert_eq!(shared[..CHANGED].iter().sum::<u32>(), 0, "{shared:?}");
    assert!(shared[CHANGED] > 1_000, "{shared:?}");
}

#[test]
fn a_ledger_refuses_other_states_under_one_id() {
    let folder = Folder::with("my.key", "a secret of more than sixteen bytes");
    folder.write("x.csv", walks("Ba"));
    folder.write("y.csv", walks("B"));
    let how = ["--key-file", "my.key", "--ledger", "l", "--release-id", &"7".repeat(32)];
    let first = released(&folder, "x.csv", &how);
    assert_eq!(first, released(&folder, "x.csv", &how), "the same walks repeat");
    let other = [&["privatize", "y.csv", "-o", "out.csv"], &PROMISE[..], &how].concat();
    folder.refuses(&other, &["release id"]);
    assert!(!folder.path("out.csv").exists(), "refused before anything is released");
}

fn id_of(folder: &Folder, file: &str) -> String {
    let text = folder.read(&format!("{file}.manifest.json"));
    let manifest: Value = serde_json::from_str(&text).unwrap();
    manifest["release_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_that_is_given_its_id_again_repeats() {
    let folder = Folder::with("my.key", "a secret of more than sixteen bytes");
    folder.write("x.csv", "trajectory,state\n".to_owned() + &"a,Ba\n".repeat(200));
    for randomness in [&["--key-file", "my.key"][..], &["--seed", "3"]] {
        for block in [&[][..], &["--block", "5"]] {
            let how = [randomness, block].concat();
            let run = |more: &[&str], out: &str| {
                let args = [&["privatize", "x.csv", "-o", out], more, &how[..]].concat();
                stderr(&folder.run(both(&args, &CREDIT)).success())
            };
            let said = run(&[], "one.csv");
            let id = id_of(&folder, "one.csv");
            assert!(said.contains(&format!("release id {id}")), "{said}");
            run(&["--release-id", &id], "two.csv");
            assert_eq!(folder.read("one.csv"), folder.read("two.csv"));
            assert_eq!(id, id_of(&folder, "two.csv"));
            run(&["--release-id", &"5".repeat(32)], "two.csv");
            assert_ne!(folder.read("one.csv"), folder.read("two.csv"), "another id");
            // A key draws an id for every run, and a seed stands for one.
            run(&[], "two.csv");
            let again = folder.read("one.csv") == folder.read("two.csv");
            assert_eq!(again, randomness[0] == "--seed");
            assert_eq!(id == id_of(&folder, "two.csv"), randomness[0] == "--seed");
        }
    }
}

#[test]
fn ids_that_repeat_nothing_are_refused() {
    let folder = Folder::with("x.csv", "trajectory,state\na,Ba\n");
    folder.write("my.key", "a secret of more than sixteen bytes");
    let run = |more: &[&str]| both(&[&["privatize", "x.csv"], more].concat(), &CREDIT);
    folder.refuses(
        run(&["--release-id", &"5".repeat(32)]),
        &["--release-id repeats a run", "--key-file", "nothing can repeat it"],
    );
    for id in ["", "17", &"g".repeat(32)] {
        folder.refuses(
            run(&["--key-file", "my.key", "--release-id", id]),
            &["--release-id", "32 hexadecimal digits"],
        );
    }
}
