//! Cuts text into blocks of whole records.
//!
//! A block ends where a record ends: at a newline, and in CSV at one that is not inside a quoted
//! field. So blocks can be parsed on any thread, each for itself. Where a block has no quote in it,
//! its last newline is found from the end; else a small machine that agrees with the parser on what a
//! quote means walks through it.

use std::io::{self, Read};
use std::ops::Range;

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
    /// Cuts blocks of about this many bytes.
    pub(super) fn new(input: R, size: usize) -> Self {
        let records = Records::Lines;
        Self { input, held: Vec::new(), size, next_line: 1, records, at_end: false }
    }

    pub(super) fn limit_size(&mut self, size: usize) {
        self.size = self.size.min(size);
    }

    pub(super) fn set_records(&mut self, records: Records) {
        self.records = records;
    }

    /// The first line that is not blank, without a byte order mark, if there is one. It stays where it
    /// is; no more is read than what holds it.
    pub(super) fn peek_line(&mut self) -> io::Result<Option<&[u8]>> {
        Ok(self.first_line()?.map(|line| &self.held[line]))
    }

    fn first_line(&mut self) -> io::Result<Option<Range<usize>>> {
        loop {
            let start = if self.held.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
            let blank = |byte: &u8| matches!(byte, b' ' | b'\r' | b'\n');
            let first = self.held[start..].iter().position(|byte| !blank(byte));
            let from = first.map_or(self.held.len(), |first| start + first);
            let end = memchr::memchr(b'\n', &self.held[from..]).map(|end| from + end);
            if end.is_some() || self.at_end {
                // Spaces before the first word are part of its line.
                let newline = memchr::memrchr(b'\n', &self.held[start..from]);
                let from = newline.map_or(start, |newline| start + newline + 1);
                return Ok(first.map(|_| from..end.unwrap_or(self.held.len())));
            }
            self.read_some(usize::MAX)?;
        }
    }

    /// Takes the first record that is not blank, with all that stands before it.
    pub(super) fn take_header(&mut self) -> io::Result<Vec<u8>> {
        let (Records::Quoted { delimiter }, Some(line)) = (self.records, self.first_line()?) else {
            return Ok(self.split(self.held.len()).bytes);
        };
        let start = line.start;
        let (mut within, mut place) = (Within::FieldStart, start);
        loop {
            while let Some(&byte) = self.held.get(place) {
                let ends = byte == b'\n' && within != Within::Quotes;
                within = within.next(byte, delimiter);
                place += 1;
                if ends {
                    return Ok(self.split(place).bytes);
                }
            }
            if self.at_end {
                return Ok(self.split(self.held.len()).bytes);
            }
            self.read_some(usize::MAX)?;
        }
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
        let mut cutter = Cutter::new(text.as_bytes(), size);
        cutter.set_records(Records::Quoted { delimiter: b',' });
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
    fn the_header_is_taken_alone() {
        let text = "\u{feff}\n  \na,\"b\nc\"\r\nd,e\nf,g\n";
        let mut cutter = Cutter::new(text.as_bytes(), 4);
        assert_eq!(cutter.peek_line().unwrap(), Some(&b"a,\"b"[..]));
        cutter.set_records(Records::Quoted { delimiter: b',' });
        let header = cutter.take_header().unwrap();
        assert_eq!(header, "\u{feff}\n  \na,\"b\nc\"\r\n".as_bytes());
        let block = cutter.next_block().unwrap().unwrap();
        assert_eq!((block.first_line, &block.bytes[..]), (5, &b"d,e\n"[..]));
    }

    #[test]
    fn nothing_is_no_block() {
        let mut cutter = Cutter::new(&b""[..], 8);
        assert_eq!(cutter.peek_line().unwrap(), None);
        assert!(cutter.take_header().unwrap().is_empty());
        assert!(cutter.next_block().unwrap().is_none());
        let mut cutter = Cutter::new(&b" \n\n"[..], 8);
        assert_eq!(cutter.peek_line().unwrap(), None);
    }
}
