//! All kernels of a mechanism, one row for each real state: stored where memory allows, else
//! computed again whenever they are needed.

use rayon::prelude::*;

use crate::chain::StateId;
use crate::mechanism::{KernelWorkspace, Mechanism};
use crate::watch::{Stage, Stopped, Watch, report};

/// `K(y | z, x)` for every real state `x` and transition `z → y`.
#[derive(Debug)]
pub(super) struct Kernels<'m> {
    mechanism: &'m Mechanism,
    /// Row `x` has one entry for each transition, in the chain's order. Empty if not stored.
    stored: Vec<f64>,
}

/// Working space to compute a row in.
#[derive(Debug, Default)]
pub(super) struct RowSpace {
    kernel: KernelWorkspace,
    row: Vec<f64>,
}

impl<'m> Kernels<'m> {
    pub(super) fn new(
        mechanism: &'m Mechanism,
        bytes: u64,
        watch: Watch<'_>,
    ) -> Result<Self, Stopped> {
        let chain = mechanism.model().chain();
        let (states, transitions) = (chain.len(), chain.transitions());
        let needed = states as u64 * transitions as u64 * size_of::<f64>() as u64;
        let mut kernels = Self { mechanism, stored: Vec::new() };
        if needed > bytes {
            return Ok(kernels);
        }
        const BATCH: usize = 64;
        let mut stored = vec![0.0; states * transitions];
        for (batch, rows) in stored.chunks_mut(transitions * BATCH).enumerate() {
            report(watch, Stage::Kernels, batch * BATCH, states)?;
            rows.par_chunks_mut(transitions)
                .enumerate()
                .for_each_init(KernelWorkspace::default, |space, (i, row)| {
                    kernels.compute(StateId::new(batch * BATCH + i), space, row)
                });
        }
        report(watch, Stage::Kernels, states, states)?;
        kernels.stored = stored;
        Ok(kernels)
    }

    pub(super) fn mechanism(&self) -> &'m Mechanism {
        self.mechanism
    }

    pub(super) fn are_stored(&self) -> bool {
        !self.stored.is_empty()
    }

    /// The kernels for real state `x`, one entry for each transition.
    #[inline]
    pub(super) fn row<'a>(&'a self, x: usize, space: &'a mut RowSpace) -> &'a [f64] {
        let transitions = self.mechanism.model().chain().transitions();
        if self.are_stored() {
            return &self.stored[x * transitions..][..transitions];
        }
        space.row.resize(transitions, 0.0);
        self.compute(StateId::new(x), &mut space.kernel, &mut space.row);
        &space.row
    }

    fn compute(&self, real: StateId, space: &mut KernelWorkspace, row: &mut [f64]) {
        let chain = self.mechanism.model().chain();
        for z in chain.states() {
            self.mechanism.kernel_into(z, real, space, &mut row[chain.row(z)]);
        }
    }
}
