//! What somebody who knows the chain learns about one state: more than the factor for two walks that
//! differ in that state only. docs/guarantee.md quotes these figures.

use std::sync::Arc;

use veilwalk::guarantee::{Effort, Guarantee};
use veilwalk::unwatched;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, StateId};

/// The chain and the mechanism as tables of probabilities.
struct Known {
    states: usize,
    initial: Vec<f64>,
    moves: Vec<Vec<f64>>,
    /// By the last released state, then the real one: the chance of every state to be released.
    kernel: Vec<Vec<Vec<f64>>>,
}

impl Known {
    fn new(mechanism: &Mechanism) -> Self {
        let chain = mechanism.model().chain();
        let states = chain.len();
        let spread = |previous: StateId, values: Vec<f64>| {
            let mut row = vec![0.0; states];
            for (state, value) in chain.successors(previous).iter().zip(values) {
                row[state.index()] = value;
            }
            row
        };
        let moves = |from| spread(from, chain.probabilities(from).to_vec());
        let kernel = |last, real| spread(last, mechanism.kernel(last, real));
        Self {
            states,
            initial: chain.states().map(|s| chain.initial().probability(s)).collect(),
            moves: chain.states().map(moves).collect(),
            kernel: chain
                .states()
                .map(|last| chain.states().map(|real| kernel(last, real)).collect())
                .collect(),
        }
    }

    /// A law of the real state, one step later.
    fn moved(&self, law: &[f64]) -> Vec<f64> {
        let mut next = vec![0.0; self.states];
        for (from, &share) in law.iter().enumerate() {
            for (to, &p) in self.moves[from].iter().enumerate() {
                next[to] += share * p;
            }
        }
        next
    }

    /// The same, together with the chance that this state is released.
    fn seen(&self, law: &[f64], last: usize, released: usize) -> Vec<f64> {
        law.iter().zip(&self.kernel[last]).map(|(share, kernel)| share * kernel[released]).collect()
    }
}

/// Every release of walks of some steps, with its chance and the chances of it given either state in
/// the third step.
struct Releases<'a> {
    known: &'a Known,
    steps: usize,
    pair: [usize; 2],
    found: Vec<(f64, [f64; 2])>,
}

impl Releases<'_> {
    fn all(known: &Known, steps: usize, pair: [usize; 2]) -> Vec<(f64, [f64; 2])> {
        let mut releases = Releases { known, steps, pair, found: Vec::new() };
        // The first released state is drawn without a look at the real one.
        for first in 0..known.states {
            let share = known.initial[first];
            let law: Vec<f64> = known.initial.iter().map(|p| p * share).collect();
            releases.go_on(1, first, &law, None);
        }
        releases.found
    }

    /// `law`: the real state together with what was released. `given`: the same with either state in
    /// the third step.
    fn go_on(&mut self, step: usize, last: usize, law: &[f64], given: Option<&[Vec<f64>; 2]>) {
        if step == self.steps {
            let given = given.expect("walks have three states or more");
            let total = |law: &[f64]| law.iter().sum::<f64>();
            self.found.push((total(law), [total(&given[0]), total(&given[1])]));
            return;
        }
        let (known, moved) = (self.known, self.known.moved(law));
        let moved_given = given.map(|given| given.each_ref().map(|law| known.moved(law)));
        for released in 0..known.states {
            let now = known.seen(&moved, last, released);
            if now.iter().sum::<f64>() == 0.0 {
                continue;
            }
            let given = match &moved_given {
                Some(moved) => Some(moved.each_ref().map(|law| known.seen(law, last, released))),
                None if step == 2 => Some(self.pair.map(|state| {
                    let mut only = vec![0.0; known.states];
                    only[state] = now[state];
                    only
                })),
                None => None,
            };
            self.go_on(step + 1, released, &now, given.as_ref());
        }
    }
}

/// By how much a release changes the odds between two states in the third step: the median over the
/// releases of the chain's own walks, and the largest of all.
fn change_of_odds(known: &Known, steps: usize, pair: [usize; 2]) -> (f64, f64) {
    let before = known.moved(&known.moved(&known.initial));
    let prior = before[pair[0]] / before[pair[1]];
    let mut changes: Vec<(f64, f64)> = Releases::all(known, steps, pair)
        .into_iter()
        .map(|(chance, given)| {
            let change = given[0] / given[1] / prior;
            (change.max(1.0 / change), chance)
        })
        .collect();
    let all: f64 = changes.iter().map(|(_, chance)| chance).sum();
    assert!((all - 1.0).abs() < 1e-9, "every release is there: {all}");
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut below = 0.0;
    let median = changes.iter().find(|(_, chance)| {
        below += chance;
        below >= 0.5
    });
    (median.unwrap().0, changes.last().unwrap().0)
}

/// The credit chain with `cell` at ε = 1 within a radius of 4 nats, and the example of its guarantee.
fn setting() -> (Known, [usize; 2], f64) {
    let model = Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("1".parse().unwrap(), "4".parse().unwrap());
    let cell = Mechanism::new(model.clone(), Preset::Cell.design(), promise).unwrap();
    let guarantee = Guarantee::new(&cell, Effort::default(), &unwatched).unwrap();
    let example = guarantee.of_steps().unwrap().example.clone().unwrap();
    assert_eq!((&*example.real, &*example.other), ("A", "Baa"));
    let pair = [&example.real, &example.other];
    let pair = pair.map(|label| model.chain().require(label).unwrap().index());
    (Known::new(&cell), pair, example.odds_factor)
}

/// In docs/guarantee.md: 2.13, then 2.8 and 32 for walks of five states, 4.1 and 311 for seven.
#[test]
fn what_is_learned_about_one_state_exceeds_the_factor_for_two_walks() {
    let (known, pair, factor) = setting();
    assert!((factor - 2.13).abs() < 0.005, "{factor}");
    let (median, worst) = change_of_odds(&known, 5, pair);
    assert!((median - 2.78).abs() < 0.01 && (worst - 31.47).abs() < 0.01, "{median}, {worst}");
    let (median, worst) = change_of_odds(&known, 7, pair);
    assert!((median - 4.08).abs() < 0.01 && (worst - 310.6).abs() < 0.1, "{median}, {worst}");
    assert!(median > factor && worst > 100.0 * factor);
}

/// The same chances by going through every real walk, for short ones.
#[test]
fn enumeration_agrees_with_every_real_walk_gone_through() {
    const STEPS: usize = 4;
    let (known, pair, _) = setting();
    let n = known.states;
    let walk = |mut number: usize| -> [usize; STEPS] {
        std::array::from_fn(|_| {
            let state = number % n;
            number /= n;
            state
        })
    };
    let all = || (0..n.pow(STEPS as u32)).map(walk);
    let reals: Vec<([usize; STEPS], f64)> = all()
        .map(|real| {
            let moves = real.windows(2).map(|pair| known.moves[pair[0]][pair[1]]);
            (real, known.initial[real[0]] * moves.product::<f64>())
        })
        .filter(|(real, chance)| *chance > 0.0 && pair.contains(&real[2]))
        .collect();
    // In the order of `Releases`: the last state changes fastest.
    let mut releases: Vec<[usize; STEPS]> = all().collect();
    releases.sort_unstable();
    let mut expected = Vec::new();
    for released in releases {
        let mut given = [0.0; 2];
        for (real, chance) in &reals {
            let steps = 1..STEPS;
            let kernel = steps.map(|t| known.kernel[released[t - 1]][real[t]][released[t]]);
            let place = usize::from(real[2] == pair[1]);
            given[place] += chance * known.initial[released[0]] * kernel.product::<f64>();
        }
        if given[0] > 0.0 {
            expected.push(given);
        }
    }
    let found = Releases::all(&known, STEPS, pair);
    assert_eq!(found.len(), expected.len());
    for ((_, found), expected) in found.iter().zip(&expected) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        }
    }
}
