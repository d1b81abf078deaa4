//! Raw events of persons to walks.
//!
//! An event says who, when, and where or what. A walk is a list of states, and what a release of it protects are its
//! states: neither how long it is nor when it was. So a log of events is best put on a **clock** first: one walk for each person
//! and day, with one state for every tick, and then all walks are alike but for their states. Where no clock fits, walks are
//! split at gaps in time, and may be brought to one length with an end state.
//!
//! ```
//! use veilwalk_prepare::{Event, EventAt, Preparation, Settings};
//!
//! let mut events = Preparation::new(Settings::default());
//! for (person, time, state) in [
//!     ("bob", "2024-03-01 09:00", "office"),
//!     ("ann", "2024-03-01 10:00", "office"),
//!     ("ann", "2024-03-01 08:00", "home"),
//! ] {
//!     events.add(Event { person, time, at: EventAt::State(state) })?;
//! }
//! let sorted = events.finish()?;
//! let mut walks = Vec::new();
//! let states = sorted.labels().to_vec();
//! let summary = sorted.each_walk(|walk| {
//!     let labels: Vec<_> = walk.states.iter().map(|state| states[state.index()].as_str()).collect();
//!     walks.push(format!("{}: {}", walk.name, labels.join(", ")));
//!     Ok::<(), veilwalk_prepare::PrepareError>(())
//! })?;
//! assert_eq!(walks, ["bob: office", "ann: home, office"]);
//! assert_eq!((summary.events, summary.walks), (3, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From the ground up: `moment` (what a time in a file means), `zone` (days and local times), `clock` (ticks), `times` (those of
//! a file), `names` and `places` (numbers for persons and states), `sorter` (any number of events in bounded memory), `shape`
//! (one person's events to walks), `states` and `positions` (the two kinds of events), `preparation` (all of it in order),
//! `timetable` (when the states of walks were).
//!
//! Memory holds the names of persons and the labels of states, and events up to a limit; beyond it they wait, sorted, in an
//! unnamed temporary file.

mod clock;
mod error;
mod moment;
mod names;
mod places;
mod positions;
mod preparation;
mod settings;
mod shape;
mod sorter;
mod states;
mod summary;
mod times;
mod timetable;
mod zone;

pub use clock::{Clock, ClockError, Days, LiveClock, LiveTick, Window};
pub use error::{EventError, PrepareError};
pub use moment::TimeKind;
pub use places::{CellsError, Places};
pub use preparation::{AddError, Event, EventAt, Preparation, Sorted, Walk};
pub use settings::{Limits, Padding, Settings, SettingsError, Shaping, Stays};
pub use summary::Summary;
pub use timetable::{Timetable, TimetableError};
pub use zone::{Zone, ZoneError};
