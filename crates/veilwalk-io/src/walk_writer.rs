//! Whole walks, written in any format: made-up ones and those made of events, which have no rows to take a shape from.

use std::fmt::Debug;
use std::io::Write;
#[cfg(feature = "arrow")]
use std::sync::Arc;

#[cfg(feature = "arrow")]
use arrow_array::{ArrayRef, Int64Array, StringArray};
use veilwalk::{Chain, StateId};

use crate::compression::Compression;
use crate::own_columns::{OwnColumns, STEP};
use crate::row_text::RowText;
use crate::rows_out::{Rows, RowsOut};
use crate::table_writer::ColumnKind;
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
    /// What people call the states, if that is a column.
    names: Option<&'c dyn Labels>,
    text: RowText,
    /// Columns with one value for each walk.
    columns: Vec<String>,
    waiting: Waiting,
    out: RowsOut<W>,
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
        Self::with_columns(out, name, format, compression, labels, &[], None)
    }

    /// The same with further columns behind, which have one value for each walk, and with what people call each state,
    /// if that is known, in a last column `name`.
    ///
    /// # Errors
    ///
    /// If writing fails, or the format is not built in, or a column has a name that is taken.
    pub fn with_columns(
        out: W,
        name: &str,
        format: WalkFormat,
        compression: Compression,
        labels: &'c dyn Labels,
        columns: &[&str],
        names: Option<&'c dyn Labels>,
    ) -> Result<Self, WriteError> {
        let own = OwnColumns::Moves;
        let of_states = names.map(|_| "name");
        let mut columns: Vec<String> =
            columns.iter().copied().chain(of_states).map(str::to_owned).collect();
        own.check_kept(name, &columns)?;
        let text = RowText::new(format, own, &columns);
        let kind = |name: &str| if name == STEP { ColumnKind::Whole } else { ColumnKind::Names };
        let all = own.names().iter().copied().chain(columns.iter().map(String::as_str));
        let all: Vec<(&str, ColumnKind)> = all.map(|name| (name, kind(name))).collect();
        let out = RowsOut::new(out, name, format, compression, text.header(&columns), &all)?;
        columns.truncate(columns.len() - usize::from(names.is_some()));
        Ok(Self { labels, names, text, columns, waiting: Waiting::default(), out })
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
            return Err(WriteError::new(self.out.name(), kind));
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
        self.out.finish()
    }

    fn write_waiting(&mut self) -> Result<(), WriteError> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.walks.is_empty() {
            return Ok(());
        }
        let more = self.columns.len();
        let Self { out, text, labels, names, .. } = self;
        out.write(&WaitingRows { waiting, text, labels: *labels, names: *names, more })
    }
}

/// All rows of walks that waited.
struct WaitingRows<'a> {
    waiting: Waiting,
    text: &'a RowText,
    labels: &'a dyn Labels,
    names: Option<&'a dyn Labels>,
    /// How many further columns there are.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "text knows its columns"))]
    more: usize,
}

impl Rows for WaitingRows<'_> {
    fn text(&self) -> Vec<u8> {
        self.waiting.as_text(self.text, self.labels, self.names)
    }

    #[cfg(feature = "arrow")]
    fn columns(&self) -> Vec<ArrayRef> {
        self.waiting.as_columns(self.labels, self.names, self.more)
    }
}

impl Waiting {
    /// The rows of all walks. What is the same in all rows of a walk is put together once.
    fn as_text(&self, text: &RowText, labels: &dyn Labels, names: Option<&dyn Labels>) -> Vec<u8> {
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
                match names {
                    None => bytes.extend_from_slice(&rest),
                    Some(names) => {
                        let values = walk.values.iter().map(String::as_str);
                        text.push_rest(&mut bytes, values.chain([names.label(*state)]));
                    }
                }
            }
        }
        bytes
    }

    #[cfg(feature = "arrow")]
    fn as_columns(
        &self,
        labels: &dyn Labels,
        names: Option<&dyn Labels>,
        more: usize,
    ) -> Vec<ArrayRef> {
        let each_row = |value: fn(&WaitingWalk, usize) -> &str, at: usize| {
            let values = self
                .walks
                .iter()
                .flat_map(move |walk| std::iter::repeat_n(Some(value(walk, at)), walk.states));
            Arc::new(values.collect::<StringArray>()) as ArrayRef
        };
        let steps = self.walks.iter().flat_map(|walk| 0..walk.states as i64);
        let of_states = |labels: &dyn Labels| {
            let texts = self.states.iter().map(|state| Some(labels.label(*state)));
            Arc::new(texts.collect::<StringArray>()) as ArrayRef
        };
        let mut columns = vec![
            each_row(|walk, _| &walk.name, 0),
            Arc::new(steps.map(Some).collect::<Int64Array>()),
            of_states(labels),
        ];
        columns.extend((0..more).map(|at| each_row(|walk, at| &walk.values[at], at)));
        columns.extend(names.map(of_states));
        columns
    }
}
