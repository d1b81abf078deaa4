//! The columns that a reader asks for, each with what it is read as.

use std::collections::HashMap;

use super::{ColumnRole, WalkOptions};
use crate::read_error::ReadErrorKind;

/// Columns by name, in the order in which a row gives their values.
#[derive(Clone, Debug)]
pub(crate) struct Wanted(Vec<(ColumnRole, String)>);

impl Wanted {
    pub(crate) fn new(columns: impl IntoIterator<Item = (ColumnRole, String)>) -> Self {
        Self(columns.into_iter().collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ColumnRole, &str)> {
        self.0.iter().map(|(role, name)| (*role, name.as_str()))
    }

    pub(crate) fn role(&self, place: usize) -> ColumnRole {
        self.0[place].0
    }

    pub(crate) fn name(&self, place: usize) -> &str {
        &self.0[place].1
    }

    /// Refuses a column with two roles, so that no release can hold the states it hides.
    pub(crate) fn check(&self) -> Result<(), ReadErrorKind> {
        let mut roles = HashMap::new();
        for (second, column) in self.iter() {
            if let Some(first) = roles.insert(column.trim(), second) {
                return Err(ReadErrorKind::ColumnTwice {
                    column: column.to_owned(),
                    first,
                    second,
                });
            }
        }
        Ok(())
    }

    /// The places of the columns in a header.
    pub(crate) fn find_in(&self, header: &[String]) -> Result<Vec<usize>, ReadErrorKind> {
        let find = |(role, name): (ColumnRole, &str)| {
            let mut places = (0..header.len()).filter(|&place| header[place].trim() == name.trim());
            match (places.next(), places.next()) {
                (Some(only), None) => Ok(only),
                (Some(first), Some(second)) => Err(ReadErrorKind::DuplicateColumn {
                    label: name.to_owned(),
                    first: first + 1,
                    second: second + 1,
                }),
                (None, _) => Err(ReadErrorKind::MissingColumn {
                    column: name.to_owned(),
                    role,
                    found: header.to_vec(),
                }),
            }
        };
        self.iter().map(find).collect()
    }
}

impl From<&WalkOptions> for Wanted {
    /// Trajectory, state, then those kept.
    fn from(options: &WalkOptions) -> Self {
        let first = [
            (ColumnRole::Trajectory, options.trajectory_column.clone()),
            (ColumnRole::State, options.state_column.clone()),
        ];
        let kept = options.keep.iter().map(|column| (ColumnRole::Kept, column.clone()));
        Self::new(first.into_iter().chain(kept))
    }
}
