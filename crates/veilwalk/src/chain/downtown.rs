//! The downtown chain: a made-up street network whose segments are the states.
//!
//! Five streets cross five avenues, and a canal road cuts through the blocks: 43 segments. Two
//! streets and two avenues are one-way. From a segment a driver takes any segment that starts where
//! this one may be left; going straight on is more common than turning, and wide roads draw more
//! traffic than narrow ones. Everything is whole-number arithmetic on a fixed stream of numbers, so
//! the chain is the same on every machine.

use super::fixed_numbers::FixedNumbers;
use super::{BuildOptions, Chain, ChainBuilder, Entries};

/// A stretch of road between two crossings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The state's label: the road's name and the number of the stretch along it.
    pub label: String,
    /// Where it starts: metres east and north of the south-western corner.
    pub from: (i32, i32),
    /// Where it ends.
    pub to: (i32, i32),
    /// Whether it may be driven from its start to its end only.
    pub one_way: bool,
    /// How much traffic the road draws, relative to the narrowest.
    pub width: u32,
}

const STREETS: [(&str, Way, u32); 5] = [
    ("Ash", Way::Both, 2),
    ("Birch", Way::Ahead, 1),
    ("Cedar", Way::Both, 4),
    ("Dogwood", Way::Back, 1),
    ("Elm", Way::Both, 2),
];
const AVENUES: [(&str, Way, u32); 5] = [
    ("1st", Way::Both, 2),
    ("2nd", Way::Ahead, 2),
    ("3rd", Way::Both, 4),
    ("4th", Way::Back, 2),
    ("5th", Way::Both, 1),
];
const CANAL: (&str, Way, u32) = ("Canal", Way::Both, 3);
const BLOCK: i32 = 120;

#[derive(Clone, Copy)]
enum Way {
    Both,
    Ahead,
    Back,
}

/// The segments of the downtown chain, in the order of its states.
#[must_use]
pub fn downtown_map() -> Vec<Segment> {
    let mut numbers = FixedNumbers(0x0043_5354_5245_4554);
    let crossings: Vec<(i32, i32)> = (0..25)
        .map(|i| {
            let mut off_grid = || numbers.below(37) as i32 - 18;
            ((i % 5) * BLOCK + off_grid(), (i / 5) * BLOCK + off_grid())
        })
        .collect();
    let mut segments = Vec::with_capacity(43);
    let mut road = |(name, way, width): (&str, Way, u32), path: &[usize]| {
        for (number, ends) in path.windows(2).enumerate() {
            let (a, b) = (crossings[ends[0]], crossings[ends[1]]);
            let (from, to) = if matches!(way, Way::Back) { (b, a) } else { (a, b) };
            let one_way = !matches!(way, Way::Both);
            segments.push(Segment {
                label: format!("{name}-{}", number + 1),
                from,
                to,
                one_way,
                width,
            });
        }
    };
    for (row, street) in STREETS.into_iter().enumerate() {
        road(street, &[0, 1, 2, 3, 4].map(|column| row * 5 + column));
    }
    for (column, avenue) in AVENUES.into_iter().enumerate() {
        road(avenue, &[0, 1, 2, 3, 4].map(|row| row * 5 + column));
    }
    road(CANAL, &[1, 7, 13, 19]);
    segments
}

impl Chain {
    /// The built-in street network: 43 one-way and two-way segments (see [`downtown_map`] for
    /// where they lie).
    #[must_use]
    pub fn downtown() -> Self {
        let map = downtown_map();
        let mut numbers = FixedNumbers(0x4452_4956_4552_5321);
        let mut builder = ChainBuilder::new(Entries::Counts);
        let states: Vec<_> = map.iter().map(|segment| builder.state(&segment.label)).collect();
        for (i, here) in map.iter().enumerate() {
            for (j, next) in map.iter().enumerate() {
                if i == j {
                    continue;
                }
                if let Some(turn) = turn(here, next) {
                    let usual = turn.share() * u64::from(next.width) * 10;
                    let count = usual + numbers.below(usual / 2);
                    builder.transition(states[i], states[j], count as f64).expect("a count");
                }
            }
        }
        builder.build(BuildOptions::default()).expect("every crossing can be left").0
    }
}

enum Turn {
    Straight,
    Bend,
    Back,
}

impl Turn {
    fn share(&self) -> u64 {
        match self {
            Turn::Straight => 12,
            Turn::Bend => 4,
            Turn::Back => 1,
        }
    }
}

/// How a driver turns from one segment into another, if that is possible at all.
fn turn(here: &Segment, next: &Segment) -> Option<Turn> {
    let ways = |s: &Segment| {
        let both = [Some((s.from, s.to)), (!s.one_way).then_some((s.to, s.from))];
        both.into_iter().flatten()
    };
    let (came, goes) =
        ways(here).flat_map(|w| ways(next).map(move |v| (w, v))).find(|(w, v)| w.1 == v.0)?;
    let direction = |(a, b): ((i32, i32), (i32, i32))| (i64::from(b.0 - a.0), i64::from(b.1 - a.1));
    let (a, b) = (direction(came), direction(goes));
    let along = a.0 * b.0 + a.1 * b.1;
    let square = |v: (i64, i64)| v.0 * v.0 + v.1 * v.1;
    // Straight on or back within 30 degrees: the squared cosine is at least three quarters.
    Some(match 4 * along * along >= 3 * square(a) * square(b) {
        true if along > 0 => Turn::Straight,
        true => Turn::Back,
        false => Turn::Bend,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_three_segments_of_both_kinds() {
        let map = downtown_map();
        assert_eq!(map.len(), 43);
        assert_eq!(map.iter().filter(|s| s.one_way).count(), 16);
        let chain = Chain::downtown();
        assert_eq!(chain.len(), 43);
        assert!(map.iter().zip(chain.states()).all(|(s, id)| chain.label(id) == s.label));
        assert_eq!(chain.period(), 1);
    }

    #[test]
    fn moves_meet_at_a_crossing_and_respect_one_way_roads() {
        let (chain, map) = (Chain::downtown(), downtown_map());
        for from in chain.states() {
            for to in chain.successors(from) {
                let (a, b) = (&map[from.index()], &map[to.index()]);
                let leaves = |p| p == a.to || (!a.one_way && p == a.from);
                assert!(leaves(b.from) || (!b.one_way && leaves(b.to)), "{a:?} to {b:?}");
            }
        }
    }

    #[test]
    fn the_chain_is_the_same_everywhere() {
        let hash = Chain::downtown().hash().to_string();
        assert_eq!(&hash[..16], "ce6c469453604c03");
    }
}
