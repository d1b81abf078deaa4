//! The streets of a chain, for finding those near a position and the ways from one to another.
//!
//! Everything comes from the chain: the line of each state, and the moves between states whose lines meet. A chain whose moves are
//! those between two ticks of a clock has farther ones too; their length gives them away, and they are left out.

use hashbrown::HashMap;
use rstar::{AABB, RTree, RTreeObject};
use thiserror::Error;
use veilwalk::chain::Coordinates;
use veilwalk::{Chain, StateId};

use crate::geometry::{self, NORTH, Plane};

/// The streets of a chain.
#[derive(Debug)]
pub struct Streets {
    lines: Vec<Line>,
    /// Where one may go from each state.
    next: Vec<Vec<u32>>,
    index: RTree<Piece>,
    labels: Chain,
}

/// The line of a state.
#[derive(Debug)]
pub(crate) struct Line {
    points: Vec<Coordinates>,
    /// How far it is to each point along the line, in metres.
    along: Vec<f64>,
    /// The same street in the other direction.
    pub(crate) back: Option<u32>,
}

impl Line {
    pub(crate) fn length(&self) -> f64 {
        self.along.last().copied().unwrap_or(0.0)
    }
}

/// A straight piece of a line.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: Coordinates,
    to: Coordinates,
    state: u32,
    number: u32,
}

impl RTreeObject for Piece {
    type Envelope = AABB<[f64; 2]>;

    fn envelope(&self) -> Self::Envelope {
        AABB::from_corners(corner(self.from), corner(self.to))
    }
}

fn corner(place: Coordinates) -> [f64; 2] {
    [f64::from(place.longitude()), f64::from(place.latitude())]
}

/// A place on a street that is near a position.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Nearby {
    /// The street, in one direction.
    pub state: StateId,
    /// How far along the street it is, in metres.
    pub offset: f64,
    /// How far it is from the position, in metres.
    pub distance: f64,
}

/// A chain that has no streets to match positions with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StreetsError {
    /// No lines, as in a chain that was not made of a map, or a table of one.
    #[error(
        "the chain has no lines of streets, which positions are matched with; give a model that `veilwalk chain osm \
         MAP -o MODEL` wrote"
    )]
    NoLines,
    /// States that are points.
    #[error(
        "the states of the chain are crossings, and positions are matched with streets; make the model with --states \
         segments"
    )]
    Crossings,
}

impl Streets {
    /// The streets of a chain that was made of a map.
    ///
    /// # Errors
    ///
    /// If it has no lines, or its states are crossings.
    pub fn of(chain: &Chain) -> Result<Self, StreetsError> {
        let places = chain.places().ok_or(StreetsError::NoLines)?;
        let drawn = places.lines.as_ref().ok_or(StreetsError::NoLines)?;
        let lengths = places.lengths.as_ref().ok_or(StreetsError::NoLines)?;
        if drawn.iter().all(|line| line.len() < 2) {
            return Err(StreetsError::Crossings);
        }
        let mut lines: Vec<Line> = drawn.iter().map(|points| Line::new(points)).collect();
        find_backs(&mut lines);
        let next = chain
            .states()
            .map(|from| {
                let moves = chain.row(from).zip(chain.successors(from));
                let near = moves.filter(|&(at, to)| {
                    let (a, b) = (&lines[from.index()], &lines[to.index()]);
                    let usual = (a.length() + b.length()) / 2.0;
                    let meet = a.points.len() > 1
                        && b.points.len() > 1
                        && a.points.last() == b.points.first();
                    meet && from != *to && (lengths[at].metres() - usual).abs() < 0.01
                });
                near.map(|(_, to)| to.index() as u32).collect()
            })
            .collect();
        let mut pieces = Vec::new();
        for (state, line) in lines.iter().enumerate() {
            let ends = line.points.windows(2).enumerate();
            pieces.extend(ends.map(|(number, ends)| Piece {
                from: ends[0],
                to: ends[1],
                state: state as u32,
                number: number as u32,
            }));
        }
        let index = RTree::bulk_load(pieces);
        Ok(Self { lines, next, index, labels: chain.clone() })
    }

    /// The label of a state.
    #[must_use]
    pub fn label(&self, state: StateId) -> &str {
        self.labels.label(state)
    }

    /// The chain whose streets these are.
    #[must_use]
    pub fn chain(&self) -> &Chain {
        &self.labels
    }

    /// What the street of a state is called; empty if it has no name.
    #[must_use]
    pub fn name(&self, state: StateId) -> &str {
        let names = self.labels.places().and_then(|places| places.names.as_ref());
        names.map_or("", |names| &names[state.index()])
    }

    /// The place on a street that is nearest to a position, if one is within so many metres. Of both directions of a street,
    /// the one that is listed first: which of them somebody takes, a single position does not tell.
    #[must_use]
    pub fn nearest(&self, position: Coordinates, within: f64) -> Option<Nearby> {
        self.near(position, within, 1).into_iter().next()
    }

    /// The nearest places on streets, one for each street and direction, from near to far; at most so many.
    #[must_use]
    pub fn near(&self, position: Coordinates, within: f64, most: usize) -> Vec<Nearby> {
        let plane = Plane::at(position);
        let [east, north] = corner(position);
        let up = within / NORTH;
        let along = within / plane.east().max(NORTH * 1e-6);
        let area = AABB::from_corners([east - along, north - up], [east + along, north + up]);
        let mut found: HashMap<u32, Nearby> = HashMap::new();
        for piece in self.index.locate_in_envelope_intersecting(area) {
            let (distance, share) = plane.nearest(piece.from, piece.to);
            let known = found.get(&piece.state).is_some_and(|known| known.distance <= distance);
            if distance > within || known {
                continue;
            }
            let along = &self.lines[piece.state as usize].along;
            let (start, end) = (along[piece.number as usize], along[piece.number as usize + 1]);
            let offset = start + share * (end - start);
            let state = StateId::new(piece.state as usize);
            found.insert(piece.state, Nearby { state, offset, distance });
        }
        let mut found: Vec<Nearby> = found.into_values().collect();
        found.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(a.state.cmp(&b.state)));
        found.truncate(most);
        found
    }

    /// Of both directions of the street at a place, the one in which somebody goes whose course is this, in degrees clockwise
    /// from north. A street of one direction has no other.
    #[must_use]
    pub fn along(&self, place: &Nearby, course: f64) -> StateId {
        let line = &self.lines[place.state.index()];
        let Some(back) = line.back else { return place.state };
        let after = line.along.partition_point(|&along| along <= place.offset);
        let at = after.clamp(1, line.points.len() - 1);
        let (east, north) = Plane::at(line.points[at - 1]).point(line.points[at]);
        let course = course.to_radians();
        match east * libm::sin(course) + north * libm::cos(course) < 0.0 {
            true => StateId::new(back as usize),
            false => place.state,
        }
    }

    /// Whether a position lies between the outermost points of the map.
    #[must_use]
    pub fn surround(&self, position: Coordinates) -> bool {
        use rstar::Envelope;
        self.index.root().envelope().contains_point(&corner(position))
    }

    pub(crate) fn line(&self, state: u32) -> &Line {
        &self.lines[state as usize]
    }

    pub(crate) fn next(&self, state: u32) -> &[u32] {
        &self.next[state as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }
}

impl Line {
    fn new(points: &[Coordinates]) -> Self {
        let mut along = vec![0.0];
        let mut far = 0.0;
        for ends in points.windows(2) {
            far += geometry::distance(ends[0], ends[1]);
            along.push(far);
        }
        Self { points: points.to_vec(), along, back: None }
    }
}

/// Finds the other direction of each street: the one whose line is the same, read backwards.
fn find_backs(lines: &mut [Line]) {
    let mut starting: HashMap<Coordinates, Vec<u32>> = HashMap::new();
    for (state, line) in lines.iter().enumerate().filter(|(_, line)| line.points.len() > 1) {
        starting.entry(line.points[0]).or_default().push(state as u32);
    }
    for state in 0..lines.len() {
        let points = &lines[state].points;
        let there = points.last().and_then(|last| starting.get(last));
        let is_back = |other: &&u32| lines[**other as usize].points.iter().eq(points.iter().rev());
        let back = there.and_then(|there| there.iter().find(is_back)).copied();
        lines[state].back = back.filter(|&back| back as usize != state);
    }
}
