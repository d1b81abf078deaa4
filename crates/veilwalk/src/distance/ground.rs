//! The metrics that distances can be taken from.
//!
//! A model is a chain with one metric on its states, its ground. Everything above asks the model for distances
//! and knows nothing of where they come from. What proofs need of them is that they are whole numbers, zero from a
//! state to itself, and keep the triangle inequality exactly; the symmetric distance, which is what promises count,
//! is then a metric.
//!
//! - *nats*: the likeliest way along the transitions. It is directed, and the symmetric distance is the larger of the
//!   two directions.
//! - *street*: the shortest way along transitions that have lengths, in whole millimetres, whatever direction they
//!   are for: how near two places are does not depend on one-way signs. States with the same coordinates are at one
//!   place, as the two directions of a street are. Shortest paths on whole numbers keep the triangle inequality, and
//!   lengths are rounded down, so no two states are farther apart than they are.
//! - *line*: the straight line between coordinates ([`line`](super::line)).
//! - *table*: what a user says ([`own`](super::own)), checked to be a metric.
//!
//! All but nats are undirected: their two directions are the same.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::line::{Line, TooClose};
use super::own::OwnDistances;
use super::{DistanceTable, Edges};
use crate::chain::{Chain, Coordinates};
use crate::measure::Measure;
use crate::nats::Nats;
use crate::remedy::Remedy;
use crate::state::StateId;

/// The metric on the states of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ground {
    /// By how likely the chain's moves are.
    #[default]
    Nats,
    /// Along the lengths of moves, in either direction.
    Street,
    /// The straight line between coordinates.
    Line,
    /// Distances that somebody gives.
    Table(Arc<OwnDistances>),
}

/// Why a chain has no such distances.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GroundError {
    /// No lengths.
    #[error(
        "distances along the streets need the length of every move, and this chain has none; give its moves a \
         column `length`, in metres"
    )]
    NoLengths,
    /// No coordinates.
    #[error(
        "straight lines need the coordinates of every state, and this chain has none; give them with {}",
        Remedy::Places
    )]
    NoCoordinates,
    /// Neither of them, and something in metres.
    #[error(
        "{radius} is in metres, and this chain knows neither lengths nor coordinates; give its moves a column \
         `length`, or its states coordinates with {places}, or say the radius in nats, as a bare number",
        radius = Remedy::Radius,
        places = Remedy::Places
    )]
    NoMetres,
    /// Units of a table that is not there.
    #[error(
        "{radius} is in the units of a table of distances; give the table with {metric}",
        radius = Remedy::Radius,
        metric = Remedy::Metric
    )]
    NoTable,
    /// Two places too near each other to be told apart.
    #[error(
        "{from:?} and {to:?} are less than three millimetres apart, and not at one place; give them the same \
         coordinates"
    )]
    TooClose {
        /// A state.
        from: String,
        /// Another.
        to: String,
    },
    /// Too many states for a table.
    #[error(
        "{metric}: these distances are kept in a table, which is for up to {most} states, and the chain has \
         {states}; distances along the streets are searched for where there are more, and straight lines computed",
        metric = Remedy::Metric,
        most = DistanceTable::MOST_STATES
    )]
    TooLarge {
        /// How many states the chain has.
        states: usize,
    },
    /// A table for another chain.
    #[error("the table of distances is for {found} states, and the chain has {expected}")]
    OtherStates {
        /// How many it should be for.
        expected: usize,
        /// How many it is for.
        found: usize,
    },
}

impl Ground {
    /// The names of those that need no table.
    pub const NAMES: [&'static str; 3] = ["nats", "street", "line"];

    /// The ground with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "nats" => Some(Self::Nats),
            "street" => Some(Self::Street),
            "line" => Some(Self::Line),
            _ => None,
        }
    }

    /// Its name; `table` for a table.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Nats => "nats",
            Self::Street => "street",
            Self::Line => "line",
            Self::Table(_) => "table",
        }
    }

    /// What its distances are counted in.
    #[must_use]
    pub fn measure(&self) -> Measure {
        match self {
            Self::Nats => Measure::Nats,
            Self::Street | Self::Line => Measure::Metres,
            Self::Table(table) => table.measure(),
        }
    }

    /// The ground for something that is counted so, where nobody says which: metres are those along the streets
    /// where moves have lengths, and straight ones where states have coordinates only.
    ///
    /// # Errors
    ///
    /// If the chain has nothing of the kind.
    pub fn usual(measure: Measure, chain: &Chain) -> Result<Self, GroundError> {
        let places = chain.places();
        match measure {
            Measure::Nats => Ok(Self::Nats),
            Measure::Own => Err(GroundError::NoTable),
            Measure::Metres if places.is_some_and(|places| places.lengths.is_some()) => {
                Ok(Self::Street)
            }
            Measure::Metres if places.is_some_and(|places| places.coordinates.is_some()) => {
                Ok(Self::Line)
            }
            Measure::Metres => Err(GroundError::NoMetres),
        }
    }

    /// Refuses a chain that has no such distances.
    ///
    /// # Errors
    ///
    /// What the chain is missing.
    pub fn check(&self, chain: &Chain) -> Result<(), GroundError> {
        let states = chain.len();
        let fits_table = states <= DistanceTable::MOST_STATES;
        match self {
            Self::Nats => Ok(()),
            Self::Street => lengths(chain).map(drop),
            Self::Line => line(chain).map(drop),
            Self::Table(_) if !fits_table => Err(GroundError::TooLarge { states }),
            Self::Table(table) if table.states() != states => {
                Err(GroundError::OtherStates { expected: states, found: table.states() })
            }
            Self::Table(_) => Ok(()),
        }
    }

    /// Whether the distance from one state to another is that back.
    #[must_use]
    pub const fn is_undirected(&self) -> bool {
        !matches!(self, Self::Nats)
    }

    /// Whether it can be searched for or computed, rather than be kept in a table.
    pub(crate) const fn can_be_searched(&self) -> bool {
        matches!(self, Self::Nats | Self::Street | Self::Line)
    }

    /// All distances, on a chain that passed [`Ground::check`].
    pub(crate) fn table(&self, chain: &Chain) -> DistanceTable {
        match self {
            Self::Nats => DistanceTable::directed(chain),
            Self::Street => DistanceTable::of_edges(&self.incoming(chain)),
            Self::Line => line(chain).expect("it was checked").table(),
            Self::Table(table) => table.table().clone(),
        }
    }

    /// What is searched, turned around.
    pub(crate) fn incoming(&self, chain: &Chain) -> Edges {
        match self {
            Self::Street => Edges::undirected(chain.len(), &streets(chain)),
            _ => Edges::incoming(chain),
        }
    }

    /// The pairs of states whose distances make all others, on an undirected graph: what keeps a bound on each of them
    /// keeps it everywhere. `None` where there is no such graph but that of all pairs.
    pub(crate) fn spanning_pairs(&self, chain: &Chain) -> Option<Vec<(StateId, StateId, Nats)>> {
        match self {
            Self::Street => Some(streets(chain)),
            _ => None,
        }
    }

    /// What tells it from others in whatever names a model.
    pub(crate) fn hash_into(&self, hasher: &mut blake3::Hasher) {
        hasher.update(self.name().as_bytes());
        if let Self::Table(table) = self {
            hasher.update(&table.hash());
        }
    }
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

fn lengths(chain: &Chain) -> Result<&[crate::chain::Length], GroundError> {
    let lengths = chain.places().and_then(|places| places.lengths.as_deref());
    lengths.ok_or(GroundError::NoLengths)
}

/// Where the states of a chain are in space.
pub(crate) fn line(chain: &Chain) -> Result<Line, GroundError> {
    let coordinates = chain.places().and_then(|places| places.coordinates.as_deref());
    let coordinates = coordinates.ok_or(GroundError::NoCoordinates)?;
    let label = |state: usize| chain.label(StateId::new(state)).to_owned();
    Line::new(coordinates)
        .map_err(|TooClose(from, to)| GroundError::TooClose { from: label(from), to: label(to) })
}

/// The streets of a chain, each once, the shorter of its directions: the smaller state first, and in order.
fn streets(chain: &Chain) -> Vec<(StateId, StateId, Nats)> {
    let lengths = lengths(chain).expect("it was checked");
    let moves = chain.states().flat_map(|from| {
        let row = chain.row(from);
        chain.successors(from).iter().zip(&lengths[row]).map(move |(&to, length)| {
            (from.min(to), from.max(to), Nats::from_units(length.millimetres()))
        })
    });
    let mut streets: Vec<_> = moves.filter(|(from, to, _)| from != to).collect();
    let coordinates = chain.places().and_then(|places| places.coordinates.as_deref());
    streets.extend(coordinates.map(same_places).unwrap_or_default());
    streets.sort_unstable();
    streets.dedup_by_key(|(from, to, _)| (*from, *to));
    streets
}

/// Streets without length between states at one place.
fn same_places(coordinates: &[Coordinates]) -> Vec<(StateId, StateId, Nats)> {
    let mut order: Vec<usize> = (0..coordinates.len()).collect();
    order.sort_unstable_by_key(|&state| (coordinates[state], state));
    let pairs = order.windows(2).filter(|pair| coordinates[pair[0]] == coordinates[pair[1]]);
    pairs.map(|pair| (StateId::new(pair[0]), StateId::new(pair[1]), Nats::ZERO)).collect()
}
