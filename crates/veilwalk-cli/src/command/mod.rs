//! One file a subcommand.

pub(crate) mod chain;
pub(crate) mod demo;
pub(crate) mod kernel;
pub(crate) mod privatize;
