//! `veilwalk attack`, and what `guarantee` says of attackers.

mod common;

use common::{CREDIT, Folder, json, stderr, stdout, veilwalk};
use serde_json::Value;

fn words(line: &str) -> std::str::SplitWhitespace<'_> {
    line.split_whitespace()
}

fn attack(line: &str) -> Value {
    let line = format!("attack --chain credit {line} --format json");
    json(&veilwalk(words(&line)).success())
}

fn share(answer: &Value, what: &str, who: &str) -> f64 {
    answer[what][who].as_f64().unwrap_or_else(|| panic!("{what} {who} in {answer:#}"))
}

#[test]
fn figures_for_programs_and_for_people() {
    let line = "--mechanism cell --epsilon 3.5 --radius 3.5 --walks 300 --steps 50";
    let found = attack(line);
    for what in ["state", "first", "last", "most_visited", "whole_walk"] {
        for who in ["attacker", "chain_alone", "release", "standard_error"] {
            assert!((0.0..=1.0).contains(&share(&found, what, who)), "{what} {who}");
        }
    }
    assert!(share(&found, "state", "attacker") >= share(&found, "state", "release"));
    assert!(share(&found, "state", "attacker") > 2.0 * share(&found, "state", "chain_alone"));
    let odds = |which: &str| found["odds"][which].as_f64().unwrap();
    assert!(1.0 <= odds("median") && odds("median") <= odds("p90") && odds("p90") <= odds("max"));
    let efficiency = found["efficiency"].as_f64().unwrap();
    let ratio = share(&found, "state", "release") / share(&found, "state", "attacker");
    assert!((efficiency - ratio).abs() < 1e-12);
    assert_eq!((&found["mechanism"], &found["walks"]), (&"cell".into(), &300.into()));
    // The same seed, the same figures.
    assert_eq!(found, attack(line));
    let text = stdout(&veilwalk(words(&format!("attack --chain credit {line}"))).success());
    for word in ["a state", "the whole walk", "chain alone", "The odds of the true state moved"] {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
}

/// The same guess costs less of what is of use with one mechanism than with another.
#[test]
fn mechanisms_differ_in_how_much_of_what_leaks_is_of_use() {
    let of = |mechanism: &str, epsilon: &str| {
        let line = format!(
            "--mechanism {mechanism} --epsilon {epsilon} --radius 3.5 --walks 400 --from Baa --start first"
        );
        let found = attack(&line);
        (share(&found, "state", "attacker"), found["efficiency"].as_f64().unwrap())
    };
    let ((cell, of_cell), (sharp, of_sharp)) = (of("cell", "1.6"), of("sharp", "2.6"));
    assert!((cell - sharp).abs() < 0.06, "about as much is guessed: {cell} {sharp}");
    assert!(of_sharp > of_cell, "{of_sharp} {of_cell}");
}

#[test]
fn given_walks_and_another_prior() {
    let folder = Folder::new();
    let run = |line: &str| folder.run(words(line)).success();
    run("chain sample credit --walks 60 --steps 20 --from B --seed 1 -o real.csv");
    let line = "attack --chain credit --epsilon 3 --radius 3.5 --mechanism tight --format json";
    let real = run(&format!("{line} --real real.csv"));
    assert!(stderr(&real).contains("NOT protected"));
    let real = json(&real);
    assert_eq!((&real["walks"], &real["states"]), (&60.into(), &(60 * 21).into()));
    // Who knows that all of them begin at B knows the first state.
    folder.write("start.csv", "state,probability\nB,1\n");
    let known = run(&format!("{line} --real real.csv --initial start.csv"));
    assert_eq!(share(&json(&known), "first", "attacker"), 1.0);
    // A prior with other states is refused.
    folder.write("other.csv", "from,to,count\nx,y,1\ny,x,1\n");
    let refused = folder.run(words(&format!("{line} --prior other.csv"))).code(2);
    assert!(stderr(&refused).contains("has no state \"Aaa\""), "{}", stderr(&refused));
    let refused = folder.run(words(&format!("{line} --block 3"))).code(2);
    assert!(!stderr(&refused).is_empty());
}

#[test]
fn blocks_are_refused_with_the_reason() {
    let refused = veilwalk(words(
        "attack --chain credit --epsilon 3 --radius 3.5 --mechanism sharp --block 3",
    ));
    let text = stderr(&refused.code(2));
    assert!(text.contains("the normaliser of a block depends on all its real states"), "{text}");
}

#[test]
fn a_guarantee_says_what_can_be_guessed() {
    let text = stdout(&veilwalk(["guarantee"].iter().chain(&CREDIT)).success());
    assert!(
        text.contains("Somebody who knows the chain and sees the release guesses a state"),
        "{text}"
    );
    let answer = json(&veilwalk(["guarantee", "--format", "json"].iter().chain(&CREDIT)).success());
    let attacker = &answer["attacker"];
    assert!(share(attacker, "state", "attacker") > share(attacker, "state", "chain_alone"));
    assert_eq!(attacker["steps"], 30);
    // In blocks nothing can be computed, and nothing is said.
    let blocks = ["guarantee", "--format", "json", "--block", "3"];
    let answer = json(&veilwalk(blocks.iter().chain(&CREDIT)).success());
    assert!(answer.get("attacker").is_none());
}

#[test]
fn mechanisms_are_compared_at_equal_success_of_the_attacker() {
    let line = "compare --chain credit --epsilon 3.5 --radius 3.5 --steps 20 --mechanisms sharp,cell --no-blocks";
    let answer =
        json(&veilwalk(words(&format!("{line} --equal-attacker 0.8 --format json"))).success());
    let rows = answer["equal_attacker"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert!((share(row, "state", "attacker") - 0.8).abs() < 0.02, "{row:#}");
        assert!(row["epsilon"].as_f64().unwrap() > 0.0);
    }
    let text = stdout(&veilwalk(words(&format!("{line} --equal-attacker closest"))).success());
    assert!(text.contains("At equal success of an attacker"), "{text}");
    let refused = veilwalk(words(&format!("{line} --equal-attacker 1.5"))).code(2);
    assert!(stderr(&refused).contains("between 0 and 1"));
}

#[test]
fn tuning_keeps_below_what_may_be_guessed() {
    let line = "tune --chain credit --epsilon 3.5 --radius 3.5 --steps 20 --aim wrong-states";
    let free = json(&veilwalk(words(&format!("{line} --format json"))).success());
    assert!(free["attacker"].is_null());
    let of_best = attack("--mechanism tight --track states --epsilon 3.5 --radius 3.5 --steps 20");
    let limit = share(&of_best, "state", "attacker") - 0.04;
    let bound = json(
        &veilwalk(words(&format!("{line} --attacker-at-most {limit} --format json"))).success(),
    );
    assert!(share(&bound, "attacker", "attacker") <= limit, "{bound:#}");
    let aside = bound["told_too_much"].as_array().unwrap();
    assert!(!aside.is_empty());
    assert!(aside.iter().all(|member| member["attacker"].as_f64().unwrap() > limit));
    let refused = veilwalk(words(&format!("{line} --attacker-at-most 0.01"))).code(2);
    assert!(stderr(&refused).contains("more is guessed than may be"), "{}", stderr(&refused));
}
