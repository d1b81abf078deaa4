//! Where a release goes: one thread writes what the others have made, in order.

use std::io::Write;

#[cfg(feature = "arrow")]
use arrow_array::RecordBatch;

use super::format::Format;
#[cfg(feature = "arrow")]
use crate::columns::ColumnSink;
use crate::compression::Compression;
use crate::own_columns::OwnColumns;
use crate::walks::WalkFormat;
use crate::write_error::WriteError;

/// Where a release is written, and how.
#[derive(Debug)]
pub struct ReleaseOutput<W> {
    pub(super) out: W,
    pub(super) name: String,
    pub(super) format: WalkFormat,
    pub(super) compression: Compression,
    pub(super) kept: Vec<String>,
}

impl<W: Write> ReleaseOutput<W> {
    /// A release with these kept columns. Messages call the output `name`. Text may be compressed. What
    /// columns there are beside them depends on the mechanism.
    ///
    /// # Errors
    ///
    /// If a kept column is named like one of the release's own, or like another.
    pub fn new(
        out: W,
        name: &str,
        format: WalkFormat,
        compression: Compression,
        kept: &[String],
    ) -> Result<Self, WriteError> {
        OwnColumns::default().check_kept(name, kept)?;
        let (name, kept) = (name.to_owned(), kept.to_vec());
        Ok(Self { out, name, format, compression, kept })
    }
}

/// What is ready to be written.
#[derive(Debug)]
pub(super) enum Piece {
    Text(Vec<u8>),
    #[cfg(feature = "arrow")]
    Rows(RecordBatch),
}

/// The output, open.
pub(super) struct Sink<W: Write + Send> {
    name: String,
    to: To<W>,
}

enum To<W: Write + Send> {
    Text(W),
    #[cfg(feature = "arrow")]
    Columns(Box<ColumnSink<W>>),
}

impl<W: Write + Send> Sink<W> {
    /// An output for pieces of this format.
    pub(super) fn new(output: ReleaseOutput<W>, format: &Format) -> Result<Self, WriteError> {
        let to = match format {
            Format::Text { .. } => To::Text(output.out),
            #[cfg(feature = "arrow")]
            Format::Columns { format, .. } => {
                let (out, name) = (output.out, &output.name);
                To::Columns(Box::new(ColumnSink::new(out, name, output.format, &format.schema)?))
            }
        };
        Ok(Self { name: output.name, to })
    }

    pub(super) fn write(&mut self, piece: Piece) -> Result<(), WriteError> {
        match (&mut self.to, piece) {
            (To::Text(out), Piece::Text(bytes)) => {
                out.write_all(&bytes).map_err(|error| WriteError::io(&self.name, error))
            }
            #[cfg(feature = "arrow")]
            (To::Columns(out), Piece::Rows(batch)) => out.write(&self.name, &batch),
            #[cfg(feature = "arrow")]
            (To::Text(_), Piece::Rows(_)) | (To::Columns(_), Piece::Text(_)) => {
                unreachable!("pieces are made for the output they go to")
            }
        }
    }

    /// Writes what stands at the end, and gives the output back.
    pub(super) fn finish(self) -> Result<W, WriteError> {
        let mut out = match self.to {
            To::Text(out) => out,
            #[cfg(feature = "arrow")]
            To::Columns(out) => out.finish(&self.name)?,
        };
        out.flush().map_err(|error| WriteError::io(&self.name, error))?;
        Ok(out)
    }
}
