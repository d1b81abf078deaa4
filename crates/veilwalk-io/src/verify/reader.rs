//! A release state by state, for whoever shows it or brings it into another form.
//!
//! Nothing is inferred, so the mechanism is not made again, and releases in blocks are read as well. What is shown of
//! a release should be what was released, so file and chain are held against the manifest first.

use std::collections::HashMap;
use std::path::Path;

use veilwalk::mechanism::plane::Outcomes;
use veilwalk::{Chain, Outcome, StateId};

use super::rows::{ReleasedRows, read_outcome};
use super::{Told, VerifyError, contradiction};
use crate::manifest::Manifest;
use crate::own_columns::OwnColumns;

/// Reads a release state by state, in the order of the file, in which walks may alternate.
#[derive(Debug)]
pub struct ReleaseReader<'c> {
    manifest: Manifest,
    chain: &'c Chain,
    outcomes: Outcomes<'c>,
    file: String,
    rows: ReleasedRows,
    /// How many states of each walk were read, and the number of the walk.
    walks: HashMap<String, (usize, u64)>,
}

/// One state of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReleasedState<'a> {
    /// The number of its walk, by the order in which walks begin.
    pub walk: usize,
    /// The name of its walk.
    pub trajectory: &'a str,
    /// Which step of the walk it is, from zero.
    pub step: u64,
    /// The state.
    pub state: StateId,
    /// What was observed for it, where the mechanism observes.
    pub observed: Option<Outcome>,
}

impl<'c> ReleaseReader<'c> {
    /// Opens a release and its manifest. The whole of it is gone through: its states have to be the chain's, and
    /// its moves possible.
    ///
    /// # Errors
    ///
    /// If there is no manifest, the file or the chain is not the one it names, or a row is none of such a release;
    /// with its line.
    pub fn open(release: &Path, chain: &'c Chain) -> Result<Self, VerifyError> {
        let Told { manifest, design, .. } = Told::open(release, chain)?;
        let own = if design.observes() { OwnColumns::Observations } else { OwnColumns::Moves };
        let rows = ReleasedRows::open(release, own)?;
        let file = release.display().to_string();
        let outcomes = Outcomes::of(chain, design.candidates)
            .map_err(|why| contradiction(release, &why.to_string()))?;
        Ok(Self { manifest, chain, outcomes, file, rows, walks: HashMap::new() })
    }

    /// What the manifest says.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How what was observed is written, and where it lies.
    #[must_use]
    pub fn outcomes(&self) -> &Outcomes<'c> {
        &self.outcomes
    }

    /// Whether it says what was observed.
    #[must_use]
    pub fn observes(&self) -> bool {
        self.rows.observes()
    }

    /// The next state, or nothing at the end.
    ///
    /// # Errors
    ///
    /// If the row is none of a release.
    pub fn next_state(&mut self) -> Result<Option<ReleasedState<'_>>, VerifyError> {
        let Some(row) = self.rows.next_row()? else { return Ok(None) };
        let state = |label: &str| {
            let (file, place, state) = (self.file.clone(), row.place, label.to_owned());
            self.chain.state(label).ok_or(VerifyError::NotAState { file, place, state })
        };
        let found = state(row.state)?;
        let observed = |text| read_outcome(&self.outcomes, &self.file, row.place, text);
        let observed = row.observed.map(observed).transpose()?;
        let begun = self.walks.len();
        // A name is copied once for each walk, not for each state.
        if !self.walks.contains_key(row.trajectory) {
            self.walks.insert(row.trajectory.to_owned(), (begun, 0));
        }
        let (walk, steps) = self.walks.get_mut(row.trajectory).expect("just made");
        row.require_step(&self.file, *steps)?;
        let step = *steps;
        *steps += 1;
        let (walk, trajectory) = (*walk, row.trajectory);
        Ok(Some(ReleasedState { walk, trajectory, step, state: found, observed }))
    }
}
