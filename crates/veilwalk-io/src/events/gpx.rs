//! Traces in GPX, point by point.
//!
//! The points of tracks are read, in the order of the file. A trace is of one person: whoever the track is named after, or else
//! the file. What else a point has (heights, speeds) is passed over, and so are routes and waypoints, which nobody went along.

use std::io::Read;

use quick_xml::XmlVersion;
use quick_xml::events::BytesStart;

use super::xml::{Format, Problem, Start, XmlEvents};
use super::{EventPlace, EventRow};
use crate::compression::Compression;
use crate::read_error::{Place, ReadError, ReadErrorKind, shortened};

/// Reads the points of traces.
pub(super) type GpxReader<R> = XmlEvents<R, Trace>;

/// What is known of the present track and point.
pub(super) struct Trace {
    /// The name of a track without one.
    usual: String,
    person: String,
    /// The line on which the present point starts.
    line: u64,
    latitude: String,
    longitude: String,
    time: String,
    seen_gpx: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
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
    pub(super) fn open(
        input: R,
        name: &str,
        usual: &str,
        expected: Compression,
    ) -> Result<Self, ReadError> {
        let trace = Trace {
            usual: usual.to_owned(),
            person: usual.to_owned(),
            line: 1,
            latitude: String::new(),
            longitude: String::new(),
            time: String::new(),
            seen_gpx: false,
        };
        Self::new(input, name, trace, expected)
    }
}

impl Format for Trace {
    type Element = Element;
    const EVENT: Element = Element::Point;

    fn start(&mut self, start: &Start<'_, Element>) -> Result<Element, Problem> {
        let Start { inside, element, line } = start;
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
                self.line = *line;
                self.time.clear();
                self.latitude = angle(element, "lat")?;
                self.longitude = angle(element, "lon")?;
            }
            _ => {}
        }
        Ok(kind)
    }

    fn text(&mut self, inside: Option<Element>, text: &str) {
        match inside {
            Some(Element::Time) => self.time.push_str(text),
            Some(Element::TrackName) => self.person.push_str(text),
            _ => {}
        }
    }

    fn event(&mut self) -> Result<EventRow<'_>, (u64, ReadErrorKind)> {
        if self.time.trim().is_empty() {
            let problem = "a point has no <time>, and without times nobody knows how fast anybody went, or when; \
                           export the trace with times";
            let kind = ReadErrorKind::Gpx { problem: problem.to_owned() };
            return Err((self.line, kind));
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

    fn missing(&self, inside: Option<Element>) -> Option<String> {
        match (inside, self.seen_gpx) {
            (None, true) => None,
            (None, false) => Some("there is no <gpx> in it; give a GPX file".to_owned()),
            (Some(_), _) => {
                Some("it ends in the middle; export it again, and give the whole file".to_owned())
            }
        }
    }

    fn broken(problem: String) -> ReadErrorKind {
        ReadErrorKind::Gpx { problem }
    }

    fn damaged(problem: &str) -> ReadErrorKind {
        Self::broken(format!("{}; export it again, and give the whole file", shortened(problem)))
    }
}

fn angle(element: &BytesStart<'_>, key: &str) -> Result<String, Problem> {
    let found = element.try_get_attribute(key).ok().flatten();
    let value = found
        .and_then(|found| Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned()));
    value.ok_or_else(|| format!("a point has no `{key}`; write its degrees, or remove it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "<?xml version='1.0'?>\n<gpx>\n<wpt lat='1' lon='1'/>\n<trk><name>ann &amp; co</name><trkseg>\n\
        <trkpt lat='42.5' lon='1.5'><ele>9</ele><time>2024-03-01T08:00:00Z</time></trkpt>\n\
        <trkpt lat='42.6' lon='1.6'><time>2024-03-01T08:00:05Z</time></trkpt></trkseg></trk>\n\
        <trk><trkseg><trkpt lat='42.7' lon='1.7'><time>2024-03-01T09:00:00Z</time></trkpt></trkseg></trk></gpx>\n";

    fn read(text: &str) -> Result<Vec<String>, ReadError> {
        let mut gpx = GpxReader::open(text.as_bytes(), "t.gpx", "t", Compression::None)?;
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
