//! Every refusal: status 2, a message that says where and what to do, and no output at all.

mod common;

use common::{CREDIT, Folder, both};

const WALKS: &str = "trajectory,state\nnorth,Baa\nnorth,Ba\n";

/// Refuses this text as a chain, wherever a chain is asked for.
fn chain_refused(text: impl AsRef<[u8]>, words: &[&str]) {
    let folder = Folder::with("chain.csv", text);
    folder.write("walks.csv", WALKS);
    let message = folder.refuses(["chain", "check", "chain.csv"], words);
    assert!(message.starts_with("error: chain.csv"), "{message}");
    let release = "privatize walks.csv --chain chain.csv --epsilon 1 --radius 1 -o out.csv";
    folder.refuses(release.split(' '), words);
}

/// Refuses this text as walks on the credit chain, into a file and onto standard output.
fn walks_refused(name: &str, text: impl AsRef<[u8]>, words: &[&str]) {
    let folder = Folder::with(name, text);
    folder.refuses(both(&["privatize", name, "-o", "out.csv"], &CREDIT), words);
    folder.refuses(both(&["privatize", name], &CREDIT), words);
}

/// Refuses these flags of a mechanism.
fn mechanism_refused(flags: &[&str], words: &[&str]) {
    let folder = Folder::with("walks.csv", WALKS);
    let release = ["privatize", "walks.csv", "-o", "out.csv", "--chain", "credit"];
    folder.refuses(both(&release, flags), words);
    let kernel = ["kernel", "--previous", "Caa", "--real", "B", "--chain", "credit"];
    folder.refuses(both(&kernel, flags), words);
}

#[test]
fn empty_files() {
    for text in ["", "\n\n", "\u{feff}"] {
        chain_refused(text, &["the file is empty", "from,to,probability"]);
        walks_refused("walks.csv", text, &["walks.csv", "the file is empty", "trajectory,state"]);
    }
    chain_refused("from,to,probability\n", &["no transitions"]);
    let object = "{\"state\":\"Baa\",\"trajectory\":\"north\"}";
    walks_refused("walks.ndjson", "", &["walks.ndjson: the file is empty", object]);
    let folder = Folder::with("start.csv", "");
    folder.refuses(
        ["chain", "check", "credit", "--initial", "start.csv"],
        &["start.csv", "the file is empty", "state,probability"],
    );
}

#[test]
fn files_that_are_not_there() {
    let folder = Folder::with("walks.csv", WALKS);
    folder.refuses(["chain", "check", "none.csv"], &["none.csv", "`credit` and `downtown`"]);
    let release = "privatize walks.csv --chain none.csv --epsilon 1 --radius 1 -o out.csv";
    folder.refuses(release.split(' '), &["none.csv", "give a file"]);
    folder.refuses(
        both(&["privatize", "none.csv", "-o", "out.csv"], &CREDIT),
        &["none.csv: there is no such file; check the path"],
    );
    folder.refuses(["chain", "check", "."], &[".: the file could not be read"]);
    folder.refuses(
        both(&["privatize", "walks.csv", "--key-file", "none.key", "-o", "out.csv"], &CREDIT),
        &["none.key", "/dev/urandom"],
    );
    folder.refuses(
        ["chain", "check", "credit", "--initial", "nowhere"],
        &["--initial nowhere", "`stationary`", "\"Baa\"", "CSV file"],
    );
}

#[test]
fn text_that_is_not_utf8() {
    chain_refused(b"from,to,probability\na,\xff,1\n", &["chain.csv, line 2", "encoding UTF-8"]);
    let walks = b"trajectory,state\nnorth,Baa\nnorth,B\xe9\n";
    walks_refused("walks.csv", walks, &["walks.csv, line 3", "encoding UTF-8"]);
}

#[test]
fn missing_columns() {
    chain_refused("from,to\na,b\n", &["line 1", "\"from,to\" is not known", "from,to,count"]);
    walks_refused(
        "walks.csv",
        "walk,state\n1,Baa\n",
        &["walks.csv, line 1", "no column \"trajectory\"", "\"walk\"", "--trajectory-column"],
    );
    walks_refused(
        "walks.csv",
        "trajectory,place\n1,Baa\n",
        &["walks.csv, line 1", "no column \"state\"", "\"place\"", "--state-column"],
    );
    walks_refused(
        "walks.ndjson",
        "{\"trajectory\":1,\"state\":\"Baa\"}\n{\"trajectory\":1}\n",
        &["walks.ndjson, line 2", "no column \"state\"", "--state-column"],
    );
    let folder = Folder::with("walks.csv", WALKS);
    folder.refuses(
        both(&["privatize", "walks.csv", "--keep", "when", "-o", "out.csv"], &CREDIT),
        &["walks.csv, line 1", "no column \"when\"", "--keep"],
    );
}

#[test]
fn columns_that_must_not_be_kept() {
    let folder = Folder::with("walks.csv", "trajectory,state,step\nnorth,Baa,1\n");
    for (column, word) in [("state", "asked for as the state"), ("step", "rename it")] {
        folder.refuses(
            both(&["privatize", "walks.csv", "--keep", column, "-o", "out.csv"], &CREDIT),
            &[word, column],
        );
    }
}

#[test]
fn numbers_that_are_no_probabilities() {
    for (number, word) in [
        ("NaN", "not a finite number"),
        ("inf", "not a finite number"),
        ("-0.5", "negative"),
        ("half", "not a number"),
        ("", "not a number"),
    ] {
        let table = format!("from,to,probability\na,a,0.5\na,b,{number}\nb,a,1\n");
        chain_refused(table, &["chain.csv, line 3", word, "write a"]);
        let matrix = format!(",a,b\na,0.5,{number}\nb,1,0\n");
        chain_refused(matrix, &["chain.csv, line 2", "column \"b\"", word, "write a"]);
        let folder = Folder::with("start.csv", format!("state,probability\nB,{number}\n"));
        folder.refuses(
            ["chain", "check", "credit", "--initial", "start.csv"],
            &["start.csv, line 2", word],
        );
    }
    let counts = "from,to,count\na,b,-1\nb,a,2\n";
    chain_refused(counts, &["chain.csv, line 2", "the count \"-1\" is negative"]);
}

#[test]
fn numbers_that_make_no_chain() {
    chain_refused(
        "from,to,probability\na,a,0.5\na,b,0.4\nb,a,1\n",
        &["out of \"a\"", "0.900000000", "--normalize"],
    );
    chain_refused(",a,b\na,0.5,0.5\nb,0.7,0.7\n", &["out of \"b\"", "1.400000000", "--normalize"]);
    chain_refused(
        "from,to,probability\na,b,0.5\na,b,0.5\nb,a,1\n",
        &["chain.csv, line 3", "from \"a\" to \"b\"", "already on line 2", "once"],
    );
    chain_refused(
        "from,to,probability\na,b,1\n",
        &["\"b\" has no way out", "add a transition", "--largest-component"],
    );
    chain_refused(
        ",a,b\na,0,1\nb,0,1\n",
        &["\"a\" cannot be reached from \"b\"", "--largest-component"],
    );
    let folder = Folder::with("start.csv", "state,probability\nBaa,0.5\n");
    folder.refuses(
        ["chain", "check", "credit", "--initial", "start.csv"],
        &["start.csv", "sum to 0.5", "correct"],
    );
}

#[test]
fn states_that_the_chain_does_not_have() {
    let text = "trajectory,state\nnorth,Baa\nnorth,Zzz\nnorth,Ba\n";
    let words = ["walks.csv, line 3", "\"Zzz\"", "--unknown-state skip", "add the state"];
    walks_refused("walks.csv", text, &words);
    let text = "trajectory,state\nnorth,baa\n";
    walks_refused(
        "walks.csv",
        text,
        &["walks.csv, line 2", "did you mean \"Baa\"? Correct the label"],
    );
    let text = "trajectory,state\nnorth,aBa\n";
    walks_refused("walks.csv", text, &["walks.csv, line 2", "did you mean \"Baa\"?"]);
    let folder = Folder::with("walks.csv", WALKS);
    folder.write("start.csv", "state,probability\nZzz,1\n");
    folder.refuses(
        ["chain", "check", "credit", "--initial", "start.csv"],
        &["start.csv, line 2", "\"Zzz\""],
    );
    folder.refuses(
        both(&["privatize", "walks.csv", "--start", "Zzz", "-o", "out.csv"], &CREDIT),
        &["--start", "\"Zzz\"", "\"Baa\""],
    );
    for (flag, args) in [
        ("--previous", ["kernel", "--previous", "Zzz", "--real", "B"]),
        ("--real", ["kernel", "--previous", "B", "--real", "Zzz"]),
    ] {
        folder.refuses(both(&args, &CREDIT), &[flag, "\"Zzz\" is not a state", "give one of"]);
    }
}

#[test]
fn all_states_that_the_chain_does_not_have_are_counted() {
    let mut text = String::from("trajectory,state\nnorth,Baa\n");
    for label in ["Zzz", "Yyy", "Zzz", "Xxx"] {
        text += &format!("north,{label}\n");
    }
    let words =
        ["line 3: \"Zzz\"", "In all, 4 rows have 3 such labels: \"Zzz\", \"Yyy\", \"Xxx\"\n"];
    let counted = |name: &str, text: &str, words: &[&str]| {
        walks_refused(name, text, words);
        let folder = Folder::with(name, text);
        let real = both(&["analyze", "--real"], &[name]);
        folder.refuses(real.iter().map(String::as_str).chain(CREDIT), words);
    };
    counted("walks.csv", &text, &words);
    for label in ["Q1", "Q2", "Q3"] {
        text += &format!("south,{label}\n");
    }
    let words = ["\"Zzz\"", "In all, 7 rows have 6 such labels: ", "\"Q1\", \"Q2\", …"];
    counted("walks.csv", &text, &words);
    let text = "trajectory,state\na,Baa\na,Zzz\na,Zzz\n";
    counted("walks.csv", text, &["\"Zzz\"", "In all, 2 rows have this label\n"]);
    let text = "trajectory,state\na,12\na,17\n";
    counted("walks.csv", text, &["\"12\"", "Not one of the 2 rows", "--state-column"]);
    // In a pipe only the first is known.
    let folder = Folder::new();
    let run = folder.run_with(both(&["privatize", "-"], &CREDIT), text).code(2);
    let said = common::stderr(&run);
    assert!(said.contains("\"12\" is not a state") && !said.contains("rows has"), "{said}");
}

#[test]
fn walks_that_are_given_for_a_chain() {
    let folder = Folder::with("walks.csv", WALKS);
    folder.write("walks.ndjson", "{\"trajectory\":\"a\",\"state\":\"Baa\"}\n");
    for name in ["walks.csv", "walks.ndjson"] {
        let words =
            [name, "a file of walks", "`veilwalk chain fit WALKS -o CHAIN`", "A chain is public"];
        folder.refuses(["chain", "check", name], &words);
        folder.refuses(["guarantee", "--chain", name, "--epsilon", "1", "--radius", "1"], &words);
    }
    // What is neither stays what it is.
    let folder = Folder::with("other.csv", "walk,place\n1,Baa\n");
    let said = folder.refuses(["chain", "check", "other.csv"], &["other.csv, line 2"]);
    assert!(!said.contains("a file of walks"), "{said}");
}

#[test]
fn lines_that_are_cut_or_too_long() {
    walks_refused(
        "walks.csv",
        "trajectory,state\nnorth\n",
        &["line 2", "1 fields", "header has 2"],
    );
    walks_refused("walks.csv", "trajectory,state\nnorth,\n", &["line 2", "\"state\" is empty"]);
    walks_refused("walks.csv", "trajectory,state\n\"north,Baa\n", &["line 2", "never closed"]);
    walks_refused("walks.ndjson", "{\"trajectory\":\n", &["walks.ndjson, line 1", "not JSON"]);
    chain_refused("from,to,probability\na,b,1,2\n", &["chain.csv, line 2", "4 fields"]);
}

#[test]
fn epsilons_that_promise_nothing() {
    for (epsilon, word) in [
        ("0", "above"),
        ("0.0", "above"),
        ("-1", "negative"),
        ("nan", "not a number"),
        ("inf", "not a number"),
        ("much", "not a number"),
        ("", "not a number"),
        ("1/0", "divides by zero"),
    ] {
        mechanism_refused(&["--radius", "1", "--epsilon", epsilon], &["--epsilon", word]);
    }
    mechanism_refused(&["--radius", "1"], &["--epsilon"]);
}

#[test]
fn radii_and_counts_that_protect_nothing() {
    for (radius, word) in
        [("0", "above"), ("-2", "negative"), ("nan", "not a number"), ("far", "not a number")]
    {
        mechanism_refused(&["--epsilon", "1", "--radius", radius], &["--radius", word]);
    }
    for (count, accepted) in [
        ("0", "from 1 up"),
        ("-1", "from 1 up"),
        ("1.5", "from 1 up"),
        ("all", "from 1 up"),
        ("99999999999", "up to 4,294,967,295"),
    ] {
        mechanism_refused(
            &["--epsilon", "1", "--mechanism", "chen", "--substitutions", count],
            &["--substitutions", count, "give a whole number", accepted],
        );
    }
    mechanism_refused(&["--epsilon", "1"], &["--radius", "--substitutions"]);
    let both = ["--epsilon", "1", "--radius", "1", "--substitutions", "1"];
    mechanism_refused(&both, &["--radius", "--substitutions", "cannot be used with"]);
}

#[test]
fn numbers_that_a_flag_does_not_take() {
    let folder = Folder::with("walks.csv", WALKS);
    let credit = CREDIT.join(" ");
    for (command, value, accepted) in [
        (format!("privatize walks.csv {credit} --threads"), "0", "a whole number from 1"),
        (format!("privatize walks.csv {credit} --seed"), "-1", "a whole number from 0 up"),
        (format!("privatize walks.csv {credit} --ledger l --budget"), "0", "a number above"),
        (format!("privatize walks.csv {credit} --ledger l --budget"), "-1", "a number above"),
        (format!("privatize walks.csv {credit} --block"), "0", "from 1 up, or `all`"),
        (format!("privatize walks.csv {credit} --block"), "-1", "from 1 up, or `all`"),
        (format!("privatize walks.csv {credit} --block all --longest-walk"), "0", "from 1 up"),
        (format!("analyze {credit} --steps"), "20000000", "a whole number up to 10,000,000"),
        (format!("analyze {credit} --simulate"), "1", "a whole number from 2 up"),
        (format!("analyze {credit} --levels"), "-1", "a number of nats from 0 up"),
        (format!("compare {credit} --block-walks"), "1", "a whole number from 2 up"),
        (format!("compare {credit} --blocks"), "0", "from 1 up, or `all`"),
        (format!("tune {credit} --steps"), "0", "a whole number from 1 up"),
        (format!("audit {credit} --draws"), "0", "a whole number from 1 up"),
        (format!("audit {credit} --pairs"), "0", "a whole number from 1 up"),
        ("demo --seed".to_owned(), "x", "a whole number from 0 up"),
        ("chain generate grid --height 3 -o c --width".to_owned(), "0", "a whole number from 1"),
        ("chain check credit --distance-cache".to_owned(), "-1", "a whole number from 0 up"),
    ] {
        let flag = command.rsplit(' ').next().unwrap();
        let words = [&format!("invalid value '{value}' for '{flag} "), "give ", accepted];
        folder.refuses(command.split(' ').chain([value]), &words);
    }
    for (flag, name) in [("--epsilon", "epsilon"), ("--radius", "the radius")] {
        for (value, problem) in [("0", "zero; give a number above it"), ("-1", "negative; give")] {
            let command = "kernel --chain credit --previous B --real B".split(' ');
            let problem = format!("{name} is {problem}");
            folder.refuses(command.chain([flag, value]), &[&problem, "such as 0.5 or 1/3"]);
        }
    }
}

#[test]
fn mechanisms_that_do_not_exist_or_do_not_fit() {
    let given = |flag, value| ["--epsilon", "1", "--radius", "1", flag, value];
    mechanism_refused(&given("--mechanism", "best"), &["\"best\"", "sharp", "chen", "auto"]);
    mechanism_refused(&given("--distance", "far"), &["\"far\"", "symmetric"]);
    mechanism_refused(&given("--rule", "gold"), &["\"gold\"", "permute-and-flip"]);
    mechanism_refused(&given("--chain-weight", "-1"), &["--chain-weight", "negative"]);
    for mechanism in ["chen", "exponential-hamming"] {
        mechanism_refused(&given("--mechanism", mechanism), &[mechanism, "--substitutions 1"]);
    }
}

#[test]
fn observations_that_do_not_fit() {
    let refused = |flags: &str, words: &[&str]| {
        let flags = format!("--epsilon 1 --radius 3.5 {flags}");
        mechanism_refused(&flags.split(' ').collect::<Vec<_>>(), words);
    };
    for (no_observation, flag) in
        [("--mechanism cell --lag 2", "--lag"), ("--mechanism sharp --track states", "--track")]
    {
        refused(
            no_observation,
            &[flag, "releases what it draws", "`tight`, `believed` or `plane`"],
        );
    }
    for no_weights in ["--candidates moves --weights even", "--mechanism believed --weights tight"]
    {
        refused(no_weights, &["--weights are for all states", "--candidates `states`"]);
    }
    for not_believed in
        ["--candidates moves --believed-from 0.1", "--mechanism tight --believed-from 0"]
    {
        refused(not_believed, &["--believed-from is for believed", "--candidates `believed`"]);
    }
    refused("--mechanism tight --distance cell", &["leave out --distance"]);
    refused("--mechanism tight --rule permute-and-flip", &["leave out --rule"]);
    refused("--mechanism believed --chain-weight 1/2", &["leave out --chain-weight"]);
    for (flag, value, words) in [
        ("--candidates", "all", &["\"all\"", "moves, states, believed"][..]),
        ("--weights", "loose", &["\"loose\"", "tight, even"]),
        ("--believed-from", "1.5", &["from 0 to 1"]),
        ("--track", "far", &["\"far\"", "distance, states"]),
        ("--typicality", "much", &["\"much\"", "not a number"]),
        ("--lag", "-1", &["--lag", "from 0"]),
    ] {
        refused(&format!("{flag} {value}"), words);
    }
    let folder = Folder::with("walks.csv", WALKS);
    for observing in ["--mechanism tight", "--mechanism believed", "--candidates states"] {
        let args = format!("privatize walks.csv -o out.csv {observing} --block 5");
        let words = ["--block: observations are not released in blocks", "--lag"];
        folder.refuses(both(&args.split(' ').collect::<Vec<_>>(), &CREDIT), &words);
    }
    folder.write("kept.csv", "trajectory,state,observed\nnorth,Baa,1\n");
    let args = "privatize kept.csv -o out.csv --mechanism tight --keep observed";
    let words = ["out.csv: the column \"observed\" cannot be kept", "rename it"];
    folder.refuses(both(&args.split(' ').collect::<Vec<_>>(), &CREDIT), &words);
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::with("walks.csv", WALKS);
    std::fs::create_dir(folder.path("taken")).unwrap();
    folder.write("locked.csv", "as it was");
    let mut permissions = std::fs::metadata(folder.path("locked.csv")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(folder.path("locked.csv"), permissions).unwrap();
    for (output, word) in [
        ("missing/out.csv", "create it"),
        ("taken", "choose another path"),
        ("walks.csv/out.csv", "choose a"),
        ("locked.csv", "read-only"),
    ] {
        folder.refuses(both(&["privatize", "walks.csv", "-o", output], &CREDIT), &[output, word]);
        folder.refuses(["chain", "fit", "walks.csv", "--largest-component", "-o", output], &[]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_standard_output() {
    let folder = Folder::with("walks.csv", WALKS);
    let kernel = both(&["kernel", "--previous", "B", "--real", "B"], &CREDIT);
    let release = both(&["privatize", "walks.csv"], &CREDIT);
    let stream = both(&["privatize", "walks.csv", "--stream"], &CREDIT);
    let check = both(&["chain", "check", "credit"], &[]);
    for args in [kernel, release, stream, check, both(&["demo"], &[])] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(common::VEILWALK);
        command.current_dir(folder.root()).args(&args).stdout(full);
        let done = command.stderr(std::process::Stdio::piped()).output().unwrap();
        let message = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{args:?}: {message}");
        assert!(message.contains("error: standard output: writing failed"), "{message}");
    }
}

/// A public file, or one that randomness must not depend on.
#[test]
fn key_files_that_are_no_secret() {
    let folder = Folder::with("walks.csv", "trajectory,state\na,Baa\na,Ba\n");
    folder.write("chain.csv", "from,to,count\nBaa,Ba,1\nBa,Baa,2\nBa,Ba,1\n");
    let args =
        ["privatize", "walks.csv", "--chain", "chain.csv", "--epsilon", "1", "--radius", "9"];
    for (key, what) in [("walks.csv", "the real walks"), ("chain.csv", "the chain")] {
        let more = ["-o", "out.csv", "--key-file", key];
        folder.refuses(both(&args, &more), &[key, what, "no secret", "/dev/urandom"]);
    }
}

/// A dash is standard input or output, and neither is a ledger or a chain.
#[test]
fn a_dash_that_is_no_file() {
    let folder = Folder::with("walks.csv", "trajectory,state\na,Baa\n");
    let args = ["privatize", "walks.csv", "-o", "out.csv", "--ledger"];
    folder.refuses(both(&[&args[..], &["-"]].concat(), &CREDIT), &["--ledger", "a file"]);
    let more = both(&[&args[..], &["spent", "--budget", "-1"]].concat(), &CREDIT);
    folder.refuses(more, &["the budget is negative"]);
    let args = ["guarantee", "--chain", "-", "--epsilon", "1", "--radius", "4"];
    folder.refuses(args, &["standard input", "name its file"]);
    folder.refuses(["chain", "check", "-"], &["standard input", "name its file"]);
}

#[test]
fn walks_without_a_header() {
    let folder = Folder::with("walks.csv", "ann,Baa\nann,Ba\n");
    folder.refuses(
        both(&["privatize", "walks.csv", "-o", "out.csv"], &CREDIT),
        &["no column \"trajectory\"", "\"Baa\" is a state of the chain", "add a header line"],
    );
}

#[test]
fn key_files_that_are_too_short() {
    let folder = Folder::with("walks.csv", WALKS);
    folder.write("my.key", "short");
    folder.refuses(
        both(&["privatize", "walks.csv", "--key-file", "my.key", "-o", "out.csv"], &CREDIT),
        &["my.key", "5 bytes", "at least 16", "/dev/urandom"],
    );
    folder.write("long.key", "a secret of more than sixteen bytes");
    let args = ["privatize", "walks.csv", "--key-file", "long.key", "--seed", "1"];
    folder.refuses(both(&args, &CREDIT), &["--seed", "--key-file", "cannot be used with"]);
}

#[test]
fn what_was_there_stays_when_a_run_fails() {
    let mut text = String::from("trajectory,state\n");
    text.push_str(&"north,Baa\n".repeat(20_000));
    text.push_str("north,Zzz\n");
    let folder = Folder::with("walks.csv", text);
    folder.write("out.csv", "the release of yesterday\n");
    let words = ["walks.csv, line 20002", "\"Zzz\""];
    folder.refuses(both(&["privatize", "walks.csv", "-o", "out.csv"], &CREDIT), &words);
    folder.refuses(both(&["privatize", "walks.csv"], &CREDIT), &words);
}

#[test]
fn what_is_read_is_not_written_over() {
    let folder = Folder::with("walks.csv", WALKS);
    folder.write("chain.csv", "from,to,count\nBaa,Ba,1\nBa,Baa,2\nBa,Ba,1\n");
    let fit = ["chain", "fit", "walks.csv", "-o", "./walks.csv"];
    folder.refuses(fit, &["walks.csv", "would replace the walks", "-o"]);
    let compile = ["chain", "compile", "chain.csv", "-o", "chain.csv"];
    folder.refuses(compile, &["chain.csv", "would replace the chain"]);
    let tune = "tune --chain chain.csv --epsilon 1 --radius 1 -o chain.csv";
    folder.refuses(tune.split(' '), &["would replace the chain"]);
    let release = "privatize walks.csv --chain chain.csv --epsilon 1 --radius 1 -o chain.csv";
    folder.refuses(release.split(' '), &["would replace the chain"]);
    let release = release.replace("-o chain.csv", "-o walks.csv");
    folder.refuses(release.split(' '), &["would replace the real walks"]);
}

/// A manifest goes beside the release, whatever is there.
#[test]
fn a_manifest_replaces_nothing_but_a_manifest() {
    let folder = Folder::with("walks.csv", WALKS);
    folder.write("out.csv.manifest.json", "a secret of more than sixteen bytes");
    let release = both(&["privatize", "walks.csv", "-o", "out.csv"], &CREDIT);
    let args = |more: &[&str]| {
        release
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    folder.refuses(args(&[]), &["out.csv.manifest.json", "is no manifest", "move it away"]);
    let key = args(&["--key-file", "out.csv.manifest.json"]);
    folder.refuses(key, &["would replace the secret"]);
    std::fs::remove_file(folder.path("out.csv.manifest.json")).unwrap();
    let ledger = args(&["--ledger", "out.csv.manifest.json"]);
    folder.refuses(ledger, &["would replace the ledger"]);
    folder.run(args(&[])).success();
    folder.run(args(&[])).success();
}

#[test]
fn walks_without_a_header_or_with_semicolons() {
    walks_refused("walks.csv", "7,Baa\n7,Ba\n", &["if the first line is data", "header line"]);
    walks_refused("walks.csv", "trajectory;state\n7;Baa\n", &["commas or tabs"]);
}

#[test]
fn a_ledger_that_is_another_file() {
    let folder = Folder::with("walks.csv", WALKS);
    folder.write("notes.csv", "x".repeat(5000));
    folder.refuses(["ledger", "show", "notes.csv"], &["notes.csv", "not a ledger"]);
    let args = ["privatize", "walks.csv", "--ledger", "notes.csv", "-o", "out.csv"];
    folder.refuses(both(&args, &CREDIT), &["notes.csv", "not a ledger"]);
    let args = ["privatize", "walks.csv", "--ledger", "none/spent", "-o", "out.csv"];
    folder.refuses(both(&args, &CREDIT), &["none/spent", "there is no folder none"]);
}
