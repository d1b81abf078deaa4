//! GeoJSON (RFC 7946): a line for each walk, a point for each observation.
//!
//! Written walk by walk, one feature on a line, so a file may be larger than memory. Coordinates are longitude and
//! latitude on WGS 84 with the seven decimals they have. Where times are known, `coordTimes` has one for each point of a line, as
//! tools that play tracks expect it; those between two states are by the share of the way. A walk that never leaves its place is a point:
//! the standard has no line of one. A walk that is off the map in between has a feature for each part, numbered by `part`; what is off the map as
//! a whole has a feature without geometry, so that every walk is there.

use std::io::{Result, Write};

use serde_json::{Map, Value};
use veilwalk::chain::Coordinates;

use crate::ground::{Ground, Way};
use crate::number::{time, write_degrees};
use crate::walk::{Layer, Times, Walk};

/// Writes walks as GeoJSON.
#[derive(Debug)]
pub struct GeoJson<'g, W> {
    out: W,
    ground: &'g Ground<'g>,
    features: u64,
}

impl<'g, W: Write> GeoJson<'g, W> {
    /// Starts a collection. The attribution becomes a member of it.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn start(mut out: W, ground: &'g Ground<'g>, attribution: Option<&str>) -> Result<Self> {
        out.write_all(b"{\"type\":\"FeatureCollection\",")?;
        if let Some(attribution) = attribution {
            write!(out, "\"attribution\":{},", Value::from(attribution))?;
        }
        out.write_all(b"\"features\":[")?;
        Ok(Self { out, ground, features: 0 })
    }

    /// Writes a walk: as a line, or as points if it was observed. A walk without states is left out.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn walk(&mut self, walk: &Walk<'_>) -> Result<()> {
        let Some(last) = walk.states.len().checked_sub(1) else { return Ok(()) };
        if walk.layer == Layer::Observed {
            return self.points(walk);
        }
        let mut properties = properties(walk);
        properties.insert("steps".to_owned(), walk.states.len().into());
        if let Some(times) = walk.times {
            properties.insert("begin".to_owned(), time(times.at(0.0)).into());
            properties.insert("end".to_owned(), time(times.at(last as f64)).into());
        }
        let ways = self.ground.ways(walk.states);
        if ways.is_empty() {
            return self.feature(&properties, None, |_| Ok(()));
        }
        let parts = ways.len();
        for (part, way) in ways.into_iter().enumerate() {
            if parts > 1 {
                properties.insert("part".to_owned(), part.into());
            }
            self.part(&mut properties, way, walk.times)?;
        }
        Ok(())
    }

    /// A part of a walk that is on the map.
    fn part(
        &mut self,
        properties: &mut Map<String, Value>,
        mut way: Way,
        times: Option<Times>,
    ) -> Result<()> {
        properties.remove("coordTimes");
        if times.is_none() {
            way.dedup_by_key(|(point, _)| *point);
        }
        let first = way[0].0;
        if way.iter().all(|(point, _)| *point == first) {
            return self.feature(properties, Some("Point"), |out| position(out, first));
        }
        if let Some(times) = times {
            let each = way.iter().map(|&(_, step)| time(times.at(step)).into());
            properties.insert("coordTimes".to_owned(), Value::Array(each.collect()));
        }
        self.feature(properties, Some("LineString"), |out| {
            for (place, &(point, _)) in way.iter().enumerate() {
                out.write_all(if place == 0 { b"[" } else { b"," })?;
                position(out, point)?;
            }
            out.write_all(b"]")
        })
    }

    /// Writes where a walk was observed: a point for each step, that need not be a state's.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn observed(
        &mut self,
        name: &str,
        points: &[Coordinates],
        times: Option<Times>,
    ) -> Result<()> {
        let walk = Walk { layer: Layer::Observed, name, states: &[], times };
        for (step, &point) in points.iter().enumerate() {
            let properties = of_step(&walk, step);
            self.feature(&properties, Some("Point"), |out| position(out, point))?;
        }
        Ok(())
    }

    /// Each state of a walk as a point.
    fn points(&mut self, walk: &Walk<'_>) -> Result<()> {
        for (step, &state) in walk.states.iter().enumerate() {
            let mut properties = of_step(walk, step);
            properties.insert("state".to_owned(), self.ground.chain().label(state).into());
            match self.ground.point(state) {
                Some(point) => {
                    self.feature(&properties, Some("Point"), |out| position(out, point))?
                }
                None => self.feature(&properties, None, |_| Ok(()))?,
            }
        }
        Ok(())
    }

    fn feature(
        &mut self,
        properties: &Map<String, Value>,
        kind: Option<&str>,
        coordinates: impl FnOnce(&mut W) -> Result<()>,
    ) -> Result<()> {
        let out = &mut self.out;
        out.write_all(if self.features == 0 { b"\n" } else { b",\n" })?;
        self.features += 1;
        out.write_all(b"{\"type\":\"Feature\",\"properties\":")?;
        serde_json::to_writer(&mut *out, properties)?;
        let Some(kind) = kind else { return out.write_all(b",\"geometry\":null}") };
        write!(out, ",\"geometry\":{{\"type\":\"{kind}\",\"coordinates\":")?;
        coordinates(out)?;
        out.write_all(b"}}")
    }

    /// Writes what stands at the end, and gives the output back.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn finish(mut self) -> Result<W> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn of_step(walk: &Walk<'_>, step: usize) -> Map<String, Value> {
    let mut properties = properties(walk);
    properties.insert("step".to_owned(), step.into());
    if let Some(times) = walk.times {
        properties.insert("time".to_owned(), time(times.at(step as f64)).into());
    }
    properties
}

fn properties(walk: &Walk<'_>) -> Map<String, Value> {
    let pairs = [("trajectory", walk.name), ("layer", walk.layer.name())];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect()
}

fn position(out: &mut impl Write, point: Coordinates) -> Result<()> {
    out.write_all(b"[")?;
    write_degrees(out, point.longitude())?;
    out.write_all(b",")?;
    write_degrees(out, point.latitude())?;
    out.write_all(b"]")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ground::tests::{block, states, with_away};

    const TIMES: Times = Times { first: 1_777_615_200_000_000, every: 60_000_000 };

    fn written(walks: &[(Layer, &[&str], Option<Times>)]) -> Value {
        let chain = block();
        let ground = Ground::of(&chain).unwrap();
        let mut map = GeoJson::start(Vec::new(), &ground, Some("© \"us\"")).unwrap();
        for &(layer, labels, times) in walks {
            let states = states(&chain, labels);
            map.walk(&Walk { layer, name: "a\"b", states: &states, times }).unwrap();
        }
        serde_json::from_slice(&map.finish().unwrap()).unwrap()
    }

    #[test]
    fn a_walk_is_a_line_with_times() {
        let found = written(&[(Layer::Released, &["south", "east", "east"], Some(TIMES))]);
        assert_eq!(
            found,
            json!({
                "type": "FeatureCollection",
                "attribution": "© \"us\"",
                "features": [{
                    "type": "Feature",
                    "properties": {
                        "trajectory": "a\"b", "layer": "released", "steps": 3,
                        "begin": "2026-05-01T06:00:00Z", "end": "2026-05-01T06:02:00Z",
                        "coordTimes": [
                            "2026-05-01T06:00:00Z", "2026-05-01T06:00:30Z", "2026-05-01T06:01:00Z",
                            "2026-05-01T06:02:00Z",
                        ],
                    },
                    "geometry": {
                        "type": "LineString",
                        "coordinates": [[0.0005, 0], [0.001, 0], [0.001, 0.0005], [0.001, 0.0005]],
                    },
                }],
            })
        );
    }

    #[test]
    fn a_walk_that_was_off_the_map_is_in_parts() {
        let (chain, _) = with_away();
        let ground = Ground::of(&chain).unwrap();
        let mut map = GeoJson::start(Vec::new(), &ground, None).unwrap();
        let mut walk = |layer, labels: &[&str]| {
            let states = states(&chain, labels);
            map.walk(&Walk { layer, name: "a", states: &states, times: Some(TIMES) }).unwrap();
        };
        walk(Layer::Released, &["south", "away", "south", "east"]);
        walk(Layer::Released, &["away"]);
        walk(Layer::Observed, &["away"]);
        let found: Value = serde_json::from_slice(&map.finish().unwrap()).unwrap();
        let features = found["features"].as_array().unwrap();
        let kind = |k: usize| features[k]["geometry"]["type"].as_str();
        assert_eq!(
            (kind(0), kind(1), kind(2), kind(3)),
            (Some("Point"), Some("LineString"), None, None)
        );
        assert_eq!(
            (&features[0]["properties"]["part"], &features[1]["properties"]["part"]),
            (&json!(0), &json!(1))
        );
        assert!(features[0]["properties"].get("coordTimes").is_none());
        assert_eq!(features[1]["properties"]["coordTimes"][0], "2026-05-01T06:02:00Z");
    }

    #[test]
    fn without_times_there_are_steps_and_no_point_twice() {
        let found = written(&[(Layer::Real, &["south", "east", "east"], None)]);
        let feature = &found["features"][0];
        assert_eq!(feature["properties"]["layer"], "real");
        assert!(feature["properties"].get("coordTimes").is_none());
        assert_eq!(feature["geometry"]["coordinates"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn a_walk_that_stays_is_a_point_and_none_is_nothing() {
        let found = written(&[
            (Layer::Released, &["south", "south"], Some(TIMES)),
            (Layer::Released, &[], None),
            (Layer::Observed, &["south", "west"], Some(TIMES)),
        ]);
        let features = found["features"].as_array().unwrap();
        assert_eq!(features.len(), 3);
        assert!(features.iter().all(|feature| feature["geometry"]["type"] == "Point"));
        assert_eq!(features[0]["properties"]["end"], "2026-05-01T06:01:00Z");
        assert_eq!(features[2]["properties"]["state"], "west");
        assert_eq!(features[2]["properties"]["time"], "2026-05-01T06:01:00Z");
        assert_eq!(written(&[])["features"], json!([]));
    }
}
