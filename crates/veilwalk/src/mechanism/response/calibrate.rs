//! The largest scale that keeps what is allowed, for given weights.

use std::sync::Arc;

use super::{Allowance, Response};
use crate::mechanism::{Calibration, Promise, ScaleError};
use crate::model::Model;
use crate::rational::Rational;
use crate::rounding::below;
use crate::watch::{Stage, Watch, report};

impl Response {
    /// The response with these weights that keeps an allowance: at the largest scale that is found to,
    /// or by the theorem at half of it. Without a table of distances it is always the theorem's.
    pub(crate) fn keeping(
        model: &Arc<Model>,
        allowance: Allowance,
        weights: &[f64],
        calibration: Calibration,
        promise: Promise,
        watch: Watch<'_>,
    ) -> Result<Self, ScaleError> {
        // Up to 2⁻¹¹ of what is allowed: beyond that nothing is gained that anyone could see.
        const ROUNDS: usize = 12;
        let at = |share: f64| {
            let eta = share_of(allowance.rate(), share);
            Response::at_scale(model, allowance, weights, eta)
        };
        let half = at(0.5).ok_or(ScaleError::TooSmall { promise })?;
        let searched = matches!(allowance, Allowance::PerNat(_)) && model.searches().is_some();
        if calibration == Calibration::Theorem && !half.is_randomised_response() || searched {
            return Ok(half);
        }
        let allowed = below(allowance.rate());
        let (mut low, mut high, mut best) = (0.5, 1.0, half);
        for round in 0..ROUNDS {
            report(watch, Stage::Scales, round, ROUNDS)?;
            let middle = if round == 0 { high } else { (low + high) / 2.0 };
            let trial = at(middle).ok_or(ScaleError::TooSmall { promise })?;
            if trial.keeps(allowance, allowed) {
                (low, best) = (middle, trial);
                if round == 0 {
                    break;
                }
            } else {
                high = middle;
            }
        }
        report(watch, Stage::Scales, ROUNDS, ROUNDS)?;
        Ok(best)
    }

    /// Whether no pair loses more than is allowed.
    pub(crate) fn keeps(&self, allowance: Allowance, allowed: f64) -> bool {
        // Where nothing is lost to the normaliser, the scale is the loss: whole numbers decide.
        self.is_randomised_response() && self.scale().eta() <= allowance.rate()
            || self.loss_per_unit() <= allowed
    }

    /// Replaced states and equal weights: [`exponential`](crate::mechanism::exponential) has the proof.
    fn is_randomised_response(&self) -> bool {
        let equal = self.candidates().iter().all(|&y| self.offset(y) == 0);
        self.counted == super::Counted::States && equal
    }
}

/// A share of at most one, rounded down.
fn share_of(rate: Rational, share: f64) -> Rational {
    const PARTS: u32 = 1 << 20;
    let parts = (share.min(1.0) * f64::from(PARTS)) as u128;
    Rational::floor_of_products(
        [rate.numerator().into(), parts],
        [rate.denominator().into(), PARTS.into()],
    )
}
