//! Why a ledger cannot be used, or refuses.

use thiserror::Error;
use veilwalk::Rational;
use veilwalk::error::Remedy;

use crate::entry::{Purpose, hex};
use crate::window::Window;

/// Why a ledger cannot be used, or refuses.
#[derive(Debug, Error)]
#[error("{ledger}: {problem}")]
pub struct LedgerError {
    /// The file, or the server without its password.
    pub ledger: Box<str>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a ledger, or with a charge.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// No such file.
    #[error("there is no such ledger; {} makes it", Remedy::ReleaseWithLedger)]
    Missing,
    /// Another kind of file.
    #[error(
        "this is not a ledger; name one that {} has made, or a new file",
        Remedy::ReleaseWithLedger
    )]
    NotALedger,
    /// The first format.
    #[error(
        "this ledger has the format of an earlier version; {} makes one that this version reads",
        Remedy::MigrateLedger
    )]
    OldFormat,
    /// Somebody else would not let go of it.
    #[error(
        "the ledger has been in use by another process for a minute; nothing was charged. Try again \
         when that is done"
    )]
    Busy,
    /// The file or server cannot be read or written.
    #[error("the ledger cannot be read or written: {0}")]
    Storage(String),
    /// Something in it is not as it was written.
    #[error(
        "the ledger is damaged ({0}), so nothing is released. Put back a copy that is whole, and charge \
         what was released since then; do not start a new ledger, which would forget what was spent"
    )]
    Damaged(String),
    /// This cannot be made of these words.
    #[error("{0}")]
    Unusable(String),
    /// A person has not enough left.
    #[error(
        "{person:?} has spent epsilon {spent}{} for {unit}, and {cost} more would exceed the \
         budget of {budget}{}; {}, or take a smaller epsilon or a larger budget",
        .window.map_or_else(String::new, |window| format!(" in the last {window}")),
        match .others {
            0 => String::new(),
            1 => " (and so it is for one other person)".to_owned(),
            n => format!(" (and so it is for {n} other people)"),
        },
        match .charged {
            Purpose::Release => "none of these walks was released. Leave such walks out",
            Purpose::Fit => "no chain was fitted. Leave out the walks of such people",
        }
    )]
    OverBudget {
        /// The first such person by name.
        person: Box<str>,
        /// What was spent.
        spent: Rational,
        /// What the release would cost.
        cost: Rational,
        /// What this is counted in.
        unit: Box<str>,
        /// What may be spent in all.
        budget: Rational,
        /// The time that the budget looks back.
        window: Option<Window>,
        /// How many more people have not enough left.
        others: u32,
        /// What was to be charged.
        charged: Purpose,
    },
    /// Losses that do not add up to anything known.
    #[error(
        "what {person:?} has spent cannot be counted together with {unit}: an earlier release was in \
         another unit, and its loss for one replaced state is not known (it was migrated from an \
         earlier version, or is above a million). Release in the unit of the earlier releases, or leave \
         the budget out"
    )]
    NotCountable {
        /// The person.
        person: String,
        /// The unit of the charge.
        unit: String,
    },
    /// A total beyond what can be counted.
    #[error("the total of {person:?} is beyond what can be counted")]
    TooMuch {
        /// The person.
        person: String,
    },
    /// The release id is taken.
    #[error(
        "{walk:?} was charged before under the release id {}, and this is not the same {again}: \
         {why}. {}. Leave the release id out for a new one",
        hex(.release),
        match .charged {
            Purpose::Release => "Nothing of it was released",
            Purpose::Fit => "No chain was fitted",
        },
        again = match .charged {
            Purpose::Release => "release again",
            Purpose::Fit => "fit again",
        }
    )]
    OtherUnderId {
        /// The walk.
        walk: String,
        /// The id.
        release: [u8; 16],
        /// What differs, in words.
        why: &'static str,
        /// What was to be charged.
        charged: Purpose,
    },
    /// A walk of two people.
    #[error("the walk {walk:?} belongs to {first:?} and to {second:?}; a walk has one person")]
    TwoPersons {
        /// The walk.
        walk: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
}

impl Problem {
    /// Names the ledger.
    pub(crate) fn of(self, ledger: &str) -> LedgerError {
        LedgerError { ledger: ledger.into(), problem: self }
    }
}
