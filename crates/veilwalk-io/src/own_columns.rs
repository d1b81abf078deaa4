//! The columns that every release has. Kept columns come after them.

use veilwalk::Mechanism;

use crate::write_error::{WriteError, WriteErrorKind};

/// The name of the column of the steps' numbers.
pub(crate) const STEP: &str = "step";

/// The name of the column of released states.
pub(crate) const STATE: &str = "state";

/// The name of the column of observations.
pub(crate) const OBSERVED: &str = "observed";

/// Which columns a release has of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnColumns {
    /// `trajectory`, `step` and `state`: a mechanism that draws moves.
    #[default]
    Moves,
    /// The same and `observed`: a mechanism that draws observations.
    Observations,
}

impl OwnColumns {
    /// Those of a release by this mechanism.
    #[must_use]
    pub fn of(mechanism: &Mechanism) -> Self {
        match mechanism.observation() {
            None => Self::Moves,
            Some(_) => Self::Observations,
        }
    }

    /// Their names, in order.
    #[must_use]
    pub const fn names(self) -> &'static [&'static str] {
        const ALL: [&str; 4] = ["trajectory", STEP, STATE, OBSERVED];
        match self {
            Self::Moves => ALL.split_at(3).0,
            Self::Observations => &ALL,
        }
    }

    /// Refuses kept columns that would be confused with the release's own, or with each other. Messages
    /// call the output `name`.
    ///
    /// # Errors
    ///
    /// If there is one.
    pub fn check_kept(self, name: &str, kept: &[String]) -> Result<(), WriteError> {
        for (place, column) in kept.iter().enumerate() {
            if self.names().contains(&column.as_str()) || kept[..place].contains(column) {
                return Err(WriteError::new(name, WriteErrorKind::ColumnTaken(column.clone())));
            }
        }
        Ok(())
    }
}
