//! The manifest beside a release: what it says, and what it must not say.

mod common;

use common::{CREDIT, Folder, both, stderr};
use serde_json::{Value, json};

/// One move that the chain does not have (Aaa to Def), one state that it does not have.
const WALKS: &str = "trajectory,state,note
north,Aaa,x
north,Def,y
north,Zzz,z
south,Ca/C,w
";

const SKIP: [&str; 2] = ["--unknown-state", "skip"];

fn folder() -> Folder {
    Folder::with("walks.csv", WALKS)
}

fn manifest(folder: &Folder, more: &[&str]) -> Value {
    let args = both(&["privatize", "walks.csv", "-o", "out.csv"], &CREDIT);
    folder.run(args.iter().map(String::as_str).chain(SKIP).chain(more.iter().copied())).success();
    serde_json::from_str(&folder.read("out.csv.manifest.json")).unwrap()
}

/// Every key with its path.
fn keys(value: &Value, path: &str, found: &mut Vec<String>) {
    for (key, inner) in value.as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if inner.is_object() {
            keys(inner, &path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn it_says_what_was_promised_and_how() {
    let folder = folder();
    let manifest = manifest(&folder, &["--mechanism", "paper", "--calibrate", "theorem"]);
    let mut found = Vec::new();
    keys(&manifest, "", &mut found);
    found.sort();
    let expected = [
        "chain.hash",
        "chain.states",
        "chain.transitions",
        "counts.steps",
        "counts.walks",
        "coverage.covered",
        "coverage.share",
        "coverage.states",
        "format",
        "guarantee.covered_pairs",
        "guarantee.covered_states",
        "guarantee.smallest_radius_nats",
        "guarantee.vacuous",
        "kept_columns",
        "mechanism.calibration",
        "mechanism.candidates",
        "mechanism.chain_weight",
        "mechanism.distance",
        "mechanism.name",
        "mechanism.rule",
        "mechanism.scale",
        "private",
        "promise.epsilon",
        "promise.radius_nats",
        "promise.substitutions",
        "randomness",
        "release.file",
        "release.hash",
        "release_id",
        "start",
        "unknown_states",
        "veilwalk",
        "why_not_private",
    ];
    assert_eq!(found, expected);
    assert_eq!(manifest["private"], false, "not every state has an alternative");
    let coverage = json!({ "states": 9, "covered": 6, "share": 6.0 / 9.0 });
    assert_eq!(manifest["coverage"], coverage);
    assert!(manifest["why_not_private"][0].as_str().unwrap().contains("6 of 9 states (66.6 %)"));
    assert_eq!(manifest["unknown_states"], "skip");
    assert_eq!(manifest["veilwalk"], env!("CARGO_PKG_VERSION"));
    assert_eq!(manifest["mechanism"]["name"], "paper");
    assert_eq!(manifest["mechanism"]["calibration"], "theorem");
    assert_eq!(manifest["mechanism"]["candidates"], "moves");
    for only_observed in ["weights", "weights_found", "believed_from", "track", "typicality", "lag"]
    {
        assert_eq!(manifest["mechanism"].get(only_observed), None, "{only_observed}");
    }
    assert_eq!(manifest["mechanism"]["scale"], json!(["1/7"]));
    let promise = json!({ "epsilon": "1", "radius_nats": "3.5", "substitutions": null });
    assert_eq!(manifest["promise"], promise);
    assert_eq!(manifest["chain"]["states"], 9);
    assert_eq!(manifest["counts"], json!({ "walks": 2, "steps": 3 }));
    assert_eq!(
        (&manifest["randomness"], &manifest["start"]),
        (&"system".into(), &"private".into())
    );
    assert_eq!(manifest["release"]["file"], "out.csv");
}

#[test]
fn the_hash_is_that_of_the_file() {
    let folder = folder();
    let manifest = manifest(&folder, &[]);
    let hash = veilwalk_io::hash_file(&folder.path("out.csv")).unwrap();
    assert_eq!(manifest["release"]["hash"], hash);
}

#[test]
fn nothing_of_the_real_walks_is_in_it() {
    let folder = folder();
    folder.write("my.key", "an unguessable secret of many bytes");
    for more in [&["--key-file", "my.key"][..], &["--start", "first"]] {
        manifest(&folder, more);
        let text = folder.read("out.csv.manifest.json");
        let secret = ["Aaa", "Def", "Zzz", "Ca/C", "north", "south", "infeasible", "skipped"];
        for word in secret.iter().chain(&["unguessable", "my.key", "walks.csv"]) {
            assert!(!text.contains(word), "{word} is in {text}");
        }
        let root = folder.root().to_str().unwrap();
        assert!(!text.contains(root), "no path of this machine in {text}");
    }
}

#[test]
fn counts_that_depend_on_the_real_walks_are_there_on_request_only() {
    let folder = folder();
    let manifest = manifest(&folder, &["--disclose-counts"]);
    let counts = json!({
        "walks": 2, "steps": 3, "infeasible": 1, "skipped": 1, "vanished": 0, "replaced": 0
    });
    assert_eq!(manifest["counts"], counts);
    let args = both(&["privatize", "walks.csv", "--disclose-counts"], &CREDIT);
    folder.refuses(args, &["--output"]);
}

#[test]
fn randomness_and_start_decide_whether_it_is_private() {
    let folder = folder();
    folder.write("my.key", "an unguessable secret of many bytes");
    for (more, randomness, private) in [
        (&["--seed", "7"][..], "seed", false),
        (&["--key-file", "my.key"], "key", true),
        (&[], "system", true),
        (&["--start", "first"], "system", false),
    ] {
        let all = ["--substitutions", "1"];
        let start =
            ["privatize", "walks.csv", "-o", "out.csv", "--chain", "credit", "--epsilon", "1"];
        folder.run(start.iter().chain(&all).chain(&SKIP).chain(more)).success();
        let manifest: Value = serde_json::from_str(&folder.read("out.csv.manifest.json")).unwrap();
        assert_eq!(manifest["coverage"], json!({ "states": 9, "covered": 9, "share": 1.0 }));
        assert_eq!(manifest.get("why_not_private").is_none(), private);
        assert_eq!(manifest["randomness"], randomness);
        assert_eq!(manifest["private"], private, "{randomness}");
        assert!(!folder.read("out.csv.manifest.json").contains("\"7\""));
    }
}

#[test]
fn what_is_disclosed_is_named_and_verify_repeats_it() {
    let folder = folder();
    let args = both(&["privatize", "walks.csv", "-o", "out.csv", "--unknown-state", "B"], &CREDIT);
    let more = ["--start", "first", "--keep", "note"];
    folder.run(args.iter().map(String::as_str).chain(more)).success();
    let manifest: Value = serde_json::from_str(&folder.read("out.csv.manifest.json")).unwrap();
    assert_eq!(manifest["unknown_states"], "state:B");
    assert_eq!(manifest["start"], "first");
    assert_eq!(manifest["kept_columns"], json!(["note"]));
    let run = folder.run(["verify", "out.csv", "--chain", "credit"]).success();
    let message = stderr(&run);
    assert!(message.contains("first state of every walk is the real one"), "{message}");
    assert!(message.contains("note was copied as it is"), "{message}");
}

#[test]
fn an_exact_calibration_is_recorded() {
    let folder = folder();
    let theorem = manifest(&folder, &["--mechanism", "sharp"]);
    let exact = manifest(&folder, &["--mechanism", "sharp", "--calibrate", "exact"]);
    assert_eq!(theorem["mechanism"]["calibration"], "theorem");
    assert_eq!(exact["mechanism"]["calibration"], "exact");
    assert_ne!(theorem["mechanism"]["scale"], exact["mechanism"]["scale"]);
    let cell = manifest(&folder, &["--mechanism", "cell"]);
    assert_eq!(cell["mechanism"]["name"], "cell");
    assert_eq!(cell["mechanism"]["scale"].as_array().unwrap().len(), 2, "smallest and largest");
}

#[test]
fn without_a_file_there_is_no_manifest() {
    let folder = folder();
    let args = both(&["privatize", "walks.csv", "--unknown-state", "skip"], &CREDIT);
    folder.run(args).success();
    assert_eq!(folder.files().keys().collect::<Vec<_>>(), ["walks.csv"]);
}
