//! A check of a sampler from the outside.
//!
//! The proof is about the rule; the program could still draw from another one. So a sampler is
//! treated as a black box: it draws many steps for chosen last and real states, and the counts are
//! held against the exact kernel. Every outcome is judged by itself with a bound that holds however
//! rare it is, since a broken sampler shows first where tests that pool rare outcomes do not look.
//! Besides, the counts alone, without the kernel, give a lower bound on the loss between two real
//! states, which must not be above the claim.
//!
//! # Precision
//!
//! Half of the false-alarm rate goes to the counts and half to the losses, each divided by the
//! number of tests made (Bonferroni). So a right sampler fails with a chance below
//! [`AuditPlan::FALSE_ALARMS`]. An outcome the chain does not have fails at once.

use std::collections::BTreeMap;
use std::fmt;

#[cfg(feature = "serde")]
use serde::Serialize;

use super::confidence::{Coin, Count};
use super::loss::{Losses, pair_loss};
use crate::chain::{Chain, StateId};
use crate::mechanism::{Mechanism, Observation, Unit, Workspace};
use crate::outcome::Outcome;
use crate::random::Words;
use crate::rounding::{divide_up, shown_up};
use crate::watch::{Stage, Stopped, Watch, report_share};

/// Something that takes steps.
pub trait Sampler {
    /// What is drawn after `previous` when the real state is `real`: a released state, or an observation.
    fn sample(&mut self, previous: StateId, real: StateId) -> Outcome;
}

/// The steps of a [`Mechanism`], as it takes them in a release.
#[derive(Debug)]
pub struct StepSampler<'a, W> {
    mechanism: &'a Mechanism,
    words: W,
    workspace: Workspace,
}

impl<'a, W: Words> StepSampler<'a, W> {
    /// The steps of this mechanism with these random words.
    pub fn new(mechanism: &'a Mechanism, words: W) -> Self {
        Self { mechanism, words, workspace: Workspace::default() }
    }
}

impl<W: Words> Sampler for StepSampler<'_, W> {
    fn sample(&mut self, previous: StateId, real: StateId) -> Outcome {
        self.mechanism.draw(previous, real, &mut self.words, &mut self.workspace)
    }
}

/// Two real states to be told apart after one last released state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probe {
    /// The last released state.
    pub previous: StateId,
    /// A real state.
    pub real: StateId,
    /// Another one.
    pub other: StateId,
}

/// What to sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditPlan {
    /// The pairs of real states to look at.
    pub probes: Vec<Probe>,
    /// How many steps to draw for each last and real state.
    pub draws: u64,
}

impl AuditPlan {
    /// The chance that a right sampler fails is below this.
    pub const FALSE_ALARMS: f64 = 1e-6;

    /// The worst pairs of an audited loss, and after them pairs spread over the chain, `count` in
    /// all.
    #[must_use]
    pub fn new(mechanism: &Mechanism, losses: &Losses, count: usize, draws: u64) -> Self {
        let chain = mechanism.model().chain();
        let summaries = [&losses.any, &losses.transitions, &losses.feasible];
        let worst = summaries.into_iter().flat_map(|s| [s.worst, s.worst_per_nat]).flatten();
        let mut probes: Vec<Probe> = Vec::new();
        let mut add = |probe: Probe| {
            if !probes.contains(&probe) && probes.len() < count {
                probes.push(probe);
            }
        };
        worst.for_each(|worst| {
            let pair = pair_loss(mechanism, worst.real, worst.other);
            add(Probe { previous: pair.previous, real: worst.real, other: worst.other });
        });
        // Evenly over the states, each with one of its own moves as the real state.
        for k in 0..count.min(chain.len()) {
            let previous = StateId::new(k * chain.len() / count.min(chain.len()));
            let successors = chain.successors(previous);
            let real = successors[k % successors.len()];
            let other = StateId::new((real.index() + 1 + k) % chain.len());
            if other != real {
                add(Probe { previous, real, other });
            }
        }
        Self { probes, draws }
    }
}

/// Whether the sampler agrees with its kernel and its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Verdict {
    /// Nothing that chance would not do.
    Passed,
    /// Something that chance does not do.
    Failed,
    /// Too few steps to notice anything.
    Inconclusive,
}

/// What a sampler did that it cannot have done by chance.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Finding {
    /// It released a state that the chain cannot move to.
    ImpossibleMove {
        /// The last released state.
        previous: String,
        /// The real state.
        real: String,
        /// What was released.
        outcome: String,
        /// How often.
        seen: u64,
    },
    /// An outcome came up too often or too rarely.
    WrongFrequency {
        /// The last released state.
        previous: String,
        /// The real state.
        real: String,
        /// The outcome.
        outcome: String,
        /// How often it came up.
        seen: u64,
        /// How often the kernel says it should have.
        expected: f64,
        /// The natural logarithm of a bound on the chance of this, for all tests together.
        ln_chance: f64,
    },
    /// Two real states can be told apart better than claimed.
    LossAboveClaim {
        /// The last released state.
        previous: String,
        /// A real state.
        real: String,
        /// The other one.
        other: String,
        /// The loss is at least this.
        at_least: f64,
        /// What was claimed.
        claim: f64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ImpossibleMove { previous, real, outcome, seen } => write!(
                f,
                "after {previous}, for real {real}: released {outcome} {seen} times, a move the \
                 chain does not have"
            ),
            Self::WrongFrequency { previous, real, outcome, seen, expected, ln_chance } => {
                let digits = -ln_chance / std::f64::consts::LN_10;
                write!(
                    f,
                    "after {previous}, for real {real}: released {outcome} {seen} times where \
                     {expected:.1} were expected (chance below 1e-{digits:.0})"
                )
            }
            Self::LossAboveClaim { previous, real, other, at_least, claim } => write!(
                f,
                "after {previous}: {real} and {other} differ by a loss of at least {at_least:.4}, \
                 and {} was claimed",
                shown_up(*claim, 4)
            ),
        }
    }
}

/// What the counts say about the loss between two real states.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct LossEstimate {
    /// The last released state.
    pub previous: String,
    /// A real state.
    pub real: String,
    /// The other one.
    pub other: String,
    /// A lower bound on the loss, from the counts alone.
    pub at_least: f64,
    /// The loss of the kernel after this last state.
    pub exact: f64,
    /// What the loss may be at most: by the promise, or by the kernel where there is none.
    pub claim: f64,
}

/// What an audit found.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct AuditReport {
    /// The result.
    pub verdict: Verdict,
    /// Steps drawn in all.
    pub draws: u64,
    /// How many pairs of last and real state were sampled.
    pub sampled: usize,
    /// How many outcomes were compared with their probability.
    pub outcomes: usize,
    /// How many of them are so rare that it would go unnoticed if they never came up.
    pub too_rare_to_notice: usize,
    /// The smallest probability whose loss would be noticed.
    pub noticed_from: f64,
    /// The chance that a right sampler fails is below this.
    pub false_alarms: f64,
    /// What is wrong, the surest first.
    pub findings: Vec<Finding>,
    /// The losses, the largest lower bound first.
    pub losses: Vec<LossEstimate>,
}

/// Samples as planned and judges the counts.
///
/// # Errors
///
/// If the watcher asks to stop.
///
/// # Panics
///
/// If the plan has no draws.
pub fn audit(
    mechanism: &Mechanism,
    sampler: &mut dyn Sampler,
    plan: &AuditPlan,
    watch: Watch<'_>,
) -> Result<AuditReport, Stopped> {
    assert!(plan.draws > 0, "an audit draws at least once");
    if let Some(plane) = mechanism.observation().and_then(Observation::plane) {
        return super::audit_of_plane::audit(mechanism, plane, sampler, plan, watch);
    }
    let counts = sample(mechanism, sampler, plan, watch)?;
    let chain = mechanism.model().chain();
    let outcomes: usize = counts.keys().map(|(z, _)| mechanism.candidates(*z).len()).sum();
    // Two sides for each outcome.
    let tolerated = (4.0 * outcomes.max(1) as f64 / AuditPlan::FALSE_ALARMS).ln();
    let mut findings = Vec::new();
    let mut too_rare_to_notice = 0;
    for (&(z, x), seen) in &counts {
        let (previous, real) = (label(chain, z), label(chain, x));
        let candidates = mechanism.candidates(z);
        let allowed = |y: StateId| candidates.binary_search(&y).is_ok();
        let named = chain.states().map(|y| (label(chain, y), seen[y.index()], allowed(y)));
        let unknown = ("no state of the chain".to_owned(), seen[chain.len()], false);
        for (outcome, seen, allowed) in named.chain([unknown]) {
            if seen > 0 && !allowed {
                let (previous, real) = (previous.clone(), real.clone());
                let finding = Finding::ImpossibleMove { previous, real, outcome, seen };
                findings.push((f64::INFINITY, finding));
            }
        }
        let kernel = mechanism.kernel(z, x);
        for (place, (&y, &p)) in candidates.iter().zip(&kernel).enumerate() {
            let tails = kernel[..place].iter().chain(&kernel[place + 1..]).sum();
            let coin = Coin { heads: p, tails };
            let count = seen[y.index()];
            let surprise = Count { seen: count, draws: plan.draws }.exponent(coin);
            if (Count { seen: 0, draws: plan.draws }).exponent(coin) <= tolerated {
                too_rare_to_notice += 1;
            }
            if surprise > tolerated {
                let finding = Finding::WrongFrequency {
                    previous: previous.clone(),
                    real: real.clone(),
                    outcome: label(chain, y),
                    seen: count,
                    expected: p * plan.draws as f64,
                    ln_chance: (2.0 * outcomes as f64).ln() - surprise,
                };
                findings.push((surprise, finding));
            }
        }
    }
    let losses = estimate_losses(mechanism, plan, &counts);
    Ok(report_of(plan, counts.len(), outcomes, too_rare_to_notice, tolerated, findings, losses))
}

/// What an audit found, from what was wrong with frequencies and from the losses.
pub(super) fn report_of(
    plan: &AuditPlan,
    sampled: usize,
    outcomes: usize,
    too_rare_to_notice: usize,
    tolerated: f64,
    mut findings: Vec<(f64, Finding)>,
    losses: Vec<LossEstimate>,
) -> AuditReport {
    for estimate in losses.iter().filter(|estimate| estimate.at_least > estimate.claim) {
        let LossEstimate { previous, real, other, at_least, claim, .. } = estimate.clone();
        let finding = Finding::LossAboveClaim { previous, real, other, at_least, claim };
        findings.push((at_least - claim, finding));
    }
    findings.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let verdict = match findings.is_empty() {
        false => Verdict::Failed,
        true if too_rare_to_notice == outcomes => Verdict::Inconclusive,
        true => Verdict::Passed,
    };
    AuditReport {
        verdict,
        draws: plan.draws.saturating_mul(sampled as u64),
        sampled,
        outcomes,
        too_rare_to_notice,
        noticed_from: -(-tolerated / plan.draws as f64).exp_m1(),
        false_alarms: AuditPlan::FALSE_ALARMS,
        findings: findings.into_iter().map(|(_, finding)| finding).collect(),
        losses,
    }
}

/// How often each state came up, for each last and real state.
type Counts = BTreeMap<(StateId, StateId), Vec<u64>>;

fn sample(
    mechanism: &Mechanism,
    sampler: &mut dyn Sampler,
    plan: &AuditPlan,
    watch: Watch<'_>,
) -> Result<Counts, Stopped> {
    const BETWEEN_REPORTS: u64 = 1 << 16;
    let states = mechanism.model().chain().len();
    let mut counts: Counts = plan
        .probes
        .iter()
        .flat_map(|probe| [(probe.previous, probe.real), (probe.previous, probe.other)])
        // One more place, for what is not a state at all.
        .map(|key| (key, vec![0; states + 1]))
        .collect();
    let total = counts.len() as f64;
    for (round, ((z, x), seen)) in counts.iter_mut().enumerate() {
        for draw in 0..plan.draws {
            if draw % BETWEEN_REPORTS == 0 {
                let share = draw as f64 / plan.draws as f64;
                report_share(watch, Stage::Audit, (round as f64 + share) / total)?;
            }
            let place = sampler.sample(*z, *x).state().map_or(states, |state| state.index());
            seen[place.min(states)] += 1;
        }
    }
    report_share(watch, Stage::Audit, 1.0)?;
    Ok(counts)
}

/// Lower bounds on the loss of every probe.
///
/// All bounds on probabilities hold together but for half of the false-alarm rate; where they do,
/// `ln(low / high)` is at most the real log-ratio, for every outcome and both directions.
fn estimate_losses(mechanism: &Mechanism, plan: &AuditPlan, counts: &Counts) -> Vec<LossEstimate> {
    let chain = mechanism.model().chain();
    let outcomes: usize = counts.keys().map(|(z, _)| mechanism.candidates(*z).len()).sum();
    // Two bounds for each outcome.
    let allowed = (4.0 * outcomes.max(1) as f64 / AuditPlan::FALSE_ALARMS).ln();
    let mut estimates: Vec<LossEstimate> = plan
        .probes
        .iter()
        .map(|&Probe { previous, real, other }| {
            let seen = |x| &counts[&(previous, x)];
            let ratio = |y: StateId, a: StateId, b: StateId| {
                let count = |x| Count { seen: seen(x)[y.index()], draws: plan.draws };
                let (low, high) = (count(a).lower_bound(allowed), count(b).upper_bound(allowed));
                if low > 0.0 { (low / high).ln() } else { 0.0 }
            };
            let sides = |&y: &StateId| ratio(y, real, other).max(ratio(y, other, real));
            let candidates = mechanism.candidates(previous);
            let at_least = candidates.iter().map(sides).fold(0.0, f64::max);
            let (p, q) =
                (mechanism.log_kernel(previous, real), mechanism.log_kernel(previous, other));
            let exact = p.iter().zip(&q).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
            LossEstimate {
                previous: label(chain, previous),
                real: label(chain, real),
                other: label(chain, other),
                at_least,
                exact,
                claim: claim(mechanism, real, other),
            }
        })
        .collect();
    estimates.sort_by(|a, b| b.at_least.total_cmp(&a.at_least));
    estimates
}

/// What the loss of a pair may be at most: by the promise for every pair that it covers, by the
/// kernel for others. A pair that fits k times into the radius, or into the number of
/// substitutions, may lose ε/k, since walks may differ by it k times.
pub(super) fn claim(mechanism: &Mechanism, real: StateId, other: StateId) -> f64 {
    let exact = || pair_loss(mechanism, real, other).loss;
    let Some(promise) = mechanism.promise() else { return exact() };
    let epsilon = promise.epsilon.value().as_f64();
    match promise.unit {
        Unit::Substitutions(b) => divide_up(epsilon, f64::from(b.get())),
        Unit::Radius(radius) => {
            let apart = mechanism.model().symmetric_between(real, other);
            let reach = super::loss::reach_of(radius.value()).units();
            match reach.checked_div(apart.units()) {
                Some(0) => exact(),
                Some(times) => divide_up(epsilon, f64::from(times)),
                None => 0.0,
            }
        }
    }
}

pub(super) fn label(chain: &Chain, state: StateId) -> String {
    chain.label(state).to_owned()
}

impl fmt::Display for AuditReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verdict {
            Verdict::Passed => writeln!(f, "Passed: the sampler agrees with its exact kernel.")?,
            Verdict::Failed => writeln!(f, "FAILED: the sampler does not do what it claims.")?,
            Verdict::Inconclusive => writeln!(f, "Inconclusive: too few steps; draw more.")?,
        }
        writeln!(
            f,
            "{} steps, {} pairs of last and real state, {} outcomes each judged by itself.",
            self.draws, self.sampled, self.outcomes
        )?;
        writeln!(
            f,
            "A right sampler fails less than once in {:.0} audits.",
            1.0 / self.false_alarms
        )?;
        writeln!(
            f,
            "An outcome that never comes up is noticed from probability {:.1e} on; {} of the \
             outcomes are rarer.",
            self.noticed_from, self.too_rare_to_notice
        )?;
        const SHOWN: usize = 10;
        for finding in self.findings.iter().take(SHOWN) {
            writeln!(f, "  - {finding}")?;
        }
        if self.findings.len() > SHOWN {
            writeln!(f, "  - and {} more", self.findings.len() - SHOWN)?;
        }
        if !self.losses.is_empty() {
            writeln!(f, "\nLoss between two real states, from the counts alone:")?;
            writeln!(f, "  {:>9}  {:>9}  {:>9}", "at least", "exact", "claim")?;
        }
        for loss in self.losses.iter().take(SHOWN) {
            writeln!(
                f,
                "  {:>9.4}  {:>9.4}  {:>9}  {} or {}, after {}",
                loss.at_least,
                loss.exact,
                shown_up(loss.claim, 4),
                loss.real,
                loss.other,
                loss.previous
            )?;
        }
        Ok(())
    }
}
