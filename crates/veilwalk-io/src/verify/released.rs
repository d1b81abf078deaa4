//! A release with everything that is needed to infer from it: its walks, and the law by which they were drawn.
//!
//! The law is that of the mechanism in the manifest, made again. Inference from another law than the true one
//! gives figures that look right and are not, so file and chain are checked against the manifest first.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use veilwalk::inference::InferenceError;
use veilwalk::{Mechanism, Model, Outcome, Start, StateId, Watch};

use super::observed::Drawn;
use super::rows::{ReleasedRows, read_outcome};
use super::{Told, VerifyError, block_length, contradiction};
use crate::manifest::Manifest;
use crate::own_columns::OwnColumns;

/// A release that can be inferred from. Its walks are in the order in which they begin.
#[derive(Debug)]
#[non_exhaustive]
pub struct Released {
    /// What the manifest says.
    pub manifest: Manifest,
    /// What drew the release.
    pub mechanism: Arc<Mechanism>,
    /// How the walks started.
    pub start: Start,
    /// The names of the walks.
    pub names: Vec<String>,
    /// Their released states.
    pub states: Vec<Vec<StateId>>,
    /// What was observed for them, if the mechanism observes.
    observed: Vec<Vec<Outcome>>,
}

impl Released {
    /// What was drawn for each walk: what was observed, or else the released states themselves.
    #[must_use]
    pub fn drawn(&self) -> Cow<'_, [Vec<Outcome>]> {
        match OwnColumns::of(&self.mechanism) {
            OwnColumns::Moves => self.states.iter().map(|walk| Outcome::all(walk)).collect(),
            OwnColumns::Observations => Cow::Borrowed(&self.observed),
        }
    }
}

/// Reads a release and its manifest for inference. All walks are in memory afterwards, at 4 bytes a state (12 with
/// observations).
///
/// # Errors
///
/// If there is no manifest, the file or the chain is not the one it names, the release was made in blocks, or a row
/// is not one that the mechanism can have released; with its line.
pub fn read_released(
    release: &Path,
    model: &Arc<Model>,
    watch: Watch<'_>,
) -> Result<Released, VerifyError> {
    let told = Told::open(release, model.chain())?;
    let file = release.display().to_string();
    if let Some(block) = &told.manifest.mechanism.block {
        let length = block_length(block).map_err(|why| contradiction(release, &why))?;
        return Err(VerifyError::NotInferable { file, why: InferenceError::InBlocks { length } });
    }
    let mechanism = told.mechanism(release, model, watch)?;
    let (manifest, start) = (told.manifest.clone(), told.start);
    let (names, states, observed) = (Vec::new(), Vec::new(), Vec::new());
    let mut all = Released { manifest, mechanism, start, names, states, observed };
    all.read_walks(release, &file)?;
    told.check_unchanged(release)?;
    Ok(all)
}

impl Released {
    fn read_walks(&mut self, release: &Path, file: &str) -> Result<(), VerifyError> {
        let chain = self.mechanism.model().chain();
        let state = |place, label: &str| {
            let state = label.to_owned();
            chain.state(label).ok_or(VerifyError::NotAState { file: file.to_owned(), place, state })
        };
        let (drawn, outcomes) = (Drawn::by(&self.mechanism), self.mechanism.outcomes());
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut rows = ReleasedRows::open(release, OwnColumns::of(&self.mechanism))?;
        while let Some(row) = rows.next_row()? {
            let walk = match places.get(row.trajectory) {
                Some(&walk) => walk,
                None => {
                    places.insert(row.trajectory.to_owned(), self.names.len());
                    self.names.push(row.trajectory.to_owned());
                    self.states.push(Vec::new());
                    self.observed.push(Vec::new());
                    self.names.len() - 1
                }
            };
            let step = self.states[walk].len();
            row.require_step(file, step as u64)?;
            self.states[walk].push(state(row.place, row.state)?);
            let Some(label) = row.observed else { continue };
            let observed = read_outcome(&outcomes, file, row.place, label)?;
            // A first state that was not observed stands in its place.
            let drawn_otherwise = step == 0 && self.start != Start::Private;
            let fits =
                if drawn_otherwise { observed.state().is_some() } else { drawn.can_be(observed) };
            if !fits {
                let (file, place, found) = (file.to_owned(), row.place, label.to_owned());
                return Err(VerifyError::NeverObserved { file, place, found });
            }
            self.observed[walk].push(observed);
        }
        Ok(())
    }
}
