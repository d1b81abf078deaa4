//! A mechanism made of what a file says: its choices, its promise, and how its scale is found.

use std::sync::Arc;

use thiserror::Error;
use veilwalk::guarantee::{
    Calibrated, CalibrationError, CertificateError, Effort, Watch, calibrate, check_certificate,
};
use veilwalk::mechanism::ScaleError;
use veilwalk::mechanism::cell::Calibration;
use veilwalk::{Design, Mechanism, Model, Promise};

use crate::mechanism_file::{MechanismFile, ScaleFrom, ScaleMismatch};

/// Why there is no such mechanism.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MakingError {
    /// No scale keeps the promise.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// No scale was found whose audited loss keeps it.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// The scales of the file are not those of its choices.
    #[error(transparent)]
    Mismatch(#[from] ScaleMismatch),
    /// A scale that breaks the promise.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

impl ScaleFrom {
    /// The scale that is found for a design, unless someone says otherwise.
    #[must_use]
    pub fn default_for(design: Design) -> Self {
        if design.distance.nearest().is_some() { Self::Exact } else { Self::Theorem }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Theorem, Self::Exact].into_iter().find(|how| how.name() == name)
    }

    /// A design with the scale that is found for it in this way, and what an exact calibration by one
    /// common factor gained.
    ///
    /// # Errors
    ///
    /// If there is no such scale, or the watcher asks to stop.
    pub fn make(
        self,
        model: &Arc<Model>,
        design: Design,
        promise: Promise,
        watch: Watch<'_>,
    ) -> Result<(Mechanism, Option<Calibrated>), MakingError> {
        let goes_by_cells = design.distance.nearest().is_some();
        if self == Self::Theorem && goes_by_cells {
            let how = Calibration::Theorem;
            return Ok((Mechanism::with_cells(model.clone(), design, promise, how, watch)?, None));
        }
        let made = Mechanism::watched(model.clone(), design, promise, watch)?;
        if self == Self::Exact && !goes_by_cells {
            let (mechanism, found) = calibrate(&made, Effort::default(), watch)?;
            return Ok((mechanism, Some(found)));
        }
        Ok((made, None))
    }
}

impl From<ScaleFrom> for Calibration {
    fn from(scale_from: ScaleFrom) -> Self {
        match scale_from {
            ScaleFrom::Theorem => Self::Theorem,
            ScaleFrom::Exact => Self::Exact,
        }
    }
}

impl MechanismFile {
    /// Does not trust the file: its scales have to be those of the mechanism that was made of its
    /// choices, and where that is quick, every kernel is held against the promise as well.
    ///
    /// # Errors
    ///
    /// If they are not, or the promise is broken, or the watcher asks to stop.
    pub fn check(&self, mechanism: &Mechanism, watch: Watch<'_>) -> Result<(), MakingError> {
        const QUICK: u64 = 20_000_000;
        self.compare_scales(mechanism)?;
        let chain = mechanism.model().chain();
        let (states, transitions) = (chain.len() as u64, chain.transitions() as u64);
        if mechanism.certificate().is_some() && states * states * transitions <= QUICK {
            check_certificate(mechanism, watch)?;
        }
        Ok(())
    }
}
