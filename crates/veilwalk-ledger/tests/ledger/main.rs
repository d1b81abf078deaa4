//! The ledger from outside: the same behaviour in a file and on a server, and totals against kernels.

mod file;
mod kernels;
mod semantics;
#[cfg(feature = "postgres")]
mod server;
