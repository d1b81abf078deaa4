//! Releases in blocks, by flags: how long the blocks are, and the mechanism that draws them.

use std::num::NonZeroU32;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use veilwalk::mechanism::BlockLength;
use veilwalk::{Design, Mechanism, Model, Preset, Rule};

use super::mechanism::{Calibrate, Chosen, Named, Settled};
use super::{count, thousands};
use crate::terminal;

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
    #[arg(long, value_name = "STEPS|all", allow_negative_numbers = true)]
    block: Option<BlockLength>,

    /// The most steps of any walk with --block all; 1048576 if not given. A longer walk is refused.
    /// Rounding is paid for in advance, with less than 1e-11 of epsilon for each step
    #[arg(
        long,
        value_name = "STEPS",
        requires = "block",
        allow_negative_numbers = true,
        value_parser = count::<NonZeroU32>()
    )]
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

impl Settled<'_> {
    /// Makes the mechanism in blocks on a model. Says where it is not what its name says.
    pub(super) fn in_blocks(&self, model: &Arc<Model>, length: BlockLength) -> Result<Chosen> {
        let (name, design) = self.block_design()?;
        let asked = &self.flags.mechanism;
        if *asked == Named::Preset(Preset::Sharp) && self.flags.rule.is_none() {
            terminal::note(
                "--block: `sharp` is taken with the exponential rule; its own, permute-and-flip, is \
                 for one state at a time",
            );
        }
        if design.distance.nearest().is_some() {
            terminal::note(
                "--block: cells have the scale of the theorem here, about half of what they are \
                 calibrated to for one state at a time; `auto` is often more accurate, and \
                 `veilwalk analyze` says what each gives",
            );
        }
        let promise = self.promise;
        let mechanism = Arc::new(Mechanism::in_blocks(model.clone(), design, promise, length)?);
        let (calibrate, calibration) = (Calibrate::Theorem, None);
        Ok(Chosen { name, mechanism, promise, calibrate, calibration })
    }

    /// The choices for blocks, with the name they go by, or why they cannot be released in blocks.
    pub(crate) fn block_design(&self) -> Result<(String, Design)> {
        let flags = self.flags;
        if flags.calibrate == Some(Calibrate::Exact) {
            bail!(
                "--calibrate exact is for one state at a time; with --block the scale is that of \
                 the theorem, so leave it out"
            );
        }
        if let Some(rule @ Rule::PermuteAndFlip) = flags.rule {
            bail!(
                "--block: blocks are drawn by the exponential rule, not by {rule}; leave --rule out"
            );
        }
        let preset = match &flags.mechanism {
            Named::Auto => Preset::Sharp,
            Named::Preset(Preset::Paper) if flags.rule.is_none() => bail!(
                "--block: `paper` has the permute-and-flip rule, which is for one state at a time; \
                 give `--mechanism exponential` for its distance with the exponential rule, or \
                 leave --mechanism out for the most accurate choice"
            ),
            Named::Preset(preset) => *preset,
            Named::File(path) => bail!(
                "--block: {} was tuned for one state at a time; leave --mechanism out, or name one, \
                 and give --epsilon with --radius or --substitutions",
                path.display()
            ),
        };
        let base = Design { rule: Rule::Exponential, ..preset.design() };
        self.with_overrides(preset, base)
    }
}
