//! Where rows go that are made here: text that may be compressed, or columns of Arrow.
//!
//! Whoever has rows says how they are written as text and what their columns are; which of the two is asked for, and what
//! stands above and below the rows, is settled here.

use std::io::Write;
#[cfg(feature = "arrow")]
use std::sync::Arc;

#[cfg(feature = "arrow")]
use arrow_array::{ArrayRef, RecordBatch};
#[cfg(feature = "arrow")]
use arrow_schema::{DataType, Field, Schema, SchemaRef};

#[cfg(feature = "arrow")]
use crate::columns::{ColumnSink, arrow_error};
use crate::compression::Compression;
use crate::table_writer::ColumnKind;
use crate::walks::WalkFormat;
use crate::write_error::WriteError;
#[cfg(not(feature = "arrow"))]
use crate::write_error::WriteErrorKind;

/// Rows that can be written either way.
pub(crate) trait Rows {
    /// As lines of text.
    fn text(&self) -> Vec<u8>;

    /// As one array for each column.
    #[cfg(feature = "arrow")]
    fn columns(&self) -> Vec<ArrayRef>;
}

/// Takes rows.
pub(crate) struct RowsOut<W: Write + Send> {
    name: String,
    to: To<W>,
}

enum To<W: Write + Send> {
    Text {
        out: W,
        compression: Compression,
    },
    #[cfg(feature = "arrow")]
    Columns {
        schema: SchemaRef,
        out: Box<ColumnSink<W>>,
    },
}

impl<W: Write + Send> std::fmt::Debug for RowsOut<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let to = match self.to {
            To::Text { .. } => "text",
            #[cfg(feature = "arrow")]
            To::Columns { .. } => "columns",
        };
        f.debug_struct("RowsOut").field("name", &self.name).field("to", &to).finish()
    }
}

impl<W: Write + Send> RowsOut<W> {
    /// Starts with this line above rows of text, or with these columns.
    pub(crate) fn new(
        mut out: W,
        name: &str,
        format: WalkFormat,
        compression: Compression,
        header: Vec<u8>,
        columns: &[(&str, ColumnKind)],
    ) -> Result<Self, WriteError> {
        let to = if format.is_text() {
            let written = compression.pack(header).and_then(|header| out.write_all(&header));
            written.map_err(|error| WriteError::io(name, error))?;
            To::Text { out, compression }
        } else {
            in_columns(out, name, format, columns)?
        };
        Ok(Self { name: name.to_owned(), to })
    }

    /// What messages call the output.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn write(&mut self, rows: &impl Rows) -> Result<(), WriteError> {
        match &mut self.to {
            To::Text { out, compression } => {
                let packed = compression.pack(rows.text());
                packed
                    .and_then(|packed| out.write_all(&packed))
                    .map_err(|error| WriteError::io(&self.name, error))
            }
            #[cfg(feature = "arrow")]
            To::Columns { schema, out } => {
                let batch = RecordBatch::try_new(schema.clone(), rows.columns());
                out.write(&self.name, &batch.map_err(|error| arrow_error(&self.name, error))?)
            }
        }
    }

    /// Writes what stands at the end, and gives the output back.
    pub(crate) fn finish(self) -> Result<W, WriteError> {
        let mut out = match self.to {
            To::Text { out, .. } => out,
            #[cfg(feature = "arrow")]
            To::Columns { out, .. } => out.finish(&self.name)?,
        };
        out.flush().map_err(|error| WriteError::io(&self.name, error))?;
        Ok(out)
    }
}

#[cfg(feature = "arrow")]
fn in_columns<W: Write + Send>(
    out: W,
    name: &str,
    format: WalkFormat,
    columns: &[(&str, ColumnKind)],
) -> Result<To<W>, WriteError> {
    let field = |&(name, kind): &(&str, ColumnKind)| {
        let kind = match kind {
            ColumnKind::Names | ColumnKind::States => DataType::Utf8,
            ColumnKind::Whole => DataType::Int64,
            ColumnKind::Numbers => DataType::Float64,
        };
        Field::new(name, kind, false)
    };
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let out = ColumnSink::new(out, name, format, &schema)?;
    Ok(To::Columns { schema, out: Box::new(out) })
}

#[cfg(not(feature = "arrow"))]
fn in_columns<W: Write + Send>(
    _: W,
    name: &str,
    _: WalkFormat,
    _: &[(&str, ColumnKind)],
) -> Result<To<W>, WriteError> {
    Err(WriteError::new(name, WriteErrorKind::NotBuiltIn))
}
