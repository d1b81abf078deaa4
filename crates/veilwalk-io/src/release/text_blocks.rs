//! Cuts text into blocks of whole records.
//!
//! A block ends where a record ends: at a newline, and in CSV at one that is not inside a quoted
//! field. So blocks can be parsed on any thread, each for itself. Where a block has no quote in it,
//! its last newline is found from the end; else a small machine that agrees with the parser on what a
//! quote means walks through it.

use std::io::{self, Read};

/// A record that is longer than this is refused: it would not fit into memory.
const LONGEST_RECORD: usize = 1 << 30;

/// What ends a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Records {
    /// Every newline.
    Lines,
    /// A newline outside quotes, in a table with this delimiter.
    Quoted { delimiter: u8 },
}

/// Text made of whole records.
#[derive(Debug)]
pub(super) struct TextBlock {
    /// Ends in a newline unless the input does not.
    pub(super) bytes: Vec<u8>,
    /// The number of its first line in the file, from one.
    pub(super) first_line: u64,
}

/// Text that is cut into blocks.
#[derive(Debug)]
pub(super) struct Cutter<R> {
    input: R,
    /// Read, and not yet given out.
    held: Vec<u8>,
    size: usize,
    next_line: u64,
    records: Records,
    at_end: bool,
}

/// Where the machine stands within a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    FieldStart,
    Plain,
    Quotes,
    /// After a quote inside quotes: it closes them, or is one half of two.
    Closing,
}

impl Within {
    fn next(self, byte: u8, delimiter: u8) -> Self {
        match (self, byte) {
            (Self::Quotes, b'"') => Self::Closing,
            (Self::Quotes, _) => Self::Quotes,
            (Self::FieldStart | Self::Closing, b'"') => Self::Quotes,
            _ if byte == delimiter || byte == b'\n' => Self::FieldStart,
            _ => Self::Plain,
        }
    }
}

impl<R: Read> Cutter<R> {
    /// Cuts blocks of about this many bytes. `held` stands before the input, and starts with the line of
    /// this number.
    pub(super) fn new(
        input: R,
        held: Vec<u8>,
        first_line: u64,
        size: usize,
        records: Records,
    ) -> Self {
        Self { input, held, size, next_line: first_line, records, at_end: false }
    }

    pub(super) fn limit_size(&mut self, size: usize) {
        self.size = self.size.min(size);
    }

    /// The next block, or nothing at the end.
    pub(super) fn next_block(&mut self) -> io::Result<Option<TextBlock>> {
        let mut wanted = self.size;
        let mut search = Search::default();
        loop {
            while self.held.len() < wanted && !self.at_end {
                self.read_some(wanted)?;
            }
            if self.at_end && self.held.len() <= wanted {
                return Ok((!self.held.is_empty()).then(|| self.split(self.held.len())));
            }
            if let Some(end) = search.last_end(&self.held, self.records) {
                return Ok(Some(self.split(end)));
            }
            if wanted > LONGEST_RECORD {
                return Err(io::Error::other("a record is longer than a gibibyte"));
            }
            wanted *= 2;
        }
    }

    /// Reads once, for at most `wanted` bytes held.
    fn read_some(&mut self, wanted: usize) -> io::Result<()> {
        let before = self.held.len();
        let room = self.size.min(wanted - before);
        self.held.resize(before + room, 0);
        let result = self.input.read(&mut self.held[before..]);
        self.held.truncate(before + *result.as_ref().unwrap_or(&0));
        match result {
            Ok(0) => self.at_end = true,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn split(&mut self, end: usize) -> TextBlock {
        let mut rest = Vec::with_capacity(self.size + self.held.len() - end);
        rest.extend_from_slice(&self.held[end..]);
        let mut bytes = std::mem::replace(&mut self.held, rest);
        bytes.truncate(end);
        let first_line = self.next_line;
        self.next_line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
        TextBlock { bytes, first_line }
    }
}

/// A search for the last end of a record, which goes on where it stopped.
struct Search {
    scanned: usize,
    within: Within,
    last_end: Option<usize>,
}

impl Default for Search {
    fn default() -> Self {
        Self { scanned: 0, within: Within::FieldStart, last_end: None }
    }
}

impl Search {
    fn last_end(&mut self, text: &[u8], records: Records) -> Option<usize> {
        let new = &text[self.scanned..];
        let delimiter = match records {
            Records::Quoted { delimiter }
                if self.within != Within::FieldStart
                    || memchr::memchr(b'"', &text[self.scanned..]).is_some() =>
            {
                delimiter
            }
            _ => {
                let end = memchr::memrchr(b'\n', new).map(|end| self.scanned + end + 1);
                return end.or(self.last_end);
            }
        };
        for (place, &byte) in new.iter().enumerate() {
            if byte == b'\n' && self.within != Within::Quotes {
                self.last_end = Some(self.scanned + place + 1);
            }
            self.within = self.within.next(byte, delimiter);
        }
        self.scanned = text.len();
        self.last_end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str, size: usize) -> Vec<(u64, String)> {
        let records = Records::Quoted { delimiter: b',' };
        let mut cutter = Cutter::new(text.as_bytes(), Vec::new(), 1, size, records);
        let mut seen = Vec::new();
        while let Some(block) = cutter.next_block().unwrap() {
            seen.push((block.first_line, String::from_utf8(block.bytes).unwrap()));
        }
        seen
    }

    #[test]
    fn blocks_end_between_records() {
        let text = "a,\"b\nb\"\nc,d\"d\ne,\"f\"\"\n\"\n\ng,h";
        for size in 1..text.len() + 2 {
            let cut = blocks(text, size);
            let whole: String = cut.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(whole, text, "size {size}");
            for (line, part) in &cut {
                assert!([1, 3, 4, 6, 7].contains(line), "size {size}: line {line} in {cut:?}");
                assert!(part.ends_with('\n') || part.ends_with("g,h"), "{cut:?}");
            }
        }
        assert_eq!(blocks(text, 1).len(), 3);
    }

    #[test]
    fn what_was_read_before_comes_first() {
        let records = Records::Quoted { delimiter: b',' };
        let mut cutter = Cutter::new(&b"c,d\n"[..], b"a,b\n".to_vec(), 5, 4, records);
        let block = cutter.next_block().unwrap().unwrap();
        assert_eq!((block.first_line, &block.bytes[..]), (5, &b"a,b\n"[..]));
        let block = cutter.next_block().unwrap().unwrap();
        assert_eq!((block.first_line, &block.bytes[..]), (6, &b"c,d\n"[..]));
        assert!(cutter.next_block().unwrap().is_none());
    }
}
