//! How sure an estimate is: the estimate is made again of walks drawn with replacement.
//!
//! The walks of a release are taken for independent draws of a crowd's walks. A *replicate* has as many walks of
//! each release, drawn with replacement, and is estimated like the release, beginning with the law that was
//! found. How much a share varies over the replicates is how much it would vary over other walks of the same
//! crowd: the noise of the mechanism and the choice of the walks together. No formula for the likelihood's
//! curvature is needed, and shares near zero give no trouble.
//!
//! An interval is symmetric around the square root of the share, where the spread of a count does not depend
//! on its size, and is `z` standard deviations wide to each side. It is about the crowd that the walks come
//! from, not about these walks alone; and it says nothing of what walks that follow no chain would do.
//!
//! What was hardly ever done is not in the walks that are drawn again either, or nearly as rarely, so its
//! replicates are alike and vary too little. No spread is therefore taken for smaller than that of a count: half on
//! the scale of square roots of counts, or if that is more, the lower quartile over all that is expected at least ten
//! times, where the noise of the mechanism shows.

use super::expected::{Expected, Weights};
use super::trips::{Trips, trips as trips_of};
use super::{Estimate, EstimateSettings, Sample, climb};
use crate::random::{Source, uniform_below};
use crate::watch::{Progress, Stage, Stopped, Watch, report};

/// How intervals are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalSettings {
    /// The share of such intervals that are to cover what they are about.
    pub level: f64,
    /// How many replicates are made.
    pub replicates: usize,
    /// Which walks are drawn depends on it, so that the same figures come out again.
    pub seed: u64,
    /// Whether first and last states together get intervals too: that takes longer.
    pub trips: WithTrips,
}

/// Whether trips get intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithTrips {
    /// No.
    #[default]
    No,
    /// Yes.
    Yes,
}

impl Default for IntervalSettings {
    fn default() -> Self {
        Self { level: 0.95, replicates: 100, seed: 1, trips: WithTrips::No }
    }
}

/// Where a share probably lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Intervals for the shares of visits, of moves and of trips, in the order of what was estimated.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals {
    /// For each state.
    pub visits: Vec<Interval>,
    /// For each move.
    pub moves: Vec<Interval>,
    /// For each of the trips that were given.
    pub trips: Vec<Interval>,
}

/// Intervals for an estimate, and for the trips that follow from it (which may be empty).
///
/// # Errors
///
/// If the watcher asks to stop.
pub fn intervals(
    samples: &[Sample<'_>],
    estimate: &Estimate,
    trips: &Trips,
    settings: EstimateSettings,
    how: IntervalSettings,
    watch: Watch<'_>,
) -> Result<Intervals, Stopped> {
    let prior = samples[0].inference.law();
    let mut spreads = [
        Spread::new(estimate.expected.visits.len()),
        Spread::new(estimate.expected.moves.len()),
        Spread::new(trips.len()),
    ];
    for replicate in 0..how.replicates {
        report(watch, Stage::Replicates, replicate, how.replicates)?;
        // What happens within a replicate is not told; whether to go on is asked.
        let share = replicate as f64 / how.replicates as f64;
        let within = |_| watch(Progress { stage: Stage::Replicates, share });
        let weights = Weights::drawn(samples, how.seed, replicate);
        let again = climb(samples, &weights, &estimate.law, prior, settings, &within)?;
        spreads[0].push(&shares(&again.expected.visits));
        spreads[1].push(&shares(&again.expected.moves));
        if how.trips == WithTrips::Yes {
            let found = trips_of(samples, &weights, &again.law, &within)?;
            let counts: Vec<f64> =
                trips.keys().map(|ends| found.get(ends).copied().unwrap_or(0.0)).collect();
            let total: f64 = found.values().sum();
            spreads[2].push(&counts.iter().map(|count| count / total).collect::<Vec<_>>());
        }
    }
    report(watch, Stage::Replicates, how.replicates, how.replicates)?;
    let z = quantile(how.level);
    let total: f64 = trips.values().sum();
    let of_trips: Vec<f64> = trips.values().map(|count| count / total).collect();
    let [of_visits, of_moves, spread_of_trips] = spreads;
    let Expected { visits, moves, .. } = &estimate.expected;
    Ok(Intervals {
        visits: of_visits.around(&shares(visits), visits.iter().sum(), z),
        moves: of_moves.around(&shares(moves), moves.iter().sum(), z),
        trips: spread_of_trips.around(&of_trips, total, z),
    })
}

/// The same from replicates that others have made: an interval of this level around the share of each count, given the
/// counts of every replicate.
#[must_use]
pub fn intervals_of(counts: &[f64], replicates: &[Vec<f64>], level: f64) -> Vec<Interval> {
    let mut spread = Spread::new(counts.len());
    replicates.iter().for_each(|counts| spread.push(&shares(counts)));
    spread.around(&shares(counts), counts.iter().sum(), quantile(level))
}

/// Counts as shares of their sum.
pub(super) fn shares(counts: &[f64]) -> Vec<f64> {
    let total: f64 = counts.iter().sum();
    counts.iter().map(|count| if total > 0.0 { count / total } else { 0.0 }).collect()
}

impl Weights {
    /// As many walks of each sample, drawn with replacement.
    fn drawn(samples: &[Sample<'_>], seed: u64, replicate: usize) -> Self {
        let source = Source::seeded(seed);
        let mut randomness =
            source.open([0; 32]).expect("a seed needs nothing of the operating system");
        let key = randomness.walk(format!("replicate {replicate}").as_bytes());
        let words = randomness.at(&key, 0, None);
        let of_walks = samples.iter().map(|sample| {
            let walks = sample.walks.len() as u64;
            let mut weights = vec![0; sample.walks.len()];
            (0..walks).for_each(|_| weights[uniform_below(words, walks) as usize] += 1);
            weights
        });
        Self { of_walks: of_walks.collect() }
    }
}

/// What is expected so often is seen often enough to tell how much it varies.
const OFTEN: f64 = 10.0;
/// The standard deviation of the square root of a count.
const OF_A_COUNT: f64 = 0.5;

/// How much the square roots of shares vary.
struct Spread {
    count: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Spread {
    fn new(shares: usize) -> Self {
        Self { count: 0.0, sums: vec![0.0; shares], squares: vec![0.0; shares] }
    }

    fn push(&mut self, shares: &[f64]) {
        self.count += 1.0;
        for ((sum, square), share) in self.sums.iter_mut().zip(&mut self.squares).zip(shares) {
            *sum += share.sqrt();
            *square += share;
        }
    }

    /// Around shares of so many in all.
    fn around(&self, shares: &[f64], total: f64, z: f64) -> Vec<Interval> {
        let n = self.count;
        let deviation = |sum: &f64, square: &f64| {
            ((square - sum * sum / n).max(0.0) / (n - 1.0).max(1.0)).sqrt()
        };
        let deviations =
            self.sums.iter().zip(&self.squares).map(|(sum, square)| deviation(sum, square));
        let deviations: Vec<f64> = deviations.collect();
        let often = deviations.iter().zip(shares).filter(|(_, share)| **share * total >= OFTEN);
        let mut often: Vec<f64> = often.map(|(deviation, _)| *deviation).collect();
        often.sort_by(f64::total_cmp);
        let usual = often.get(often.len() / 4).copied().unwrap_or(0.0);
        let least = usual.max(OF_A_COUNT / total.max(1.0).sqrt());
        let interval = |(share, deviation): (&f64, &f64)| {
            let (root, reach) = (share.sqrt(), z * deviation.max(least));
            let low = (root - reach).max(0.0);
            Interval { low: low * low, high: ((root + reach) * (root + reach)).min(1.0) }
        };
        shares.iter().zip(&deviations).map(interval).collect()
    }
}

/// So many standard deviations to both sides hold this share of a normal law.
fn quantile(level: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        let inside = libm::erf(middle / std::f64::consts::SQRT_2);
        if inside < level { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (level, z) in [(0.95, 1.959_963_98), (0.5, 0.674_489_75), (0.99, 2.575_829_3)] {
            assert!((quantile(level) - z).abs() < 1e-7, "{level}");
        }
    }
}
