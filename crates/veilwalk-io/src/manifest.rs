//! The manifest: what a release file is, beside it, for whoever uses it.
//!
//! `released.csv` has its manifest in `released.csv.manifest.json`. It says what was promised and
//! how, names the chain and the file by their hashes, and holds nothing that depends on the real
//! walks beyond what the release itself shows. (How many of their moves were impossible under the
//! chain depends on them, and so is only there when it was asked for.)

use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use veilwalk::guarantee::Cover;
use veilwalk::mechanism::{BlockLength, Blocks, Calibration, Observation, Tracking, Unit};
use veilwalk::random::SourceKind;
use veilwalk::{Design, Ground, Measure, Mechanism, Model, Promise, ReleaseId};

use crate::choice_texts::{CandidateTexts, TrackTexts};
use crate::output::AtomicFile;
use crate::read_error::{ReadError, ReadErrorKind};
use crate::release::UnknownStates;
use crate::write_error::{WriteError, WriteErrorKind};

/// Everything a manifest says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this format.
    pub format: u32,
    /// The version of the program.
    pub veilwalk: String,
    /// Whether the promise holds for every state: not with a seed, nor where a state of the chain has no
    /// alternative within the unit, nor for walks whose first state is released as it is.
    pub private: bool,
    /// Why it does not, one sentence for each reason.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub why_not_private: Vec<String>,
    /// How many states of the chain have an alternative within the unit.
    pub coverage: CoveragePart,
    /// The mechanism.
    pub mechanism: MechanismPart,
    /// What was promised.
    pub promise: PromisePart,
    /// The metric that distances are taken from, if it is another than nats.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metric: Option<MetricPart>,
    /// What the promise means on this chain.
    pub guarantee: GuaranteePart,
    /// The chain.
    pub chain: ChainPart,
    /// Whose walks they are, where that was said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub persons: Option<PersonsPart>,
    /// How much was released.
    pub counts: Counts,
    /// Where the randomness came from: `system`, `key` or `seed`.
    pub randomness: String,
    /// The id of the run, as 32 hexadecimal digits. With the key or the seed it repeats the run.
    pub release_id: String,
    /// How released walks start.
    pub start: String,
    /// Columns that were copied as they are.
    pub kept_columns: Vec<String>,
    /// What was done with rows whose state is not one of the chain's: `error`, `skip` (they were left
    /// out, so lengths depend on them), or `state:` and the state that replaced theirs.
    pub unknown_states: String,
    /// The release.
    pub release: ReleasePart,
}

/// How many states of a chain a promise covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoveragePart {
    /// How many states the chain has.
    pub states: usize,
    /// How many of them have at least one alternative.
    pub covered: usize,
    /// The share of those.
    pub share: f64,
}

/// A mechanism by its choices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MechanismPart {
    /// The name it goes by.
    pub name: String,
    /// The distance.
    pub distance: String,
    /// The rule.
    pub rule: String,
    /// The chain weight, exactly.
    pub chain_weight: String,
    /// The scale, or the smallest and largest where it depends on the last released state.
    pub scale: Vec<String>,
    /// How the scale was found: `theorem` or `exact`.
    pub calibration: String,
    /// Which states could be drawn: `moves`, `states` or `believed`. Manifests of earlier versions do not
    /// say it, and mean moves.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub candidates: Option<String>,
    /// The weights of all states, as they were asked for: `tight` or `even`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub weights: Option<String>,
    /// How they were found: `solved`, `program` or `even`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub weights_found: Option<String>,
    /// From which share of the largest predicted mass on a state was believed possible.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub believed_from: Option<String>,
    /// What the walks made of observations were to be good at: `distance` or `states`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub track: Option<String>,
    /// What one nat of a move's own weight counted for in them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub typicality: Option<String>,
    /// How many steps later a step was answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lag: Option<u32>,
    /// The blocks, if states were released in blocks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub block: Option<BlockPart>,
}

/// How states were released together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockPart {
    /// How many steps a block has, or `all`.
    pub length: String,
    /// The most steps that a walk may have, if walks were released as a whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub longest_walk: Option<NonZeroU32>,
    /// What was taken off ε for rounding, in nats.
    pub rounding_cost: f64,
}

/// ε and its unit, as the exact numbers that were given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromisePart {
    /// ε.
    pub epsilon: String,
    /// The radius, if that is the unit and it is in nats.
    pub radius_nats: Option<String>,
    /// The radius with what it is counted in, such as `200m`, if that is the unit and it is not in nats.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub radius: Option<String>,
    /// The number of substitutions, if that is the unit.
    pub substitutions: Option<u32>,
}

/// The metric that distances are taken from, where it is not that of the chain's own moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricPart {
    /// `street`, `line` or `table`.
    pub name: String,
    /// A hash of the chain and the metric.
    pub model: String,
}

impl MetricPart {
    /// The metric of a model; none for nats.
    #[must_use]
    pub fn of(model: &Model) -> Option<Self> {
        let ground = model.ground();
        (*ground != Ground::Nats)
            .then(|| Self { name: ground.to_string(), model: model.hash().to_string() })
    }
}

impl PromisePart {
    /// A promise as it is written down.
    #[must_use]
    pub fn of(promise: Promise) -> Self {
        let (radius_nats, radius, substitutions) = match promise.unit {
            Unit::Radius(radius) if radius.measure() == Measure::Nats => {
                (Some(radius.to_string()), None, None)
            }
            Unit::Radius(radius) => (None, Some(radius.to_string()), None),
            Unit::Substitutions(count) => (None, None, Some(count.get())),
        };
        Self { epsilon: promise.epsilon.to_string(), radius_nats, radius, substitutions }
    }
}

/// What is protected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuaranteePart {
    /// Whether no two different walks are adjacent, so that nothing is protected.
    pub vacuous: bool,
    /// The smallest radius that protects anything.
    pub smallest_radius_nats: Option<f64>,
    /// The same, if it is in metres.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub smallest_radius_metres: Option<f64>,
    /// The share of states with at least one covered alternative.
    pub covered_states: f64,
    /// How many pairs of states are covered.
    pub covered_pairs: u64,
}

/// What is to be known where a person may have several walks. The promise is for one walk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PersonsPart {
    /// That what is promised for one walk adds up over all walks of a person.
    pub losses_add_up: bool,
    /// The largest number of walks of one person. Which walks are one person's is not released, and this depends
    /// on it, so it is here only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most_walks: Option<u64>,
}

/// A chain by its hash and size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainPart {
    /// The content hash.
    pub hash: String,
    /// How many states it has.
    pub states: usize,
    /// How many transitions it has.
    pub transitions: usize,
}

/// How much was released.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Walks.
    pub walks: u64,
    /// Released states in all.
    pub steps: u64,
    /// Real moves that are impossible under the chain, only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub infeasible: Option<u64>,
    /// Rows that were left out, only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub skipped: Option<u64>,
    /// Walks of which every row was left out, only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub vanished: Option<u64>,
    /// Rows whose state was replaced by one of the chain's, only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub replaced: Option<u64>,
}

/// The release file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleasePart {
    /// Its name, without the folder.
    pub file: String,
    /// Its BLAKE3 hash.
    pub hash: String,
}

/// A finished release, for its manifest.
#[derive(Clone, Debug)]
pub struct FinishedRelease<'a> {
    /// The name the mechanism goes by.
    pub name: &'a str,
    /// The mechanism.
    pub mechanism: &'a Mechanism,
    /// What it promises.
    pub promise: Promise,
    /// How its scale was found.
    pub calibration: Calibration,
    /// What the promise covers.
    pub cover: &'a Cover,
    /// Where the randomness came from.
    pub source: SourceKind,
    /// The id of the run.
    pub release_id: ReleaseId,
    /// How released walks start.
    pub start: &'a str,
    /// Columns that were copied as they are.
    pub kept_columns: &'a [String],
    /// What was done with states that the chain does not have.
    pub unknown_states: UnknownStates,
    /// Whose walks they are, where that was said.
    pub persons: Option<PersonsPart>,
    /// How much was released.
    pub counts: Counts,
    /// The file.
    pub file: &'a Path,
    /// Its hash.
    pub hash: String,
}

impl BlockPart {
    /// How long blocks are, and what rounding costs.
    #[must_use]
    pub fn of(blocks: &Blocks) -> Self {
        let (length, longest_walk) = match blocks.length() {
            BlockLength::Steps(steps) => (steps.to_string(), None),
            BlockLength::Whole { longest } => ("all".to_owned(), Some(longest)),
        };
        Self { length, longest_walk, rounding_cost: blocks.rounding_cost() }
    }
}

impl MechanismPart {
    /// The choices of a mechanism, and what came of them.
    #[must_use]
    pub fn of(name: &str, mechanism: &Mechanism, calibration: Calibration) -> Self {
        let (design, observation) = (mechanism.design(), mechanism.observation());
        let chosen = CandidateTexts::of(design.candidates);
        let tracked = observation.map(|it| TrackTexts::of(it.tracking())).unwrap_or_default();
        let found = observation.and_then(Observation::weights_found);
        Self {
            name: name.to_owned(),
            distance: design.distance.to_string(),
            rule: design.rule.to_string(),
            chain_weight: design.chain_weight.to_string(),
            scale: Manifest::scales_in_force(mechanism),
            calibration: calibration.name().to_owned(),
            candidates: chosen.candidates,
            weights: chosen.weights,
            weights_found: found.map(|found| found.name().to_owned()),
            believed_from: chosen.believed_from,
            track: tracked.track,
            typicality: tracked.typicality,
            lag: tracked.lag,
            block: mechanism.blocks().map(BlockPart::of),
        }
    }

    /// The choices.
    ///
    /// # Errors
    ///
    /// A sentence, if a word or number is not one of those it may be, or does not go with another.
    pub(crate) fn design(&self) -> Result<(Design, Option<Tracking>), String> {
        let text = CandidateTexts {
            candidates: self.candidates.clone(),
            weights: self.weights.clone(),
            believed_from: self.believed_from.clone(),
        };
        let candidates = text.read()?;
        let (track, typicality) = (self.track.clone(), self.typicality.clone());
        let tracking = TrackTexts { track, typicality, lag: self.lag }.read(candidates)?;
        let (distance, rule) = (read_as(&self.distance)?, read_as(&self.rule)?);
        let chain_weight = read_as(&self.chain_weight)?;
        Ok((Design { distance, rule, chain_weight, candidates }, tracking))
    }
}

fn read_as<T: std::str::FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

impl CoveragePart {
    /// What a unit covers.
    #[must_use]
    pub fn of(cover: &Cover) -> Self {
        Self { states: cover.states, covered: cover.covered_states, share: cover.share() }
    }
}

impl GuaranteePart {
    /// What a unit covers on the chain.
    #[must_use]
    pub fn of(model: &Model, cover: &Cover) -> Self {
        let measure = model.measure();
        let closest = model.closest_pair();
        let smallest =
            |wanted| closest.filter(|_| measure == wanted).map(|pair| measure.of(pair.distance));
        Self {
            vacuous: cover.is_vacuous(),
            smallest_radius_nats: smallest(Measure::Nats),
            smallest_radius_metres: smallest(Measure::Metres),
            covered_states: cover.share(),
            covered_pairs: cover.covered_pairs,
        }
    }
}

/// The key that every version has.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl Manifest {
    /// The format written by this version.
    pub const FORMAT: u32 = 2;

    /// What `unknown_states` is where rows were left out.
    pub const SKIPPED: &str = "skip";

    /// What `unknown_states` begins with where a state was put in the place of unknown ones.
    pub const REPLACED_BY: &str = "state:";

    /// What the name of a manifest has beyond that of its release.
    pub const SUFFIX: &str = ".manifest.json";

    /// The manifest of a finished release.
    #[must_use]
    pub fn describing(release: FinishedRelease<'_>) -> Self {
        let model = release.mechanism.model();
        let promise = release.promise;
        let randomness = match release.source {
            SourceKind::System => "system",
            SourceKind::Keyed => "key",
            SourceKind::Seeded => "seed",
        };
        let why_not_private = Self::why_not_private(randomness, release.cover, release.start);
        let unknown_states = match release.unknown_states {
            UnknownStates::Refuse => "error".to_owned(),
            UnknownStates::Skip => Self::SKIPPED.to_owned(),
            UnknownStates::Replace(state) => {
                format!("{}{}", Self::REPLACED_BY, model.chain().label(state))
            }
        };
        Self {
            format: Self::FORMAT,
            veilwalk: env!("CARGO_PKG_VERSION").to_owned(),
            private: why_not_private.is_empty(),
            why_not_private,
            coverage: CoveragePart::of(release.cover),
            mechanism: MechanismPart::of(release.name, release.mechanism, release.calibration),
            promise: PromisePart::of(promise),
            metric: MetricPart::of(model),
            guarantee: GuaranteePart::of(model, release.cover),
            chain: ChainPart {
                hash: model.chain().hash().to_string(),
                states: model.chain().len(),
                transitions: model.chain().transitions(),
            },
            persons: release.persons,
            counts: release.counts,
            randomness: randomness.to_owned(),
            release_id: release.release_id.to_string(),
            start: release.start.to_owned(),
            kept_columns: release.kept_columns.to_vec(),
            unknown_states,
            release: ReleasePart {
                file: release.file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                hash: release.hash,
            },
        }
    }

    /// The scale, or the smallest and the largest where it depends on the last released state.
    #[must_use]
    pub fn scales_in_force(mechanism: &Mechanism) -> Vec<String> {
        let etas = || mechanism.model().chain().states().map(|z| mechanism.scale(z).eta());
        let mut scale: Vec<String> =
            [etas().min(), etas().max()].iter().flatten().map(ToString::to_string).collect();
        scale.dedup();
        scale
    }

    /// The name of the metric that distances are taken from.
    #[must_use]
    pub fn metric(&self) -> String {
        self.metric.as_ref().map_or_else(|| Ground::Nats.to_string(), |metric| metric.name.clone())
    }

    /// Where the manifest of a release is.
    #[must_use]
    pub fn path_for(release: &Path) -> PathBuf {
        let mut name = release.as_os_str().to_owned();
        name.push(Self::SUFFIX);
        PathBuf::from(name)
    }

    /// Why a promise does not hold for every state, given where the randomness came from, what is
    /// covered, and how walks start; nothing if it does.
    pub(crate) fn why_not_private(randomness: &str, cover: &Cover, start: &str) -> Vec<String> {
        let mut why = Vec::new();
        if randomness == "seed" {
            why.push("whoever knows the seed can undo it".to_owned());
        }
        if cover.is_vacuous() {
            why.push("nothing is within the radius".to_owned());
        } else if !cover.is_complete() {
            let covered = cover.in_words();
            why.push(format!("only {covered} have an alternative within the radius"));
        }
        if start == "first" {
            why.push("the first state of every walk is the real one".to_owned());
        }
        why
    }

    /// Whether the file where the manifest of this release goes exists and is not a manifest.
    #[must_use]
    pub fn would_replace_another(release: &Path) -> bool {
        Self::path_for(release).exists() && Self::read_for(release).is_err()
    }

    /// Reads the manifest of a release.
    ///
    /// # Errors
    ///
    /// If there is none, or it is not one this version reads.
    pub fn read_for(release: &Path) -> Result<Self, ReadError> {
        let path = Self::path_for(release);
        let name = path.display().to_string();
        let fail = |kind| ReadError::new(name.as_str(), None, kind);
        let text = std::fs::read_to_string(&path).map_err(|e| fail(ReadErrorKind::from_io(e)))?;
        let garbled = |error: serde_json::Error| {
            ReadError::new(
                name.as_str(),
                Some(error.line() as u64),
                ReadErrorKind::NotAManifest(error.to_string()),
            )
        };
        // First the version alone: another one may have other keys.
        let Version { format } = serde_json::from_str(&text).map_err(garbled)?;
        if format != Self::FORMAT {
            return Err(fail(ReadErrorKind::ManifestFormat(format)));
        }
        serde_json::from_str(&text).map_err(garbled)
    }

    /// The manifest as a file that is complete but for its name.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn prepare_for(&self, release: &Path) -> Result<AtomicFile, WriteError> {
        let path = Self::path_for(release);
        let mut file = AtomicFile::create(&path)?;
        let name = file.name().to_owned();
        let fail = |error| WriteError::new(&name, WriteErrorKind::Io(error));
        serde_json::to_writer_pretty(&mut file, self).map_err(|e| fail(e.into()))?;
        file.write_all(b"\n").map_err(fail)?;
        Ok(file)
    }
}

/// Passes everything on, and hashes it on the way.
#[derive(Debug)]
pub struct Hashing<W> {
    inner: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Hashing<W> {
    /// Hashes what goes to `inner` from here on.
    pub fn new(inner: W) -> Self {
        Self { inner, hasher: blake3::Hasher::new() }
    }

    /// What was written through, and its hash as a manifest has it.
    pub fn finish(self) -> (W, String) {
        (self.inner, self.hasher.finalize().to_hex().to_string())
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The hash of a file, as a manifest has it.
///
/// # Errors
///
/// If the file cannot be read.
pub fn hash_file(path: &Path) -> Result<String, ReadError> {
    let fail =
        |error| ReadError::new(path.display().to_string(), None, ReadErrorKind::from_io(error));
    let mut file = File::open(path).map_err(fail)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut buffer).map_err(fail)?;
        if count == 0 {
            return Ok(hasher.finalize().to_hex().to_string());
        }
        hasher.update(&buffer[..count]);
    }
}
