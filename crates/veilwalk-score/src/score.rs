//! Candidates beside the chain alone, and whether the difference is more than chance.
//!
//! The chain alone makes up as many walks as there are real ones, as long as they are, again and again: that
//! says how good its figures are and how much they vary. How much the figures of a candidate vary is found by
//! the bootstrap: walks are drawn with replacement, a real walk together with the one released in its place.

use veilwalk::analysis::{Origin, OwnWalks};
use veilwalk::internal::random::{Randomness, uniform_below};
use veilwalk::{Chain, Source};

use crate::plain_counts::PlainCounts;
use crate::statistics::{Measure, Statistics, Yardstick};
use crate::walks::Walks;

/// What is compared with the real walks.
#[derive(Clone, Debug)]
pub enum Candidate<'a> {
    /// Walks in the order of the real ones, each in the place of one.
    Paired(&'a Walks),
    /// Walks that stand for all real ones together.
    Walks(&'a Walks),
    /// Figures without walks.
    Estimate(&'a Statistics),
    /// Noisy counts of the real walks.
    Counts(PlainCounts),
}

/// How much is simulated.
#[derive(Clone, Copy, Debug)]
pub struct ScoreOptions {
    /// How often the chain alone makes up walks, and walks are drawn again for the bootstrap; at least two.
    pub repetitions: usize,
    /// What the randomness comes from.
    pub seed: u64,
}

/// A figure with its standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// What is measured.
    pub measure: Measure,
    /// The figure; of the chain alone, the mean of all repetitions.
    pub value: f64,
    /// How much it varies by chance.
    pub deviation: f64,
}

/// How a figure stands to that of the chain alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Better, by more than twice what chance does.
    Better,
    /// Worse, by more than that.
    Worse,
    /// Not to be told from it.
    Equal,
}

/// The figures of a candidate.
#[derive(Clone, Debug)]
pub struct Scored {
    /// What it is called.
    pub name: String,
    /// Its figures, as far as it has them, beside those of the chain alone.
    pub figures: Vec<(Figure, Against)>,
}

/// All figures.
#[derive(Clone, Debug)]
pub struct Score {
    /// Those of the chain alone.
    pub chain_alone: Vec<Figure>,
    /// Those of the candidates, in the order in which they were given.
    pub candidates: Vec<Scored>,
}

/// Compares candidates and the chain alone with real walks. `stop` is asked now and then; the result is `None` if
/// it says yes.
#[must_use]
pub fn score(
    chain: &Chain,
    real: &Walks,
    candidates: &[(String, Candidate<'_>)],
    options: ScoreOptions,
    stop: &dyn Fn() -> bool,
) -> Option<Score> {
    let yard = Yardstick::new(chain, real);
    let true_statistics = yard.statistics(real, None);
    let source = Source::seeded(options.seed).open(chain.hash().0);
    let mut randomness = source.expect("a seed needs nothing of the operating system");
    let mut made_up = Vec::new();
    for round in 0..options.repetitions {
        if stop() {
            return None;
        }
        let walks = chain_walks(chain, real, &mut randomness, round);
        made_up.push(yard.statistics(&walks, None));
    }
    let chain_alone: Vec<Figure> = Measure::ALL
        .into_iter()
        .filter_map(|measure| {
            let figures = made_up.iter().map(|one| yard.figure(measure, &true_statistics, one));
            let (value, deviation) = spread(&figures.collect::<Option<Vec<f64>>>()?);
            Some(Figure { measure, value, deviation })
        })
        .collect();
    let mut scored = Vec::new();
    for (name, candidate) in candidates {
        let boot = Bootstrap { chain, yard: &yard, real, candidate, options };
        let figures = boot.figures(&true_statistics, &mut randomness, stop)?;
        let judged = figures.into_iter().map(|figure| (figure, against(figure, &chain_alone)));
        scored.push(Scored { name: name.clone(), figures: judged.collect() });
    }
    Some(Score { chain_alone, candidates: scored })
}

/// As many walks of the chain as there are real ones, as long as they are.
fn chain_walks(chain: &Chain, real: &Walks, randomness: &mut Randomness, round: usize) -> Walks {
    let own = OwnWalks::new(chain);
    let key = randomness.walk(b"the chain alone");
    let words = randomness.at(&key, round as u64, None);
    let mut walks = Walks::default();
    for walk in real.iter() {
        walks.push(&own.walk(Origin::Initial, walk.len() - 1, words));
    }
    walks
}

struct Bootstrap<'a> {
    chain: &'a Chain,
    yard: &'a Yardstick,
    real: &'a Walks,
    candidate: &'a Candidate<'a>,
    options: ScoreOptions,
}

impl Bootstrap<'_> {
    fn figures(
        &self,
        true_statistics: &Statistics,
        randomness: &mut Randomness,
        stop: &dyn Fn() -> bool,
    ) -> Option<Vec<Figure>> {
        let drawn = |walks: &Walks, weights: &[u32]| self.yard.statistics(walks, Some(weights));
        let whole = match self.candidate {
            Candidate::Paired(walks) | Candidate::Walks(walks) => {
                Some(self.yard.statistics(walks, None))
            }
            Candidate::Estimate(statistics) => Some((*statistics).clone()),
            // Every draw is another one.
            Candidate::Counts(_) => None,
        };
        let mut again = Vec::new();
        for round in 0..self.options.repetitions {
            if stop() {
                return None;
            }
            let key = randomness.walk(b"bootstrap");
            let words = randomness.at(&key, round as u64, None);
            let mut weights = |count: usize| {
                let mut weights = vec![0u32; count];
                (0..count).for_each(|_| weights[uniform_below(words, count as u64) as usize] += 1);
                weights
            };
            let own = weights(self.real.len());
            let other = match self.candidate {
                Candidate::Paired(walks) => drawn(walks, &own),
                Candidate::Walks(walks) => drawn(walks, &weights(walks.len())),
                Candidate::Estimate(statistics) => (*statistics).clone(),
                Candidate::Counts(counts) => {
                    let size = (self.real.len(), self.real.states());
                    let noisy = counts.drawn(self.chain, true_statistics, size, words);
                    again.push((true_statistics.clone(), noisy));
                    continue;
                }
            };
            again.push((drawn(self.real, &own), other));
        }
        let figure = |measure| {
            let again = again.iter().filter_map(|(p, q)| self.yard.figure(measure, p, q));
            let again: Vec<f64> = again.collect();
            let (mean, deviation) = spread(&again);
            let value = match &whole {
                Some(whole) => self.yard.figure(measure, true_statistics, whole)?,
                None => (!again.is_empty()).then_some(mean)?,
            };
            Some(Figure { measure, value, deviation })
        };
        Some(Measure::ALL.into_iter().filter_map(figure).collect())
    }
}

/// The mean of a sample and its standard deviation.
fn spread(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let squares: f64 = sample.iter().map(|x| (x - mean) * (x - mean)).sum();
    (mean, if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

fn against(figure: Figure, chain_alone: &[Figure]) -> Against {
    let Some(alone) = chain_alone.iter().find(|alone| alone.measure == figure.measure) else {
        return Against::Equal;
    };
    let gain = match figure.measure.more_is_better() {
        true => figure.value - alone.value,
        false => alone.value - figure.value,
    };
    // Figures that are computed alike may differ in their last digits.
    let chance = 2.0 * figure.deviation.hypot(alone.deviation) + 1e-9;
    match gain {
        _ if gain > chance => Against::Better,
        _ if gain < -chance => Against::Worse,
        _ => Against::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veilwalk::{Initial, StateId};

    const OPTIONS: ScoreOptions = ScoreOptions { repetitions: 20, seed: 1 };

    fn drawn(chain: &Chain, count: usize, steps: usize, seed: u64) -> Walks {
        let mut randomness = Source::seeded(seed).open([1; 32]).unwrap();
        let key = randomness.walk(b"walks");
        let words = randomness.at(&key, 0, None);
        let own = OwnWalks::new(chain);
        let mut walks = Walks::default();
        (0..count).for_each(|_| walks.push(&own.walk(Origin::Initial, steps, words)));
        walks
    }

    fn count(scored: &Scored, against: Against) -> usize {
        scored.figures.iter().filter(|(_, found)| *found == against).count()
    }

    /// Walks of the chain itself are no better than the chain, and the real walks are.
    #[test]
    fn the_chain_itself_is_no_better_than_the_chain() {
        let chain = Chain::downtown();
        // The real walks all start in one place, of which the public chain knows nothing.
        let start = Initial::at(StateId::new(3), chain.len());
        let real = drawn(&chain.clone().with_initial(start), 400, 15, 1);
        let again = drawn(&chain, 400, 15, 2);
        let candidates = [
            ("again".to_owned(), Candidate::Walks(&again)),
            ("real".to_owned(), Candidate::Paired(&real)),
        ];
        let found = score(&chain, &real, &candidates, OPTIONS, &|| false).unwrap();
        let [again, same] = &found.candidates[..] else { panic!("two candidates") };
        assert!(count(again, Against::Better) <= 1, "{again:?}");
        assert!(count(again, Against::Worse) <= 2, "{again:?}");
        assert!(count(same, Against::Better) >= 11, "{same:?}");
        assert_eq!(count(same, Against::Worse), 0);
        let repeated = score(&chain, &real, &candidates, OPTIONS, &|| false).unwrap();
        assert_eq!(repeated.chain_alone, found.chain_alone);
        assert!(score(&chain, &real, &candidates, OPTIONS, &|| true).is_none());
    }

    #[test]
    fn what_is_wrong_everywhere_is_worse() {
        let chain = Chain::downtown();
        let real = drawn(&chain, 400, 15, 1);
        let stuck: Walks = real.iter().map(|walk| &walk[..1]).collect();
        let candidates = [("stuck".to_owned(), Candidate::Paired(&stuck))];
        let found = score(&chain, &real, &candidates, OPTIONS, &|| false).unwrap();
        assert!(count(&found.candidates[0], Against::Worse) >= 6, "{found:?}");
    }
}
