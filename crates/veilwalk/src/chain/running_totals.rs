//! Shares held as whole-number weights, so that a draw from them is exact.

use crate::random::{Words, uniform_below};

/// Running totals of weights. The last is the total, which is positive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunningTotals(Vec<u64>);

impl RunningTotals {
    /// Weights are multiples of this share of the whole, and a positive share is at least one of them.
    const RESOLUTION: f64 = (1u64 << 60) as f64;

    /// For finite shares from zero up whose sum is about one.
    pub(super) fn of_shares(shares: &[f64]) -> Self {
        let sum: f64 = shares.iter().sum();
        let mut total = 0u64;
        let totals = shares.iter().map(|&share| {
            let weight = (share / sum * Self::RESOLUTION).round() as u64;
            total += if share > 0.0 { weight.max(1) } else { 0 };
            total
        });
        Self(totals.collect())
    }

    /// `None` if they go down or end at zero.
    pub(super) fn of_totals(totals: Vec<u64>) -> Option<Self> {
        let positive = totals.last().is_some_and(|&total| total > 0);
        (positive && totals.is_sorted()).then_some(Self(totals))
    }

    /// The same weight for each of so many places.
    pub(super) fn uniform(places: usize) -> Self {
        Self((1..=places as u64).collect())
    }

    /// All of the weight at one of so many places.
    pub(super) fn at(place: usize, places: usize) -> Self {
        Self((0..places).map(|i| u64::from(i >= place)).collect())
    }

    pub(super) fn totals(&self) -> &[u64] {
        &self.0
    }

    pub(super) fn total(&self) -> u64 {
        *self.0.last().expect("there is a positive total")
    }

    pub(super) fn weight(&self, place: usize) -> u64 {
        let before = place.checked_sub(1).map_or(0, |i| self.0[i]);
        self.0[place] - before
    }

    pub(super) fn share(&self, place: usize) -> f64 {
        self.weight(place) as f64 / self.total() as f64
    }

    /// Draws a place.
    pub(super) fn draw(&self, words: &mut impl Words) -> usize {
        let pick = uniform_below(words, self.total());
        self.0.partition_point(|&upto| upto <= pick)
    }
}
