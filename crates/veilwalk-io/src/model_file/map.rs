//! The bytes of a model, and how to look at them as numbers.
//!
//! A small model is read into memory. A large one is mapped: its tables are used where they lie, and all
//! processes that use it share them. Two things need `unsafe` for that: mapping the file, and looking at
//! bytes as numbers.

#![allow(
    unsafe_code,
    reason = "mapping a file and casting its bytes; each use says why it is sound"
)]

use std::fs::File;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use memmap2::{Mmap, MmapMut};
use veilwalk::{Nats, StateId};

#[cfg(unix)]
use super::cut_short::CutShort;

/// The bytes of a model.
#[derive(Debug)]
pub(super) struct Map {
    /// Before the map, so that it is dropped first.
    #[cfg(unix)]
    cut_short: Option<CutShort>,
    memory: Mmap,
}

impl Map {
    /// Maps a whole file, for reading only. `None` if it could not be noticed that it is cut short.
    #[cfg(unix)]
    pub(super) fn of_file(file: &File) -> io::Result<Option<Self>> {
        // SAFETY: the bytes must not change while they are mapped. We never write to a model: it is
        // written to another file, which then takes its name (`AtomicFile`), so a mapped one keeps its
        // bytes when it is replaced. If another program writes to the file in place, what is read is
        // some bytes, old or new. All of them are read as whole numbers and doubles, any bits of which
        // are a value, and places are checked against the lengths of lists in memory of our own; so
        // results are wrong, and `TableOrigin::check` refuses them before they are handed on.
        let memory = unsafe { Mmap::map(file) }?;
        let cut_short = CutShort::watch(&memory);
        Ok(cut_short.map(|watch| Self { cut_short: Some(watch), memory }))
    }

    /// Reads so many bytes of a file into memory.
    pub(super) fn read(mut file: &File, length: usize) -> io::Result<Self> {
        let mut memory = MmapMut::map_anon(length)?;
        file.read_exact(&mut memory)?;
        Self::of_memory(memory)
    }

    /// The same for bytes that are in memory already, which are copied to where numbers lie right.
    pub(super) fn copy_of(bytes: &[u8]) -> io::Result<Self> {
        let mut memory = MmapMut::map_anon(bytes.len())?;
        memory.copy_from_slice(bytes);
        Self::of_memory(memory)
    }

    fn of_memory(memory: MmapMut) -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            cut_short: None,
            memory: memory.make_read_only()?,
        })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory
    }

    /// Whether the file was too short for something that was read.
    #[cfg(unix)]
    pub(super) fn was_cut_short(&self) -> bool {
        self.cut_short.as_ref().is_some_and(CutShort::happened)
    }
}

/// Numbers that any bytes may stand for.
///
/// # Safety
///
/// Every pattern of bits has to be a value, without padding.
pub(super) unsafe trait Plain: Copy + Send + Sync + 'static {}

// SAFETY: all bits are a number.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for u16 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: as above; some are not a number, which is a value too.
unsafe impl Plain for f64 {}
// SAFETY: a transparent `u32`, every one of which is a distance.
unsafe impl Plain for Nats {}
// SAFETY: a transparent `u32`, every one of which is a place.
unsafe impl Plain for StateId {}

/// Numbers as the bytes they are in memory.
pub(super) fn bytes_of<T: Plain>(numbers: &[T]) -> &[u8] {
    // SAFETY: a value without padding is as many initialised bytes as it is large; bytes have no
    // alignment to keep.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// Bytes as numbers, if they are a whole number of them and lie right.
pub(super) fn numbers_of<T: Plain>(bytes: &[u8]) -> Option<&[T]> {
    // SAFETY: every pattern of bits is a value of `T`. The middle part is aligned and whole.
    let (before, numbers, after) = unsafe { bytes.align_to::<T>() };
    (before.is_empty() && after.is_empty()).then_some(numbers)
}

/// Numbers in a mapped file, which stays mapped as long as they are in use.
#[derive(Debug)]
pub(super) struct Mapped<T> {
    map: Arc<Map>,
    range: Range<usize>,
    numbers: PhantomData<T>,
}

impl<T: Plain> Mapped<T> {
    /// `None` if the bytes are no such numbers.
    pub(super) fn new(map: &Arc<Map>, range: Range<usize>) -> Option<Self> {
        numbers_of::<T>(map.bytes().get(range.clone())?)?;
        Some(Self { map: map.clone(), range, numbers: PhantomData })
    }
}

impl<T: Plain> AsRef<[T]> for Mapped<T> {
    #[inline]
    fn as_ref(&self) -> &[T] {
        // The map never moves, so what was right when it was made still is.
        numbers_of(&self.map.bytes()[self.range.clone()]).unwrap_or_default()
    }
}
