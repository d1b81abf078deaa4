//! A release in columns.
//!
//! Columns have the types they had in the input: names and states are built as plain strings and
//! numbers of labels, and converted. What came from text is strings.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::cast;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use veilwalk::{Chain, StateId};

use super::{Columns, Shape};
use crate::row_text::OWN_COLUMNS;
use crate::walks::WalkFormat;
use crate::write_error::{WriteError, WriteErrorKind};

/// How a release becomes columns.
#[derive(Debug)]
pub(crate) struct ColumnFormat {
    pub(crate) schema: SchemaRef,
    shape: Shape,
    /// The label of each state, with the type of the values in the state's column.
    labels: ArrayRef,
    state: DataType,
}

/// What a batch of a release holds.
pub(crate) struct ColumnRows<'a> {
    /// The name of each row.
    pub(crate) names: StringArray,
    /// The number of each step; none where a row is a walk.
    pub(crate) steps: Option<Int64Array>,
    pub(crate) states: &'a [StateId],
    /// How many states each row has, where a row is a walk.
    pub(crate) lengths: Option<Vec<usize>>,
    pub(crate) kept: Vec<ArrayRef>,
}

impl ColumnFormat {
    /// The format of a release. `input` is what is known of the input if that is columns too.
    pub(crate) fn new(
        output: WalkFormat,
        chain: &Chain,
        kept: &[String],
        input: Option<&Columns>,
    ) -> Result<Self, ArrowError> {
        let shape = input.map_or(Shape::Long, |columns| columns.shape);
        // A file of Arrow has one dictionary for a column, and parts of a release have one each.
        let settled = |kind: &DataType| match kind {
            DataType::Dictionary(_, value) if output == WalkFormat::ArrowFile => (**value).clone(),
            kind => kind.clone(),
        };
        let name = input.map_or(DataType::Utf8, |columns| settled(columns.fields[0].data_type()));
        let state = match input.map(|columns| columns.fields[1].data_type()) {
            Some(
                DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _),
            ) => item.data_type().clone(),
            Some(kind) => kind.clone(),
            None => DataType::Utf8,
        };
        let labels: StringArray = chain.states().map(|s| Some(chain.label(s))).collect();
        let (state, labels) = states_of(&state, &labels)?;
        let state_column = match shape {
            Shape::Long => state.clone(),
            Shape::Lists => DataType::List(Arc::new(Field::new_list_field(state.clone(), false))),
        };
        let mut fields = vec![Field::new(OWN_COLUMNS[0], name, false)];
        if shape == Shape::Long {
            fields.push(Field::new(OWN_COLUMNS[1], DataType::Int64, false));
        }
        fields.push(Field::new(OWN_COLUMNS[2], state_column, false));
        for (place, column) in kept.iter().enumerate() {
            fields.push(match input {
                None => Field::new(column, DataType::Utf8, false),
                Some(columns) => {
                    let field = &columns.fields[2 + place];
                    Field::new(column, settled(field.data_type()), field.is_nullable())
                }
            });
        }
        Ok(Self { schema: Arc::new(Schema::new(fields)), shape, labels, state })
    }

    /// Whether a row is a state or a walk.
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// A batch of these rows.
    pub(crate) fn batch(&self, rows: ColumnRows<'_>) -> Result<RecordBatch, ArrowError> {
        let ColumnRows { names, steps, states, lengths, kept } = rows;
        let mut columns = vec![cast(&names, self.schema.field(0).data_type())?];
        columns.extend(steps.map(|steps| Arc::new(steps) as ArrayRef));
        let states = self.states(states)?;
        columns.push(match lengths {
            None => states,
            Some(lengths) => {
                let item = Arc::new(Field::new_list_field(self.state.clone(), false));
                let offsets = OffsetBuffer::from_lengths(lengths);
                Arc::new(ListArray::try_new(item, offsets, states, None)?)
            }
        });
        for column in kept {
            let kind = self.schema.field(columns.len()).data_type();
            let column = without_the_rest(column);
            columns.push(if column.data_type() == kind { column } else { cast(&column, kind)? });
        }
        RecordBatch::try_new(self.schema.clone(), columns)
    }

    fn states(&self, states: &[StateId]) -> Result<ArrayRef, ArrowError> {
        let numbers: Int32Array = states.iter().map(|state| Some(state.index() as i32)).collect();
        match self.state {
            DataType::Dictionary(..) => {
                let states = DictionaryArray::<Int32Type>::try_new(numbers, self.labels.clone())?;
                Ok(Arc::new(states))
            }
            _ => take(&self.labels, &numbers, None),
        }
    }
}

/// The same column without texts that stand beside its own in the memory of the input, of which views
/// show a part only: they may be anything, and Arrow's files would have them.
fn without_the_rest(column: ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Utf8View => Arc::new(column.as_string_view().gc()),
        DataType::BinaryView => Arc::new(column.as_binary_view().gc()),
        _ => column,
    }
}

/// The type of released states where real ones have this, and the labels with the type of its values.
fn states_of(real: &DataType, labels: &StringArray) -> Result<(DataType, ArrayRef), ArrowError> {
    if let DataType::Dictionary(_, value) = real {
        let kind = DataType::Dictionary(Box::new(DataType::Int32), value.clone());
        return Ok((kind, cast(labels, value)?));
    }
    let converted = cast(labels, real)?;
    // Labels that are not numbers, or not as numbers are written ("01"), in a chain whose real walks
    // happen to have only such that are.
    let again = cast(&converted, &DataType::Utf8)?;
    if again.as_string::<i32>() != labels {
        return Ok((DataType::Utf8, Arc::new(labels.clone())));
    }
    Ok((real.clone(), converted))
}

/// Where columns are written to.
pub(crate) enum ColumnSink<W: Write + Send> {
    Parquet(ArrowWriter<W>),
    File(FileWriter<W>),
    Stream(StreamWriter<W>),
}

impl<W: Write + Send> ColumnSink<W> {
    pub(crate) fn new(
        out: W,
        name: &str,
        format: WalkFormat,
        schema: &SchemaRef,
    ) -> Result<Self, WriteError> {
        match format {
            WalkFormat::Parquet => {
                let properties =
                    WriterProperties::builder().set_compression(Compression::SNAPPY).build();
                ArrowWriter::try_new(out, schema.clone(), Some(properties))
                    .map(Self::Parquet)
                    .map_err(|error| parquet_error(name, error))
            }
            WalkFormat::ArrowStream => StreamWriter::try_new(out, schema)
                .map(Self::Stream)
                .map_err(|error| arrow_error(name, error)),
            _ => FileWriter::try_new(out, schema)
                .map(Self::File)
                .map_err(|error| arrow_error(name, error)),
        }
    }

    pub(crate) fn write(&mut self, name: &str, batch: &RecordBatch) -> Result<(), WriteError> {
        match self {
            Self::Parquet(out) => out.write(batch).map_err(|e| parquet_error(name, e)),
            Self::File(out) => out.write(batch).map_err(|e| arrow_error(name, e)),
            Self::Stream(out) => out.write(batch).map_err(|e| arrow_error(name, e)),
        }
    }

    /// Writes what stands at the end of the format, and gives the output back.
    pub(crate) fn finish(self, name: &str) -> Result<W, WriteError> {
        match self {
            Self::Parquet(out) => out.into_inner().map_err(|e| parquet_error(name, e)),
            Self::File(out) => out.into_inner().map_err(|e| arrow_error(name, e)),
            Self::Stream(out) => out.into_inner().map_err(|e| arrow_error(name, e)),
        }
    }
}

pub(crate) fn arrow_error(name: &str, error: ArrowError) -> WriteError {
    match error {
        ArrowError::IoError(_, error) => WriteError::io(name, error),
        other => WriteError::new(name, WriteErrorKind::Unfit(other.to_string())),
    }
}

fn parquet_error(name: &str, error: ParquetError) -> WriteError {
    match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => WriteError::io(name, *error),
            Err(other) => WriteError::new(name, WriteErrorKind::Unfit(other.to_string())),
        },
        other => WriteError::new(name, WriteErrorKind::Unfit(other.to_string())),
    }
}
