//! Where the states of a chain lie, and the way from one to the next.
//!
//! A state is at a point. A state that is a street has a line as well, from its beginning to its end, and is at the
//! middle of it. The way from one street to another goes along the rest of the first, the shortest way over streets in
//! between, and the beginning of the other: on a clock, a move may pass several streets. Where there is no such way, and between
//! states without lines, it is a straight line. Where states are streets, a state without a line is not a street: whoever is there is off the
//! map, and the walk is drawn in parts. So is a state that is called so.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::OnceLock;

use thiserror::Error;
use veilwalk::StateId;
use veilwalk::chain::{Chain, Coordinates};

/// What `veilwalk chain osm --away` calls the state of whoever is off the map.
const OFF_THE_MAP: &str = "off the map";

/// Where the states of a chain lie.
#[derive(Debug)]
pub struct Ground<'c> {
    chain: &'c Chain,
    /// None for states that are off the map.
    points: Vec<Option<Coordinates>>,
    lines: Option<&'c [Vec<Coordinates>]>,
    /// The streets that begin at a place, for those who look for a way.
    begins: OnceLock<HashMap<Coordinates, Vec<StateId>>>,
}

/// Why a chain has no ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GroundError {
    /// Nothing says where its states are.
    #[error(
        "the chain does not say where its states lie, so there is nothing to draw them on; give their places"
    )]
    NoPlaces,
}

/// A part of a walk that is on the map: places with when a walk is there, in steps.
pub type Way = Vec<(Coordinates, f64)>;

impl<'c> Ground<'c> {
    /// A way over streets is looked for among so many.
    const MOST_STREETS: usize = 20_000;

    /// That of a chain whose states have coordinates or lines.
    ///
    /// # Errors
    ///
    /// If they have neither.
    pub fn of(chain: &'c Chain) -> Result<Self, GroundError> {
        let places = chain.places().ok_or(GroundError::NoPlaces)?;
        let lines = places.lines.as_deref();
        let is_street = |state: usize| lines.is_some_and(|lines| lines[state].len() > 1);
        let streets = (0..chain.len()).filter(|&state| is_street(state)).count();
        let of_streets = 2 * streets > chain.len();
        let mut points: Vec<_> = match (&places.coordinates, lines) {
            (Some(coordinates), _) => coordinates.iter().copied().map(Some).collect(),
            (None, Some(lines)) => lines.iter().map(|line| Some(middle(line).0)).collect(),
            (None, None) => return Err(GroundError::NoPlaces),
        };
        let named = |state: usize| places.names.as_ref().map(|names| names[state].as_str());
        for (state, point) in points.iter_mut().enumerate() {
            if named(state) == Some(OFF_THE_MAP) || (of_streets && !is_street(state)) {
                *point = None;
            }
        }
        Ok(Self { chain, points, lines, begins: OnceLock::new() })
    }

    /// The chain.
    #[must_use]
    pub fn chain(&self) -> &'c Chain {
        self.chain
    }

    /// Where a state is; none if it is off the map.
    #[must_use]
    pub fn point(&self, state: StateId) -> Option<Coordinates> {
        self.points[state.index()]
    }

    /// The line of a state that has one.
    #[must_use]
    pub fn line(&self, state: StateId) -> Option<&'c [Coordinates]> {
        let line = self.lines?[state.index()].as_slice();
        (line.len() > 1).then_some(line)
    }

    /// The points that a walk comes through, in parts that are on the map, each point with when: in steps, of which parts are given by the
    /// share of the way. A walk that stays where it is has its point once for each step.
    #[must_use]
    pub fn ways(&self, states: &[StateId]) -> Vec<Way> {
        let (mut ways, mut way) = (Vec::new(), Way::new());
        let mut last: Option<(StateId, Coordinates)> = None;
        for (step, &state) in states.iter().enumerate() {
            let Some(stop) = self.stop(state) else {
                ways.extend((!way.is_empty()).then(|| std::mem::take(&mut way)));
                last = None;
                continue;
            };
            if let Some((from, start)) = last {
                let between = self.between(from, state);
                let all = std::iter::once(start).chain(between.iter().copied()).chain([stop]);
                let total = length(all);
                let (mut gone, mut at) = (0.0, start);
                for point in between {
                    gone += apart(at, point);
                    at = point;
                    let share = if total > 0.0 { gone / total } else { 0.5 };
                    way.push((point, (step - 1) as f64 + share));
                }
            }
            way.push((stop, step as f64));
            last = Some((state, stop));
        }
        ways.extend((!way.is_empty()).then_some(way));
        ways
    }

    /// Where a walk is while it is in a state: at the middle of its line, or at its point.
    fn stop(&self, state: StateId) -> Option<Coordinates> {
        let point = self.point(state)?;
        Some(self.line(state).map_or(point, |line| middle(line).0))
    }

    /// What lies on the way from one state to another, without both ends.
    fn between(&self, from: StateId, to: StateId) -> Vec<Coordinates> {
        let (Some(one), Some(other)) = (self.line(from), self.line(to)) else { return Vec::new() };
        let Some(over) = self.over(from, to) else { return Vec::new() };
        let (rest, begin) = (middle(one).1, middle(other).1);
        let mut points = one[rest..].to_vec();
        // The points where streets meet are in both.
        for street in over {
            points.extend(&self.line(street).expect("a street")[1..]);
        }
        points.extend(&other[1..begin]);
        points
    }

    /// The streets on the shortest way from the end of a street to the beginning of another; none if there is no way, or one of the states is
    /// no street, or they are one.
    #[must_use]
    pub(crate) fn over(&self, from: StateId, to: StateId) -> Option<Vec<StateId>> {
        let (one, other) = (self.line(from)?, self.line(to)?);
        if from == to {
            return None;
        }
        if one.last() == other.first() {
            return Some(Vec::new());
        }
        let begins = self.begins.get_or_init(|| {
            let mut begins: HashMap<_, Vec<_>> = HashMap::new();
            for state in self.chain.states() {
                if let Some(line) = self.line(state) {
                    begins.entry(line[0]).or_default().push(state);
                }
            }
            begins
        });
        // Dijkstra's search. Lengths are compared as whole numbers, so that the way is the same everywhere.
        let measure = |line: &[Coordinates]| (length(line.iter().copied()) * 1e9).round() as u64;
        let mut before: HashMap<StateId, StateId> = HashMap::new();
        let mut queue = BinaryHeap::from([(Reverse(0_u64), Reverse(from), from)]);
        while let Some((Reverse(gone), Reverse(street), came_from)) = queue.pop() {
            if street != from {
                if before.contains_key(&street) {
                    continue;
                }
                before.insert(street, came_from);
            }
            if street == to || before.len() > Self::MOST_STREETS {
                break;
            }
            let end = self.line(street)?.last()?;
            for &next in begins.get(end).into_iter().flatten() {
                if next != from && !before.contains_key(&next) {
                    // The last street is only entered.
                    let more = if next == to { 0 } else { measure(self.line(next)?) };
                    queue.push((Reverse(gone + more), Reverse(next), street));
                }
            }
        }
        let mut over = Vec::new();
        let mut at = *before.get(&to)?;
        while at != from {
            over.push(at);
            at = before[&at];
        }
        over.reverse();
        Some(over)
    }
}

/// How long a line is.
fn length(points: impl Iterator<Item = Coordinates>) -> f64 {
    let mut last = None;
    points.map(|point| last.replace(point).map_or(0.0, |last| apart(last, point))).sum()
}

/// The point at half the length of a line, and the number of the first point after it.
fn middle(line: &[Coordinates]) -> (Coordinates, usize) {
    let half = length(line.iter().copied()) / 2.0;
    let mut gone = 0.0;
    for (place, pair) in line.windows(2).enumerate() {
        let piece = apart(pair[0], pair[1]);
        if gone + piece >= half && piece > 0.0 {
            return (on_the_way(pair[0], pair[1], (half - gone) / piece), place + 1);
        }
        gone += piece;
    }
    // All of its points are one.
    (line[0], 1)
}

/// How far two near places are apart, in no unit: only for shares of a way.
fn apart(a: Coordinates, b: Coordinates) -> f64 {
    let ((north, east), (to_north, to_east)) = (a.degrees(), b.degrees());
    let narrow = ((north + to_north) / 2.0).to_radians().cos();
    (to_north - north).hypot((to_east - east) * narrow)
}

fn on_the_way(a: Coordinates, b: Coordinates, share: f64) -> Coordinates {
    let between = |from: i32, to: i32| {
        (f64::from(from) + (f64::from(to) - f64::from(from)) * share).round() as i32
    };
    let place = Coordinates::new(
        between(a.latitude(), b.latitude()),
        between(a.longitude(), b.longitude()),
    );
    place.expect("between two places on the earth")
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use veilwalk::chain::{ChainBuilder, Entries, Places};

    use super::*;

    pub(crate) fn at(latitude: i32, longitude: i32) -> Coordinates {
        Coordinates::new(latitude * 1000, longitude * 1000).unwrap()
    }

    /// Streets around a block, a to d, and back from b to a; each is a state with its line.
    pub(crate) fn block() -> Chain {
        let mut builder = ChainBuilder::new(Entries::Counts);
        let states =
            ["south", "east", "north <b>", "west", "south, back"].map(|name| builder.state(name));
        for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (4, 0), (3, 4), (0, 0)] {
            builder.transition(states[from], states[to], 1.0).unwrap();
        }
        let (chain, _) = builder.build(Default::default()).unwrap();
        let lines = vec![
            vec![at(0, 0), at(0, 4), at(0, 10)],
            vec![at(0, 10), at(10, 10)],
            vec![at(10, 10), at(10, 0)],
            vec![at(10, 0), at(0, 0)],
            vec![at(0, 10), at(0, 4), at(0, 0)],
        ];
        let names =
            ["South Street", "East Street", "", "West Street", "South Street"].map(str::to_owned);
        let coordinates = lines.iter().map(|line| middle(line).0).collect();
        let (lengths, coordinates) = (None, Some(coordinates));
        let places =
            Places { lengths, coordinates, names: Some(names.to_vec()), lines: Some(lines) };
        chain.with_places(places).unwrap()
    }

    /// The same with a state for whoever is off the map, and its number.
    pub(crate) fn with_away() -> (Chain, StateId) {
        let block = block();
        let mut builder = ChainBuilder::new(Entries::Counts);
        for state in block.states() {
            builder.state(block.label(state));
        }
        let away = builder.state("away");
        for from in block.states() {
            for &to in block.successors(from) {
                builder.transition(from, to, 1.0).unwrap();
            }
            builder.transition(from, away, 1.0).unwrap();
            builder.transition(away, from, 1.0).unwrap();
        }
        let (chain, _) = builder.build(Default::default()).unwrap();
        let mut lines = block.places().unwrap().lines.clone().unwrap();
        lines.push(vec![at(90, 5)]);
        let coordinates = Some(lines.iter().map(|line| middle(line).0).collect());
        let places = Places { coordinates, lines: Some(lines), ..Places::default() };
        (chain.with_places(places).unwrap(), away)
    }

    pub(crate) fn states(chain: &Chain, labels: &[&str]) -> Vec<StateId> {
        labels.iter().map(|label| chain.state(label).unwrap()).collect()
    }

    #[test]
    fn a_walk_goes_along_the_streets() {
        let chain = block();
        let ground = Ground::of(&chain).unwrap();
        // Steps to the thousandth: shares of a way are floats.
        let way = |labels: &[&str]| -> Vec<(Coordinates, f64)> {
            let ways = ground.ways(&states(&chain, labels)).concat();
            ways.into_iter().map(|(at, step)| (at, (1000.0 * step).round() / 1000.0)).collect()
        };
        assert_eq!(
            way(&["south", "east", "east", "north <b>"]),
            [
                (at(0, 5), 0.0),
                (at(0, 10), 0.5),
                (at(5, 10), 1.0),
                (at(5, 10), 2.0),
                (at(10, 10), 2.5),
                (at(10, 5), 3.0),
            ]
        );
        // There and back again, over a point of the line.
        let turned = way(&["south, back", "south"]);
        assert_eq!(turned[0], (at(0, 5), 0.0));
        assert_eq!(turned[1].0, at(0, 4));
        assert_eq!(turned[2], (at(0, 0), 0.5));
        assert_eq!(turned.last(), Some(&(at(0, 5), 1.0)));
        // Streets with another between them, as there may be on a clock.
        assert_eq!(
            way(&["south", "north <b>"]),
            [(at(0, 5), 0.0), (at(0, 10), 0.25), (at(10, 10), 0.75), (at(10, 5), 1.0)]
        );
        assert!(way(&[]).is_empty());
    }

    #[test]
    fn without_lines_walks_go_from_point_to_point() {
        let chain = block();
        let coordinates = chain.places().unwrap().coordinates.clone();
        let chain = chain.with_places(Places { coordinates, ..Places::default() }).unwrap();
        let ground = Ground::of(&chain).unwrap();
        assert_eq!(ground.line(StateId::new(0)), None);
        let ways = ground.ways(&states(&chain, &["south", "east"]));
        assert_eq!(ways, [[(at(0, 5), 0.0), (at(5, 10), 1.0)]]);
        let bare = chain.with_places(Places::default()).unwrap();
        assert_eq!(Ground::of(&bare).unwrap_err(), GroundError::NoPlaces);
        assert_eq!(Ground::of(&Chain::credit()).unwrap_err(), GroundError::NoPlaces);
    }

    #[test]
    fn whoever_is_off_the_map_is_not_drawn() {
        let (chain, _) = with_away();
        let ground = Ground::of(&chain).unwrap();
        assert_eq!(ground.point(chain.state("away").unwrap()), None);
        let ways = |labels: &[&str]| ground.ways(&states(&chain, labels));
        let parts = ways(&["away", "south", "away", "away", "east", "north <b>"]);
        assert_eq!(parts[0], [(at(0, 5), 1.0)]);
        assert_eq!(
            parts[1].iter().map(|(_, step)| step.floor()).collect::<Vec<_>>(),
            [4.0, 4.0, 5.0]
        );
        assert_eq!(parts.len(), 2);
        assert!(ways(&["away", "away"]).is_empty());
        // Where states are crossings, none has a line; then its name tells.
        let coordinates = chain.places().unwrap().coordinates.clone();
        let names: Vec<_> = chain.states().map(|state| chain.label(state).to_owned()).collect();
        let names = names
            .into_iter()
            .map(|name| if name == "away" { OFF_THE_MAP.to_owned() } else { name });
        let places = Places { coordinates, names: Some(names.collect()), ..Places::default() };
        let chain = chain.with_places(places).unwrap();
        let ground = Ground::of(&chain).unwrap();
        let off = chain.states().filter(|&state| ground.point(state).is_none());
        assert_eq!(off.collect::<Vec<_>>(), [chain.state("away").unwrap()]);
    }

    /// The shortest way by a slow search: all lists of streets, shorter ones first.
    fn slowest(ground: &Ground<'_>, from: StateId, to: StateId) -> Option<f64> {
        let total = |street: StateId| length(ground.line(street).unwrap().iter().copied());
        let mut best: Vec<f64> = vec![f64::INFINITY; ground.chain().len()];
        best[from.index()] = 0.0;
        for _ in 0..ground.chain().len() {
            for a in ground.chain().states() {
                for b in ground.chain().states().filter(|&b| b != from) {
                    let meet = ground.line(a).unwrap().last() == ground.line(b).unwrap().first();
                    let more = if b == to { 0.0 } else { total(b) };
                    if meet && a != to && best[a.index()] + more < best[b.index()] {
                        best[b.index()] = best[a.index()] + more;
                    }
                }
            }
        }
        best[to.index()].is_finite().then_some(best[to.index()])
    }

    proptest! {
        /// The way over streets is as short as that of a slow search, and its streets meet.
        #[test]
        fn ways_over_streets_are_shortest(
            ends in prop::collection::hash_set(((0..3i32, 0..3i32), (0..3i32, 0..3i32)), 2..14),
            pick in (0..14usize, 0..14usize),
        ) {
            let ends: Vec<_> = ends.into_iter().filter(|(a, b)| a != b).collect();
            prop_assume!(ends.len() > 1);
            let mut builder = ChainBuilder::new(Entries::Counts);
            for street in 0..ends.len() {
                let (a, b) = (builder.state(&street.to_string()), (street + 1) % ends.len());
                let b = builder.state(&b.to_string());
                builder.transition(a, b, 1.0).unwrap();
            }
            let (chain, _) = builder.build(Default::default()).unwrap();
            let place = |(a, b): (i32, i32)| at(10 * a, 10 * b + a);
            let lines = ends.iter().map(|&(a, b)| vec![place(a), place(b)]).collect();
            let chain = chain.with_places(Places { lines: Some(lines), ..Places::default() }).unwrap();
            let ground = Ground::of(&chain).unwrap();
            let [from, to] = [pick.0, pick.1].map(|k| StateId::new(k % ends.len()));
            prop_assume!(from != to);
            let over = ground.over(from, to);
            let found = over.as_ref().map(|over| {
                over.iter().map(|&street| length(ground.line(street).unwrap().iter().copied())).sum::<f64>()
            });
            match (found, slowest(&ground, from, to)) {
                (Some(found), Some(best)) => prop_assert!((found - best).abs() < 1e-8, "{found} {best}"),
                (found, best) => prop_assert_eq!(found.is_some(), best.is_some()),
            }
            let all: Vec<_> = std::iter::once(from).chain(over.into_iter().flatten()).collect();
            for pair in all.windows(2) {
                prop_assert_eq!(ground.line(pair[0]).unwrap().last(), ground.line(pair[1]).unwrap().first());
            }
        }

        /// A line of any points has its middle on it, with as much before it as after it.
        #[test]
        fn the_middle_halves_a_line(points in prop::collection::vec((0..4i32, 0..4i32), 1..8)) {
            let line: Vec<_> = points.iter().map(|&(a, b)| at(10 * a, 10 * b)).collect();
            let (point, next) = middle(&line);
            let before = length(line[..next].iter().copied().chain([point]));
            let after = length(std::iter::once(point).chain(line[next.min(line.len())..].iter().copied()));
            prop_assert!((before - after).abs() < 1e-6, "{before} {after}");
        }

        /// Every state of a walk is passed at its step, in order.
        #[test]
        fn a_way_passes_every_state(labels in prop::collection::vec(0..5usize, 1..12)) {
            let chain = block();
            let ground = Ground::of(&chain).unwrap();
            let states: Vec<_> = labels.iter().map(|&label| StateId::new(label)).collect();
            let way = ground.ways(&states).concat();
            prop_assert!(way.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{way:?}");
            for (step, &state) in states.iter().enumerate() {
                prop_assert!(way.contains(&(ground.stop(state).unwrap(), step as f64)), "{step} in {way:?}");
            }
        }
    }
}
