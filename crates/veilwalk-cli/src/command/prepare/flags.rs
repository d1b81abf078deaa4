//! What `veilwalk prepare` can be told, by flags.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use veilwalk::internal::request::Span;
use veilwalk_prepare::{Places, Window, Zone};
use veilwalk_roads::MatchSettings;

use super::map;
use crate::args::whole;

/// Make walks of raw events: who, when, and where or what
///
/// Events are sorted by time, and what is there twice is left out. With --every they are put on a clock: one walk for each
/// person and day, with one state for every tick, so that neither the times of events nor their number show in a
/// release. Without it, a walk has a state for every event: --gap splits walks, and --end with --length gives all of them
/// one length. The output has the columns `trajectory`, `step`, `state` and `person`; release it with `--person-column
/// person`. It holds the real walks and is NOT protected. A file OUTPUT.prepared.json beside it says how far apart its states
/// are; it holds settings and nothing of the events.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The events: CSV or TSV with a header, NDJSON, Parquet, Arrow, a log of cases in XES, or for positions a trace in
    /// GPX; text may be compressed with gzip or zstd; `-` for a table on standard input
    pub(super) events: String,

    /// Where to write the walks, `-` for standard output. The name tells the format, as for
    /// `veilwalk privatize`. A file of that name is replaced, with a warning
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,

    #[command(flatten)]
    pub(super) columns: ColumnArgs,

    #[command(flatten)]
    pub(super) map: MapArgs,

    #[command(flatten)]
    pub(super) walks: WalkArgs,

    #[command(flatten)]
    pub(super) clock: ClockArgs,

    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

/// Which columns hold what, and what states are.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Columns")]
pub(super) struct ColumnArgs {
    /// The column that says whose event it is; `person` if not given, in XES `case:concept:name`
    #[arg(long, value_name = "NAME")]
    pub(super) person_column: Option<String>,

    /// The column with the time: ISO 8601 such as 2024-03-01T08:00:00+01:00, with or without a zone but all alike, or
    /// seconds since 1970; `time` if not given, in XES `time:timestamp`
    #[arg(long, value_name = "NAME")]
    pub(super) time_column: Option<String>,

    /// The column that says where a person was or what happened; `state` if not given, in XES `concept:name`
    #[arg(long, value_name = "NAME", conflicts_with = "positions")]
    pub(super) state_column: Option<String>,

    /// Make states of positions: the cells of H3 of this fineness. h3:9 has cells of about 350 m; each number more
    /// or less makes them 2.6 times smaller or larger
    #[arg(long, value_name = "CELLS", group = "positions")]
    pub(super) cells: Option<Places>,

    /// The column with the latitude in degrees, for --cells and --map
    #[arg(long, value_name = "NAME", default_value = "latitude", requires = "positions")]
    pub(super) latitude_column: String,

    /// The column with the longitude in degrees, for --cells and --map
    #[arg(long, value_name = "NAME", default_value = "longitude", requires = "positions")]
    pub(super) longitude_column: String,

    /// The zone of the days, and of times that have none, such as Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    pub(super) timezone: Option<Zone>,
}

/// How positions are matched to streets.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Map")]
pub(super) struct MapArgs {
    /// Match positions to the streets of this map, a model that `veilwalk chain osm` wrote. Without --every a walk has a
    /// state for every street that was passed, and all its moves are moves of the model; where nobody knows how somebody went
    /// on, another walk begins
    #[arg(long, value_name = "MODEL", group = "positions")]
    pub(super) map: Option<PathBuf>,

    /// How far positions are off, in metres: the standard deviation in each direction
    #[arg(long, value_name = "METRES", default_value_t = MatchSettings::SIGMA, requires = "map",
          value_parser = map::metres)]
    pub(super) sigma: f64,

    /// Add a column `name` with the name of each state's street
    #[arg(long, requires = "map")]
    pub(super) names: bool,
}

/// What a walk is, where there is no clock.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Walks")]
pub(super) struct WalkArgs {
    /// How long something is known for: without --every, a walk is over when nothing was heard for longer than this, such as
    /// 30m, and another begins; with --every, the person is --away after it
    #[arg(long, value_name = "SPAN")]
    pub(super) gap: Option<Span>,

    /// Leave out events with the state of the one before them
    #[arg(long, conflicts_with = "every")]
    pub(super) merge_stays: bool,

    /// Fill up walks with this state, up to --length
    #[arg(long, value_name = "STATE", requires = "length", conflicts_with = "every")]
    pub(super) end: Option<String>,

    /// How many states all walks have; longer ones are cut
    #[arg(long, value_name = "COUNT", requires = "end",
          value_parser = whole::<NonZeroUsize>(1..=1_000_000))]
    pub(super) length: Option<NonZeroUsize>,
}

/// The clock that events are put on.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Clock")]
pub(super) struct ClockArgs {
    /// Put events on a clock with ticks so far apart, such as 5m. The state of a tick is the last that is known, of
    /// whatever day
    #[arg(long, value_name = "SPAN")]
    pub(super) every: Option<Span>,

    /// The part of the day that has ticks. It may go over midnight, and belongs to the day it begins on
    #[arg(long, value_name = "FROM-TO", default_value = "00:00-24:00", requires = "every")]
    pub(super) window: Window,

    /// The state of ticks at which nothing is known, and with --map of whoever is on no street. If not given, ticks before a
    /// person's first event have its state
    #[arg(long, value_name = "STATE")]
    pub(super) away: Option<String>,

    /// The days on which a person has a walk: `seen` (those with an event in the window, which a release shows) or `all`
    /// (from the first event of anybody to the last)
    #[arg(long, value_name = "DAYS", default_value = "seen", requires = "every")]
    pub(super) days: WhichDays,
}

/// What preparing may take.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArgs {
    /// Allow so many different states. If not given, 100,000, and in larger files no more than one for every two events
    #[arg(long, value_name = "COUNT", value_parser = whole::<usize>(1..=u32::MAX.into()))]
    pub(super) max_states: Option<usize>,

    /// How much memory events may take, in MiB: 24 bytes each. More wait in a temporary file
    #[arg(long, value_name = "MIB", default_value_t = 512,
          value_parser = whole::<usize>(1..=1 << 20))]
    pub(super) sort_memory: usize,
}

/// The days on which a person has a walk, as the flag has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WhichDays {
    /// Those with an event in the window
    Seen,
    /// All
    All,
}
