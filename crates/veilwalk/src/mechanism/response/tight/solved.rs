//! Weights for which every state has the same total.

use rayon::prelude::*;

use super::classes::Classes;
use super::lu::Lu;
use crate::watch::{Stopped, Watch};

/// How often the solution is improved by what it misses.
const REFINEMENTS: usize = 2;
/// What is below zero by at most this share of the largest weight is a zero that was rounded.
const ROUNDED: f64 = 1e-12;

/// The weights with `Σ μ(y)·exp(−η·m(y, x)) = 1` for every class x; `None` if there are none, or
/// one of them would be negative.
///
/// # Errors
///
/// If the watcher asks to stop.
pub(super) fn constant_totals(
    classes: &Classes<'_>,
    eta: f64,
    watch: Watch<'_>,
) -> Result<Option<Vec<f64>>, Stopped> {
    let fill = |x: usize, row: &mut [f64]| {
        row.iter_mut().zip(classes.factors(x, eta)).for_each(|(out, factor)| *out = factor);
    };
    let Some(lu) = Lu::of(classes.len(), fill, watch)? else { return Ok(None) };
    let mut weights = lu.solve(&vec![1.0; classes.len()]);
    for _ in 0..REFINEMENTS {
        let missing = classes.totals(&weights, eta).into_par_iter().map(|total| 1.0 - total);
        let correction = lu.solve(&missing.collect::<Vec<f64>>());
        weights.iter_mut().zip(correction).for_each(|(weight, more)| *weight += more);
    }
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let least = -ROUNDED * largest;
    let usable = |weight: &f64| weight.is_finite() && *weight >= least;
    if !(largest > 0.0 && weights.iter().all(usable)) {
        return Ok(None);
    }
    // Not by `max`, which may give a zero of either sign.
    weights.iter_mut().filter(|weight| **weight <= 0.0).for_each(|weight| *weight = 0.0);
    Ok(Some(weights))
}
