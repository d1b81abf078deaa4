//! A chain's states as Python names them: by label, by a label that is a whole number, by place.

use arrow_array::builder::make_view;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};
use rustc_hash::FxHashMap;
use veilwalk::StateId;
use veilwalk::chain::UnknownState;
use veilwalk_io::{Manifest, UnknownStates};

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

/// How many bytes a text in one of Arrow's views may have to be held in the view itself.
const LONGEST_IN_VIEW: u32 = 12;

/// Whether a view holds its text itself.
#[inline]
pub(crate) fn is_short(view: u128) -> bool {
    view as u32 <= LONGEST_IN_VIEW
}

/// A text as a view that holds it, if it is short enough.
#[inline]
fn short_view(text: &str) -> Option<u128> {
    (text.len() <= LONGEST_IN_VIEW as usize).then(|| make_view(text.as_bytes(), 0, 0))
}

/// A hash table for one number a row, which is all that is done millions of times: at most a quarter of
/// the places are taken, so that the first one looked at is nearly always the right one.
#[derive(Debug)]
struct ViewTable {
    places: Vec<(u128, u32)>,
    shift: u32,
}

impl ViewTable {
    /// No state has this number.
    const FREE: u32 = u32::MAX;

    fn new(entries: Vec<(u128, u32)>) -> Self {
        let bits = (4 * entries.len().max(1)).next_power_of_two().trailing_zeros();
        let mut table = Self { places: vec![(0, Self::FREE); 1 << bits], shift: u64::BITS - bits };
        for (view, state) in entries {
            let mut place = table.first_place(view);
            while table.places[place].1 != Self::FREE {
                place = (place + 1) & (table.places.len() - 1);
            }
            table.places[place] = (view, state);
        }
        table
    }

    #[inline]
    fn first_place(&self, view: u128) -> usize {
        let mixed = (view as u64 ^ ((view >> 64) as u64).rotate_left(29))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> self.shift) as usize
    }

    #[inline]
    fn get(&self, view: u128) -> Option<u32> {
        let mut place = self.first_place(view);
        loop {
            let (known, state) = self.places[place];
            if state == Self::FREE {
                return None;
            }
            if known == view {
                return Some(state);
            }
            place = (place + 1) & (self.places.len() - 1);
        }
    }
}

/// The states of a chain, ready to be looked up and handed out.
#[derive(Debug)]
pub(crate) struct Labels {
    chain: veilwalk::Chain,
    by_text: FxHashMap<Box<str>, u32>,
    /// Short labels by Arrow's own form of a short text: one number, and no text to follow or compare.
    by_view: ViewTable,
    by_integer: FxHashMap<i64, u32>,
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
            by_text: all().zip(0..).map(|(label, state)| (label.into(), state)).collect(),
            by_view: ViewTable::new(
                all()
                    .zip(0..)
                    .filter_map(|(label, state)| Some((short_view(label)?, state)))
                    .collect(),
            ),
            by_integer: all()
                .zip(0..)
                .filter_map(|(label, state)| Some((number(label)?, state)))
                .collect(),
            integers: all().map(|label| number(label).ok_or_else(|| label.to_owned())).collect(),
            texts: all().map(|label| PyString::intern(py, label).unbind()).collect(),
            chain: chain.clone(),
        }
    }

    pub(crate) fn chain(&self) -> &veilwalk::Chain {
        &self.chain
    }

    pub(crate) fn text(&self, label: &str) -> Option<u32> {
        match short_view(label) {
            Some(view) => self.by_view.get(view),
            None => self.by_text.get(label).copied(),
        }
    }

    /// The state of a text in an Arrow column of views, which is looked at only if it is long.
    #[inline]
    pub(crate) fn view<'a>(&self, view: u128, text: impl FnOnce() -> &'a str) -> Option<u32> {
        if is_short(view) { self.by_view.get(view) } else { self.by_text.get(text()).copied() }
    }

    pub(crate) fn integer(&self, naming: Naming, number: i64) -> Option<u32> {
        match naming {
            Naming::Place => {
                u32::try_from(number).ok().filter(|&place| (place as usize) < self.chain.len())
            }
            Naming::Integer | Naming::Text => self.by_integer.get(&number).copied(),
        }
    }

    /// Why a text is no state.
    pub(crate) fn unknown_text(&self, label: &str) -> UnknownState {
        self.chain
            .require(label)
            .err()
            .unwrap_or_else(|| UnknownState { label: label.to_owned(), closest: None })
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

    /// The integers of all states, in order, for releases of integers.
    pub(crate) fn released_integers(&self, naming: Naming) -> PyResult<Vec<i64>> {
        self.integers_or_why(naming).map_err(WalkError::new_err)
    }

    /// The same, or why there are none.
    pub(crate) fn integers_or_why(&self, naming: Naming) -> Result<Vec<i64>, String> {
        match naming {
            Naming::Place => Ok((0..self.chain.len() as i64).collect()),
            Naming::Integer | Naming::Text => self.integers.clone().map_err(|label| {
                format!(
                    "the walks are integers, and the chain's state {label:?} is not one, so a release \
                     could not be given back in integers; give texts, or states=\"numbers\" if these \
                     are places in chain.states"
                )
            }),
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
        let settled = |found: Option<u32>, why: &dyn Fn() -> String| match (found, unknown) {
            (Some(state), _) => Ok(Some(StateId::new(state as usize))),
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
            let found = settled(self.text(text), &|| self.unknown_text(text).to_string())?;
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
