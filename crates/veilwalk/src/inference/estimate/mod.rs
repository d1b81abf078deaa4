//! What the crowd did, learned from its releases: visits, moves, and the chain that real walks follow.
//!
//! Single releases are noisy. But the noise has a known law, so the law of the real walks can be found as the
//! one under which what was released is likeliest. It is found by expectation and maximisation: the expected
//! number of each move, given all that was released and a law of real walks (`expected`), gives the next law,
//!
//! ```text
//! P(x, x') = (N(x, x') + s·P₀(x, x')) / (N(x) + s),
//! ```
//!
//! where `P₀` is the law to begin with, usually that of the public chain, and `s` the *strength* of the prior:
//! each state counts as if it had made `s` more moves by `P₀`, and first states as `s` more walks. Each round makes
//! the likelihood together with this prior larger. Rounds are accelerated (`accelerate`), since plain ones
//! crawl where a release says little.
//!
//! **When it stops.** After two plain rounds and a leap, when these together have gained less than
//! [`EstimateSettings::gain`] nats: 0.01 unless told otherwise. Differences of that size say nothing, however
//! many walks there are: laws within one nat of the best are all plausible.
//!
//! **What the shares mean.** `visits` and `moves` are the shares of expected visits and moves among all that
//! real walks of these lengths made, given everything that was released. [`intervals`](fn@intervals) says how
//! sure that is.

mod accelerate;
mod expected;
mod intervals;
mod learned;
mod trips;

use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

pub use expected::{Expected, Weights};
pub use intervals::{Interval, IntervalSettings, Intervals, WithTrips, intervals, intervals_of};
pub use learned::{EstimateInquiry, Learned, Share, learn};
pub use trips::{Trips, trips};

use super::{Inference, Law, UnlikelyRelease};
use crate::outcome::Outcome;
use crate::watch::{Progress, Stage, Stopped, Watch, report_share};
use accelerate::Point;

/// Walks that were released under one mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Infers from them.
    pub inference: &'a Inference,
    /// What was drawn for each: released states, or observations.
    pub walks: &'a [Vec<Outcome>],
}

/// How an estimate is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimateSettings {
    /// How many moves of every state, and how many walks, the law to begin with counts for.
    pub strength: f64,
    /// Stop when so many nats or fewer are gained.
    pub gain: f64,
    /// Stop after so many rounds in any case.
    pub most_rounds: usize,
}

impl Default for EstimateSettings {
    fn default() -> Self {
        Self { strength: 1.0, gain: 0.01, most_rounds: 2000 }
    }
}

/// What a crowd did.
#[derive(Clone, Debug)]
pub struct Estimate {
    law: Law,
    expected: Expected,
    rounds: usize,
    converged: bool,
}

/// Why nothing can be estimated.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// No walks.
    #[error("there are no walks to learn from")]
    NoWalks,
    /// Releases under chains that are not the same.
    #[error(
        "the releases were made under different chains; learn from those of one chain at a time"
    )]
    DifferentChains,
    /// A walk that cannot have been released.
    #[error("walk {walk} of sample {sample}: {why}")]
    Walk {
        /// Which sample, from zero.
        sample: usize,
        /// Which walk of it, from zero.
        walk: usize,
        /// Why.
        why: UnlikelyRelease,
    },
    /// It was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl Estimate {
    /// How real walks seem to start and move.
    #[must_use]
    pub fn law(&self) -> &Law {
        &self.law
    }

    /// The expected counts under this law.
    #[must_use]
    pub fn expected(&self) -> &Expected {
        &self.expected
    }

    /// How often all walks were gone through.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Whether it stopped because nothing was gained any more.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.converged
    }
}

/// Learns what the crowd did, beginning with the law of the first sample's inference.
///
/// # Errors
///
/// If there are no walks, some walk cannot have been released, the chains differ, or the watcher asks to stop.
///
/// # Complexity
///
/// A round takes two passes over the moves of the believed states for each step. The believed states of one walk are
/// in memory at a time for each thread, and the counts of all moves for each batch of walks.
pub fn estimate(
    samples: &[Sample<'_>],
    settings: EstimateSettings,
    watch: Watch<'_>,
) -> Result<Estimate, EstimateError> {
    check(samples)?;
    let first = samples.first().ok_or(EstimateError::NoWalks)?.inference;
    let weights = Weights::one_each(samples);
    Ok(climb(samples, &weights, first.law(), first.law(), settings, watch)?)
}

/// The same where the walks are with others: `expect` gives the expected counts of all of them under a law, as
/// [`expected_counts`] does for some. Begins with the law `from`; the prior is another one.
///
/// # Errors
///
/// Whatever `expect` gives, or that the watcher asks to stop.
pub fn estimate_by<E: From<Stopped>>(
    from: &Law,
    prior: &Law,
    settings: EstimateSettings,
    expect: impl FnMut(&Law) -> Result<Expected, E>,
    watch: Watch<'_>,
) -> Result<Estimate, E> {
    climb_by(from, prior, settings, expect, watch)
}

/// The expected counts of these walks under a law of real walks: one of the rounds of an estimate. Each walk counts as
/// often as its weight says.
///
/// # Errors
///
/// As [`estimate`].
///
/// # Panics
///
/// If there is not one weight for each walk.
pub fn expected_counts(
    samples: &[Sample<'_>],
    weights: &Weights,
    law: &Law,
    watch: Watch<'_>,
) -> Result<Expected, EstimateError> {
    check(samples)?;
    weights.check(samples);
    let still_wanted = || report_share(watch, Stage::Inference, 0.0);
    Ok(expected::expect(samples, weights, law, &still_wanted)?)
}

fn check(samples: &[Sample<'_>]) -> Result<(), EstimateError> {
    if samples.iter().all(|sample| sample.walks.is_empty()) {
        return Err(EstimateError::NoWalks);
    }
    let hash = |sample: &Sample<'_>| sample.inference.mechanism().model().hash();
    if samples.iter().any(|sample| hash(sample) != hash(&samples[0])) {
        return Err(EstimateError::DifferentChains);
    }
    for (number, sample) in samples.iter().enumerate() {
        for (walk, drawn) in sample.walks.iter().enumerate() {
            let fits = sample.inference.emission.check(drawn);
            fits.map_err(|why| EstimateError::Walk { sample: number, walk, why })?;
        }
    }
    Ok(())
}

/// Rounds and leaps from a law, with another as the prior.
fn climb(
    samples: &[Sample<'_>],
    weights: &Weights,
    from: &Law,
    prior: &Law,
    settings: EstimateSettings,
    watch: Watch<'_>,
) -> Result<Estimate, Stopped> {
    // Within a round the share of the round is told again, so that whoever shows it shows no other work.
    let share = AtomicU64::new(0);
    let told = |progress: Progress| {
        share.store(progress.share.to_bits(), Ordering::Relaxed);
        watch(progress)
    };
    let still_wanted =
        || report_share(watch, Stage::Rounds, f64::from_bits(share.load(Ordering::Relaxed)));
    let expect = |law: &Law| expected::expect(samples, weights, law, &still_wanted);
    climb_by(from, prior, settings, expect, &told)
}

fn climb_by<E: From<Stopped>>(
    from: &Law,
    prior: &Law,
    settings: EstimateSettings,
    mut expect: impl FnMut(&Law) -> Result<Expected, E>,
    watch: Watch<'_>,
) -> Result<Estimate, E> {
    let strength = settings.strength;
    let mut rounds = 0;
    let mut round = |law: &Law| -> Result<Point, E> {
        // Nobody knows how many it will take; half of the way is never more than half done.
        report_share(watch, Stage::Rounds, 1.0 - 1.0 / (1.0 + rounds as f64 / 20.0))?;
        rounds += 1;
        let expected = expect(law)?;
        Ok(Point::new(law.clone(), expected, prior, strength))
    };
    let mut here = round(from)?;
    let mut converged = false;
    let mut spent = 1;
    while spent < settings.most_rounds {
        let once = round(&here.next(prior, strength))?;
        let twice = once.next(prior, strength);
        let leap = accelerate::leap(&here.law, &once.law, &twice);
        let mut there = round(&leap)?;
        spent += 2;
        if there.objective < once.objective {
            // Too far: a plain round never loses.
            there = round(&twice)?;
            spent += 1;
        }
        let gained = there.objective - here.objective;
        here = there;
        if gained <= settings.gain {
            converged = true;
            break;
        }
    }
    report_share(watch, Stage::Rounds, 1.0)?;
    let Point { law, expected, .. } = here;
    Ok(Estimate { law, expected, rounds, converged })
}
