//! Text as an editor shows it: numbered lines, checked to be UTF-8.
//!
//! Everything this crate reads goes through here, so that a line number in a message is the one an
//! editor shows, whatever the line endings and however many blank lines there are. A line is handed
//! on as soon as its newline has arrived: on a pipe, nothing waits for the line after it. What is
//! compressed is unpacked on the way.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::compression::{Compression, Unpacked};
use crate::read_error::{ReadError, ReadErrorKind};

/// What to do with blank lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blank {
    /// Pass over them: between records they mean nothing.
    Skip,
    /// Keep them: inside a quoted field they are part of it.
    Keep,
}

/// Numbered lines of text.
pub(crate) struct Lines<R: Read> {
    input: BufReader<Unpacked<R>>,
    name: String,
    /// The current line, which always ends in a newline.
    text: String,
    number: u64,
    /// Whether the current line is yet to be handed out.
    held: bool,
    /// The most bytes of a line.
    longest: usize,
    /// Once this is set, input that ends within a line was cut there.
    cut: Option<&'static AtomicBool>,
}

impl Lines<File> {
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => {
                let mut lines = Self::new(file, name);
                lines.expect_compression(Compression::from_path(path))?;
                Ok(lines)
            }
            Err(error) => Err(ReadError::new(name, None, ReadErrorKind::from_io(error))),
        }
    }
}

impl<R: Read> Lines<R> {
    const BUFFER: usize = 1 << 16;

    pub(crate) fn new(input: R, name: impl Into<String>) -> Self {
        Self {
            input: BufReader::with_capacity(Self::BUFFER, Unpacked::new(input)),
            name: name.into(),
            text: String::new(),
            number: 0,
            held: false,
            longest: usize::MAX,
            cut: None,
        }
    }

    /// Lines from the middle of a file, of which the first has this number.
    pub(crate) fn from_line(input: R, name: impl Into<String>, first: u64) -> Self {
        let input = BufReader::with_capacity(Self::BUFFER, Unpacked::plain(input));
        let (name, text, number) = (name.into(), String::new(), first - 1);
        Self { input, name, text, number, held: false, longest: usize::MAX, cut: None }
    }

    /// Refuses longer lines, which are passed over without being held in memory.
    pub(crate) fn limit(&mut self, longest: usize) {
        self.longest = longest;
    }

    /// The most bytes of a line.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Drops a last line without its newline if this is set by then: the input was cut there.
    pub(crate) fn drop_what_is_cut(&mut self, cut: &'static AtomicBool) {
        self.cut = Some(cut);
    }

    /// Refuses data that is not compressed as the file's name says.
    pub(crate) fn expect_compression(&mut self, expected: Compression) -> Result<(), ReadError> {
        match self.input.get_mut().compression() {
            Ok(Compression::None) if expected != Compression::None => {
                Err(self.error(ReadErrorKind::NotCompressed { expected }))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(self.error(ReadErrorKind::from_io(error))),
        }
    }

    /// Moves to the next line, and says whether there is one.
    pub(crate) fn advance(&mut self, blank: Blank) -> Result<bool, ReadError> {
        if std::mem::take(&mut self.held) {
            return Ok(true);
        }
        loop {
            if !self.read_line()? {
                return Ok(false);
            }
            if blank == Blank::Keep || !self.is_blank() {
                return Ok(true);
            }
        }
    }

    /// Moves to the first line that is not blank, and keeps it for the next call of `advance`.
    pub(crate) fn peek(&mut self) -> Result<Option<&str>, ReadError> {
        self.held = self.advance(Blank::Skip)?;
        Ok(self.held.then_some(self.text.as_str()))
    }

    /// The next line, if all of it has been read and it is not blank.
    pub(crate) fn waiting(&self) -> Option<&[u8]> {
        let read = if self.held { self.text.as_bytes() } else { self.input.buffer() };
        let line = &read[..=memchr::memchr(b'\n', read)?];
        (!is_blank(line)).then_some(line)
    }

    /// The current line, with its ending.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The number of the current line, from one.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What has not been handed out: the current line if it is yet to be, and the input behind it. Also
    /// the number of the first line of that.
    pub(crate) fn into_rest(self) -> (Vec<u8>, BufReader<Unpacked<R>>, u64) {
        match self.held {
            true => (self.text.into_bytes(), self.input, self.number),
            false => (Vec::new(), self.input, self.number + 1),
        }
    }

    /// An error about the file as a whole.
    pub(crate) fn error(&self, kind: ReadErrorKind) -> ReadError {
        ReadError::new(self.name.clone(), None, kind)
    }

    /// An error about one line.
    pub(crate) fn error_at(&self, line: u64, kind: ReadErrorKind) -> ReadError {
        ReadError::new(self.name.clone(), Some(line), kind)
    }

    fn read_line(&mut self) -> Result<bool, ReadError> {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.clear();
        // With its newline.
        let most = (self.longest as u64).saturating_add(1);
        match self.input.by_ref().take(most).read_until(b'\n', &mut bytes) {
            Ok(0) => return Ok(false),
            Ok(_) => self.number += 1,
            Err(error) => return Err(self.error(ReadErrorKind::from_io(error))),
        }
        if bytes.len() > self.longest && !bytes.ends_with(b"\n") {
            let passed = self.pass_over_line();
            passed.map_err(|error| self.error(ReadErrorKind::from_io(error)))?;
            let kind = ReadErrorKind::LongLine { longest: self.longest };
            return Err(self.error_at(self.number, kind));
        }
        let cut = self.cut.is_some_and(|cut| cut.load(Ordering::SeqCst));
        if cut && !bytes.ends_with(b"\n") {
            self.number -= 1;
            return Ok(false);
        }
        if self.number == 1 && bytes.starts_with("\u{feff}".as_bytes()) {
            bytes.drain(..3);
        }
        // The last line of a file may lack its newline; with it, all lines are alike.
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        self.text = String::from_utf8(bytes)
            .map_err(|_| self.error_at(self.number, ReadErrorKind::NotUtf8))?;
        Ok(true)
    }

    /// Reads to the end of the current line.
    fn pass_over_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let end = memchr::memchr(b'\n', buffer);
            let read = end.map_or(buffer.len(), |end| end + 1);
            self.input.consume(read);
            if end.is_some() || read == 0 {
                return Ok(());
            }
        }
    }

    fn is_blank(&self) -> bool {
        is_blank(self.text.as_bytes())
    }
}

/// Tabs do not count as blank: in a table they are empty fields.
fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\r' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(text: &[u8], blank: Blank) -> Vec<(u64, String)> {
        let mut lines = Lines::new(text, "t");
        let mut seen = Vec::new();
        while lines.advance(blank).unwrap() {
            seen.push((lines.number(), lines.text().to_owned()));
        }
        seen
    }

    #[test]
    fn lines_are_numbered_as_an_editor_does() {
        let text = "\u{feff}a\r\n\r\n  \nb".as_bytes();
        let skipped = numbered(text, Blank::Skip);
        assert_eq!(skipped, [(1, "a\r\n".to_owned()), (4, "b\n".to_owned())]);
        assert_eq!(numbered(text, Blank::Keep).len(), 4);
        assert!(numbered(b"", Blank::Keep).is_empty());
        assert!(numbered("\u{feff}".as_bytes(), Blank::Skip).is_empty());
    }

    #[test]
    fn a_peeked_line_comes_again() {
        let mut lines = Lines::new("\n\na\nb\n".as_bytes(), "t");
        assert_eq!(lines.peek().unwrap(), Some("a\n"));
        assert_eq!(lines.peek().unwrap(), Some("a\n"));
        assert!(lines.advance(Blank::Skip).unwrap());
        assert_eq!((lines.number(), lines.text()), (3, "a\n"));
        assert_eq!(lines.peek().unwrap(), Some("b\n"));
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let mut lines = Lines::new(&b"123\n1234\n12\n1234567"[..], "t");
        lines.limit(3);
        assert!(lines.advance(Blank::Skip).unwrap() && lines.text() == "123\n");
        assert_eq!(lines.advance(Blank::Skip).unwrap_err().line(), Some(2));
        assert!(lines.advance(Blank::Skip).unwrap());
        assert_eq!((lines.number(), lines.text()), (3, "12\n"));
        assert_eq!(lines.advance(Blank::Skip).unwrap_err().line(), Some(4));
        assert!(!lines.advance(Blank::Skip).unwrap());
    }

    #[test]
    fn a_line_that_was_cut_is_dropped() {
        static CUT: AtomicBool = AtomicBool::new(false);
        let mut lines = Lines::new(&b"a\nb"[..], "t");
        lines.drop_what_is_cut(&CUT);
        assert!(lines.advance(Blank::Skip).unwrap());
        CUT.store(true, Ordering::SeqCst);
        assert!(!lines.advance(Blank::Skip).unwrap());
    }

    #[test]
    fn the_line_that_is_not_utf8_is_named() {
        let mut lines = Lines::new(&b"a\n\xff\xfe\n"[..], "t");
        assert!(lines.advance(Blank::Skip).unwrap());
        let error = lines.advance(Blank::Skip).unwrap_err();
        assert_eq!(error.line(), Some(2));
    }
}
