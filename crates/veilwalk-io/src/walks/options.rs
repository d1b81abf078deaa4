//! Which columns of a file of walks are read, and as what.

use std::fmt;

use veilwalk::error::Remedy;

use super::WalkFormat;

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

/// What a column of a file of walks or of events is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnRole {
    /// The name of the trajectory.
    Trajectory,
    /// The label of the state.
    State,
    /// A value carried over into the release.
    Kept,
    /// Whose event it is.
    Person,
    /// When an event was.
    Time,
    /// How far north or south of the equator an event was.
    Latitude,
    /// How far east or west of Greenwich an event was.
    Longitude,
}

impl ColumnRole {
    /// What names the column.
    #[must_use]
    pub fn remedy(self) -> Remedy {
        match self {
            Self::Trajectory => Remedy::TrajectoryColumn,
            Self::State => Remedy::StateColumn,
            Self::Kept => Remedy::KeepColumns,
            Self::Person => Remedy::PersonColumn,
            Self::Time => Remedy::TimeColumn,
            Self::Latitude => Remedy::LatitudeColumn,
            Self::Longitude => Remedy::LongitudeColumn,
        }
    }
}

impl fmt::Display for ColumnRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trajectory => "the trajectory",
            Self::State => "the state",
            Self::Kept => "a kept value",
            Self::Person => "the person",
            Self::Time => "the time",
            Self::Latitude => "the latitude",
            Self::Longitude => "the longitude",
        })
    }
}
