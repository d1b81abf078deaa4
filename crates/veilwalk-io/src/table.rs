//! Tables of text with a header line: comma or tab between fields, quotes as in CSV.
//!
//! A line without quotes is cut at its delimiters where it stands. One with quotes goes through
//! `csv-core`, which is fed line by line. That keeps line numbers exact for every line ending, finds
//! a quote that is never closed, and never waits on a pipe for more than the current line. The tab
//! is the delimiter if the first line has one, else the comma. Releases of whole files have a faster path for
//! plain rows, in `release::parse`.

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
    /// How many bytes there are between the end of a field and the start of the next.
    pub(crate) gap: usize,
}

impl<'a> Record<'a> {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The field at this place, which must be below `len`.
    pub(crate) fn get(&self, index: usize) -> &'a str {
        let before = index.checked_sub(1);
        let start = before.map_or(0, |before| self.ends[before] + self.gap);
        &self.text[start..self.ends[index]]
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = &'a str> {
        (0..self.len()).map(move |i| self.get(i))
    }
}

/// A table, read record by record.
pub(crate) struct Table<R: Read> {
    lines: Lines<R>,
    delimiter: u8,
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
        let fields = Fields::new(delimiter);
        let mut table = Self { lines, delimiter, fields, header: Vec::new(), header_line: 0 };
        if let Some(line) = table.read_record()? {
            let header = table.fields.record(line, table.lines.text());
            table.header = header.iter().map(str::to_owned).collect();
            table.header_line = line;
        }
        Ok(table)
    }

    /// Lines from the middle of a table whose header is known.
    pub(crate) fn within(
        lines: Lines<R>,
        delimiter: u8,
        header: Vec<String>,
        header_line: u64,
    ) -> Self {
        Self { lines, delimiter, fields: Fields::new(delimiter), header, header_line }
    }

    /// The cells of the header, as they are in the file.
    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    pub(crate) fn header_line(&self) -> u64 {
        self.header_line
    }

    pub(crate) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    pub(crate) fn lines(&self) -> &Lines<R> {
        &self.lines
    }

    pub(crate) fn into_lines(self) -> Lines<R> {
        self.lines
    }

    /// The next record, which has as many fields as the header.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        let Some(line) = self.read_record()? else {
            return Ok(None);
        };
        let (expected, found) = (self.header.len(), self.fields.len());
        if found != expected {
            let kind = ReadErrorKind::FieldCount { expected, found };
            return Err(self.lines.error_at(line, kind));
        }
        Ok(Some(self.fields.record(line, self.lines.text())))
    }

    /// Reads a record into the fields, and gives the line it starts on.
    fn read_record(&mut self) -> Result<Option<u64>, ReadError> {
        if !self.lines.advance(Blank::Skip)? {
            return Ok(None);
        }
        let line = self.lines.number();
        if self.fields.cut(self.lines.text(), self.delimiter) {
            return Ok(Some(line));
        }
        self.fields.clear();
        let mut length = self.lines.text().len();
        while !self.fields.take_line(self.lines.text()) {
            // A quoted field goes on; what is blank inside it belongs to it.
            let more = self.lines.advance(Blank::Keep);
            if let Ok(true) = more {
                length += self.lines.text().len();
            }
            let longest = self.lines.longest();
            let problem = match more {
                Ok(true) if length <= longest => continue,
                Ok(true) => self.lines.error_at(line, ReadErrorKind::LongLine { longest }),
                Ok(false) => self.lines.error_at(line, ReadErrorKind::UnclosedQuote),
                Err(error) => error,
            };
            // Whoever reads on begins with the line after this one.
            self.fields.parser = Fields::parser(self.delimiter);
            return Err(problem);
        }
        Ok(Some(line))
    }

    pub(crate) fn lines_mut(&mut self) -> &mut Lines<R> {
        &mut self.lines
    }
}

/// The fields of the current record, in buffers that are used again for the next.
struct Fields {
    parser: Reader,
    place: Place,
    text: Vec<u8>,
    used: usize,
    ends: Vec<usize>,
    count: usize,
}

/// Where the text of the fields is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the line itself, with a delimiter between them.
    Line,
    /// In the buffer, without their quotes and with nothing between them.
    Buffer,
}

impl Fields {
    fn parser(delimiter: u8) -> Reader {
        let mut parser =
            ReaderBuilder::new().delimiter(delimiter).terminator(Terminator::Any(b'\n')).build();
        // The parser drops a byte order mark from whatever it sees first. That has been done, and
        // what it sees first may be any line.
        let _ = parser.read_record(b"\n", &mut [], &mut []);
        parser
    }

    fn new(delimiter: u8) -> Self {
        let parser = Self::parser(delimiter);
        Self { parser, place: Place::Line, text: Vec::new(), used: 0, ends: Vec::new(), count: 0 }
    }

    fn len(&self) -> usize {
        self.count
    }

    /// Cuts a line without quotes at its delimiters. Says no if there is a quote.
    fn cut(&mut self, line: &str, delimiter: u8) -> bool {
        let content = line.strip_suffix('\n').unwrap_or(line);
        let content = content.strip_suffix('\r').unwrap_or(content);
        self.ends.clear();
        for (place, &byte) in content.as_bytes().iter().enumerate() {
            if byte == delimiter {
                self.ends.push(place);
            } else if byte == b'"' {
                return false;
            }
        }
        self.ends.push(content.len());
        self.count = self.ends.len();
        self.place = Place::Line;
        true
    }

    fn clear(&mut self) {
        (self.used, self.count) = (0, 0);
        self.place = Place::Buffer;
    }

    /// Adds a line to the record, and says whether the record is complete.
    fn take_line(&mut self, line: &str) -> bool {
        let mut input = line.as_bytes();
        loop {
            let (result, read, written, ended) = self.parser.read_record(
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

    /// The record, of which this is the last line.
    fn record<'a>(&'a self, line: u64, last: &'a str) -> Record<'a> {
        let (text, gap) = match self.place {
            Place::Line => (last, 1),
            Place::Buffer => {
                let text = std::str::from_utf8(&self.text[..self.used]);
                (text.expect("UTF-8 that is cut at ASCII characters stays UTF-8"), 0)
            }
        };
        Record { line, text, ends: &self.ends[..self.count], gap }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::array::uniform2;
    use proptest::collection::vec;
    use proptest::prelude::*;

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

    proptest! {
        /// Quotes around every field send a line the long way round.
        #[test]
        fn lines_with_and_without_quotes_agree(
            cells in vec(uniform2("[ab\r\u{feff}é ]{0,3}"), 0..5),
            ending in prop_oneof![Just("\n"), Just("\r\n")],
        ) {
            // Without quotes, a carriage return before the newline is part of the line's ending.
            let ambiguous = |cells: &[String; 2]| ending == "\n" && cells[1].ends_with('\r');
            prop_assume!(!cells.iter().any(ambiguous));
            let (mut plain, mut quoted) = ("a,b\n".to_owned(), "a,b\n".to_owned());
            for [a, b] in &cells {
                plain.push_str(&format!("{a},{b}{ending}"));
                quoted.push_str(&format!("\"{a}\",\"{b}\"{ending}"));
            }
            prop_assert_eq!(all(&plain).unwrap(), all(&quoted).unwrap());
        }
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
    fn what_is_wrong_ends_with_its_line() {
        let mut lines = Lines::new("a,b\nc,\"d\ne\nf,\"g\nh\",i\nj,k,l\nm,n\n".as_bytes(), "t");
        lines.limit(8);
        let mut table = Table::new(lines, "a,b").unwrap();
        let mut seen = Vec::new();
        loop {
            match table.next_record() {
                Ok(None) => break,
                Ok(Some(record)) => seen.push(Ok(record.line)),
                Err(error) => seen.push(Err(error.line().unwrap())),
            }
        }
        // The first quote takes in lines until they are too many. After it a quote inside a field is a letter like others.
        assert_eq!(seen, [Err(2), Ok(5), Err(6), Ok(7)]);
    }

    #[test]
    fn fields_are_counted() {
        let error = all("a,b\nc,d\n\ne,f,g\n").unwrap_err();
        assert_eq!(error.line(), Some(4));
        assert!(error.to_string().contains("3 fields"), "{error}");
    }
}
