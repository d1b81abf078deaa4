//! The layout of a model file: a header, a list of sections, and the sections, each with a checksum.
//!
//! ```text
//! 16 bytes  magic             8  size of the file      16  checksum of all before and of the list
//!  4        version           4  number of sections
//! then for each section:  4 kind, 4 zero, 8 where it starts, 8 how long it is, 16 its checksum
//! then the sections, each at a multiple of 64
//! ```
//!
//! Numbers are little-endian. A checksum is XXH3 with 128 bits: it finds damage, as fast as memory
//! can be read. It is no signature; whoever may write the file may write another checksum.

use std::ops::Range;

use rayon::prelude::*;
use thiserror::Error;
use twox_hash::XxHash3_128;

pub(super) const MAGIC: [u8; 16] = *b"veilwalk model\r\n";
/// The version of models of chains that know where their states are or have another metric than nats, which older
/// programs cannot read.
pub(super) const VERSION: u32 = 2;
/// The version of all other models.
pub(super) const FIRST_VERSION: u32 = 1;
pub(super) const HEADER: usize = 48;
pub(super) const ENTRY: usize = 40;
pub(super) const ALIGNMENT: usize = 64;

/// What a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Hash = 1,
    LabelEnds = 2,
    LabelText = 3,
    RowStarts = 4,
    Targets = 5,
    Probabilities = 6,
    Weights = 7,
    Initial = 8,
    Directed = 9,
    Symmetric = 10,
    CellAnswers = 11,
    CellDistances = 12,
    CellSymmetricAnswers = 13,
    CellSymmetricDistances = 14,
    Certified = 15,
    LabelSlots = 16,
    IncomingStarts = 17,
    IncomingStates = 18,
    IncomingWeights = 19,
    Lengths = 20,
    Coordinates = 21,
    NameEnds = 22,
    NameText = 23,
    LineEnds = 24,
    LinePoints = 25,
    Ground = 26,
}

impl Kind {
    pub(super) const ALL: [Self; 26] = [
        Self::Hash,
        Self::LabelEnds,
        Self::LabelText,
        Self::RowStarts,
        Self::Targets,
        Self::Probabilities,
        Self::Weights,
        Self::Initial,
        Self::Directed,
        Self::Symmetric,
        Self::CellAnswers,
        Self::CellDistances,
        Self::CellSymmetricAnswers,
        Self::CellSymmetricDistances,
        Self::Certified,
        Self::LabelSlots,
        Self::IncomingStarts,
        Self::IncomingStates,
        Self::IncomingWeights,
        Self::Lengths,
        Self::Coordinates,
        Self::NameEnds,
        Self::NameText,
        Self::LineEnds,
        Self::LinePoints,
        Self::Ground,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::LabelEnds | Self::LabelText | Self::LabelSlots => "labels",
            Self::RowStarts | Self::Targets => "moves",
            Self::IncomingStarts | Self::IncomingStates | Self::IncomingWeights => {
                "moves turned around"
            }
            Self::Probabilities => "probabilities",
            Self::Weights => "weights",
            Self::Initial => "initial distribution",
            Self::Directed => "distances",
            Self::Symmetric => "symmetric distances",
            Self::CellAnswers | Self::CellSymmetricAnswers => "right answers",
            Self::CellDistances | Self::CellSymmetricDistances => "distances to cells",
            Self::Certified => "calibrated scales",
            Self::Lengths => "lengths of moves",
            Self::Coordinates => "coordinates",
            Self::NameEnds | Self::NameText => "names",
            Self::LineEnds | Self::LinePoints => "lines",
            Self::Ground => "metric",
        }
    }
}

/// Why a compiled model cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelProblem {
    /// The file starts with something else.
    #[error("this is not a compiled model")]
    NotAModel,
    /// Another version of the format.
    #[error("the model has format {found}; this version of veilwalk reads formats up to {VERSION}")]
    Version {
        /// The version of the file.
        found: u32,
    },
    /// The file is shorter, or longer, than it says.
    #[error("the model is {found} bytes long and should be {expected}: it is not whole")]
    Size {
        /// How long it should be.
        expected: u64,
        /// How long it is.
        found: u64,
    },
    /// A checksum that does not fit.
    #[error("the model is damaged: its {0} are not what was written")]
    Damaged(&'static str),
    /// Sections that do not go together.
    #[error("the model does not make sense: {0}")]
    Inconsistent(String),
    /// A machine that orders the bytes of a number the other way round.
    #[error("compiled models can be used on little-endian machines only; give the chain itself")]
    BigEndian,
}

/// The checksum of some bytes, computed on all cores: that of the checksums of their parts.
pub(super) fn checksum(bytes: &[u8]) -> [u8; 16] {
    const PART: usize = 1 << 22;
    let of = |part: &[u8]| XxHash3_128::oneshot(part).to_le_bytes();
    if bytes.len() <= PART {
        return of(bytes);
    }
    let parts: Vec<[u8; 16]> = bytes.par_chunks(PART).map(of).collect();
    of(parts.as_flattened())
}

/// The sections of a file, each with where it is. Every byte of the file is held against a checksum:
/// the header and the list of sections against the one in the header, the sections against those in
/// the list, and what is between them has to be zero.
pub(super) fn verify(bytes: &[u8]) -> Result<Vec<(Kind, Range<usize>)>, ModelProblem> {
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
    if bytes.len() < HEADER || bytes[..16] != MAGIC {
        return Err(ModelProblem::NotAModel);
    }
    // The version first: in another one everything else may be elsewhere.
    if !(FIRST_VERSION..=VERSION).contains(&u32_at(16)) {
        return Err(ModelProblem::Version { found: u32_at(16) });
    }
    if cfg!(target_endian = "big") {
        return Err(ModelProblem::BigEndian);
    }
    let (count, expected) = (u32_at(20) as usize, u64_at(24));
    if expected != bytes.len() as u64 {
        return Err(ModelProblem::Size { expected, found: bytes.len() as u64 });
    }
    let damaged = ModelProblem::Damaged("header and list of sections");
    let list_end = HEADER + count * ENTRY;
    let list = bytes.get(HEADER..list_end).ok_or(damaged.clone())?;
    if checksum(&[&bytes[..32], list].concat()) != bytes[32..HEADER] {
        return Err(damaged);
    }
    let mut sections = Vec::with_capacity(count);
    let mut end = list_end;
    for at in (HEADER..list_end).step_by(ENTRY) {
        let number = u32_at(at);
        let kind = Kind::ALL.into_iter().find(|&kind| kind as u32 == number);
        let kind = kind.ok_or_else(|| inconsistent("a section of an unknown kind"))?;
        let (start, length) = (u64_at(at + 8) as usize, u64_at(at + 16) as usize);
        let range = start..start.saturating_add(length);
        let section = bytes.get(range.clone()).ok_or(damaged.clone())?;
        // Between two sections there is nothing but zeros.
        let gap = bytes.get(end..start).filter(|gap| gap.len() < ALIGNMENT);
        if gap.is_none_or(|gap| gap.iter().any(|&byte| byte != 0)) {
            return Err(ModelProblem::Damaged("gaps between sections"));
        }
        if checksum(section) != bytes[at + 24..at + ENTRY] {
            return Err(ModelProblem::Damaged(kind.name()));
        }
        end = range.end;
        sections.push((kind, range));
    }
    if end != bytes.len() {
        return Err(damaged);
    }
    Ok(sections)
}

pub(super) fn inconsistent(what: &str) -> ModelProblem {
    ModelProblem::Inconsistent(what.to_owned())
}
