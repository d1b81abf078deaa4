//! Where states are on a map.

use std::collections::HashMap;

use veilwalk::internal::chain::downtown_map;
use veilwalk::{Chain, StateId};
use veilwalk_report::Label;

type Point = (f64, f64);

/// What a map shows of a chain.
pub(crate) struct Ground {
    pub(crate) lines: Vec<(Point, Point)>,
    pub(crate) dots: Vec<Point>,
    pub(crate) labels: Vec<Label>,
    places: Vec<Option<Place>>,
    /// What the reader should know about it.
    pub(crate) caption: String,
}

/// Where one state is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    Spot(Point),
    Stretch(Point, Point),
}

impl Place {
    fn middle(self) -> Point {
        match self {
            Self::Spot(at) => at,
            Self::Stretch(a, b) => ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0),
        }
    }

    /// Where two stretches meet.
    fn meets(self, other: Self) -> Option<Point> {
        let (Self::Stretch(a, b), Self::Stretch(c, d)) = (self, other) else { return None };
        // The end of one at the start of the other is the way a walk usually takes.
        [(b, c), (b, d), (a, c), (a, d)].into_iter().find(|(p, q)| p == q).map(|(p, _)| p)
    }
}

impl Ground {
    pub(crate) fn downtown() -> Self {
        let map = downtown_map();
        let point = |(x, y): (i32, i32)| (f64::from(x), f64::from(y));
        let places: Vec<_> =
            map.iter().map(|s| Some(Place::Stretch(point(s.from), point(s.to)))).collect();
        // A road's name at its first stretch and its last number say what the others are called.
        let labels = map.iter().zip(&places).filter_map(|(segment, place)| {
            let text = segment.label.clone();
            Some(Label { at: (*place)?.middle(), text })
        });
        let labels = labels.collect();
        Self::new(places, labels, "Streets of the made-up town, with the names of its segments.")
    }

    /// Stretches between two places each.
    pub(crate) fn of_stretches(places: Vec<Option<Place>>, caption: &str) -> Self {
        Self::new(places, Vec::new(), caption)
    }

    fn new(places: Vec<Option<Place>>, labels: Vec<Label>, caption: &str) -> Self {
        let lines = places.iter().flatten().filter_map(|place| match *place {
            Place::Stretch(a, b) => Some((a, b)),
            Place::Spot(_) => None,
        });
        let dots = places.iter().flatten().filter_map(|place| match *place {
            Place::Spot(at) => Some(at),
            Place::Stretch(..) => None,
        });
        let (lines, dots) = (lines.collect(), dots.collect());
        Self { lines, dots, labels, places, caption: caption.to_owned() }
    }

    /// States in groups, each group a disc that is as large as it has members.
    pub(crate) fn of_groups(chain: &Chain, group_of: &HashMap<String, String>) -> Self {
        const NONE: &str = "Uncategorized";
        let mut groups: HashMap<&str, Vec<StateId>> = HashMap::new();
        for state in chain.states() {
            let group = group_of.get(chain.label(state)).map_or(NONE, String::as_str);
            groups.entry(group).or_default().push(state);
        }
        let mut groups: Vec<(&str, Vec<StateId>)> = groups.into_iter().collect();
        groups.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then(a.0.cmp(b.0)));
        let mut places = vec![None; chain.len()];
        let mut labels = Vec::new();
        let mut discs: Vec<(Point, f64)> = Vec::new();
        for (name, states) in &groups {
            let radius = (states.len() as f64).sqrt();
            let centre = free_place(&discs, radius);
            discs.push((centre, radius));
            for (k, state) in states.iter().enumerate() {
                places[state.index()] = Some(Place::Spot(on_disc(centre, k)));
            }
            labels.push(Label { at: centre, text: name.replace('_', " ") });
        }
        let caption = format!(
            "Every dot is an article, every disc one of {} subjects; nearness inside a disc means \
             nothing.",
            groups.len()
        );
        Self::new(places, labels, &caption)
    }

    /// A walk as a line. States that are not on the map are passed over.
    pub(crate) fn route(&self, walk: &[StateId]) -> Vec<Point> {
        let mut points = Vec::new();
        let mut last: Option<Place> = None;
        for place in walk.iter().filter_map(|state| self.places[state.index()]) {
            if last == Some(place) {
                continue;
            }
            points.extend(last.and_then(|last| last.meets(place)));
            points.push(place.middle());
            last = Some(place);
        }
        points
    }

    /// How many states are on the map.
    pub(crate) fn known(&self) -> usize {
        self.places.iter().flatten().count()
    }
}

/// The k-th point of a disc that fills evenly from its centre, as seeds do in a sunflower.
fn on_disc(centre: Point, k: usize) -> Point {
    const GOLDEN: f64 = 2.399_963_229_728_653;
    let (angle, radius) = (k as f64 * GOLDEN, (k as f64 + 0.5).sqrt() * 0.95);
    (centre.0 + radius * angle.cos(), centre.1 + radius * angle.sin())
}

/// The place nearest to the middle, on a field wider than it is high, where a disc fits.
fn free_place(discs: &[(Point, f64)], radius: f64) -> Point {
    const GAP: f64 = 3.0;
    const DIRECTIONS: usize = 72;
    for ring in 0.. {
        let distance = f64::from(ring) * 1.5;
        for k in 0..DIRECTIONS {
            let angle = k as f64 / DIRECTIONS as f64 * std::f64::consts::TAU;
            let at = (1.35 * distance * angle.cos(), distance * angle.sin());
            let clear =
                |&((x, y), r): &(Point, f64)| (x - at.0).hypot(y - at.1) >= r + radius + GAP;
            if discs.iter().all(clear) {
                return at;
            }
        }
    }
    unreachable!("far enough out there is room")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_through_streets_turns_at_crossings() {
        let (chain, ground) = (Chain::downtown(), Ground::downtown());
        assert_eq!(ground.known(), chain.len());
        let from = StateId::new(0);
        let to = chain.successors(from)[0];
        let route = ground.route(&[from, from, to]);
        assert_eq!(route.len(), 3, "middle, crossing, middle: {route:?}");
    }

    #[test]
    fn discs_do_not_overlap() {
        let mut discs = Vec::new();
        for size in [25.0f64, 20.0, 14.0, 9.0, 3.0, 1.0] {
            let centre = free_place(&discs, size);
            discs.push((centre, size));
        }
        for (i, (a, r)) in discs.iter().enumerate() {
            for (b, s) in &discs[..i] {
                assert!((a.0 - b.0).hypot(a.1 - b.1) >= r + s);
            }
        }
    }
}
