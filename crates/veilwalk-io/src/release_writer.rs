//! Writing released walks, row by row.
//!
//! A release has the columns `trajectory`, `step` and `state`, then those kept from the input. Rows
//! go through one buffer and cost no allocation; `flush` sends what has been written so far, for
//! output that is read while it grows.

use std::io::{BufWriter, Write};

use crate::walks::WalkFormat;
use crate::write_error::{WriteError, WriteErrorKind};

/// The columns that every release has.
const OWN_COLUMNS: [&str; 3] = ["trajectory", "step", "state"];

/// Writes a release as CSV, TSV or NDJSON.
///
/// ```
/// use veilwalk_io::{ReleaseWriter, WalkFormat};
///
/// let mut bytes = Vec::new();
/// let mut release = ReleaseWriter::new(&mut bytes, "release.csv", WalkFormat::Csv, &[])?;
/// release.write_row("ann", 0, "home", [])?;
/// release.write_row("ann", 1, "work, or so", [])?;
/// release.flush()?;
/// drop(release);
/// assert_eq!(bytes, b"trajectory,step,state\nann,0,home\nann,1,\"work, or so\"\n");
/// # Ok::<(), veilwalk_io::WriteError>(())
/// ```
pub struct ReleaseWriter<W: Write> {
    sink: Sink<W>,
    name: String,
    kept: usize,
}

enum Sink<W: Write> {
    Csv(Box<csv::Writer<W>>),
    Ndjson {
        out: BufWriter<W>,
        /// What stands before each kept value: a comma, the key and a colon.
        keys: Vec<Vec<u8>>,
        /// The row that is being written.
        row: Vec<u8>,
    },
}

impl<W: Write> ReleaseWriter<W> {
    const BUFFER: usize = 1 << 16;

    /// Starts a release with these kept columns; the header of CSV is written here. Messages call
    /// the output `name`.
    ///
    /// # Errors
    ///
    /// If writing fails, or a kept column is named like one of the release's own, or like another.
    pub fn new(
        out: W,
        name: &str,
        format: WalkFormat,
        kept: &[String],
    ) -> Result<Self, WriteError> {
        for (place, column) in kept.iter().enumerate() {
            if OWN_COLUMNS.contains(&column.as_str()) || kept[..place].contains(column) {
                let kind = WriteErrorKind::ColumnTaken(column.clone());
                return Err(WriteError::new(name, kind));
            }
        }
        let sink = match format {
            WalkFormat::Csv | WalkFormat::Tsv => {
                let delimiter = if format == WalkFormat::Tsv { b'\t' } else { b',' };
                let mut table = csv::WriterBuilder::new()
                    .delimiter(delimiter)
                    .buffer_capacity(Self::BUFFER)
                    .from_writer(out);
                let own = OWN_COLUMNS.into_iter();
                let written = table.write_record(own.chain(kept.iter().map(String::as_str)));
                written.map_err(|error| WriteError::csv(name, error))?;
                Sink::Csv(Box::new(table))
            }
            WalkFormat::Ndjson => Sink::Ndjson {
                out: BufWriter::with_capacity(Self::BUFFER, out),
                keys: kept.iter().map(|column| key(column)).collect(),
                row: Vec::new(),
            },
        };
        Ok(Self { sink, name: name.to_owned(), kept: kept.len() })
    }

    /// Writes one step of a released walk, with one value for each kept column.
    ///
    /// # Errors
    ///
    /// If writing fails, or there are more or fewer kept values than kept columns; then nothing of
    /// the row should be used.
    pub fn write_row<'a>(
        &mut self,
        trajectory: &str,
        step: u64,
        state: &str,
        kept: impl IntoIterator<Item = &'a str, IntoIter: ExactSizeIterator>,
    ) -> Result<(), WriteError> {
        let kept = kept.into_iter();
        if kept.len() != self.kept {
            let kind = WriteErrorKind::KeptCount { expected: self.kept, found: kept.len() };
            return Err(WriteError::new(&self.name, kind));
        }
        let mut digits = itoa::Buffer::new();
        let step = digits.format(step);
        let written = match &mut self.sink {
            Sink::Csv(table) => {
                let fields = write_fields(table, [trajectory, step, state], kept);
                return fields.map_err(|error| WriteError::csv(&self.name, error));
            }
            Sink::Ndjson { out, keys, row } => {
                row.clear();
                row.extend_from_slice(b"{\"trajectory\":");
                push_json(row, trajectory);
                row.extend_from_slice(b",\"step\":");
                row.extend_from_slice(step.as_bytes());
                row.extend_from_slice(b",\"state\":");
                push_json(row, state);
                for (key, value) in keys.iter().zip(kept) {
                    row.extend_from_slice(key);
                    push_json(row, value);
                }
                row.extend_from_slice(b"}\n");
                out.write_all(row)
            }
        };
        written.map_err(|error| WriteError::io(&self.name, error))
    }

    /// Sends everything written so far on its way.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        let flushed = match &mut self.sink {
            Sink::Csv(table) => table.flush(),
            Sink::Ndjson { out, .. } => out.flush(),
        };
        flushed.map_err(|error| WriteError::io(&self.name, error))
    }

    /// Sends everything on its way and gives the output back.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.flush()?;
        let out = match self.sink {
            Sink::Csv(table) => table.into_inner().map_err(|e| e.into_error()),
            Sink::Ndjson { out, .. } => out.into_inner().map_err(|e| e.into_error()),
        };
        out.map_err(|error| WriteError::io(&self.name, error))
    }
}

impl<W: Write> std::fmt::Debug for ReleaseWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReleaseWriter")
            .field("name", &self.name)
            .field("kept", &self.kept)
            .finish_non_exhaustive()
    }
}

fn write_fields<'a, W: Write>(
    table: &mut csv::Writer<W>,
    own: [&str; 3],
    kept: impl Iterator<Item = &'a str>,
) -> csv::Result<()> {
    for field in own {
        table.write_field(field)?;
    }
    for field in kept {
        table.write_field(field)?;
    }
    table.write_record(None::<&[u8]>)
}

fn key(column: &str) -> Vec<u8> {
    let mut bytes = vec![b','];
    push_json(&mut bytes, column);
    bytes.push(b':');
    bytes
}

fn push_json(row: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(row, text).expect("a string is always JSON, and memory takes it");
}
