//! A chain, with its distances once something asks for them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use veilwalk::chain::{BuildOptions, BuildReport, ChainBuilder, Entries, RowSums, Scope};
use veilwalk::internal::distance::{Nearest, OwnDistances};
use veilwalk::internal::model::Tables;
use veilwalk::{Ground, Initial, Measure, Model, Nats, Radius, StateId};

use crate::error::{chain_error, parameter_error};
use crate::files::read_model;
use crate::interrupt;
use crate::labels::{Labels, Naming};

/// A public Markov chain.
#[pyclass(frozen, module = "veilwalk._native")]
#[derive(Debug)]
pub(crate) struct Chain {
    chain: veilwalk::Chain,
    labels: Arc<Labels>,
    model: OnceLock<Arc<Model>>,
    #[pyo3(get)]
    notes: Vec<String>,
}

impl Chain {
    pub(crate) fn chain(&self) -> &veilwalk::Chain {
        &self.chain
    }

    pub(crate) fn new(py: Python<'_>, chain: veilwalk::Chain, notes: Vec<String>) -> Self {
        let labels = Arc::new(Labels::new(py, &chain));
        Self { chain, labels, model: OnceLock::new(), notes }
    }

    pub(crate) fn built(
        py: Python<'_>,
        built: Result<(veilwalk::Chain, BuildReport), impl std::fmt::Display>,
    ) -> PyResult<Self> {
        let (chain, report) = built.map_err(chain_error)?;
        Ok(Self::new(py, chain, notes(&report)))
    }

    /// A chain that came with its distances.
    fn with_model(py: Python<'_>, model: Model, notes: Vec<String>) -> Self {
        let chain = Self::new(py, model.chain().clone(), notes);
        let _ = chain.model.set(Arc::new(model));
        chain
    }

    pub(crate) fn labels(&self) -> &Arc<Labels> {
        &self.labels
    }

    /// The chain with its distances, computed when first asked for.
    pub(crate) fn model(&self, py: Python<'_>) -> PyResult<Arc<Model>> {
        if let Some(model) = self.model.get() {
            return Ok(model.clone());
        }
        let chain = self.chain.clone();
        let model =
            interrupt::run(py, move |_| Ok::<_, PyErr>(Arc::new(Model::of_any_size(chain))))?;
        Ok(self.model.get_or_init(|| model).clone())
    }

    /// The same for what needs a table of all distances.
    pub(crate) fn model_with_tables(&self, py: Python<'_>) -> PyResult<Arc<Model>> {
        let model = self.model(py)?;
        model.require_tables().map_err(parameter_error)?;
        Ok(model)
    }

    /// The state of a label, for parameters of a function.
    pub(crate) fn state(&self, parameter: &str, value: &Bound<'_, PyAny>) -> PyResult<StateId> {
        match self.labels.state(value, Naming::Integer) {
            Ok((state, _)) => Ok(state),
            Err(why) => {
                let shown: Vec<String> = self
                    .chain
                    .states()
                    .take(12)
                    .map(|state| format!("{:?}", self.chain.label(state)))
                    .collect();
                let more = if self.chain.len() > shown.len() { ", …" } else { "" };
                Err(parameter_error(format!(
                    "{parameter}: {why}; the chain's states are {}{more}",
                    shown.join(", ")
                )))
            }
        }
    }
}

pub(crate) fn options(normalize: bool, largest_component: bool) -> BuildOptions {
    BuildOptions {
        row_sums: if normalize { RowSums::Normalize } else { RowSums::Check },
        scope: if largest_component { Scope::LargestComponent } else { Scope::Whole },
    }
}

/// What building changed, in words.
fn notes(report: &BuildReport) -> Vec<String> {
    let mut notes = Vec::new();
    let off = |sum: f64| (sum - 1.0).abs();
    if let Some(worst) = report.rescaled.iter().max_by(|a, b| off(a.sum).total_cmp(&off(b.sum))) {
        notes.push(format!(
            "rows rescaled to sum to 1: {}; the farthest off was that of {:?}, at {:.9}",
            report.rescaled.len(),
            worst.state,
            worst.sum
        ));
    }
    if !report.dropped_states.is_empty() {
        notes.push(format!(
            "outside the largest component, and dropped: {} states and {} transitions",
            report.dropped_states.len(),
            report.dropped_transitions
        ));
    }
    if report.period > 1 {
        notes.push(format!(
            "the chain has period {}; releases are not affected, but a walk on it never settles, so \
             long-run figures are averages over time",
            report.period
        ));
    }
    notes
}

#[pymethods]
impl Chain {
    #[staticmethod]
    fn credit(py: Python<'_>) -> Self {
        Self::new(py, veilwalk::Chain::credit(), Vec::new())
    }

    #[staticmethod]
    fn downtown(py: Python<'_>) -> Self {
        Self::new(py, veilwalk::Chain::downtown(), Vec::new())
    }

    /// A square matrix of probabilities, row by row.
    #[staticmethod]
    fn from_matrix(
        py: Python<'_>,
        labels: Vec<String>,
        rows: Vec<Vec<f64>>,
        normalize: bool,
        largest_component: bool,
    ) -> PyResult<Self> {
        if rows.len() != labels.len() {
            return Err(chain_error(format!(
                "there are {} rows for {} states; a matrix has one row and one column for each state",
                rows.len(),
                labels.len()
            )));
        }
        let mut builder = ChainBuilder::new(Entries::Probabilities);
        let states = labels
            .iter()
            .map(|label| builder.new_state(label).map_err(chain_error))
            .collect::<PyResult<Vec<_>>>()?;
        for (&from, row) in states.iter().zip(&rows) {
            if row.len() != states.len() {
                return Err(chain_error(format!(
                    "the row of {:?} has {} entries for {} states",
                    labels[from.index()],
                    row.len(),
                    states.len()
                )));
            }
            for (&to, &entry) in states.iter().zip(row) {
                if entry != 0.0 {
                    builder.transition(from, to, entry).map_err(chain_error)?;
                }
            }
        }
        Self::built(py, builder.build(options(normalize, largest_component)))
    }

    /// Transitions, as probabilities or as counts.
    #[staticmethod]
    fn from_transitions(
        py: Python<'_>,
        transitions: Vec<(String, String, f64)>,
        counts: bool,
        normalize: bool,
        largest_component: bool,
    ) -> PyResult<Self> {
        let entries = if counts { Entries::Counts } else { Entries::Probabilities };
        let mut builder = ChainBuilder::new(entries);
        // As in files: states are numbered by where transitions start, then by where they end.
        for (from, _, _) in &transitions {
            builder.state(from);
        }
        for (from, to, entry) in &transitions {
            let (from, to) = (builder.state(from), builder.state(to));
            builder.transition(from, to, *entry).map_err(chain_error)?;
        }
        Self::built(py, builder.build(options(normalize, largest_component)))
    }

    /// Reads a file: a table of moves, or a compiled model.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        normalize: bool,
        largest_component: bool,
        places: Option<PathBuf>,
    ) -> PyResult<Self> {
        let Some(model) = read_model(&path)? else {
            let read = veilwalk_io::read_chain(&path, options(normalize, largest_component));
            let placed = read.and_then(|(chain, report)| match &places {
                Some(places) => Ok((veilwalk_io::read_places(places, chain)?, report)),
                None => Ok((chain, report)),
            });
            return Self::built(py, placed);
        };
        if normalize || largest_component || places.is_some() {
            return Err(chain_error(format!(
                "{}: normalize, largest_component and places change how a chain is read, and this model is \
                 already compiled",
                path.display()
            )));
        }
        Ok(Self::with_model(py, model, Vec::new()))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let chain = veilwalk_io::chain_from_bytes(data).map_err(chain_error)?;
        Ok(Self::new(py, chain, Vec::new()))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = veilwalk_io::chain_to_bytes(&self.chain).map_err(chain_error)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The same chain with walks that start at a state, anywhere, or as in the long run.
    fn starting(&self, py: Python<'_>, how: &Bound<'_, PyAny>) -> PyResult<Self> {
        let initial = if let Ok(probabilities) = how.extract::<Vec<f64>>() {
            Initial::from_probabilities(&self.chain, &probabilities).map_err(parameter_error)?
        } else {
            match how.extract::<String>().as_deref() {
                Ok("uniform") => Initial::uniform(self.chain.len()),
                Ok("stationary") => Initial::stationary(&self.chain).map_err(parameter_error)?,
                _ => Initial::at(self.state("initial", how)?, self.chain.len()),
            }
        };
        let chain = self.chain.clone().with_initial(initial);
        let worth_keeping = |model: &&Arc<Model>| {
            model.searches().is_none()
                || model.origin().is_some()
                || *model.ground() != Ground::Nats
        };
        let Some(model) = self.model.get().filter(worth_keeping) else {
            return Ok(Self::new(py, chain, self.notes.clone()));
        };
        // Distances, cells and scales do not depend on where walks start.
        let cells = [Nearest::Directed, Nearest::Symmetric];
        let cells = cells.into_iter().filter_map(|n| Some((n, model.ready_cells(n)?.clone())));
        let tables = Tables {
            ground: model.ground().clone(),
            distances: match model.searches() {
                Some(_) => None,
                None => Some((model.directed().clone(), model.symmetric().clone())),
            },
            incoming: model.searches().map(|searches| searches.incoming().clone()),
            cells: cells.collect(),
            certified: model.all_certified().to_vec(),
            origin: model.origin().cloned(),
        };
        Ok(Self::with_model(py, Model::with_tables(chain, tables), self.notes.clone()))
    }

    #[getter]
    fn states<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, pyo3::types::PyString>> {
        (0..self.chain.len()).map(|state| self.labels.as_text(py, state).clone()).collect()
    }

    /// The same chain with distances of another metric: by name, or from a file.
    fn measured(&self, py: Python<'_>, metric: &str) -> PyResult<Self> {
        let ground = match Ground::named(metric) {
            Some(ground) => ground,
            None if metric.contains(['/', '.', std::path::MAIN_SEPARATOR]) => {
                let path = PathBuf::from(metric);
                let own = veilwalk_io::read_distances(&path, &self.chain).map_err(chain_error)?;
                Ground::Table(Arc::new(own))
            }
            None => {
                return Err(parameter_error(format!(
                    "metric: {metric:?}; give \"nats\", \"street\", \"line\" or the path of a CSV file"
                )));
            }
        };
        self.on(py, ground)
    }

    /// The same chain with distances in what this radius is in; nothing if they are already.
    fn measured_for(&self, py: Python<'_>, radius: &str) -> PyResult<Option<Self>> {
        let radius: Radius = radius.parse().map_err(parameter_error)?;
        let ours = self.model.get().map_or(Measure::Nats, |model| model.measure());
        // A metric that was chosen is not changed for another promise; that they do not go together is told later.
        if ours == radius.measure() || ours != Measure::Nats {
            return Ok(None);
        }
        let ground = Ground::usual(radius.measure(), &self.chain).map_err(parameter_error)?;
        self.on(py, ground).map(Some)
    }

    /// The metric that distances are taken from.
    #[getter]
    fn metric(&self) -> &'static str {
        self.model.get().map_or("nats", |model| model.ground().name())
    }

    /// What comes after a number that is a distance.
    #[getter]
    fn unit(&self) -> &'static str {
        self.model.get().map_or(Measure::Nats, |model| model.measure()).suffix()
    }

    /// The distances of a table of one's own, row by row, and whether they are metres; nothing of other metrics.
    fn own_distances<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyBytes>, bool)> {
        let model = self.model.get()?;
        let Ground::Table(own) = model.ground() else { return None };
        let units = model.directed().rows().iter().flat_map(|d| d.units().to_le_bytes());
        let rows = PyBytes::new(py, &units.collect::<Vec<u8>>());
        Some((rows, own.measure() == Measure::Metres))
    }

    /// The same chain with these distances, which another process checked.
    fn with_own_distances(&self, py: Python<'_>, rows: &[u8], metres: bool) -> PyResult<Self> {
        let states = self.chain.len();
        let (units, rest) = rows.as_chunks::<4>();
        let units = units.iter().map(|&bytes| Nats::from_units(u32::from_le_bytes(bytes)));
        let pairs = units.enumerate().map(|(place, distance)| {
            (StateId::new(place / states), StateId::new(place % states), distance)
        });
        if !rest.is_empty() || rows.len() != 4 * states * states {
            return Err(chain_error("the distances are not those of this chain"));
        }
        let measure = if metres { Measure::Metres } else { Measure::Own };
        let own = OwnDistances::new(states, pairs, measure).map_err(chain_error)?;
        self.on(py, Ground::Table(Arc::new(own)))
    }

    /// How long each move is, in metres.
    #[getter]
    fn lengths(&self) -> Option<Vec<f64>> {
        let lengths = self.chain.places()?.lengths.as_ref()?;
        Some(lengths.iter().map(|length| length.metres()).collect())
    }

    /// Where each state lies, in degrees.
    #[getter]
    fn coordinates(&self) -> Option<Vec<(f64, f64)>> {
        let coordinates = self.chain.places()?.coordinates.as_ref()?;
        Some(coordinates.iter().map(|place| place.degrees()).collect())
    }

    /// What people call each state.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        self.chain.places()?.names.clone()
    }

    #[getter]
    fn transitions(&self) -> usize {
        self.chain.transitions()
    }

    #[getter]
    fn period(&self) -> usize {
        self.chain.period()
    }

    #[getter]
    fn largest_out_degree(&self) -> usize {
        self.chain.largest_out_degree()
    }

    #[getter]
    fn hash(&self) -> String {
        self.chain.hash().to_string()
    }

    #[getter]
    fn initial(&self) -> Vec<f64> {
        self.chain.states().map(|state| self.chain.initial().probability(state)).collect()
    }

    fn __len__(&self) -> usize {
        self.chain.len()
    }

    /// The states that a state can move to, with probabilities.
    fn row(&self, state: &Bound<'_, PyAny>) -> PyResult<Vec<(String, f64)>> {
        let from = self.state("state", state)?;
        let targets = self.chain.successors(from).iter().zip(self.chain.probabilities(from));
        Ok(targets.map(|(&to, &p)| (self.chain.label(to).to_owned(), p)).collect())
    }

    fn stationary(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        let chain = self.chain.clone();
        interrupt::run(py, move |_| chain.stationary().map_err(chain_error))
    }

    fn entropy_rate(&self, py: Python<'_>) -> PyResult<f64> {
        let chain = self.chain.clone();
        interrupt::run(py, move |_| {
            let stationary = chain.stationary().map_err(chain_error)?;
            // Minus zero is a sum of nothing but certain moves.
            Ok::<_, PyErr>(chain.entropy_rate(&stationary) + 0.0)
        })
    }

    /// The largest distance: from, to, nats.
    fn diameter(&self, py: Python<'_>) -> PyResult<(String, String, f64)> {
        let model = self.model_with_tables(py)?;
        let measure = model.measure();
        let pair = interrupt::run(py, move |_| Ok::<_, PyErr>(model.diameter()))?;
        Ok(self.named(pair, measure))
    }

    /// The closest two different states.
    fn closest_pair(&self, py: Python<'_>) -> PyResult<Option<(String, String, f64)>> {
        let model = self.model(py)?;
        let measure = model.measure();
        let pair = interrupt::run(py, move |_| Ok::<_, PyErr>(model.closest_pair()))?;
        Ok(pair.map(|pair| self.named(pair, measure)))
    }

    /// The distance between two states in nats.
    fn distance(
        &self,
        py: Python<'_>,
        start: &Bound<'_, PyAny>,
        end: &Bound<'_, PyAny>,
        symmetric: bool,
    ) -> PyResult<f64> {
        let (start, end) = (self.state("start", start)?, self.state("end", end)?);
        let model = self.model(py)?;
        let metric = if symmetric { model.symmetric_metric() } else { model.directed_metric() };
        let mut distance = [Nats::ZERO];
        metric.fill(start, &[start], end, &mut distance);
        Ok(model.measure().of(distance[0]))
    }

    /// The same moves, each as likely as the others of its state.
    fn evened(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::new(py, self.chain.evened().map_err(chain_error)?, Vec::new()))
    }
}

impl Chain {
    fn on(&self, py: Python<'_>, ground: Ground) -> PyResult<Self> {
        let chain = self.chain.clone();
        let model =
            interrupt::run(py, move |_| Model::measured(chain, ground).map_err(parameter_error))?;
        Ok(Self::with_model(py, model, self.notes.clone()))
    }

    fn named(&self, pair: veilwalk::Pair, measure: Measure) -> (String, String, f64) {
        let label = |state| self.chain.label(state).to_owned();
        (label(pair.from), label(pair.to), measure.of(pair.distance))
    }
}
