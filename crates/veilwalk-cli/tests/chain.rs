//! `veilwalk chain check` and `veilwalk chain fit`.

mod common;

use std::collections::BTreeSet;

use common::{Folder, json, stderr, stdout, veilwalk};

fn words(line: &str) -> std::str::SplitWhitespace<'_> {
    line.split_whitespace()
}

fn close(value: &serde_json::Value, expected: f64, tolerance: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - expected).abs() < tolerance, "{value} is not {expected}");
}

/// A map and nothing else, from any file that has moves, or from a list of states.
#[test]
fn an_even_chain_is_made_of_a_map() {
    let folder = Folder::with("streets.csv", "from,to\na,b\nb,a\nb,b\n");
    folder.run(["chain", "generate", "even", "--edges", "streets.csv", "-o", "even.csv"]).success();
    let even = folder.read("even.csv");
    assert!(
        even.contains("a,b,1.0\n") && even.contains("b,a,0.5\n") && even.contains("b,b,0.5\n"),
        "{even}"
    );
    // Numbers of a chain mean nothing.
    folder.run(["chain", "generate", "even", "--edges", "credit", "-o", "credit.csv"]).success();
    let rows = folder.read("credit.csv");
    let of_b = rows.lines().filter(|row| row.starts_with("B,")).map(|row| row.rsplit(',').next());
    let shares: std::collections::BTreeSet<_> = of_b.collect();
    assert_eq!(shares.len(), 1, "{rows}");
    folder.write("states.csv", "state\nx\ny\nz\n");
    folder.run(["chain", "generate", "even", "--states", "states.csv", "-o", "all.csv"]).success();
    assert_eq!(folder.read("all.csv").lines().count(), 1 + 9);
    folder.refuses(["chain", "generate", "even", "-o", "x.csv"], &["--edges", "--states"]);
    folder.refuses(["chain", "generate", "even", "--states", "no.csv", "-o", "x.csv"], &["no.csv"]);
    // What is guessed on it is less than what is guessed of real walks.
    let promise = ["--epsilon", "4", "--substitutions", "1"];
    let said = |chain: &str| {
        let line = common::both(&["guarantee", "--chain", chain], &promise);
        stdout(&folder.run(line).success())
    };
    let words = "learn from many releases";
    assert!(said("all.csv").replace(['\n', ' '], "").contains(&words.replace(' ', "")));
    assert!(!said("credit").replace(['\n', ' '], "").contains(&words.replace(' ', "")));
}

#[test]
fn the_figures_of_the_credit_chain() {
    let answer = json(&veilwalk(words("chain check credit --format json")).success());
    let keys: BTreeSet<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = BTreeSet::from([
        "states",
        "transitions",
        "irreducible",
        "period",
        "diameter_nats",
        "closest_pair",
        "entropy_rate_nats",
        "stationary",
        "hash",
    ]);
    assert_eq!(keys, expected);
    assert_eq!(answer["states"], 9);
    assert_eq!(answer["transitions"], 50);
    assert_eq!(answer["irreducible"], true);
    assert_eq!(answer["period"], 1);
    close(&answer["diameter_nats"], 23.406648, 1e-5);
    close(&answer["closest_pair"]["nats"], 2.733, 5e-4);
    let pair = ["from", "to"].map(|end| answer["closest_pair"][end].as_str().unwrap());
    assert_eq!(BTreeSet::from(pair), BTreeSet::from(["B", "Ba"]));
    close(&answer["entropy_rate_nats"], 0.00211253, 5e-9);
    close(&answer["stationary"]["Def"], 0.99825968, 5e-9);
    let stationary = answer["stationary"].as_object().unwrap();
    assert_eq!(stationary.len(), 9);
    let sum: f64 = stationary.values().map(|p| p.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-12);
    let hash = answer["hash"].as_str().unwrap();
    assert!(hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
}

#[test]
fn text_says_the_same_to_people() {
    let shown = stdout(&veilwalk(words("chain check credit")).success());
    for word in ["states", "50", "irreducible", "23.407 nats", "2.733 nats", "Def 99.83 %"] {
        assert!(shown.contains(word), "no {word:?} in {shown}");
    }
}

#[test]
fn downtown_is_built_in() {
    let answer = json(&veilwalk(words("chain check downtown --format json")).success());
    assert_eq!(answer["states"], 43);
}

#[test]
fn a_matrix_and_its_transitions_are_one_chain() {
    let folder = Folder::with("matrix.csv", ",a,b\na,0.25,0.75\nb,1,0\n");
    folder.write("table.tsv", "from\tto\tprobability\na\ta\t0.25\na\tb\t0.75\nb\ta\t1\n");
    folder.write("counts.csv", "from,to,count\na,a,1\na,b,3\nb,a,7\n");
    let check = |file: &str| {
        let run = folder.run(["chain", "check", file, "--format", "json"]).success();
        assert_eq!(stderr(&run), "", "{file}");
        json(&run)
    };
    assert_eq!(check("matrix.csv"), check("table.tsv"));
    assert_eq!(check("matrix.csv"), check("counts.csv"));
}

#[test]
fn rows_are_rescaled_on_request_and_it_is_told() {
    let folder = Folder::with("c.csv", ",a,b\na,0.5,0.4\nb,0.5,0.5\n");
    let run = folder.run(words("chain check c.csv --normalize --format json")).success();
    let message = stderr(&run);
    for word in ["c.csv", "1 row rescaled", "\"a\"", "0.900000000"] {
        assert!(message.contains(word), "no {word:?} in {message}");
    }
    assert_eq!(json(&run)["transitions"], 4);
}

#[test]
fn the_largest_component_is_kept_on_request_and_it_is_told() {
    let text = "from,to,count\nin,a,1\na,b,1\na,a,1\nb,a,2\nb,out,2\nout,out,1\n";
    let folder = Folder::with("c.csv", text);
    let run = folder.run(words("chain check c.csv --largest-component --format json")).success();
    let message = stderr(&run);
    for word in ["c.csv", "2 states", "3 transitions", "\"in\"", "\"out\"", "dropped"] {
        assert!(message.contains(word), "no {word:?} in {message}");
    }
    assert_eq!((&json(&run)["states"], &json(&run)["transitions"]), (&2.into(), &3.into()));
}

#[test]
fn a_periodic_chain_is_allowed_with_a_warning() {
    let folder = Folder::with("c.csv", ",a,b\na,0,1\nb,1,0\n");
    let run = folder.run(words("chain check c.csv --format json")).success();
    assert!(stderr(&run).contains("warning: c.csv: the chain has period 2"));
    let answer = json(&run);
    assert_eq!(answer["period"], 2);
    assert_eq!(answer["entropy_rate_nats"].to_string(), "0.0", "not minus zero");
}

#[test]
fn a_single_state_has_no_closest_pair() {
    let folder = Folder::with("c.csv", ",a\na,1\n");
    let answer = json(&folder.run(words("chain check c.csv --format json")).success());
    assert_eq!(answer["closest_pair"], serde_json::Value::Null);
    folder.run(words("chain check c.csv")).success();
}

#[test]
fn where_walks_start_is_part_of_the_chain() {
    let folder = Folder::with("start.csv", "state,probability\nBaa,0.25\nB,0.75\n");
    let hash = |initial: &str| {
        let args = words("chain check credit --format json --initial").chain([initial]);
        json(&folder.run(args).success())["hash"].as_str().unwrap().to_owned()
    };
    let hashes: BTreeSet<String> =
        ["uniform", "stationary", "Baa", "start.csv"].into_iter().map(hash).collect();
    assert_eq!(hashes.len(), 4);
    let default = json(&veilwalk(words("chain check credit --format json")).success());
    assert_eq!(default["hash"], hash("uniform"));
}

const WALKS: &str = "trajectory,state\n1,a\n2,b\n1,b\n2,a\n1,a\n2,a\n";

#[test]
fn a_fitted_chain_can_be_checked() {
    let folder = Folder::with("w.csv", WALKS);
    let run = folder.run(words("chain fit w.csv -o c.csv")).success();
    let message = stderr(&run);
    assert!(message.contains("c.csv: 2 states and 3 transitions, from 4 moves in 2 walks"));
    assert!(message.contains("warning:") && message.contains("becomes public"), "{message}");
    assert_eq!(stdout(&run), "");
    assert_eq!(folder.files().len(), 2, "no temporary file is left");
    // a to b once, b to a twice, a to a once
    assert_eq!(folder.read("c.csv"), "from,to,probability\na,a,0.5\na,b,0.5\nb,a,1.0\n");
    let answer = json(&folder.run(words("chain check c.csv --format json")).success());
    assert_eq!((&answer["states"], &answer["transitions"]), (&2.into(), &3.into()));
}

#[test]
fn walks_are_fitted_from_other_columns_formats_and_standard_input() {
    let folder = Folder::with("w.csv", WALKS);
    folder.run(words("chain fit w.csv -o c.csv")).success();
    let renamed = WALKS.replace("trajectory,state", "who,where");
    let run = "chain fit - -o d.csv --trajectory-column who --state-column where";
    folder.run_with(words(run), &renamed).success();
    assert_eq!(folder.read("c.csv"), folder.read("d.csv"));
    let objects: String = WALKS
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').unwrap())
        .map(|(who, state)| format!("{{\"trajectory\":\"{who}\",\"state\":\"{state}\"}}\n"))
        .collect();
    folder.write("w.ndjson", objects);
    let run = folder.run(words("chain fit w.ndjson -o -")).success();
    assert_eq!(stdout(&run), folder.read("c.csv"));
}

#[test]
fn what_cannot_be_fitted_is_refused_by_name() {
    let folder = Folder::with("w.csv", "trajectory,state\n1,a\n1,b\n");
    folder.refuses(
        words("chain fit w.csv -o c.csv"),
        &["w.csv", "\"b\" has no way out", "--largest-component"],
    );
    folder.write("w.csv", "trajectory,state\n1,a\n2,b\n");
    folder.refuses(
        words("chain fit w.csv -o c.csv"),
        &["w.csv", "not a single transition", "2 walks"],
    );
    folder.write("w.csv", WALKS);
    folder.refuses(words("chain fit w.csv -o no/c.csv"), &["no/c.csv", "create it"]);
    folder.refuses(words("chain fit no.csv -o c.csv"), &["no.csv", "check the path"]);
    folder.refuses(words("chain fit w.csv -o c.csv --state-column x"), &["w.csv, line 1", "\"x\""]);
}

#[test]
fn a_fit_can_keep_the_largest_component() {
    let folder = Folder::with("w.csv", "trajectory,state\n1,a\n1,b\n1,a\n1,end\n");
    let run = folder.run(words("chain fit w.csv -o c.csv --largest-component")).success();
    assert!(stderr(&run).contains("w.csv: 1 state and 1 transition outside"), "{}", stderr(&run));
    assert_eq!(folder.read("c.csv"), "from,to,probability\na,b,1.0\nb,a,1.0\n");
}

#[test]
fn walks_that_end_somewhere_can_begin_anew() {
    let walks = "trajectory,state\na,home\na,cart\nb,home\na,thanks\nb,help\n";
    let folder = Folder::with("w.csv", walks);
    let words_of = ["no way out", "--restart"];
    folder.refuses(words("chain fit w.csv -o c.csv"), &words_of);
    folder.run(words("chain fit w.csv -o c.csv --restart")).success();
    let mut lines: Vec<String> = folder.read("c.csv").lines().skip(1).map(String::from).collect();
    lines.sort();
    let expected =
        ["cart,thanks,1.0", "help,home,1.0", "home,cart,0.5", "home,help,0.5", "thanks,home,1.0"];
    assert_eq!(lines, expected);
}
