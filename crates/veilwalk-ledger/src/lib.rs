//! The budget ledger: what releases have cost each person, over all runs, machines and units.
//!
//! Releasing a person's walk again adds up, and so does releasing another walk of the same person. The
//! ledger is charged *before* anything is released, in one transaction that is on the disk when it
//! returns. A run that is killed after that has been charged for a release that nobody saw, never the
//! other way round.
//!
//! - [`Ledger`]: opens a ledger in a file (SQLite) or on a server (PostgreSQL, with the feature
//!   `postgres`), charges it, and adds up;
//! - [`total`]: how losses in different units are added, with the proof;
//! - [`Entry`]: what is written down of each released walk.
//!
//! # Privacy
//!
//! A total says: replace *each* of the person's released walks by any other within the unit that the
//! total is counted in, and the probability of everything that was released changes by a factor of at
//! most `exp(total)`. Releases under different ids use independent randomness, and what is released of
//! one walk depends on that walk alone, so log-ratios add up over the entries. Thirty walks at ε are
//! therefore thirty times ε, whether they are thirty releases of one walk or one release of thirty.
//!
//! A chain that was fitted on the walks of persons with noise is entered for each of them, with what is lost if
//! all of the person's walks are replaced by any others ([`LossUnit::Person`]). That is twice the ε of the fit, which
//! is for a person who is added or removed. It covers every unit, so it adds up with whatever else was released.
//!
//! The same walk under the same release id is released with the same random bits. If the real states
//! are the same, the release is the same, and tells nothing new: it costs nothing. If they are not, the
//! two releases do not compose at all (the first difference between them shows where the walks differ),
//! so that is refused.
//!
//! # What can be trusted
//!
//! Every record carries a checksum over all of its fields. The ledger has a count of its records and
//! the sum of their hashes, changed in the same transaction as the records. When a ledger is opened,
//! all of it is checked: every checksum, the order of the records, the count and the sum, the
//! structure of the file and its schema. A flipped bit in what the ledger says is an error before
//! anything is released. Checksums are not signatures: they find damage, not somebody who may write to
//! the file. Nor can a ledger know that it was replaced by an older copy of itself.
//!
//! The file uses SQLite's rollback journal and not its write-ahead log. Recovery from a log reads up to
//! the first frame whose checksum is wrong and silently drops the rest, so one flipped bit after a
//! crash could take back charges of walks that are already released, and what is left would look whole.
//! (Nor can a damaged log be told from one that was merely cut short: a process that is killed leaves
//! frames behind that do not add up.) With a rollback journal there is one copy of the data, which the
//! checks above cover. A journal that is damaged gives a mixture of two states, which they find.
//!
//! ```
//! use veilwalk::Rational;
//! use veilwalk::{Chain, Promise};
//! use veilwalk_ledger::{Charge, Ledger, Limit, Terms};
//!
//! let folder = tempfile::tempdir()?;
//! let ledger = Ledger::open(folder.path().join("spent.ledger"))?;
//! let promise = Promise::within_radius("1".parse()?, "3.5".parse()?);
//! let terms = Terms {
//!     release: [7; 16],
//!     promise: promise.into(),
//!     chain: Chain::credit().hash(),
//!     one_state: "2.1".parse().ok(),
//!     linear: true,
//!     start_disclosed: false,
//! };
//! let walks = [Charge::of_walk("monday").person("ann"), Charge::of_walk("tuesday").person("ann")];
//! ledger.charge(&terms, &walks, Some(Limit::in_all("3".parse()?)))?;
//! assert_eq!(ledger.spending()?[0].spent, Some(Rational::whole(2)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod charge;
mod entry;
mod error;
#[cfg(test)]
mod flips;
mod ledger;
#[cfg(feature = "migrate")]
mod old;
#[cfg(feature = "postgres")]
mod postgresql;
mod shown;
mod sqlite;
mod store;
pub mod total;
mod window;

pub use charge::{Charge, Charged, Limit};
pub use entry::{Entry, Loss, LossUnit, Purpose, Terms};
pub use error::{LedgerError, Problem};
pub use ledger::{Kept, Ledger, Spending, is_server};
#[cfg(feature = "migrate")]
pub use old::{Migrated, migrate};
pub use shown::shown;
pub use sqlite::{is_ledger, settle};
pub use window::{Window, WindowError};
