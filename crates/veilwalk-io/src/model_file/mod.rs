//! Compiled models: a chain with its distances, and, where they were asked for, its cells and
//! calibrated scales, in one file that is opened in milliseconds.
//!
//! The tables of a large model are used where they lie in the file ([`map`]), so nothing is copied and
//! many processes share one copy. Before anything of a model is used, all of it is held against its
//! checksums ([`layout`]): a file that was cut off, altered by accident or written by another version is
//! refused. That a mapped file is changed while it is in use is noticed before anything is handed on
//! (`origin`, `cut_short`).
//!
//! A model is public, as its chain is. It is also trusted, as the program is: its tables decide what
//! is released. `veilwalk chain check MODEL --verify` computes them again and compares.

mod certified;
#[cfg(unix)]
mod cut_short;
mod layout;
mod map;
#[cfg(unix)]
mod origin;
mod places;
mod read;
#[cfg(all(test, unix))]
mod tests;
mod write;

pub use layout::ModelProblem;
pub use read::{chain_from_bytes, is_model, read_model};
pub use write::{chain_to_bytes, write_model};
