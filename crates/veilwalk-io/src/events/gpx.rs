//! Traces in GPX, point by point.
//!
//! The points of tracks are read, in the order of the file. A trace is of one person: whoever the track is named after, or else
//! the file. What else a point has (heights, speeds) is passed over, and so are routes and waypoints, which nobody went along.

use std::io::{BufReader, Read};

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::xes::CountedLines;
use super::{EventPlace, EventRow};
use crate::compression::{Compression, Unpacked};
use crate::read_error::{Place, ReadError, ReadErrorKind, shortened};

/// Reads the points of traces.
pub(super) struct GpxReader<R: Read> {
    xml: Reader<CountedLines<BufReader<Unpacked<R>>>>,
    name: String,
    /// The name of a track without one.
    usual: String,
    person: String,
    /// The elements that are open, from the outermost.
    open: Vec<Element>,
    line: u64,
    latitude: String,
    longitude: String,
    time: String,
    buffer: Vec<u8>,
    seen_gpx: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Gpx,
    Track,
    TrackName,
    Segment,
    Point,
    Time,
    Other,
}

impl<R: Read> GpxReader<R> {
    /// Starts to read. Tracks without a name are those of `usual`.
    pub(super) fn new(
        input: R,
        name: &str,
        usual: &str,
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
        Ok(Self {
            xml: Reader::from_reader(input),
            name: name.to_owned(),
            usual: usual.to_owned(),
            person: usual.to_owned(),
            open: Vec::new(),
            line: 1,
            latitude: String::new(),
            longitude: String::new(),
            time: String::new(),
            buffer: Vec::new(),
            seen_gpx: false,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The next point, or nothing at the end of the file.
    pub(super) fn next_event(&mut self) -> Result<Option<EventRow<'_>>, ReadError> {
        loop {
            let line = self.xml.get_ref().lines;
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            let event = self.xml.read_event_into(&mut buffer).map_err(|error| {
                let problem = shortened(&error.to_string());
                self.broken(line, format!("{problem}; export it again, and give the whole file"))
            })?;
            let ended = match event {
                Event::Start(element) => {
                    let element = self.start(&element, line)?;
                    self.open.push(element);
                    None
                }
                Event::Empty(element) => {
                    let element = self.start(&element, line)?;
                    Some(element)
                }
                Event::Text(text) => {
                    self.text(&text.xml_content(XmlVersion::Implicit1_0));
                    None
                }
                // Such as &amp; in a name.
                Event::GeneralRef(reference) => {
                    let known = match reference.resolve_char_ref() {
                        Ok(Some(known)) => Some(known.to_string()),
                        _ => resolve_predefined_entity(&reference).map(str::to_owned),
                    };
                    self.text(&known.unwrap_or_default());
                    None
                }
                Event::End(_) => self.open.pop(),
                Event::Eof => {
                    return match (self.open.is_empty(), self.seen_gpx) {
                        (true, true) => Ok(None),
                        (true, false) => {
                            Err(self
                                .broken(line, "there is no <gpx> in it; give a GPX file".into()))
                        }
                        (false, _) => {
                            let problem =
                                "it ends in the middle; export it again, and give the whole file";
                            Err(self.broken(line, problem.into()))
                        }
                    };
                }
                _ => None,
            };
            self.buffer = buffer;
            if ended == Some(Element::Point) {
                return self.point().map(Some);
            }
        }
    }

    fn start(&mut self, element: &BytesStart<'_>, line: u64) -> Result<Element, ReadError> {
        let inside = self.open.last().copied();
        let kind = match (inside, element.local_name().as_ref()) {
            (None, "gpx") => Element::Gpx,
            (Some(Element::Gpx), "trk") => Element::Track,
            (Some(Element::Track), "name") => Element::TrackName,
            (Some(Element::Track), "trkseg") => Element::Segment,
            (Some(Element::Segment), "trkpt") => Element::Point,
            (Some(Element::Point), "time") => Element::Time,
            _ => Element::Other,
        };
        match kind {
            Element::Gpx => self.seen_gpx = true,
            Element::Track => self.person.clone_from(&self.usual),
            Element::TrackName => self.person.clear(),
            Element::Point => {
                self.line = line;
                self.time.clear();
                self.latitude = self.angle(element, "lat", line)?;
                self.longitude = self.angle(element, "lon", line)?;
            }
            _ => {}
        }
        Ok(kind)
    }

    fn angle(&self, element: &BytesStart<'_>, key: &str, line: u64) -> Result<String, ReadError> {
        let found = element.try_get_attribute(key).ok().flatten();
        let value = found.and_then(|found| {
            Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
        });
        value.ok_or_else(|| {
            self.broken(line, format!("a point has no `{key}`; write its degrees, or remove it"))
        })
    }

    fn text(&mut self, text: &str) {
        match self.open.last() {
            Some(Element::Time) => self.time.push_str(text),
            Some(Element::TrackName) => self.person.push_str(text),
            _ => {}
        }
    }

    /// The point that has been read.
    fn point(&mut self) -> Result<EventRow<'_>, ReadError> {
        if self.time.trim().is_empty() {
            let problem = "a point has no <time>, and without times nobody knows how fast anybody went, or when; \
                           export the trace with times";
            return Err(self.broken(self.line, problem.to_owned()));
        }
        match self.person.trim() {
            "" => self.person.clone_from(&self.usual),
            trimmed if trimmed.len() < self.person.len() => self.person = trimmed.to_owned(),
            _ => {}
        }
        let (latitude, longitude) = (self.latitude.as_str(), self.longitude.as_str());
        let at = EventPlace::Position { latitude, longitude };
        let place = Place::Line(self.line);
        Ok(EventRow { place, person: &self.person, time: self.time.trim(), at })
    }

    fn broken(&self, line: u64, problem: String) -> ReadError {
        ReadError::new(&self.name, Some(line), ReadErrorKind::Gpx { problem })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "<?xml version='1.0'?>\n<gpx>\n<wpt lat='1' lon='1'/>\n<trk><name>ann &amp; co</name><trkseg>\n\
        <trkpt lat='42.5' lon='1.5'><ele>9</ele><time>2024-03-01T08:00:00Z</time></trkpt>\n\
        <trkpt lat='42.6' lon='1.6'><time>2024-03-01T08:00:05Z</time></trkpt></trkseg></trk>\n\
        <trk><trkseg><trkpt lat='42.7' lon='1.7'><time>2024-03-01T09:00:00Z</time></trkpt></trkseg></trk></gpx>\n";

    fn read(text: &str) -> Result<Vec<String>, ReadError> {
        let mut gpx = GpxReader::new(text.as_bytes(), "t.gpx", "t", Compression::None)?;
        let mut seen = Vec::new();
        while let Some(event) = gpx.next_event()? {
            let EventPlace::Position { latitude, longitude } = event.at else { unreachable!() };
            seen.push(format!(
                "{}: {} {} {latitude} {longitude}",
                event.place, event.person, event.time
            ));
        }
        Ok(seen)
    }

    #[test]
    fn points_of_tracks() {
        assert_eq!(
            read(TRACE).unwrap(),
            [
                "line 5: ann & co 2024-03-01T08:00:00Z 42.5 1.5",
                "line 6: ann & co 2024-03-01T08:00:05Z 42.6 1.6",
                "line 7: t 2024-03-01T09:00:00Z 42.7 1.7",
            ]
        );
    }

    #[test]
    fn traces_that_are_refused() {
        for (text, words) in [
            (
                TRACE.replace("<time>2024-03-01T08:00:05Z</time>", ""),
                "line 6: this is not a whole GPX trace: a point has no <time>",
            ),
            (TRACE.replace("lon='1.6'", ""), "a point has no `lon`"),
            (TRACE[..300].to_owned(), "give the whole file"),
            ("<kml></kml>".to_owned(), "no <gpx>"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
