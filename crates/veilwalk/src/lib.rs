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
//! let mut session = Session::new(mechanism, &Source::system(), Start::Initial, "firm 12")?;
//! let real = model.chain().require("Caa")?;
//! let released = session.release(real)?;
//! # let _ = released;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The parts, from the ground up: [`nats`] (distances as integers), [`chain`], [`distance`],
//! [`random`] (exact coins), [`mechanism`] (the family, with its proofs), [`session`], [`guarantee`]
//! (what a promise means on a chain) and [`analysis`] (how good a release is, computed). Nothing that
//! decides a release is a float.

pub mod analysis;
pub mod chain;
pub mod distance;
pub mod guarantee;
pub mod mechanism;
pub mod model;
pub mod nats;
pub mod random;
pub mod rational;
pub mod remedy;
pub mod request;
pub mod session;
mod state;
pub mod storage;
pub mod watch;

pub use chain::{Chain, Initial, StateId};
pub use mechanism::{Design, Distance, Mechanism, Preset, Promise, Rule};
pub use model::Model;
pub use nats::Nats;
pub use random::{ReleaseId, Secret, Source};
pub use session::{Session, Start};

/// The examples of the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
