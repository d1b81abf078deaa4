//! Events in files: who, when, and where or what.
//!
//! A table is read row by row by the reader of walks, with other columns. A log of cases in XES, the standard of
//! process mining, is read event by event, and so is a trace in GPX. Nothing is sorted here, and values are texts as they stand in the file.

mod gpx;
mod options;
mod xes;
mod xml;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::compression::Compression;
use crate::counted::{BytesRead, Counted, size_of_file};
use crate::read_error::{Place, ReadError, ReadErrorKind};
use crate::walks::{WalkFormat, WalkOptions, WalkReader};

use gpx::GpxReader;
pub use options::{EventColumns, EventOptions};
use xes::XesReader;

/// Reads events one by one.
///
/// ```
/// use veilwalk_io::{EventOptions, EventPlace, EventReader};
///
/// let text = "person,time,state\nann,2024-03-01T08:00:00Z,home\n";
/// let mut events = EventReader::new(text.as_bytes(), "log.csv", &EventOptions::default())?;
/// let event = events.next_event()?.unwrap();
/// assert_eq!((event.person, event.time), ("ann", "2024-03-01T08:00:00Z"));
/// assert_eq!(event.at, EventPlace::State("home"));
/// # Ok::<(), veilwalk_io::ReadError>(())
/// ```
#[derive(Debug)]
pub struct EventReader<R: Read> {
    source: Source<R>,
    /// The size of the file and how much of it was read, where both are known.
    progress: Option<(u64, BytesRead)>,
}

enum Source<R: Read> {
    Rows(Box<WalkReader<R>>),
    Xes(Box<XesReader<R>>),
    Gpx(Box<GpxReader<R>>),
}

impl<R: Read> std::fmt::Debug for Source<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Rows(_) => "Rows",
            Self::Xes(_) => "Xes",
            Self::Gpx(_) => "Gpx",
        })
    }
}

/// One event, as it stands in a file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EventRow<'a> {
    /// The line or row, for messages.
    pub place: Place,
    /// Whose it is; not empty.
    pub person: &'a str,
    /// When it was; not empty.
    pub time: &'a str,
    /// Where it was.
    pub at: EventPlace<'a>,
}

/// Where a person was, or what happened, as it stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventPlace<'a> {
    /// The label of a state; not empty.
    State(&'a str),
    /// A position on the earth.
    Position {
        /// The latitude; not empty.
        latitude: &'a str,
        /// The longitude; not empty.
        longitude: &'a str,
    },
}

impl EventReader<Box<dyn Read + Send>> {
    /// Opens a file. Its extension tells the format, or else its first line: `.xes` is a log of cases, `.gpx` a trace,
    /// anything else as for walks.
    ///
    /// # Errors
    ///
    /// As [`EventReader::new`], and if the file cannot be opened.
    pub fn open(path: &Path, options: &EventOptions) -> Result<Self, ReadError> {
        let (read, mut size) = (BytesRead::default(), None);
        let mut count = |file: File| -> Box<dyn Read + Send> {
            size = size_of_file(&file);
            Box::new(Counted { input: Box::new(file), read: Arc::clone(&read) })
        };
        let at_positions = matches!(options.place, EventColumns::Position { .. });
        let source = if at_positions && has_extension(path, "gpx") {
            let name = path.display().to_string();
            let fail = |error| ReadError::new(&name, None, ReadErrorKind::from_io(error));
            let file = count(File::open(path).map_err(fail)?);
            let inner = path.file_name().and_then(|name| name.to_str()).unwrap_or("trace");
            let usual = inner.split('.').next().filter(|usual| !usual.is_empty());
            let usual = usual.unwrap_or("trace");
            let gpx = GpxReader::open(file, &name, usual, Compression::from_path(path))?;
            Source::Gpx(Box::new(gpx))
        } else if has_extension(path, "xes") {
            let name = path.display().to_string();
            let fail = |error| ReadError::new(&name, None, ReadErrorKind::from_io(error));
            let file = count(File::open(path).map_err(fail)?);
            let wanted = options.wanted(&options::OF_XES);
            let xes = XesReader::open(file, &name, wanted, Compression::from_path(path))?;
            Source::Xes(Box::new(xes))
        } else {
            let wanted = options.wanted(&options::OF_TABLES);
            let rows = WalkReader::open_wanted(path, WalkOptions::default(), wanted, count)?;
            Source::Rows(Box::new(rows))
        };
        Ok(Self { source, progress: size.map(|size| (size, read)) })
    }
}

impl<R: Read> EventReader<R> {
    /// Starts to read a table. Its first line tells the format: NDJSON starts with `{`. Messages call the input `name`.
    ///
    /// # Errors
    ///
    /// If there is no header line, or it lacks a column of the options, or the options ask for one
    /// column twice.
    pub fn new(input: R, name: &str, options: &EventOptions) -> Result<Self, ReadError> {
        let wanted = options.wanted(&options::OF_TABLES);
        let none = Compression::None;
        let rows = WalkReader::start_wanted(input, name, WalkOptions::default(), wanted, none)?;
        Ok(Self { source: Source::Rows(Box::new(rows)), progress: None })
    }

    /// What messages call the input.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.source {
            Source::Rows(rows) => rows.name(),
            Source::Xes(xes) => xes.name(),
            Source::Gpx(gpx) => gpx.name(),
        }
    }

    /// What share of a file has been read; zero where nobody can tell.
    #[must_use]
    pub fn share_read(&self) -> f64 {
        match &self.progress {
            Some((size, read)) if *size > 0 => read.load(Ordering::Relaxed) as f64 / *size as f64,
            _ => 0.0,
        }
    }

    /// The next event, or nothing at the end.
    ///
    /// # Errors
    ///
    /// If the line is not as the format and the options say. Reading on after an error is not
    /// meaningful.
    pub fn next_event(&mut self) -> Result<Option<EventRow<'_>>, ReadError> {
        match &mut self.source {
            Source::Rows(rows) => {
                let wanted = rows.wanted_columns();
                let Some(record) = rows.next_record()? else { return Ok(None) };
                Ok(Some(row(record.place, wanted, |at| record.get(at))))
            }
            Source::Xes(xes) => xes.next_event(),
            Source::Gpx(gpx) => gpx.next_event(),
        }
    }
}

/// An event of the wanted values.
fn row<'a>(place: Place, wanted: usize, get: impl Fn(usize) -> &'a str) -> EventRow<'a> {
    let at = match wanted {
        3 => EventPlace::State(get(2)),
        _ => EventPlace::Position { latitude: get(2), longitude: get(3) },
    };
    EventRow { place, person: get(0), time: get(1), at }
}

/// Whether the name of a file ends like this, packed or not, and does not name a format of walks.
fn has_extension(path: &Path, wanted: &str) -> bool {
    let packed = Compression::from_path(path) != Compression::None;
    let inner = if packed { path.file_stem().map(Path::new) } else { Some(path) };
    let extension = inner.and_then(Path::extension).and_then(|e| e.to_str());
    WalkFormat::from_path(path).is_none()
        && extension.is_some_and(|e| e.eq_ignore_ascii_case(wanted))
}
