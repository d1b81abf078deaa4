//! Calibrated scales as bytes: JSON, with every number that counts as a whole number or a text.

use std::io;

use serde::{Deserialize, Serialize};
use veilwalk::internal::cell::{CellScale, Obtained};
use veilwalk::internal::model::Certified;
use veilwalk::mechanism::Calibration;
use veilwalk::mechanism::{CostScale, Unit};
use veilwalk::{Design, Promise};

use crate::choice_texts::CandidateTexts;

#[derive(Serialize, Deserialize)]
struct Entry {
    distance: String,
    rule: String,
    chain_weight: String,
    /// Moves if it is not said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    candidates: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    weights: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    believed_from: Option<String>,
    epsilon: String,
    radius_nats: Option<String>,
    substitutions: Option<u32>,
    calibration: String,
    /// Factors and denominator of the scale, the bits of the loss, and how it was obtained.
    scales: Vec<([u64; 3], u64, u8)>,
}

pub(super) fn to_bytes(all: &[Certified]) -> io::Result<Vec<u8>> {
    let entries: Vec<Entry> = all.iter().map(entry).collect();
    Ok(serde_json::to_vec(&entries)?)
}

fn entry(certified: &Certified) -> Entry {
    let Certified { design, promise, calibration, scales } = certified;
    let (radius_nats, substitutions) = match promise.unit {
        Unit::Radius(radius) => (Some(radius.to_string()), None),
        Unit::Substitutions(count) => (None, Some(count.get())),
    };
    let place = |obtained| Obtained::ALL.iter().position(|&o| o == obtained).unwrap_or(0) as u8;
    let scale = |c: &CellScale| (c.scale.parts(), c.loss.to_bits(), place(c.obtained));
    let chosen = CandidateTexts::of_other_than_moves(design.candidates);
    Entry {
        candidates: chosen.candidates,
        weights: chosen.weights,
        believed_from: chosen.believed_from,
        distance: design.distance.to_string(),
        rule: design.rule.to_string(),
        chain_weight: design.chain_weight.to_string(),
        epsilon: promise.epsilon.to_string(),
        radius_nats,
        substitutions,
        calibration: match calibration {
            Calibration::Theorem => "theorem".to_owned(),
            Calibration::Exact => "exact".to_owned(),
        },
        scales: scales.iter().map(scale).collect(),
    }
}

/// `None` if the bytes are not what [`to_bytes`] makes.
pub(super) fn from_bytes(bytes: &[u8]) -> Option<Vec<Certified>> {
    let entries: Vec<Entry> = serde_json::from_slice(bytes).ok()?;
    entries.into_iter().map(certified).collect()
}

fn certified(entry: Entry) -> Option<Certified> {
    let Entry { candidates, weights, believed_from, .. } = &entry;
    let (candidates, weights) = (candidates.clone(), weights.clone());
    let chosen = CandidateTexts { candidates, weights, believed_from: believed_from.clone() };
    let design = Design {
        distance: entry.distance.parse().ok()?,
        rule: entry.rule.parse().ok()?,
        chain_weight: entry.chain_weight.parse().ok()?,
        candidates: chosen.read().ok()?,
    };
    // Only the cells of moves have a scale for each last released state.
    design.cells()?;
    let unit = match (entry.radius_nats, entry.substitutions) {
        (Some(radius), None) => Unit::Radius(radius.parse().ok()?),
        (None, Some(count)) => Unit::Substitutions(count.try_into().ok()?),
        _ => return None,
    };
    let calibration = match entry.calibration.as_str() {
        "theorem" => Calibration::Theorem,
        "exact" => Calibration::Exact,
        _ => return None,
    };
    let scale = |(parts, loss, obtained): ([u64; 3], u64, u8)| {
        Some(CellScale {
            scale: CostScale::from_parts(parts)?,
            loss: f64::from_bits(loss),
            obtained: *Obtained::ALL.get(usize::from(obtained))?,
        })
    };
    Some(Certified {
        design,
        promise: Promise { epsilon: entry.epsilon.parse().ok()?, unit },
        calibration,
        scales: entry.scales.into_iter().map(scale).collect::<Option<_>>()?,
    })
}
