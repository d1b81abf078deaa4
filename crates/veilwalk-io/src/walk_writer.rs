//! Whole walks, written in any format: made-up ones and those made of events, which have no rows to take a shape from.

use std::fmt::Debug;
use std::io::Write;
#[cfg(feature = "arrow")]
use std::sync::Arc;

#[cfg(feature = "arrow")]
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
#[cfg(feature = "arrow")]
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use veilwalk::{Chain, StateId};

#[cfg(feature = "arrow")]
use crate::columns::{ColumnSink, arrow_error};
use crate::compression::Compression;
use crate::own_columns::OwnColumns;
#[cfg(feature = "arrow")]
use crate::own_columns::STEP;
use crate::row_text::RowText;
use crate::walks::WalkFormat;
use crate::write_error::{WriteError, WriteErrorKind};

/// The labels of states, which a chain has, and a list of texts is.
pub trait Labels: Debug + Sync {
    /// The label of a state.
    ///
    /// # Panics
    ///
    /// If there is no such state.
    fn label(&self, state: StateId) -> &str;
}

impl Labels for Chain {
    fn label(&self, state: StateId) -> &str {
        self.label(state)
    }
}

impl Labels for Vec<String> {
    fn label(&self, state: StateId) -> &str {
        &self[state.index()]
    }
}

/// Writes walks with the columns `trajectory`, `step` and `state`, a row for each state.
///
/// ```
/// use veilwalk::Chain;
/// use veilwalk_io::{Compression, WalkFormat, WalkWriter};
///
/// let chain = Chain::credit();
/// let states = [chain.state("Ba").unwrap(), chain.state("B").unwrap()];
/// let (format, compression) = (WalkFormat::Csv, Compression::None);
/// let mut walks = WalkWriter::new(Vec::new(), "walks.csv", format, compression, &chain)?;
/// walks.write_walk("0", &states)?;
/// assert_eq!(walks.finish()?, b"trajectory,step,state\n0,0,Ba\n0,1,B\n");
/// # Ok::<(), veilwalk_io::WriteError>(())
/// ```
#[derive(Debug)]
pub struct WalkWriter<'c, W: Write + Send> {
    labels: &'c dyn Labels,
    name: String,
    /// Columns with one value for each walk.
    columns: Vec<String>,
    waiting: Waiting,
    to: To<W>,
}

/// Walks that are yet to be written.
#[derive(Debug, Default)]
struct Waiting {
    walks: Vec<WaitingWalk>,
    states: Vec<StateId>,
}

#[derive(Debug)]
struct WaitingWalk {
    name: String,
    states: usize,
    values: Vec<String>,
}

enum To<W: Write + Send> {
    Text {
        out: W,
        text: RowText,
        compression: Compression,
    },
    #[cfg(feature = "arrow")]
    Columns {
        schema: SchemaRef,
        out: Box<ColumnSink<W>>,
    },
}

impl<W: Write + Send> Debug for To<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Text { .. } => "Text",
            #[cfg(feature = "arrow")]
            Self::Columns { .. } => "Columns",
        })
    }
}

impl<'c, W: Write + Send> WalkWriter<'c, W> {
    /// So many states are written at a time.
    const BATCH: usize = 1 << 16;

    /// Starts to write walks on these states. Messages call the output `name`. Text may be compressed.
    ///
    /// # Errors
    ///
    /// If writing fails, or the format is not built in.
    pub fn new(
        out: W,
        name: &str,
        format: WalkFormat,
        compression: Compression,
        labels: &'c dyn Labels,
    ) -> Result<Self, WriteError> {
        Self::with_columns(out, name, format, compression, labels, &[])
    }

    /// The same with further columns behind, which have one value for each walk.
    ///
    /// # Errors
    ///
    /// If writing fails, or the format is not built in, or a column has a name that is taken.
    pub fn with_columns(
        mut out: W,
        name: &str,
        format: WalkFormat,
        compression: Compression,
        labels: &'c dyn Labels,
        columns: &[&str],
    ) -> Result<Self, WriteError> {
        let own = OwnColumns::Moves;
        let columns: Vec<String> = columns.iter().copied().map(str::to_owned).collect();
        own.check_kept(name, &columns)?;
        let to = if format.is_text() {
            let text = RowText::new(format, own, &columns);
            let header = compression.pack(text.header(&columns));
            let written = header.and_then(|header| out.write_all(&header));
            written.map_err(|error| WriteError::io(name, error))?;
            To::Text { out, text, compression }
        } else {
            in_columns(out, name, format, &columns)?
        };
        Ok(Self { labels, name: name.to_owned(), columns, waiting: Waiting::default(), to })
    }

    /// Writes a walk, where there are no further columns.
    ///
    /// # Errors
    ///
    /// If writing fails, or there are further columns.
    pub fn write_walk(&mut self, name: &str, states: &[StateId]) -> Result<(), WriteError> {
        self.write_walk_with(name, states, &[])
    }

    /// Writes a walk with its values of the further columns.
    ///
    /// # Errors
    ///
    /// If writing fails, or there is not one value for each column.
    pub fn write_walk_with(
        &mut self,
        name: &str,
        states: &[StateId],
        values: &[&str],
    ) -> Result<(), WriteError> {
        let (expected, found) = (self.columns.len(), values.len());
        if expected != found {
            let kind = WriteErrorKind::KeptCount { expected, found };
            return Err(WriteError::new(&self.name, kind));
        }
        self.waiting.walks.push(WaitingWalk {
            name: name.to_owned(),
            states: states.len(),
            values: values.iter().copied().map(str::to_owned).collect(),
        });
        self.waiting.states.extend_from_slice(states);
        if self.waiting.states.len() >= Self::BATCH { self.write_waiting() } else { Ok(()) }
    }

    /// Writes what is left, and gives the output back.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.write_waiting()?;
        let mut out = match self.to {
            To::Text { out, .. } => out,
            #[cfg(feature = "arrow")]
            To::Columns { out, .. } => out.finish(&self.name)?,
        };
        out.flush().map_err(|error| WriteError::io(&self.name, error))?;
        Ok(out)
    }

    fn write_waiting(&mut self) -> Result<(), WriteError> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.walks.is_empty() {
            return Ok(());
        }
        match &mut self.to {
            To::Text { out, text, compression } => {
                let packed = compression.pack(waiting.as_text(text, self.labels));
                packed
                    .and_then(|packed| out.write_all(&packed))
                    .map_err(|error| WriteError::io(&self.name, error))
            }
            #[cfg(feature = "arrow")]
            To::Columns { schema, out } => {
                let columns = waiting.as_columns(self.labels, self.columns.len());
                let batch = RecordBatch::try_new(schema.clone(), columns)
                    .map_err(|error| arrow_error(&self.name, error))?;
                out.write(&self.name, &batch)
            }
        }
    }
}

impl Waiting {
    /// The rows of all walks. What is the same in all rows of a walk is put together once.
    fn as_text(&self, text: &RowText, labels: &dyn Labels) -> Vec<u8> {
        let (mut bytes, mut states) = (Vec::new(), self.states.iter());
        let (mut start, mut rest) = (Vec::new(), Vec::new());
        for walk in &self.walks {
            start.clear();
            text.push_start(&mut start, &walk.name);
            rest.clear();
            text.push_rest(&mut rest, walk.values.iter().map(String::as_str));
            for (step, state) in states.by_ref().take(walk.states).enumerate() {
                bytes.extend_from_slice(&start);
                bytes.extend_from_slice(itoa::Buffer::new().format(step).as_bytes());
                text.push_state(&mut bytes, labels.label(*state));
                bytes.extend_from_slice(&rest);
            }
        }
        bytes
    }

    #[cfg(feature = "arrow")]
    fn as_columns(&self, labels: &dyn Labels, more: usize) -> Vec<ArrayRef> {
        let each_row = |value: fn(&WaitingWalk, usize) -> &str, at: usize| {
            let values = self
                .walks
                .iter()
                .flat_map(move |walk| std::iter::repeat_n(Some(value(walk, at)), walk.states));
            Arc::new(values.collect::<StringArray>()) as ArrayRef
        };
        let steps = self.walks.iter().flat_map(|walk| 0..walk.states as i64);
        let states = self.states.iter().map(|state| Some(labels.label(*state)));
        let mut columns = vec![
            each_row(|walk, _| &walk.name, 0),
            Arc::new(steps.map(Some).collect::<Int64Array>()),
            Arc::new(states.collect::<StringArray>()),
        ];
        columns.extend((0..more).map(|at| each_row(|walk, at| &walk.values[at], at)));
        columns
    }
}

#[cfg(feature = "arrow")]
fn in_columns<W: Write + Send>(
    out: W,
    name: &str,
    format: WalkFormat,
    more: &[String],
) -> Result<To<W>, WriteError> {
    let own = OwnColumns::Moves.names().iter().copied();
    let fields = own.chain(more.iter().map(String::as_str)).map(|column| {
        let kind = if column == STEP { DataType::Int64 } else { DataType::Utf8 };
        Field::new(column, kind, false)
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let out = ColumnSink::new(out, name, format, &schema)?;
    Ok(To::Columns { schema, out: Box::new(out) })
}

#[cfg(not(feature = "arrow"))]
fn in_columns<W: Write + Send>(
    _: W,
    name: &str,
    _: WalkFormat,
    _: &[String],
) -> Result<To<W>, WriteError> {
    Err(WriteError::new(name, WriteErrorKind::NotBuiltIn))
}
