//! What the page's script draws, as JSON.
//!
//! Places are whole 10⁻⁷ degrees from a point in the middle; a street is a list of steps from one point to the next,
//! which are short numbers. A street that two states have in common, as its two directions do, is there once. Only states that
//! walks or estimates name are there as states.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use serde_json::Value;
use veilwalk::StateId;
use veilwalk::chain::Coordinates;

use super::{MapPage, PageError, Path};
use crate::ground::Ground;
use crate::walk::Layer;

/// Visits below this share of the most visited place's are not drawn.
const FAINTEST: f64 = 1.0 / 500.0;

/// A part of the earth.
#[derive(Clone, Copy, Debug)]
struct Extent {
    west: i32,
    east: i32,
    south: i32,
    north: i32,
}

impl Extent {
    fn of(points: impl Iterator<Item = Coordinates>) -> Option<Self> {
        points.fold(None, |extent: Option<Self>, at| {
            let (north, east) = (at.latitude(), at.longitude());
            Some(match extent {
                None => Self { west: east, east, south: north, north },
                Some(all) => Self {
                    west: all.west.min(east),
                    east: all.east.max(east),
                    south: all.south.min(north),
                    north: all.north.max(north),
                },
            })
        })
    }

    /// The same with as much again around it, for what is beside the walks.
    fn wider(self) -> Self {
        let (width, height) =
            (self.east.saturating_sub(self.west), self.north.saturating_sub(self.south));
        let margin = (width.max(height) / 2).max(Coordinates::PER_DEGREE / 200);
        Self {
            west: self.west.saturating_sub(margin),
            east: self.east.saturating_add(margin),
            south: self.south.saturating_sub(margin),
            north: self.north.saturating_add(margin),
        }
    }

    fn holds(self, at: Coordinates) -> bool {
        (self.west..=self.east).contains(&at.longitude())
            && (self.south..=self.north).contains(&at.latitude())
    }

    fn middle(self) -> (i32, i32) {
        let half = |a: i32, b: i32| ((i64::from(a) + i64::from(b)) / 2) as i32;
        (half(self.south, self.north), half(self.west, self.east))
    }
}

/// The streets, each once.
#[derive(Default)]
struct Streets {
    lines: Vec<Vec<Coordinates>>,
    points: usize,
    /// For each state its street, and whether it goes along it backwards.
    of: Vec<Option<(usize, bool)>>,
}

impl Streets {
    /// Those of the ground that are at least partly within an extent.
    fn of(ground: &Ground<'_>, within: Option<Extent>) -> Self {
        let chain = ground.chain();
        let mut all = Self { of: vec![None; chain.len()], ..Self::default() };
        let seen = |line: &[Coordinates]| {
            within.is_none_or(|extent| line.iter().any(|&point| extent.holds(point)))
        };
        if chain.states().any(|state| ground.line(state).is_some()) {
            let mut known: HashMap<Vec<Coordinates>, usize> = HashMap::new();
            for state in chain.states() {
                let Some(line) = ground.line(state).filter(|line| seen(line)) else { continue };
                let back = line.iter().rev().lt(line.iter());
                let mut line = line.to_vec();
                if back {
                    line.reverse();
                }
                let place = *known.entry(line).or_insert_with_key(|line| {
                    all.points += line.len();
                    all.lines.push(line.clone());
                    all.lines.len() - 1
                });
                all.of[state.index()] = Some((place, back));
            }
        } else {
            let mut known = HashSet::new();
            for from in chain.states() {
                for &to in chain.successors(from) {
                    let (Some(a), Some(b)) = (ground.point(from), ground.point(to)) else {
                        continue;
                    };
                    let line = [a, b];
                    if from != to && seen(&line) && known.insert((from.min(to), from.max(to))) {
                        all.points += 2;
                        all.lines.push(line.to_vec());
                    }
                }
            }
        }
        all
    }
}

/// Something that a walk names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Spot {
    State(StateId),
    Point(Coordinates),
}

/// The spots that are named, in the order in which they were first.
#[derive(Default)]
struct Named {
    numbers: HashMap<Spot, usize>,
    spots: Vec<Spot>,
}

impl Named {
    fn number(&mut self, state: StateId) -> usize {
        self.number_of(Spot::State(state))
    }

    fn number_of(&mut self, spot: Spot) -> usize {
        *self.numbers.entry(spot).or_insert_with(|| {
            self.spots.push(spot);
            self.spots.len() - 1
        })
    }
}

impl MapPage<'_> {
    /// Everything that is drawn, as text that may stand in a script.
    pub(super) fn data(&self) -> Result<String, PageError> {
        let paths = || self.walks.iter().flat_map(|walk| &walk.paths);
        let observed = || self.walks.iter().flat_map(|walk| walk.observed.iter().copied());
        let states = paths().map(|path| path.states.len()).sum::<usize>() + observed().count();
        if states > Self::MOST_STATES {
            return Err(PageError::TooManyStates { states, most: Self::MOST_STATES });
        }
        let walked = || paths().flat_map(|path| &path.states);
        let around = walked().flat_map(|&state| {
            let line = self.ground.line(state).unwrap_or_default().iter().copied();
            line.chain(self.ground.point(state))
        });
        let walked_extent = Extent::of(around);
        let mut streets = Streets::of(self.ground, None);
        let mut within = None;
        if streets.points > Self::MOST_POINTS && walked_extent.is_some() {
            within = walked_extent.map(Extent::wider);
            streets = Streets::of(self.ground, within);
        }
        if streets.points > Self::MOST_POINTS {
            let (points, most) = (streets.points, Self::MOST_POINTS);
            return Err(PageError::TooManyPoints { points, most });
        }
        let all = streets.lines.iter().flatten().copied();
        let all = all.chain(walked().filter_map(|&state| self.ground.point(state)));
        let visited = self.visits.iter().filter_map(|visit| self.ground.point(visit.state));
        let extent = Extent::of(all.chain(visited).chain(observed()));
        let origin = extent.map_or((0, 0), Extent::middle);
        let mut named = Named::default();
        let walks = self.walks(&mut named);
        let heat = self.heat(&mut named, within);
        let mut text = String::from("{");
        let _ = write!(text, "\"origin\":[{},{}],", origin.0, origin.1);
        text.push_str("\"streets\":");
        list(&mut text, &streets.lines, |text, line| steps(text, line, origin));
        text.push_str(",\"states\":");
        let names = self.ground.chain().places().and_then(|places| places.names.as_ref());
        list(&mut text, &named.spots, |text, &spot| {
            let place = |at: Coordinates| {
                let x = i64::from(at.longitude()) - i64::from(origin.1);
                format!("{x},{}", i64::from(at.latitude()) - i64::from(origin.0))
            };
            let state = match spot {
                Spot::State(state) => state,
                Spot::Point(at) => {
                    let _ = write!(text, "[{},0,{},\"\"]", place(at), word(&at.to_string()));
                    return;
                }
            };
            let label = self.ground.chain().label(state);
            // A state that is off the map has no place.
            let place = self.ground.point(state).map(place);
            let place = place.unwrap_or_else(|| "null,null".to_owned());
            // The street is counted from one; it is negative backwards and zero for none.
            let street = match streets.of[state.index()] {
                None => 0,
                Some((street, back)) => (street as i64 + 1) * if back { -1 } else { 1 },
            };
            let name = names.map_or("", |names| names[state.index()].as_str());
            let _ = write!(text, "[{place},{street},{},{}]", word(label), word(name));
        });
        let _ = write!(text, ",\"walks\":{walks},\"heat\":{heat}");
        let _ = write!(text, ",\"zone\":{}", self.zone.as_deref().map_or("null".to_owned(), word));
        let credit = self.attribution.as_deref().map_or("null".to_owned(), word);
        let _ = write!(text, ",\"attribution\":{credit}}}");
        Ok(text)
    }

    fn walks(&self, named: &mut Named) -> String {
        let mut text = String::new();
        list(&mut text, &self.walks, |text, walk| {
            let _ = write!(text, "{{\"name\":{}", word(&walk.name));
            if let Some(times) = walk.times {
                let _ = write!(
                    text,
                    ",\"first\":{},\"every\":{}",
                    times.first / 1000,
                    times.every / 1000
                );
            }
            for path in &walk.paths {
                let _ = write!(text, ",\"{}\":", path.layer.name());
                list(text, &path.states, |text, &state| {
                    let _ = write!(text, "{}", named.number(state));
                });
                let over = self.over(path);
                if !over.is_empty() {
                    let _ = write!(text, ",\"{}Over\":", path.layer.name());
                    list(text, &over, |text, (step, streets)| {
                        let _ = write!(text, "[{step}");
                        for &street in streets {
                            let _ = write!(text, ",{}", named.number(street));
                        }
                        text.push(']');
                    });
                }
            }
            if !walk.observed.is_empty() {
                let _ = write!(text, ",\"{}\":", Layer::Observed.name());
                list(text, &walk.observed, |text, &at| {
                    let _ = write!(text, "{}", named.number_of(Spot::Point(at)));
                });
            }
            text.push('}');
        });
        text
    }

    /// The steps that are reached over streets in between, with these streets.
    fn over(&self, path: &Path) -> Vec<(usize, Vec<StateId>)> {
        if path.layer == Layer::Observed {
            return Vec::new();
        }
        let pairs = path.states.windows(2).enumerate();
        let over = pairs.filter_map(|(step, pair)| {
            let over = self.ground.over(pair[0], pair[1])?;
            (!over.is_empty()).then_some((step + 1, over))
        });
        over.collect()
    }

    /// States with their shares and intervals; null if nothing was estimated.
    fn heat(&self, named: &mut Named, within: Option<Extent>) -> String {
        let most = self.visits.iter().map(|visit| visit.share).fold(0.0, f64::max);
        if most <= 0.0 {
            return "null".to_owned();
        }
        let seen = |state| {
            within.is_none_or(|extent| self.ground.point(state).is_some_and(|at| extent.holds(at)))
        };
        let drawn = self.visits.iter().filter(|v| v.share >= FAINTEST * most && seen(v.state));
        let drawn: Vec<_> = drawn.collect();
        let mut text = String::new();
        list(&mut text, &drawn, |text, visit| {
            let _ = write!(text, "[{},{}", named.number(visit.state), visit.share);
            if let Some((low, high)) = visit.interval {
                let _ = write!(text, ",{low},{high}");
            }
            text.push(']');
        });
        text
    }
}

fn list<T>(text: &mut String, items: &[T], mut write: impl FnMut(&mut String, &T)) {
    text.push('[');
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        write(text, item);
    }
    text.push(']');
}

/// A line as steps east and north, the first from the origin.
fn steps(text: &mut String, line: &[Coordinates], origin: (i32, i32)) {
    let mut last = origin;
    list(text, line, |text, at| {
        let (north, east) = (at.latitude() - last.0, i64::from(at.longitude()) - i64::from(last.1));
        let _ = write!(text, "{east},{north}");
        last = (at.latitude(), at.longitude());
    });
}

/// Text as JSON that may stand in a script: nothing in it ends the script.
fn word(text: &str) -> String {
    Value::from(text).to_string().replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{DrawnWalk, Visit};
    use super::*;
    use crate::ground::tests::{block, states, with_away};
    use crate::walk::Times;

    fn data(page: &MapPage<'_>) -> Value {
        serde_json::from_str(&page.data().unwrap()).unwrap()
    }

    #[test]
    fn streets_are_there_once_and_states_know_their_direction() {
        let chain = block();
        let ground = Ground::of(&chain).unwrap();
        let mut page = MapPage::new(&ground, "t");
        let path = |layer, labels: &[&str]| Path { layer, states: states(&chain, labels) };
        let paths = vec![
            path(Layer::Released, &["south", "south, back", "south"]),
            path(Layer::Real, &["south", "east"]),
        ];
        let times = Some(Times { first: 5_000_000, every: 60_000_000 });
        page.push(DrawnWalk { name: "<a>".to_owned(), times, paths, observed: Vec::new() });
        let visit = |state, share, interval| Visit { state: StateId::new(state), share, interval };
        page.visits(vec![
            visit(2, 0.7, Some((0.6, 0.8))),
            visit(1, 0.3, None),
            visit(3, 1e-4, None),
        ]);
        let found = data(&page);
        assert_eq!(found["origin"], json!([5000, 5000]));
        // South Street and South Street back are one.
        assert_eq!(found["streets"].as_array().unwrap().len(), 4);
        assert_eq!(found["streets"][0], json!([-5000, -5000, 4000, 0, 6000, 0]));
        let of = |state: usize, what: usize| found["states"][state][what].clone();
        assert_eq!((of(0, 2), of(1, 2)), (json!(1), json!(-1)));
        assert_eq!((of(0, 3), of(0, 4)), (json!("south"), json!("South Street")));
        assert_eq!(found["walks"][0]["released"], json!([0, 1, 0]));
        assert_eq!(found["walks"][0]["real"], json!([0, 2]));
        assert_eq!(
            (&found["walks"][0]["first"], &found["walks"][0]["every"]),
            (&json!(5000), &json!(60000))
        );
        assert_eq!(found["walks"][0]["name"], "<a>");
        // What is visited next to never is not drawn.
        assert_eq!(found["heat"], json!([[3, 0.7, 0.6, 0.8], [2, 0.3]]));
        assert!(!page.data().unwrap().contains('<'));
    }

    #[test]
    fn moves_over_several_streets_say_which() {
        let (chain, away) = with_away();
        let ground = Ground::of(&chain).unwrap();
        let mut page = MapPage::new(&ground, "t");
        let labels = ["south", "north <b>", "away", "south", "south"];
        let path = Path { layer: Layer::Released, states: states(&chain, &labels) };
        let (name, paths, observed) = ("a".to_owned(), vec![path], Vec::new());
        page.push(DrawnWalk { name, times: None, paths, observed });
        let found = data(&page);
        let of = |state: usize, what: usize| found["states"][state][what].clone();
        assert_eq!(found["walks"][0]["released"], json!([0, 1, 2, 0, 0]));
        assert_eq!(found["walks"][0]["releasedOver"], json!([[1, 3]]));
        assert_eq!((of(3, 3), of(2, 3)), (json!("east"), json!(chain.label(away))));
        assert_eq!((of(2, 0), of(2, 2)), (json!(null), json!(0)));
        // Nothing is drawn where the one is who is off the map.
        assert_eq!(found["origin"], json!([5000, 5000]));
    }

    #[test]
    fn without_lines_moves_are_streets() {
        let grid = veilwalk::chain::Grid {
            width: 3.try_into().unwrap(),
            height: 3.try_into().unwrap(),
            seed: 1,
        };
        let chain = veilwalk::Chain::grid_with_streets(grid, "100".parse().unwrap()).unwrap();
        let ground = Ground::of(&chain).unwrap();
        let found = data(&MapPage::new(&ground, "t"));
        let pairs: HashSet<_> = chain
            .states()
            .flat_map(|a| chain.successors(a).iter().map(move |&b| (a.min(b), a.max(b))))
            .filter(|(a, b)| a != b)
            .collect();
        assert_eq!(found["streets"].as_array().unwrap().len(), pairs.len());
        assert_eq!((&found["heat"], &found["attribution"]), (&json!(null), &json!(null)));
    }
}
