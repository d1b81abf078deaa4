//! `veilwalk verify`: whether a release is what its manifest says.

use std::path::PathBuf;

use anyhow::Result;
use veilwalk::unwatched;
use veilwalk_io::verify_release;

use crate::args::{ChainArgs, WantedMetric, counted};
use crate::released::tell_manifest;
use crate::{released, terminal};

/// Check a release against its manifest and the chain
///
/// The file and the chain have to be those of the manifest, every released state has to be one of
/// the chain's, and every move a possible one. Where real states were observed, every released walk is
/// made again of its observations, and has to be that one. The scale and the guarantee are computed again from
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
    released::refuse_pipe(&args.release)?;
    let model = args.chain.any_model(&WantedMetric::by_release(&args.release))?;
    let manifest = verify_release(&args.release, &model, &unwatched).map_err(released::in_flags)?;
    let made = match manifest.mechanism.candidates.as_deref() {
        None | Some("moves") => "",
        Some(_) => ", every walk the one that its observations make",
    };
    terminal::print(format_args!(
        "{name}: {}, {}, every move possible under the chain{made}; file, chain, scale and guarantee are \
         those of the manifest",
        counted(manifest.counts.walks as usize, "walk"),
        counted(manifest.counts.steps as usize, "state")
    ))?;
    tell_manifest(&args.release, &manifest);
    if !manifest.kept_columns.is_empty() {
        let kept = manifest.kept_columns.join(", ");
        terminal::warning(format!("{name}: {kept} was copied as it is, unprotected"));
    }
    Ok(())
}
