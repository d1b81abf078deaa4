//! How likely what was drawn is, for each real state: the emission of the hidden Markov model.
//!
//! Where moves are drawn it is `K(z_t | z_{t−1}, x)`, where states are observed `K(y_t | x)`, and among believed
//! candidates the same with what was believed publicly when it was drawn, which is followed once more. The
//! first state has the law of the start.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::{InferenceError, UnlikelyRelease};
use crate::belief::{BeliefSpace, Track, Tracker};
use crate::chain::StateId;
use crate::mechanism::{
    KernelWorkspace, Mechanism, Observation, ObservationSpace, Predicted, Start,
};
use crate::outcome::{Outcome, Sight};

/// The emission of a mechanism and a start.
pub(super) struct Emission {
    mechanism: Arc<Mechanism>,
    start: Start,
    /// Follows what is believed, where that decides what is drawn.
    tracker: Option<Tracker>,
    /// For each move of the chain, the logarithms for all real states, once they were asked for, as long as there
    /// is room. Empty where states are observed.
    by_move: Box<[OnceLock<Box<[f64]>>]>,
    /// How many bytes of them are left to be kept.
    room: AtomicUsize,
}

/// Working space. It holds what one walk needs at a time.
#[derive(Debug, Default)]
pub(super) struct EmissionSpace {
    kernel: KernelWorkspace,
    observation: ObservationSpace,
    beliefs: BeliefSpace,
    track: Track,
    believed: (Vec<StateId>, Vec<f64>),
    logs: Vec<f64>,
}

/// So many bytes of kernels are kept. An estimate asks for those of each move again and again, and computing them
/// takes much longer than reading them.
const KEPT_BYTES: usize = 2 << 30;

impl Emission {
    pub(super) fn new(mechanism: Arc<Mechanism>, start: Start) -> Result<Self, InferenceError> {
        if let Some(blocks) = mechanism.blocks() {
            return Err(InferenceError::InBlocks { length: blocks.length() });
        }
        mechanism.check_start(start, &crate::watch::unwatched)?;
        let chain = mechanism.model().chain();
        let follows = mechanism.observation().is_some_and(Observation::follows_beliefs);
        let tracker = follows.then(|| {
            let observation = mechanism.observation().expect("it follows beliefs");
            Tracker::new(mechanism.model().clone(), observation.tracking())
        });
        // A search for every state is too much for one row.
        let kept = mechanism.observation().is_none() && mechanism.model().require_tables().is_ok();
        let rows = if kept { chain.transitions() } else { 0 };
        let by_move = (0..rows).map(|_| OnceLock::new()).collect();
        Ok(Self { mechanism, start, tracker, by_move, room: AtomicUsize::new(KEPT_BYTES) })
    }

    pub(super) fn mechanism(&self) -> &Arc<Mechanism> {
        &self.mechanism
    }

    pub(super) fn start(&self) -> Start {
        self.start
    }

    /// Whether the mechanism can have drawn these states.
    pub(super) fn check(&self, drawn: &[Outcome]) -> Result<(), UnlikelyRelease> {
        let chain = self.mechanism.model().chain();
        if drawn.is_empty() {
            return Err(UnlikelyRelease::Empty);
        }
        let plane = self.mechanism.observation().and_then(Observation::plane);
        let first = match self.start {
            Start::Private => None,
            Start::Initial | Start::First | Start::At(_) => drawn[0].state(),
        };
        for (step, outcome) in drawn.iter().enumerate() {
            match outcome.sight() {
                Sight::State(state) if state.index() >= chain.len() => {
                    return Err(UnlikelyRelease::NoSuchState { step });
                }
                // On a plane only a first state that is not observed is a state.
                Sight::State(_) if plane.is_some() && (step > 0 || first.is_none()) => {
                    return Err(UnlikelyRelease::NotAPoint { step });
                }
                Sight::Point(_) if plane.is_none() => {
                    return Err(UnlikelyRelease::NoSuchState { step });
                }
                _ => {}
            }
        }
        if self.start != Start::Private && first.is_none() {
            return Err(UnlikelyRelease::Start);
        }
        if let Start::At(start) = self.start
            && first != Some(start)
        {
            return Err(UnlikelyRelease::Start);
        }
        if self.mechanism.observation().is_none() {
            let moves: Vec<StateId> = drawn.iter().filter_map(|drawn| drawn.state()).collect();
            let drawn_first = matches!(self.start, Start::Private | Start::Initial);
            if drawn_first && chain.initial().probability(moves[0]) <= 0.0 {
                return Err(UnlikelyRelease::Start);
            }
            let impossible = moves.windows(2).position(|pair| !chain.allows(pair[0], pair[1]));
            if let Some(step) = impossible {
                return Err(UnlikelyRelease::Move { step: step + 1 });
            }
        }
        Ok(())
    }

    /// Begins a walk.
    pub(super) fn begin(&self, space: &mut EmissionSpace) {
        space.track = Track::new();
    }

    /// Leaves in `out` the logarithm of the probability of what was drawn at a step for each of these real
    /// states. Steps have to be asked for in order. For observations a term is left out that is the same for all
    /// real states.
    pub(super) fn fill(
        &self,
        drawn: &[Outcome],
        step: usize,
        reals: &[StateId],
        space: &mut EmissionSpace,
        out: &mut Vec<f64>,
    ) {
        let state = |step: usize| drawn[step].state().expect("it was checked");
        let observed_first = self.start == Start::Private && self.mechanism.observation().is_some();
        if step == 0 && !observed_first {
            return self.fill_first(state(0), reals, space, out);
        }
        match self.mechanism.observation() {
            Some(observation) => self.fill_observed(observation, drawn[step], reals, space, out),
            None => self.fill_moved(state(step - 1), state(step), reals, space, out),
        }
    }

    /// The first step, where it is not observed like every other.
    fn fill_first(
        &self,
        first: StateId,
        reals: &[StateId],
        space: &mut EmissionSpace,
        out: &mut Vec<f64>,
    ) {
        out.clear();
        let mut ignored = Vec::new();
        match self.start {
            Start::Private => {
                let start = self.mechanism.private_start().expect("it was checked");
                start.fill_log_laws(first, reals, out);
            }
            Start::First => {
                let log = |&x: &StateId| if x == first { 0.0 } else { f64::NEG_INFINITY };
                out.extend(reals.iter().map(log));
                space.track.start_at(first, &mut ignored);
            }
            Start::Initial | Start::At(_) => {
                out.resize(reals.len(), 0.0);
                match (self.start, &self.tracker) {
                    (Start::At(state), _) => space.track.start_at(state, &mut ignored),
                    (_, Some(tracker)) => {
                        space.track.start_blind(tracker, first, &mut ignored);
                    }
                    (_, None) => {}
                }
            }
        }
    }

    fn fill_observed(
        &self,
        observation: &Observation,
        observed: Outcome,
        reals: &[StateId],
        space: &mut EmissionSpace,
        out: &mut Vec<f64>,
    ) {
        let EmissionSpace { observation: drawing, beliefs, track, believed, logs, .. } = space;
        let Some(tracker) = &self.tracker else {
            let nothing = Predicted { states: &[], masses: &[] };
            return observation.fill_log_likelihoods(nothing, observed, reals, drawing, out);
        };
        let belief = track.predicted(tracker, beliefs);
        let (states, masses) = believed;
        states.clear();
        states.extend_from_slice(belief.states());
        masses.clear();
        masses.extend_from_slice(belief.masses());
        let predicted = Predicted { states, masses };
        observation.fill_log_likelihoods(predicted, observed, reals, drawing, out);
        observation.fill_log_likelihoods(predicted, observed, predicted.states, drawing, logs);
        track.believe(tracker, logs, beliefs);
    }

    fn fill_moved(
        &self,
        from: StateId,
        to: StateId,
        reals: &[StateId],
        space: &mut EmissionSpace,
        out: &mut Vec<f64>,
    ) {
        let chain = self.mechanism.model().chain();
        let place = chain.successors(from).binary_search(&to).expect("the move was checked");
        let mut log = |x| self.mechanism.log_kernel_at(from, x, place, &mut space.kernel);
        out.clear();
        let slot = self.by_move.get(chain.row(from).start + place);
        let kept = slot.and_then(|slot| match slot.get() {
            None if self.take_room(chain.len() * size_of::<f64>()) => {
                Some(slot.get_or_init(|| chain.states().map(&mut log).collect()))
            }
            kept => kept,
        });
        match kept {
            Some(kept) => out.extend(reals.iter().map(|x| kept[x.index()])),
            None => out.extend(reals.iter().map(|&x| log(x))),
        }
    }

    /// Whether so many more bytes may be kept.
    fn take_room(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

impl std::fmt::Debug for Emission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { mechanism, start, .. } = self;
        f.debug_struct("Emission").field("mechanism", mechanism).field("start", start).finish()
    }
}
