//! The formats of walks and releases, and how they are told apart.

use std::fs::File;
use std::path::Path;

use crate::compression::{Compression, peek};
use crate::read_error::{ReadError, ReadErrorKind};

/// How rows are written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkFormat {
    /// A header line, then one line for each row, with fields separated by commas.
    Csv,
    /// The same with tabs. A file that is read tells by its header which of the two it is.
    Tsv,
    /// One JSON object on each line.
    Ndjson,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, as a file (which Feather is too).
    ArrowFile,
    /// Arrow IPC, as a stream.
    ArrowStream,
}

impl WalkFormat {
    /// The format that a file's extension stands for: `.csv`, `.tsv`, `.ndjson` or `.jsonl`, which
    /// may be followed by `.gz` or `.zst`; `.parquet`; `.arrow`, `.feather` or `.ipc` for a file of
    /// Arrow, and `.arrows` for a stream.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = |name: &Path| Some(name.extension()?.to_str()?.to_ascii_lowercase());
        let packed = Compression::from_path(path) != Compression::None;
        let inner = if packed { Path::new(path.file_stem()?) } else { path };
        let format = match extension(inner)?.as_str() {
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "ndjson" | "jsonl" => Self::Ndjson,
            "parquet" => Self::Parquet,
            "arrow" | "feather" | "ipc" => Self::ArrowFile,
            "arrows" => Self::ArrowStream,
            _ => return None,
        };
        (format.is_text() || !packed).then_some(format)
    }

    /// The format of a file: the one that is given, or that its extension stands for, or that its
    /// first bytes tell. None if it can only be told by its first line.
    pub(crate) fn of_file(path: &Path, given: Option<Self>) -> Option<Self> {
        given.or_else(|| Self::from_path(path)).or_else(|| {
            if !path.is_file() {
                return None;
            }
            let (first, _) = peek(File::open(path).ok()?, &Self::MAGICS).ok()?;
            Self::of_magic(&first)
        })
    }

    /// Whether it is lines of text.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Ndjson)
    }

    /// The format of columns that starts with these bytes, if it is one.
    pub(crate) fn of_magic(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [b'P', b'A', b'R', b'1', ..] => Some(Self::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Self::ArrowFile),
            [0xff, 0xff, 0xff, 0xff, ..] => Some(Self::ArrowStream),
            _ => None,
        }
    }

    /// Its name in messages.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Ndjson => "NDJSON",
            Self::Parquet => "Parquet",
            Self::ArrowFile => "Arrow",
            Self::ArrowStream => "Arrow stream",
        }
    }

    /// That it cannot be read from a pipe.
    pub(crate) fn needs_file(self, file: &str) -> ReadError {
        ReadError::new(file, None, ReadErrorKind::NeedsFile { format: self.in_words() })
    }

    /// That this build of the library does not read it.
    #[cfg(not(feature = "parquet"))]
    pub(crate) fn not_built_in(self, file: &str) -> ReadError {
        ReadError::new(file, None, ReadErrorKind::NotBuiltIn { format: self.in_words() })
    }

    /// The first bytes that tell formats of columns.
    pub(crate) const MAGICS: [&[u8]; 3] = [b"PAR1", b"ARROW1", &[0xff; 4]];

    /// The format of a file that starts with this line.
    pub(crate) fn of_line(line: &str) -> Self {
        match line.trim_start().starts_with('{') {
            true => Self::Ndjson,
            false => Self::Csv,
        }
    }
}

/// How rows make walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A row for each state.
    Long,
    /// A row for each walk, with the list of its states.
    Lists,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_tell_the_format() {
        let of = |name: &str| WalkFormat::from_path(Path::new(name));
        assert_eq!(of("a.csv"), Some(WalkFormat::Csv));
        assert_eq!(of("a.TSV"), Some(WalkFormat::Tsv));
        assert_eq!(of("b/a.ndjson"), Some(WalkFormat::Ndjson));
        assert_eq!(of("a.jsonl"), Some(WalkFormat::Ndjson));
        assert_eq!(of("a.txt"), None);
        assert_eq!(of("csv"), None);
        assert_eq!(of("a.csv.gz"), Some(WalkFormat::Csv));
        assert_eq!(of("a.jsonl.ZST"), Some(WalkFormat::Ndjson));
        assert_eq!(of("a.gz"), None);
        assert_eq!(of("a.parquet"), Some(WalkFormat::Parquet));
        assert_eq!(of("a.parquet.gz"), None);
        assert_eq!(of("a.feather"), Some(WalkFormat::ArrowFile));
        assert_eq!(of("a.arrows"), Some(WalkFormat::ArrowStream));
    }
}
