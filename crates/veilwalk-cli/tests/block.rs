//! `--block` on the commands that examine a mechanism, and what it refuses.

mod common;

use common::{Folder, json, stderr, stdout, veilwalk};
use serde_json::Value;

const CREDIT: &str = "--chain credit --epsilon 3.5 --radius 3.5";
const WALK: &str = "trajectory,state\na,Baa\na,Baa\na,Ba\na,B\na,B\na,Baa\n";

fn run(line: &str) -> Value {
    json(&veilwalk(format!("{line} --format json").split_whitespace()).success())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Within five standard errors, and half a unit of the last digit that is known.
fn agrees(estimate: &Value, known: f64, digit: f64) {
    let (mean, error) = (number(&estimate["mean"]), number(&estimate["standard_error"]));
    assert!(error > 0.0 && error < 0.1 * known, "{estimate}");
    assert!((mean - known).abs() < 5.0 * error + digit / 2.0, "{estimate} is not {known}");
}

#[test]
fn the_guarantee_in_figures() {
    let answer = run(&format!("guarantee {CREDIT} --block 3"));
    assert_eq!((&answer["block"], &answer["longest_walk"]), (&3.into(), &Value::Null));
    assert_eq!(answer["epsilon"], 3.5);
    let cost = number(&answer["rounding_cost"]);
    assert!(cost > 0.0 && cost < 1e-12, "{cost}");
    let scale = number(&answer["scale"]);
    assert!(scale < 0.5 && scale > 0.499_999, "{scale}");
    for (loss, most) in [("covered_replacement_loss", 3.5), ("replacement_loss", 30.0)] {
        let loss = &answer[loss];
        assert_eq!(loss["steps"], 3);
        let (max, per_nat) = (number(&loss["max"]), number(&loss["per_nat"]));
        assert!(max > 1.0 && max <= most && per_nat <= 1.0, "{loss}");
    }
    assert!(answer["borders"].as_str().unwrap().contains("number of the step alone"));
    let whole = run(&format!("guarantee {CREDIT} --block all --longest-walk 1000"));
    assert_eq!((&whole["block"], &whole["longest_walk"]), (&Value::Null, &1000.into()));
    assert!(number(&whole["replacement_loss"]["steps"]) >= 2.0, "{whole}");
    let one = run(&format!("guarantee {CREDIT} --block 1"));
    assert_eq!((&one["rounding_cost"], &one["scale"]), (&0.0.into(), &0.5.into()));
    // One step is the exponential rule, whose loss is audited by another route.
    let rule = run(&format!("guarantee {CREDIT} --mechanism sharp --rule exponential"));
    let (blocks, steps) = (&one["replacement_loss"]["max"], &rule["substitution_loss"]["max"]);
    assert!((number(blocks) - number(steps)).abs() < 1e-9, "{blocks} {steps}");
}

#[test]
fn the_guarantee_in_words() {
    for (flags, words) in [
        ("--block 3", vec!["released 3 at a time", "up to 2 steps late", "step alone", "Exact"]),
        ("--block all", vec!["when it is over", "1048576 steps", "step alone"]),
        ("--block 25", vec!["released 25 at a time", "too many to go through"]),
        ("--block 1", vec!["by itself"]),
        ("--block 2 --radius 1", vec!["EMPTY", "2.733"]),
    ] {
        let radius = if flags.contains("--radius") { "" } else { "--radius 3.5" };
        let line = format!("guarantee --chain credit --epsilon 1 {radius} {flags}");
        let run = veilwalk(line.split_whitespace());
        let shown = stdout(&run.code(if words.contains(&"EMPTY") { 1 } else { 0 }));
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
        for word in words {
            assert!(shown.replace('\n', " ").contains(word), "no {word:?} in\n{shown}");
        }
    }
}

#[test]
fn what_stands_in_for_a_name_is_told() {
    let told = |flags: &str| {
        let line = format!("guarantee {CREDIT} --block 2 --format json {flags}");
        let run = veilwalk(line.split_whitespace()).success();
        (json(&run)["mechanism"].as_str().unwrap().to_owned(), stderr(&run))
    };
    let (auto, said) = told("");
    assert_eq!(auto, "sharp with symmetric distance, exponential rule, chain weight 0.5");
    assert_eq!(said, "");
    let (sharp, said) = told("--mechanism sharp");
    assert_eq!(sharp, auto);
    assert!(said.contains("`sharp` is taken with the exponential rule"), "{said}");
    assert_eq!(told("--mechanism sharp --rule exponential").1, "");
    let (_, said) = told("--mechanism cell");
    assert!(said.contains("scale of the theorem"), "{said}");
    assert_eq!(told("--mechanism exponential").0, "exponential");
}

#[test]
fn what_cannot_be_released_in_blocks_is_refused() {
    let folder = Folder::with("tuned.json", "{}");
    let cases: [(&str, &[&str]); 9] = [
        ("--block 5 --mechanism paper", &["--block", "`paper`", "`exponential`"]),
        ("--block 5 --rule permute-and-flip", &["exponential rule", "leave --rule out"]),
        ("--block 5 --calibrate exact", &["--calibrate exact", "leave it out"]),
        ("--block 5 --longest-walk 9", &["--longest-walk", "--block all"]),
        ("--longest-walk 9", &["--block"]),
        ("--block 0", &["not a length of blocks", "`all`"]),
        ("--block whole", &["not a length of blocks"]),
        ("--block 5 --mechanism chen", &["--substitutions"]),
        ("--block all --longest-walk 0", &["--longest-walk"]),
    ];
    for command in ["guarantee", "analyze"] {
        for (flags, words) in cases {
            folder.refuses(format!("{command} {CREDIT} {flags}").split_whitespace(), words);
        }
    }
    for command in ["kernel --previous Baa --real Baa", "audit"] {
        let line = format!("{command} {CREDIT} --block 5");
        folder.refuses(line.split_whitespace(), &["unexpected argument '--block'"]);
    }
    let line = format!("analyze {CREDIT} --block all --longest-walk 10");
    folder.refuses(line.split_whitespace(), &["100 steps", "--longest-walk 100"]);
    let line = format!("analyze {CREDIT} --block all --longest-walk 4 --real w.csv");
    folder.write("w.csv", WALK);
    folder.refuses(line.split_whitespace(), &["5 steps", "--longest-walk 5"]);
    let line = format!("compare {CREDIT} --blocks 1,0");
    folder.refuses(line.split_whitespace(), &["not a length of blocks"]);
}

#[test]
fn a_tuned_mechanism_is_for_one_state_at_a_time() {
    let folder = Folder::new();
    let tune = format!("tune {CREDIT} -o tuned.json");
    folder.run(tune.split_whitespace()).success();
    let line = "guarantee --chain credit --mechanism tuned.json --block 5";
    folder.refuses(line.split_whitespace(), &["tuned.json", "one state at a time"]);
}

#[test]
fn own_walks_are_simulated_with_error_bars() {
    for (length, wrong, distance) in [("5", 0.064, 0.20), ("all", 0.051, 0.155)] {
        let answer = run(&format!(
            "analyze {CREDIT} --mechanism sharp --block {length} --from Baa --simulate 3000"
        ));
        let simulated = &answer["simulated"];
        assert_eq!((&simulated["walks"], &simulated["steps"]), (&3000.into(), &100.into()));
        agrees(&simulated["wrong_state_share"], wrong, 0.001);
        agrees(&simulated["mean_distance_nats"], distance, 0.005);
        assert_eq!(answer.get("wrong_state_share"), None, "nothing is exact here");
        let left_out = answer["left_out"].to_string();
        assert!(left_out.contains("drift") && left_out.contains("real walks"), "{left_out}");
    }
    let line = format!("analyze {CREDIT} --mechanism sharp --block 5 --from Baa --simulate 200");
    let shown = stdout(&veilwalk(line.split_whitespace()).success());
    for words in ["in blocks of 5 steps", "Simulated (200 walks)", "standard error", "Left out"] {
        assert!(shown.contains(words), "no {words:?} in\n{shown}");
    }
}

#[test]
fn given_walks_are_exact() {
    let folder = Folder::with("w.csv", WALK);
    let of = |flags: &str| {
        let line = format!("analyze {CREDIT} --real w.csv --start first --format json {flags}");
        json(&folder.run(line.split_whitespace()).success())
    };
    // One step at a time is the exponential rule.
    let (one, rule) = (of("--block 1"), of("--mechanism sharp --rule exponential"));
    for figure in ["wrong_state_share", "mean_distance_nats"] {
        assert!((number(&one[figure]) - number(&rule[figure])).abs() < 1e-12, "{figure}");
    }
    assert_eq!((&one["block"], &rule["block"]), (&1.into(), &Value::Null));
    let all = of("--block all --simulate 5000");
    assert!(number(&all["wrong_state_share"]) < number(&one["wrong_state_share"]));
    agrees(&all["simulated"]["wrong_state_share"], number(&all["wrong_state_share"]), 0.0);
    let line = format!("analyze {CREDIT} --real w.csv --block 2");
    let run = folder.run(line.split_whitespace()).success();
    assert!(stderr(&run).contains("NOT protected"), "{}", stderr(&run));
    let shown = stdout(&run);
    assert!(shown.contains("Closeness") && shown.contains("in blocks of 2 steps"), "{shown}");
}

/// The figures of the credit chain, from Baa, at one unit of epsilon per nat.
#[test]
fn compare_shows_what_a_delay_buys() {
    let line = format!("compare {CREDIT} --from Baa --mechanisms paper --blocks all,1,5,5");
    let answer = run(&format!("{line} --block-walks 3000"));
    let delays = answer["delays"].as_array().unwrap();
    let [delay] = delays.as_slice() else { panic!("{answer}") };
    assert_eq!((&delay["epsilon"], &delay["radius_nats"]), (&3.5.into(), &3.5.into()));
    let rows = delay["rows"].as_array().unwrap();
    let known: [(Value, f64, f64); 3] =
        [(1.into(), 0.134, 0.45), (5.into(), 0.064, 0.20), ("all".into(), 0.051, 0.155)];
    assert_eq!(rows.len(), known.len());
    for (row, (block, wrong, distance)) in rows.iter().zip(known) {
        assert_eq!(row["block"], block);
        assert_eq!(row["walks"], 3000);
        agrees(&row["wrong_state_share"], wrong, 0.001);
        agrees(&row["mean_distance_nats"], distance, 0.005);
        let command = row["command"].as_str().unwrap();
        assert!(command.starts_with("veilwalk privatize WALKS --chain credit"), "{command}");
    }
    let shown = stdout(&veilwalk(format!("{line} --block-walks 50").split_whitespace()).success());
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    let section = &shown[shown.find("What a delay buys").unwrap()..];
    let bars: Vec<usize> = section
        .lines()
        .filter(|line| line.contains('±'))
        .map(|line| line.chars().filter(|&c| c == '█').count())
        .collect();
    assert_eq!(bars.len(), 3);
    assert!(bars[0] == 32 && bars[1] < 20 && bars[2] <= bars[1], "{section}");
    assert!(section.contains("--epsilon 3.5 --radius 3.5 --block all"), "{section}");
    assert!(section.contains("Without any delay, paper has 29.8"), "{section}");
    // Where the default is better at once, no delay is recommended.
    let line =
        format!("compare {CREDIT} --from Baa --mechanisms cell --blocks 2 --block-walks 100");
    let shown = stdout(&veilwalk(line.split_whitespace()).success());
    let section = &shown[shown.find("What a delay buys").unwrap()..];
    assert!(section.contains("cell has 5.54 % wrong states") && section.contains("fewer than"));
    assert!(!section.contains("--block"), "{section}");
}

#[test]
fn blocks_can_be_left_out_of_a_comparison() {
    let line = "compare --chain credit --epsilon 1 --mechanisms paper --no-blocks";
    let answer = run(line);
    assert_eq!(answer["delays"], Value::Array(vec![]));
    let shown = stdout(&veilwalk(line.split(' ')).success());
    assert!(!shown.contains("delay"), "{shown}");
    // Where nothing is protected there is nothing to release.
    let vacuous = "compare --chain credit --epsilon 1 --radius 1 --mechanisms paper --blocks 2 \
                   --block-walks 10";
    let answer = run(vacuous);
    assert_eq!(answer["delays"][0]["rows"][0]["command"], Value::Null);
}
