//! Flipped bits: none changes what a ledger says without being noticed.

use std::path::Path;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use veilwalk::Promise;
use veilwalk::Rational;

use crate::charge::{Charge, Limit};
use crate::entry::tests::terms;
use crate::entry::{Entry, Terms};
use crate::error::Problem;
use crate::ledger::Ledger;
use crate::sqlite::Sqlite;
use crate::store::Store;

/// A ledger of some pages, and what it says.
fn filled(path: &Path) -> (Vec<Entry>, Option<Limit>) {
    let ledger = Ledger::open(path).unwrap();
    for round in 0..3u8 {
        let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
        let terms = Terms { release: [round; 16], ..terms(promise) };
        let names: Vec<String> = (0..100).map(|n| format!("walk {n}")).collect();
        let people: Vec<String> = (0..100).map(|n| format!("person {}", n / 3)).collect();
        let walks: Vec<Charge<'_>> =
            names.iter().zip(&people).map(|(n, p)| Charge::of_walk(n).person(p)).collect();
        ledger.charge(&terms, &walks, None).unwrap();
    }
    ledger.set_budget(Some(Limit::within(Rational::whole(20), "30d".parse().unwrap()))).unwrap();
    said(&ledger)
}

fn said(ledger: &Ledger) -> (Vec<Entry>, Option<Limit>) {
    (ledger.entries().unwrap(), ledger.budget().unwrap())
}

/// Opens a ledger in which a bit was flipped: it is refused, or says what it said, and then goes on
/// to count. Gives whether it was refused.
fn noticed_or_unchanged(path: &Path, before: &(Vec<Entry>, Option<Limit>), what: &str) -> bool {
    let ledger = match Ledger::open_existing(path) {
        Ok(ledger) => ledger,
        Err(error) => {
            assert!(!matches!(error.problem, Problem::Busy), "{what}: {error}");
            return true;
        }
    };
    assert_eq!(said(&ledger), *before, "{what}");
    let new = Terms { release: [77; 16], ..before.0[0].terms };
    let charged = ledger.charge(&new, &[Charge::of_walk("new")], None);
    drop(ledger);
    let after = Ledger::open_existing(path);
    if charged.is_ok() {
        let after = after.unwrap_or_else(|error| panic!("{what}, after a charge: {error}"));
        assert_eq!(after.entries().unwrap().len(), before.0.len() + 1, "{what}");
    }
    false
}

/// Flips `count` bits, one at a time, in one of these files.
fn flip(count: u32, files: &[(&Path, Vec<u8>)], mut test: impl FnMut(&str) -> bool) -> u32 {
    let mut runner = TestRunner::deterministic();
    let all: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    let mut noticed = 0;
    for _ in 0..count {
        let (place, bit) = (0..all, 0u8..8).new_tree(&mut runner).unwrap().current();
        let mut start = 0;
        for (path, bytes) in files {
            let mut bytes = bytes.clone();
            if (start..start + bytes.len()).contains(&place) {
                bytes[place - start] ^= 1 << bit;
            }
            start += bytes.len();
            std::fs::write(path, bytes).unwrap();
        }
        noticed += u32::from(test(&format!("bit {bit} of byte {place}")));
    }
    noticed
}

#[test]
fn flipped_bits_in_a_ledger_at_rest() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("ledger"), folder.path().join("copy"));
    let before = filled(&path);
    let files = [(copy.as_path(), std::fs::read(&path).unwrap())];
    let noticed = flip(2000, &files, |what| noticed_or_unchanged(&copy, &before, what));
    println!("{noticed} of 2000 flips were refused; the others changed nothing");
    assert!(noticed > 1000, "most of the file says something: {noticed}");
}

#[test]
fn flipped_bits_in_a_ledger_and_the_journal_of_a_killed_process() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("ledger"), folder.path().join("copy"));
    let before = filled(&path);
    let journal_of = |path: &Path| {
        path.with_file_name(format!("{}-journal", path.file_name().unwrap().display()))
    };
    // A transaction that has begun to write its pages when the process dies.
    let mut killed = Vec::new();
    let mut store = Sqlite::open(&path).unwrap();
    store.spill_early();
    let result = store.write(&mut |records| {
        let entry = |n: usize| Entry {
            walk: format!("late {n}"),
            terms: Terms { release: [55; 16], ..before.0[0].terms },
            ..before.0[n % before.0.len()].clone()
        };
        let entries: Vec<Entry> = (0..400).map(entry).collect();
        let mut summary = records.summary()?;
        summary.count += 400;
        entries.iter().for_each(|entry| summary.sum.add(entry.row().1));
        records.set_summary(&summary)?;
        records.insert(&entries)?;
        killed = vec![std::fs::read(&path).unwrap(), std::fs::read(journal_of(&path)).unwrap()];
        Err(Problem::Missing)
    });
    assert!(matches!(result, Err(Problem::Missing)));
    let (journal, at_rest) = (journal_of(&copy), std::fs::read(&path).unwrap());
    assert!(killed[1].len() > 1000 && killed[0] != at_rest, "the journal is needed");
    let [data, rollback] = <[Vec<u8>; 2]>::try_from(killed).unwrap();
    let files = [(copy.as_path(), data), (journal.as_path(), rollback)];
    // Without a flip, the transaction is taken back.
    for (path, bytes) in &files {
        std::fs::write(path, bytes).unwrap();
    }
    assert!(!noticed_or_unchanged(&copy, &before, "no flip"));
    let noticed = flip(500, &files, |what| noticed_or_unchanged(&copy, &before, what));
    println!("{noticed} of 500 flips were refused; the others changed nothing");
}

#[test]
fn a_cut_or_zeroed_ledger_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("ledger"), folder.path().join("copy"));
    filled(&path);
    let bytes = std::fs::read(&path).unwrap();
    for length in (0..bytes.len()).step_by(1000) {
        std::fs::write(&copy, &bytes[..length]).unwrap();
        assert!(Ledger::open_existing(&copy).is_err(), "cut to {length} bytes");
    }
    for page in 0..bytes.len() / 4096 {
        let mut zeroed = bytes.clone();
        zeroed[page * 4096..(page + 1) * 4096].fill(0);
        std::fs::write(&copy, zeroed).unwrap();
        assert!(Ledger::open_existing(&copy).is_err(), "page {page} zeroed");
    }
}
