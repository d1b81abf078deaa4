//! Long work that can be watched, and stopped.
//!
//! Whoever starts it gives a [`Watch`]. It is told now and then, from any thread, what is being done and
//! what share of it is done, and answers whether to go on. Work that was asked to stop gives [`Stopped`]
//! and leaves nothing half done behind.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

/// What is being worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Distances to cells are computed.
    Cells,
    /// Scales are calibrated.
    Scales,
    /// Public weights of the states are looked for.
    Weights,
    /// What answers cost from here on is computed.
    Ahead,
    /// Losses of pairs of states are compared.
    Losses,
    /// States that have an alternative are counted.
    Cover,
    /// Tables and scales of a model are checked.
    Checks,
    /// Draws are held against the exact kernel.
    Audit,
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
    /// Members of the family are compared.
    Tuning,
    /// Released walks are gone through.
    Inference,
    /// Rounds of an estimate.
    Rounds,
    /// An estimate is made again of walks drawn with replacement.
    Replicates,
    /// Weights of last states are fitted.
    Ends,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cells => "cells",
            Self::Scales => "calibrating",
            Self::Weights => "weights",
            Self::Ahead => "looking ahead",
            Self::Losses => "comparing states",
            Self::Cover => "cover",
            Self::Checks => "checks",
            Self::Audit => "audit",
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
            Self::Inference => "inferring",
            Self::Rounds => "estimating",
            Self::Replicates => "intervals",
            Self::Ends => "last states",
        })
    }
}

/// How far the work is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// What is being worked on.
    pub stage: Stage,
    /// The share of it that is done. For an iteration, the share of the most that will be made.
    pub share: f64,
}

/// Someone who watches long work. Answering [`ControlFlow::Break`] ends it with [`Stopped`].
pub type Watch<'a> = &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync);

/// Nobody watches.
pub fn unwatched(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Whoever watched the work asked for it to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("stopped on request before the result was complete")]
pub struct Stopped;

/// Tells the watcher what share of a stage is done.
pub(crate) fn report_share(watch: Watch<'_>, stage: Stage, share: f64) -> Result<(), Stopped> {
    match watch(Progress { stage, share }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Stopped),
    }
}

/// Tells the watcher that so many of a total are done.
pub(crate) fn report(
    watch: Watch<'_>,
    stage: Stage,
    done: usize,
    total: usize,
) -> Result<(), Stopped> {
    report_share(watch, stage, done as f64 / total.max(1) as f64)
}

/// A watcher of one part of the work, such as the second half.
pub(crate) fn part<'a>(
    watch: Watch<'a>,
    part: Range<f64>,
) -> impl Fn(Progress) -> ControlFlow<()> + Sync + 'a {
    move |Progress { stage, share }| {
        watch(Progress { stage, share: part.start + share * (part.end - part.start) })
    }
}

/// Adds up what several threads have done of a stage.
pub(crate) struct Counter<'a> {
    watch: Watch<'a>,
    stage: Stage,
    done: AtomicU64,
    total: u64,
}

impl<'a> Counter<'a> {
    pub(crate) fn new(watch: Watch<'a>, stage: Stage, total: usize) -> Self {
        Self { watch, stage, done: AtomicU64::new(0), total: total as u64 }
    }

    /// So many more of the total are done.
    pub(crate) fn add(&self, more: usize) -> Result<(), Stopped> {
        let done = self.done.fetch_add(more as u64, Ordering::Relaxed) + more as u64;
        report(self.watch, self.stage, done as usize, self.total as usize)
    }
}
