//! A column of states: read into numbers of states, and written again in the same type.
//!
//! States are texts, categories of texts (dictionaries) or whole numbers. A dictionary is looked up
//! once for each of its values. That of a released column has the chain's labels in the chain's order:
//! the values of the real one may stand in the order in which walks visit them, or be only those that
//! they visit.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, StringArray, UInt32Array, downcast_integer_array};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;
use arrow_select::take::take;
use rayon::prelude::*;
use thiserror::Error;
use veilwalk::Chain;

use crate::release::UnknownStates;

/// What whole numbers stand for in a column of states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntegerStates {
    /// Labels: the number 7 is the state that is called `7`.
    #[default]
    Labels,
    /// Places in the chain's list of states, from zero.
    Places,
}

/// Why a column of some type cannot hold every state that may be released.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StateTypeError {
    /// Not a type of states.
    #[error("the type is {0}; states are texts, whole numbers or categories of texts")]
    Type(DataType),
    /// Whole numbers, where a label is not one.
    #[error("the chain's state {0:?} is not a whole number")]
    NotANumber(String),
    /// Whole numbers that are too small.
    #[error(
        "the chain's state {number} does not fit into a column of type {kind}; give larger integers"
    )]
    TooNarrow {
        /// The state.
        number: i128,
        /// The type.
        kind: DataType,
    },
}

/// A value that is not a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAState {
    /// Its place in the array, from zero.
    pub place: usize,
    /// What it is.
    pub value: NotAStateValue,
}

/// What stands where a state should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAStateValue {
    /// Nothing.
    Missing,
    /// A text that is not a label.
    Text(String),
    /// A number that is not a state.
    Integer(i128),
}

/// What is read for a state that is left out. No state has this number.
pub const LEFT_OUT: u32 = u32::MAX;

/// Rows that one thread reads or writes in one go.
const ROWS: usize = 1 << 16;

/// Reads an array of states, on all threads of the current pool. Those to be left out are
/// [`LEFT_OUT`]. An array of any other type has no states.
///
/// # Errors
///
/// The first value that is missing, or is not a state and has to be one.
pub fn read_states(
    array: &ArrayRef,
    chain: &Chain,
    integers: IntegerStates,
    unknown: UnknownStates,
) -> Result<Vec<u32>, NotAState> {
    let instead = match unknown {
        UnknownStates::Refuse => None,
        UnknownStates::Skip => Some(LEFT_OUT),
        UnknownStates::Replace(state) => Some(state.index() as u32),
    };
    let state_of = |label: &str| chain.state(label).map(|state| state.index() as u32);
    let text = |label: &str| NotAStateValue::Text(label.to_owned());
    let read = Reading { array, instead };
    match array.data_type() {
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            read.all(|row| state_of(texts.value(row)), |row| text(texts.value(row)))
        }
        DataType::LargeUtf8 => {
            let texts = array.as_string::<i64>();
            read.all(|row| state_of(texts.value(row)), |row| text(texts.value(row)))
        }
        DataType::Utf8View => {
            let texts = array.as_string_view();
            read.all(|row| state_of(texts.value(row)), |row| text(texts.value(row)))
        }
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let labels = as_texts(dictionary.values());
            let known: Vec<Option<u32>> =
                labels.iter().map(|label| state_of(label.as_deref()?)).collect();
            let keys = keys_of(dictionary);
            // A missing value may have any key.
            let state = |row: usize| known.get(keys[row] as usize).copied().flatten();
            let label = |row: usize| labels[keys[row] as usize].as_deref().unwrap_or_default();
            read.all(state, |row| text(label(row)))
        }
        _ => read_integers(&read, chain, integers),
    }
}

#[expect(
    clippy::useless_conversion,
    clippy::unnecessary_fallible_conversions,
    reason = "the same text serves integers of all sizes"
)]
fn read_integers(
    read: &Reading<'_>,
    chain: &Chain,
    integers: IntegerStates,
) -> Result<Vec<u32>, NotAState> {
    let array = read.array;
    downcast_integer_array!(
        array => {
            let numbers = array.values();
            let state = |row: usize| match integers {
                IntegerStates::Labels => {
                    let state = chain.state(itoa::Buffer::new().format(numbers[row]))?;
                    Some(state.index() as u32)
                }
                IntegerStates::Places => {
                    let place = u32::try_from(numbers[row]).ok()?;
                    Some(place).filter(|&place| (place as usize) < chain.len())
                }
            };
            read.all(state, |row| NotAStateValue::Integer(numbers[row].into()))
        }
        _ => Ok(Vec::new())
    )
}

/// How a column holds released states.
#[derive(Clone, Debug)]
pub struct StateColumn {
    /// Every state of the chain, in order, in the type of the column.
    all_states: ArrayRef,
}

impl StateColumn {
    /// A column of this type. If its type is a dictionary whose keys cannot count the states, it gets
    /// wider keys.
    ///
    /// # Errors
    ///
    /// If it is not a type of states, or cannot hold every state of the chain.
    pub fn new(
        data_type: &DataType,
        integers: IntegerStates,
        chain: &Chain,
    ) -> Result<Self, StateTypeError> {
        if !is_text(data_type) {
            return Err(StateTypeError::Type(data_type.clone()));
        }
        let texts: StringArray = match integers {
            IntegerStates::Labels => chain.states().map(|s| Some(chain.label(s))).collect(),
            IntegerStates::Places => chain.states().map(|s| Some(s.index().to_string())).collect(),
        };
        let refused = |_| StateTypeError::Type(data_type.clone());
        let all_states = match (cast(&texts, data_type), data_type) {
            (Err(_), DataType::Dictionary(_, values)) => {
                let wider = DataType::Dictionary(Box::new(DataType::Int32), values.clone());
                cast(&texts, &wider)
            }
            (converted, _) => converted,
        };
        let all_states = all_states.map_err(refused)?;
        if data_type.is_integer() {
            // Only what a number is written as counts: "07" and "+7" are texts.
            let again = cast(&all_states, &DataType::Utf8).map_err(refused)?;
            let other =
                texts.iter().zip(again.as_string::<i32>()).find(|(one, other)| one != other);
            if let Some((Some(label), _)) = other {
                let number = label.parse::<i128>().ok();
                return Err(match number.filter(|number| number.to_string() == label) {
                    Some(number) => StateTypeError::TooNarrow { number, kind: data_type.clone() },
                    None => StateTypeError::NotANumber(label.to_owned()),
                });
            }
        }
        Ok(Self { all_states })
    }

    /// The type of the column.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        self.all_states.data_type()
    }

    /// These states, in a column of this type.
    ///
    /// # Errors
    ///
    /// If the texts need more than 2 GiB, and the type cannot count them.
    pub fn write(&self, states: Vec<u32>) -> Result<ArrayRef, ArrowError> {
        if states.len() <= ROWS || !may_be_joined(self.data_type()) {
            return take(&self.all_states, &UInt32Array::from(states), None);
        }
        let parts: Result<Vec<ArrayRef>, ArrowError> = states
            .par_chunks(ROWS)
            .map(|part| take(&self.all_states, &UInt32Array::from(part.to_vec()), None))
            .collect();
        let parts = parts?;
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        concat(&parts)
    }
}

/// Whether parts of such a column are joined by copying values. (Views and dictionaries would bring
/// their labels along with every part.)
fn may_be_joined(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8) || kind.is_integer()
}

/// An array that is being read.
struct Reading<'a> {
    array: &'a ArrayRef,
    instead: Option<u32>,
}

impl Reading<'_> {
    /// Every state, or the first row that has none, with what stands there.
    fn all(
        &self,
        state: impl Fn(usize) -> Option<u32> + Sync,
        value: impl Fn(usize) -> NotAStateValue,
    ) -> Result<Vec<u32>, NotAState> {
        let nulls = self.array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let missing = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let mut states = vec![0; self.array.len()];
        let bad = states.par_chunks_mut(ROWS).enumerate().find_map_first(|(part, states)| {
            for (row, place) in (part * ROWS..).zip(states) {
                match state(row).or(self.instead).filter(|_| !missing(row)) {
                    Some(state) => *place = state,
                    None => return Some(row),
                }
            }
            None
        });
        match bad {
            None => Ok(states),
            Some(row) if missing(row) => {
                Err(NotAState { place: row, value: NotAStateValue::Missing })
            }
            Some(row) => Err(NotAState { place: row, value: value(row) }),
        }
    }
}

/// Whether values of this type can be names and labels.
#[must_use]
pub fn is_text(kind: &DataType) -> bool {
    let text =
        |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    match kind {
        DataType::Dictionary(_, values) => text(values),
        kind => text(kind) || kind.is_integer(),
    }
}

/// The keys of a dictionary.
#[must_use]
pub fn keys_of(
    dictionary: &dyn arrow_array::AnyDictionaryArray,
) -> arrow_buffer::ScalarBuffer<u32> {
    match cast(dictionary.keys(), &DataType::UInt32) {
        Ok(keys) => keys.as_primitive::<UInt32Type>().values().clone(),
        // No such keys are known; these are slower, and right.
        Err(_) => dictionary.normalized_keys().into_iter().map(|key| key as u32).collect(),
    }
}

/// The values of a text array of any kind.
#[must_use]
pub fn as_texts(array: &ArrayRef) -> Vec<Option<String>> {
    match cast(array, &DataType::LargeUtf8) {
        Ok(texts) => texts.as_string::<i64>().iter().map(|text| text.map(str::to_owned)).collect(),
        Err(_) => vec![None; array.len()],
    }
}
