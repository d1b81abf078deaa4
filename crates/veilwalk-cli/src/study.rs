//! What figures are about, by flags: how walks are released, and whose walks.

use anyhow::Result;
use veilwalk::analysis::Origin;
use veilwalk::{Chain, Start};

use crate::args::ReleaseArgs;
use crate::own_walks::OwnWalkArgs;
use crate::real_walks::{RealArgs, RealWalks};
use crate::terminal;

/// A release of the chain's own walks, or of real ones.
#[derive(Debug, clap::Args)]
pub(crate) struct StudyArgs {
    #[command(flatten)]
    pub(crate) release: ReleaseArgs,

    #[command(flatten)]
    pub(crate) own: OwnWalkArgs,

    #[command(flatten)]
    real: RealArgs,
}

/// Where walks come from, and how releases of them start.
pub(crate) struct Study {
    pub(crate) origin: Origin,
    pub(crate) start: Start,
    pub(crate) real: Option<RealWalks>,
}

impl StudyArgs {
    /// Reads the real walks, if they were asked for, and says that figures about them are not protected.
    pub(crate) fn read(&self, chain: &Chain) -> Result<Study> {
        let origin = self.own.origin(chain)?;
        let start = self.own.start(chain, origin)?;
        let real = self.real.read(chain)?;
        if real.is_some() {
            terminal::warning(
                "figures computed from real walks depend on them and are NOT protected; do not publish them \
                 with the release",
            );
        }
        Ok(Study { origin, start, real })
    }
}
