//! The one place where memory is taken at a file's word.
//!
//! A model is mapped, not read: its tables are used where they lie, and all processes that use it
//! share them. Two things need `unsafe` for that, and both are here: mapping the file, and looking at
//! its bytes as numbers.

#![allow(
    unsafe_code,
    reason = "mapping a file and casting its bytes; each use says why it is sound"
)]

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use memmap2::{Mmap, MmapMut};
use veilwalk::{Nats, StateId};

/// A file in memory.
#[derive(Debug)]
pub(super) struct Map(Mmap);

impl Map {
    /// Maps a whole file, for reading only.
    pub(super) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the bytes must not change while they are mapped. We never write to a model: it is
        // written to another file, which then takes its name (`AtomicFile`), so a mapped one keeps
        // its bytes when it is replaced. A program that overwrites or shortens the file in place
        // breaks this, as it would break any program that maps its data; nothing can prevent that,
        // and the documentation of `read_model` says so.
        unsafe { Mmap::map(file) }.map(Self)
    }

    /// The same for bytes that are in memory already, which are copied to where numbers lie right.
    pub(super) fn copy_of(bytes: &[u8]) -> io::Result<Self> {
        let mut copy = MmapMut::map_anon(bytes.len())?;
        copy.copy_from_slice(bytes);
        copy.make_read_only().map(Self)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
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
