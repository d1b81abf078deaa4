//! Why a request is not answered. Nothing is released then.

use std::sync::Arc;

use thiserror::Error;
use veilwalk::chain::UnknownState;
use veilwalk::session::PushError;
use veilwalk_ledger::LedgerError;

use crate::store::StoreError;

/// Why a request is not answered. Nothing is released then, and the walk stands where it stood.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A step that does not follow the last one.
    #[error(
        "step {given} does not follow: the next step of this walk is {expected}; send that one first"
    )]
    Gap {
        /// The next step.
        expected: u64,
        /// The step that came.
        given: u64,
    },
    /// A step whose answer is not kept any more.
    #[error(
        "step {given} was answered, and answers are kept for the last {kept} steps of a walk only; it is \
         not released a second time"
    )]
    Forgotten {
        /// The step that came.
        given: u64,
        /// How many answers are kept.
        kept: u64,
    },
    /// A walk that is ended again, long after it was over.
    #[error(
        "this walk was over long ago, after {steps} steps, and its last answers are not kept any more; they are \
         not released a second time"
    )]
    RestForgotten {
        /// How many steps it had.
        steps: u64,
    },
    /// More steps than the promise was made for.
    #[error(
        "the promise was made for walks of {longest} steps at most; end this one, and start another under another name"
    )]
    TooLong {
        /// The most steps.
        longest: u64,
    },
    /// A walk that is over.
    #[error("this walk is over, after {steps} steps; start another one under another name")]
    Over {
        /// How many steps it had.
        steps: u64,
    },
    /// A walk to be ended that never was.
    #[error("there is no walk of this name")]
    NoSuchWalk,
    /// A state that the chain does not have.
    #[error("step {number}: {unknown}")]
    UnknownState {
        /// The step.
        number: u64,
        /// What came, and what may have been meant.
        unknown: UnknownState,
    },
    /// No step at all.
    #[error("there are no steps in the list; give one at least")]
    NoSteps,
    /// As many walks as are allowed.
    #[error("{most} walks are open, and no more are allowed; end one, or try again later")]
    TooManyWalks {
        /// The most.
        most: u64,
    },
    /// The ledger does not allow the walk.
    #[error(transparent)]
    Budget(Arc<LedgerError>),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(Arc<LedgerError>),
    /// The answer could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No randomness in this process.
    #[error(transparent)]
    Draw(#[from] PushError),
    /// More requests wait than are allowed.
    #[error("more requests wait than can be taken; try again in a moment")]
    Busy,
    /// No more requests are taken.
    #[error("the service is about to stop and takes no more requests; try again when it is back")]
    Stopping,
}

impl Refusal {
    /// A word for programs. It does not depend on which of the chain's states came in.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Gap { .. } => "gap",
            Self::Forgotten { .. } | Self::RestForgotten { .. } => "forgotten",
            Self::Over { .. } => "over",
            Self::TooLong { .. } => "walk-too-long",
            Self::NoSuchWalk => "no-such-walk",
            Self::UnknownState { .. } => "unknown-state",
            Self::NoSteps => "no-steps",
            Self::TooManyWalks { .. } => "too-many-walks",
            Self::Budget(_) => "budget",
            Self::Ledger(_) => "ledger",
            Self::Store(_) => "store",
            Self::Draw(_) => "failed",
            Self::Busy => "busy",
            Self::Stopping => "stopping",
        }
    }
}
