//! A mapped file that is cut short while it is in use.
//!
//! Whoever reads a page of a map that the file no longer has is sent the signal SIGBUS, which ends the
//! program without a word. (`cp NEW MODEL` does this: it empties the file before it writes.) Here the
//! signal is caught: the whole map is replaced by zeros, and it is remembered that it was. The program
//! goes on with numbers that are wrong, up to the next check of the model
//! ([`TableOrigin`](veilwalk::internal::model::TableOrigin)), which comes before anything is handed on.
//!
//! A signal that is about anything else goes to whoever was there before.

#![allow(unsafe_code, reason = "a signal handler; each use says why it is sound")]

use std::ffi::{c_int, c_void};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Memory that is watched, in a form that a signal handler may read.
struct Place {
    /// Zero for a place that is free.
    start: AtomicUsize,
    length: AtomicUsize,
    lost: AtomicBool,
}

/// More maps than this are not watched at a time; models beyond are copied.
const MOST: usize = 64;

static PLACES: [Place; MOST] = [const {
    Place { start: AtomicUsize::new(0), length: AtomicUsize::new(0), lost: AtomicBool::new(false) }
}; MOST];

/// What was done about the signal before.
static BEFORE: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// Memory is watched as long as this is there.
#[derive(Debug)]
pub(super) struct CutShort(usize);

impl CutShort {
    /// Watches a map, which has to stay where it is for as long. `None` if it cannot be watched.
    pub(super) fn watch(map: &[u8]) -> Option<Self> {
        BEFORE.get_or_init(|| install().ok()).as_ref()?;
        // One is no address of a map, and nothing has a length of zero.
        let take = |place: &Place| {
            place.start.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let number = PLACES.iter().position(take)?;
        let place = &PLACES[number];
        place.lost.store(false, Ordering::Release);
        place.start.store(map.as_ptr() as usize, Ordering::Release);
        place.length.store(map.len(), Ordering::Release);
        Some(Self(number))
    }

    /// Whether the file was too short when some part of the map was read.
    pub(super) fn happened(&self) -> bool {
        PLACES[self.0].lost.load(Ordering::Acquire)
    }
}

impl Drop for CutShort {
    fn drop(&mut self) {
        PLACES[self.0].length.store(0, Ordering::Release);
        PLACES[self.0].start.store(0, Ordering::Release);
    }
}

fn install() -> io::Result<libc::sigaction> {
    // SAFETY: all zeros are a `sigaction`; both structures outlive the call; the handler does only what
    // handlers may: it reads atomics and makes system calls.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_signal;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        match libc::sigaction(libc::SIGBUS, &action, &mut before) {
            0 => Ok(before),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system gives a handler with `SA_SIGINFO` a valid `info`.
    let address = unsafe { (*info).si_addr() } as usize;
    for place in &PLACES {
        let (start, length) =
            (place.start.load(Ordering::Acquire), place.length.load(Ordering::Acquire));
        if address.wrapping_sub(start) < length && replace_by_zeros(start, length) {
            place.lost.store(true, Ordering::Release);
            return;
        }
    }
    pass_on(signal, info, context);
}

fn replace_by_zeros(start: usize, length: usize) -> bool {
    // SAFETY: the range is exactly one map of ours, which lives as long as its place is taken; nobody
    // writes to it, and those who read it read zeros from now on.
    let mapped = unsafe {
        libc::mmap(
            start as *mut c_void,
            length,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    mapped != libc::MAP_FAILED
}

/// Does what was done before this handler was there.
fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let before = BEFORE.get().and_then(Option::as_ref);
    match before.map(|before| (before.sa_sigaction, before.sa_flags)) {
        Some((handler, flags)) if handler != libc::SIG_DFL && handler != libc::SIG_IGN => {
            // SAFETY: the system held this address as the handler of this signal, of the kind that
            // its flags say.
            unsafe {
                if flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        std::mem::transmute(handler);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
        }
        // What raised the signal is done again, and now ends the program.
        // SAFETY: setting a signal to its default is allowed in a handler.
        _ => unsafe {
            libc::signal(signal, libc::SIG_DFL);
        },
    }
}
