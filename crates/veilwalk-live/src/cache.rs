//! The walks that are in memory: those that were used last, up to a number.
//!
//! Two generations stand in for an order by use. A walk that is used moves to the young one. When that holds half of
//! what is allowed, the old one is dropped and the young one takes its place. So what was used among the
//! last half is always there, and nothing is ever searched for the oldest.

use std::collections::HashMap;

use veilwalk::session::Walk;

use crate::request::WalkName;

/// An open walk in memory.
#[derive(Debug)]
pub(crate) struct Cached {
    /// Its row in the store.
    pub(crate) row: i64,
    /// How many steps were answered.
    pub(crate) steps: u64,
    /// When it was last used, as the store has it.
    pub(crate) seen: i64,
    pub(crate) walk: Walk,
}

#[derive(Debug)]
pub(crate) struct Cache {
    young: HashMap<WalkName, Cached>,
    old: HashMap<WalkName, Cached>,
    /// How many the young generation holds at most between batches.
    half: usize,
}

impl Cache {
    pub(crate) fn new(most: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), half: (most / 2).max(1) }
    }

    pub(crate) fn get(&mut self, name: &WalkName) -> Option<&mut Cached> {
        if let Some((name, cached)) = self.old.remove_entry(name) {
            self.young.insert(name, cached);
        }
        self.young.get_mut(name)
    }

    pub(crate) fn insert(&mut self, name: WalkName, cached: Cached) -> &mut Cached {
        self.young.entry(name).insert_entry(cached).into_mut()
    }

    pub(crate) fn remove(&mut self, name: &WalkName) -> Option<Cached> {
        let old = self.old.remove(name);
        self.young.remove(name).or(old)
    }

    /// Makes room, between batches: a walk that was changed stays until it is written.
    pub(crate) fn trim(&mut self) {
        if self.young.len() > self.half {
            self.old = std::mem::take(&mut self.young);
            // What one batch brought beyond the limit.
            if self.old.len() > 2 * self.half {
                self.old = HashMap::new();
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}
