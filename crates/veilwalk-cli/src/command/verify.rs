//! `veilwalk verify`: whether a release is what its manifest says.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use veilwalk::StateId;
use veilwalk_io::{Manifest, WalkOptions, WalkReader, hash_file};

use crate::args::{ChainArgs, counted};
use crate::terminal;

/// Check a release against its manifest and the chain
///
/// The file and the chain have to be those of the manifest, every released state has to be one of
/// the chain's, and every move a possible one.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The release; its manifest is beside it
    release: PathBuf,

    #[command(flatten)]
    chain: ChainArgs,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let name = args.release.display();
    let manifest = Manifest::read_for(&args.release)?;
    let chain = args.chain.chain()?;
    if chain.hash().to_string() != manifest.chain.hash {
        bail!(
            "{name}: released under a chain with hash {}, and this one has {}; give the chain, \
             --normalize, --largest-component and --initial of the release",
            manifest.chain.hash,
            chain.hash()
        );
    }
    let hash = hash_file(&args.release)?;
    if hash != manifest.release.hash {
        bail!(
            "{name}: the file has hash {hash}, and its manifest says {}; it was changed after the \
             release",
            manifest.release.hash
        );
    }
    let mut reader = WalkReader::open(&args.release, WalkOptions::default())?;
    let mut last: HashMap<String, StateId> = HashMap::new();
    let mut steps = 0u64;
    while let Some(row) = reader.next_row()? {
        let Some(state) = chain.state(row.state) else {
            bail!("{name}, line {}: {:?} is not a state of the chain", row.line, row.state);
        };
        steps += 1;
        if let Some(previous) = last.insert(row.trajectory.to_owned(), state)
            && !chain.allows(previous, state)
        {
            bail!(
                "{name}, line {}: the chain cannot move from {:?} to {:?}",
                row.line,
                chain.label(previous),
                row.state
            );
        }
    }
    if (last.len() as u64, steps) != (manifest.counts.walks, manifest.counts.steps) {
        bail!(
            "{name}: {} walks and {steps} states, where the manifest counts {} and {}",
            last.len(),
            manifest.counts.walks,
            manifest.counts.steps
        );
    }
    terminal::print(format_args!(
        "{name}: {}, {}, every move possible under the chain; file and chain are those of the \
         manifest",
        counted(last.len(), "walk"),
        counted(steps as usize, "state")
    ))?;
    if !manifest.private {
        terminal::warning(format!(
            "{name}: the manifest says that this release is not private (randomness: {}{})",
            manifest.randomness,
            if manifest.guarantee.vacuous { "; nothing is within the radius" } else { "" }
        ));
    }
    if manifest.start == "first" {
        terminal::warning(format!("{name}: the first state of every walk is the real one"));
    }
    if !manifest.kept_columns.is_empty() {
        let kept = manifest.kept_columns.join(", ");
        terminal::warning(format!("{name}: {kept} was copied as it is, unprotected"));
    }
    Ok(())
}
