//! The first stage: a part of the input becomes a batch.

use std::cell::LazyCell;

use arrow_array::{Array, BooleanArray};
use arrow_select::filter::filter;
use veilwalk::{Chain, StateId};

use super::UnknownStates;
use super::batch::{Batch, Ids, Kept};
use super::cutter::TextBlock;
use super::input::{Known, Part};
use crate::columns::{
    ColumnPart, Columns, IntegerStates, LEFT_OUT, NotAStateValue, Shape, as_texts, decode_error,
    read_states,
};
use crate::read_error::{Place, ReadError, ReadErrorKind};
use crate::walks::{ColumnRole, Layout, WalkReader};

/// What is needed to parse a part.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    pub(super) input: &'a Known,
    pub(super) chain: &'a Chain,
    pub(super) ids: &'a Ids,
    pub(super) unknown: UnknownStates,
}

impl Parser<'_> {
    pub(super) fn parse(&self, part: Part) -> Result<Batch, ReadError> {
        match (part, self.input) {
            (Part::Text(block), Known::Text(layout)) => self.text(layout, &block),
            (Part::Columns(part), Known::Columns(columns)) => self.columns(columns, &part),
            (Part::Text(_), _) | (Part::Columns(_), _) => {
                unreachable!("all parts come from one input")
            }
        }
    }

    /// Most blocks have no quotes and nothing wrong: they are cut at their delimiters. A block with
    /// anything out of the ordinary goes to the reader, which knows quotes and says what is wrong.
    fn text(&self, layout: &Layout, block: &TextBlock) -> Result<Batch, ReadError> {
        match self.plain_text(layout, block) {
            Some(batch) => Ok(batch),
            None => self.any_text(layout, block),
        }
    }

    fn plain_text(&self, layout: &Layout, block: &TextBlock) -> Option<Batch> {
        let delimiter = char::from(layout.delimiter()?);
        let text = std::str::from_utf8(&block.bytes).ok()?;
        if text.contains('"') || text.ends_with('\r') {
            return None;
        }
        let (name, label, kept) = (layout.columns[0], layout.columns[1], &layout.columns[2..]);
        let mut batch = Batch::new(Shape::Long, text.len() / 8);
        let mut fields = Vec::with_capacity(layout.header.len());
        for (line, number) in text.lines().zip(block.first_line..) {
            fields.clear();
            fields.extend(line.split(delimiter));
            if fields.len() == layout.header.len() {
                let kept = kept.iter().map(|&column| fields[column]);
                let place = Place::Line(number);
                self.take_row(&mut batch, fields[name], fields[label], kept, place)?;
            } else if line.bytes().any(|byte| !matches!(byte, b' ' | b'\r')) {
                return None;
            }
        }
        Some(batch)
    }

    fn any_text(&self, layout: &Layout, block: &TextBlock) -> Result<Batch, ReadError> {
        let mut reader = WalkReader::within(layout, &block.bytes[..], block.first_line);
        let mut batch = Batch::new(Shape::Long, block.bytes.len() / 12);
        while let Some(row) = reader.next_row()? {
            self.take_row(&mut batch, row.trajectory, row.state, row.kept, row.place)
                .ok_or_else(|| unknown_state(self.chain, &layout.name, row.place, row.state))?;
        }
        Ok(batch)
    }

    /// Takes a row of text; nothing if it has to be refused.
    #[inline]
    fn take_row<'t>(
        &self,
        batch: &mut Batch,
        name: &str,
        label: &str,
        kept: impl Iterator<Item = &'t str>,
        place: Place,
    ) -> Option<()> {
        if name.is_empty() || label.is_empty() {
            return None;
        }
        match self.chain.state(label).or_else(|| self.replacement(batch)) {
            Some(state) => batch.push_state(self.ids, name, state, place),
            None if self.unknown == UnknownStates::Skip => {
                batch.skip(self.ids, name, 1);
                return Some(());
            }
            None => return None,
        }
        for value in kept {
            batch.keep_text(value);
        }
        Some(())
    }

    fn columns(&self, columns: &Columns, part: &ColumnPart) -> Result<Batch, ReadError> {
        let (names, lists) = columns.take_apart(part)?;
        let unknown = match self.unknown {
            UnknownStates::Refuse => UnknownStates::Refuse,
            UnknownStates::Skip | UnknownStates::Replace(_) => UnknownStates::Skip,
        };
        let read = read_states(&lists.values, self.chain, IntegerStates::Labels, unknown);
        // What is wrong is told in the order of the rows.
        let (states, bad) = match read {
            Ok(states) => (states, None),
            Err(bad) => (Vec::new(), Some((lists.row_of(bad.place), bad.value))),
        };
        let texts = LazyCell::new(|| as_texts(&lists.values));
        let mut batch = Batch::new(columns.shape, lists.values.len());
        let (mut taken, mut walk) = (Vec::new(), Vec::new());
        for at in 0..names.len() {
            let row = part.first_row + at as u64;
            let name = columns.name(&names, at, row)?;
            if part.batch.column(1).is_null(at) {
                return Err(columns.error(row, columns.missing(ColumnRole::State)));
            }
            if let Some((_, value)) = bad.as_ref().filter(|(bad_row, _)| *bad_row == at) {
                return Err(self.not_a_state(columns, row, value));
            }
            if bad.is_some() {
                continue;
            }
            walk.clear();
            for place in lists.row(at) {
                let known =
                    (states[place] != LEFT_OUT).then(|| StateId::new(states[place] as usize));
                if known.is_none() && texts[place].as_deref() == Some("") {
                    return Err(columns.error(row, columns.empty(ColumnRole::State)));
                }
                walk.extend(known.or_else(|| self.replacement(&mut batch)));
            }
            let left_out = (lists.row(at).len() - walk.len()) as u64;
            if left_out > 0 {
                batch.skip(self.ids, name, left_out);
            }
            match columns.shape {
                Shape::Long => {
                    taken.push(left_out == 0);
                    for &state in &walk {
                        batch.push_state(self.ids, name, state, Place::Row(row));
                    }
                }
                Shape::Lists => batch.push_run(self.ids, name, &walk, Place::Row(row)),
            }
        }
        let mut kept = part.batch.columns()[2..].to_vec();
        if columns.shape == Shape::Long && batch.skipped > 0 {
            let taken = BooleanArray::from(taken);
            for column in &mut kept {
                *column = filter(column, &taken)
                    .map_err(|error| decode_error(&columns.file, columns.format, error))?;
            }
        }
        batch.kept = Kept::Columns(kept);
        Ok(batch)
    }

    /// The state that replaces an unknown one, counted.
    fn replacement(&self, batch: &mut Batch) -> Option<StateId> {
        let UnknownStates::Replace(state) = self.unknown else { return None };
        batch.replaced += 1;
        Some(state)
    }

    fn not_a_state(&self, columns: &Columns, row: u64, value: &NotAStateValue) -> ReadError {
        let label = match value {
            NotAStateValue::Missing => {
                return columns.error(row, columns.missing(ColumnRole::State));
            }
            NotAStateValue::Text(label) if label.is_empty() => {
                return columns.error(row, columns.empty(ColumnRole::State));
            }
            NotAStateValue::Text(label) => label.clone(),
            NotAStateValue::Integer(number) => number.to_string(),
        };
        unknown_state(self.chain, &columns.file, Place::Row(row), &label)
    }
}

/// That a label is none of the chain's.
pub(super) fn unknown_state(chain: &Chain, file: &str, place: Place, label: &str) -> ReadError {
    ReadError::at(file, place, ReadErrorKind::UnknownState(chain.unknown(label)))
}
