//! The scales of cells, checked over again by the slowest and plainest route.
//!
//! Calibration ([`mechanism::cell`](crate::mechanism::cell)) leaves out pairs that a bound settles,
//! and works with factors of kernels. Here is neither: every kernel, every pair of real states, every
//! outcome. What this accepts keeps its promise whatever calibration did.

use std::sync::Arc;

use rayon::prelude::*;
use thiserror::Error;

use crate::chain::{ChainBuilder, Entries, StateId};
use crate::distance::{Ground, Nearest};
use crate::mechanism::{Mechanism, Promise, ScaleError, Unit};
use crate::model::Model;
use crate::nats::Nats;
use crate::rounding::log_kernel_error;
use crate::watch::{Stage, Stopped, Watch, part, report_share};

/// Why a certificate is not accepted.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The mechanism was made without a promise.
    #[error("the mechanism makes no promise to check")]
    NoPromise,
    /// A scale loses more than the promise allows.
    #[error(
        "after {previous:?} the scale loses {loss:.6} per unit, and {promise} allows {allowed:.6}"
    )]
    Broken {
        /// The last released state.
        previous: String,
        /// What is lost per nat or per substitution.
        loss: f64,
        /// What may be lost.
        allowed: f64,
        /// What was promised.
        promise: Promise,
    },
    /// A scale keeps the promise, and still loses more than is certified of it.
    #[error(
        "after {previous:?} the scale loses {loss:.6} per unit, and {certified:.6} is certified"
    )]
    Understated {
        /// The last released state.
        previous: String,
        /// What is lost per nat or per substitution.
        loss: f64,
        /// What the certificate says.
        certified: f64,
    },
    /// Whoever watched asked for it to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// What is lost at most per nat of distance, or per substitution, after each last released state.
/// Computed from whole kernels for all pairs of real states.
///
/// # Errors
///
/// If there is a scale that breaks the promise or loses more than is certified of it, or the
/// mechanism makes no promise, or whoever watches stops it.
///
/// # Complexity
///
/// |S|²·|E| differences of logarithms, and |S|·|E| kernels.
pub fn check_certificate(
    mechanism: &Mechanism,
    watch: Watch<'_>,
) -> Result<Vec<f64>, CertificateError> {
    let promise = mechanism.promise().ok_or(CertificateError::NoPromise)?;
    let epsilon = promise.epsilon.value().as_f64();
    let allowed = match promise.unit {
        Unit::Radius(radius) => epsilon / radius.value().as_f64(),
        Unit::Substitutions(b) => epsilon / f64::from(b.get()),
    };
    let chain = mechanism.model().chain();
    let states: Vec<StateId> = chain.states().collect();
    let mut losses = Vec::with_capacity(states.len());
    for some in states.chunks(64) {
        report_share(watch, Stage::Checks, losses.len() as f64 / states.len() as f64)?;
        let found: Vec<f64> = some
            .par_iter()
            .map(|&previous| loss_after(mechanism, promise.unit, previous))
            .collect();
        losses.extend(found);
    }
    for (&state, &loss) in states.iter().zip(&losses) {
        let previous = || chain.label(state).to_owned();
        // The quotient ε/ρ itself is rounded.
        if loss > allowed * (1.0 + f64::EPSILON) {
            return Err(CertificateError::Broken { previous: previous(), loss, allowed, promise });
        }
        if let Some(certificate) = mechanism.certificate() {
            let certified = certificate[state.index()].loss;
            if loss > certified * (1.0 + f64::EPSILON) {
                return Err(CertificateError::Understated {
                    previous: previous(),
                    loss,
                    certified,
                });
            }
        }
    }
    Ok(losses)
}

/// Why a model is not what its chain gives.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Something in it is not what is computed from the chain.
    #[error("the {0} of this model are not those of its chain; do not use it")]
    Differs(&'static str),
    /// The chain itself is none.
    #[error("the chain of this model is not irreducible, or its rows do not sum to one")]
    NotAChain,
    /// Scales that do not keep their promise.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// No mechanism can be made of what is in it.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// Whoever watched asked for it to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl Model {
    /// Computes everything a model holds again from its chain alone, and compares. Models from files
    /// are otherwise taken at their word.
    ///
    /// Scales are not calibrated again: every kernel is held against the promise instead
    /// ([`check_certificate`]).
    ///
    /// # Errors
    ///
    /// If something is not what its chain gives, or whoever watches stops it.
    pub fn verify(&self, watch: Watch<'_>) -> Result<(), ModelError> {
        let chain = self.chain();
        if !chain.has_its_hash() {
            return Err(ModelError::Differs("labels and moves"));
        }
        let mut builder = ChainBuilder::new(Entries::Probabilities);
        for state in chain.states() {
            builder.new_state(chain.label(state)).map_err(|_| ModelError::NotAChain)?;
            if chain.state(chain.label(state)) != Some(state) {
                return Err(ModelError::Differs("labels"));
            }
        }
        for from in chain.states() {
            for (&to, &p) in chain.successors(from).iter().zip(chain.probabilities(from)) {
                builder.transition(from, to, p).map_err(|_| ModelError::NotAChain)?;
            }
            let weights = chain.probabilities(from).iter().map(|&p| Nats::weight_of(p));
            if !weights.eq(chain.weights(from).iter().copied()) {
                return Err(ModelError::Differs("weights"));
            }
        }
        builder.build(Default::default()).map_err(|_| ModelError::NotAChain)?;
        report_share(watch, Stage::Checks, 0.05)?;
        if let Some(searches) = self.searches()
            && searches.incoming().parts() != self.ground().incoming(chain).parts()
        {
            return Err(ModelError::Differs("moves turned around"));
        }
        if self.require_tables().is_err() {
            return Ok(());
        }
        if let Ground::Table(table) = self.ground()
            && !table.is_a_metric()
        {
            return Err(ModelError::Differs("distances of its own"));
        }
        self.require_tables().map_err(ScaleError::from)?;
        let fresh = Self::measured(chain.clone(), self.ground().clone());
        let fresh = Arc::new(fresh.map_err(|_| ModelError::Differs("lengths or coordinates"))?);
        if fresh.directed() != self.directed() {
            return Err(ModelError::Differs("distances"));
        }
        if fresh.symmetric() != self.symmetric() {
            return Err(ModelError::Differs("symmetric distances"));
        }
        report_share(watch, Stage::Checks, 0.2)?;
        for nearest in [Nearest::Directed, Nearest::Symmetric] {
            let Some(cells) = self.ready_cells(nearest) else { continue };
            let again = fresh.cells(nearest).map_err(ScaleError::from)?;
            if again.answers() != cells.answers() || again.all_distances() != cells.all_distances()
            {
                return Err(ModelError::Differs("cells"));
            }
        }
        let after = part(watch, 0.5..1.0);
        for certified in self.all_certified() {
            let mechanism = Mechanism::certified(fresh.clone(), certified)?;
            check_certificate(&mechanism, &after)?;
        }
        Ok(())
    }
}

/// The largest loss per unit after one state. The errors of the computed logarithms are taken off: a
/// scale is refused for what it surely loses.
fn loss_after(mechanism: &Mechanism, unit: Unit, previous: StateId) -> f64 {
    let model = mechanism.model();
    let kernels: Vec<Vec<f64>> =
        model.chain().states().map(|real| mechanism.log_kernel(previous, real)).collect();
    let mut largest = 0f64;
    for x in model.chain().states() {
        for other in model.chain().states().filter(|&other| other < x) {
            let apart = match unit {
                Unit::Radius(_) => model.symmetric().between(x, other).as_f64(),
                Unit::Substitutions(_) => 1.0,
            };
            for (p, q) in kernels[x.index()].iter().zip(&kernels[other.index()]) {
                let error = log_kernel_error(kernels[0].len(), p.abs().max(q.abs()));
                let loss = (p - q).abs() - 2.0 * error;
                if loss > 0.0 {
                    largest = largest.max(loss / apart);
                }
            }
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mechanism::{ChainWeight, Design, Distance, Rule};
    use crate::rational::Rational;
    use crate::watch::unwatched;
    use crate::{Chain, Model};

    fn promises() -> [Promise; 2] {
        let epsilon = "2".parse().unwrap();
        [
            Promise::within_radius(epsilon, "3.5".parse().unwrap()),
            Promise::for_substitutions(epsilon, 1.try_into().unwrap()),
        ]
    }

    #[test]
    fn what_calibration_certifies_is_found_again() {
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        for promise in promises() {
            for distance in [Distance::Cell, Distance::CellSymmetric] {
                for rule in [Rule::Exponential, Rule::PermuteAndFlip] {
                    for chain_weight in [ChainWeight::ZERO, ChainWeight::HALF] {
                        let design = Design::of_moves(distance, rule, chain_weight);
                        let mechanism = Mechanism::new(model.clone(), design, promise).unwrap();
                        let losses = check_certificate(&mechanism, &unwatched).unwrap();
                        let certificate = mechanism.certificate().unwrap();
                        for (loss, certified) in losses.iter().zip(certificate) {
                            let slack = certified.loss - loss;
                            assert!(slack < 0.05 * certified.loss.max(0.1), "{design} {promise}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn scales_that_break_the_promise_are_refused() {
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        for promise in promises() {
            let design = crate::Preset::Cell.design();
            let mechanism = Mechanism::new(model.clone(), design, promise).unwrap();
            for factor in [Rational::whole(2), Rational::new(11, 10).unwrap()] {
                let raised = mechanism.rescaled(factor);
                let refused = check_certificate(&raised, &unwatched).unwrap_err();
                assert!(matches!(refused, CertificateError::Broken { .. }), "{refused}");
            }
        }
    }

    #[test]
    fn without_a_promise_there_is_nothing_to_check() {
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        let design = crate::Preset::Cell.design();
        let mechanism = Mechanism::with_scale(model, design, Rational::ONE).unwrap();
        let refused = check_certificate(&mechanism, &unwatched);
        assert_eq!(refused, Err(CertificateError::NoPromise));
    }
}
