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

use rayon::prelude::*;
use thiserror::Error;
use twox_hash::XxHash3_128;

pub(super) const MAGIC: [u8; 16] = *b"veilwalk model\r\n";
pub(super) const VERSION: u32 = 1;
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
}

impl Kind {
    pub(super) const ALL: [Self; 19] = [
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
    #[error("the model has format {found}; this version of veilwalk reads format {VERSION}")]
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
