//! What releases say about the real walks: refined walks, and what the crowd did.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use veilwalk::inference::{
    self as core, Estimate, EstimateError, EstimateInquiry, EstimateSettings, Expected, Inference,
    Interval, IntervalSettings, Law, Learned, RefineAim, RefineError, RefineSettings, RefinedWalk,
    Sample, Share, Weights, WithTrips, learn,
};
use veilwalk::{Outcome, Progress, Start, StateId, Stopped, unwatched};
use veilwalk_io::UnknownStates;

use crate::analysis::read_walks;
use crate::chain::Chain;
use crate::error::{VeilwalkError, WalkError, parameter_error};
use crate::interrupt::{self, Stop};
use crate::labels::Naming;
use crate::mechanism::Mechanism;

/// A released walk as Python gives it.
type Given<'py> = Vec<Vec<Bound<'py, PyAny>>>;

/// Refined states with their confidence, row by row; if they were asked for, the likely states of each step with the
/// walk, the step and the probability; and how much was dropped, and how often the release contradicted everything.
type RefinedColumns<'py> =
    (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>, Option<LikelyColumns<'py>>, f64, u64);

type LikelyColumns<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f64>>,
);

/// Infers from releases of this mechanism, for somebody who takes real walks to be walks of this chain.
fn inference(
    mechanism: Arc<veilwalk::Mechanism>,
    start: Start,
    prior: Option<&veilwalk::Chain>,
) -> PyResult<Inference> {
    let made = Inference::new(mechanism, start).map_err(parameter_error)?;
    match prior {
        None => Ok(made),
        Some(prior) => {
            made.with_prior(prior).map_err(|why| parameter_error(format!("prior: {why}")))
        }
    }
}

fn wrong_walk(walk: usize, why: impl std::fmt::Display) -> PyErr {
    WalkError::new_err(format!("walk {walk}: {why}"))
}

fn refine_error(error: RefineError) -> PyErr {
    match error {
        RefineError::Walk { walk, why } => wrong_walk(walk, why),
        other => VeilwalkError::new_err(other.to_string()),
    }
}

/// What is wrong with one of so many releases.
fn estimate_error(releases: usize) -> impl Fn(EstimateError) -> PyErr {
    move |error| match error {
        EstimateError::Walk { walk, why, .. } if releases == 1 => wrong_walk(walk, why),
        EstimateError::Walk { sample, walk, why } => {
            WalkError::new_err(format!("release {sample}, walk {walk}: {why}"))
        }
        EstimateError::NoWalks => WalkError::new_err(error.to_string()),
        other => VeilwalkError::new_err(other.to_string()),
    }
}

/// What was drawn for walks: states, or the texts of places where those were observed.
fn read_drawn(
    chain: &Chain,
    mechanism: &Mechanism,
    walks: &Given<'_>,
) -> PyResult<Vec<Vec<Outcome>>> {
    let outcomes = mechanism.made.mechanism.outcomes();
    if outcomes.chart().is_none() {
        let walks = read_walks(chain, walks, UnknownStates::Refuse)?;
        return Ok(walks.iter().map(|walk| Outcome::all(walk)).collect());
    }
    let mut found = Vec::with_capacity(walks.len());
    for (number, walk) in walks.iter().enumerate() {
        let read = |(step, value): (usize, &Bound<'_, PyAny>)| {
            let text = value.extract::<std::borrow::Cow<'_, str>>().ok();
            if let Some(outcome) = text.and_then(|text| outcomes.read(&text)) {
                return Ok(outcome);
            }
            // A first state that was not observed may be an integer.
            match chain.labels().state(value, Naming::Integer) {
                Ok((state, _)) => Ok(state.into()),
                Err(_) => Err(WalkError::new_err(format!(
                    "walk {number}, step {step}: {value} is not a place that `plane` observes; give what \
                     privatize gave, latitude and longitude in degrees with nine decimals"
                ))),
            }
        };
        found.push(walk.iter().enumerate().map(read).collect::<PyResult<Vec<_>>>()?);
    }
    Ok(found)
}

/// Refines released walks, from what was drawn for each (the released states themselves if nothing else is given).
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn refine<'py>(
    py: Python<'py>,
    chain: &Chain,
    mechanism: &Mechanism,
    start: &Bound<'py, PyAny>,
    released: Given<'py>,
    observed: Option<Given<'py>>,
    aim: &str,
    lag: Option<usize>,
    prior: Option<&Chain>,
    above: Option<f64>,
    threads: Option<usize>,
) -> PyResult<RefinedColumns<'py>> {
    let start = mechanism.start(start)?;
    let aim: RefineAim = aim.parse().map_err(|why| parameter_error(format!("aim: {why}")))?;
    let released = read_walks(chain, &released, UnknownStates::Refuse)?;
    let observed =
        observed.as_ref().map(|walks| read_drawn(chain, mechanism, walks)).transpose()?;
    let prior = prior.map(|chain| chain.labels().chain().clone());
    let mechanism = mechanism.made.mechanism.clone();
    let walks = interrupt::run_with_threads(py, threads, move |stop: &Stop| {
        let inference = inference(mechanism, start, prior.as_ref())?;
        let settings = RefineSettings { aim, lag, above };
        let watch = |_: Progress| stop.flow();
        let refined = match &observed {
            Some(drawn) => inference.refine_walks(drawn, &released, settings, &watch),
            None => inference.refine_walks(&released, &released, settings, &watch),
        };
        refined.map_err(refine_error)
    })?;
    let refined = || walks.iter().map(|walk| &walk.refined);
    let states = refined().flat_map(|walk| walk.states.iter().map(|state| state.index() as u32));
    let confidence = refined().flat_map(|walk| walk.confidence.iter().copied());
    let dropped: f64 = refined().map(|walk| walk.dropped).sum();
    Ok((
        PyArray1::from_iter(py, states),
        PyArray1::from_iter(py, confidence),
        above.map(|_| likely(py, &walks)),
        dropped / walks.len().max(1) as f64,
        refined().map(|walk| walk.surprises).sum(),
    ))
}

fn likely<'py>(py: Python<'py>, walks: &[RefinedWalk]) -> LikelyColumns<'py> {
    let (mut of, mut at, mut states, mut probabilities) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (number, walk) in (0..).zip(walks) {
        for (step, likely) in (0..).zip(&walk.likely) {
            for &(state, probability) in likely {
                of.push(number);
                at.push(step);
                states.push(state.index() as u32);
                probabilities.push(probability);
            }
        }
    }
    (
        PyArray1::from_vec(py, of),
        PyArray1::from_vec(py, at),
        PyArray1::from_vec(py, states),
        PyArray1::from_vec(py, probabilities),
    )
}

/// Shares of states or of pairs of states, from and to.
type Shares = (Vec<u32>, Vec<u32>, Vec<f64>, Option<(Vec<f64>, Vec<f64>)>);

/// A release, with the mechanism and the start that it was made by.
type ReleaseOf<'py> = (PyRef<'py, Mechanism>, Bound<'py, PyAny>, Given<'py>);

/// What the crowd did: shares of `visits` (each state as a pair with itself), `moves` or `od`, or the chain; and
/// whether the estimate settled, how much was dropped, and how often the releases contradicted everything.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn estimate<'py>(
    py: Python<'py>,
    chain: &Chain,
    releases: Vec<ReleaseOf<'py>>,
    what: &str,
    level: Option<f64>,
    replicates: usize,
    seed: u64,
    strength: f64,
    threads: Option<usize>,
) -> PyResult<(Option<Chain>, Shares, bool, f64, u64)> {
    let read = releases.into_iter().map(|(mechanism, start, drawn)| {
        let drawn = read_drawn(chain, &mechanism, &drawn)?;
        Ok((mechanism.made.mechanism.clone(), mechanism.start(&start)?, drawn))
    });
    let read = read.collect::<PyResult<Vec<_>>>()?;
    let trips = if what == "od" { WithTrips::Yes } else { WithTrips::No };
    let inquiry = EstimateInquiry {
        settings: EstimateSettings { strength, ..EstimateSettings::default() },
        trips,
        intervals: level.map(|level| IntervalSettings { level, replicates, seed, trips }),
    };
    let found = interrupt::run_with_threads(py, threads, move |stop: &Stop| {
        let inferences =
            read.iter().map(|(mechanism, start, _)| inference(mechanism.clone(), *start, None));
        let inferences = inferences.collect::<PyResult<Vec<_>>>()?;
        let each = inferences.iter().zip(&read);
        let samples: Vec<Sample<'_>> =
            each.map(|(inference, (_, _, walks))| Sample { inference, walks }).collect();
        learn(&samples, inquiry, &|_| stop.flow()).map_err(estimate_error(samples.len()))
    })?;
    let learned = learned_chain(py, chain, &found.estimate, what)?;
    let expected = found.estimate.expected();
    let (converged, dropped) = (found.estimate.converged(), expected.dropped());
    Ok((learned, shares(&found, what), converged, dropped, expected.surprises()))
}

/// Probabilities of first states and of moves, one for each.
type LawNumbers = (Vec<f64>, Vec<f64>);

fn law(inference: &Inference, chain: &veilwalk::Chain, numbers: LawNumbers) -> PyResult<Law> {
    let (initial, moves) = numbers;
    let are_shares = |numbers: &[f64]| numbers.iter().all(|p| p.is_finite() && *p >= 0.0);
    let fit = (initial.len(), moves.len()) == (chain.len(), chain.transitions());
    if !fit || !are_shares(&initial) || !are_shares(&moves) {
        return Err(parameter_error("one share for each state and one for each move of the chain"));
    }
    Ok(inference.law().with(initial, moves))
}

/// What is asked of walks under laws of real walks, each walk as often as its weight for the law says: once for every law.
struct UnderLaws {
    states: veilwalk::Chain,
    mechanism: Arc<veilwalk::Mechanism>,
    start: Start,
    drawn: Vec<Vec<Outcome>>,
    laws: Vec<LawNumbers>,
    weights: Option<Vec<Vec<u32>>>,
}

impl UnderLaws {
    fn new(
        chain: &Chain,
        mechanism: &Mechanism,
        start: &Bound<'_, PyAny>,
        drawn: &Given<'_>,
        laws: Vec<LawNumbers>,
        weights: Option<Vec<Vec<u32>>>,
    ) -> PyResult<Self> {
        let start = mechanism.start(start)?;
        let drawn = read_drawn(chain, mechanism, drawn)?;
        if weights.as_ref().is_some_and(|weights| {
            weights.len() != laws.len() || weights.iter().any(|of_law| of_law.len() != drawn.len())
        }) {
            return Err(parameter_error("one weight for each walk under each law"));
        }
        let states = chain.labels().chain().clone();
        let mechanism = mechanism.made.mechanism.clone();
        Ok(Self { states, mechanism, start, drawn, laws, weights })
    }

    /// Asks it.
    fn each<T: Send + 'static>(
        self,
        py: Python<'_>,
        ask: fn(&[Sample<'_>], &Weights, &Law, &Stop) -> PyResult<T>,
    ) -> PyResult<Vec<T>> {
        interrupt::run(py, move |stop: &Stop| {
            let inference = inference(self.mechanism, self.start, None)?;
            let samples = [Sample { inference: &inference, walks: &self.drawn }];
            let answer = |(place, numbers): (usize, LawNumbers)| {
                let law = law(&inference, &self.states, numbers)?;
                let weights = match &self.weights {
                    None => Weights::one_each(&samples),
                    Some(weights) => Weights::new(vec![weights[place].clone()]),
                };
                ask(&samples, &weights, &law, stop)
            };
            self.laws.into_iter().enumerate().map(answer).collect::<PyResult<Vec<_>>>()
        })
    }
}

/// The expected counts of these walks under laws of real walks, each walk as often as its weight for the law says: a part
/// of what [`estimate_by`] asks for, once for every law.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn expected_counts<'py>(
    py: Python<'py>,
    chain: &Chain,
    mechanism: &Mechanism,
    start: &Bound<'py, PyAny>,
    drawn: Given<'py>,
    laws: Vec<LawNumbers>,
    weights: Option<Vec<Vec<u32>>>,
) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
    let asked = UnderLaws::new(chain, mechanism, start, &drawn, laws, weights)?;
    let numbers = asked.each(py, |samples, weights, law, stop| {
        let found = core::expected_counts(samples, weights, law, &|_| stop.flow());
        found.map(|counts| counts.to_numbers()).map_err(estimate_error(1))
    })?;
    Ok(numbers.into_iter().map(|numbers| PyArray1::from_vec(py, numbers)).collect())
}

/// The expected numbers of walks from each first state to each last one under laws of real walks, weighed as
/// [`expected_counts`] does: for each law first states, last states, numbers.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "what Python unpacks")]
pub(crate) fn expected_trips<'py>(
    py: Python<'py>,
    chain: &Chain,
    mechanism: &Mechanism,
    start: &Bound<'py, PyAny>,
    drawn: Given<'py>,
    laws: Vec<LawNumbers>,
    weights: Option<Vec<Vec<u32>>>,
) -> PyResult<Vec<(Vec<u32>, Vec<u32>, Vec<f64>)>> {
    UnderLaws::new(chain, mechanism, start, &drawn, laws, weights)?.each(
        py,
        |samples, weights, law, stop| {
            let found = core::trips(samples, weights, law, &|_| stop.flow());
            let found = found.map_err(|stopped| VeilwalkError::new_err(stopped.to_string()))?;
            let (mut first, mut last, mut counts) = (Vec::new(), Vec::new(), Vec::new());
            for ((from, to), count) in found {
                first.push(from.index() as u32);
                last.push(to.index() as u32);
                counts.push(count);
            }
            Ok((first, last, counts))
        },
    )
}

/// Intervals of this level around the shares of counts, given the counts of replicates: lower and upper ends.
#[pyfunction]
pub(crate) fn intervals_of(
    counts: Vec<f64>,
    replicates: Vec<Vec<f64>>,
    level: f64,
) -> PyResult<(Vec<f64>, Vec<f64>)> {
    if replicates.iter().any(|replicate| replicate.len() != counts.len()) {
        return Err(parameter_error("every replicate has as many counts"));
    }
    let made = core::intervals_of(&counts, &replicates, level);
    Ok(made.iter().map(|interval| (interval.low, interval.high)).unzip())
}

/// What a callback raised.
struct Raised(PyErr);

impl From<Stopped> for Raised {
    fn from(stopped: Stopped) -> Self {
        Self(VeilwalkError::new_err(stopped.to_string()))
    }
}

/// What the crowd did, as by [`estimate`], where the walks are with others: `expect` takes the probabilities of
/// first states and of moves, and gives the sum of all [`expected_counts`]. It begins with another law than that of the
/// chain if there is one. Gives the chain, shares, the law that was found, and what [`estimate`] tells of its quality.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "what Python unpacks")]
pub(crate) fn estimate_by(
    chain: &Chain,
    mechanism: &Mechanism,
    start: &Bound<'_, PyAny>,
    what: &str,
    strength: f64,
    begin: Option<LawNumbers>,
    expect: &Bound<'_, PyAny>,
) -> PyResult<(Option<Chain>, Shares, LawNumbers, Vec<f64>, (bool, f64, u64))> {
    let py = expect.py();
    let start = mechanism.start(start)?;
    let inference = inference(mechanism.made.mechanism.clone(), start, None)?;
    let settings = EstimateSettings { strength, ..EstimateSettings::default() };
    let prior = inference.law();
    let from = begin.map(|numbers| law(&inference, chain.labels().chain(), numbers)).transpose()?;
    let counts = |law: &Law| {
        let asked = expect.call1((law.initial().to_vec(), law.all_probabilities().to_vec()));
        let numbers = asked.and_then(|numbers| numbers.extract::<Vec<f64>>()).map_err(Raised)?;
        let counts = Expected::from_numbers(&numbers, law);
        counts
            .filter(|counts| counts.walks() > 0.0)
            .ok_or_else(|| Raised(estimate_error(1)(EstimateError::NoWalks)))
    };
    let found =
        core::estimate_by(from.as_ref().unwrap_or(prior), prior, settings, counts, &unwatched);
    let found = found.map_err(|Raised(error)| error)?;
    let learned = learned_chain(py, chain, &found, what)?;
    let (converged, expected) = (found.converged(), found.expected());
    let quality = (converged, expected.dropped(), expected.surprises());
    let law = (found.law().initial().to_vec(), found.law().all_probabilities().to_vec());
    let counts = match what {
        "moves" => expected.moves().to_vec(),
        _ => expected.visits().to_vec(),
    };
    Ok((learned, shares(&Learned::of(found), what), law, counts, quality))
}

/// The chain that was learned, if that is what is asked for.
fn learned_chain(
    py: Python<'_>,
    chain: &Chain,
    found: &Estimate,
    what: &str,
) -> PyResult<Option<Chain>> {
    if what != "chain" {
        return Ok(None);
    }
    let learned = found.law().to_chain(chain.labels().chain()).map_err(|why| {
        parameter_error(format!("{why}; a larger strength keeps every move possible"))
    })?;
    Ok(Some(Chain::new(py, learned, Vec::new())))
}

fn shares(found: &Learned, what: &str) -> Shares {
    let pairs = |pairs: &[Share<(StateId, StateId)>]| {
        columns(pairs.iter().map(|pair| (pair.of, pair.share, pair.interval)))
    };
    match what {
        "moves" => pairs(&found.moves),
        "od" => pairs(&found.trips),
        _ => columns(found.visits.iter().map(|one| ((one.of, one.of), one.share, one.interval))),
    }
}

fn columns(rows: impl Iterator<Item = ((StateId, StateId), f64, Option<Interval>)>) -> Shares {
    let (mut from, mut to, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for ((a, b), share, interval) in rows {
        from.push(a.index() as u32);
        to.push(b.index() as u32);
        shares.push(share);
        if let Some(interval) = interval {
            low.push(interval.low);
            high.push(interval.high);
        }
    }
    let intervals = (low.len() == shares.len()).then_some((low, high));
    (from, to, shares, intervals)
}
