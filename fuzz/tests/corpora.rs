//! Every reader over its corpus, and over mutations of it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use veilwalk_fuzz::{Cost, Mutations, Outcome, Target};

/// The corpus of a target: names of files, and what is in them.
fn corpus(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<(String, Vec<u8>)> = files
        .map(|file| {
            let file = file.unwrap();
            (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// Files whose name begins with `good` are taken, those with `bad` are refused. Others were found by a fuzzer: they only
/// have to do no harm.
#[test]
fn corpora_are_taken_or_refused_as_they_say() {
    let mut all_wrong = Vec::new();
    for target in Target::ALL {
        let corpus = corpus(target);
        assert!(corpus.iter().any(|(name, _)| name.starts_with("good")), "{}", target.name);
        for (name, bytes) in corpus {
            let outcome = target.read(&bytes);
            let wrong = match outcome {
                Outcome::Accepted => name.starts_with("bad"),
                Outcome::Refused => name.starts_with("good"),
            };
            if wrong {
                all_wrong.push(format!("{}/{name}: {outcome:?}", target.name));
            }
        }
    }
    assert!(all_wrong.is_empty(), "{all_wrong:#?}");
}

/// A few thousand, and each in no time.
#[test]
fn mutations_do_no_harm() {
    for target in Target::ALL {
        let corpus: Vec<Vec<u8>> = corpus(target).into_iter().map(|(_, bytes)| bytes).collect();
        let count = match target.cost {
            Cost::Low => 4_000,
            Cost::Middle => 800,
            Cost::High => 300,
        };
        let (started, mut taken, mut slowest) = (Instant::now(), 0, Duration::ZERO);
        for (place, bytes) in Mutations::of(corpus).take(count).enumerate() {
            let before = Instant::now();
            let read = std::panic::catch_unwind(|| target.read(&bytes));
            slowest = slowest.max(before.elapsed());
            let Ok(outcome) = read else {
                panic!("{}, mutation {place}: {:?}", target.name, String::from_utf8_lossy(&bytes))
            };
            taken += u32::from(outcome == Outcome::Accepted);
        }
        println!(
            "{:10} {taken} of {count} taken, {:.1} s, slowest {:.0} ms",
            target.name,
            started.elapsed().as_secs_f64(),
            slowest.as_secs_f64() * 1e3
        );
    }
}
