//! Drawing a block: messages backward, then states forward.
//!
//! A long block on a large chain has more messages than fit memory, so it is cut into segments.
//! Messages are kept at the segments' ends and, one segment at a time, computed again in between:
//! segments of √L steps need room for about 2√L steps' messages, and take up to twice the time. What
//! is drawn is the same, bit for bit, however a block is cut. (Segments are no borders: the block is
//! still drawn as a whole.)

use std::sync::Arc;

use super::BlockMechanism;
use super::messages::MessageSpace;
use super::reach::Frontier;
use super::weight::Weight;
use crate::chain::StateId;
use crate::mechanism::exponential::{self, Weighed};
use crate::nats::Nats;
use crate::random::Words;

/// Working space for blocks, so that most of it is allocated once.
#[derive(Clone, Debug, Default)]
pub struct BlockWorkspace {
    segment: Option<usize>,
    messages: MessageSpace,
    marks: Vec<bool>,
    distances: Vec<Nats>,
    candidates: Vec<Weighed>,
    halvings: Vec<u32>,
}

/// The states that can be reached at a step, with their messages.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) states: Arc<[StateId]>,
    pub(super) messages: Vec<Weight>,
}

/// Which layers of a segment are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    First,
    All,
}

impl Layer {
    fn message(&self, state: StateId, chain_states: usize) -> Weight {
        if self.states.len() == chain_states {
            return self.messages[state.index()];
        }
        let place = self.states.binary_search(&state);
        self.messages[place.expect("a successor of a state that can be reached")]
    }
}

impl BlockWorkspace {
    /// Up to this many bytes of messages, a block is one segment.
    const KEPT_BYTES: usize = 64 << 20;

    /// Working space that cuts every block into segments of this many steps, to trade time for
    /// memory by hand. The default cuts blocks of more than 64 MiB of messages, at the square root
    /// of their length.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[must_use]
    pub fn with_segments(steps: usize) -> Self {
        assert!(steps > 0, "a segment has at least one step");
        Self { segment: Some(steps), ..Self::default() }
    }

    fn segment(&self, steps: usize, states: usize) -> usize {
        let fits = steps.saturating_mul(states * size_of::<Weight>()) <= Self::KEPT_BYTES;
        let chosen = if fits { steps } else { (steps as f64).sqrt().ceil() as usize };
        self.segment.unwrap_or(chosen).clamp(1, steps)
    }

    /// The candidates with their costs and weights, as filled last.
    pub(super) fn candidates(&self) -> &[Weighed] {
        &self.candidates
    }
}

impl BlockMechanism {
    /// Draws a block: one released state for each real one, the first a successor of `previous`.
    ///
    /// # Panics
    ///
    /// If there are more real states than a block has steps.
    ///
    /// # Complexity
    ///
    /// The transitions out of the states that can be reached, added up over the steps; twice that
    /// for blocks that are cut into segments.
    pub fn release(
        &self,
        previous: StateId,
        reals: &[StateId],
        words: &mut impl Words,
        space: &mut BlockWorkspace,
    ) -> Vec<StateId> {
        let mut released = Vec::with_capacity(reals.len());
        self.release_into(previous, reals, words, space, &mut released);
        released
    }

    /// The same, appended to `out`.
    ///
    /// # Panics
    ///
    /// If there are more real states than a block has steps.
    pub fn release_into(
        &self,
        previous: StateId,
        reals: &[StateId],
        words: &mut impl Words,
        space: &mut BlockWorkspace,
        out: &mut Vec<StateId>,
    ) {
        let most = self.length.most_steps().get() as usize;
        assert!(reals.len() <= most, "{} steps in a block of {most}", reals.len());
        if reals.is_empty() {
            return;
        }
        let segment = space.segment(reals.len(), self.model().chain().len());
        // Where each segment starts, and the messages at its end.
        let starts = self.segment_starts(previous, reals.len(), segment, space);
        let mut ends: Vec<Option<Layer>> = vec![None; starts.len()];
        for (i, reals) in reals.chunks(segment).enumerate().skip(1).rev() {
            let end = ends[i].as_ref();
            let layers = self.layers(&starts[i], reals, end, Keep::First, space);
            ends[i - 1] = layers.into_iter().next();
        }
        let mut last = previous;
        for ((start, end), reals) in starts.iter().zip(ends).zip(reals.chunks(segment)) {
            let layers = self.layers(start, reals, end.as_ref(), Keep::All, space);
            for (&real, layer) in reals.iter().zip(&layers[1..]) {
                last = self.draw(last, real, layer, words, space);
                out.push(last);
            }
        }
    }

    /// The states that can be reached at the start of every segment.
    fn segment_starts(
        &self,
        previous: StateId,
        steps: usize,
        segment: usize,
        space: &mut BlockWorkspace,
    ) -> Vec<Frontier> {
        let mut frontier = Frontier::at(previous);
        let mut starts = vec![frontier.clone()];
        for step in 1..=(steps - 1) / segment * segment {
            frontier.advance(self.model().chain(), &mut space.marks);
            if step % segment == 0 {
                starts.push(frontier.clone());
            }
        }
        starts
    }

    /// The layers of a segment, from the one before its first step to that after its last, whose
    /// messages are given, or one at the end of a block. The first layer has messages only if it is
    /// the only one that is kept.
    pub(super) fn layers(
        &self,
        start: &Frontier,
        reals: &[StateId],
        end: Option<&Layer>,
        keep: Keep,
        space: &mut BlockWorkspace,
    ) -> Vec<Layer> {
        let chain = self.model().chain();
        let mut frontier = start.clone();
        let mut sets = vec![frontier.states().clone()];
        for _ in reals {
            frontier.advance(chain, &mut space.marks);
            sets.push(frontier.states().clone());
        }
        let last = sets.pop().expect("at least the start");
        let ones = || vec![Weight::ONE; last.len()];
        let messages = end.map_or_else(ones, |layer| layer.messages.clone());
        let mut layers = vec![Layer { states: last, messages }];
        for (i, states) in sets.into_iter().enumerate().rev() {
            let after = layers.last().expect("at least the end");
            let mut messages = Vec::new();
            if i > 0 || keep == Keep::First {
                let to = (&*after.states, &*after.messages);
                self.step_back(&states, reals[i], to, &mut space.messages, &mut messages);
            }
            if keep == Keep::First {
                layers.clear();
            }
            layers.push(Layer { states, messages });
        }
        layers.reverse();
        layers
    }

    /// What every candidate costs, and the weight of all that follows it.
    pub(super) fn fill_candidates(
        &self,
        previous: StateId,
        real: StateId,
        layer: &Layer,
        space: &mut BlockWorkspace,
    ) {
        let chain = self.model().chain();
        let candidates = chain.successors(previous);
        space.distances.resize(candidates.len(), Nats::ZERO);
        self.metric().fill(previous, candidates, real, &mut space.distances);
        let moves = candidates.iter().zip(space.distances.iter().zip(chain.weights(previous)));
        space.candidates.clear();
        space.candidates.extend(moves.map(|(&y, (&d, &w))| Weighed {
            cost: self.scale.cost(d, w),
            weight: layer.message(y, chain.len()),
        }));
        let cheapest = space.candidates.iter().map(|candidate| candidate.cost).min();
        let cheapest = cheapest.expect("every state has a successor");
        space.candidates.iter_mut().for_each(|candidate| candidate.cost -= cheapest);
    }

    fn draw(
        &self,
        previous: StateId,
        real: StateId,
        layer: &Layer,
        words: &mut impl Words,
        space: &mut BlockWorkspace,
    ) -> StateId {
        self.fill_candidates(previous, real, layer, space);
        let BlockWorkspace { candidates, halvings, .. } = space;
        let taken = exponential::select_weighed(candidates, &self.coin, halvings, words);
        self.model().chain().successors(previous)[taken]
    }
}
