//! Differentially private release of walks on a Markov chain.
pub mod chain;
pub mod distance;
pub mod model;
pub mod nats;
pub mod random;
pub mod rational;
