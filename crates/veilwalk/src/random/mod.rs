//! Exact randomness: coins, choices, and where their bits come from.
//!
//! A proof of privacy speaks of probabilities such as `exp(-a/b)`. A program that compares a random
//! double with `f64::exp` flips a slightly different coin, and the difference has been used to
//! break releases (Mironov 2012). Here a coin is decided by comparing a uniformly random real
//! number, drawn bit by bit, with an interval around `exp(-a/b)` that is refined until the two no
//! longer overlap. Every decision is the one the real numbers give; floats only save time.

pub(crate) mod coin;
mod discrete_laplace;
mod enclosure;
mod flip_all;
mod fork_check;
mod pick_heads;
mod quick_test;
mod random_visits;
mod release_id;
pub(crate) mod source;
pub(crate) mod uniform_index;

pub(crate) use coin::ExpCoin;
pub use discrete_laplace::DiscreteLaplace;
pub(crate) use flip_all::AllFlips;
pub use fork_check::Forked;
pub use release_id::{NotAReleaseId, ReleaseId};
#[cfg(test)]
pub(crate) use source::Stream;
pub(crate) use source::{Randomness, WalkKey};
pub use source::{Secret, SecretTooShort, Source, SourceKind, Unavailable};

pub(crate) use uniform_index::uniform_below;
use uniform_index::uniform_below_starting;

/// The version of the samplers: it names how many random words a step consumes, and in which order.
///
/// A key fixes a release only together with this, so it is part of every mechanism's fingerprint.
/// Raise it with every change after which the same words release other states. Runs under the old
/// version can then no longer be repeated, which is said, instead of being repeated differently, which
/// would be a second release under one id.
pub const SAMPLER_VERSION: u32 = 1;

/// A supply of uniformly random 64-bit words.
pub trait Words {
    /// The next word.
    fn word(&mut self) -> u64;

    /// The next words, as many as there are places.
    #[inline]
    fn fill(&mut self, out: &mut [u64]) {
        out.iter_mut().for_each(|word| *word = self.word());
    }
}

impl<W: Words + ?Sized> Words for &mut W {
    #[inline]
    fn word(&mut self) -> u64 {
        (**self).word()
    }

    #[inline]
    fn fill(&mut self, out: &mut [u64]) {
        (**self).fill(out);
    }
}

pub(crate) use enclosure::exp_enclosure;
#[cfg(test)]
pub(crate) use enclosure::exp_upper_bound_for_tests;

/// Words that a test chooses.
#[cfg(test)]
pub(crate) struct Given(pub(crate) Vec<u64>);

#[cfg(test)]
impl Words for Given {
    fn word(&mut self) -> u64 {
        self.0.remove(0)
    }
}
