//! Whether a mapped file is still what it was.
//!
//! The file is asked, through the handle by which it was opened, when it was last changed and how
//! large it is. That is one system call, and it is made before anything is handed on: after
//! every round of a release, and after every step that is answered by itself.
//!
//! The time of the last change of its *content* and its size say that it was written to. The time of
//! the last change of *anything* about it (also its name, its rights, or that it has no name any more
//! because another file took it) says that it may have been, with the first time set back: then all
//! checksums are compared again.
//!
//! Systems count these times in steps of some milliseconds. So that a change right after opening gets
//! another time, a file that was changed just now is not opened before its time has passed.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use veilwalk::error::ModelChanged;
use veilwalk::internal::model::TableOrigin;

use super::layout::verify;
use super::map::Map;

/// Longer than any step in which times are counted on the common file systems of Linux and macOS.
const STEP: Duration = Duration::from_millis(20);

/// When a file was last changed, and how large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    content: (i64, i64),
    anything: (i64, i64),
    size: u64,
}

impl Stamp {
    fn of(there: &Metadata) -> Self {
        Self {
            content: (there.mtime(), there.mtime_nsec()),
            anything: (there.ctime(), there.ctime_nsec()),
            size: there.size(),
        }
    }

    /// Whether it was changed so short a time ago that another change may get the same time.
    fn is_fresh(self) -> bool {
        let Ok(seconds) = u64::try_from(self.anything.0) else { return false };
        let nanos = u32::try_from(self.anything.1).unwrap_or(0);
        let changed = UNIX_EPOCH + Duration::new(seconds, nanos);
        SystemTime::now().duration_since(changed).is_ok_and(|ago| ago < STEP)
    }
}

/// A file, and when it was changed before it was mapped.
#[derive(Debug)]
pub(super) struct Opened {
    file: File,
    stamp: Stamp,
}

impl Opened {
    /// To be called before the file is mapped.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let mut stamp = Stamp::of(&file.metadata()?);
        if stamp.is_fresh() {
            std::thread::sleep(STEP);
            stamp = Stamp::of(&file.metadata()?);
        }
        Ok(Self { file, stamp })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// To be called once the map's checksums were found right.
    pub(super) fn guard(self, name: &str, map: Arc<Map>) -> MappedFile {
        MappedFile { file: self.file, stamp: Mutex::new(self.stamp), name: name.to_owned(), map }
    }
}

/// A mapped file that was found whole.
#[derive(Debug)]
pub(super) struct MappedFile {
    file: File,
    stamp: Mutex<Stamp>,
    name: String,
    map: Arc<Map>,
}

impl TableOrigin for MappedFile {
    fn check(&self) -> Result<(), ModelChanged> {
        let changed = || ModelChanged(self.name.clone());
        let now = Stamp::of(&self.file.metadata().map_err(|_| changed())?);
        let mut known = self.stamp.lock().unwrap_or_else(PoisonError::into_inner);
        if self.map.was_cut_short() || (now.content, now.size) != (known.content, known.size) {
            return Err(changed());
        }
        if now.anything != known.anything {
            verify(self.map.bytes()).map_err(|_| changed())?;
            // What was changed while checksums were compared has another time than this.
            *known = now;
        }
        Ok(())
    }
}
