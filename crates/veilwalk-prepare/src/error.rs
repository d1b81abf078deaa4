//! What can be wrong with events, alone and together.

use thiserror::Error;
use veilwalk::error::Remedy;

use crate::moment::TimeKind;

/// What is wrong with one event. Whoever reads it knows the file and the line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EventError {
    /// Text that is no time.
    #[error(
        "{found:?} is not a time; write ISO 8601 such as 2024-03-01T08:00:00+01:00, or seconds since 1970"
    )]
    NotATime {
        /// What was found.
        found: String,
    },
    /// A number that can only be milliseconds or smaller.
    #[error(
        "as seconds since 1970, {found} is after the year 5000; if these are milliseconds, divide them by 1000"
    )]
    Milliseconds {
        /// What was found.
        found: String,
    },
    /// A time that is written otherwise than those before it.
    #[error(
        "this time is {found}, and those before it are {before}; the two cannot be put in one order, so write \
         all times alike"
    )]
    MixedTimes {
        /// How it is written.
        found: TimeKind,
        /// How those before it are written.
        before: TimeKind,
    },
    /// A day that depends on a zone that is not known.
    #[error(
        "times are {kind}, and which day that is depends on the place; name it with {how}, such as \
         Europe/Berlin or UTC",
        how = Remedy::TimeZone
    )]
    NoZone {
        /// How times are written.
        kind: TimeKind,
    },
    /// A time that is out of what calendars reach.
    #[error("{found:?} is too far away for a calendar; correct the time")]
    FarAway {
        /// What was found.
        found: String,
    },
    /// Text that is no number of degrees.
    #[error("the {axis} {found:?} is not a number of degrees; write a decimal such as 52.5")]
    NotDegrees {
        /// Latitude or longitude.
        axis: &'static str,
        /// What was found.
        found: String,
    },
    /// Coordinates that fit if they are taken the other way round.
    #[error(
        "the latitude {latitude} is beyond 90 degrees and the longitude {longitude} is not: they seem to be \
         swapped; swap {} and {}",
        Remedy::LatitudeColumn,
        Remedy::LongitudeColumn
    )]
    Swapped {
        /// What was found as latitude.
        latitude: String,
        /// What was found as longitude.
        longitude: String,
    },
    /// A coordinate that is nowhere on the earth.
    #[error(
        "the {axis} {found} is not between -{most} and {most} degrees; correct it, or remove the row"
    )]
    OffTheEarth {
        /// Latitude or longitude.
        axis: &'static str,
        /// What was found.
        found: String,
        /// The most it can be.
        most: u32,
    },
    /// A position where states were expected, or the other way round.
    #[error("this event has {found} and those before it have {before}; give all of them the same")]
    OtherPlace {
        /// What it has.
        found: &'static str,
        /// What those before it have.
        before: &'static str,
    },
    /// More states than make sense.
    #[error(
        "there are more than {most} different states by now: {}; {}, or allow more with {how}",
        .cells.what(), .cells.advice(),
        how = Remedy::MaxStates
    )]
    TooManyStates {
        /// How many are allowed.
        most: usize,
        /// Whether states are cells.
        cells: StatesAre,
    },
    /// A state that is to be put in but is there.
    #[error(
        "{0:?} is a state of an event, and is to mark the end of walks; choose a name that no event has"
    )]
    EndIsAState(String),
    /// More persons than can be numbered.
    #[error("there are more than four billion persons; prepare the file in parts")]
    TooManyPersons,
}

/// What states are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatesAre {
    /// Labels of the file.
    Labels,
    /// Cells of a map.
    Cells,
}

impl StatesAre {
    fn what(self) -> &'static str {
        match self {
            Self::Labels => {
                "a chain needs states that many events share, not a coordinate or a number of each"
            }
            Self::Cells => "the cells are too small for a chain",
        }
    }

    fn advice(self) -> String {
        match self {
            Self::Labels => {
                format!(
                    "name another column with {}, or make cells of positions with {}",
                    Remedy::StateColumn,
                    Remedy::Cells
                )
            }
            Self::Cells => "make larger cells (a smaller number after h3:)".to_owned(),
        }
    }
}

/// What is wrong with all events together, or with the place where they wait.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// States that hardly any two events share.
    #[error(
        "{states} different states in {events} events: {}; {}, or allow them with {how}",
        .are.what(), .are.advice(),
        how = Remedy::MaxStates
    )]
    EveryEventAState {
        /// How many states there are.
        states: usize,
        /// How many events.
        events: u64,
        /// What states are.
        are: StatesAre,
    },
    /// Positions of another place than the map.
    #[error(
        "not one of {positions} positions is within {within:.0} m of a street of the map: {}",
        if *.swapped {
            "latitude and longitude seem to be swapped, since they lie on the map the other way round; exchange the \
             two columns"
        } else {
            "they were taken somewhere else; give a map of that place"
        }
    )]
    NothingOnTheMap {
        /// How many positions there are.
        positions: u64,
        /// How far from a street they may be, in metres.
        within: f64,
        /// Whether most lie on the map once their angles are exchanged.
        swapped: bool,
    },
    /// The temporary file in which events wait cannot be used.
    #[error(
        "events that do not fit in memory wait in a temporary file, and it could not be used ({0}); make \
         room in the folder for temporary files, or allow more memory"
    )]
    Spill(#[from] std::io::Error),
}
