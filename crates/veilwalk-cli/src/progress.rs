//! A progress bar for work that takes longer than a second, and a way out of it.
//!
//! The bar is on standard error and only in a terminal. Ctrl-C asks work that can stop to do so; a
//! second one, or one while anything else is done, ends the program at once. Either way the same is
//! said, with what was written, and no temporary file is left behind.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Error, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use veilwalk::analysis::{Observer, Progress};

use veilwalk_io::{ReleaseProgress, remove_unfinished_files};

use crate::{args, terminal};

/// The status of a program that Ctrl-C has ended, as shells have it.
pub(crate) const STOPPED: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);
static WAITING: AtomicBool = AtomicBool::new(false);
static STOPPABLE: AtomicUsize = AtomicUsize::new(0);
static WRITTEN: Mutex<Cow<'static, str>> = Mutex::new(Cow::Borrowed("nothing was written"));

/// Whether Ctrl-C was pressed while work was done that can stop.
pub(crate) fn stop_requested() -> bool {
    STOP.load(Ordering::SeqCst)
}

/// Sets what is said of files and output if the program is stopped from here on.
pub(crate) fn when_stopped(written: impl Into<Cow<'static, str>>) {
    *WRITTEN.lock().unwrap_or_else(PoisonError::into_inner) = written.into();
}

/// That the program was stopped, and what was written.
pub(crate) fn stopped() -> Error {
    anyhow!("stopped on request; {}", WRITTEN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Work that looks at [`stop_requested`] now and then, until it is dropped.
pub(crate) struct Stoppable(());

impl Stoppable {
    pub(crate) fn new() -> Self {
        STOPPABLE.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Stoppable {
    fn drop(&mut self) {
        STOPPABLE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Input that may keep us waiting for longer than someone who wants to stop.
pub(crate) struct Waiting<R>(pub(crate) R);

impl<R: Read> Read for Waiting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Either the handler sees that we wait, or we see its request.
        WAITING.store(true, Ordering::SeqCst);
        let result = match stop_requested() {
            true => Err(io::Error::other(stopped())),
            false => self.0.read(buffer),
        };
        WAITING.store(false, Ordering::SeqCst);
        result
    }
}

/// From here on we say so when Ctrl-C ends the program.
pub(crate) fn listen() {
    // Where no handler can be set, Ctrl-C ends the program as it always does.
    let _ = ctrlc::set_handler(|| {
        let again = STOP.swap(true, Ordering::SeqCst);
        let nobody_looks = STOPPABLE.load(Ordering::SeqCst) == 0;
        if again || nobody_looks || WAITING.load(Ordering::SeqCst) {
            leave();
        }
    });
}

fn leave() -> ! {
    remove_unfinished_files();
    terminal::stopped(&stopped());
    std::process::exit(STOPPED.into());
}

/// Runs long work under a bar with this label.
pub(crate) fn with_progress<T>(
    label: &str,
    work: impl FnOnce(&(dyn Fn(f64) -> ControlFlow<()> + Sync)) -> T,
) -> T {
    with_labelled_progress(|tell| work(&|done| tell(label, done)))
}

/// The same for work that says itself what it is at.
pub(crate) fn with_labelled_progress<T>(
    work: impl FnOnce(&(dyn Fn(&str, f64) -> ControlFlow<()> + Sync)) -> T,
) -> T {
    const PARTS: u64 = 1000;
    let _stoppable = Stoppable::new();
    let started = Instant::now();
    let bar = ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template("{msg} {bar:30} {percent:>3} %, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let shown = AtomicBool::new(false);
    let result = work(&|label, done| {
        let late = started.elapsed() > Duration::from_secs(1);
        if late && std::io::stderr().is_terminal() && !shown.swap(true, Ordering::Relaxed) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        if bar.message() != label {
            bar.set_message(label.to_owned());
        }
        bar.set_position((done * PARTS as f64) as u64);
        if stop_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    result
}

/// A bar for a release: by bytes of the file if its size is known, else a count of states.
pub(crate) fn releasing<T>(
    size: Option<u64>,
    work: impl FnOnce(&(dyn Fn(ReleaseProgress) -> ControlFlow<()> + Sync)) -> T,
) -> T {
    let _stoppable = Stoppable::new();
    let started = Instant::now();
    let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::hidden());
    let template = match size {
        Some(_) => "releasing {bar:30} {percent:>3} %, {msg}, {eta} left",
        None => "releasing {spinner} {msg}",
    };
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let shown = AtomicBool::new(false);
    let result = work(&|progress| {
        let seconds = started.elapsed().as_secs_f64();
        if seconds > 1.0 && io::stderr().is_terminal() {
            if !shown.swap(true, Ordering::Relaxed) {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            let (states, rate) = (
                args::counted(progress.states as usize, "state"),
                args::rate(progress.states, seconds),
            );
            bar.set_message(format!("{states}, {rate} a second"));
            bar.set_position(if size.is_some() { progress.bytes } else { progress.states });
        }
        if stop_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    result
}

/// The same for one stage of an analysis.
pub(crate) fn observed<T>(label: &str, work: impl FnOnce(Observer<'_>) -> T) -> T {
    with_progress(label, |watch| {
        work(&|progress: Progress| watch(progress.done as f64 / progress.total.max(1) as f64))
    })
}

/// The same for a whole analysis, which says what stage it is at.
pub(crate) fn observed_stages<T>(work: impl FnOnce(Observer<'_>) -> T) -> T {
    with_labelled_progress(|tell| {
        work(&|progress: Progress| {
            tell(&progress.stage.to_string(), progress.done as f64 / progress.total.max(1) as f64)
        })
    })
}
