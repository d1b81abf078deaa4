//! How good releases are: one mechanism, several side by side, and the best of the family.

use pyo3::prelude::*;
use veilwalk::analysis::{Aim, Question, tune as best};
use veilwalk::analysis::{AnalysisEffort, Plan};
use veilwalk::analysis::{Attacked, Comparison, Setting};
use veilwalk::analysis::{Inquiry, Origin, usual_levels};
use veilwalk::guarantee;
use veilwalk::inference::Inference;
use veilwalk::internal::compare::Basis;
use veilwalk::internal::tune::{Delay, WalksFrom};
use veilwalk::mechanism::{Epsilon, Radius};
use veilwalk::{Preset, Progress, Start, StateId};
use veilwalk_io::UnknownStates;

use crate::chain::Chain;
use crate::choice::promise;
use crate::error::{VeilwalkError, WalkError, parameter_error};
use crate::interrupt;
use crate::labels::Naming;
use crate::mechanism::{Mechanism, start_word, to_value};

/// Where the chain's own walks start, and how released ones do.
fn starts(
    chain: &Chain,
    from: Option<&Bound<'_, PyAny>>,
    released: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Origin, Start)> {
    let origin = match from {
        None => Origin::Initial,
        Some(state) => Origin::At(chain.state("start", state)?),
    };
    let start = match (released, origin) {
        (None, Origin::Initial) => Start::Private,
        (None, Origin::At(_)) => Start::First,
        (Some(how), _) => released_start(chain, how)?,
    };
    Ok((origin, start))
}

/// How released walks start: a word or a state.
fn released_start(chain: &Chain, how: &Bound<'_, PyAny>) -> PyResult<Start> {
    let word = how.extract::<String>().ok().and_then(|word| start_word(&word));
    word.map_or_else(
        || {
            let what = "released_start (\"private\", \"initial\", \"first\" or a state)";
            Ok(Start::At(chain.state(what, how)?))
        },
        Ok,
    )
}

/// Everything that can be computed about a mechanism, as JSON, with the number of real moves that
/// the chain does not have.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn analyze(
    py: Python<'_>,
    chain: &Chain,
    mechanism: &Mechanism,
    start: Option<&Bound<'_, PyAny>>,
    released_start: Option<&Bound<'_, PyAny>>,
    steps: usize,
    real: Option<Vec<Vec<Bound<'_, PyAny>>>>,
    levels: Option<Vec<f64>>,
    etas: Vec<f64>,
    simulate: Option<u64>,
    seed: u64,
    thorough: bool,
    block: Option<&str>,
    longest_walk: Option<u64>,
    unknown_state: &Bound<'_, PyAny>,
) -> PyResult<(String, usize)> {
    mechanism.made.mechanism.model().require_tables().map_err(parameter_error)?;
    let (origin, start) = starts(chain, start, released_start)?;
    let unknown = chain.labels().unknown_states(unknown_state)?;
    let real = real.map(|walks| real_walks(chain, &walks, unknown)).transpose()?;
    let states = chain.labels().chain();
    let impossible = real.iter().flatten().flat_map(|walk| walk.windows(2));
    let impossible = impossible.filter(|pair| !states.allows(pair[0], pair[1])).count();
    let releasing = mechanism.releasing(py, block, longest_walk)?.mechanism;
    let measure = mechanism.made.mechanism.model().measure();
    let inside = |level: f64| measure.inside(level);
    let levels = match levels {
        Some(levels) => levels.into_iter().map(inside).collect(),
        None => usual_levels(mechanism.made.mechanism.model()),
    };
    let found = interrupt::run(py, move |stop| {
        let watch = |_: Progress| stop.flow();
        let inquiry = Inquiry {
            origin,
            steps,
            start,
            real: real.as_deref(),
            levels: &levels,
            etas: &etas,
            simulate,
            seed,
        };
        let effort =
            if thorough { AnalysisEffort::WHATEVER_IT_TAKES } else { AnalysisEffort::SOME };
        let plan = Plan { mechanism: &releasing, inquiry, effort };
        let found = plan.carry_out(&watch);
        let found = found.map_err(|e| VeilwalkError::new_err(e.to_string()))?;
        let mut found = to_value(&found)?;
        veilwalk_io::in_measure(&mut found, measure);
        Ok::<_, PyErr>(found.to_string())
    })?;
    Ok((found, impossible))
}

fn real_walks(
    chain: &Chain,
    walks: &[Vec<Bound<'_, PyAny>>],
    unknown: UnknownStates,
) -> PyResult<Vec<Vec<StateId>>> {
    let mut found = read_walks(chain, walks, unknown)?;
    if found.iter().all(|walk| walk.len() < 2) {
        return Err(WalkError::new_err(format!(
            "there is no step to analyze in {} walks; give walks of two states or more",
            found.len()
        )));
    }
    // A walk without a state has no first one either.
    found.retain(|walk| !walk.is_empty());
    Ok(found)
}

/// Walks as lists of states, each where it was.
pub(crate) fn read_walks(
    chain: &Chain,
    walks: &[Vec<Bound<'_, PyAny>>],
    unknown: UnknownStates,
) -> PyResult<Vec<Vec<StateId>>> {
    let mut found = Vec::with_capacity(walks.len());
    for (number, walk) in walks.iter().enumerate() {
        let states = walk.iter().enumerate().filter_map(|(step, value)| {
            match chain.labels().state_or(value, Naming::Integer, unknown) {
                Ok((state, _)) => state.map(Ok),
                Err(why) => {
                    Some(Err(WalkError::new_err(format!("walk {number}, step {step}: {why}"))))
                }
            }
        });
        found.push(states.collect::<PyResult<Vec<_>>>()?);
    }
    Ok(found)
}

/// How often somebody who knows the chain guesses right from releases, as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn attack(
    py: Python<'_>,
    chain: &Chain,
    mechanism: &Mechanism,
    start: Option<&Bound<'_, PyAny>>,
    released_start: Option<&Bound<'_, PyAny>>,
    steps: usize,
    walks: usize,
    real: Option<Vec<Vec<Bound<'_, PyAny>>>>,
    unknown_state: &Bound<'_, PyAny>,
    prior: Option<&Chain>,
    seed: u64,
) -> PyResult<String> {
    let (origin, start) = starts(chain, start, released_start)?;
    let unknown = chain.labels().unknown_states(unknown_state)?;
    let real = real.map(|walks| real_walks(chain, &walks, unknown)).transpose()?;
    let failed = |why: String| VeilwalkError::new_err(why);
    let mechanism = mechanism.made.mechanism.clone();
    let inference = Inference::new(mechanism, start).map_err(|why| failed(why.to_string()))?;
    let inference = match prior {
        Some(prior) => inference.with_prior(prior.labels().chain()).map_err(parameter_error)?,
        None => inference,
    };
    interrupt::run(py, move |stop| {
        let watch = |_: Progress| stop.flow();
        let attacked = match &real {
            Some(walks) => Attacked::Given(walks),
            None => Attacked::Own { origin, steps, walks },
        };
        let found = veilwalk::analysis::attack(&inference, attacked, seed, &watch);
        let found = found.map_err(|why| failed(why.to_string()))?;
        Ok::<_, PyErr>(to_value(&found)?.to_string())
    })
}

/// Mechanisms side by side: comparisons as JSON, one for each ε and basis, and how releases start.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn compare(
    py: Python<'_>,
    chain: &Chain,
    epsilons: Vec<String>,
    radius: Option<&str>,
    mechanisms: Vec<String>,
    start: Option<&Bound<'_, PyAny>>,
    released_start: Option<&Bound<'_, PyAny>>,
    steps: usize,
    level: Option<f64>,
    all_pairs: bool,
) -> PyResult<String> {
    let (origin, start) = starts(chain, start, released_start)?;
    let mut epsilons = epsilons
        .iter()
        .map(|text| text.parse::<Epsilon>().map_err(parameter_error))
        .collect::<PyResult<Vec<_>>>()?;
    epsilons.sort();
    epsilons.dedup();
    let radius = radius.map(|text| text.parse::<Radius>().map_err(parameter_error)).transpose()?;
    let bases: Vec<Basis> = radius.map(Basis::Radius).into_iter().chain([Basis::Loss]).collect();
    let mut presets: Vec<Preset> = Vec::new();
    for name in &mechanisms {
        let preset = name.parse().map_err(parameter_error)?;
        if !presets.contains(&preset) {
            presets.push(preset);
        }
    }
    let effort = if all_pairs { guarantee::Effort::UNLIMITED } else { Setting::SOME_EFFORT };
    let model = chain.model_with_tables(py)?;
    let measure = model.measure();
    let inside = |level: f64| measure.inside(level);
    let level = level.map_or_else(|| Setting::usual_level(&model), inside);
    let setting = Setting { model, origin, start, steps, level, effort };
    interrupt::run(py, move |stop| {
        let mut comparisons = Vec::new();
        for &epsilon in &epsilons {
            for &basis in &bases {
                let comparison =
                    Comparison::new(&setting, &presets, basis, epsilon, &|_, _| stop.flow());
                let comparison = comparison.map_err(|e| VeilwalkError::new_err(e.to_string()))?;
                comparisons.push(to_value(&comparison)?);
            }
        }
        let mut answer = serde_json::Value::from(comparisons);
        veilwalk_io::in_measure(&mut answer, measure);
        Ok::<_, PyErr>(answer.to_string())
    })
}

/// The members of the family, best first, as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn tune(
    py: Python<'_>,
    chain: &Chain,
    epsilon: &str,
    radius: Option<&str>,
    substitutions: Option<u64>,
    aim: &str,
    from_: &Bound<'_, PyAny>,
    released_start: &Bound<'_, PyAny>,
    steps: usize,
) -> PyResult<String> {
    let promise = promise(epsilon, radius, substitutions)?;
    let aim: Aim = aim.parse().map_err(|e| parameter_error(format!("aim: {e}")))?;
    let question = Question {
        promise,
        aim,
        from: match from_.extract::<String>().as_deref() {
            Ok("initial") => WalksFrom::Initial,
            Ok("stationary") => WalksFrom::Stationary,
            _ => {
                WalksFrom::At(chain.state("start (\"initial\", \"stationary\" or a state)", from_)?)
            }
        },
        start: self::released_start(chain, released_start)?,
        steps,
        delay: Delay::None,
    };
    let model = chain.model_with_tables(py)?;
    interrupt::run(py, move |stop| {
        let ranking = best(&model, question, &|_: Progress| stop.flow());
        let ranking = ranking.map_err(|e| VeilwalkError::new_err(e.to_string()))?;
        let mut answer = to_value(&ranking)?;
        answer["chain"] = model.chain().hash().to_string().into();
        veilwalk_io::in_measure(&mut answer, model.measure());
        Ok::<_, PyErr>(answer.to_string())
    })
}
