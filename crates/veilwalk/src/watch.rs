//! Long work that can be watched, and stopped.
//!
//! Whoever starts it gives a [`Watch`], which is told now and then, from any thread, what share is
//! done, and answers whether to go on. What is stopped gives [`Cancelled`] and leaves nothing half
//! done behind.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

/// Someone who watches long work: told the share that is done, answers whether to go on.
pub type Watch<'a> = &'a (dyn Fn(f64) -> ControlFlow<()> + Sync);

/// Nobody watches.
pub fn unwatched(_: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Whoever watched the work asked for it to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("stopped on request before the result was complete")]
pub struct Cancelled;

/// Tells the watcher how far the work is.
pub(crate) fn report_progress(watch: Watch<'_>, done: f64) -> Result<(), Cancelled> {
    match watch(done) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Cancelled),
    }
}

/// Adds up what several threads have done of a part of the work.
pub(crate) struct Counter<'a> {
    watch: Watch<'a>,
    /// Which part of the whole work this is.
    part: Range<f64>,
    done: AtomicU64,
    total: u64,
}

impl<'a> Counter<'a> {
    pub(crate) fn new(watch: Watch<'a>, part: Range<f64>, total: usize) -> Self {
        Self { watch, part, done: AtomicU64::new(0), total: total as u64 }
    }

    /// So many more of the total are done.
    pub(crate) fn add(&self, more: usize) -> Result<(), Cancelled> {
        let done = self.done.fetch_add(more as u64, Ordering::Relaxed) + more as u64;
        let share = done as f64 / self.total.max(1) as f64;
        let Range { start, end } = self.part;
        report_progress(self.watch, start + share * (end - start))
    }
}
