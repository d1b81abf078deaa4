//! What is measured of walks, and the figures that compare it.

use veilwalk::{Chain, StateId};

use crate::metrics::{f1, jensen_shannon, kendall_tau, ndcg, query_error, total_variation};
use crate::queries::Queries;
use crate::shares::Shares;
use crate::walks::Walks;

/// A figure that compares walks with the real ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Where people are: Jensen–Shannon divergence.
    VisitsDivergence,
    /// Where people are: total variation.
    VisitsVariation,
    /// The order of places by visits: Kendall's τ.
    Popularity,
    /// The most visited places: NDCG.
    Hotspots,
    /// How many walks pass through parts of the map: mean relative error.
    Queries,
    /// Moves: Jensen–Shannon divergence.
    MovesDivergence,
    /// Moves: total variation.
    MovesVariation,
    /// First and last states together: Jensen–Shannon divergence.
    TripsDivergence,
    /// First and last states together: total variation.
    TripsVariation,
    /// First states: Jensen–Shannon divergence.
    StartsDivergence,
    /// First states: total variation.
    StartsVariation,
    /// The most frequent runs of two to five states: F1.
    Patterns,
    /// Lengths: Jensen–Shannon divergence.
    Lengths,
}

impl Measure {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 13] = [
        Self::VisitsDivergence,
        Self::VisitsVariation,
        Self::Popularity,
        Self::Hotspots,
        Self::Queries,
        Self::MovesDivergence,
        Self::MovesVariation,
        Self::TripsDivergence,
        Self::TripsVariation,
        Self::StartsDivergence,
        Self::StartsVariation,
        Self::Patterns,
        Self::Lengths,
    ];

    /// Its name for people.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::VisitsDivergence => "visits, divergence",
            Self::VisitsVariation => "visits, total variation",
            Self::Popularity => "visits, Kendall's tau",
            Self::Hotspots => "hotspots, NDCG",
            Self::Queries => "range queries, error",
            Self::MovesDivergence => "moves, divergence",
            Self::MovesVariation => "moves, total variation",
            Self::TripsDivergence => "trips, divergence",
            Self::TripsVariation => "trips, total variation",
            Self::StartsDivergence => "starts, divergence",
            Self::StartsVariation => "starts, total variation",
            Self::Patterns => "patterns, F1",
            Self::Lengths => "lengths, divergence",
        }
    }

    /// Its name for programs.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::VisitsDivergence => "visits_jsd",
            Self::VisitsVariation => "visits_tv",
            Self::Popularity => "visits_kendall",
            Self::Hotspots => "hotspots_ndcg",
            Self::Queries => "query_error",
            Self::MovesDivergence => "moves_jsd",
            Self::MovesVariation => "moves_tv",
            Self::TripsDivergence => "od_jsd",
            Self::TripsVariation => "od_tv",
            Self::StartsDivergence => "starts_jsd",
            Self::StartsVariation => "starts_tv",
            Self::Patterns => "patterns_f1",
            Self::Lengths => "lengths_jsd",
        }
    }

    /// Whether more is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Popularity | Self::Hotspots | Self::Patterns)
    }
}

/// What is known of some walks. An estimate knows a part of it only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The share of each state, in the chain's order.
    pub visits: Option<Vec<f64>>,
    /// The shares of moves, by [`pair`](Statistics::pair).
    pub moves: Option<Shares>,
    /// The shares of first and last states together.
    pub trips: Option<Shares>,
    /// The share of each first state, in the chain's order.
    pub starts: Option<Vec<f64>>,
    /// The most frequent patterns, each as a number.
    pub patterns: Option<Vec<u128>>,
    /// The shares of the classes of lengths.
    pub lengths: Option<Shares>,
    /// The share of walks that pass through each part of the map.
    pub passing: Option<Vec<f64>>,
}

impl Statistics {
    /// The key of a pair of states.
    #[must_use]
    pub fn pair(from: StateId, to: StateId) -> u128 {
        (from.index() as u128) << 32 | to.index() as u128
    }
}

/// What walks are measured by: made of the public chain, and of the lengths of the real walks.
#[derive(Clone, Debug)]
pub struct Yardstick {
    states: usize,
    queries: Queries,
    shortest: usize,
    per_bin: f64,
}

impl Yardstick {
    /// How many of the most visited states are hotspots.
    pub const HOTSPOTS: usize = 10;
    /// How many patterns are frequent.
    pub const PATTERNS: usize = 100;
    /// The longest pattern, in states. The shortest is a move.
    pub const LONGEST_PATTERN: usize = 5;
    /// How many parts of the map are asked for.
    pub const QUERIES: usize = 200;
    /// Shares of walks below this count as this in the error of a query.
    pub const SANITY_BOUND: f64 = 0.01;
    /// Into how many classes lengths are put, from the shortest real walk to the longest.
    pub const LENGTHS: usize = 20;

    /// For these real walks on this chain.
    #[must_use]
    pub fn new(chain: &Chain, real: &Walks) -> Self {
        let lengths = || real.iter().map(<[StateId]>::len);
        let (shortest, longest) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
        let classes = (longest - shortest + 1).min(Self::LENGTHS);
        Self {
            states: chain.len(),
            queries: Queries::new(chain, Self::QUERIES),
            shortest,
            per_bin: (longest - shortest + 1) as f64 / classes as f64,
        }
    }

    /// Everything that is measured of these walks, each as often as its weight says, or once.
    #[must_use]
    pub fn statistics(&self, walks: &Walks, weights: Option<&[u32]>) -> Statistics {
        let (mut visits, mut starts) = (vec![0.0; self.states], vec![0.0; self.states]);
        let (mut moves, mut trips, mut patterns, mut lengths) = (vec![], vec![], vec![], vec![]);
        let mut passing = vec![0.0; self.queries.count()];
        // The last walk that was seen in each part.
        let mut seen_in = vec![usize::MAX; self.queries.count()];
        let mut total = 0.0;
        for (number, walk) in walks.iter().enumerate() {
            let weight = f64::from(weights.map_or(1, |weights| weights[number]));
            if weight == 0.0 {
                continue;
            }
            total += weight;
            let (first, last) = (walk[0], walk[walk.len() - 1]);
            starts[first.index()] += weight;
            trips.push((Statistics::pair(first, last), weight));
            lengths.push((self.length_class(walk.len()), weight));
            for &state in walk {
                visits[state.index()] += weight;
                for &part in self.queries.of(state) {
                    if std::mem::replace(&mut seen_in[part as usize], number) != number {
                        passing[part as usize] += weight;
                    }
                }
            }
            for (from, &state) in walk.iter().enumerate() {
                let mut pattern = state.index() as u128 + 1;
                for (longer, next) in
                    walk[from + 1..].iter().take(Self::LONGEST_PATTERN - 1).enumerate()
                {
                    pattern = pattern << 25 | (next.index() as u128 + 1);
                    patterns.push((pattern, weight));
                    if longer == 0 {
                        moves.push((Statistics::pair(state, *next), weight));
                    }
                }
            }
        }
        Statistics {
            visits: Some(normalized(visits)),
            moves: Some(Shares::of_counts(moves)),
            trips: Some(Shares::of_counts(trips)),
            starts: Some(normalized(starts)),
            patterns: Some(Shares::of_counts(patterns).top(Self::PATTERNS)),
            lengths: Some(Shares::of_counts(lengths)),
            passing: Some(passing.into_iter().map(|count| count / total).collect()),
        }
    }

    /// A figure of these statistics, if both have what it takes.
    #[must_use]
    pub fn figure(&self, measure: Measure, real: &Statistics, other: &Statistics) -> Option<f64> {
        fn both<'a, T>(a: &'a Option<T>, b: &'a Option<T>) -> Option<(&'a T, &'a T)> {
            a.as_ref().zip(b.as_ref())
        }
        let lists = |pair: Option<(&Vec<f64>, &Vec<f64>)>| {
            pair.map(|(p, q)| (Shares::of_list(p), Shares::of_list(q)))
        };
        let visits = || both(&real.visits, &other.visits);
        let starts = || lists(both(&real.starts, &other.starts));
        let counted = |(p, q): &(&Shares, &Shares)| !p.is_empty() && !q.is_empty();
        let moves = || both(&real.moves, &other.moves).filter(counted);
        let trips = || both(&real.trips, &other.trips).filter(counted);
        match measure {
            Measure::VisitsDivergence => lists(visits()).map(|(p, q)| jensen_shannon(&p, &q)),
            Measure::VisitsVariation => lists(visits()).map(|(p, q)| total_variation(&p, &q)),
            Measure::Popularity => visits().and_then(|(p, q)| kendall_tau(p, q)),
            Measure::Hotspots => visits().and_then(|(p, q)| ndcg(p, q, Self::HOTSPOTS)),
            Measure::Queries => both(&real.passing, &other.passing)
                .and_then(|(p, q)| query_error(p, q, Self::SANITY_BOUND)),
            Measure::MovesDivergence => moves().map(|(p, q)| jensen_shannon(p, q)),
            Measure::MovesVariation => moves().map(|(p, q)| total_variation(p, q)),
            Measure::TripsDivergence => trips().map(|(p, q)| jensen_shannon(p, q)),
            Measure::TripsVariation => trips().map(|(p, q)| total_variation(p, q)),
            Measure::StartsDivergence => starts().map(|(p, q)| jensen_shannon(&p, &q)),
            Measure::StartsVariation => starts().map(|(p, q)| total_variation(&p, &q)),
            Measure::Patterns => both(&real.patterns, &other.patterns).and_then(|(p, q)| f1(p, q)),
            Measure::Lengths => {
                both(&real.lengths, &other.lengths).map(|(p, q)| jensen_shannon(p, q))
            }
        }
    }

    /// The class of a length. What is shorter or longer than all real walks has a class of its own.
    fn length_class(&self, length: usize) -> u128 {
        match length.checked_sub(self.shortest) {
            None => 0,
            Some(more) => 1 + ((more as f64 / self.per_bin) as u128).min(Self::LENGTHS as u128),
        }
    }
}

fn normalized(counts: Vec<f64>) -> Vec<f64> {
    let total: f64 = counts.iter().sum();
    match total > 0.0 {
        true => counts.into_iter().map(|count| count / total).collect(),
        false => counts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walks(texts: &[&str]) -> Walks {
        let walk = |text: &&str| -> Vec<StateId> {
            text.bytes().map(|byte| StateId::new(usize::from(byte - b'0'))).collect()
        };
        let all: Vec<Vec<StateId>> = texts.iter().map(walk).collect();
        all.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn by_hand() {
        let (real, other) = (walks(&["012", "0121"]), walks(&["210", "0100"]));
        let yard = Yardstick::new(&Chain::credit(), &real);
        let (p, q) = (yard.statistics(&real, None), yard.statistics(&other, None));
        let visits = p.visits.as_ref().unwrap();
        assert_eq!(visits[..4], [2.0 / 7.0, 3.0 / 7.0, 2.0 / 7.0, 0.0]);
        assert_eq!(p.starts.as_ref().unwrap()[0], 1.0);
        let figure = |measure| yard.figure(measure, &p, &q).unwrap();
        let close = |measure, expected: f64| {
            let found = figure(measure);
            assert!((found - expected).abs() < 1e-12, "{measure:?}: {found}, {expected}");
        };
        // Visits 2 3 2 against 4 2 1, of seven.
        close(Measure::VisitsVariation, 2.0 / 7.0);
        // Moves: 01 12 01 12 21 against 21 10 01 10 00: 01 40 % to 20 %, 12 40 % to none, 21 as it is.
        close(Measure::MovesVariation, 0.6);
        // Trips: 02 and 01 against 20 and 00.
        close(Measure::TripsVariation, 1.0);
        close(Measure::TripsDivergence, 2f64.ln());
        close(Measure::StartsVariation, 0.5);
        close(Measure::Lengths, 0.0);
        // Six patterns each (01 012 0121 12 121 21, and 21 210 10 01 010 0100 100 00), two in common.
        close(Measure::Patterns, 2.0 * 2.0 / (6.0 + 8.0));
        assert!(figure(Measure::Queries) > 0.0);
        for measure in Measure::ALL {
            let best = if measure.more_is_better() { 1.0 } else { 0.0 };
            assert!((yard.figure(measure, &p, &p).unwrap() - best).abs() < 1e-12, "{measure:?}");
        }
    }

    #[test]
    fn weights_count_as_walks_do() {
        let (all, some) = (walks(&["012", "0121", "33"]), walks(&["012", "012", "33"]));
        let yard = Yardstick::new(&Chain::credit(), &all);
        assert_eq!(yard.statistics(&all, Some(&[2, 0, 1])), yard.statistics(&some, None));
    }

    #[test]
    fn an_estimate_has_the_figures_it_can_have() {
        let real = walks(&["012", "0121"]);
        let yard = Yardstick::new(&Chain::credit(), &real);
        let p = yard.statistics(&real, None);
        let estimate = Statistics { visits: p.visits.clone(), ..Statistics::default() };
        assert_eq!(yard.figure(Measure::VisitsVariation, &p, &estimate), Some(0.0));
        assert_eq!(yard.figure(Measure::MovesVariation, &p, &estimate), None);
        assert_eq!(yard.figure(Measure::Patterns, &p, &estimate), None);
    }
}
