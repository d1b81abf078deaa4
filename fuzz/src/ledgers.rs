//! Ledgers: files, and single records with their checksums as they should be.

use std::path::Path;
use std::sync::LazyLock;

use rusqlite::{Connection, params};
use veilwalk::{Chain, Promise, Rational};
use veilwalk_ledger::{Charge, Entry, Ledger, Limit, Terms};

use crate::{Outcome, scratch, taken};

/// A file that may be a ledger.
pub(crate) fn file(data: &[u8]) -> Outcome {
    let path = scratch::file("file.ledger", data);
    scratch::remove(&scratch::path("file.ledger-journal"));
    let Some(ledger) = taken(Ledger::open_existing(&path)) else { return Outcome::Refused };
    used(&ledger);
    Outcome::Accepted
}

/// A ledger that was taken can say what is in it, and be charged.
fn used(ledger: &Ledger) -> Vec<Entry> {
    let entries = ledger.entries().unwrap();
    let _ = taken(ledger.spending());
    let _ = ledger.budget().unwrap();
    for entry in entries.iter().take(4) {
        let of_person = ledger.entries_of(&entry.person).unwrap();
        assert!(of_person.contains(entry), "{entry:?}");
    }
    let limit = Limit::within(Rational::whole(50), "30d".parse().unwrap());
    let charge = [Charge::of_walk("another walk").person("ann")];
    if taken(ledger.charge(&terms([250; 16]), &charge, Some(limit))).is_some() {
        assert!(ledger.entries().unwrap().len() <= entries.len() + 1);
    }
    entries
}

fn terms(release: [u8; 16]) -> Terms {
    let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
    Terms {
        release,
        promise: promise.into(),
        chain: Chain::credit().hash(),
        one_state: "2.1".parse().ok(),
        linear: true,
        start_disclosed: false,
    }
}

/// A ledger with charges of two persons.
///
/// # Panics
///
/// If it cannot be made.
#[must_use]
pub fn example() -> Vec<u8> {
    let path = scratch::path("made.ledger");
    scratch::remove(&path);
    make(&path);
    std::fs::read(&path).unwrap()
}

fn make(path: &Path) {
    let ledger = Ledger::open(path).unwrap();
    let walks = [Charge::of_walk("monday").person("ann"), Charge::of_walk("tuesday").person("bob")];
    ledger.charge(&terms([7; 16]), &walks, None).unwrap();
    ledger.set_budget(Some(Limit::in_all("9".parse().unwrap()))).unwrap();
}

/// A record as a ledger has it, in lines: walk, person, ε, unit, the loss of one state (or nothing), two truths, releases
/// and time. What a ledger that is not damaged can hold is more than veilwalk writes: other versions write it, too.
pub(crate) fn entry(data: &[u8]) -> Outcome {
    static EMPTY: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let path = scratch::path("empty.ledger");
        drop(Ledger::open(&path).unwrap());
        std::fs::read(&path).unwrap()
    });
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let mut next = || lines.next().unwrap_or_default().to_owned();
    let record = Record {
        walk: next(),
        person: next(),
        epsilon: next(),
        unit: next(),
        one_state: Some(next()).filter(|text| !text.is_empty()),
        truths: [next() == "1", next() == "1"],
        releases: next().parse().unwrap_or(1),
        charged: next().parse().unwrap_or(0),
    };
    let path = scratch::file("entry.ledger", &EMPTY);
    record.insert_into(&path);
    let Some(ledger) = taken(Ledger::open_existing(&path)) else { return Outcome::Refused };
    let entries = used(&ledger);
    let known = |entry: &Entry| entry.walk == record.walk && entry.person == record.person;
    assert!(entries.len() == 1 && known(&entries[0]), "{entries:?}");
    Outcome::Accepted
}

/// The fields of a record that can be anything.
struct Record {
    walk: String,
    person: String,
    epsilon: String,
    unit: String,
    one_state: Option<String>,
    truths: [bool; 2],
    releases: i64,
    charged: i64,
}

const RELEASE: [u8; 16] = [3; 16];
const CHAIN: [u8; 32] = [9; 32];

impl Record {
    /// A hash of all fields, told apart by their lengths. Written anew here, so that it also holds the format.
    fn hash(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("veilwalk 2026 ledger entry v1");
        let one_state = self.one_state.as_deref();
        let truths = self.truths.map(u8::from);
        let fields: [&[u8]; 13] = [
            &RELEASE,
            self.walk.as_bytes(),
            self.person.as_bytes(),
            self.epsilon.as_bytes(),
            self.unit.as_bytes(),
            &CHAIN,
            &[u8::from(one_state.is_some())],
            one_state.unwrap_or_default().as_bytes(),
            &truths,
            &self.releases.to_le_bytes(),
            &self.charged.to_le_bytes(),
            &[0],
            &[],
        ];
        for field in fields {
            hasher.update(&(field.len() as u64).to_le_bytes());
            hasher.update(field);
        }
        *hasher.finalize().as_bytes()
    }

    fn insert_into(&self, path: &Path) {
        let connection = Connection::open(path).unwrap();
        connection.pragma_update(None, "synchronous", "OFF").unwrap();
        let hash = self.hash();
        let values = params![
            &RELEASE[..],
            self.walk,
            self.person,
            self.epsilon,
            self.unit,
            &CHAIN[..],
            self.one_state,
            self.truths[0],
            self.truths[1],
            self.releases,
            self.charged,
            &hash[..16],
        ];
        let sql =
            "INSERT INTO entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, NULL, ?12)";
        connection.execute(sql, values).unwrap();
        let mut hasher = blake3::Hasher::new_derive_key("veilwalk 2026 ledger summary v1");
        // One record, whose hash is the sum; no budget, no window.
        hasher.update(&1i64.to_le_bytes()).update(&hash).update(&[0, 0]).update(&[0; 8]);
        let checksum = hasher.finalize();
        let sql = "UPDATE summary SET count = 1, sum = ?1, checksum = ?2";
        connection.execute(sql, params![&hash[..], &checksum.as_bytes()[..16]]).unwrap();
    }
}
