//! A mechanism on a chain, as Python makes it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use serde_json::{Value, json};
use veilwalk::guarantee::{
    self, AuditPlan, BlockEffort, BlockGuarantee, Calibrated, Cover, Effort, Guarantee, Price,
    StepSampler, audit, audited_loss,
};
use veilwalk::mechanism::{BlockLength, Unit};
use veilwalk::{Promise, Source, Start, StateId};
use veilwalk_io::ScaleFrom;

use crate::chain::Chain;
use crate::choice::{Asked, block_length, promise};
use crate::error::{EmptyGuaranteeError, ParameterError, parameter_error};
use crate::interrupt;
use crate::labels::{Labels, Naming};
use crate::release;

/// A member of the family on a chain.
#[pyclass(frozen, module = "veilwalk._native")]
#[derive(Debug)]
pub(crate) struct Mechanism {
    pub(crate) mechanism: Arc<veilwalk::Mechanism>,
    pub(crate) labels: Arc<Labels>,
    pub(crate) scale_from: ScaleFrom,
    pub(crate) promise: Promise,
    asked: Asked,
    calibration: Option<Calibrated>,
    price: OnceLock<Option<Price>>,
    cover: OnceLock<Cover>,
    /// The blocks that were asked for last, which are likely to be asked for again.
    blocks: Mutex<Option<Arc<veilwalk::Mechanism>>>,
    #[pyo3(get)]
    name: String,
}

impl Mechanism {
    /// What a ledger has to know of releases step by step.
    pub(crate) fn price(&self) -> Option<Price> {
        *self.price.get_or_init(|| Price::of(&self.mechanism))
    }

    /// Makes what was chosen, which may take long.
    pub(crate) fn made(
        py: Python<'_>,
        chain: &Chain,
        asked: Asked,
        promise: Promise,
    ) -> PyResult<Self> {
        let (name, design) = asked.design(chain.labels().chain(), promise.unit)?;
        let scale_from = asked.scale_from(design)?;
        let model = chain.model(py)?;
        let (mechanism, calibration) = interrupt::run(py, move |stop| {
            let made = scale_from.make(&model, design, promise, &|_| stop.flow());
            made.map_err(parameter_error)
        })?;
        Ok(Self {
            mechanism: Arc::new(mechanism),
            labels: chain.labels().clone(),
            scale_from,
            promise,
            asked,
            calibration,
            price: OnceLock::new(),
            cover: OnceLock::new(),
            blocks: Mutex::new(None),
            name,
        })
    }

    /// How released walks start.
    pub(crate) fn start(&self, how: &Bound<'_, PyAny>) -> PyResult<Start> {
        match how.extract::<String>().as_deref() {
            Ok("initial") => Ok(Start::Initial),
            Ok("first") => Ok(Start::First),
            _ => match self.labels.state(how, Naming::Integer) {
                Ok((state, _)) => Ok(Start::At(state)),
                Err(why) => Err(parameter_error(format!(
                    "start (\"initial\", \"first\" or a state): {why}"
                ))),
            },
        }
    }

    fn state(&self, parameter: &str, value: &Bound<'_, PyAny>) -> PyResult<StateId> {
        let found = self.labels.state(value, Naming::Integer);
        found.map(|(state, _)| state).map_err(|why| parameter_error(format!("{parameter}: {why}")))
    }

    /// The same choices and promise in blocks of this length.
    fn in_blocks(&self, py: Python<'_>, length: BlockLength) -> PyResult<Arc<veilwalk::Mechanism>> {
        let known = || self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let is_asked = |blocks: &&Arc<veilwalk::Mechanism>| {
            blocks.blocks().is_some_and(|blocks| blocks.length() == length)
        };
        if let Some(blocks) = known().as_ref().filter(is_asked) {
            return Ok(blocks.clone());
        }
        let (_, design) = self.asked.block_design(self.promise.unit)?;
        let (model, promise) = (self.mechanism.model().clone(), self.promise);
        let made = interrupt::run(py, move |_| {
            let made = veilwalk::Mechanism::in_blocks(model, design, promise, length);
            made.map(Arc::new).map_err(parameter_error)
        })?;
        *known() = Some(made.clone());
        Ok(made)
    }

    /// What releases walks, with the name it goes by and how its scale was found.
    pub(crate) fn releasing(
        &self,
        py: Python<'_>,
        block: Option<&str>,
        longest_walk: Option<u64>,
    ) -> PyResult<(Arc<veilwalk::Mechanism>, String, ScaleFrom)> {
        Ok(match block_length(block, longest_walk)? {
            None => (self.mechanism.clone(), self.name.clone(), self.scale_from),
            Some(length) => {
                let (name, _) = self.asked.block_design(self.promise.unit)?;
                (self.in_blocks(py, length)?, name, ScaleFrom::Theorem)
            }
        })
    }

    /// What the promise covers, found once.
    fn cover(&self, py: Python<'_>) -> PyResult<Cover> {
        if let Some(&known) = self.cover.get() {
            return Ok(known);
        }
        let (model, unit) = (self.mechanism.model().clone(), self.promise.unit);
        let found = interrupt::run(py, move |stop| {
            Cover::watched(&model, unit, &|_| stop.flow()).map_err(parameter_error)
        })?;
        Ok(*self.cover.get_or_init(|| found))
    }

    fn require_tables(&self) -> PyResult<()> {
        self.mechanism.model().require_tables().map_err(parameter_error)
    }
}

/// What a mechanism is made of, in words: name, ε, radius, substitutions, distance, rule, chain
/// weight, calibration.
type Arguments = (
    Option<String>,
    String,
    Option<String>,
    Option<u32>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
);

#[pymethods]
impl Mechanism {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        py: Python<'_>,
        chain: &Chain,
        name: Option<String>,
        epsilon: &str,
        radius: Option<&str>,
        substitutions: Option<u64>,
        distance: Option<String>,
        rule: Option<String>,
        chain_weight: Option<String>,
        calibrate: Option<String>,
    ) -> PyResult<Self> {
        let promise = promise(epsilon, radius, substitutions)?;
        let asked = Asked { name, distance, rule, chain_weight, calibrate };
        Self::made(py, chain, asked, promise)
    }

    /// What gives the same mechanism again, but for the chain.
    #[getter]
    fn arguments(&self) -> Arguments {
        let asked = self.asked.clone();
        (
            asked.name,
            self.epsilon(),
            self.radius(),
            self.substitutions(),
            asked.distance,
            asked.rule,
            asked.chain_weight,
            asked.calibrate,
        )
    }

    /// The labels of the chain's states.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, pyo3::types::PyString>> {
        let states = self.labels.chain().len();
        (0..states).map(|state| self.labels.as_text(py, state).clone()).collect()
    }

    #[getter]
    fn distance(&self) -> &'static str {
        self.mechanism.design().distance.name()
    }

    #[getter]
    fn rule(&self) -> &'static str {
        self.mechanism.design().rule.name()
    }

    #[getter]
    fn chain_weight(&self) -> String {
        self.mechanism.design().chain_weight.to_string()
    }

    #[getter]
    fn calibrate(&self) -> &'static str {
        self.scale_from.name()
    }

    /// ε as it was given.
    #[getter]
    fn epsilon(&self) -> String {
        self.promise.epsilon.to_string()
    }

    #[getter]
    fn radius(&self) -> Option<String> {
        match self.promise.unit {
            Unit::Radius(radius) => Some(radius.to_string()),
            Unit::Substitutions(_) => None,
        }
    }

    #[getter]
    fn substitutions(&self) -> Option<u32> {
        match self.promise.unit {
            Unit::Radius(_) => None,
            Unit::Substitutions(count) => Some(count.get()),
        }
    }

    /// What names the mechanism with all its parameters and the chain.
    #[getter]
    fn fingerprint(&self) -> String {
        self.mechanism.fingerprint().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The scale after each last released state.
    #[getter]
    fn scales(&self) -> Vec<String> {
        let states = self.mechanism.model().chain().states();
        states.map(|state| self.mechanism.scale(state).eta().to_string()).collect()
    }

    /// The name that the mechanism goes by in blocks.
    fn block_name(&self) -> PyResult<String> {
        Ok(self.asked.block_design(self.promise.unit)?.0)
    }

    /// The exact distribution of the next released state.
    fn kernel(
        &self,
        previous: &Bound<'_, PyAny>,
        real: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<(String, f64)>> {
        let (previous, real) = (self.state("previous", previous)?, self.state("real", real)?);
        let chain = self.mechanism.model().chain();
        let kernel = self.mechanism.kernel(previous, real);
        let labels = chain.successors(previous).iter().map(|&state| chain.label(state).to_owned());
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
        let mechanism = self.mechanism.clone();
        interrupt::run(py, move |_| {
            Ok::<_, PyErr>(guarantee::pair_loss(&mechanism, real, other).loss)
        })
    }

    /// What the promise means: as JSON, and in words.
    fn guarantee(
        &self,
        py: Python<'_>,
        all_pairs: bool,
        block: Option<&str>,
        longest_walk: Option<u64>,
    ) -> PyResult<(String, String)> {
        let (mechanism, name, _) = self.releasing(py, block, longest_walk)?;
        if mechanism.blocks().is_some() {
            let effort = if all_pairs { BlockEffort::THOROUGH } else { BlockEffort::default() };
            return interrupt::run(py, move |stop| {
                let found = BlockGuarantee::new(&mechanism, effort, &|_| stop.flow());
                let mut guarantee = found.map_err(parameter_error)?;
                guarantee.mechanism = name;
                Ok::<_, PyErr>((to_value(&guarantee)?.to_string(), guarantee.to_string()))
            });
        }
        let effort = if all_pairs { Effort::UNLIMITED } else { Effort::default() };
        let (scale_from, calibration) = (self.scale_from, self.calibration);
        interrupt::run(py, move |stop| {
            let guarantee = Guarantee::new(&mechanism, effort, &|_| stop.flow());
            let guarantee = guarantee.map_err(parameter_error)?;
            let mut answer = to_value(&guarantee)?;
            answer["mechanism"] = name.into();
            answer["calibration"] = to_value(&calibration)?;
            if let Some(certificate) = mechanism.certificate() {
                if scale_from == ScaleFrom::Exact {
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
            Ok::<_, PyErr>((answer.to_string(), guarantee.to_string()))
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
        let mechanism = self.mechanism.clone();
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
        let empty = release::empty_guarantee(&self.mechanism, &self.cover(py)?);
        empty.map_or(Ok(()), |why| Err(EmptyGuaranteeError::new_err(why)))
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

/// A value of the library as JSON.
pub(crate) fn to_value(value: &impl serde::Serialize) -> PyResult<Value> {
    serde_json::to_value(value)
        .map_err(|e| pyo3::exceptions::PyRuntimeError::new_err(e.to_string()))
}
