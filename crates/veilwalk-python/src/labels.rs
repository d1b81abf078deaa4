//! A chain's states as Python names them: by label, by a label that is a whole number, by place.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};
use veilwalk::StateId;
use veilwalk_io::{IntegerStates, Manifest, NotAStateValue, UnknownStates};

use crate::error::{ParameterError, WalkError};

/// How states are given, and so how they are given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// Texts, the labels.
    Text,
    /// Whole numbers that are labels.
    Integer,
    /// Whole numbers that are places in the chain's list.
    Place,
}

impl Naming {
    /// What integers are, by the word that users give.
    pub(crate) fn integers(word: &str) -> PyResult<Self> {
        match word {
            "labels" => Ok(Self::Integer),
            "numbers" => Ok(Self::Place),
            other => Err(ParameterError::new_err(format!(
                "states={other:?}: give \"labels\", or \"numbers\" for places in chain.states"
            ))),
        }
    }
}

impl From<Naming> for IntegerStates {
    fn from(naming: Naming) -> Self {
        match naming {
            Naming::Place => Self::Places,
            Naming::Integer | Naming::Text => Self::Labels,
        }
    }
}

/// Why walks of integers cannot be released in integers.
pub(crate) fn not_an_integer(label: &str) -> String {
    format!(
        "the walks are integers, and the chain's state {label:?} is not one, so a release could not be \
         given back in integers; give texts, or states=\"numbers\" if these are places in chain.states"
    )
}

/// The states of a chain, ready to be looked up and handed out.
#[derive(Debug)]
pub(crate) struct Labels {
    chain: veilwalk::Chain,
    /// One for each state, if all labels are whole numbers; else a label that is not.
    integers: Result<Vec<i64>, String>,
    texts: Vec<Py<PyString>>,
}

impl Labels {
    pub(crate) fn new(py: Python<'_>, chain: &veilwalk::Chain) -> Self {
        let all = || chain.states().map(|state| chain.label(state));
        let number = |label: &str| {
            // Only as Python would write it: "07" and "+7" are texts.
            label.parse::<i64>().ok().filter(|number| number.to_string() == label)
        };
        Self {
            integers: all().map(|label| number(label).ok_or_else(|| label.to_owned())).collect(),
            texts: all().map(|label| PyString::intern(py, label).unbind()).collect(),
            chain: chain.clone(),
        }
    }

    pub(crate) fn chain(&self) -> &veilwalk::Chain {
        &self.chain
    }

    pub(crate) fn integer(&self, naming: Naming, number: i64) -> Option<StateId> {
        match naming {
            Naming::Place => {
                let place = usize::try_from(number).ok().filter(|&place| place < self.chain.len());
                place.map(StateId::new)
            }
            Naming::Integer | Naming::Text => self.chain.state(&number.to_string()),
        }
    }

    /// Why an integer is no state.
    pub(crate) fn unknown_integer(&self, naming: Naming, number: i64) -> String {
        match naming {
            Naming::Place => {
                format!(
                    "state number {number} does not exist; the chain has {} states",
                    self.chain.len()
                )
            }
            Naming::Integer | Naming::Text => format!(
                "the integer {number} is not a state of the chain; integers are taken for labels \
                 (give states=\"numbers\" if they are places in chain.states)"
            ),
        }
    }

    /// Why a value of a column is no state.
    pub(crate) fn unknown_value(&self, naming: Naming, value: &NotAStateValue) -> String {
        match value {
            NotAStateValue::Missing => "a missing value (null); every row needs a state".to_owned(),
            NotAStateValue::Text(label) => self.chain.unknown(label).to_string(),
            NotAStateValue::Integer(number) => match i64::try_from(*number) {
                Ok(number) => self.unknown_integer(naming, number),
                Err(_) => format!("{number} is larger than any label"),
            },
        }
    }

    /// The integers of all states, in order, for releases of integers.
    pub(crate) fn released_integers(&self, naming: Naming) -> PyResult<Vec<i64>> {
        match naming {
            Naming::Place => Ok((0..self.chain.len() as i64).collect()),
            Naming::Integer | Naming::Text => {
                let integers = self.integers.clone();
                integers.map_err(|label| WalkError::new_err(not_an_integer(&label)))
            }
        }
    }

    /// The state that a Python value names, with the way in which it does.
    pub(crate) fn state(
        &self,
        value: &Bound<'_, PyAny>,
        integers: Naming,
    ) -> Result<(StateId, Naming), String> {
        let (state, naming) = self.state_or(value, integers, UnknownStates::Refuse)?;
        Ok((state.expect("what is unknown is refused"), naming))
    }

    /// The same, where a state that the chain does not have may be left out or replaced. What is no state
    /// at all is refused in any case.
    pub(crate) fn state_or(
        &self,
        value: &Bound<'_, PyAny>,
        integers: Naming,
        unknown: UnknownStates,
    ) -> Result<(Option<StateId>, Naming), String> {
        let settled = |found: Option<StateId>, why: &dyn Fn() -> String| match (found, unknown) {
            (Some(state), _) => Ok(Some(state)),
            (None, UnknownStates::Replace(state)) => Ok(Some(state)),
            (None, UnknownStates::Skip) => Ok(None),
            (None, UnknownStates::Refuse) => Err(why()),
        };
        if let Ok(text) = value.cast::<PyString>() {
            let text = text.to_str().map_err(|_| "a text that is not Unicode".to_owned())?;
            if integers == Naming::Place {
                return Err(format!(
                    "the text {text:?} where states=\"numbers\" asks for whole numbers"
                ));
            }
            let found = self.chain.state(text);
            let found = settled(found, &|| self.chain.unknown(text).to_string())?;
            return Ok((found, Naming::Text));
        }
        if value.is_none() {
            return Err("a missing value (None); every row needs a state".to_owned());
        }
        // True is an integer to Python, and no state to anyone.
        if !value.is_instance_of::<PyBool>()
            && let Ok(number) = value.extract::<i64>()
        {
            let found = self.integer(integers, number);
            let found = settled(found, &|| self.unknown_integer(integers, number))?;
            return Ok((found, integers));
        }
        let kind = value.get_type().name().map_or("unknown".to_owned(), |name| name.to_string());
        let too_large = value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>();
        Err(match too_large {
            true => "an integer that is larger than any label".to_owned(),
            false => format!("a value of type {kind}; a state is a text or a whole number"),
        })
    }

    /// What becomes of states that the chain does not have, as `unknown_state` says.
    pub(crate) fn unknown_states(&self, how: &Bound<'_, PyAny>) -> PyResult<UnknownStates> {
        let word = how.extract::<String>();
        let found = match word.as_deref() {
            Ok("error") => return Ok(UnknownStates::Refuse),
            Ok(Manifest::SKIPPED) => return Ok(UnknownStates::Skip),
            // The prefix is for states that are called like one of the words above.
            Ok(text) => {
                let label = text.strip_prefix(Manifest::REPLACED_BY).unwrap_or(text);
                self.chain.require(label).map_err(|why| why.to_string())
            }
            Err(_) => self.state(how, Naming::Integer).map(|(state, _)| state),
        };
        let refused = |why| {
            let what = "unknown_state (\"error\", \"skip\" or a state)";
            ParameterError::new_err(format!("{what}: {why}"))
        };
        Ok(UnknownStates::Replace(found.map_err(refused)?))
    }

    /// The same where every state is answered, so that none can be left out.
    pub(crate) fn unknown_states_of_session(
        &self,
        how: &Bound<'_, PyAny>,
    ) -> PyResult<UnknownStates> {
        match self.unknown_states(how)? {
            UnknownStates::Skip => Err(ParameterError::new_err(
                "unknown_state=\"skip\": a session answers every state it is given; give a state of \
                 the chain to take instead of unknown ones",
            )),
            other => Ok(other),
        }
    }

    /// The state as a Python text.
    pub(crate) fn as_text<'py>(&self, py: Python<'py>, state: usize) -> &Bound<'py, PyString> {
        self.texts[state].bind(py)
    }

    /// The states as Python values, in the way they were given.
    pub(crate) fn python_values<'py>(
        &self,
        py: Python<'py>,
        naming: Naming,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        Ok(match naming {
            Naming::Text => {
                self.texts.iter().map(|text| text.bind(py).clone().into_any()).collect()
            }
            Naming::Integer | Naming::Place => self
                .released_integers(naming)?
                .into_iter()
                .map(|number| Ok(number.into_pyobject(py)?.into_any()))
                .collect::<PyResult<_>>()?,
        })
    }
}
