//! Arrow columns of states: read into state numbers, and written again in the same type.
//!
//! Texts are looked up on all cores. A dictionary (a category) is looked up once for each of its
//! values; that of a released column has the chain's labels in the chain's order, since the values of
//! the given one may stand in the order in which real walks visit them, or be those that they visit.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    AnyDictionaryArray, Array, ArrayRef, DictionaryArray, LargeStringArray, OffsetSizeTrait,
    PrimitiveArray, StringArray, StringViewArray, UInt32Array, downcast_integer_array,
};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_cast::cast;
use arrow_schema::DataType;
use arrow_select::take::take;
use rayon::prelude::*;
use veilwalk_io::UnknownStates;

use crate::labels::{Labels, Naming};

/// A value that is not a state, by its place in the column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BadValue {
    pub(crate) row: usize,
    pub(crate) why: String,
}

/// What a column of states was made of, to write one like it.
#[derive(Clone, Debug)]
pub(crate) struct Like {
    data_type: DataType,
    integers: Naming,
    /// What is read for a state that the chain does not have; nothing if it is refused.
    instead: Option<u32>,
}

/// What is read for a state that is left out. No state has this number.
pub(crate) const LEFT_OUT: u32 = u32::MAX;

/// Rows that one thread reads in one go.
pub(crate) const ROWS: usize = 1 << 16;

impl Like {
    /// Refuses types that are none of states, or that cannot hold every state that may be released.
    pub(crate) fn new(
        data_type: &DataType,
        integers: Naming,
        labels: &Labels,
        unknown: UnknownStates,
    ) -> Result<Self, String> {
        let texts =
            |t: &DataType| matches!(t, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        let known = match data_type {
            DataType::Dictionary(_, values) => texts(values),
            other => texts(other) || other.is_integer(),
        };
        if !known {
            return Err(format!(
                "the type is {data_type}; states are texts, whole numbers or categories of texts"
            ));
        }
        if integers == Naming::Place && !data_type.is_integer() {
            return Err(format!(
                "the type is {data_type}, where states=\"numbers\" asks for whole numbers"
            ));
        }
        let instead = match unknown {
            UnknownStates::Refuse => None,
            UnknownStates::Skip => Some(LEFT_OUT),
            UnknownStates::Replace(state) => Some(state.index() as u32),
        };
        let like = Self { data_type: data_type.clone(), integers, instead };
        if data_type.is_integer() {
            like.write(Vec::new(), labels)?;
        }
        Ok(like)
    }

    /// Reads an array of states. Those that are left out are [`LEFT_OUT`].
    pub(crate) fn read(&self, array: &ArrayRef, labels: &Labels) -> Result<Vec<u32>, BadValue> {
        let mut states = vec![0; array.len()];
        let nulls = array.logical_nulls();
        let nulls = nulls.as_ref();
        match array.data_type() {
            DataType::Utf8 => {
                let texts = array.as_string::<i32>();
                self.read_texts(labels, |row| texts.value(row), nulls, &mut states)?;
            }
            DataType::LargeUtf8 => {
                let texts = array.as_string::<i64>();
                self.read_texts(labels, |row| texts.value(row), nulls, &mut states)?;
            }
            DataType::Utf8View => {
                let (texts, views) = (array.as_string_view(), array.as_string_view().views());
                let state = |row: usize| labels.view(views[row], || texts.value(row));
                let why = |row| labels.unknown_text(texts.value(row)).to_string();
                self.fill(&mut states, nulls, state, why)?;
            }
            DataType::Dictionary(_, _) => {
                let dictionary = array.as_any_dictionary();
                let values = as_texts(dictionary.values());
                let known: Vec<Option<u32>> =
                    values.iter().map(|text| labels.text(text.as_deref()?)).collect();
                let keys = keys_of(dictionary);
                let why = |row: usize| {
                    let text = values[keys[row] as usize].as_deref().unwrap_or_default();
                    labels.unknown_text(text).to_string()
                };
                // A missing value may have any key.
                let state = |row: usize| known.get(keys[row] as usize).copied().flatten();
                self.fill(&mut states, nulls, state, why)?;
            }
            _ => self.read_integers(array, labels, nulls, &mut states)?,
        }
        Ok(states)
    }

    #[expect(
        clippy::useless_conversion,
        clippy::unnecessary_fallible_conversions,
        reason = "the same text serves integers of all sizes"
    )]
    fn read_integers(
        &self,
        array: &ArrayRef,
        labels: &Labels,
        nulls: Option<&NullBuffer>,
        states: &mut [u32],
    ) -> Result<(), BadValue> {
        let integers = self.integers;
        downcast_integer_array!(
            array => {
                let numbers = array.values();
                let state = |row: usize| {
                    i64::try_from(numbers[row]).ok().and_then(|n| labels.integer(integers, n))
                };
                self.fill(states, nulls, state, |row| match i64::try_from(numbers[row]) {
                    Ok(number) => labels.unknown_integer(integers, number),
                    Err(_) => format!("{} is larger than any label", numbers[row]),
                })
            }
            _ => Ok(())
        )
    }

    /// Looks up texts on all cores.
    fn read_texts<'a>(
        &self,
        labels: &Labels,
        text: impl Fn(usize) -> &'a str + Sync,
        nulls: Option<&NullBuffer>,
        states: &mut [u32],
    ) -> Result<(), BadValue> {
        let why = |row| labels.unknown_text(text(row)).to_string();
        self.fill(states, nulls, |row| labels.text(text(row)), why)
    }

    /// Fills in every state, or finds the first row that has none, and why.
    fn fill(
        &self,
        states: &mut [u32],
        nulls: Option<&NullBuffer>,
        state: impl Fn(usize) -> Option<u32> + Sync,
        why: impl Fn(usize) -> String,
    ) -> Result<(), BadValue> {
        let missing = |row| nulls.is_some_and(|nulls| nulls.is_null(row));
        let bad = states.par_chunks_mut(ROWS).enumerate().find_map_first(|(part, states)| {
            for (row, place) in (part * ROWS..).zip(states) {
                match state(row).or(self.instead).filter(|_| !missing(row)) {
                    Some(state) => *place = state,
                    None => return Some(row),
                }
            }
            None
        });
        let Some(row) = bad else { return Ok(()) };
        let why = match missing(row) {
            true => "a missing value (null); every row needs a state".to_owned(),
            false => why(row),
        };
        Err(BadValue { row, why })
    }

    /// The states in a column of this type.
    pub(crate) fn write(&self, states: Vec<u32>, labels: &Labels) -> Result<ArrayRef, String> {
        let chain = labels.chain();
        let texts: Vec<&str> = chain.states().map(|state| chain.label(state)).collect();
        match &self.data_type {
            DataType::Dictionary(key, values) => write_dictionary(&states, &texts, key, values),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                write_texts(states, &texts, &self.data_type)
            }
            _ => {
                let numbers = labels.integers_or_why(self.integers)?;
                write_integers(&states, &numbers, &self.data_type)
            }
        }
    }
}

/// The keys of a dictionary, as they are where they have this width.
pub(crate) fn keys_of(dictionary: &dyn AnyDictionaryArray) -> ScalarBuffer<u32> {
    match cast(dictionary.keys(), &DataType::UInt32) {
        Ok(keys) => keys.as_primitive::<UInt32Type>().values().clone(),
        // No such keys are known; these are slower, and right.
        Err(_) => dictionary.normalized_keys().into_iter().map(|key| key as u32).collect(),
    }
}

/// The values of a text array of any kind.
pub(crate) fn as_texts(array: &ArrayRef) -> Vec<Option<String>> {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(owned).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(owned).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(owned).collect(),
        _ => vec![None; array.len()],
    }
}

fn write_texts(states: Vec<u32>, labels: &[&str], kind: &DataType) -> Result<ArrayRef, String> {
    match kind {
        DataType::Utf8View => write_views(states, labels),
        DataType::LargeUtf8 => {
            let (offsets, bytes) = joined::<i64>(&states, labels)?;
            let array = LargeStringArray::try_new(offsets, bytes, None);
            Ok(Arc::new(array.map_err(|e| e.to_string())?))
        }
        _ => {
            let (offsets, bytes) = joined::<i32>(&states, labels)?;
            let array = StringArray::try_new(offsets, bytes, None);
            Ok(Arc::new(array.map_err(|e| e.to_string())?))
        }
    }
}

/// The labels of all states, one after another.
fn joined<O: OffsetSizeTrait>(
    states: &[u32],
    labels: &[&str],
) -> Result<(OffsetBuffer<O>, Buffer), String> {
    let mut offsets = Vec::with_capacity(states.len() + 1);
    let mut total = 0usize;
    offsets.push(O::zero());
    for &state in states {
        total += labels[state as usize].len();
        offsets.push(O::from_usize(total).ok_or_else(|| {
            "the released labels need more than 2 GiB in one piece; use the type large_string, or \
             release in parts"
                .to_owned()
        })?);
    }
    let mut bytes = vec![0u8; total];
    // Rows of one part are copied by one thread; where the parts lie is known from the offsets.
    let mut rest = bytes.as_mut_slice();
    let mut parts = Vec::new();
    for (part, states) in states.chunks(ROWS).enumerate() {
        let (first, last) = (part * ROWS, part * ROWS + states.len());
        let length = offsets[last].as_usize() - offsets[first].as_usize();
        let (here, after) = rest.split_at_mut(length);
        parts.push((states, here));
        rest = after;
    }
    parts.into_par_iter().for_each(|(states, mut bytes)| {
        for &state in states {
            let label = labels[state as usize].as_bytes();
            let (here, after) = bytes.split_at_mut(label.len());
            here.copy_from_slice(label);
            bytes = after;
        }
    });
    Ok((OffsetBuffer::new(ScalarBuffer::from(offsets)), Buffer::from_vec(bytes)))
}

/// Views of the labels, each of which is stored once. (Put together by hand, every single view would be
/// checked again to be a text.)
fn write_views(states: Vec<u32>, labels: &[&str]) -> Result<ArrayRef, String> {
    let all = StringViewArray::from_iter_values(labels.iter());
    take(&all, &UInt32Array::from(states), None).map_err(|e| e.to_string())
}

fn write_dictionary(
    states: &[u32],
    labels: &[&str],
    key: &DataType,
    values: &DataType,
) -> Result<ArrayRef, String> {
    let values = write_texts((0..labels.len() as u32).collect(), labels, values)?;
    // More labels than the keys can count: wider keys, as Arrow does itself.
    let most = labels.len().saturating_sub(1);
    let fits = match key {
        DataType::Int8 => most <= i8::MAX as usize,
        DataType::UInt8 => most <= u8::MAX as usize,
        DataType::Int16 => most <= i16::MAX as usize,
        DataType::UInt16 => most <= u16::MAX as usize,
        _ => true,
    };
    match (fits, key) {
        (true, DataType::Int8) => dictionary::<Int8Type>(states, values),
        (true, DataType::UInt8) => dictionary::<UInt8Type>(states, values),
        (true, DataType::Int16) => dictionary::<Int16Type>(states, values),
        (true, DataType::UInt16) => dictionary::<UInt16Type>(states, values),
        (_, DataType::UInt32) => dictionary::<UInt32Type>(states, values),
        (_, DataType::Int64) => dictionary::<Int64Type>(states, values),
        (_, DataType::UInt64) => dictionary::<UInt64Type>(states, values),
        _ => dictionary::<Int32Type>(states, values),
    }
}

fn dictionary<K: ArrowDictionaryKeyType>(
    states: &[u32],
    values: ArrayRef,
) -> Result<ArrayRef, String> {
    let key = |&state: &u32| K::Native::usize_as(state as usize);
    let keys: Vec<K::Native> = states.par_iter().map(key).collect();
    let keys = PrimitiveArray::<K>::new(ScalarBuffer::from(keys), None);
    let array = DictionaryArray::try_new(keys, values);
    Ok(Arc::new(array.map_err(|e| e.to_string())?))
}

fn write_integers(states: &[u32], numbers: &[i64], kind: &DataType) -> Result<ArrayRef, String> {
    fn of<T: ArrowPrimitiveType>(states: &[u32], numbers: &[i64]) -> Result<ArrayRef, String>
    where
        T::Native: TryFrom<i64>,
    {
        let natives: Vec<T::Native> = numbers
            .iter()
            .map(|&number| {
                T::Native::try_from(number).map_err(|_| {
                    format!(
                        "the chain's state {number} does not fit into a column of type {}; give \
                         larger integers",
                        T::DATA_TYPE
                    )
                })
            })
            .collect::<Result<_, _>>()?;
        let values: Vec<T::Native> =
            states.par_iter().map(|&state| natives[state as usize]).collect();
        Ok(Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), None)))
    }
    match kind {
        DataType::Int8 => of::<Int8Type>(states, numbers),
        DataType::Int16 => of::<Int16Type>(states, numbers),
        DataType::Int32 => of::<Int32Type>(states, numbers),
        DataType::UInt8 => of::<UInt8Type>(states, numbers),
        DataType::UInt16 => of::<UInt16Type>(states, numbers),
        DataType::UInt32 => of::<UInt32Type>(states, numbers),
        DataType::UInt64 => of::<UInt64Type>(states, numbers),
        _ => of::<Int64Type>(states, numbers),
    }
}
