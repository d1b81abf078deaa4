//! Counts of what was done, for whoever watches the service.
//!
//! Requests, steps and walks are counted, and the time of whole batches. Nothing is counted by state. How long a
//! step takes depends on the real state, and a batch may be a single step. So times are told in classes no finer than ten
//! milliseconds, of which the wait for the disk is most, and their sum in whole seconds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The bounds of the times of batches that are counted apart, in seconds.
pub const BATCH_SECONDS: [f64; 5] = [0.01, 0.025, 0.1, 0.5, 2.5];

/// Counts since the service was started.
#[derive(Debug, Default)]
pub struct Figures {
    released: AtomicU64,
    replayed: AtomicU64,
    refused: AtomicU64,
    started: AtomicU64,
    ended: AtomicU64,
    open: AtomicU64,
    /// The last is for longer ones.
    batches: [AtomicU64; BATCH_SECONDS.len() + 1],
    batch_nanoseconds: AtomicU64,
}

/// A number to be added to.
fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Figures {
    /// Steps that were released for the first time.
    #[must_use]
    pub fn released(&self) -> u64 {
        get(&self.released)
    }

    /// Steps that were answered by what was stored.
    #[must_use]
    pub fn replayed(&self) -> u64 {
        get(&self.replayed)
    }

    /// Requests that were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        get(&self.refused)
    }

    /// Walks that were started.
    #[must_use]
    pub fn started(&self) -> u64 {
        get(&self.started)
    }

    /// Walks that were ended, by a message or because nothing came for long.
    #[must_use]
    pub fn ended(&self) -> u64 {
        get(&self.ended)
    }

    /// Walks that are open now.
    #[must_use]
    pub fn open(&self) -> u64 {
        get(&self.open)
    }

    /// How many batches took at most each of [`BATCH_SECONDS`], and last how many there were.
    #[must_use]
    pub fn batches_up_to(&self) -> [u64; BATCH_SECONDS.len() + 1] {
        let mut sum = 0;
        self.batches.each_ref().map(|count| {
            sum += get(count);
            sum
        })
    }

    /// The time of all batches together, in whole seconds.
    #[must_use]
    pub fn batch_seconds(&self) -> u64 {
        Duration::from_nanos(get(&self.batch_nanoseconds)).as_secs()
    }

    pub(crate) fn set_open(&self, open: u64) {
        self.open.store(open, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, tally: Tally) {
        add(&self.released, tally.released);
        add(&self.replayed, tally.replayed);
        add(&self.started, tally.started);
        add(&self.ended, tally.ended);
    }

    pub(crate) fn add_refused(&self, refused: u64) {
        add(&self.refused, refused);
    }

    pub(crate) fn add_batch(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let place = BATCH_SECONDS.iter().position(|&bound| seconds <= bound);
        add(&self.batches[place.unwrap_or(BATCH_SECONDS.len())], 1);
        add(&self.batch_nanoseconds, time.as_nanos().try_into().unwrap_or(u64::MAX));
    }
}

/// What a transaction does, counted once it is on the disk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) released: u64,
    pub(crate) replayed: u64,
    pub(crate) started: u64,
    pub(crate) ended: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_up_to_each_bound() {
        let figures = Figures::default();
        for milliseconds in [1, 3, 10, 9_000] {
            figures.add_batch(Duration::from_millis(milliseconds));
        }
        assert_eq!(figures.batches_up_to(), [3, 3, 3, 3, 3, 4]);
        assert_eq!(figures.batch_seconds(), 9);
    }
}
