//! Whether the rows of each walk stand in the order of their steps.
//!
//! Rows are released in the order in which they stand, whatever a column says of their steps: a file of any size goes through, and
//! walks may alternate. A file whose rows were shuffled would be released as other walks than it holds, without a sign of
//! it. So where a file numbers its steps, the numbers have to grow from row to row of a walk.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, bail};
use veilwalk_io::{Place, ReadErrorKind, WalkOptions, WalkReader};

use super::Args;
use crate::progress::{self, Stoppable};
use crate::terminal;

/// The column that numbers steps unless another one is named.
const USUAL: &str = "step";
/// What takes rows as they stand.
const NONE: &str = "none";

impl Args {
    /// Refuses a file in which a walk's rows are not in the order of its steps.
    pub(super) fn check_order(&self) -> Result<()> {
        let path = Path::new(&self.walks);
        let column = match self.step_column.as_deref() {
            Some(NONE) => return Ok(()),
            // Answers that are kept are found by the number of the step.
            _ if self.state.is_some() => return Ok(()),
            Some(_) if self.stream || !path.is_file() => bail!(
                "--step-column: the order of rows is checked in a file before anything is released, and these are \
                 answered as they come; leave it out, or give the walks in a file and no --stream"
            ),
            None if self.stream || !path.is_file() => return Ok(()),
            Some(column) => column,
            None => USUAL,
        };
        if [&self.trajectory_column, &self.state_column].iter().any(|own| own.trim() == column) {
            return match self.step_column {
                Some(_) => bail!("--step-column {column}: that column is read as something else"),
                None => Ok(()),
            };
        }
        let options = WalkOptions { keep: vec![column.to_owned()], ..self.options() };
        let reader = match WalkReader::open(path, options) {
            Ok(reader) => reader,
            // What else is wrong with the file is told when it is read for the release.
            Err(error) => match (error.kind(), &self.step_column) {
                (ReadErrorKind::MissingColumn { column: missing, found, .. }, Some(_))
                    if missing == column =>
                {
                    bail!(
                        "{}: there is no column {column:?} for --step-column; the columns are {}",
                        self.walks,
                        found.join(", ")
                    )
                }
                _ => return Ok(()),
            },
        };
        self.check_steps(reader, column)
    }

    fn check_steps(
        &self,
        mut reader: WalkReader<Box<dyn std::io::Read + Send>>,
        column: &str,
    ) -> Result<()> {
        let mut last_steps: HashMap<String, f64> = HashMap::new();
        // Most rows go on with the walk of the row before.
        let mut current: Option<(String, f64)> = None;
        let mut last_place: Option<Place> = None;
        let _stoppable = Stoppable::new();
        // A row that cannot be read is told when it is read for the release, with what helps.
        while let Ok(Some(row)) = reader.next_row() {
            if progress::stop_requested() {
                return Err(progress::stopped());
            }
            // A row with a list of states has one step, or whatever it says there.
            if last_place == Some(row.place) {
                continue;
            }
            last_place = Some(row.place);
            let text = row.kept.clone().next().unwrap_or_default();
            let Some(step) = text.trim().parse().ok().filter(|step: &f64| step.is_finite()) else {
                let what = format!(
                    "{}, {}: the {column} {text:?} is no number, so nothing tells in which order the rows are meant",
                    self.walks, row.place
                );
                if self.step_column.is_some() {
                    bail!("{what}; give a column of numbers that grow, or --step-column none");
                }
                terminal::note(format!("{what}; they are taken as they stand"));
                return Ok(());
            };
            let same = current.as_ref().is_some_and(|(name, _)| name == row.trajectory);
            if !same && let Some((name, last)) = current.take() {
                last_steps.insert(name, last);
            }
            let before = match &current {
                Some((_, last)) => Some(*last),
                None => last_steps.get(row.trajectory).copied(),
            };
            if let Some(before) = before.filter(|before| *before >= step) {
                let what = match before == step {
                    true => format!("has {column} {step} a second time"),
                    false => format!("has {column} {step} after {before}"),
                };
                bail!(
                    "{}, {}: the walk {:?} {what}; rows are released in the order in which they stand, so sort the \
                     file by {} and {column}, or give --step-column none if they stand as they are meant",
                    self.walks,
                    row.place,
                    row.trajectory,
                    self.trajectory_column,
                );
            }
            match &mut current {
                Some((_, last)) => *last = step,
                None => current = Some((row.trajectory.to_owned(), step)),
            }
        }
        Ok(())
    }
}
