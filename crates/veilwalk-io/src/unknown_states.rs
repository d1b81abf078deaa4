//! Rows whose state the chain does not know: refused, left out or replaced. `release::parse`,
//! `release::parse_columns` and `release::row_by_row` act on it.

use veilwalk::StateId;

/// What to do with a row whose state is not one of the chain's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownStates {
    /// Stop, and say where it is.
    #[default]
    Refuse,
    /// Leave the row out, and count it. The length of a released walk then depends on what was left
    /// out of the real one.
    Skip,
    /// Take this state of the chain instead, and count it. A release does not show which rows those
    /// were: it is one of the walks with that state in their place, as private as any other.
    Replace(StateId),
}
