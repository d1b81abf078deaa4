//! What `-o` may replace: one rule for every command that writes a file.
//!
//! What the command reads, a ledger and a manifest are never replaced: nothing could bring them back,
//! and a budget that is lost is as good as spent twice. Any other file is replaced once the new one is
//! complete, as compilers and `cp` do, so that a script can run twice; a warning says so beforehand.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use veilwalk_io::Manifest;
use veilwalk_ledger::is_ledger;

use crate::terminal;

/// A file that a command reads, and what it is called in messages.
pub(crate) type Input<'a> = (&'a Path, &'static str);

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// A release, with its manifest.
    Release,
    /// Something that can be made again.
    Other,
}

/// Whether `-o` was given `-`.
pub(crate) fn is_standard_output(output: &Path) -> bool {
    output.as_os_str() == "-"
}

/// Refuses an output that must not be replaced or is no file, and warns of one that will be replaced.
pub(crate) fn settle_output(output: &Path, what: Written, inputs: &[Input<'_>]) -> Result<()> {
    if is_standard_output(output) {
        bail!("this cannot be written to standard output; give -o the name of a file");
    }
    refuse_to_replace(output, inputs)?;
    if what == Written::Release {
        refuse_to_replace_by_manifest(output, inputs)?;
    }
    let (name, manifest) = (output.display(), Manifest::path_for(output));
    match (what, output.is_file(), manifest.exists()) {
        (Written::Release, _, true) => terminal::warning(format!(
            "{name}: this will replace an earlier release; if it is of the same walks, and anyone has seen \
             the first, their losses add up (--ledger keeps count)"
        )),
        (Written::Other, true, true) => terminal::warning(format!(
            "{name}: this will replace a release; {} stays behind, and no longer fits it",
            manifest.display()
        )),
        (_, true, false) => {
            terminal::warning(format!("{name}: this will replace the file that is there"));
        }
        (_, false, _) => {}
    }
    Ok(())
}

/// Refuses an output that must not be replaced.
pub(crate) fn refuse_to_replace(output: &Path, inputs: &[Input<'_>]) -> Result<()> {
    let name = output.display();
    refuse_inputs(output, "this", inputs)?;
    if is_ledger(output) {
        bail!(
            "{name}: this is a ledger, and what it has counted would be lost; give -o another file"
        );
    }
    if output.is_file() && name.to_string().ends_with(Manifest::SUFFIX) {
        bail!("{name}: this is the manifest of a release; give -o another file");
    }
    Ok(())
}

/// Refuses an output whose manifest would replace anything but a manifest.
fn refuse_to_replace_by_manifest(output: &Path, inputs: &[Input<'_>]) -> Result<()> {
    let manifest = Manifest::path_for(output);
    refuse_inputs(&manifest, "the manifest of this release", inputs)?;
    if Manifest::would_replace_another(output) {
        bail!(
            "{}: the manifest of this release goes there, but the file that is there is no manifest; \
             move it away, or give -o another file",
            manifest.display()
        );
    }
    Ok(())
}

/// Refuses to write to a file that is read.
fn refuse_inputs(path: &Path, written: &str, inputs: &[Input<'_>]) -> Result<()> {
    for (input, what) in inputs {
        if is_same_file(input, path) {
            let name = path.display();
            bail!("{name}: {written} would replace {what}; give -o another file");
        }
    }
    Ok(())
}

/// Whether two paths lead to one file, that is there or will be.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    place(one).is_some_and(|one| Some(one) == place(other))
}

/// Where a file is or will be, links followed.
fn place(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().or_else(|| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    })
}
