//! What is asked of an analysis, of single steps and of blocks alike.

use super::simulate::{RealWalks as Simulated, SimulatedUtility, Simulation, simulate};
use super::{Origin, given_walks};
use crate::chain::StateId;
use crate::mechanism::Mechanism;
use crate::session::Start;
use crate::watch::{Stopped, Watch};

/// What to find out about releases, whatever makes them.
#[derive(Clone, Copy, Debug)]
pub struct Inquiry<'a> {
    /// Where the chain's own walks start.
    pub origin: Origin,
    /// How many steps they take.
    pub steps: usize,
    /// How released walks start.
    pub start: Start,
    /// Real walks, none of them empty, to analyze the release of instead of the chain's own. The
    /// figures are then not protected.
    pub real: Option<&'a [Vec<StateId>]>,
    /// Distances whose exceedance is computed, in nats.
    pub levels: &'a [f64],
    /// How far a typical walk may be from the chain's entropy rate, in nats per transition.
    pub etas: &'a [f64],
    /// How many walks to simulate as well; with real walks, how many releases of each.
    pub simulate: Option<u64>,
    /// Where simulated walks take their randomness from.
    pub seed: u64,
}

impl Inquiry<'_> {
    /// How many steps the longest walk takes.
    #[must_use]
    pub fn longest(&self) -> usize {
        let steps = |walk: &Vec<StateId>| walk.len().saturating_sub(1);
        self.real.map_or(self.steps, |walks| walks.iter().map(steps).max().unwrap_or(0))
    }

    /// The figures of so many simulated walks; with real walks, of so many releases of each.
    pub(super) fn simulated(
        &self,
        mechanism: &Mechanism,
        walks: u64,
        watch: Watch<'_>,
    ) -> Result<SimulatedUtility, Stopped> {
        let simulation = Simulation {
            real: Simulated::Own { origin: self.origin, steps: self.steps },
            start: self.start,
            walks,
            seed: self.seed,
            levels: self.levels,
            etas: self.etas,
        };
        match self.real {
            Some(real) => given_walks::simulate(mechanism, real, simulation, watch),
            None => simulate(mechanism, simulation, watch),
        }
    }
}
