//! Releases in blocks, by flags: how long the blocks are.

use std::num::NonZeroU32;

use anyhow::{Result, bail};
use clap::Args;
use veilwalk::mechanism::BlockLength;

use super::{count, thousands};

/// Whether steps are released in blocks, and how long these are.
#[derive(Debug, Args)]
#[command(next_help_heading = "Mechanism")]
pub(crate) struct BlockArgs {
    /// Release this many steps together, or `all` of a walk: a delay that buys accuracy at the same
    /// guarantee
    ///
    /// The walk is released that many steps late, or when it is over. Blocks are drawn by the
    /// exponential rule, whose distance and chain weight `auto` takes from `sharp`; `paper` and files
    /// from `veilwalk tune` are for one state at a time.
    #[arg(long, value_name = "STEPS|all")]
    block: Option<BlockLength>,

    /// The most steps of any walk with --block all; 1048576 if not given. A longer walk is refused.
    /// Rounding is paid for in advance, with less than 1e-11 of epsilon for each step
    #[arg(long, value_name = "STEPS", requires = "block", value_parser = count::<NonZeroU32>())]
    longest_walk: Option<NonZeroU32>,
}

impl BlockArgs {
    /// How long blocks are; none if states are released one at a time.
    pub(crate) fn length(&self) -> Result<Option<BlockLength>> {
        Ok(match (self.block, self.longest_walk) {
            (Some(BlockLength::Whole { .. }), Some(longest)) => {
                Some(BlockLength::Whole { longest })
            }
            (Some(BlockLength::Steps(steps)), Some(_)) => bail!(
                "--longest-walk goes with --block all; with --block {steps} a walk may have any \
                 number of steps, so leave it out"
            ),
            (block, _) => block,
        })
    }
}

/// `25` or `"all"`, for programs.
pub(crate) fn block_value(length: BlockLength) -> serde_json::Value {
    match length {
        BlockLength::Steps(steps) => steps.get().into(),
        BlockLength::Whole { .. } => "all".into(),
    }
}

/// `25`, or `all`, as the flag has it.
pub(crate) fn block_flag(length: BlockLength) -> String {
    match length {
        BlockLength::Steps(steps) => steps.to_string(),
        BlockLength::Whole { .. } => "all".to_owned(),
    }
}

/// `blocks of 25 steps`, or `whole walks`.
pub(crate) fn blocks_in_words(length: BlockLength) -> String {
    match length {
        BlockLength::Steps(_) => format!("blocks of {length}"),
        BlockLength::Whole { longest } => {
            format!("whole walks, of at most {} steps", thousands(longest.get() as usize))
        }
    }
}
