//! What analysis asks of a mechanism, whether it releases single steps or blocks.

use std::sync::Arc;

use super::figures::Utility;
use super::progress::{Observer, Stopped};
use super::{given_block, given_walk};
use crate::chain::StateId;
use crate::mechanism::{BlockMechanism, BlockWorkspace, Mechanism, Workspace};
use crate::model::Model;
use crate::random::Words;
use crate::session::Start;

/// A mechanism that can be analyzed: its sampler, and its exact figures for a given walk.
pub trait Analyzed: Sync {
    /// Working space of the sampler.
    type Space: Default;

    /// The model it works on.
    fn model(&self) -> &Arc<Model>;

    /// Thirty-two bytes that differ whenever the mechanism does.
    fn fingerprint(&self) -> [u8; 32];

    /// Appends what is released for these real states, after `previous` was.
    fn release_after(
        &self,
        previous: StateId,
        reals: &[StateId],
        words: &mut impl Words,
        space: &mut Self::Space,
        out: &mut Vec<StateId>,
    );

    /// The exact figures for one real walk.
    ///
    /// # Errors
    ///
    /// If the observer stops it.
    fn utility(
        &self,
        real: &[StateId],
        start: Start,
        levels: &[f64],
        observer: Observer<'_>,
    ) -> Result<Utility, Stopped>;
}

impl Analyzed for Mechanism {
    type Space = Workspace;

    fn model(&self) -> &Arc<Model> {
        self.model()
    }

    fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint()
    }

    fn release_after(
        &self,
        mut previous: StateId,
        reals: &[StateId],
        words: &mut impl Words,
        space: &mut Workspace,
        out: &mut Vec<StateId>,
    ) {
        for &real in reals {
            previous = self.step(previous, real, words, space);
            out.push(previous);
        }
    }

    fn utility(
        &self,
        real: &[StateId],
        start: Start,
        levels: &[f64],
        observer: Observer<'_>,
    ) -> Result<Utility, Stopped> {
        given_walk::utility(self, real, start, levels, observer)
    }
}

impl Analyzed for BlockMechanism {
    type Space = BlockWorkspace;

    fn model(&self) -> &Arc<Model> {
        self.model()
    }

    fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint()
    }

    fn release_after(
        &self,
        mut previous: StateId,
        reals: &[StateId],
        words: &mut impl Words,
        space: &mut BlockWorkspace,
        out: &mut Vec<StateId>,
    ) {
        for block in reals.chunks(self.length().most_steps().get() as usize) {
            self.release_into(previous, block, words, space, out);
            previous = *out.last().expect("a block has a step");
        }
    }

    fn utility(
        &self,
        real: &[StateId],
        start: Start,
        levels: &[f64],
        observer: Observer<'_>,
    ) -> Result<Utility, Stopped> {
        given_block::utility(self, real, start, levels, observer)
    }
}
