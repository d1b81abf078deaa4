//! Raw events in Arrow columns to walks in Arrow columns.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, LargeStringBuilder};
use arrow_array::{Array, ArrayRef, StringArray};
use pyo3::prelude::*;
use pyo3_arrow::PyChunkedArray;
use pyo3_arrow::input::AnyArray;
use veilwalk_io::plain_texts;
use veilwalk_prepare::{
    AddError, Clock, Days, Event, EventAt, Limits, Padding, Preparation, Settings, Shaping, Sorted,
    Stays, Summary,
};
use veilwalk_roads::{MatchSettings, Streets};

use crate::error::{VeilwalkError, WalkError, parameter_error};
use crate::interrupt::{self, Stop};
use crate::table::{chunked, one_chunk};

/// Columns with their names, cut into chunks.
type Columns = Vec<(String, Vec<ArrayRef>)>;

/// What became of events, each number with its name.
type Counts = Vec<(&'static str, u64)>;

/// Makes walks of events. The columns are person, time, and state or latitude and longitude, each with its name; those of
/// the walks are trajectory, step, state and person.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn prepare(
    py: Python<'_>,
    columns: Vec<(String, AnyArray)>,
    cells: Option<String>,
    gap: Option<String>,
    timezone: Option<String>,
    every: Option<String>,
    window: String,
    away: Option<String>,
    days: &str,
    merge_stays: bool,
    padding: Option<(String, usize)>,
    max_states: Option<usize>,
    map: Option<PyRef<'_, crate::chain::Chain>>,
    sigma: f64,
) -> PyResult<(Vec<PyChunkedArray>, Counts)> {
    let away_off_the_map = away.clone();
    let shaping = match every {
        Some(every) => {
            let mut clock = Clock::new(read("every", &every)?, read("window", &window)?)
                .map_err(|error| parameter_error(format!("every: {error}")))?;
            clock.away = away;
            clock.days = match days {
                "seen" => Days::Seen,
                "all" => Days::All,
                other => {
                    let message = format!("days: {other:?} is neither \"seen\" nor \"all\"");
                    return Err(parameter_error(message));
                }
            };
            Shaping::Clock(clock)
        }
        None => {
            let padding = padding.map(|(end, length)| {
                let length = length.try_into().map_err(|_| {
                    parameter_error(
                        "length: a walk has at least one state; give a number from 1 up",
                    )
                })?;
                Ok::<_, PyErr>(Padding { end, length })
            });
            let stays = if merge_stays { Stays::Merge } else { Stays::Keep };
            Shaping::Events { stays, padding: padding.transpose()? }
        }
    };
    let settings = Settings {
        places: cells.map(|cells| read("cells", &cells)).transpose()?.unwrap_or_default(),
        shaping,
        gap: gap.map(|gap| read("gap", &gap)).transpose()?,
        zone: timezone.map(|zone| read("timezone", &zone)).transpose()?,
        limits: Limits { states: max_states, ..Limits::default() },
    };
    settings.check().map_err(parameter_error)?;
    let columns = columns.into_iter().map(|(name, array)| Ok((name, chunked(array)?.0)));
    let columns = columns.collect::<PyResult<Columns>>()?;
    let streets = map.map(|map| Streets::of(map.chain()).map_err(parameter_error)).transpose()?;
    let (walks, summary) = interrupt::run(py, move |stop| {
        let mut events = match &streets {
            None => Preparation::new(settings),
            Some(streets) => {
                let matching = MatchSettings::with_sigma(sigma);
                Preparation::on_streets(settings, streets, matching, away_off_the_map)
            }
        };
        each_event(&columns, stop, |event| events.add(event))?;
        drop(columns);
        let sorted = events.finish().map_err(|error| WalkError::new_err(error.to_string()))?;
        written(sorted, stop)
    })?;
    let names = ["trajectory", "step", "state", "person"];
    let walks = walks.into_iter().zip(names).map(|(column, name)| one_chunk(column, name));
    Ok((walks.collect::<PyResult<_>>()?, counts(&summary)))
}

/// Reads an argument.
fn read<T: FromStr<Err: std::fmt::Display>>(argument: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|error| parameter_error(format!("{argument}: {error}")))
}

fn stopped() -> PyErr {
    VeilwalkError::new_err("stopped on request")
}

/// Takes all events, a few rows at a time as texts.
fn each_event(
    columns: &Columns,
    stop: &Stop,
    mut add: impl FnMut(Event<'_>) -> Result<(), AddError>,
) -> PyResult<()> {
    let rows = columns.first().map_or(0, |(_, chunks)| chunks.iter().map(|c| c.len()).sum());
    let mut readers: Vec<_> =
        columns.iter().map(|(name, chunks)| Texts::new(name, chunks)).collect();
    for row in 0..rows {
        if row % 4096 == 0 && stop.requested() {
            return Err(stopped());
        }
        for reader in &mut readers {
            reader.advance(row)?;
        }
        let at = match &readers[2..] {
            [state] => EventAt::State(state.value()),
            [latitude, longitude, ..] => {
                EventAt::Position { latitude: latitude.value(), longitude: longitude.value() }
            }
            [] => return Err(parameter_error("there is no column of states")),
        };
        let event = Event { person: readers[0].value(), time: readers[1].value(), at };
        add(event).map_err(|error| match error {
            AddError::Event(error) => WalkError::new_err(format!("row {row}: {error}")),
            other => VeilwalkError::new_err(other.to_string()),
        })?;
    }
    Ok(())
}

/// The values of a column, one after another.
struct Texts<'a> {
    name: &'a str,
    /// What is left of the chunks, the present one first.
    chunks: &'a [ArrayRef],
    /// How many rows of the present chunk have been made into texts.
    taken: usize,
    texts: StringArray,
    /// The place of the present value, from one.
    place: usize,
}

impl<'a> Texts<'a> {
    /// So many rows are texts at a time.
    const ROWS: usize = 1 << 13;

    fn new(name: &'a str, chunks: &'a [ArrayRef]) -> Self {
        Self { name, chunks, taken: 0, texts: StringArray::new_null(0), place: 0 }
    }

    /// Goes to the next row, which has this number.
    fn advance(&mut self, row: usize) -> PyResult<()> {
        while self.place == self.texts.len() {
            let Some((chunk, rest)) = self.chunks.split_first() else {
                let message = format!("column {:?}: it ends before row {row}", self.name);
                return Err(WalkError::new_err(message));
            };
            let count = Self::ROWS.min(chunk.len() - self.taken);
            if count == 0 {
                (self.chunks, self.taken) = (rest, 0);
                continue;
            }
            self.texts = plain_texts(&chunk.slice(self.taken, count))
                .map_err(|error| WalkError::new_err(format!("column {:?}: {error}", self.name)))?;
            (self.taken, self.place) = (self.taken + count, 0);
        }
        let missing = self.texts.is_null(self.place) || self.texts.value(self.place).is_empty();
        self.place += 1;
        if missing {
            let message = format!("column {:?}, row {row}: a missing value", self.name);
            return Err(WalkError::new_err(message));
        }
        Ok(())
    }

    fn value(&self) -> &str {
        self.texts.value(self.place - 1)
    }
}

/// All walks as columns: trajectory, step, state and person.
fn written(sorted: Sorted<'_>, stop: &Stop) -> PyResult<([ArrayRef; 4], Summary)> {
    let labels = sorted.labels().to_vec();
    let mut texts: [LargeStringBuilder; 3] = Default::default();
    let mut steps = Int64Builder::new();
    let summary = sorted.each_walk(|walk| {
        if stop.requested() {
            return Err(Failed(stopped()));
        }
        for (state, step) in walk.states.iter().zip(0..) {
            let values = [walk.name, &labels[state.index()], walk.person];
            for (column, value) in texts.iter_mut().zip(values) {
                column.append_value(value);
            }
            steps.append_value(step);
        }
        Ok(())
    });
    let summary = summary.map_err(|Failed(error)| error)?;
    let [mut names, mut states, mut persons] = texts;
    let columns: [ArrayRef; 4] = [
        Arc::new(names.finish()),
        Arc::new(steps.finish()),
        Arc::new(states.finish()),
        Arc::new(persons.finish()),
    ];
    Ok((columns, summary))
}

/// An error on the way out of the engine.
struct Failed(PyErr);

impl From<veilwalk_prepare::PrepareError> for Failed {
    fn from(error: veilwalk_prepare::PrepareError) -> Self {
        Self(VeilwalkError::new_err(error.to_string()))
    }
}

fn counts(summary: &Summary) -> Counts {
    vec![
        ("events", summary.events),
        ("persons", summary.persons),
        ("states", summary.states),
        ("walks", summary.walks),
        ("rows", summary.rows),
        ("repeats", summary.repeats),
        ("at_one_time", summary.at_one_time),
        ("stays_merged", summary.stays_merged),
        ("out_of_window", summary.out_of_window),
        ("between_ticks", summary.between_ticks),
        ("ticks_away", summary.ticks_away),
        ("ticks_before_first", summary.ticks_before_first),
        ("persons_without_walk", summary.persons_without_walk),
        ("walks_of_one_state", summary.walks_of_one_state),
        ("walks_cut", summary.walks_cut),
        ("states_cut", summary.states_cut),
        ("outliers", summary.outliers),
        ("off_the_map", summary.off_the_map),
    ]
}
