//! `veilwalk tune`, and the mechanism files it writes.

mod common;

use common::{Folder, both, json, stderr, stdout};
use serde_json::Value;

/// A setting at which the best draws moves.
const TUNE: [&str; 7] = ["tune", "--chain", "credit", "--epsilon", "8", "--radius", "3.5"];

/// A folder with a mechanism file for the credit chain.
fn tuned() -> Folder {
    let folder = Folder::new();
    folder.run(both(&TUNE, &["-o", "m.json"])).success();
    folder
}

fn kernel(folder: &Folder, flags: &str) -> Value {
    let args = "kernel --chain credit --previous Caa --real B --format json";
    let args = args.split(' ').chain(flags.split(' ').filter(|flag| !flag.is_empty()));
    json(&folder.run(args).success())
}

/// Uses a changed mechanism file, which has to be refused.
fn refused(change: impl Fn(&mut Value), words: &[&str]) {
    let folder = tuned();
    let mut file: Value = serde_json::from_str(&folder.read("m.json")).unwrap();
    change(&mut file);
    file.as_object_mut().unwrap().remove("checksum");
    folder.write("m.json", file.to_string());
    folder.write("walks.csv", "trajectory,state\na,Baa\n");
    let args = "privatize walks.csv --chain credit --mechanism m.json -o out.csv";
    folder.refuses(args.split(' '), words);
    folder.refuses("guarantee --chain credit --mechanism m.json".split(' '), words);
}

#[test]
fn says_what_is_best_and_how_to_use_it() {
    let folder = Folder::new();
    let run = folder.run(TUNE).success();
    let text = stdout(&run);
    for words in [
        "48 mechanisms",
        "100 steps",
        "paper",
        "sharp",
        "veilwalk privatize WALKS --chain credit --mechanism",
        "--epsilon 8 --radius 3.5",
        "costs no privacy",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    assert!(folder.files().is_empty());
}

#[test]
fn the_ranking_is_complete_and_sorted_for_every_aim() {
    let folder = Folder::new();
    for aim in ["closeness", "wrong-states", "typicality", "2,1,0"] {
        let flags = ["--aim", aim, "--format", "json", "--steps", "20"];
        let answer = json(&folder.run(both(&TUNE, &flags)).success());
        let ranking = answer["ranking"].as_array().unwrap();
        assert_eq!(ranking.len(), 48);
        let scores: Vec<f64> = ranking.iter().map(|m| m["score"].as_f64().unwrap()).collect();
        // Exact ones are in order. A simulated one stands behind all that it is ahead of by two errors at most.
        let exact = ranking.iter().filter(|m| m["simulated"].is_null());
        let exact: Vec<f64> = exact.map(|m| m["score"].as_f64().unwrap()).collect();
        assert_eq!(exact.len(), 40);
        assert!(exact.is_sorted_by(|a, b| *a <= b + 1e-11), "{exact:?}");
        let first = ranking.iter().position(|m| m["simulated"].is_null()).unwrap();
        assert!(scores[..first].is_sorted(), "{scores:?}");
        let names: Vec<_> = ranking.iter().filter_map(|m| m["mechanism"].as_str()).collect();
        assert_eq!(names.len(), 8, "{names:?}");
    }
}

#[test]
fn the_command_it_prints_works_and_the_file_gives_the_same_kernel() {
    for aim in ["closeness", "wrong-states", "typicality"] {
        for unit in ["--radius 3.5", "--substitutions 1"] {
            let folder = Folder::new();
            let args = format!(
                "tune --chain credit --epsilon 8 {unit} --aim {aim} --format json --steps 20 -o m.json"
            );
            let answer = json(&folder.run(args.split(' ')).success());
            let command = answer["command"].as_str().unwrap();
            let flags = command.split_once("--chain credit ").unwrap().1;
            let (by_flags, by_file) =
                (kernel(&folder, flags), kernel(&folder, "--mechanism m.json"));
            assert_eq!(by_flags["probabilities"], by_file["probabilities"], "{command}");
            // Flags that say the same do no harm.
            assert_eq!(kernel(&folder, &format!("--mechanism m.json --epsilon 8 {unit}")), by_file);
        }
    }
}

#[test]
fn a_release_with_the_file_is_that_with_the_flags() {
    let folder = Folder::with("walks.csv", "trajectory,state\na,Baa\na,Ba\na,Ba\nb,Caa\nb,B\n");
    let answer = both(&TUNE, &["--format", "json", "-o", "m.json"]);
    let answer = json(&folder.run(answer).success());
    let flags = answer["command"].as_str().unwrap().split_once("WALKS ").unwrap().1;
    let release = |flags: &str, out: &str| {
        let args = format!("privatize walks.csv {flags} --seed 5 -o {out}");
        folder.run(args.split(' ')).success();
        folder.read(out)
    };
    let by_flags = release(flags, "flags.csv");
    assert_eq!(release("--chain credit --mechanism m.json", "file.csv"), by_flags);
    let manifest: Value = serde_json::from_str(&folder.read("file.csv.manifest.json")).unwrap();
    assert_eq!(manifest["promise"]["epsilon"], "8");
    assert_eq!(manifest["promise"]["radius_nats"], "3.5");
}

#[test]
fn the_promise_of_the_file_is_used_and_cannot_be_contradicted() {
    let folder = tuned();
    let run = folder.run("guarantee --chain credit --mechanism m.json".split(' ')).success();
    assert!(stdout(&run).contains("3.5"), "{}{}", stdout(&run), stderr(&run));
    for (flag, value) in [
        ("--epsilon", "1"),
        ("--radius", "3"),
        ("--substitutions", "1"),
        ("--rule", "permute-and-flip"),
        ("--chain-weight", "0.3"),
        ("--calibrate", "theorem"),
    ] {
        let args = ["guarantee", "--chain", "credit", "--mechanism", "m.json", flag, value];
        folder.refuses(args, &["m.json", flag, "leave the flag out"]);
    }
}

#[test]
fn the_file_has_to_be_for_the_chain() {
    let folder = tuned();
    let words = ["m.json", "is for the chain", "tune again"];
    folder.refuses("guarantee --chain downtown --mechanism m.json".split(' '), &words);
    let other_start = "guarantee --chain credit --initial Baa --mechanism m.json";
    folder.refuses(other_start.split(' '), &words);
}

#[test]
fn changed_scales_are_refused() {
    let double = |scale: &mut Value| {
        let eta = scale["eta"].as_str().unwrap().to_owned();
        let doubled = match eta.split_once('/') {
            Some((above, below)) => format!("{}/{below}", 2 * above.parse::<u64>().unwrap()),
            None => format!("{}", 2.0 * eta.parse::<f64>().unwrap()),
        };
        scale["eta"] = doubled.into();
    };
    refused(
        |file| file["scales"].as_array_mut().unwrap().iter_mut().for_each(double),
        &["m.json", "scale", "what keeps its promise"],
    );
    refused(|file| double(&mut file["scales"][3]), &["m.json", "what keeps its promise"]);
    refused(|file| file["scales"][2]["loss"] = 0.01.into(), &["m.json", "loss 0.010000"]);
    refused(|file| file["scales"] = Value::Null, &["m.json", "scales for 0 states"]);
    refused(|file| drop(file["scales"].as_array_mut().unwrap().pop()), &["scales for 8 states"]);
}

#[test]
fn a_changed_promise_does_not_go_with_the_scales() {
    refused(|file| file["epsilon"] = "1".into(), &["m.json", "what keeps its promise"]);
    refused(|file| file["rule"] = "permute-and-flip".into(), &["m.json", "keeps its promise"]);
    refused(|file| file["distance"] = "directed".into(), &["m.json", "scales for 9 states"]);
}

#[test]
fn what_is_not_a_mechanism_file_is_refused() {
    refused(|file| file["format"] = 2.into(), &["m.json", "format 2", "reads format 1"]);
    refused(|file| file["extra"] = 1.into(), &["not a mechanism file", "extra"]);
    refused(|file| file["epsilon"] = "0".into(), &["not a mechanism file", "epsilon is zero"]);
    refused(|file| file["rule"] = "best".into(), &["not a mechanism file", "\"best\""]);
    refused(
        |file| file["substitutions"] = 1.into(),
        &["one of radius_nats, radius and substitutions"],
    );
    refused(|file| file["calibration"] = "none".into(), &["choose one of theorem, exact"]);
    let folder = tuned();
    let text = folder.read("m.json");
    let use_it = "kernel --chain credit --mechanism m.json --previous Caa --real B";
    for part in [0, 1, text.len() / 2, text.len() - 3] {
        folder.write("m.json", &text[..part]);
        folder.refuses(use_it.split(' '), &["m.json", "not a mechanism file"]);
    }
    let missing = use_it.replace("m.json", "none.json");
    folder.refuses(missing.split(' '), &["none.json", "no such file"]);
    let unknown = use_it.replace("m.json", "papper");
    folder.refuses(unknown.split(' '), &["papper", "cell", "veilwalk tune -o"]);
}

#[test]
fn questions_that_make_no_sense() {
    let folder = Folder::new();
    folder.refuses(both(&TUNE, &["--aim", "fast"]), &["--aim", "closeness"]);
    folder.refuses(both(&TUNE, &["--from", "Moon"]), &["--from", "Moon"]);
    folder.refuses(both(&TUNE, &["--steps", "0"]), &["--steps"]);
    folder.refuses(["tune", "--chain", "credit", "--epsilon", "1"], &["--radius"]);
    let run = folder.run("tune --chain credit --epsilon 1 --radius 1 --steps 5".split(' '));
    assert!(stderr(&run.success()).contains("promise is empty"));
}

/// Who can wait compares what waits: observations with a lag, and blocks with several chain weights. The
/// command that is printed releases so.
#[test]
fn delays_have_members_of_their_own() {
    let folder = Folder::with("WALKS", "trajectory,state\na,Baa\na,Ba\na,Ba\nb,Caa\nb,B\n");
    for (unit, flags, members) in [
        ("--radius 3.5", "--lag 3", 8),
        ("--radius 3.5", "--block 5", 4),
        ("--substitutions 1", "--block all", 8),
        ("--substitutions 1", "--lag 2", 8),
    ] {
        let line = format!("tune --chain credit --epsilon 1 {unit} {flags} --steps 20");
        let answer = json(&folder.run(format!("{line} --format json").split(' ')).success());
        let ranking = answer["ranking"].as_array().unwrap();
        assert_eq!(ranking.len(), members, "{answer}");
        assert!(ranking.iter().all(|m| m["simulated"]["walks"].as_u64() >= Some(50)), "{answer}");
        let command = answer["command"].as_str().unwrap();
        assert!(command.contains(flags), "{command}");
        folder.run(command.split(' ').skip(1)).success();
        let text = stdout(&folder.run(line.split(' ')).success());
        assert!(text.contains("compared by simulation"), "{text}");
    }
    folder.refuses(both(&TUNE, &["--lag", "1", "--block", "2"]), &["--lag", "--block"]);
    folder.refuses(both(&TUNE, &["--block", "2", "-o", "m.json"]), &["--block", "--output"]);
}
