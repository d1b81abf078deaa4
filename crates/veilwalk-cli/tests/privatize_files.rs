//! `veilwalk privatize` on whole files: formats, threads, blocks, and disks that are full.

mod common;

use common::{CELL, Folder, VEILWALK, both, stderr, stdout};
use serde_json::{Value, json};

const KEY: [&str; 4] = ["--key-file", "my.key", "--release-id", "00112233445566778899aabbccddeeff"];

/// Walks that alternate, with a column beside.
fn walks() -> String {
    let states = ["Baa", "Ba", "B", "Caa", "B", "Ba", "Baa", "Baa"];
    let mut text = String::from("trajectory,year,state\n");
    for row in 0..4000_usize {
        text += &format!("w{},{row},{}\n", row * row % 23, states[row / 7 % states.len()]);
    }
    text
}

/// A folder with walks and a key.
fn folder() -> Folder {
    let folder = Folder::with("walks.csv", walks());
    folder.write("my.key", "a secret of more than sixteen bytes");
    folder
}

fn run(folder: &Folder, args: &[&str]) -> (String, String) {
    let run = folder.run(both(&[&["privatize"], args, &KEY].concat(), &CELL)).success();
    (stdout(&run), stderr(&run))
}

fn manifest(folder: &Folder, release: &str) -> Value {
    serde_json::from_str(&folder.read(&format!("{release}.manifest.json"))).unwrap()
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let folder = folder();
    let (expected, message) = run(&folder, &["walks.csv", "--threads", "1"]);
    assert!(message.contains("released 12 walks, 4,000 states in "), "{message}");
    assert!(message.contains(" a second"), "{message}");
    assert_eq!(expected.lines().count(), 4001);
    for threads in ["2", "7"] {
        assert_eq!(run(&folder, &["walks.csv", "--threads", threads]).0, expected);
    }
    assert_eq!(run(&folder, &["walks.csv", "--stream"]).0, expected, "row by row");
    folder.refuses(both(&["privatize", "walks.csv", "--threads", "0"], &CELL), &["--threads", "0"]);
}

#[test]
fn releases_in_every_format_are_verified_and_read_again() {
    let folder = folder();
    let (expected, _) = run(&folder, &["walks.csv", "--keep", "year"]);
    for name in
        ["o.csv.gz", "o.tsv.zst", "o.ndjson.gz", "o.parquet", "o.arrow", "o.arrows", "o.feather"]
    {
        run(&folder, &["walks.csv", "--keep", "year", "-o", name]);
        let check = folder.run(["verify", name, "--chain", "credit"]).success();
        assert!(stdout(&check).contains("12 walks, 4,000 states"), "{}", stdout(&check));
        assert_eq!(manifest(&folder, name)["counts"]["steps"], 4000);
        // As input it is the same walks as the plain text.
        folder.write("plain.csv", &expected);
        run(&folder, &["plain.csv", "-o", "plain-again.csv"]);
        run(&folder, &[name, "-o", "again.csv"]);
        assert_eq!(folder.read("again.csv"), folder.read("plain-again.csv"), "{name}");
        folder.run(["chain", "fit", name, "-o", "fitted.csv"]).success();
        let args = format!("analyze --chain credit --epsilon 1 --radius 3.5 --real {name}");
        folder.run(args.split(' ')).success();
    }
}

#[test]
fn an_altered_file_is_told_by_row() {
    let folder = folder();
    run(&folder, &["walks.csv", "-o", "o.parquet"]);
    folder.write("moved.csv", "trajectory,step,state\na,0,Aaa\na,1,Def\n");
    let mut told = manifest(&folder, "o.parquet");
    // The manifest of one for the file of another.
    told["release"]["hash"] = json!("0");
    folder.write("o.parquet.manifest.json", told.to_string());
    folder.refuses(["verify", "o.parquet", "--chain", "credit"], &["o.parquet", "hash"]);
}

#[test]
fn what_cannot_be_streamed_is_refused() {
    let folder = folder();
    run(&folder, &["walks.csv", "-o", "o.parquet"]);
    let refuses = |args: &[&str], words: &[&str]| {
        folder.refuses(both(&[&["privatize"], args].concat(), &CELL), words);
    };
    refuses(&["o.parquet", "--stream"], &["o.parquet", "--stream", "lines of text"]);
    refuses(&["walks.csv", "--stream", "-o", "x.csv.gz"], &["--stream", "plain CSV"]);
    refuses(&["walks.csv", "--stream", "-o", "x.parquet"], &["--stream", "plain CSV"]);
    let piped = std::fs::read(folder.path("o.parquet")).unwrap();
    let mut command = assert_cmd::Command::new(VEILWALK);
    let piped = command.args(both(&["privatize", "-"], &CELL)).write_stdin(piped).assert();
    let message = stderr(&piped.code(2));
    assert!(message.contains("standard input: Parquet cannot be read from a pipe"), "{message}");
}

#[test]
fn a_stream_of_arrow_goes_through_pipes() {
    let folder = folder();
    run(&folder, &["walks.csv", "-o", "o.arrows"]);
    let piped = std::fs::read(folder.path("o.arrows")).unwrap();
    let mut command = assert_cmd::Command::new(VEILWALK);
    command.current_dir(folder.root()).args(both(&["privatize", "-"], &CELL)).args(KEY);
    let answer = command.write_stdin(piped).assert().success();
    std::fs::write(folder.path("answer.arrows"), &answer.get_output().stdout).unwrap();
    let (expected, _) = run(&folder, &["o.arrows", "-o", "o.csv"]);
    assert_eq!(expected, "");
    let args = ["chain", "fit", "-o", "-"];
    let fitted = |path: &str| stdout(&folder.run([&args[..], &[path]].concat()).success());
    assert_eq!(fitted("answer.arrows"), fitted("o.csv"));
}

/// The columns of a release by row: trajectory, step and state.
fn rows(text: &str) -> Vec<(String, u64, String)> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[0].to_owned(), fields[1].parse().unwrap(), fields[2].to_owned())
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn rows_come_out_with_their_blocks() {
    let text = "trajectory,state\na,Baa\nb,Ba\na,Baa\nb,B\na,Ba\na,Ba\nb,Caa\na,Baa\n";
    let folder = Folder::with("walks.csv", text);
    folder.write("my.key", "a secret of more than sixteen bytes");
    let keys = |args: &[&str]| -> Vec<(String, u64)> {
        let (shown, _) = run(&folder, &[&["walks.csv"], args].concat());
        rows(&shown).into_iter().map(|(name, step, _)| (name, step)).collect()
    };
    let named = |keys: &[(&str, u64)]| -> Vec<(String, u64)> {
        keys.iter().map(|&(name, step)| (name.to_owned(), step)).collect()
    };
    // The first state of a private start belongs to the first block.
    let blocks =
        named(&[("a", 0), ("a", 1), ("b", 0), ("b", 1), ("a", 2), ("a", 3), ("b", 2), ("a", 4)]);
    assert_eq!(keys(&["--block", "2"]), blocks);
    assert_eq!(keys(&["--block", "2", "--stream"]), blocks);
    let whole =
        named(&[("a", 0), ("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 0), ("b", 1), ("b", 2)]);
    assert_eq!(keys(&["--block", "all"]), whole);
    assert_eq!(keys(&["--block", "all", "--stream"]), whole);
    // Any other comes out at once.
    let blocks =
        named(&[("a", 0), ("b", 0), ("a", 1), ("a", 2), ("b", 1), ("b", 2), ("a", 3), ("a", 4)]);
    assert_eq!(keys(&["--start", "initial", "--block", "2"]), blocks);
    assert_eq!(keys(&["--start", "initial", "--block", "2", "--stream"]), blocks);
    let whole =
        named(&[("a", 0), ("b", 0), ("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 1), ("b", 2)]);
    assert_eq!(keys(&["--start", "initial", "--block", "all"]), whole);
    assert_eq!(keys(&["--start", "initial", "--block", "all", "--stream"]), whole);
    let message = run(&folder, &["walks.csv", "--block", "2"]).1;
    assert!(message.contains("in blocks of 2 steps"), "{message}");
    assert!(message.contains("released 2 walks, 8 states"), "{message}");
    // The rows of `a` that are too many stand together from there on.
    folder.refuses(
        both(&["privatize", "walks.csv", "--block", "all", "--longest-walk", "3"], &CELL),
        &["walks.csv, line 6", "\"a\"", "more than 3 steps"],
    );
}

#[test]
fn blocks_are_the_same_on_any_number_of_threads() {
    let folder = folder();
    for block in ["5", "all"] {
        let with =
            |more: &[&str]| run(&folder, &[&["walks.csv", "--block", block], more].concat()).0;
        let expected = with(&["--threads", "1"]);
        assert_eq!(with(&["--threads", "7"]), expected);
        assert_eq!(with(&["--stream"]), expected);
        assert_eq!(expected.lines().count(), 4001);
    }
}

#[test]
fn walks_that_stand_together_end_where_the_next_begins() {
    let folder = Folder::with("walks.csv", "trajectory,state\na,Baa\na,Ba\na,B\nb,B\nb,Ba\n");
    folder.write("my.key", "a secret of more than sixteen bytes");
    let args = ["walks.csv", "--block", "all"];
    let names = |more: &[&str]| -> String {
        let (shown, _) = run(&folder, &[&args[..], more].concat());
        rows(&shown).into_iter().map(|(name, _, _)| name).collect()
    };
    assert_eq!(names(&["--start", "initial"]), "abaab");
    assert_eq!(names(&[]), "aaabb");
    assert_eq!(names(&["--grouped"]), "aaabb");
    assert_eq!(names(&["--grouped", "--stream"]), "aaabb");
    folder.write("walks.csv", "trajectory,state\na,Baa\nb,B\na,Ba\n");
    // A stream has written what came before.
    let args = both(&["privatize", "walks.csv", "--grouped", "--stream"], &CELL);
    let stream = stderr(&folder.run(args).code(2));
    assert!(stream.contains("line 4") && stream.contains("\"a\" goes on"), "{stream}");
    for more in [&[][..], &["--block", "2"]] {
        let args = [&["privatize", "walks.csv", "--grouped", "-o", "o.csv"], more].concat();
        folder.refuses(both(&args, &CELL), &["line 4", "\"a\" goes on", "leave out --grouped"]);
    }
}

#[test]
fn the_manifest_of_blocks_is_checked() {
    let folder = folder();
    for (block, length, longest) in
        [("5", json!("5"), Value::Null), ("all", json!("all"), json!(1_048_576))]
    {
        run(&folder, &["walks.csv", "--block", block, "-o", "o.csv"]);
        let told = manifest(&folder, "o.csv");
        let part = &told["mechanism"]["block"];
        assert_eq!((&part["length"], &part["longest_walk"]), (&length, &longest));
        assert!(part["rounding_cost"].as_f64().unwrap() > 0.0);
        let verify = ["verify", "o.csv", "--chain", "credit"];
        folder.run(verify).success();
        let altered = |path: &str, value: Value| {
            let mut other = told.clone();
            *other.pointer_mut(path).unwrap() = value;
            folder.write("o.csv.manifest.json", other.to_string());
        };
        altered("/mechanism/block/rounding_cost", json!(0.0));
        folder.refuses(verify, &["rounding cost"]);
        altered("/mechanism/block", Value::Null);
        folder.refuses(verify, &["the manifest says"]);
    }
}

/// A limit on the size of files stands in for a disk that is full.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing_behind() {
    let folder = folder();
    folder.write(
        "walks.csv",
        "trajectory,state\n".to_owned() + &"a,Baa\nb,Ba\nc,B\n".repeat(200_000),
    );
    let before: Vec<String> = folder.files().into_keys().collect();
    for name in ["o.csv", "o.csv.gz", "o.ndjson.zst", "o.parquet", "o.arrow", "o.arrows"] {
        let command = format!(
            "trap '' XFSZ; ulimit -f 8; exec {VEILWALK} privatize walks.csv -o {name} {}",
            CELL.join(" ")
        );
        let mut shell = assert_cmd::Command::new("bash");
        let run = shell.current_dir(folder.root()).args(["-c", &command]).assert().code(2);
        let message = stderr(&run);
        assert!(message.contains(&format!("error: {name}: writing failed")), "{message}");
        assert!(message.contains("check the space on the disk"), "{message}");
        assert_eq!(folder.files().into_keys().collect::<Vec<_>>(), before, "{name}");
    }
    let command = format!("exec {VEILWALK} privatize walks.csv {} > /dev/full", CELL.join(" "));
    let mut shell = assert_cmd::Command::new("bash");
    let run = shell.current_dir(folder.root()).args(["-c", &command]).assert().code(2);
    assert!(stderr(&run).contains("standard output: writing failed"), "{}", stderr(&run));
}
