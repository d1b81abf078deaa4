//! The walks that are in memory: those that were used last, up to a number.
//!
//! Two generations stand in for an order by use. A walk that is used moves to the young one. When that holds half of
//! what is allowed, the old one is dropped and the young one takes its place. So what was used among the
//! last half is always there, and nothing is ever searched for the oldest.
//!
//! A walk in which real states wait is nowhere else, so it stays however many there are.

use std::collections::HashMap;

use veilwalk::session::Walk;

use crate::request::WalkName;

/// An open walk in memory.
#[derive(Clone, Debug)]
pub(crate) struct Cached {
    /// Its row in the store.
    pub(crate) row: i64,
    /// How many steps were taken.
    pub(crate) steps: u64,
    /// When it was last used, as the store has it.
    pub(crate) seen: i64,
    pub(crate) walk: Walk,
}

#[derive(Debug)]
pub(crate) struct Cache {
    young: HashMap<WalkName, Cached>,
    old: HashMap<WalkName, Cached>,
    /// Those that would have been dropped, and have real states waiting.
    waiting: HashMap<WalkName, Cached>,
    /// How many the young generation holds at most between batches.
    half: usize,
}

impl Cache {
    pub(crate) fn new(most: usize) -> Self {
        let (young, old, waiting) = Default::default();
        Self { young, old, waiting, half: (most / 2).max(1) }
    }

    pub(crate) fn get(&mut self, name: &WalkName) -> Option<&mut Cached> {
        let found = self.old.remove_entry(name).or_else(|| self.waiting.remove_entry(name));
        if let Some((name, cached)) = found {
            self.young.insert(name, cached);
        }
        self.young.get_mut(name)
    }

    pub(crate) fn insert(&mut self, name: WalkName, cached: Cached) -> &mut Cached {
        self.young.entry(name).insert_entry(cached).into_mut()
    }

    pub(crate) fn remove(&mut self, name: &WalkName) -> Option<Cached> {
        let old = self.old.remove(name);
        let waiting = self.waiting.remove(name);
        self.young.remove(name).or(old).or(waiting)
    }

    /// Makes room, between batches: a walk that was changed stays until it is written.
    pub(crate) fn trim(&mut self) {
        if self.young.len() > self.half {
            let dropped = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
            self.keep_waiting(dropped);
            // What one batch brought beyond the limit.
            if self.old.len() > 2 * self.half {
                let dropped = std::mem::take(&mut self.old);
                self.keep_waiting(dropped);
            }
        }
    }

    fn keep_waiting(&mut self, dropped: HashMap<WalkName, Cached>) {
        let waits = |(_, cached): &(_, Cached)| cached.walk.waiting_reals() > 0;
        self.waiting.extend(dropped.into_iter().filter(waits));
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len() + self.waiting.len()
    }
}
