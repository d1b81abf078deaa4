//! One walk, online.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use veilwalk::session::SavedSession;
use veilwalk::{Model, Outcome, Start, StateId};
use veilwalk_io::UnknownStates;

use crate::error::{SessionError, VeilwalkError, chain_error, session_error, walk_error};
use crate::labels::{Labels, Naming};
use crate::lists::outcome_texts;
use crate::mechanism::Mechanism;
use crate::release::Source;

/// A walk that is released while it happens.
#[pyclass(module = "veilwalk._native")]
#[derive(Debug)]
pub(crate) struct Session {
    session: Option<veilwalk::Session>,
    mechanism: Arc<veilwalk::Mechanism>,
    model: Arc<Model>,
    labels: Arc<Labels>,
    start: Start,
    integers: Naming,
    unknown: UnknownStates,
    /// The states as Python values, once it is known which kind is asked for.
    values: Option<(Naming, Vec<Py<PyAny>>)>,
    /// How pushed states come, and so how those that wait are given back.
    naming: Option<Naming>,
    /// What was observed for the states that were released last.
    observed: Vec<Py<PyAny>>,
}

/// The release id in the bytes of a saved session, if its randomness was derived.
#[pyfunction]
pub(crate) fn saved_release_id(data: &[u8]) -> PyResult<Option<String>> {
    let saved = SavedSession::read(data).map_err(session_error)?;
    Ok(saved.release_id.map(|id| id.to_string()))
}

/// The state of the chain that a value stands for: a session leaves none out.
fn known_state(
    labels: &Labels,
    real: &Bound<'_, PyAny>,
    integers: Naming,
    unknown: UnknownStates,
) -> PyResult<(StateId, Naming)> {
    let (state, naming) = labels.state_or(real, integers, unknown).map_err(walk_error)?;
    Ok((state.ok_or_else(|| walk_error("a session leaves no state out"))?, naming))
}

const CLOSED: &str = "the session is closed; open a new one, or resume from its bytes";

impl Session {
    fn open(&mut self) -> PyResult<&mut veilwalk::Session> {
        self.session.as_mut().ok_or_else(|| SessionError::new_err(CLOSED))
    }

    fn look(&self) -> PyResult<&veilwalk::Session> {
        self.session.as_ref().ok_or_else(|| SessionError::new_err(CLOSED))
    }

    /// Released states, in the kind in which the real ones came, if the model they were released with is
    /// still what it was.
    fn values(
        &mut self,
        py: Python<'_>,
        states: &[StateId],
        naming: Naming,
    ) -> PyResult<Vec<Py<PyAny>>> {
        self.model.check_unchanged().map_err(chain_error)?;
        let values = match self.values.take() {
            Some((known, values)) if known == naming => values,
            _ => {
                let values = self.labels.python_values(py, naming)?;
                values.into_iter().map(Bound::unbind).collect()
            }
        };
        let of = |state: &StateId| values[state.index()].clone_ref(py);
        let found = states.iter().map(of).collect();
        self.values = Some((naming, values));
        Ok(found)
    }

    /// The state that answers a real one.
    fn answer(&mut self, py: Python<'_>, real: StateId, naming: Naming) -> PyResult<Py<PyAny>> {
        self.check_naming(naming)?;
        let session = self.open()?;
        let released = session.release(real).map_err(session_error)?;
        let observed = session.observed().to_vec();
        Ok(self.give(py, &[released], &observed, naming)?.remove(0))
    }

    /// Released states as values; keeps what was observed for them.
    fn give(
        &mut self,
        py: Python<'_>,
        released: &[StateId],
        observed: &[Outcome],
        naming: Naming,
    ) -> PyResult<Vec<Py<PyAny>>> {
        self.observed = match (observed, self.mechanism.chart()) {
            ([], _) => Vec::new(),
            (observed, None) => {
                let states: Vec<_> =
                    observed.iter().filter_map(|outcome| outcome.state()).collect();
                self.values(py, &states, naming)?
            }
            (observed, Some(_)) => {
                self.model.check_unchanged().map_err(chain_error)?;
                let texts = outcome_texts(&self.mechanism, observed).into_iter();
                texts.map(|text| PyString::new(py, &text).into_any().unbind()).collect()
            }
        };
        self.values(py, released, naming)
    }

    /// How states are given back where no real one tells: after a start that is blind, or a walk that was
    /// taken up and ends.
    fn usual_naming(&self) -> Naming {
        if self.integers == Naming::Place { Naming::Place } else { Naming::Text }
    }

    /// Refuses integers that released states have no integer for.
    fn check_naming(&self, naming: Naming) -> PyResult<()> {
        if naming != Naming::Text && self.values.is_none() {
            self.labels.released_integers(naming)?;
        }
        Ok(())
    }

    /// Refuses to answer state by state where blocks are released, or answers come later.
    fn refuse_to_wait(&self) -> PyResult<()> {
        let mechanism = self.look()?.mechanism();
        let lag = mechanism.observation().map_or(0, |observation| observation.tracking().lag);
        let why = match mechanism.blocks() {
            Some(blocks) => format!("{} are released together", blocks.length()),
            None if lag > 0 => {
                format!("with lag={lag} the answer to a state comes {lag} steps later")
            }
            None => return Ok(()),
        };
        Err(SessionError::new_err(format!(
            "{why}, so there may be no state to answer with; give every real state to push(), and end the \
             walk with finish()"
        )))
    }
}

#[pymethods]
impl Session {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        py: Python<'_>,
        mechanism: &Mechanism,
        source: &Source,
        start: &Bound<'_, PyAny>,
        name: &str,
        states: &str,
        allow_vacuous: bool,
        block: Option<&str>,
        longest_walk: Option<u64>,
        saved: Option<&[u8]>,
        unknown_state: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        if !allow_vacuous {
            mechanism.refuse_empty_guarantee(py)?;
        }
        let start = mechanism.start(start)?;
        let inner = mechanism.releasing(py, block, longest_walk)?.mechanism;
        let source = &source.0;
        let session = match saved {
            None => veilwalk::Session::new(inner, source, start, name)
                .map_err(|e| VeilwalkError::new_err(e.to_string()))?,
            Some(bytes) => veilwalk::Session::resume(inner, source, start, name, bytes)
                .map_err(session_error)?,
        };
        Ok(Self {
            session: Some(session),
            mechanism: mechanism.made.mechanism.clone(),
            model: mechanism.made.mechanism.model().clone(),
            labels: mechanism.labels.clone(),
            start,
            integers: Naming::integers(states)?,
            unknown: mechanism.labels.unknown_states_of_session(unknown_state)?,
            values: None,
            naming: None,
            observed: Vec::new(),
        })
    }

    /// Releases the first state.
    #[pyo3(signature = (real=None))]
    fn start(&mut self, py: Python<'_>, real: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        self.refuse_to_wait()?;
        if self.look()?.walk().released() > 0 {
            return Err(SessionError::new_err(
                "the walk is under way; give its next real state to step()",
            ));
        }
        let given = match real {
            Some(real) => Some(known_state(&self.labels, real, self.integers, self.unknown)?),
            None if self.start == Start::First => {
                return Err(SessionError::new_err(
                    "with start=\"first\" the real first state is released: give it to start()",
                ));
            }
            None if self.start == Start::Private => {
                return Err(SessionError::new_err(
                    "with start=\"private\" the first state is drawn near the real one: give it to \
                     start(), or make the session with start=\"initial\", which does not look at it",
                ));
            }
            None => None,
        };
        // Otherwise the real first state is not looked at.
        let (real, naming) = given.unwrap_or_else(|| (StateId::new(0), self.usual_naming()));
        self.answer(py, real, naming)
    }

    /// Releases the state that answers the next real one.
    fn step(&mut self, py: Python<'_>, real: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (real, naming) = known_state(&self.labels, real, self.integers, self.unknown)?;
        self.refuse_to_wait()?;
        if self.look()?.walk().released() == 0 {
            return Err(SessionError::new_err(
                "the walk has not started: start() releases its first state",
            ));
        }
        self.answer(py, real, naming)
    }

    /// Takes the next real state, and gives what is released now.
    fn push(&mut self, py: Python<'_>, real: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyAny>>> {
        let (real, naming) = known_state(&self.labels, real, self.integers, self.unknown)?;
        if self.naming.is_some_and(|known| known != naming) {
            return Err(walk_error(
                "a text among integers, or the other way round; give all states in one kind",
            ));
        }
        self.check_naming(naming)?;
        let session = self.open()?;
        let released = session.push(real).map_err(session_error)?.to_vec();
        let observed = session.observed().to_vec();
        self.naming = Some(naming);
        self.give(py, &released, &observed, naming)
    }

    /// The walk is over: releases the rest.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let session = self.session.take().ok_or_else(|| SessionError::new_err(CLOSED))?;
        let released = session.finish().map_err(session_error)?;
        let naming = self.naming.unwrap_or_else(|| self.usual_naming());
        self.give(py, &released.states, &released.observed, naming)
    }

    /// What was observed for the states that were released last.
    #[getter]
    fn observed(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.observed.iter().map(|state| state.clone_ref(py)).collect()
    }

    /// The session in bytes, between two blocks: about a hundred, and what is believed of an observed walk.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.look()?.save().map_err(session_error)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The id that randomness is derived from, if it is derived.
    #[getter]
    fn release_id(&self) -> PyResult<Option<String>> {
        Ok(self.look()?.release_id().map(|id| id.to_string()))
    }

    /// How many states have been released.
    #[getter]
    fn released(&self) -> PyResult<u64> {
        Ok(self.look()?.walk().released())
    }

    /// How many real states wait for their block to fill, or observations of them for the lag to pass.
    #[getter]
    fn waiting(&self) -> PyResult<usize> {
        Ok(self.look()?.walk().waiting())
    }

    /// The last released state.
    #[getter]
    fn last(&self) -> PyResult<Option<String>> {
        let chain = self.labels.chain();
        Ok(self.look()?.walk().last().map(|state| chain.label(state).to_owned()))
    }

    #[getter]
    fn closed(&self) -> bool {
        self.session.is_none()
    }

    fn close(&mut self) {
        self.session = None;
    }
}
