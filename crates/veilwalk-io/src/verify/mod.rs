//! Whether a release is what its manifest says.
//!
//! The file and the chain have to be those of the manifest, every released state has to be one of the
//! chain's, and every move a possible one. Where real states were observed, the released walks are made
//! again of what was observed. The scale and the guarantee are computed again from what the
//! manifest says was promised. A manifest is not signed: whoever can write both files can forge both.

mod observed;
mod reader;
mod released;
mod rows;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use thiserror::Error;
use veilwalk::Watch;
use veilwalk::error::Remedy;
use veilwalk::guarantee::Cover;
use veilwalk::inference::InferenceError;
use veilwalk::internal::request::{Base, Request, RequestError, TrackChoice};
use veilwalk::mechanism::{
    BlockError, BlockLength, Calibration, Observation, Tracking, Unit, WeightsFound,
};
use veilwalk::{Chain, Design, Mechanism, Model, Preset, Promise, ReleaseId, Start, StateId};

use self::observed::check_observed;
pub use self::reader::{ReleaseReader, ReleasedState};
pub use self::released::{Released, read_released};
use crate::manifest::{
    BlockPart, Counts, CoveragePart, GuaranteePart, Manifest, MetricPart, hash_file,
};
use crate::output::directory_of;
use crate::own_columns::{OBSERVED, OwnColumns};
use crate::read_error::{Place, ReadError, ReadErrorKind};
use crate::walks::{WalkOptions, WalkReader};

/// Why a release is not what its manifest says.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// A file that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// No release.
    #[error("{file}: there is no such release in {looked_in}; check the path")]
    NoRelease {
        /// The release.
        file: String,
        /// The folder it was looked for in.
        looked_in: String,
    },
    /// A release without a manifest.
    #[error(
        "{file}: there is no manifest of this release; it was looked for at {manifest}, where \
         {} writes it. Bring both files together, under the names they had",
        Remedy::WriteManifest
    )]
    NoManifest {
        /// The release.
        file: String,
        /// Where its manifest should be.
        manifest: String,
    },
    /// Another chain.
    #[error(
        "{file}: released under the chain {}, and this one is {}; give the \
         chain of the release, read in the same way and with the same initial distribution",
        shortened(.expected),
        shortened(.found)
    )]
    OtherChain {
        /// The release.
        file: String,
        /// The hash in the manifest.
        expected: String,
        /// The hash of the chain that was given.
        found: String,
    },
    /// Another metric.
    #[error(
        "{file}: released with distances by {expected}, and these are by {found}, or of another table; give those of \
         the release with {}",
        Remedy::Metric
    )]
    OtherMetric {
        /// The release.
        file: String,
        /// The metric in the manifest.
        expected: String,
        /// The metric that was given.
        found: String,
    },
    /// Another file.
    #[error(
        "{file}: the file has the hash {}, and its manifest says {}; it was changed after the release",
        shortened(.found),
        shortened(.expected)
    )]
    Changed {
        /// The release.
        file: String,
        /// The hash in the manifest.
        expected: String,
        /// The hash of the file.
        found: String,
    },
    /// A state that the chain does not have.
    #[error("{file}, {place}: {state:?} is not a state of the chain")]
    NotAState {
        /// The release.
        file: String,
        /// Where in it.
        place: Place,
        /// The state.
        state: String,
    },
    /// Something observed that is no place on the lattice.
    #[error(
        "{file}, {place}: {found:?} is not a place that `plane` observes: latitude and longitude in degrees, with nine \
         decimals, as it writes them"
    )]
    NotAPlace {
        /// The release.
        file: String,
        /// Where in it.
        place: Place,
        /// What was found.
        found: String,
    },
    /// A move that the chain does not have.
    #[error("{file}, {place}: the chain cannot move from {from:?} to {to:?}")]
    Impossible {
        /// The release.
        file: String,
        /// Where in it.
        place: Place,
        /// The state before.
        from: String,
        /// The state.
        to: String,
    },
    /// A walk that starts elsewhere than at the one state where all start.
    #[error(
        "{file}, {place}: a walk starts at {found:?}, and all are said to start at {expected:?}"
    )]
    Start {
        /// The release.
        file: String,
        /// Where in it.
        place: Place,
        /// Where walks are said to start.
        expected: String,
        /// Where this one does.
        found: String,
    },
    /// A walk that starts where the initial distribution has no probability.
    #[error(
        "{file}, {place}: a walk starts at {found:?}, and the initial distribution of the chain never does"
    )]
    NeverAStart {
        /// The release.
        file: String,
        /// Where in it.
        place: Place,
        /// Where this one does.
        found: String,
    },
    /// An observation that the mechanism never draws.
    #[error("{file}, {place}: {found:?} was observed, and the mechanism never draws it")]
    NeverObserved {
        /// The release.
        file: String,
        /// Where in it.
        place: Place,
        /// The observation.
        found: String,
    },
    /// A released state that does not follow from what was observed.
    #[error(
        "{file}, {place}: the released state is {found:?}, and what was observed makes it {expected:?}"
    )]
    NotTracked {
        /// The release.
        file: String,
        /// Where in it.
        place: Place,
        /// What follows from the observations.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A row that is not the next step of its walk.
    #[error(
        "{file}, {place}: this row has step {found:?}, and the walk goes on with step {expected}"
    )]
    Step {
        /// The release.
        file: String,
        /// Where in it.
        place: Place,
        /// The number of the next step.
        expected: u64,
        /// What is there.
        found: String,
    },
    /// Not one observation for every released state.
    #[error("{file}, {place}: not every released state has an observation; each needs one")]
    Unpaired {
        /// The release.
        file: String,
        /// Where in it.
        place: Place,
    },
    /// A column that nobody said was kept, or that is not there.
    #[error("{file}: the column {column:?} is {}", if *.there {
        "neither part of a release nor among the columns that were kept; what is copied beside a release \
         is not protected, and has to be named"
    } else {
        "said to be kept, and there is none"
    })]
    Column {
        /// The release.
        file: String,
        /// The column.
        column: String,
        /// Whether it is there.
        there: bool,
    },
    /// No column of observations.
    #[error(
        "{file}: there is no column {OBSERVED:?}, and the mechanism of the manifest observes; bring the \
         release as it was written"
    )]
    NoObservations {
        /// The release.
        file: String,
    },
    /// More or fewer walks or states.
    #[error(
        "{file}: {} walks and {} states, where the manifest counts {} and {}",
        .found.walks, .found.steps, .expected.walks, .expected.steps
    )]
    Counts {
        /// The release.
        file: String,
        /// What the manifest says.
        expected: Box<Counts>,
        /// What was counted.
        found: Box<Counts>,
    },
    /// Nothing can be inferred from it.
    #[error("{file}: {why}")]
    NotInferable {
        /// The release.
        file: String,
        /// Why.
        why: InferenceError,
    },
    /// The manifest contradicts itself.
    #[error("{file}: {why}")]
    Manifest {
        /// The release.
        file: String,
        /// How.
        why: String,
    },
}

/// The beginning of a hash, for messages: enough to tell one from another by eye.
#[must_use]
pub fn shortened(hash: &str) -> String {
    const DIGITS: usize = 12;
    match hash.get(..DIGITS) {
        Some(first) if hash.len() > DIGITS => format!("{first}…"),
        _ => hash.to_owned(),
    }
}

/// How released walks start.
fn start_of(release: &Path, chain: &Chain, start: &str) -> Result<Start, VerifyError> {
    Start::named(start, chain).map_err(|error| {
        let why = format!("start (`private`, `initial`, `first` or a state): {error}");
        VerifyError::Manifest { file: release.display().to_string(), why }
    })
}

/// Goes through a release of moves: all its states have to be the chain's, all its moves possible, its walks
/// start as is said (`private`, `initial`, `first` or a state), and its columns be those of a release and
/// the `kept` ones. (NDJSON may have others, which are not noticed.)
///
/// # Errors
///
/// If it cannot be read, or some column, state or move should not be there.
pub fn count_release(
    release: &Path,
    chain: &Chain,
    kept: &[String],
    start: &str,
) -> Result<Counts, VerifyError> {
    let start = start_of(release, chain, start)?;
    count(release, chain, OwnColumns::Moves, kept, start)
}

/// The same for a release by this mechanism. Where it draws observations, every walk is also made again of
/// what was observed, and has to be that one.
///
/// # Errors
///
/// As [`count_release`], and if a walk is another.
pub fn check_release(
    release: &Path,
    mechanism: &Mechanism,
    kept: &[String],
    start: &str,
) -> Result<Counts, VerifyError> {
    let chain = mechanism.model().chain();
    let start = start_of(release, chain, start)?;
    let counts = count(release, chain, OwnColumns::of(mechanism), kept, start)?;
    check_observed(release, mechanism, start)?;
    Ok(counts)
}

fn count(
    release: &Path,
    chain: &Chain,
    own: OwnColumns,
    kept: &[String],
    start: Start,
) -> Result<Counts, VerifyError> {
    let file = || release.display().to_string();
    // The tracked walk begins where it is best, which follows from what was observed.
    let drawn_first = match start {
        Start::Initial => true,
        Start::Private => own == OwnColumns::Moves,
        Start::First | Start::At(_) => false,
    };
    let start = match start {
        Start::At(state) => Some(state),
        Start::Private | Start::Initial | Start::First => None,
    };
    let mut reader = WalkReader::open(release, WalkOptions::default())?;
    if let Some(header) = reader.header() {
        let once = |place: usize, name: &str| header[..place].iter().all(|c| c.trim() != name);
        let named = |(place, column): &(usize, &String)| {
            let name = column.trim();
            (kept.contains(column) || own.names().contains(&name)) && once(*place, name)
        };
        let unnamed = header.iter().enumerate().find(|column| !named(column));
        let unnamed = unnamed.map(|(_, column)| (column, true));
        let missing = kept.iter().find(|column| !header.contains(column)).map(|c| (c, false));
        if let Some((column, there)) = unnamed.or(missing) {
            let column = column.to_owned();
            return Err(VerifyError::Column { file: file(), column, there });
        }
    }
    let mut last: HashMap<String, StateId> = HashMap::new();
    let mut steps = 0u64;
    while let Some(row) = reader.next_row()? {
        let place = row.place;
        let Some(state) = chain.state(row.state) else {
            let state = row.state.to_owned();
            return Err(VerifyError::NotAState { file: file(), place, state });
        };
        steps += 1;
        let (previous, found) =
            (last.insert(row.trajectory.to_owned(), state), || row.state.to_owned());
        match (previous, start) {
            (Some(previous), _) if !chain.allows(previous, state) => {
                let (from, to) = (chain.label(previous).to_owned(), found());
                return Err(VerifyError::Impossible { file: file(), place, from, to });
            }
            (None, Some(start)) if state != start => {
                let (expected, found) = (chain.label(start).to_owned(), found());
                return Err(VerifyError::Start { file: file(), place, expected, found });
            }
            (None, _) if drawn_first && chain.initial().probability(state) <= 0.0 => {
                return Err(VerifyError::NeverAStart { file: file(), place, found: found() });
            }
            _ => {}
        }
    }
    Ok(Counts { walks: last.len() as u64, steps, ..Counts::default() })
}

/// The folder that a file is to be in, from the root where that can be told.
fn folder_of(file: &Path) -> String {
    let folder = directory_of(file);
    std::path::absolute(folder).unwrap_or(folder.to_owned()).display().to_string()
}

/// Holds a release against its manifest and the chain. Gives the manifest.
///
/// # Errors
///
/// If something is not as the manifest says, or the watcher asks to stop.
pub fn verify_release(
    release: &Path,
    model: &Arc<Model>,
    watch: Watch<'_>,
) -> Result<Manifest, VerifyError> {
    let told = Told::open(release, model.chain())?;
    let mechanism = told.mechanism(release, model, watch)?;
    check_observed(release, &mechanism, told.start)?;
    told.check_unchanged(release)?;
    Ok(told.manifest)
}

/// What the manifest of a release tells, once file and chain are known to be those it names.
struct Told {
    manifest: Manifest,
    design: Design,
    tracking: Option<Tracking>,
    start: Start,
}

impl Told {
    /// Reads the manifest, and holds the file, its states and its moves against it.
    fn open(release: &Path, chain: &Chain) -> Result<Self, VerifyError> {
        let file = release.display().to_string();
        if !release.exists() {
            return Err(VerifyError::NoRelease { looked_in: folder_of(release), file });
        }
        let manifest = Manifest::read_for(release).map_err(|error| match error.kind() {
            ReadErrorKind::NotFound => {
                let manifest = error.file().to_owned();
                VerifyError::NoManifest { file: file.clone(), manifest }
            }
            _ => error.into(),
        })?;
        let (expected, found) = (manifest.chain.hash.clone(), chain.hash().to_string());
        if expected != found {
            return Err(VerifyError::OtherChain { file, expected, found });
        }
        check_hash(release, &manifest)?;
        let choices = manifest.mechanism.design().map_err(|why| contradiction(release, &why))?;
        let (design, tracking) = choices;
        let own = if design.observes() { OwnColumns::Observations } else { OwnColumns::Moves };
        let start = start_of(release, chain, &manifest.start)?;
        let found = count(release, chain, own, &manifest.kept_columns, start)?;
        let expected = manifest.counts.clone();
        if (found.walks, found.steps) != (expected.walks, expected.steps) {
            let (expected, found) = (Box::new(expected), Box::new(found));
            return Err(VerifyError::Counts { file, expected, found });
        }
        Ok(Self { manifest, design, tracking, start })
    }

    /// Once everything was read: the file is gone through several times, and nobody must have put another in its
    /// place meanwhile.
    fn check_unchanged(&self, release: &Path) -> Result<(), VerifyError> {
        check_hash(release, &self.manifest)
    }

    /// The mechanism, made again.
    fn mechanism(
        &self,
        release: &Path,
        model: &Arc<Model>,
        watch: Watch<'_>,
    ) -> Result<Arc<Mechanism>, VerifyError> {
        if self.manifest.metric != MetricPart::of(model) {
            let (expected, found) = (self.manifest.metric(), model.ground().to_string());
            let file = release.display().to_string();
            return Err(VerifyError::OtherMetric { file, expected, found });
        }
        let made = recompute(&self.manifest, self.design, self.tracking, model, watch);
        made.map_err(|why| contradiction(release, &why))
    }
}

/// Refuses a file that is not the one of the manifest.
fn check_hash(release: &Path, manifest: &Manifest) -> Result<(), VerifyError> {
    let (expected, found) = (manifest.release.hash.clone(), hash_file(release)?);
    match expected == found {
        true => Ok(()),
        false => Err(VerifyError::Changed { file: release.display().to_string(), expected, found }),
    }
}

fn contradiction(release: &Path, why: &dyn ToString) -> VerifyError {
    VerifyError::Manifest { file: release.display().to_string(), why: why.to_string() }
}

/// How a manifest contradicts itself.
#[derive(Debug, Error)]
enum Contradiction {
    #[error("{0}")]
    Word(String),
    #[error("the manifest has to promise for either a radius or substitutions")]
    Unit,
    #[error("the manifest says {what} {told}, and what it promises gives {found}")]
    Figure { what: &'static str, told: String, found: String },
    #[error("the manifest calls the mechanism {0}, and its choices are not those")]
    Name(String),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Block(#[from] BlockError),
}

fn parsed<T: std::str::FromStr<Err: ToString>>(text: &str) -> Result<T, Contradiction> {
    text.parse().map_err(|error: T::Err| Contradiction::Word(error.to_string()))
}

fn block_length(block: &BlockPart) -> Result<BlockLength, Contradiction> {
    Ok(match (parsed(&block.length)?, block.longest_walk) {
        (BlockLength::Whole { .. }, Some(longest)) => BlockLength::Whole { longest },
        (length, _) => length,
    })
}

/// What follows from the promise and the choices in the manifest has to be what the manifest says.
fn recompute(
    manifest: &Manifest,
    design: Design,
    tracking: Option<Tracking>,
    model: &Arc<Model>,
    watch: Watch<'_>,
) -> Result<Arc<Mechanism>, Contradiction> {
    let (told, promised) = (&manifest.mechanism, &manifest.promise);
    let sources = ["system", "key", "seed"];
    if !sources.contains(&manifest.randomness.as_str()) {
        let (said, known) = (&manifest.randomness, sources.join(", "));
        return Err(Contradiction::Word(format!("{said:?} is no randomness; {known} are")));
    }
    parsed::<ReleaseId>(&manifest.release_id)?;
    let count = promised.substitutions.and_then(NonZeroU32::new);
    let unit = match (promised.radius_nats.as_ref(), promised.radius.as_ref(), count) {
        (Some(radius), None, None) | (None, Some(radius), None) => Unit::Radius(parsed(radius)?),
        (None, None, Some(count)) => Unit::Substitutions(count),
        _ => return Err(Contradiction::Unit),
    };
    let promise = Promise { epsilon: parsed(&promised.epsilon)?, unit };
    let mut request = Request::new(Base::Tuned(design), promise);
    request.calibration = Some(parsed::<Calibration>(&told.calibration)?);
    if let Some(tracking) = tracking {
        request.track = TrackChoice::of(tracking);
    }
    let mechanism = match &told.block {
        None => request.make(model, watch)?.mechanism,
        Some(block) => {
            let length = block_length(block)?;
            Arc::new(Mechanism::in_blocks(model.clone(), design, promise, length)?)
        }
    };
    let scale = Manifest::scales_in_force(&mechanism);
    let block = mechanism.blocks().map(BlockPart::of);
    let agree = |what: &'static str, told: String, found: String| {
        if told == found { Ok(()) } else { Err(Contradiction::Figure { what, told, found }) }
    };
    agree("states", manifest.chain.states.to_string(), model.chain().len().to_string())?;
    agree("scale", told.scale.join(" to "), scale.join(" to "))?;
    let found = mechanism.observation().and_then(Observation::weights_found);
    let word = |found: Option<&str>| found.unwrap_or("none").to_owned();
    agree(
        "weights found",
        word(told.weights_found.as_deref()),
        word(found.map(WeightsFound::name)),
    )?;
    let rounding = |block: &Option<BlockPart>| match block {
        Some(block) => format!("{:.6e}", block.rounding_cost),
        None => "none".to_owned(),
    };
    agree("rounding cost", rounding(&told.block), rounding(&block))?;
    let named = Preset::of(design, unit).map(|preset| preset.name());
    let known = Preset::NAMES.iter().any(|(name, _)| *name == told.name);
    if known && named != Some(told.name.as_str()) {
        return Err(Contradiction::Name(told.name.clone()));
    }
    let cover = Cover::new(model, unit);
    let found = GuaranteePart::of(model, &cover);
    // Six digits: numbers that went through a text file may differ in the last of a double.
    let figures = |part: &GuaranteePart| {
        let (smallest, unit) = match (part.smallest_radius_nats, part.smallest_radius_metres) {
            (None, Some(metres)) => (metres, "m"),
            (nats, _) => (nats.unwrap_or(0.0), "nats"),
        };
        let (vacuous, share, pairs) = (part.vacuous, part.covered_states, part.covered_pairs);
        format!("vacuous {vacuous}, from {smallest:.6} {unit}, {share:.6} of states, {pairs} pairs")
    };
    agree("guarantee", figures(&manifest.guarantee), figures(&found))?;
    let coverage = |part: &CoveragePart| {
        format!("{} of {} states, {:.6}", part.covered, part.states, part.share)
    };
    agree("coverage", coverage(&manifest.coverage), coverage(&CoveragePart::of(&cover)))?;
    let why = Manifest::why_not_private(&manifest.randomness, &cover, &manifest.start);
    agree("private", manifest.private.to_string(), why.is_empty().to_string())?;
    agree("why it is not private:", manifest.why_not_private.join("; "), why.join("; "))?;
    check_unknown_states(manifest, model.chain())?;
    Ok(mechanism)
}

/// What a manifest says of unknown states has to be possible.
fn check_unknown_states(manifest: &Manifest, chain: &Chain) -> Result<(), Contradiction> {
    let told = manifest.unknown_states.as_str();
    match (told, told.strip_prefix(Manifest::REPLACED_BY)) {
        ("error", _) => Ok(()),
        (Manifest::SKIPPED, _) if manifest.kept_columns.is_empty() => Ok(()),
        (Manifest::SKIPPED, _) => Err(Contradiction::Word(
            "the manifest says that rows were left out and columns kept, which is never done: kept \
             columns would show the gaps"
                .to_owned(),
        )),
        (_, Some(label)) if chain.state(label).is_some() => Ok(()),
        _ => Err(Contradiction::Word(format!(
            "unknown_states: {told:?} is none of `error`, `skip` and `state:` with a state of the chain"
        ))),
    }
}
