//! `veilwalk chain compile`, models in place of chains, and chains too large for a table.

mod common;

use common::{CELL, CREDIT, Folder, both, json, stderr, stdout};

const WALKS: &str = "trajectory,state\nn,Baa\nn,Ba\nm,A\nn,Ba\nm,Baa\nn,B\nm,Baa\nn,Ba\n";

/// A key, and the id of a run that is repeated.
const KEY: [&str; 4] = ["--key-file", "key", "--release-id", "00112233445566778899aabbccddeeff"];

/// A folder with walks and a key.
fn folder() -> Folder {
    let folder = Folder::with("walks.csv", WALKS);
    folder.write("key", [7; 32]);
    folder
}

fn release(folder: &Folder, chain: &[&str], out: &str) -> (String, serde_json::Value) {
    let promise = ["--epsilon", "2", "--radius", "3.5", "-o", out];
    let args = both(&["privatize", "walks.csv"], &both_str(&both_str(chain, &promise), &KEY));
    folder.run(args).success();
    let mut manifest: serde_json::Value =
        serde_json::from_str(&folder.read(&format!("{out}.manifest.json"))).unwrap();
    manifest["release"]["file"] = "".into();
    (folder.read(out), manifest)
}

fn both_str<'a>(first: &[&'a str], second: &[&'a str]) -> Vec<&'a str> {
    first.iter().chain(second).copied().collect()
}

#[test]
fn a_model_releases_what_its_chain_does() {
    let folder = folder();
    let start = ["--initial", "stationary"];
    folder.run(both(&["chain", "compile", "credit", "-o", "plain.model"], &start)).success();
    let promise = ["--epsilon", "2", "--radius", "3.5", "--mechanism", "cell", "-o", "cell.model"];
    folder.run(both(&["chain", "compile", "credit"], &both_str(&start, &promise))).success();
    for mechanism in ["cell", "sharp", "paper"] {
        let chosen = both_str(&start, &["--mechanism", mechanism]);
        let expected = release(&folder, &both_str(&["--chain", "credit"], &chosen), "a.csv");
        for model in ["plain.model", "cell.model"] {
            let chain = ["--chain", model, "--mechanism", mechanism];
            assert_eq!(release(&folder, &chain, "b.csv"), expected, "{mechanism} {model}");
        }
        let on_demand = both_str(&["--chain", "credit", "--distances", "on-demand"], &chosen);
        assert_eq!(release(&folder, &on_demand, "c.csv"), expected, "{mechanism}");
    }
    folder.run(["verify", "a.csv", "--chain", "cell.model"]).success();
}

#[test]
fn every_command_takes_a_model() {
    let folder = folder();
    let promise = ["--epsilon", "1", "--radius", "3.5"];
    folder.run(both(&["chain", "compile", "credit", "-o", "m"], &promise)).success();
    let commands: [&[&str]; 5] = [
        &["guarantee", "--format", "json"],
        &["kernel", "--previous", "Baa", "--real", "Ba", "--format", "json"],
        &["analyze", "--format", "json"],
        &["compare", "--format", "json"],
        &["tune", "--format", "json"],
    ];
    for command in commands {
        let run = |chain: &str| {
            let args = both(command, &both_str(&["--chain", chain], &promise));
            let shown = stdout(&folder.run(args).success());
            // Commands that are given as advice name the chain as it was given.
            shown.replace(&format!("--chain {chain}"), "--chain CHAIN")
        };
        assert_eq!(run("m"), run("credit"), "{command:?}");
    }
    let check =
        |chain: &str| json(&folder.run(["chain", "check", chain, "--format", "json"]).success());
    assert_eq!(check("m"), check("credit"));
}

#[test]
fn a_model_is_verified_on_request() {
    let folder = folder();
    folder
        .run(both(&["chain", "compile", "-o", "m"], &both_str(&["credit"], &CELL[2..])))
        .success();
    let run = folder.run(["chain", "check", "m", "--verify"]).success();
    assert!(stderr(&run).contains("follows from its chain"), "{}", stderr(&run));
    assert!(stdout(&run).contains("2.733 nats"));
    folder.refuses(["chain", "check", "credit", "--verify"], &["--verify is for compiled models"]);
}

#[test]
fn what_cannot_be_compiled_or_used_is_refused() {
    let folder = folder();
    folder.run(["chain", "compile", "credit", "-o", "m"]).success();
    let used = |flag: &str| both(&["guarantee", "--chain", "m", flag], &CELL[2..]);
    folder.refuses(used("--normalize"), &["m: --normalize", "already compiled"]);
    folder.refuses(used("--largest-component"), &["already compiled"]);
    let sharp = ["chain", "compile", "credit", "-o", "n", "--mechanism", "sharp"];
    folder.refuses(both(&sharp, &CREDIT[2..]), &["needs nothing beyond the distances"]);
    folder.refuses(["chain", "compile", "nowhere.csv", "-o", "n"], &["no chain file nowhere.csv"]);

    let mut bytes = std::fs::read(folder.path("m")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.write("bad", &bytes);
    let release = both(&["privatize", "walks.csv", "-o", "out.csv", "--chain", "bad"], &CELL[2..]);
    folder.refuses(release, &["bad: the model is damaged", "chain compile"]);
    folder.write("short", &bytes[..middle]);
    folder.refuses(["chain", "check", "short"], &["short: the model is", "not whole"]);
}

#[test]
fn a_grid_is_made_read_back_and_the_same_each_time() {
    let folder = Folder::new();
    let make = |out: &str, seed: &str| {
        let size = ["--width", "20", "--height", "10", "--seed", seed, "-o", out];
        stderr(&folder.run(both(&["chain", "generate", "grid"], &size)).success())
    };
    assert!(make("a.csv", "5").contains("200 states"));
    make("b.csv", "5");
    make("c.csv", "6");
    assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
    assert_ne!(folder.read("a.csv"), folder.read("c.csv"));
    let checked = json(&folder.run(["chain", "check", "a.csv", "--format", "json"]).success());
    assert_eq!((&checked["states"], &checked["period"]), (&200.into(), &1.into()));
    let huge = ["--width", "100000", "--height", "100000", "-o", "d.csv"];
    folder.refuses(both(&["chain", "generate", "grid"], &huge), &["more than 67108864 states"]);
}

#[test]
fn a_grid_on_the_ground_has_lengths_and_places() {
    let folder = Folder::new();
    let grid = ["chain", "generate", "grid", "--width", "4"];
    let on_the_ground =
        ["--height", "3", "--spacing", "0.1km", "--places", "places.csv", "-o", "grid.csv"];
    folder.run(both(&grid, &on_the_ground)).success();
    assert!(folder.read("grid.csv").starts_with("from,to,probability,length\n"));
    assert_eq!(folder.read("places.csv").lines().count(), 1 + 12);
    let check = ["chain", "check", "--places", "places.csv", "--format", "json", "grid.csv"];
    let hash = |args: &[&str]| json(&folder.run(args).success())["hash"].clone();
    let with = hash(&check);
    assert_ne!(with, hash(&["chain", "check", "--format", "json", "grid.csv"]), "places are seen");
    let longer = ["--height", "3", "--spacing", "101m", "--places", "p.csv", "-o", "g.csv"];
    folder.run(both(&grid, &longer)).success();
    assert_ne!(with, hash(&["chain", "check", "--places", "p.csv", "--format", "json", "g.csv"]));
    for (more, words) in [
        (&["--spacing", "100m"][..], "--places"),
        (&["--places", "x.csv"], "--spacing"),
        (&["--spacing", "far", "--places", "x.csv"], "such as 100m"),
        (&["--spacing", "0", "--places", "x.csv"], "longer than nothing"),
        (&["--spacing", "4000km", "--places", "x.csv", "--height", "9"], "fit on the earth"),
        (&["--spacing", "1m", "--places", "x.csv"], "x.csv: the chain goes there"),
    ] {
        let height = if more.contains(&"--height") { &[][..] } else { &["--height", "3"] };
        folder.refuses(both(&grid, &[more, height, &["-o", "x.csv"]].concat()), &[words]);
    }
}

/// Beyond 16,384 states there is no table: releases and what is said of them work all the same.
#[test]
fn a_large_chain_works_without_a_table() {
    let folder = Folder::with("walks.csv", "trajectory,state\na,r7c7\na,r7c8\na,r8c8\na,r8c8\n");
    let size = ["--width", "130", "--height", "130", "-o", "g.csv"];
    folder.run(both(&["chain", "generate", "grid"], &size)).success();
    folder.run(["chain", "compile", "g.csv", "-o", "g.model"]).success();
    let promise = ["--epsilon", "3", "--radius", "1"];
    folder.write("key", [7; 32]);
    let run = |chain: &str| {
        let more = both_str(&KEY, &["--start", "r7c7"]);
        let args = both_str(&["privatize", "walks.csv", "--chain", chain], &promise);
        stdout(&folder.run(both(&args, &more)).success())
    };
    assert_eq!(run("g.csv"), run("g.model"));
    assert_eq!(run("g.csv").lines().count(), 5);
    let on_model = both_str(&["--chain", "g.model"], &promise);
    let said = json(&folder.run(both(&["guarantee", "--format", "json"], &on_model)).success());
    assert_eq!(said["mechanism"], "sharp");
    assert_eq!(said["coverage"], serde_json::Value::Null);
    assert_eq!(said["loss_per_nat"]["bound"], 3.0);
    assert!(said["covered_states"].as_f64().unwrap() > 0.0);
    let checked = stdout(&folder.run(["chain", "check", "g.model"]).success());
    assert!(checked.contains("not computed: the chain is too large"), "{checked}");
    for command in ["analyze", "compare", "tune"] {
        folder.refuses(both(&[command], &on_model), &["needs a table of all distances"]);
    }
    folder.refuses(
        both(&["guarantee", "--distances", "table"], &on_model),
        &["16900 states", "needs a table of all distances"],
    );
    let counted = ["--chain", "g.model", "--mechanism", "exponential-hamming"];
    let counted = both_str(&counted, &["--epsilon", "1", "--substitutions", "1"]);
    folder.refuses(both(&["guarantee"], &counted), &["needs a table of all distances"]);
}
