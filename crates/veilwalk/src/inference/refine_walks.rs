//! Many walks refined on all cores, with as much of their posteriors as is asked for.

use rayon::prelude::*;
use thiserror::Error;

use super::posterior::{InferenceSpace, Posterior};
use super::refine::{RefineAim, Refined};
use super::{Inference, UnlikelyRelease};
use crate::chain::StateId;
use crate::outcome::Outcome;
use crate::watch::{Counter, Stage, Stopped, Watch};

/// How walks are refined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RefineSettings {
    /// What they are to be good at.
    pub aim: RefineAim,
    /// How many more steps of the release are known when a state is chosen; all of it if there is no number.
    pub lag: Option<usize>,
    /// Give the states that are more probable than this, given the whole release, as well.
    pub above: Option<f64>,
}

/// A refined walk and the likely states of each of its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct RefinedWalk {
    /// The walk.
    pub refined: Refined,
    /// The states that were asked for with their probabilities, ascending by state: a list for each step, or none
    /// at all.
    pub likely: Vec<Vec<(StateId, f64)>>,
}

/// Why walks cannot be refined.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RefineError {
    /// One of them cannot have been released.
    #[error("walk {walk}: {why}")]
    Walk {
        /// Which, from zero.
        walk: usize,
        /// Why.
        why: UnlikelyRelease,
    },
    /// It was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl Inference {
    /// Refines walks, from what was drawn for each and the released states (which are the same where moves are
    /// drawn). The result does not depend on the number of threads.
    ///
    /// # Errors
    ///
    /// If a walk cannot have been released, or the watcher asks to stop.
    ///
    /// # Panics
    ///
    /// If there are not as many lists of released states.
    pub fn refine_walks<D: Copy + Into<Outcome> + Sync>(
        &self,
        drawn: &[Vec<D>],
        released: &[Vec<StateId>],
        settings: RefineSettings,
        watch: Watch<'_>,
    ) -> Result<Vec<RefinedWalk>, RefineError> {
        assert_eq!(drawn.len(), released.len(), "what was drawn for each walk");
        let done = Counter::new(watch, Stage::Inference, drawn.iter().map(Vec::len).sum());
        let one = |space: &mut InferenceSpace,
                   (walk, (drawn, released)): (usize, (&Vec<D>, &Vec<_>))| {
            done.add(0)?;
            let refined = self.refine_one(drawn, released, settings, space);
            let refined = refined.map_err(|why| RefineError::Walk { walk, why })?;
            done.add(drawn.len())?;
            Ok(refined)
        };
        let walks = drawn.par_iter().zip(released).enumerate();
        walks.map_init(InferenceSpace::default, one).collect()
    }

    fn refine_one<D: Copy + Into<Outcome>>(
        &self,
        drawn: &[D],
        released: &[StateId],
        settings: RefineSettings,
        space: &mut InferenceSpace,
    ) -> Result<RefinedWalk, UnlikelyRelease> {
        let RefineSettings { aim, lag, above } = settings;
        let (refined, posterior) = match lag {
            Some(lag) => {
                let posterior = above.map(|_| self.posterior(drawn, space)).transpose()?;
                (self.refine_with_lag(drawn, released, lag, aim, space)?, posterior)
            }
            None => {
                let posterior = self.posterior(drawn, space)?;
                (self.refine(&posterior, released, aim), Some(posterior))
            }
        };
        let likely = above.zip(posterior).map(|(above, posterior)| posterior.likely(above));
        Ok(RefinedWalk { refined, likely: likely.unwrap_or_default() })
    }
}

impl Posterior {
    /// The states of each step that are more probable than this.
    fn likely(&self, above: f64) -> Vec<Vec<(StateId, f64)>> {
        let of_step = |step: &super::Marginal| {
            let states = step.states().iter().copied().zip(step.probabilities().iter().copied());
            states.filter(|&(_, probability)| probability > above).collect()
        };
        self.steps().iter().map(of_step).collect()
    }
}
