//! `veilwalk audit`: the sampler that is compiled in passes. (That wrong ones fail is tested where
//! they can be made, in the library.)

mod common;

use common::{Folder, json, stdout, veilwalk};
use serde_json::Value;

fn arguments<'a>(mechanism: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let start = ["audit", "--chain", "credit", "--epsilon", "1", "--mechanism", mechanism];
    [&start, more, &["--draws", "20000", "--pairs", "4"]].concat()
}

#[test]
fn every_mechanism_passes() {
    let one_state: &[&str] = &["--substitutions", "1"];
    let radius: &[&str] = &["--radius", "4"];
    for mechanism in [
        "tight",
        "believed",
        "cell",
        "sharp",
        "paper",
        "exponential",
        "chen",
        "exponential-hamming",
    ] {
        let by_count = ["chen", "exponential-hamming"].contains(&mechanism);
        for unit in [one_state, radius].into_iter().filter(|u| !by_count || *u == one_state) {
            for how in [&["--calibrate", "theorem"][..], &["--calibrate", "exact"]] {
                let run = veilwalk(arguments(mechanism, &[unit, how].concat())).success();
                let shown = stdout(&run);
                assert!(shown.starts_with("Passed: "), "{mechanism}: {shown}");
                assert!(!shown.ends_with("\n\n"), "{shown}");
                assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
            }
        }
    }
}

#[test]
fn for_programs_there_is_json() {
    let args = arguments("paper", &["--radius", "4", "--seed", "1", "--format", "json"]);
    let answer = json(&veilwalk(&args).success());
    assert_eq!(answer["verdict"], "passed");
    assert_eq!(answer, json(&veilwalk(&args).success()), "a seed repeats an audit");
    let pairs = answer["losses"].as_array().unwrap();
    assert!(!pairs.is_empty() && pairs.len() <= 4, "{answer}");
    for pair in pairs {
        let figure = |key: &str| pair[key].as_f64().unwrap_or_else(|| panic!("{key} in {pair}"));
        assert!(figure("at_least") <= figure("exact"), "{pair}");
        assert!(figure("exact") <= figure("claim"), "{pair}");
    }
    assert!(answer["draws"] != Value::Null, "{answer}");
}

#[test]
fn nothing_to_draw_is_refused() {
    let args = ["audit", "--chain", "credit", "--epsilon", "1", "--radius", "4", "--draws", "0"];
    Folder::new().refuses(args, &["--draws"]);
}

#[test]
fn too_few_draws_show_nothing() {
    let args =
        "audit --chain credit --epsilon 0.1 --radius 4 --mechanism paper --draws 5 --pairs 2";
    let run = veilwalk(args.split(' ')).failure();
    assert!(stdout(&run).starts_with("Inconclusive: "), "{}", stdout(&run));
}
