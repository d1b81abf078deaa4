//! The matcher beside all possible ways, one by one, on a small town.

use proptest::collection::vec;
use proptest::prelude::*;
use veilwalk::chain::{BuildOptions, ChainBuilder, Coordinates, Entries, Length, Places};
use veilwalk::{Chain, StateId};

use super::{Found, MatchSettings, Matcher, Position};
use crate::geometry;
use crate::streets::{Nearby, Streets};

/// A place so many metres east and north of the town's corner.
fn place(east: f64, north: f64) -> Coordinates {
    let degree = 111_195.08;
    let latitude = 42.5 + north / degree;
    Coordinates::from_degrees(latitude, 1.5 + east / (degree * 42.5_f64.to_radians().cos()))
        .unwrap()
}

/// Blocks of 100 m by 100 m, all streets in both directions but for those out of these crossings to the east.
fn town(width: i32, height: i32, one_way: &[(i32, i32)]) -> Chain {
    let mut segments: Vec<((i32, i32), (i32, i32))> = Vec::new();
    for x in 0..width {
        for y in 0..height {
            if x + 1 < width {
                segments.push(((x, y), (x + 1, y)));
                if !one_way.contains(&(x, y)) {
                    segments.push(((x + 1, y), (x, y)));
                }
            }
            if y + 1 < height {
                segments.extend([((x, y), (x, y + 1)), ((x, y + 1), (x, y))]);
            }
        }
    }
    let at = |(x, y): (i32, i32)| place(100.0 * f64::from(x), 100.0 * f64::from(y));
    let line = |(from, to)| vec![at(from), at(to)];
    let mut builder = ChainBuilder::new(Entries::Counts);
    let label = |((a, b), (c, d)): ((i32, i32), (i32, i32))| format!("{a},{b}>{c},{d}");
    let states: Vec<StateId> =
        segments.iter().map(|segment| builder.new_state(&label(*segment)).unwrap()).collect();
    for (from, &state) in segments.iter().zip(&states) {
        let leads = |to: &((i32, i32), (i32, i32))| from.1 == to.0;
        let on = |to: &((i32, i32), (i32, i32))| leads(to) && from.0 != to.1;
        let blind = !segments.iter().any(on);
        for (to, &next) in segments.iter().zip(&states) {
            if on(to) || blind && leads(to) {
                let metres = (geometry::length(&line(*from)) + geometry::length(&line(*to))) / 2.0;
                let length = Length::from_millimetres((metres * 1000.0) as u32).unwrap();
                builder.transition_of_length(state, next, 1.0, length).unwrap();
            }
        }
    }
    let (chain, _) = builder.build(BuildOptions::default()).unwrap();
    let lines: Vec<_> = segments.iter().map(|&segment| line(segment)).collect();
    let places = Places {
        lengths: chain.places().unwrap().lengths.clone(),
        coordinates: Some(lines.iter().map(|line| geometry::middle(line)).collect()),
        names: None,
        lines: Some(lines),
    };
    chain.with_places(places).unwrap()
}

fn settings(sigma: f64) -> MatchSettings {
    MatchSettings { radius: 45.0, fastest: None, ..MatchSettings::with_sigma(sigma) }
}

fn positions(places: &[(f64, f64)]) -> Vec<Position> {
    let position = |(number, &(east, north)): (usize, &(f64, f64))| Position {
        moment: number as i64 * 10_000_000,
        place: place(east, north),
    };
    places.iter().enumerate().map(position).collect()
}

fn matched(streets: &Streets, settings: MatchSettings, positions: &[Position]) -> Vec<Found> {
    let (mut matcher, mut found) = (Matcher::new(streets, settings), Vec::new());
    positions.iter().for_each(|position| matcher.push(*position, &mut found));
    matcher.finish(&mut found);
    found
}

/// What is found, in words.
fn shown(streets: &Streets, found: &[Found]) -> Vec<String> {
    let seconds = |moment: i64| moment / 1_000_000;
    let label = |state| streets.label(state);
    let word = |found: &Found| match *found {
        Found::Begins { state, moment } => format!("{} at {}", seconds(moment), label(state)),
        Found::Enters { state, moment } => format!("{} to {}", seconds(moment), label(state)),
        Found::TurnsBack { state, moment } => format!("{} back {}", seconds(moment), label(state)),
        Found::Stays { moment, .. } => format!("{}", seconds(moment)),
        Found::Leaves { moment } => format!("{} left", seconds(moment)),
    };
    found.iter().map(word).collect()
}

/// The length of the shortest way from the start of each state to that of each other.
fn all_ways(streets: &Streets) -> Vec<Vec<f64>> {
    let states = streets.len();
    let mut ways = vec![vec![f64::INFINITY; states]; states];
    for (state, row) in ways.iter_mut().enumerate() {
        row[state] = 0.0;
        for &next in streets.next(state as u32) {
            row[next as usize] = streets.line(state as u32).length();
        }
    }
    for via in 0..states {
        for from in 0..states {
            for to in 0..states {
                ways[from][to] = ways[from][to].min(ways[from][via] + ways[via][to]);
            }
        }
    }
    ways
}

/// How well these streets fit these positions.
fn score(
    streets: &Streets,
    ways: &[Vec<f64>],
    settings: MatchSettings,
    positions: &[Position],
    chosen: &[Nearby],
) -> f64 {
    let fit = |near: &Nearby| -0.5 * (near.distance / settings.sigma).powi(2);
    let mut score: f64 = chosen.iter().map(fit).sum();
    for (places, ends) in positions.windows(2).zip(chosen.windows(2)) {
        let straight = geometry::distance(places[0].place, places[1].place);
        let [from, to] = ends else { unreachable!() };
        let (a, b) = (from.state.index(), to.state.index());
        let length = streets.line(a as u32).length();
        let mut best = f64::INFINITY;
        if a == b && to.offset - from.offset >= -4.0 * settings.sigma {
            best = ((to.offset - from.offset).abs() - straight).max(0.0);
        }
        if streets.line(a as u32).back == Some(b as u32) {
            let turned = (length - to.offset - from.offset).abs();
            best = best.min((turned - straight).max(0.0) + Matcher::TURNING_BACK);
        }
        for &next in streets.next(a as u32) {
            let metres = length - from.offset + ways[next as usize][b] + to.offset;
            best = best.min((metres - straight).max(0.0));
        }
        score -= best / settings.beta;
    }
    score
}

fn best_of_all(
    streets: &Streets,
    ways: &[Vec<f64>],
    settings: MatchSettings,
    positions: &[Position],
) -> f64 {
    let near: Vec<Vec<Nearby>> =
        positions.iter().map(|p| streets.near(p.place, settings.radius, 24)).collect();
    let mut best = f64::NEG_INFINITY;
    let mut chosen = vec![0; near.len()];
    loop {
        let these: Vec<Nearby> = chosen.iter().zip(&near).map(|(&at, near)| near[at]).collect();
        best = best.max(score(streets, ways, settings, positions, &these));
        let Some(next) = (0..chosen.len()).find(|&at| chosen[at] + 1 < near[at].len()) else {
            return best;
        };
        chosen[..next].fill(0);
        chosen[next] += 1;
    }
}

proptest! {
    /// The streets that are found fit as well as any.
    #[test]
    fn nothing_fits_better(
        steps in vec((25.0..180.0_f64, 0.0..6.3_f64), 2..5),
        one_way in any::<bool>(),
    ) {
        let one_way: &[(i32, i32)] = if one_way { &[(0, 1), (1, 1)] } else { &[] };
        let streets = Streets::of(&town(3, 3, one_way)).unwrap();
        let settings = settings(8.0);
        let mut at = (100.0, 100.0);
        let mut places = vec![at];
        for (metres, angle) in steps {
            // Every place is near a street.
            let next: (f64, f64) = (at.0 + metres * angle.cos(), at.1 + metres * angle.sin());
            let next = (next.0.clamp(-20.0, 220.0), next.1.clamp(-20.0, 220.0));
            let near = |c: f64| (c - (c / 100.0).round() * 100.0).abs() < 40.0;
            let far: f64 = (next.0 - at.0).hypot(next.1 - at.1);
            if (near(next.0) || near(next.1)) && far > 20.0 {
                at = next;
                places.push(at);
            }
        }
        let positions = positions(&places);
        let found = matched(&streets, settings, &positions);
        let mut chosen: Vec<Nearby> = Vec::new();
        for position in &positions {
            let state = found.iter().rev().find_map(|found| match *found {
                Found::Begins { state, moment } | Found::Stays { state, moment }
                | Found::TurnsBack { state, moment } if moment == position.moment => Some(state),
                _ => None,
            });
            let near = streets.near(position.place, settings.radius, 24);
            chosen.extend(near.into_iter().find(|near| Some(near.state) == state));
        }
        prop_assert_eq!(chosen.len(), positions.len());
        let ways = all_ways(&streets);
        let mine = score(&streets, &ways, settings, &positions, &chosen);
        let best = best_of_all(&streets, &ways, settings, &positions);
        prop_assert!((mine - best).abs() < 1e-6, "{} {}", mine, best);
    }

    /// What is given out is a walk: each street leads to the next, and time does not run backwards.
    #[test]
    fn pieces_are_walks(places in vec((-80.0..380.0_f64, -80.0..380.0_f64), 1..60)) {
        let streets = Streets::of(&town(4, 4, &[(0, 1), (1, 1), (2, 2), (1, 2)])).unwrap();
        let found = matched(&streets, MatchSettings::default(), &positions(&places));
        let mut at: Option<StateId> = None;
        let mut time = i64::MIN;
        for found in found {
            let (state, moment) = match found {
                Found::Begins { state, moment } => (Some(state), moment),
                Found::Enters { state, moment } => {
                    prop_assert!(streets.chain().successors(at.unwrap()).contains(&state));
                    (Some(state), moment)
                }
                Found::TurnsBack { state, moment } => {
                    let back = streets.line(at.unwrap().index() as u32).back;
                    prop_assert_eq!(back, Some(state.index() as u32));
                    (Some(state), moment)
                }
                Found::Stays { state, moment } => {
                    prop_assert_eq!(at, Some(state));
                    (Some(state), moment)
                }
                Found::Leaves { moment } => (None, moment),
            };
            prop_assert!(moment >= time, "{} after {}", moment, time);
            (at, time) = (state, moment);
        }
    }
}

#[test]
fn around_a_corner() {
    let streets = Streets::of(&town(3, 3, &[])).unwrap();
    let places = [(20.0, 4.0), (60.0, -3.0), (103.0, 30.0), (98.0, 80.0), (104.0, 150.0)];
    let found = matched(&streets, settings(8.0), &positions(&places));
    assert_eq!(
        shown(&streets, &found),
        ["0 at 0,0>1,0", "10", "15 to 1,0>1,1", "20", "30", "32 to 1,1>1,2", "40"]
    );
}

#[test]
fn turning_back_in_a_street() {
    let streets = Streets::of(&town(6, 1, &[])).unwrap();
    let there = [(20.0, 3.0), (60.0, -3.0), (120.0, 2.0), (170.0, 1.0)];
    let back = [(110.0, 3.0), (50.0, 0.0), (10.0, 0.0)];
    let found = matched(&streets, settings(8.0), &positions(&[&there[..], &back].concat()));
    let shown = shown(&streets, &found);
    assert!(shown.contains(&"40 back 2,0>1,0".to_owned()), "{shown:?}");
    assert!(shown.last().unwrap() == "60" && shown.iter().any(|s| s.ends_with("to 1,0>0,0")));
}

#[test]
fn one_position_far_off_is_an_outlier_and_many_are_a_way_off_the_map() {
    let streets = Streets::of(&town(4, 2, &[])).unwrap();
    let on = |from: f64| (0..4).map(move |n| (from + 25.0 * f64::from(n), 2.0));
    let mut places: Vec<(f64, f64)> = on(10.0).collect();
    places.push((110.0, 700.0));
    places.extend(on(135.0));
    let mut matcher = Matcher::new(&streets, MatchSettings::default());
    let mut found = Vec::new();
    positions(&places).iter().for_each(|position| matcher.push(*position, &mut found));
    matcher.finish(&mut found);
    assert_eq!(matcher.counts().outliers, 1);
    assert_eq!(matcher.counts().pieces, 1, "{:?}", shown(&streets, &found));
    let mut places: Vec<(f64, f64)> = on(10.0).collect();
    places.extend((0..40).map(|n| (110.0, 700.0 + 30.0 * f64::from(n))));
    places.extend(on(135.0));
    let found = shown(&streets, &matched(&streets, MatchSettings::default(), &positions(&places)));
    assert!(found.contains(&"40 left".to_owned()), "{found:?}");
    assert!(found.iter().any(|found| found == "440 at 1,0>2,0"), "{found:?}");
}

#[test]
fn a_long_gap_ends_a_piece_and_a_stay_does_not() {
    let streets = Streets::of(&town(4, 2, &[])).unwrap();
    let settings = MatchSettings { gap: Some(60_000_000), ..MatchSettings::default() };
    let at =
        |second: i64, east: f64| Position { moment: second * 1_000_000, place: place(east, 1.0) };
    let stay: Vec<Position> = (0..100).map(|n| at(n * 30, 40.0 + (n % 3) as f64)).collect();
    let drive = [at(3000, 80.0), at(3010, 140.0), at(3200, 240.0)];
    let found = shown(&streets, &matched(&streets, settings, &[&stay[..], &drive].concat()));
    let begins: Vec<&String> = found.iter().filter(|found| found.contains(" at ")).collect();
    assert_eq!(begins, ["0 at 0,0>1,0", "3200 at 2,0>3,0"], "{found:?}");
    // The stay is told all along, and the drive begins where it ended.
    assert!(found.contains(&"1500".to_owned()) && found.contains(&"2970".to_owned()));
    assert!(found.iter().any(|found| found.ends_with("to 1,0>2,0") && found.starts_with("300")));
}

#[test]
fn the_latest_street_while_it_happens() {
    let streets = Streets::of(&town(3, 3, &[])).unwrap();
    let mut matcher = Matcher::new(&streets, MatchSettings::default());
    assert_eq!(matcher.now(), None);
    let mut found = Vec::new();
    for position in positions(&[(10.0, 0.0), (50.0, 1.0), (100.0, 40.0), (101.0, 85.0)]) {
        matcher.push(position, &mut found);
    }
    assert_eq!(streets.label(matcher.now().unwrap()), "1,0>1,1");
    let near = streets.nearest(place(53.0, 7.0), 20.0).unwrap();
    assert!(streets.label(near.state).contains("0,0") && (near.distance - 7.0).abs() < 0.01);
    assert_eq!(streets.nearest(place(50.0, 50.0), 20.0), None);
}
