//! Which process this is, at the cost of one read.
//!
//! A fork copies a running generator, and both copies then give the same words. So a generator that is
//! keyed once from the operating system has to notice that it woke up in another process. Asking for
//! the process's number would be a system call at every step. Linux has something
//! better: a page that it fills with zeros in the child of a fork (`MADV_WIPEONFORK`). A number is kept
//! there, and a generator remembers the one it was opened under. Where there is no such page, the
//! process's number is asked for.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

/// The process was forked after the source was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the process was forked after its randomness was opened, so parent and child would release with \
     the same randomness; open the source again in the child, or use a key"
)]
pub struct Forked;

/// The process in which something was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    page: Option<&'static AtomicU64>,
    number: u64,
}

impl Process {
    pub(super) fn current() -> Self {
        static PAGE: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
        let page = *PAGE.get_or_init(page_wiped_on_fork);
        let number = page.map_or_else(process_id, numbered);
        Self { page, number }
    }

    /// Whether this is still the process in which it was made.
    #[inline]
    pub(super) fn check(&self) -> Result<(), Forked> {
        let now = self.page.map_or_else(process_id, |page| page.load(Ordering::Relaxed));
        if now == self.number { Ok(()) } else { Err(Forked) }
    }
}

fn process_id() -> u64 {
    u64::from(std::process::id())
}

/// The number on the page. A page that was wiped gets the next one: a child inherits how many were
/// given out, so its number is larger than those of all its ancestors.
fn numbered(page: &AtomicU64) -> u64 {
    static GIVEN_OUT: AtomicU64 = AtomicU64::new(0);
    let new = GIVEN_OUT.fetch_add(1, Ordering::Relaxed) + 1;
    match page.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => new,
        Err(there) => there,
    }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "the two calls that ask the system for such a page")]
fn page_wiped_on_fork() -> Option<&'static AtomicU64> {
    const SIZE: usize = 4096;
    // SAFETY: a new mapping of its own, at an address of the system's choice; nothing else is touched.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the page is ours, and the advice only says what a child will find in it.
    if unsafe { libc::madvise(page, SIZE, libc::MADV_WIPEONFORK) } != 0 {
        // SAFETY: the page is ours, and nobody knows of it.
        unsafe { libc::munmap(page, SIZE) };
        return None;
    }
    // SAFETY: the page is aligned, zero, readable and writable, stays mapped for good, and is only
    // ever used as this atomic number.
    Some(unsafe { &*page.cast::<AtomicU64>() })
}

#[cfg(not(target_os = "linux"))]
fn page_wiped_on_fork() -> Option<&'static AtomicU64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_has_one_number_and_a_wiped_page_a_new_one() {
        let (one, two) = (Process::current(), Process::current());
        assert_eq!(one.number, two.number);
        assert_eq!(one.check(), Ok(()));
        // A child of a fork sees zero, until it opens a source of its own.
        let page: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        let parent = Process { page: Some(page), number: numbered(page) };
        assert_eq!(parent.check(), Ok(()));
        page.store(0, Ordering::Relaxed);
        assert_eq!(parent.check(), Err(Forked));
        let child = Process { page: Some(page), number: numbered(page) };
        assert_eq!((parent.check(), child.check()), (Err(Forked), Ok(())));
    }

    #[test]
    fn without_a_page_the_number_of_the_process_decides() {
        assert_eq!(Process { page: None, number: process_id() }.check(), Ok(()));
        assert_eq!(Process { page: None, number: process_id() + 1 }.check(), Err(Forked));
    }
}
