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
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use veilwalk_io::{ReleaseProgress, ReleaseStage, remove_unfinished_files};

use crate::{args, terminal};
use veilwalk::{Progress, Watch};

/// The status of a program that Ctrl-C has ended, as shells have it.
pub(crate) const STOPPED: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);
static WAITING: AtomicBool = AtomicBool::new(false);
/// How much work there is that looks at [`stop_requested`].
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
    veilwalk_ledger::settle(Duration::from_secs(5));
    remove_unfinished_files();
    terminal::stopped(&stopped());
    std::process::exit(STOPPED.into());
}

/// Runs long work under a bar with this label.
pub(crate) fn with_progress<T>(label: &str, work: impl FnOnce(Watch<'_>) -> T) -> T {
    with_labelled_progress(|tell| work(&|progress: Progress| tell(label, progress.share)))
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

/// A bar for a release: by what share of the file it has come to if its size is known, else a count
/// of states. Where most has to wait until the walks are over, the bar first says how much has been read.
pub(crate) fn releasing<T>(
    size: Option<u64>,
    work: impl FnOnce(&(dyn Fn(ReleaseProgress) -> ControlFlow<()> + Sync)) -> T,
) -> T {
    const PARTS: u64 = 1000;
    let _stoppable = Stoppable::new();
    let started = Instant::now();
    let bar = ProgressBar::with_draw_target(size.map(|_| PARTS), ProgressDrawTarget::hidden());
    let template = match size {
        Some(_) => "{prefix} {bar:30} {percent:>3} %, {msg}",
        None => "{prefix} {spinner} {msg}",
    };
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let shown = AtomicBool::new(false);
    // When what is shown began, and how far the release was.
    let began = Mutex::new((Showing::Releasing, started, ReleaseProgress::default()));
    let result = work(&|progress| {
        let showing = Showing::of(progress);
        let mut began = began.lock().unwrap_or_else(PoisonError::into_inner);
        if began.0 != showing {
            *began = (showing, Instant::now(), progress);
        }
        if started.elapsed() > Duration::from_secs(1) && io::stderr().is_terminal() {
            if !shown.swap(true, Ordering::Relaxed) {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            let (_, since, before) = *began;
            bar.set_prefix(showing.label());
            bar.set_message(showing.in_words(progress, before, since.elapsed(), size));
            bar.set_position(match size {
                Some(size) => (showing.share(progress, size) * PARTS as f64) as u64,
                None => progress.states + progress.waiting,
            });
        }
        if stop_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    result
}

/// What the bar of a release shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Showing {
    /// Most of what has been read waits.
    Reading,
    Releasing,
}

impl Showing {
    fn of(progress: ReleaseProgress) -> Self {
        let waits = progress.waiting > progress.states;
        match (progress.stage, waits) {
            (ReleaseStage::Reading, true) => Self::Reading,
            _ => Self::Releasing,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Reading => "reading",
            Self::Releasing => "releasing",
        }
    }

    fn share(self, progress: ReleaseProgress, size: u64) -> f64 {
        match self {
            Self::Reading => ReleaseProgress { waiting: 0, ..progress }.share_of(size),
            Self::Releasing => progress.share_of(size),
        }
    }

    /// States, their rate and the time left, by what was done in this time since it was at `before`.
    fn in_words(
        self,
        progress: ReleaseProgress,
        before: ReleaseProgress,
        time: Duration,
        size: Option<u64>,
    ) -> String {
        let counted = |count: u64| args::counted(count as usize, "state");
        let ReleaseProgress { states, waiting, .. } = progress;
        let mut words = match self {
            Self::Reading => counted(states + waiting),
            Self::Releasing => {
                let mut words = counted(states);
                if waiting > 0 {
                    words += &format!(", {} waiting", args::thousands(waiting as usize));
                }
                let more = states.saturating_sub(before.states);
                words + &format!(", {} a second", args::rate(more, time.as_secs_f64()))
            }
        };
        if let Some(size) = size {
            let (from, to) = (self.share(before, size), self.share(progress, size));
            let left = time.as_secs_f64() * (1.0 - to).max(0.0) / (to - from);
            if let Ok(left) = Duration::try_from_secs_f64(left) {
                words += &format!(", {:#} left", HumanDuration(left));
            }
        }
        words
    }
}

/// The same for a whole analysis, which says what stage it is at.
pub(crate) fn with_stages<T>(work: impl FnOnce(Watch<'_>) -> T) -> T {
    with_labelled_progress(|tell| {
        work(&|progress: Progress| tell(&progress.stage.to_string(), progress.share))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_that_waits_for_walks_to_end_is_not_done_when_all_is_read() {
        use ReleaseStage::{Reading, Rest};
        let nothing = ReleaseProgress::default();
        let after = |before, bytes, states, waiting, stage| {
            let progress = ReleaseProgress { bytes, states, waiting, stage };
            let showing = Showing::of(progress);
            let percent = (showing.share(progress, 1000) * 100.0).round();
            let time = Duration::from_secs(20);
            let words = showing.in_words(progress, before, time, Some(1000));
            format!("{} {percent} %, {words}", showing.label())
        };
        // Of walks that are released as a whole, only the first states come out at once.
        let read = after(nothing, 250, 100, 4_900, Reading);
        assert_eq!(read, "reading 25 %, 5,000 states, 60s left");
        let read = after(nothing, 1000, 400, 19_600, Reading);
        assert_eq!(read, "reading 100 %, 20,000 states, 0s left");
        let all = ReleaseProgress { bytes: 1000, states: 400, waiting: 19_600, stage: Rest };
        let rest = after(all, 1000, 400, 19_600, Rest);
        assert_eq!(rest, "releasing 2 %, 400 states, 19,600 waiting, 0 a second");
        let rest = after(all, 1000, 5_300, 14_700, Rest);
        assert_eq!(rest, "releasing 27 %, 5,300 states, 14,700 waiting, 245 a second, 60s left");
        let rest = after(all, 1000, 20_000, 0, Rest);
        assert_eq!(rest, "releasing 100 %, 20,000 states, 980 a second, 0s left");
        // In short blocks little waits, and one state at a time nothing does.
        let blocks = after(nothing, 500, 4_000, 1_000, Reading);
        assert_eq!(blocks, "releasing 40 %, 4,000 states, 1,000 waiting, 200 a second, 30s left");
        let steps = after(nothing, 250, 5_000, 0, Reading);
        assert_eq!(steps, "releasing 25 %, 5,000 states, 250 a second, 60s left");
        let steps = after(nothing, 0, 0, 0, Reading);
        assert_eq!(steps, "releasing 0 %, 0 states, 0 a second");
        // Without a size nobody knows how long it takes.
        let progress = ReleaseProgress { states: 5_000, ..nothing };
        let words = Showing::Releasing.in_words(progress, nothing, Duration::from_secs(20), None);
        assert_eq!(words, "5,000 states, 250 a second");
    }
}
