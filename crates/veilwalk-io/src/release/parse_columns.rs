//! The first stage for Arrow columns: a part of the input becomes a batch.

use std::cell::LazyCell;

use arrow_array::{Array, BooleanArray};
use arrow_select::filter::filter;
use veilwalk::StateId;

use super::UnknownStates;
use super::batch::{Batch, Kept};
use super::parse::{Parser, unknown_state};
use crate::columns::{
    ColumnPart, Columns, IntegerStates, LEFT_OUT, NotAStateValue, as_texts, decode_error,
    read_states,
};
use crate::read_error::{Place, ReadError};
use crate::walks::{ColumnRole, Shape};

impl Parser<'_> {
    pub(super) fn columns(&self, columns: &Columns, part: &ColumnPart) -> Result<Batch, ReadError> {
        let (names, lists) = columns.take_apart(part)?;
        let unknown = match self.unknown {
            UnknownStates::Refuse => UnknownStates::Refuse,
            UnknownStates::Skip | UnknownStates::Replace(_) => UnknownStates::Skip,
        };
        let read = read_states(&lists.values, self.chain, IntegerStates::Labels, unknown);
        // Problems are reported in the order of the rows.
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
