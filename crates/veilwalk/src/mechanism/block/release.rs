//! Drawing a block: messages backward, then states forward.
//!
//! A long block on a large chain has more messages than fit memory, so it is cut into segments.
//! Messages are kept at the segments' ends and, one segment at a time, computed again in between:
//! segments of √L steps need room for about 2√L steps' messages, and take up to twice the time. What
//! is drawn is the same, bit for bit, however a block is cut. (Segments are no borders: the block is
//! still drawn as a whole.)

use std::sync::Arc;

use super::messages::MessageSpace;
use super::reach::Frontier;
use super::weight::Weight;
use super::{BlockLength, Sampler};
use crate::chain::StateId;
use crate::mechanism::exponential::{self, Weighed};
use crate::mechanism::response::Response;
use crate::mechanism::{Mechanism, NoPrivateStart, Workspace};
use crate::nats::Nats;
use crate::random::Words;

/// What blocks need of a [`Workspace`] beyond what steps do.
#[derive(Clone, Debug, Default)]
pub(in crate::mechanism) struct BlockSpace {
    segment: Option<usize>,
    messages: MessageSpace,
    marks: Vec<bool>,
    /// The candidates with their costs and weights, as filled last.
    pub(super) candidates: Vec<Weighed>,
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
    /// The first alone, with its messages.
    First,
    /// All, and no messages for the first, which is the state that was released last.
    All,
    /// All with their messages: the first state is still to be drawn.
    AllWithFirst,
}

/// Where a block begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum From {
    /// At a state that is drawn near this real one, and released with the block.
    Start(StateId),
    /// After this state, which was released before.
    After(StateId),
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

impl Workspace {
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
        let mut space = Self::default();
        space.block.segment = Some(steps);
        space
    }
}

impl BlockSpace {
    /// Up to this many bytes of messages, a block is one segment.
    const KEPT_BYTES: usize = 64 << 20;

    fn segment(&self, steps: usize, states: usize) -> usize {
        let fits = steps.saturating_mul(states * size_of::<Weight>()) <= Self::KEPT_BYTES;
        let chosen = if fits { steps } else { (steps as f64).sqrt().ceil() as usize };
        self.segment.unwrap_or(chosen).clamp(1, steps)
    }
}

impl Mechanism {
    /// Appends to `out` what is released for these real states after `previous` was, step by step or
    /// in blocks: the first block begins with the first of them.
    ///
    /// # Panics
    ///
    /// If walks are released as a whole, and there are more real states than that allows for.
    ///
    /// # Complexity
    ///
    /// In blocks, the transitions out of the states that can be reached, added up over the steps;
    /// twice that for blocks that are cut into segments.
    pub fn release_after(
        &self,
        mut previous: StateId,
        reals: &[StateId],
        words: &mut impl Words,
        space: &mut Workspace,
        out: &mut Vec<StateId>,
    ) {
        let Some(sampler) = self.sampler() else {
            for &real in reals {
                previous = self.step(previous, real, words, space);
                out.push(previous);
            }
            return;
        };
        let together = match sampler.blocks.length {
            BlockLength::Steps(steps) => steps.get() as usize,
            BlockLength::Whole { .. } => reals.len().max(1),
        };
        for block in reals.chunks(together) {
            sampler.release_into(From::After(previous), block, words, space, out);
            previous = *out.last().expect("a block has a step");
        }
    }

    /// Appends to `out` what is released for a walk with these real states, from a private start: step by
    /// step or in blocks, of which the first begins with the first state.
    ///
    /// # Errors
    ///
    /// If the mechanism cannot start privately.
    ///
    /// # Panics
    ///
    /// If walks are released as a whole, and there are more real states than that allows for.
    pub fn release_from_start(
        &self,
        reals: &[StateId],
        words: &mut impl Words,
        space: &mut Workspace,
        out: &mut Vec<StateId>,
    ) -> Result<(), NoPrivateStart> {
        let Some((&first, _)) = reals.split_first() else { return Ok(()) };
        let response = self.private_start()?.clone();
        let mut taken = 1;
        match self.sampler().filter(|_| self.starts_in_a_block()) {
            None => out.push(response.draw(first, words)),
            Some(sampler) => {
                taken = reals.len().min(sampler.blocks.length.most_steps().get() as usize);
                sampler.release_into(From::Start(first), &reals[1..taken], words, space, out);
            }
        }
        let last = *out.last().expect("the first state");
        self.release_after(last, &reals[taken..], words, space, out);
        Ok(())
    }
}

impl Sampler<'_> {
    /// Draws a block: one released state for each real one, after the state that was released last or
    /// with the first state before them.
    fn release_into(
        &self,
        from: From,
        reals: &[StateId],
        words: &mut impl Words,
        space: &mut Workspace,
        out: &mut Vec<StateId>,
    ) {
        self.check_length(reals);
        let mut last = match from {
            From::After(previous) => Some(previous),
            From::Start(_) => None,
        };
        if let (true, From::Start(first)) = (reals.is_empty(), from) {
            let states = self.frontier(from).states().clone();
            let messages = vec![Weight::ONE; states.len()];
            out.push(self.draw_first(first, &Layer { states, messages }, words, space));
        }
        if reals.is_empty() {
            return;
        }
        let segment = space.block.segment(reals.len(), self.model().chain().len());
        // Where each segment starts, and the messages at its end.
        let starts = self.segment_starts(from, reals.len(), segment, space);
        let mut ends: Vec<Option<Layer>> = vec![None; starts.len()];
        for (i, reals) in reals.chunks(segment).enumerate().skip(1).rev() {
            let end = ends[i].as_ref();
            let layers = self.layers(&starts[i], reals, end, Keep::First, space);
            ends[i - 1] = layers.into_iter().next();
        }
        for ((start, end), reals) in starts.iter().zip(ends).zip(reals.chunks(segment)) {
            let keep = if last.is_none() { Keep::AllWithFirst } else { Keep::All };
            let layers = self.layers(start, reals, end.as_ref(), keep, space);
            let mut here = match (last, from) {
                (Some(last), _) | (None, From::After(last)) => last,
                (None, From::Start(first)) => {
                    let drawn = self.draw_first(first, &layers[0], words, space);
                    out.push(drawn);
                    drawn
                }
            };
            for (&real, layer) in reals.iter().zip(&layers[1..]) {
                here = self.draw(here, real, layer, words, space);
                out.push(here);
            }
            last = Some(here);
        }
    }

    /// The states that a block can begin with.
    pub(super) fn frontier(&self, from: From) -> Frontier {
        match from {
            From::After(previous) => Frontier::at(previous),
            From::Start(_) => Frontier::of(self.private_start().candidates().into()),
        }
    }

    fn private_start(&self) -> &Response {
        // Whoever draws a first state has asked for it before.
        self.mechanism.private_start().expect("a mechanism that can start privately")
    }

    /// The states that can be reached at the start of every segment.
    fn segment_starts(
        &self,
        from: From,
        steps: usize,
        segment: usize,
        space: &mut Workspace,
    ) -> Vec<Frontier> {
        let mut frontier = self.frontier(from);
        let mut starts = vec![frontier.clone()];
        for step in 1..=(steps - 1) / segment * segment {
            frontier.advance(self.model().chain(), &mut space.block.marks);
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
        space: &mut Workspace,
    ) -> Vec<Layer> {
        let chain = self.model().chain();
        let mut frontier = start.clone();
        let mut sets = vec![frontier.states().clone()];
        for _ in reals {
            frontier.advance(chain, &mut space.block.marks);
            sets.push(frontier.states().clone());
        }
        let last = sets.pop().expect("at least the start");
        let ones = || vec![Weight::ONE; last.len()];
        let messages = end.map_or_else(ones, |layer| layer.messages.clone());
        let mut layers = vec![Layer { states: last, messages }];
        for (i, states) in sets.into_iter().enumerate().rev() {
            let after = layers.last().expect("at least the end");
            let mut messages = Vec::new();
            if i > 0 || keep != Keep::All {
                let to = (&*after.states, &*after.messages);
                self.step_back(&states, reals[i], to, &mut space.block.messages, &mut messages);
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
        space: &mut Workspace,
    ) {
        let chain = self.model().chain();
        let candidates = chain.successors(previous);
        space.distances.resize(candidates.len(), Nats::ZERO);
        self.metric().fill(previous, candidates, real, &mut space.distances);
        let moves = candidates.iter().zip(space.distances.iter().zip(chain.weights(previous)));
        let (scale, weighed) = (self.mechanism.scale(previous), &mut space.block.candidates);
        weighed.clear();
        weighed.extend(moves.map(|(&y, (&d, &w))| Weighed {
            cost: scale.cost(d, w),
            weight: layer.message(y, chain.len()),
        }));
        let cheapest = weighed.iter().map(|candidate| candidate.cost).min();
        let cheapest = cheapest.expect("every state has a successor");
        weighed.iter_mut().for_each(|candidate| candidate.cost -= cheapest);
    }

    /// What every first state costs, and the weight of all that follows it.
    pub(super) fn fill_first_candidates(
        &self,
        real: StateId,
        layer: &Layer,
        space: &mut Workspace,
    ) {
        self.private_start().fill_costs(real, &mut space.costs);
        let cheapest = space.costs.iter().copied().min().unwrap_or(0);
        let weighed = &mut space.block.candidates;
        weighed.clear();
        let costs = space.costs.iter().zip(&layer.messages);
        weighed.extend(costs.map(|(&cost, &weight)| Weighed { cost: cost - cheapest, weight }));
    }

    fn draw_first(
        &self,
        real: StateId,
        layer: &Layer,
        words: &mut impl Words,
        space: &mut Workspace,
    ) -> StateId {
        self.fill_first_candidates(real, layer, space);
        let Workspace { block, halvings, .. } = space;
        let coin = &self.private_start().coin();
        layer.states[exponential::select_weighed(&block.candidates, coin, halvings, words)]
    }

    fn draw(
        &self,
        previous: StateId,
        real: StateId,
        layer: &Layer,
        words: &mut impl Words,
        space: &mut Workspace,
    ) -> StateId {
        self.fill_candidates(previous, real, layer, space);
        let Workspace { block, halvings, .. } = space;
        let coin = &self.mechanism.scale_after(previous).coin;
        let taken = exponential::select_weighed(&block.candidates, coin, halvings, words);
        self.model().chain().successors(previous)[taken]
    }
}
