//! A table of walks, one state at a time, for those who need no more speed.

use std::io::Read;

use arrow_array::Array;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::ArrowError;

use super::{ColumnPart, ColumnReader, States, Texts, decode_error};
use crate::read_error::ReadError;
use crate::table::Record;
use crate::walks::ColumnRole;

/// Reads states one by one.
pub(crate) struct Rows<R: Read> {
    pub(crate) reader: ColumnReader<R>,
    part: Option<(ColumnPart, Texts)>,
    /// The row of the part, and within its list the state, that come next.
    row: usize,
    element: usize,
    text: String,
    ends: Vec<usize>,
}

impl<R: Read> Rows<R> {
    pub(crate) fn new(reader: ColumnReader<R>) -> Self {
        Self { reader, part: None, row: 0, element: 0, text: String::new(), ends: Vec::new() }
    }

    /// The next state: the trajectory's name, the state and the kept values, as a record of the row
    /// they are in.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        loop {
            if self.part.as_ref().is_none_or(|(part, _)| self.row == part.batch.num_rows()) {
                let Some(part) = self.reader.next_part()? else { return Ok(None) };
                let texts = self.reader.columns.texts(&part)?;
                self.part = Some((part, texts));
                (self.row, self.element) = (0, 0);
            }
            let Some((part, texts)) = &self.part else { return Ok(None) };
            let columns = &self.reader.columns;
            let (at, row) = (self.row, part.first_row + self.row as u64);
            let name = columns.value(ColumnRole::Trajectory, &texts.names, at, row)?;
            let state = match &texts.states {
                States::Long(states) => {
                    self.row += 1;
                    columns.value(ColumnRole::State, states, at, row)?
                }
                States::Lists { lists, values } => {
                    let list = columns.list(lists, at, row)?;
                    let place = list.start + self.element;
                    if place == list.end {
                        (self.row, self.element) = (self.row + 1, 0);
                        continue;
                    }
                    self.element += 1;
                    columns.value(ColumnRole::State, values, place, row)?
                }
            };
            self.text.clear();
            self.ends.clear();
            for value in [name, state] {
                self.text.push_str(value);
                self.ends.push(self.text.len());
            }
            for column in &part.batch.columns()[2..] {
                let value = shown(column.as_ref(), at);
                let value = value.map_err(|e| decode_error(&columns.file, columns.format, e))?;
                self.text.push_str(&value);
                self.ends.push(self.text.len());
            }
            return Ok(Some(Record { line: row, text: &self.text, ends: &self.ends, gap: 0 }));
        }
    }
}

/// A value as text; nothing if there is none.
fn shown(column: &dyn Array, at: usize) -> Result<String, ArrowError> {
    let options = FormatOptions::default().with_null("");
    ArrayFormatter::try_new(column, &options)?.value(at).try_to_string()
}
