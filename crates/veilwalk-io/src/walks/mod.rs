//! Walks in files: one line for each step, with the trajectory it belongs to and the state.
//!
//! Lines of different trajectories may alternate; within one, the order of the lines is the order of
//! the steps. Rows are read one at a time into the same buffers, and a row is given out as soon as
//! its line is complete, so a pipe can be answered line by line. Parquet and Arrow are read batch by
//! batch, and given out in the same rows.

mod format;
mod ndjson;
mod options;
mod wanted;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::AtomicBool;

#[cfg(feature = "arrow")]
use crate::columns::{ColumnReader, Rows};
use crate::compression::{Compression, Peeked, peek, unpeeked};
use crate::lines::{Blank, Lines};
use crate::read_error::{Place, ReadError, ReadErrorKind};
use crate::table::{Record, Table};

use ndjson::Objects;

pub(crate) use format::Shape;
pub use format::WalkFormat;
pub use options::{ColumnRole, WalkOptions};
pub(crate) use wanted::Wanted;

/// Reads walks row by row.
///
/// ```
/// use veilwalk_io::{WalkOptions, WalkReader};
///
/// let text = "when,who,where\n8:00,ann,home\n8:10,bob,shop\n9:00,ann,work\n";
/// let options = WalkOptions {
///     trajectory_column: "who".into(),
///     state_column: "where".into(),
///     keep: vec!["when".into()],
///     ..Default::default()
/// };
/// let mut walks = WalkReader::new(text.as_bytes(), "trips.csv", options)?;
/// let row = walks.next_row()?.unwrap();
/// assert_eq!((row.line, row.trajectory, row.state), (2, "ann", "home"));
/// assert_eq!(row.kept.collect::<Vec<_>>(), ["8:00"]);
/// # Ok::<(), veilwalk_io::ReadError>(())
/// ```
pub struct WalkReader<R: Read> {
    source: Source<R>,
    /// The places of the wanted columns.
    columns: Vec<usize>,
    wanted: Wanted,
    options: WalkOptions,
    name: String,
}

enum Source<R: Read> {
    Table(Table<Peeked<R>>),
    Objects {
        lines: Lines<Peeked<R>>,
        objects: Objects,
    },
    #[cfg(feature = "arrow")]
    Columns(Rows<Peeked<R>>),
}

impl WalkReader<Box<dyn Read + Send>> {
    /// Opens a file. If the options leave the format open, the file's extension tells it, or else
    /// its first line.
    ///
    /// # Errors
    ///
    /// As [`WalkReader::new`], and if the file cannot be opened.
    pub fn open(path: &Path, options: WalkOptions) -> Result<Self, ReadError> {
        Self::open_as(path, options, |file| Box::new(file))
    }
}

impl<R: Read> WalkReader<R> {
    /// Starts to read. If the options leave the format open, the first line tells it: NDJSON starts
    /// with `{`. Messages call the input `name`.
    ///
    /// The first line of CSV, which names the columns, is read here.
    ///
    /// # Errors
    ///
    /// If there is no header line, or it lacks a column of the options, or the options ask for one
    /// column twice.
    pub fn new(input: R, name: &str, options: WalkOptions) -> Result<Self, ReadError> {
        Self::start(input, name, options, Compression::None)
    }

    /// Opens a file, and reads it as this input.
    pub(crate) fn open_as(
        path: &Path,
        options: WalkOptions,
        input: impl FnOnce(File) -> R,
    ) -> Result<Self, ReadError> {
        let wanted = Wanted::from(&options);
        Self::open_wanted(path, options, wanted, input)
    }

    /// The same for any columns, whose rows [`WalkReader::next_record`] gives.
    pub(crate) fn open_wanted(
        path: &Path,
        mut options: WalkOptions,
        wanted: Wanted,
        input: impl FnOnce(File) -> R,
    ) -> Result<Self, ReadError> {
        options.format = WalkFormat::of_file(path, options.format);
        match options.format {
            #[cfg(feature = "arrow")]
            Some(format @ (WalkFormat::Parquet | WalkFormat::ArrowFile)) => {
                let reader = ColumnReader::open(path, format, &wanted)?;
                Ok(Self::from_columns(reader, options, wanted))
            }
            _ => {
                let name = path.display().to_string();
                let fail = |error| ReadError::new(&name, None, ReadErrorKind::from_io(error));
                let file = File::open(path).map_err(fail)?;
                let compression = Compression::from_path(path);
                Self::start_wanted(input(file), &name, options, wanted, compression)
            }
        }
    }

    /// Starts to read what should be compressed like this.
    pub(crate) fn start(
        input: R,
        name: &str,
        options: WalkOptions,
        expected: Compression,
    ) -> Result<Self, ReadError> {
        let wanted = Wanted::from(&options);
        Self::start_wanted(input, name, options, wanted, expected)
    }

    /// The same for any columns, whose rows [`WalkReader::next_record`] gives.
    pub(crate) fn start_wanted(
        input: R,
        name: &str,
        mut options: WalkOptions,
        wanted: Wanted,
        expected: Compression,
    ) -> Result<Self, ReadError> {
        let fail = |error| ReadError::new(name, None, ReadErrorKind::from_io(error));
        let magics = if options.format.is_none() { &WalkFormat::MAGICS[..] } else { &[] };
        let (first, input) = peek(input, magics).map_err(fail)?;
        options.format = options.format.or_else(|| WalkFormat::of_magic(&first));
        match options.format {
            #[cfg(feature = "arrow")]
            Some(WalkFormat::ArrowStream) => {
                let reader = ColumnReader::stream(input, name, &wanted)?;
                Ok(Self::from_columns(reader, options, wanted))
            }
            #[cfg(not(feature = "arrow"))]
            Some(format) if !format.is_text() => Err(format.not_built_in(name)),
            Some(format) if !format.is_text() => Err(format.needs_file(name)),
            _ => {
                let mut lines = Lines::new(input, name);
                lines.expect_compression(expected)?;
                Self::from_lines(lines, options, wanted)
            }
        }
    }

    #[cfg(feature = "arrow")]
    fn from_columns(reader: ColumnReader<Peeked<R>>, options: WalkOptions, wanted: Wanted) -> Self {
        let name = reader.columns.file.clone();
        let columns = (0..wanted.len()).collect();
        Self { source: Source::Columns(Rows::new(reader)), columns, wanted, options, name }
    }

    fn from_lines(
        mut lines: Lines<Peeked<R>>,
        options: WalkOptions,
        wanted: Wanted,
    ) -> Result<Self, ReadError> {
        wanted.check().map_err(|kind| lines.error(kind))?;
        let name = lines.name().to_owned();
        let format = match options.format {
            Some(format) => format,
            None => lines.peek()?.map_or(WalkFormat::Csv, WalkFormat::of_line),
        };
        let (source, columns) = match format {
            WalkFormat::Csv | WalkFormat::Tsv => {
                let expected = match wanted.role(0) {
                    ColumnRole::Person => "person,time,state",
                    _ => "trajectory,state",
                };
                let table = Table::new(lines, expected)?;
                let columns = wanted
                    .find_in(table.header())
                    .map_err(|kind| table.lines().error_at(table.header_line(), kind))?;
                (Source::Table(table), columns)
            }
            _ => (Source::objects(lines, &wanted), (0..wanted.len()).collect()),
        };
        Ok(Self { source, columns, wanted, options, name })
    }

    /// What has been found out, and what is left to read, for reading parts of it on their own.
    pub(crate) fn into_unread(self) -> Unread<R> {
        let format = self.format();
        let Self { source, columns, options, name, .. } = self;
        let (header, header_line, rest) = match source {
            #[cfg(feature = "arrow")]
            Source::Columns(rows) => return Unread::Columns(rows.reader),
            Source::Table(table) => {
                (table.header().to_vec(), table.header_line(), table.into_lines())
            }
            Source::Objects { lines, .. } => (Vec::new(), 0, lines),
        };
        Unread::Text(Layout { name, options, format, header, header_line, columns }, rest)
    }

    /// Reads whole lines from the middle of a file, of which the first has this number.
    pub(crate) fn within(layout: &Layout, input: R, first_line: u64) -> Self {
        let lines = Lines::from_line(unpeeked(input), &layout.name, first_line);
        let wanted = Wanted::from(&layout.options);
        let source = match layout.delimiter() {
            Some(delimiter) => {
                let header = layout.header.clone();
                Source::Table(Table::within(lines, delimiter, header, layout.header_line))
            }
            None => Source::objects(lines, &wanted),
        };
        Self {
            source,
            columns: layout.columns.clone(),
            wanted,
            options: layout.options.clone(),
            name: layout.name.clone(),
        }
    }

    /// The format that is read.
    #[must_use]
    pub fn format(&self) -> WalkFormat {
        match self.source {
            Source::Table(ref table) => match table.delimiter() {
                b'\t' => WalkFormat::Tsv,
                _ => WalkFormat::Csv,
            },
            Source::Objects { .. } => WalkFormat::Ndjson,
            #[cfg(feature = "arrow")]
            Source::Columns(ref rows) => rows.reader.columns.format,
        }
    }

    /// The names of all columns, also of those that are not read. NDJSON has none: each of its lines may
    /// have others.
    #[must_use]
    pub fn header(&self) -> Option<&[String]> {
        match &self.source {
            Source::Table(table) => Some(table.header()),
            Source::Objects { .. } => None,
            #[cfg(feature = "arrow")]
            Source::Columns(rows) => Some(&rows.reader.columns.header),
        }
    }

    /// What messages call the input.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For input that goes on for long: refuses lines of more bytes than this. Once `cut` is set, the input's end may be
    /// within a line, which is left out then.
    #[must_use]
    pub fn with_limits(mut self, longest_line: usize, cut: &'static AtomicBool) -> Self {
        let lines = match &mut self.source {
            Source::Table(table) => table.lines_mut(),
            Source::Objects { lines, .. } => lines,
            #[cfg(feature = "arrow")]
            Source::Columns(_) => return self,
        };
        lines.limit(longest_line);
        lines.drop_what_is_cut(cut);
        self
    }

    /// Gives the values of this many kept columns of NDJSON as JSON, so that numbers stay numbers. A
    /// [writer](crate::ReleaseWriter::with_kept_json) of NDJSON writes them as they are.
    #[must_use]
    pub fn with_kept_json(mut self, columns: usize) -> Self {
        if let Source::Objects { objects, .. } = &mut self.source {
            objects.keep_json(columns);
        }
        self
    }

    /// The columns that are kept.
    pub(crate) fn kept_columns(&self) -> &[String] {
        &self.options.keep
    }

    /// Whether the next row is there already, so that nothing has to be waited for. A row that may go on
    /// over several lines counts as not there.
    #[must_use]
    pub fn has_row_waiting(&self) -> bool {
        match &self.source {
            Source::Table(table) => {
                table.lines().waiting().is_some_and(|line| !line.contains(&b'"'))
            }
            Source::Objects { lines, .. } => lines.waiting().is_some(),
            #[cfg(feature = "arrow")]
            Source::Columns(_) => false,
        }
    }

    /// The next row, or nothing at the end.
    ///
    /// It waits for no more input than the line (or, if a quoted field has newlines in it, the
    /// lines) of this row.
    ///
    /// # Errors
    ///
    /// If the line is not as the format and the options say. Reading on is meaningful after an error that has a
    /// [code for one row](ReadErrorKind::row_code).
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, ReadError> {
        let Some(record) = self.next_record()? else {
            return Ok(None);
        };
        Ok(Some(Row {
            line: record.record.line,
            place: record.place,
            trajectory: record.get(0),
            state: record.get(1),
            kept: Kept { record: record.record, columns: record.columns[2..].iter() },
        }))
    }

    /// How many columns are wanted.
    pub(crate) fn wanted_columns(&self) -> usize {
        self.wanted.len()
    }

    /// The wanted values of the next row, of which none but a kept one is empty.
    pub(crate) fn next_record(&mut self) -> Result<Option<WantedRecord<'_>>, ReadError> {
        let place: fn(u64) -> Place = match &self.source {
            #[cfg(feature = "arrow")]
            Source::Columns(_) => Place::Row,
            _ => Place::Line,
        };
        let record = match &mut self.source {
            Source::Table(table) => table.next_record()?,
            Source::Objects { lines, objects } => match lines.advance(Blank::Skip)? {
                false => None,
                true => match objects.read(lines.text(), lines.number()) {
                    Ok(record) => Some(record),
                    Err(kind) => return Err(lines.error_at(lines.number(), kind)),
                },
            },
            #[cfg(feature = "arrow")]
            Source::Columns(rows) => rows.next_record()?,
        };
        let Some(record) = record else {
            return Ok(None);
        };
        let record = WantedRecord { record, columns: &self.columns, place: place(record.line) };
        for (at, (role, column)) in self.wanted.iter().enumerate() {
            if role != ColumnRole::Kept && record.get(at).is_empty() {
                let column = column.to_owned();
                let kind = ReadErrorKind::EmptyField { column };
                return Err(ReadError::at(&self.name, record.place, kind));
            }
        }
        Ok(Some(record))
    }
}

/// The wanted values of a row.
#[derive(Clone, Copy)]
pub(crate) struct WantedRecord<'a> {
    record: Record<'a>,
    columns: &'a [usize],
    pub(crate) place: Place,
}

impl<'a> WantedRecord<'a> {
    /// The value of the wanted column at this place.
    pub(crate) fn get(&self, at: usize) -> &'a str {
        self.record.get(self.columns[at])
    }
}

impl<R: Read> Source<R> {
    fn objects(lines: Lines<Peeked<R>>, wanted: &Wanted) -> Self {
        Self::Objects { lines, objects: Objects::new(wanted.clone()) }
    }
}

/// Walks of which no more than the header has been read.
pub(crate) enum Unread<R: Read> {
    Text(Layout, Lines<Peeked<R>>),
    #[cfg(feature = "arrow")]
    Columns(ColumnReader<Peeked<R>>),
}

/// What is known of a text of walks once its header has been read.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) name: String,
    pub(crate) options: WalkOptions,
    pub(crate) format: WalkFormat,
    pub(crate) header: Vec<String>,
    header_line: u64,
    /// The columns in the order of the roles: trajectory, state, then those kept.
    pub(crate) columns: Vec<usize>,
}

impl Layout {
    /// What stands between the fields of a table.
    pub(crate) fn delimiter(&self) -> Option<u8> {
        match self.format {
            WalkFormat::Csv => Some(b','),
            WalkFormat::Tsv => Some(b'\t'),
            _ => None,
        }
    }
}

impl<R: Read> std::fmt::Debug for WalkReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WalkReader").field("options", &self.options).finish_non_exhaustive()
    }
}

/// One step of one walk.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row<'a> {
    /// The line it starts on, or the row of a table that is not text, from one.
    pub line: u64,
    /// The same, for messages.
    pub place: Place,
    /// The name of the trajectory; not empty.
    pub trajectory: &'a str,
    /// The label of the state; not empty.
    pub state: &'a str,
    /// The values of the kept columns, in the order of [`WalkOptions::keep`].
    pub kept: Kept<'a>,
}

/// The values of the kept columns of a row.
#[derive(Clone, Debug)]
pub struct Kept<'a> {
    record: Record<'a>,
    columns: std::slice::Iter<'a, usize>,
}

impl<'a> Iterator for Kept<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.columns.next().map(|&column| self.record.get(column))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.columns.size_hint()
    }
}

impl ExactSizeIterator for Kept<'_> {}
