//! The number that stands for a state.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// A state, by its place in the chain's list of labels.
///
/// In memory it is that place, a `u32`.
#[repr(transparent)]
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bytemuck::Pod, bytemuck::Zeroable,
)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct StateId(u32);

impl StateId {
    /// The place of no state: a chain has fewer.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The state at this place.
    ///
    /// # Panics
    ///
    /// If the place is 2³² or more.
    #[must_use]
    pub fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("a chain has fewer than 2^32 states"))
    }

    /// The place of the state in the chain's list.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
