//! Differentially private release of walks on a Markov chain.
//!
//! A walk on a public Markov chain is sensitive: a trip through a city, a path through a web site,
//! a firm's credit ratings. veilwalk releases another walk in its place, one state at a time, while
//! the real one is happening. The released walk takes only transitions that the chain allows, stays
//! close to the real one, looks like a walk that the chain would produce, and is ε-differentially
//! private.
//!
//! ```
//! use std::sync::Arc;
//! use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Session, Source, Start};
//!
//! // A public chain with its distances, and a mechanism that keeps a promise on it.
//! let model = Arc::new(Model::new(Chain::credit())?);
//! let promise = Promise::within_radius("1".parse()?, "3.5".parse()?);
//! let mechanism = Arc::new(Mechanism::new(model.clone(), Preset::Sharp.design(), promise)?);
//!
//! // The real walk comes in, the private one goes out.
//! let mut session = Session::new(mechanism, &Source::system(), Start::Private, "firm 12")?;
//! let real = model.chain().require("Caa")?;
//! let released = session.release(real)?;
//! # let _ = released;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The story of a release
//!
//! 1. A [`Chain`] is public: built with a [`ChainBuilder`], fitted, or built in ([`chain`]).
//! 2. A [`Model`] is a chain with the distances between its states, in [`Nats`].
//! 3. A [`Promise`] says how private a release is: an [`Epsilon`] for walks within a [`Radius`], or for a number
//!    of replaced states ([`Unit`]).
//! 4. A [`Mechanism`] keeps a promise on a model. Its [`Design`] is a [`Preset`] or a choice of [`Distance`],
//!    [`Rule`] and chain weight ([`mechanism`], with the proofs).
//! 5. A [`Guarantee`] says what the promise is worth on this chain, before anything is released
//!    ([`guarantee`]), and [`analysis`] computes how accurate releases are.
//! 6. A [`Source`] gives the randomness: the system's, or from a [`Secret`] and a [`ReleaseId`] so that a run can
//!    be repeated ([`random`]).
//! 7. A [`Session`] releases one walk while it happens; a [`Releaser`] releases many. Real states are pushed, released
//!    ones come back, one by one or in blocks ([`BlockLength`], [`session`]).
//!
//! Nothing that decides a release is a float. Every function has an error of its own, and [`Error`] takes them all.
//!
//! # Words
//!
//! The same act has the same word everywhere. A *step* is one move of a walk. To *push* is to hand over one real
//! state; what comes back is *released*. To *release* is to push where every real state is answered at once. To
//! *privatize* is to release whole walks, which the command and the Python package do.
//!
//! # Features
//!
//! `serde`, on by default: figures are `Serialize`, and sessions can be saved and resumed.

#![cfg_attr(not(feature = "serde"), allow(dead_code, reason = "for saved sessions only"))]

// Numbers of states, moves and bytes are handed between `usize` and 64 bits everywhere.
#[cfg(not(target_pointer_width = "64"))]
compile_error!("veilwalk needs a system with 64-bit addresses");

mod ahead;
pub mod analysis;
mod belief;
pub mod chain;
mod distance;
pub mod error;
pub mod guarantee;
pub mod inference;
#[doc(hidden)]
pub mod internal;
mod measure;
pub mod mechanism;
mod model;
mod nats;
mod outcome;
pub mod random;
mod rational;
mod remedy;
mod request;
pub mod rounding;
pub mod session;
mod sixteen_bytes;
mod state;
mod storage;
mod watch;

pub use chain::{Chain, ChainBuilder, Initial, StateId};
pub use distance::{CacheSize, Ground, GroundError};
pub use error::Error;
pub use guarantee::Guarantee;
pub use measure::Measure;
pub use mechanism::{
    BlockLength, Design, Distance, Epsilon, Mechanism, Preset, Promise, Radius, Rule, Unit,
};
pub use model::{Model, Pair};
pub use nats::Nats;
pub use outcome::{LatticePoint, Outcome, Sight};
pub use random::{ReleaseId, Secret, Source};
pub use rational::Rational;
pub use session::{Releaser, Session, Start};
pub use watch::{Progress, Stage, Stopped, Watch, unwatched};

/// The examples of the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
