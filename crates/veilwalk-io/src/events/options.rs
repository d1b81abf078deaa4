//! Which columns of a file of events are read.

use crate::walks::{ColumnRole, Wanted};

/// What to read from a file of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventOptions {
    /// The column that says whose event it is; if it is left open, the one that is usual in the format.
    pub person_column: Option<String>,
    /// The column with the time; if it is left open, the one that is usual in the format.
    pub time_column: Option<String>,
    /// Where the events are.
    pub place: EventColumns,
}

/// The columns that say where a person was, or what happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventColumns {
    /// The label of a state; if it is left open, the column that is usual in the format.
    State(Option<String>),
    /// A position on the earth, in degrees.
    Position {
        /// The column with the latitude.
        latitude: String,
        /// The column with the longitude.
        longitude: String,
    },
}

impl Default for EventOptions {
    /// The usual columns, and states.
    fn default() -> Self {
        Self { person_column: None, time_column: None, place: EventColumns::State(None) }
    }
}

/// The names that columns have where nobody says otherwise.
pub(super) struct Usual {
    person: &'static str,
    time: &'static str,
    state: &'static str,
}

/// In tables.
pub(super) const OF_TABLES: Usual = Usual { person: "person", time: "time", state: "state" };

/// In logs of cases. As in tables that are made of them, `case:` stands before what belongs to a trace.
pub(super) const OF_XES: Usual =
    Usual { person: "case:concept:name", time: "time:timestamp", state: "concept:name" };

impl EventOptions {
    /// Person, time, then the state or latitude and longitude.
    pub(super) fn wanted(&self, usual: &Usual) -> Wanted {
        let or = |name: &Option<String>, usual: &str| name.clone().unwrap_or_else(|| usual.into());
        let mut columns = vec![
            (ColumnRole::Person, or(&self.person_column, usual.person)),
            (ColumnRole::Time, or(&self.time_column, usual.time)),
        ];
        match &self.place {
            EventColumns::State(name) => columns.push((ColumnRole::State, or(name, usual.state))),
            EventColumns::Position { latitude, longitude } => {
                columns.push((ColumnRole::Latitude, latitude.clone()));
                columns.push((ColumnRole::Longitude, longitude.clone()));
            }
        }
        Wanted::new(columns)
    }
}
