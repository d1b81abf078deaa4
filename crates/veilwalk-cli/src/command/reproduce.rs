//! `veilwalk reproduce`: the paper's evaluation, from scratch, as one page.

use std::path::PathBuf;

use anyhow::Result;
use veilwalk::Watch;
use veilwalk_reproduce::{Evaluation, Host};

use crate::args::{Input, Written, refuse_to_replace, settle_output};
use crate::{progress, terminal};

/// Reproduce the paper's evaluation: every figure and table, as one HTML page with CSV files
///
/// The credit and downtown chains are always part of it, in less than a minute. A run that is stopped
/// with Ctrl-C continues where it was when it is started again.
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

    /// Also on the streets of a map of OpenStreetMap (.osm.pbf, or .osm, which may be packed with gzip), by car: a real
    /// street network in place of that of Gainesville. With a thousand streets it takes some minutes
    #[arg(long, value_name = "MAP")]
    map: Option<PathBuf>,

    /// The folder for the page, the CSV files and the finished stages. Files of an earlier run are
    /// replaced; other files of the same names too, with a warning
    #[arg(short, long, value_name = "DIR", default_value = "veilwalk-report")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    // Work that cannot stop is followed by a look whether it should have been.
    let _stoppable = progress::Stoppable::new();
    let evaluation = Evaluation {
        wikispeedia: args.wikispeedia.clone(),
        roads: args.roads.clone(),
        map: args.map.clone(),
        folder: args.output.clone(),
    };
    settle_outputs(&evaluation)?;
    progress::when_stopped(format!(
        "finished stages are kept in {}; run the same command again to go on",
        evaluation.stages().display()
    ));
    let outcome = evaluation.run(&Terminal)?;
    terminal::note(format_args!("{} of {} claims agree", outcome.agree, outcome.claims));
    terminal::print(outcome.page.display())
}

/// Refuses a folder in which something that is read would be replaced, and warns of files that are
/// not of an earlier run.
fn settle_outputs(evaluation: &Evaluation) -> Result<()> {
    let Evaluation { roads, map, wikispeedia, .. } = evaluation;
    let inputs = [(roads, "the road network"), (map, "the map"), (wikispeedia, "Wikispeedia")];
    let inputs: Vec<Input<'_>> =
        inputs.iter().filter_map(|(path, what)| Some((path.as_deref()?, *what))).collect();
    let earlier = evaluation.stages().is_dir();
    for path in evaluation.outputs() {
        match earlier {
            true => refuse_to_replace(&path, &inputs)?,
            false => settle_output(&path, Written::Other, &inputs)?,
        }
    }
    Ok(())
}

/// Notes on standard error, a bar in a terminal, and Ctrl-C.
struct Terminal;

impl Host for Terminal {
    fn note(&self, text: &str) {
        terminal::note(text);
    }

    fn warning(&self, text: &str) {
        terminal::warning(text);
    }

    fn watch(&self, label: &str, work: &mut dyn FnMut(Watch<'_>)) {
        progress::with_progress(label, |watch| work(watch));
    }

    fn stop_requested(&self) -> bool {
        progress::stop_requested()
    }
}
