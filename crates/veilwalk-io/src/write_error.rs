//! What can go wrong when a file is written.

use std::fmt;
use std::io;

use thiserror::Error;
use veilwalk::error::Remedy;

use crate::own_columns::OwnColumns;

/// Why something could not be written: where to, and what is wrong.
///
/// The message is whole in itself and holds the text of its cause.
#[derive(Debug, Error)]
pub struct WriteError {
    file: String,
    kind: WriteErrorKind,
}

impl WriteError {
    /// An error with the file of this name.
    pub fn new(file: impl Into<String>, kind: WriteErrorKind) -> Self {
        Self { file: file.into(), kind }
    }

    pub(crate) fn io(file: impl Into<String>, error: io::Error) -> Self {
        Self::new(file, WriteErrorKind::Io(error))
    }

    /// An error of the CSV writer, which would hide its cause if it were turned into one of the
    /// operating system's.
    pub(crate) fn csv(file: impl Into<String>, error: csv::Error) -> Self {
        Self::io(
            file,
            match error.into_kind() {
                csv::ErrorKind::Io(error) => error,
                other => io::Error::other(format!("{other:?}")),
            },
        )
    }

    /// The same error under another name for the file, for output that did not know its own.
    #[must_use]
    pub fn named(mut self, file: impl Into<String>) -> Self {
        self.file = file.into();
        self
    }

    /// The name of the file, as it was given.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> &WriteErrorKind {
        &self.kind
    }

    /// Whether the reader of a pipe has gone away, as `head` does when it has seen enough.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        matches!(&self.kind, WriteErrorKind::Io(e) if e.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.kind)
    }
}

/// What is wrong with an output.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteErrorKind {
    /// The directory does not exist.
    #[error("there is no directory {0:?}; create it, or choose another path")]
    NoDirectory(String),
    /// The directory does not let itself be written to.
    #[error(
        "files cannot be created in {directory:?} ({error}); choose a directory that you can \
         write to"
    )]
    Directory {
        /// The directory.
        directory: String,
        /// What the operating system says.
        error: io::Error,
    },
    /// The path is taken by something that is not a plain file.
    #[error("this is not a plain file, and is not replaced by one; choose another path")]
    NotAFile,
    /// The file exists and is read-only.
    #[error("the file exists and is read-only; make it writable, or choose another path")]
    ReadOnly,
    /// Writing failed.
    #[error("writing failed ({0}); check the space on the disk and that the path can be written")]
    Io(io::Error),
    /// A kept column that would be confused with one of the release's own.
    #[error(
        "the column {0:?} cannot be kept: the release has a column of that name; rename it in the \
         input, or keep another with {how}",
        how = Remedy::KeepColumns
    )]
    ColumnTaken(String),
    /// Not one value for each kept column.
    #[error("the row has {found} kept values for {expected} kept columns; give one for each")]
    KeptCount {
        /// How many columns are kept.
        expected: usize,
        /// How many values were given.
        found: usize,
    },
    /// A row with an observation where the release has no column for it, or the other way round.
    #[error("the release was started with the columns {}, and that is not what is written; start it with \
         `OwnColumns::of` the mechanism", .0.names().join(", "))]
    OtherColumns(OwnColumns),
    /// A format that has no rows of its own.
    #[error("this format is not written row by row; write CSV, TSV or NDJSON")]
    NotRowByRow,
    /// A format that this build of the library does not write.
    #[error("this build does not write this format; build veilwalk-io with its default features")]
    NotBuiltIn,
    /// What is to be written does not fit the format.
    #[error("the release does not fit the format ({0}); write CSV, TSV or NDJSON instead")]
    Unfit(String),
    /// A state whose label is empty, which no file can hold.
    #[error("state number {0} has an empty label; give it one before writing the chain")]
    EmptyLabel(usize),
}
