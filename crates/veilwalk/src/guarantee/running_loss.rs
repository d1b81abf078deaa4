//! Largest and mean loss over a set of pairs, collected one pair at a time.

use crate::chain::StateId;
use crate::nats::Nats;
use crate::rounding::{divide_up, mean_up};

/// A pair with its loss and distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) x: StateId,
    pub(super) other: StateId,
    pub(super) distance: Nats,
    pub(super) loss: f64,
}

impl Entry {
    /// Loss per nat of distance, rounded up. At distance zero: none for no loss, else infinite.
    pub(super) fn per_nat(&self) -> f64 {
        per_nat(self.loss, self.distance)
    }
}

/// `loss / distance`, rounded up, with zero over zero being zero.
pub(super) fn per_nat(loss: f64, distance: Nats) -> f64 {
    match (loss == 0.0, distance == Nats::ZERO) {
        (true, _) => 0.0,
        (false, true) => f64::INFINITY,
        (false, false) => divide_up(loss, distance.as_f64()),
    }
}

/// What has been seen so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) pairs: u64,
    sum: f64,
    /// The sum of the current row, so that long sums stay accurate.
    row_sum: f64,
    row: Option<StateId>,
    pub(super) worst: Option<Entry>,
    pub(super) worst_per_nat: Option<Entry>,
}

impl Tally {
    pub(super) fn add(&mut self, entry: Entry) {
        if self.row != Some(entry.x) {
            self.sum += self.row_sum;
            (self.row, self.row_sum) = (Some(entry.x), 0.0);
        }
        self.pairs += 1;
        self.row_sum += entry.loss;
        if self.worst.is_none_or(|w| entry.loss > w.loss) {
            self.worst = Some(entry);
        }
        if self.worst_per_nat.is_none_or(|w| entry.per_nat() > w.per_nat()) {
            self.worst_per_nat = Some(entry);
        }
    }

    /// Takes in what was seen after this.
    pub(super) fn merge(&mut self, later: &Self) {
        self.pairs += later.pairs;
        self.sum += self.row_sum + later.sum + later.row_sum;
        (self.row, self.row_sum) = (None, 0.0);
        if let Some(entry) = later.worst
            && self.worst.is_none_or(|w| entry.loss > w.loss)
        {
            self.worst = Some(entry);
        }
        if let Some(entry) = later.worst_per_nat
            && self.worst_per_nat.is_none_or(|w| entry.per_nat() > w.per_nat())
        {
            self.worst_per_nat = Some(entry);
        }
    }

    pub(super) fn max(&self) -> f64 {
        self.worst.map_or(0.0, |w| w.loss)
    }

    pub(super) fn max_per_nat(&self) -> f64 {
        self.worst_per_nat.map_or(0.0, |w| w.per_nat())
    }

    pub(super) fn mean(&self, states: usize) -> f64 {
        mean_up(self.sum + self.row_sum, self.pairs, states)
    }
}
