//! States and moves before they are a chain: by streets, by crossings, within a tick of a clock, with a place for whoever is
//! not on the map.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;
use veilwalk::chain::{Coordinates, Length};

use crate::network::Network;
use crate::osm::Mode;

/// A state.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) label: String,
    pub(crate) place: Coordinates,
    pub(crate) name: String,
    pub(crate) line: Vec<Coordinates>,
}

/// A move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Move {
    pub(crate) to: usize,
    /// What share of those who move go here, beside the other moves.
    pub(crate) share: f64,
    pub(crate) length: Length,
    /// How long it takes, in milliseconds.
    pub(crate) time: u64,
}

/// States and their moves.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) moves: Vec<Vec<Move>>,
}

/// How the traffic divides at a crossing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    Even,
    ByClass,
}

fn sum(a: Length, b: Length) -> Length {
    let sum = u64::from(a.millimetres()) + u64::from(b.millimetres());
    length(sum)
}

/// Lengths of whole ways may be added up beyond what a move can have; so far apart is far enough.
pub(crate) fn length(millimetres: u64) -> Length {
    let most = u64::from(Length::LONGEST.millimetres());
    Length::from_millimetres(millimetres.min(most) as u32).unwrap_or(Length::LONGEST)
}

impl Network {
    /// How long it takes to pass a segment, in milliseconds.
    fn time(&self, segment: usize) -> f64 {
        let segment = &self.segments[segment];
        let metres = self.street(segment).length.metres();
        1000.0 * metres / self.class(segment).speed(self.mode)
    }

    fn share(&self, segment: usize, share: Share) -> f64 {
        match share {
            Share::Even => 1.0,
            Share::ByClass => self.class(&self.segments[segment]).share(self.mode),
        }
    }
}

impl Graph {
    /// States are segments. A move goes from the middle of one to the middle of the next.
    pub(crate) fn of_segments(network: &Network, share: Share) -> Self {
        let node = |segment| Node {
            label: network.label(segment),
            place: network.street(segment).middle,
            name: network.name(segment).to_owned(),
            line: network.line(segment),
        };
        let half = |segment: usize| {
            u64::from(network.street(&network.segments[segment]).length.millimetres())
        };
        let to_next = |from: usize, to: usize| Move {
            to,
            share: network.share(to, share),
            length: length((half(from) + half(to)) / 2),
            time: ((network.time(from) + network.time(to)) / 2.0) as u64,
        };
        let row =
            |(from, next): (usize, &Vec<usize>)| next.iter().map(|&to| to_next(from, to)).collect();
        Self {
            nodes: network.segments.iter().map(node).collect(),
            moves: network.moves.iter().enumerate().map(row).collect(),
        }
    }

    /// States are junctions, and moves are the segments between them; of several to one junction, the shortest. Which turns are
    /// allowed depends on where one comes from, which these states do not know.
    pub(crate) fn of_crossings(network: &Network, share: Share) -> Self {
        let mut numbers: HashMap<i64, usize> = HashMap::new();
        let mut nodes: Vec<Node> = Vec::new();
        for segment in &network.segments {
            for end in [segment.from, segment.to] {
                let number = *numbers.entry(end).or_insert_with(|| {
                    let place = network.point(end);
                    let (label, line) = (format!("n{end}"), vec![place]);
                    nodes.push(Node { label, place, name: String::new(), line });
                    nodes.len() - 1
                });
                let (known, name) = (&mut nodes[number].name, network.name(segment));
                if !name.is_empty() && !known.split(" / ").any(|known| known == name) {
                    if !known.is_empty() {
                        known.push_str(" / ");
                    }
                    known.push_str(name);
                }
            }
        }
        let mut moves: Vec<Vec<Move>> = vec![Vec::new(); nodes.len()];
        for (number, segment) in network.segments.iter().enumerate() {
            let to = numbers[&segment.to];
            let row = &mut moves[numbers[&segment.from]];
            let found = Move {
                to,
                share: network.share(number, share),
                length: network.street(segment).length,
                time: network.time(number) as u64,
            };
            match row.iter_mut().find(|known| known.to == to) {
                Some(known) if known.length <= found.length => {}
                Some(known) => *known = found,
                None => row.push(found),
            }
        }
        Self { nodes, moves }
    }

    /// The moves that somebody makes between two ticks of a clock: to every state that can be reached in this time, in
    /// milliseconds, by the quickest way, and to the state itself. Neighbours stay moves, however long they take.
    ///
    /// People are taken to move along for a part of the time that may be anything from nothing to all of it, to divide at
    /// every crossing by the shares, and to stay where they are then. Whoever is between two states then is in one of them, in the
    /// second as often as the share of the way that is behind them: so nobody is held up by a long street, and people get on as
    /// fast on average as they move. The shares of all moves out of a state sum to one.
    pub(crate) fn within(&self, time: u64) -> Self {
        let mut search = Quickest::new(self.nodes.len());
        let moves = (0..self.nodes.len()).map(|from| search.row(self, from, time)).collect();
        Self { nodes: self.nodes.clone(), moves }
    }

    /// Adds a state for whoever is not on the map. It can be reached from everywhere and leads everywhere, and lies so far away
    /// that no way through it is shorter than one along the streets.
    pub(crate) fn with_away(mut self, label: &str) -> Self {
        /// One move in so many leaves the map.
        const SELDOM: f64 = 0.01;
        let far = self.farthest();
        let away = self.nodes.len();
        let time = u64::MAX;
        for row in &mut self.moves {
            let total: f64 = row.iter().map(|step| step.share).sum();
            row.push(Move { to: away, share: SELDOM * total, length: far, time });
        }
        let mut back: Vec<Move> =
            (0..away).map(|to| Move { to, share: 1.0, length: far, time }).collect();
        let stay = away as f64 / SELDOM;
        back.push(Move { to: away, share: stay, length: Length::ZERO, time });
        self.moves.push(back);
        let place = self.north_of_the_map();
        let name = "off the map".to_owned();
        self.nodes.push(Node { label: label.to_owned(), place, name, line: vec![place] });
        self
    }

    /// How far it is from the first state to the one that is farthest, whatever the one-way signs say. No two states are farther
    /// apart than twice that.
    fn farthest(&self) -> Length {
        let mut both: Vec<Vec<(usize, u64)>> = vec![Vec::new(); self.nodes.len()];
        for (from, row) in self.moves.iter().enumerate() {
            for step in row {
                let length = u64::from(step.length.millimetres());
                both[from].push((step.to, length));
                both[step.to].push((from, length));
            }
        }
        let mut distances = vec![u64::MAX; self.nodes.len()];
        let mut waiting = BinaryHeap::from([Reverse((0_u64, 0_usize))]);
        let mut farthest = 0;
        while let Some(Reverse((distance, at))) = waiting.pop() {
            if distance >= distances[at] {
                continue;
            }
            (distances[at], farthest) = (distance, distance);
            let next = both[at].iter().map(|&(to, length)| Reverse((distance + length, to)));
            waiting.extend(next);
        }
        length(farthest)
    }

    /// A place beyond the northern end of the map, as far away as the map is high.
    fn north_of_the_map(&self) -> Coordinates {
        let north = self.nodes.iter().map(|node| node.place.latitude());
        let east = self.nodes.iter().map(|node| node.place.longitude());
        let (low, high) = (north.clone().min().unwrap_or(0), north.max().unwrap_or(0));
        let (west, east) = (east.clone().min().unwrap_or(0), east.max().unwrap_or(0));
        let latitude = i64::from(high) + i64::from(high) - i64::from(low) + 1;
        let most = 90 * i64::from(Coordinates::PER_DEGREE);
        let middle = (i64::from(west) + i64::from(east)) / 2;
        Coordinates::new(latitude.min(most) as i32, middle as i32).unwrap_or_default()
    }
}

/// Searches for the quickest ways from one state after another.
struct Quickest {
    /// Of the search that is under way: what is known of each state that was seen.
    known: HashMap<usize, Known>,
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    settled: Vec<usize>,
    states: usize,
}

#[derive(Clone, Copy)]
struct Known {
    time: u64,
    length: Length,
    before: usize,
    share: f64,
    settled: bool,
}

impl Quickest {
    fn new(states: usize) -> Self {
        let (known, waiting, settled) = (HashMap::new(), BinaryHeap::new(), Vec::new());
        Self { known, waiting, settled, states }
    }

    fn row(&mut self, graph: &Graph, from: usize, limit: u64) -> Vec<Move> {
        self.search(graph, from, limit);
        let Self { known, settled, .. } = &*self;
        let beyond = |step: &&Move| !known.get(&step.to).is_some_and(|k| k.settled);
        // How many set out on each branch of the tree of quickest ways.
        let mut branches: HashMap<usize, f64> = HashMap::new();
        for &at in settled.iter().filter(|&&at| at != from) {
            *branches.entry(known[&at].before).or_default() += known[&at].share;
        }
        for step in graph.moves[from].iter().filter(beyond) {
            *branches.entry(from).or_default() += step.share;
        }
        let mut reached: HashMap<usize, f64> = HashMap::from([(from, 1.0)]);
        let mut stopped: HashMap<usize, f64> = HashMap::from([(from, 1.0)]);
        for &at in settled.iter().filter(|&&at| at != from) {
            let Known { time, before, share, .. } = known[&at];
            let here = reached[&before] * share / branches[&before];
            reached.insert(at, here);
            let passed = here * arrived(known[&before].time, time, limit);
            *stopped.entry(before).or_default() -= passed;
            stopped.insert(at, passed);
        }
        let mut next: Vec<(Move, f64)> = Vec::new();
        for step in graph.moves[from].iter().filter(beyond) {
            let passed = step.share / branches[&from] * arrived(0, step.time, limit);
            *stopped.entry(from).or_default() -= passed;
            next.push((*step, passed));
        }
        // Every move that is possible has some share, whatever was rounded.
        let least = 1e-6;
        let mut row: Vec<Move> = settled
            .iter()
            .map(|&to| {
                let Known { time, length, .. } = known[&to];
                Move { to, share: stopped[&to].max(least), length, time }
            })
            .collect();
        row.extend(next.into_iter().map(|(step, share)| Move { share: share.max(least), ..step }));
        row.sort_by_key(|step| step.to);
        row
    }

    /// Finds all states within the time, in the order in which they are reached.
    fn search(&mut self, graph: &Graph, from: usize, limit: u64) {
        debug_assert!(from < self.states);
        let Self { known, waiting, settled, .. } = self;
        known.clear();
        waiting.clear();
        settled.clear();
        let start =
            Known { time: 0, length: Length::ZERO, before: from, share: 1.0, settled: false };
        known.insert(from, start);
        waiting.push(Reverse((0, from)));
        while let Some(Reverse((time, at))) = waiting.pop() {
            let Some(here) = known.get_mut(&at).filter(|here| !here.settled && here.time == time)
            else {
                continue;
            };
            here.settled = true;
            let here = *here;
            settled.push(at);
            for step in &graph.moves[at] {
                let found = Known {
                    time: time.saturating_add(step.time),
                    length: sum(here.length, step.length),
                    before: at,
                    share: step.share,
                    settled: false,
                };
                if found.time > limit {
                    continue;
                }
                let better =
                    known.get(&step.to).is_none_or(|old| !old.settled && found.time < old.time);
                if better {
                    known.insert(step.to, found);
                    waiting.push(Reverse((found.time, step.to)));
                }
            }
        }
    }
}

/// How many of those who set out from one place to the next have arrived: who move for any part of the time `limit`, come by the
/// first after `from` and by the second after `to`, and between the two count as arrived by the share of the way behind them.
fn arrived(from: u64, to: u64, limit: u64) -> f64 {
    let (from, to, limit) = (from.min(limit) as f64, to as f64, limit as f64);
    let end = to.min(limit);
    let between = if to > from { (end - from) * (end - from) / (2.0 * (to - from)) } else { 0.0 };
    (between + limit - end) / limit
}

/// How fast somebody may go at most, as a factor on the usual speeds, for a speed in kilometres an hour.
pub(crate) fn speed_factor(mode: Mode, kilometres_an_hour: f64) -> f64 {
    let usual = crate::osm::Class::Street.speed(mode) * 3.6;
    kilometres_an_hour / usual
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn graph(states: usize, moves: &[(usize, usize, u64)]) -> Graph {
        let place = Coordinates::new(0, 0).unwrap();
        let node = |number: usize| Node {
            label: number.to_string(),
            place,
            name: String::new(),
            line: vec![place],
        };
        let mut rows: Vec<Vec<Move>> = vec![Vec::new(); states];
        for &(from, to, time) in moves {
            if from != to && rows[from].iter().all(|step| step.to != to) {
                let length = Length::from_millimetres(time as u32).unwrap();
                rows[from].push(Move { to, share: 1.0, length, time });
            }
        }
        Graph { nodes: (0..states).map(node).collect(), moves: rows }
    }

    /// All quickest times, by Floyd and Warshall.
    fn times(graph: &Graph) -> Vec<Vec<u64>> {
        let states = graph.nodes.len();
        let mut times = vec![vec![u64::MAX / 4; states]; states];
        for (from, row) in graph.moves.iter().enumerate() {
            times[from][from] = 0;
            row.iter().for_each(|step| times[from][step.to] = step.time);
        }
        for via in 0..states {
            for from in 0..states {
                for to in 0..states {
                    times[from][to] = times[from][to].min(times[from][via] + times[via][to]);
                }
            }
        }
        times
    }

    proptest! {
        /// The moves within a tick are those to the states that are near enough, and to the neighbours.
        #[test]
        fn moves_within_a_tick(
            moves in vec((0..7_usize, 0..7_usize, 1..20_u64), 1..30),
            limit in 1..40_u64,
        ) {
            let graph = graph(7, &moves);
            let (within, times) = (graph.within(limit), times(&graph));
            for (from, times) in times.iter().enumerate() {
                let near = |to: &usize| {
                    times[*to] <= limit || graph.moves[from].iter().any(|step| step.to == *to)
                };
                let expected: Vec<usize> = (0..7).filter(near).collect();
                let row = &within.moves[from];
                let found: Vec<usize> = row.iter().map(|step| step.to).collect();
                prop_assert_eq!(&found, &expected);
                prop_assert!((row.iter().map(|step| step.share).sum::<f64>() - 1.0).abs() < 1e-4);
                for step in row.iter().filter(|step| times[step.to] <= limit) {
                    prop_assert_eq!(u64::from(step.length.millimetres()), times[step.to]);
                }
            }
        }

        /// Whoever has a single way to go gets on by half a tick on average, however long the streets are; those who get on to
        /// a state beyond the tick, which is no move, stay before it.
        #[test]
        fn nobody_is_held_up_by_a_long_street(times in vec(1..40_u64, 6..=6), limit in 1..40_u64) {
            let moves: Vec<_> = times.iter().enumerate().map(|(at, &t)| (at, at + 1, t)).collect();
            let all: u64 = times.iter().sum();
            prop_assume!(limit <= all);
            let row = &graph(7, &moves).within(limit).moves[0];
            prop_assert!((row.iter().map(|step| step.share).sum::<f64>() - 1.0).abs() < 1e-4);
            let mean: f64 = row.iter().map(|step| step.share * step.time as f64).sum();
            // The last street that is begun within the tick; it is a move if it is the first.
            let mut ends = times.iter().scan(0, |sum, &t| { *sum += t; Some(*sum) });
            let (mut before, mut end) = (0, ends.next().unwrap());
            while end < limit {
                (before, end) = (end, ends.next().unwrap());
            }
            let lost = match before > 0 && end > limit {
                true => ((limit - before) * (limit - before)) as f64 / (2 * limit) as f64,
                false => 0.0,
            };
            prop_assert!((mean + lost - limit as f64 / 2.0).abs() < 1e-3, "{mean} {lost}");
        }

        /// No two states come nearer to each other by a way over the state off the map.
        #[test]
        fn away_is_no_short_cut(moves in vec((0..7_usize, 0..7_usize, 1..20_u64), 1..30)) {
            let ring: Vec<_> = (0..7).map(|at| (at, (at + 1) % 7, 9)).collect();
            let plain = graph(7, &[&moves[..], &ring].concat());
            let undirected = |graph: &Graph| {
                let mut both = Vec::new();
                for (from, row) in graph.moves.iter().enumerate() {
                    for step in row {
                        let length = u64::from(step.length.millimetres());
                        both.extend([(from, step.to, length), (step.to, from, length)]);
                    }
                }
                both.sort_by_key(|&(_, _, length)| length);
                times(&self::graph(graph.nodes.len(), &both))
            };
            let before = undirected(&plain);
            let after = undirected(&plain.with_away("away"));
            for from in 0..7 {
                prop_assert_eq!(&after[from][..7], &before[from][..]);
            }
        }
    }
}
