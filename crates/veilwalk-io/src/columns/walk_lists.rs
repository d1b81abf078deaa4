//! Columns that hold a walk in each row: where walks begin and end in one array of states.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, GenericListArray, OffsetSizeTrait};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field};

/// The states of all rows, one after another.
#[derive(Clone, Debug)]
pub struct WalkLists {
    /// The states.
    pub values: ArrayRef,
    /// Row `i` has the values `bounds[i]..bounds[i + 1]`.
    pub bounds: Vec<usize>,
}

impl WalkLists {
    /// The type of the states in lists of this type, if it is one of lists.
    #[must_use]
    pub fn value_type(lists: &DataType) -> Option<&DataType> {
        match lists {
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::FixedSizeList(field, _) => Some(field.data_type()),
            _ => None,
        }
    }

    /// Takes a column apart: one of lists, or one with a state in each row.
    #[must_use]
    pub fn new(array: &ArrayRef) -> Self {
        fn of<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> WalkLists {
            let offsets = array.offsets();
            let (first, last) = (offsets[0].as_usize(), offsets[array.len()].as_usize());
            WalkLists {
                values: array.values().slice(first, last - first),
                bounds: offsets.iter().map(|offset| offset.as_usize() - first).collect(),
            }
        }
        match array.data_type() {
            DataType::List(_) => of(array.as_list::<i32>()),
            DataType::LargeList(_) => of(array.as_list::<i64>()),
            DataType::FixedSizeList(_, length) => {
                let lists = array.as_fixed_size_list();
                let length = *length as usize;
                Self {
                    values: lists.values().slice(0, lists.len() * length),
                    bounds: (0..=lists.len()).map(|walk| walk * length).collect(),
                }
            }
            _ => Self { values: array.clone(), bounds: (0..=array.len()).collect() },
        }
    }

    /// The values of a row.
    #[must_use]
    pub fn row(&self, row: usize) -> Range<usize> {
        self.bounds[row]..self.bounds[row + 1]
    }

    /// The row that a value belongs to.
    #[must_use]
    pub fn row_of(&self, value: usize) -> usize {
        self.bounds.partition_point(|&start| start <= value) - 1
    }

    /// Takes out the states that are to be left out. Says whether there was any.
    pub fn leave_out(&mut self, states: &mut Vec<u32>, left_out: u32) -> bool {
        let (mut from, mut before) = (0, 0);
        for border in &mut self.bounds[1..] {
            before += states[from..*border].iter().filter(|&&state| state == left_out).count();
            from = *border;
            *border -= before;
        }
        states.retain(|&state| state != left_out);
        before > 0
    }

    /// A column of lists of this type with these values between the bounds.
    ///
    /// # Errors
    ///
    /// If the values are too many for the type, or it is not one of lists.
    pub fn with_values(&self, lists: &DataType, values: ArrayRef) -> Result<ArrayRef, ArrowError> {
        let field = |old: &Arc<Field>| {
            Arc::new(Field::new(old.name(), values.data_type().clone(), old.is_nullable()))
        };
        fn offsets<O: OffsetSizeTrait>(lists: &WalkLists) -> OffsetBuffer<O> {
            OffsetBuffer::from_lengths(lists.bounds.windows(2).map(|ends| ends[1] - ends[0]))
        }
        Ok(match lists {
            DataType::LargeList(old) => {
                Arc::new(GenericListArray::<i64>::try_new(field(old), offsets(self), values, None)?)
            }
            DataType::FixedSizeList(old, length) => {
                Arc::new(FixedSizeListArray::try_new(field(old), *length, values, None)?)
            }
            DataType::List(old) => {
                Arc::new(GenericListArray::<i32>::try_new(field(old), offsets(self), values, None)?)
            }
            other => {
                return Err(ArrowError::SchemaError(format!(
                    "the type is {other}, not one of lists"
                )));
            }
        })
    }
}
