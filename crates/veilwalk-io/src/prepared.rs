//! What walks were prepared with, in a file beside them.
//!
//! Walks have no room for it: every format of theirs has rows and nothing else. The file says how far apart the states of a walk
//! are, so that a stay of two hours can be told in states. It knows the walks that it is about by their hash, since a stay counted
//! on another clock would be protected for too few states. Like the walks it is not for publication: whoever guessed all of them
//! could see by the hash that the guess is right.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::manifest::hash_file;
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
    /// The hash of the walks' file, which is found when they get their name.
    pub walks: Option<String>,
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
    pub const FORMAT: u32 = 2;

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

    /// Gives walks at this path their name, and writes this beside them. What was beside others goes first and what is beside
    /// these comes last, so wherever it breaks off, walks are beside what they were prepared with or beside nothing.
    ///
    /// # Errors
    ///
    /// If anything cannot be written.
    pub fn commit_with(&self, walks: AtomicFile, path: &Path) -> Result<(), WriteError> {
        // There has to be room for it before the walks get their name.
        let beside = AtomicFile::create(&Self::path_for(path))?;
        beside.remove_old()?;
        walks.commit()?;
        let hashed = hash_file(path).map_err(|error| {
            let kind = WriteErrorKind::Io(std::io::Error::other(error.to_string()));
            WriteError::new(path.display().to_string(), kind)
        })?;
        Self { walks: Some(hashed), ..self.clone() }.write(beside)
    }

    /// Writes it, and gives it its name.
    fn write(&self, mut file: AtomicFile) -> Result<(), WriteError> {
        let name = file.name().to_owned();
        let fail = |error| WriteError::new(&name, WriteErrorKind::Io(error));
        serde_json::to_writer_pretty(&mut file, self).map_err(|e| fail(e.into()))?;
        file.write_all(b"\n").map_err(fail)?;
        file.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(every: &str) -> Prepared {
        let (every, window) = (every.to_owned(), "00:00-24:00".to_owned());
        Prepared {
            veilwalk_prepared: Prepared::FORMAT,
            person_column: "person".to_owned(),
            states_per_walk: None,
            clock: Some(ClockPart { every, window, timezone: None }),
            walks: None,
        }
    }

    /// What is beside walks, but for which walks these are.
    fn beside(path: &Path) -> Option<Prepared> {
        let found = Prepared::read_for(path).unwrap()?;
        assert_eq!(found.walks.as_deref(), Some(&*hash_file(path).unwrap()));
        Some(Prepared { walks: None, ..found })
    }

    fn walks(path: &Path, text: &str) -> AtomicFile {
        let mut file = AtomicFile::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn walks_are_beside_what_they_were_prepared_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("walks.csv");
        for span in ["1h", "5m"] {
            every(span).commit_with(walks(&path, span), &path).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), span);
            assert_eq!(beside(&path), Some(every(span)));
        }
    }

    /// The walks do not get their name: the old ones may still be there, and not beside what the new ones were prepared with.
    #[test]
    fn what_is_beside_walks_is_not_newer_than_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("walks.csv");
        every("1h").commit_with(walks(&path, "old"), &path).unwrap();
        let new = walks(&path, "new");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        every("5m").commit_with(new, &path).unwrap_err();
        assert_eq!(Prepared::read_for(&path).unwrap(), None);
    }

    /// There is no room beside the walks: the new ones do not take the name of the old.
    #[test]
    fn walks_are_not_replaced_where_nothing_can_be_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("walks.csv");
        std::fs::write(&path, "old").unwrap();
        std::fs::create_dir(Prepared::path_for(&path)).unwrap();
        every("5m").commit_with(walks(&path, "new"), &path).unwrap_err();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    }

    /// Through a link, where what is beside the walks lies somewhere else.
    #[cfg(unix)]
    #[test]
    fn a_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("walks.csv");
        let elsewhere = folder.path().join("elsewhere.json");
        std::fs::write(&elsewhere, "{}").unwrap();
        std::os::unix::fs::symlink(&elsewhere, Prepared::path_for(&path)).unwrap();
        every("5m").commit_with(walks(&path, "new"), &path).unwrap();
        assert_eq!(beside(&path), Some(every("5m")));
        assert!(Prepared::path_for(&path).is_symlink());
    }
}
