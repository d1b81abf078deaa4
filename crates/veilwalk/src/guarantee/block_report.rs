//! What the promise of a block mechanism means on its chain, in figures and in words.

use std::fmt;

use serde::Serialize;

use super::block::{ReplacementLoss, replacement_work, worst_replacement};
use super::cover::{Cover, SuggestedRadii};
use super::in_words::{
    Promised, beyond_radius, cover_lines, paragraph, radius_lines, release_lines, wrapped,
};
use super::loss::reach_of;
use super::report::{Alternatives, GuaranteeError, Release, released};
use super::stay::Stays;
use super::{Cancelled, Watch};
use crate::chain::StateId;
use crate::mechanism::{BlockLength, Distance, Mechanism, Unit};
use crate::rounding::shown_up;

/// How much may be spent on the exact loss: exponentials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockEffort(f64);

impl BlockEffort {
    /// A few minutes.
    pub const THOROUGH: Self = Self(2e10);

    /// At most about this many exponentials.
    #[must_use]
    pub const fn exponentials(count: u64) -> Self {
        Self(count as f64)
    }
}

impl Default for BlockEffort {
    /// A second or two.
    fn default() -> Self {
        Self(1e8)
    }
}

/// The guarantee of a block mechanism on its chain, computed from public things only.
///
/// As JSON its keys are the names of the fields. `Display` says it in words.
///
/// ```
/// use std::sync::Arc;
/// use veilwalk::guarantee::BlockGuarantee;
/// use veilwalk::internal::guarantee::BlockEffort;
/// use veilwalk::unwatched;
/// use veilwalk::{Chain, Design, Mechanism, Model, Preset, Promise, Rule};
///
/// let model = Arc::new(Model::new(Chain::credit())?);
/// let promise = Promise::within_radius("1".parse()?, "3.5".parse()?);
/// let design = Design { rule: Rule::Exponential, ..Preset::Sharp.design() };
/// let blocks = Mechanism::in_blocks(model, design, promise, "2".parse()?)?;
/// let guarantee = BlockGuarantee::new(&blocks, BlockEffort::default(), &unwatched)?;
/// assert!(guarantee.replacement_loss.unwrap().per_nat <= guarantee.loss_per_nat_bound.unwrap());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlockGuarantee {
    /// The choices.
    pub mechanism: String,
    /// ε.
    pub epsilon: f64,
    /// The radius, if the promise has one.
    pub radius_nats: Option<f64>,
    /// The number of substitutions, if the promise counts those.
    pub substitutions: Option<u32>,
    /// How many steps are released together; none for whole walks.
    pub block: Option<u32>,
    /// The most steps of a walk that is released as a whole.
    pub longest_walk: Option<u32>,
    /// What was taken off ε for rounding before the scale was computed.
    pub rounding_cost: f64,
    /// The scale η in force.
    pub scale: f64,
    /// Whether nothing is protected: no two different walks are adjacent.
    pub vacuous: bool,
    /// How many states the chain has.
    pub states: usize,
    /// The smallest radius that protects anything; none on a chain of one state.
    pub smallest_radius_nats: Option<f64>,
    /// The share of states with at least one covered alternative.
    pub covered_states: f64,
    /// How many unordered pairs of states are covered.
    pub covered_pairs: u64,
    /// How many states a state is confused with.
    pub alternatives: Alternatives,
    /// How long a stay is covered; none on a chain of one state.
    pub stays: Option<Stays>,
    /// What the proof bounds the loss per nat by; none where costs do not go by nats.
    pub loss_per_nat_bound: Option<f64>,
    /// The exact worst of replacing one state by any other, over all real blocks; none where that
    /// would take too long.
    pub replacement_loss: Option<ReplacementLoss>,
    /// The same for the replacements that a radius covers.
    pub covered_replacement_loss: Option<ReplacementLoss>,
    /// ε for one person's walks and releases together: one, or several.
    pub releases: Vec<Release>,
    /// Why borders are where they are.
    pub borders: &'static str,
    /// Radii worth choosing; none on a chain of one state.
    pub suggested_radii: Option<SuggestedRadii>,
}

const BORDERS: &str = "Where a block ends depends on the number of the step alone, never on what the \
     real walk does: borders can be seen in the release, so borders that followed the walk would give \
     it away.";

impl BlockGuarantee {
    /// Explains the promise of a block mechanism.
    ///
    /// # Errors
    ///
    /// If the mechanism has no promise, or the watcher asks to stop.
    pub fn new(
        mechanism: &Mechanism,
        effort: BlockEffort,
        watch: Watch<'_>,
    ) -> Result<Self, GuaranteeError> {
        let promise = mechanism.promise().ok_or(GuaranteeError::NoPromise)?;
        let blocks = mechanism.blocks().ok_or(GuaranteeError::NoPromise)?;
        let model = mechanism.model();
        let epsilon = promise.epsilon.value().as_f64();
        let (radius, substitutions) = match promise.unit {
            Unit::Radius(radius) => (Some(radius), None),
            Unit::Substitutions(b) => (None, Some(b.get())),
        };
        let (block, longest_walk) = match blocks.length() {
            BlockLength::Steps(steps) => (Some(steps.get()), None),
            BlockLength::Whole { longest } => (None, Some(longest.get())),
        };
        let any = replacement_loss(mechanism, effort, None, watch)?;
        let reach = radius.map(|radius| reach_of(radius.value()));
        let covered = match reach {
            Some(_) => replacement_loss(mechanism, effort, reach, watch)?,
            None => None,
        };
        let cover = Cover::new(model, promise.unit);
        let suggested_radii = SuggestedRadii::new(model);
        let by_nats = mechanism.design().distance != Distance::Hamming;
        Ok(Self {
            mechanism: mechanism.design().to_string(),
            epsilon,
            radius_nats: radius.map(|radius| radius.value().as_f64()),
            substitutions,
            block,
            longest_walk,
            rounding_cost: blocks.rounding_cost(),
            scale: mechanism.scale(StateId::new(0)).eta().as_f64(),
            vacuous: cover.is_vacuous(),
            states: cover.states,
            smallest_radius_nats: suggested_radii.map(|radii| radii.something.as_f64()),
            covered_states: cover.share(),
            covered_pairs: cover.covered_pairs,
            alternatives: Alternatives {
                mean: cover.mean_alternatives,
                median: cover.median_alternatives,
            },
            stays: suggested_radii.map(|radii| Stays::new(promise.unit, radii)),
            loss_per_nat_bound: radius
                .filter(|_| by_nats)
                .map(|radius| (epsilon / radius.value().as_f64()).next_up()),
            replacement_loss: any,
            covered_replacement_loss: covered,
            releases: [1, 2, 10].map(|times| released(epsilon, times)).into(),
            borders: BORDERS,
            suggested_radii,
        })
    }
}

/// The worst replacement in the longest blocks that the effort allows.
fn replacement_loss(
    mechanism: &Mechanism,
    BlockEffort(most): BlockEffort,
    reach: Option<crate::nats::Nats>,
    watch: Watch<'_>,
) -> Result<Option<ReplacementLoss>, Cancelled> {
    let longest =
        mechanism.blocks().map_or(0, |blocks| blocks.length().most_steps().get() as usize);
    let affordable = (1..=longest).take_while(|&l| replacement_work(mechanism, l) <= most).last();
    let Some(steps) = affordable else { return Ok(None) };
    let table = mechanism.model().symmetric();
    let within = |x, y| reach.is_none_or(|reach| table.between(x, y) <= reach);
    worst_replacement(mechanism, steps, within, watch)
}

impl fmt::Display for BlockGuarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let promised = Promised {
            mechanism: &self.mechanism,
            epsilon: self.epsilon,
            radius_nats: self.radius_nats,
            substitutions: self.substitutions,
            states: self.states,
            vacuous: self.vacuous,
            suggested_radii: self.suggested_radii,
        };
        paragraph(f, &promised.promise())?;
        paragraph(f, &self.delay())?;
        paragraph(f, &promised.meaning())?;
        promised.limits(f, self.stays)?;
        let scale = format!("{:.7}", self.scale);
        let covered = (self.covered_states, self.covered_pairs);
        cover_lines(f, self.states, covered, self.alternatives, &scale)?;
        self.loss_lines(f)?;
        if !self.vacuous {
            release_lines(f, &self.releases)?;
        }
        radius_lines(f, self.radius_nats.and(self.suggested_radii))
    }
}

impl BlockGuarantee {
    fn delay(&self) -> String {
        let what = match self.block {
            Some(1) => "Each step is released by itself.".to_owned(),
            Some(steps) => format!(
                "Steps are released {steps} at a time, so that a state is answered up to {} steps \
                 late. The guarantee is the same as without the delay.",
                steps - 1
            ),
            None => format!(
                "A walk is released when it is over, as a whole. It may have up to {} steps; longer \
                 ones are refused. The guarantee is the same as one step at a time.",
                self.longest_walk.unwrap_or(0)
            ),
        };
        if self.block == Some(1) { what } else { format!("{what} {}", self.borders) }
    }

    fn loss_lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Loss of replacing one state{:>26}{:>12}", "worst", "per nat")?;
        let rows = [
            ("by one within the radius", &self.covered_replacement_loss),
            ("by any other", &self.replacement_loss),
        ];
        for (name, loss) in rows {
            let Some(loss) = loss else { continue };
            let (max, per_nat) = (shown_up(loss.max, 4), shown_up(loss.per_nat, 4));
            let outside = beyond_radius(self.radius_nats, self.epsilon, loss.max);
            let note = outside.map_or("", |_| "  (beyond the radius)");
            writeln!(f, "  {name:<37}{max:>14}{per_nat:>12}{note}")?;
        }
        if let Some(bound) = self.loss_per_nat_bound {
            writeln!(f, "  {:<37}{:>26}", "bound", shown_up(bound, 4))?;
        }
        let epsilon = self.epsilon;
        writeln!(f, "  {:<37}{epsilon:>14}", "two whole walks, promised")?;
        writeln!(f, "  {:<37}{:>14.1e}", "of which rounding may take", self.rounding_cost)?;
        let compared = match &self.replacement_loss {
            Some(loss) if self.block == u32::try_from(loss.steps).ok() => format!(
                "Exact, over all real blocks and last released states. The worst: {} instead of {} \
                 at step {} of {}. Figures are rounded up.",
                loss.other,
                loss.real[loss.step - 1],
                loss.step,
                loss.real.join(", "),
            ),
            Some(loss) => format!(
                "Exact for blocks of {} at the end of a walk, over all real ones and all last \
                 released states; longer blocks are too many to go through, and keep to the bound. \
                 Figures are rounded up.",
                if loss.steps == 1 { "1 step".to_owned() } else { format!("{} steps", loss.steps) },
            ),
            None => "There are too many blocks to go through for exact losses here; the bound is \
                     proven for all of them."
                .to_owned(),
        };
        wrapped(f, &compared, "  ")?;
        let worst = self.replacement_loss.as_ref().map_or(0.0, |loss| loss.max);
        if let Some(words) = beyond_radius(self.radius_nats, self.epsilon, worst) {
            wrapped(f, &words, "  ")?;
        }
        writeln!(f)
    }
}
