//! Many walks at once, on all cores.
//!
//! Walks lie one after another in one list of states, which is overwritten by what is released. They
//! are dealt out in fixed batches. With a key or a seed every step has randomness of its own, so
//! neither the batches nor the number of threads show in the release.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use veilwalk::guarantee::Cover;
use veilwalk::guarantee::cover::radius_reaching;
use veilwalk::random::{Secret, SourceKind, Unavailable};
use veilwalk::session::Releaser;
use veilwalk::{Start, StateId};

use crate::error::{VeilwalkError, parameter_error};
use crate::interrupt::Stop;

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

    /// A number that anyone may know: not private.
    #[staticmethod]
    fn seeded(seed: u64) -> Self {
        Self(veilwalk::Source::seeded(seed))
    }

    /// A secret.
    #[staticmethod]
    fn keyed(secret: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let secret = Secret::new(secret.as_bytes()).map_err(parameter_error)?;
        Ok(Self(veilwalk::Source::keyed(secret)))
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

/// How walks are released.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    pub(crate) mechanism: Arc<veilwalk::Mechanism>,
    pub(crate) source: veilwalk::Source,
    pub(crate) start: Start,
}

/// Why walks were not released.
#[derive(Debug)]
pub(crate) enum NotReleased {
    /// The operating system has no randomness.
    Unavailable(Unavailable),
    /// Someone asked to stop; Python has the reason.
    Stopped,
}

impl From<NotReleased> for PyErr {
    fn from(error: NotReleased) -> Self {
        VeilwalkError::new_err(match error {
            NotReleased::Unavailable(error) => error.to_string(),
            NotReleased::Stopped => "stopped on request; nothing was released".to_owned(),
        })
    }
}

/// Walks that make up at least so many states are released by one thread in one go.
const BATCH: usize = 1 << 14;
/// How many steps are taken before a request to stop is looked for.
const PATIENCE: usize = 1 << 12;

/// Replaces real walks by released ones. Walk `i` is `states[bounds[i]..bounds[i + 1]]`.
pub(crate) fn release<'n>(
    manner: &Manner,
    names: &(dyn Fn(usize) -> std::borrow::Cow<'n, str> + Sync),
    bounds: &[usize],
    states: &mut [u32],
    stop: &Stop,
) -> Result<(), NotReleased> {
    let walks = bounds.len() - 1;
    let mut batches = Vec::new();
    let (mut first, mut rest) = (0, states);
    while first < walks {
        let mut last = first + 1;
        while last < walks && bounds[last] - bounds[first] < BATCH {
            last += 1;
        }
        let (batch, after) = rest.split_at_mut(bounds[last] - bounds[first]);
        batches.push((first..last, batch));
        (first, rest) = (last, after);
    }
    batches.into_par_iter().try_for_each(|(walks, states)| {
        let mut releaser = Releaser::new(manner.mechanism.clone(), &manner.source, manner.start)
            .map_err(NotReleased::Unavailable)?;
        let offset = bounds[walks.start];
        for walk in walks {
            let mut open = releaser.walk(&names(walk));
            let states = &mut states[bounds[walk] - offset..bounds[walk + 1] - offset];
            for steps in states.chunks_mut(PATIENCE) {
                if stop.requested() {
                    return Err(NotReleased::Stopped);
                }
                for state in steps {
                    let real = StateId::new(*state as usize);
                    *state = releaser.release(&mut open, real).index() as u32;
                }
            }
        }
        Ok(())
    })
}

/// Why a release would protect nothing, if it would.
pub(crate) fn empty_guarantee(mechanism: &veilwalk::Mechanism) -> Option<String> {
    let promise = mechanism.promise()?;
    let model = mechanism.model();
    if !Cover::new(model, promise.unit).is_vacuous() {
        return None;
    }
    let Some(closest) = model.closest_pair() else {
        return Some(
            "the guarantee would be empty: the chain has only one state, so there is nothing to \
             protect; allow_vacuous=True releases without protection"
                .to_owned(),
        );
    };
    let label = |state| model.chain().label(state);
    Some(format!(
        "the guarantee would be empty: on this chain no two different walks are within {}, so \
         epsilon {} would protect nothing. The two closest states, {:?} and {:?}, are {smallest} \
         nats apart; protect at least those with radius={smallest}. m.guarantee() says what a radius \
         protects; allow_vacuous=True releases without protection",
        promise.unit,
        promise.epsilon,
        label(closest.from),
        label(closest.to),
        smallest = radius_reaching(closest.distance),
    ))
}
