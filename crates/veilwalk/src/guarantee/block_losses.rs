//! What replacing one state loses where states are released in blocks.

#[cfg(feature = "serde")]
use serde::Serialize;

use super::block::{ReplacementLoss, replacement_work, worst_replacement};
use super::loss::{Effort, promised_reach};
use crate::mechanism::{BlockLength, Blocks, Distance, Mechanism, Promise, Unit};
use crate::nats::Nats;
use crate::watch::{Stopped, Watch};

/// How states are released together, and the losses of replacing one of them.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct BlockLosses {
    /// How many steps are released together; none for whole walks.
    pub block: Option<u32>,
    /// The most steps of a walk that is released as a whole.
    pub longest_walk: Option<u32>,
    /// What was taken off ε for rounding before the scale was computed.
    pub rounding_cost: f64,
    /// What the proof bounds the loss per nat by; none where costs do not go by nats.
    pub loss_per_nat_bound: Option<f64>,
    /// The exact worst of replacing one state by any other, over all real blocks; none where that
    /// would take too long.
    pub replacement_loss: Option<ReplacementLoss>,
    /// The same for the replacements that a radius covers.
    pub covered_replacement_loss: Option<ReplacementLoss>,
    /// Why borders are where they are.
    pub borders: &'static str,
}

const BORDERS: &str = "Where a block ends depends on the number of the step alone, never on what the \
     real walk does: borders can be seen in the release, so borders that followed the walk would give \
     it away.";

impl BlockLosses {
    pub(super) fn new(
        mechanism: &Mechanism,
        blocks: &Blocks,
        promise: Promise,
        effort: Effort,
        watch: Watch<'_>,
    ) -> Result<Self, Stopped> {
        let (block, longest_walk) = match blocks.length() {
            BlockLength::Steps(steps) => (Some(steps.get()), None),
            BlockLength::Whole { longest } => (None, Some(longest.get())),
        };
        let loss = |reach| replacement_loss(mechanism, blocks, effort, reach, watch);
        let replacement_loss = loss(None)?;
        let covered_replacement_loss = match promised_reach(mechanism) {
            Some(reach) => loss(Some(reach))?,
            None => None,
        };
        let loss_per_nat_bound = match (promise.unit, mechanism.design().distance) {
            (Unit::Substitutions(_), _) | (_, Distance::Hamming) => None,
            (Unit::Radius(radius), _) => {
                Some((promise.epsilon.value().as_f64() / radius.value().as_f64()).next_up())
            }
        };
        Ok(Self {
            block,
            longest_walk,
            rounding_cost: blocks.rounding_cost(),
            loss_per_nat_bound,
            replacement_loss,
            covered_replacement_loss,
            borders: BORDERS,
        })
    }
}

/// The worst replacement in the longest blocks that the effort allows.
fn replacement_loss(
    mechanism: &Mechanism,
    blocks: &Blocks,
    effort: Effort,
    reach: Option<Nats>,
    watch: Watch<'_>,
) -> Result<Option<ReplacementLoss>, Stopped> {
    let longest = blocks.length().most_steps().get() as usize;
    let affordable = (1..=longest)
        .take_while(|&l| effort.affords_exponentials(replacement_work(mechanism, l)))
        .last();
    let Some(steps) = affordable else { return Ok(None) };
    let table = mechanism.model().symmetric();
    let within = |x, y| reach.is_none_or(|reach| table.between(x, y) <= reach);
    worst_replacement(mechanism, steps, within, watch)
}
