//! The bytes of a model, and how to look at them as numbers.
//!
//! A small model is read into memory. A large one is mapped: its tables are used where they lie, and all
//! processes that use it share them. Mapping the file needs `unsafe`.

#![allow(unsafe_code, reason = "mapping a file; the one use says why it is sound")]

use std::fs::File;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, try_cast_slice};
use memmap2::{Mmap, MmapMut};

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

/// Numbers in a mapped file, which stays mapped as long as they are in use.
#[derive(Debug)]
pub(super) struct Mapped<T> {
    map: Arc<Map>,
    range: Range<usize>,
    numbers: PhantomData<T>,
}

impl<T: Pod> Mapped<T> {
    /// `None` if the bytes are no such numbers.
    pub(super) fn new(map: &Arc<Map>, range: Range<usize>) -> Option<Self> {
        try_cast_slice::<u8, T>(map.bytes().get(range.clone())?).ok()?;
        Some(Self { map: map.clone(), range, numbers: PhantomData })
    }
}

impl<T: Pod> AsRef<[T]> for Mapped<T> {
    #[inline]
    fn as_ref(&self) -> &[T] {
        // The map never moves, so what was right when it was made still is.
        try_cast_slice(&self.map.bytes()[self.range.clone()]).unwrap_or_default()
    }
}
