//! Positions that are so close together that they say the same.

use veilwalk::chain::Coordinates;

use super::Position;

/// Some positions, one after another, at about one place.
#[derive(Clone, Debug)]
pub(super) struct Group {
    moment: i64,
    /// Moments behind the first, the last of them and others some time apart.
    stays: Vec<i64>,
    first: Coordinates,
    /// The sums of what lies between the first and the others, in units of coordinates.
    sums: (i64, i64),
    count: i64,
}

impl Group {
    /// Moments are kept if they are so far apart, in microseconds.
    const APART: i64 = 10_000_000;
    /// The errors of positions one after another are alike, so the mean of many is hardly better than that of these.
    const DIFFERENT: i64 = 4;

    pub(super) fn of(position: Position) -> Self {
        let Position { moment, place } = position;
        Self { moment, stays: Vec::new(), first: place, sums: (0, 0), count: 1 }
    }

    pub(super) fn add(&mut self, position: Position) {
        let off = |at: i32, first: i32| i64::from(at) - i64::from(first);
        self.sums.0 += off(position.place.latitude(), self.first.latitude());
        self.sums.1 += off(position.place.longitude(), self.first.longitude());
        self.count += 1;
        let kept = self.stays.iter().rev().nth(1).copied().unwrap_or(self.moment);
        match self.stays.last_mut() {
            Some(last) if position.moment - kept < Self::APART => *last = position.moment,
            _ => self.stays.push(position.moment),
        }
    }

    /// How many positions there are.
    pub(super) fn count(&self) -> u64 {
        self.count as u64
    }

    /// Their mean.
    pub(super) fn place(&self) -> Coordinates {
        let part = |first: i32, sum: i64| (i64::from(first) + sum / self.count) as i32;
        let latitude = part(self.first.latitude(), self.sums.0);
        let longitude = part(self.first.longitude(), self.sums.1);
        Coordinates::new(latitude, longitude).unwrap_or(self.first)
    }

    /// How far their mean is off if each is off by this.
    pub(super) fn sigma(&self, sigma: f64) -> f64 {
        sigma / (self.count.min(Self::DIFFERENT) as f64).sqrt()
    }

    /// When the first was.
    pub(super) fn moment(&self) -> i64 {
        self.moment
    }

    /// When the last was.
    pub(super) fn until(&self) -> i64 {
        self.stays.last().copied().unwrap_or(self.moment)
    }

    /// Moments behind the first.
    pub(super) fn stays(&self) -> &[i64] {
        &self.stays
    }

    /// Keeps of all positions only when the last was.
    pub(super) fn forget_all_but_the_last(&mut self) {
        self.moment = self.until();
        self.stays.clear();
    }
}
