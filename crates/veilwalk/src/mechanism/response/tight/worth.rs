//! What a kernel is worth: how well the real state can be guessed from its observation.
//!
//! Nobody has to take an observation for the real state; everything that is made of it starts from
//! what it says about that state. So a kernel is judged by its best guesses: for every observation
//! the state that is nearest on average to the real one, given that all states were equally likely
//! before. The mean distance of the observation itself would be a poor judge. Where the promise
//! allows little, always giving the state in the middle comes closest, and says nothing.

use rayon::prelude::*;

use super::classes::Classes;
use super::product::product;

/// Judges kernels over some classes.
pub(super) struct Worth<'a> {
    classes: &'a Classes<'a>,
    /// All distances, row by row.
    distances: Vec<f64>,
}

impl<'a> Worth<'a> {
    pub(super) fn new(classes: &'a Classes<'a>) -> Self {
        let rows = (0..classes.len()).into_par_iter();
        let distances = rows.flat_map_iter(|class| classes.to(class)).collect();
        Self { classes, distances }
    }

    /// The mean distance of the best guess from the real state.
    pub(super) fn of_guesses(&self, weights: &[f64], eta: f64) -> f64 {
        let n = self.classes.len();
        let totals = self.classes.totals(weights, eta);
        // In row y, how often x is real and y observed, and then how far each guess is from that.
        let shares: Vec<f64> = (0..n)
            .into_par_iter()
            .flat_map_iter(|y| {
                let real = self.classes.factors(y, eta).zip(&totals).zip(self.classes.sizes());
                real.map(move |((f, total), &size)| weights[y] * f / total * f64::from(size))
            })
            .collect();
        let guesses = product(n, &shares, &self.distances);
        let nearest = |row: &[f64]| row.iter().copied().fold(f64::INFINITY, f64::min);
        let sum = guesses.chunks(n).map(nearest).fold(0.0, |sum, nearest| sum + nearest);
        sum / self.classes.states() as f64
    }

    /// How much each weight gains, if a little is added to it, in the mean distance of an
    /// observation from the real state, summed over states.
    pub(super) fn gains(&self, weights: &[f64], eta: f64) -> Vec<f64> {
        let classes = self.classes;
        let of_real = |x: usize| {
            let terms = classes.factors(x, eta).zip(classes.to(x)).zip(weights);
            let (total, sum) = terms
                .fold((0.0, 0.0), |(total, sum), ((f, m), w)| (total + w * f, sum + w * f * m));
            (f64::from(classes.sizes()[x]) / total, sum / total)
        };
        let real: Vec<(f64, f64)> = (0..classes.len()).into_par_iter().map(of_real).collect();
        let gain = |y: usize| {
            let terms = classes.factors(y, eta).zip(classes.to(y)).zip(&real);
            terms.fold(0.0, |sum, ((f, m), (share, mean))| sum + share * f * (mean - m))
        };
        (0..classes.len()).into_par_iter().map(gain).collect()
    }
}
