//! `veilwalk reproduce`: the paper's evaluation, from scratch, as one page.
//!
//! Every chain is a [`subject`]; a [`plan`] says what is run on it; each setting is a stage whose
//! result is kept in a [`store`], so that a run can be stopped and go on. From all [`results`] come
//! the [`claims`] and [`differences`] tables, the CSV [`files`] and the [`page`].

mod about;
mod checks;
mod claims;
mod differences;
mod files;
mod ground;
mod measure;
mod page;
mod plan;
mod results;
mod roads;
mod store;
mod subject;
mod wikispeedia;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::args::{Input, Written, refuse_to_replace, settle_output};
use crate::{progress, terminal};
use checks::Checks;
use results::Results;
use store::Store;
use subject::Subject;

/// Make the paper's evaluation again: every figure and table, as one HTML page with CSV files
///
/// The credit and downtown chains are always part of it, in less than a minute. Stopped with Ctrl-C, a
/// run goes on where it was when it is started again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also on Wikispeedia: the unpacked SNAP archive, its `paths_finished.tsv`, or a table of clicks
    /// (from, to, count). Takes up to half an hour on two cores, and 4 GiB of memory
    #[arg(long, value_name = "PATH")]
    wikispeedia: Option<PathBuf>,

    /// Also on a road network: a file of walks, with a line for each step (`trajectory,state`) or a
    /// column `path` of whole walks with `_` between states. A map is drawn if `node.txt` and
    /// `edge.txt` are beside it
    #[arg(long, value_name = "PATH")]
    roads: Option<PathBuf>,

    /// The folder for the page, the CSV files and the finished stages. What an earlier run has left
    /// there is replaced; of other files of the same names a warning tells
    #[arg(short, long, value_name = "DIR", default_value = "veilwalk-report")]
    output: PathBuf,
}

const PAGE: &str = "report.html";
/// The folder of finished stages.
const STAGES: &str = "stages";

pub(crate) fn run(args: &Args) -> Result<()> {
    // Work that cannot stop is followed by a look whether it should have been.
    let _stoppable = progress::Stoppable::new();
    args.settle_outputs()?;
    // Whatever is wrong with a file should show before anything long is done.
    let roads = args.roads.as_deref().map(|path| -> Result<Subject> {
        let (chain, ground, file) = roads::read(path)?;
        Subject::roads(chain, ground, &name(&file))
    });
    let roads = roads.transpose()?;
    let wikispeedia = args.wikispeedia.as_deref().map(|path| -> Result<Subject> {
        let (chain, ground, file) = wikispeedia::read(path)?;
        Subject::wikispeedia(chain, ground, &name(&file))
    });
    let wikispeedia = wikispeedia.transpose()?;
    let folder = &args.output;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let store = Store::new(folder.join(STAGES));
    let subjects = [Some(Subject::credit()?), Some(Subject::downtown()?), roads, wikispeedia];
    progress::when_stopped(format!(
        "finished stages are kept in {}; run the same command again to go on",
        folder.join(STAGES).display()
    ));
    all(subjects.into_iter().flatten(), &store, folder)
}

impl Args {
    /// Refuses a folder in which something that is read would be replaced, and warns of files that are
    /// not of an earlier run.
    fn settle_outputs(&self) -> Result<()> {
        let inputs = [(&self.roads, "the road network"), (&self.wikispeedia, "Wikispeedia")];
        let inputs: Vec<Input<'_>> =
            inputs.iter().filter_map(|(path, what)| Some((path.as_deref()?, *what))).collect();
        let earlier = self.output.join(STAGES).is_dir();
        for name in files::FILES.iter().map(|(name, _)| *name).chain([PAGE]) {
            let path = self.output.join(name);
            match earlier {
                true => refuse_to_replace(&path, &inputs)?,
                false => settle_output(&path, Written::Other, &inputs)?,
            }
        }
        Ok(())
    }
}

fn all(subjects: impl Iterator<Item = Subject>, store: &Store, folder: &Path) -> Result<()> {
    let chains = subjects.map(|subject| Results::new(subject, store));
    let chains = chains.collect::<Result<Vec<_>>>()?;
    let credit = &chains[0];
    let inputs = (credit.subject.model.hash().to_string(), credit.subject.from.index());
    let checks = store.stage("credit/checks", &inputs, || Checks::new(&credit.subject))?;
    let claims = claims::all(&chains, &checks);
    let differences = differences::all(&chains, &checks);
    files::write_all(folder, &chains, &checks, &claims, &differences)?;
    let page = page::page(&chains, &claims, &differences);
    let path = folder.join(PAGE);
    store::write(&path, page.as_bytes())?;
    let agree = claims.iter().filter(|c| c.verdict == claims::Verdict::Agrees).count();
    terminal::note(format_args!("{agree} of {} claims agree", claims.len()));
    terminal::print(path.display())
}

/// The name of a file, without where it is: the page may be passed on.
fn name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}
