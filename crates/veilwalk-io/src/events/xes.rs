//! Logs of cases in XES, the standard of process mining (IEEE 1849), event by event.
//!
//! A log has traces, and a trace has events. Each has attributes: elements with a `key` and a `value`. Only those
//! directly in a trace or an event are read; attributes of attributes, and what the log says of itself, are passed over.
//! A trace's own attributes may stand behind its events only if none of them is wanted.

use std::io::{self, BufRead, BufReader, Read};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::{EventRow, row};
use crate::compression::{Compression, Unpacked};
use crate::read_error::{Place, ReadError, ReadErrorKind, shortened};
use crate::walks::Wanted;

/// Reads the events of a log.
pub(super) struct XesReader<R: Read> {
    xml: Reader<CountedLines<BufReader<Unpacked<R>>>>,
    name: String,
    wanted: Wanted,
    /// The elements that are open, from the outermost.
    open: Vec<Element>,
    /// The line on which the present event starts.
    line: u64,
    /// The values that are wanted of the present trace and event.
    values: Vec<Option<String>>,
    /// All keys of the present trace and event, for messages.
    keys: Vec<String>,
    keys_of_trace: usize,
    buffer: Vec<u8>,
    seen_log: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Log,
    Trace,
    Event,
    Other,
}

/// Before the keys of what belongs to a trace.
const OF_TRACE: &str = "case:";

impl<R: Read> XesReader<R> {
    pub(super) fn new(
        input: R,
        name: &str,
        wanted: Wanted,
        expected: Compression,
    ) -> Result<Self, ReadError> {
        let fail = |kind| ReadError::new(name, None, kind);
        wanted.check().map_err(fail)?;
        let mut input = Unpacked::new(input);
        let compression =
            input.compression().map_err(|error| fail(ReadErrorKind::from_io(error)))?;
        if expected != Compression::None && compression == Compression::None {
            return Err(fail(ReadErrorKind::NotCompressed { expected }));
        }
        let values = vec![None; wanted.len()];
        let input = CountedLines { input: BufReader::with_capacity(1 << 16, input), lines: 1 };
        Ok(Self {
            xml: Reader::from_reader(input),
            name: name.to_owned(),
            wanted,
            open: Vec::new(),
            line: 1,
            values,
            keys: Vec::new(),
            keys_of_trace: 0,
            buffer: Vec::new(),
            seen_log: false,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The next event, or nothing at the end of the log.
    pub(super) fn next_event(&mut self) -> Result<Option<EventRow<'_>>, ReadError> {
        loop {
            let line = self.xml.get_ref().lines;
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            let done = match self.xml.read_event_into(&mut buffer) {
                Err(error) => Err(self.broken(error)),
                Ok(Event::Start(element)) => {
                    let kind = self.start(&element, line);
                    kind.map(|kind| {
                        self.open.push(kind);
                        false
                    })
                }
                Ok(Event::Empty(element)) => {
                    let kind = self.start(&element, line);
                    kind.map(|kind| kind == Element::Event)
                }
                Ok(Event::End(_)) => Ok(self.open.pop() == Some(Element::Event)),
                Ok(Event::Eof) => {
                    self.buffer = buffer;
                    return self.end().map(|()| None);
                }
                Ok(_) => Ok(false),
            };
            self.buffer = buffer;
            if done? {
                return self.event().map(Some);
            }
        }
    }

    /// Takes an element, and says what it is.
    fn start(&mut self, element: &BytesStart<'_>, line: u64) -> Result<Element, ReadError> {
        let inside = self.open.last().copied();
        let kind = match (inside, element.local_name().as_ref()) {
            (None, "log") => Element::Log,
            (Some(Element::Log), "trace") => Element::Trace,
            (Some(Element::Trace), "event") => Element::Event,
            _ => Element::Other,
        };
        match (kind, inside) {
            (Element::Log, _) => self.seen_log = true,
            (Element::Trace, _) => {
                self.values.fill(None);
                self.keys.clear();
                self.keys_of_trace = 0;
            }
            (Element::Event, _) => {
                self.line = line;
                self.keys.truncate(self.keys_of_trace);
                for (place, (_, name)) in self.wanted.iter().enumerate() {
                    if !name.trim().starts_with(OF_TRACE) {
                        self.values[place] = None;
                    }
                }
            }
            (Element::Other, Some(Element::Trace)) => self.attribute(OF_TRACE, element, line)?,
            (Element::Other, Some(Element::Event)) => self.attribute("", element, line)?,
            _ => {}
        }
        Ok(kind)
    }

    /// Keeps the value of an attribute if it is wanted.
    fn attribute(
        &mut self,
        before: &str,
        element: &BytesStart<'_>,
        line: u64,
    ) -> Result<(), ReadError> {
        let fail = |problem: String| {
            ReadError::new(&self.name, Some(line), ReadErrorKind::Xes { problem })
        };
        let (mut key, mut value) = (None, None);
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|error| fail(error.to_string()))?;
            let text = match attribute.key.as_ref() {
                "key" => &mut key,
                "value" => &mut value,
                _ => continue,
            };
            let unescaped = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| fail(error.to_string()))?;
            *text = Some(unescaped.into_owned());
        }
        let (Some(key), Some(value)) = (key, value) else { return Ok(()) };
        let key = format!("{before}{key}");
        if let Some(place) = self.wanted.iter().position(|(_, name)| name.trim() == key) {
            self.values[place] = Some(value);
        }
        self.keys.push(key);
        if !before.is_empty() {
            self.keys_of_trace = self.keys.len();
        }
        Ok(())
    }

    /// The event whose attributes have been read.
    fn event(&self) -> Result<EventRow<'_>, ReadError> {
        let fail = |kind| ReadError::new(&self.name, Some(self.line), kind);
        for (place, value) in self.values.iter().enumerate() {
            let column = self.wanted.name(place).to_owned();
            match value.as_deref() {
                None => {
                    let (role, found) = (self.wanted.role(place), self.keys.clone());
                    return Err(fail(ReadErrorKind::MissingColumn { column, role, found }));
                }
                Some("") => return Err(fail(ReadErrorKind::EmptyField { column })),
                Some(_) => {}
            }
        }
        let get = |place: usize| self.values[place].as_deref().unwrap_or_default();
        Ok(row(Place::Line(self.line), self.wanted.len(), get))
    }

    /// Refuses a log that is not over.
    fn end(&self) -> Result<(), ReadError> {
        let line = self.xml.get_ref().lines;
        let problem = match self.open.last() {
            None if self.seen_log => return Ok(()),
            None => "there is no <log> in it".to_owned(),
            Some(element) => {
                let inside = match element {
                    Element::Log => "the log",
                    Element::Trace => "a trace",
                    Element::Event => "an event",
                    Element::Other => "an element",
                };
                format!("it ends in the middle of {inside}")
            }
        };
        Err(ReadError::new(&self.name, Some(line), ReadErrorKind::Xes { problem }))
    }

    fn broken(&self, error: quick_xml::Error) -> ReadError {
        let line = Some(self.xml.get_ref().lines);
        let kind = match error {
            quick_xml::Error::Io(error) => match std::sync::Arc::try_unwrap(error) {
                Ok(error) => ReadErrorKind::from_io(error),
                Err(error) => ReadErrorKind::Xes { problem: shortened(&error.to_string()) },
            },
            other => ReadErrorKind::Xes { problem: shortened(&other.to_string()) },
        };
        ReadError::new(&self.name, line, kind)
    }
}

/// Input that counts the lines that have been taken from it.
pub(super) struct CountedLines<R> {
    pub(super) input: R,
    /// The number of the line that comes next, from one.
    pub(super) lines: u64,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{EventOptions, EventPlace, options};

    fn read(bytes: &[u8], expected: Compression) -> Result<Vec<(Place, String)>, ReadError> {
        let wanted = EventOptions::default().wanted(&options::OF_XES);
        let mut log = XesReader::new(bytes, "log.xes", wanted, expected)?;
        let mut seen = Vec::new();
        while let Some(event) = log.next_event()? {
            let EventPlace::State(state) = event.at else { panic!("{event:?}") };
            seen.push((event.place, format!("{} {} {state}", event.person, event.time)));
        }
        Ok(seen)
    }

    const LOG: &str = "<?xml version='1.0'?>\n<log>\n<trace>\n<string key='concept:name' value='&lt;1&gt;'/>\n\
        <event>\n<date key='time:timestamp' value='2024-03-01'/>\n<string key='concept:name' value='a'/>\n\
        </event>\n</trace>\n<trace><string key='concept:name' value='2'/><event>\
        <string key='concept:name' value='b'/><date key='time:timestamp' value='2024-03-02'/></event>\n\
        </trace></log>\n";

    #[test]
    fn every_event_has_its_line() {
        let expected = [
            (Place::Line(5), "<1> 2024-03-01 a".to_owned()),
            (Place::Line(10), "2 2024-03-02 b".to_owned()),
        ];
        assert_eq!(read(LOG.as_bytes(), Compression::None).unwrap(), expected);
        for compression in [Compression::Gzip, Compression::Zstd] {
            let packed = compression.pack(LOG.as_bytes().to_vec()).unwrap();
            assert_eq!(read(&packed, compression).unwrap(), expected);
        }
    }

    /// Wherever a log is cut, packed or not, it is refused.
    #[test]
    fn no_cut_goes_unseen() {
        let end = LOG.trim_end().len();
        for at in 0..end {
            assert!(read(&LOG.as_bytes()[..at], Compression::None).is_err(), "{:?}", &LOG[..at]);
        }
        let packed = Compression::Gzip.pack(LOG.as_bytes().to_vec()).unwrap();
        for at in 0..packed.len() {
            assert!(read(&packed[..at], Compression::Gzip).is_err(), "at {at}");
        }
        let error = read(&packed[..packed.len() - 3], Compression::Gzip).unwrap_err();
        assert!(error.to_string().contains("damaged or cut short"), "{error}");
        let error = read(LOG.as_bytes(), Compression::Gzip).unwrap_err();
        assert!(error.to_string().contains("the name says gzip"), "{error}");
    }

    #[test]
    fn an_event_without_a_time_is_named() {
        let log = LOG.replace("<date key='time:timestamp' value='2024-03-01'/>", "");
        let error = read(log.as_bytes(), Compression::None).unwrap_err();
        assert_eq!(error.line(), Some(5));
        let said = error.to_string();
        assert!(said.contains("\"time:timestamp\" for the time"), "{said}");
        assert!(said.contains("\"case:concept:name\", \"concept:name\""), "{said}");
    }
}
