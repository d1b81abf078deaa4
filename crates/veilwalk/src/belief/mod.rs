//! What anybody can infer of a real walk from its observations, and the feasible walk that follows it.
//!
//! Only what was observed enters; nothing here sees a real state. So nothing here costs privacy, and
//! whoever has the observations gets the same results.
//!
//! - A [`Belief`] is the distribution of the real state given the observations so far: it moves on with
//!   the chain, and each observation weighs its states anew.
//! - A [`Track`] is one walk: it answers each step with a move that the chain allows, the one that is
//!   expected to be nearest to the real state. With a lag it first waits for what is observed next.
//!
//! # The same everywhere
//!
//! Beliefs decide which states are released, so they are the same to the last bit on every machine, for
//! any number of threads, when run again, and after a walk was saved and resumed. They are doubles, and
//! one walk is computed in one fixed order: states from the first to the last, the moves of a state in
//! the chain's order. There are additions, subtractions, multiplications, divisions and comparisons,
//! whose results IEEE 754 fixes, and an exponential that is made of those. There are no fused
//! multiplications, no functions of the platform's own, no threads within a walk, and no order of a hash
//! table.
//!
//! # Nothing is ever impossible
//!
//! Observations can contradict the chain, which is only a model of the real walk. A belief always has
//! mass, all of it finite: an observation that nothing in the belief can explain is counted as a
//! surprise, and leaves it as it was predicted.

mod filter;
mod moves;
mod parts;
mod passes;
mod shortlist;
mod space;
#[cfg(test)]
mod tests;
mod track;
mod tracker;
mod window;

pub(crate) use filter::{Belief, Explained};
pub(crate) use moves::Moves;
#[cfg(feature = "serde")]
pub(crate) use parts::TrackParts;
pub(crate) use space::BeliefSpace;
pub(crate) use track::Track;
pub(crate) use tracker::{Tracker, cheapest, expected_distances, largest};
pub(crate) use window::{Seen, posterior_of_first, smooth};
