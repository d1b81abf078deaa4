//! `veilwalk compare`: two bases, winners with their commands, sweeps.

mod common;

use common::{Folder, json, stdout, veilwalk};
use serde_json::Value;

fn comparisons(flags: &str) -> Vec<Value> {
    let line = format!("compare {flags} --format json");
    let answer = json(&veilwalk(line.split_whitespace()).success());
    answer["comparisons"].as_array().unwrap().clone()
}

fn row<'a>(comparison: &'a Value, mechanism: &str) -> &'a Value {
    let rows = comparison["rows"].as_array().unwrap();
    rows.iter().find(|row| row["mechanism"] == mechanism).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
#[expect(clippy::approx_constant, reason = "0.318 is a distance here, not 1/π")]
fn two_bases_on_credit() {
    let found = comparisons("--chain credit --epsilon 1 --radius 1 --from Baa");
    let [by_radius, by_loss] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(by_radius["basis"], "equal_epsilon_and_radius");
    assert_eq!(by_radius["vacuous"], true);
    let known = [("paper", 0.298, 0.855), ("sharp", 0.095, 0.318), ("cell", 0.0554, 0.1712)];
    for (mechanism, wrong, distance) in known {
        let row = row(by_radius, mechanism);
        assert!((number(&row["wrong_state_share"]) / wrong - 1.0).abs() < 4e-3, "{row}");
        assert!((number(&row["mean_distance_nats"]) / distance - 1.0).abs() < 2e-3, "{row}");
    }
    assert!((number(&row(by_radius, "paper")["substitution_loss"]["max"]) - 9.888).abs() < 1e-3);
    assert!((number(&row(by_radius, "chen")["substitution_loss"]["max"]) - 1.0).abs() < 1e-6);
    assert_eq!(by_radius["winners"]["closeness"]["mechanism"], "tight");

    assert_eq!(by_loss["basis"], "equal_substitution_loss");
    let rows = by_loss["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 7);
    for row in rows {
        assert!((number(&row["substitution_loss"]["max"]) - 1.0).abs() < 2e-5, "{row}");
        assert_eq!(row["substitution_loss"]["figures"], "exact");
        let real = |row: &Value| number(&row["entropy_nats"]["real"]);
        assert!((real(row) - real(&rows[0])).abs() < 1e-12, "{row}");
    }
}

/// The winner has the smallest figure of all, and its command does what it says.
#[test]
fn winners_and_their_commands() {
    let found = comparisons(
        "--chain credit --epsilon 1 --radius 3.5 --from Baa --mechanisms paper,chen,exponential,exponential-hamming,sharp,cell",
    );
    let folder = Folder::with("WALKS", "trajectory,state\na,Baa\na,Ba\n");
    for comparison in &found {
        let rows = comparison["rows"].as_array().unwrap();
        let off = |row: &Value| {
            (number(&row["entropy_nats"]["released"]) - number(&row["entropy_nats"]["real"])).abs()
        };
        for purpose in ["closeness", "wrong_states", "typicality"] {
            let figure = |row: &Value| match purpose {
                "closeness" => number(&row["mean_distance_nats"]),
                "wrong_states" => number(&row["wrong_state_share"]),
                _ => off(row),
            };
            let winner = &comparison["winners"][purpose];
            let best = figure(row(comparison, winner["mechanism"].as_str().unwrap()));
            assert!(rows.iter().all(|row| figure(row) >= best), "{purpose}");
            assert!((number(&winner["figure"]) - best).abs() < 1e-12, "{winner}");
        }
        for row in rows {
            let command = row["command"].as_str().unwrap();
            folder.run(command.split(' ').skip(1)).success();
        }
    }
    // With a radius, both are the same mechanism.
    let of = |name: &str| row(&found[0], name)["mean_distance_nats"].clone();
    assert_eq!(of("exponential"), of("exponential-hamming"));
}

#[test]
fn a_sweep_has_a_comparison_for_each() {
    let flags = "--chain downtown --epsilons 2,0.5,1 --epsilon 1 --radius 3.5 --steps 20 \
                 --mechanisms chen,cell";
    let found = comparisons(flags);
    let epsilons: Vec<f64> = found.iter().map(|each| number(&each["epsilon"])).collect();
    assert_eq!(epsilons, [0.5, 0.5, 1.0, 1.0, 2.0, 2.0]);
    let wrong: Vec<f64> = found
        .iter()
        .filter(|each| each["basis"] == "equal_substitution_loss")
        .map(|each| number(&row(each, "cell")["wrong_state_share"]))
        .collect();
    assert!(wrong[0] > wrong[1] && wrong[1] > wrong[2], "{wrong:?}");
}

/// States at distance zero: a radius does not bound how many are replaced.
#[test]
fn a_refused_mechanism_says_why_in_its_row() {
    let folder =
        Folder::with("c.csv", "from,to,probability\na,b,1\nb,a,1\nb,c,0.00000000001\nc,a,1\n");
    let flags = "compare --chain c.csv --normalize --epsilon 1 --radius 2 --mechanisms chen,paper \
                 --steps 5";
    let answer = json(&folder.run(format!("{flags} --format json").split_whitespace()).success());
    let first = &answer["comparisons"][0];
    assert!(row(first, "chen")["refused"].as_str().unwrap().contains("distance zero"), "{first}");
    assert_eq!(first["winners"]["closeness"]["mechanism"], "paper");
    let shown = stdout(&folder.run(flags.split_whitespace()).success());
    assert!(shown.contains("chen: the hamming distance counts replaced states"), "{shown}");
}

#[test]
fn text_is_narrow_and_names_winners() {
    for flags in ["--radius 3.5", "--radius 1", ""] {
        let line = format!("compare --chain credit --epsilon 1 {flags}");
        let shown = stdout(&veilwalk(line.split_whitespace()).success());
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
        for words in
            ["closest to the real walk", "(real walk)", "veilwalk privatize WALKS --chain credit"]
        {
            assert!(shown.contains(words), "no {words:?} in\n{shown}");
        }
        assert_eq!(shown.contains("Nothing is protected"), flags == "--radius 1");
    }
}

/// Figures are for walks that start in some way; the commands release walks that do.
#[test]
fn commands_start_as_the_figures_do() {
    for (flags, start) in [
        ("--from Baa", Some("--start first")),
        ("--from Baa --start Baa", Some("--start Baa")),
        ("--from Baa --start private", None),
        ("--start initial", Some("--start initial")),
        ("", None),
    ] {
        let few = "--steps 5 --mechanisms cell,tight --blocks 2 --block-walks 50";
        let line = format!("compare --chain credit --epsilon 2 --radius 3.5 {few} {flags}");
        let shown = stdout(&veilwalk(line.split_whitespace()).success());
        let mut commands = shown.lines().filter(|line| line.contains("privatize WALKS"));
        let command = commands.next().expect("a command");
        for command in commands.chain([command]) {
            match start {
                Some(start) => assert!(command.contains(start), "{command}"),
                None => assert!(!command.contains("--start"), "{command}"),
            }
        }
    }
}

/// With a radius and without one.
#[test]
fn no_delay_is_advised_where_none_does_better() {
    for flags in ["--epsilon 3.5", "--epsilon 3.5 --radius 3.5"] {
        let few = "--blocks 2,all --block-walks 200";
        let command = format!("compare --chain credit --from Baa {few} {flags}");
        let shown = stdout(&veilwalk(command.split(' ')).success());
        let delay = &shown[shown.find("What a delay buys").unwrap()..];
        assert!(delay.contains("Without any delay, "), "{shown}");
        assert_eq!(delay.contains("--block"), !delay.contains("fewer than with any"), "{shown}");
    }
}

/// Rows that are simulated say so, with standard errors; the line to beat is there, and what does not beat it is
/// named.
#[test]
fn simulated_rows_and_the_line_to_beat() {
    let flags = "--chain credit --epsilon 1 --from Baa --radius 3.45";
    let found = comparisons(flags);
    let alone = &found[0]["chain_alone"];
    assert!((number(&alone["wrong_state_share"]) - 0.69993).abs() < 1e-5, "{alone}");
    let [released, real] = ["released", "real"].map(|which| number(&alone["entropy_nats"][which]));
    assert!((released - real).abs() < 1e-12, "{alone}");
    for comparison in &found {
        for mechanism in ["cell", "chen"] {
            assert!(row(comparison, mechanism)["simulated"].is_null());
        }
        for mechanism in ["tight", "believed"] {
            let row = row(comparison, mechanism);
            assert_eq!(row["simulated"]["walks"], 2000, "{row}");
            let error = number(&row["simulated"]["standard_errors"]["wrong_state_share"]);
            assert!(error > 0.0 && error < 0.01, "{row}");
        }
    }
    // What it costs to observe every state: 0.238 of the states are wrong.
    let tight = row(&found[0], "tight");
    let error = number(&tight["simulated"]["standard_errors"]["wrong_state_share"]);
    let off = (number(&tight["wrong_state_share"]) - 0.238).abs();
    assert!(off < 3.0 * error + 0.02 * 0.238, "{tight}");
    let behind = &found[1]["no_better_than_the_chain"];
    assert_eq!(behind["closeness"], serde_json::json!(["sharp"]));
    assert_eq!(behind["wrong_states"], serde_json::json!(["paper", "exponential"]));
    let shown = stdout(&veilwalk(format!("compare {flags} --no-blocks").split(' ')).success());
    let said = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "(chain alone) 69.99 %",
        "±: simulated over 2,000 walks",
        "sharp does not beat the chain alone by mean distance",
        "paper and exponential do not beat it by wrong states",
    ] {
        assert!(said.contains(words), "no {words:?} in\n{shown}");
    }
}

#[test]
fn at_an_equal_number_of_replaced_states() {
    let found = comparisons("--chain credit --epsilon 2 --substitutions 2 --steps 20");
    assert_eq!(found[0]["basis"], "equal_epsilon_and_substitutions");
    assert_eq!(found[0]["substitutions"], 2);
    // Each of the two loses half.
    for mechanism in ["chen", "cell", "tight", "believed"] {
        let loss = number(&row(&found[0], mechanism)["substitution_loss"]["max"]);
        assert!((loss - 1.0).abs() < 1e-6, "{mechanism}: {loss}");
    }
    let folder = Folder::with("WALKS", "trajectory,state\na,Baa\na,Ba\n");
    for row in found[0]["rows"].as_array().unwrap() {
        folder.run(row["command"].as_str().unwrap().split(' ').skip(1)).success();
    }
    let both = "compare --chain credit --epsilon 2 --substitutions 2 --radius 1";
    folder.refuses(both.split(' '), &["--substitutions", "--radius"]);
}

#[test]
fn help_says_why_equal_loss_is_fair() {
    let shown = stdout(&veilwalk(["compare", "--help"]).success());
    assert!(shown.contains("not a fair comparison"), "{shown}");
}

#[test]
fn refusals() {
    let folder = Folder::new();
    let cases: [(&str, &[&str]); 5] = [
        ("--epsilon 1 --from Nowhere", &["--from", "Nowhere"]),
        ("--epsilon 1 --steps 0", &["--steps", "a whole number from 1 up"]),
        ("--epsilon 1 --mechanisms paper,best", &["best", "choose one of"]),
        ("--radius 1", &["--epsilon"]),
        ("--epsilon 0", &["epsilon is zero"]),
    ];
    for (flags, words) in cases {
        folder.refuses(format!("compare --chain credit {flags}").split(' '), words);
    }
}
