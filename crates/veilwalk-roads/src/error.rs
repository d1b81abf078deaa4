//! What can be wrong with a map.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::osm::Mode;

/// Why a map could not be used: which file, and what is wrong with it.
#[derive(Debug, Error)]
#[error("{file}: {problem}")]
pub struct MapError {
    file: String,
    problem: MapProblem,
}

impl MapError {
    pub(crate) fn new(path: &Path, problem: MapProblem) -> Self {
        let problem = match problem {
            MapProblem::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                MapProblem::NotFound
            }
            other => other,
        };
        Self { file: path.display().to_string(), problem }
    }

    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &MapProblem {
        &self.problem
    }
}

/// What is wrong with a map.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MapProblem {
    /// No file of this name.
    #[error("there is no such file; check the path")]
    NotFound,
    /// The operating system refused.
    #[error("the file could not be read ({0}); check that it is a file you may read")]
    Io(io::Error),
    /// Nothing in the file.
    #[error("the file is empty; download the map again")]
    Empty,
    /// Another kind of file.
    #[error(
        "this is not a map of OpenStreetMap; give a file in PBF (.osm.pbf) or XML (.osm), the latter packed with \
         gzip if you like"
    )]
    NotAMap,
    /// A file that ends too early.
    #[error("the map ends in the middle: the file was cut short; download it again")]
    CutShort,
    /// A file that cannot be decoded.
    #[error("the map is damaged ({0}); download it again")]
    Damaged(String),
    /// A map without a street.
    #[error(
        "the map has no way that may be used by {mode}; take a map with roads, or another way to move"
    )]
    NoRoads {
        /// How people were to move.
        mode: Mode,
    },
    /// Roads whose points are not in the file.
    #[error(
        "the map has {ways} ways for {mode}, and not one of them with two points that are in the file; the file \
         lacks the points, so take a complete map"
    )]
    NoPoints {
        /// How many ways there are.
        ways: usize,
        /// How people were to move.
        mode: Mode,
    },
    /// A street too long for a move.
    #[error("the way {way} is more than 4000 km long; correct the map")]
    TooLong {
        /// The number of the way.
        way: i64,
    },
    /// No part that can be walked forever.
    #[error(
        "no two streets of the map for {mode} can be reached from each other; take a larger map, or another way to \
         move"
    )]
    NothingConnected {
        /// How people were to move.
        mode: Mode,
    },
    /// A table of counts that is not one.
    #[error("{file}, line {line}: {problem}")]
    Counts {
        /// The file.
        file: String,
        /// The line, from one.
        line: u64,
        /// What is wrong with it.
        problem: CountsProblem,
    },
}

/// What is wrong with a line of a table of counts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CountsProblem {
    /// Other columns.
    #[error("the columns are {found:?}; write from,to,count")]
    Header {
        /// The header that was found.
        found: String,
    },
    /// A field that is no count.
    #[error("the count {0:?} is not a number from zero up")]
    NotACount(String),
    /// A move twice.
    #[error("the move from {from:?} to {to:?} is there twice; give it once")]
    Twice {
        /// Where it starts.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// Text that cannot be read as a table.
    #[error("this cannot be read as CSV ({0})")]
    NotCsv(String),
    /// Not one line about a move of the map.
    #[error(
        "no line is about a move of this map; check that the states are those of this map, for this way to move"
    )]
    OfAnotherMap,
}

impl MapProblem {
    pub(crate) fn damaged(what: &str) -> Self {
        Self::Damaged(what.to_owned())
    }

    /// A failure to read on, which for a packed or a binary map means that it is cut or changed.
    pub(crate) fn from_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::CutShort,
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                Self::Damaged(error.to_string())
            }
            _ => Self::Io(error),
        }
    }
}
