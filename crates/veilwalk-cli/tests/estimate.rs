//! `veilwalk estimate`.

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use common::{Folder, json, stderr, stdout};
use serde_json::Value;
use veilwalk::chain::{ChainBuilder, Entries};
use veilwalk::inference::{EstimateSettings, Inference, Sample, estimate};
use veilwalk::{
    Chain, Mechanism, Model, Outcome, Preset, Promise, Releaser, Source, Start, StateId,
};
use veilwalk_io::{WalkOptions, WalkReader};

fn words(line: &str) -> std::str::SplitWhitespace<'_> {
    line.split_whitespace()
}

/// Walks that all start at one state of the credit chain, and releases of them by two mechanisms.
fn folder() -> Folder {
    let folder = Folder::new();
    let sample = "chain sample credit --walks 300 --steps 9 --from B --seed 1 -o real.csv";
    folder.run(words(sample)).success();
    for (mechanism, name) in [("cell", "cell.csv"), ("tight", "tight.parquet")] {
        let line = format!(
            "privatize real.csv --chain credit --epsilon 2 --radius 3.5 --mechanism {mechanism} --seed 3 -o {name}"
        );
        folder.run(words(&line)).success();
    }
    folder
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn sum(list: &Value) -> f64 {
    list.as_array().unwrap().iter().map(|entry| entry["share"].as_f64().unwrap()).sum()
}

#[test]
fn slow_an_estimate_is_near_the_real_walks_and_is_scored_as_it_is() {
    let folder = folder();
    let line =
        "estimate cell.csv tight.parquet --chain credit --what od --replicates 20 --format json";
    let run = folder.run(words(line)).success();
    assert!(
        stderr(&run).contains("learned from 600 released walks with 6,000 states in 2 releases")
    );
    let answer = json(&run);
    let all = ["iterations", "log_likelihood", "moves", "od", "visits", "walks"];
    assert_eq!(keys(&answer), all);
    assert_eq!(answer["walks"], 600);
    assert!(answer["iterations"].as_u64().unwrap() > 2);
    for (list, names) in [
        ("visits", &["high", "low", "share", "state"][..]),
        ("moves", &["from", "high", "low", "share", "to"]),
        ("od", &["destination", "high", "low", "origin", "share"]),
    ] {
        assert!((sum(&answer[list]) - 1.0).abs() < 1e-3, "{list}");
        for entry in answer[list].as_array().unwrap() {
            assert_eq!(keys(entry), names);
            let number = |key: &str| entry[key].as_f64().unwrap();
            assert!(
                number("low") <= number("share") && number("share") <= number("high"),
                "{entry}"
            );
        }
    }
    folder.write("estimate.json", stdout(&run));
    let line = "score real.csv cell.csv --chain credit --estimate estimate.json --format json";
    let score = json(&folder.run(words(line)).success());
    let figure = |who: &str, key: &str| score[who][key]["value"].as_f64().unwrap();
    for key in ["visits_tv", "moves_tv", "od_tv", "starts_tv"] {
        assert!(2.0 * figure("estimate", key) < figure("release", key), "{key}: {score:#}");
    }
    // The same figures again, whatever the threads; other replicates for another number.
    assert_eq!(stdout(&run), stdout(&folder.run(words(&format!("{} --threads 1", "estimate cell.csv tight.parquet --chain credit --what od --replicates 20 --format json"))).success()));
    let other = json(&folder.run(words("estimate cell.csv tight.parquet --chain credit --what od --replicates 20 --seed 2 --format json")).success());
    assert_eq!(other["visits"][3]["share"], answer["visits"][3]["share"]);
    assert_ne!(other["visits"][3]["low"], answer["visits"][3]["low"]);
}

#[test]
fn slow_tables_have_the_most_frequent_entries() {
    let folder = folder();
    let run = |more: &str| {
        folder
            .run(words(&format!("estimate cell.csv --chain credit --replicates 20 {more}")))
            .success()
    };
    let visits = stdout(&run(""));
    let first: Vec<&str> =
        visits.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!((first[0], first[1], first.len()), ("state", "B", 10), "{visits}");
    assert!(
        visits.lines().next().unwrap().split_whitespace().eq(["state", "share", "low", "high"])
    );
    let moves = stdout(&run("--what moves"));
    assert!(moves.contains("and 30 more; --format json has all"), "{moves}");
    let bare = stdout(&run("--what od --interval none"));
    assert!(bare.lines().next().unwrap().split_whitespace().eq(["origin", "destination", "share"]));
    let wide = json(&run("--interval 0.99 --format json"));
    let narrow = json(&run("--interval 0.5 --format json"));
    let width = |answer: &Value| {
        answer["visits"][5]["high"].as_f64().unwrap() - answer["visits"][5]["low"].as_f64().unwrap()
    };
    assert!(width(&narrow) < width(&wide));
    assert!(json(&run("--interval none --format json"))["visits"][0].get("low").is_none());
    // A name that ends in .json says the format.
    run("-o visits.json");
    let file: Value = serde_json::from_str(&folder.read("visits.json")).unwrap();
    assert_eq!(keys(&file), ["iterations", "log_likelihood", "moves", "visits", "walks"]);
    run("-o visits.txt");
    assert_eq!(folder.read("visits.txt"), visits);
}

#[test]
fn a_stronger_prior_keeps_nearer_to_the_chain() {
    let folder = folder();
    let visits = |strength: &str| -> f64 {
        let line = format!(
            "estimate cell.csv --chain credit --interval none --format json --strength {strength}"
        );
        let answer = json(&folder.run(words(&line)).success());
        answer["visits"].as_array().unwrap().iter().find(|entry| entry["state"] == "B").unwrap()["share"]
            .as_f64()
            .unwrap()
    };
    // All real walks start at B; the chain starts anywhere.
    assert!(visits("0") > visits("1000"), "{} {}", visits("0"), visits("1000"));
}

#[test]
fn a_learned_chain_is_one_that_every_command_takes() {
    let folder = folder();
    let run = folder
        .run(words("estimate cell.csv tight.parquet --chain credit --what chain -o learned.csv"));
    assert!(stderr(&run.success()).contains("9 states and 50 transitions, and where walks start"));
    let text = folder.read("learned.csv");
    assert!(text.starts_with(
        "# Learned from 600 released walks in 2 releases, and from nothing else: it cost no"
    ));
    // They were made with a seed.
    assert!(text.contains("NOT all of them are private"), "{text}");
    let twice = folder.run(words("estimate cell.csv cell.csv --chain credit")).code(2);
    assert!(stderr(&twice).contains("the same release as cell.csv"), "{}", stderr(&twice));
    let note: Value =
        serde_json::from_str(text.lines().nth(1).unwrap().strip_prefix("# ").unwrap()).unwrap();
    assert_eq!(
        (&note["learned"]["walks"], &note["learned"]["releases"][0]["epsilon"]),
        (&600.into(), &"2".into())
    );
    // Its walks start where the real ones do, without a flag.
    folder
        .run(words("chain sample learned.csv --walks 200 --steps 3 --seed 1 -o made-up.csv"))
        .success();
    let starts = folder.read("made-up.csv").lines().filter(|line| line.ends_with(",0,B")).count();
    assert!(starts > 180, "{starts}");
    // A flag says it in its place.
    folder
        .run(words(
            "chain sample learned.csv --initial uniform --walks 200 --steps 3 --seed 1 -o u.csv",
        ))
        .success();
    let starts = folder.read("u.csv").lines().filter(|line| line.ends_with(",0,B")).count();
    assert!(starts < 60, "{starts}");
    folder.run(words("chain check learned.csv")).success();
    folder.run(words("chain compile learned.csv -o learned.model")).success();
    for chain in ["learned.csv", "learned.model"] {
        let line = format!(
            "privatize real.csv --chain {chain} --epsilon 2 --substitutions 1 --mechanism tight --seed 1 -o again.csv"
        );
        folder.run(words(&line)).success();
        folder.run(words(&format!("verify again.csv --chain {chain}"))).success();
        folder.run(words(&format!("estimate again.csv --chain {chain} --interval none"))).success();
    }
    // To standard output as well.
    let line = "estimate cell.csv tight.parquet --chain credit --what chain -o -";
    assert_eq!(stdout(&folder.run(words(line)).success()), text);
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_written() {
    let folder = folder();
    let refuse = |more: &str, of_it: &[&str]| {
        folder.refuses(words(&format!("estimate cell.csv --chain credit {more}")), of_it);
    };
    refuse("--what chain", &["--what chain", "-o"]);
    refuse("--what chain -o c.csv --format json", &["--format"]);
    refuse("--what chain -o c.csv --interval 0.9", &["no intervals"]);
    refuse("--interval 95", &["--interval", "between zero and one"]);
    refuse("--strength -1", &["--strength", "from zero up"]);
    refuse("--replicates 2", &["--replicates", "from 10 up"]);
    refuse("-o cell.csv", &["would replace the release"]);
    refuse("-o cell.csv.manifest.json", &["manifest of a release"]);
    refuse("real.csv", &["real.csv", "no manifest"]);
    folder.refuses(words("estimate --chain credit"), &["RELEASES"]);
    folder.write("empty.csv", "trajectory,state\n");
    folder.run(words("privatize empty.csv --chain credit --epsilon 2 --radius 3.5 --mechanism cell -o none.csv")).success();
    folder.refuses(
        words("estimate none.csv --chain credit"),
        &["none.csv", "no walks to learn from"],
    );
    folder.write("chain.csv", "# {\"initial\": [[\"a\", 0.5]]}\nfrom,to,count\na,b,1\nb,a,1\n");
    folder.refuses(
        words("estimate cell.csv --chain chain.csv"),
        &["chain.csv, line 1", "where walks start"],
    );
}

/// Cases of an event log: the activities of each in the order of time, for twelve ticks, then an end.
fn cases() -> Option<Vec<Vec<String>>> {
    const TICKS: usize = 12;
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("VEILWALK_DATA").map_or_else(beside, PathBuf::from);
    let path = folder.join("events/receipt.csv.gz");
    if !path.exists() {
        eprintln!(
            "skipped: there is no events/receipt.csv.gz; set VEILWALK_DATA to the folder that has it"
        );
        return None;
    }
    let options = WalkOptions {
        trajectory_column: "case:concept:name".to_owned(),
        state_column: "concept:name".to_owned(),
        keep: vec!["time:timestamp".to_owned()],
        ..WalkOptions::default()
    };
    let mut cases: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let mut rows = WalkReader::open(&path, options).unwrap();
    while let Some(mut row) = rows.next_row().unwrap() {
        let event = (row.kept.next().unwrap().to_owned(), row.state.to_owned());
        cases.entry(row.trajectory.to_owned()).or_default().push(event);
    }
    let walk = |mut events: Vec<(String, String)>| {
        // Stable: what has one time stays in the order of the log.
        events.sort_by(|a, b| a.0.cmp(&b.0));
        let activities = events.into_iter().map(|(_, activity)| activity);
        activities.chain(std::iter::repeat("end".to_owned())).take(TICKS).collect()
    };
    Some(cases.into_values().map(walk).collect())
}

/// A chain on which every move is as likely as any other: nothing is known.
fn even_chain(labels: &[String]) -> Chain {
    let mut builder = ChainBuilder::new(Entries::Counts);
    let states: Vec<StateId> = labels.iter().map(|label| builder.state(label)).collect();
    for &from in &states {
        states.iter().for_each(|&to| builder.transition(from, to, 1.0).unwrap());
    }
    builder.build(Default::default()).unwrap().0
}

type Moves = BTreeMap<(StateId, StateId), f64>;

fn counted(walks: &[Vec<StateId>]) -> Moves {
    let mut moves = Moves::new();
    let pairs = walks.iter().flat_map(|walk| walk.windows(2));
    pairs.for_each(|pair| *moves.entry((pair[0], pair[1])).or_default() += 1.0);
    shares(moves)
}

fn shares(moves: Moves) -> Moves {
    let total: f64 = moves.values().sum();
    moves.into_iter().map(|(pair, count)| (pair, count / total)).collect()
}

fn total_variation(a: &Moves, b: &Moves) -> f64 {
    let all: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let of = |moves: &Moves, pair| moves.get(pair).copied().unwrap_or(0.0);
    0.5 * all.into_iter().map(|pair| (of(a, pair) - of(b, pair)).abs()).sum::<f64>()
}

fn most_frequent(moves: &Moves) -> Vec<(StateId, StateId)> {
    let mut all: Vec<_> = moves.iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(a.1));
    all.into_iter().take(10).map(|(&pair, _)| pair).collect()
}

/// Without a public chain: one round of releases under a chain that knows nothing gives a good one.
#[test]
fn slow_what_a_log_of_cases_does_is_learned_from_its_release_alone() {
    let Some(cases) = cases() else { return };
    let mut labels: Vec<String> = cases.iter().flatten().cloned().collect();
    labels.sort();
    labels.dedup();
    assert_eq!((cases.len(), labels.len()), (1434, 28));
    let model = Arc::new(Model::new(even_chain(&labels)).unwrap());
    let chain = model.chain();
    let real: Vec<Vec<StateId>> = cases
        .iter()
        .map(|walk| walk.iter().map(|label| chain.state(label).unwrap()).collect())
        .collect();
    let truth = counted(&real);
    for (epsilon, most, of_ten) in [("4", 0.09, 10), ("2", 0.30, 6)] {
        let promise = Promise::for_substitutions(epsilon.parse().unwrap(), 1.try_into().unwrap());
        let mechanism =
            Arc::new(Mechanism::new(model.clone(), Preset::Tight.design(), promise).unwrap());
        let mut releaser =
            Releaser::new(mechanism.clone(), &Source::seeded(1), Start::Private).unwrap();
        let release = |(number, walk): (usize, &Vec<StateId>)| {
            releaser.release(&number.to_string(), walk).unwrap().observed.clone()
        };
        let drawn: Vec<Vec<Outcome>> = real.iter().enumerate().map(release).collect();
        let states = |walk: &Vec<Outcome>| walk.iter().map(|seen| seen.state().unwrap()).collect();
        let seen: Vec<Vec<StateId>> = drawn.iter().map(states).collect();
        let inference = Inference::new(mechanism, Start::Private).unwrap();
        let samples = [Sample { inference: &inference, walks: &drawn }];
        let found = estimate(&samples, EstimateSettings::default(), &veilwalk::unwatched).unwrap();
        let expected = found.expected().moves().iter().copied();
        let learned = shares(found.law().all_moves().zip(expected).collect());
        let (inferred, counting) =
            (total_variation(&learned, &truth), total_variation(&counted(&seen), &truth));
        let top = most_frequent(&learned);
        let found_of_ten = most_frequent(&truth).iter().filter(|pair| top.contains(pair)).count();
        println!(
            "epsilon {epsilon}: counting {counting:.3}, inferred {inferred:.3}, {found_of_ten} of ten, {} rounds, \
             converged {}",
            found.rounds(),
            found.converged()
        );
        assert!(inferred < most && found_of_ten >= of_ten, "{inferred}, {found_of_ten} of ten");
        assert!(inferred * 2.0 < counting, "{counting}");
    }
}

/// Every command of docs/inference.md, in order.
#[test]
fn the_commands_of_the_documentation_run() {
    let folder = Folder::new();
    let mut map = String::from("from,to,count\n");
    for i in 0..12 {
        for to in [i + 1, i + 5, i] {
            map += &format!("s{i},s{},1\n", to % 12);
        }
    }
    folder.write("map.csv", map);
    for (seed, name) in [(1, "trips.csv"), (2, "tomorrow.csv")] {
        let line = format!("chain sample map.csv --walks 30 --steps 8 --seed {seed} -o {name}");
        folder.run(words(&line)).success();
    }
    let text = include_str!("../../../docs/inference.md");
    let commands: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("$ veilwalk ")).collect();
    assert!(commands.len() >= 12, "{commands:?}");
    for command in commands {
        folder.run(words(command)).success();
    }
    for name in
        ["refined.csv", "late.csv", "likely.parquet", "estimate.json", "learned.csv", "better.csv"]
    {
        assert!(folder.path(name).exists(), "{name}");
    }
}
