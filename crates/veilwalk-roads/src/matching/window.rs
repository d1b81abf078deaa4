//! The positions of a piece about which something is open: their streets, and how each was best reached.
//!
//! What all streets of the last position have in common is certain, and leaves. The window is never longer than
//! [`Window::MOST`] positions: then the best street of the last one is taken for certain.

use std::collections::VecDeque;

use veilwalk::StateId;
use veilwalk::chain::Coordinates;

use super::Found;
use super::group::Group;
use crate::streets::{Nearby, Streets};

/// A street that somebody may be on.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) near: Nearby,
    /// How well it fits all positions up to here.
    pub(super) score: f64,
    /// The candidate of the position before, and the way from it. Nothing at the start of the window.
    before: Option<(usize, Way)>,
}

/// How a street is reached from the one before.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// It is the same.
    Same,
    /// It is the other direction of the same.
    Back,
    /// Over these, the last of which it is.
    Over(Vec<u32>),
}

/// Positions and the streets near them.
#[derive(Debug)]
pub(super) struct Layer {
    group: Group,
    candidates: Vec<Candidate>,
}

impl Layer {
    /// The first of a piece.
    pub(super) fn first(group: Group, near: Vec<Nearby>, fit: impl Fn(&Nearby) -> f64) -> Self {
        let candidate = |near: Nearby| Candidate { score: fit(&near), near, before: None };
        Self { group, candidates: near.into_iter().map(candidate).collect() }
    }

    /// One to which ways are yet to be found.
    pub(super) fn after(group: Group, near: Vec<Nearby>) -> Self {
        Self::first(group, near, |_| f64::NEG_INFINITY)
    }

    pub(super) fn place(&self) -> Coordinates {
        self.group.place()
    }

    /// When the last of the positions was.
    pub(super) fn until(&self) -> i64 {
        self.group.until()
    }

    /// The street that fits best.
    pub(super) fn best(&self) -> Nearby {
        self.near(self.number_of_best())
    }

    pub(super) fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter()
    }

    pub(super) fn states(&self) -> impl Iterator<Item = u32> {
        self.candidates.iter().map(|candidate| candidate.near.state.index() as u32)
    }

    pub(super) fn near(&self, at: usize) -> Nearby {
        self.candidates[at].near
    }

    /// Offers a way to a candidate, which it takes if it is the best so far.
    pub(super) fn offer(
        &mut self,
        at: usize,
        score: f64,
        before: usize,
        way: impl FnOnce() -> Way,
    ) {
        let candidate = &mut self.candidates[at];
        if score > candidate.score {
            candidate.score = score;
            candidate.before = Some((before, way()));
        }
    }

    /// Without the candidates that nothing leads to; `None` if nothing is left.
    pub(super) fn settled(mut self) -> Option<Self> {
        self.candidates.retain(|candidate| candidate.before.is_some());
        let best = self.candidates.iter().map(|candidate| candidate.score).reduce(f64::max)?;
        // Only differences matter, and so sums stay small.
        self.candidates.iter_mut().for_each(|candidate| candidate.score -= best);
        Some(self)
    }

    fn number_of_best(&self) -> usize {
        let scores = self.candidates.iter().map(|candidate| candidate.score).enumerate();
        // The first of those that are alike.
        scores.fold((0, f64::NEG_INFINITY), |best, new| if new.1 > best.1 { new } else { best }).0
    }
}

/// The positions that something is open about.
#[derive(Debug, Default)]
pub(super) struct Window {
    layers: VecDeque<Layer>,
    /// Whether what is first in the window was given out.
    begun: bool,
    /// Positions until it is looked what is certain.
    patience: usize,
}

impl Window {
    const MOST: usize = 512;
    const LOOK_EVERY: usize = 8;

    pub(super) fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    pub(super) fn last(&self) -> Option<&Layer> {
        self.layers.back()
    }

    pub(super) fn until(&self) -> Option<i64> {
        self.last().map(Layer::until)
    }

    pub(super) fn best(&self) -> Option<Nearby> {
        self.last().map(Layer::best)
    }

    pub(super) fn begin(&mut self, layer: Layer) {
        debug_assert!(self.layers.is_empty());
        self.begun = false;
        self.layers.push_back(layer);
    }

    /// Adds a position, and gives out what is certain now.
    pub(super) fn push(&mut self, layer: Layer, streets: &Streets, found: &mut Vec<Found>) {
        self.layers.push_back(layer);
        if self.layers.len() >= Self::MOST {
            let last = self.layers.len() - 1;
            let best = self.layers[last].number_of_best();
            self.give((last, best), streets, found);
            self.patience = Self::LOOK_EVERY;
        } else if self.patience == 0 {
            if let Some(certain) = self.certain() {
                self.give(certain, streets, found);
            }
            self.patience = Self::LOOK_EVERY;
        }
        self.patience -= 1;
    }

    /// Gives out everything, by the best street of the last position.
    pub(super) fn give_all(&mut self, streets: &Streets, found: &mut Vec<Found>) {
        if let Some(last) = self.layers.len().checked_sub(1) {
            let best = self.layers[last].number_of_best();
            self.give((last, best), streets, found);
        }
        self.layers.clear();
        (self.begun, self.patience) = (false, 0);
    }

    /// The latest position, after the first, at which all ways go over one candidate.
    fn certain(&self) -> Option<(usize, usize)> {
        let last = self.layers.len() - 1;
        let mut of: Vec<usize> = (0..self.layers[last].candidates.len()).collect();
        for at in (1..=last).rev() {
            if let [only] = of[..] {
                return Some((at, only));
            }
            let before = |&candidate: &usize| {
                let before = self.layers[at].candidates[candidate].before.as_ref();
                before.map_or(0, |(before, _)| *before)
            };
            of = of.iter().map(before).collect();
            of.sort_unstable();
            of.dedup();
        }
        None
    }

    /// Gives out the way to a candidate, which stays as the first of the window.
    fn give(&mut self, (at, candidate): (usize, usize), streets: &Streets, found: &mut Vec<Found>) {
        let mut chosen = vec![candidate];
        for layer in (1..=at).rev() {
            let last = chosen[chosen.len() - 1];
            let before = self.layers[layer].candidates[last].before.as_ref();
            chosen.push(before.map_or(0, |(before, _)| *before));
        }
        chosen.reverse();
        let mut previous: Option<(Nearby, i64)> = None;
        for (layer, &candidate) in self.layers.iter().zip(&chosen) {
            let Candidate { near, before, .. } = &layer.candidates[candidate];
            let moment = layer.group.moment();
            match (previous, before) {
                (None, _) if !self.begun => found.push(Found::Begins { state: near.state, moment }),
                (None, _) => {}
                (Some((from, left)), Some((_, way))) => {
                    enter(way, (from, left), (*near, moment), streets, found);
                }
                (Some(_), None) => {}
            }
            let stays = layer.group.stays().iter();
            found.extend(stays.map(|&moment| Found::Stays { state: near.state, moment }));
            previous = Some((*near, layer.until()));
        }
        self.layers.drain(..at);
        if let Some(first) = self.layers.front_mut() {
            let mut kept = first.candidates.swap_remove(candidate);
            kept.before = None;
            first.candidates = vec![kept];
            // Of its positions only the time of the last matters from here on.
            first.group.forget_all_but_the_last();
        }
        for layer in self.layers.iter_mut().skip(1).take(1) {
            layer.candidates.iter_mut().for_each(|candidate| {
                if let Some((before, _)) = &mut candidate.before {
                    *before = 0;
                }
            });
        }
        self.begun = true;
    }
}

/// Adds what happens between two positions, with moments as if the speed had been even.
fn enter(
    way: &Way,
    (from, left): (Nearby, i64),
    (to, reached): (Nearby, i64),
    streets: &Streets,
    found: &mut Vec<Found>,
) {
    match way {
        Way::Same => {}
        Way::Back => return found.push(Found::TurnsBack { state: to.state, moment: reached }),
        Way::Over(states) => {
            let start = streets.line(from.state.index() as u32).length() - from.offset;
            let start = start.max(0.0);
            let (_, inner) = states.split_last().expect("a way ends somewhere");
            let inner: f64 = inner.iter().map(|&state| streets.line(state).length()).sum();
            let whole = start + inner + to.offset;
            let mut far = start;
            for &state in states {
                let share = if whole > 0.0 { far / whole } else { 1.0 };
                let moment = left + ((reached - left) as f64 * share) as i64;
                found.push(Found::Enters { state: StateId::new(state as usize), moment });
                far += streets.line(state).length();
            }
        }
    }
    found.push(Found::Stays { state: to.state, moment: reached });
}
