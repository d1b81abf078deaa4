//! How walks are released, by flags: what `privatize`, `guarantee` and `analyze` have in common.

use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use veilwalk::Model;

use super::mechanism::Asked;
use super::{BlockArgs, ChainArgs, MechanismArgs};

/// On which chain, by which mechanism, and whether in blocks.
#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    pub(crate) chain: ChainArgs,

    #[command(flatten)]
    pub(crate) mechanism: MechanismArgs,

    #[command(flatten)]
    block: BlockArgs,
}

impl ReleaseArgs {
    /// The chain with the distances that the promise is about. A chain too large for a table of all distances is
    /// refused.
    pub(crate) fn model(&self) -> Result<Arc<Model>> {
        self.chain.model(&self.mechanism.wanted()?)
    }

    /// The same on a chain of any size.
    pub(crate) fn any_model(&self) -> Result<Arc<Model>> {
        self.chain.any_model(&self.mechanism.wanted()?)
    }

    /// What is asked for. Reads the mechanism file, if there is one.
    pub(crate) fn asked(&self) -> Result<Asked<'_>> {
        self.mechanism.asked(self.block.length()?)
    }
}
