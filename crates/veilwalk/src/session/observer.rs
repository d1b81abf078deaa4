//! Observes real states, and follows what was observed.

use std::sync::Arc;

use super::Released;
use crate::belief::{BeliefSpace, Track, Tracker};
use crate::chain::StateId;
use crate::mechanism::{Mechanism, Observation, ObservationSpace, Predicted, Start, Workspace};
use crate::outcome::Outcome;
use crate::random::Words;

/// What walks under a mechanism that draws observations share.
#[derive(Debug)]
pub(crate) struct Observer {
    observation: Arc<Observation>,
    tracker: Tracker,
    beliefs: BeliefSpace,
    space: ObservationSpace,
    log_likelihoods: Vec<f64>,
}

impl Observer {
    /// For a mechanism that draws observations; none for others.
    pub(crate) fn new(mechanism: &Mechanism) -> Option<Self> {
        let observation = mechanism.shared_observation()?.clone();
        let tracker = Tracker::new(mechanism.model().clone(), observation.tracking());
        Some(Self {
            observation,
            tracker,
            beliefs: BeliefSpace::default(),
            space: ObservationSpace::default(),
            log_likelihoods: Vec::new(),
        })
    }

    /// Follows walks.
    #[cfg_attr(not(feature = "serde"), allow(dead_code, reason = "for saved sessions"))]
    pub(crate) fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// The first released state where it is not an observation: it goes out at once.
    pub(crate) fn start(
        &self,
        track: &mut Track,
        first: First,
        states: &mut Vec<StateId>,
    ) -> StateId {
        match first {
            First::Public(state) => {
                track.start_at(state, states);
                state
            }
            First::Blind(state) => {
                track.start_blind(&self.tracker, state, states);
                state
            }
        }
    }

    /// Observes a real state, and appends to `states` what is released now. Gives the observation.
    pub(crate) fn observe(
        &mut self,
        track: &mut Track,
        real: StateId,
        words: &mut impl Words,
        states: &mut Vec<StateId>,
    ) -> Outcome {
        let Self { observation, tracker, beliefs, space, .. } = self;
        let mut predicted = Predicted { states: &[], masses: &[] };
        if observation.follows_beliefs() {
            let belief = track.predicted(tracker, beliefs);
            predicted = Predicted { states: belief.states(), masses: belief.masses() };
        }
        let observed = observation.draw(predicted, real, words, space);
        self.follow(track, observed, states);
        observed
    }

    /// Every observation that can be drawn next, with the logarithm of its probability.
    pub(crate) fn log_choices(&mut self, track: &Track, real: StateId) -> Vec<(StateId, f64)> {
        let Self { observation, tracker, beliefs, .. } = self;
        let mut track = track.clone();
        let belief = track.predicted(tracker, beliefs);
        let predicted = Predicted { states: belief.states(), masses: belief.masses() };
        observation.log_kernel(predicted, real)
    }

    /// Takes an observation that was made before, and appends to `states` what is released for it.
    pub(crate) fn follow(
        &mut self,
        track: &mut Track,
        observed: Outcome,
        states: &mut Vec<StateId>,
    ) {
        let Self { observation, tracker, beliefs, space, log_likelihoods } = self;
        if let Some(row) = observation.log_row(observed) {
            return track.observe_row(tracker, row, beliefs, states);
        }
        let belief = track.predicted(tracker, beliefs);
        let predicted = Predicted { states: belief.states(), masses: belief.masses() };
        let reals = predicted.states;
        observation.fill_log_likelihoods(predicted, observed, reals, space, log_likelihoods);
        track.observe(tracker, log_likelihoods, beliefs, states);
    }

    /// The walk is over: appends what waits because of the lag.
    pub(crate) fn finish(&mut self, track: &mut Track, states: &mut Vec<StateId>) {
        track.finish(&self.tracker, &mut self.beliefs, states);
    }

    /// Releases a whole walk. Gives what was dropped from its beliefs, added up.
    pub(crate) fn release_walk(
        &mut self,
        start: Start,
        reals: &[StateId],
        words: &mut impl Words,
        out: &mut Released,
    ) -> f64 {
        let mut track = Track::new();
        let mut rest = reals;
        let first = match (start, reals.first()) {
            (_, None) | (Start::Private, _) => None,
            (Start::First, Some(&real)) => Some(First::Public(real)),
            (Start::At(state), _) => Some(First::Public(state)),
            (Start::Initial, _) => {
                let initial = self.tracker.model().chain().initial();
                Some(First::Blind(initial.draw(words)))
            }
        };
        if let Some(first) = first {
            out.observed.push(self.start(&mut track, first, &mut out.states).into());
            rest = &reals[1..];
        }
        for &real in rest {
            let observed = self.observe(&mut track, real, words, &mut out.states);
            out.observed.push(observed);
        }
        self.finish(&mut track, &mut out.states);
        track.dropped()
    }
}

/// Releases whole walks with whatever words it is given: for simulations.
pub(crate) struct Walker<'m> {
    mechanism: &'m Mechanism,
    observer: Option<Observer>,
    space: Workspace,
    released: Released,
    dropped: f64,
}

impl<'m> Walker<'m> {
    /// For any mechanism.
    pub(crate) fn new(mechanism: &'m Mechanism) -> Self {
        let (observer, space) = (Observer::new(mechanism), Workspace::default());
        Self { mechanism, observer, space, released: Released::default(), dropped: 0.0 }
    }

    /// Releases a walk.
    ///
    /// # Panics
    ///
    /// If the start is private and the mechanism cannot start so, or walks are released as a whole and
    /// there are more real states than that allows for.
    pub(crate) fn release(
        &mut self,
        start: Start,
        reals: &[StateId],
        words: &mut impl Words,
    ) -> &Released {
        self.released.clear();
        match &mut self.observer {
            Some(observer) => {
                self.dropped = observer.release_walk(start, reals, words, &mut self.released);
            }
            None => {
                let (space, out) = (&mut self.space, &mut self.released.states);
                self.mechanism.release_walk(start, reals, words, space, out);
            }
        }
        &self.released
    }

    /// The shares of the mass that were dropped from the beliefs of the last walk, added up.
    pub(crate) fn dropped(&self) -> f64 {
        self.dropped
    }
}

/// A first released state that is not an observation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum First {
    /// Everybody knows the real one.
    Public(StateId),
    /// It was drawn without a look at the real one.
    Blind(StateId),
}
