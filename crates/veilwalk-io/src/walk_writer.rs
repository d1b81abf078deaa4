//! Whole walks, written in any format: made-up ones, which have no input to take a shape from.

use std::io::Write;

#[cfg(feature = "arrow")]
use arrow_array::{Int64Array, StringArray};
use veilwalk::{Chain, StateId};

#[cfg(feature = "arrow")]
use crate::columns::{ColumnFormat, ColumnRows, ColumnSink, arrow_error};
use crate::compression::Compression;
use crate::own_columns::OwnColumns;
use crate::row_text::RowText;
use crate::walks::WalkFormat;
use crate::write_error::WriteError;
#[cfg(not(feature = "arrow"))]
use crate::write_error::WriteErrorKind;

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
    chain: &'c Chain,
    name: String,
    waiting: Waiting,
    to: To<W>,
}

/// Walks that are yet to be written.
#[derive(Debug, Default)]
struct Waiting {
    walks: Vec<(String, usize)>,
    states: Vec<StateId>,
}

enum To<W: Write + Send> {
    Text {
        out: W,
        text: RowText,
        compression: Compression,
    },
    #[cfg(feature = "arrow")]
    Columns {
        format: ColumnFormat,
        out: Box<ColumnSink<W>>,
    },
}

impl<W: Write + Send> std::fmt::Debug for To<W> {
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

    /// Starts to write walks of this chain. Messages call the output `name`. Text may be compressed.
    ///
    /// # Errors
    ///
    /// If writing fails, or the format is not built in.
    pub fn new(
        mut out: W,
        name: &str,
        format: WalkFormat,
        compression: Compression,
        chain: &'c Chain,
    ) -> Result<Self, WriteError> {
        let own = OwnColumns::Moves;
        let to = if format.is_text() {
            let text = RowText::new(format, own, &[]);
            let header = compression.pack(text.header(&[]));
            let written = header.and_then(|header| out.write_all(&header));
            written.map_err(|error| WriteError::io(name, error))?;
            To::Text { out, text, compression }
        } else {
            columns(out, name, format, chain)?
        };
        Ok(Self { chain, name: name.to_owned(), waiting: Waiting::default(), to })
    }

    /// Writes a walk.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn write_walk(&mut self, name: &str, states: &[StateId]) -> Result<(), WriteError> {
        self.waiting.walks.push((name.to_owned(), states.len()));
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
        let Waiting { walks, states } = std::mem::take(&mut self.waiting);
        if walks.is_empty() {
            return Ok(());
        }
        match &mut self.to {
            To::Text { out, text, compression } => {
                let (mut bytes, mut states) = (Vec::new(), states.iter());
                for (name, count) in &walks {
                    for (step, state) in states.by_ref().take(*count).enumerate() {
                        text.push_start(&mut bytes, name);
                        bytes.extend_from_slice(itoa::Buffer::new().format(step).as_bytes());
                        text.push_state(&mut bytes, self.chain.label(*state));
                        text.push_rest(&mut bytes, []);
                    }
                }
                let packed = compression.pack(bytes);
                packed
                    .and_then(|packed| out.write_all(&packed))
                    .map_err(|error| WriteError::io(&self.name, error))
            }
            #[cfg(feature = "arrow")]
            To::Columns { format, out } => {
                let names =
                    walks.iter().flat_map(|(name, count)| std::iter::repeat_n(name, *count));
                let steps = walks.iter().flat_map(|&(_, count)| 0..count as i64);
                let rows = ColumnRows {
                    names: names.map(Some).collect::<StringArray>(),
                    steps: Some(steps.map(Some).collect::<Int64Array>()),
                    states: &states,
                    observed: None,
                    bounds: None,
                    kept: Vec::new(),
                };
                let batch = format.batch(rows).map_err(|error| arrow_error(&self.name, error))?;
                out.write(&self.name, &batch)
            }
        }
    }
}

#[cfg(feature = "arrow")]
fn columns<W: Write + Send>(
    out: W,
    name: &str,
    format: WalkFormat,
    chain: &Chain,
) -> Result<To<W>, WriteError> {
    let columns = ColumnFormat::new(format, chain, OwnColumns::Moves, &[], None)
        .map_err(|error| arrow_error(name, error))?;
    let out = ColumnSink::new(out, name, format, &columns.schema)?;
    Ok(To::Columns { format: columns, out: Box::new(out) })
}

#[cfg(not(feature = "arrow"))]
fn columns<W: Write + Send>(
    _: W,
    name: &str,
    _: WalkFormat,
    _: &Chain,
) -> Result<To<W>, WriteError> {
    Err(WriteError::new(name, WriteErrorKind::NotBuiltIn))
}
