//! Which columns of a file of walks are read, and as what.

use std::collections::HashMap;
use std::fmt;

use veilwalk::error::Remedy;

use super::WalkFormat;
use crate::read_error::ReadErrorKind;

/// What to read from a file of walks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkOptions {
    /// The format; if it is left open, the file tells.
    pub format: Option<WalkFormat>,
    /// The column with the name of the trajectory.
    pub trajectory_column: String,
    /// The column with the label of the state.
    pub state_column: String,
    /// Columns to carry over into the release as they are. The state's column cannot be one: that
    /// would publish the walk itself.
    pub keep: Vec<String>,
}

impl Default for WalkOptions {
    /// The columns `trajectory` and `state`, and no other.
    fn default() -> Self {
        Self {
            format: None,
            trajectory_column: "trajectory".to_owned(),
            state_column: "state".to_owned(),
            keep: Vec::new(),
        }
    }
}

impl WalkOptions {
    /// The columns with their roles: trajectory, state, then those kept.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (ColumnRole, &str)> {
        let first = [
            (ColumnRole::Trajectory, self.trajectory_column.as_str()),
            (ColumnRole::State, self.state_column.as_str()),
        ];
        let kept = self.keep.iter().map(|c| (ColumnRole::Kept, c.as_str()));
        first.into_iter().chain(kept)
    }

    /// Refuses a column with two roles, so that no release can hold the states it hides.
    pub(crate) fn check(&self) -> Result<(), ReadErrorKind> {
        let mut roles = HashMap::new();
        for (second, column) in self.columns() {
            if let Some(first) = roles.insert(column.trim(), second) {
                return Err(ReadErrorKind::ColumnTwice {
                    column: column.to_owned(),
                    first,
                    second,
                });
            }
        }
        Ok(())
    }
}

/// What a column of a file of walks is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnRole {
    /// The name of the trajectory.
    Trajectory,
    /// The label of the state.
    State,
    /// A value carried over into the release.
    Kept,
}

impl ColumnRole {
    /// What names the column.
    #[must_use]
    pub fn remedy(self) -> Remedy {
        match self {
            Self::Trajectory => Remedy::TrajectoryColumn,
            Self::State => Remedy::StateColumn,
            Self::Kept => Remedy::KeepColumns,
        }
    }
}

impl fmt::Display for ColumnRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trajectory => "the trajectory",
            Self::State => "the state",
            Self::Kept => "a kept value",
        })
    }
}
