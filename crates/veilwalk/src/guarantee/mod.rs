//! What a promise means on a chain: the exact loss, who is covered, and the largest scale that
//! keeps the promise.
//!
//! ε alone says little. On the credit chain no two states are within one nat of each other, so a
//! guarantee for a radius of one nat is empty there, whatever its ε. Everything that decides this
//! is public (the chain, the mechanism, its parameters), so it is computed before anything is
//! released:
//!
//! - [`loss`]: the exact privacy loss of replacing one state by another, for a pair, for all
//!   transitions, for all pairs;
//! - [`cover`]: which states a radius makes hard to tell apart; [`Stays`]: for how many steps;
//! - [`report`]: both together, in words and as figures ([`Guarantee`]);
//! - [`Price`]: what a ledger adds up: the loss of one replaced state, and whether the loss is linear;
//! - [`calibrate`](mod@calibrate): the largest scale whose audited loss keeps the promise;
//! - [`check_certificate`]: the scales of cells, checked over again by the plainest route;
//! - [`audit`](mod@audit): a check of a sampler from the outside, by what it draws.
//!
//! Figures are rounded outward: a loss that is reported is never below the real one
//! ([`rounding`] has the error analysis).

pub mod audit;
mod block;
mod block_report;
pub mod calibrate;
mod certificate;
mod collect;
mod confidence;
pub mod cover;
mod example;
pub mod loss;
mod pairs;
mod paths;
mod price;
pub mod report;
pub mod rounding;
mod stay;
mod sup;
mod tally;
mod walk;
mod words;

pub use audit::{AuditPlan, AuditReport, Probe, Sampler, StepSampler, audit};
pub use block::{ReplacementLoss, block_loss, replacement_work, worst_replacement};
pub use block_report::{BlockEffort, BlockGuarantee};
pub use calibrate::{Calibrated, CalibrationError, calibrate};
pub use certificate::{CertificateError, ModelError, check_certificate};
pub use cover::{ClosestStates, Cover, EmptyGuarantee, SuggestedRadii};
pub use loss::{
    Coverage, Effort, Figures, Losses, PairLoss, Summary, Worst, audited_loss, pair_loss,
};
pub use price::Price;
pub use report::{Guarantee, GuaranteeError};
pub use stay::Stays;

use crate::watch::report_progress;
pub use crate::watch::{Cancelled, Watch, unwatched};
