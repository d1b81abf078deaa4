//! What somebody who knows the chain can guess of a real walk.
//!
//! The attacker knows the chain, the mechanism and the release, and computes what follows
//! ([`inference`](crate::inference)). Nobody who knows no more can guess better: the guess for a state is the likeliest
//! one given all that was released, the guess for the whole walk the likeliest walk. Of guesses that are equally likely
//! one is taken at random, so each counts for its part. Walks are simulated (the chain's own, or
//! given ones), released, and guessed; the share of right guesses is what ε comes to for a person. Beside it
//! stands what the chain alone gives (the likeliest state of a step, whoever walks), and what the release itself
//! says when it is taken at its word.
//!
//! The *odds* say how much a release changes what is believed of the true state: the odds of being in it, after
//! the release over before. They can move by more than exp(ε), since the states next to it tell about it too.

use rayon::prelude::*;
#[cfg(feature = "serde")]
use serde::Serialize;

use super::{Origin, OwnWalks};
use crate::belief::largest;
use crate::chain::StateId;
use crate::inference::{Inference, InferenceSpace, Law, Posterior};
use crate::random::{Source, Words};
use crate::session::{Start, Walker};
use crate::watch::{Stage, Stopped, Watch, report};

/// Which real walks are attacked.
#[derive(Clone, Copy, Debug)]
pub enum Attacked<'a> {
    /// The chain's own: the attacker is right about how they move.
    Own {
        /// Where they start, which the attacker knows.
        origin: Origin,
        /// How many steps they take after the start.
        steps: usize,
        /// How many walks.
        walks: usize,
    },
    /// These.
    Given(&'a [Vec<StateId>]),
}

/// How good guesses are, and how good they would be without the release.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Attack {
    /// How many walks were attacked.
    pub walks: usize,
    /// How many states they have in all.
    pub states: usize,
    /// A state of a walk.
    pub state: Guess,
    /// Its first state.
    pub first: Guess,
    /// Its last state.
    pub last: Guess,
    /// The state that it visits most.
    pub most_visited: Guess,
    /// All of it.
    pub whole_walk: Guess,
    /// By how much the odds of the true state moved.
    pub odds: Odds,
    /// Right states of the release over right guesses: how much of what leaks is of use.
    pub efficiency: f64,
}

/// The share of right guesses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Guess {
    /// By the attacker.
    pub attacker: f64,
    /// By somebody who knows the chain and not the release.
    pub chain_alone: f64,
    /// By somebody who takes the release for the real walk.
    pub release: f64,
    /// The standard error of the attacker's share, over walks.
    pub standard_error: f64,
}

/// The odds of the true state after a release over those before, or the reverse where they fell: never below
/// one. A first state that is disclosed is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Odds {
    /// In half of all states they moved by no more.
    pub median: f64,
    /// In nine of ten.
    pub p90: f64,
    /// By no more in any.
    pub max: f64,
}

/// How many of an attacker's walks take about a second, if any number does: for figures that come along with
/// others.
#[must_use]
pub fn affordable_attack(inference: &Inference, steps: usize) -> Option<usize> {
    const WORK: usize = 20_000_000;
    let chain = inference.mechanism().model().chain();
    let walks = WORK / (steps + 1).saturating_mul(chain.transitions()).max(1);
    (walks >= 100).then_some(walks.min(400))
}

const WALKS_PER_BATCH: usize = 8;
const BATCHES_AT_A_TIME: usize = 16;

/// Releases walks and guesses them. The same seed gives the same figures, on any number of threads.
///
/// # Errors
///
/// If the watcher asks to stop.
///
/// # Panics
///
/// If a given walk is empty, or there are none.
pub fn attack(
    inference: &Inference,
    attacked: Attacked<'_>,
    seed: u64,
    watch: Watch<'_>,
) -> Result<Attack, Stopped> {
    let chain = inference.mechanism().model().chain();
    let (walks, longest) = match attacked {
        Attacked::Own { steps, walks, .. } => (walks, steps + 1),
        Attacked::Given(walks) => (walks.len(), walks.iter().map(Vec::len).max().unwrap_or(0)),
    };
    assert!(walks > 0 && longest > 0, "there are walks to attack");
    let informed;
    let inference = match attacked {
        Attacked::Own { origin: Origin::At(state), .. } => {
            informed = inference.knowing(inference.law().clone().starting_at(state));
            &informed
        }
        _ => inference,
    };
    let alone = Alone::new(inference.law(), longest);
    let own = OwnWalks::new(chain);
    let attacker = Attacker { inference, attacked, seed, alone: &alone, own: &own };
    let batches = walks.div_ceil(WALKS_PER_BATCH);
    let mut all = Vec::with_capacity(walks);
    for first in (0..batches).step_by(BATCHES_AT_A_TIME) {
        report(watch, Stage::Inference, first, batches)?;
        let last = (first + BATCHES_AT_A_TIME).min(batches);
        let found: Vec<Vec<Seen>> =
            (first..last).into_par_iter().map(|batch| attacker.batch(batch, walks)).collect();
        all.extend(found.into_iter().flatten());
    }
    report(watch, Stage::Inference, batches, batches)?;
    Ok(summarized(&all))
}

/// Who guesses best in what.
#[derive(Clone, Copy, Debug, Default)]
struct Right {
    attacker: f64,
    chain_alone: f64,
    release: f64,
}

/// How well one walk was guessed.
#[derive(Clone, Debug, Default)]
struct Seen {
    states: usize,
    /// How many states.
    state: Right,
    first: Right,
    last: Right,
    most_visited: Right,
    whole_walk: Right,
    odds: Vec<f64>,
}

/// What is likeliest without a release.
struct Alone {
    /// The law of each step.
    laws: Vec<Vec<f64>>,
    /// How often walks of each length visit each state.
    visits: Vec<Vec<f64>>,
    /// The likeliest walk of each length.
    walks: Walks,
}

impl Alone {
    fn new(law: &Law, longest: usize) -> Self {
        let mut laws = vec![law.initial().to_vec()];
        for t in 1..longest {
            laws.push(law.moved(&laws[t - 1]));
        }
        let mut so_far = vec![0.0; law.initial().len()];
        let visits = laws.iter().map(|law| {
            so_far.iter_mut().zip(law).for_each(|(sum, p)| *sum += p);
            so_far.clone()
        });
        let visits = visits.collect();
        Self { visits, walks: Walks::new(law, longest), laws }
    }
}

/// The likeliest walks of a law: for each step and state the best state before it.
struct Walks {
    before: Vec<Vec<u32>>,
    /// Where the likeliest walk of each length ends.
    ends: Vec<StateId>,
}

impl Walks {
    fn new(law: &Law, longest: usize) -> Self {
        let log = |p: &f64| p.ln();
        let mut scores: Vec<f64> = law.initial().iter().map(log).collect();
        let (mut before, mut ends) = (Vec::new(), vec![StateId::new(largest(&scores))]);
        for _ in 1..longest {
            let mut next = vec![f64::NEG_INFINITY; scores.len()];
            let mut from = vec![0u32; scores.len()];
            for ((state, to), p) in law.all_moves().zip(law.all_probabilities()) {
                let score = scores[state.index()] + log(p);
                if score > next[to.index()] {
                    (next[to.index()], from[to.index()]) = (score, state.index() as u32);
                }
            }
            scores = next;
            before.push(from);
            ends.push(StateId::new(largest(&scores)));
        }
        Self { before, ends }
    }

    fn of_length(&self, length: usize) -> Vec<StateId> {
        let mut walk = vec![self.ends[length - 1]];
        for before in self.before[..length - 1].iter().rev() {
            let here = walk.last().expect("it has an end").index();
            walk.push(StateId::new(before[here] as usize));
        }
        walk.reverse();
        walk
    }
}

struct Attacker<'a> {
    inference: &'a Inference,
    attacked: Attacked<'a>,
    seed: u64,
    alone: &'a Alone,
    own: &'a OwnWalks<'a>,
}

impl Attacker<'_> {
    fn batch(&self, batch: usize, walks: usize) -> Vec<Seen> {
        let mechanism = self.inference.mechanism();
        let source = Source::seeded(self.seed);
        let mut randomness =
            source.open(mechanism.fingerprint()).expect("a seed needs no operating system");
        let key = randomness.walk(format!("attack batch {batch}").as_bytes());
        let words = randomness.at(&key, 0, None);
        // The same walks for every mechanism, so that what differs is not whom they met.
        let mut walks_source = source.open([0; 32]).expect("a seed needs no operating system");
        let walks_key = walks_source.walk(format!("attacked walks {batch}").as_bytes());
        let walk_words = walks_source.at(&walks_key, 0, None);
        let (mut walker, mut space) = (Walker::new(mechanism), InferenceSpace::default());
        let first = batch * WALKS_PER_BATCH;
        let numbers = first..(first + WALKS_PER_BATCH).min(walks);
        numbers
            .map(|number| {
                self.walk(number, (&mut *walk_words, &mut *words), &mut walker, &mut space)
            })
            .collect()
    }

    fn walk(
        &self,
        number: usize,
        (walk_words, words): (&mut impl Words, &mut impl Words),
        walker: &mut Walker<'_>,
        space: &mut InferenceSpace,
    ) -> Seen {
        let drawn_walk;
        let real = match self.attacked {
            Attacked::Own { origin, steps, .. } => {
                drawn_walk = self.own.walk(origin, steps, walk_words);
                &drawn_walk
            }
            Attacked::Given(walks) => &walks[number],
        };
        let released = walker.release(self.inference.start(), real, words);
        let observes = self.inference.mechanism().observation().is_some();
        let posterior = match observes {
            true => self.inference.posterior(&released.observed, space),
            false => self.inference.posterior(&released.states, space),
        };
        let posterior = posterior.expect("the mechanism has just released it");
        self.judge(real, &released.states, &posterior)
    }

    fn judge(&self, real: &[StateId], released: &[StateId], posterior: &Posterior) -> Seen {
        let states = self.inference.law().initial().len();
        let mut seen = Seen { states: real.len(), ..Seen::default() };
        let mut visits = [vec![0.0; states], vec![0.0; states], vec![0.0; states]];
        let disclosed = usize::from(self.inference.start() == Start::First);
        for (t, &x) in real.iter().enumerate() {
            let marginal = &posterior.steps()[t];
            let expected =
                marginal.states().iter().copied().zip(marginal.probabilities().iter().copied());
            let right = Right {
                attacker: credit(expected, |state| state == x),
                chain_alone: credit(by_state(&self.alone.laws[t]), |state| state == x),
                release: f64::from(u8::from(released[t] == x)),
            };
            seen.state.attacker += right.attacker;
            seen.state.chain_alone += right.chain_alone;
            seen.state.release += right.release;
            if t == 0 {
                seen.first = right;
            }
            if t + 1 == real.len() {
                seen.last = right;
            }
            for (state, p) in marginal.states().iter().zip(marginal.probabilities()) {
                visits[0][state.index()] += p;
            }
            visits[1][released[t].index()] += 1.0;
            visits[2][x.index()] += 1.0;
            if t >= disclosed {
                seen.odds.extend(moved(posterior, &self.alone.laws[t], t, x));
            }
        }
        let [expected, in_release, in_truth] = &visits;
        let most = in_truth.iter().copied().fold(0.0, f64::max);
        let is_most = |state: StateId| in_truth[state.index()] == most;
        let visits_alone = &self.alone.visits[real.len() - 1];
        seen.most_visited = Right {
            attacker: credit(by_state(expected), is_most),
            chain_alone: credit(by_state(visits_alone), is_most),
            release: credit(by_state(in_release), is_most),
        };
        let likeliest = self.inference.likeliest_walk(posterior);
        seen.whole_walk = Right {
            attacker: f64::from(u8::from(likeliest == real)),
            chain_alone: f64::from(u8::from(self.alone.walks.of_length(real.len()) == real)),
            release: f64::from(u8::from(released == real)),
        };
        seen
    }
}

fn by_state(numbers: &[f64]) -> impl Iterator<Item = (StateId, f64)> + Clone {
    numbers.iter().enumerate().map(|(state, &number)| (StateId::new(state), number))
}

/// How probable it is that one of the largest, taken at random, is right. What differs by rounding alone is alike.
fn credit(
    of: impl Iterator<Item = (StateId, f64)> + Clone,
    right: impl Fn(StateId) -> bool,
) -> f64 {
    let largest = of.clone().map(|(_, number)| number).fold(0.0, f64::max);
    let ties = of.filter(|(_, number)| *number >= largest * (1.0 - 1e-9));
    let (ties, rights) = ties.fold((0.0, 0.0), |(ties, rights), (state, _)| {
        (ties + 1.0, rights + f64::from(u8::from(right(state))))
    });
    rights / f64::max(ties, 1.0)
}

/// By what factor the odds of a state moved; nothing where the chain alone was sure of it.
fn moved(posterior: &Posterior, alone: &[f64], t: usize, x: StateId) -> Option<f64> {
    let marginal = &posterior.steps()[t];
    let each = marginal.states().iter().zip(marginal.probabilities());
    let others: f64 = each.filter(|(state, _)| **state != x).map(|(_, p)| p).sum();
    let others_before: f64 =
        alone.iter().enumerate().filter(|(state, _)| *state != x.index()).map(|(_, p)| p).sum();
    let (after, before) = (marginal.probability(x), alone[x.index()]);
    if others_before <= 0.0 || before <= 0.0 {
        return None;
    }
    let factor = (after / others) / (before / others_before);
    Some(if factor < 1.0 { 1.0 / factor } else { factor })
}

fn summarized(all: &[Seen]) -> Attack {
    let states: usize = all.iter().map(|seen| seen.states).sum();
    let of_walks = |pick: fn(&Seen) -> Right| guess(all, pick, |_| 1.0);
    let state = guess(all, |seen| seen.state, |seen| seen.states as f64);
    let mut odds: Vec<f64> = all.iter().flat_map(|seen| seen.odds.iter().copied()).collect();
    odds.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = ((odds.len() as f64 * share).ceil() as usize).clamp(1, odds.len().max(1)) - 1;
        odds.get(place).copied().unwrap_or(1.0)
    };
    Attack {
        walks: all.len(),
        states,
        state,
        first: of_walks(|seen| seen.first),
        last: of_walks(|seen| seen.last),
        most_visited: of_walks(|seen| seen.most_visited),
        whole_walk: of_walks(|seen| seen.whole_walk),
        odds: Odds { median: at(0.5), p90: at(0.9), max: at(1.0) },
        efficiency: if state.attacker > 0.0 { state.release / state.attacker } else { 1.0 },
    }
}

/// Shares over all walks, each with its weight, and the standard error of a ratio of sums.
fn guess(all: &[Seen], pick: impl Fn(&Seen) -> Right, weight: impl Fn(&Seen) -> f64) -> Guess {
    let total: f64 = all.iter().map(&weight).sum();
    let share = |of: fn(Right) -> f64| all.iter().map(|seen| of(pick(seen))).sum::<f64>() / total;
    let attacker = share(|right| right.attacker);
    let off = |seen: &Seen| pick(seen).attacker - attacker * weight(seen);
    let n = all.len() as f64;
    let squares: f64 = all.iter().map(|seen| off(seen) * off(seen)).sum();
    Guess {
        attacker,
        chain_alone: share(|right| right.chain_alone),
        release: share(|right| right.release),
        standard_error: (squares * n / (n - 1.0).max(1.0)).sqrt() / total,
    }
}
