//! The rows of a release: each state with its step, and with what was observed for it.
//!
//! States may be lists, a walk in a row, and then observations are lists as well. So the two columns are read
//! side by side by two readers of the same file, which give out one state at a time from either shape.

use std::io::Read;
use std::path::Path;

use veilwalk::Outcome;
use veilwalk::mechanism::plane::Outcomes;

use super::VerifyError;
use crate::own_columns::{OBSERVED, OwnColumns, STEP};
use crate::read_error::{Place, ReadErrorKind};
use crate::walks::{WalkOptions, WalkReader};

type Reader = WalkReader<Box<dyn Read + Send>>;

/// Reads a release row by row.
#[derive(Debug)]
pub(super) struct ReleasedRows {
    file: String,
    states: Reader,
    observations: Option<Reader>,
}

/// One state of a release.
pub(super) struct ReleasedRow<'a> {
    pub(super) place: Place,
    pub(super) trajectory: &'a str,
    pub(super) state: &'a str,
    /// None if the release has no such column.
    pub(super) observed: Option<&'a str>,
    /// None if a row is a walk, whose steps have no numbers.
    step: Option<&'a str>,
}

impl ReleasedRows {
    pub(super) fn open(release: &Path, own: OwnColumns) -> Result<Self, VerifyError> {
        let file = release.display().to_string();
        let mut states = WalkReader::open(release, WalkOptions::default())?;
        if states.header().is_none_or(|columns| columns.iter().any(|c| c.trim() == STEP)) {
            let keep = vec![STEP.to_owned()];
            states = WalkReader::open(release, WalkOptions { keep, ..WalkOptions::default() })?;
        }
        let options = WalkOptions { state_column: OBSERVED.to_owned(), ..WalkOptions::default() };
        let observations = match own {
            OwnColumns::Moves => None,
            OwnColumns::Observations => Some(WalkReader::open(release, options)),
        };
        let observations = observations.transpose().map_err(|error| match error.kind() {
            ReadErrorKind::MissingColumn { .. } => {
                VerifyError::NoObservations { file: file.clone() }
            }
            _ => error.into(),
        })?;
        Ok(Self { file, states, observations })
    }

    /// Whether there is an observation for each state.
    pub(super) fn observes(&self) -> bool {
        self.observations.is_some()
    }

    /// The next row, or nothing at the end.
    pub(super) fn next_row(&mut self) -> Result<Option<ReleasedRow<'_>>, VerifyError> {
        let seen = self.observations.as_mut().map(Reader::next_row).transpose()?;
        let (mut row, observed) = match (self.states.next_row()?, seen) {
            (None, None | Some(None)) => return Ok(None),
            (Some(row), None) => (row, None),
            (Some(row), Some(Some(seen)))
                if (row.place, row.trajectory) == (seen.place, seen.trajectory) =>
            {
                (row, Some(seen.state))
            }
            (Some(row), Some(_)) | (None, Some(Some(row))) => {
                return Err(VerifyError::Unpaired { file: self.file.clone(), place: row.place });
            }
        };
        let step = row.kept.next();
        let (place, trajectory, state) = (row.place, row.trajectory, row.state);
        Ok(Some(ReleasedRow { place, trajectory, state, observed, step }))
    }
}

/// What a text in the column of observations stands for.
pub(super) fn read_outcome(
    outcomes: &Outcomes<'_>,
    file: &str,
    place: Place,
    text: &str,
) -> Result<Outcome, VerifyError> {
    outcomes.read(text).ok_or_else(|| {
        let (file, found) = (file.to_owned(), text.to_owned());
        match outcomes.chart() {
            Some(_) => VerifyError::NotAPlace { file, place, found },
            None => VerifyError::NotAState { file, place, state: found },
        }
    })
}

impl ReleasedRow<'_> {
    /// Refuses a row that is not this step of its walk.
    pub(super) fn require_step(&self, file: &str, expected: u64) -> Result<(), VerifyError> {
        match self.step.filter(|step| step.parse() != Ok(expected)) {
            None => Ok(()),
            Some(found) => Err(VerifyError::Step {
                file: file.to_owned(),
                place: self.place,
                expected,
                found: found.to_owned(),
            }),
        }
    }
}
