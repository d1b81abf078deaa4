//! What `auto` chooses: what does best on short walks of the chain's own.
//!
//! No member is best on every chain, for every promise and delay. But whatever decides how good releases
//! are on average is public. So `auto` makes a few members, lets each release the same walks of the chain's
//! own, and takes the best.
//!
//! # The rule
//!
//! - *Members.* One state at a time: `cell` where its tables fit (within a radius that is not in nats, on up to
//!   [`MOST_FOR_CELLS_IN_METRES`] states), else `sharp`; the same with a chain weight
//!   of 1, beyond [`MOST_FOR_SECOND_CELLS`] states `sharp` with it; `tight`; for straight-line metres `plane`; and
//!   `believed` from shares of 0.02, 0.1 and 0.3. With a lag, or where something is asked for that only observations have, those that
//!   observe. In blocks: the choices of `sharp` with chain weights of ½, 1, 2 and 0, and for replaced states
//!   the hamming distance as well. What was asked for is never changed: whoever names a distance, a rule or
//!   a chain weight for one state at a time gets the first member with it.
//! - *Walks.* [`STEPS`] steps from the initial distribution, up to [`MOST_WALKS`] of them, released with the
//!   start that was asked for.
//! - *Figure.* For replaced states the share of wrong states; within a radius the mean distance in nats.
//!   Walks that are made of observations are made for that figure.
//! - *Looking ahead.* The best of those that observe, or the only one, makes the walks once more of the same observations, with
//!   answers that look ahead, where the table for that is there soon and nobody named an aim. It replaces the one
//!   without where it is better by more than two standard errors of the difference.
//! - *Choice.* The best mean. Another member than the first has to be better by more than two standard
//!   errors of the difference over the same walks, and one that observes has to beat the best of those that
//!   draw moves by as much.
//! - *On the ground.* Within a radius that is not in nats it is the other way round where nothing is clear: one that
//!   observes is taken unless one that draws moves is better by two standard errors. Among those that
//!   observe, the one with the smallest mean is taken. Each looks ahead unless that is clearly worse. In blocks the chain
//!   weight is 1 unless another is better. On streets few walks get lost, but those end up far away, so standard errors
//!   are large; and whoever refines a release learns far more from what was observed.
//! - *Too large.* Where fewer than [`FEWEST_WALKS`] walks are affordable, or distances are searched for, it
//!   is the first member.
//!
//! # The same everywhere
//!
//! Which member is chosen is part of what is released, and has to be the same wherever it is asked for.
//! The walks come from a fixed seed, members draw with exact coins, beliefs are the same on every machine,
//! and figures are sums, products and roots in a fixed order. Nothing is timed.
//!
//! # Privacy
//!
//! No real walk is looked at. Every member keeps the promise, whichever is chosen.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Base, CandidateChoice, Made, Request, RequestError};
use crate::ahead::Ahead;
use crate::analysis::{Origin, OwnWalks};
use crate::chain::{Chain, StateId};
use crate::distance::{Cells, Ground};
use crate::measure::Measure;
use crate::mechanism::{
    BlockLength, CandidateKind, ChainWeight, Distance, LeastShare, Mechanism, Preset, Rule, Start,
    TrackAim, Tracking, Unit,
};
use crate::model::Model;
use crate::random::Source;
use crate::rational::Rational;
use crate::session::Walker;
use crate::watch::{Watch, part, unwatched};

/// How many steps the walks take.
const STEPS: usize = 40;
/// How many walks there are at most.
const MOST_WALKS: usize = 256;
/// With fewer than these, nothing is compared.
const FEWEST_WALKS: usize = 12;
/// What releasing all walks may take: about two seconds of one core. A unit is a nanosecond or two.
const WORK: usize = 2_500_000_000;
/// Where the walks come from.
const SEED: u64 = 1;

/// Above this many states a linear program for the weights of `tight` would take too long.
const MOST_FOR_A_PROGRAM: usize = 150;
/// Above this many states the scales of cells within a radius that is not in nats take too long.
const MOST_FOR_CELLS_IN_METRES: usize = 256;
/// Above this many states the cells of a second member would take too long.
const MOST_FOR_SECOND_CELLS: usize = 1024;
/// Above this many states the cells of `believed`, made anew for every step, take too long.
const MOST_FOR_BELIEVED_CELLS: usize = 256;
/// Above this many states the linear system for the weights of `tight` takes too long.
const MOST_FOR_A_SYSTEM: usize = 4096;

impl Request {
    /// The members that `auto` compares, the first one being what it takes where nothing can be compared.
    /// Only those that draw moves come first. None if nothing is left to choose.
    fn members(&self, model: &Model) -> Vec<Self> {
        let chain = model.chain();
        if self.base != Base::Auto {
            return Vec::new();
        }
        if self.block.is_some() {
            return self.members_in_blocks();
        }
        let says = self.distance.is_some() || self.rule.is_some() || self.chain_weight.is_some();
        match (self.asks_for_observations(), says) {
            (true, _) => self.members_that_observe(model),
            (false, true) => Vec::new(),
            (false, false) => {
                let mut members = self.members_that_move(chain);
                members.extend(self.members_that_observe(model));
                members
            }
        }
    }

    fn members_that_move(&self, chain: &Chain) -> Vec<Self> {
        let cells = Cells::affordable(chain).is_ok() && self.has_quick_cells(chain);
        let named = |preset| Self { base: Base::Preset(preset), ..*self };
        let first = named(if cells { Preset::Cell } else { Preset::Sharp });
        let second = if cells && chain.len() <= MOST_FOR_SECOND_CELLS {
            first
        } else {
            named(Preset::Sharp)
        };
        let weight = ChainWeight::new(Rational::ONE).ok();
        vec![first, Self { chain_weight: weight, ..second }]
    }

    fn members_that_observe(&self, model: &Model) -> Vec<Self> {
        let chain = model.chain();
        let mut track = self.track;
        track.aim.get_or_insert(match self.promise.unit {
            Unit::Radius(_) => TrackAim::Distance,
            Unit::Substitutions(_) => TrackAim::States,
        });
        let asked = self.candidates;
        let mut members = Vec::new();
        let believes = asked.kind == Some(CandidateKind::Believed) || asked.least_share.is_some();
        let on_plane = asked.kind == Some(CandidateKind::Plane);
        if !believes && !on_plane && self.affords_tight(chain) {
            members.push(Self { base: Base::Preset(Preset::Tight), track, ..*self });
        }
        let lines = *model.ground() == Ground::Line && matches!(self.promise.unit, Unit::Radius(_));
        if lines && !believes && (on_plane || asked.kind.is_none()) && asked.weights.is_none() {
            members.push(Self { base: Base::Preset(Preset::Plane), track, ..*self });
        }
        let few = chain.len() <= MOST_FOR_BELIEVED_CELLS
            || matches!(self.promise.unit, Unit::Substitutions(_));
        let states = asked.kind == Some(CandidateKind::States) || asked.weights.is_some();
        if (few || believes) && !states && !on_plane {
            let shares = match asked.least_share {
                Some(share) => vec![share],
                None => [(1, 10), (3, 10), (1, 50)].into_iter().filter_map(share).collect(),
            };
            members.extend(shares.into_iter().map(|share| Self {
                base: Base::Preset(Preset::Believed),
                candidates: CandidateChoice { least_share: Some(share), ..asked },
                track,
                ..*self
            }));
        }
        members
    }

    /// Whether the scales of cells are calibrated soon. Metres are hardly ever so far apart that the bound of cells settles
    /// a pair, so nearly all pairs are compared outcome by outcome.
    fn has_quick_cells(&self, chain: &Chain) -> bool {
        !self.is_on_the_ground() || chain.len() <= MOST_FOR_CELLS_IN_METRES
    }

    /// Whether the promise is within a radius in metres, or in a unit of the user's own.
    fn is_on_the_ground(&self) -> bool {
        self.promise.unit.measure().is_some_and(|measure| measure != Measure::Nats)
    }

    /// Whether it is worth asking how well it does if its answers look ahead.
    fn may_look_ahead(&self, chain: &Chain) -> bool {
        self.block.is_none() && self.asks_for_observations() && Ahead::is_quick(chain)
    }

    /// Whether the weights of `tight` are found soon, whichever way.
    fn affords_tight(&self, chain: &Chain) -> bool {
        let program = 257;
        match (self.promise.unit, chain.len()) {
            (Unit::Substitutions(_), _) => true,
            (Unit::Radius(_), states) => {
                states <= MOST_FOR_A_PROGRAM || (program..=MOST_FOR_A_SYSTEM).contains(&states)
            }
        }
    }

    /// What a step of a member takes at most: of beliefs, that of one about all states.
    fn step(&self, chain: &Chain) -> usize {
        let (states, transitions) = (chain.len(), chain.transitions());
        match (self.base, self.promise.unit) {
            (Base::Preset(Preset::Tight | Preset::Plane), _) => transitions + 30 * states,
            (Base::Preset(Preset::Believed), Unit::Substitutions(_)) => transitions + 200 * states,
            (Base::Preset(Preset::Believed), Unit::Radius(_)) => {
                transitions.saturating_add(2 * states.saturating_mul(states))
            }
            _ if self.block.is_some() => 8 * transitions,
            _ => 16 * chain.largest_out_degree(),
        }
    }

    fn members_in_blocks(&self) -> Vec<Self> {
        let weights = match self.chain_weight {
            Some(weight) => vec![weight],
            None => {
                let mut weights =
                    [Rational::HALF, Rational::ONE, Rational::whole(2), Rational::ZERO];
                if self.is_on_the_ground() {
                    weights.swap(0, 1);
                }
                weights.into_iter().filter_map(|weight| ChainWeight::new(weight).ok()).collect()
            }
        };
        let distances = match (self.distance, self.promise.unit) {
            (Some(distance), _) => vec![distance],
            (None, Unit::Radius(_)) => vec![Distance::Symmetric],
            (None, Unit::Substitutions(_)) => vec![Distance::Symmetric, Distance::Hamming],
        };
        let with = |distance, weight| Self {
            base: Base::Preset(Preset::Sharp),
            distance: Some(distance),
            rule: Some(Rule::Exponential),
            chain_weight: Some(weight),
            ..*self
        };
        let each = distances.iter().flat_map(|&d| weights.iter().map(move |&w| with(d, w)));
        let members: Vec<Self> = each.collect();
        if members.len() > 1 { members } else { Vec::new() }
    }
}

fn share((above, below): (u64, u64)) -> Option<LeastShare> {
    LeastShare::new(Rational::new(above, below)?)
}

/// What `auto` takes for a request; none if it leaves nothing to choose, or nothing can be compared.
///
/// # Errors
///
/// If the watcher asks to stop.
pub(super) fn chosen(
    request: &Request,
    model: &Arc<Model>,
    watch: Watch<'_>,
) -> Result<Option<Made>, RequestError> {
    let members = request.members(model);
    let count = affordable_walks(model.chain(), &members);
    // One that observes is still compared with itself looking ahead.
    let alone = members.first().is_some_and(|only| !only.may_look_ahead(model.chain()));
    let nothing = members.is_empty() || members.len() == 1 && alone;
    if nothing || count < FEWEST_WALKS || model.require_tables().is_err() {
        return Ok(None);
    }
    let mut made = Vec::with_capacity(members.len());
    for (place, member) in members.iter().enumerate() {
        let (from, to) = (place as f64, (place + 1) as f64);
        let share = from / members.len() as f64..to / members.len() as f64;
        match member.as_settled(model, &part(watch, share)) {
            Ok(member) => made.push(member),
            Err(why) if why.is_stopped() => return Err(why),
            // Another one may keep the promise.
            Err(_) => {}
        }
    }
    let trial = Trial::new(request, model, count);
    let scores = made.par_iter().map(|member| trial.scores(&member.mechanism, &member.mechanism));
    let scores = scores.collect::<Vec<_>>();
    let scored = made.into_iter().zip(scores);
    let (moves, observes): (Vec<_>, Vec<_>) = scored
        .filter_map(|(member, scores)| Some((member, scores?)))
        .partition(|(member, _)| member.mechanism.observation().is_none());
    let moves = best(moves);
    let observes = if request.is_on_the_ground() {
        let ahead = observes.into_iter().map(|found| trial.with_look_ahead(found, request, watch));
        let ahead = ahead.collect::<Result<Vec<_>, _>>()?;
        ahead.into_iter().min_by(|a, b| sum(&a.1).total_cmp(&sum(&b.1)))
    } else {
        let found = best(observes);
        found.map(|found| trial.with_look_ahead(found, request, watch)).transpose()?
    };
    Ok(match (moves, observes) {
        (Some(moves), Some(observes)) if request.is_on_the_ground() => {
            Some(if is_better(&moves.1, &observes.1) { moves.0 } else { observes.0 })
        }
        (Some(moves), Some(observes)) if is_better(&observes.1, &moves.1) => Some(observes.0),
        (Some(found), _) | (None, Some(found)) => Some(found.0),
        (None, None) => None,
    })
}

/// How many walks are affordable, for all members together.
fn affordable_walks(chain: &Chain, members: &[Request]) -> usize {
    let step = members.iter().map(|member| member.step(chain)).fold(0, usize::saturating_add);
    (WORK / step.saturating_mul(STEPS).max(1)).min(MOST_WALKS)
}

/// The member with the least mean; the first one, if that is not better by enough.
fn best(members: Vec<(Made, Vec<f64>)>) -> Option<(Made, Vec<f64>)> {
    let mut members = members.into_iter();
    let first = members.next()?;
    let least = members.min_by(|a, b| sum(&a.1).total_cmp(&sum(&b.1)));
    Some(match least {
        Some(least) if is_better(&least.1, &first.1) => least,
        _ => first,
    })
}

/// Whether the scores of the same walks are less by more than two standard errors of the difference.
fn is_better(ours: &[f64], theirs: &[f64]) -> bool {
    let n = ours.len() as f64;
    let gains: Vec<f64> = theirs.iter().zip(ours).map(|(theirs, ours)| theirs - ours).collect();
    let mean = sum(&gains) / n;
    let squares = sum(&gains.iter().map(|gain| (gain - mean) * (gain - mean)).collect::<Vec<_>>());
    let error = (squares / ((n - 1.0) * n)).sqrt();
    mean > 2.0 * error
}

fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

/// The walks that members release.
struct Trial<'a> {
    model: &'a Model,
    start: Start,
    unit: Unit,
    reals: Vec<Vec<StateId>>,
}

impl<'a> Trial<'a> {
    fn new(request: &Request, model: &'a Model, count: usize) -> Self {
        let steps = match request.block {
            // The first state belongs to the block too.
            Some(BlockLength::Whole { longest }) => STEPS.min(longest.get() as usize - 1).max(1),
            Some(BlockLength::Steps(_)) | None => STEPS,
        };
        let own = OwnWalks::new(model.chain());
        let mut source =
            Source::seeded(SEED).open([0; 32]).expect("a seed needs no operating system");
        let key = source.walk(b"the walks that auto compares");
        let words = source.at(&key, 0, None);
        let reals = (0..count).map(|_| own.walk(Origin::Initial, steps, words)).collect();
        Self { model, start: request.start, unit: request.promise.unit, reals }
    }

    /// A mechanism that observes, or the same with answers that look ahead if that is better.
    fn with_look_ahead(
        &self,
        (made, scores): (Made, Vec<f64>),
        request: &Request,
        watch: Watch<'_>,
    ) -> Result<(Made, Vec<f64>), RequestError> {
        let observation = made.mechanism.observation();
        let (Some(observation), None, true) =
            (observation, request.track.aim, Ahead::is_quick(self.model.chain()))
        else {
            return Ok((made, scores));
        };
        let usual = observation.tracking();
        let tracking = Tracking { aim: usual.aim.ahead(), ..usual };
        tracking.prepare(self.model, watch)?;
        let ahead = Mechanism::clone(&made.mechanism).tracking(tracking);
        let nearer = |ahead: &[f64]| match request.is_on_the_ground() {
            true => !is_better(&scores, ahead),
            false => is_better(ahead, &scores),
        };
        Ok(match self.scores(&ahead, &made.mechanism) {
            Some(better) if nearer(&better) => {
                (Made { mechanism: Arc::new(ahead), ..made }, better)
            }
            _ => (made, scores),
        })
    }

    /// How each walk fares under a mechanism, with the draws of one that differs from it in its answers alone, if in
    /// anything; none if it cannot start so.
    fn scores(&self, mechanism: &Mechanism, draws: &Mechanism) -> Option<Vec<f64>> {
        mechanism.check_start(self.start, &unwatched).ok()?;
        let source = Source::seeded(SEED).open(draws.fingerprint());
        let mut source = source.expect("a seed needs no operating system");
        let key = source.walk(b"the releases that auto compares");
        let words = source.at(&key, 0, None);
        let mut walker = Walker::new(mechanism);
        let score = |real: &Vec<StateId>| {
            let released = &walker.release(self.start, real, words).states;
            let pairs = real.iter().zip(released).skip(1);
            let each = pairs.map(|(&x, &z)| match self.unit {
                Unit::Substitutions(_) => f64::from(u8::from(x != z)),
                Unit::Radius(_) => self.model.directed().between(z, x).as_f64(),
            });
            each.sum::<f64>() / (real.len() - 1) as f64
        };
        Some(self.reals.iter().map(score).collect())
    }
}
