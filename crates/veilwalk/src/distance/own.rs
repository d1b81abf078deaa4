//! Distances that a user gives in a table, held to be a metric.
//!
//! What a table says is public, and everything rests on it, so nothing is taken for granted: a distance for every
//! pair, zero from each state to itself, the same there and back, and none longer than the way over a third state.

use rayon::prelude::*;
use thiserror::Error;

use super::DistanceTable;
use crate::measure::Measure;
use crate::nats::Nats;
use crate::state::StateId;

/// A metric that was given pair by pair.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnDistances {
    table: DistanceTable,
    measure: Measure,
}

/// Why distances are no metric. States are given by their place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotAMetric {
    /// No distance for a pair.
    #[error("there is no distance from state {0} to {1}")]
    Missing(usize, usize),
    /// A distance from a state to itself.
    #[error("the distance from state {0} to itself is not zero")]
    Diagonal(usize),
    /// Another distance there than back.
    #[error("the distance from state {0} to {1} is another one than back")]
    Asymmetric(usize, usize),
    /// A way over a third state that is shorter.
    #[error("the distance from state {from} to {to} is longer than the way over {over}")]
    Triangle {
        /// Where from.
        from: usize,
        /// The state on the way.
        over: usize,
        /// Where to.
        to: usize,
    },
    /// More states than a table is made for.
    #[error("a table of distances is for up to {} states", DistanceTable::MOST_STATES)]
    TooLarge,
}

impl OwnDistances {
    /// The metric of these distances. A pair may be given one way round only, and a state's distance to itself need
    /// not be given.
    ///
    /// # Errors
    ///
    /// If they are none.
    pub fn new(
        states: usize,
        pairs: impl IntoIterator<Item = (StateId, StateId, Nats)>,
        measure: Measure,
    ) -> Result<Self, NotAMetric> {
        if states > DistanceTable::MOST_STATES {
            return Err(NotAMetric::TooLarge);
        }
        let mut rows: Vec<Option<Nats>> = vec![None; states * states];
        for (from, to, distance) in pairs {
            let (from, to) = (from.index(), to.index());
            if from == to && distance != Nats::ZERO {
                return Err(NotAMetric::Diagonal(from));
            }
            for place in [from * states + to, to * states + from] {
                if rows[place].replace(distance).is_some_and(|known| known != distance) {
                    return Err(NotAMetric::Asymmetric(from.min(to), from.max(to)));
                }
            }
        }
        (0..states).for_each(|state| rows[state * states + state] = Some(Nats::ZERO));
        if let Some(place) = rows.iter().position(Option::is_none) {
            return Err(NotAMetric::Missing(place / states, place % states));
        }
        let rows: Vec<Nats> = rows.into_iter().flatten().collect();
        if let Some(broken) = broken_triangle(states, &rows) {
            return Err(broken);
        }
        let table = DistanceTable::from_rows(states, rows.into()).expect("one for each pair");
        Ok(Self { table, measure })
    }

    /// Distances that were checked before, as a table and its measure.
    #[must_use]
    pub fn from_checked(table: DistanceTable, measure: Measure) -> Self {
        Self { table, measure }
    }

    /// Whether the distances still are a metric: for those that were checked before.
    #[must_use]
    pub fn is_a_metric(&self) -> bool {
        let (states, rows) = (self.states(), self.table.rows());
        let at = |x: usize, y: usize| rows[x * states + y];
        (0..states).all(|x| at(x, x) == Nats::ZERO && (0..x).all(|y| at(x, y) == at(y, x)))
            && broken_triangle(states, rows).is_none()
    }

    /// What they are counted in.
    #[must_use]
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// How many states they are for.
    #[must_use]
    pub fn states(&self) -> usize {
        self.table.states()
    }

    pub(super) fn table(&self) -> &DistanceTable {
        &self.table
    }

    pub(super) fn hash(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("veilwalk 2026 table of distances v1");
        hasher.update(self.measure.name().as_bytes());
        hasher.update(bytemuck::cast_slice(self.table.rows()));
        *hasher.finalize().as_bytes()
    }
}

/// The first pair with a shorter way over a third state, with the first such state.
///
/// # Complexity
///
/// |S|³ sums and comparisons in straight runs.
fn broken_triangle(states: usize, rows: &[Nats]) -> Option<NotAMetric> {
    let row = |x: usize| &rows[x * states..][..states];
    let first_of = |from: usize| {
        let broken = |over: usize| {
            let there = row(from)[over];
            let ways = row(from).iter().zip(row(over));
            // A fold without an end in between: this is most of the work.
            ways.fold(false, |any, (&straight, &on)| any | (straight > there.saturating_add(on)))
        };
        let over = (0..states).find(|&over| broken(over))?;
        let there = row(from)[over];
        let to = (0..states).find(|&to| row(from)[to] > there.saturating_add(row(over)[to]))?;
        Some(NotAMetric::Triangle { from, over, to })
    };
    (0..states).into_par_iter().find_map_first(first_of)
}

impl std::fmt::Debug for OwnDistances {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { table, measure } = self;
        f.debug_struct("OwnDistances")
            .field("states", &table.states())
            .field("measure", measure)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(states: usize, pairs: &[(usize, usize, u32)]) -> Result<OwnDistances, NotAMetric> {
        let pairs = pairs.iter().map(|&(from, to, units)| {
            (StateId::new(from), StateId::new(to), Nats::from_units(units))
        });
        OwnDistances::new(states, pairs, Measure::Own)
    }

    #[test]
    fn only_a_metric_is_taken() {
        let good = [(0, 1, 3), (2, 1, 4), (0, 2, 7), (0, 0, 0), (1, 0, 3)];
        let metric = of(3, &good).unwrap();
        assert_eq!(metric.table().between(StateId::new(2), StateId::new(0)).units(), 7);
        assert!(metric.is_a_metric());
        let with = |more: (usize, usize, u32)| of(3, &[&good[..], &[more]].concat());
        assert_eq!(with((2, 2, 1)), Err(NotAMetric::Diagonal(2)));
        assert_eq!(with((2, 0, 6)), Err(NotAMetric::Asymmetric(0, 2)));
        assert_eq!(of(3, &good[..2]), Err(NotAMetric::Missing(0, 2)));
        let long = [(0, 1, 3), (2, 1, 4), (0, 2, 8)];
        assert_eq!(of(3, &long), Err(NotAMetric::Triangle { from: 0, over: 1, to: 2 }));
    }

    #[test]
    fn a_planted_break_is_found_wherever_it_is() {
        // Points on a line.
        let pairs = |wrong: Option<(usize, usize)>| {
            let far = move |x: usize, y: usize| {
                10 * (x.abs_diff(y) as u32) + u32::from(wrong == Some((x, y)))
            };
            (0..9)
                .flat_map(|x| (x + 1..9).map(move |y| (x, y)))
                .map(move |(x, y)| (x, y, far(x, y)))
        };
        assert!(of(9, &pairs(None).collect::<Vec<_>>()).is_ok());
        for x in 0..9 {
            for y in x + 2..9 {
                let broken = of(9, &pairs(Some((x, y))).collect::<Vec<_>>());
                let is_found = |from, to| (from, to) == (x, y) || (to, from) == (x, y);
                assert!(
                    matches!(broken, Err(NotAMetric::Triangle { from, to, .. }) if is_found(from, to)),
                    "{broken:?}"
                );
            }
        }
    }
}
