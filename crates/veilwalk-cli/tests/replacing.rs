//! What `-o` replaces: one rule for every command.

mod common;

use common::{CREDIT, Folder, both, stderr, stdout};

const WALKS: &str = "trajectory,state\nnorth,Baa\nnorth,Ba\n";
const CHAIN: &str = "from,to,count\nBaa,Ba,1\nBa,Baa,2\nBa,Ba,1\n";

/// Every command that writes a file, but for `-o` and its name.
fn commands() -> Vec<Vec<String>> {
    vec![
        both(&["privatize", "walks.csv"], &CREDIT),
        both(&["chain", "fit", "walks.csv", "--restart"], &[]),
        both(&["chain", "compile", "chain.csv"], &[]),
        both(&["chain", "generate", "grid", "--width", "3", "--height", "3"], &[]),
        both(&["tune", "--chain", "chain.csv", "--epsilon", "1", "--radius", "3"], &["--steps=2"]),
    ]
}

fn folder() -> Folder {
    let folder = Folder::with("walks.csv", WALKS);
    folder.write("chain.csv", CHAIN);
    folder
}

#[test]
fn a_file_that_is_there_is_replaced_with_a_warning() {
    for command in commands() {
        let folder = folder();
        let args: Vec<&str> = command.iter().map(String::as_str).chain(["-o", "out"]).collect();
        let said = stderr(&folder.run(&args).success());
        assert!(!said.contains("replace"), "{args:?}: nothing was there: {said}");
        folder.write("out", "as it was");
        let _ = std::fs::remove_file(folder.path("out.manifest.json"));
        let said = stderr(&folder.run(&args).success());
        assert!(said.contains("warning: out: this will replace the file that is there"), "{said}");
        assert_ne!(folder.files()["out"], b"as it was");
    }
}

#[test]
fn a_release_is_told_from_other_files() {
    let folder = folder();
    let release = both(&["privatize", "walks.csv", "-o", "out.csv"], &CREDIT);
    folder.run(&release).success();
    let said = stderr(&folder.run(&release).success());
    assert!(said.contains("will replace an earlier release") && said.contains("add up"), "{said}");
    let fit = ["chain", "fit", "walks.csv", "--restart", "-o", "out.csv"];
    let said = stderr(&folder.run(fit).success());
    assert!(said.contains("out.csv.manifest.json stays behind"), "{said}");
}

#[test]
fn ledgers_and_manifests_are_never_replaced() {
    let folder = folder();
    let release = ["privatize", "walks.csv", "-o", "out.csv", "--ledger", "spent"];
    folder.run(both(&release, &CREDIT)).success();
    for command in commands() {
        let to = |name| command.iter().map(String::as_str).chain(["-o", name]).collect::<Vec<_>>();
        folder.refuses(to("spent"), &["spent: this is a ledger", "-o another file"]);
        let manifest = "out.csv.manifest.json";
        folder.refuses(to(manifest), &["manifest of a release", "-o another file"]);
    }
}

#[test]
fn a_release_does_not_replace_what_it_is_made_with() {
    let folder = folder();
    folder.write("my.key", "a secret of more than sixteen bytes");
    folder.write("start.csv", "state,probability\nBaa,1\n");
    for (flag, file, what) in [
        ("--key-file", "my.key", "the secret"),
        ("--initial", "start.csv", "the initial distribution"),
        // It does not exist yet, and would be made before the release.
        ("--ledger", "new.ledger", "the ledger"),
    ] {
        let args = ["privatize", "walks.csv", flag, file, "-o", &format!("./{file}")];
        folder.refuses(both(&args, &CREDIT), &["would replace", what]);
    }
    let tune = "tune --chain credit --epsilon 1 --radius 3.5 --steps 2 -o m.json";
    folder.run(tune.split(' ')).success();
    let args = ["privatize", "walks.csv", "--chain", "credit", "--mechanism", "m.json"];
    folder.refuses(both(&args, &["-o", "m.json"]), &["would replace the mechanism"]);
}

#[test]
fn standard_output_replaces_nothing() {
    let folder = folder();
    folder.write("-", "a file of that name");
    let run = folder.run(["chain", "fit", "walks.csv", "--restart", "-o", "-"]).success();
    assert!(stdout(&run).starts_with("from,to,"), "{}", stdout(&run));
    assert!(!stderr(&run).contains("replace"));
    assert_eq!(folder.read("-"), "a file of that name");
}

#[test]
fn what_needs_a_file_is_not_written_to_one_named_like_standard_output() {
    for command in commands().iter().filter(|c| c[0] == "tune" || c[1] == "compile") {
        let folder = folder();
        let args: Vec<&str> = command.iter().map(String::as_str).chain(["-o", "-"]).collect();
        let said = stderr(&folder.run(&args).code(2));
        assert!(said.contains("give -o the name of a file"), "{said}");
        assert!(!folder.files().contains_key("-"));
    }
}

#[test]
fn a_report_does_not_take_the_place_of_what_it_reads() {
    let folder = folder();
    let args = ["reproduce", "--roads", "walks.csv", "-o", "."];
    let said = stderr(&folder.run(args).code(2));
    assert!(said.contains("walks.csv: this would replace the road network"), "{said}");
    assert_eq!(folder.read("walks.csv"), WALKS);
}

#[test]
fn the_rule_is_in_the_help() {
    let help = stdout(&common::veilwalk(["--help"]).success());
    assert!(help.contains("a ledger and a manifest are never replaced"), "{help}");
    for command in commands() {
        let name: Vec<&str> = command.iter().map(String::as_str).collect();
        let words = if name[0] == "chain" { &name[..2] } else { &name[..1] };
        let words = if name[1] == "generate" { &name[..3] } else { words };
        let help = stdout(&common::veilwalk(both(words, &["--help"])).success());
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("replaced, with a warning"), "{words:?}: {help}");
    }
}
