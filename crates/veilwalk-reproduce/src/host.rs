//! Whoever runs the evaluation: shows what happens, and may ask for it to stop.

use std::ops::ControlFlow;

use veilwalk::{Stopped, Watch};

/// Shows notes and progress, and may ask for the evaluation to stop.
pub trait Host {
    /// Says what was done.
    fn note(&self, text: &str);

    /// Says what the reader should know before relying on the result.
    fn warning(&self, text: &str);

    /// Does a piece of work and shows, under this label, how far it is. Does it exactly once.
    fn watch(&self, label: &str, work: &mut dyn FnMut(Watch<'_>));

    /// Whether to stop. Asked between pieces of work that cannot be interrupted.
    fn stop_requested(&self) -> bool;
}

impl dyn Host + '_ {
    /// Runs work that tells what share of it is done.
    pub(crate) fn watched<T>(&self, label: &str, work: impl FnOnce(Watch<'_>) -> T) -> T {
        let (mut work, mut result) = (Some(work), None);
        self.watch(label, &mut |watch| result = work.take().map(|work| work(watch)));
        result.expect("a host does the work once")
    }

    pub(crate) fn stop_if_asked(&self) -> Result<(), Stopped> {
        if self.stop_requested() { Err(Stopped) } else { Ok(()) }
    }
}

/// A host that shows nothing and never stops anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Host for Silent {
    fn note(&self, _: &str) {}

    fn warning(&self, _: &str) {}

    fn watch(&self, _: &str, work: &mut dyn FnMut(Watch<'_>)) {
        work(&|_| ControlFlow::Continue(()));
    }

    fn stop_requested(&self) -> bool {
        false
    }
}
