//! `veilwalk guarantee`: the figures of the credit chain, the words, and what a calibration gains;
//! and that `privatize` refuses a guarantee that is empty.

mod common;

use common::{Folder, json, stderr, stdout, veilwalk};
use serde_json::Value;

const WALKS: &str = "trajectory,state\nnorth,Baa\nnorth,Ba\nsouth,B\n";
const MECHANISMS: [&str; 6] =
    ["cell", "sharp", "paper", "exponential", "chen", "exponential-hamming"];

fn arguments<'a>(mechanism: &'a str, unit: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let start = ["guarantee", "--chain", "credit", "--epsilon", "1", "--mechanism", mechanism];
    [&start, unit, more].concat()
}

fn figures(mechanism: &str, unit: &[&str], more: &[&str]) -> Value {
    let args = arguments(mechanism, unit, &[more, &["--format", "json"]].concat());
    let run = veilwalk(args);
    let answer = json(&run);
    run.code(if answer["vacuous"] == true { 1 } else { 0 });
    answer
}

fn text(mechanism: &str, unit: &[&str], more: &[&str]) -> String {
    let run = veilwalk(arguments(mechanism, unit, more));
    let shown = stdout(&run);
    run.code(if shown.contains("This guarantee is EMPTY") { 1 } else { 0 });
    shown
}

fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - expected).abs() < 6e-4, "{value} is not {expected}");
}

const RADIUS_1: [&str; 2] = ["--radius", "1"];
const ONE_STATE: [&str; 2] = ["--substitutions", "1"];

#[test]
fn a_radius_of_one_nat_protects_nothing_on_credit() {
    for (mechanism, worst, per_nat) in [("paper", 9.888, 0.8911), ("exponential", 9.227, 0.7223)] {
        let answer = figures(mechanism, &RADIUS_1, &[]);
        assert_eq!(answer["mechanism"], mechanism);
        assert_eq!((&answer["epsilon"], &answer["radius_nats"]), (&1.0.into(), &1.0.into()));
        assert_eq!(answer["substitutions"], Value::Null);
        assert_eq!(answer["scale"], 0.5);
        assert_eq!(answer["vacuous"], true);
        close(&answer["smallest_radius_nats"], 2.733);
        assert_eq!((&answer["covered_states"], &answer["covered_pairs"]), (&0.0.into(), &0.into()));
        close(&answer["substitution_loss"]["max"], worst);
        let mean = answer["substitution_loss"]["mean"].as_f64().unwrap();
        assert!(mean > 1.0 && mean < worst, "{mean}");
        close(&answer["loss_per_nat"]["exact"], per_nat);
        assert_eq!(answer["loss_per_nat"]["bound"], 1.0);
        let radii = &answer["suggested_radii"];
        close(&radii["something"], 2.7334);
        let order = ["something", "half_of_states", "most_states", "any_state"];
        let radii: Vec<f64> = order.iter().map(|key| radii[key].as_f64().unwrap()).collect();
        assert!(radii.is_sorted(), "{radii:?}");
    }
    for mechanism in
        MECHANISMS.iter().filter(|name| !["chen", "exponential-hamming"].contains(name))
    {
        let shown = text(mechanism, &RADIUS_1, &[]);
        assert!(shown.contains("This guarantee is EMPTY") && shown.contains("2.733"), "{shown}");
    }
}

#[test]
fn chen_loses_exactly_epsilon_for_one_substitution() {
    let answer = figures("chen", &ONE_STATE, &[]);
    close(&answer["substitution_loss"]["max"], 1.0);
    assert_eq!((&answer["vacuous"], &answer["substitutions"]), (&false.into(), &1.into()));
    assert_eq!(answer["radius_nats"], Value::Null);
    assert_eq!(answer["covered_states"], 1.0);
}

#[test]
fn a_suggested_radius_does_what_is_said_of_it() {
    let radii = figures("paper", &RADIUS_1, &[])["suggested_radii"].clone();
    for (key, share) in [("something", 0.2), ("half_of_states", 0.5), ("most_states", 0.95)] {
        let radius = radii[key].to_string();
        let answer = figures("paper", &["--radius", &radius], &[]);
        assert_eq!(answer["vacuous"], false, "{key}");
        assert!(answer["covered_states"].as_f64().unwrap() >= share, "{key}: {answer}");
    }
    let answer = figures("paper", &["--radius", &radii["any_state"].to_string()], &[]);
    assert_eq!(answer["covered_pairs"], 36);
}

#[test]
fn an_exact_calibration_uses_up_the_promise_and_says_what_it_gained() {
    for mechanism in MECHANISMS {
        let exact = figures(mechanism, &ONE_STATE, &["--calibrate", "exact"]);
        let loss = exact["substitution_loss"]["max"].as_f64().unwrap();
        assert!((0.999..=1.0).contains(&loss), "{mechanism}: {loss}");
        assert!(exact["calibration"]["gain"] != Value::Null, "{mechanism}: {exact}");
        let shown = text(mechanism, &ONE_STATE, &["--calibrate", "exact"]);
        assert!(shown.contains("Calibrated exactly"), "{mechanism}: {shown}");
        assert!(shown.contains("times the theorem's"), "{mechanism}: {shown}");
    }
    let theorem = figures("paper", &ONE_STATE, &[])["scale"].as_f64().unwrap();
    let exact = figures("paper", &ONE_STATE, &["--calibrate", "exact"]);
    let gain = exact["calibration"]["gain"].as_f64().unwrap();
    assert!(gain > 2.0);
    close(&exact["scale"], theorem * gain);
    let shown = text("sharp", &["--radius", "4"], &["--calibrate", "exact"]);
    assert!(shown.contains("Beyond the radius nothing is promised"), "{shown}");
    let shown = text("sharp", &["--radius", "4"], &[]);
    assert!(!shown.contains("Calibrated"), "{shown}");
}

#[test]
fn the_words_are_plain_and_fit_the_page() {
    let units: [&[&str]; 4] =
        [&RADIUS_1, &ONE_STATE, &["--radius", "4"], &["--substitutions", "3"]];
    for mechanism in MECHANISMS {
        for unit in units {
            let by_count = ["chen", "exponential-hamming"].contains(&mechanism);
            if by_count && unit[0] == "--radius" {
                continue;
            }
            for how in ["theorem", "exact"] {
                if how == "exact" && unit == RADIUS_1 {
                    continue;
                }
                let shown = text(mechanism, unit, &["--calibrate", how]);
                let widest = shown.lines().map(|line| line.chars().count()).max().unwrap();
                assert!(widest <= 100, "{widest} columns: {shown}");
                assert!(!shown.contains("\n\n\n") && !shown.ends_with("\n\n"), "{shown}");
                assert!(!shown.contains('\u{1b}') && !shown.contains(" 1 nats"), "{shown}");
                assert!(shown.contains("For example, "), "{shown}");
                let flowing = shown.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(
                    flowing.contains("two walks that differ in the third state only"),
                    "{shown}"
                );
            }
        }
    }
    // Someone who knows nothing of nats is told in chances and odds.
    let shown = text("paper", &["--radius", "4"], &[]).replace('\n', " ");
    assert!(shown.contains("moves whose chances multiply to 1 in 54.6 or better"), "{shown}");
    assert!(shown.contains("the odds between them by at most a factor 2.72"), "{shown}");
    assert!(shown.contains("10 walks, or one 10 times            epsilon 10"), "{shown}");
    assert!(shown.contains("One person's walks and releases add up"), "{shown}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = Folder::new();
    let exact = arguments("paper", &RADIUS_1, &["--calibrate", "exact"]);
    folder.refuses(exact, &["the promise is empty", "2.7334"]);
    folder.refuses(arguments("chen", &RADIUS_1, &[]), &["chen", "--substitutions 1"]);
    folder.refuses(arguments("paper", &[], &[]), &["--radius", "--substitutions"]);
}

#[test]
fn an_empty_guarantee_is_refused_with_a_command_that_works() {
    let folder = Folder::with("my walks.csv", WALKS);
    let start = ["privatize", "my walks.csv", "--chain", "credit", "--epsilon", "1"];
    let ends: [&[&str]; 5] = [
        &["--radius", "1"],
        &["--per", "1"],
        &["--per=1", "--mechanism", "sharp"],
        &["--radius=1", "--mechanism", "paper", "-o", "out put.csv"],
        &["--radius", "2.7333", "--mechanism", "sharp", "--initial", "stationary"],
    ];
    for end in ends {
        let args = [&start, end].concat();
        let message = folder.refuses(&args, &["would be empty", "2.7334", "--allow-vacuous"]);
        let advice = message.lines().find(|line| line.starts_with("  veilwalk ")).unwrap();
        let line = advice.trim().replacen("veilwalk", common::VEILWALK, 1);
        let mut shell = std::process::Command::new("sh");
        let done = shell.args(["-c", &line]).current_dir(folder.root()).output().unwrap();
        assert!(done.status.success(), "{advice}: {}", String::from_utf8_lossy(&done.stderr));
        for kept in end.iter().filter(|word| word.starts_with("--m") || word.starts_with("--i")) {
            assert!(advice.contains(kept), "{advice}");
        }
    }
    assert!(folder.path("out put.csv").exists());
}

#[test]
fn an_empty_guarantee_can_be_insisted_on_and_is_marked() {
    let folder = Folder::with("walks.csv", WALKS);
    let args = ["privatize", "walks.csv", "--chain", "credit", "--epsilon", "1", "--radius", "1"];
    let run = folder.run([&args[..], &["--allow-vacuous", "-o", "out.csv"]].concat()).success();
    let message = stderr(&run);
    assert!(message.contains("warning: --allow-vacuous"), "{message}");
    assert!(message.contains("protects nothing"), "{message}");
    let manifest: Value = serde_json::from_str(&folder.read("out.csv.manifest.json")).unwrap();
    assert_eq!(manifest["private"], false);
    assert_eq!(manifest["guarantee"]["vacuous"], true);
    let run = folder.run(["verify", "out.csv", "--chain", "credit"]).success();
    assert!(stderr(&run).contains("not private"), "{}", stderr(&run));
}

#[test]
fn on_a_chain_of_one_state_there_is_nothing_to_protect() {
    let folder = Folder::with("walks.csv", "trajectory,state\na,only\n");
    folder.write("chain.csv", "from,to,probability\nonly,only,1\n");
    let release = |unit: &[&str]| {
        let args = ["privatize", "walks.csv", "--chain", "chain.csv", "--epsilon", "1"];
        [&args[..], unit].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    for unit in [RADIUS_1, ONE_STATE] {
        folder.refuses(release(&unit), &["would be empty", "only one state", "--allow-vacuous"]);
        folder.run(release(&[&unit[..], &["--allow-vacuous"]].concat())).success();
    }
}

#[test]
fn losses_beyond_the_radius_are_marked() {
    let sentence = "A loss above epsilon 1 is one of states that are farther apart than the radius";
    let joined = |shown: &str| shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for block in [&[][..], &["--block", "2"]] {
        let shown =
            text("sharp", &["--radius", "4"], &[&["--rule", "exponential"], block].concat());
        let marked: Vec<&str> =
            shown.lines().filter(|line| line.contains("beyond the radius)")).collect();
        assert!(!marked.is_empty(), "{shown}");
        assert!(marked.iter().any(|line| line.starts_with("  by any other")), "{shown}");
        for line in shown.lines().filter(|line| line.starts_with("  by ")) {
            let worst = line[39..].split_whitespace().next().unwrap().parse::<f64>().unwrap();
            assert_eq!(marked.contains(&line), worst > 1.0, "{line}");
        }
        assert!(
            joined(&shown).contains(&format!("{sentence} of 4 nats, which the promise does not"))
        );
        // Every state is within this radius, or any replacement is what is promised about.
        for unit in [&["--radius", "24"][..], &ONE_STATE] {
            let more = [&["--rule", "exponential"], block].concat();
            let shown = text("sharp", unit, &more);
            assert!(!shown.contains("beyond the radius"), "{shown}");
        }
    }
}

#[test]
fn an_empty_guarantee_ends_with_status_one() {
    for more in [&[][..], &["--block", "2"], &["--format", "json"]] {
        let of = |radius| {
            let start = ["guarantee", "--chain", "credit", "--epsilon", "1", "--radius", radius];
            veilwalk([&start, more].concat())
        };
        of("1").code(1);
        of("4").code(0);
    }
    let help = stdout(&veilwalk(["guarantee", "--help"]).success());
    assert!(help.contains("status 1 if the guarantee is empty"), "{help}");
}

/// Whoever asked for substitutions has no radius to choose.
#[test]
fn radii_are_suggested_where_one_is_asked_for() {
    assert!(text("paper", &["--radius", "4"], &[]).contains("Radii worth choosing"));
    assert!(!text("paper", &ONE_STATE, &[]).contains("Radii"));
    assert!(!text("exponential", &ONE_STATE, &["--block", "2"]).contains("Radii"));
}

/// A stay in words is so many substitutions, and the walks of a person add up.
#[test]
fn a_promise_is_said_in_peoples_words() {
    let stay = ["--visit", "2h", "--every", "5m"];
    let said = figures("chen", &stay, &["--walks-per-person", "30"]);
    assert_eq!((&said["visit"]["substitutions"], &said["substitutions"]), (&24.into(), &24.into()));
    assert_eq!((&said["person"]["walks"], &said["person"]["epsilon"]), (&30.into(), &"30".into()));
    let plain = figures("chen", &["--substitutions", "24"], &[]);
    assert_eq!(plain["substitution_loss"], said["substitution_loss"]);
    assert!(plain.get("person").is_none() && plain.get("visit").is_none());
    let words = text("chen", &stay, &["--walks-per-person", "30"]);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with("Any one stay of up to 2h can be replaced"), "{words}");
    assert!(words.contains("add up: with 30 walks, epsilon 30 in all."), "{words}");
    let refused = veilwalk(arguments("chen", &ONE_STATE, &["--walks-per-person", "0"]));
    assert!(stderr(&refused).contains("--walks-per-person"), "{}", stderr(&refused));
    refused.code(2);
}

/// Without a ledger too it is told what the walks of one person come to; the manifest says it without the number.
#[test]
fn persons_are_told_of_without_a_ledger() {
    let walks = "trajectory,who,state\n1,ann,B\n2,ann,B\n3,bob,Baa\n3,bob,Ba\n";
    let folder = Folder::with("walks.csv", walks);
    let release = |more: &[&str]| {
        let start = ["privatize", "walks.csv", "--chain", "credit", "--epsilon", "1"];
        let rest = ["--substitutions", "1", "--person-column", "who", "-o", "out.csv"];
        let run = folder.run([&start[..], &rest, more].concat()).success();
        let manifest: Value = serde_json::from_str(&folder.read("out.csv.manifest.json")).unwrap();
        (stderr(&run), manifest["persons"].clone())
    };
    let (message, persons) = release(&[]);
    let words =
        "3 walks of 2 persons, of whom no one has more than 2. The promise is for each walk";
    assert!(message.contains(words), "{message}");
    assert!(message.contains("with 2 walks, epsilon 2 in all."), "{message}");
    assert_eq!(persons, serde_json::json!({ "losses_add_up": true }));
    let (_, persons) = release(&["--disclose-counts"]);
    assert_eq!(persons, serde_json::json!({ "losses_add_up": true, "most_walks": 2 }));
}
