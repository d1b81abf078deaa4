//! `veilwalk refine`.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Folder, stderr, stdout};
use veilwalk::inference::{Inference, InferenceSpace, RefineAim};
use veilwalk::{Chain, Model};
use veilwalk_io::{Manifest, hash_file, read_released};

fn words(line: &str) -> std::str::SplitWhitespace<'_> {
    line.split_whitespace()
}

/// Walks of the credit chain, and releases of them: of moves, and of observations.
fn folder() -> Folder {
    let folder = Folder::new();
    let sample = "chain sample credit --walks 40 --steps 9 --from B --seed 1 -o real.csv";
    folder.run(words(sample)).success();
    for mechanism in ["cell", "tight"] {
        let line = format!(
            "privatize real.csv --chain credit --epsilon 2 --radius 3.5 --mechanism {mechanism} --seed 3 -o {mechanism}.csv"
        );
        folder.run(words(&line)).success();
    }
    folder
}

/// The rows of a table without its header, cut at commas.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect()).collect()
}

/// What a file has of each walk.
fn by_walk<'a>(rows: &[Vec<&'a str>], column: usize) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut walks: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    rows.iter().for_each(|row| walks.entry(row[0]).or_default().push(row[column]));
    walks
}

#[test]
fn refined_walks_are_those_of_the_library() {
    let folder = folder();
    let chain = Chain::credit();
    let model = Arc::new(Model::new(chain.clone()).unwrap());
    for mechanism in ["cell", "tight"] {
        let line = format!(
            "refine {mechanism}.csv --chain credit -o out.csv --posterior posterior.csv --above 0"
        );
        let said = stderr(&folder.run(words(&line)).success());
        assert!(said.contains("40 walks, 400 states; the refined walks are expected"), "{said}");
        assert!(!said.contains("dropped"), "{said}");
        let (out, posterior) = (folder.read("out.csv"), folder.read("posterior.csv"));
        assert!(out.starts_with("trajectory,step,state,released,confidence\n"));
        assert!(posterior.starts_with("trajectory,step,state,probability\n"));
        let (out, posterior) = (rows(&out), rows(&posterior));
        let text = folder.read(&format!("{mechanism}.csv"));
        let released = rows(&text);
        assert_eq!(out.len(), released.len());
        for (row, given) in out.iter().zip(&released) {
            assert_eq!((&row[..2], row[3]), (&given[..2], given[2]), "in the order of the release");
        }
        // Once more, by the library.
        let path = folder.path(&format!("{mechanism}.csv"));
        let read = read_released(&path, &model, &veilwalk::unwatched).unwrap();
        let inference = Inference::new(read.mechanism.clone(), read.start).unwrap();
        let (states, confidence) = (by_walk(&out, 2), by_walk(&out, 4));
        let mut space = InferenceSpace::default();
        let mut likely = posterior.iter();
        for ((name, drawn), released) in read.names.iter().zip(&*read.drawn()).zip(&read.states) {
            let found = inference.posterior(drawn, &mut space).unwrap();
            let refined = inference.refine(&found, released, RefineAim::Distance);
            let labels: Vec<&str> = refined.states.iter().map(|&s| chain.label(s)).collect();
            assert_eq!(states[name.as_str()], labels);
            let numbers: Vec<f64> =
                confidence[name.as_str()].iter().map(|p| p.parse().unwrap()).collect();
            assert_eq!(numbers, refined.confidence);
            assert!(refined.states.windows(2).all(|pair| chain.allows(pair[0], pair[1])));
            assert!(refined.cost <= refined.released_cost);
            for (step, marginal) in found.steps().iter().enumerate() {
                for (&state, p) in marginal.states().iter().zip(marginal.probabilities()) {
                    if *p > 0.0 {
                        let row = likely.next().unwrap();
                        assert_eq!(
                            row[..3],
                            [name.as_str(), &step.to_string(), chain.label(state)]
                        );
                        assert_eq!(row[3].parse::<f64>().unwrap(), *p);
                    }
                }
            }
        }
        assert!(likely.next().is_none());
    }
}

#[test]
fn every_format_holds_the_same_and_threads_change_nothing() {
    let folder = folder();
    let refine = |more: &str| {
        folder.run(words(&format!("refine tight.csv --chain credit {more}"))).success()
    };
    let text = stdout(&refine("-o -"));
    for name in ["r.csv.gz", "r.tsv", "r.ndjson.zst", "r.parquet", "r.arrow", "r.arrows"] {
        refine(&format!("--threads 1 -o {name}"));
        // Refined walks are walks: what counts their moves reads every format.
        let count = |file: &str| {
            let line = format!("chain fit {file} -o fitted.csv --largest-component --counts");
            folder.run(words(&line)).success();
            folder.read("fitted.csv")
        };
        folder.write("plain.csv", &text);
        assert_eq!(count("plain.csv"), count(name), "{name}");
    }
    refine("--threads 1 -o r.ndjson --posterior p.ndjson --above 0.5");
    let first: serde_json::Value =
        serde_json::from_str(folder.read("r.ndjson").lines().next().unwrap()).unwrap();
    let row = rows(&text)[0].join(",");
    assert_eq!(
        row,
        format!(
            "{},{},{},{},{}",
            first["trajectory"].as_str().unwrap(),
            first["step"],
            first["state"].as_str().unwrap(),
            first["released"].as_str().unwrap(),
            first["confidence"]
        )
    );
    for line in folder.read("p.ndjson").lines() {
        let likely: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(likely["probability"].as_f64().unwrap() > 0.5);
    }
}

#[test]
fn a_lag_an_aim_and_another_chain_change_the_walks() {
    let folder = folder();
    let refine = |more: &str| {
        let run =
            folder.run(words(&format!("refine cell.csv --chain credit -o - {more}"))).success();
        (stdout(&run), stderr(&run))
    };
    let text = folder.read("real.csv");
    let real = by_walk(&rows(&text), 2);
    // How many states are wrong, by the real walks.
    let wrong = |text: &str| -> usize {
        let found = by_walk(&rows(text), 2);
        let of_walk = |(name, walk): (&&str, &Vec<&str>)| {
            walk.iter().zip(&real[name]).filter(|(a, b)| a != b).count()
        };
        found.iter().map(of_walk).sum()
    };
    let (by_distance, said) = refine("");
    assert!(said.contains("nats from the real states on average, and the release"), "{said}");
    let (whole, said) = refine("--aim states");
    assert!(said.contains("% of the refined states are expected to be wrong"), "{said}");
    assert!(whole != by_distance);
    let (at_once, late) = (refine("--aim states --lag 0").0, refine("--aim states --lag 3").0);
    assert!(wrong(&whole) < wrong(&at_once), "{} {}", wrong(&whole), wrong(&at_once));
    assert!(late != at_once);
    // A lag of more steps than walks have knows everything, but each state is a best move from the one before.
    assert!(wrong(&refine("--aim states --lag 50").0) <= wrong(&at_once));
    folder.run(words("estimate cell.csv --chain credit --what chain -o learned.csv")).success();
    let (learned, same) = (refine("--prior learned.csv").0, refine("--prior credit").0);
    assert!(by_walk(&rows(&learned), 2) != by_walk(&rows(&by_distance), 2));
    // But for the last digits of confidence.
    assert!(by_walk(&rows(&same), 2) == by_walk(&rows(&by_distance), 2));
}

#[test]
fn walks_may_alternate_and_be_as_short_as_one_state() {
    let folder = Folder::with("real.csv", "trajectory,state\na,B\nb,Ba\na,Caa\nc,B\na,B\nb,Ba\n");
    let line = "privatize real.csv --chain credit --epsilon 2 --radius 3.5 --mechanism tight --seed 1 -o r.csv";
    folder.run(words(line)).success();
    let out = stdout(&folder.run(words("refine r.csv --chain credit -o -")).success());
    let names: Vec<(&str, &str)> = rows(&out).iter().map(|row| (row[0], row[1])).collect();
    assert_eq!(names, [("a", "0"), ("a", "1"), ("a", "2"), ("b", "0"), ("b", "1"), ("c", "0")]);
}

/// Writes a release and its manifest anew, with the hash and the counts that the changed rows have.
fn forge(folder: &Folder, name: &str, rows: &str) {
    let path = folder.path(name);
    let mut manifest = Manifest::read_for(&path).unwrap();
    folder.write(name, rows);
    manifest.release.hash = hash_file(&path).unwrap();
    let data = rows.lines().skip(1);
    manifest.counts.steps = data.clone().count() as u64;
    let names = data.map(|line| line.split(',').next().unwrap());
    manifest.counts.walks = names.collect::<std::collections::BTreeSet<_>>().len() as u64;
    manifest.prepare_for(&path).unwrap().commit().unwrap();
}

#[test]
fn what_cannot_be_refined_is_refused_and_nothing_is_written() {
    let folder = folder();
    let refuse = |line: &str, words_of_it: &[&str]| {
        folder.refuses(words(line), words_of_it);
        let estimate = line.replace("refine ", "estimate ").replace(" -o out.csv", "");
        if !["--prior", "--posterior", "--lag", "--aim"].iter().any(|flag| line.contains(flag)) {
            folder.refuses(words(&estimate), words_of_it);
        }
    };
    refuse("refine no.csv --chain credit -o out.csv", &["no.csv", "no such release"]);
    refuse("refine real.csv --chain credit -o out.csv", &["real.csv", "no manifest"]);
    refuse("refine cell.csv --chain downtown -o out.csv", &["cell.csv", "under the chain"]);
    refuse(
        "refine cell.csv --chain credit --initial B -o out.csv",
        &["cell.csv", "under the chain", "--initial"],
    );
    folder.refuses(
        words("refine cell.csv --chain credit -o cell.csv"),
        &["would replace the release"],
    );
    folder
        .refuses(words("refine cell.csv --chain credit -o o.csv --posterior o.csv"), &["one file"]);
    folder.refuses(words("refine cell.csv --chain credit -o o.csv --above 0.5"), &["--posterior"]);
    folder.refuses(
        words("refine cell.csv --chain credit -o o.csv --posterior p.csv --above 1"),
        &["--above", "below one"],
    );
    folder.refuses(
        words("refine cell.csv --chain credit --prior downtown -o o.csv"),
        &["--prior downtown", "no state \"Aaa\""],
    );
    // In blocks.
    let line = "privatize real.csv --chain credit --epsilon 2 --radius 3.5 --mechanism sharp --rule exponential \
                --block 3 --seed 3 -o blocks.csv";
    folder.run(words(line)).success();
    refuse("refine blocks.csv --chain credit -o out.csv", &["blocks.csv", "blocks", "normaliser"]);
    // Rows that were changed, under a manifest that was not.
    let (cell, tight) = (folder.read("cell.csv"), folder.read("tight.csv"));
    let with = |text: &str, line: usize, row: &str| -> String {
        let mut lines: Vec<&str> = text.lines().collect();
        lines[line - 1] = row;
        lines.iter().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
    };
    folder.write("cell.csv", with(&cell, 4, ""));
    refuse("refine cell.csv --chain credit -o out.csv", &["cell.csv", "changed after the release"]);
    // And under one that was changed as well.
    forge(&folder, "cell.csv", &with(&cell, 4, ""));
    refuse(
        "refine cell.csv --chain credit -o out.csv",
        &["cell.csv, line 4", "step \"3\"", "step 2"],
    );
    let line_3: Vec<&str> = cell.lines().nth(2).unwrap().split(',').collect();
    forge(&folder, "cell.csv", &with(&cell, 3, &format!("0,0,{}", line_3[2])));
    refuse(
        "refine cell.csv --chain credit -o out.csv",
        &["cell.csv, line 3", "step \"0\"", "step 1"],
    );
    forge(&folder, "cell.csv", &with(&cell, 3, "0,1,Bee"));
    refuse(
        "refine cell.csv --chain credit -o out.csv",
        &["cell.csv, line 3", "\"Bee\" is not a state"],
    );
    let without: String =
        tight.lines().map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0)).collect();
    forge(&folder, "tight.csv", &without);
    refuse("refine tight.csv --chain credit -o out.csv", &["tight.csv", "no column \"observed\""]);
    let row: Vec<&str> = tight.lines().nth(4).unwrap().split(',').collect();
    forge(&folder, "tight.csv", &with(&tight, 5, &format!("{},Bee", row[..3].join(","))));
    refuse(
        "refine tight.csv --chain credit -o out.csv",
        &["tight.csv, line 5", "\"Bee\" is not a state"],
    );
}

/// A release that cannot be: its manifest was written anew, but no step can be held against it alone.
#[test]
fn contradictions_are_told() {
    let mut chain = String::from("from,to,count\n");
    (0..30).for_each(|i| chain += &format!("s{i},s{},1\ns{i},s{i},1\n", (i + 1) % 30));
    let walk: String = (0..12).map(|t| format!("a,s{}\n", 7 * t % 30)).collect();
    let folder = Folder::with("chain.csv", chain);
    folder.write("real.csv", format!("trajectory,state\n{walk}"));
    let line = "privatize real.csv --chain chain.csv --epsilon 9 --substitutions 1 --mechanism believed --seed 1 \
                -o r.csv";
    folder.run(words(line)).success();
    // Observations that nobody can have drawn: most lie beyond what the one before made possible.
    let text = folder.read("r.csv");
    let mut forged = String::from("trajectory,step,state,observed\n");
    for (step, row) in rows(&text).iter().enumerate() {
        forged += &format!("{},s{}\n", row[..3].join(","), 7 * step % 30);
    }
    forge(&folder, "r.csv", &forged);
    let said = stderr(&folder.run(words("refine r.csv --chain chain.csv -o out.csv")).success());
    assert!(said.contains("contradicted everything"), "{said}");
    let out = folder.read("out.csv");
    assert_eq!(rows(&out).len(), 12);
    let said =
        stderr(&folder.run(words("estimate r.csv --chain chain.csv --interval none")).success());
    assert!(said.contains("contradicted everything"), "{said}");
}
