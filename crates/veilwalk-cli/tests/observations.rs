//! Observations by the command: released, verified, told in words, and refused when changed.

mod common;

use common::released::{MANIFEST, VERIFY, change_manifest, forge, released_of};
use common::{CELL, Folder, both, json, stderr, stdout};
use serde_json::Value;

const PROMISE: [&str; 6] = ["--chain", "credit", "--epsilon", "2", "--radius", "3.5"];

/// Two walks that alternate.
fn walks() -> String {
    let states = ["Baa", "Ba", "B", "Caa", "B"];
    let row = |i: usize| format!("w{},{},{}\n", i % 2, states[i * i % 5], 2000 + i);
    "trajectory,state,year\n".to_owned() + &(0..60).map(row).collect::<String>()
}

fn released(more: &[&str]) -> Folder {
    released_of(&walks(), &PROMISE, more)
}

/// What does not go with moves is called by the flag that asked for it.
#[test]
fn a_flag_that_nobody_gave_is_not_named() {
    for (flag, value, others) in [
        ("--lag", "2", ["--track", "--typicality"]),
        ("--track", "states", ["--lag", "--typicality"]),
        ("--typicality", "0.1", ["--track", "--lag"]),
    ] {
        let line = ["kernel", "--previous", "B", "--real", "B", flag, value];
        let message = Folder::new().refuses(both(&line, &CELL), &[flag, "releases what it draws"]);
        assert!(!others.iter().any(|other| message.contains(other)), "{message}");
    }
}

#[test]
fn every_start_and_lag_and_format_verifies() {
    for mechanism in ["tight", "believed"] {
        for start in ["private", "initial", "first", "B"] {
            for lag in ["0", "1", "4", "100"] {
                let flags = ["--mechanism", mechanism, "--start", start, "--lag", lag];
                let folder = released(&flags);
                let shown = stdout(&folder.run(VERIFY).success());
                assert!(shown.contains("every walk the one that its observations make"), "{shown}");
                let manifest: Value = serde_json::from_str(&folder.read(MANIFEST)).unwrap();
                assert_eq!(manifest["start"], start);
                assert_eq!(manifest["mechanism"]["lag"].to_string(), lag);
            }
        }
        for out in ["o.tsv", "o.ndjson.gz", "o.parquet", "o.arrow", "o.arrows"] {
            let folder = released(&["--mechanism", mechanism]);
            let more = ["--mechanism", mechanism, "--lag", "2", "--track", "states"];
            let args = both(&["privatize", "walks.csv", "--keep", "year", "-o", out], &PROMISE);
            folder.run(args.iter().map(String::as_str).chain(more)).success();
            folder.run(["verify", out, "--chain", "credit"]).success();
        }
    }
}

#[test]
fn what_the_manifest_says_of_observations() {
    let flags = "--mechanism tight --weights even --lag 2 --track states --typicality 1/3";
    let folder = released(&flags.split(' ').collect::<Vec<_>>());
    let manifest: Value = serde_json::from_str(&folder.read(MANIFEST)).unwrap();
    let told = &manifest["mechanism"];
    for (key, value) in [
        ("candidates", "states"),
        ("weights", "even"),
        ("weights_found", "even"),
        ("track", "states"),
        ("typicality", "1/3"),
    ] {
        assert_eq!(told[key], value, "{told}");
    }
    assert_eq!(told["lag"], 2);
    assert_eq!(told.get("believed_from"), None);
    let folder = released(&["--believed-from", "0.25"]);
    let manifest: Value = serde_json::from_str(&folder.read(MANIFEST)).unwrap();
    assert_eq!(manifest["mechanism"]["candidates"], "believed");
    assert_eq!(manifest["mechanism"]["believed_from"], "0.25");
    assert_eq!(manifest["mechanism"].get("weights_found"), None);
}

/// The rows of a release.
fn rows(folder: &Folder) -> Vec<Vec<String>> {
    let fields = |line: &str| line.split(',').map(str::to_owned).collect();
    folder.read("out.csv").lines().map(fields).collect()
}

fn joined(rows: &[Vec<String>]) -> String {
    rows.iter().map(|row| row.join(",") + "\n").collect()
}

#[test]
fn a_walk_that_its_observations_do_not_make_is_refused() {
    for lag in ["0", "3"] {
        let folder = released(&["--mechanism", "tight", "--lag", lag]);
        let right = rows(&folder);
        let chain = veilwalk::Chain::credit();
        let state = |label: &str| chain.require(label).unwrap();
        // Another last state of a walk, which the chain allows.
        let mut changed = right.clone();
        let last = changed.len() - 1;
        let same_walk = |row: &&Vec<String>| row[0] == right[last][0];
        let before = right[..last].iter().rev().find(same_walk).unwrap();
        let before = state(&before[2]);
        let other = chain.successors(before).iter().find(|&&s| s != state(&changed[last][2]));
        changed[last][2] = chain.label(*other.unwrap()).to_owned();
        forge(&folder, &joined(&changed));
        let place = format!("line {}", last + 1);
        let found = format!("the released state is {:?}", changed[last][2]);
        let expected = format!("makes it {:?}", right[last][2]);
        folder.refuses(VERIFY, &["out.csv", &place, &found, &expected]);
        // Other observations throughout: far from those that there were.
        let mut changed = right.clone();
        for row in &mut changed[1..] {
            row[3] = if state(&row[3]) < state("Ba") { "Ca/C" } else { "Aaa" }.to_owned();
        }
        forge(&folder, &joined(&changed));
        folder.refuses(VERIFY, &["out.csv, line", "what was observed makes it"]);
        // Observations that came in another order.
        let mut changed = right.clone();
        let mut seen: Vec<String> = right[1..].iter().map(|row| row[3].clone()).collect();
        seen.sort_by_key(|label| state(label));
        changed[1..].iter_mut().zip(seen).for_each(|(row, label)| row[3] = label);
        forge(&folder, &joined(&changed));
        folder.refuses(VERIFY, &["out.csv, line", "what was observed makes it"]);
        // Rows of one walk that changed places.
        let mut changed = right.clone();
        changed.swap(1, 3);
        forge(&folder, &joined(&changed));
        folder.refuses(VERIFY, &["out.csv, line 2", "step \"1\"", "with step 0"]);
        // Not a state, no observation, no column.
        let mut changed = right.clone();
        changed[4][3] = "Zzz".to_owned();
        forge(&folder, &joined(&changed));
        folder.refuses(VERIFY, &["out.csv, line 5: \"Zzz\" is not a state"]);
        changed[4][3] = String::new();
        forge(&folder, &joined(&changed));
        folder.refuses(VERIFY, &["out.csv, line 5", "observed"]);
        changed.iter_mut().for_each(|row| row.truncate(3));
        forge(&folder, &joined(&changed));
        folder.refuses(VERIFY, &["out.csv: there is no column \"observed\"", "observes"]);
        forge(&folder, &joined(&right));
        folder.run(VERIFY).success();
    }
}

#[test]
fn another_way_to_track_is_refused() {
    let folder = released(&["--mechanism", "tight", "--lag", "0"]);
    let right = folder.read(MANIFEST);
    for lag in [1, 5, 1000] {
        change_manifest(&folder, |manifest| manifest["mechanism"]["lag"] = lag.into());
        folder.refuses(VERIFY, &["out.csv, line", "what was observed makes it"]);
    }
    for (key, value, words) in [
        ("lag", Value::Null, &["track, typicality and lag"][..]),
        ("track", "far".into(), &["track", "\"far\""]),
        ("weights", "even".into(), &["scale"]),
        ("weights", Value::Null, &["`states` needs weights"]),
        ("weights_found", "program".into(), &["weights found program", "gives solved"]),
        ("candidates", "moves".into(), &["`moves`"]),
        ("candidates", "none".into(), &["candidates", "\"none\""]),
    ] {
        folder.write(MANIFEST, &right);
        change_manifest(&folder, |manifest| manifest["mechanism"][key] = value.clone());
        folder.refuses(VERIFY, words);
    }
    // Walks that observations make do not stand for moves that were drawn.
    folder.write(MANIFEST, &right);
    change_manifest(&folder, |manifest| {
        let told = manifest["mechanism"].as_object_mut().unwrap();
        for key in ["candidates", "weights", "weights_found", "track", "typicality", "lag"] {
            told.remove(key);
        }
    });
    folder.refuses(VERIFY, &["the column \"observed\" is neither part of a release"]);
}

#[test]
fn a_private_start_has_a_first_state_that_can_be() {
    let args = ["--initial", "B", "--mechanism", "sharp"];
    for start in ["private", "initial"] {
        let folder = released(&[&args[..], &["--start", start]].concat());
        let verify: Vec<&str> = VERIFY.into_iter().chain(["--initial", "B"]).collect();
        folder.run(&verify).success();
        let text = folder.read("out.csv");
        assert!(text.contains("w0,0,B\n"), "{text}");
        let mut rows = rows(&folder);
        let first = rows.iter().position(|row| row[0] == "w0").unwrap();
        // The chain moves from Caa to all that it moves to from B.
        rows[first][2] = "Caa".to_owned();
        forge(&folder, &joined(&rows));
        folder.refuses(&verify, &["out.csv, line 2: a walk starts at \"Caa\"", "never does"]);
    }
}

#[test]
fn a_release_says_what_else_it_has() {
    let folder = Folder::with("walks.csv", walks());
    let run = |more: &[&str]| {
        let args = both(&["privatize", "walks.csv"], &PROMISE);
        let run = folder.run(args.iter().map(String::as_str).chain(more.iter().copied()));
        let run = run.success();
        (stdout(&run), stderr(&run))
    };
    let (shown, said) = run(&["--mechanism", "tight"]);
    assert!(shown.starts_with("trajectory,step,state,observed\nw0,0,"), "{shown}");
    assert!(said.contains("one more column, `observed`"), "{said}");
    assert!(!said.contains("lag"), "{said}");
    let (_, said) = run(&["--mechanism", "tight", "--lag", "3"]);
    assert!(said.contains("with a lag of 3 steps: a state is answered"), "{said}");
    let (shown, said) = run(&["--mechanism", "cell"]);
    assert!(shown.starts_with("trajectory,step,state\n"), "{shown}");
    assert!(!said.contains("observed"), "{said}");
    // A pipe is answered alike.
    let (seed, stream) = (["--mechanism", "tight", "--seed", "4", "--lag", "3"], ["--stream"]);
    assert_eq!(run(&seed).0, run(&[&seed[..], &stream].concat()).0);
}

#[test]
fn the_guarantee_says_that_observations_are_released() {
    let folder = Folder::new();
    let run = |more: &[&str]| {
        let args = both(&["guarantee"], &PROMISE);
        folder.run(args.iter().map(String::as_str).chain(more.iter().copied())).success()
    };
    let tight = stdout(&run(&["--mechanism", "tight"]));
    assert!(tight.contains("observations") && tight.contains("tight: they add up"), "{tight}");
    assert!(tight.contains("`observed`") && tight.contains("at once"), "{tight}");
    assert!(tight.lines().all(|line| line.chars().count() <= 100), "{tight}");
    let even = stdout(&run(&["--weights", "even", "--lag", "1"]));
    assert!(even.contains("All of them have the same weight"), "{even}");
    assert!(even.contains("1 step later"), "{even}");
    let believed = stdout(&run(&["--mechanism", "believed"]));
    assert!(believed.contains("at least 0.1 times as likely"), "{believed}");
    let told = json(&run(&["--mechanism", "tight", "--format", "json"]));
    assert_eq!(told["observation"]["weights_found"], "solved");
    assert_eq!(told["observation"]["candidates"], "states");
    let moves = json(&run(&["--mechanism", "cell", "--format", "json"]));
    assert_eq!(moves.get("observation"), None);
}

#[test]
fn a_mechanism_file_holds_how_walks_are_tracked() {
    use veilwalk::mechanism::{Calibration, TrackAim, Tracking};
    use veilwalk::{Chain, Mechanism, Model, Preset, Promise};

    let folder = Folder::with("walks.csv", walks());
    let model = std::sync::Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("2".parse().unwrap(), "3.5".parse().unwrap());
    for preset in [Preset::Tight, Preset::Believed] {
        let tracking = Tracking { aim: TrackAim::States, lag: 2, ..Tracking::default() };
        let made = Mechanism::new(model.clone(), preset.design(), promise).unwrap();
        let made = made.tracking(tracking);
        let file = veilwalk_io::MechanismFile::describing(&made, Calibration::Exact).unwrap();
        assert_eq!(file.tracking().unwrap(), Some(tracking));
        assert_eq!(file.scales, None);
        file.write(&folder.path("m.json")).unwrap();
        let release = |flags: &str, out: &str| {
            let args = format!("privatize walks.csv --chain credit {flags} --seed 5 -o {out}");
            folder.run(args.split(' ')).success();
            folder.run(["verify", out, "--chain", "credit"]).success();
            folder.read(out)
        };
        let flags = format!("--mechanism {preset} --epsilon 2 --radius 3.5 --track states --lag 2");
        let by_file = release("--mechanism m.json", "file.csv");
        assert_eq!(by_file, release(&flags, "flags.csv"));
        assert_eq!(by_file, release("--mechanism m.json --lag 2 --track states", "both.csv"));
        for (flag, value) in [("--lag", "3"), ("--track", "distance"), ("--candidates", "moves")] {
            let args = ["guarantee", "--chain", "credit", "--mechanism", "m.json", flag, value];
            folder.refuses(args, &["m.json: the file says", flag, value]);
        }
    }
}

#[test]
fn analysis_says_what_was_dropped_from_beliefs() {
    let folder = Folder::with("walks.csv", walks());
    let run = |more: &[&str]| {
        let args = both(&["analyze"], &PROMISE);
        folder.run(args.iter().map(String::as_str).chain(more.iter().copied())).success()
    };
    for more in [["--steps", "10"], ["--real", "walks.csv"]] {
        let flags = [["--mechanism", "tight"], more].concat();
        let shown = stdout(&run(&flags));
        assert!(shown.contains("dropped from beliefs"), "{shown}");
    }
    let shown = stdout(&run(&["--mechanism", "cell", "--steps", "10", "--simulate", "100"]));
    assert!(!shown.contains("dropped"), "{shown}");
}
