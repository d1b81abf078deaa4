//! `veilwalk chain fit --epsilon`: chains that may be published.

mod common;

use common::{Folder, json, stderr, stdout};
use serde_json::{Value, json};

const FIT: &str = "chain fit walks.csv --epsilon 1 --person-column who --max-moves 2 --edges graph.csv -o chain.csv";

fn words(line: &str) -> std::str::SplitWhitespace<'_> {
    line.split_whitespace()
}

fn with(more: &str) -> Vec<String> {
    words(FIT).chain(words(more)).map(str::to_owned).collect()
}

fn folder() -> Folder {
    let mut walks = "trajectory,who,state\n".to_owned();
    for person in 0..50 {
        for (walk, states) in [("x", ["a", "b", "a"]), ("y", ["b", "c", "a"])] {
            states.iter().for_each(|state| walks += &format!("{person}{walk},p{person},{state}\n"));
        }
    }
    let folder = Folder::with("walks.csv", walks);
    folder.write("graph.csv", "from,to\na,a\na,b\nb,a\nb,c\nc,a\n");
    folder
}

/// What the file says of itself.
fn said(chain: &str) -> Value {
    let line = chain.lines().find_map(|line| line.strip_prefix("# {")).unwrap();
    serde_json::from_str(&format!("{{{line}")).unwrap()
}

#[test]
fn a_private_chain_says_what_it_cost_and_every_command_reads_it() {
    let folder = folder();
    let run = folder.run(with("--counts --starts starts.csv")).success();
    let message = stderr(&run);
    for word in [
        "release id",
        "chain.csv: 3 states and 5 transitions; epsilon 1 for each person, of whom 2 moves",
        "for your eyes only",
        "100 of 200 public moves were counted, of 50 persons in 100 walks; 50 persons with more",
    ] {
        assert!(message.contains(word), "no {word:?} in {message}");
    }
    assert!(!message.contains("warning"), "{message}");
    assert_eq!(stdout(&run), "");
    let chain = folder.read("chain.csv");
    assert!(chain.starts_with("# Fitted with noise: one person added or removed"), "{chain}");
    let fit = &said(&chain)["private_fit"];
    assert_eq!(fit["private"], true);
    for (key, value) in [
        ("epsilon", "1"),
        ("epsilon_person_replaced", "2"),
        ("epsilon_one_state_replaced", "2"),
        ("starts_share", "0.1"),
        ("floor", "1"),
    ] {
        assert_eq!(fit[key], value, "{key}");
    }
    assert_eq!(fit["max_moves"], 2);
    let table: Vec<&str> = chain.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!((table[0], table.len()), ("from,to,count", 6));
    assert!(folder.read("starts.csv").starts_with("state,probability\na,0."));
    let check = "chain check chain.csv --initial starts.csv --format json";
    let answer = json(&folder.run(words(check)).success());
    assert_eq!((&answer["states"], &answer["transitions"]), (&json!(3), &json!(5)));
    let release = "privatize walks.csv --chain chain.csv --epsilon 1 --substitutions 1";
    folder.run(words(release)).success();
    folder.run(words("chain compile chain.csv -o chain.model")).success();
    // And as a graph for the next fit, numbers and all.
    for graph in ["chain.csv", "chain.model"] {
        let again = FIT.replace("graph.csv", graph).replace("-o chain.csv", "-o next.csv");
        folder.run(words(&again)).success();
        assert!(folder.read("next.csv").contains("\na,b,0."), "probabilities");
    }
}

/// Starts, ends and lengths are fitted, and walks are made up that have all three.
#[test]
fn walks_are_made_up_that_end_where_they_should() {
    let folder = folder();
    let tables = "--starts starts.csv --ends ends.csv --lengths lengths.csv --longest-walk 4";
    let fit = FIT.replace("--epsilon 1", "--epsilon 1000");
    folder.run(words(&fit).chain(words(tables))).success();
    let said = said(&folder.read("chain.csv"));
    for (key, value) in [("starts_share", "0.1"), ("ends_share", "0.1"), ("lengths_share", "0.1")] {
        assert_eq!(said["private_fit"][key], value, "{key}");
    }
    assert_eq!(said["private_fit"]["longest_walk"], 4);
    // All walks have two moves and end in `a`; half of them start in `a`.
    assert_eq!(folder.read("lengths.csv"), "moves,probability\n2,1.0\n");
    assert_eq!(folder.read("ends.csv"), "state,probability\na,1.0\n");
    let sample = "chain sample chain.csv --initial starts.csv --lengths lengths.csv --ends ends.csv \
                  --walks 500 --seed 1 -o made-up.csv";
    let message = stderr(&folder.run(words(sample)).success());
    assert!(message.contains("made-up.csv: 500 walks, made up by the chain"), "{message}");
    let made = folder.read("made-up.csv");
    let ends: Vec<&str> = made.lines().filter(|line| line.contains(",2,")).collect();
    assert_eq!((ends.len(), made.lines().count()), (500, 1501));
    assert!(ends.iter().all(|line| line.ends_with(",a")), "{ends:?}");
    folder.run(words(sample)).success();
    assert_eq!(folder.read("made-up.csv"), made, "the seed repeats them");
    // Lengths without ends, and ends without lengths.
    let lengths = sample.replace("--ends ends.csv", "");
    folder.run(words(&lengths)).success();
    assert_ne!(folder.read("made-up.csv"), made);
    let ends = sample.replace("--lengths lengths.csv", "--steps 3");
    folder.run(words(&ends)).success();
    let made = folder.read("made-up.csv");
    assert!(made.lines().filter(|line| line.contains(",3,")).all(|line| line.ends_with(",a")));
    // A walk without a move ends where it starts.
    folder.write("none.csv", "moves,probability\n0,1\n");
    let none = sample.replace("lengths.csv", "none.csv");
    let message = stderr(&folder.run(words(&none)).success());
    assert!(message.contains("do not all end where they should"), "{message}");
    folder.write("bad.csv", "moves,probability\n2.5,1\n");
    folder.refuses(words(&sample.replace("lengths.csv", "bad.csv")), &["bad.csv, line 2", "whole"]);
    folder.refuses(words(&sample.replace("--walks 500", "--steps 3")), &["--steps"]);
    let onto = sample.replace("-o made-up.csv", "-o ends.csv");
    folder.refuses(words(&onto), &["ends.csv", "the last states"]);
    let long = sample.replace("--lengths lengths.csv", "--steps 999999999");
    folder.refuses(words(&long), &["1 GiB"]);
}

#[test]
fn graphs_are_public_and_come_in_several_ways() {
    let folder = folder();
    folder.write("states.csv", "state\na\nb\nc\n");
    let all = FIT.replace("graph.csv", "all --states states.csv");
    let message = stderr(&folder.run(words(&all)).success());
    assert!(message.contains("3 states and 9 transitions"), "{message}");
    folder.refuses(words(&FIT.replace("graph.csv", "all")), &["--edges all", "--states FILE"]);
    folder.refuses(with("--states states.csv"), &["--states is for --edges all"]);
    folder
        .refuses(words(&FIT.replace("--edges graph.csv", "")), &["--edges is missing", "from,to"]);
    folder.refuses(words(&FIT.replace("graph.csv", "no.csv")), &["no.csv"]);
    folder.write("broken.csv", "from,to\na,b\nb,c\nc,b\n");
    let broken = FIT.replace("graph.csv", "broken.csv");
    folder.refuses(words(&broken), &["broken.csv", "cannot be reached", "--largest-component"]);
    let run = folder.run(words(&format!("{broken} --largest-component"))).success();
    let message = stderr(&run);
    for word in ["2 states and 2 transitions", "rows with a state that is not public"] {
        assert!(message.contains(word), "no {word:?} in {message}");
    }
    folder.write("moves.csv", "from,to\na,c\nc,b\nb,a\n");
    let message = stderr(&folder.run(words(&FIT.replace("graph.csv", "moves.csv"))).success());
    assert!(message.contains("moves that the public graph does not have"), "{message}");
    folder.write("elsewhere.csv", "from,to\nx,y\ny,x\n");
    let message = stderr(&folder.run(words(&FIT.replace("graph.csv", "elsewhere.csv"))).success());
    assert!(message.contains("warning: walks.csv: not a single public move"), "{message}");
}

#[test]
fn what_is_missing_is_asked_for() {
    let folder = folder();
    let without = |flag: &str| FIT.replace(flag, "");
    folder.refuses(
        words(&without("--person-column who")),
        &["--person-column is missing", "--person-column trajectory"],
    );
    folder.refuses(words(&without("--max-moves 2")), &["--max-moves is missing"]);
    folder.refuses(words(&without("--epsilon 1")), &["--epsilon"]);
    folder.refuses(with("--restart"), &["--restart"]);
    folder.refuses(with("--floor 0"), &["--floor", "the floor is 0"]);
    folder.refuses(with("--starts s.csv --starts-share 1"), &["--starts-share", "below 1"]);
    folder.refuses(with("--starts chain.csv"), &["chain.csv", "would replace the chain"]);
    folder.refuses(with("--starts s.csv --ends s.csv"), &["s.csv", "the first states"]);
    folder.refuses(with("--ends e.csv --ends-share 0"), &["--ends-share", "above 0"]);
    folder.refuses(with("--ends-share 0.1"), &["--ends"]);
    folder.refuses(with("--lengths l.csv"), &["--longest-walk"]);
    folder.refuses(with("--longest-walk 3"), &["--lengths"]);
    folder.refuses(with("--lengths l.csv --longest-walk 0"), &["--longest-walk"]);
    let all = "--starts s.csv --starts-share 0.5 --ends e.csv --ends-share 0.5";
    folder.refuses(with(all), &["--ends-share", "nothing for moves"]);
    folder.refuses(words(&FIT.replace("who", "whom")), &["no column \"whom\"", "--person-column"]);
    folder.refuses(words(&FIT.replace("--epsilon 1", "--epsilon 0")), &["--epsilon"]);
    folder.refuses(with("--release-id 00000000000000000000000000000000"), &["--key-file"]);
    folder.refuses(words("chain fit walks.csv -o c.csv --seed 1"), &["nothing is random"]);
    folder.write("walks.csv", "trajectory,who,state\n1,ann,a\n1,bob,b\n");
    folder.refuses(with(""), &["walks.csv, line 3", "\"bob\" here and to \"ann\" before"]);
    folder.write("walks.csv", "trajectory,who,state\n1,,a\n");
    folder.refuses(with(""), &["walks.csv, line 2", "\"who\" is empty"]);
}

#[test]
fn the_noise_is_new_every_time_unless_it_is_asked_for_again() {
    let folder = folder();
    let fitted = |more: &str| {
        let message = stderr(&folder.run(with(more)).success());
        let chain = folder.read("chain.csv");
        let table: Vec<String> =
            chain.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
        (table, said(&chain)["private_fit"].clone(), message)
    };
    assert_ne!(fitted("").0, fitted("").0);
    let (seeded, fit, message) = fitted("--seed 4");
    assert_eq!(seeded, fitted("--seed 4").0);
    assert_eq!(fit["private"], false);
    assert!(message.contains("warning: fitted with --seed") && message.contains("NOT private"));
    assert!(folder.read("chain.csv").starts_with("# NOT private"));
    folder.write("key", [7; 32]);
    let (keyed, fit, _) = fitted("--key-file key");
    let id = format!("--key-file key --release-id {}", fit["release_id"].as_str().unwrap());
    assert_eq!(keyed, fitted(&id).0);
    assert_ne!(keyed, fitted("--key-file key").0);
    // Rows in Parquet or from a pipe are the same rows.
    let piped = FIT.replace("walks.csv", "-").replace("-o chain.csv", "-o piped.csv");
    let piped: Vec<&str> = words(&piped).chain(words("--seed 4")).collect();
    folder.run_with(piped, &folder.read("walks.csv")).success();
    assert!(folder.read("piped.csv").ends_with(&seeded.join("\n")[20..].to_owned().add_newline()));
}

trait AddNewline {
    fn add_newline(self) -> String;
}

impl AddNewline for String {
    fn add_newline(self) -> String {
        self + "\n"
    }
}

#[test]
fn every_person_is_charged_before_the_chain_is_there() {
    let folder = folder();
    let shown = |person: &str| {
        let run = ["ledger", "show", "l.db", "--person", person, "--format", "json"];
        json(&folder.run(run).success())
    };
    folder.run(with("--ledger l.db")).success();
    let spent = &shown("p7")["spent"]["p7"];
    assert_eq!(spent["exact"], "2", "replacing a person is removing one and adding another");
    assert_eq!(spent["unit"], "all walks of the person replaced");
    assert_eq!((&spent["walks"], &spent["releases"]), (&json!(0), &json!(1)));
    // It adds up with releases, in their unit.
    let release = "privatize walks.csv --chain chain.csv --epsilon 1 --substitutions 1 --ledger l.db \
                   --person-column who";
    folder.run(words(release)).success();
    let person = shown("p7");
    let spent = &person["spent"]["p7"];
    assert_eq!((&spent["exact"], &spent["unit"]), (&json!("4"), &json!("1 substitution")));
    assert_eq!(person["releases"].as_array().unwrap().len(), 3);
    let over = with("--ledger l.db --budget 5.9");
    let before = folder.read("chain.csv");
    folder.refuses(&over, &["p0", "5.9", "no chain was fitted", "the walks of such people"]);
    assert_eq!(folder.read("chain.csv"), before);
    folder.run(with("--ledger l.db --budget 6")).success();
    assert_eq!(shown("p7")["spent"]["p7"]["exact"], "6");
    let text = stdout(&folder.run(words("ledger show l.db --person p7")).success());
    assert!(text.contains("all walks of the person replaced"), "{text}");
}

#[test]
fn a_repeated_run_is_free_and_other_rows_under_its_id_are_refused() {
    let folder = folder();
    folder.write("key", [7; 32]);
    let id = "--key-file key --release-id 0123456789abcdef0123456789abcdef --ledger l.db";
    folder.run(with(id)).success();
    let first = folder.read("chain.csv");
    let message = stderr(&folder.run(with(id)).success());
    assert!(message.contains("it costs nothing"), "{message}");
    assert_eq!(folder.read("chain.csv"), first);
    let less: String =
        folder.read("walks.csv").lines().take(100).map(|l| format!("{l}\n")).collect();
    folder.write("walks.csv", less);
    folder.refuses(
        with(id),
        &[
            "0123456789abcdef0123456789abcdef",
            "the rows or the key are others",
            "No chain was fitted",
        ],
    );
}
