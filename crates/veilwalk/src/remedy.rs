//! What a user can do about an error, in the words of whoever talks to the user.
//!
//! A library does not know whether it is called by the command, from Python or by another program, so its
//! messages name no flag. Where a message says what helps, it holds a [`Remedy`]. A program that talks
//! to users sets its own words once, when it starts, with [`word_remedies`]: flags for the command,
//! keyword arguments for Python. Without that, the words are for Rust programmers.

use std::fmt;
use std::sync::OnceLock;

/// Something that helps against an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remedy {
    /// Scale every row of a chain so that it sums to one.
    Normalize,
    /// Keep only the largest part of a chain whose states all reach each other.
    LargestComponent,
    /// Make a secret that is long enough.
    NewSecret,
    /// Compile a chain to a model file.
    CompileModel,
    /// Write a mechanism file.
    WriteMechanism,
    /// Release with a ledger, which makes one.
    ReleaseWithLedger,
    /// Make a ledger of the present format from one of an earlier format.
    MigrateLedger,
    /// Release to a file, which writes a manifest beside it.
    WriteManifest,
    /// Say which column holds the names of the walks.
    TrajectoryColumn,
    /// Say which column holds the states.
    StateColumn,
    /// Say which columns are carried over into the release.
    KeepColumns,
    /// Say which column holds whose event it is.
    PersonColumn,
    /// Say which column holds the times of events.
    TimeColumn,
    /// Say which column holds latitudes.
    LatitudeColumn,
    /// Say which column holds longitudes.
    LongitudeColumn,
    /// Cells of a map as states.
    Cells,
    /// Allow more states.
    MaxStates,
    /// The time zone of days and of times without one.
    TimeZone,
    /// The promise that the rows of each walk stand together.
    Grouped,
    /// A radius.
    Radius,
    /// A number of substitutions.
    Substitutions,
    /// The rule.
    Rule,
    /// The largest scale that keeps the promise.
    ExactScale,
    /// Release in blocks.
    Blocks,
    /// Where states lie.
    Places,
    /// The metric that distances are taken from.
    Metric,
    /// The distance.
    Distance,
    /// The chain weight.
    ChainWeight,
    /// Which states can be drawn.
    Candidates,
    /// The weights of all states.
    Weights,
    /// From which share on a state is believed possible.
    LeastShare,
    /// How a walk is made of observations.
    Track,
    /// Say how much a move's own unlikeliness counts in a walk made of observations.
    Typicality,
    /// Answer later, with more observations.
    Lag,
}

static WORDS: OnceLock<fn(Remedy) -> &'static str> = OnceLock::new();

/// Sets the words for remedies in all messages of this process. Only the first call counts.
pub fn word_remedies(words: fn(Remedy) -> &'static str) {
    let _ = WORDS.set(words);
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match WORDS.get() {
            Some(words) => words(*self),
            None => self.for_rust(),
        })
    }
}

impl Remedy {
    fn for_rust(self) -> &'static str {
        match self {
            Self::Normalize => "RowSums::Rescale",
            Self::LargestComponent => "Scope::LargestComponent",
            Self::NewSecret => "32 random bytes from the operating system",
            Self::CompileModel => "write_model",
            Self::WriteMechanism => "MechanismFile::write",
            Self::ReleaseWithLedger => "Ledger::open",
            Self::MigrateLedger => "migrate",
            Self::WriteManifest => "a Manifest",
            Self::TrajectoryColumn => "WalkOptions::trajectory_column",
            Self::StateColumn => "WalkOptions::state_column",
            Self::KeepColumns => "WalkOptions::keep",
            Self::PersonColumn => "EventOptions::person_column",
            Self::TimeColumn => "EventOptions::time_column",
            Self::LatitudeColumn => "EventPlace::Position",
            Self::LongitudeColumn => "EventPlace::Position",
            Self::Cells => "Places::Cells",
            Self::MaxStates => "Limits::states",
            Self::TimeZone => "Settings::zone",
            Self::Grouped => "the promise that they are",
            Self::Radius => "Unit::Radius",
            Self::Substitutions => "Unit::Substitutions",
            Self::Rule => "the rule",
            Self::ExactScale => "Calibration::Exact",
            Self::Blocks => "a block length",
            Self::Places => "Chain::with_places",
            Self::Metric => "Model::measured",
            Self::Distance => "the distance",
            Self::ChainWeight => "the chain weight",
            Self::Candidates => "Candidates",
            Self::Weights => "StateWeights",
            Self::LeastShare => "LeastShare",
            Self::Track => "the aim of the tracking",
            Self::Typicality => "the typicality",
            Self::Lag => "a lag",
        }
    }
}
