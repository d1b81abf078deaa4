//! Bounds in closed form: as published by Benvenuti and Hale, and ones that hold.
//!
//! | bound | published | corrected |
//! |---|---|---|
//! | [`ErrorBound`]: probability of a large distance | one rate from the smallest drift | Hajek's theorem with constants computed from the kernels |
//! | [`EntropyBound`]: expected entropy of the released walk | a chain of inequalities | the exact expectation |
//! | [`TypicalityBound`]: probability of an untypical walk | mixing time of the real chain, distances for weights | mixing time of the pair, weights, one more term |
//!
//! The published formulas are evaluated as printed, for comparison: each type says what is wrong
//! with them, and nothing else in this crate relies on them.

mod entropy;
mod error;

pub use entropy::{EntropyBound, TypicalityBound, TypicalityFigures};
pub use error::{BoundAt, ErrorBound, ErrorBoundFigures, PublishedConstants};
