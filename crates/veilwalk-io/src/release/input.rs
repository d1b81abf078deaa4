//! Walks as they are read for a release: parts that can be parsed on any thread.

use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::text_blocks::{Cutter, Records, TextBlock};
#[cfg(feature = "arrow")]
use crate::columns::{ColumnPart, ColumnReader, Columns};
use crate::compression::{Compression, Peeked, Unpacked};
use crate::counted::{Counted, size_of_file};
use crate::read_error::{ReadError, ReadErrorKind};
#[cfg(feature = "arrow")]
use crate::walks::Shape;
use crate::walks::{Layout, Unread, WalkFormat, WalkOptions, WalkReader};

/// Input of any kind.
pub(super) type Bytes = Box<dyn Read + Send>;

/// Walks to be released, of which no more than the header has been read.
///
/// ```
/// use veilwalk_io::{WalkInput, WalkOptions};
///
/// let text = "trajectory,state\nann,home\nann,work\n";
/// let input = WalkInput::new(Box::new(text.as_bytes()), "trips.csv", WalkOptions::default())?;
/// assert_eq!(input.name(), "trips.csv");
/// # Ok::<(), veilwalk_io::ReadError>(())
/// ```
pub struct WalkInput {
    pub(super) parts: Parts,
    name: String,
    format: WalkFormat,
    read: Arc<AtomicU64>,
    size: Option<u64>,
}

/// Where parts come from.
pub(super) enum Parts {
    Text {
        cutter: Cutter<BufReader<Unpacked<Peeked<Counted>>>>,
        layout: Arc<Layout>,
    },
    #[cfg(feature = "arrow")]
    Columns(ColumnReader<Peeked<Counted>>),
}

/// What is known of all parts.
#[derive(Clone, Debug)]
pub(super) enum InputLayout {
    Text(Arc<Layout>),
    #[cfg(feature = "arrow")]
    Columns(Arc<Columns>),
}

impl InputLayout {
    /// What messages call the input.
    pub(super) fn file(&self) -> &str {
        match self {
            Self::Text(layout) => &layout.name,
            #[cfg(feature = "arrow")]
            Self::Columns(columns) => &columns.file,
        }
    }

    /// Whether kept values are columns with one for each state. Those cannot wait.
    pub(super) fn keeps_columns_of_states(&self) -> bool {
        match self {
            Self::Text(_) => false,
            #[cfg(feature = "arrow")]
            Self::Columns(columns) => columns.shape == Shape::Long,
        }
    }
}

/// A part of the input, not yet parsed.
#[derive(Debug)]
pub(super) enum Part {
    Text(Arc<Layout>, TextBlock),
    #[cfg(feature = "arrow")]
    Columns(Arc<Columns>, ColumnPart),
}

impl Parts {
    pub(super) fn layout(&self) -> InputLayout {
        match self {
            Self::Text { layout, .. } => InputLayout::Text(layout.clone()),
            #[cfg(feature = "arrow")]
            Self::Columns(reader) => InputLayout::Columns(reader.columns.clone()),
        }
    }

    /// Makes parts smaller, for releases that take long: between rounds of parts progress is reported, and the
    /// release can be stopped.
    pub(super) fn make_small(&mut self) {
        const SMALLER: usize = 16;
        match self {
            Self::Text { cutter, .. } => cutter.limit_size(WalkInput::BLOCK / SMALLER),
            #[cfg(feature = "arrow")]
            Self::Columns(reader) => reader.make_parts_smaller_by(SMALLER),
        }
    }

    /// The next part, or nothing at the end.
    pub(super) fn next_part(&mut self) -> Result<Option<Part>, ReadError> {
        match self {
            Self::Text { cutter, layout } => match cutter.next_block() {
                Ok(block) => Ok(block.map(|block| Part::Text(layout.clone(), block))),
                Err(error) => {
                    let kind = ReadErrorKind::from_io(error);
                    Err(ReadError::new(layout.name.as_str(), None, kind))
                }
            },
            #[cfg(feature = "arrow")]
            Self::Columns(reader) => {
                let part = reader.next_part()?;
                Ok(part.map(|part| Part::Columns(reader.columns.clone(), part)))
            }
        }
    }
}

impl WalkInput {
    /// Text is cut into blocks of about this many bytes.
    pub(super) const BLOCK: usize = 1 << 18;

    /// Opens a file. If the options leave the format open, the file's extension tells it, or else
    /// its first bytes.
    ///
    /// # Errors
    ///
    /// As [`WalkInput::new`], and if the file cannot be opened.
    pub fn open(path: &Path, options: WalkOptions) -> Result<Self, ReadError> {
        let (read, mut size) = (Arc::default(), None);
        let reader = WalkReader::open_as(path, options, |file| {
            size = size_of_file(&file);
            Counted { input: Box::new(file), read: Arc::clone(&read) }
        })?;
        Ok(Self { size, ..Self::of_reader(reader, read, Self::BLOCK) })
    }

    /// Starts to read. If the options leave the format open, the first bytes tell it. Messages call
    /// the input `name`.
    ///
    /// # Errors
    ///
    /// If there is no header line, or it lacks a column of the options, or the options ask for one
    /// column twice.
    pub fn new(
        input: Box<dyn Read + Send>,
        name: &str,
        options: WalkOptions,
    ) -> Result<Self, ReadError> {
        Self::from_bytes(input, name, options, Compression::None, Self::BLOCK)
    }

    pub(super) fn from_bytes(
        input: Bytes,
        name: &str,
        options: WalkOptions,
        expected: Compression,
        block: usize,
    ) -> Result<Self, ReadError> {
        let read = Arc::default();
        let counted = Counted { input, read: Arc::clone(&read) };
        let reader = WalkReader::start(counted, name, options, expected)?;
        Ok(Self::of_reader(reader, read, block))
    }

    fn of_reader(reader: WalkReader<Counted>, read: Arc<AtomicU64>, block: usize) -> Self {
        let (name, format) = (reader.name().to_owned(), reader.format());
        let parts = match reader.into_unread() {
            #[cfg(feature = "arrow")]
            Unread::Columns(reader) => Parts::Columns(reader),
            Unread::Text(layout, lines) => {
                let (held, input, first_line) = lines.into_rest();
                let records = match layout.delimiter() {
                    Some(delimiter) => Records::Quoted { delimiter },
                    None => Records::Lines,
                };
                let cutter = Cutter::new(input, held, first_line, block, records);
                Parts::Text { cutter, layout: Arc::new(layout) }
            }
        };
        Self { parts, name, format, read, size: None }
    }

    /// The format that is read.
    #[must_use]
    pub fn format(&self) -> WalkFormat {
        self.format
    }

    /// What messages call the input.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many bytes the file has, if it is one that is read from its start to its end.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Counts the bytes that have been read, as they are in the file.
    pub(super) fn counter(&self) -> Arc<AtomicU64> {
        self.read.clone()
    }
}

impl std::fmt::Debug for WalkInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WalkInput")
            .field("name", &self.name)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}
