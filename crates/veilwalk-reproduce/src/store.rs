//! Finished stages, kept in files, so that a run that was stopped goes on where it was.
//!
//! A stage is named, and its file holds the hash of everything that decides its result: what went
//! in, and the version of what computes it. A file whose hash is another one, or that cannot be
//! read, is as good as none. Files take their names only when they are complete.

use std::cell::Cell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use veilwalk_io::AtomicFile;

/// To be raised whenever a stage computes something else than before.
const RECIPE: u32 = 1;

/// Where finished stages are.
pub(crate) struct Store {
    folder: PathBuf,
    kept: Cell<usize>,
    made: Cell<usize>,
    spent: Cell<Duration>,
}

#[derive(Serialize, Deserialize)]
struct Kept<T> {
    key: String,
    result: T,
}

impl Store {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, kept: Cell::new(0), made: Cell::new(0), spent: Cell::new(Duration::ZERO) }
    }

    /// How many stages were taken from files, how many made, and how long that took, since this was
    /// last asked.
    pub(crate) fn tally(&self) -> (usize, usize, Duration) {
        (self.kept.take(), self.made.take(), self.spent.take())
    }

    /// The result of a stage: the kept one if it was made of the same inputs, else a new one.
    pub(crate) fn stage<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        inputs: &impl Serialize,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let path = self.folder.join(format!("{name}.json"));
        let key = key(name, inputs)?;
        if let Some(result) = read(&path, &key) {
            self.kept.set(self.kept.get() + 1);
            return Ok(result);
        }
        let started = Instant::now();
        let kept = Kept { key, result: work()? };
        self.made.set(self.made.get() + 1);
        self.spent.set(self.spent.get() + started.elapsed());
        let text = serde_json::to_vec(&kept).with_context(|| format!("stage {name}"))?;
        write(&path, &text)?;
        Ok(kept.result)
    }
}

fn key(name: &str, inputs: &impl Serialize) -> Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    let text = serde_json::to_string(&(RECIPE, version, name, inputs))?;
    Ok(blake3::hash(text.as_bytes()).to_hex().to_string())
}

fn read<T: DeserializeOwned>(path: &Path, key: &str) -> Option<T> {
    let text = std::fs::read(path).ok()?;
    let kept: Kept<T> = serde_json::from_slice(&text).ok()?;
    (kept.key == key).then_some(kept.result)
}

/// Writes a file that is there whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).with_context(|| path.display().to_string())?;
    Ok(file.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(store: &Store, inputs: u32, result: f64) -> f64 {
        store.stage("some/stage", &inputs, || Ok(result)).unwrap()
    }

    #[test]
    fn a_stage_is_run_again_only_if_its_inputs_changed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned());
        assert_eq!(run(&store, 1, 0.1), 0.1);
        assert_eq!(run(&store, 1, 0.2), 0.1, "kept");
        assert_eq!(run(&store, 2, 0.3), 0.3, "other inputs");
        let (kept, made, _) = store.tally();
        assert_eq!((kept, made), (1, 2));
        assert_eq!(store.tally().0, 0);
    }

    #[test]
    fn what_cannot_be_read_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned());
        run(&store, 1, 0.1);
        let path = folder.path().join("some/stage.json");
        let text = std::fs::read(&path).unwrap();
        std::fs::write(&path, &text[..text.len() / 2]).unwrap();
        assert_eq!(run(&store, 1, 0.2), 0.2);
        assert_eq!(run(&store, 1, 0.3), 0.2);
    }

    #[test]
    fn a_failed_stage_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned());
        let failed: Result<f64> = store.stage("a", &1, || anyhow::bail!("no"));
        assert!(failed.is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn numbers_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned());
        let numbers = [1.0 / 3.0, 4.3579e-6, 1e-300, 0.1 + 0.2];
        let first: [f64; 4] = store.stage("n", &0, || Ok(numbers)).unwrap();
        let second: [f64; 4] = store.stage("n", &0, || Ok([0.0; 4])).unwrap();
        assert_eq!(first.map(f64::to_bits), second.map(f64::to_bits));
    }
}
