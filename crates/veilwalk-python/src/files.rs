//! The files that the command line reads and writes too: models, mechanisms, ledgers, manifests.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use serde_json::json;
use veilwalk::guarantee::Cover;
use veilwalk::mechanism::Budget;
use veilwalk::model::Certified;
use veilwalk::random::SourceKind;
use veilwalk::rational::Rational;
use veilwalk_io::{
    FinishedRelease, Ledger, LedgerScope, Manifest, MechanismFile, count_release, hash_file,
    is_ledger, verify_release, write_model,
};

use crate::chain::Chain;
use crate::choice::Asked;
use crate::error::{
    ParameterError, VeilwalkError, chain_error, in_python, ledger_error, parameter_error,
    release_error,
};
use crate::interrupt;
use crate::mechanism::{Mechanism, to_value};
use crate::release::{drawn_release_id, parsed_release_id};

fn file_error(error: impl std::fmt::Display) -> PyErr {
    VeilwalkError::new_err(in_python(error))
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
    let (inner, promise) = (mechanism.mechanism.clone(), mechanism.promise);
    let calibration = mechanism.scale_from.into();
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
    MechanismFile::describing(&mechanism.mechanism, mechanism.scale_from)
        .ok_or_else(|| ParameterError::new_err("the mechanism makes no promise"))?
        .write(&path)
        .map_err(file_error)
}

/// Makes the mechanism that a file describes, and compares.
#[pyfunction]
pub(crate) fn read_mechanism(py: Python<'_>, path: PathBuf, chain: &Chain) -> PyResult<Mechanism> {
    let file = MechanismFile::read(&path).map_err(parameter_error)?;
    let (_, promise, _) = file.parts().map_err(parameter_error)?;
    let hash = chain.labels().chain().hash().to_string();
    if file.chain != hash {
        return Err(parameter_error(format!(
            "{}: this mechanism is for a chain with hash {}, and the chain given has {hash}; give \
             the chain it was made for, read in the same way and with the same initial distribution",
            path.display(),
            file.chain,
        )));
    }
    let asked = Asked {
        name: None,
        distance: Some(file.distance.clone()),
        rule: Some(file.rule.clone()),
        chain_weight: Some(file.chain_weight.clone()),
        calibrate: Some(file.calibration.clone()),
    };
    let made = Mechanism::made(py, chain, asked, promise)?;
    let inner = made.mechanism.clone();
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
    scope: LedgerScope,
    epsilon: Rational,
    budget: Option<Rational>,
}

impl Charge {
    pub(crate) fn new(
        mechanism: &Mechanism,
        path: PathBuf,
        budget: Option<&str>,
    ) -> PyResult<Self> {
        let budget =
            budget.map(|text| text.parse::<Budget>().map(Budget::value).map_err(parameter_error));
        let promise = mechanism.promise;
        Ok(Self {
            path,
            scope: LedgerScope {
                chain: mechanism.mechanism.model().hash().to_string(),
                unit: promise.unit.to_string(),
            },
            epsilon: promise.epsilon.value(),
            budget: budget.transpose()?,
        })
    }

    /// Charges these walks; nothing may be released before it returns.
    pub(crate) fn charge<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> PyResult<()> {
        // The file is open for one at a time, and the threads of one process wait for each other.
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let ledger = Ledger::open(&self.path, &self.scope);
        let charged = ledger.and_then(|l| l.charge(names, self.epsilon, self.budget));
        charged.map_err(ledger_error)
    }
}

/// Charges one release of each of these walks under a mechanism.
#[pyfunction]
pub(crate) fn charge_ledger(
    py: Python<'_>,
    path: PathBuf,
    mechanism: &Mechanism,
    names: Vec<String>,
    budget: Option<&str>,
) -> PyResult<()> {
    let charge = Charge::new(mechanism, path, budget)?;
    interrupt::run(py, move |_| charge.charge(names.iter().map(String::as_str)))
}

/// What a ledger has, as JSON.
#[pyfunction]
pub(crate) fn read_ledger(path: PathBuf) -> PyResult<String> {
    let ledger = Ledger::open_existing(&path).map_err(ledger_error)?;
    let (scope, entries) =
        (ledger.scope().map_err(ledger_error)?, ledger.entries().map_err(ledger_error)?);
    let entry = |entry: veilwalk_io::LedgerEntry| {
        let spent = json!({
            "epsilon": entry.spent.as_f64(),
            "exact": entry.spent.to_string(),
            "releases": entry.releases,
        });
        (entry.trajectory, spent)
    };
    let walks: serde_json::Map<_, _> = entries.into_iter().map(entry).collect();
    Ok(json!({ "chain": scope.chain, "unit": scope.unit, "spent": walks }).to_string())
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
    if Manifest::would_replace_another(&path) {
        return Err(file_error(format!(
            "{}: the manifest goes there, and there is a file that is none; move it away",
            Manifest::path_for(&path).display()
        )));
    }
    let (releasing, name, scale_from) = mechanism.releasing(py, block, longest_walk)?;
    let (model, promise) = (mechanism.mechanism.model().clone(), mechanism.promise);
    interrupt::run(py, move |_| {
        let counts = count_release(&path, model.chain(), &kept_columns, &start);
        let counts = counts.map_err(release_error)?;
        let hash = hash_file(&path).map_err(release_error)?;
        let manifest = Manifest::describing(FinishedRelease {
            name: &name,
            releasing: &releasing,
            promise,
            scale_from,
            cover: &Cover::new(&model, promise.unit),
            source,
            release_id,
            start: &start,
            kept_columns: &kept_columns,
            counts,
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
