//! Losses of pairs as they come, sorted by what they are good for.

use super::loss::FirstStateLoss;
use super::loss::promised_reach;
use super::pairs::Pairs;
use super::running_loss::{Entry, Tally};
use super::walk_loss::WalkLoss;
use crate::mechanism::{Mechanism, Promise, Unit};
use crate::nats::Nats;
use crate::rounding::below;

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

    /// What the steps leave to the first state for each nat, under a promise within a radius.
    pub(super) fn spare_per_nat(&self) -> Option<f64> {
        let promise = self.promise?;
        let Unit::Radius(radius) = promise.unit else { return None };
        let (epsilon, radius) = (below(promise.epsilon.value()), radius.value().as_f64());
        self.walk.as_ref().map(|walk| walk.spare_per_nat(epsilon, radius))
    }

    /// The largest loss of two adjacent walks that do not differ in their first state, under the
    /// mechanism's promise.
    pub(super) fn walk_loss(&self) -> Option<f64> {
        match self.promise?.unit {
            Unit::Substitutions(b) => Some((self.any.max() * f64::from(b.get())).next_up()),
            Unit::Radius(radius) => {
                self.walk.as_ref().map(|walk| walk.bound(radius.value().as_f64()))
            }
        }
    }

    /// The same for any two adjacent walks, when their first states lose this much.
    pub(super) fn walk_loss_from_start(&self, first: FirstStateLoss) -> Option<f64> {
        let steps = self.walk_loss()?;
        let from_start = match (self.promise?.unit, first) {
            (Unit::Substitutions(b), FirstStateLoss { max, .. }) => {
                max.max(self.any.max()) * f64::from(b.get())
            }
            (Unit::Radius(radius), FirstStateLoss { per_nat: Some(per_nat), .. }) => {
                let walk = self.walk.as_ref()?;
                walk.bound_from_start(per_nat, radius.value().as_f64())
            }
            // Each replaced state loses at most what the steps' proof allows it.
            (Unit::Radius(_), FirstStateLoss { max, .. }) => steps + max,
        };
        Some(steps.max(from_start.next_up()))
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
