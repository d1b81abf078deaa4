//! A mechanism as bytes, to be sent to other processes.
//!
//! The chain goes along bit by bit; of the mechanism only what was chosen and promised. Whoever reads
//! it makes the mechanism anew and compares fingerprints, so that bytes that were changed, or another
//! version with other arithmetic, can refuse to work and never weaken the promise.

use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use veilwalk_io::{MechanismFile, ScaleFrom};

use crate::chain::Chain;
use crate::error::{ParameterError, VeilwalkError, chain_error, parameter_error};
use crate::mechanism::{Choice, Mechanism};

const MAGIC: &[u8; 8] = b"veilwalk";
const FORMAT: u8 = 1;

#[derive(Serialize, Deserialize)]
struct Saved {
    version: String,
    name: String,
    distance: String,
    rule: String,
    chain_weight: String,
    calibration: String,
    epsilon: String,
    radius_nats: Option<String>,
    substitutions: Option<u32>,
    fingerprint: [u8; 32],
    chain: Vec<u8>,
}

fn damaged() -> PyErr {
    VeilwalkError::new_err(
        "these bytes are not a mechanism, or were cut or changed since it was written",
    )
}

pub(crate) fn write(mechanism: &Mechanism) -> PyResult<Vec<u8>> {
    let inner = &mechanism.mechanism;
    let file = MechanismFile::describing(inner, mechanism.calibrate)
        .ok_or_else(|| ParameterError::new_err("the mechanism makes no promise"))?;
    let saved = Saved {
        version: file.veilwalk,
        name: mechanism.name().to_owned(),
        distance: file.distance,
        rule: file.rule,
        chain_weight: file.chain_weight,
        calibration: file.calibration,
        epsilon: file.epsilon,
        radius_nats: file.radius_nats,
        substitutions: file.substitutions.map(Into::into),
        fingerprint: inner.fingerprint(),
        chain: inner.model().chain().to_bytes(),
    };
    let mut bytes = [&MAGIC[..], &[FORMAT]].concat();
    bytes.extend(postcard::to_allocvec(&saved).map_err(|e| VeilwalkError::new_err(e.to_string()))?);
    Ok(bytes)
}

pub(crate) fn read(py: Python<'_>, bytes: &[u8]) -> PyResult<(Chain, Mechanism)> {
    let body = bytes.strip_prefix(&MAGIC[..]).ok_or_else(damaged)?;
    let (&format, body) = body.split_first().ok_or_else(damaged)?;
    let ours = env!("CARGO_PKG_VERSION");
    if format != FORMAT {
        return Err(VeilwalkError::new_err(format!(
            "the mechanism was written in format {format}, and this version ({ours}) reads format \
             {FORMAT}; install the same version of veilwalk everywhere"
        )));
    }
    let saved: Saved = postcard::from_bytes(body).map_err(|_| damaged())?;
    if saved.version != ours {
        return Err(VeilwalkError::new_err(format!(
            "the mechanism was written by veilwalk {}, and this is {ours}; install the same version \
             everywhere, so that all release alike",
            saved.version
        )));
    }
    let chain = veilwalk::Chain::from_bytes(&saved.chain).map_err(chain_error)?;
    let chain = Chain::new(py, chain, Vec::new());
    let promise = crate::mechanism::promise(
        &saved.epsilon,
        saved.radius_nats.as_deref(),
        saved.substitutions.map(Into::into),
    )?;
    let design = veilwalk::Design {
        distance: saved.distance.parse().map_err(parameter_error)?,
        rule: saved.rule.parse().map_err(parameter_error)?,
        chain_weight: saved.chain_weight.parse().map_err(parameter_error)?,
    };
    let calibrate = match saved.calibration.as_str() {
        "theorem" => ScaleFrom::Theorem,
        "exact" => ScaleFrom::Exact,
        _ => return Err(damaged()),
    };
    let choice = Choice { design, promise, calibrate };
    let mechanism = Mechanism::made(py, &chain, saved.name, choice)?;
    if mechanism.mechanism.fingerprint() != saved.fingerprint {
        return Err(VeilwalkError::new_err(
            "the mechanism in these bytes is not the one that its choices give here; they were \
             changed, or the machines compute differently",
        ));
    }
    Ok((chain, mechanism))
}
