//! The third stage: released states become bytes of text, or columns.

use super::WalkRelease;
use super::answer::Answer;
use super::input::InputLayout;
use super::sink::{Piece, ReleaseOutput};
use super::text_format::TextFormat;
#[cfg(feature = "arrow")]
use crate::columns::{ColumnFormat, arrow_error};
use crate::compression::Compression;
use crate::own_columns::OwnColumns;
use crate::row_text::RowText;
use crate::write_error::{WriteError, WriteErrorKind};

/// What answers are written as.
#[derive(Debug)]
pub(super) enum Format {
    Text {
        format: TextFormat,
        compression: Compression,
        output: String,
    },
    #[cfg(feature = "arrow")]
    Columns {
        format: ColumnFormat,
        kept: usize,
        output: String,
    },
}

impl Format {
    /// The format of an output, in the types of the input where both are columns.
    #[cfg_attr(not(feature = "arrow"), expect(unused_variables, reason = "for columns"))]
    pub(super) fn new<W>(
        release: &WalkRelease<'_>,
        input: &InputLayout,
        output: &ReleaseOutput<W>,
    ) -> Result<Self, WriteError> {
        let (kept, name) = (output.kept.len(), output.name.clone());
        let own = OwnColumns::of(&release.mechanism);
        own.check_kept(&name, &output.kept)?;
        if output.format.is_text() {
            let text = RowText::new(output.format, own, &output.kept);
            let format = TextFormat::new(text, own, &release.mechanism, kept);
            return Ok(Self::Text { format, compression: output.compression, output: name });
        }
        #[cfg(not(feature = "arrow"))]
        return Err(WriteError::new(name, WriteErrorKind::NotBuiltIn));
        #[cfg(feature = "arrow")]
        {
            let columns = match input {
                InputLayout::Text(_) => None,
                InputLayout::Columns(columns) => Some(&**columns),
            };
            let format =
                ColumnFormat::new(output.format, &release.mechanism, own, &output.kept, columns)
                    .map_err(|error| arrow_error(&name, error))?;
            Ok(Self::Columns { format, kept, output: name })
        }
    }

    /// What stands above the rows.
    pub(super) fn header<W>(&self, output: &ReleaseOutput<W>) -> Result<Option<Piece>, WriteError> {
        match self {
            Self::Text { format, compression, output: name } => {
                let header = format.header(&output.kept);
                let packed =
                    compression.pack(header).map_err(|error| WriteError::io(name, error))?;
                Ok(Some(Piece::Text(packed)))
            }
            #[cfg(feature = "arrow")]
            Self::Columns { .. } => Ok(None),
        }
    }

    pub(super) fn format(&self, answer: &Answer) -> Result<Piece, WriteError> {
        match self {
            Self::Text { format, compression, output } => {
                let bytes = format
                    .format(answer)
                    .map_err(|problem| WriteError::new(output, WriteErrorKind::Unfit(problem)))?;
                let packed = compression.pack(bytes);
                packed.map(Piece::Text).map_err(|error| WriteError::io(output, error))
            }
            #[cfg(feature = "arrow")]
            Self::Columns { format, kept, output } => {
                let rows = super::format_columns::rows_of(
                    answer,
                    format.shape(),
                    format.own_columns(),
                    *kept,
                );
                format.batch(rows).map(Piece::Rows).map_err(|error| arrow_error(output, error))
            }
        }
    }
}
