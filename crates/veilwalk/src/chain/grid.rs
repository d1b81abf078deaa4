//! Road-like chains of any size: the crossings of a made-up street grid.
//!
//! A state is a crossing. Streets join it to its neighbours; some are missing, some are one-way, and
//! a few rows and columns are arterials, which are complete, two-way and draw most of the traffic.
//! At every crossing some drivers wait a step. To keep every crossing within reach, each one has a
//! two-way street to its northern or its western neighbour, so that these streets form a tree.
//!
//! Probabilities are whole numbers of 1,024ths that sum to one exactly: a chain that is written to a
//! file and read again is the same chain, with the same hash, on every machine.

use std::num::NonZeroU32;

use thiserror::Error;

use super::fixed_numbers::FixedNumbers;
use super::places::{Coordinates, CoordinatesError, Length, Places};
use super::{Chain, ChainBuilder, Entries, StateId};

/// Which grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Crossings in a row.
    pub width: NonZeroU32,
    /// Rows of crossings.
    pub height: NonZeroU32,
    /// What decides everything else about it.
    pub seed: u64,
}

/// A grid with too many crossings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a grid of {width} by {height} crossings has more than {} states", Grid::MOST_STATES)]
pub struct GridTooLarge {
    /// Crossings in a row.
    pub width: u32,
    /// Rows of crossings.
    pub height: u32,
}

impl Grid {
    /// The most crossings a grid may have.
    pub const MOST_STATES: u64 = 1 << 26;
}

/// Streets that cannot be so long.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SpacingError {
    /// A grid with too many crossings.
    #[error(transparent)]
    TooLarge(#[from] GridTooLarge),
    /// Streets of no length.
    #[error("streets have to be longer than nothing; write metres such as 100")]
    Nothing,
    /// A grid larger than the earth.
    #[error(
        "with streets of {spacing} m the grid does not fit on the earth: {why}; take shorter streets or fewer crossings"
    )]
    OffTheEarth {
        /// How long streets are.
        spacing: Length,
        /// What is beyond it.
        why: CoordinatesError,
    },
}

/// One row or column in this many is an arterial, on average.
const ARTERIAL_ONE_IN: u64 = 8;
/// Of sixteen streets that are neither arterials nor needed to reach a crossing.
const MISSING_OF_16: u64 = 2;
const ONE_WAY_OF_16: u64 = 3;
/// Shares of traffic.
const WAITING: u64 = 2;
const ARTERIAL: u64 = 30;
const NARROWEST: u64 = 4;
const NARROW_KINDS: u64 = 9;
/// What the shares of a crossing are scaled to.
const WHOLE: u64 = 1024;

/// Which ways a street may be taken, and how much traffic it draws.
#[derive(Clone, Copy, Default)]
struct Street {
    ahead: u8,
    back: u8,
}

impl Chain {
    /// A road-like chain: crossings of a made-up street grid, labelled by row and column (`r12c7`).
    ///
    /// ```
    /// use veilwalk::Chain;
    /// use veilwalk::chain::Grid;
    ///
    /// let grid = Grid { width: 30.try_into()?, height: 20.try_into()?, seed: 1 };
    /// let chain = Chain::grid(grid)?;
    /// assert_eq!(chain.len(), 600);
    /// assert!(chain.state("r19c29").is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it would have more than [`Grid::MOST_STATES`] states.
    pub fn grid(grid: Grid) -> Result<Self, GridTooLarge> {
        let (width, height) = (grid.width.get(), grid.height.get());
        if u64::from(width) * u64::from(height) > Grid::MOST_STATES {
            return Err(GridTooLarge { width, height });
        }
        let (width, height) = (width as usize, height as usize);
        let (east, south) = streets(grid);
        let mut builder = ChainBuilder::new(Entries::Probabilities);
        for place in 0..width * height {
            builder.state(&format!("r{}c{}", place / width, place % width));
        }
        let mut moves: Vec<(StateId, u64)> = Vec::with_capacity(5);
        for place in 0..width * height {
            let (row, column) = (place / width, place % width);
            moves.clear();
            let mut add = |to: usize, share: u8| {
                if share > 0 {
                    moves.push((StateId::new(to), share.into()));
                }
            };
            if row > 0 {
                add(place - width, south[place - width].back);
            }
            if column > 0 {
                add(place - 1, east[place - 1].back);
            }
            add(place, WAITING as u8);
            add(place + 1, east[place].ahead);
            add(place + width, south[place].ahead);
            scale_to_whole(&mut moves);
            for &(to, share) in &moves {
                let p = share as f64 / WHOLE as f64;
                builder.transition(StateId::new(place), to, p).expect("a probability");
            }
        }
        let built = builder.build(Default::default());
        Ok(built.expect("every crossing has a two-way street towards the first").0)
    }
}

impl Chain {
    /// The same on the ground: streets have this length, waiting has none, and the crossings lie around the place
    /// where equator and prime meridian meet, which is at sea. So nobody takes it for a town that is there.
    ///
    /// Crossings are never farther apart than the street between them is long: a degree is taken for as long as it
    /// is at the equator, where it is longest, and what lies beyond whole units is cut off.
    ///
    /// ```
    /// use veilwalk::Chain;
    /// use veilwalk::chain::{Grid, Length};
    ///
    /// let grid = Grid { width: 30.try_into()?, height: 20.try_into()?, seed: 1 };
    /// let chain = Chain::grid_with_streets(grid, "100".parse::<Length>()?)?;
    /// let places = chain.places().unwrap();
    /// assert_eq!(places.coordinates.as_ref().unwrap().len(), 600);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Chain::grid`], and if streets have no length or the grid does not fit on the earth.
    pub fn grid_with_streets(grid: Grid, spacing: Length) -> Result<Self, SpacingError> {
        let chain = Self::grid(grid)?;
        if spacing == Length::ZERO {
            return Err(SpacingError::Nothing);
        }
        let moves = |from| chain.successors(from).iter().map(move |&to| (from, to));
        let length = |(from, to)| if from == to { Length::ZERO } else { spacing };
        let lengths = chain.states().flat_map(moves).map(length).collect();
        let coordinates = grid.coordinates(spacing);
        let coordinates = coordinates.map_err(|why| SpacingError::OffTheEarth { spacing, why })?;
        let (lengths, coordinates) = (Some(lengths), Some(coordinates));
        let places = Places { lengths, coordinates, ..Places::default() };
        Ok(chain.with_places(places).expect("a length for each move, a place for each crossing"))
    }
}

impl Grid {
    /// Where the crossings lie, in their order; the first row is farthest north.
    fn coordinates(self, spacing: Length) -> Result<Vec<Coordinates>, CoordinatesError> {
        /// Millimetres of a degree of longitude at the equator, rounded up.
        const DEGREE: i64 = 111_319_491;
        let units = i64::from(spacing.millimetres()) * i64::from(Coordinates::PER_DEGREE) / DEGREE;
        let (width, height) = (i64::from(self.width.get()), i64::from(self.height.get()));
        let (west, north) = (-units * (width - 1) / 2, units * (height - 1) / 2);
        // What is beyond 32 bits is far beyond the earth as well.
        let angle = |units: i64| i32::try_from(units).unwrap_or(i32::MAX);
        let rows = (0..height).map(|row| angle(north - units * row));
        let all = rows.flat_map(|latitude| {
            let columns = (0..width).map(move |column| angle(west + units * column));
            columns.map(move |longitude| Coordinates::new(latitude, longitude))
        });
        all.collect()
    }
}

/// The streets east and south of every crossing. There are none beyond the last column and row.
fn streets(grid: Grid) -> (Vec<Street>, Vec<Street>) {
    let (width, height) = (grid.width.get() as usize, grid.height.get() as usize);
    let mut numbers = FixedNumbers(grid.seed);
    let mut lines = |count: usize| -> Vec<bool> {
        (0..count).map(|_| numbers.below(ARTERIAL_ONE_IN) == 0).collect()
    };
    let (wide_rows, wide_columns) = (lines(height), lines(width));
    let mut east = vec![Street::default(); width * height];
    let mut south = vec![Street::default(); width * height];
    for place in 0..width * height {
        let (row, column) = (place / width, place % width);
        // One number for each crossing and each of its two streets, whether it is used or not, so
        // that a street does not depend on what became of the others.
        let (needed, west_kind, north_kind) = (numbers.next(), numbers.next(), numbers.next());
        let by_west = row == 0 || (column > 0 && needed.is_multiple_of(2));
        if column > 0 {
            let arterial = wide_rows[row];
            east[place - 1] = Street::new(west_kind, arterial, by_west);
        }
        if row > 0 {
            let arterial = wide_columns[column];
            south[place - width] = Street::new(north_kind, arterial, !by_west);
        }
    }
    (east, south)
}

impl Street {
    fn new(number: u64, arterial: bool, needed: bool) -> Self {
        let mut numbers = FixedNumbers(number);
        let fate = numbers.below(16);
        let mut share = || match arterial {
            true => ARTERIAL as u8,
            false => (NARROWEST + numbers.below(NARROW_KINDS)) as u8,
        };
        let both = Self { ahead: share(), back: share() };
        match fate {
            _ if arterial || needed => both,
            fate if fate < MISSING_OF_16 => Self::default(),
            fate if fate < MISSING_OF_16 + ONE_WAY_OF_16 => match number.is_multiple_of(2) {
                true => Self { ahead: 0, ..both },
                false => Self { back: 0, ..both },
            },
            _ => both,
        }
    }
}

/// Makes the shares sum to [`WHOLE`], none of them zero; what rounding leaves over goes to the
/// largest.
fn scale_to_whole(moves: &mut [(StateId, u64)]) {
    let total: u64 = moves.iter().map(|m| m.1).sum();
    let largest = (0..moves.len()).max_by_key(|&i| moves[i].1).expect("everyone may wait");
    moves.iter_mut().for_each(|m| m.1 = (m.1 * WHOLE / total).max(1));
    let scaled: u64 = moves.iter().map(|m| m.1).sum();
    moves[largest].1 += WHOLE - scaled;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(width: u32, height: u32, seed: u64) -> Chain {
        let (width, height) = (width.try_into().unwrap(), height.try_into().unwrap());
        Chain::grid(Grid { width, height, seed }).unwrap()
    }

    #[test]
    fn every_size_is_a_chain_with_exact_rows() {
        for (width, height) in [(1, 1), (1, 9), (9, 1), (2, 2), (7, 5), (40, 30)] {
            for seed in 0..20 {
                let chain = grid(width, height, seed);
                assert_eq!(chain.len(), (width * height) as usize);
                assert_eq!(chain.period(), 1);
                for state in chain.states() {
                    assert_eq!(chain.probabilities(state).iter().sum::<f64>(), 1.0);
                }
            }
        }
    }

    #[test]
    fn moves_go_to_neighbours_and_labels_tell_the_place() {
        let chain = grid(30, 20, 3);
        let (mut missing, mut one_way) = (0, 0);
        for from in chain.states() {
            let (row, column) = (from.index() / 30, from.index() % 30);
            assert_eq!(chain.label(from), format!("r{row}c{column}"));
            for to in chain.successors(from) {
                let apart = row.abs_diff(to.index() / 30) + column.abs_diff(to.index() % 30);
                assert!(apart <= 1, "{} to {}", chain.label(from), chain.label(*to));
            }
            if column + 1 < 30 {
                let east = StateId::new(from.index() + 1);
                match (chain.allows(from, east), chain.allows(east, from)) {
                    (false, false) => missing += 1,
                    (true, true) => {}
                    _ => one_way += 1,
                }
            }
        }
        assert!(missing > 10 && one_way > 10, "{missing} missing and {one_way} one-way streets");
    }

    #[test]
    fn streets_have_their_length_and_crossings_their_place() {
        let (width, height) = (7.try_into().unwrap(), 5.try_into().unwrap());
        let size = Grid { width, height, seed: 4 };
        for metres in ["0.05", "3", "100", "12345.678"] {
            let spacing: Length = metres.parse().unwrap();
            let chain = Chain::grid_with_streets(size, spacing).unwrap();
            let places = chain.places().unwrap();
            let (lengths, at) =
                (places.lengths.as_ref().unwrap(), places.coordinates.as_ref().unwrap());
            let moves =
                chain.states().flat_map(|a| chain.successors(a).iter().map(move |&b| (a, b)));
            for ((from, to), &length) in moves.zip(lengths) {
                let (a, b) = (at[from.index()], at[to.index()]);
                let north = f64::from(a.latitude() - b.latitude());
                let east = f64::from(a.longitude() - b.longitude());
                // Along a meridian or a parallel, and a degree is nowhere longer.
                let metres = (north.abs() + east.abs()) / 1e7 * 111_319.491;
                assert_eq!(length == Length::ZERO, from == to);
                assert!(metres <= length.metres(), "{metres} of {length}");
                assert!(metres >= length.metres() - 0.012, "{metres} of {length}");
            }
            assert_eq!(at[0].latitude(), -at[34].latitude());
            assert!(at[0].latitude() > 0 && at[0].longitude() < 0);
        }
        let error = |width: u32, height: u32, spacing: Length| {
            let (width, height) = (width.try_into().unwrap(), height.try_into().unwrap());
            let grid = Grid { width, height, seed: 1 };
            Chain::grid_with_streets(grid, spacing).unwrap_err().to_string()
        };
        assert!(error(7, 5, Length::ZERO).contains("longer than nothing"));
        for (width, height) in [(1, 7), (12, 1), (40_000, 1)] {
            assert!(error(width, height, Length::LONGEST).contains("fit on the earth"));
        }
    }

    #[test]
    fn a_grid_is_the_same_everywhere() {
        let hash = |chain: Chain| chain.hash().to_string()[..16].to_owned();
        assert_eq!(hash(grid(30, 20, 1)), "9e810a99aa2206f0");
        assert_eq!(hash(grid(7, 100, 2)), "5c700570645b737a");
        assert_ne!(hash(grid(20, 30, 1)), hash(grid(20, 30, 2)));
    }

    #[test]
    fn a_grid_that_is_too_large_is_refused() {
        let side = 10_000.try_into().unwrap();
        let error = Chain::grid(Grid { width: side, height: side, seed: 0 }).unwrap_err();
        assert!(error.to_string().contains("67108864"), "{error}");
    }
}
