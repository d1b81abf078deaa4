//! What was estimated from a release, as the JSON that `veilwalk estimate` writes.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use veilwalk::Chain;
use veilwalk_score::NotAnEstimate;

use crate::args::read_bytes;

/// Reads a file of estimates, of which `read` takes what is wanted.
pub(crate) fn read<T>(
    path: &Path,
    chain: &Chain,
    read: impl Fn(&Value, &Chain) -> Result<T, NotAnEstimate>,
) -> Result<T> {
    let name = path.display();
    let bytes = read_bytes(path)?;
    let json = serde_json::from_slice(&bytes).with_context(|| {
        format!("{name}: this is not JSON; --estimate takes a file of estimates")
    })?;
    read(&json, chain).with_context(|| format!("{name}: this is not an estimate"))
}
