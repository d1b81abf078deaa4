//! Events in XML, packed or not, each with its line.

use std::io::{self, BufRead, BufReader, Read};

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use super::EventRow;
use crate::compression::{Compression, Unpacked};
use crate::read_error::{ReadError, ReadErrorKind, shortened};

/// What is taken from the elements of a format.
pub(super) trait Format {
    /// What an element is.
    type Element: Copy + PartialEq;
    /// What stands for an event.
    const EVENT: Self::Element;

    /// Takes the start of an element, and says what it is.
    fn start(&mut self, start: &Start<'_, Self::Element>) -> Result<Self::Element, Problem>;

    /// Takes text that stands directly in an element.
    fn text(&mut self, _inside: Option<Self::Element>, _text: &str) {}

    /// The event that has been read.
    fn event(&mut self) -> Result<EventRow<'_>, (u64, ReadErrorKind)>;

    /// Says what is missing at the end of the file, if something is.
    fn missing(&self, inside: Option<Self::Element>) -> Option<String>;

    /// The error of a file that is not what it should be.
    fn broken(problem: String) -> ReadErrorKind;

    /// The error of a file that is not well-formed.
    fn damaged(problem: &str) -> ReadErrorKind {
        Self::broken(shortened(problem))
    }
}

/// The start of an element.
pub(super) struct Start<'a, E> {
    /// What the element stands in.
    pub(super) inside: Option<E>,
    pub(super) element: BytesStart<'a>,
    pub(super) line: u64,
}

/// What is wrong with an element.
pub(super) type Problem = String;

/// Reads the events of a file.
pub(super) struct XmlEvents<R: Read, F: Format> {
    xml: Reader<CountedLines<BufReader<Unpacked<R>>>>,
    name: String,
    format: F,
    /// The elements that are open, from the outermost.
    open: Vec<F::Element>,
    buffer: Vec<u8>,
}

impl<R: Read, F: Format> XmlEvents<R, F> {
    pub(super) fn new(
        input: R,
        name: &str,
        format: F,
        expected: Compression,
    ) -> Result<Self, ReadError> {
        let fail = |kind| ReadError::new(name, None, kind);
        let mut input = Unpacked::new(input);
        let compression =
            input.compression().map_err(|error| fail(ReadErrorKind::from_io(error)))?;
        if expected != Compression::None && compression == Compression::None {
            return Err(fail(ReadErrorKind::NotCompressed { expected }));
        }
        let input = CountedLines { input: BufReader::with_capacity(1 << 16, input), lines: 1 };
        let (xml, name) = (Reader::from_reader(input), name.to_owned());
        Ok(Self { xml, name, format, open: Vec::new(), buffer: Vec::new() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The next event, or nothing at the end of the file.
    pub(super) fn next_event(&mut self) -> Result<Option<EventRow<'_>>, ReadError> {
        while let Some(ended) = self.next_end()? {
            if ended == F::EVENT {
                let event = self.format.event();
                let fail = |(line, kind)| ReadError::new(&self.name, Some(line), kind);
                return event.map(Some).map_err(fail);
            }
        }
        Ok(None)
    }

    /// Reads up to the end of an element, and says which it is; nothing at the end of the file.
    fn next_end(&mut self) -> Result<Option<F::Element>, ReadError> {
        loop {
            let line = self.xml.get_ref().lines;
            self.buffer.clear();
            let event = self.xml.read_event_into(&mut self.buffer);
            let inside = self.open.last().copied();
            let fail = |line, kind| ReadError::new(&self.name, Some(line), kind);
            let broken = |problem| fail(line, F::broken(problem));
            match event {
                Ok(Event::Start(element)) => {
                    let start = Start { inside, element, line };
                    self.open.push(self.format.start(&start).map_err(broken)?);
                }
                Ok(Event::Empty(element)) => {
                    let start = Start { inside, element, line };
                    return self.format.start(&start).map(Some).map_err(broken);
                }
                Ok(Event::End(_)) => {
                    if let Some(ended) = self.open.pop() {
                        return Ok(Some(ended));
                    }
                }
                Ok(Event::Text(text)) => {
                    self.format.text(inside, &text.xml_content(XmlVersion::Implicit1_0));
                }
                // Such as &amp; in a name.
                Ok(Event::GeneralRef(reference)) => {
                    let known = match reference.resolve_char_ref() {
                        Ok(Some(known)) => Some(known.to_string()),
                        _ => resolve_predefined_entity(&reference).map(str::to_owned),
                    };
                    self.format.text(inside, &known.unwrap_or_default());
                }
                Ok(Event::Eof) => {
                    let missing = self.format.missing(inside);
                    return missing.map_or(Ok(None), |missing| Err(broken(missing)));
                }
                Ok(_) => {}
                Err(error) => {
                    let line = self.xml.get_ref().lines;
                    return Err(fail(line, kind_of::<F>(error)));
                }
            }
        }
    }
}

fn kind_of<F: Format>(error: quick_xml::Error) -> ReadErrorKind {
    match error {
        quick_xml::Error::Io(error) => match std::sync::Arc::try_unwrap(error) {
            Ok(error) => ReadErrorKind::from_io(error),
            Err(error) => F::damaged(&error.to_string()),
        },
        other => F::damaged(&other.to_string()),
    }
}

/// Input that counts the lines that have been taken from it.
struct CountedLines<R> {
    input: R,
    /// The number of the line that comes next, from one.
    lines: u64,
}

impl<R: BufRead> BufRead for CountedLines<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if let Ok(bytes) = self.input.fill_buf() {
            self.lines += memchr::memchr_iter(b'\n', &bytes[..amount]).count() as u64;
        }
        self.input.consume(amount);
    }
}

impl<R: BufRead> Read for CountedLines<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let amount = bytes.len().min(out.len());
        out[..amount].copy_from_slice(&bytes[..amount]);
        self.consume(amount);
        Ok(amount)
    }
}
