//! Input whose bytes are counted, for those who want to know how far it has been read.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes have been read, from wherever they are counted.
pub(crate) type BytesRead = Arc<AtomicU64>;

/// Input whose bytes are counted.
pub(crate) struct Counted {
    pub(crate) input: Box<dyn Read + Send>,
    pub(crate) read: BytesRead,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The size of a file; none of a pipe.
pub(crate) fn size_of_file(file: &File) -> Option<u64> {
    let there = file.metadata().ok().filter(std::fs::Metadata::is_file);
    there.map(|there| there.len())
}
