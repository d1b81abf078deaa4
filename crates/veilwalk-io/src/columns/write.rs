//! Writing a release in Arrow columns: Parquet and Arrow IPC.
//!
//! Columns have the types they had in the input: names and states are built as plain strings and
//! numbers of labels, and converted. What came from text is strings.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
#[cfg(feature = "parquet")]
use parquet::{
    arrow::ArrowWriter, basic::Compression, errors::ParquetError,
    file::properties::WriterProperties,
};
use veilwalk::mechanism::plane::Chart;
use veilwalk::{Chain, Mechanism, Outcome, Sight, StateId};

use super::{Columns, IntegerStates, StateColumn, WalkLists};
use crate::own_columns::{OBSERVED, OwnColumns, STATE, STEP};
use crate::walks::{Shape, WalkFormat};
use crate::write_error::{WriteError, WriteErrorKind};

/// How a release becomes columns.
#[derive(Debug)]
pub(crate) struct ColumnFormat {
    pub(crate) schema: SchemaRef,
    shape: Shape,
    own: OwnColumns,
    states: StateColumn,
    /// Where observed points lie, which are texts whatever the type of the states is.
    points: Option<Points>,
}

/// How observed points are written.
#[derive(Debug)]
struct Points {
    chart: Chart,
    /// The label of each state, for a first one that was not observed.
    labels: Vec<Box<str>>,
}

impl Points {
    fn of(mechanism: &Mechanism) -> Option<Self> {
        let chain = mechanism.model().chain();
        let labels = || chain.states().map(|state| chain.label(state).into());
        mechanism.chart().map(|chart| Self { chart, labels: labels().collect() })
    }

    fn write(&self, observed: &[Outcome]) -> ArrayRef {
        let text = |outcome: &Outcome| match outcome.sight() {
            Sight::State(state) => self.labels[state.index()].to_string(),
            Sight::Point(point) => self.chart.text(point),
        };
        Arc::new(observed.iter().map(|outcome| Some(text(outcome))).collect::<StringArray>())
    }
}

/// What a batch of a release holds.
pub(crate) struct ColumnRows<'a> {
    /// The name of each row.
    pub(crate) names: StringArray,
    /// The number of each step; none where a row is a walk.
    pub(crate) steps: Option<Int64Array>,
    pub(crate) states: &'a [StateId],
    /// What was observed for each state, where the release has a column for it.
    pub(crate) observed: Option<&'a [Outcome]>,
    /// Where the states of each row begin and end, where a row is a walk.
    pub(crate) bounds: Option<Vec<usize>>,
    pub(crate) kept: Vec<ArrayRef>,
}

impl ColumnFormat {
    /// The format of a release. `input` is what is known of the input if that is columns too.
    pub(crate) fn new(
        output: WalkFormat,
        mechanism: &Mechanism,
        own: OwnColumns,
        kept: &[String],
        input: Option<&Columns>,
    ) -> Result<Self, ArrowError> {
        let (chain, points) = (mechanism.model().chain(), Points::of(mechanism));
        let shape = input.map_or(Shape::Long, |columns| columns.shape);
        // A file of Arrow has one dictionary for a column, and parts of a release have one each.
        let settled = |kind: &DataType| match kind {
            DataType::Dictionary(_, value) if output == WalkFormat::ArrowFile => (**value).clone(),
            kind => kind.clone(),
        };
        let name = input.map_or(DataType::Utf8, |columns| settled(columns.fields[0].data_type()));
        let real = input.map_or(&DataType::Utf8, |columns| columns.fields[1].data_type());
        let states = released_states(WalkLists::value_type(real).unwrap_or(real), chain)?;
        let shaped = |kind: &DataType| match shape {
            Shape::Long => kind.clone(),
            Shape::Lists => list_of(kind),
        };
        let state = shaped(states.data_type());
        let mut fields = vec![Field::new("trajectory", name, false)];
        if shape == Shape::Long {
            fields.push(Field::new(STEP, DataType::Int64, false));
        }
        fields.push(Field::new(STATE, state.clone(), false));
        if own == OwnColumns::Observations {
            let observed = if points.is_some() { shaped(&DataType::Utf8) } else { state };
            fields.push(Field::new(OBSERVED, observed, false));
        }
        for (place, column) in kept.iter().enumerate() {
            fields.push(match input {
                None => Field::new(column, DataType::Utf8, false),
                Some(columns) => {
                    let field = &columns.fields[2 + place];
                    Field::new(column, settled(field.data_type()), field.is_nullable())
                }
            });
        }
        Ok(Self { schema: Arc::new(Schema::new(fields)), shape, own, states, points })
    }

    /// Whether a row is a state or a walk.
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// Which columns it has of its own.
    pub(crate) fn own_columns(&self) -> OwnColumns {
        self.own
    }

    /// A batch of these rows.
    pub(crate) fn batch(&self, rows: ColumnRows<'_>) -> Result<RecordBatch, ArrowError> {
        let ColumnRows { names, steps, states, observed, bounds, kept } = rows;
        let mut columns = vec![cast(&names, self.schema.field(0).data_type())?];
        columns.extend(steps.map(|steps| Arc::new(steps) as ArrayRef));
        let number = |state: StateId| state.index() as u32;
        let mut written = vec![self.states.write(states.iter().copied().map(number).collect())?];
        match (observed, &self.points) {
            (None, _) => {}
            (Some(observed), Some(points)) => written.push(points.write(observed)),
            (Some(observed), None) => {
                let states = observed.iter().filter_map(|outcome| outcome.state()).map(number);
                written.push(self.states.write(states.collect())?);
            }
        }
        for states in written {
            columns.push(match &bounds {
                None => states,
                Some(bounds) => {
                    let (kind, bounds) = (list_of(states.data_type()), bounds.clone());
                    WalkLists { values: states.clone(), bounds }.with_values(&kind, states)?
                }
            });
        }
        for column in kept {
            let kind = self.schema.field(columns.len()).data_type();
            let column = without_the_rest(column);
            columns.push(if column.data_type() == kind { column } else { cast(&column, kind)? });
        }
        RecordBatch::try_new(self.schema.clone(), columns)
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

/// The column of released states where real ones have this type: as texts if the type cannot hold every
/// label of the chain.
fn released_states(real: &DataType, chain: &Chain) -> Result<StateColumn, ArrowError> {
    let kind = match real {
        DataType::Dictionary(_, values) => {
            DataType::Dictionary(Box::new(DataType::Int32), values.clone())
        }
        other => other.clone(),
    };
    StateColumn::new(&kind, IntegerStates::Labels, chain)
        .or_else(|_| StateColumn::new(&DataType::Utf8, IntegerStates::Labels, chain))
        .map_err(|error| ArrowError::SchemaError(error.to_string()))
}

fn list_of(item: &DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item.clone(), false)))
}

/// Where columns are written to.
pub(crate) enum ColumnSink<W: Write + Send> {
    #[cfg(feature = "parquet")]
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
            #[cfg(not(feature = "parquet"))]
            WalkFormat::Parquet => Err(WriteError::new(name, WriteErrorKind::NotBuiltIn)),
            #[cfg(feature = "parquet")]
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
            #[cfg(feature = "parquet")]
            Self::Parquet(out) => out.write(batch).map_err(|e| parquet_error(name, e)),
            Self::File(out) => out.write(batch).map_err(|e| arrow_error(name, e)),
            Self::Stream(out) => out.write(batch).map_err(|e| arrow_error(name, e)),
        }
    }

    /// Writes what stands at the end of the format, and gives the output back.
    pub(crate) fn finish(self, name: &str) -> Result<W, WriteError> {
        match self {
            #[cfg(feature = "parquet")]
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

#[cfg(feature = "parquet")]
pub(crate) fn parquet_error(name: &str, error: ParquetError) -> WriteError {
    match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => WriteError::io(name, *error),
            Err(other) => WriteError::new(name, WriteErrorKind::Unfit(other.to_string())),
        },
        other => WriteError::new(name, WriteErrorKind::Unfit(other.to_string())),
    }
}
