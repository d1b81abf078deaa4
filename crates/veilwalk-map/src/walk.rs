//! A walk to be drawn: what it is called, what kind it is, and when it was.

use veilwalk::StateId;

/// What kind a walk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The real walk. It is not protected.
    Real,
    /// What was released.
    Released,
    /// What was inferred of the release.
    Refined,
    /// What was observed: the noise that the release was made of.
    Observed,
}

impl Layer {
    /// All there are, in the order in which they are drawn over each other.
    pub const ALL: [Self; 4] = [Self::Real, Self::Released, Self::Refined, Self::Observed];

    /// Its word in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Released => "released",
            Self::Refined => "refined",
            Self::Observed => "observed",
        }
    }
}

/// When the states of a walk were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The first, in microseconds since the start of 1970 in UTC.
    pub first: i64,
    /// How far apart they are, in microseconds.
    pub every: i64,
}

impl Times {
    /// When a step was, or a part of the way to the next.
    #[must_use]
    pub fn at(self, step: f64) -> i64 {
        let (whole, part) = (step.floor(), step.fract());
        self.first + self.every * whole as i64 + (self.every as f64 * part).round() as i64
    }
}

/// A walk to be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a> {
    /// What kind it is.
    pub layer: Layer,
    /// The name of its trajectory.
    pub name: &'a str,
    /// Its states.
    pub states: &'a [StateId],
    /// When they were, if that is known.
    pub times: Option<Times>,
}
