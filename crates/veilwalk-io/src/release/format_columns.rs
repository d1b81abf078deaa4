//! The third stage for Arrow columns: released states become columns again.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};

use super::answer::Answer;
use super::batch::Kept;
use crate::columns::ColumnRows;
use crate::own_columns::OwnColumns;
use crate::walks::Shape;

impl Answer {
    /// The kept columns as they are, or made of text.
    fn kept_columns(&self, columns: usize) -> Vec<ArrayRef> {
        match &self.batch.kept {
            Kept::Columns(kept) => kept.clone(),
            Kept::Text(places) => (0..columns)
                .map(|column| {
                    let values = places.iter().skip(column).step_by(columns);
                    let values = values.map(|&place| Some(self.batch.text_at(place)));
                    Arc::new(values.collect::<StringArray>()) as ArrayRef
                })
                .collect(),
        }
    }
}

/// The rows of an answer.
pub(super) fn rows_of(
    answer: &Answer,
    shape: Shape,
    own: OwnColumns,
    kept: usize,
) -> ColumnRows<'_> {
    let Answer { batch, first_steps } = answer;
    let named = |count: fn(u32) -> usize| -> StringArray {
        let names = batch.runs.iter().map(|run| (batch.name(run), count(run.states)));
        names.flat_map(|(name, count)| std::iter::repeat_n(Some(name), count)).collect()
    };
    let (names, steps, bounds) = match shape {
        Shape::Long => {
            let steps = batch.runs.iter().zip(first_steps).flat_map(|(run, &first)| {
                (first..first + u64::from(run.states)).map(|step| Some(step as i64))
            });
            (named(|states| states as usize), Some(steps.collect::<Int64Array>()), None)
        }
        Shape::Lists => {
            let mut bounds = vec![0];
            for run in &batch.runs {
                bounds.push(bounds[bounds.len() - 1] + run.states as usize);
            }
            (named(|_| 1), None, Some(bounds))
        }
    };
    let observed = match own {
        OwnColumns::Moves => None,
        OwnColumns::Observations => Some(&*batch.observed),
    };
    let kept = answer.kept_columns(kept);
    ColumnRows { names, steps, states: &batch.states, observed, bounds, kept }
}
