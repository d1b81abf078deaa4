//! A mechanism on a chain, as Python makes it.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use serde_json::{Value, json};
use veilwalk::guarantee;
use veilwalk::guarantee::{AuditPlan, Cover, Effort, Guarantee, Price, audit};
use veilwalk::internal::analysis::{Attacks, USUAL_STEPS, attack_in_words, usual_attack};
use veilwalk::internal::guarantee::{Observed, StepSampler, audited_loss};
use veilwalk::internal::request::{Made, Request};
use veilwalk::mechanism::{
    BlockLength, Calibration, CandidateKind, Candidates, Observation, Tracking, Unit, WeightsFound,
};
use veilwalk::{Model, Source, Start, StateId};

use crate::chain::Chain;
use crate::choice::{Words, block_length, promise};
use crate::error::{EmptyGuaranteeError, ParameterError, parameter_error};
use crate::interrupt;
use crate::labels::{Labels, Naming};
use crate::people::in_words;

/// A member of the family on a chain.
#[pyclass(frozen, module = "veilwalk._native")]
#[derive(Debug)]
pub(crate) struct Mechanism {
    pub(crate) made: Made,
    pub(crate) labels: Arc<Labels>,
    request: Request,
    price: OnceLock<Option<Price>>,
    cover: OnceLock<Cover>,
    /// The blocks that were asked for last, which are likely to be asked for again.
    blocks: Mutex<Option<Made>>,
}

impl Mechanism {
    /// What a ledger has to know of releases step by step.
    pub(crate) fn price(&self) -> Option<Price> {
        *self.price.get_or_init(|| Price::of(&self.made.mechanism))
    }

    /// How walks are made of observations, if they are.
    fn tracking(&self) -> Option<Tracking> {
        self.made.mechanism.observation().map(Observation::tracking)
    }

    /// Makes what was chosen, which may take long.
    pub(crate) fn new(py: Python<'_>, chain: &Chain, request: Request) -> PyResult<Self> {
        // What does not go together is refused before distances are computed.
        request.settle(chain.labels().chain()).map_err(parameter_error)?;
        let model = chain.model(py)?;
        Ok(Self {
            made: made(py, &model, request)?,
            labels: chain.labels().clone(),
            request,
            price: OnceLock::new(),
            cover: OnceLock::new(),
            blocks: Mutex::new(None),
        })
    }

    /// How released walks start.
    pub(crate) fn start(&self, how: &Bound<'_, PyAny>) -> PyResult<Start> {
        let word = how.extract::<String>().ok().and_then(|word| start_word(&word));
        match word {
            Some(start) => Ok(start),
            None => match self.labels.state(how, Naming::Integer) {
                Ok((state, _)) => Ok(Start::At(state)),
                Err(why) => Err(parameter_error(format!(
                    "start (\"private\", \"initial\", \"first\" or a state): {why}"
                ))),
            },
        }
    }

    fn state(&self, parameter: &str, value: &Bound<'_, PyAny>) -> PyResult<StateId> {
        let found = self.labels.state(value, Naming::Integer);
        found.map(|(state, _)| state).map_err(|why| parameter_error(format!("{parameter}: {why}")))
    }

    /// What releases walks: one state at a time, or in blocks of this length.
    pub(crate) fn releasing(
        &self,
        py: Python<'_>,
        block: Option<&str>,
        longest_walk: Option<u64>,
    ) -> PyResult<Made> {
        let Some(length) = block_length(block, longest_walk)? else { return Ok(self.made.clone()) };
        let known = || self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let is_asked =
            |made: &&Made| made.mechanism.blocks().is_some_and(|blocks| blocks.length() == length);
        if let Some(made) = known().as_ref().filter(is_asked) {
            return Ok(made.clone());
        }
        let request = Request { block: Some(length), ..self.request };
        let made = made(py, self.made.mechanism.model(), request)?;
        *known() = Some(made.clone());
        Ok(made)
    }

    /// What the promise covers, found once.
    fn cover(&self, py: Python<'_>) -> PyResult<Cover> {
        if let Some(&known) = self.cover.get() {
            return Ok(known);
        }
        let (model, unit) = (self.made.mechanism.model().clone(), self.made.promise.unit);
        let found = interrupt::run(py, move |stop| {
            Cover::watched(&model, unit, &|_| stop.flow()).map_err(parameter_error)
        })?;
        Ok(*self.cover.get_or_init(|| found))
    }

    fn require_tables(&self) -> PyResult<()> {
        self.made.mechanism.model().require_tables().map_err(parameter_error)
    }
}

/// What a mechanism is made of: ε, radius, substitutions, and what was chosen, in words.
type Arguments = (String, Option<String>, Option<u32>, Words);

#[pymethods]
impl Mechanism {
    #[new]
    fn from_words(
        py: Python<'_>,
        chain: &Chain,
        epsilon: &str,
        radius: Option<&str>,
        substitutions: Option<u64>,
        words: Words,
    ) -> PyResult<Self> {
        let promise = promise(epsilon, radius, substitutions)?;
        Self::new(py, chain, words.request(promise)?)
    }

    /// The name it goes by.
    #[getter]
    fn name(&self) -> &str {
        &self.made.name
    }

    /// What gives the same mechanism again, but for the chain.
    #[getter]
    fn arguments(&self) -> Arguments {
        let radius = match self.made.promise.unit {
            Unit::Radius(radius) => Some(radius.to_string()),
            Unit::Substitutions(_) => None,
        };
        (self.epsilon(), radius, self.substitutions(), Words::of(&self.request))
    }

    /// The labels of the chain's states.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, pyo3::types::PyString>> {
        let states = self.labels.chain().len();
        (0..states).map(|state| self.labels.as_text(py, state).clone()).collect()
    }

    #[getter]
    fn distance(&self) -> &'static str {
        self.made.mechanism.design().distance.name()
    }

    #[getter]
    fn rule(&self) -> &'static str {
        self.made.mechanism.design().rule.name()
    }

    #[getter]
    fn chain_weight(&self) -> String {
        self.made.mechanism.design().chain_weight.to_string()
    }

    /// Which states can be drawn: `moves`, `states` or `believed`; `plane` for places on the earth.
    #[getter]
    fn candidates(&self) -> &'static str {
        CandidateKind::of(self.made.mechanism.design().candidates).name()
    }

    /// Whether what is observed are places, which are texts whatever the states are.
    #[getter]
    fn observes_places(&self) -> bool {
        self.made.mechanism.chart().is_some()
    }

    /// Whether what is drawn is an observation, which is released beside the walk made of it.
    #[getter]
    fn observes(&self) -> bool {
        self.made.mechanism.design().observes()
    }

    /// The weights of all states that were asked for, where all can be drawn.
    #[getter]
    fn weights(&self) -> Option<&'static str> {
        match self.made.mechanism.design().candidates {
            Candidates::States(weights) => Some(weights.name()),
            Candidates::Moves | Candidates::Believed(_) | Candidates::Plane => None,
        }
    }

    /// How these were found.
    #[getter]
    fn weights_found(&self) -> Option<&'static str> {
        self.made.mechanism.observation()?.weights_found().map(WeightsFound::name)
    }

    /// From which share of the likeliest on a state is believed possible.
    #[getter]
    fn believed_from(&self) -> Option<String> {
        match self.made.mechanism.design().candidates {
            Candidates::Believed(share) => Some(share.to_string()),
            Candidates::Moves | Candidates::States(_) | Candidates::Plane => None,
        }
    }

    #[getter]
    fn track(&self) -> Option<&'static str> {
        self.tracking().map(|tracking| tracking.aim.name())
    }

    #[getter]
    fn typicality(&self) -> Option<String> {
        self.tracking().map(|tracking| tracking.gamma.to_string())
    }

    #[getter]
    fn lag(&self) -> Option<u32> {
        self.tracking().map(|tracking| tracking.lag)
    }

    #[getter]
    fn calibrate(&self) -> &'static str {
        self.made.calibration.name()
    }

    /// ε as it was given.
    #[getter]
    fn epsilon(&self) -> String {
        self.made.promise.epsilon.to_string()
    }

    #[getter]
    fn radius(&self) -> Option<String> {
        match self.made.promise.unit {
            Unit::Radius(radius) => Some(radius.number().to_string()),
            Unit::Substitutions(_) => None,
        }
    }

    /// What comes after a number that is a distance.
    #[getter]
    fn unit(&self) -> &'static str {
        self.made.mechanism.model().measure().suffix()
    }

    #[getter]
    fn substitutions(&self) -> Option<u32> {
        match self.made.promise.unit {
            Unit::Radius(_) => None,
            Unit::Substitutions(count) => Some(count.get()),
        }
    }

    /// What names the mechanism with all its parameters and the chain.
    #[getter]
    fn fingerprint(&self) -> String {
        self.made.mechanism.fingerprint().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The scale after each last released state.
    #[getter]
    fn scales(&self) -> Vec<String> {
        let states = self.made.mechanism.model().chain().states();
        states.map(|state| self.made.mechanism.scale(state).eta().to_string()).collect()
    }

    /// The name that the mechanism goes by in blocks of this length. Which one `auto` takes depends on it.
    fn block_name(
        &self,
        py: Python<'_>,
        block: &str,
        longest_walk: Option<u64>,
    ) -> PyResult<String> {
        Ok(self.releasing(py, Some(block), longest_walk)?.name)
    }

    /// Whether blocks are drawn by cells.
    fn blocks_have_cells(&self) -> PyResult<bool> {
        let block = Some(BlockLength::Steps(NonZeroU32::MIN));
        let request = Request { block, ..self.request };
        let settled = request.settle(self.made.mechanism.model().chain());
        Ok(settled.map_err(parameter_error)?.design.cells().is_some())
    }

    /// How likely places are observed farther away than this, if places are observed.
    fn beyond(&self, metres: f64) -> PyResult<f64> {
        let noise = self.made.mechanism.noise();
        let noise = noise.ok_or_else(|| {
            parameter_error("beyond: this mechanism draws states, whose distribution kernel() has")
        })?;
        Ok(noise.beyond(metres))
    }

    /// The exact distribution of what is drawn next.
    fn kernel(
        &self,
        previous: &Bound<'_, PyAny>,
        real: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<(String, f64)>> {
        let (previous, real) = (self.state("previous", previous)?, self.state("real", real)?);
        if self.made.mechanism.chart().is_some() {
            return Err(parameter_error(
                "kernel: `plane` observes places, which have no end; beyond() says how far from the real one they are",
            ));
        }
        let chain = self.made.mechanism.model().chain();
        let kernel = self.made.mechanism.kernel(previous, real);
        let candidates = self.made.mechanism.candidates(previous);
        let labels = candidates.iter().map(|&state| chain.label(state).to_owned());
        Ok(labels.zip(kernel).collect())
    }

    /// The exact loss of replacing one real state by another.
    fn loss(
        &self,
        py: Python<'_>,
        real: &Bound<'_, PyAny>,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<f64> {
        self.require_tables()?;
        let (real, other) = (self.state("real", real)?, self.state("other", other)?);
        let mechanism = self.made.mechanism.clone();
        interrupt::run(py, move |_| {
            Ok::<_, PyErr>(guarantee::pair_loss(&mechanism, real, other).loss)
        })
    }

    /// What the promise means: as JSON, and in words.
    #[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn guarantee(
        &self,
        py: Python<'_>,
        all_pairs: bool,
        block: Option<&str>,
        longest_walk: Option<u64>,
        visit: Option<(String, String)>,
        walks_per_person: Option<u64>,
        attack: Option<bool>,
    ) -> PyResult<(String, String)> {
        let Made { mechanism, name, promise, .. } = self.releasing(py, block, longest_walk)?;
        let effort = if all_pairs { Effort::UNLIMITED } else { Effort::default() };
        let (calibration, calibrated) = (self.made.calibration, self.made.calibrated);
        interrupt::run(py, move |stop| {
            let guarantee = Guarantee::new(&mechanism, effort, &|_| stop.flow());
            let mut guarantee = guarantee.map_err(parameter_error)?;
            let mut answer = to_value(&guarantee)?;
            answer["mechanism"] = name.as_str().into();
            if let Some(observation) = Observed::of(&mechanism) {
                answer["observation"] = to_value(&observation)?;
            }
            if mechanism.blocks().is_some() {
                guarantee.mechanism = name;
            } else {
                answer["calibration"] = to_value(&calibrated)?;
            }
            if let Some(certificate) = mechanism.certificate() {
                if calibration == Calibration::Exact {
                    let gains = mechanism.gains_over_theorem(&|_| stop.flow());
                    if let Some((min, max)) = gains.map_err(parameter_error)? {
                        answer["calibration"] = json!({ "gain": { "min": min, "max": max } });
                    }
                }
                let chain = mechanism.model().chain();
                answer["certificate"] = chain
                    .states()
                    .zip(certificate)
                    .map(|(state, certified)| {
                        json!({
                            "previous": chain.label(state),
                            "scale": certified.scale.eta().to_string(),
                            "loss": certified.loss,
                            "obtained": certified.obtained.name(),
                        })
                    })
                    .collect();
            }
            let mut words = guarantee.to_string();
            let attacker = match (guarantee.vacuous, attacks(attack)) {
                (true, _) | (_, None) => None,
                (false, Some(when)) => {
                    let found = usual_attack(&mechanism, when, &|_| stop.flow());
                    found.map_err(parameter_error)?
                }
            };
            if let Some(found) = attacker {
                let in_words = attack_in_words(&found, mechanism.model().chain());
                answer["attacker"] = to_value(&found)?;
                answer["attacker"]["steps"] = USUAL_STEPS.into();
                answer["attacker"]["in_words"] = in_words.into();
            }
            if let Some(paragraph) = Observed::of(&mechanism) {
                words = format!("{}\n\n{paragraph}", words.trim_end());
            }
            let epsilon = promise.epsilon.value();
            let (stay, person) = in_words(&mut answer, epsilon, visit, walks_per_person)?;
            let parts = stay.into_iter().chain([words.trim_end().to_owned()]).chain(person);
            let words = parts.collect::<Vec<_>>().join("\n\n");
            veilwalk_io::in_measure(&mut answer, mechanism.model().measure());
            Ok::<_, PyErr>((answer.to_string(), words))
        })
    }

    /// Draws many steps and holds them against the exact kernel: as JSON, and in words.
    fn audit(
        &self,
        py: Python<'_>,
        pairs: usize,
        draws: u64,
        seed: Option<u64>,
    ) -> PyResult<(String, String)> {
        self.require_tables()?;
        if draws == 0 {
            return Err(ParameterError::new_err("draws: give 1 or more"));
        }
        let mechanism = self.made.mechanism.clone();
        interrupt::run(py, move |stop| {
            let losses = audited_loss(&mechanism, Effort::default(), &|_| stop.flow());
            let losses = losses.map_err(parameter_error)?;
            let plan = AuditPlan::new(&mechanism, &losses, pairs, draws);
            let source = seed.map_or_else(Source::system, Source::seeded);
            let mut randomness = source.open(mechanism.fingerprint()).map_err(parameter_error)?;
            let walk = randomness.walk(b"audit");
            let mut sampler = StepSampler::new(&mechanism, randomness.at(&walk, 0, None));
            let report = audit(&mechanism, &mut sampler, &plan, &|_| stop.flow());
            let report = report.map_err(parameter_error)?;
            Ok::<_, PyErr>((to_value(&report)?.to_string(), report.to_string()))
        })
    }

    /// Refuses a release that would protect nothing.
    pub(crate) fn refuse_empty_guarantee(&self, py: Python<'_>) -> PyResult<()> {
        let model = self.made.mechanism.model();
        let Err(empty) = self.cover(py)?.refuse_empty(model, self.made.promise) else {
            return Ok(());
        };
        let advice = empty.closest.as_ref().map_or_else(String::new, |closest| {
            format!(
                "; protect at least those with radius={}. m.guarantee() says what a radius protects",
                closest.radius
            )
        });
        Err(EmptyGuaranteeError::new_err(format!(
            "{empty}{advice}; allow_vacuous=True releases without protection"
        )))
    }

    /// What to say where something is protected, but fewer than 95 % of the states have an alternative.
    fn thin_coverage(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let cover = self.cover(py)?;
        Ok((cover.leaves_many_out() && !cover.is_vacuous()).then(|| {
            format!(
                "only {} have an alternative within the radius, and nothing is promised about the \
                 others; m.guarantee() lists radii that cover more",
                cover.in_words()
            )
        }))
    }
}

/// Whether walks are attacked for a guarantee: where it is quick, unless something else is said.
fn attacks(asked: Option<bool>) -> Option<Attacks> {
    match asked {
        None => Some(Attacks::WhereQuick),
        Some(true) => Some(Attacks::Always),
        Some(false) => None,
    }
}

/// The start that a word stands for, if it is not a state.
pub(crate) fn start_word(word: &str) -> Option<Start> {
    Start::WORDS.iter().find(|(known, _)| *known == word).map(|&(_, start)| start)
}

/// Makes what was asked for, which may take long.
fn made(py: Python<'_>, model: &Arc<Model>, request: Request) -> PyResult<Made> {
    let model = model.clone();
    interrupt::run(py, move |stop| request.make(&model, &|_| stop.flow()).map_err(parameter_error))
}

/// A value of the library as JSON.
pub(crate) fn to_value(value: &impl serde::Serialize) -> PyResult<Value> {
    serde_json::to_value(value)
        .map_err(|e| pyo3::exceptions::PyRuntimeError::new_err(e.to_string()))
}
