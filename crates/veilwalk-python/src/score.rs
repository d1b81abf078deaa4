//! Whether a release is worth anything.

use pyo3::prelude::*;
use veilwalk_io::UnknownStates;
use veilwalk_score::{
    Candidate, PlainCounts, ScoreOptions, Walks, as_json, read_estimate, score as scored,
};

use crate::analysis::read_walks;
use crate::chain::Chain;
use crate::error::{WalkError, parameter_error};
use crate::interrupt;

/// Walks with what they are called in the answer, and whether each stands in the place of the real one at its place.
type Named<'py> = (String, Vec<Vec<Bound<'py, PyAny>>>, bool);

/// The figures of some walks, of an estimate (as JSON) and of plain counts at this price (epsilon, and how many replaced states)
/// against the real walks, beside those of the chain alone: as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn score<'py>(
    py: Python<'py>,
    chain: &Chain,
    real: Vec<Vec<Bound<'py, PyAny>>>,
    unknown_state: &Bound<'py, PyAny>,
    candidates: Vec<Named<'py>>,
    estimate: Option<&str>,
    counts: Option<(f64, u32)>,
    repetitions: usize,
    seed: u64,
) -> PyResult<String> {
    let unknown = chain.labels().unknown_states(unknown_state)?;
    let walks = |walks: &[Vec<Bound<'py, PyAny>>], unknown| -> PyResult<Walks> {
        let read = read_walks(chain, walks, unknown)?;
        Ok(read.iter().map(Vec::as_slice).collect())
    };
    let real = walks(&real, unknown)?;
    if real.is_empty() {
        return Err(WalkError::new_err("there are no real walks to compare with"));
    }
    let mut given = Vec::new();
    for (name, listed, paired) in &candidates {
        let made = walks(listed, UnknownStates::Refuse)
            .map_err(|error| WalkError::new_err(format!("{name}: {}", error.value(py))))?;
        if made.is_empty() {
            return Err(WalkError::new_err(format!("{name}: there are no walks to compare")));
        }
        // An empty walk is left out, and then places no longer tell which walk stands for which.
        given.push((name.clone(), *paired && made.len() == real.len(), made));
    }
    let public = chain.labels().chain().clone();
    let estimate = estimate
        .map(|text| {
            let json = serde_json::from_str(text).map_err(parameter_error)?;
            read_estimate(&json, &public)
                .map_err(|error| parameter_error(format!("estimate: {error}")))
        })
        .transpose()?;
    let found = interrupt::run(py, move |stop| {
        let mut candidates: Vec<(String, Candidate<'_>)> = given
            .iter()
            .map(|(name, paired, walks)| {
                let candidate =
                    if *paired { Candidate::Paired(walks) } else { Candidate::Walks(walks) };
                (name.clone(), candidate)
            })
            .collect();
        if let Some(statistics) = &estimate {
            candidates.push(("estimate".to_owned(), Candidate::Estimate(statistics)));
        }
        if let Some((epsilon, substitutions)) = counts {
            let counts = PlainCounts { epsilon, substitutions };
            candidates.push(("Laplace counts".to_owned(), Candidate::Counts(counts)));
        }
        let options = ScoreOptions { repetitions, seed };
        let found = scored(&public, &real, &candidates, options, &|| stop.requested());
        let found = found.ok_or_else(|| parameter_error("stopped on request"))?;
        Ok::<_, PyErr>(as_json(&real, options, &found))
    })?;
    Ok(found.to_string())
}
