//! Traces on real maps: a published expectation on a real one, and simulated trips. Maps are © OpenStreetMap contributors.

mod common;

use std::path::{Path, PathBuf};

use common::{in_common, length, line, trips};
use veilwalk::StateId;
use veilwalk::chain::Coordinates;
use veilwalk_roads::{
    ChainOptions, Found, MatchSettings, Matcher, Mode, Position, RoadMap, Streets,
};

fn data(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/maps").join(name);
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    }
    Some(path)
}

fn streets(map: &Path, mode: Mode) -> Streets {
    let (chain, _) = RoadMap::read(map, mode).unwrap().chain(&ChainOptions::default()).unwrap();
    Streets::of(&chain).unwrap()
}

/// The streets of each piece.
fn pieces(found: &[Found]) -> Vec<Vec<StateId>> {
    let mut pieces: Vec<Vec<StateId>> = Vec::new();
    for found in found {
        match *found {
            Found::Begins { state, .. } => pieces.push(vec![state]),
            Found::Enters { state, .. } | Found::TurnsBack { state, .. } => {
                pieces.last_mut().unwrap().push(state);
            }
            _ => {}
        }
    }
    pieces
}

/// What GraphHopper's tests expect of this trace by bicycle: the way is less than half as long again as the trace.
#[test]
fn a_bicycle_in_andorra() {
    let (Some(map), Some(trace)) = (data("andorra.osm.pbf"), data("andorra.gpx")) else { return };
    let streets = streets(&map, Mode::Bike);
    let text = std::fs::read_to_string(trace).unwrap();
    let number = |point: &str, name: &str| {
        let text = point.split(&format!("{name}=\"")).nth(1).unwrap();
        text.split('"').next().unwrap().parse::<f64>().unwrap()
    };
    let points = text.split("<trkpt ").skip(1);
    let positions: Vec<Position> = points
        .enumerate()
        .map(|(number_of, point)| Position {
            moment: number_of as i64 * 1_000_000,
            place: Coordinates::from_degrees(number(point, "lat"), number(point, "lon")).unwrap(),
        })
        .collect();
    let places: Vec<Coordinates> = positions.iter().map(|position| position.place).collect();
    let settings = MatchSettings { fastest: None, ..MatchSettings::default() };
    let (mut matcher, mut found) = (Matcher::new(&streets, settings), Vec::new());
    positions.iter().for_each(|position| matcher.push(*position, &mut found));
    matcher.finish(&mut found);
    let pieces = pieces(&found);
    assert_eq!(pieces.len(), 1, "one way from beginning to end");
    let chain = streets.chain();
    let (first, last) = (pieces[0][0], pieces[0][pieces[0].len() - 1]);
    let offset = |position: &Position, state: StateId| {
        let near = streets.near(position.place, settings.radius, 24);
        near.into_iter().find(|near| near.state == state).unwrap().offset
    };
    let start = offset(&positions[0], first);
    let left = length(line(chain, last)) - offset(&positions[positions.len() - 1], last);
    let way: f64 = pieces[0].iter().map(|&state| length(line(chain, state))).sum();
    let way = way - start - left;
    let of_trace = length(&places);
    eprintln!("trace {of_trace:.0} m, way {way:.0} m over {} streets", pieces[0].len());
    assert!(way < 1.5 * of_trace, "{way} {of_trace}");
    // No detour: no street is taken twice, in whatever direction, and the way is never far from the trace.
    let mut middles: Vec<Coordinates> = pieces[0]
        .iter()
        .map(|state| chain.places().unwrap().coordinates.as_ref().unwrap()[state.index()])
        .collect();
    let mut far = -start;
    for &state in &pieces[0] {
        for ends in line(chain, state).windows(2) {
            far += length(ends);
            let off = places.windows(2).map(|near| off_line(ends[1], near));
            let off = off.fold(f64::MAX, f64::min);
            assert!(far > way || far < 0.0 || off < 40.0, "{off:.0} m off at {far:.0} m");
        }
    }
    let all = middles.len();
    middles.sort();
    middles.dedup();
    assert_eq!(middles.len(), all);
}

/// How far a point is from a straight line.
fn off_line(point: Coordinates, ends: &[Coordinates]) -> f64 {
    let (north, east) = point.degrees();
    let scale = north.to_radians().cos();
    let flat = |place: Coordinates| {
        let (latitude, longitude) = place.degrees();
        ((longitude - east) * scale * 111_195.08, (latitude - north) * 111_195.08)
    };
    let ((ax, ay), (bx, by)) = (flat(ends[0]), flat(ends[1]));
    let (dx, dy) = (bx - ax, by - ay);
    let square = dx * dx + dy * dy;
    let share = if square > 0.0 { (-(ax * dx + ay * dy) / square).clamp(0.0, 1.0) } else { 0.0 };
    (ax + share * dx).hypot(ay + share * dy)
}

/// A thousand trips through Monaco by car, with positions that are ten metres off in each direction.
#[test]
fn simulated_trips_in_monaco() {
    let Some(map) = data("monaco.osm.gz") else { return };
    let streets = streets(&map, Mode::Car);
    let mut matcher = Matcher::new(&streets, MatchSettings::default());
    let (mut right, mut all, mut given, mut positions) = (0, 0, 0, 0);
    let mut time = std::time::Duration::ZERO;
    for trip in trips(streets.chain(), 1000, 10.0, 1) {
        let begun = std::time::Instant::now();
        let mut found = Vec::new();
        trip.positions.iter().for_each(|position| matcher.push(*position, &mut found));
        matcher.finish(&mut found);
        time += begun.elapsed();
        let matched = pieces(&found).concat();
        right += in_common(&trip.streets, &matched);
        (all, given) = (all + trip.streets.len(), given + matched.len());
        positions += trip.positions.len();
    }
    let (recall, precision) = (right as f64 / all as f64, right as f64 / given as f64);
    eprintln!(
        "{recall:.4} of {all} streets found, {precision:.4} of {given} right; {positions} positions in {time:?}; {:?}",
        matcher.counts()
    );
    assert!(recall >= 0.97 && precision >= 0.95, "{recall} {precision}");
}
