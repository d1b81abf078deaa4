//! Releases that a command infers from, and what is said of what it finds in them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail};
use veilwalk::Model;
use veilwalk::inference::Inference;
use veilwalk_io::{Manifest, Released, VerifyError, read_released};

use crate::args::{Input, counted, is_standard_output, quoted};
use crate::{progress, terminal};

/// Reads a release and its manifest.
pub(crate) fn read(release: &Path, model: &Arc<Model>) -> Result<Released> {
    refuse_pipe(release)?;
    let began = Instant::now();
    let read = progress::with_stages(|watch| read_released(release, model, watch));
    if progress::stop_requested() {
        return Err(progress::stopped());
    }
    let read = read.map_err(in_flags)?;
    tell_manifest(release, &read.manifest);
    if began.elapsed() > LONG && read.mechanism.certificate().is_some() {
        tell_compiling(&read.manifest);
    }
    Ok(read)
}

/// From here on it is said how it can be quicker.
const LONG: Duration = Duration::from_secs(10);

/// How the scales need not be found again.
fn tell_compiling(manifest: &Manifest) {
    let promise = &manifest.promise;
    let unit = match (&promise.radius_nats, promise.substitutions) {
        (Some(radius), _) => format!("--radius {radius}"),
        (None, Some(count)) => format!("--substitutions {count}"),
        (None, None) => return,
    };
    terminal::note(format!(
        "most of the time went into finding the scales of the mechanism again. To have them at once, compile them with \
         the chain (`veilwalk chain compile CHAIN --mechanism {} --epsilon {} {unit} -o MODEL`), and give --chain MODEL",
        quoted(&manifest.mechanism.name),
        promise.epsilon,
    ));
}

/// A release is not read from standard input: its manifest is the file beside it.
pub(crate) fn refuse_pipe(release: &Path) -> Result<()> {
    if is_standard_output(release) {
        bail!(
            "a release is not read from standard input, since its manifest is the file beside it; name the file \
             that `veilwalk privatize -o` wrote"
        );
    }
    Ok(())
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
