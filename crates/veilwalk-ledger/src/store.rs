//! What a database has to do for a ledger, and the checks that do not depend on which one it is.

use std::fmt;

use veilwalk::Rational;

use crate::entry::{Entry, fraction, written};
use crate::error::Problem;
use crate::window::Window;

/// Where a ledger is kept.
pub(crate) trait Store: fmt::Debug + Send {
    /// Runs this in one transaction that nobody else writes in. If it succeeds, all of it is on the
    /// disk when this returns; otherwise nothing is.
    fn write(&mut self, work: Work<'_>) -> Result<(), Problem>;

    /// Runs this on a state that nobody changes meanwhile.
    fn read(&mut self, work: Work<'_>) -> Result<(), Problem>;

    /// Checks what is particular to this kind of database.
    fn check_structure(&mut self) -> Result<(), Problem>;
}

/// What is done within a transaction.
pub(crate) type Work<'a> = &'a mut dyn FnMut(&mut dyn Records) -> Result<(), Problem>;

/// The records of a ledger, within a transaction. Every record that is given out has the right checksum.
pub(crate) trait Records {
    fn summary(&mut self) -> Result<Summary, Problem>;
    fn set_summary(&mut self, summary: &Summary) -> Result<(), Problem>;
    /// All entries with their hashes, by release and walk.
    fn all(&mut self, each: Each<'_>) -> Result<(), Problem>;
    /// Those of the walks that were charged under this id.
    fn under(&mut self, release: [u8; 16], walks: &[&str]) -> Result<Vec<Entry>, Problem>;
    /// Those of these people.
    fn of_persons(&mut self, persons: &[&str]) -> Result<Vec<Entry>, Problem>;
    fn insert(&mut self, entries: &[Entry]) -> Result<(), Problem>;
    /// Seconds since the beginning of 1970, by the clock that all users of the ledger share.
    fn now(&mut self) -> Result<i64, Problem>;
}

/// Takes an entry with its hash.
pub(crate) type Each<'a> = &'a mut dyn FnMut(Entry, [u8; 32]) -> Result<(), Problem>;

/// The number of records, the sum of their hashes, and what may be spent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) count: u64,
    pub(crate) sum: Sum,
    pub(crate) budget: Option<(Rational, Option<Window>)>,
}

/// The sum of the hashes of a set of records: four numbers, each modulo 2⁶⁴. It does not depend on the
/// order, and a record can be added without the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum([u64; 4]);

impl Sum {
    pub(crate) fn add(&mut self, hash: [u8; 32]) {
        for (sum, bytes) in self.0.iter_mut().zip(hash.as_chunks::<8>().0) {
            *sum = sum.wrapping_add(u64::from_le_bytes(*bytes));
        }
    }

    pub(crate) fn bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (chunk, number) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.0) {
            *chunk = number.to_le_bytes();
        }
        bytes
    }
}

/// The summary as a database has it.
#[derive(Clone, Debug)]
pub(crate) struct SummaryRow {
    pub(crate) count: i64,
    pub(crate) sum: Vec<u8>,
    pub(crate) budget: Option<String>,
    pub(crate) window: Option<i64>,
    pub(crate) checksum: Vec<u8>,
}

impl SummaryRow {
    fn hash(&self) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_derive_key("veilwalk 2026 ledger summary v1");
        hasher.update(&self.count.to_le_bytes());
        hasher.update(&self.sum);
        hasher.update(&[u8::from(self.budget.is_some()), u8::from(self.window.is_some())]);
        hasher.update(&self.window.unwrap_or_default().to_le_bytes());
        hasher.update(self.budget.as_deref().unwrap_or_default().as_bytes());
        let mut hash = [0; 16];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        hash
    }

    pub(crate) fn of(summary: &Summary) -> Self {
        let window = summary.budget.and_then(|(_, window)| window);
        let mut row = Self {
            count: i64::try_from(summary.count).unwrap_or(i64::MAX),
            sum: summary.sum.bytes().to_vec(),
            budget: summary.budget.map(|(budget, _)| written(budget)),
            window: window.map(|window| window.seconds() as i64),
            checksum: Vec::new(),
        };
        row.checksum = row.hash().to_vec();
        row
    }

    pub(crate) fn summary(&self) -> Result<Summary, Problem> {
        let damaged = || Problem::Damaged("the summary has a wrong checksum".to_owned());
        if self.checksum != self.hash() {
            return Err(damaged());
        }
        let bytes: [u8; 32] = self.sum.as_slice().try_into().map_err(|_| damaged())?;
        let mut sum = Sum::default();
        sum.add(bytes);
        let window = match self.window {
            Some(seconds) => {
                let window = u64::try_from(seconds).ok().and_then(Window::of_seconds);
                Some(window.ok_or_else(damaged)?)
            }
            None => None,
        };
        let budget = match &self.budget {
            Some(text) => Some((fraction(text).ok_or_else(damaged)?, window)),
            None => None,
        };
        Ok(Summary { count: u64::try_from(self.count).map_err(|_| damaged())?, sum, budget })
    }
}

/// Checks every record, their order, their number and the sum of their hashes.
pub(crate) fn check(store: &mut dyn Store) -> Result<(), Problem> {
    store.check_structure()?;
    store.read(&mut |records| {
        let summary = records.summary()?;
        let (mut count, mut sum) = (0, Sum::default());
        let mut last: Option<([u8; 16], String)> = None;
        records.all(&mut |entry, hash| {
            count += 1;
            sum.add(hash);
            let key = (entry.terms.release, entry.walk);
            if last.as_ref().is_some_and(|last| *last >= key) {
                return Err(Problem::Damaged("records are out of order".to_owned()));
            }
            last = Some(key);
            Ok(())
        })?;
        if (count, sum) != (summary.count, summary.sum) {
            return Err(Problem::Damaged(format!(
                "there are {count} records whose hashes do not add up to the {} that were written",
                summary.count
            )));
        }
        Ok(())
    })
}
