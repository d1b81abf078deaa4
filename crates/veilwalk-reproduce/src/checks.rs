//! The numbers behind "where this differs from the paper", all on the credit chain unless a chain
//! is named.

use std::sync::Arc;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use veilwalk::analysis::Origin;
use veilwalk::chain::{ChainBuilder, Entries};
use veilwalk::internal::bounds::{EntropyBound, ErrorBound, TypicalityBound};
use veilwalk::internal::drift::Drift;
use veilwalk::internal::joint::{JointChain, KernelMemory};
use veilwalk::internal::long_run;
use veilwalk::internal::long_run::chain_mixing_time;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Start, StateId};

use crate::Host;
use crate::measure::promise;
use crate::plan::{Basis, RADIUS, STEPS, Setting};
use crate::subject::Subject;

/// A distance that the paper's caption singles out, in nats.
pub(crate) const SINGLED_OUT: f64 = 15.0;
/// How far from the entropy rate a typical walk may be, for the bounds.
pub(crate) const TYPICAL: f64 = 1.0;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Checks {
    /// Rows of the printed matrix that do not sum to one.
    pub(crate) row_sums: Vec<(String, f64)>,
    /// The smallest weight of a self-loop, that of default aside, and whose it is.
    pub(crate) smallest_self_loop: (String, f64),
    /// Expected entropy of real walks, by the weights of moves and by distances.
    pub(crate) entropy_by_weights: f64,
    pub(crate) entropy_by_distances: f64,
    pub(crate) counterexample: Counterexample,
    /// Joint states with negative drift, when the distance is to the real state after the step and
    /// when it is to the one before.
    pub(crate) negative_after: usize,
    pub(crate) negative_before: usize,
    pub(crate) error_bound: Bounds,
    pub(crate) b_epsilon: Option<f64>,
    pub(crate) entropy_bound: Bounds,
    pub(crate) typicality_bound: Bounds,
    /// Steps until the chain, and until the pair of walks, has mixed.
    pub(crate) mixing: (u64, u64),
    /// The largest quotient of the two distances between two states.
    pub(crate) asymmetry: f64,
    /// The error function at one: as defined in the paper, and the usual one.
    pub(crate) erf: (f64, f64),
    /// The kernels of some mechanisms, with the previous state Caa and the real state Ca/C.
    pub(crate) kernels: Vec<Kernel>,
}

/// A bound as published, one that holds, and what it bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    pub(crate) published: Option<f64>,
    pub(crate) corrected: Option<f64>,
    pub(crate) exact: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counterexample {
    pub(crate) states: usize,
    /// The share of joint states that the Lemma is wrong about.
    pub(crate) wrongly: f64,
    /// The largest drift among them, in nats.
    pub(crate) drift: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kernel {
    pub(crate) mechanism: String,
    pub(crate) outcomes: Vec<(String, f64)>,
}

impl Checks {
    pub(crate) fn new(credit: &Subject, host: &dyn Host) -> Result<Self> {
        let (model, chain) = (&credit.model, credit.model.chain());
        let paper = setting(Preset::Paper, "1");
        let mechanism = Mechanism::new(Arc::clone(model), paper.preset.design(), promise(paper)?)?;
        let joint = host.watched("checks: kernels", |watch| {
            JointChain::new(&mechanism, KernelMemory::default(), watch)
        })?;
        let drift = host.watched("checks: drift", |watch| Drift::new(&joint, watch))?;
        let (origin, start) = (Origin::At(credit.from), Start::First);
        let first = joint.start(origin, start);
        let error = host.watched("checks: error bound", |watch| {
            ErrorBound::new(&joint, &drift, &first, watch)
        })?;
        let exact = host.watched("checks: steps", |watch| {
            joint.utility(origin, start, STEPS, &[SINGLED_OUT], watch)
        })?;
        let effort = long_run::LongRunEffort::default();
        let (law, _) = host.watched("checks: long run", |watch| joint.stationary(effort, watch))?;
        let second =
            host.watched("checks: second eigenvalue", |o| joint.second_eigenvalue(effort, o))?;
        const OPERATIONS: f64 = 2e10;
        let chain_mixing =
            host.watched("checks: mixing", |o| chain_mixing_time(chain, &second, OPERATIONS, o))?;
        let pair_mixing = host.watched("checks: mixing of the pair", |o| {
            joint.mixing_time(&law, &second, OPERATIONS, o)
        })?;
        let entropy = EntropyBound::new(model, &error, &second, &first, &exact);
        let typical = TypicalityBound::new(model, &entropy, &exact, chain_mixing, pair_mixing);
        let bound = &error.figures(STEPS, &[SINGLED_OUT])[0];
        let (by_weights, by_distances) = own_information(credit);
        let finite = |number: f64| number.is_finite().then_some(number);
        Ok(Self {
            row_sums: Chain::credit_with_report()
                .1
                .rescaled
                .into_iter()
                .map(|row| (row.state, row.sum))
                .collect(),
            smallest_self_loop: smallest_self_loop(credit),
            entropy_by_weights: by_weights,
            entropy_by_distances: by_distances,
            counterexample: counterexample(host)?,
            negative_after: (drift.report().attractive * (chain.len() * chain.len()) as f64).round()
                as usize,
            negative_before: negative_before(&mechanism),
            error_bound: Bounds {
                published: bound.published.and_then(finite),
                corrected: Some(bound.corrected),
                exact: Some(exact.exceedance[0].per_step),
            },
            b_epsilon: error.published_constants().map(|c| c.b_epsilon_nats),
            entropy_bound: Bounds {
                published: entropy.published.and_then(finite),
                corrected: None,
                exact: Some(entropy.corrected),
            },
            typicality_bound: Bounds {
                published: typical.and_then(|t| t.published(TYPICAL)),
                corrected: typical.and_then(|t| t.corrected(TYPICAL)),
                exact: None,
            },
            mixing: (chain_mixing.steps, pair_mixing.steps),
            asymmetry: entropy.asymmetry,
            erf: error_functions(),
            kernels: kernels(credit)?,
        })
    }
}

fn setting(preset: Preset, epsilon: &'static str) -> Setting {
    Setting { basis: Basis::Epsilon, preset, epsilon }
}

fn smallest_self_loop(credit: &Subject) -> (String, f64) {
    let chain = credit.model.chain();
    let loops = chain
        .states()
        .filter(|&s| chain.label(s) != "Def")
        .map(|s| (chain.label(s).to_owned(), -chain.probability(s, s).ln()));
    loops.min_by(|a, b| a.1.total_cmp(&b.1)).expect("the ratings have self-loops")
}

/// The expected information of a real walk per transition: by the weights of its moves, and by the
/// distances between their ends.
fn own_information(subject: &Subject) -> (f64, f64) {
    let (model, chain) = (&subject.model, subject.model.chain());
    let mut law = vec![0.0; chain.len()];
    law[subject.from.index()] = 1.0;
    let (mut weights, mut distances) = (0.0, 0.0);
    for _ in 0..STEPS {
        let mut next = vec![0.0; chain.len()];
        for x in chain.states() {
            for (&y, p) in chain.successors(x).iter().zip(chain.probabilities(x)) {
                let mass = law[x.index()] * p;
                weights -= mass * p.ln();
                distances += mass * model.directed().between(x, y).as_f64();
                next[y.index()] += mass;
            }
        }
        law = next;
    }
    (weights / STEPS as f64, distances / STEPS as f64)
}

/// How many pairs the released walk comes nearer in, to where the real one *was*.
fn negative_before(mechanism: &Mechanism) -> usize {
    let (model, chain) = (mechanism.model(), mechanism.model().chain());
    let mut negative = 0;
    for x in chain.states() {
        for z in chain.states() {
            let moves = chain.successors(x).iter().zip(chain.probabilities(x));
            let expected: f64 = moves
                .map(|(&next, p)| {
                    let kernel = mechanism.kernel(z, next);
                    let nearer = chain.successors(z).iter().zip(kernel);
                    p * nearer
                        .map(|(&y, k)| k * model.directed().between(y, x).as_f64())
                        .sum::<f64>()
                })
                .sum();
            negative += usize::from(expected < model.directed().between(z, x).as_f64() - 1e-9);
        }
    }
    negative
}

/// A chain on which the published condition for negative drift claims it where the drift is
/// positive: a cycle through all states with two more moves from each, and probabilities without
/// pattern.
fn counterexample(host: &dyn Host) -> Result<Counterexample> {
    const STATES: usize = 20;
    const DEGREE: usize = 3;
    const FOUND_AT: u64 = 192;
    let mut random = FOUND_AT.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let mut next = move || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize
    };
    let mut builder = ChainBuilder::new(Entries::Counts);
    let states: Vec<StateId> = (0..STATES).map(|i| builder.state(&format!("s{i}"))).collect();
    for (i, &from) in states.iter().enumerate() {
        let mut to = std::collections::BTreeSet::from([(i + 1) % STATES]);
        while to.len() < DEGREE {
            to.insert(next() % STATES);
        }
        for j in to {
            let entry = 10f64.powf((next() % 300) as f64 / 100.0);
            builder.transition(from, states[j], entry)?;
        }
    }
    let model = Arc::new(Model::new(builder.build(Default::default())?.0)?);
    let promise = Promise::within_radius("10".parse()?, RADIUS.parse()?);
    let mechanism = Mechanism::new(Arc::clone(&model), Preset::Paper.design(), promise)?;
    let (joint, drift) = host.watched("checks: counterexample", |watch| {
        let joint = JointChain::new(&mechanism, KernelMemory::default(), watch)?;
        let drift = Drift::new(&joint, watch)?;
        Ok::<_, veilwalk::Stopped>((joint, drift))
    })?;
    drop(joint);
    let chain = model.chain();
    let pairs = chain.states().flat_map(|x| chain.states().map(move |z| (x, z)));
    let wrong = pairs
        .filter(|&(x, z)| drift.published_lemma(x, z) == Some(true) && !drift.is_attractive(x, z));
    Ok(Counterexample {
        states: STATES,
        wrongly: drift.report().published_wrongly.unwrap_or(0.0),
        drift: wrong.map(|(x, z)| drift.at(x, z)).fold(0.0, f64::max),
    })
}

/// The integral of exp(−u²) from zero to one by Simpson's rule, and what the usual error function
/// makes of it.
fn error_functions() -> (f64, f64) {
    const PARTS: usize = 1000;
    let height = |k: usize| {
        let u = k as f64 / PARTS as f64;
        let weight = match k {
            0 | PARTS => 1.0,
            k if k % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * (-u * u).exp()
    };
    let integral = (0..=PARTS).map(height).sum::<f64>() / (3 * PARTS) as f64;
    (integral, 2.0 / std::f64::consts::PI.sqrt() * integral)
}

fn kernels(credit: &Subject) -> Result<Vec<Kernel>> {
    let (model, chain) = (&credit.model, credit.model.chain());
    let (previous, real) = (chain.require("Caa")?, chain.require("Ca/C")?);
    let presets = [Preset::Paper, Preset::Exponential, Preset::Chen, Preset::Sharp, Preset::Cell];
    let kernels = presets.map(|preset| {
        let promise = promise(setting(preset, "1"))?;
        let mechanism = Mechanism::new(Arc::clone(model), preset.design(), promise)?;
        let labels = chain.successors(previous).iter().map(|&y| chain.label(y).to_owned());
        let outcomes = labels.zip(mechanism.kernel(previous, real)).collect();
        Ok(Kernel { mechanism: preset.to_string(), outcomes })
    });
    kernels.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_that_are_known() {
        let checks = Checks::new(&Subject::credit().unwrap(), &crate::Silent).unwrap();
        let sums: Vec<_> = checks.row_sums.iter().map(|(s, v)| (s.as_str(), *v)).collect();
        let known = [("A", 1.001), ("Baa", 0.999), ("Ba", 1.001), ("Ca/C", 1.001)];
        assert_eq!(sums.len(), known.len());
        for ((state, sum), (label, value)) in sums.iter().zip(known) {
            assert!(*state == label && (sum - value).abs() < 1e-9);
        }
        assert_eq!((1.0 / checks.smallest_self_loop.1).floor(), 11.0);
        assert_eq!(checks.negative_after, 72);
        assert!((checks.counterexample.drift - 1.0383).abs() < 1e-4);
        assert_eq!(checks.counterexample.wrongly, 0.0125);
        assert!((checks.erf.0 - 0.746_824_132_8).abs() < 1e-9);
        assert!((checks.erf.1 - 0.842_700_792_9).abs() < 1e-9);
        let exact = checks.error_bound.exact.unwrap();
        assert!((exact - 4.3579e-6).abs() < 1e-9);
        assert!(checks.error_bound.corrected.unwrap() >= exact);
    }
}
