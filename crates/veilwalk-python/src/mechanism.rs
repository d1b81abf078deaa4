//! A mechanism on a chain, as Python makes it.

use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use veilwalk::distance::Cells;
use veilwalk::guarantee::{self, Calibrated, Effort, Guarantee};
use veilwalk::mechanism::cell::Calibration;
use veilwalk::mechanism::{Epsilon, Radius, Unit};
use veilwalk::{Design, Preset, Promise, Start};
use veilwalk_io::ScaleFrom;

use crate::bytes;
use crate::chain::Chain;
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
    pub(crate) calibrate: ScaleFrom,
    calibration: Option<Calibrated>,
    empty: OnceLock<Option<String>>,
    #[pyo3(get)]
    name: String,
}

/// What a user chose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) design: Design,
    pub(crate) promise: Promise,
    pub(crate) calibrate: ScaleFrom,
}

impl Choice {
    /// The mechanism with the scale that is found for it.
    pub(crate) fn on(
        self,
        model: Arc<veilwalk::Model>,
        stop: &interrupt::Stop,
    ) -> PyResult<(veilwalk::Mechanism, Option<Calibrated>)> {
        let Self { design, promise, calibrate } = self;
        let goes_by_cells = design.distance.nearest().is_some();
        let made = match calibrate {
            ScaleFrom::Theorem if goes_by_cells => {
                veilwalk::Mechanism::with_cells(model, design, promise, Calibration::Theorem)
            }
            _ => veilwalk::Mechanism::new(model, design, promise),
        };
        let made = made.map_err(parameter_error)?;
        if calibrate == ScaleFrom::Exact && !goes_by_cells {
            let watch = |_: f64| stop.flow();
            let found = guarantee::calibrate(&made, Effort::default(), &watch);
            let (mechanism, calibrated) = found.map_err(parameter_error)?;
            return Ok((mechanism, Some(calibrated)));
        }
        Ok((made, None))
    }
}

/// How a scale is found, unless someone says otherwise.
fn default_scale(design: Design) -> ScaleFrom {
    if design.distance.nearest().is_some() { ScaleFrom::Exact } else { ScaleFrom::Theorem }
}

/// A promise from its parts.
pub(crate) fn promise(
    epsilon: &str,
    radius: Option<&str>,
    substitutions: Option<u64>,
) -> PyResult<Promise> {
    let epsilon: Epsilon = epsilon.parse().map_err(parameter_error)?;
    let unit = match (radius, substitutions) {
        (Some(radius), None) => Unit::Radius(radius.parse::<Radius>().map_err(parameter_error)?),
        (None, Some(count)) => {
            let count = u32::try_from(count).ok().and_then(NonZeroU32::new);
            Unit::Substitutions(count.ok_or_else(|| {
                ParameterError::new_err("substitutions has to be a whole number from 1 up")
            })?)
        }
        (None, None) => {
            return Err(ParameterError::new_err(
                "what is to be protected is missing: give radius= (in nats) or substitutions= (a \
                 number of states)",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(ParameterError::new_err(
                "give either radius= or substitutions=, not both: they are two ways to say which \
                 walks are protected from each other",
            ));
        }
    };
    Ok(Promise { epsilon, unit })
}

/// The choices that a name and overrides stand for, with the name they go by.
fn design(
    chain: &veilwalk::Chain,
    name: &str,
    distance: Option<&str>,
    rule: Option<&str>,
    chain_weight: Option<&str>,
    unit: Unit,
) -> PyResult<(String, Design)> {
    let preset: Preset = match name {
        "auto" if Cells::affordable(chain).is_ok() => Preset::Cell,
        "auto" => Preset::Sharp,
        name => name.parse().map_err(|e| parameter_error(format!("{e}, or auto")))?,
    };
    let base = preset.design();
    let design = Design {
        distance: distance.map_or(Ok(base.distance), str::parse).map_err(parameter_error)?,
        rule: rule.map_or(Ok(base.rule), str::parse).map_err(parameter_error)?,
        chain_weight: chain_weight
            .map_or(Ok(base.chain_weight), str::parse)
            .map_err(parameter_error)?,
    };
    if design != base {
        return Ok((format!("{preset} with {design}"), design));
    }
    if preset.counts_substitutions() && matches!(unit, Unit::Radius(_)) {
        return Err(ParameterError::new_err(format!(
            "`{preset}` protects a number of replaced states, not a radius; give substitutions=1 (or \
             more) instead of radius="
        )));
    }
    Ok((preset.name().to_owned(), design))
}

impl Mechanism {
    /// Makes what was chosen, which may take long.
    pub(crate) fn made(
        py: Python<'_>,
        chain: &Chain,
        name: String,
        choice: Choice,
    ) -> PyResult<Self> {
        let model = chain.model(py)?;
        let (mechanism, calibration) = interrupt::run(py, move |stop| choice.on(model, stop))?;
        Ok(Self {
            mechanism: Arc::new(mechanism),
            labels: chain.labels().clone(),
            calibrate: choice.calibrate,
            calibration,
            empty: OnceLock::new(),
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

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn state(&self, parameter: &str, value: &Bound<'_, PyAny>) -> PyResult<veilwalk::StateId> {
        let found = self.labels.state(value, Naming::Integer);
        found.map(|(state, _)| state).map_err(|why| parameter_error(format!("{parameter}: {why}")))
    }
}

#[pymethods]
impl Mechanism {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        py: Python<'_>,
        chain: &Chain,
        name: &str,
        epsilon: &str,
        radius: Option<&str>,
        substitutions: Option<u64>,
        distance: Option<&str>,
        rule: Option<&str>,
        chain_weight: Option<&str>,
        calibrate: Option<&str>,
    ) -> PyResult<Self> {
        let promise = promise(epsilon, radius, substitutions)?;
        let (name, design) =
            design(chain.labels().chain(), name, distance, rule, chain_weight, promise.unit)?;
        let calibrate = match calibrate {
            None => default_scale(design),
            Some("theorem") => ScaleFrom::Theorem,
            Some("exact") => ScaleFrom::Exact,
            Some(other) => {
                return Err(ParameterError::new_err(format!(
                    "calibrate={other:?} is no way of finding a scale; \"theorem\" and \"exact\" are"
                )));
            }
        };
        Self::made(py, chain, name, Choice { design, promise, calibrate })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<(Chain, Self)> {
        bytes::read(py, data)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes::write(self).map(|bytes| PyBytes::new(py, &bytes))
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
        self.calibrate.name()
    }

    /// ε as it was given.
    #[getter]
    fn epsilon(&self) -> String {
        self.mechanism.promise().map_or_else(String::new, |promise| promise.epsilon.to_string())
    }

    #[getter]
    fn radius(&self) -> Option<String> {
        match self.mechanism.promise()?.unit {
            Unit::Radius(radius) => Some(radius.to_string()),
            Unit::Substitutions(_) => None,
        }
    }

    #[getter]
    fn substitutions(&self) -> Option<u32> {
        match self.mechanism.promise()?.unit {
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
        let (real, other) = (self.state("real", real)?, self.state("other", other)?);
        let mechanism = self.mechanism.clone();
        interrupt::run(py, move |_| {
            Ok::<_, PyErr>(guarantee::pair_loss(&mechanism, real, other).loss)
        })
    }

    /// What the promise means: as JSON, and in words.
    fn guarantee(&self, py: Python<'_>, all_pairs: bool) -> PyResult<(String, String)> {
        let effort = if all_pairs { Effort::UNLIMITED } else { Effort::default() };
        let mechanism = self.mechanism.clone();
        let (name, calibrate) = (self.name.clone(), self.calibrate);
        let calibration = self.calibration;
        interrupt::run(py, move |stop| {
            let guarantee = Guarantee::new(&mechanism, effort, &|_| stop.flow());
            let guarantee = guarantee.map_err(parameter_error)?;
            let mut answer = to_value(&guarantee)?;
            answer["mechanism"] = name.into();
            answer["calibration"] = to_value(&calibration)?;
            if let Some(certificate) = mechanism.certificate() {
                if calibrate == ScaleFrom::Exact {
                    let (min, max) = cell_gains(&mechanism).map_err(parameter_error)?;
                    answer["calibration"] = json!({ "gain": { "min": min, "max": max } });
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

    /// Refuses a release that would protect nothing.
    pub(crate) fn refuse_empty_guarantee(&self, py: Python<'_>) -> PyResult<()> {
        let empty = match self.empty.get() {
            Some(known) => known,
            None => {
                let mechanism = self.mechanism.clone();
                let found = interrupt::run(py, move |_| {
                    Ok::<_, PyErr>(release::empty_guarantee(&mechanism))
                })?;
                self.empty.get_or_init(|| found)
            }
        };
        empty.as_ref().map_or(Ok(()), |why| Err(EmptyGuaranteeError::new_err(why.clone())))
    }
}

/// A value of the library as JSON.
pub(crate) fn to_value(value: &impl serde::Serialize) -> PyResult<Value> {
    serde_json::to_value(value)
        .map_err(|e| pyo3::exceptions::PyRuntimeError::new_err(e.to_string()))
}

/// The smallest and the largest gain of exactly calibrated cells over the theorem's scale.
fn cell_gains(
    mechanism: &veilwalk::Mechanism,
) -> Result<(f64, f64), veilwalk::mechanism::ScaleError> {
    let (Some(promise), model) = (mechanism.promise(), mechanism.model()) else {
        return Ok((1.0, 1.0));
    };
    let theorem = veilwalk::Mechanism::with_cells(
        model.clone(),
        mechanism.design(),
        promise,
        Calibration::Theorem,
    )?;
    let scale = |m: &veilwalk::Mechanism, z| m.scale(z).eta().as_f64();
    let gains = model.chain().states().map(|z| scale(mechanism, z) / scale(&theorem, z));
    Ok(gains.fold((f64::INFINITY, 0.0), |(least, most), g| (g.min(least), g.max(most))))
}
