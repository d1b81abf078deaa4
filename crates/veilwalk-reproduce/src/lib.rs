//! The paper's evaluation, from scratch, as one page.
//!
//! Every chain is a `subject`. A `plan` says what is run on it. Each setting is a stage whose result
//! is kept in a `store`, so that a run that was stopped can go on. From all `results` come the tables
//! of `claims` and `differences`, the CSV `files` and the `page`.
//!
//! ```no_run
//! use std::path::PathBuf;
//! use veilwalk_reproduce::{Evaluation, Silent};
//!
//! let evaluation = Evaluation { folder: PathBuf::from("report"), ..Evaluation::default() };
//! let outcome = evaluation.run(&Silent)?;
//! println!("{} of {} claims agree: {}", outcome.agree, outcome.claims, outcome.page.display());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod about;
mod checks;
mod claims;
mod differences;
mod files;
mod ground;
mod guesses;
mod host;
mod measure;
mod page;
mod plan;
mod results;
mod roads;
mod store;
mod street_map;
mod subject;
mod wikispeedia;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use checks::Checks;
pub use host::{Host, Silent};
use results::Results;
use store::Store;
use subject::Subject;

const PAGE: &str = "report.html";
/// The folder of finished stages.
const STAGES: &str = "stages";

/// What is evaluated, and where the report goes. The credit and downtown chains are always part of it.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    /// Wikispeedia: the unpacked SNAP archive, its `paths_finished.tsv`, or a table of clicks.
    pub wikispeedia: Option<PathBuf>,
    /// A road network: a file of walks.
    pub roads: Option<PathBuf>,
    /// A map of OpenStreetMap, whose streets are a road network.
    pub map: Option<PathBuf>,
    /// The folder for the page, the CSV files and the finished stages.
    pub folder: PathBuf,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The page.
    pub page: PathBuf,
    /// How many claims of the paper were checked.
    pub claims: usize,
    /// How many of them agree with what was computed.
    pub agree: usize,
}

impl Evaluation {
    /// The folder in which finished stages are kept. A run that was stopped goes on from there.
    #[must_use]
    pub fn stages(&self) -> PathBuf {
        self.folder.join(STAGES)
    }

    /// The files that a run writes, besides its stages.
    pub fn outputs(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let names = files::FILES.iter().map(|(name, _)| *name).chain([PAGE]);
        names.map(|name| self.folder.join(name))
    }

    /// Runs the evaluation, or goes on with one that was stopped.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written, or the host asks to stop. Finished stages are kept.
    pub fn run(&self, host: &dyn Host) -> Result<Outcome> {
        // Whatever is wrong with a file should show before anything long is done.
        let roads = self.roads.as_deref().map(|path| -> Result<Subject> {
            let (chain, ground, file) = roads::read(path, host)?;
            Subject::roads(chain, ground, &name(&file))
        });
        let roads = roads.transpose()?;
        let map = self.map.as_deref().map(|path| -> Result<Subject> {
            let (chain, ground) = street_map::read(path)?;
            Subject::street_map(chain, ground, &name(path))
        });
        let map = map.transpose()?;
        let wikispeedia = self.wikispeedia.as_deref().map(|path| -> Result<Subject> {
            let (chain, ground, file) = wikispeedia::read(path, host)?;
            Subject::wikispeedia(chain, ground, &name(&file))
        });
        let wikispeedia = wikispeedia.transpose()?;
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make the folder {}", self.folder.display()))?;
        let store = Store::new(self.stages());
        let subjects =
            [Some(Subject::credit()?), Some(Subject::downtown()?), map, roads, wikispeedia];
        let subjects = subjects.into_iter().flatten();
        let chains = subjects.map(|subject| Results::new(subject, &store, host));
        let chains = chains.collect::<Result<Vec<_>>>()?;
        let credit = &chains[0];
        let inputs = (credit.subject.model.hash().to_string(), credit.subject.from.index());
        let checks = || Checks::new(&credit.subject, host);
        let checks = store.stage("credit/checks", &inputs, checks)?;
        let claims = claims::all(&chains, &checks);
        let differences = differences::all(&chains, &checks);
        files::write_all(&self.folder, &chains, &checks, &claims, &differences)?;
        let html = page::page(&chains, &claims, &differences);
        let page = self.folder.join(PAGE);
        store::write(&page, html.as_bytes())?;
        let agree = claims.iter().filter(|c| c.verdict == claims::Verdict::Agrees).count();
        Ok(Outcome { page, claims: claims.len(), agree })
    }
}

/// The name of a file, without where it is: the page may be passed on.
fn name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}
