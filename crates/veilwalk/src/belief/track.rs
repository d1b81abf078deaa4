//! One walk: what is believed of it, and the feasible walk that is released for it.
//!
//! The steps are: ask what is [`predicted`](Track::predicted), observe the real state somehow, and
//! [`observe`](Track::observe) how likely that was for each predicted state. Released states come at
//! once, or with a lag after as many more observations; [`finish`](Track::finish) gives the rest.

use std::collections::VecDeque;

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use super::filter::{Belief, Explained, Updated};
use super::space::BeliefSpace;
use super::tracker::Tracker;
use super::window::{self, Seen};
use crate::chain::StateId;
use crate::mechanism::LogRow;

/// The public state of one walk.
///
/// It holds the belief, 12 bytes for each state that has mass, and with a lag 20 bytes for each such
/// state of each step that waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    pub(super) standing: Standing,
    pub(super) belief: Belief,
    /// The steps that were observed and wait for their answer.
    pub(super) window: VecDeque<Seen>,
    pub(super) last: Option<StateId>,
    pub(super) dropped: f64,
    pub(super) surprises: u64,
}

/// What the belief of a walk is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub(crate) enum Standing {
    /// Nothing: nothing was observed or asked yet.
    #[default]
    Fresh,
    /// The last real state that was observed, or is public.
    Observed,
    /// The next one.
    Predicted,
}

impl Track {
    /// A walk of which nothing was observed.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The first real state is public: it is believed, and released at once.
    pub(crate) fn start_at(&mut self, state: StateId, out: &mut Vec<StateId>) {
        self.start(Belief::at(state), state, out);
    }

    /// The first released state was drawn without a look at the real one, of which only the initial
    /// distribution is known. It is released at once.
    pub(crate) fn start_blind(
        &mut self,
        tracker: &Tracker,
        state: StateId,
        out: &mut Vec<StateId>,
    ) {
        self.start(tracker.initial().clone(), state, out);
    }

    fn start(&mut self, belief: Belief, state: StateId, out: &mut Vec<StateId>) {
        let (standing, last) = (Standing::Observed, Some(state));
        *self = Self { standing, belief, last, ..Self::new() };
        out.push(state);
    }

    /// What is believed of the next real state before it is observed: the initial distribution, or the
    /// last belief moved on. Asking again changes nothing.
    pub(crate) fn predicted(&mut self, tracker: &Tracker, space: &mut BeliefSpace) -> &Belief {
        match self.standing {
            Standing::Fresh => self.belief.copy_from(tracker.initial(), space),
            Standing::Observed => self.belief.predict(tracker.model().chain(), space),
            Standing::Predicted => {}
        }
        self.standing = Standing::Predicted;
        &self.belief
    }

    /// Takes the logarithm of the next observation's likelihood for each state that was
    /// [`predicted`](Track::predicted), in the same order and up to a common term, and appends to `out`
    /// what is released now: one state, or nothing while the lag fills.
    ///
    /// # Panics
    ///
    /// If there is not one logarithm for each predicted state.
    pub(crate) fn observe(
        &mut self,
        tracker: &Tracker,
        log_likelihoods: &[f64],
        space: &mut BeliefSpace,
        out: &mut Vec<StateId>,
    ) {
        self.believe(tracker, log_likelihoods, space);
        self.answer(tracker, space, out);
    }

    /// The same for an observation that tells of every state.
    pub(crate) fn observe_row(
        &mut self,
        tracker: &Tracker,
        row: LogRow<'_>,
        space: &mut BeliefSpace,
        out: &mut Vec<StateId>,
    ) {
        self.believe_row(tracker, row, space);
        self.answer(tracker, space, out);
    }

    /// Releases what can be after an observation.
    fn answer(&mut self, tracker: &Tracker, space: &mut BeliefSpace, out: &mut Vec<StateId>) {
        if tracker.lag() == 0 {
            let (states, masses) = (self.belief.states(), self.belief.masses());
            self.release(tracker.answer(self.last, states, masses, &mut space.answer), out);
            return;
        }
        let full = self.window.len() >= tracker.lag();
        self.window.push_back(Seen::after_update(&self.belief, space));
        if full {
            let window = self.window.make_contiguous();
            window::posterior_of_first(tracker.model().chain(), window, space);
            let BeliefSpace { posterior, answer, .. } = space;
            if let Some(first) = self.window.pop_front() {
                let states = first.belief.states();
                self.release(tracker.answer(self.last, states, posterior, answer), out);
            }
        }
    }

    /// Takes the same logarithms into the belief, and releases nothing.
    pub(crate) fn believe(
        &mut self,
        tracker: &Tracker,
        log_likelihoods: &[f64],
        space: &mut BeliefSpace,
    ) {
        self.predicted(tracker, space);
        let updated = self.belief.update(log_likelihoods, tracker.threshold(), space);
        self.take(updated, tracker, space);
    }

    fn believe_row(&mut self, tracker: &Tracker, row: LogRow<'_>, space: &mut BeliefSpace) {
        let chain = tracker.model().chain();
        if self.standing == Standing::Observed && self.belief.moves_widely(chain) {
            let threshold = tracker.threshold();
            let updated = self.belief.predict_and_update(chain, row, threshold, space);
            return self.take(updated, tracker, space);
        }
        self.predicted(tracker, space);
        let mut logs = std::mem::take(&mut space.logs);
        row.fill(self.belief.states(), &mut logs);
        self.believe(tracker, &logs, space);
        space.logs = logs;
    }

    /// Takes note of what an observation did to the belief.
    fn take(&mut self, updated: Updated, tracker: &Tracker, space: &mut BeliefSpace) {
        self.standing = Standing::Observed;
        let most = tracker.most_states();
        self.dropped += updated.dropped + self.belief.keep_heaviest(most, space);
        self.surprises += u64::from(updated.explained == Explained::No);
    }

    /// The walk is over: appends to `out` what waits because of the lag.
    pub(crate) fn finish(
        &mut self,
        tracker: &Tracker,
        space: &mut BeliefSpace,
        out: &mut Vec<StateId>,
    ) {
        let window = self.window.make_contiguous();
        window::smooth(tracker.model().chain(), window, space, |_, _, _| ());
        while let Some(Seen { belief, .. }) = self.window.pop_front() {
            let (states, masses) = (belief.states(), belief.masses());
            self.release(tracker.answer(self.last, states, masses, &mut space.answer), out);
        }
    }

    fn release(&mut self, state: StateId, out: &mut Vec<StateId>) {
        self.last = Some(state);
        out.push(state);
    }

    /// How many observed steps wait for their answer.
    pub(crate) fn waiting(&self) -> usize {
        self.window.len()
    }

    /// The last released state.
    pub(crate) fn last(&self) -> Option<StateId> {
        self.last
    }

    /// The bytes of its beliefs.
    pub(crate) fn memory(&self) -> usize {
        let waiting = self.window.iter().map(|seen| 20 * seen.belief.states().len());
        12 * self.belief.states().len() + waiting.sum::<usize>()
    }

    /// The shares of the mass that were dropped, added up over all steps.
    pub(crate) fn dropped(&self) -> f64 {
        self.dropped
    }

    /// How many observations nothing in the belief could explain.
    pub(crate) fn surprises(&self) -> u64 {
        self.surprises
    }
}
