//! A public graph: the moves that a chain may have, without a look at any walk.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use veilwalk::Chain;
use veilwalk::chain::{BuildOptions, ChainBuilder, Entries, Scope};

use super::{Input, counted, tell};

/// Which moves a chain may have, by flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Privacy")]
pub(crate) struct GraphArgs {
    /// The moves that the chain may have, which are public: a built-in chain, a chain's file, a compiled
    /// model, or a table with the columns `from` and `to`; or `all`, for all moves between the states of
    /// --states. Other moves are not counted
    #[arg(long, value_name = "GRAPH", requires = "epsilon")]
    edges: Option<String>,

    /// The states for --edges all, which are public: a table with the column `state`
    #[arg(long, value_name = "FILE", requires = "edges")]
    states: Option<PathBuf>,
}

impl GraphArgs {
    /// The files that may be read for it.
    pub(crate) fn inputs(&self) -> Vec<Input<'_>> {
        let edges = self.edges.iter().map(|name| (Path::new(name), "the graph"));
        edges.chain(self.states.iter().map(|path| (path.as_path(), "the states"))).collect()
    }

    /// Reads the graph. Its numbers, if it has any, mean nothing.
    pub(crate) fn read(&self, scope: Scope) -> Result<Chain> {
        let Some(name) = self.edges.as_deref() else {
            bail!(
                "--edges is missing: noise is added to the counts of moves that are public, and which \
                 moves there are must not come from the walks. Give a chain or a table of moves \
                 (`from,to`) with --edges FILE, or all moves between a few states with --edges all \
                 --states FILE"
            );
        };
        if self.states.is_some() && name != "all" {
            bail!(
                "--states is for --edges all; with --edges {name} the states are those of the graph"
            );
        }
        match name {
            "all" => match &self.states {
                Some(states) => all_moves(states),
                None => bail!(
                    "--edges all needs the states: give a file with the column `state` with --states FILE. \
                     They are public, so they must not be taken from the walks"
                ),
            },
            name => read_moves(name, scope),
        }
    }
}

/// Reads the moves of a graph: a table of them, a chain's file, a compiled model or a built-in chain.
pub(crate) fn read_moves(name: &str, scope: Scope) -> Result<Chain> {
    let path = Path::new(name);
    match name {
        "credit" => Ok(Chain::credit()),
        "downtown" => Ok(Chain::downtown()),
        _ if path.is_file() && veilwalk_io::is_model(path)? => {
            Ok(veilwalk_io::read_model(path)?.chain().clone())
        }
        _ => {
            let options = BuildOptions { scope, ..BuildOptions::default() };
            let (graph, report) = veilwalk_io::read_graph(path, options)?;
            tell(name, &report);
            Ok(graph)
        }
    }
}

/// The largest number of states of which all moves are taken.
const ALL_STATES: usize = 4096;

/// All moves between the states of a list.
pub(crate) fn all_moves(path: &Path) -> Result<Chain> {
    let labels = veilwalk_io::read_state_list(path)?;
    if labels.len() > ALL_STATES {
        bail!(
            "{}: {} have too many moves to take all of them; the limit is {}. Name the moves that \
             are possible with --edges FILE",
            path.display(),
            counted(labels.len(), "state"),
            counted(ALL_STATES, "state")
        );
    }
    let mut builder = ChainBuilder::new(Entries::Counts);
    let states: Vec<_> = labels.iter().map(|label| builder.state(label)).collect();
    for &from in &states {
        for &to in &states {
            builder.transition(from, to, 1.0)?;
        }
    }
    let built = builder.build(BuildOptions::default());
    Ok(built.map_err(|error| anyhow!("{}: {error}", path.display()))?.0)
}
