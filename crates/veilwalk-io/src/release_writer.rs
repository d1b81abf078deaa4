//! Writes released walks row by row, for streams. Whole files go through `release::text_format`.
//!
//! A release has the columns `trajectory`, `step` and `state`, with observations `observed`, then those
//! kept from the input. Rows go through one buffer and cost no allocation; `flush` sends what has been written so far, for
//! output that is read while it grows.

use std::io::{BufWriter, Write};

use crate::own_columns::OwnColumns;
use crate::row_text::RowText;
use crate::walks::WalkFormat;
use crate::write_error::{WriteError, WriteErrorKind};

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
    out: BufWriter<W>,
    text: RowText,
    own: OwnColumns,
    name: String,
    kept: usize,
    errors: Errors,
    /// The row that is being written.
    row: Vec<u8>,
}

/// Where a release says which rows were wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Errors {
    /// Nowhere.
    #[default]
    Untold,
    /// Among the rows: as objects of their own in NDJSON, and in a table in one more column, `error`.
    AmongRows,
}

impl Errors {
    /// The name of the column, and of the key.
    pub const COLUMN: &str = "error";
}

impl<W: Write> ReleaseWriter<W> {
    /// How many kept columns it writes.
    pub(crate) fn kept_columns(&self) -> usize {
        self.kept
    }

    const BUFFER: usize = 1 << 16;

    /// Which columns it writes of its own.
    pub(crate) fn own_columns(&self) -> OwnColumns {
        self.own
    }

    /// What messages call the output.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Starts a release of moves with these kept columns; the header of CSV is written here. Messages call
    /// the output `name`.
    ///
    /// # Errors
    ///
    /// As [`ReleaseWriter::with_columns`].
    pub fn new(
        out: W,
        name: &str,
        format: WalkFormat,
        kept: &[String],
    ) -> Result<Self, WriteError> {
        Self::with_columns(out, name, format, OwnColumns::Moves, kept)
    }

    /// Starts a release with these columns of its own, then these kept ones.
    ///
    /// # Errors
    ///
    /// If writing fails, or a kept column is named like one of the release's own, or like another,
    /// or the format is not one that is written row by row.
    pub fn with_columns(
        out: W,
        name: &str,
        format: WalkFormat,
        own: OwnColumns,
        kept: &[String],
    ) -> Result<Self, WriteError> {
        Self::telling_errors(out, name, format, own, kept, Errors::Untold)
    }

    /// The same, with a choice of how wrong rows are reported ([`ReleaseWriter::write_error`]).
    ///
    /// # Errors
    ///
    /// As [`ReleaseWriter::with_columns`].
    pub fn telling_errors(
        out: W,
        name: &str,
        format: WalkFormat,
        own: OwnColumns,
        kept: &[String],
        errors: Errors,
    ) -> Result<Self, WriteError> {
        let mut out = BufWriter::with_capacity(Self::BUFFER, out);
        let header = Self::header(name, format, own, kept, errors)?;
        out.write_all(&header).map_err(|error| WriteError::io(name, error))?;
        Self::going_on(out, name, format, own, kept, errors)
    }

    /// The header line of a release; nothing for NDJSON.
    ///
    /// # Errors
    ///
    /// If a kept column is named like another, or the format is not one that is written row by row.
    pub fn header(
        name: &str,
        format: WalkFormat,
        own: OwnColumns,
        kept: &[String],
        errors: Errors,
    ) -> Result<Vec<u8>, WriteError> {
        own.check_kept(name, kept)?;
        if !format.is_text() {
            return Err(WriteError::new(name, WriteErrorKind::NotRowByRow));
        }
        let error = Errors::COLUMN.to_owned();
        if errors == Errors::Untold || format == WalkFormat::Ndjson {
            return Ok(RowText::new(format, own, kept).header(kept));
        }
        if kept.contains(&error) {
            return Err(WriteError::new(name, WriteErrorKind::ColumnTaken(error)));
        }
        let all: Vec<String> = kept.iter().cloned().chain([error]).collect();
        Ok(RowText::new(format, own, &all).header(&all))
    }

    /// Goes on with a release that has its header.
    ///
    /// # Errors
    ///
    /// As [`ReleaseWriter::header`].
    pub fn appending(
        out: W,
        name: &str,
        format: WalkFormat,
        own: OwnColumns,
        kept: &[String],
        errors: Errors,
    ) -> Result<Self, WriteError> {
        let out = BufWriter::with_capacity(Self::BUFFER, out);
        Self::going_on(out, name, format, own, kept, errors)
    }

    fn going_on(
        out: BufWriter<W>,
        name: &str,
        format: WalkFormat,
        own: OwnColumns,
        kept: &[String],
        errors: Errors,
    ) -> Result<Self, WriteError> {
        own.check_kept(name, kept)?;
        if !format.is_text() {
            return Err(WriteError::new(name, WriteErrorKind::NotRowByRow));
        }
        let mut text = RowText::new(format, own, kept);
        if errors == Errors::AmongRows {
            text.leave_room_for_error();
        }
        let (name, kept, row) = (name.to_owned(), kept.len(), Vec::new());
        Ok(Self { out, text, own, name, kept, errors, row })
    }

    /// Writes kept values as they are in NDJSON: they are JSON
    /// ([`WalkReader::with_kept_json`](crate::WalkReader::with_kept_json)).
    #[must_use]
    pub fn with_kept_json(mut self) -> Self {
        self.text.keep_json();
        self
    }

    /// Reports that a line of the input was wrong, by a word for programs and nothing else from the line.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn write_error(&mut self, line: u64, code: &str) -> Result<(), WriteError> {
        if self.errors == Errors::Untold {
            return Ok(());
        }
        self.row.clear();
        let (own, kept) = (self.own.names().len(), self.kept);
        self.text.push_error(&mut self.row, own + kept, line, code);
        self.out.write_all(&self.row).map_err(|error| WriteError::io(&self.name, error))
    }

    /// Writes one step of a released walk, with one value for each kept column.
    ///
    /// # Errors
    ///
    /// If writing fails, there are more or fewer kept values than kept columns, or the release has a
    /// column of observations; then nothing of the row should be used.
    pub fn write_row<'a>(
        &mut self,
        trajectory: &str,
        step: u64,
        state: &str,
        kept: impl IntoIterator<Item = &'a str, IntoIter: ExactSizeIterator>,
    ) -> Result<(), WriteError> {
        self.write(trajectory, step, state, None, kept)
    }

    /// Writes one step of a released walk with what was observed for it.
    ///
    /// # Errors
    ///
    /// As [`ReleaseWriter::write_row`], and if the release has no column of observations.
    pub fn write_observed_row<'a>(
        &mut self,
        trajectory: &str,
        step: u64,
        state: &str,
        observed: &str,
        kept: impl IntoIterator<Item = &'a str, IntoIter: ExactSizeIterator>,
    ) -> Result<(), WriteError> {
        self.write(trajectory, step, state, Some(observed), kept)
    }

    fn write<'a>(
        &mut self,
        trajectory: &str,
        step: u64,
        state: &str,
        observed: Option<&str>,
        kept: impl IntoIterator<Item = &'a str, IntoIter: ExactSizeIterator>,
    ) -> Result<(), WriteError> {
        if observed.is_some() != (self.own == OwnColumns::Observations) {
            return Err(WriteError::new(&self.name, WriteErrorKind::OtherColumns(self.own)));
        }
        let kept = kept.into_iter();
        if kept.len() != self.kept {
            let kind = WriteErrorKind::KeptCount { expected: self.kept, found: kept.len() };
            return Err(WriteError::new(&self.name, kind));
        }
        self.row.clear();
        self.text.push_start(&mut self.row, trajectory);
        self.row.extend_from_slice(itoa::Buffer::new().format(step).as_bytes());
        self.text.push_state(&mut self.row, state);
        if let Some(observed) = observed {
            self.text.push_observed(&mut self.row, observed);
        }
        self.text.push_rest(&mut self.row, kept);
        self.out.write_all(&self.row).map_err(|error| WriteError::io(&self.name, error))
    }

    /// Sends everything written so far on its way.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.out.flush().map_err(|error| WriteError::io(&self.name, error))
    }

    /// Sends everything on its way and gives the output back.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.flush()?;
        let out = self.out.into_inner().map_err(|error| error.into_error());
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
