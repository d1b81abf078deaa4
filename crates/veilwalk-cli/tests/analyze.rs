//! `veilwalk analyze`: known figures, keys, real walks, simulation and refusals.

mod common;

use common::{Folder, json, stderr, stdout, veilwalk};
use serde_json::Value;

/// Flags that keep what a test does not look at short.
const BRIEF: &str = "--levels 2 --eta 5";

fn analysis(flags: &str) -> Value {
    json(&veilwalk(format!("analyze {flags} --format json").split_whitespace()).success())
}

fn near(value: &Value, known: f64, relative: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"));
    assert!((value / known - 1.0).abs() < relative, "{value} is not {known}");
}

#[test]
fn the_exceedance_table() {
    let known = [
        ("paper --radius 1", [0.079301, 0.0075241, 1.6694e-4, 4.3579e-6]),
        ("exponential --radius 1", [0.122159, 0.0118401, 3.2297e-4, 6.4174e-6]),
        ("chen --substitutions 1", [0.331120, 0.180178, 0.0724526, 0.0106249]),
    ];
    for (mechanism, known) in known {
        let answer = analysis(&format!(
            "--chain credit --mechanism {mechanism} --epsilon 1 --from Caa --steps 100 --eta 5"
        ));
        assert_eq!(answer["steps"], 100);
        let levels = answer["exceedance"].as_array().unwrap();
        assert_eq!(levels.len(), 4);
        for ((level, known), nats) in levels.iter().zip(known).zip([2.0, 5.0, 10.0, 15.0]) {
            assert_eq!(level["nats"], nats);
            near(&level["per_step"], known, 2e-5);
            assert!(level["ever"].as_f64() > level["per_step"].as_f64());
            assert_eq!(level.as_object().unwrap().len(), 3, "{level}");
        }
        // A corrected bound is one.
        for (level, bound) in
            levels.iter().zip(answer["bounds"]["error"]["levels"].as_array().unwrap())
        {
            assert!(bound["corrected"].as_f64() >= level["per_step"].as_f64());
        }
    }
}

#[test]
fn the_keys() {
    let answer = analysis(&format!(
        "--chain credit --mechanism paper --epsilon 1 --radius 1 --from Caa {BRIEF}"
    ));
    for key in ["released", "real", "rate"] {
        assert!(answer["entropy_nats"][key].is_f64(), "{key}");
    }
    near(&answer["entropy_nats"]["rate"], 0.002_112_53, 1e-4);
    near(&answer["drift"]["attractive"], 72.0 / 81.0, 1e-12);
    near(&answer["drift"]["corrected"], 30.0 / 81.0, 1e-12);
    assert!(answer["drift"]["published"].is_f64() && answer["drift"]["b_epsilon_nats"].is_f64());
    for key in ["error", "entropy", "typicality"] {
        assert!(answer["bounds"][key]["published_note"].as_str().unwrap().contains("not valid"));
    }
    assert_eq!(answer["long_run"]["convergence"]["converged"], true);
    assert_eq!(answer["mixing_time"]["pair"]["kind"], "exact");
    assert!(["exact", "enclosed"].contains(&answer["typical"][0]["known"].as_str().unwrap()));
    assert_eq!(answer["left_out"], serde_json::json!([]));
    assert_eq!(answer["simulated"], Value::Null);
}

#[test]
#[expect(clippy::approx_constant, reason = "0.318 is a distance here, not 1/π")]
fn distances_and_wrong_states() {
    let known = [("paper", 0.298, 0.855), ("sharp", 0.095, 0.318), ("cell", 0.0554, 0.1712)];
    for (mechanism, wrong, distance) in known {
        let answer = analysis(&format!(
            "--chain credit --mechanism {mechanism} --epsilon 1 --radius 1 --from Baa {BRIEF}"
        ));
        near(&answer["wrong_state_share"], wrong, 4e-3);
        near(&answer["mean_distance_nats"], distance, 2e-3);
    }
}

#[test]
fn simulated_figures_are_near_the_exact_ones() {
    let answer = analysis(
        "--chain credit --epsilon 1 --radius 3.5 --mechanism cell --from Baa --steps 20 --simulate 20000 \
         --levels 2,5",
    );
    let simulated = &answer["simulated"];
    assert_eq!(simulated["walks"], 20_000);
    let agree = |exact: &Value, estimate: &Value| {
        let number = |value: &Value| value.as_f64().unwrap();
        let apart = (number(exact) - number(&estimate["mean"])).abs();
        assert!(apart <= 5.0 * number(&estimate["standard_error"]), "{exact} {estimate}");
    };
    for key in ["mean_distance_nats", "wrong_state_share"] {
        agree(&answer[key], &simulated[key]);
    }
    agree(&answer["entropy_nats"]["released"], &simulated["entropy_nats"]["released"]);
    for place in 0..2 {
        for key in ["per_step", "ever"] {
            agree(&answer["exceedance"][place][key], &simulated["exceedance"][place][key]);
        }
    }
}

#[test]
fn where_no_enclosure_is_affordable_typicality_is_simulated() {
    let answer = analysis("--chain downtown --epsilon 1 --radius 3.5 --eta 0.1 --levels 5");
    let typical = &answer["typical"][0];
    assert_eq!(typical["known"], "simulated");
    assert!(typical["standard_error"].as_f64() > Some(0.0));
}

#[test]
fn given_walks_are_averaged_by_their_steps() {
    let rows = "trajectory,state\na,B\na,B\na,Caa\na,Ca/C\nb,Baa\nb,Baa\nalone,Aaa\n";
    let folder = Folder::with("w.csv", rows);
    folder.write("a.csv", "trajectory,state\na,B\na,B\na,Caa\na,Ca/C\n");
    folder.write("b.ndjson", "{\"trajectory\":\"b\",\"state\":\"Baa\"}\n".repeat(2));
    let of = |file: &str| {
        let flags = format!(
            "analyze --chain credit --mechanism sharp --epsilon 1 --radius 3.5 --start first \
             --real {file} --levels 2 --eta 0.5 --format json"
        );
        let run = folder.run(flags.split_whitespace()).success();
        assert!(stderr(&run).contains("NOT protected"), "{}", stderr(&run));
        json(&run)
    };
    let [all, a, b] = ["w.csv", "a.csv", "b.ndjson"].map(of);
    assert_eq!((&all["steps"], &a["steps"], &b["steps"]), (&4.into(), &3.into(), &1.into()));
    let number = |value: &Value| value.as_f64().unwrap();
    for key in ["mean_distance_nats", "wrong_state_share"] {
        let known = (3.0 * number(&a[key]) + number(&b[key])) / 4.0;
        near(&all[key], known, 1e-12);
    }
    // Of whole walks, each counts the same; the one of a single state is never far off.
    let ever = |answer: &Value| number(&answer["exceedance"][0]["ever"]);
    assert!((ever(&all) - (ever(&a) + ever(&b)) / 3.0).abs() < 1e-12);
    let at_least = |answer: &Value| number(&answer["typical"][0]["at_least"]);
    assert!((at_least(&all) - (at_least(&a) + at_least(&b)) / 2.0).abs() < 1e-3);
    assert_eq!(all["bounds"]["error"], Value::Null);
    assert!(all["left_out"][0]["what"].as_str().unwrap().contains("bounds"));
}

#[test]
fn a_move_that_the_chain_does_not_have() {
    let folder = Folder::with("w.csv", "trajectory,state\na,Def\na,Aaa\na,Aaa\n");
    let flags = "analyze --chain credit --epsilon 1 --radius 3.5 --mechanism cell --real w.csv --levels 2 --eta 0.5";
    let run = folder.run(flags.split(' ')).success();
    assert!(stdout(&run).contains("1 move of the real walks not possible under the chain"));
    let answer = json(&folder.run(format!("{flags} --format json").split(' ')).success());
    assert_eq!(
        (&answer["impossible_moves"], &answer["entropy_nats"]["real"]),
        (&1.into(), &Value::Null)
    );
}

#[test]
fn states_that_the_chain_does_not_have_can_be_left_out() {
    let folder = Folder::with("odd.csv", "trajectory,state\na,B\na,Bax\na,Ba\nb,Zzz\n");
    folder.write("even.csv", "trajectory,state\na,B\na,Ba\n");
    let flags = |name: &str| {
        format!("analyze --chain credit --epsilon 1 --radius 3.5 --format json --real {name}.csv")
    };
    let skip = flags("odd") + " --unknown-state skip";
    let run = folder.run(skip.split(' ')).success();
    let said = stderr(&run);
    assert!(said.contains("warning: 2 rows left out because the state is not one"), "{said}");
    let even = json(&folder.run(flags("even").split(' ')).success());
    let odd = json(&run);
    for key in ["mean_distance_nats", "wrong_state_share", "exceedance", "impossible_moves"] {
        assert_eq!(odd[key], even[key], "{key}");
    }
    let own = "analyze --chain credit --epsilon 1 --radius 3.5 --unknown-state skip";
    folder.refuses(own.split(' '), &["--real"]);
}

#[test]
fn a_periodic_chain_has_no_long_run_and_says_so() {
    let folder = Folder::with("c.csv", ",a,b,c\na,0,0.5,0.5\nb,1,0,0\nc,1,0,0\n");
    let flags = "analyze --chain c.csv --mechanism paper --epsilon 1 --radius 1 --steps 10";
    let run = folder.run(flags.split(' ')).success();
    assert!(stdout(&run).contains("the long run: the chain has period 2"), "{}", stdout(&run));
}

#[test]
fn text_is_narrow_and_has_units() {
    let flags = "analyze --chain credit --mechanism paper --epsilon 1 --radius 1 --from Caa \
                 --simulate 1000 --eta 5";
    let run = veilwalk(flags.split_whitespace()).success();
    let shown = stdout(&run);
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    for words in
        ["wrong states              30.22 %", "0.6242 nats", "0.07930", "Simulated beside exact"]
    {
        assert!(shown.contains(words), "no {words:?} in\n{shown}");
    }
    assert!(stderr(&run).contains("protects nothing"), "{}", stderr(&run));
}

#[test]
fn figures_of_every_step() {
    let flags = "--chain credit --epsilon 1 --radius 3.5 --mechanism cell --steps 5 --by-step --eta 5 --levels 2";
    let answer = analysis(flags);
    assert_eq!(answer["by_step"]["distance_nats"].as_array().unwrap().len(), 6);
    assert_eq!(answer["exceedance"][0]["at_step"].as_array().unwrap().len(), 6);
}

#[test]
fn levels_go_by_the_diameter_of_the_chain() {
    let levels = |chain: &str, folder: &Folder| {
        let flags = format!(
            "analyze --chain {chain} --epsilon 1 --substitutions 1 --mechanism cell --steps 2"
        );
        let run = folder.run(format!("{flags} --format json").split(' ')).success();
        let levels = json(&run)["exceedance"].as_array().unwrap().clone();
        levels.iter().map(|level| level["nats"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    // A diameter of ln 2, about 0.69 nats.
    let folder = Folder::with("small.csv", ",a,b\na,0.5,0.5\nb,0.5,0.5\n");
    assert_eq!(levels("credit", &folder), [2.0, 5.0, 10.0, 15.0]);
    assert_eq!(levels("small.csv", &folder), [0.06, 0.15, 0.3, 0.4]);
    let compare = "compare --chain small.csv --epsilon 1 --steps 2 --no-blocks";
    let shown = stdout(&folder.run(compare.split(' ')).success());
    assert!(shown.contains("over 0.15 nats"), "{shown}");
    let shown = stdout(&folder.run(format!("{compare} --level 1").split(' ')).success());
    assert!(shown.contains("over 1 nat ") && !shown.contains(" 1 nats"), "{shown}");
}

#[test]
fn refusals() {
    let folder = Folder::with("empty.csv", "");
    folder.write("header.csv", "trajectory,state\n");
    folder.write("short.csv", "trajectory,state\na,Baa\nb,Baa\n");
    folder.write("odd.csv", "trajectory,state\na,Baa\na,Bax\n");
    let cases: [(&str, &[&str]); 9] = [
        ("--from Nowhere", &["--from", "Nowhere", "give one of its states"]),
        ("--steps 0", &["--steps", "a whole number from 1 up"]),
        ("--steps -3", &["--steps", "a whole number from 1 up"]),
        ("--levels 2,x", &["--levels", "give a number of nats from 0 up"]),
        ("--real empty.csv", &["empty.csv", "empty"]),
        ("--real header.csv", &["header.csv", "no step to analyze", "two states or more"]),
        ("--real short.csv", &["2 walks"]),
        ("--real odd.csv", &["odd.csv, line 3", "Bax"]),
        ("--real odd.csv --from Baa", &["cannot be used with"]),
    ];
    for (flags, words) in cases {
        let line = format!("analyze --chain credit --epsilon 1 --radius 3.5 {flags}");
        folder.refuses(line.split(' '), words);
    }
}
