//! Telling how far long work is, and stopping it.

use std::fmt;
use std::ops::ControlFlow;

use thiserror::Error;

/// What is being worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Kernels are computed and stored.
    Kernels,
    /// A law moves forward step by step.
    Steps,
    /// The same with walks removed once they exceed a distance.
    Ever,
    /// Sweeps towards the stationary law.
    Stationary,
    /// Sweeps towards the second eigenvalue.
    Eigenvalue,
    /// Steps from every start at once.
    Mixing,
    /// Drift of every joint state.
    Drift,
    /// Constants of the error bound.
    Bounds,
    /// The distribution of the released walk's rounded entropy.
    Typical,
    /// Simulated walks.
    Simulation,
    /// Members of the family compared, in thousandths of one.
    Tuning,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kernels => "kernels",
            Self::Steps => "steps",
            Self::Ever => "ever exceeded",
            Self::Stationary => "stationary law",
            Self::Eigenvalue => "second eigenvalue",
            Self::Mixing => "mixing time",
            Self::Drift => "drift",
            Self::Bounds => "error bound",
            Self::Typical => "typical walks",
            Self::Simulation => "simulation",
            Self::Tuning => "tuning",
        })
    }
}

/// How far the work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being worked on.
    pub stage: Stage,
    /// Units done.
    pub done: u64,
    /// Units in all, where that is known. For an iteration it is the most that will be made.
    pub total: u64,
}

/// Called from time to time by long work, from any thread. Answering [`ControlFlow::Break`] ends
/// the work with [`Stopped`].
pub type Observer<'a> = &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync);

/// The observer that looks at nothing and never stops anything.
pub fn unobserved(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The observer asked for the work to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("stopped before it was done")]
pub struct Stopped;

/// Reports, and turns a request to end into an error.
pub(super) fn report(
    observer: Observer<'_>,
    stage: Stage,
    done: usize,
    total: usize,
) -> Result<(), Stopped> {
    match observer(Progress { stage, done: done as u64, total: total as u64 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Stopped),
    }
}
