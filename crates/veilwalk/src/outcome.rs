//! What was observed of a step: a state, or a point of a lattice.

use crate::state::StateId;

/// What was observed of a step.
///
/// In memory it is a `u64`: the number of a state, which is below 2³², or what stands for a point.
#[repr(transparent)]
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bytemuck::Pod, bytemuck::Zeroable,
)]
pub struct Outcome(u64);

/// A point of the lattice that `plane` draws from: so many millimetres north and east of its origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LatticePoint {
    north: i32,
    east: i32,
}

/// An outcome, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// A state.
    State(StateId),
    /// A point.
    Point(LatticePoint),
}

impl LatticePoint {
    /// The farthest that a point lies from the origin in each direction: 2,000 km.
    pub const FARTHEST: i32 = 2_000_000_000;

    /// The point so many millimetres from the origin; the nearest one there is where that is too far.
    #[must_use]
    pub fn nearest(north: i128, east: i128) -> Self {
        let within = |steps: i128| {
            let farthest = i128::from(Self::FARTHEST);
            steps.clamp(-farthest, farthest) as i32
        };
        Self { north: within(north), east: within(east) }
    }

    /// How many millimetres north of the origin.
    #[must_use]
    pub const fn north(self) -> i32 {
        self.north
    }

    /// How many millimetres east of the origin.
    #[must_use]
    pub const fn east(self) -> i32 {
        self.east
    }

    /// How far another point is, in millimetres, rounded up. That keeps the triangle inequality.
    #[must_use]
    pub fn distance(self, other: Self) -> u64 {
        let (north, east) = (self.north.abs_diff(other.north), self.east.abs_diff(other.east));
        length(north.into(), east.into())
    }
}

/// The length of the way by so many steps in two directions, rounded up.
pub(crate) fn length(north: u128, east: u128) -> u64 {
    let square = north * north + east * east;
    let root = match u64::try_from(square) {
        Ok(square) => u128::from(square.isqrt()),
        Err(_) => square.isqrt(),
    };
    let up = root + u128::from(root * root < square);
    u64::try_from(up).unwrap_or(u64::MAX)
}

impl Outcome {
    /// The first number that stands for a point.
    const POINTS: u64 = 1 << 32;
    /// What is added to a point's steps north, so that they are above zero.
    const SHIFT: i64 = 1 << 31;

    /// What stands for a point.
    #[must_use]
    pub const fn of_point(point: LatticePoint) -> Self {
        let north = (point.north as i64 + Self::SHIFT) as u64;
        Self(north << 32 | point.east as u32 as u64)
    }

    /// The outcome with this number; `None` if there is none.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Self> {
        let outcome = Self(number);
        match outcome.sight() {
            Sight::State(state) if state != StateId::NONE => Some(outcome),
            Sight::State(_) => None,
            Sight::Point(LatticePoint { north, east }) => {
                let most = LatticePoint::FARTHEST.unsigned_abs();
                let fits = north.unsigned_abs() <= most && east.unsigned_abs() <= most;
                fits.then_some(outcome)
            }
        }
    }

    /// The number that stands for it.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// All of these as outcomes.
    #[must_use]
    pub fn all<D: Copy + Into<Self>>(drawn: &[D]) -> Vec<Self> {
        drawn.iter().map(|&drawn| drawn.into()).collect()
    }

    /// What it is.
    #[must_use]
    pub fn sight(self) -> Sight {
        if self.0 < Self::POINTS {
            return Sight::State(StateId::new(self.0 as usize));
        }
        let north = ((self.0 >> 32) as i64 - Self::SHIFT) as i32;
        Sight::Point(LatticePoint { north, east: self.0 as u32 as i32 })
    }

    /// The state that it is, if it is one.
    #[must_use]
    pub fn state(self) -> Option<StateId> {
        match self.sight() {
            Sight::State(state) => Some(state),
            Sight::Point(_) => None,
        }
    }

    /// The point that it is, if it is one.
    #[must_use]
    pub fn point(self) -> Option<LatticePoint> {
        match self.sight() {
            Sight::State(_) => None,
            Sight::Point(point) => Some(point),
        }
    }
}

impl From<StateId> for Outcome {
    fn from(state: StateId) -> Self {
        Self(state.index() as u64)
    }
}

impl PartialEq<StateId> for Outcome {
    fn eq(&self, state: &StateId) -> bool {
        *self == Self::from(*state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: i32 = LatticePoint::FARTHEST;

    #[test]
    fn states_and_points_have_numbers_of_their_own() {
        let state = Outcome::from(StateId::new(7));
        assert_eq!(
            (state.number(), state.state(), state.point()),
            (7, Some(StateId::new(7)), None)
        );
        for (north, east) in [(0, 0), (-MOST, -MOST), (MOST, MOST), (-1, 1), (5, -MOST)] {
            let point = LatticePoint { north, east };
            let outcome = Outcome::of_point(point);
            assert_eq!((outcome.point(), outcome.state()), (Some(point), None));
            assert_eq!(Outcome::from_number(outcome.number()), Some(outcome));
        }
        assert_eq!(Outcome::from_number(u32::MAX.into()), None);
        assert_eq!(Outcome::from_number(u64::MAX), None);
        assert_eq!(LatticePoint::nearest(i128::MAX, -5), LatticePoint { north: MOST, east: -5 });
    }

    proptest! {
        #[test]
        fn lengths_are_the_least_whole_numbers_not_below(
            north in prop_oneof![0u128..4000, 0u128..1 << 33, 0u128..1 << 63],
            east in prop_oneof![0u128..4000, 0u128..1 << 33, 0u128..1 << 63],
        ) {
            let (up, square) = (u128::from(length(north, east)), north * north + east * east);
            prop_assert!(up * up >= square);
            prop_assert!(up == 0 || (up - 1) * (up - 1) < square);
        }

        #[test]
        fn the_triangle_inequality_holds(places in prop::array::uniform6(-MOST..MOST)) {
            let point = |at: usize| LatticePoint { north: places[at], east: places[at + 1] };
            let (a, b, c) = (point(0), point(2), point(4));
            prop_assert!(a.distance(c) <= a.distance(b) + b.distance(c));
            prop_assert_eq!(a.distance(b), b.distance(a));
            prop_assert_eq!(a.distance(a), 0);
        }
    }
}
