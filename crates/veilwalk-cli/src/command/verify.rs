//! `veilwalk verify`: whether a release is what its manifest says.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use veilwalk::guarantee::unwatched;
use veilwalk_io::{VerifyError, verify_release};

use crate::args::{ChainArgs, counted};
use crate::terminal;

/// Check a release against its manifest and the chain
///
/// The file and the chain have to be those of the manifest, every released state has to be one of
/// the chain's, and every move a possible one. The scale and the guarantee are computed again from
/// what the manifest says was promised. The manifest is not signed: whoever can write both files can
/// forge both.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The release; its manifest is beside it
    release: PathBuf,

    #[command(flatten)]
    chain: ChainArgs,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let name = args.release.display();
    let model = args.chain.any_model()?;
    let manifest =
        verify_release(&args.release, &model, &unwatched).map_err(|error| match error {
            VerifyError::OtherChain { .. } => {
                anyhow!("{error} (--normalize, --largest-component, --initial)")
            }
            other => other.into(),
        })?;
    terminal::print(format_args!(
        "{name}: {}, {}, every move possible under the chain; file, chain, scale and guarantee are \
         those of the manifest",
        counted(manifest.counts.walks as usize, "walk"),
        counted(manifest.counts.steps as usize, "state")
    ))?;
    if !manifest.private {
        let reasons = [
            (manifest.randomness == "seed", "whoever knows the seed can undo it"),
            (manifest.guarantee.vacuous, "nothing is within the radius"),
            (manifest.start == "first", "the first state of every walk is the real one"),
        ];
        let reasons: Vec<&str> = reasons.into_iter().filter(|r| r.0).map(|r| r.1).collect();
        terminal::warning(format!(
            "{name}: the manifest says that this release is not private ({})",
            reasons.join("; ")
        ));
    }
    if !manifest.kept_columns.is_empty() {
        let kept = manifest.kept_columns.join(", ");
        terminal::warning(format!("{name}: {kept} was copied as it is, unprotected"));
    }
    Ok(())
}
