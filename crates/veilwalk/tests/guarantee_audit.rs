//! The audit of a sampler: the right one passes, each broken one is caught.

mod common;

use std::collections::HashMap;

use common::{credit, preset, state};
use veilwalk::guarantee::{AuditPlan, Effort, audit};
use veilwalk::guarantee::{AuditReport, Verdict};
use veilwalk::internal::audit::Finding;
use veilwalk::internal::guarantee::{Probe, Sampler, StepSampler, audited_loss};
use veilwalk::internal::random::{Randomness, uniform_below};
use veilwalk::random::Words;
use veilwalk::unwatched;
use veilwalk::{Mechanism, Outcome, Preset, Source, StateId};

const DRAWS: u64 = 1_000_000;

fn randomness(mechanism: &Mechanism, seed: u64) -> Randomness {
    Source::seeded(seed).open(mechanism.fingerprint()).unwrap()
}

fn check(mechanism: &Mechanism, sampler: &mut dyn Sampler) -> AuditReport {
    let losses = audited_loss(mechanism, Effort::default(), &unwatched).unwrap();
    let plan = AuditPlan::new(mechanism, &losses, 6, DRAWS);
    audit(mechanism, sampler, &plan, &unwatched).unwrap()
}

#[test]
fn slow_the_right_sampler_passes() {
    let model = credit();
    for (seed, name) in Preset::OF_STATES.into_iter().enumerate() {
        let mechanism = preset(&model, name, "2", "3.5");
        let mut randomness = randomness(&mechanism, seed as u64);
        let walk = randomness.walk(b"audit");
        let words = randomness.at(&walk, 0, None);
        let report = check(&mechanism, &mut StepSampler::new(&mechanism, words));
        assert_eq!(report.verdict, Verdict::Passed, "{report}");
        // After a state that is known for sure, few are believed.
        let least = if name == Preset::Believed { 15 } else { 30 };
        assert!(report.draws >= 6 * DRAWS && report.outcomes > least, "{report}");
        for loss in &report.losses {
            assert!(loss.at_least <= loss.exact && loss.exact <= loss.claim + 1e-9, "{report}");
        }
        // The counts say something about the loss, not only that it is positive.
        assert!(report.losses[0].at_least > 0.3 * report.losses[0].exact, "{report}");
        println!("{report}");
    }
}

/// Wrong on purpose, in one way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Refuses one time in fifty what it should accept.
    BiasedCoin,
    /// Visits the candidates in the order of the naive shuffle, which is not uniform.
    NaiveShuffle,
    /// Never releases an outcome whose probability is between 0.0001 and 0.01.
    LostOutcome,
    /// Makes a move that the chain does not have, once in a thousand steps.
    Impossible,
}

/// Permute-and-flip in plain floats, with a fault.
struct Faulty<'a, W> {
    mechanism: &'a Mechanism,
    fault: Fault,
    words: W,
    /// The outcomes that are lost, for each last and real state.
    lost: HashMap<(StateId, StateId), Vec<StateId>>,
}

impl<'a, W: Words> Faulty<'a, W> {
    fn new(mechanism: &'a Mechanism, fault: Fault, words: W) -> Self {
        Self { mechanism, fault, words, lost: HashMap::new() }
    }

    fn loses(&mut self, previous: StateId, real: StateId, outcome: StateId) -> bool {
        let mechanism = self.mechanism;
        let rare = || {
            let successors = mechanism.model().chain().successors(previous).iter();
            let all = successors.zip(mechanism.kernel(previous, real));
            all.filter(|(_, p)| (1e-4..1e-2).contains(p)).map(|(&y, _)| y).collect()
        };
        self.lost.entry((previous, real)).or_insert_with(rare).contains(&outcome)
    }
}

impl<W: Words> Faulty<'_, W> {
    fn uniform(&mut self) -> f64 {
        (self.words.word() >> 11) as f64 / 2f64.powi(53)
    }

    fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in 0..n {
            let j = match self.fault {
                Fault::NaiveShuffle => uniform_below(&mut self.words, n as u64) as usize,
                _ => i + uniform_below(&mut self.words, (n - i) as u64) as usize,
            };
            order.swap(i, j);
        }
        order
    }

    fn draw(&mut self, previous: StateId, real: StateId) -> StateId {
        let model = self.mechanism.model();
        let candidates = model.chain().successors(previous);
        let eta = self.mechanism.scale(previous).eta().as_f64();
        let cost: Vec<f64> =
            candidates.iter().map(|&y| eta * model.directed().between(y, real).as_f64()).collect();
        let least = cost.iter().copied().fold(f64::INFINITY, f64::min);
        loop {
            for place in self.order(candidates.len()) {
                let mut accept = (least - cost[place]).exp();
                if self.fault == Fault::BiasedCoin && accept < 1.0 {
                    accept *= 0.98;
                }
                if self.uniform() < accept {
                    return candidates[place];
                }
            }
        }
    }
}

impl<W: Words> Sampler for Faulty<'_, W> {
    fn sample(&mut self, previous: StateId, real: StateId) -> Outcome {
        self.sample_state(previous, real).into()
    }
}

impl<W: Words> Faulty<'_, W> {
    fn sample_state(&mut self, previous: StateId, real: StateId) -> StateId {
        let taken = self.draw(previous, real);
        let chain = self.mechanism.model().chain();
        let stray = self.fault == Fault::Impossible && self.words.word().is_multiple_of(1000);
        if self.fault == Fault::LostOutcome && self.loses(previous, real, taken) {
            self.sample_state(previous, real)
        } else if stray {
            chain.states().find(|&y| !chain.allows(previous, y)).unwrap_or(taken)
        } else {
            taken
        }
    }
}

#[test]
fn slow_every_broken_sampler_is_caught() {
    let model = credit();
    let mechanism = preset(&model, Preset::Paper, "2", "3.5");
    for fault in [Fault::BiasedCoin, Fault::NaiveShuffle, Fault::LostOutcome, Fault::Impossible] {
        let mut randomness = randomness(&mechanism, 9);
        let walk = randomness.walk(b"audit");
        let words = randomness.at(&walk, 0, None);
        let report = check(&mechanism, &mut Faulty::new(&mechanism, fault, words));
        assert_eq!(report.verdict, Verdict::Failed, "{fault:?}: {report}");
        println!("{fault:?}: {report}");
        match (&report.findings[0], fault) {
            (Finding::ImpossibleMove { .. }, Fault::Impossible) => {}
            (Finding::WrongFrequency { seen, expected, .. }, _) => {
                assert!(fault != Fault::Impossible && *seen as f64 != *expected);
            }
            (other, _) => panic!("{fault:?}: {other}"),
        }
    }
}

/// Wrong observations, in one way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Misseen {
    /// The real state, where it should be another, one time in fifty.
    TooOftenRight,
    /// Never a state whose probability is between 0.0001 and 0.01.
    Lost,
    /// Every candidate with the weight one.
    Unweighted,
    /// As if the scale were twice what it is.
    TooSharp,
    /// A state that is no candidate, once in a thousand times.
    Impossible,
}

/// Draws observations in plain floats, with a fault.
struct Misseeing<'a, W> {
    mechanism: &'a Mechanism,
    fault: Misseen,
    words: W,
}

impl<W: Words> Misseeing<'_, W> {
    fn uniform(&mut self) -> f64 {
        (self.words.word() >> 11) as f64 / 2f64.powi(53)
    }

    fn weights(&self, candidates: &[StateId], previous: StateId, real: StateId) -> Vec<f64> {
        let (mechanism, kernel) = (self.mechanism, self.mechanism.kernel(previous, real));
        let eta = mechanism.scale(previous).eta().as_f64();
        let symmetric = mechanism.model().symmetric();
        let each = |(&y, p): (&StateId, f64)| match self.fault {
            Misseen::Lost if (1e-4..1e-2).contains(&p) => 0.0,
            Misseen::Unweighted => (-eta * symmetric.between(y, real).as_f64()).exp(),
            Misseen::TooSharp => p * p,
            _ => p,
        };
        candidates.iter().zip(kernel).map(each).collect()
    }
}

impl<W: Words> Sampler for Misseeing<'_, W> {
    fn sample(&mut self, previous: StateId, real: StateId) -> Outcome {
        let candidates = self.mechanism.candidates(previous).into_owned();
        let weights = self.weights(&candidates, previous, real);
        let mut at = self.uniform() * weights.iter().sum::<f64>();
        let drawn = weights.iter().position(|weight| {
            at -= weight;
            at < 0.0
        });
        let drawn = candidates[drawn.unwrap_or(candidates.len() - 1)];
        let seldom = self.uniform();
        let drawn = match self.fault {
            Misseen::TooOftenRight if seldom < 0.02 && candidates.contains(&real) => real,
            Misseen::Impossible if seldom < 0.001 => {
                let all = self.mechanism.model().chain().states();
                all.into_iter().find(|state| !candidates.contains(state)).unwrap_or(drawn)
            }
            _ => drawn,
        };
        drawn.into()
    }
}

#[test]
fn slow_every_wrong_observation_is_caught() {
    use Misseen::{Impossible, Lost, TooOftenRight, TooSharp, Unweighted};
    let model = credit();
    let cases = [
        (Preset::Tight, &[TooOftenRight, Lost, Unweighted, TooSharp][..]),
        (Preset::Believed, &[TooOftenRight, TooSharp, Impossible]),
    ];
    for (name, faults) in cases {
        let mechanism = preset(&model, name, "2", "3.5");
        for &fault in faults {
            let mut randomness = randomness(&mechanism, 9);
            let walk = randomness.walk(b"audit");
            let words = randomness.at(&walk, 0, None);
            let mut sampler = Misseeing { mechanism: &mechanism, fault, words };
            let report = check(&mechanism, &mut sampler);
            assert_eq!(report.verdict, Verdict::Failed, "{name}, {fault:?}: {report}");
            let impossible =
                report.findings.iter().any(|f| matches!(f, Finding::ImpossibleMove { .. }));
            assert_eq!(impossible, fault == Impossible, "{name}, {fault:?}: {report}");
        }
    }
}

/// Twice the scale is twice the loss: seen by the counts, and by the loss they prove.
#[test]
fn a_doubled_scale_is_caught_twice_over() {
    let model = credit();
    let claimed = preset(&model, Preset::ExponentialHamming, "1", "1");
    let eta = claimed.scale(StateId::new(0)).eta();
    let twice = veilwalk::Rational::new(4 * eta.numerator(), eta.denominator()).unwrap();
    let broken = Mechanism::with_scale(model.clone(), claimed.design(), twice).unwrap();
    let mut randomness = randomness(&claimed, 9);
    let walk = randomness.walk(b"audit");
    let report = check(&claimed, &mut StepSampler::new(&broken, randomness.at(&walk, 0, None)));
    assert_eq!(report.verdict, Verdict::Failed);
    let proven = |f: &Finding| matches!(f, Finding::LossAboveClaim { .. });
    assert!(report.findings.iter().any(proven), "{report}");
    let twice = veilwalk::Rational::new(2 * eta.numerator(), eta.denominator()).unwrap();
    let broken = Mechanism::with_scale(model, claimed.design(), twice).unwrap();
    let words = randomness.at(&walk, 1, None);
    assert_eq!(check(&claimed, &mut StepSampler::new(&broken, words)).verdict, Verdict::Failed);
}

/// Hundreds of audits of the right sampler, small ones, without a single alarm.
#[test]
fn no_false_alarms() {
    let model = credit();
    let mechanism = preset(&model, Preset::Paper, "2", "3.5");
    let probes = vec![Probe {
        previous: state(&model, "Caa"),
        real: state(&model, "Baa"),
        other: state(&model, "Def"),
    }];
    let plan = AuditPlan { probes, draws: 2_000 };
    for seed in 0..500 {
        let mut randomness = randomness(&mechanism, seed);
        let walk = randomness.walk(b"audit");
        let mut sampler = StepSampler::new(&mechanism, randomness.at(&walk, 0, None));
        let report = audit(&mechanism, &mut sampler, &plan, &unwatched).unwrap();
        assert_eq!(report.verdict, Verdict::Passed, "{report}");
    }
}

#[test]
fn the_report_is_readable_by_machines() {
    let model = credit();
    let mechanism = preset(&model, Preset::Chen, "1", "1");
    let losses = audited_loss(&mechanism, Effort::default(), &unwatched).unwrap();
    let plan = AuditPlan::new(&mechanism, &losses, 3, 1000);
    let mut randomness = randomness(&mechanism, 3);
    let walk = randomness.walk(b"audit");
    let mut sampler = StepSampler::new(&mechanism, randomness.at(&walk, 0, None));
    let report = audit(&mechanism, &mut sampler, &plan, &unwatched).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["verdict"], "passed");
    assert_eq!(json["losses"].as_array().unwrap().len(), 3);
}
