//! Which member of the family serves an aim best on a chain.
//!
//! Everything that decides how good a release is on average is public: the chain, ε, what it is
//! counted in, the mechanism. So the members can be compared before any real walk is seen, on the chain's
//! own walks: exactly where a member draws moves, and by simulation where it draws observations or blocks.
//!
//! # Privacy
//!
//! The choice depends on the chain and the promise alone, and whatever it is, it keeps the promise:
//! tuning here costs nothing. Choosing by how well a mechanism does on real walks would be another
//! release of those walks, and is not offered.
//!
//! # How it is done
//!
//! The candidates are the members with names and a grid around them. On chains up to some hundreds
//! of states every one is evaluated in full. On larger ones all of them first take a tenth of the
//! steps; the best of that, and always those with names, are then evaluated in full. Where even that
//! would take too long, the grid is thinned. [`Ranking`] says what was done.
//!
//! Beside them are the members that observe: `tight`, and `believed` from three shares; their walks are made
//! for few wrong states if that is the aim, else for little distance. They are simulated over the same walks,
//! from a fixed seed, and carry standard errors. An exact member that is no more than two standard errors
//! behind such a one stands before it. Who can wait compares those that do ([`Delay`]): observations with a
//! lag, or blocks with several chain weights.
//!
//! ```
//! use std::sync::Arc;
//! use veilwalk::analysis::{Aim, Question, tune};
//! use veilwalk::unwatched;
//! use veilwalk::{Chain, Model, Preset, Promise};
//!
//! let model = Arc::new(Model::new(Chain::credit())?);
//! let promise = Promise::within_radius("3.5".parse()?, "3.5".parse()?);
//! let ranking = tune(&model, Question::new(promise, Aim::WrongStates), &unwatched)?;
//! let (winner, paper) = (ranking.winner(), ranking.of(Preset::Paper).unwrap());
//! assert!(winner.figures.wrong_state_share < paper.figures.wrong_state_share / 4.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod aim;
mod attacked;
mod members;
#[cfg(feature = "serde")]
mod serialized;
mod simulated;

use std::ops::ControlFlow;
use std::sync::Arc;

#[cfg(feature = "serde")]
use serde::Serialize;
use thiserror::Error;

pub use aim::{Aim, AimError, Weights};

use self::members::Member;
use self::simulated::Walks;
use super::attack::Guess;
use super::joint::{JointChain, KernelMemory};
use super::row_entropies;
use crate::chain::{Chain, NotConverged, StateId};
use crate::inference::InferenceError;
use crate::mechanism::{
    BlockLength, ChainWeight, Design, Distance, Mechanism, NoPrivateStart, Preset, Promise, Rule,
    ScaleError, Tracking, Unit,
};
use crate::model::Model;
use crate::rational::Rational;
use crate::session::Start;
use crate::watch::{Progress, Stage, Stopped, Watch, report_share};

/// Where the chain's own walks start when members are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WalksFrom {
    /// At a state drawn from the chain's initial distribution.
    #[default]
    Initial,
    /// At a state drawn from its stationary distribution.
    Stationary,
    /// At this state.
    At(StateId),
}

/// What is to be found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// What every candidate promises.
    pub promise: Promise,
    /// What counts.
    pub aim: Aim,
    /// Where real walks start.
    pub from: WalksFrom,
    /// How released walks start.
    pub start: Start,
    /// How many steps they take.
    pub steps: usize,
    /// Whether releases may wait.
    pub delay: Delay,
}

/// How long releases may wait for what comes later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delay {
    /// Every state is answered at once.
    #[default]
    None,
    /// A state is answered when this many more were observed.
    Lag(u32),
    /// States are released in blocks.
    Block(BlockLength),
}

impl Question {
    /// Walks of 100 steps, both from the initial distribution, answered at once.
    #[must_use]
    pub fn new(promise: Promise, aim: Aim) -> Self {
        let (from, start) = (WalksFrom::Initial, Start::Initial);
        Self { promise, aim, from, start, steps: 100, delay: Delay::None }
    }
}

/// The three figures that aims are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct TuneFigures {
    /// The distance from the released to the real state, averaged over the steps.
    pub mean_distance_nats: f64,
    /// The share of steps at which the released state is not the real one.
    pub wrong_state_share: f64,
    /// How far the released walk's entropy per move is from the real one's, either way.
    pub entropy_gap_nats: f64,
}

/// A member of the family, and how it does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluated {
    /// Its choices.
    pub design: Design,
    /// The name it goes by, if it has one for this unit.
    pub preset: Option<Preset>,
    /// How its walks are made, if they are made of observations.
    pub tracking: Option<Tracking>,
    /// Its figures.
    pub figures: TuneFigures,
    /// How sure they are, if they were simulated; none if they are exact.
    pub simulated: Option<Simulated>,
    /// What the aim makes of them; smaller is better.
    pub score: f64,
}

/// The standard errors of figures that were simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Simulated {
    /// How many walks were made.
    pub walks: u64,
    /// One standard error for each figure.
    pub standard_errors: TuneFigures,
}

/// Members from the best to the worst, and what was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// What was asked.
    pub question: Question,
    /// All that were evaluated in full, best first; never empty.
    pub members: Vec<Evaluated>,
    /// What the real walk's entropy per move is.
    pub real_entropy_nats: f64,
    /// Those that a few steps already showed to be behind.
    pub screened_out: Vec<Design>,
    /// How many steps those were evaluated for; `None` if all were evaluated in full.
    pub screening_steps: Option<usize>,
    /// Those that cannot keep the promise on this chain, and why.
    pub impossible: Vec<(Design, ScaleError)>,
    /// Whether the grid was thinned for a large chain.
    pub thinned: bool,
    /// What is guessed from the winner's releases, where there is a limit to that.
    pub attacker: Option<Guess>,
    /// Those that did better, and the share of states that is guessed right from their releases: more than may
    /// be.
    pub told_too_much: Vec<(Evaluated, f64)>,
}

/// Why there is no ranking.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TuneError {
    /// The watcher asked for the work to end.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Walks were to start from a distribution that could not be computed.
    #[error(transparent)]
    NotConverged(#[from] NotConverged),
    /// No member keeps the promise.
    #[error("no mechanism can keep this promise on this chain; for `paper`: {0}")]
    Impossible(ScaleError),
    /// An attacker guesses too much from every member's releases.
    #[error(
        "from the releases of every mechanism more is guessed than may be: {:.1} % of states at the least, and the \
         limit is {:.1} %; promise more, with a smaller epsilon, or allow more",
        100.0 * .least, 100.0 * .most
    )]
    Attacker {
        /// The share that may be guessed.
        most: f64,
        /// The smallest share that is.
        least: f64,
    },
    /// What is guessed cannot be computed.
    #[error(transparent)]
    Inference(#[from] InferenceError),
}

impl Ranking {
    /// The best.
    #[must_use]
    pub fn winner(&self) -> &Evaluated {
        &self.members[0]
    }

    /// The place of a member with a name, from zero.
    #[must_use]
    pub fn place(&self, preset: Preset) -> Option<usize> {
        self.members.iter().position(|member| member.preset == Some(preset))
    }

    /// How a member with a name does.
    #[must_use]
    pub fn of(&self, preset: Preset) -> Option<&Evaluated> {
        self.place(preset).map(|place| &self.members[place])
    }
}

/// Above this many multiplications candidates are screened first, and the grid is thinned.
const IN_FULL: u64 = 300_000_000_000;
const UNTHINNED: u64 = 3_000_000_000_000;
/// How many of the best by screening are evaluated in full, beside those with names.
const FINALISTS: usize = 6;

/// Compares the members of the family.
///
/// # Errors
///
/// If the watcher asks to stop, no member can keep the promise, or walks are to start from a
/// stationary distribution that could not be computed.
///
/// # Complexity
///
/// 2·|S|·|E| multiplications for each member and step, and a calibration for each that goes by cells.
pub fn tune(
    model: &Arc<Model>,
    question: Question,
    watch: Watch<'_>,
) -> Result<Ranking, TuneError> {
    let chain = model.chain();
    let unit = question.promise.unit;
    let per_step = 2 * chain.len() as u64 * chain.transitions() as u64;
    let work = |designs: usize| per_step * (question.steps as u64 + 10) * designs as u64;
    let simulated = members::simulated(question, model);
    let full = match question.delay {
        Delay::None => grid(unit, Grid::Full),
        Delay::Lag(_) | Delay::Block(_) => Vec::new(),
    };
    let thinned = work(full.len()) > UNTHINNED;
    let designs = if thinned { grid(unit, Grid::Thin) } else { full };
    let screening = (question.steps / 10).max(5);
    let screens = work(designs.len()) > IN_FULL && screening < question.steps;

    let real = real_start(chain, question.from)?;
    let real_entropy = entropy_of_walks(chain, &real, question.steps);
    let mut run = Run { model, question, real, real_entropy, impossible: Vec::new() };
    let (finalists, screened_out) = if screens {
        let mut screened = run.evaluate(&designs, screening, 0.0..0.4, watch)?;
        rank(question.aim, &mut screened);
        let named = screened.iter().skip(FINALISTS).filter(|member| member.preset.is_some());
        let kept: Vec<Design> =
            screened.iter().take(FINALISTS).chain(named).map(|member| member.design).collect();
        let dropped =
            screened.iter().map(|member| member.design).filter(|design| !kept.contains(design));
        let dropped = dropped.collect();
        (kept, dropped)
    } else {
        (designs, Vec::new())
    };
    let first = if screens { 0.4 } else { 0.0 };
    let mut members = run.evaluate(&finalists, question.steps, first..0.7, watch)?;
    members.extend(run.simulate(&simulated, 0.7..1.0, watch)?);
    rank(question.aim, &mut members);
    if members.is_empty() {
        return Err(TuneError::Impossible(run.impossible.swap_remove(0).1));
    }
    Ok(Ranking {
        question,
        members,
        real_entropy_nats: run.real_entropy,
        screened_out,
        screening_steps: screens.then_some(screening),
        impossible: run.impossible,
        thinned,
        attacker: None,
        told_too_much: Vec::new(),
    })
}

/// How many candidates there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grid {
    Full,
    /// No quarter weights, and cells with the exponential rule only: permute-and-flip needs a
    /// calibration that takes |S| kernels for every trial.
    Thin,
}

/// The candidates that draw moves: those with names first, so that they win ties.
fn grid(unit: Unit, grid: Grid) -> Vec<Design> {
    use Distance::{Cell, CellSymmetric, Directed, Hamming, Symmetric};
    let named = |preset: &Preset| Preset::of(preset.design(), unit) == Some(*preset);
    // The exact figures that candidates are ranked by are those of drawn moves.
    let mut designs: Vec<Design> =
        Preset::OF_MOVES.into_iter().filter(named).map(Preset::design).collect();
    let quarter = ChainWeight::new(Rational::new(1, 4).expect("not over zero"));
    let one = ChainWeight::new(Rational::ONE);
    let weights = [Ok(ChainWeight::ZERO), Ok(ChainWeight::HALF), one, quarter];
    let weights: Vec<ChainWeight> = weights.into_iter().flatten().collect();
    for distance in [Cell, CellSymmetric, Symmetric, Directed, Hamming] {
        for rule in [Rule::Exponential, Rule::PermuteAndFlip] {
            for &chain_weight in &weights {
                let fine = chain_weight.value().denominator() == 4;
                let slow = rule == Rule::PermuteAndFlip && distance.nearest().is_some();
                if grid == Grid::Thin && (fine || slow) {
                    continue;
                }
                let design = Design::of_moves(distance, rule, chain_weight);
                if !designs.contains(&design) {
                    designs.push(design);
                }
            }
        }
    }
    designs
}

/// The expected entropy per move of walks that start with these probabilities.
fn entropy_of_walks(chain: &Chain, real: &[f64], steps: usize) -> f64 {
    let entropies = row_entropies(chain);
    let (mut law, mut total) = (real.to_vec(), 0.0);
    for _ in 0..steps {
        total += law.iter().zip(&entropies).map(|(p, h)| p * h).sum::<f64>();
        let mut next = vec![0.0; law.len()];
        for (from, &mass) in chain.states().zip(&law) {
            for (to, p) in chain.successors(from).iter().zip(chain.probabilities(from)) {
                next[to.index()] += mass * p;
            }
        }
        law = next;
    }
    if steps == 0 { 0.0 } else { total / steps as f64 }
}

/// The distribution of the real state at the start.
fn real_start(chain: &Chain, from: WalksFrom) -> Result<Vec<f64>, NotConverged> {
    Ok(match from {
        WalksFrom::Initial => chain.states().map(|x| chain.initial().probability(x)).collect(),
        WalksFrom::Stationary => chain.stationary()?,
        WalksFrom::At(state) => chain.states().map(|x| f64::from(u8::from(x == state))).collect(),
    })
}

struct Run<'a> {
    model: &'a Arc<Model>,
    question: Question,
    real: Vec<f64>,
    real_entropy: f64,
    impossible: Vec<(Design, ScaleError)>,
}

impl Run<'_> {
    /// Evaluates designs over a number of steps and ranks them. `share` is the part of the whole
    /// work that this is.
    fn evaluate(
        &mut self,
        designs: &[Design],
        steps: usize,
        share: std::ops::Range<f64>,
        watch: Watch<'_>,
    ) -> Result<Vec<Evaluated>, TuneError> {
        let unit = self.question.promise.unit;
        let mut members: Vec<Evaluated> = Vec::with_capacity(designs.len());
        for (number, &design) in designs.iter().enumerate() {
            let told = |within: f64| {
                let done = (number as f64 + within) / designs.len() as f64;
                let done = share.start + done * (share.end - share.start);
                report_share(watch, Stage::Tuning, done)
            };
            told(0.0)?;
            // Calibration and kernels are about half of it.
            let part = |before: f64, part: f64, done: f64| match told(before + part * done) {
                Ok(()) => ControlFlow::Continue(()),
                Err(Stopped) => ControlFlow::Break(()),
            };
            let inner = |progress: Progress| match progress.stage {
                Stage::Steps => part(0.5, 0.5, progress.share),
                _ => part(0.25, 0.25, progress.share),
            };
            let (model, promise) = (self.model.clone(), self.question.promise);
            match Mechanism::watched(model, design, promise, &|progress| {
                part(0.0, 0.25, progress.share)
            }) {
                Ok(mechanism) => {
                    if let Err(why) = self.starts(&mechanism, &inner)? {
                        self.impossible.push((design, why));
                        continue;
                    }
                    let figures = self.figures(&mechanism, steps, &inner)?;
                    let preset = Preset::of(design, unit);
                    let (tracking, simulated) = (None, None);
                    let score = 0.0;
                    members.push(Evaluated { design, preset, tracking, figures, simulated, score });
                }
                Err(ScaleError::Stopped(_)) => return Err(Stopped.into()),
                Err(why) => self.impossible.push((design, why)),
            }
        }
        Ok(members)
    }

    /// Whether a mechanism can start as is asked for.
    fn starts(
        &self,
        mechanism: &Mechanism,
        watch: Watch<'_>,
    ) -> Result<Result<(), ScaleError>, Stopped> {
        match mechanism.check_start(self.question.start, watch) {
            Ok(()) => Ok(Ok(())),
            Err(NoPrivateStart::Scale(ScaleError::Stopped(stopped))) => Err(stopped),
            Err(NoPrivateStart::Scale(why)) => Ok(Err(why)),
            Err(NoPrivateStart::NoPromise | NoPrivateStart::WideBelief { .. }) => {
                unreachable!("members are made to a promise, on a chain with a table of distances")
            }
        }
    }

    /// Evaluates members that have no exact figures.
    fn simulate(
        &mut self,
        members: &[Member],
        share: std::ops::Range<f64>,
        watch: Watch<'_>,
    ) -> Result<Vec<Evaluated>, TuneError> {
        let Question { promise, start, steps, .. } = self.question;
        let model = self.model.clone();
        let count = members::walks(self.question, model.chain());
        let (entropy, real) = (self.real_entropy, self.real.clone());
        let walks = Walks::new(&model, &real, (start, entropy), (count, steps));
        let mut evaluated = Vec::with_capacity(members.len());
        for (number, member) in members.iter().enumerate() {
            let told = |progress: Progress| {
                let done = (number as f64 + progress.share) / members.len() as f64;
                let done = share.start + done * (share.end - share.start);
                match report_share(watch, Stage::Tuning, done) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(Stopped) => ControlFlow::Break(()),
                }
            };
            let design = member.design;
            let mechanism = match member.made(&model, promise, &told) {
                Ok(mechanism) => mechanism,
                Err(ScaleError::Stopped(_)) => return Err(Stopped.into()),
                Err(why) => {
                    self.impossible.push((design, why));
                    continue;
                }
            };
            if let Err(why) = self.starts(&mechanism, &told)? {
                self.impossible.push((design, why));
                continue;
            }
            let (figures, simulated) = walks.figures(&mechanism, &told)?;
            evaluated.push(Evaluated {
                design,
                preset: member.preset(promise.unit),
                tracking: member.tracking(),
                figures,
                simulated: Some(simulated),
                score: 0.0,
            });
        }
        Ok(evaluated)
    }

    fn figures(
        &self,
        mechanism: &Mechanism,
        steps: usize,
        watch: Watch<'_>,
    ) -> Result<TuneFigures, Stopped> {
        let joint = JointChain::new(mechanism, KernelMemory::default(), watch)?;
        let first = joint.start_from(&self.real, self.question.start);
        let utility = joint.utility_from(first, steps, &[], watch)?;
        let entropy = utility.entropy_nats;
        Ok(TuneFigures {
            mean_distance_nats: utility.mean_distance_nats,
            wrong_state_share: utility.wrong_state_share,
            entropy_gap_nats: (entropy.released - entropy.real).abs(),
        })
    }
}

/// Scores members and sorts them, best first. Of those that are equal but for rounding, the one
/// that came first stays first.
fn rank(aim: Aim, members: &mut [Evaluated]) {
    let least = |of: fn(&TuneFigures) -> f64| {
        members.iter().map(|member| of(&member.figures)).fold(f64::INFINITY, f64::min)
    };
    let best = TuneFigures {
        mean_distance_nats: least(|f| f.mean_distance_nats),
        wrong_state_share: least(|f| f.wrong_state_share),
        entropy_gap_nats: least(|f| f.entropy_gap_nats),
    };
    for member in members.iter_mut() {
        member.score = aim.score(&member.figures, &best);
    }
    members.sort_by(|a, b| (a.score * 1e12).round().total_cmp(&(b.score * 1e12).round()));
    // What is exact goes before what may be ahead by chance.
    for place in 1..members.len() {
        if members[place].simulated.is_some() {
            continue;
        }
        let exact = members[place].score;
        let mut to = place;
        while to > 0 && members[to - 1].may_be_behind(exact, aim, &best) {
            to -= 1;
        }
        members[to..=place].rotate_right(1);
    }
}

impl Evaluated {
    /// Whether it was simulated, and is ahead of an exact score by two standard errors at most.
    fn may_be_behind(&self, exact: f64, aim: Aim, best: &TuneFigures) -> bool {
        self.simulated.is_some_and(|simulated| {
            // Scores are linear in the figures.
            self.score + 2.0 * aim.score(&simulated.standard_errors, best) >= exact
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn radius() -> Unit {
        Unit::Radius("1".parse().unwrap())
    }

    #[test]
    fn the_grid_has_every_member_once_and_those_with_names_first() {
        let substitutions = Unit::Substitutions(1.try_into().unwrap());
        for (unit, named) in [(radius(), 4), (substitutions, 5)] {
            let designs = grid(unit, Grid::Full);
            assert_eq!(designs.len(), 40);
            for (place, design) in designs.iter().enumerate() {
                assert_eq!(Preset::of(*design, unit).is_some(), place < named, "{design}");
                assert!(!designs[..place].contains(design), "{design} twice");
            }
            let thin = grid(unit, Grid::Thin);
            assert!(thin.len() < designs.len() && thin.iter().all(|d| designs.contains(d)));
        }
    }

    #[test]
    fn names_go_with_the_unit() {
        let design = Preset::Exponential.design();
        assert_eq!(Preset::of(design, radius()), Some(Preset::Exponential));
        let substitutions = Unit::Substitutions(1.try_into().unwrap());
        assert_eq!(Preset::of(design, substitutions), Some(Preset::ExponentialHamming));
        assert_eq!(Preset::of(Preset::Chen.design(), radius()), None);
    }
}
