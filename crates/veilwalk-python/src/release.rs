//! Releases many walks at once, on all cores. The source of their randomness is here too.
//!
//! Walks are stored in one list, which is overwritten by the release. Observations are stored in a second
//! list. Walks are handed out in fixed batches. With a key or a seed every step has randomness of its own, so
//! neither the batches nor the number of threads show in the release.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use veilwalk::error::ModelChanged;
use veilwalk::mechanism::{BlockLength, Blocks};
use veilwalk::random::{Forked, ReleaseId, Secret, SourceKind};
use veilwalk::session::{OpenError, PushError, Released, Releaser};
use veilwalk::{Outcome, Start, StateId};
use veilwalk_io::UnknownStates;

use crate::error::{VeilwalkError, WalkError, chain_error, parameter_error};
use crate::files::{AskedCharge, Charge};
use crate::interrupt::Stop;
use crate::labels::Labels;
use crate::mechanism::Mechanism;

/// Where randomness comes from.
#[pyclass(frozen, module = "veilwalk._native")]
#[derive(Clone, Debug)]
pub(crate) struct Source(pub(crate) veilwalk::Source);

#[pymethods]
impl Source {
    /// The operating system.
    #[staticmethod]
    fn system() -> Self {
        Self(veilwalk::Source::system())
    }

    /// A number that anyone may know: not private. It stands for a release id too, unless one is given.
    #[staticmethod]
    fn seeded(seed: u64, release_id: Option<&str>) -> PyResult<Self> {
        let id = release_id.map(parsed_release_id).transpose()?;
        Ok(Self(id.map_or_else(
            || veilwalk::Source::seeded(seed),
            |id| veilwalk::Source::seeded_with_id(seed, id),
        )))
    }

    /// A secret, under the id of a run: a new one, unless one is given.
    #[staticmethod]
    fn keyed(secret: &Bound<'_, PyBytes>, release_id: Option<&str>) -> PyResult<Self> {
        let secret = Secret::new(secret.as_bytes()).map_err(parameter_error)?;
        let id = release_id.map_or_else(drawn_release_id, parsed_release_id)?;
        Ok(Self(veilwalk::Source::keyed(secret, id)))
    }

    /// The id that randomness is derived from, if it is derived.
    #[getter]
    fn release_id(&self) -> Option<String> {
        self.0.release_id().map(|id| id.to_string())
    }

    /// `system`, `seed` or `key`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind() {
            SourceKind::System => "system",
            SourceKind::Seeded => "seed",
            SourceKind::Keyed => "key",
        }
    }

    fn __repr__(&self) -> String {
        format!("<veilwalk source: {}>", self.kind())
    }
}

/// The id of a new run.
#[pyfunction]
pub(crate) fn new_release_id() -> PyResult<String> {
    drawn_release_id().map(|id| id.to_string())
}

pub(crate) fn drawn_release_id() -> PyResult<ReleaseId> {
    ReleaseId::random().map_err(|error| VeilwalkError::new_err(error.to_string()))
}

pub(crate) fn parsed_release_id(text: &str) -> PyResult<ReleaseId> {
    text.parse().map_err(|error| parameter_error(format!("release_id: {error}")))
}

/// How walks are released.
#[pyclass(frozen, module = "veilwalk._native")]
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    pub(crate) mechanism: Arc<veilwalk::Mechanism>,
    pub(crate) labels: Arc<Labels>,
    source: veilwalk::Source,
    start: Start,
    pub(crate) unknown: UnknownStates,
    charge: Option<Charge>,
}

#[pymethods]
impl Manner {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        py: Python<'_>,
        mechanism: &Mechanism,
        source: &Source,
        start: &Bound<'_, PyAny>,
        block: Option<&str>,
        longest_walk: Option<u64>,
        ledger: Option<PathBuf>,
        budget: Option<&str>,
        window: Option<&str>,
        persons: Option<HashMap<String, String>>,
        unknown_state: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        if ledger.is_none() && budget.is_some() {
            return Err(parameter_error(
                "budget: it is what a person may spend in a ledger; give one",
            ));
        }
        if budget.is_none() && window.is_some() {
            return Err(parameter_error(
                "window: it is how far a budget looks back; give budget= too",
            ));
        }
        let start = mechanism.start(start)?;
        let releasing = mechanism.releasing(py, block, longest_walk)?.mechanism;
        let charge = ledger.map(|path| {
            let asked = AskedCharge { path, budget, window, persons };
            Charge::new(mechanism, &releasing, source.0.release_id(), start, asked)
        });
        Ok(Self {
            charge: charge.transpose()?,
            mechanism: releasing,
            labels: mechanism.labels.clone(),
            source: source.0.clone(),
            start,
            unknown: mechanism.labels.unknown_states(unknown_state)?,
        })
    }

    /// Whether states that the chain does not have are left out.
    #[getter]
    fn skips(&self) -> bool {
        self.unknown == UnknownStates::Skip
    }

    /// Whether what is drawn is an observation, which is released beside the walk made of it.
    #[getter]
    fn observes(&self) -> bool {
        self.mechanism.design().observes()
    }

    /// Whether what is observed are places, which are texts whatever the states are.
    #[getter]
    fn observes_places(&self) -> bool {
        self.mechanism.chart().is_some()
    }

    /// Whether every walk needs a name of its own: with a key, or to be charged.
    #[getter]
    fn needs_names(&self) -> bool {
        self.source.kind() == SourceKind::Keyed || self.charge.is_some()
    }
}

/// The name of every walk, by its place.
pub(crate) type Names<'n> = dyn Fn(usize) -> Cow<'n, str> + Sync + 'n;

impl Manner {
    fn releaser(&self) -> Result<Releaser, OpenError> {
        Releaser::new(self.mechanism.clone(), &self.source, self.start)
    }

    /// Refuses walks that are too long to be released, and charges all others that have a state.
    /// Nothing may be released before.
    pub(crate) fn admit<'n, 's>(
        &self,
        walks: impl IntoIterator<Item = (Cow<'n, str>, &'s [u32])>,
    ) -> PyResult<()> {
        let longest = match self.mechanism.blocks().map(Blocks::length) {
            Some(BlockLength::Whole { longest }) => Some(longest.get()),
            _ => None,
        };
        // A first state that is drawn near the real one belongs to the block.
        let before_the_block = usize::from(self.start != Start::Private);
        if longest.is_none() && self.charge.is_none() {
            return Ok(());
        }
        let digested = self.charge.is_some() && self.source.release_id().is_some();
        let releaser = digested.then(|| self.releaser()).transpose().map_err(NotReleased::from)?;
        let mut admitted = Vec::new();
        for (name, states) in walks {
            if let Some(longest) = longest
                && states.len().saturating_sub(before_the_block) > longest as usize
            {
                let error = PushError::TooLong { longest };
                return Err(NotReleased::Refused(name.into_owned(), error).into());
            }
            if !states.is_empty() {
                let digest = releaser.as_ref().and_then(|r| digest(r, &name, states));
                admitted.push((name, digest));
            }
        }
        match &self.charge {
            Some(charge) if !admitted.is_empty() => charge.charge(&admitted),
            _ => Ok(()),
        }
    }
}

/// The digest of a real walk for the ledger: a release that is repeated is told from another by it.
fn digest(releaser: &Releaser, name: &str, states: &[u32]) -> Option<[u8; 16]> {
    let mut digest = releaser.walk_digest(name)?;
    states.iter().for_each(|&state| digest.push(StateId::new(state as usize)));
    Some(digest.so_far().to_bytes())
}

/// Why walks were not released.
#[derive(Debug)]
pub(crate) enum NotReleased {
    /// The operating system has no randomness.
    Open(OpenError),
    /// The process was forked on the way.
    Forked(Forked),
    /// A walk that is too long to be released as a whole.
    Refused(String, PushError),
    /// The model was changed in place while it was in use.
    Changed(ModelChanged),
    /// Someone asked to stop; Python has the reason.
    Stopped,
}

impl From<NotReleased> for PyErr {
    fn from(error: NotReleased) -> Self {
        VeilwalkError::new_err(match error {
            NotReleased::Open(error) => error.to_string(),
            NotReleased::Forked(error) => error.to_string(),
            NotReleased::Refused(walk, error) => {
                return WalkError::new_err(format!("walk {walk:?}: {error}; nothing was released"));
            }
            NotReleased::Changed(error) => return chain_error(error),
            NotReleased::Stopped => "stopped on request; nothing was released".to_owned(),
        })
    }
}

/// Walks that make up at least so many states are released by one thread in one go.
const BATCH: usize = 1 << 14;
/// How many steps are taken before a request to stop is looked for.
const PATIENCE: usize = 1 << 12;

/// Walks one after another that are released by one thread, and where what is observed of them goes.
struct Batch<'a> {
    walks: Range<usize>,
    states: &'a mut [u32],
    /// None under a mechanism that draws moves.
    observed: Option<&'a mut [Outcome]>,
}

/// Replaces real walks by released ones. Walk `i` is `states[bounds[i]..bounds[i + 1]]`. Gives what was
/// observed for each state, under a mechanism that draws observations.
pub(crate) fn release(
    manner: &Manner,
    names: &Names<'_>,
    bounds: &[usize],
    states: &mut [u32],
    stop: &Stop,
) -> Result<Option<Vec<Outcome>>, NotReleased> {
    let walks = bounds.len() - 1;
    // Made of the first state, not of the real ones: whatever is not written to says nothing.
    let nothing = Outcome::from(StateId::new(0));
    let mut observed = manner.mechanism.design().observes().then(|| vec![nothing; states.len()]);
    let mut batches = Vec::new();
    let (mut first, mut rest, mut rest_observed) = (0, states, observed.as_deref_mut());
    while first < walks {
        let mut last = first + 1;
        while last < walks && bounds[last] - bounds[first] < BATCH {
            last += 1;
        }
        let length = bounds[last] - bounds[first];
        let (states, after) = rest.split_at_mut(length);
        let (observed, after_observed) =
            rest_observed.map(|observed| observed.split_at_mut(length)).unzip();
        batches.push(Batch { walks: first..last, states, observed });
        (first, rest, rest_observed) = (last, after, after_observed);
    }
    let release_batch =
        |batch: Batch<'_>| release_walks(manner.releaser()?, batch, bounds, names, stop);
    let model = manner.mechanism.model();
    model.guarded(|| batches.into_par_iter().try_for_each(release_batch))?;
    Ok(observed)
}

fn release_walks(
    mut releaser: Releaser,
    batch: Batch<'_>,
    bounds: &[usize],
    names: &Names<'_>,
    stop: &Stop,
) -> Result<(), NotReleased> {
    let Batch { walks, states, mut observed } = batch;
    let offset = bounds[walks.start];
    let mut released = Released::default();
    for walk in walks {
        let range = bounds[walk] - offset..bounds[walk + 1] - offset;
        let name = names(walk);
        let mut open = releaser.walk(&name);
        released.clear();
        for (step, state) in states[range.clone()].iter().enumerate() {
            if step % PATIENCE == 0 && stop.requested() {
                return Err(NotReleased::Stopped);
            }
            let pushed = releaser.push(&mut open, StateId::new(*state as usize), &mut released);
            pushed.map_err(|error| match error {
                PushError::Forked(error) => NotReleased::Forked(error),
                error => NotReleased::Refused(name.clone().into_owned(), error),
            })?;
        }
        releaser.finish(open, &mut released)?;
        overwrite(&mut states[range.clone()], &released.states);
        if let Some(observed) = &mut observed {
            observed[range].copy_from_slice(&released.observed);
        }
    }
    Ok(())
}

fn overwrite(places: &mut [u32], states: &[StateId]) {
    debug_assert_eq!(places.len(), states.len(), "every real state is answered");
    places.iter_mut().zip(states).for_each(|(place, state)| *place = state.index() as u32);
}

impl From<ModelChanged> for NotReleased {
    fn from(error: ModelChanged) -> Self {
        Self::Changed(error)
    }
}

impl From<OpenError> for NotReleased {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

impl From<Forked> for NotReleased {
    fn from(error: Forked) -> Self {
        Self::Forked(error)
    }
}
