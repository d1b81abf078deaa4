//! Which scale the linear program is best solved for, and for what gain.
//!
//! A larger η makes the noise of an observation steeper, but leaves the totals less room, and near
//! the largest η that has weights at all they may sit on a few states only. So scales on a grid
//! between λ/2 and λ are held against each other by [what they are worth](super::worth).
//!
//! For each scale there are two programs. The first makes the sum of all weights largest: where
//! totals are equal, that is the probability of observing the real state itself, summed over
//! states. It spreads weights widely, and more of them to the outskirts than does any good. The
//! second starts from there and moves to where the mean distance of an observation shrinks fastest.
//! On its own that would end with all weight in the middle, so its weights are taken only where
//! they are worth more.
//!
//! Even weights are the line to beat, at the largest scale of the grid that they keep the promise
//! with.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::classes::Classes;
use super::program::Program;
use super::worth::Worth;
use super::{Found, Weights, times};
use crate::rational::Rational;
use crate::watch::{Counter, Stage, Stopped, Watch, part};

/// Scales are multiples of λ over this.
const GRID: u32 = 64;
/// Every so many of them first, then those around the best.
const COARSE: u32 = 4;
/// By what share λ is taken too small in the program, for what roundings break; more where that was
/// refused.
const MARGINS: [f64; 3] = [1e-6, 1e-4, 1e-2];
/// Even weights have to be beaten by more than this share.
const BETTER: f64 = 1e-6;

/// Weights for one scale of the grid.
struct Candidate {
    /// How many parts of λ the scale is.
    parts: u32,
    /// The mean distance of the best guess from the real state.
    of_guesses: f64,
    weights: Weights,
}

/// What candidates are made for.
pub(super) struct Grid<'a> {
    classes: &'a Classes<'a>,
    worth: Worth<'a>,
    lambda: Rational,
}

impl<'a> Grid<'a> {
    pub(super) fn new(classes: &'a Classes<'a>, lambda: Rational) -> Self {
        Self { classes, worth: Worth::new(classes), lambda }
    }

    /// The weights of a program that keep the promise and are worth most; `None` if even weights
    /// are as good.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    pub(super) fn best(
        &self,
        keeps: &dyn Fn(&Weights) -> bool,
        watch: Watch<'_>,
    ) -> Result<Option<Weights>, Stopped> {
        let coarse: Vec<u32> = (GRID / 2..GRID).step_by(COARSE as usize).collect();
        let mut candidates = self.candidates(&coarse, &part(watch, 0.0..0.5))?;
        sort(&mut candidates);
        let Some(middle) = candidates.first().map(|best| best.parts) else { return Ok(None) };
        let around: Vec<u32> = (middle + 1 - COARSE..middle + COARSE)
            .filter(|&parts| parts != middle && (GRID / 2..GRID).contains(&parts))
            .collect();
        candidates.extend(self.candidates(&around, &part(watch, 0.5..0.9))?);
        sort(&mut candidates);
        let even = self.even();
        let good = |candidate: &Candidate| candidate.of_guesses < even * (1.0 - BETTER);
        for Candidate { parts, weights, .. } in candidates.into_iter().take_while(good) {
            if keeps(&weights) {
                return Ok(Some(weights));
            }
            for margin in &MARGINS[1..] {
                let again = self.candidate(parts, *margin, &part(watch, 0.9..1.0))?;
                if let Some(Candidate { weights, .. }) = again.filter(good)
                    && keeps(&weights)
                {
                    return Ok(Some(weights));
                }
            }
        }
        Ok(None)
    }

    /// The candidates for these scales, without those that have none.
    fn candidates(&self, parts: &[u32], watch: Watch<'_>) -> Result<Vec<Candidate>, Stopped> {
        let done = Counter::new(watch, Stage::Weights, parts.len());
        // Progress of their own would jump from one program to the other.
        let ask = |_| done.add(0).map_or(ControlFlow::Break(()), ControlFlow::Continue);
        let found: Result<Vec<Option<Candidate>>, Stopped> = parts
            .par_iter()
            .map(|&parts| {
                let candidate = self.candidate(parts, MARGINS[0], &ask)?;
                done.add(1)?;
                Ok(candidate)
            })
            .collect();
        Ok(found?.into_iter().flatten().collect())
    }

    /// The candidate for a scale of so many parts of λ.
    fn candidate(
        &self,
        parts: u32,
        margin: f64,
        watch: Watch<'_>,
    ) -> Result<Option<Candidate>, Stopped> {
        let eta = times(self.lambda, parts.into(), GRID.into());
        let scale = eta.as_f64();
        let spare = self.lambda.as_f64() * (1.0 - margin) - scale;
        let program = Program::new(self.classes, scale, spare);
        // The sum is at least one, or zero.
        let ones = vec![1.0; self.classes.len()];
        let Some(wide) = program.solve(&ones, 0.5, watch)? else { return Ok(None) };
        let close = program.solve(&self.worth.gains(&wide, scale), 1e-3, watch)?;
        let choices = std::iter::once(wide).chain(close);
        let kept = choices.filter(|weights| self.seems_to_keep(weights, scale));
        let judged = kept.map(|weights| (self.worth.of_guesses(&weights, scale), weights));
        Ok(judged.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(of_guesses, weights)| {
            let weights = self.classes.spread(&weights);
            Candidate {
                parts,
                of_guesses,
                weights: Weights { weights, eta, found: Found::Program },
            }
        }))
    }

    /// Whether the promise is kept, as far as doubles can say.
    fn seems_to_keep(&self, weights: &[f64], scale: f64) -> bool {
        self.classes.loss(weights, scale) <= self.lambda.as_f64()
    }

    /// The mean distance of the best guess with even weights of all states.
    fn even(&self) -> f64 {
        let weights: Vec<f64> = self.classes.sizes().iter().copied().map(f64::from).collect();
        let scale = |parts: u32| times(self.lambda, parts.into(), GRID.into()).as_f64();
        let kept = |&parts: &u32| self.seems_to_keep(&weights, scale(parts));
        // Half of λ is right for all weights, whatever doubles make of it.
        let parts = (GRID / 2 + 1..GRID).rev().find(kept).unwrap_or(GRID / 2);
        self.worth.of_guesses(&weights, scale(parts))
    }
}

/// Those that are worth most first.
fn sort(candidates: &mut [Candidate]) {
    candidates.sort_by(|a, b| a.of_guesses.total_cmp(&b.of_guesses).then(a.parts.cmp(&b.parts)));
}
