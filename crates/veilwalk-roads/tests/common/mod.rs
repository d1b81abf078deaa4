//! Made-up trips: the shortest way from one street to another, with positions along it that are off at random.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use veilwalk::chain::Coordinates;
use veilwalk::{Chain, StateId};
use veilwalk_roads::Position;

/// Numbers that look random, and are the same everywhere.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between zero and one, and neither.
    pub(crate) fn share(&mut self) -> f64 {
        ((self.word() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Of the normal distribution, after Box and Muller.
    fn normal(&mut self) -> f64 {
        let (a, b) = (self.share(), self.share());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

/// A trip.
pub(crate) struct Trip {
    pub(crate) streets: Vec<StateId>,
    pub(crate) positions: Vec<Position>,
}

pub(crate) const METRES: f64 = 111_195.08;

pub(crate) fn metres(a: Coordinates, b: Coordinates) -> f64 {
    let ((south, west), (north, east)) = (a.degrees(), b.degrees());
    let (up, along) = (north - south, (east - west) * south.to_radians().cos());
    METRES * up.hypot(along)
}

pub(crate) fn line(chain: &Chain, state: StateId) -> &[Coordinates] {
    &chain.places().unwrap().lines.as_ref().unwrap()[state.index()]
}

pub(crate) fn length(line: &[Coordinates]) -> f64 {
    line.windows(2).map(|ends| metres(ends[0], ends[1])).sum()
}

/// Trips of at least ten streets, at ten metres a second, with a position every second and at the end, whose
/// coordinates are off by `sigma` metres. They begin and end in the middle of streets, in long ones more often.
pub(crate) fn trips(chain: &Chain, count: usize, sigma: f64, seed: u64) -> Vec<Trip> {
    let mut numbers = Numbers(seed);
    let mut trips = Vec::new();
    while trips.len() < count {
        let (from, to) = (somewhere(chain, &mut numbers), somewhere(chain, &mut numbers));
        let streets = shortest(chain, from, to);
        if streets.len() >= 10 {
            let positions = positions(chain, &streets, sigma, &mut numbers);
            trips.push(Trip { streets, positions });
        }
    }
    trips
}

/// A street: each as often as it is long.
fn somewhere(chain: &Chain, numbers: &mut Numbers) -> StateId {
    let all: f64 = chain.states().map(|state| length(line(chain, state))).sum();
    let mut left = all * numbers.share();
    let found = chain.states().find(|&state| {
        left -= length(line(chain, state));
        left <= 0.0
    });
    found.unwrap_or(StateId::new(0))
}

fn shortest(chain: &Chain, from: StateId, to: StateId) -> Vec<StateId> {
    let lengths = chain.places().unwrap().lengths.as_ref().unwrap();
    let mut known = vec![(u64::MAX, from); chain.len()];
    let mut waiting = BinaryHeap::from([Reverse((0_u64, from, from))]);
    while let Some(Reverse((far, at, before))) = waiting.pop() {
        if far >= known[at.index()].0 {
            continue;
        }
        known[at.index()] = (far, before);
        for (number, &next) in chain.row(at).zip(chain.successors(at)) {
            waiting.push(Reverse((far + u64::from(lengths[number].millimetres()), next, at)));
        }
    }
    let mut way = vec![to];
    while way[way.len() - 1] != from {
        way.push(known[way[way.len() - 1].index()].1);
    }
    way.reverse();
    way
}

fn positions(
    chain: &Chain,
    streets: &[StateId],
    sigma: f64,
    numbers: &mut Numbers,
) -> Vec<Position> {
    const SPEED: f64 = 10.0;
    const EVERY: f64 = 1.0;
    let mut points: Vec<Coordinates> = Vec::new();
    for &state in streets {
        points.extend(&line(chain, state)[usize::from(!points.is_empty())..]);
    }
    // From the middle of the first street to the middle of the last.
    let half = |state: &StateId| length(line(chain, *state)) / 2.0;
    let start = half(&streets[0]);
    let end = length(&points) - half(&streets[streets.len() - 1]);
    let steps = ((end - start) / (SPEED * EVERY)) as usize;
    let at = (0..=steps).map(|step| step as f64 * EVERY).chain([(end - start) / SPEED]);
    let mut positions = Vec::new();
    for second in at {
        let (north, east) = along(&points, start + second * SPEED);
        let scale = METRES * north.to_radians().cos();
        let (up, right) = (sigma * numbers.normal() / METRES, sigma * numbers.normal() / scale);
        let place = Coordinates::from_degrees(north + up, east + right).unwrap();
        positions.push(Position { moment: (second * 1e6) as i64, place });
    }
    positions
}

/// The place so many metres along a line.
fn along(line: &[Coordinates], mut left: f64) -> (f64, f64) {
    for ends in line.windows(2) {
        let piece = metres(ends[0], ends[1]);
        if left <= piece && piece > 0.0 {
            let ((north, east), (to_north, to_east)) = (ends[0].degrees(), ends[1].degrees());
            let share = left / piece;
            return (north + share * (to_north - north), east + share * (to_east - east));
        }
        left -= piece;
    }
    line[line.len() - 1].degrees()
}

/// How many of these are in the other list, in the same order.
#[allow(dead_code, reason = "the example shares this module and does not compare ways")]
pub(crate) fn in_common(a: &[StateId], b: &[StateId]) -> usize {
    let mut row = vec![0; b.len() + 1];
    for x in a {
        let mut corner = 0;
        for (at, y) in b.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if x == y { corner + 1 } else { above.max(row[at]) };
            corner = above;
        }
    }
    row[b.len()]
}
