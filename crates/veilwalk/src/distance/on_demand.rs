//! Distances without a table, for chains too large for one.
//!
//! A step asks for the distances between a few candidates and one real state. They are near each
//! other, so a search from the real state that stops as soon as the candidates are settled sees few
//! states, however many the chain has: backward for `d(y, x)`, forward for `d(x, y)`. The searches
//! around the last real states are kept, and taken up where they stopped when the same state comes
//! again. Results are those of the table, to the last bit.
//!
//! # Complexity
//!
//! What a search sees grows with the distance of the farthest candidate. A released walk that is far
//! from the real one, because it started elsewhere, makes every step a long search.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::Edges;
use super::computed::Computed;
use super::line::Line;
use super::metric::Metric;
use super::resumable_search::ResumableSearch;
use crate::chain::{Chain, StateId};
use crate::nats::Nats;

/// How many states the searches that are kept for each thread may have seen in all.
///
/// Each takes about 30 bytes. The two searches used last are kept however large they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSize(pub usize);

impl Default for CacheSize {
    /// A quarter of a million: about eight megabytes a thread.
    fn default() -> Self {
        Self(1 << 18)
    }
}

/// Answers what a table would, by searching.
#[derive(Debug)]
pub struct OnDemand {
    incoming: Edges,
    outgoing: Edges,
    cache_size: CacheSize,
    /// The caches that no thread is using. Each thread takes one for a step and puts it back.
    idle: Mutex<Vec<Cache>>,
    /// Straight lines need no search: they are computed.
    lines: Option<Computed>,
}

/// `d(y, x)` by searching backward from the real state.
#[derive(Clone, Debug)]
pub struct SearchedDirected(pub Arc<OnDemand>);

/// `max(d(y, x), d(x, y))` by searching both ways.
#[derive(Clone, Debug)]
pub struct SearchedSymmetric(pub Arc<OnDemand>);

impl Metric for SearchedDirected {
    fn fill(&self, _: StateId, candidates: &[StateId], real: StateId, out: &mut [Nats]) {
        self.0.fill_directed(candidates, real, out);
    }
}

impl Metric for SearchedSymmetric {
    fn fill(&self, _: StateId, candidates: &[StateId], real: StateId, out: &mut [Nats]) {
        self.0.fill_symmetric(candidates, real, out);
    }
}

impl OnDemand {
    /// Gets ready to search a chain.
    #[must_use]
    pub fn new(chain: &Chain, cache_size: CacheSize) -> Self {
        Self::with_incoming(chain, Edges::incoming(chain), cache_size)
    }

    /// The same with the chain's incoming transitions turned around already.
    pub(crate) fn with_incoming(chain: &Chain, incoming: Edges, cache_size: CacheSize) -> Self {
        let outgoing = Edges::outgoing(chain);
        Self { incoming, outgoing, cache_size, idle: Mutex::default(), lines: None }
    }

    /// Straight lines between the states of a chain.
    pub(crate) fn of_lines(chain: &Chain, incoming: Edges, line: Line) -> Self {
        let lines = Some(Computed::new(line));
        Self { lines, ..Self::with_incoming(chain, incoming, CacheSize::default()) }
    }

    /// Whether an answer takes no search.
    #[must_use]
    pub fn is_quick(&self) -> bool {
        self.lines.is_some()
    }

    /// The same on a graph without directions.
    pub(crate) fn undirected(edges: Edges, cache_size: CacheSize) -> Self {
        let (outgoing, idle) = (edges.clone(), Mutex::default());
        Self { outgoing, incoming: edges, cache_size, idle, lines: None }
    }

    /// The chain's transitions turned around.
    #[must_use]
    pub fn incoming(&self) -> &Edges {
        &self.incoming
    }

    pub(crate) fn set_cache_size(&mut self, cache_size: CacheSize) {
        self.cache_size = cache_size;
    }

    /// Writes `d(y, x)` for each candidate `y`.
    pub fn fill_directed(&self, candidates: &[StateId], real: StateId, out: &mut [Nats]) {
        if let Some(lines) = &self.lines {
            return fill(lines, candidates, real, out);
        }
        self.with_cache(real, |around| {
            for (slot, &y) in out.iter_mut().zip(candidates) {
                *slot = around.to.distance(&self.incoming, y);
            }
        });
    }

    /// Writes `max(d(y, x), d(x, y))` for each candidate `y`.
    pub fn fill_symmetric(&self, candidates: &[StateId], real: StateId, out: &mut [Nats]) {
        if let Some(lines) = &self.lines {
            return fill(lines, candidates, real, out);
        }
        self.with_cache(real, |around| {
            for (slot, &y) in out.iter_mut().zip(candidates) {
                let to = around.to.distance(&self.incoming, y);
                *slot = to.max(around.from.distance(&self.outgoing, y));
            }
        });
    }

    /// The symmetric distance of two states.
    #[must_use]
    pub fn symmetric(&self, x: StateId, other: StateId) -> Nats {
        let mut out = [Nats::ZERO];
        self.fill_symmetric(&[other], x, &mut out);
        out[0]
    }

    /// The states within `reach` of `x` by the symmetric distance, `x` among them, in no particular
    /// order.
    #[must_use]
    pub fn within(&self, x: StateId, reach: Nats) -> Vec<(StateId, Nats)> {
        if let Some(lines) = &self.lines {
            return lines.within(x, reach);
        }
        let mut around = Around::default();
        around.restart(x);
        self.within_of(&mut around, reach).collect()
    }

    fn within_of(&self, around: &mut Around, reach: Nats) -> impl Iterator<Item = (StateId, Nats)> {
        around.to.reach(&self.incoming, reach);
        around.from.reach(&self.outgoing, reach);
        let Around { to, from, .. } = around;
        to.seen().filter_map(move |(y, there)| {
            let back = from.known(y)?;
            let apart = there.max(back);
            (apart <= reach).then_some((y, apart))
        })
    }

    /// How many other states are within `reach` of each of these.
    #[must_use]
    pub fn count_within(&self, states: std::ops::Range<usize>, reach: Nats) -> Vec<usize> {
        if let Some(lines) = &self.lines {
            return lines.count_within(states, reach);
        }
        let count = |around: &mut Around, x: usize| {
            around.restart(StateId::new(x));
            match reach {
                // Everything is within the ceiling, what no search reaches too.
                Nats::MAX => self.incoming.states() - 1,
                _ => self.within_of(around, reach).count() - 1,
            }
        };
        states.into_par_iter().map_init(Around::default, count).collect()
    }

    /// The nearest other state of each of these, by the symmetric distance; of equally near ones the
    /// first. `None` on a chain of one state.
    #[must_use]
    pub fn nearest(&self, states: std::ops::Range<usize>) -> Option<Vec<(Nats, StateId)>> {
        if let Some(lines) = &self.lines {
            let nearest = |x: usize| lines.nearest_of(StateId::new(x));
            return states.into_par_iter().map(nearest).collect();
        }
        let nearest = |around: &mut Around, x: usize| self.nearest_of(around, x, Nats::MAX);
        states.into_par_iter().map_init(Around::default, nearest).collect()
    }

    /// The two different states that are closest by the symmetric distance: (from, to, distance).
    /// `None` for a chain of one state.
    #[must_use]
    pub fn closest_pair(&self) -> Option<(StateId, StateId, Nats)> {
        if let Some(lines) = &self.lines {
            return lines.closest_pair();
        }
        // Whatever is farther than the best so far needs no look, whoever found that.
        let best = AtomicU32::new(u32::MAX);
        (0..self.incoming.states())
            .into_par_iter()
            .map_init(Around::default, |around, x| {
                let bound = Nats::from_units(best.load(Ordering::Relaxed));
                let (apart, y) = self.nearest_of(around, x, bound)?;
                best.fetch_min(apart.units(), Ordering::Relaxed);
                Some((apart, x, y))
            })
            .flatten()
            .min()
            .map(|(apart, x, y)| (y, StateId::new(x), apart))
    }

    /// The nearest other state of `x`, if it is within `bound`.
    fn nearest_of(&self, around: &mut Around, x: usize, bound: Nats) -> Option<(Nats, StateId)> {
        let x = StateId::new(x);
        around.restart(x);
        let Around { to, from, .. } = around;
        let mut best: Option<(Nats, StateId)> = None;
        loop {
            let limit = best.map_or(bound, |(apart, _)| apart);
            // The nearer of the two fronts goes on. A state that both have taken is found by the
            // second of them.
            let (there, back) = (to.next(), from.next());
            let first = there.unwrap_or(Nats::MAX) <= back.unwrap_or(Nats::MAX);
            let (taken, other) = match first && there.is_some() || back.is_none() {
                true if there.is_none_or(|next| next > limit) => break,
                true => (to.settle_next(&self.incoming), &*from),
                false if back.is_none_or(|next| next > limit) => break,
                false => (from.settle_next(&self.outgoing), &*to),
            };
            let Some((distance, y)) = taken.filter(|&(_, y)| y != x) else { continue };
            if let Some(apart) = other.known(y).map(|other| other.max(distance))
                && apart <= limit
                && best.is_none_or(|best| (apart, y) < best)
            {
                best = Some((apart, y));
            }
        }
        if best.is_none() && bound == Nats::MAX && self.incoming.states() > 1 {
            // All others are beyond the ceiling.
            return Some((Nats::MAX, StateId::new(usize::from(x.index() == 0))));
        }
        best
    }

    /// How many states all searches have seen so far, for measurements. Searches under way are left
    /// out.
    #[must_use]
    pub fn states_seen(&self) -> u64 {
        self.idle().iter().map(|cache| cache.seen).sum()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Cache>> {
        // A thread that panicked has taken its own cache with it, and left the list whole.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_cache(&self, real: StateId, work: impl FnOnce(&mut Around)) {
        let mut cache = self.idle().pop().unwrap_or_default();
        cache.around(real, self.cache_size, work);
        self.idle().push(cache);
    }
}

fn fill(lines: &Computed, candidates: &[StateId], real: StateId, out: &mut [Nats]) {
    for (slot, &y) in out.iter_mut().zip(candidates) {
        *slot = lines.between(y, real);
    }
}

/// The searches to and from one state.
#[derive(Debug, Default)]
struct Around {
    real: Option<StateId>,
    to: ResumableSearch,
    from: ResumableSearch,
}

impl Around {
    fn restart(&mut self, real: StateId) {
        self.real = Some(real);
        self.to.restart(real);
        self.from.restart(real);
    }

    fn len(&self) -> usize {
        self.to.len() + self.from.len()
    }
}

/// The searches of one thread, by real state.
#[derive(Debug, Default)]
struct Cache {
    kept: Vec<Around>,
    by_real: HashMap<StateId, usize>,
    /// Places in `kept`, the one that was started first in front.
    order: VecDeque<usize>,
    /// Places that may be used again.
    free: Vec<usize>,
    /// What those in `order` have seen.
    held: usize,
    /// What all have seen, over time.
    seen: u64,
}

impl Cache {
    const ALWAYS_KEPT: usize = 2;

    fn around(&mut self, real: StateId, size: CacheSize, work: impl FnOnce(&mut Around)) {
        let place = match self.by_real.get(&real) {
            Some(&place) => place,
            None => self.start(real),
        };
        let around = &mut self.kept[place];
        let before = around.len();
        work(around);
        let more = around.len() - before;
        self.held += more;
        self.seen += more as u64;
        while self.held > size.0 && self.order.len() > Self::ALWAYS_KEPT {
            let oldest = self.order.pop_front().expect("more than those always kept");
            self.held -= self.kept[oldest].len();
            let real = self.kept[oldest].real.expect("it was started");
            self.by_real.remove(&real);
            self.free.push(oldest);
        }
    }

    fn start(&mut self, real: StateId) -> usize {
        let place = self.free.pop().unwrap_or_else(|| {
            self.kept.push(Around::default());
            self.kept.len() - 1
        });
        self.kept[place].restart(real);
        self.held += self.kept[place].len();
        self.by_real.insert(real, place);
        self.order.push_back(place);
        place
    }
}
