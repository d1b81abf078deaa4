//! Walks as Python lists and as NumPy arrays of integers.

use numpy::{PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySequence, PyString};
use veilwalk::mechanism::plane::Outcomes;
use veilwalk::{Mechanism, Outcome};
use veilwalk_io::UnknownStates;

use crate::error::WalkError;
use crate::interrupt;
use crate::labels::{Labels, Naming};
use crate::release::{Manner, release};

/// After how many values Ctrl-C is looked for while a list is read.
const LOOK: usize = 1 << 16;

/// What comes back of walks: what was released and, under a mechanism that observes, what was observed.
type Answer<'py, T, O = T> = (Bound<'py, T>, Option<Bound<'py, O>>);

/// Releases walks, each a list or tuple of states. Every walk comes back in the kind it was given.
#[pyfunction]
pub(crate) fn release_lists<'py>(
    py: Python<'py>,
    manner: &Manner,
    states: &str,
    walks: &Bound<'py, PyAny>,
    names: Vec<String>,
    threads: Option<usize>,
) -> PyResult<Answer<'py, PyList>> {
    let manner = manner.clone();
    let integers = Naming::integers(states)?;
    let (labels, unknown) = (&*manner.labels, manner.unknown);
    let mut read = Read { labels, integers, unknown, naming: None, states: Vec::new() };
    let mut bounds = vec![0];
    for (number, walk) in walks.try_iter()?.enumerate() {
        read.walk(py, number, &walk?)?;
        bounds.push(read.states.len());
    }
    let (naming, mut states) = (read.naming.unwrap_or(Naming::Text), read.states);
    let values = manner.labels.python_values(py, naming)?;
    let mechanism = manner.mechanism.clone();
    let (states, observed, bounds) = interrupt::run_with_threads(py, threads, move |stop| {
        admit(&manner, &names, &bounds, &states)?;
        let names = |walk: usize| names[walk].as_str().into();
        let observed = release(&manner, &names, &bounds, &mut states, stop)?;
        Ok::<_, PyErr>((states, observed, bounds))
    })?;
    let state = |state: &u32| values[*state as usize].clone();
    let released = in_walks(py, &bounds, states.iter().map(state))?;
    let observed = observed.map(|observed| {
        let seen = Seen { outcomes: mechanism.outcomes(), values: &values };
        in_walks(py, &bounds, observed.iter().map(|&outcome| seen.value(py, outcome)))
    });
    Ok((released, observed.transpose()?))
}

/// Values one after another as lists, one for each walk.
fn in_walks<'py>(
    py: Python<'py>,
    bounds: &[usize],
    values: impl Iterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let values: Vec<_> = values.collect();
    let walk = |ends: &[usize]| PyList::new(py, &values[ends[0]..ends[1]]);
    PyList::new(py, bounds.windows(2).map(walk).collect::<PyResult<Vec<_>>>()?)
}

/// What was observed as Python values: as states are, or as texts where places were observed.
pub(crate) struct Seen<'a, 'py> {
    pub(crate) outcomes: Outcomes<'a>,
    pub(crate) values: &'a [Bound<'py, PyAny>],
}

impl<'py> Seen<'_, 'py> {
    pub(crate) fn value(&self, py: Python<'py>, outcome: Outcome) -> Bound<'py, PyAny> {
        match outcome.state() {
            Some(state) if self.outcomes.chart().is_none() => self.values[state.index()].clone(),
            _ => PyString::new(py, &self.outcomes.text(outcome)).into_any(),
        }
    }
}

/// Lets walks of these names in, which lie between these bounds.
fn admit(manner: &Manner, names: &[String], bounds: &[usize], states: &[u32]) -> PyResult<()> {
    let walks = names.iter().zip(bounds.windows(2));
    manner.admit(walks.map(|(name, ends)| (name.as_str().into(), &states[ends[0]..ends[1]])))
}

/// Lists of states being read.
struct Read<'a> {
    labels: &'a Labels,
    integers: Naming,
    unknown: UnknownStates,
    /// How the first state was given; all others have to be given likewise.
    naming: Option<Naming>,
    states: Vec<u32>,
}

impl Read<'_> {
    fn walk(&mut self, py: Python<'_>, number: usize, walk: &Bound<'_, PyAny>) -> PyResult<()> {
        // A text is a sequence of texts to Python, and hardly ever a walk.
        let Ok(sequence) = walk.cast::<PySequence>().map_err(|_| ()).and_then(|sequence| {
            if walk.is_instance_of::<PyString>() { Err(()) } else { Ok(sequence) }
        }) else {
            let kind = walk.get_type().name()?.to_string();
            return Err(WalkError::new_err(format!(
                "walk {number} is a value of type {kind}; a walk is a list of states"
            )));
        };
        for (step, value) in sequence.try_iter()?.enumerate() {
            let at = |why: &str| WalkError::new_err(format!("walk {number}, step {step}: {why}"));
            let found = self.labels.state_or(&value?, self.integers, self.unknown);
            let (state, naming) = found.map_err(|why| at(&why))?;
            if *self.naming.get_or_insert(naming) != naming {
                return Err(at(
                    "a text among integers, or the other way round; give all states in \
                               one kind",
                ));
            }
            self.states.extend(state.map(|state| state.index() as u32));
            if self.states.len().is_multiple_of(LOOK) {
                py.check_signals()?;
            }
        }
        Ok(())
    }
}

/// Releases walks of equal length that lie one after another in an array of integers. States can be left
/// out of a single walk only.
#[pyfunction]
pub(crate) fn release_numbers<'py>(
    py: Python<'py>,
    manner: &Manner,
    states: &str,
    array: PyReadonlyArray1<'py, i64>,
    names: Vec<String>,
    threads: Option<usize>,
) -> PyResult<Answer<'py, PyArray1<i64>, PyAny>> {
    let manner = manner.clone();
    let integers = Naming::integers(states)?;
    let values = manner.labels.released_integers(integers)?;
    let steps = array.len().checked_div(names.len()).unwrap_or(0);
    let reals = array.as_slice().map_err(|e| WalkError::new_err(e.to_string()))?.to_vec();
    let labels = manner.labels.clone();
    let (released, observed) = interrupt::run_with_threads(py, threads, move |stop| {
        let mut states = Vec::with_capacity(reals.len());
        for (place, &number) in reals.iter().enumerate() {
            match (labels.integer(integers, number), manner.unknown) {
                (Some(state), _) | (None, UnknownStates::Replace(state)) => {
                    states.push(state.index() as u32);
                }
                (None, UnknownStates::Skip) if names.len() == 1 => {}
                (None, UnknownStates::Skip | UnknownStates::Refuse) => {
                    let (walk, step) = (place / steps, place % steps);
                    let why = labels.unknown_integer(integers, number);
                    return Err(WalkError::new_err(format!("walk {walk}, step {step}: {why}")));
                }
            }
        }
        let steps = states.len().checked_div(names.len()).unwrap_or(0);
        let bounds: Vec<usize> = (0..=names.len()).map(|walk| walk * steps).collect();
        admit(&manner, &names, &bounds, &states)?;
        let names = |walk: usize| names[walk].as_str().into();
        let observed = release(&manner, &names, &bounds, &mut states, stop)?;
        let numbers =
            |states: &[u32]| states.iter().map(|&s| values[s as usize]).collect::<Vec<_>>();
        let observed = observed.map(|observed| match manner.mechanism.chart() {
            None => Observed::Numbers(numbers(&as_states(&observed))),
            Some(_) => Observed::Texts(outcome_texts(&manner.mechanism, &observed)),
        });
        Ok::<_, PyErr>((numbers(&states), observed))
    })?;
    let array = |numbers| PyArray1::from_vec(py, numbers);
    let observed = observed.map(|observed| match observed {
        Observed::Numbers(numbers) => Ok(array(numbers).into_any()),
        Observed::Texts(texts) => PyList::new(py, texts).map(Bound::into_any),
    });
    Ok((array(released), observed.transpose()?))
}

/// What was observed of states that are integers.
enum Observed {
    Numbers(Vec<i64>),
    /// Places.
    Texts(Vec<String>),
}

/// The numbers of observed states.
pub(crate) fn as_states(observed: &[Outcome]) -> Vec<u32> {
    observed.iter().filter_map(|outcome| outcome.state()).map(|s| s.index() as u32).collect()
}

/// What was observed, as it is written.
pub(crate) fn outcome_texts(mechanism: &Mechanism, observed: &[Outcome]) -> Vec<String> {
    let outcomes = mechanism.outcomes();
    observed.iter().map(|&outcome| outcomes.text(outcome).into_owned()).collect()
}
