//! `veilwalk kernel`: the figures of the paper's example, and how they are printed.

mod common;

use common::{Folder, both, json, stderr, stdout, veilwalk};

/// After `Caa`, when the real state is `Ca/C`, at epsilon 1.
fn kernel(mechanism: &[&str]) -> serde_json::Value {
    const ASKED: [&str; 11] = [
        "kernel",
        "--chain",
        "credit",
        "--previous",
        "Caa",
        "--real",
        "Ca/C",
        "--epsilon",
        "1",
        "--format",
        "json",
    ];
    json(&veilwalk(both(&ASKED, mechanism)).success())
}

fn assert_figures(answer: &serde_json::Value, expected: &[(&str, f64)]) {
    let probabilities = answer["probabilities"].as_object().unwrap();
    assert_eq!(probabilities.len(), expected.len());
    for (state, figure) in expected {
        let p = probabilities[*state].as_f64().unwrap();
        assert!((p - figure).abs() < 5.1e-7, "{state}: {p} is not {figure}");
    }
    let sum: f64 = probabilities.values().map(|p| p.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
}

#[test]
fn the_paper_mechanism() {
    let answer = kernel(&["--mechanism", "paper", "--radius", "1"]);
    assert_eq!((&answer["previous"], &answer["real"]), (&"Caa".into(), &"Ca/C".into()));
    assert_figures(
        &answer,
        &[
            ("Baa", 0.002687),
            ("Ba", 0.008462),
            ("B", 0.032784),
            ("Caa", 0.090305),
            ("Ca/C", 0.861216),
            ("Def", 0.004546),
        ],
    );
}

#[test]
fn the_exponential_mechanism() {
    assert_figures(
        &kernel(&["--mechanism", "exponential", "--radius", "1"]),
        &[
            ("Baa", 0.004580),
            ("Ba", 0.014366),
            ("B", 0.054718),
            ("Caa", 0.144770),
            ("Ca/C", 0.773828),
            ("Def", 0.007738),
        ],
    );
}

#[test]
fn chen_treats_all_others_alike() {
    assert_figures(
        &kernel(&["--mechanism", "chen", "--substitutions", "1"]),
        &[
            ("Baa", 0.129563),
            ("Ba", 0.129563),
            ("B", 0.129563),
            ("Caa", 0.129563),
            ("Ca/C", 0.352187),
            ("Def", 0.129563),
        ],
    );
}

#[test]
fn epsilon_is_exact_as_a_fraction_and_as_a_decimal() {
    let at = |epsilon: &str| {
        let args = "kernel --chain credit --previous Caa --real B --radius 7/2 --mechanism sharp";
        let args = args.split(' ').chain(["--format", "json", "--epsilon", epsilon]);
        stdout(&veilwalk(args).success())
    };
    assert_eq!(at("0.5"), at("1/2"));
    assert_ne!(at("0.5"), at("0.500001"));
}

#[test]
fn parts_of_a_mechanism_can_be_replaced() {
    let exponential = kernel(&["--mechanism", "exponential", "--radius", "1"]);
    assert_eq!(exponential["mechanism"], "exponential");
    let weighted = kernel(&["--mechanism", "exponential", "--chain-weight", "1", "--radius", "1"]);
    assert!(weighted["mechanism"].as_str().unwrap().starts_with("exponential with"));
    assert_ne!(weighted["probabilities"], exponential["probabilities"]);
    // The exponential mechanism is the paper's with another rule.
    let paper = kernel(&["--mechanism", "paper", "--rule", "exponential", "--radius", "1"]);
    assert!(paper["mechanism"].as_str().unwrap().starts_with("paper with"));
    assert_eq!(paper["probabilities"], exponential["probabilities"]);
    // A radius is turned into a number of states for the distance that counts them.
    let counted = kernel(&["--mechanism", "sharp", "--distance", "hamming", "--radius", "3"]);
    assert_eq!(counted["probabilities"].as_object().unwrap().len(), 6);
}

#[test]
fn text_has_a_line_for_every_state() {
    let args = "kernel --chain credit --previous Caa --real Ca/C --mechanism paper --epsilon 1 \
                --radius 1";
    let run = veilwalk(args.split_whitespace()).success();
    let shown = stdout(&run);
    let lines: Vec<Vec<&str>> =
        shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["released", "probability"]);
    assert_eq!(lines[5], ["Ca/C", "0.861216"]);
    assert_eq!(lines.len(), 7);
    assert!(stderr(&run).contains("after Caa, when the real state is Ca/C (paper, epsilon 1"));
}

#[test]
fn observations_have_other_candidates() {
    let tight = kernel(&["--mechanism", "tight", "--radius", "3.5"]);
    assert_eq!(tight["drawn"], "observed");
    let probabilities = tight["probabilities"].as_object().unwrap();
    assert_eq!(probabilities.len(), 9, "all states, though the chain moves from Caa to six");
    let sum: f64 = probabilities.values().map(|p| p.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    let args = "kernel --chain credit --previous Caa --real Ca/C --epsilon 1 --radius 3.5";
    let run = veilwalk(args.split(' ').chain(["--mechanism", "believed"])).success();
    assert!(stdout(&run).starts_with("observed  probability"), "{}", stdout(&run));
    let said = stderr(&run);
    assert!(said.contains("known to have been Caa before (believed"), "{said}");
    assert!(said.contains("what is observed; the released walk is made of"), "{said}");
    let moves = kernel(&["--mechanism", "paper", "--radius", "1"]);
    assert_eq!(moves["drawn"], "released");
}

#[test]
fn a_chain_of_ones_own() {
    let folder = Folder::with("c.csv", ",a,b\na,0.5,0.5\nb,1,0\n");
    let args = "kernel --chain c.csv --previous b --real b --epsilon 1 --radius 1 --format json";
    let answer = json(&folder.run(args.split(' ')).success());
    assert_eq!(answer["probabilities"], serde_json::json!({"a": 1.0}));
}
