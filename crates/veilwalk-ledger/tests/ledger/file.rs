//! Ledgers in files.

use std::sync::Arc;

use veilwalk::Rational;
use veilwalk_ledger::{Charge, Ledger, Limit, Problem, is_ledger};

use crate::semantics::{hold, within};

#[test]
fn a_ledger_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spent.ledger");
    assert!(matches!(Ledger::open_existing(&path).unwrap_err().problem, Problem::Missing));
    hold(|| Ledger::open(&path).unwrap());
    assert!(is_ledger(&path));
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(files.len(), 1, "nothing is left beside it: {files:?}");
}

#[test]
fn what_is_no_ledger_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["", "this is not a ledger", "SQLite format 3\0 and then nothing of the kind"] {
        let path = folder.path().join("notes");
        std::fs::write(&path, text).unwrap();
        let problem = Ledger::open(&path).unwrap_err().problem;
        assert!(
            matches!(problem, Problem::NotALedger | Problem::Damaged(_)),
            "{text:?}: {problem}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    let nowhere = Ledger::open(folder.path().join("none").join("spent")).unwrap_err().to_string();
    assert!(nowhere.contains("make it first"), "{nowhere}");
    assert!(Ledger::open(folder.path()).is_err());
}

#[test]
fn threads_and_connections_share_a_budget() {
    let folder = tempfile::tempdir().unwrap();
    let path = Arc::new(folder.path().join("spent.ledger"));
    let charge = |number: u8| {
        let path = path.clone();
        std::thread::spawn(move || {
            let ledger = Ledger::open(&*path).unwrap();
            let limit = Some(Limit::in_all(Rational::whole(10)));
            let tries = (0..5).map(|round| {
                let terms = within("1", "2", number * 5 + round);
                ledger.charge(&terms, &[Charge::of_walk("ann")], limit).is_ok()
            });
            tries.filter(|done| *done).count()
        })
    };
    let threads: Vec<_> = (0..4).map(charge).collect();
    let done: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(done, 10, "as many as the budget has room for, of twenty");
    let ledger = Ledger::open(&*path).unwrap();
    assert_eq!(ledger.spending().unwrap()[0].spent, Some(Rational::whole(10)));
    // Looking at the first bytes does not take the locks of what is open.
    assert!(is_ledger(&path));
}
