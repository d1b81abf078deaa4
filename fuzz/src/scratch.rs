//! Files for readers that want a path, in a folder that each thread has for itself.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static FOLDER: TempDir = tempfile::tempdir().expect("a temporary folder");
}

/// The path of a file that holds these bytes until the next call with this name.
pub(crate) fn file(name: &str, data: &[u8]) -> PathBuf {
    let path = path(name);
    std::fs::write(&path, data).expect("a temporary file");
    path
}

/// A path in the folder, whether there is a file or not.
pub(crate) fn path(name: &str) -> PathBuf {
    FOLDER.with(|folder| folder.path().join(name))
}

/// Removes a file that may be there.
pub(crate) fn remove(path: &Path) {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        _ => {}
    }
}
