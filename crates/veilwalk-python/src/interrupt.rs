//! Long work: without the interpreter's lock, and with a way out.
//!
//! The work runs on a thread of its own, while the calling thread wakes up a few times a second to
//! see whether Ctrl-C was pressed. Work that looks at its [`Stop`] ends by itself; work that cannot
//! is left to run out in the background, and the caller goes on at once.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Set when the work should end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The same as the library's watchers answer it.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        if self.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How long work may take to stop before it is left alone.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs work without the interpreter's lock, on the pool of threads; Ctrl-C ends it.
pub(crate) fn run<T, E>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> Result<T, E> + Send + 'static,
) -> PyResult<T>
where
    T: Send + 'static,
    E: Into<PyErr> + Send + 'static,
{
    run_with_threads(py, None, work)
}

/// The same with a number of threads of the caller's choice.
pub(crate) fn run_with_threads<T, E>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce(&Stop) -> Result<T, E> + Send + 'static,
) -> PyResult<T>
where
    T: Send + 'static,
    E: Into<PyErr> + Send + 'static,
{
    let pool = match threads {
        None => pool()?,
        Some(threads) => Arc::new(new_pool(threads)?),
    };
    let stop = Stop::default();
    let (send, receive) = sync_channel(1);
    let theirs = stop.clone();
    std::thread::Builder::new()
        .name("veilwalk".to_owned())
        .spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| pool.install(|| work(&theirs))));
            // Nobody listens any more if the caller was interrupted.
            let _ = send.send(outcome);
        })
        .map_err(|error| PyRuntimeError::new_err(format!("no thread to work on: {error}")))?;
    let receive = Mutex::new(receive);
    let wait = |timeout| {
        py.detach(|| receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(timeout))
    };
    loop {
        match wait(LOOK) {
            Ok(Ok(Ok(value))) => return Ok(value),
            Ok(Ok(Err(error))) => return Err(error.into()),
            Ok(Err(panic)) => return Err(failed(&panic)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the thread ended without a result"));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupt) = py.check_signals() {
                    stop.0.store(true, Ordering::Relaxed);
                    let _ = wait(PATIENCE);
                    return Err(interrupt);
                }
            }
        }
    }
}

/// A panic, which is a mistake of ours: an exception all the same, never the end of the process.
fn failed(panic: &(dyn std::any::Any + Send)) -> PyErr {
    let what = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    PyRuntimeError::new_err(format!(
        "veilwalk failed where it should not ({what}); please report it"
    ))
}

/// The pool of threads of this process. A process that was forked has none of its parent's threads,
/// so it gets a pool of its own.
fn pool() -> PyResult<Arc<ThreadPool>> {
    static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let here = std::process::id();
    match &*pool {
        Some((process, known)) if *process == here => Ok(known.clone()),
        _ => {
            let fresh = Arc::new(new_pool(0)?);
            // Dropping the parent's pool would wait for threads that are not there.
            std::mem::forget(pool.replace((here, fresh.clone())));
            Ok(fresh)
        }
    }
}

/// A pool of this many threads; zero for one on each core.
fn new_pool(threads: usize) -> PyResult<ThreadPool> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("veilwalk {number}"))
        .build()
        .map_err(|error| PyRuntimeError::new_err(format!("no threads to work on: {error}")))
}
