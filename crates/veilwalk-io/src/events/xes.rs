//! Logs of cases in XES, the standard of process mining (IEEE 1849), event by event.
//!
//! A log has traces, and a trace has events. Each has attributes: elements with a `key` and a `value`. Only those
//! directly in a trace or an event are read; attributes of attributes, and what the log says of itself, are passed over.
//! A trace's own attributes may stand behind its events only if none of them is wanted.

use std::io::Read;

use quick_xml::XmlVersion;
use quick_xml::events::BytesStart;

use super::xml::{Format, Problem, Start, XmlEvents};
use super::{EventRow, row};
use crate::compression::Compression;
use crate::read_error::{Place, ReadError, ReadErrorKind};
use crate::walks::Wanted;

/// Reads the events of a log.
pub(super) type XesReader<R> = XmlEvents<R, Log>;

/// What is known of the present trace and event.
pub(super) struct Log {
    wanted: Wanted,
    /// The line on which the present event starts.
    line: u64,
    /// The values that are wanted of the present trace and event.
    values: Vec<Option<String>>,
    /// All keys of the present trace and event, for messages.
    keys: Vec<String>,
    keys_of_trace: usize,
    seen_log: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Log,
    Trace,
    Event,
    Other,
}

/// Before the keys of what belongs to a trace.
const OF_TRACE: &str = "case:";

impl<R: Read> XesReader<R> {
    pub(super) fn open(
        input: R,
        name: &str,
        wanted: Wanted,
        expected: Compression,
    ) -> Result<Self, ReadError> {
        wanted.check().map_err(|kind| ReadError::new(name, None, kind))?;
        let values = vec![None; wanted.len()];
        let (keys, keys_of_trace) = (Vec::new(), 0);
        let log = Log { wanted, line: 1, values, keys, keys_of_trace, seen_log: false };
        Self::new(input, name, log, expected)
    }
}

impl Format for Log {
    type Element = Element;
    const EVENT: Element = Element::Event;

    fn start(&mut self, start: &Start<'_, Element>) -> Result<Element, Problem> {
        let Start { inside, element, line } = start;
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
                self.line = *line;
                self.keys.truncate(self.keys_of_trace);
                for (place, (_, name)) in self.wanted.iter().enumerate() {
                    if !name.trim().starts_with(OF_TRACE) {
                        self.values[place] = None;
                    }
                }
            }
            (Element::Other, Some(Element::Trace)) => self.attribute(OF_TRACE, element)?,
            (Element::Other, Some(Element::Event)) => self.attribute("", element)?,
            _ => {}
        }
        Ok(kind)
    }

    fn event(&mut self) -> Result<EventRow<'_>, (u64, ReadErrorKind)> {
        let fail = |kind| (self.line, kind);
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

    fn missing(&self, inside: Option<Element>) -> Option<String> {
        let element = match inside {
            None if self.seen_log => return None,
            None => return Some("there is no <log> in it".to_owned()),
            Some(Element::Log) => "the log",
            Some(Element::Trace) => "a trace",
            Some(Element::Event) => "an event",
            Some(Element::Other) => "an element",
        };
        Some(format!("it ends in the middle of {element}"))
    }

    fn broken(problem: String) -> ReadErrorKind {
        ReadErrorKind::Xes { problem }
    }
}

impl Log {
    /// Keeps the value of an attribute if it is wanted.
    fn attribute(&mut self, before: &str, element: &BytesStart<'_>) -> Result<(), Problem> {
        let (mut key, mut value) = (None, None);
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|error| error.to_string())?;
            let text = match attribute.key.as_ref() {
                "key" => &mut key,
                "value" => &mut value,
                _ => continue,
            };
            let unescaped = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| error.to_string())?;
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{EventOptions, EventPlace, options};

    fn read(bytes: &[u8], expected: Compression) -> Result<Vec<(Place, String)>, ReadError> {
        let wanted = EventOptions::default().wanted(&options::OF_XES);
        let mut log = XesReader::open(bytes, "log.xes", wanted, expected)?;
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
