//! `veilwalk score` and `veilwalk chain sample`.

mod common;

use common::{Folder, json, stderr, stdout};

fn words(line: &str) -> std::str::SplitWhitespace<'_> {
    line.split_whitespace()
}

/// Real walks that all start at one state of the chain, and releases of them.
fn folder() -> Folder {
    let folder = Folder::new();
    folder
        .run(words("chain sample credit --walks 300 --steps 12 --from B --seed 1 -o real.csv"))
        .success();
    let release = "privatize real.csv --chain credit --substitutions 1 --seed 3";
    for (epsilon, name) in [("8", "good.csv"), ("0.1", "bad.csv")] {
        let line = format!("{release} --epsilon {epsilon} --mechanism chen -o {name}");
        folder.run(words(&line)).success();
    }
    folder
}

#[test]
fn a_good_release_beats_the_chain_and_a_bad_one_does_not() {
    let folder = folder();
    let good = folder
        .run(words("score real.csv good.csv --chain credit --refined real.csv --format json"));
    let good = good.success();
    assert!(stderr(&good).contains("NOT protected"), "{}", stderr(&good));
    let good = json(&good);
    assert_eq!(
        (&good["protected"], &good["walks"], &good["states"]),
        (&false.into(), &300.into(), &3900.into())
    );
    let against = |answer: &serde_json::Value, who: &str, key: &str| {
        answer[who][key]["against_chain_alone"].as_str().unwrap().to_owned()
    };
    for key in ["visits_jsd", "od_tv", "starts_tv", "moves_jsd", "query_error"] {
        assert_eq!(against(&good, "release", key), "better", "{key}: {good:#}");
        assert_eq!(
            good["refined"][key]["value"].as_f64().unwrap(),
            0.0,
            "the real walks themselves"
        );
    }
    assert_eq!(good["refined"]["patterns_f1"]["value"], 1.0);
    assert!(good["verdict"][0].as_str().unwrap().starts_with("The release beats the chain alone"));
    let bad = folder.run(words("score real.csv bad.csv --chain credit --format json")).success();
    let bad = json(&bad);
    let value =
        |answer: &serde_json::Value, key: &str| answer["release"][key]["value"].as_f64().unwrap();
    assert!(value(&bad, "visits_jsd") > 10.0 * value(&good, "visits_jsd"), "{bad:#}");
    let text = stdout(&folder.run(words("score real.csv bad.csv --chain credit")).success());
    for word in
        ["chain alone", "release", "visits, divergence", "patterns, F1", "The release beats"]
    {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
}

/// Files in each other's place, one file twice, and real walks that are called a release.
#[test]
fn files_that_stand_in_the_wrong_place_are_noticed() {
    let folder = folder();
    folder.refuses(
        words("score good.csv real.csv --chain credit"),
        &["good.csv: this is a release", "real.csv has none", "the real walks first"],
    );
    folder.refuses(words("score real.csv real.csv --chain credit"), &["the same file twice"]);
    folder.write("copy.csv", folder.read("real.csv"));
    let said = stderr(&folder.run(words("score real.csv copy.csv --chain credit")).success());
    assert!(said.contains("copy.csv: these are the real walks themselves"), "{said}");
    let said = stderr(&folder.run(words("score bad.csv good.csv --chain credit")).success());
    assert!(said.contains("bad.csv: this is taken for the real walks"), "{said}");
}

/// Counts of the real walks at the price of the release stand beside it, where it says what it promised.
#[test]
fn laplace_counts_stand_beside_the_release() {
    let folder = folder();
    let counts = |release: &str| {
        let line = format!("score real.csv {release} --chain credit --format json");
        json(&folder.run(words(&line)).success())["laplace_counts"].clone()
    };
    let (good, bad) = (counts("good.csv"), counts("bad.csv"));
    let value = |counts: &serde_json::Value, key: &str| counts[key]["value"].as_f64().unwrap();
    for key in ["visits_tv", "moves_tv", "starts_tv", "od_tv"] {
        assert!(value(&good, key) < value(&bad, key), "{key}: {good} {bad}");
    }
    // 300 first states with noise of two entries at a quarter of 8, so about 1 in size each.
    assert!(value(&good, "starts_tv") < 0.05, "{good}");
    assert!(good.get("patterns_f1").is_none() && good.get("lengths_jsd").is_none(), "{good}");
    let text = stdout(&folder.run(words("score real.csv good.csv --chain credit")).success());
    for word in ["Laplace counts", "The Laplace counts beat the chain alone"] {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
    std::fs::remove_file(folder.path("good.csv.manifest.json")).unwrap();
    assert!(counts("good.csv").is_null());
}

#[test]
fn an_estimate_is_scored_by_what_it_says() {
    let folder = folder();
    let estimate = r#"{"walks": 300, "iterations": 1, "log_likelihood": -1.0,
        "visits": [{"state": "B", "share": 0.6}, {"state": "Def", "share": 0.4}]}"#;
    folder.write("estimate.json", estimate);
    let line = "score real.csv good.csv --chain credit --estimate estimate.json --format json";
    let answer = json(&folder.run(words(line)).success());
    assert!(answer["estimate"]["visits_tv"]["value"].as_f64().unwrap() < 1.0);
    assert!(answer["estimate"].get("moves_tv").is_none());
    folder.write("estimate.json", r#"{"visits": [{"state": "Bee", "share": 1}]}"#);
    folder.refuses(words(line), &["estimate.json", "\"Bee\" is not a state"]);
    folder.write("estimate.json", "visits");
    folder.refuses(words(line), &["estimate.json", "not JSON"]);
}

#[test]
fn files_that_do_not_fit_are_named() {
    let folder = folder();
    folder.refuses(words("score no.csv good.csv --chain credit"), &["no.csv"]);
    folder.refuses(
        words("score real.csv good.csv --chain downtown"),
        &["real.csv, line 2", "--unknown-state"],
    );
    folder.write("empty.csv", "trajectory,state\n");
    folder.refuses(words("score empty.csv good.csv --chain credit"), &["empty.csv", "no walks"]);
    folder.refuses(words("score real.csv empty.csv --chain credit"), &["no walks in the release"]);
    let renamed = folder.read("good.csv").replace("\n0,", "\nzero,");
    folder.write("renamed.csv", renamed);
    let run = folder.run(words("score real.csv renamed.csv --chain credit")).success();
    assert!(stderr(&run).contains("renamed.csv: the walks have other names"), "{}", stderr(&run));
}

#[test]
fn a_chain_makes_up_walks_in_every_format() {
    let folder = Folder::new();
    let sample = |more: &str| folder.run(words(&format!("chain sample credit {more}"))).success();
    let text = stdout(&sample("--walks 3 --steps 2 --seed 5 -o -"));
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!((rows[0], rows.len()), ("trajectory,step,state", 1 + 3 * 3));
    assert!(rows[4].starts_with("1,0,"));
    assert_eq!(text, stdout(&sample("--walks 3 --steps 2 --seed 5 -o -")));
    assert_ne!(text, stdout(&sample("--walks 3 --steps 2 --seed 6 -o -")));
    // The first walks do not depend on how many there are.
    assert!(stdout(&sample("--walks 4 --steps 2 --seed 5 -o -")).starts_with(&text));
    let count = |file: &str| {
        let line = format!("chain fit {file} -o fitted.csv --largest-component --counts");
        let run = folder.run(words(&line)).success();
        let message = stderr(&run);
        assert!(
            message.contains("from 60000 moves in 3000 walks")
                || message.contains("from 60,000 moves in 3,000 walks"),
            "{message}"
        );
        folder.read("fitted.csv")
    };
    let mut counts = Vec::new();
    for name in ["w.csv", "w.tsv.gz", "w.ndjson.zst", "w.parquet", "w.arrow", "w.arrows"] {
        let message = stderr(&sample(&format!("--walks 3000 --seed 5 --from B -o {name}")));
        assert!(
            message.contains(&format!("{name}: 3,000 walks of 20 steps each"))
                || message.contains("3000 walks"),
            "{message}"
        );
        counts.push(count(name));
    }
    assert!(counts.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(counts[0].starts_with("from,to,count\n"));
    // A release can be made of them, and the chain allows every move.
    let run = folder.run(words("privatize w.csv --chain credit --epsilon 1 --radius 3.5 -o r.csv"));
    assert!(!stderr(&run.success()).contains("not possible under the chain"));
    folder.refuses(words("chain sample credit --from X -o x.csv"), &["--from", "\"X\""]);
    folder.refuses(words("chain sample credit --walks 0 -o x.csv"), &["--walks"]);
    folder.refuses(words("chain sample no.csv -o x.csv"), &["no.csv"]);
}
