//! Plain little-endian numbers in files, for the peers to read.

use std::path::Path;

use anyhow::{Context, Result};
use veilwalk::{Chain, Mechanism, Nats, StateId};

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

/// Distances in units of 2⁻²⁰ nats.
pub(crate) fn distances(folder: &Path, distances: &[Nats]) -> Result<()> {
    write(&folder.join("distances.u32"), distances.iter().map(|distance| distance.units()))
}

/// What a nat costs after each state.
pub(crate) fn scales(folder: &Path, mechanism: &Mechanism) -> Result<()> {
    let states = mechanism.model().chain().states();
    let bytes: Vec<u8> =
        states.flat_map(|z| mechanism.scale(z).eta().as_f64().to_le_bytes()).collect();
    std::fs::write(folder.join("scales.f64"), bytes).context("cannot write the scales")
}

/// The probability of each observation of each real state, row by row.
pub(crate) fn kernel(folder: &Path, mechanism: &Mechanism) -> Result<()> {
    let chain = mechanism.model().chain();
    let mut bytes = Vec::with_capacity(chain.len() * chain.len() * size_of::<f64>());
    for real in chain.states() {
        let mut row = vec![0.0; chain.len()];
        let kernel = mechanism.kernel(real, real);
        let drawn = mechanism.candidates(real);
        drawn.iter().zip(kernel).for_each(|(y, p)| row[y.index()] = p);
        bytes.extend(row.iter().flat_map(|p| p.to_le_bytes()));
    }
    std::fs::write(folder.join("kernel.f64"), bytes).context("cannot write the kernel")
}

/// A walk, as state numbers.
pub(crate) fn states(path: &Path, walk: &[StateId]) -> Result<()> {
    write(path, walk.iter().map(|state| state.index() as u32))
}

fn write(path: &Path, numbers: impl Iterator<Item = u32>) -> Result<()> {
    let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
