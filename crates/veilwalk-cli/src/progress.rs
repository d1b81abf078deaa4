//! A progress bar for work that takes longer than a second, and a way out of it.
//!
//! The bar is on standard error and only in a terminal. Ctrl-C asks the work to stop where it can
//! do so cleanly; a second one ends the program at once.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use veilwalk::analysis::{Observer, Progress, Stage};

static STOP: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C was pressed, once [`listen`] has been called.
pub(crate) fn stop_requested() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// From here on the first Ctrl-C is a request and the second an order.
pub(crate) fn listen() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        // Where no handler can be set, Ctrl-C ends the program as it always does.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
    });
}

/// Runs long work under a bar with this label.
pub(crate) fn with_progress<T>(
    label: &str,
    work: impl FnOnce(&(dyn Fn(f64) -> ControlFlow<()> + Sync)) -> T,
) -> T {
    const PARTS: u64 = 1000;
    listen();
    let started = Instant::now();
    let bar = ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template("{msg} {bar:30} {percent:>3} %, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(label.to_owned());
    let shown = AtomicBool::new(false);
    let result = work(&|done| {
        let late = started.elapsed() > Duration::from_secs(1);
        if late && std::io::stderr().is_terminal() && !shown.swap(true, Ordering::Relaxed) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position((done * PARTS as f64) as u64);
        if stop_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    result
}

/// The same for analysis, which also says what it is working on.
pub(crate) fn observed<T>(label: &str, work: impl FnOnce(Observer<'_>) -> T) -> T {
    with_progress(label, |watch| {
        work(&|progress: Progress| watch(progress.done as f64 / progress.total.max(1) as f64))
    })
}

/// The same for figures over steps with a number of levels: first one pass for all, then one for
/// each level.
pub(crate) fn observed_passes<T>(
    label: &str,
    levels: usize,
    work: impl FnOnce(Observer<'_>) -> T,
) -> T {
    let first = 1.0 / (1 + levels) as f64;
    with_progress(label, |watch| {
        work(&|progress: Progress| {
            let done = progress.done as f64 / progress.total.max(1) as f64;
            watch(match progress.stage {
                Stage::Ever => first + (1.0 - first) * done,
                _ => first * done,
            })
        })
    })
}
