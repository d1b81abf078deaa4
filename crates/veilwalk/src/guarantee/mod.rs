//! What a promise means on a chain: the exact loss, who is covered, and the largest scale that
//! keeps the promise.
//!
//! ε alone says little. On the credit chain no two states are within one nat of each other, so a
//! guarantee for a radius of one nat is empty there, whatever its ε. Everything that decides this
//! is public (the chain, the mechanism, its parameters), so it is computed before anything is
//! released:
//!
//! - [`pair_loss`]: the exact privacy loss of replacing one state by another;
//! - [`Cover`]: which states a radius makes hard to tell apart; [`Stays`]: for how many steps;
//! - [`Guarantee`]: all of it together, in words and as figures;
//! - [`Price`]: what a ledger adds up: the loss of one replaced state, and whether the loss is linear;
//! - [`calibrate`](mod@calibrate): the largest scale whose audited loss keeps the promise;
//! - [`audit`](fn@audit): a check of a sampler from the outside, by what it draws.
//!
//! Figures are rounded outward: a loss that is reported is never below the real one
//! ([`rounding`](crate::rounding) has the error analysis).

pub(crate) mod audit;
mod audit_of_plane;
pub(crate) mod block;
mod block_losses;
pub mod calibrate;
pub(crate) mod certificate;
mod confidence;
pub(crate) mod cover;
mod example;
mod in_words;
pub(crate) mod loss;
mod loss_collectors;
mod loss_words;
pub(crate) mod observed;
mod pair_losses;
mod pairs;
mod paths;
mod price;
pub(crate) mod report;
mod running_loss;
mod stay;
pub(crate) mod step_losses;
mod walk_loss;

pub use audit::{AuditPlan, AuditReport, Verdict, audit};
pub use block_losses::BlockLosses;
pub use calibrate::{Calibrated, CalibrationError, calibrate};
pub(crate) use certificate::{CertificateError, ModelError};
pub use cover::Cover;
pub use loss::{Effort, PairLoss, pair_loss};
pub(crate) use loss::{FigureKind, audited_loss};
pub use price::Price;
pub use report::{Guarantee, GuaranteeError, LossReport};
pub use stay::Stays;
pub use step_losses::StepLosses;
