//! Walks in columns: Parquet and Arrow IPC.
//!
//! A table has one row for each state, or one for each walk with a list of its states; the type of
//! the state's column tells which. Names and states may be strings of any kind, dictionaries of them
//! or whole numbers. The Python package takes columns apart with the same code.

mod ipc;
mod rows;
mod state_column;
mod walk_lists;
mod write;

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, SchemaRef};
#[cfg(feature = "parquet")]
use parquet::arrow::ProjectionMask;
#[cfg(feature = "parquet")]
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use ipc::{ArrowFile, WholeMessages, caught};
pub(crate) use rows::Rows;
pub use rows::plain_texts;
pub use state_column::{
    IntegerStates, LEFT_OUT, NotAState, NotAStateValue, StateColumn, StateTypeError, as_texts,
    is_text, keys_of, read_states,
};
pub use walk_lists::WalkLists;
#[cfg(feature = "parquet")]
pub(crate) use write::parquet_error;
pub(crate) use write::{ColumnFormat, ColumnRows, ColumnSink, arrow_error};

use crate::read_error::{Place, ReadError, ReadErrorKind};
use crate::walks::{ColumnRole, Shape, WalkFormat, Wanted};

/// The columns that are read, in the order of their roles: trajectory, state, then those kept.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub(crate) file: String,
    pub(crate) format: WalkFormat,
    pub(crate) fields: Vec<FieldRef>,
    pub(crate) shape: Shape,
    /// The names of all columns there are.
    pub(crate) header: Vec<String>,
    /// Their places in the batches that the decoder gives.
    places: Vec<usize>,
}

/// Some rows of the columns that are read.
#[derive(Clone, Debug)]
pub(crate) struct ColumnPart {
    pub(crate) batch: RecordBatch,
    /// The number of its first row in the file, from one.
    pub(crate) first_row: u64,
}

/// Reads a table of walks part by part.
pub(crate) struct ColumnReader<R: Read> {
    pub(crate) columns: Arc<Columns>,
    decoder: Decoder<R>,
    /// A batch of the decoder that is larger than a part.
    rest: Option<RecordBatch>,
    next_row: u64,
    /// The most rows of a part.
    rows: usize,
}

enum Decoder<R: Read> {
    #[cfg(feature = "parquet")]
    Parquet(ParquetRecordBatchReader),
    File(ArrowFile),
    Stream(StreamReader<WholeMessages<BufReader<R>>>),
}

impl<R: Read> ColumnReader<R> {
    /// Rows of a part, if each is a state.
    const STATES: usize = 1 << 14;
    /// Rows of a part, if each is a walk.
    const WALKS: usize = 1 << 8;

    /// Opens a file of this format.
    pub(crate) fn open(
        path: &Path,
        format: WalkFormat,
        wanted: &Wanted,
    ) -> Result<Self, ReadError> {
        let name = path.display().to_string();
        let open = || {
            File::open(path)
                .map_err(|error| ReadError::new(&name, None, ReadErrorKind::from_io(error)))
        };
        let garbled = |error: String| not_columnar(&name, format, error);
        if format == WalkFormat::Parquet {
            return Self::open_parquet(open()?, &name, wanted);
        }
        let reader = ArrowFile::open(open()?).map_err(|error| garbled(error.to_string()))?;
        let (columns, _) = choose(&name, format, &reader.schema(), wanted)?;
        Ok(Self::new(columns, Decoder::File(reader)))
    }

    #[cfg(feature = "parquet")]
    fn open_parquet(file: File, name: &str, wanted: &Wanted) -> Result<Self, ReadError> {
        let format = WalkFormat::Parquet;
        let garbled = |error: String| not_columnar(name, format, error);
        let builder = caught(|| Ok(ParquetRecordBatchReaderBuilder::try_new(file)?))
            .map_err(|error| garbled(error.to_string()))?;
        let (mut columns, places) = choose(name, format, builder.schema(), wanted)?;
        // The reader gives the columns in the order of the file.
        let mask = ProjectionMask::roots(builder.parquet_schema(), places.iter().copied());
        let mut order = places.clone();
        order.sort_unstable();
        let place = |at: &usize| order.partition_point(|other| other < at);
        columns.places = places.iter().map(place).collect();
        let reader = builder
            .with_projection(mask)
            .with_batch_size(Self::rows_of(columns.shape))
            .build()
            .map_err(|error| garbled(error.to_string()))?;
        Ok(Self::new(columns, Decoder::Parquet(reader)))
    }

    #[cfg(not(feature = "parquet"))]
    fn open_parquet(_: File, name: &str, _: &Wanted) -> Result<Self, ReadError> {
        Err(WalkFormat::Parquet.not_built_in(name))
    }

    /// Reads a stream of Arrow.
    pub(crate) fn stream(input: R, name: &str, wanted: &Wanted) -> Result<Self, ReadError> {
        let format = WalkFormat::ArrowStream;
        let reader = WholeMessages::of(BufReader::new(input))
            .map_err(|error| not_columnar(name, format, error.to_string()))?;
        let (columns, _) = choose(name, format, &reader.schema(), wanted)?;
        Ok(Self::new(columns, Decoder::Stream(reader)))
    }

    fn new(columns: Columns, decoder: Decoder<R>) -> Self {
        let rows = Self::rows_of(columns.shape);
        Self { columns: Arc::new(columns), decoder, rest: None, next_row: 1, rows }
    }

    /// Gives fewer rows at a time.
    pub(crate) fn make_parts_smaller_by(&mut self, factor: usize) {
        self.rows = self.rows.div_ceil(factor);
    }

    fn rows_of(shape: Shape) -> usize {
        match shape {
            Shape::Long => Self::STATES,
            Shape::Lists => Self::WALKS,
        }
    }

    /// The next part, or nothing at the end.
    pub(crate) fn next_part(&mut self) -> Result<Option<ColumnPart>, ReadError> {
        let batch = loop {
            let batch = match self.rest.take() {
                Some(rest) => Some(rest),
                None => self.decode()?,
            };
            match batch {
                None => return Ok(None),
                Some(batch) if batch.num_rows() == 0 => {}
                Some(batch) => break batch,
            }
        };
        let count = batch.num_rows().min(self.rows);
        if count < batch.num_rows() {
            self.rest = Some(batch.slice(count, batch.num_rows() - count));
        }
        let part = ColumnPart { batch: batch.slice(0, count), first_row: self.next_row };
        self.next_row += count as u64;
        Ok(Some(part))
    }

    /// The next batch, with the columns in the order of their roles.
    fn decode(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        let decoder = &mut self.decoder;
        let columns = &self.columns;
        let batch = caught(|| {
            let next = match decoder {
                #[cfg(feature = "parquet")]
                Decoder::Parquet(reader) => reader.next(),
                Decoder::File(reader) => reader.next(),
                Decoder::Stream(reader) => reader.next(),
            };
            next.transpose()?.map(|batch| batch.project(&columns.places)).transpose()
        });
        batch.map_err(|error| decode_error(&columns.file, columns.format, error))
    }
}

fn not_columnar(file: &str, format: WalkFormat, problem: String) -> ReadError {
    let kind = ReadErrorKind::NotColumnar { format: format.in_words(), problem };
    ReadError::new(file, None, kind)
}

pub(crate) fn decode_error(file: &str, format: WalkFormat, error: ArrowError) -> ReadError {
    not_columnar(file, format, error.to_string())
}

/// Finds the wanted columns, and checks their types. Also gives their places in the schema.
fn choose(
    file: &str,
    format: WalkFormat,
    schema: &SchemaRef,
    wanted: &Wanted,
) -> Result<(Columns, Vec<usize>), ReadError> {
    let fail = |kind| ReadError::new(file, None, kind);
    wanted.check().map_err(fail)?;
    let header: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let places = wanted.find_in(&header).map_err(fail)?;
    let fields: Vec<FieldRef> = places.iter().map(|&at| schema.fields()[at].clone()).collect();
    let refuse = |field: &Field, role, expected| {
        fail(ReadErrorKind::ColumnType {
            column: field.name().clone(),
            role,
            found: field.data_type().to_string(),
            expected,
        })
    };
    let mut shape = Shape::Long;
    for (field, (role, _)) in fields.iter().zip(wanted.iter()) {
        let text = is_text(field.data_type());
        match role {
            ColumnRole::Trajectory | ColumnRole::Person if !text => {
                let expected = "a string, a dictionary of strings or a whole number";
                return Err(refuse(field, role, expected));
            }
            ColumnRole::State if !text => {
                let listed = WalkLists::value_type(field.data_type()).is_some_and(is_text);
                if !listed || wanted.role(0) == ColumnRole::Person {
                    let expected = match wanted.role(0) {
                        ColumnRole::Person => "a string, a dictionary of strings or a whole number",
                        _ => {
                            "a string, a dictionary of strings, a whole number, or a list of one \
                             of these"
                        }
                    };
                    return Err(refuse(field, role, expected));
                }
                shape = Shape::Lists;
            }
            _ => {}
        }
    }
    let file = file.to_owned();
    let columns = Columns { file, format, fields, shape, header, places: places.clone() };
    Ok((columns, places))
}

impl Columns {
    /// The names of a part's rows as plain strings, and its states.
    pub(crate) fn take_apart(
        &self,
        part: &ColumnPart,
    ) -> Result<(StringArray, WalkLists), ReadError> {
        let names = cast(part.batch.column(0), &DataType::Utf8)
            .map_err(|error| decode_error(&self.file, self.format, error))?;
        Ok((names.as_string().clone(), WalkLists::new(part.batch.column(1))))
    }

    /// The name at a place, if there is one and it is not empty.
    pub(crate) fn name<'a>(
        &self,
        names: &'a StringArray,
        at: usize,
        row: u64,
    ) -> Result<&'a str, ReadError> {
        let kind = match names.is_null(at) {
            true => self.missing(ColumnRole::Trajectory),
            false if names.value(at).is_empty() => self.empty(ColumnRole::Trajectory),
            false => return Ok(names.value(at)),
        };
        Err(self.error(row, kind))
    }

    /// That there is no value.
    pub(crate) fn missing(&self, role: ColumnRole) -> ReadErrorKind {
        ReadErrorKind::NullValue { column: self.column_of(role) }
    }

    /// That a value is an empty text.
    pub(crate) fn empty(&self, role: ColumnRole) -> ReadErrorKind {
        ReadErrorKind::EmptyField { column: self.column_of(role) }
    }

    pub(crate) fn error(&self, row: u64, kind: ReadErrorKind) -> ReadError {
        ReadError::at(&self.file, Place::Row(row), kind)
    }

    fn column_of(&self, role: ColumnRole) -> String {
        let place = if role == ColumnRole::Trajectory { 0 } else { 1 };
        self.fields[place].name().clone()
    }
}
