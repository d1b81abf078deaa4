//! How walks are released, by flags: what `privatize`, `guarantee` and `analyze` have in common.

use anyhow::Result;
use clap::Args;

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
    /// What is asked for. Reads the mechanism file, if there is one.
    pub(crate) fn asked(&self) -> Result<Asked<'_>> {
        self.mechanism.asked(self.block.length()?)
    }
}
