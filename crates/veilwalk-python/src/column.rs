//! Columns of states in Python's words: what was given, and what is wrong with it.

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, DataType};
use veilwalk_io::{StateColumn, StateTypeError, UnknownStates, read_states};

use crate::labels::{Labels, Naming, not_an_integer};

/// A value that is refused, by its place in the column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BadValue {
    pub(crate) row: usize,
    pub(crate) why: String,
}

/// A column of states that is read, and written again in its type.
#[derive(Clone, Debug)]
pub(crate) struct States<'a> {
    labels: &'a Labels,
    integers: Naming,
    unknown: UnknownStates,
    written: StateColumn,
}

impl<'a> States<'a> {
    /// Refuses types that are none of states, or that cannot hold every state that may be released.
    pub(crate) fn new(
        data_type: &DataType,
        integers: Naming,
        labels: &'a Labels,
        unknown: UnknownStates,
    ) -> Result<Self, String> {
        let written = StateColumn::new(data_type, integers.into(), labels.chain());
        let written = written.map_err(|error| match error {
            StateTypeError::NotANumber(label) => not_an_integer(&label),
            other => other.to_string(),
        });
        if integers == Naming::Place && !data_type.is_integer() && written.is_ok() {
            return Err(format!(
                "the type is {data_type}, where states=\"numbers\" asks for whole numbers"
            ));
        }
        Ok(Self { labels, integers, unknown, written: written? })
    }

    /// Reads an array. States that are left out are [`veilwalk_io::LEFT_OUT`].
    pub(crate) fn read(&self, array: &ArrayRef) -> Result<Vec<u32>, BadValue> {
        read_states(array, self.labels.chain(), self.integers.into(), self.unknown).map_err(|bad| {
            BadValue { row: bad.place, why: self.labels.unknown_value(self.integers, &bad.value) }
        })
    }

    /// The states in a column of this type.
    pub(crate) fn write(&self, states: Vec<u32>) -> Result<ArrayRef, String> {
        self.written.write(states).map_err(|error| match error {
            ArrowError::OffsetOverflowError(_) => {
                "the released labels need more than 2 GiB in one piece; use the type large_string, or \
                 release in parts"
                    .to_owned()
            }
            other => other.to_string(),
        })
    }
}
