//! `veilwalk verify`: a release as it was made passes, anything else is refused.

mod common;

use common::released::{MANIFEST, VERIFY, change_manifest, forge, released_of};
use common::{CREDIT, Folder, both, stderr, stdout};
use serde_json::{Value, json};

const WALKS: &str = "trajectory,state\nnorth,Baa\nsouth,B\nnorth,Ba\nsouth,Caa\nnorth,Ba\n";

/// Every state of the credit chain has an alternative within this radius.
const COVERED: [&str; 6] = ["--chain", "credit", "--epsilon", "1", "--radius", "24"];

/// A folder with a release and its manifest.
fn released(more: &[&str]) -> Folder {
    released_with(&COVERED, more)
}

fn released_with(promise: &[&str], more: &[&str]) -> Folder {
    released_of(WALKS, promise, more)
}

/// What follows hashes in messages is enough to tell them apart, and a pipe has no manifest.
#[test]
fn releases_that_are_not_there_are_told_in_short() {
    let folder = Folder::with("w.csv", "trajectory,state\na,B\na,Caa\n");
    folder.run(both(&["privatize", "w.csv", "-o", "out.csv"], &CREDIT)).success();
    for command in ["verify", "estimate", "refine"] {
        let line = |release: &str, chain: &str| {
            let mut line = vec![command.to_owned(), release.to_owned()];
            line.extend(["--chain", chain].map(str::to_owned));
            if command == "refine" {
                line.extend(["-o", "refined.csv"].map(str::to_owned));
            }
            line
        };
        folder.refuses(line("-", "credit"), &["not read from standard input", "privatize -o"]);
        let message = folder.refuses(line("out.csv", "downtown"), &["released under the chain"]);
        let longest = message.split(|c: char| !c.is_ascii_hexdigit()).map(str::len).max();
        assert!(longest < Some(20), "{message}");
    }
}

#[test]
fn a_release_passes_as_it_was_made() {
    let folder = released(&[]);
    let run = folder.run(VERIFY).success();
    let shown = stdout(&run);
    assert!(shown.contains("2 walks, 5 states, every move possible"), "{shown}");
    assert_eq!(stderr(&run), "");
    let folder = released(&["--initial", "stationary", "--mechanism", "paper"]);
    folder.run(VERIFY.iter().chain(&["--initial", "stationary"])).success();
}

#[test]
fn every_format_passes() {
    let folder = released(&[]);
    for output in ["out.tsv", "out.ndjson", "out.jsonl", "out", "out.dat"] {
        folder.run(both(&["privatize", "walks.csv", "-o", output], &CREDIT)).success();
        folder.run(["verify", output, "--chain", "credit"]).success();
    }
}

#[test]
fn a_changed_byte_is_noticed() {
    let folder = released(&[]);
    let text = folder.read("out.csv");
    for changed in [text.replacen("north", "nortH", 1), text.clone() + "\n", text[1..].into()] {
        folder.write("out.csv", changed);
        folder.refuses(VERIFY, &["out.csv: the file has the hash", "changed after the release"]);
    }
}

#[test]
fn another_chain_is_noticed() {
    let folder = released(&[]);
    let args = ["verify", "out.csv", "--chain", "downtown"];
    folder.refuses(args, &["released under the chain", "--normalize", "--initial"]);
    let args = VERIFY.iter().chain(&["--initial", "stationary"]);
    folder.refuses(args, &["released under the chain", "--initial"]);
}

#[test]
fn a_missing_release_or_manifest_is_named() {
    let folder = released(&[]);
    std::fs::remove_file(folder.path("out.csv")).unwrap();
    let root = folder.root().canonicalize().unwrap().display().to_string();
    let missing = format!("out.csv: there is no such release in {root}");
    folder.refuses(VERIFY, &[&missing]);
    let missing = format!("sub/out.csv: there is no such release in {root}/sub");
    folder.refuses(["verify", "sub/out.csv", "--chain", "credit"], &[&missing]);
    let folder = released(&[]);
    std::fs::remove_file(folder.path(MANIFEST)).unwrap();
    let at = format!("looked for at {MANIFEST}");
    folder.refuses(VERIFY, &["out.csv: there is no manifest", &at]);
}

#[test]
fn an_impossible_move_is_noticed() {
    let folder = released(&[]);
    forge(&folder, "trajectory,step,state\nnorth,0,Aaa\nsouth,0,B\nnorth,1,Def\n");
    folder.refuses(VERIFY, &["out.csv, line 4: the chain cannot move from \"Aaa\" to \"Def\""]);
    forge(&folder, "trajectory,step,state\nnorth,0,Zzz\n");
    folder.refuses(VERIFY, &["out.csv, line 2: \"Zzz\" is not a state of the chain"]);
}

#[test]
fn lost_rows_are_noticed() {
    let folder = released(&[]);
    forge(&folder, "trajectory,step,state\nnorth,0,Baa\n");
    folder.refuses(VERIFY, &["the manifest counts 2 and 5"]);
}

#[test]
fn the_manifest_of_another_version_is_refused_by_its_version() {
    let folder = released(&[]);
    change_manifest(&folder, |manifest| manifest["format"] = 99.into());
    let message = folder.refuses(VERIFY, &[MANIFEST, "99"]);
    // Its other keys may be any.
    folder.write(MANIFEST, json!({ "format": 99, "kind": "release" }).to_string());
    assert_eq!(folder.refuses(VERIFY, &[MANIFEST]), message);
    for garbled in ["", "{}", "not json", "{\"format\":2}"] {
        folder.write(MANIFEST, garbled);
        folder.refuses(VERIFY, &[MANIFEST]);
    }
}

#[test]
fn a_seeded_release_passes_with_a_warning() {
    let folder = released(&["--seed", "1"]);
    let run = folder.run(VERIFY).success();
    let message = stderr(&run);
    assert!(message.contains("warning") && message.contains("not private"), "{message}");
    assert!(message.contains("knows the seed"), "{message}");
}

/// What the manifest says of scale and guarantee follows from what it promises: a change of either
/// alone does not go together any more.
#[test]
fn a_forged_promise_is_noticed() {
    let forgeries: [(&str, &str, Value); 12] = [
        ("chain", "states", json!(999)),
        ("promise", "epsilon", json!("0.01")),
        ("promise", "radius_nats", json!("300")),
        ("promise", "radius_nats", json!("1")),
        ("mechanism", "name", json!("paper")),
        ("mechanism", "scale", json!(["9"])),
        ("mechanism", "calibration", json!("guess")),
        ("guarantee", "covered_pairs", json!(999)),
        ("guarantee", "covered_states", json!(0.5)),
        ("coverage", "covered", json!(8)),
        ("coverage", "states", json!(10)),
        ("coverage", "share", json!(0.9)),
    ];
    for (part, key, forged) in forgeries {
        let folder = released(&[]);
        change_manifest(&folder, |manifest| manifest[part][key] = forged.clone());
        folder.refuses(VERIFY, &["out.csv"]);
    }
    let folder = released(&[]);
    change_manifest(&folder, |manifest| manifest["randomness"] = json!("seed"));
    folder.refuses(VERIFY, &["out.csv", "private true"]);
    change_manifest(&folder, |manifest| manifest["randomness"] = json!("quantum"));
    folder.refuses(VERIFY, &["out.csv", "\"quantum\" is no randomness"]);
    change_manifest(&folder, |manifest| {
        manifest["randomness"] = json!("system");
        manifest["release_id"] = json!("17");
    });
    folder.refuses(VERIFY, &["out.csv", "\"17\" is not a release id"]);
}

/// Not every state has an alternative: the manifest says so, and cannot say otherwise.
#[test]
fn a_manifest_cannot_call_private_what_leaves_states_uncovered() {
    let folder = released_with(&CREDIT, &[]);
    let run = folder.run(VERIFY).success();
    let told = stderr(&run);
    assert!(
        told.contains("not private (only 6 of 9 states (66.6 %) have an alternative"),
        "{told}"
    );
    let genuine = folder.read(MANIFEST);
    change_manifest(&folder, |manifest| manifest["private"] = json!(true));
    folder.refuses(VERIFY, &["private true", "gives false"]);
    folder.write(MANIFEST, &genuine);
    change_manifest(&folder, |manifest| manifest["why_not_private"] = json!(["it rained"]));
    folder.refuses(VERIFY, &["it rained", "6 of 9"]);
    folder.write(MANIFEST, &genuine);
    change_manifest(&folder, |manifest| {
        manifest["coverage"] = json!({ "states": 9, "covered": 9, "share": 1.0 });
        manifest["private"] = json!(true);
        manifest["why_not_private"] = json!([]);
    });
    folder.refuses(VERIFY, &["coverage", "6 of 9"]);
}

#[test]
fn what_is_said_of_unknown_states_has_to_be_possible() {
    let folder = released(&["--unknown-state", "skip"]);
    let run = folder.run(VERIFY).success();
    assert!(stderr(&run).contains("lengths of walks depend on them"), "{}", stderr(&run));
    for (told, words) in [
        ("state:Baa", None),
        ("error", None),
        ("state:Zzz", Some("state:Zzz")),
        ("guess", Some("guess")),
    ] {
        change_manifest(&folder, |manifest| manifest["unknown_states"] = json!(told));
        match words {
            None => assert_eq!(stderr(&folder.run(VERIFY).success()), ""),
            Some(words) => drop(folder.refuses(VERIFY, &["unknown_states", words])),
        }
    }
    let folder = Folder::with("walks.csv", "trajectory,state,note\na,Baa,x\na,A,y\n");
    let args = both(&["privatize", "walks.csv", "-o", "out.csv", "--keep", "note"], &COVERED);
    folder.run(args).success();
    change_manifest(&folder, |manifest| manifest["unknown_states"] = json!("skip"));
    folder.refuses(VERIFY, &["rows were left out and columns kept"]);
}

#[test]
fn walks_that_start_elsewhere_are_noticed() {
    let folder = released(&["--start", "Baa"]);
    folder.run(VERIFY).success();
    change_manifest(&folder, |manifest| manifest["start"] = json!("Def"));
    let words = ["out.csv, line 2: a walk starts at \"Baa\"", "said to start at \"Def\""];
    folder.refuses(VERIFY, &words);
    change_manifest(&folder, |manifest| manifest["start"] = json!("bogus"));
    folder.refuses(VERIFY, &["out.csv", "\"bogus\" is not a state"]);
}

#[test]
fn a_column_that_stands_twice_is_noticed() {
    let folder = released(&[]);
    forge(&folder, "trajectory,step,state, step\nnorth,0,Baa,Def\n");
    folder.refuses(VERIFY, &["out.csv", "step\" is neither part of a release"]);
}
