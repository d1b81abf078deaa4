//! What is compared, by flags.

use std::num::NonZeroU32;

use veilwalk::Preset;
use veilwalk::internal::compare::Basis;
use veilwalk::mechanism::{BlockLength, Epsilon, Radius};

use super::success::{self, Wanted};
use crate::args::{count, whole};

/// The mechanisms and what they promise.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Mechanisms")]
pub(super) struct PromiseArgs {
    /// The privacy parameter
    #[arg(long, value_name = "E", required_unless_present = "epsilons")]
    epsilon: Option<Epsilon>,

    /// Several privacy parameters, with a comparison for each
    #[arg(long, value_name = "E,…", value_delimiter = ',')]
    epsilons: Vec<Epsilon>,

    /// The radius of the first comparison, in nats, or in metres such as 200m; without it, only the second is made
    #[arg(long, visible_alias = "per", value_name = "NATS|METRES")]
    pub(super) radius: Option<Radius>,

    /// Instead of a radius: the number of replaced states of the first comparison
    #[arg(long, value_name = "COUNT", value_parser = count::<NonZeroU32>(),
          conflicts_with = "radius")]
    pub(super) substitutions: Option<NonZeroU32>,

    /// The mechanisms to compare
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        default_value = "paper,exponential,chen,sharp,cell,tight,believed"
    )]
    mechanisms: Vec<Preset>,

    /// Also compare mechanisms at equal success of an attacker who knows the chain: at the epsilon at which this
    /// share of states is guessed right, such as 0.8, or as many as from the `closest` mechanism of the first
    /// comparison. Takes a while
    #[arg(long, value_name = "SHARE|closest", value_parser = success::parse)]
    pub(super) equal_attacker: Option<Wanted>,
}

/// The lengths of blocks.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Blocks")]
pub(super) struct BlockArgs {
    /// The lengths of blocks to show: numbers of steps, and `all` for whole walks
    #[arg(long, value_name = "STEPS,…", value_delimiter = ',', default_value = "1,2,5,10,25,all")]
    blocks: Vec<BlockLength>,

    /// How many walks are simulated for each length; if not given, what takes a few seconds
    #[arg(long, value_name = "COUNT", value_parser = whole::<u64>(2..=u64::MAX))]
    pub(super) block_walks: Option<u64>,

    /// Leave blocks out
    #[arg(long, conflicts_with_all = ["blocks", "block_walks"])]
    pub(super) no_blocks: bool,
}

impl PromiseArgs {
    /// What is equal in the comparisons, in their order.
    pub(super) fn bases(&self) -> Vec<Basis> {
        let first = match (self.radius, self.substitutions) {
            (Some(radius), _) => Some(Basis::Radius(radius)),
            (None, Some(count)) => Some(Basis::Substitutions(count)),
            (None, None) => None,
        };
        first.into_iter().chain([Basis::Loss]).collect()
    }

    /// All of them, ascending, each once.
    pub(super) fn epsilons(&self) -> Vec<Epsilon> {
        let mut all: Vec<Epsilon> = self.epsilons.iter().copied().chain(self.epsilon).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The mechanisms in the order in which they were named, each once.
    pub(super) fn mechanisms(&self) -> Vec<Preset> {
        let mut all = Vec::new();
        for &preset in &self.mechanisms {
            if !all.contains(&preset) {
                all.push(preset);
            }
        }
        all
    }
}

impl BlockArgs {
    /// The lengths of blocks, ascending, each once.
    pub(super) fn lengths(&self) -> Vec<BlockLength> {
        let mut all = self.blocks.clone();
        all.sort_by_key(|length| length.most_steps());
        all.dedup();
        all
    }
}
