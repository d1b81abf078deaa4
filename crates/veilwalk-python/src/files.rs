//! The files that the command line reads and writes too: models, mechanisms, ledgers, manifests.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use veilwalk::guarantee::{Cover, Price};
use veilwalk::internal::mechanism::Budget;
use veilwalk::internal::model::Certified;
use veilwalk::internal::request::{Base, Made, Request, TrackChoice};
use veilwalk::mechanism::Calibration;
use veilwalk::random::SourceKind;
use veilwalk::{ReleaseId, Start};
use veilwalk_io::{
    FinishedRelease, Manifest, MechanismFile, PersonsPart, UnknownStates, check_release, hash_file,
    verify_release, write_model,
};
use veilwalk_ledger::{Ledger, Limit, Terms, Window, is_ledger};

use crate::chain::Chain;
use crate::error::{
    ParameterError, VeilwalkError, chain_error, ledger_error, parameter_error, release_error,
};
use crate::interrupt;
use crate::mechanism::{Mechanism, to_value};
use crate::release::{drawn_release_id, parsed_release_id};

fn file_error(error: impl std::fmt::Display) -> PyErr {
    VeilwalkError::new_err(error.to_string())
}

/// Refuses to write over what nothing could bring back.
fn refuse_to_replace(path: &Path) -> PyResult<()> {
    let name = path.display();
    if is_ledger(path) {
        return Err(file_error(format!(
            "{name}: this is a ledger, and what it has counted would be lost; give another file"
        )));
    }
    if path.is_file() && name.to_string().ends_with(Manifest::SUFFIX) {
        return Err(file_error(format!(
            "{name}: this is the manifest of a release; give another file"
        )));
    }
    Ok(())
}

/// Writes a chain with its distances.
#[pyfunction]
pub(crate) fn compile_chain(py: Python<'_>, chain: &Chain, path: PathBuf) -> PyResult<()> {
    refuse_to_replace(&path)?;
    let model = chain.model(py)?;
    interrupt::run(py, move |_| {
        write_model(&model, model.all_certified(), &path).map_err(file_error)
    })
}

/// Writes the chain of a mechanism with its distances, its cells and their calibrated scales.
#[pyfunction]
pub(crate) fn compile_mechanism(
    py: Python<'_>,
    mechanism: &Mechanism,
    path: PathBuf,
) -> PyResult<()> {
    refuse_to_replace(&path)?;
    let Made { mechanism: inner, promise, calibration, .. } = mechanism.made.clone();
    interrupt::run(py, move |_| {
        let (model, design) = (inner.model(), inner.design());
        let mut scales = model.all_certified().to_vec();
        let there =
            |c: &Certified| (c.design, c.promise, c.calibration) == (design, promise, calibration);
        if let Some(certificate) = inner.certificate()
            && !scales.iter().any(there)
        {
            scales.push(Certified { design, promise, calibration, scales: certificate.into() });
        }
        write_model(model, &scales, &path).map_err(file_error)
    })
}

/// Writes the mechanism's choices, promise and scales.
#[pyfunction]
pub(crate) fn save_mechanism(mechanism: &Mechanism, path: PathBuf) -> PyResult<()> {
    refuse_to_replace(&path)?;
    MechanismFile::describing(&mechanism.made.mechanism, mechanism.made.calibration)
        .ok_or_else(|| ParameterError::new_err("the mechanism makes no promise"))?
        .write(&path)
        .map_err(file_error)
}

/// Makes the mechanism that a file describes, and compares.
#[pyfunction]
pub(crate) fn read_mechanism(py: Python<'_>, path: PathBuf, chain: &Chain) -> PyResult<Mechanism> {
    let file = MechanismFile::read(&path).map_err(parameter_error)?;
    let (design, promise, calibration) = file.parts().map_err(parameter_error)?;
    let hash = chain.labels().chain().hash().to_string();
    if file.chain != hash {
        return Err(parameter_error(format!(
            "{}: this mechanism is for a chain with hash {}, and the chain given has {hash}; give \
             the chain it was made for, read in the same way and with the same initial distribution",
            path.display(),
            file.chain,
        )));
    }
    let mut request = Request::new(Base::Tuned(design), promise);
    // What is usual stays unsaid, so that it is the mechanism that arguments make: a private start goes by
    // the theorem only if that was asked for.
    request.calibration = (calibration != Calibration::default_for(design)).then_some(calibration);
    let tracking = file.tracking().map_err(parameter_error)?;
    request.track = tracking.map(TrackChoice::of).unwrap_or_default();
    let made = Mechanism::new(py, chain, request)?;
    let inner = made.made.mechanism.clone();
    interrupt::run(py, move |stop| {
        let checked = file.check(&inner, &|_| stop.flow());
        checked.map_err(|error| parameter_error(format!("{}: {error}", path.display())))
    })?;
    Ok(made)
}

/// What walks are charged to before they are released.
#[derive(Clone, Debug)]
pub(crate) struct Charge {
    path: PathBuf,
    terms: Terms,
    limit: Option<Limit>,
    /// Whose walk each is, by its name. Where there is none, every walk is its own person.
    persons: Option<HashMap<String, String>>,
}

/// How a ledger is to be charged.
pub(crate) struct AskedCharge<'a> {
    pub(crate) path: PathBuf,
    pub(crate) budget: Option<&'a str>,
    pub(crate) window: Option<&'a str>,
    pub(crate) persons: Option<HashMap<String, String>>,
}

impl Charge {
    pub(crate) fn new(
        mechanism: &Mechanism,
        releasing: &veilwalk::Mechanism,
        release: Option<ReleaseId>,
        start: Start,
        asked: AskedCharge<'_>,
    ) -> PyResult<Self> {
        let AskedCharge { path, budget, window, persons } = asked;
        let budget = budget.map(str::parse::<Budget>).transpose().map_err(parameter_error)?;
        let window = window.map(str::parse::<Window>).transpose();
        let window = window.map_err(|error| parameter_error(format!("window: {error}")))?;
        let price = match releasing.blocks() {
            None => mechanism.price(),
            Some(_) => Price::of(releasing),
        };
        let price = price.ok_or_else(|| parameter_error("the mechanism makes no promise"))?;
        let price = price.starting(start);
        let release = release.map_or_else(ReleaseId::random, Ok);
        let release = release.map_err(|error| VeilwalkError::new_err(error.to_string()))?;
        let terms = Terms {
            release: release.to_bytes(),
            promise: price.promise.into(),
            chain: mechanism.made.mechanism.model().hash(),
            one_state: price.one_state,
            linear: price.linear,
            start_disclosed: start == Start::First,
        };
        let limit = budget.map(|budget| Limit { budget: budget.value(), window });
        Ok(Self { path, terms, limit, persons })
    }

    /// Charges these walks; nothing may be released before it returns.
    pub(crate) fn charge(&self, walks: &[(Cow<'_, str>, Option<[u8; 16]>)]) -> PyResult<()> {
        let charges = walks.iter().map(|(name, digest)| {
            let charge = veilwalk_ledger::Charge::of_walk(name).digest(*digest);
            let Some(persons) = &self.persons else { return Ok(charge) };
            let person = persons.get(&**name).ok_or_else(|| {
                parameter_error(format!("person: it does not say whose walk {name:?} is"))
            })?;
            Ok(charge.person(person))
        });
        let charges = charges.collect::<PyResult<Vec<_>>>()?;
        let ledger = Ledger::open(&self.path);
        let charged = ledger.and_then(|ledger| ledger.charge(&self.terms, &charges, self.limit));
        charged.map(|_| ()).map_err(ledger_error)
    }
}

/// Charges one release of each of these walks under a mechanism.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn charge_ledger(
    py: Python<'_>,
    path: PathBuf,
    mechanism: &Mechanism,
    names: Vec<String>,
    persons: Option<HashMap<String, String>>,
    budget: Option<&str>,
    window: Option<&str>,
    release_id: Option<&str>,
    start: &Bound<'_, PyAny>,
    block: Option<&str>,
    longest_walk: Option<u64>,
) -> PyResult<()> {
    let releasing = mechanism.releasing(py, block, longest_walk)?.mechanism;
    let release = release_id.map(str::parse::<ReleaseId>).transpose();
    let release = release.map_err(|error| parameter_error(format!("release_id: {error}")))?;
    let start = mechanism.start(start)?;
    let asked = AskedCharge { path, budget, window, persons };
    let charge = Charge::new(mechanism, &releasing, release, start, asked)?;
    interrupt::run(py, move |_| {
        let walks: Vec<_> = names.into_iter().map(|name| (Cow::Owned(name), None)).collect();
        charge.charge(&walks)
    })
}

/// What a ledger has, as JSON.
#[pyfunction]
pub(crate) fn read_ledger(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    interrupt::run(py, move |_| {
        let ledger = Ledger::open_existing(&path).map_err(ledger_error)?;
        veilwalk_ledger::shown(&ledger, None).map(|shown| shown.to_string()).map_err(ledger_error)
    })
}

/// Keeps a budget in a ledger, or takes it away.
#[pyfunction]
pub(crate) fn set_ledger_budget(
    py: Python<'_>,
    path: PathBuf,
    budget: Option<&str>,
    window: Option<&str>,
) -> PyResult<()> {
    let budget = budget.map(str::parse::<Budget>).transpose().map_err(parameter_error)?;
    let window = window.map(str::parse::<Window>).transpose();
    let window = window.map_err(|error| parameter_error(format!("window: {error}")))?;
    interrupt::run(py, move |_| {
        let ledger = Ledger::open(&path).map_err(ledger_error)?;
        let limit = budget.map(|budget| Limit { budget: budget.value(), window });
        ledger.set_budget(limit).map_err(ledger_error)
    })
}

/// Writes the manifest of a release that is in a file, after a look at all of it.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn write_manifest(
    py: Python<'_>,
    mechanism: &Mechanism,
    path: PathBuf,
    randomness: &str,
    release_id: Option<&str>,
    start: String,
    kept_columns: Vec<String>,
    block: Option<&str>,
    longest_walk: Option<u64>,
    unknown_state: &Bound<'_, PyAny>,
    persons: Option<(Option<u64>,)>,
) -> PyResult<String> {
    let source = match randomness {
        "system" => SourceKind::System,
        "key" => SourceKind::Keyed,
        "seed" => SourceKind::Seeded,
        other => {
            return Err(ParameterError::new_err(format!(
                "randomness={other:?}: say where it came from: \"system\", \"key\" or \"seed\""
            )));
        }
    };
    let release_id = match (release_id, source) {
        (Some(id), _) => parsed_release_id(id)?,
        // It only names the run.
        (None, SourceKind::System) => drawn_release_id()?,
        (None, _) => {
            return Err(parameter_error(
                "release_id: say under which id the walks were released, so that the run can be repeated; \
                 privatize(release_id=veilwalk.new_release_id()) fixes it",
            ));
        }
    };
    let unknown_states = mechanism.labels.unknown_states(unknown_state)?;
    if unknown_states == UnknownStates::Skip && !kept_columns.is_empty() {
        return Err(ParameterError::new_err(
            "unknown_state=\"skip\" does not go with keep: kept columns show which rows were left out",
        ));
    }
    if Manifest::would_replace_another(&path) {
        return Err(file_error(format!(
            "{}: the manifest goes there, but the file that is there is no manifest; move it away",
            Manifest::path_for(&path).display()
        )));
    }
    let Made { name, mechanism, promise, calibration, .. } =
        mechanism.releasing(py, block, longest_walk)?;
    let model = mechanism.model().clone();
    interrupt::run(py, move |_| {
        let counts = check_release(&path, &mechanism, &kept_columns, &start);
        let counts = counts.map_err(release_error)?;
        let hash = hash_file(&path).map_err(release_error)?;
        let manifest = Manifest::describing(FinishedRelease {
            name: &name,
            mechanism: &mechanism,
            promise,
            calibration,
            cover: &Cover::new(&model, promise.unit),
            source,
            release_id,
            start: &start,
            kept_columns: &kept_columns,
            unknown_states,
            counts,
            persons: persons.map(|(most_walks,)| PersonsPart { losses_add_up: true, most_walks }),
            file: &path,
            hash,
        });
        let written = manifest.prepare_for(&path).and_then(veilwalk_io::AtomicFile::commit);
        written.map_err(file_error)?;
        Ok::<_, PyErr>(to_value(&manifest)?.to_string())
    })
}

/// Holds a release against its manifest and the chain. Gives the manifest as JSON.
#[pyfunction]
pub(crate) fn verify(py: Python<'_>, path: PathBuf, chain: &Chain) -> PyResult<String> {
    let model = chain.model(py)?;
    interrupt::run(py, move |stop| {
        let manifest = verify_release(&path, &model, &|_| stop.flow());
        let manifest = manifest.map_err(release_error)?;
        Ok::<_, PyErr>(to_value(&manifest)?.to_string())
    })
}

/// The chain of a model file, with its tables.
pub(crate) fn read_model(path: &std::path::Path) -> PyResult<Option<veilwalk::Model>> {
    if !path.is_file() || !veilwalk_io::is_model(path).map_err(chain_error)? {
        return Ok(None);
    }
    veilwalk_io::read_model(path).map(Some).map_err(chain_error)
}
