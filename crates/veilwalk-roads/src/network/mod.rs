//! The street network of a map: streets between junctions, both directions of each that may be used, and the moves from one
//! to the next.
//!
//! A street is the part of a way between two junctions, and a junction is a point where ways meet, where one ends, or where
//! nobody gets on. A state is a street in one direction. Turning back is a move only where there is no other: at the end of a
//! blind alley, of the map, or before a barrier.

mod cut;
mod turns;

use hashbrown::HashMap;
use veilwalk::chain::{Coordinates, Length};

use crate::error::MapProblem;
use crate::geometry;
use crate::osm::{Class, Direction, Mode, RawMap};
use cut::Piece;
use turns::Turns;

/// A street in one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// Its place among the streets.
    pub(crate) street: usize,
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) drawn: Drawn,
    /// The same street in the other direction, if it may be used.
    pub(crate) back: Option<usize>,
}

/// Whether a segment runs as the line of its street is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawn {
    Forward,
    Backward,
}

/// A street between two junctions.
#[derive(Debug)]
pub(crate) struct Street {
    /// The way's place in the map.
    way: usize,
    pub(crate) line: Vec<Coordinates>,
    pub(crate) length: Length,
    /// Both directions lie here.
    pub(crate) middle: Coordinates,
}

/// All streets of a map for one way to move.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) mode: Mode,
    map: RawMap,
    pub(crate) streets: Vec<Street>,
    pub(crate) segments: Vec<Segment>,
    /// Where one may go from each segment.
    pub(crate) moves: Vec<Vec<usize>>,
    pub(crate) figures: Figures,
}

/// What became of the map, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) ways: usize,
    /// Points of ways that are not in the file.
    pub(crate) missing_points: usize,
    pub(crate) restrictions: usize,
    pub(crate) restrictions_left_out: usize,
    pub(crate) reversible: usize,
}

impl Network {
    pub(crate) fn new(map: RawMap, mode: Mode) -> Result<Self, MapProblem> {
        let (pieces, missing_points) = cut::pieces(&map);
        if pieces.is_empty() {
            return Err(MapProblem::NoPoints { ways: map.ways.len(), mode });
        }
        let (mut streets, mut segments) = (Vec::with_capacity(pieces.len()), Vec::new());
        for Piece { way, nodes } in pieces {
            let raw = &map.ways[way];
            let nodes = &raw.nodes[nodes];
            let line: Vec<_> = nodes.iter().map(|node| map.points[node]).collect();
            let length = whole_length(&line).ok_or(MapProblem::TooLong { way: raw.id })?;
            let (first, last) = (nodes[0], nodes[nodes.len() - 1]);
            let street = streets.len();
            let segment = |from, to, drawn| Segment { street, from, to, drawn, back: None };
            let forward = segment(first, last, Drawn::Forward);
            let backward = segment(last, first, Drawn::Backward);
            match raw.direction {
                Direction::Forward => segments.push(forward),
                Direction::Backward => segments.push(backward),
                Direction::Both => {
                    let at = segments.len();
                    segments.push(Segment { back: Some(at + 1), ..forward });
                    segments.push(Segment { back: Some(at), ..backward });
                }
            }
            streets.push(Street { way, middle: geometry::middle(&line), line, length });
        }
        let figures = Figures {
            ways: map.ways.len(),
            missing_points,
            restrictions: 0,
            restrictions_left_out: map.restrictions_left_out,
            reversible: map.reversible,
        };
        let mut network = Self { mode, map, streets, segments, moves: Vec::new(), figures };
        network.connect();
        Ok(network)
    }

    /// Finds the moves.
    fn connect(&mut self) {
        let turns = Turns::new(&self.map.restrictions);
        let mut leaving: HashMap<i64, Vec<usize>> = HashMap::new();
        for (number, segment) in self.segments.iter().enumerate() {
            leaving.entry(segment.from).or_default().push(number);
        }
        let mut applied = hashbrown::HashSet::new();
        self.moves = self
            .segments
            .iter()
            .map(|segment| {
                let at = segment.to;
                let ahead = leaving.get(&at).map(Vec::as_slice).unwrap_or_default();
                let way = |segment: &Segment| self.way(segment).id;
                let ways_ahead: Vec<i64> =
                    ahead.iter().map(|&next| way(&self.segments[next])).collect();
                let rules = turns.at(way(segment), at, &ways_ahead);
                applied.extend(rules.applied());
                let passes = !self.map.stops.contains(&at);
                let mut next: Vec<usize> = ahead
                    .iter()
                    .copied()
                    .filter(|&next| passes && Some(next) != segment.back)
                    .filter(|&next| rules.allow(way(&self.segments[next])))
                    .collect();
                if next.is_empty() && rules.allow_u_turn() {
                    next.extend(segment.back);
                }
                next
            })
            .collect();
        self.figures.restrictions = applied.len();
        self.figures.restrictions_left_out += self.map.restrictions.len() - applied.len();
    }

    fn way(&self, segment: &Segment) -> &crate::osm::RawWay {
        &self.map.ways[self.streets[segment.street].way]
    }

    pub(crate) fn street(&self, segment: &Segment) -> &Street {
        &self.streets[segment.street]
    }

    pub(crate) fn name(&self, segment: &Segment) -> &str {
        &self.way(segment).name
    }

    pub(crate) fn class(&self, segment: &Segment) -> Class {
        self.way(segment).class
    }

    /// The line as the segment runs.
    pub(crate) fn line(&self, segment: &Segment) -> Vec<Coordinates> {
        let mut line = self.street(segment).line.clone();
        if segment.drawn == Drawn::Backward {
            line.reverse();
        }
        line
    }

    /// What the state of a segment is called: its way and the points at its ends, by their numbers on the map.
    pub(crate) fn label(&self, segment: &Segment) -> String {
        format!("w{}-{}>{}", self.way(segment).id, segment.from, segment.to)
    }

    /// Where a junction is.
    pub(crate) fn point(&self, node: i64) -> Coordinates {
        self.map.points[&node]
    }
}

/// The length of a line in whole millimetres, cut.
fn whole_length(line: &[Coordinates]) -> Option<Length> {
    let millimetres = (geometry::length(line) * 1000.0).floor();
    let fits = millimetres <= f64::from(Length::LONGEST.millimetres());
    fits.then_some(millimetres as u32).and_then(Length::from_millimetres)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::osm::{RawWay, Restriction, Rule};

    fn map(ways: &[(i64, &[i64], Direction)], restrictions: &[Restriction]) -> RawMap {
        let place = |node: i64| {
            Coordinates::from_degrees(42.0 + node as f64 * 0.001, 1.5 + (node % 3) as f64 * 0.001)
        };
        let way = |&(id, nodes, direction): &(i64, &[i64], Direction)| RawWay {
            id,
            nodes: nodes.to_vec(),
            class: Class::Street,
            direction,
            name: format!("street {id}"),
        };
        RawMap {
            ways: ways.iter().map(way).collect(),
            points: (1..100).map(|node| (node, place(node).unwrap())).collect(),
            restrictions: restrictions.to_vec(),
            ..RawMap::default()
        }
    }

    /// The moves of a network, as `a -> b c` in the order of the segments.
    fn shown(network: &Network) -> Vec<String> {
        let label = |&number: &usize| network.label(&network.segments[number]);
        let row = |(number, next): (usize, &Vec<usize>)| {
            let next: Vec<String> = next.iter().map(label).collect();
            format!("{} -> {}", label(&number), next.join(" "))
        };
        network.moves.iter().enumerate().map(row).collect()
    }

    use Direction::{Both, Forward};

    #[test]
    fn a_crossing_and_its_ends() {
        // A street 1-2-3 with a point in between, and a one-way street from 2 to 4.
        let ways: [(i64, &[i64], Direction); 3] =
            [(7, &[1, 9, 2, 3], Both), (8, &[2, 4], Forward), (9, &[4, 3], Both)];
        let network = Network::new(map(&ways, &[]), Mode::Car).unwrap();
        assert_eq!(
            shown(&network),
            [
                "w7-1>2 -> w7-2>3 w8-2>4",
                "w7-2>1 -> w7-1>2",
                "w7-2>3 -> w9-3>4",
                "w7-3>2 -> w7-2>1 w8-2>4",
                "w8-2>4 -> w9-4>3",
                "w9-4>3 -> w7-3>2",
                "w9-3>4 -> w9-4>3",
            ]
        );
        let [there, back] = [&network.segments[0], &network.segments[1]];
        assert_eq!(network.street(there).middle, network.street(back).middle);
        assert_eq!(network.line(there).len(), 3);
        let mut reversed = network.line(back);
        reversed.reverse();
        assert_eq!(network.line(there), reversed);
    }

    #[test]
    fn rules_for_turning() {
        let ways: [(i64, &[i64], Direction); 4] =
            [(1, &[1, 5], Both), (2, &[5, 2], Both), (3, &[5, 3], Both), (4, &[5, 4], Both)];
        let rule = |from, to, rule| Restriction { from, via: 5, to, rule };
        let from_one = |restrictions: &[Restriction]| {
            let network = Network::new(map(&ways, restrictions), Mode::Car).unwrap();
            (shown(&network)[0].clone(), network.figures)
        };
        assert_eq!(from_one(&[]).0, "w1-1>5 -> w2-5>2 w3-5>3 w4-5>4");
        let (row, figures) = from_one(&[rule(1, 2, Rule::No), rule(9, 2, Rule::No)]);
        assert_eq!(row, "w1-1>5 -> w3-5>3 w4-5>4");
        assert_eq!((figures.restrictions, figures.restrictions_left_out), (1, 1));
        assert_eq!(from_one(&[rule(1, 3, Rule::Only)]).0, "w1-1>5 -> w3-5>3");
        let all = [2, 3, 4].map(|to| rule(1, to, Rule::No));
        assert_eq!(from_one(&all).0, "w1-1>5 -> w1-5>1", "back where nothing else is allowed");
        let none = [&all[..], &[rule(1, 1, Rule::NoUTurn)]].concat();
        assert_eq!(from_one(&none).0, "w1-1>5 -> ");
        let (row, figures) = from_one(&[rule(1, 77, Rule::Only)]);
        assert_eq!(row, "w1-1>5 -> w2-5>2 w3-5>3 w4-5>4", "a rule for a way that is not there");
        assert_eq!(figures.restrictions_left_out, 1);
    }

    #[test]
    fn nobody_passes_a_barrier() {
        let mut raw = map(&[(1, &[1, 2, 3], Both)], &[]);
        raw.stops.insert(2);
        let network = Network::new(raw, Mode::Car).unwrap();
        assert_eq!(
            shown(&network),
            ["w1-1>2 -> w1-2>1", "w1-2>1 -> w1-1>2", "w1-2>3 -> w1-3>2", "w1-3>2 -> w1-2>3"]
        );
    }

    /// A way that comes back to itself, a loop, and one with a missing point: every label is there once.
    #[test]
    fn labels_are_unique() {
        let mut raw = map(
            &[
                (1, &[1, 2, 3, 4, 1], Both),
                (2, &[10, 11, 12, 11, 13], Both),
                (3, &[20, 21, 22, 20, 23, 22], Both),
                (4, &[30, 200, 31, 32], Both),
                (5, &[40, 41, 40], Forward),
            ],
            &[],
        );
        raw.points.remove(&200);
        let network = Network::new(raw, Mode::Car).unwrap();
        let labels: Vec<String> = network.segments.iter().map(|s| network.label(s)).collect();
        let distinct: hashbrown::HashSet<&String> = labels.iter().collect();
        assert_eq!(distinct.len(), labels.len(), "{labels:?}");
        assert_eq!(network.figures.missing_points, 1);
        assert!(
            labels.contains(&"w4-31>32".to_owned()) && !labels.iter().any(|l| l.contains("30"))
        );
        assert!(network.segments.iter().all(|segment| segment.from != segment.to));
    }
}
