//! Releases that a command infers from, and what is said of what it finds in them.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Error, Result, anyhow};
use veilwalk::Model;
use veilwalk::inference::Inference;
use veilwalk_io::{Manifest, Released, VerifyError, read_released};

use crate::args::{Input, counted};
use crate::{progress, terminal};

/// Reads a release and its manifest.
pub(crate) fn read(release: &Path, model: &Arc<Model>) -> Result<Released> {
    let read = progress::with_stages(|watch| read_released(release, model, watch));
    if progress::stop_requested() {
        return Err(progress::stopped());
    }
    let read = read.map_err(in_flags)?;
    tell_manifest(release, &read.manifest);
    Ok(read)
}

/// What whoever relies on a release has to know of it.
pub(crate) fn tell_manifest(release: &Path, manifest: &Manifest) {
    let name = release.display();
    if !manifest.private {
        terminal::warning(format!(
            "{name}: the manifest says that this release is not private ({})",
            manifest.why_not_private.join("; ")
        ));
    }
    if manifest.unknown_states == Manifest::SKIPPED {
        terminal::warning(format!(
            "{name}: rows with unknown states were left out, so the lengths of walks depend on them"
        ));
    }
}

/// What infers from it, for somebody who takes real walks to be walks of its chain.
pub(crate) fn inference(release: &Path, read: &Released) -> Result<Inference> {
    let made = Inference::new(read.mechanism.clone(), read.start);
    made.with_context(|| release.display().to_string())
}

/// A release as a file that is read.
pub(crate) fn input(release: &Path) -> Input<'_> {
    (release, "the release")
}

/// What is wrong with a release, with the flags by which a chain can be read in another way.
pub(crate) fn in_flags(error: VerifyError) -> Error {
    match error {
        VerifyError::OtherChain { .. } => {
            anyhow!("{error} (--normalize, --largest-component, --initial)")
        }
        other => other.into(),
    }
}

/// Says how much was dropped, and how often what was released was beyond belief.
pub(crate) fn tell_quality(dropped: f64, surprises: u64) {
    if dropped > 0.0 {
        terminal::note(format!(
            "states that were next to impossible were dropped on the way, with {dropped:.1e} of a walk's mass on \
             average: that bounds how far probabilities are off"
        ));
    }
    if surprises > 0 {
        terminal::warning(format!(
            "{} of the release contradicted everything that the steps before made possible, and {}: real walks made \
             moves that the chain does not have, or the chain takes likely moves for impossible",
            counted(surprises as usize, "step"),
            if surprises == 1 { "was left out" } else { "were left out" },
        ));
    }
}
