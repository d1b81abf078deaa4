//! Plain little-endian numbers in files, for the peers to read.

use std::path::Path;

use anyhow::{Context, Result};
use veilwalk::distance::DistanceTable;
use veilwalk::{Chain, StateId};

/// The chain as a sparse matrix by rows: where each row starts, the columns, the weights in units of
/// 2⁻²⁰ nats.
pub(crate) fn chain(folder: &Path, chain: &Chain) -> Result<()> {
    let starts = chain.states().map(|state| chain.row(state).start).chain([chain.transitions()]);
    write(&folder.join("starts.u32"), starts.map(|start| start as u32))?;
    let columns = chain.states().flat_map(|from| chain.successors(from));
    write(&folder.join("columns.u32"), columns.map(|to| to.index() as u32))?;
    let weights = chain.states().flat_map(|from| chain.weights(from));
    write(&folder.join("weights.u32"), weights.map(|weight| weight.units()))
}

/// All distances in units of 2⁻²⁰ nats, one row for each target.
pub(crate) fn distances(folder: &Path, table: &DistanceTable) -> Result<()> {
    let targets = (0..table.states()).map(StateId::new);
    let units = targets.flat_map(|target| table.to(target)).map(|distance| distance.units());
    write(&folder.join("distances.u32"), units)
}

/// A walk, as state numbers.
pub(crate) fn states(path: &Path, walk: &[StateId]) -> Result<()> {
    write(path, walk.iter().map(|state| state.index() as u32))
}

fn write(path: &Path, numbers: impl Iterator<Item = u32>) -> Result<()> {
    let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
