//! One file a subcommand.

pub(crate) mod analyze;
pub(crate) mod attack;
pub(crate) mod audit;
pub(crate) mod chain;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod estimate;
pub(crate) mod guarantee;
pub(crate) mod kernel;
pub(crate) mod ledger;
pub(crate) mod map;
pub(crate) mod prepare;
pub(crate) mod privatize;
pub(crate) mod refine;
pub(crate) mod reproduce;
pub(crate) mod score;
pub(crate) mod serve;
pub(crate) mod tune;
pub(crate) mod verify;
