//! Releases in blocks: what is refused, and how many walks were simulated, in words.

use anyhow::{Result, bail};
use veilwalk::internal::simulate::SimulatedUtility;
use veilwalk::mechanism::BlockLength;

use crate::args::{counted, thousands};

/// Refuses walks of more steps than were allowed for.
pub(crate) fn refuse_too_long(length: BlockLength, steps: usize, whose: &str) -> Result<()> {
    match length {
        BlockLength::Whole { longest } if steps > longest.get() as usize => bail!(
            "{whose} take up to {} steps, and --block all allows for {}; give --longest-walk {steps}",
            thousands(steps),
            thousands(longest.get() as usize)
        ),
        _ => Ok(()),
    }
}

/// `1,234 walks`, for headings.
pub(super) fn walks_in_words(simulated: &SimulatedUtility) -> String {
    counted(simulated.walks as usize, "walk")
}
