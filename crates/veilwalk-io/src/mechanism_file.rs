//! A mechanism as a file: its choices, its promise and, for cells, the certificate of its scales.
//!
//! What counts are the choices and the promise. Scales are in the file so that people and other
//! programs can read them; whoever makes a mechanism of it computes them again and compares, so a
//! file that was changed can refuse to work and never weaken the promise.
//!
//! A checksum of all that the file says finds damage: a flipped bit can make another number of an
//! epsilon. Who changes a file on purpose takes the checksum out.

use std::io::Write;
use std::num::NonZeroU32;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use veilwalk::Rational;
use veilwalk::Watch;
use veilwalk::error::Remedy;
use veilwalk::internal::cell::CellScale;
use veilwalk::internal::guarantee::{CertificateError, check_certificate};
use veilwalk::mechanism::{Calibration, ChainWeight, Epsilon, Radius, Tracking, Unit};
use veilwalk::{Chain, Design, Distance, Mechanism, Promise, Rule, StateId};

use crate::choice_texts::{CandidateTexts, TrackTexts};
use crate::manifest::{MetricPart, PromisePart};
use crate::output::AtomicFile;
use crate::read_error::{ReadError, ReadErrorKind};
use crate::write_error::{WriteError, WriteErrorKind};

/// Everything a mechanism file says. Numbers that count are texts, exact as they were given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MechanismFile {
    /// The version of this format.
    pub format: u32,
    /// The version of the program that wrote it.
    pub veilwalk: String,
    /// The content hash of the chain.
    pub chain: String,
    /// The distance.
    pub distance: String,
    /// The rule.
    pub rule: String,
    /// The chain weight.
    pub chain_weight: String,
    /// Which states can be drawn: `states` or `believed`; moves if it is not said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub candidates: Option<String>,
    /// The weights of all states: `tight` or `even`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub weights: Option<String>,
    /// From which share of the largest predicted mass on a state is believed possible.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub believed_from: Option<String>,
    /// What walks made of observations are to be good at: `distance` or `states`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub track: Option<String>,
    /// What one nat of a move's own weight counts for in them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub typicality: Option<String>,
    /// How many steps later a step is answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lag: Option<u32>,
    /// How the scale is found: `theorem` or `exact`.
    pub calibration: String,
    /// ε.
    pub epsilon: String,
    /// The radius, if that is the unit and it is in nats.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub radius_nats: Option<String>,
    /// The radius with what it is counted in, if that is the unit and it is not in nats.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub radius: Option<String>,
    /// The metric that distances are taken from, if it is another than nats.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metric: Option<MetricPart>,
    /// The number of substitutions, if that is the unit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub substitutions: Option<NonZeroU32>,
    /// The scale of each last released state, for mechanisms that go by cells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scales: Option<Vec<ScalePart>>,
    /// A checksum of everything above, however it is laid out; none in a file that people wrote.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checksum: Option<String>,
}

/// What is certified after one last released state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScalePart {
    /// The last released state.
    pub previous: String,
    /// The scale, a decimal or a fraction.
    pub eta: String,
    /// At least the largest loss per nat or per substitution.
    pub loss: f64,
    /// How it was obtained.
    pub obtained: String,
}

/// The scales in a file that are not those of the mechanism it describes.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ScaleMismatch {
    /// Scales where the mechanism has none of its own, or the other way round.
    #[error(
        "the file has scales for {found} states, and the mechanism it describes for {expected}"
    )]
    Count {
        /// How many the mechanism has.
        expected: usize,
        /// How many the file has.
        found: usize,
    },
    /// One of them differs.
    #[error(
        "after {:?} the file has scale {} ({}, loss {:.6}), and what keeps its promise is {} ({}, \
         loss {:.6}); the file was changed, or written by another version: tune again",
        .found.previous, .found.eta, .found.obtained, .found.loss,
        .expected.eta, .expected.obtained, .expected.loss
    )]
    Differs {
        /// What was computed.
        expected: Box<ScalePart>,
        /// What is in the file.
        found: Box<ScalePart>,
    },
}

/// Why the mechanism in a file cannot be trusted.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MechanismFileError {
    /// The scales of the file are not those of its choices.
    #[error(transparent)]
    Mismatch(#[from] ScaleMismatch),
    /// Another metric than the one it was made for.
    #[error(
        "the mechanism is for distances by {expected}, and these are by {found}, or of another table; give those \
         with {}",
        Remedy::Metric
    )]
    OtherMetric {
        /// The metric in the file.
        expected: String,
        /// The metric that was given.
        found: String,
    },
    /// A scale that breaks the promise.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

impl ScalePart {
    fn new(chain: &Chain, state: StateId, scale: &CellScale) -> Self {
        Self {
            previous: chain.label(state).to_owned(),
            eta: scale.scale.eta().to_string(),
            loss: scale.loss,
            obtained: scale.obtained.name().to_owned(),
        }
    }

    /// Losses are computed in doubles, which may differ a little between machines.
    fn same_as(&self, other: &Self) -> bool {
        self.previous == other.previous
            && self.eta.parse::<Rational>() == other.eta.parse()
            && (self.loss - other.loss).abs() <= 1e-9 * (1.0 + other.loss)
            && self.obtained == other.obtained
    }
}

impl MechanismFile {
    /// The format written by this version.
    pub const FORMAT: u32 = 1;

    /// Describes a mechanism; `None` if it makes no promise.
    #[must_use]
    pub fn describing(mechanism: &Mechanism, calibration: Calibration) -> Option<Self> {
        let (promise, design) = (mechanism.promise()?, mechanism.design());
        let chain = mechanism.model().chain();
        let PromisePart { epsilon, radius_nats, radius, .. } = PromisePart::of(promise);
        let substitutions = match promise.unit {
            Unit::Radius(_) => None,
            Unit::Substitutions(count) => Some(count),
        };
        let scales = mechanism.certificate().map(|certificate| {
            let states = chain.states().zip(certificate);
            states.map(|(state, scale)| ScalePart::new(chain, state, scale)).collect()
        });
        let chosen = CandidateTexts::of_other_than_moves(design.candidates);
        let tracked = mechanism.observation().map(|it| TrackTexts::of(it.tracking()));
        let tracked = tracked.unwrap_or_default();
        let file = Self {
            format: Self::FORMAT,
            veilwalk: env!("CARGO_PKG_VERSION").to_owned(),
            chain: chain.hash().to_string(),
            distance: design.distance.to_string(),
            rule: design.rule.to_string(),
            chain_weight: design.chain_weight.to_string(),
            candidates: chosen.candidates,
            weights: chosen.weights,
            believed_from: chosen.believed_from,
            track: tracked.track,
            typicality: tracked.typicality,
            lag: tracked.lag,
            calibration: calibration.name().to_owned(),
            epsilon,
            radius_nats,
            radius,
            metric: MetricPart::of(mechanism.model()),
            substitutions,
            scales,
            checksum: None,
        };
        Some(Self { checksum: Some(file.computed_checksum()), ..file })
    }

    /// The checksum of everything else in it.
    fn computed_checksum(&self) -> String {
        let text = serde_json::to_vec(&Self { checksum: None, ..self.clone() });
        blake3::hash(&text.expect("texts and numbers")).to_hex()[..32].to_owned()
    }

    /// Reads a mechanism file.
    ///
    /// # Errors
    ///
    /// If there is none, or it is not one this version reads.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let name = path.display().to_string();
        let fail = |kind| ReadError::new(name.as_str(), None, kind);
        let bytes = std::fs::read(path).map_err(|e| fail(ReadErrorKind::from_io(e)))?;
        let no_text = |_| fail(ReadErrorKind::NotAMechanism("it is not text".to_owned()));
        let text = String::from_utf8(bytes).map_err(no_text)?;
        let malformed = |error: serde_json::Error| {
            let line = Some(error.line() as u64).filter(|&line| line > 0);
            let kind = ReadErrorKind::NotAMechanism(error.to_string());
            ReadError::new(name.as_str(), line, kind)
        };
        // The version first: another one may have other fields.
        #[derive(Deserialize)]
        struct Versioned {
            format: u32,
        }
        let Versioned { format } = serde_json::from_str(&text).map_err(malformed)?;
        if format != Self::FORMAT {
            return Err(fail(ReadErrorKind::MechanismFormat(format)));
        }
        let file: Self = serde_json::from_str(&text).map_err(malformed)?;
        file.parts().map_err(|why| fail(ReadErrorKind::NotAMechanism(why)))?;
        if file.checksum.as_ref().is_some_and(|checksum| *checksum != file.computed_checksum()) {
            return Err(fail(ReadErrorKind::DamagedMechanism));
        }
        Ok(file)
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// If it cannot be written; then what was at the path before is still there.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        let mut file = AtomicFile::create(path)?;
        let name = file.name().to_owned();
        let fail = |error| WriteError::new(&name, WriteErrorKind::Io(error));
        serde_json::to_writer_pretty(&mut file, self).map_err(|e| fail(e.into()))?;
        file.write_all(b"\n").map_err(fail)?;
        file.commit()
    }

    /// The choices, the promise and how the scale is found.
    ///
    /// # Errors
    ///
    /// A sentence, if a word or number is not one of those it may be. A file that was
    /// [read](Self::read) has been through this.
    pub fn parts(&self) -> Result<(Design, Promise, Calibration), String> {
        fn parsed<T: std::str::FromStr<Err: ToString>>(
            field: &str,
            text: &str,
        ) -> Result<T, String> {
            text.parse().map_err(|error: T::Err| format!("{field}: {}", error.to_string()))
        }
        let chosen = CandidateTexts {
            candidates: self.candidates.clone(),
            weights: self.weights.clone(),
            believed_from: self.believed_from.clone(),
        };
        let design = Design {
            distance: parsed::<Distance>("distance", &self.distance)?,
            rule: parsed::<Rule>("rule", &self.rule)?,
            chain_weight: parsed::<ChainWeight>("chain_weight", &self.chain_weight)?,
            candidates: chosen.read()?,
        };
        self.tracking_of(design)?;
        let unit = match (&self.radius_nats, &self.radius, self.substitutions) {
            (Some(radius), None, None) => Unit::Radius(parsed::<Radius>("radius_nats", radius)?),
            (None, Some(radius), None) => Unit::Radius(parsed::<Radius>("radius", radius)?),
            (None, None, Some(count)) => Unit::Substitutions(count),
            _ => {
                return Err(
                    "it has to have one of radius_nats, radius and substitutions".to_owned()
                );
            }
        };
        let epsilon = parsed::<Epsilon>("epsilon", &self.epsilon)?;
        let calibration = parsed::<Calibration>("calibration", &self.calibration)?;
        Ok((design, Promise { epsilon, unit }, calibration))
    }

    /// The name of the metric that distances are taken from.
    #[must_use]
    pub fn metric(&self) -> String {
        self.metric.as_ref().map_or_else(|| "nats".to_owned(), |metric| metric.name.clone())
    }

    /// How walks are made of observations; none where moves are drawn.
    ///
    /// # Errors
    ///
    /// As [`MechanismFile::parts`].
    pub fn tracking(&self) -> Result<Option<Tracking>, String> {
        let (design, ..) = self.parts()?;
        self.tracking_of(design)
    }

    fn tracking_of(&self, design: Design) -> Result<Option<Tracking>, String> {
        let (track, typicality) = (self.track.clone(), self.typicality.clone());
        TrackTexts { track, typicality, lag: self.lag }.read(design.candidates)
    }

    /// Does not trust the file: its scales have to be those of the mechanism that was made of its
    /// choices, and where that is quick, every kernel is held against the promise as well.
    ///
    /// # Errors
    ///
    /// If they are not, or the promise is broken, or the watcher asks to stop.
    pub fn check(&self, mechanism: &Mechanism, watch: Watch<'_>) -> Result<(), MechanismFileError> {
        const QUICK: u64 = 20_000_000;
        let model = mechanism.model();
        if self.metric != MetricPart::of(model) {
            let (expected, found) = (self.metric(), model.ground().to_string());
            return Err(MechanismFileError::OtherMetric { expected, found });
        }
        self.compare_scales(mechanism)?;
        let chain = mechanism.model().chain();
        let (states, transitions) = (chain.len() as u64, chain.transitions() as u64);
        if mechanism.certificate().is_some() && states * states * transitions <= QUICK {
            check_certificate(mechanism, watch)?;
        }
        Ok(())
    }

    /// Holds the scales of the file against those of the mechanism made of its choices.
    ///
    /// # Errors
    ///
    /// If they are not the same.
    pub fn compare_scales(&self, mechanism: &Mechanism) -> Result<(), ScaleMismatch> {
        let certificate = mechanism.certificate().unwrap_or_default();
        let scales = self.scales.as_deref().unwrap_or_default();
        if certificate.len() != scales.len() {
            return Err(ScaleMismatch::Count { expected: certificate.len(), found: scales.len() });
        }
        let chain = mechanism.model().chain();
        for ((state, scale), found) in chain.states().zip(certificate).zip(scales) {
            let expected = ScalePart::new(chain, state, scale);
            if !found.same_as(&expected) {
                let (expected, found) = (Box::new(expected), Box::new(found.clone()));
                return Err(ScaleMismatch::Differs { expected, found });
            }
        }
        Ok(())
    }
}
