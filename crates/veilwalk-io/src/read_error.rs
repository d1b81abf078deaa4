//! What can be wrong with a file that is read.
//!
//! A message is whole in itself: the file, the line as an editor counts it, what was found, and what
//! to do. It already holds the text of its cause, so the error has no `source` to print after it.

use std::fmt;
use std::io;

use thiserror::Error;
use veilwalk::chain::{
    ChainError, CoordinatesError, FitTerms, InitialError, LengthError, UnknownState,
    WalkLengthsError,
};
use veilwalk::error::Remedy;

use crate::compression::{Compression, Damaged};
use crate::model_file::ModelProblem;
use crate::number::{NumberProblem, Quantity};
use crate::walks::ColumnRole;

/// Why a file could not be read: which file, which line or row, and what is wrong there.
#[derive(Debug, Error)]
pub struct ReadError {
    file: String,
    place: Option<Place>,
    kind: Box<ReadErrorKind>,
}

/// Where something is in a file, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of text, as an editor counts it.
    Line(u64),
    /// A row of a table that is not text.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

impl ReadError {
    /// An error in a file, with the line (from one) if it is about one line.
    pub fn new(file: impl Into<String>, line: Option<u64>, kind: ReadErrorKind) -> Self {
        Self { file: file.into(), place: line.map(Place::Line), kind: Box::new(kind) }
    }

    /// An error at a place in a file.
    pub fn at(file: impl Into<String>, place: Place, kind: ReadErrorKind) -> Self {
        Self { file: file.into(), place: Some(place), kind: Box::new(kind) }
    }

    /// The name of the file, as it was given.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line, counted from one, if the error is about one line.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        match self.place {
            Some(Place::Line(line)) => Some(line),
            _ => None,
        }
    }

    /// The line or the row, if the error is about one.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        self.place
    }

    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> &ReadErrorKind {
        &self.kind
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(f, "{}, {place}: {}", self.file, self.kind),
            None => write!(f, "{}: {}", self.file, self.kind),
        }
    }
}

/// What is wrong with a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// No file of this name.
    #[error("there is no such file; check the path")]
    NotFound,
    /// The operating system refused.
    #[error("the file could not be read ({0}); check that it is a file you may read")]
    Io(io::Error),
    /// Nothing in the file.
    #[error("the file is empty; it should start with a header line such as {expected}")]
    Empty {
        /// A header that would do.
        expected: &'static str,
    },
    /// A line that is longer than allowed.
    #[error("the line is longer than {longest} bytes; make it shorter, or allow for longer ones")]
    LongLine {
        /// The most bytes.
        longest: usize,
    },
    /// Bytes that are not text.
    #[error("the text is not UTF-8; save the file with the encoding UTF-8")]
    NotUtf8,
    /// A quoted field that reaches the end of the file.
    #[error(
        "a field starts with a quote that is never closed; close it, or write a quote that is \
         part of the field as \"\"\"\""
    )]
    UnclosedQuote,
    /// A line with more or fewer fields than the header.
    #[error(
        "there are {found} fields where the header has {expected}; add or remove fields, and put \
         a field that has the delimiter in it between quotes"
    )]
    FieldCount {
        /// How many fields the header has.
        expected: usize,
        /// How many this line has.
        found: usize,
    },
    /// A first line that is not a header this file may have.
    #[error("the header {found:?} is not known; {hint}; accepted are {accepted}")]
    UnknownHeader {
        /// The first line.
        found: String,
        /// What seems to be the matter.
        hint: HeaderHint,
        /// The headers that would do.
        accepted: &'static str,
    },
    /// A number that cannot be taken.
    #[error(
        "the {quantity} {found:?}{} {}",
        .column.as_ref().map(|c| format!(" in column {c:?}")).unwrap_or_default(),
        .problem.advice(*.quantity)
    )]
    BadNumber {
        /// What the number stands for.
        quantity: Quantity,
        /// What was found.
        found: String,
        /// What is wrong with it.
        problem: NumberProblem,
        /// The column of a matrix it is in.
        column: Option<String>,
    },
    /// A field that is not the number of a step.
    #[error(
        "{found:?} in column {column:?} is not the number of a step; write a whole number from 0 up"
    )]
    NotAStep {
        /// The column.
        column: String,
        /// What was found.
        found: String,
    },
    /// A field that must not be empty.
    #[error("the field in column {column:?} is empty; write a label there, or remove the line")]
    EmptyField {
        /// The column.
        column: String,
    },
    /// A column of a matrix without a label.
    #[error("column {column} has no label; give every state a label in the first line")]
    UnlabelledColumn {
        /// The column, counted from one.
        column: usize,
    },
    /// Two columns of one name.
    #[error("the columns {first} and {second} are both named {label:?}; rename one of them")]
    DuplicateColumn {
        /// The name.
        label: String,
        /// The first of them, counted from one.
        first: usize,
        /// The second.
        second: usize,
    },
    /// A state, or a number of moves, that has two rows.
    #[error("{label:?} already has line {first_line}; give each one line")]
    DuplicateRow {
        /// What stands there.
        label: String,
        /// The line it had before.
        first_line: u64,
    },
    /// A transition given twice.
    #[error(
        "the transition from {from:?} to {to:?} is already on line {first_line}; give each \
         transition once"
    )]
    DuplicateTransition {
        /// Where the transition starts.
        from: String,
        /// Where it ends.
        to: String,
        /// The line it was on before.
        first_line: u64,
    },
    /// A row of a matrix whose label is on no column.
    #[error(
        "the row {label:?} has no column of that label; the first line and the first column of a \
         matrix hold the same labels"
    )]
    UnknownRow {
        /// The label.
        label: String,
    },
    /// Columns of a matrix whose label is on no row.
    #[error("there is no row for {}; a matrix has one row for every column", listed(.labels))]
    MissingRows {
        /// The labels of the columns.
        labels: Vec<String>,
    },
    /// The file does not make a chain.
    #[error(transparent)]
    Chain(ChainError),
    /// A length that cannot be taken.
    #[error(transparent)]
    Length(LengthError),
    /// A place that is not on the earth.
    #[error(transparent)]
    Coordinates(CoordinatesError),
    /// States of the chain whose place is not told.
    #[error(
        "there is no place for {} of the chain's states: {}; add a line for each",
        .labels.len(),
        listed(.labels)
    )]
    NoPlace {
        /// Their labels.
        labels: Vec<String>,
    },
    /// Distances that are no metric on the states of a chain.
    #[error("{0}")]
    Distances(String),
    /// A comment of a chain that should say where walks start, and does not.
    #[error(
        "this comment should say where walks start, and does not ({0}); write it as \
         # {{\"initial\": [[\"home\", 0.6], [\"work\", 0.4]]}}, or leave the line out"
    )]
    StartsComment(String),
    /// The file does not make an initial distribution.
    #[error("{0}; correct the column \"probability\"")]
    Initial(InitialError),
    /// The file does not make a distribution of lengths.
    #[error("{0}; correct the column \"probability\"")]
    Lengths(WalkLengthsError),
    /// A field that is not a number of moves.
    #[error(
        "{found:?} is not a number of moves; write a whole number from 0 up to {most}",
        most = FitTerms::LONGEST
    )]
    NotMoves {
        /// What was found.
        found: String,
    },
    /// A label that is not a state of the chain.
    #[error("{}", unknown_state(.0))]
    UnknownState(UnknownState),
    /// Text that is not a manifest.
    #[error("this is not the manifest of a release: {0}")]
    NotAManifest(String),
    /// Text that does not say what walks were prepared with.
    #[error(
        "this does not say what the walks were prepared with: {0}; prepare them again, or remove the file"
    )]
    NotPrepared(String),
    /// A manifest of another version.
    #[error(
        "the manifest has format {0}; this version of veilwalk reads format {read}",
        read = crate::manifest::Manifest::FORMAT
    )]
    ManifestFormat(u32),
    /// Text that is not a mechanism.
    #[error("this is not a mechanism file: {0}; write one with {how}", how = Remedy::WriteMechanism)]
    NotAMechanism(String),
    /// A mechanism file of another version.
    #[error("the mechanism file has format {0}; this version of veilwalk reads format 1")]
    MechanismFormat(u32),
    /// A mechanism file that does not say what was written.
    #[error(
        "the file was changed or damaged: its checksum is not that of what it says; write it again with \
         {}, or take the checksum out if you changed the file yourself",
        Remedy::WriteMechanism
    )]
    DamagedMechanism,
    /// A compiled model that cannot be used.
    #[error("{0}; compile it again with {how}", how = Remedy::CompileModel)]
    Model(ModelProblem),
    /// A column that the header does not have.
    #[error(
        "there is no column {column:?} for {role}; the columns are {}; name one with {}{}",
        listed(.found), .role.remedy(), header_advice(.found)
    )]
    MissingColumn {
        /// The column that was asked for.
        column: String,
        /// What it was to hold.
        role: ColumnRole,
        /// The columns there are.
        found: Vec<String>,
    },
    /// One column asked for twice.
    #[error(
        "the column {column:?} is asked for as {first} and again as {second}; name \
         another with {}",
        .second.remedy()
    )]
    ColumnTwice {
        /// The column.
        column: String,
        /// What it was asked for as.
        first: ColumnRole,
        /// What it was asked for as again.
        second: ColumnRole,
    },
    /// A line that is not JSON.
    #[error("the line is not JSON (column {column}: {problem}); write one object on each line")]
    Json {
        /// Where in the line, counted from one.
        column: usize,
        /// What the parser says.
        problem: String,
    },
    /// A JSON value under a key that has to be a string or a whole number.
    #[error("the value of {key:?} is {found}; write a string or a whole number")]
    JsonType {
        /// The key.
        key: String,
        /// What was found.
        found: &'static str,
    },
    /// A log of cases that is no whole one.
    #[error(
        "this is not a whole XES log: {problem}; export it again, or download it again, and give the whole file"
    )]
    Xes {
        /// What is wrong.
        problem: String,
    },
    /// A trace that is not one.
    #[error("this is not a whole GPX trace: {problem}")]
    Gpx {
        /// What is wrong, and what to do.
        problem: String,
    },
    /// Compressed data that cannot be unpacked.
    #[error(
        "the {compression} data is damaged or cut short ({problem}); make the file again, or \
         download it again"
    )]
    Damaged {
        /// How it is compressed.
        compression: Compression,
        /// What the decoder says.
        problem: String,
    },
    /// A name that says more than the bytes.
    #[error("the name says {expected}, but the data is not; rename the file")]
    NotCompressed {
        /// What the name says.
        expected: Compression,
    },
    /// A file that is not what it seems, or is damaged.
    #[error(
        "this is not a whole {format} file ({problem}); make it again, or rename it to what it is"
    )]
    NotColumnar {
        /// The format.
        format: &'static str,
        /// What the decoder says.
        problem: String,
    },
    /// A format that has to be read from its end.
    #[error(
        "{format} cannot be read from a pipe; save it to a file first, or send an Arrow stream"
    )]
    NeedsFile {
        /// The format.
        format: &'static str,
    },
    /// A format that this build of the library does not read.
    #[error("this build does not read {format}; build veilwalk-io with its default features")]
    NotBuiltIn {
        /// The format.
        format: &'static str,
    },
    /// A column of a type that cannot be what it is asked for.
    #[error("the column {column:?} for {role} has the type {found}; expected is {expected}")]
    ColumnType {
        /// The column.
        column: String,
        /// What it is to hold.
        role: ColumnRole,
        /// Its type.
        found: String,
        /// The types that would do.
        expected: &'static str,
    },
    /// No value where one is needed.
    #[error("the column {column:?} has no value here (null); fill it in, or remove the row")]
    NullValue {
        /// The column.
        column: String,
    },
    /// A walk that goes on after its end.
    #[error(
        "the walk {name:?} goes on after it has ended; {}",
        if *.one_row {
            "put the states of each walk into one row".to_owned()
        } else {
            format!("bring the rows of each walk together, or leave out {}", Remedy::Grouped)
        }
    )]
    WalkAgain {
        /// The name of the trajectory.
        name: String,
        /// Whether each walk is one row.
        one_row: bool,
    },
    /// A walk of two people.
    #[error(
        "the walk {name:?} belongs to {second:?} here and to {first:?} before; a walk has one person, \
         so give walks of different people different names"
    )]
    OtherPerson {
        /// The name of the trajectory.
        name: String,
        /// Whose it was.
        first: String,
        /// Whose it is here.
        second: String,
    },
    /// A walk that cannot be released as a whole.
    #[error("the walk {name:?}: {problem}")]
    Walk {
        /// The name of the trajectory.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// A key that is twice in one object.
    #[error("the key {key:?} is there twice; keep one of them")]
    JsonKeyTwice {
        /// The key.
        key: String,
    },
}

/// The question whether another label was meant ends with a mark of its own.
fn unknown_state(unknown: &UnknownState) -> String {
    let then = if unknown.closest.is_some() { " Correct" } else { "; correct" };
    format!("{unknown}{then} the label, or add the state to the chain")
}

impl ReadErrorKind {
    pub(crate) fn from_io(error: io::Error) -> Self {
        let inner = error.get_ref().and_then(|e| e.downcast_ref::<Damaged>());
        if let Some(Damaged { compression, problem }) = inner {
            return Self::Damaged { compression: *compression, problem: problem.clone() };
        }
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            _ => Self::Io(error),
        }
    }

    /// A word for programs, where one row is wrong and those after it can be read. It does not depend on the state
    /// but for whether the chain has it.
    #[must_use]
    pub fn row_code(&self) -> Option<&'static str> {
        Some(match self {
            Self::LongLine { .. } => "too-long",
            Self::NotUtf8 => "not-utf-8",
            Self::UnclosedQuote => "quote",
            Self::FieldCount { .. } => "fields",
            Self::EmptyField { .. } => "empty-field",
            Self::NotAStep { .. } => "step",
            Self::UnknownState(_) => "unknown-state",
            Self::Json { .. } => "json",
            Self::JsonType { .. } => "type",
            Self::JsonKeyTwice { .. } => "key-twice",
            Self::MissingColumn { .. } => "missing-key",
            Self::WalkAgain { .. } => "walk-again",
            Self::OtherPerson { .. } => "person",
            Self::Walk { .. } => "walk",
            _ => return None,
        })
    }

    /// Adds the column to an error about a number.
    pub(crate) fn in_column(mut self, name: &str) -> Self {
        if let Self::BadNumber { column, .. } = &mut self {
            *column = Some(name.to_owned());
        }
        self
    }
}

/// What else may be the matter with a header that lacks a column.
fn header_advice(found: &[String]) -> &'static str {
    let is_number = |name: &String| name.trim().parse::<f64>().is_ok();
    match found {
        [only] if only.contains(';') => "; separate the fields with commas or tabs",
        _ if found.iter().any(is_number) => {
            "; if the first line is data, add a header line above it"
        }
        _ => "",
    }
}

/// What seems to be the matter with a header that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderHint {
    /// The first line looks like data.
    NoHeader,
    /// The fields seem to be separated by semicolons.
    Semicolons,
    /// There is a column too many.
    ExtraColumn(String),
    /// The names are not those of any table.
    Names,
}

impl fmt::Display for HeaderHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => f.write_str("it looks like data: add a header line above it"),
            Self::Semicolons => f.write_str("separate the fields with commas or tabs"),
            Self::ExtraColumn(name) if name.is_empty() => {
                f.write_str("remove the column without a name")
            }
            Self::ExtraColumn(name) => write!(f, "remove the column {name:?}"),
            Self::Names => f.write_str("rename its columns"),
        }
    }
}

/// Text for a message, cut if it is long.
pub(crate) fn shortened(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Names in quotes with commas between, or as many of them as a reader would want to see.
fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    let mut shown: Vec<String> =
        names.iter().take(MOST).map(|name| format!("{:?}", shortened(name))).collect();
    if names.len() > MOST {
        shown.push(format!("and {} more", names.len() - MOST));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shortened("abc"), "abc");
        let long = shortened(&"é".repeat(200));
        assert_eq!(long.chars().count(), 81);
        let names: Vec<String> = (0..20).map(|i| format!("n{i}")).collect();
        assert!(listed(&names).ends_with("\"n11\", and 8 more"));
    }

    #[test]
    fn a_message_names_the_file_and_the_line() {
        let error = ReadError::new("a.csv", Some(7), ReadErrorKind::NotUtf8);
        assert!(error.to_string().starts_with("a.csv, line 7: the text"));
        let error = ReadError::new("a.csv", None, ReadErrorKind::NotFound);
        assert_eq!(error.to_string(), "a.csv: there is no such file; check the path");
    }
}
