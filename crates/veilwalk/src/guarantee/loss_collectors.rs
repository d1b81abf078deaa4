//! Losses of pairs as they come, sorted by what they are good for.

use super::loss::promised_reach;
use super::pairs::Pairs;
use super::running_loss::{Entry, Tally};
use super::walk_loss::WalkLoss;
use crate::mechanism::{Mechanism, Promise, Unit};
use crate::nats::Nats;

/// Something that takes in pairs, and what another of its kind has taken in.
pub(super) trait Collect: Send {
    fn add(&mut self, entry: Entry);
    fn merge(&mut self, later: &Self);
}

/// Losses of pairs, sorted by what they are good for.
pub(super) struct Collected<'a> {
    promise: Option<Promise>,
    reach: Option<Nats>,
    /// Every pair.
    pub(super) any: Tally,
    /// Pairs within the promised radius.
    pub(super) within: Tally,
    walk: Option<WalkLoss>,
    /// Pairs to tally on their own.
    listed: Option<&'a Pairs>,
    pub(super) feasible: Tally,
}

impl<'a> Collected<'a> {
    pub(super) fn new(mechanism: &Mechanism, listed: Option<&'a Pairs>) -> Self {
        let reach = promised_reach(mechanism);
        Self {
            promise: mechanism.promise(),
            reach,
            any: Tally::default(),
            within: Tally::default(),
            walk: reach.map(WalkLoss::new),
            listed,
            feasible: Tally::default(),
        }
    }

    /// The largest loss of two adjacent walks, under the mechanism's promise.
    pub(super) fn walk_loss(&self) -> Option<f64> {
        match self.promise?.unit {
            Unit::Substitutions(b) => Some((self.any.max() * f64::from(b.get())).next_up()),
            Unit::Radius(radius) => {
                self.walk.as_ref().map(|walk| walk.bound(radius.value().as_f64()))
            }
        }
    }
}

impl Collect for Collected<'_> {
    fn add(&mut self, entry: Entry) {
        self.any.add(entry);
        if self.reach.is_some_and(|reach| entry.distance <= reach) {
            self.within.add(entry);
            if let Some(walk) = &mut self.walk {
                walk.add(entry);
            }
        }
        if self.listed.is_some_and(|pairs| pairs.place(entry.x, entry.other).is_some()) {
            self.feasible.add(entry);
        }
    }

    fn merge(&mut self, later: &Self) {
        self.any.merge(&later.any);
        self.within.merge(&later.within);
        self.feasible.merge(&later.feasible);
        if let (Some(walk), Some(later)) = (&mut self.walk, &later.walk) {
            walk.merge(later);
        }
    }
}
