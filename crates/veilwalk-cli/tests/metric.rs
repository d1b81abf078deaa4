//! Promises in metres: `--metric`, `--radius 200m` and `--per 100m`, through every command.

mod common;

use std::fmt::Write;

use common::{Folder, json, stderr, stdout};
use serde_json::Value;

const SIDE: usize = 4;

/// Crossings 100 m apart on a square grid, some streets one way.
fn streets() -> Folder {
    let name = |at: usize| format!("r{}c{}", at / SIDE, at % SIDE);
    let mut moves = "from,to,count,length\n".to_owned();
    let mut places = "state,latitude,longitude\n".to_owned();
    for at in 0..SIDE * SIDE {
        let east = (at % SIDE + 1 < SIDE).then_some(at + 1);
        let south = (at / SIDE + 1 < SIDE).then_some(at + SIDE);
        for there in [east, south].into_iter().flatten() {
            let _ = writeln!(moves, "{},{},2,100", name(at), name(there));
            // One street is one way, and its way back is short by streets.
            if (at, there) != (5, 6) {
                let _ = writeln!(moves, "{},{},1,100", name(there), name(at));
            }
        }
        let _ = writeln!(moves, "{0},{0},1,0", name(at));
        // A thousandth of a degree of latitude is 111 m, and of longitude here 82 m.
        let (north, east) =
            (42.5 + 0.0009 * (at / SIDE) as f64, 1.5 + 0.00122 * (at % SIDE) as f64);
        let _ = writeln!(places, "{},{north:.7},{east:.7}", name(at));
    }
    let folder = Folder::with("streets.csv", moves);
    folder.write("places.csv", places);
    let walk = ["r0c0", "r0c1", "r1c1", "r1c2", "r1c3", "r2c3", "r2c3"];
    let rows: String = walk.iter().map(|state| format!("a,{state}\n")).collect();
    folder.write("walks.csv", format!("trajectory,state\n{rows}"));
    folder.write("key", [7; 32]);
    folder
}

const CHAIN: [&str; 4] = ["--chain", "streets.csv", "--places", "places.csv"];
const KEY: [&str; 4] = ["--key-file", "key", "--release-id", "00112233445566778899aabbccddeeff"];

fn with<'a>(parts: &[&[&'a str]]) -> Vec<&'a str> {
    parts.concat()
}

fn figures(folder: &Folder, command: &str, more: &[&str]) -> Value {
    json(&folder.run(with(&[&[command], &CHAIN, more, &["--format", "json"]])))
}

#[test]
fn a_guarantee_speaks_of_metres() {
    let folder = streets();
    let promise = ["--epsilon", "1", "--radius", "200m", "--mechanism", "sharp"];
    let shown = stdout(&folder.run(with(&[&["guarantee"], &CHAIN, &promise])).success());
    for words in [
        "epsilon 1 within a radius of 200 m, on a chain of 16 states",
        "the length of the shortest way along the streets, whatever direction they are for",
        "per metre, any pair",
        "Radii worth choosing, in metres",
        "  protects something                   100m\n",
    ] {
        assert!(shown.replace('\n', " ").contains(&words.replace('\n', " ")), "{words}: {shown}");
    }
    assert!(!shown.contains(" nat"), "{shown}");
    let answer = figures(&folder, "guarantee", &promise);
    assert_eq!((&answer["radius_metres"], &answer["metric"]), (&200.0.into(), &"street".into()));
    assert_eq!(answer["smallest_radius_metres"], 100.0);
    assert_eq!(answer["suggested_radii"]["any_state"], 600.0);
    let per_metre = &answer["loss_per_metre"];
    let (exact, bound) =
        (per_metre["exact"].as_f64().unwrap(), per_metre["bound"].as_f64().unwrap());
    assert!(exact <= bound && (bound - 0.005).abs() < 1e-9, "{per_metre}");
    assert!(answer.get("radius_nats").is_none());
    // The same in the words of rates, and in kilometres.
    for flags in [["--per", "200m"], ["--radius", "0.2km"], ["--radius", "200 m"]] {
        let same = with(&[&["--epsilon", "1", "--mechanism", "sharp"], &flags]);
        assert_eq!(figures(&folder, "guarantee", &same), answer, "{flags:?}");
    }
    // Straight lines are shorter.
    let straight = figures(&folder, "guarantee", &with(&[&promise, &["--metric", "line"]]));
    assert_eq!(straight["metric"], "line");
    let any = straight["suggested_radii"]["any_state"].as_f64().unwrap();
    assert!((420.0..428.0).contains(&any), "{any}");
}

#[test]
fn a_release_in_metres_says_so_and_is_verified() {
    let folder = streets();
    for (mechanism, out) in [("tight", "tight.csv"), ("sharp", "sharp.csv"), ("cell", "cell.csv")] {
        let promise = ["--epsilon", "4", "--per", "100m", "--mechanism", mechanism, "-o", out];
        folder.run(with(&[&["privatize", "walks.csv"], &CHAIN, &promise, &KEY])).success();
        let manifest: Value =
            serde_json::from_str(&folder.read(&format!("{out}.manifest.json"))).unwrap();
        assert_eq!(manifest["promise"]["radius"], "100m");
        assert_eq!(manifest["metric"]["name"], "street");
        assert_eq!(manifest["guarantee"]["smallest_radius_metres"], 100.0);
        // The manifest says which distances are meant.
        folder.run(with(&[&["verify", out], &CHAIN])).success();
        let refused =
            folder.run(with(&[&["verify", out], &CHAIN, &["--metric", "nats"]])).failure();
        assert!(stderr(&refused).contains("released with distances by street"));
        let searched =
            ["--epsilon", "4", "--per", "100m", "--distances", "on-demand", "-o", "b.csv"];
        if mechanism == "sharp" {
            let named = ["--mechanism", mechanism];
            let args = with(&[&["privatize", "walks.csv"], &CHAIN, &searched, &named, &KEY]);
            folder.run(args).success();
            assert_eq!(folder.read("b.csv"), folder.read(out));
        }
    }
    let refined = folder.run(with(&[&["refine", "tight.csv"], &CHAIN, &["-o", "refined.csv"]]));
    let said = stderr(&refined.success());
    assert!(said.contains(" m from the real states") && !said.contains("nats"), "{said}");
    let estimated = ["--what", "visits", "--format", "json"];
    folder.run(with(&[&["estimate", "tight.csv"], &CHAIN, &estimated])).success();
}

#[test]
fn a_model_keeps_its_metric() {
    let folder = streets();
    let promise = ["--epsilon", "4", "--radius", "100m", "--mechanism", "cell"];
    let compile = ["chain", "compile", "streets.csv", "--places", "places.csv"];
    folder.run(with(&[&compile, &["-o", "street.model", "--metric", "street"]])).success();
    folder.run(with(&[&compile, &["-o", "cell.model"], &promise])).success();
    let release = |chain: &[&str], out: &str| {
        let args = with(&[&["privatize", "walks.csv"], chain, &promise, &KEY, &["-o", out]]);
        folder.run(args).success();
        folder.read(out)
    };
    let expected = release(&CHAIN, "a.csv");
    for model in ["street.model", "cell.model"] {
        assert_eq!(release(&["--chain", model], "b.csv"), expected, "{model}");
        folder.run(["chain", "check", model, "--verify"]).success();
        folder.run(["verify", "a.csv", "--chain", model]).success();
        let shown = stdout(&folder.run(["chain", "check", model]).success());
        assert!(shown.contains("600 m, from") && shown.contains("street"), "{shown}");
    }
    let other = ["guarantee", "--chain", "street.model", "--epsilon", "1", "--radius", "3.5"];
    let refused = stderr(&folder.run(other).failure());
    assert!(refused.contains("distances of this model are in metres"), "{refused}");
    // A mechanism file knows it too.
    let tuned = ["--epsilon", "4", "--per", "100m", "--steps", "5", "-o", "tuned.json"];
    let shown = folder.run(with(&[&["tune"], &CHAIN, &tuned])).success();
    assert!(stdout(&shown).contains("metres off") && stdout(&shown).contains("--radius 100m"));
    let file = ["--mechanism", "tuned.json"];
    folder.run(with(&[&["guarantee"], &CHAIN, &file])).success();
    let line = with(&[&["guarantee"], &CHAIN, &file, &["--metric", "nats"]]);
    assert!(stderr(&folder.run(line).failure()).contains("distances of this model are in nats"));
}

#[test]
fn every_command_speaks_of_metres() {
    let folder = streets();
    let promise = ["--epsilon", "2", "--per", "100m", "--mechanism", "sharp"];
    let analyzed = with(&[&["analyze"], &CHAIN, &promise, &["--steps", "10", "--levels", "150"]]);
    let shown = stdout(&folder.run(analyzed).success());
    assert!(shown.contains("distance (metres)") && shown.contains(" m "), "{shown}");
    assert!(shown.contains("150"), "{shown}");
    let figures = figures(&folder, "analyze", &with(&[&promise, &["--steps", "10"]]));
    let mean = figures["mean_distance_metres"].as_f64().unwrap();
    assert!((1.0..600.0).contains(&mean), "{mean}");
    assert!(figures["entropy_nats"]["released"].as_f64().unwrap() < 3.0);
    let compared = ["--epsilon", "2", "--radius", "100m", "--steps", "5", "--no-blocks"];
    let mechanisms = ["--mechanisms", "sharp,cell,tight"];
    let shown = folder.run(with(&[&["compare"], &CHAIN, &compared, &mechanisms])).success();
    assert!(stdout(&shown).contains("radius 100 m"), "{}", stdout(&shown));
    let audited = with(&[&["audit"], &CHAIN, &promise, &["--draws", "2000", "--seed", "1"]]);
    folder.run(audited).success();
    let attacked = with(&[&["attack"], &CHAIN, &promise, &["--walks", "20", "--steps", "5"]]);
    folder.run(attacked).success();
    let checked = ["chain", "check", "streets.csv", "--metric", "street"];
    assert!(stdout(&folder.run(checked).success()).contains("600 m, from"));
}

#[test]
fn what_does_not_go_together_is_refused_with_what_to_do() {
    let folder = streets();
    let refused = |args: &[&str]| stderr(&folder.run(args.to_vec()).failure());
    let base = ["guarantee", "--chain", "streets.csv", "--epsilon", "1"];
    let nats = refused(&with(&[&base, &["--radius", "2", "--metric", "street"]]));
    assert!(nats.contains("in nats") && nats.contains("--radius in metres"), "{nats}");
    let metres = refused(&with(&[&base, &["--radius", "2m", "--metric", "nats"]]));
    assert!(metres.contains("--metric"), "{metres}");
    let line = refused(&with(&[&base, &["--radius", "2m", "--metric", "line"]]));
    assert!(line.contains("coordinates") && line.contains("--places"), "{line}");
    let bare = ["guarantee", "--chain", "credit", "--epsilon", "1", "--radius", "200m"];
    let bare = refused(&bare);
    assert!(bare.contains("neither lengths nor coordinates"), "{bare}");
    let units = refused(&with(&[&base, &["--radius", "12 units"]]));
    assert!(units.contains("--metric"), "{units}");
    let unknown = refused(&with(&[&base, &["--radius", "2m", "--metric", "miles"]]));
    assert!(unknown.contains("give nats, street, line"), "{unknown}");
    let both = with(&[&base, &["--radius", "2m", "--per", "2m"]]);
    folder.run(both).failure();
}

/// Distances of one's own on the credit chain: how many grades lie between two.
fn grades(wrong: Option<&str>) -> String {
    let order = ["Aaa", "Aa", "A", "Baa", "Ba", "B", "Caa", "Ca/C", "Def"];
    let mut text = "from,to,distance\n".to_owned();
    for (i, from) in order.iter().enumerate() {
        for (j, to) in order.iter().enumerate().skip(i + 1) {
            let _ = writeln!(text, "{from},{to},{}", j - i);
        }
    }
    wrong.map_or(text.clone(), |row| {
        let pair = &row[..=row.rfind(',').unwrap()];
        text.lines()
            .map(|line| if line.starts_with(pair) { row } else { line })
            .collect::<Vec<_>>()
            .join("\n")
    })
}

#[test]
fn a_table_of_distances_is_checked_and_used() {
    let folder = Folder::with("grades.csv", grades(None));
    folder.write("walks.csv", "trajectory,state\na,Baa\na,Ba\na,B\n");
    let chain = ["--chain", "credit", "--metric", "grades.csv"];
    let promise = ["--epsilon", "1", "--radius", "2 units"];
    let shown = stdout(&folder.run(with(&[&["guarantee"], &chain, &promise])).success());
    assert!(shown.contains("within a radius of 2 units"), "{shown}");
    folder.run(with(&[&["privatize", "walks.csv"], &chain, &promise, &["-o", "r.csv"]])).success();
    folder.run(with(&[&["verify", "r.csv"], &chain])).success();
    let without = stderr(&folder.run(["verify", "r.csv", "--chain", "credit"]).failure());
    assert!(without.contains("--metric FILE"), "{without}");
    let compiled = ["chain", "compile", "credit", "--metric", "grades.csv", "-o", "m.model"];
    folder.run(compiled).success();
    folder.run(["verify", "r.csv", "--chain", "m.model"]).success();
    folder.run(["chain", "check", "m.model", "--verify"]).success();
    // A radius without a unit is in nats.
    let bare = with(&[&["guarantee"], &chain, &["--epsilon", "1", "--radius", "2"]]);
    assert!(stderr(&folder.run(bare).failure()).contains("in units"));
    for (row, words) in [
        ("Aaa,A,3", ["Aaa", "\"A\"", "longer than over"]),
        ("Aaa,A,-1", ["line 3", "negative", "-1"]),
        ("Aaa,A,0.12345", ["line 3", "three decimals", "0.12345"]),
        ("Aaa,A,far", ["line 3", "not a number", "far"]),
    ] {
        folder.write("wrong.csv", grades(Some(row)));
        let args = ["chain", "check", "credit", "--metric", "wrong.csv"];
        let refused = stderr(&folder.run(args).failure());
        assert!(words.iter().all(|word| refused.contains(word)), "{row}: {refused}");
    }
    folder.write("wrong.csv", "from,to,distance\nAaa,Aa,1\nAa,Aaa,2\n");
    let args = ["chain", "check", "credit", "--metric", "wrong.csv"];
    assert!(stderr(&folder.run(args).failure()).contains("line 2 says"));
    folder.write("wrong.csv", "from,to,distance\nAaa,Aa,1\n");
    assert!(stderr(&folder.run(args).failure()).contains("there is no distance between"));
    folder.write("wrong.csv", "from,to,minutes\nAaa,Aa,1\n");
    assert!(stderr(&folder.run(args).failure()).contains("from,to,metres"));
}
