//! Any number of events in order, in bounded memory.
//!
//! Events of a fixed size are gathered up to a limit, sorted on all cores, and written to one unnamed temporary
//! file, run after run. At the end the runs are read side by side, each through a part of the same memory, and the
//! smallest event of all comes first. Where everything fits, no file is made.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::vec;

use bytemuck::{Pod, Zeroable};
use rayon::slice::ParallelSliceMut;

/// An event by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Numbered {
    /// In microseconds.
    pub(crate) time: i64,
    /// Its place in the input: events at one time stay in that order.
    pub(crate) order: u64,
    pub(crate) person: u32,
    pub(crate) state: u32,
}

/// A position by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Positioned {
    /// In microseconds.
    pub(crate) time: i64,
    /// Its place in the input.
    pub(crate) order: u64,
    pub(crate) person: u32,
    pub(crate) latitude: i32,
    pub(crate) longitude: i32,
    pub(crate) unused: u32,
}

/// What can be sorted.
pub(crate) trait Sorted: Pod + PartialEq + Eq + Send + std::fmt::Debug {
    /// The person, the time and the place in the input.
    fn key(&self) -> (u32, i64, u64);
}

impl Sorted for Numbered {
    fn key(&self) -> (u32, i64, u64) {
        (self.person, self.time, self.order)
    }
}

impl Sorted for Positioned {
    fn key(&self) -> (u32, i64, u64) {
        (self.person, self.time, self.order)
    }
}

/// Takes events in any order.
#[derive(Debug)]
pub(crate) struct Sorter<E> {
    most: usize,
    waiting: Vec<E>,
    file: Option<File>,
    /// How many events each run in the file has.
    runs: Vec<usize>,
}

impl<E: Sorted> Sorter<E> {
    /// Sorts with this many bytes for events.
    pub(crate) fn new(bytes: usize) -> Self {
        let most = (bytes / size_of::<E>()).max(2);
        Self { most, waiting: Vec::new(), file: None, runs: Vec::new() }
    }

    pub(crate) fn push(&mut self, event: E) -> io::Result<()> {
        if self.waiting.len() == self.waiting.capacity() {
            if self.waiting.len() >= self.most {
                self.write_run()?;
            } else {
                // As vectors grow, but never beyond the limit.
                let more = self.waiting.len().max(1 << 12).min(self.most - self.waiting.len());
                self.waiting.reserve_exact(more);
            }
        }
        self.waiting.push(event);
        Ok(())
    }

    /// All events by person, then time.
    pub(crate) fn finish(mut self) -> io::Result<InOrder<E>> {
        if self.file.is_none() {
            sort(&mut self.waiting);
            return Ok(InOrder::Memory(self.waiting.into_iter()));
        }
        if !self.waiting.is_empty() {
            self.write_run()?;
        }
        let Some(file) = self.file else { return Ok(InOrder::Memory(Vec::new().into_iter())) };
        self.waiting = Vec::new();
        Merge::new(file, &self.runs, self.most).map(InOrder::Merged)
    }

    fn write_run(&mut self) -> io::Result<()> {
        sort(&mut self.waiting);
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.write_all(bytemuck::cast_slice(&self.waiting))?;
        self.runs.push(self.waiting.len());
        self.waiting.clear();
        Ok(())
    }
}

fn sort<E: Sorted>(events: &mut [E]) {
    events.par_sort_unstable_by_key(E::key);
}

/// Events in order.
#[derive(Debug)]
pub(crate) enum InOrder<E> {
    /// All of them, in memory.
    Memory(vec::IntoIter<E>),
    /// From runs in a file.
    Merged(Merge<E>),
}

impl<E> InOrder<E> {
    /// Whether events had to wait in a file.
    pub(crate) fn was_spilled(&self) -> bool {
        matches!(self, Self::Merged(_))
    }
}

impl<E: Sorted> Iterator for InOrder<E> {
    type Item = io::Result<E>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Memory(events) => events.next().map(Ok),
            Self::Merged(merge) => merge.next().transpose(),
        }
    }
}

/// Runs of a file, read side by side.
#[derive(Debug)]
pub(crate) struct Merge<E> {
    file: File,
    runs: Vec<Run<E>>,
    /// The next event of each run that has one.
    heads: BinaryHeap<Reverse<Head<E>>>,
}

/// The next event of a run: in this order, all events are.
#[derive(Debug, PartialEq, Eq)]
struct Head<E> {
    event: E,
    run: usize,
}

impl<E: Sorted> Ord for Head<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.event.key().cmp(&other.event.key())
    }
}

impl<E: Sorted> PartialOrd for Head<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A run, of which some events have been read.
#[derive(Debug)]
struct Run<E> {
    read: vec::IntoIter<E>,
    /// Where in the file the others are, in events.
    next: u64,
    left: usize,
    /// How many are read at a time.
    at_once: usize,
}

impl<E: Sorted> Merge<E> {
    /// Reads runs of these lengths, through memory for so many events.
    fn new(file: File, lengths: &[usize], most: usize) -> io::Result<Self> {
        let at_once = (most / lengths.len().max(1)).clamp(1, 1 << 16);
        let mut next = 0;
        let run = |&left: &usize| {
            let run = Run { read: Vec::new().into_iter(), next, left, at_once };
            next += left as u64;
            run
        };
        let runs: Vec<Run<E>> = lengths.iter().map(run).collect();
        let mut merge = Self { file, heads: BinaryHeap::with_capacity(runs.len()), runs };
        for run in 0..merge.runs.len() {
            if let Some(event) = merge.runs[run].next(&mut merge.file)? {
                merge.heads.push(Reverse(Head { event, run }));
            }
        }
        Ok(merge)
    }

    fn next(&mut self) -> io::Result<Option<E>> {
        let Some(mut first) = self.heads.peek_mut() else { return Ok(None) };
        let Reverse(Head { event, run }) = &mut *first;
        let smallest = *event;
        match self.runs[*run].next(&mut self.file)? {
            // The heap puts it in its place.
            Some(next) => *event = next,
            None => {
                std::collections::binary_heap::PeekMut::pop(first);
            }
        }
        Ok(Some(smallest))
    }
}

impl<E: Sorted> Run<E> {
    fn next(&mut self, file: &mut File) -> io::Result<Option<E>> {
        if self.read.len() == 0 && self.left > 0 {
            let count = self.left.min(self.at_once);
            let mut events = vec![E::zeroed(); count];
            file.seek(SeekFrom::Start(self.next * size_of::<E>() as u64))?;
            file.read_exact(bytemuck::cast_slice_mut(&mut events))?;
            (self.next, self.left) = (self.next + count as u64, self.left - count);
            self.read = events.into_iter();
        }
        Ok(self.read.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        /// However little fits in memory, the order is that of a stable sort of everything.
        #[test]
        fn runs_are_merged_in_order(
            events in vec((0..4_u32, -3..3_i64, any::<u32>()), 0..300),
            fits in 2..400_usize,
        ) {
            let events: Vec<Numbered> = events
                .into_iter()
                .zip(0..)
                .map(|((person, time, state), order)| Numbered { time, order, person, state })
                .collect();
            let mut sorter: Sorter<Numbered> = Sorter::new(fits * size_of::<Numbered>());
            for &event in &events {
                sorter.push(event).unwrap();
            }
            let sorted = sorter.finish().unwrap();
            prop_assert_eq!(sorted.was_spilled(), events.len() > fits);
            let sorted: Vec<Numbered> = sorted.map(Result::unwrap).collect();
            let mut expected = events;
            expected.sort_by_key(|event| (event.person, event.time));
            prop_assert_eq!(sorted, expected);
        }
    }
}
