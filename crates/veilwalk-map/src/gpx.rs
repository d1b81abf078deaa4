//! GPX 1.1: a track for each walk.
//!
//! Written walk by walk, so a file may be larger than memory. A walk that was off the map in between has a segment for each
//! part. What was observed is not a track and is left out.

use std::io::{Result, Write};

use veilwalk_report::escape;

use crate::ground::Ground;
use crate::number::{time, write_degrees};
use crate::walk::{Layer, Walk};

/// Writes walks as GPX.
#[derive(Debug)]
pub struct Gpx<'g, W> {
    out: W,
    ground: &'g Ground<'g>,
}

impl<'g, W: Write> Gpx<'g, W> {
    /// Starts a file. The attribution says whose map it is.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn start(mut out: W, ground: &'g Ground<'g>, attribution: Option<&str>) -> Result<Self> {
        out.write_all(
            b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gpx version=\"1.1\" creator=\"veilwalk\" \
              xmlns=\"http://www.topografix.com/GPX/1/1\">\n",
        )?;
        if let Some(attribution) = attribution {
            let author = escape(attribution);
            writeln!(out, "<metadata><copyright author=\"{author}\"/></metadata>")?;
        }
        Ok(Self { out, ground })
    }

    /// Writes a walk. One without states, or that was observed, is left out.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn walk(&mut self, walk: &Walk<'_>) -> Result<()> {
        if walk.states.is_empty() || walk.layer == Layer::Observed {
            return Ok(());
        }
        let ways = self.ground.ways(walk.states);
        let out = &mut self.out;
        let (name, kind) = (escape(walk.name), walk.layer.name());
        writeln!(out, "<trk><name>{name}</name><type>{kind}</type>")?;
        for mut way in ways {
            if walk.times.is_none() {
                way.dedup_by_key(|(point, _)| *point);
            }
            out.write_all(b"<trkseg>\n")?;
            for (point, step) in way {
                out.write_all(b"<trkpt lat=\"")?;
                write_degrees(out, point.latitude())?;
                out.write_all(b"\" lon=\"")?;
                write_degrees(out, point.longitude())?;
                match walk.times {
                    Some(times) => {
                        writeln!(out, "\"><time>{}</time></trkpt>", time(times.at(step)))?;
                    }
                    None => out.write_all(b"\"/>\n")?,
                }
            }
            out.write_all(b"</trkseg>\n")?;
        }
        out.write_all(b"</trk>\n")
    }

    /// Writes what stands at the end, and gives the output back.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn finish(mut self) -> Result<W> {
        self.out.write_all(b"</gpx>\n")?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use quick_xml::Reader;
    use quick_xml::events::Event;

    use super::*;
    use crate::ground::tests::{block, states};
    use crate::walk::Times;

    #[test]
    fn walks_are_tracks_that_parse() {
        let chain = block();
        let ground = Ground::of(&chain).unwrap();
        let mut map = Gpx::start(Vec::new(), &ground, Some("© <us>")).unwrap();
        let walked = states(&chain, &["south", "east", "east", "north <b>"]);
        let times = Some(Times { first: 0, every: 60_000_000 });
        for (layer, times) in
            [(Layer::Released, times), (Layer::Real, None), (Layer::Observed, times)]
        {
            map.walk(&Walk { layer, name: "a<&\u{1}\"", states: &walked, times }).unwrap();
        }
        map.walk(&Walk { layer: Layer::Real, name: "none", states: &[], times }).unwrap();
        let text = String::from_utf8(map.finish().unwrap()).unwrap();
        let mut reader = Reader::from_str(&text);
        let mut counts = std::collections::BTreeMap::new();
        loop {
            match reader.read_event().unwrap() {
                Event::Start(tag) | Event::Empty(tag) => {
                    *counts.entry(tag.name().as_ref().to_owned()).or_insert(0) += 1;
                }
                Event::Eof => break,
                _ => {}
            }
        }
        // Six points with times, five without where the walk stays.
        assert_eq!((counts["trk"], counts["trkpt"], counts["time"]), (2, 11, 6), "{text}");
        assert!(text.contains("author=\"© &lt;us&gt;\""), "{text}");
        assert!(
            text.contains("<trkpt lat=\"0\" lon=\"0.001\"><time>1970-01-01T00:00:30Z</time>"),
            "{text}"
        );
        assert_eq!(counts["trkseg"], 2);
        assert!(text.contains("a&lt;&amp;\u{fffd}&quot;"), "{text}");
    }
}
