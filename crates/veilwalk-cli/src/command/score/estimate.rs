//! What was estimated from a release, as JSON.

use std::path::Path;

use anyhow::{Context, Result};
use veilwalk::Chain;
use veilwalk_score::{Statistics, read_estimate};

use crate::estimated;

/// Reads the shares of visits, of moves and of first and last states together.
pub(super) fn read(path: &Path, chain: &Chain) -> Result<Statistics> {
    let json = estimated::read(path)?;
    read_estimate(&json, chain)
        .with_context(|| format!("{}: this is not an estimate", path.display()))
}
