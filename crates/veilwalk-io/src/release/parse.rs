//! From a block of text to a batch.
//!
//! Most blocks have no quotes and nothing wrong: they are cut at their delimiters where they stand.
//! At the first thing out of the ordinary the block is given to the row-by-row reader instead, which
//! knows quotes and says what is wrong exactly as it does everywhere else.

use veilwalk::Chain;

use super::UnknownStates;
use super::batch::{Batch, Ids, Kept, Labels, Run};
use super::cutter::TextBlock;
use super::marks::Marks;
use crate::read_error::{Place, ReadError, ReadErrorKind};
use crate::walks::{Layout, WalkReader};

/// What is needed to parse a block.
#[derive(Debug)]
pub(super) struct TextParser<'a> {
    pub(super) layout: &'a Layout,
    pub(super) chain: &'a Chain,
    pub(super) labels: &'a Labels,
    pub(super) ids: &'a Ids,
    pub(super) unknown: UnknownStates,
}

/// Something out of the ordinary.
struct Unusual;

/// Tables of up to this many columns are cut where they stand.
const MOST_FIELDS: usize = 63;

impl TextParser<'_> {
    pub(super) fn parse(&self, block: TextBlock) -> Result<Batch, ReadError> {
        let first_line = block.first_line;
        let bytes = match self.layout.delimiter() {
            Some(delimiter) if memchr::memchr(b'"', &block.bytes).is_none() => {
                match String::from_utf8(block.bytes) {
                    Ok(text) => match self.plain(text, first_line, delimiter) {
                        Ok(batch) => return Ok(batch),
                        Err((Unusual, text)) => text.into_bytes(),
                    },
                    Err(error) => error.into_bytes(),
                }
            }
            _ => block.bytes,
        };
        self.row_by_row(&bytes, first_line)
    }

    /// Text without quotes, in which every row is as it should be.
    fn plain(
        &self,
        mut text: String,
        first_line: u64,
        delimiter: u8,
    ) -> Result<Batch, (Unusual, String)> {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        match self.cut(text.as_bytes(), first_line, delimiter) {
            Ok(rows) => Ok(Batch { text, ..rows }),
            Err(unusual) => Err((unusual, text)),
        }
    }

    /// The rows of a text that ends in a newline, as a batch that lacks the text itself.
    fn cut(&self, text: &[u8], first_line: u64, delimiter: u8) -> Result<Batch, Unusual> {
        let columns = &self.layout.columns;
        let (trajectory, state, kept) = (columns[0], columns[1], &columns[2..]);
        let fields = self.layout.header.len();
        let mut batch = Batch::with_text(String::new(), text.len() / 8);
        let mut kept_places = Vec::new();
        // The name of the run that the last row belongs to.
        let mut last_name: &[u8] = &[];
        // Where the fields of the current line start, and where the last of them ends, with one byte
        // between two fields.
        let mut starts = [0; MOST_FIELDS + 1];
        if fields > MOST_FIELDS {
            return Err(Unusual);
        }
        let (mut line, mut at, mut field) = (first_line, 0, 1);
        for mark in Marks::new(text, delimiter) {
            if text[mark] != b'\n' {
                // Fields that are too many are counted only.
                if let Some(start) = starts.get_mut(field) {
                    *start = mark + 1;
                }
                field += 1;
                continue;
            }
            let end = mark - usize::from(text[..mark].ends_with(b"\r"));
            if field == fields {
                starts[0] = at;
                starts[fields] = end + 1;
                // The remainders tell the compiler that the places are there.
                let start = |column: usize| starts[column % starts.len()];
                let place = |column: usize| start(column)..start(column + 1) - 1;
                let (name, label) = (place(trajectory), place(state));
                if name.is_empty() || label.is_empty() {
                    return Err(Unusual);
                }
                let known = self.labels.get_at(text, label);
                match known.or_else(|| batch.replacement(self.unknown)) {
                    Some(state) => {
                        batch.states.push(state);
                        kept_places.extend(kept.iter().map(|&column| {
                            let place = place(column);
                            (place.start as u32, place.end as u32)
                        }));
                        match batch.runs.last_mut() {
                            Some(run) if *last_name == text[name.clone()] => run.states += 1,
                            _ => {
                                last_name = &text[name.clone()];
                                let id = self.ids.of(last_name);
                                let name = (name.start as u32, name.end as u32);
                                let place = Place::Line(line);
                                batch.runs.push(Run { id, name, states: 1, place });
                            }
                        }
                    }
                    None if self.unknown == UnknownStates::Skip => {
                        batch.skip(self.ids, &text[name], 1);
                    }
                    None => return Err(Unusual),
                }
            } else if text[at..end].iter().any(|byte| !matches!(byte, b' ' | b'\r')) {
                return Err(Unusual);
            }
            (at, field) = (mark + 1, 1);
            line += 1;
        }
        batch.kept = Kept::Text(kept_places);
        Ok(batch)
    }

    /// The slow way, which knows everything.
    fn row_by_row(&self, bytes: &[u8], first_line: u64) -> Result<Batch, ReadError> {
        let mut reader = WalkReader::within(self.layout, bytes, first_line);
        let mut batch = Batch::with_text(String::with_capacity(bytes.len()), bytes.len() / 12);
        let mut kept = Vec::new();
        while let Some(row) = reader.next_row()? {
            let known = self.labels.get(row.state.as_bytes());
            let Some(state) = known.or_else(|| batch.replacement(self.unknown)) else {
                if self.unknown == UnknownStates::Skip {
                    batch.skip(self.ids, row.trajectory.as_bytes(), 1);
                    continue;
                }
                return Err(unknown_state(self.chain, &self.layout.name, row.place, row.state));
            };
            let mut push = |text: &str| {
                let start = batch.text.len();
                batch.text.push_str(text);
                start..batch.text.len()
            };
            let name = push(row.trajectory);
            for value in row.kept {
                let place = push(value);
                kept.push((place.start as u32, place.end as u32));
            }
            batch.push(self.ids, name, state, row.place);
        }
        batch.kept = Kept::Text(kept);
        Ok(batch)
    }
}

/// That a label is none of the chain's.
pub(super) fn unknown_state(chain: &Chain, file: &str, place: Place, label: &str) -> ReadError {
    ReadError::at(file, place, ReadErrorKind::UnknownState(chain.unknown(label)))
}
