//! `veilwalk chain fit`: a chain from the transitions of walks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use veilwalk::StateId;
use veilwalk::chain::{ChainError, TransitionCounts};
use veilwalk_io::{WalkOptions, WalkReader};

use crate::args::{self, counted};
use crate::terminal;

/// Count the transitions of walks and write them as a chain
///
/// The chain becomes public with everything released under it, and it reveals something about the walks
/// it was fitted on. Fit it on walks that need no protection.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The walks: CSV with a header, NDJSON, Parquet or Arrow; `-` for standard input
    walks: String,

    /// Where to write the chain, `-` for standard output. A file of that name is replaced, with a
    /// warning
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The column that names the walk
    #[arg(long, value_name = "NAME", default_value = "trajectory")]
    trajectory_column: String,

    /// The column that holds the state
    #[arg(long, value_name = "NAME", default_value = "state")]
    state_column: String,

    /// Count a move from the last state of every walk to its first, for walks that end somewhere
    #[arg(long)]
    restart: bool,

    /// Keep the largest part whose states all reach each other, and say what was dropped
    #[arg(long)]
    largest_component: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    super::settle_output(&args.output, &[(Path::new(&args.walks), "the walks")])?;
    let options = WalkOptions {
        trajectory_column: args.trajectory_column.clone(),
        state_column: args.state_column.clone(),
        ..Default::default()
    };
    let mut counts = TransitionCounts::new();
    // The first and the last state of every walk so far.
    let mut ends: HashMap<String, (StateId, StateId)> = HashMap::new();
    let mut count = |trajectory: &str, state: &str| {
        let state = counts.state(state);
        if let Some((_, last)) = ends.get_mut(trajectory) {
            counts.add(*last, state);
            *last = state;
        } else {
            ends.insert(trajectory.to_owned(), (state, state));
        }
    };
    if args.walks == "-" {
        let mut reader = WalkReader::new(std::io::stdin().lock(), "standard input", options)?;
        while let Some(row) = reader.next_row()? {
            count(row.trajectory, row.state);
        }
    } else {
        let mut reader = WalkReader::open(Path::new(&args.walks), options)?;
        while let Some(row) = reader.next_row()? {
            count(row.trajectory, row.state);
        }
    }
    let (walks, moves) = (ends.len(), counts.total());
    if moves == 0 {
        bail!(
            "{}: there is not a single transition to count in {}; a chain is fitted to walks of two \
             states or more",
            args.walks,
            counted(walks, "walk")
        );
    }
    let scope = if args.largest_component {
        veilwalk::chain::Scope::LargestComponent
    } else {
        veilwalk::chain::Scope::Whole
    };
    if args.restart {
        ends.values().for_each(|&(first, last)| counts.add(last, first));
    }
    let built = counts.build(veilwalk::chain::BuildOptions { scope, ..Default::default() });
    let (chain, report) = built.map_err(|error| match error {
        ChainError::NoWayOut(_) | ChainError::NotIrreducible { .. } if !args.restart => anyhow!(
            "{}: {error}; if walks end there, --restart lets them begin anew where they began",
            args.walks
        ),
        other => anyhow::Error::new(other).context(args.walks.clone()),
    })?;
    args::tell(&args.walks, &report);
    let name = super::write(&chain, &args.output)?;
    terminal::note(format!(
        "{name}: {} and {}, from {} in {}",
        counted(chain.len(), "state"),
        counted(chain.transitions(), "transition"),
        counted(moves as usize, "move"),
        counted(walks, "walk"),
    ));
    terminal::warning(
        "this chain tells about the walks it was fitted on, and becomes public with everything \
         released under it; fit on walks that need no protection",
    );
    Ok(())
}
