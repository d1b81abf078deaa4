//! What walks were prepared with, in a file beside them.
//!
//! Walks have no room for it: every format of theirs has rows and nothing else. The file says how far apart the states of a walk
//! are, so that a stay of two hours can be told in states. It holds settings alone and nothing of the events, so it may go where
//! the release goes.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::output::AtomicFile;
use crate::read_error::{ReadError, ReadErrorKind};
use crate::write_error::{WriteError, WriteErrorKind};

/// What walks were prepared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// The format of this file.
    pub veilwalk_prepared: u32,
    /// The column that says whose walk it is.
    pub person_column: String,
    /// How many states every walk has, if all have as many.
    pub states_per_walk: Option<u64>,
    /// The clock, if states are those of its ticks.
    pub clock: Option<ClockPart>,
}

/// A clock, in words that the command takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockPart {
    /// How far apart ticks are, such as `5m`.
    pub every: String,
    /// The part of the day, such as `06:00-22:00`.
    pub window: String,
    /// The zone of the days, where one was given.
    pub timezone: Option<String>,
}

impl Prepared {
    /// The format that is written and read.
    pub const FORMAT: u32 = 1;

    /// What the name of walks gets behind it.
    pub const SUFFIX: &'static str = ".prepared.json";

    /// Where this is for walks at this path.
    #[must_use]
    pub fn path_for(walks: &Path) -> PathBuf {
        let mut path = walks.as_os_str().to_owned();
        path.push(Self::SUFFIX);
        path.into()
    }

    /// Whether writing it would replace a file that is something else.
    #[must_use]
    pub fn would_replace_another(walks: &Path) -> bool {
        Self::path_for(walks).exists() && !matches!(Self::read_for(walks), Ok(Some(_)))
    }

    /// Reads what walks were prepared with; nothing if there is no such file.
    ///
    /// # Errors
    ///
    /// If there is one that cannot be read, or is of another version.
    pub fn read_for(walks: &Path) -> Result<Option<Self>, ReadError> {
        let path = Self::path_for(walks);
        let fail = |kind| ReadError::new(path.display().to_string(), None, kind);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| fail(ReadErrorKind::from_io(error)))?,
        };
        let garbled = |problem: String| fail(ReadErrorKind::NotPrepared(problem));
        let prepared: Self =
            serde_json::from_str(&text).map_err(|error| garbled(error.to_string()))?;
        if prepared.veilwalk_prepared != Self::FORMAT {
            return Err(garbled(format!("it has format {}", prepared.veilwalk_prepared)));
        }
        Ok(Some(prepared))
    }

    /// Writes it for walks at this path; it appears when it is committed.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write_for(&self, walks: &Path) -> Result<AtomicFile, WriteError> {
        let mut file = AtomicFile::create(&Self::path_for(walks))?;
        let name = file.name().to_owned();
        let fail = |error| WriteError::new(&name, WriteErrorKind::Io(error));
        serde_json::to_writer_pretty(&mut file, self).map_err(|e| fail(e.into()))?;
        file.write_all(b"\n").map_err(fail)?;
        Ok(file)
    }
}
