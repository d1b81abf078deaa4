//! Tables of text with a header line: comma or tab between fields, quotes as in CSV.
//!
//! The fields are told apart by `csv-core`, which is fed line by line. That keeps line numbers exact
//! for every line ending, finds a quote that is never closed, and never waits on a pipe for more
//! than the current line. The tab is the delimiter if the first line has one, else the comma.

use std::io::Read;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use crate::lines::{Blank, Lines};
use crate::read_error::{ReadError, ReadErrorKind};

/// The fields of one line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) line: u64,
    /// The fields, one after another.
    pub(crate) text: &'a str,
    /// Where each field ends in the text.
    pub(crate) ends: &'a [usize],
}

impl<'a> Record<'a> {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The field at this place, which must be below `len`.
    pub(crate) fn get(&self, index: usize) -> &'a str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = &'a str> {
        (0..self.len()).map(move |i| self.get(i))
    }
}

/// A table, read record by record.
pub(crate) struct Table<R> {
    lines: Lines<R>,
    parser: Reader,
    fields: Fields,
    header: Vec<String>,
    header_line: u64,
}

impl<R: Read> Table<R> {
    /// Reads the header. A file without one is refused, saying which header was expected.
    pub(crate) fn new(mut lines: Lines<R>, expected: &'static str) -> Result<Self, ReadError> {
        let delimiter = match lines.peek()? {
            None => return Err(lines.error(ReadErrorKind::Empty { expected })),
            Some(first) if first.contains('\t') => b'\t',
            Some(_) => b',',
        };
        let parser =
            ReaderBuilder::new().delimiter(delimiter).terminator(Terminator::Any(b'\n')).build();
        let mut table =
            Self { lines, parser, fields: Fields::default(), header: Vec::new(), header_line: 0 };
        if let Some(line) = table.read_record()? {
            let header = table.fields.record(line);
            table.header = header.iter().map(str::to_owned).collect();
            table.header_line = line;
        }
        Ok(table)
    }

    /// The cells of the header, as they are in the file.
    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    pub(crate) fn header_line(&self) -> u64 {
        self.header_line
    }

    pub(crate) fn lines(&self) -> &Lines<R> {
        &self.lines
    }

    /// The next record, which has as many fields as the header.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        let Some(line) = self.read_record()? else {
            return Ok(None);
        };
        let (expected, found) = (self.header.len(), self.fields.count);
        if found != expected {
            let kind = ReadErrorKind::FieldCount { expected, found };
            return Err(self.lines.error_at(line, kind));
        }
        Ok(Some(self.fields.record(line)))
    }

    /// Reads a record into the fields, and gives the line it starts on.
    fn read_record(&mut self) -> Result<Option<u64>, ReadError> {
        if !self.lines.advance(Blank::Skip)? {
            return Ok(None);
        }
        let line = self.lines.number();
        self.fields.clear();
        while !self.fields.take_line(&mut self.parser, self.lines.text()) {
            // A quoted field goes on; what is blank inside it belongs to it.
            if !self.lines.advance(Blank::Keep)? {
                return Err(self.lines.error_at(line, ReadErrorKind::UnclosedQuote));
            }
        }
        Ok(Some(line))
    }
}

/// The fields of the current record, in buffers that are used again for the next.
#[derive(Default)]
struct Fields {
    text: Vec<u8>,
    used: usize,
    ends: Vec<usize>,
    count: usize,
}

impl Fields {
    fn clear(&mut self) {
        (self.used, self.count) = (0, 0);
    }

    /// Adds a line to the record, and says whether the record is complete.
    fn take_line(&mut self, parser: &mut Reader, line: &str) -> bool {
        let mut input = line.as_bytes();
        loop {
            let (result, read, written, ended) = parser.read_record(
                input,
                &mut self.text[self.used..],
                &mut self.ends[self.count..],
            );
            input = &input[read..];
            self.used += written;
            self.count += ended;
            match result {
                ReadRecordResult::OutputFull => {
                    self.text.resize(2 * self.text.len() + line.len(), 0);
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len() + 8, 0),
                ReadRecordResult::InputEmpty => return false,
                ReadRecordResult::Record | ReadRecordResult::End => break,
            }
        }
        if line.ends_with("\r\n") {
            // The line's ending was taken for a part of its last field.
            if let Some(end) = self.ends[..self.count].last_mut() {
                *end -= 1;
            }
        }
        true
    }

    fn record(&self, line: u64) -> Record<'_> {
        let text = std::str::from_utf8(&self.text[..self.used]);
        Record {
            line,
            text: text.expect("fields of UTF-8 text, cut at ASCII characters, are UTF-8"),
            ends: &self.ends[..self.count],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<(u64, Vec<String>)>, ReadError> {
        let mut table = Table::new(Lines::new(text.as_bytes(), "t.csv"), "a,b")?;
        let mut seen = vec![(table.header_line(), table.header().to_vec())];
        while let Some(record) = table.next_record()? {
            seen.push((record.line, record.iter().map(str::to_owned).collect()));
        }
        Ok(seen)
    }

    fn rows(list: &[(u64, [&str; 2])]) -> Vec<(u64, Vec<String>)> {
        list.iter().map(|(line, cells)| (*line, cells.map(str::to_owned).to_vec())).collect()
    }

    #[test]
    fn quotes_endings_and_blank_lines() {
        let expected = rows(&[
            (2, ["a", "b"]),
            (3, ["x,\"y\"", "é"]),
            (6, ["1", ""]),
            (7, ["", "p\n\nq"]),
            (10, ["r", "s"]),
        ]);
        let text = "\na,b\n\"x,\"\"y\"\"\",é\n\n  \n1,\n,\"p\n\nq\"\nr,s";
        assert_eq!(all(text).unwrap(), expected);
        let crlf = all(&text.replace('\n', "\r\n")).unwrap();
        assert_eq!(crlf[3].1[1], "p\r\n\r\nq");
        let lines = |rows: &[(u64, Vec<String>)]| rows.iter().map(|r| r.0).collect::<Vec<_>>();
        assert_eq!(lines(&crlf), lines(&expected));
        assert_eq!(crlf[4], expected[4]);
        assert_eq!(crlf[2], expected[2]);
    }

    #[test]
    fn a_tab_in_the_first_line_is_the_delimiter() {
        let expected = rows(&[(1, ["a", "b"]), (2, ["x,y", "z"])]);
        assert_eq!(all("a\tb\r\nx,y\tz\r\n").unwrap(), expected);
    }

    #[test]
    fn an_open_quote_is_found_where_it_opens() {
        let error = all("a,b\nc,d\ne,\"f\n\ng,h\n").unwrap_err();
        assert_eq!(error.line(), Some(3));
        assert!(error.to_string().contains("never closed"), "{error}");
    }

    #[test]
    fn fields_are_counted() {
        let error = all("a,b\nc,d\n\ne,f,g\n").unwrap_err();
        assert_eq!(error.line(), Some(4));
        assert!(error.to_string().contains("3 fields"), "{error}");
    }
}
