//! Output that appears only once it is complete.
//!
//! A release that breaks off and is made again is two releases of its first part, so a run that
//! fails must not have released anything.
//!
//! Everything goes to a temporary file in the same directory, which takes the final name in one
//! step at the end. A run that fails half-way leaves what was there before, and no half of a release
//! that could be mistaken for a whole one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, SpooledTempFile};

use crate::early_sync::EarlySync;
use crate::write_error::{WriteError, WriteErrorKind};

/// The temporary files of this process, for whoever has to end it without dropping them.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every file that is not complete yet, for a program that has to end at once: one that is
/// dropped or committed needs nothing more.
pub fn remove_unfinished_files() {
    for path in &*unfinished() {
        // It is gone if it has just been finished.
        let _ = fs::remove_file(path);
    }
}

/// A file that is written in full before it takes its name.
///
/// Dropped without [`AtomicFile::commit`] it leaves nothing behind.
#[derive(Debug)]
pub struct AtomicFile {
    name: String,
    target: PathBuf,
    out: BufWriter<EarlySync>,
    _listed: Listed,
}

/// The place of a temporary file in the list of all of them.
#[derive(Debug)]
pub(crate) struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        unfinished().remove(&self.0);
    }
}

impl AtomicFile {
    const BUFFER: usize = 1 << 16;

    /// Starts a file that will be at this path. A file that is there now stays until the commit; its
    /// permissions go over to the new one. A link is followed.
    ///
    /// # Errors
    ///
    /// If the directory does not exist or cannot be written to, or the path is taken by something
    /// that is not a plain file, or by a file that is read-only.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        let name = path.display().to_string();
        let fail = |kind| WriteError::new(&name, kind);
        let (target, permissions) = match fs::metadata(path) {
            Ok(there) if !there.is_file() => return Err(fail(WriteErrorKind::NotAFile)),
            Ok(there) if there.permissions().readonly() => {
                return Err(fail(WriteErrorKind::ReadOnly));
            }
            Ok(there) => {
                let target = fs::canonicalize(path).map_err(|e| fail(WriteErrorKind::Io(e)))?;
                (target, Some(there.permissions()))
            }
            Err(_) if path.file_name().is_none() => return Err(fail(WriteErrorKind::NotAFile)),
            // Whatever else is the matter shows when the temporary file is made beside it.
            Err(_) => (path.to_owned(), None),
        };
        let directory = directory_of(&target);
        let (file, _listed) = temporary_in(directory).map_err(|error| {
            fail(match error.kind() {
                io::ErrorKind::NotFound if !directory.is_dir() => {
                    WriteErrorKind::NoDirectory(directory.display().to_string())
                }
                _ => {
                    WriteErrorKind::Directory { directory: directory.display().to_string(), error }
                }
            })
        })?;
        if let Some(permissions) = permissions {
            let set = file.as_file().set_permissions(permissions);
            set.map_err(|error| fail(WriteErrorKind::Io(error)))?;
        }
        let out = BufWriter::with_capacity(Self::BUFFER, EarlySync::new(file));
        Ok(Self { out, target, name, _listed })
    }

    /// The path as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Removes what is at the path now, if anything is: for a file that must not be there beside another that is newer. It is
    /// gone from the disk before this returns.
    ///
    /// # Errors
    ///
    /// If it cannot be removed; then it is still there.
    pub(crate) fn remove_old(&self) -> Result<(), WriteError> {
        let fail = |error| WriteError::io(&self.name, error);
        match fs::remove_file(&self.target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => {
                removed.and_then(|()| sync_directory(directory_of(&self.target))).map_err(fail)
            }
        }
    }

    /// Writes everything to the disk, and gives the file its name.
    ///
    /// # Errors
    ///
    /// If any of that fails; then what was at the path before is still there.
    pub fn commit(self) -> Result<(), WriteError> {
        let Self { name, target, out, _listed } = self;
        let fail = |error| WriteError::io(&name, error);
        let early = out.into_inner().map_err(|error| fail(error.into_error()))?;
        let file = early.finish().map_err(fail)?;
        file.persist(&target).map_err(|error| fail(error.error))?;
        sync_directory(directory_of(&target)).map_err(fail)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Output that is held back until it is complete, and then passed on: for standard output, which has
/// no name to be given at the end. What is large waits in an unnamed temporary file.
#[derive(Debug)]
pub struct HeldOutput {
    spool: SpooledTempFile,
}

impl HeldOutput {
    /// Up to this many bytes wait in memory.
    const IN_MEMORY: usize = 1 << 26;

    /// Holds nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { spool: SpooledTempFile::new(Self::IN_MEMORY) }
    }

    /// Writes everything that was held.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub fn pass_on(self, mut out: impl Write) -> Result<(), WriteError> {
        let mut spool = self.spool;
        let written =
            spool.rewind().and_then(|()| io::copy(&mut spool, &mut out)).and_then(|_| out.flush());
        written.map_err(|error| WriteError::io("output", error))
    }
}

impl Default for HeldOutput {
    fn default() -> Self {
        Self::new()
    }
}

impl Write for HeldOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.spool.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.spool.flush()
    }
}

pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A new temporary file. The list is locked until the file is in it, so that
/// [`remove_unfinished_files`] misses none.
pub(crate) fn temporary_in(directory: &Path) -> io::Result<(NamedTempFile, Listed)> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".veilwalk-").suffix(".tmp");
    // Temporary files are private by default; this one becomes an ordinary file, with the
    // permissions that the user's mask leaves.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut unfinished = unfinished();
    let file = builder.tempfile_in(directory)?;
    let path = file.path().to_owned();
    unfinished.insert(path.clone());
    Ok((file, Listed(path)))
}

/// Makes the new name last through a loss of power, where the file system knows how.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput
                    | io::ErrorKind::Unsupported
                    | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}
