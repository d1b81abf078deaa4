//! From some rows of a table of columns to a batch.

use arrow_array::BooleanArray;
use arrow_select::filter::filter;
use veilwalk::{Chain, StateId};

use super::UnknownStates;
use super::batch::{Batch, Ids, Kept, Labels};
use super::parse::unknown_state;
use crate::columns::{ColumnPart, Columns, Shape, States, decode_error};
use crate::read_error::{Place, ReadError};
use crate::walks::ColumnRole;

/// What is needed to parse a part.
#[derive(Debug)]
pub(super) struct ColumnParser<'a> {
    pub(super) columns: &'a Columns,
    pub(super) chain: &'a Chain,
    pub(super) labels: &'a Labels,
    pub(super) ids: &'a Ids,
    pub(super) unknown: UnknownStates,
}

impl ColumnParser<'_> {
    pub(super) fn parse(&self, part: &ColumnPart) -> Result<Batch, ReadError> {
        let texts = self.columns.texts(part)?;
        let rows = part.batch.num_rows();
        let mut batch = Batch::with_text(String::new(), rows);
        let mut kept = part.batch.columns()[2..].to_vec();
        let name_at = |at: usize| {
            let row = part.first_row + at as u64;
            let name = self.columns.value(ColumnRole::Trajectory, &texts.names, at, row)?;
            Ok::<_, ReadError>((row, name))
        };
        match &texts.states {
            States::Long(states) => {
                let mut taken = Vec::with_capacity(rows);
                for at in 0..rows {
                    let (row, name) = name_at(at)?;
                    let label = self.columns.value(ColumnRole::State, states, at, row)?;
                    let state = self.state(label, row, &mut batch)?;
                    taken.push(state.is_some());
                    match state {
                        Some(state) => batch.push_named(self.ids, name, state, Place::Row(row)),
                        None => batch.skip(self.ids, name.as_bytes(), 1),
                    }
                }
                if batch.skipped > 0 {
                    let taken = BooleanArray::from(taken);
                    for column in &mut kept {
                        *column = filter(column, &taken).map_err(|error| {
                            decode_error(&self.columns.file, self.columns.format, error)
                        })?;
                    }
                }
            }
            States::Lists { lists, values } => {
                batch.shape = Shape::Lists;
                let mut states = Vec::new();
                for at in 0..rows {
                    let (row, name) = name_at(at)?;
                    let list = self.columns.list(lists, at, row)?;
                    states.clear();
                    for place in list.clone() {
                        let label = self.columns.value(ColumnRole::State, values, place, row)?;
                        states.extend(self.state(label, row, &mut batch)?);
                    }
                    if states.len() < list.len() {
                        let left_out = (list.len() - states.len()) as u64;
                        batch.skip(self.ids, name.as_bytes(), left_out);
                    }
                    batch.push_run(self.ids, name, states.iter().copied(), Place::Row(row));
                }
            }
        }
        batch.kept = Kept::Columns(kept);
        Ok(batch)
    }

    fn state(
        &self,
        label: &str,
        row: u64,
        batch: &mut Batch,
    ) -> Result<Option<StateId>, ReadError> {
        let known = self.labels.get(label.as_bytes());
        match known.or_else(|| batch.replacement(self.unknown)) {
            Some(state) => Ok(Some(state)),
            None if self.unknown == UnknownStates::Skip => Ok(None),
            None => Err(unknown_state(self.chain, &self.columns.file, Place::Row(row), label)),
        }
    }
}
