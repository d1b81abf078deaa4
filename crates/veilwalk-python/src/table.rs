//! Walks in Arrow columns: long tables with one state a row, and columns of lists.
//!
//! Columns come in through Arrow's C interface, without a copy, and go out the same way.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, PrimitiveArray, StringArray};
use arrow_schema::{DataType, Field};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3_arrow::PyChunkedArray;
use pyo3_arrow::input::AnyArray;
use veilwalk_io::{LEFT_OUT, UnknownStates, WalkLists, as_texts};

use crate::column::{BadValue, States};
use crate::error::{VeilwalkError, WalkError};
use crate::groups::{Groups, NotGrouped};
use crate::interrupt::{self, Stop};
use crate::labels::Naming;
use crate::lists::{as_states, outcome_texts};
use crate::release::{Manner, release};

fn at(column: &str, BadValue { row, why }: BadValue) -> PyErr {
    WalkError::new_err(format!("column {column:?}, row {row}: {why}"))
}

fn of(column: &str, why: &str) -> PyErr {
    WalkError::new_err(format!("column {column:?}: {why}"))
}

pub(crate) fn chunked(array: AnyArray) -> PyResult<(Vec<ArrayRef>, Arc<Field>)> {
    let unreadable = |error: PyErr| {
        WalkError::new_err(format!("a column cannot be read through Arrow's C interface: {error}"))
    };
    Ok(array.into_chunked_array().map_err(|error| unreadable(error.into()))?.into_inner())
}

/// Names of columns, for messages.
#[derive(Clone, Debug)]
struct Columns {
    trajectory: String,
    step: String,
    state: String,
}

fn not_grouped(columns: &Columns, error: NotGrouped) -> PyErr {
    match error {
        NotGrouped::Trajectory(bad) => at(&columns.trajectory, bad),
        NotGrouped::TrajectoryType(kind) => of(
            &columns.trajectory,
            &format!("the type is {kind}; a trajectory is named by a text or a whole number"),
        ),
        NotGrouped::Step(bad) => at(&columns.step, bad),
        NotGrouped::StepType(kind) => {
            of(&columns.step, &format!("the type is {kind}; a step is a whole number or a time"))
        }
    }
}

/// Reads all chunks of a column of states.
fn read(chunks: &[ArrayRef], states: &States<'_>, column: &str) -> PyResult<Vec<u32>> {
    let mut all = Vec::with_capacity(chunks.iter().map(|chunk| chunk.len()).sum());
    for chunk in chunks {
        let before = all.len();
        let found = states.read(chunk);
        let found = found.map_err(|bad| at(column, BadValue { row: bad.row + before, ..bad }))?;
        if chunks.len() == 1 {
            return Ok(found);
        }
        all.extend(found);
    }
    Ok(all)
}

/// Releases a long table: the released states; what was observed, under a mechanism that observes; and, if the
/// table has no steps, the numbers of the steps. All of it row by row.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn release_long(
    py: Python<'_>,
    manner: &Manner,
    states: &str,
    trajectory: Option<AnyArray>,
    step: Option<AnyArray>,
    state: AnyArray,
    columns: (String, String, String),
    name: String,
    threads: Option<usize>,
) -> PyResult<(PyChunkedArray, Option<PyChunkedArray>, Option<PyChunkedArray>)> {
    let manner = manner.clone();
    let integers = Naming::integers(states)?;
    let columns = Columns { trajectory: columns.0, step: columns.1, state: columns.2 };
    let trajectory = trajectory.map(chunked).transpose()?;
    let step = step.map(chunked).transpose()?;
    let (chunks, field) = chunked(state)?;
    let labels = manner.labels.clone();
    let (released, observed, numbers) = interrupt::run_with_threads(py, threads, move |stop| {
        let rows: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        if u32::try_from(rows).is_err() {
            return Err(VeilwalkError::new_err("more than 2^32 rows; release in parts"));
        }
        // Rows to leave out are not among these (see `known_rows`).
        let unknown = match manner.unknown {
            UnknownStates::Skip => UnknownStates::Refuse,
            other => other,
        };
        let column = States::new(field.data_type(), integers, &labels, unknown);
        let column = column.map_err(|e| of(&columns.state, &e))?;
        let reals = read(&chunks, &column, &columns.state)?;
        drop(chunks);
        let groups = match &trajectory {
            None => Groups::one(name, rows),
            Some((trajectory, _)) => {
                let steps = step.as_ref().map(|(chunks, _)| chunks.as_slice());
                Groups::new(trajectory, steps).map_err(|e| not_grouped(&columns, e))?
            }
        };
        let mut states = groups.gather(reals);
        let names = |walk: usize| groups.names[walk].as_str().into();
        let walks = groups.bounds.windows(2).enumerate();
        manner.admit(walks.map(|(walk, ends)| (names(walk), &states[ends[0]..ends[1]])))?;
        let observed = release(&manner, &names, &groups.bounds, &mut states, stop)?;
        let numbers = step.is_none().then(|| groups.step_numbers());
        let written = |states| {
            let states = groups.scatter(states);
            column.write(states).map_err(|e| of(&columns.state, &e))
        };
        let observed = observed.map(|observed| match manner.mechanism.chart() {
            None => written(as_states(&observed)),
            Some(_) => {
                // Rows are looked up by their place, as states are by their number.
                let places = groups.scatter((0..observed.len() as u32).collect());
                let texts = outcome_texts(&manner.mechanism, &observed);
                let texts = places.iter().map(|&place| Some(texts[place as usize].as_str()));
                Ok(Arc::new(texts.collect::<StringArray>()) as ArrayRef)
            }
        });
        Ok((written(states)?, observed.transpose()?, numbers))
    })?;
    let numbers = numbers.map(|numbers| {
        one_chunk(Arc::new(PrimitiveArray::<Int64Type>::new(numbers.into(), None)), "step")
    });
    let observed = observed.map(|observed| one_chunk(observed, "observed"));
    Ok((one_chunk(released, "state")?, observed.transpose()?, numbers.transpose()?))
}

/// Which rows of a column have a state of the chain; nothing if all have. A missing value counts as one, so
/// that it is refused.
#[pyfunction]
pub(crate) fn known_rows<'py>(
    py: Python<'py>,
    manner: &Manner,
    states: &str,
    state: AnyArray,
    column: String,
) -> PyResult<Option<Bound<'py, PyArray1<bool>>>> {
    let (labels, unknown) = (manner.labels.clone(), manner.unknown);
    let integers = Naming::integers(states)?;
    let (chunks, field) = chunked(state)?;
    let known = interrupt::run(py, move |_| {
        let states = States::new(field.data_type(), integers, &labels, unknown);
        let states = states.map_err(|e| of(&column, &e))?;
        let states = read(&chunks, &states, &column)?;
        Ok::<_, PyErr>(states.iter().map(|&state| state != LEFT_OUT).collect::<Vec<bool>>())
    })?;
    Ok((!known.iter().all(|&known| known)).then(|| PyArray1::from_vec(py, known)))
}

pub(crate) fn one_chunk(array: ArrayRef, name: &str) -> PyResult<PyChunkedArray> {
    let field = Arc::new(Field::new(name, array.data_type().clone(), true));
    PyChunkedArray::try_new(vec![array], field)
}

/// Releases a column of lists, each a walk. Gives what was observed too, under a mechanism that observes.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn release_list_column(
    py: Python<'_>,
    manner: &Manner,
    states: &str,
    column: AnyArray,
    column_name: String,
    names: Option<Vec<String>>,
    threads: Option<usize>,
) -> PyResult<(PyChunkedArray, Option<PyChunkedArray>)> {
    let manner = manner.clone();
    let integers = Naming::integers(states)?;
    let (chunks, field) = chunked(column)?;
    let labels = manner.labels.clone();
    let work = move |stop: &Stop| {
        let kind = WalkLists::value_type(field.data_type()).ok_or_else(|| {
            of(&column_name, &format!("the type is {}, not one of lists", field.data_type()))
        })?;
        let column = States::new(kind, integers, &labels, manner.unknown);
        let column = column.map_err(|e| of(&column_name, &e))?;
        let mut read = Vec::with_capacity(chunks.len());
        let mut row = 0;
        for chunk in chunks {
            if let Some(missing) = (0..chunk.len()).find(|&place| chunk.is_null(place)) {
                let why = "a missing walk (null); give an empty list for a walk without states";
                return Err(at(&column_name, BadValue { row: row + missing, why: why.into() }));
            }
            let mut lists = WalkLists::new(&chunk);
            let mut states = column.read(&lists.values).map_err(|bad| {
                let walk = lists.row_of(bad.row);
                let step = bad.row - lists.bounds[walk];
                let why = format!("step {step}: {}", bad.why);
                at(&column_name, BadValue { row: row + walk, why })
            })?;
            let walks = lists.bounds.len() - 1;
            if lists.leave_out(&mut states, LEFT_OUT)
                && matches!(chunk.data_type(), DataType::FixedSizeList(..))
            {
                let why = "lists of a fixed length cannot have states left out; give lists of any length, \
                           or a state to take instead of unknown ones";
                return Err(of(&column_name, why));
            }
            read.push((chunk, lists, states, row));
            row += walks;
        }
        let name = &|walk: usize| match &names {
            Some(names) => Cow::Borrowed(names[walk].as_str()),
            None => walk.to_string().into(),
        };
        manner.admit(read.iter().flat_map(|(_, lists, states, row)| {
            let walks = lists.bounds.windows(2).enumerate();
            walks.map(move |(walk, ends)| (name(row + walk), &states[ends[0]..ends[1]]))
        }))?;
        let mut written = Vec::with_capacity(read.len());
        let mut written_observed = manner.mechanism.design().observes().then(Vec::new);
        for (chunk, lists, mut states, row) in read {
            let names = |walk| name(row + walk);
            let observed = release(&manner, &names, &lists.bounds, &mut states, stop)?;
            let in_lists = |states| {
                let values = column.write(states).map_err(|e| of(&column_name, &e))?;
                let lists = lists.with_values(chunk.data_type(), values);
                lists.map_err(|e| of(&column_name, &e.to_string()))
            };
            written.push(in_lists(states)?);
            let Some((written, observed)) = written_observed.as_mut().zip(observed) else {
                continue;
            };
            written.push(match manner.mechanism.chart() {
                None => in_lists(as_states(&observed))?,
                Some(_) => {
                    let texts = outcome_texts(&manner.mechanism, &observed).into_iter().map(Some);
                    let texts = Arc::new(texts.collect::<StringArray>()) as ArrayRef;
                    let kind = DataType::new_list(DataType::Utf8, true);
                    let lists = lists.with_values(&kind, texts);
                    lists.map_err(|e| of(&column_name, &e.to_string()))?
                }
            });
        }
        Ok((written, written_observed, field))
    };
    let (written, observed, field) = interrupt::run_with_threads(py, threads, work)?;
    let chunked = |written: Vec<ArrayRef>, name: &str| {
        let kind = written.first().map_or(field.data_type(), |array| array.data_type()).clone();
        PyChunkedArray::try_new(written, Arc::new(Field::new(name, kind, true)))
    };
    let observed = observed.map(|observed| chunked(observed, "observed")).transpose()?;
    Ok((chunked(written, field.name())?, observed))
}

/// The processor's seconds of this process so far, by Python's clock.
fn processor_time() -> PyResult<f64> {
    Python::attach(|py| py.import("time")?.call_method0("process_time")?.extract())
}

/// For benchmarks: the seconds of the processor that the library takes for a column of lists of texts,
/// without Python: to look labels up, to release, and to collect the released labels.
#[pyfunction]
pub(crate) fn time_library(
    py: Python<'_>,
    manner: &Manner,
    column: AnyArray,
) -> PyResult<(f64, f64, f64)> {
    use rayon::prelude::*;
    let manner = manner.clone();
    let (chunks, _) = chunked(column)?;
    interrupt::run(py, move |stop| {
        let (mut looking_up, mut releasing, mut collecting) = (0.0, 0.0, 0.0);
        for chunk in chunks {
            let lists = WalkLists::new(&chunk);
            let texts: Vec<String> = as_texts(&lists.values).into_iter().flatten().collect();
            let chain = manner.mechanism.model().chain();
            let begun = processor_time()?;
            let found = texts.par_iter().map(|text| chain.state(text).map(|s| s.index() as u32));
            let found: Option<Vec<u32>> = found.collect();
            let mut states = found.ok_or_else(|| of("column", "an unknown state"))?;
            looking_up += processor_time()? - begun;
            let begun = processor_time()?;
            release(&manner, &|walk| walk.to_string().into(), &lists.bounds, &mut states, stop)?;
            releasing += processor_time()? - begun;
            let begun = processor_time()?;
            let label =
                |&state: &u32| chain.label(veilwalk::StateId::new(state as usize)).to_owned();
            let released: Vec<String> = states.par_iter().map(label).collect();
            collecting += processor_time()? - begun;
            drop(released);
        }
        Ok::<_, PyErr>((looking_up, releasing, collecting))
    })
}
