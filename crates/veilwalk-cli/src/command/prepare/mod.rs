//! `veilwalk prepare`: walks of the raw events of persons.

mod map;
mod read;
mod settings;
mod sorted;
mod text;

use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result, bail};
use veilwalk::internal::request::Span;
use veilwalk_io::{
    AtomicFile, ClockPart, Compression, HeldOutput, Labels, Prepared, WalkFormat, WalkWriter,
};
use veilwalk_prepare::{Places, Settings, Shaping, Summary, Window, Zone};
use veilwalk_roads::MatchSettings;

use crate::args::{Input, Written, is_standard_output, refuse_to_replace, settle_output, whole};
use crate::progress;
use sorted::Sorted;

/// The column that says whose walk it is.
const PERSON: &str = "person";

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
    events: String,

    /// Where to write the walks, `-` for standard output. The name tells the format, as for
    /// `veilwalk privatize`. A file of that name is replaced, with a warning
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The column that says whose event it is; `person` if not given, in XES `case:concept:name`
    #[arg(long, value_name = "NAME", help_heading = "Columns")]
    person_column: Option<String>,

    /// The column with the time: ISO 8601 such as 2024-03-01T08:00:00+01:00, with or without a zone but all alike, or
    /// seconds since 1970; `time` if not given, in XES `time:timestamp`
    #[arg(long, value_name = "NAME", help_heading = "Columns")]
    time_column: Option<String>,

    /// The column that says where a person was or what happened; `state` if not given, in XES `concept:name`
    #[arg(long, value_name = "NAME", conflicts_with = "positions", help_heading = "Columns")]
    state_column: Option<String>,

    /// Make states of positions: the cells of H3 of this fineness. h3:9 has cells of about 350 m; each number more
    /// or less makes them 2.6 times smaller or larger
    #[arg(long, value_name = "CELLS", group = "positions", help_heading = "Columns")]
    cells: Option<Places>,

    /// The column with the latitude in degrees, for --cells and --map
    #[arg(
        long,
        value_name = "NAME",
        default_value = "latitude",
        requires = "positions",
        help_heading = "Columns"
    )]
    latitude_column: String,

    /// The column with the longitude in degrees, for --cells and --map
    #[arg(
        long,
        value_name = "NAME",
        default_value = "longitude",
        requires = "positions",
        help_heading = "Columns"
    )]
    longitude_column: String,

    /// The zone of the days, and of times that have none, such as Europe/Berlin
    #[arg(long, value_name = "ZONE", help_heading = "Columns")]
    timezone: Option<Zone>,

    /// Match positions to the streets of this map, a model that `veilwalk chain osm` wrote. Without --every a walk has a
    /// state for every street that was passed, and all its moves are moves of the model; where nobody knows how somebody went
    /// on, another walk begins
    #[arg(long, value_name = "MODEL", group = "positions", help_heading = "Map")]
    map: Option<PathBuf>,

    /// How far positions are off, in metres: the standard deviation in each direction
    #[arg(
        long,
        value_name = "METRES",
        default_value_t = MatchSettings::SIGMA,
        requires = "map",
        allow_negative_numbers = true,
        value_parser = map::metres,
        help_heading = "Map"
    )]
    sigma: f64,

    /// Add a column `name` with the name of each state's street
    #[arg(long, requires = "map", help_heading = "Map")]
    names: bool,

    /// How long something is known for: without --every, a walk is over when nothing was heard for longer than this, such as
    /// 30m, and another begins; with --every, the person is --away after it
    #[arg(long, value_name = "SPAN", help_heading = "Walks")]
    gap: Option<Span>,

    /// Leave out events with the state of the one before them
    #[arg(long, conflicts_with = "every", help_heading = "Walks")]
    merge_stays: bool,

    /// Fill up walks with this state, up to --length
    #[arg(
        long,
        value_name = "STATE",
        requires = "length",
        conflicts_with = "every",
        help_heading = "Walks"
    )]
    end: Option<String>,

    /// How many states all walks have; longer ones are cut
    #[arg(
        long,
        value_name = "COUNT",
        requires = "end",
        allow_negative_numbers = true,
        value_parser = whole::<NonZeroUsize>(1..=1_000_000),
        help_heading = "Walks"
    )]
    length: Option<NonZeroUsize>,

    /// Put events on a clock with ticks so far apart, such as 5m. The state of a tick is the last that is known, of
    /// whatever day
    #[arg(long, value_name = "SPAN", help_heading = "Clock")]
    every: Option<Span>,

    /// The part of the day that has ticks. It may go over midnight, and belongs to the day it begins on
    #[arg(
        long,
        value_name = "FROM-TO",
        default_value = "00:00-24:00",
        requires = "every",
        help_heading = "Clock"
    )]
    window: Window,

    /// The state of ticks at which nothing is known, and with --map of whoever is on no street. If not given, ticks before a
    /// person's first event have its state
    #[arg(long, value_name = "STATE", help_heading = "Clock")]
    away: Option<String>,

    /// The days on which a person has a walk: `seen` (those with an event in the window, which a release shows) or `all`
    /// (from the first event of anybody to the last)
    #[arg(
        long,
        value_name = "DAYS",
        default_value = "seen",
        requires = "every",
        help_heading = "Clock"
    )]
    days: settings::WhichDays,

    /// Allow so many different states. If not given, 100,000, and in larger files no more than one for every two events
    #[arg(
        long,
        value_name = "COUNT",
        allow_negative_numbers = true,
        value_parser = whole::<usize>(1..=u32::MAX.into()),
        help_heading = "Limits"
    )]
    max_states: Option<usize>,

    /// How much memory events may take, in MiB: 24 bytes each. More wait in a temporary file
    #[arg(
        long,
        value_name = "MIB",
        default_value_t = 512,
        allow_negative_numbers = true,
        value_parser = whole::<usize>(1..=1 << 20),
        help_heading = "Limits"
    )]
    sort_memory: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let settings = args.settings()?;
    let streets = args.streets()?;
    let to_file = !is_standard_output(&args.output);
    if to_file {
        args.settle_output()?;
    }
    let prepared = args.prepared(&settings);
    let sorted = args.read(settings.clone(), streets.as_ref())?;
    let (name, made) = if to_file {
        let file = AtomicFile::create(&args.output)?;
        let name = file.name().to_owned();
        let (file, made) = args.write(sorted, file, &name)?;
        prepared.commit_with(file, &args.output)?;
        (name, made)
    } else {
        let name = "standard output".to_owned();
        let (held, made) = args.write(sorted, HeldOutput::new(), &name)?;
        held.pass_on(std::io::stdout().lock()).map_err(|error| error.named(&name))?;
        (name, made)
    };
    text::tell(&name, &settings, &made);
    Ok(())
}

/// What was made.
#[derive(Clone, Copy, Debug)]
struct Made {
    summary: Summary,
    /// The most walks of one person.
    most_walks: u64,
}

impl Args {
    fn inputs(&self) -> Vec<Input<'_>> {
        let map = self.map.iter().map(|path| (path.as_path(), "the map"));
        [(Path::new(&self.events), "the events")].into_iter().chain(map).collect()
    }

    /// Refuses outputs that must not be replaced.
    fn settle_output(&self) -> Result<()> {
        let beside = Prepared::path_for(&self.output);
        refuse_to_replace(&beside, &self.inputs())?;
        if Prepared::would_replace_another(&self.output) {
            bail!(
                "{}: what the walks were prepared with goes there, and there is a file that is something \
                 else; move it away, or give -o another file",
                beside.display()
            );
        }
        settle_output(&self.output, Written::Other, &self.inputs())
    }

    /// What stands beside the walks.
    fn prepared(&self, settings: &Settings) -> Prepared {
        let (states_per_walk, clock) = match &settings.shaping {
            Shaping::Clock(clock) => {
                let part = ClockPart {
                    every: clock.every().to_string(),
                    window: clock.window().to_string(),
                    timezone: settings.zone.as_ref().map(Zone::to_string),
                };
                (Some(clock.ticks().get().into()), Some(part))
            }
            Shaping::Events { padding, .. } => {
                (padding.as_ref().map(|padding| padding.length.get() as u64), None)
            }
        };
        Prepared {
            veilwalk_prepared: Prepared::FORMAT,
            person_column: PERSON.to_owned(),
            states_per_walk,
            clock,
            walks: None,
        }
    }

    /// Writes all walks.
    fn write<W: Write + Send>(&self, sorted: Sorted<'_>, out: W, name: &str) -> Result<(W, Made)> {
        let format = WalkFormat::from_path(&self.output).unwrap_or(WalkFormat::Csv);
        let compression = Compression::from_path(&self.output);
        let labels = sorted.labels().to_vec();
        let columns = [PERSON];
        let called = self.names.then(|| sorted.names());
        let called = called.as_ref().map(|names| names as &dyn Labels);
        let mut walks =
            WalkWriter::with_names(out, name, format, compression, &labels, &columns, called)?;
        let persons = sorted.persons();
        let mut most_walks = 0;
        let summary = progress::with_labelled_progress(|tell| {
            let (mut person, mut seen, mut of_person) = (String::new(), 0_u64, 0);
            sorted.each_walk(|walk| {
                if walk.person != person || seen == 0 {
                    person.clear();
                    person.push_str(walk.person);
                    (seen, of_person) = (seen + 1, 0);
                    if let ControlFlow::Break(()) = tell("writing", seen as f64 / persons as f64) {
                        return Err(progress::stopped());
                    }
                }
                of_person += 1;
                most_walks = most_walks.max(of_person);
                walks.write_walk_with(walk.name, walk.states, &[walk.person])?;
                Ok::<(), Error>(())
            })
        })?;
        Ok((walks.finish()?, Made { summary, most_walks }))
    }
}
