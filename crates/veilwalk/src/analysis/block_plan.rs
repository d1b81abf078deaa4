//! Releases in blocks: exact for given walks where that is affordable, simulated elsewhere.
//!
//! Between two borders the released walk depends on real states to come, so the pair of a real and a
//! released state is no Markov chain, and what rests on it (drift, the long run, the bounds) is left
//! out.

use thiserror::Error;

use super::plan::{Analysis, Bounds, LeftOut, TypicalFigure};
use super::simulate::{SimulatedUtility, Typical};
use super::{Inquiry, Observer, Stopped, given_walks};
use crate::chain::{Chain, StateId};
use crate::mechanism::{BlockLength, Blocks, Mechanism};

/// What to analyze.
#[derive(Clone, Copy, Debug)]
pub struct BlockPlan<'a> {
    /// The mechanism.
    pub mechanism: &'a Mechanism,
    /// What is asked.
    pub inquiry: Inquiry<'a>,
    /// How much may be spent.
    pub effort: Exactness,
}

/// When figures of given walks are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exactness {
    /// Where they take no longer than tens of seconds.
    #[default]
    WhereAffordable,
    /// However long they take, and whatever memory they need.
    Always,
}

/// Why there is no analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BlockPlanError {
    /// Walks of more steps than were allowed for.
    #[error(
        "walks take up to {steps} steps, and releases of whole walks allow for {longest} here; allow \
         for longer walks"
    )]
    TooLong {
        /// The steps of the longest walk.
        steps: usize,
        /// The most that is allowed.
        longest: u32,
    },
    /// Stopped on request.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockFindings {
    /// Exact figures.
    Exact(Box<Analysis>),
    /// Simulated ones, and what was left out.
    Simulated(Box<SimulatedUtility>, Vec<LeftOut>),
}

/// Transitions passed over, in both directions, for exact figures: tens of seconds.
const EXACT_WORK: f64 = 2e9;
/// Bytes for the messages of the longest block.
const EXACT_BYTES: f64 = 4.0 * (1u64 << 30) as f64;
/// Transitions passed over for a simulation that nobody gave a number of walks for.
const SIMULATED_WORK: f64 = 5e8;

/// How many walks of so many steps are simulated if nobody says: at least fifty, so that there is an
/// error bar.
#[must_use]
pub fn affordable_walks(chain: &Chain, steps: usize) -> u64 {
    // Drawing a state takes as long as passing over some two hundred transitions.
    let each = (chain.transitions() + 200) as f64 * steps.max(1) as f64;
    ((SIMULATED_WORK / each) as u64).clamp(50, 2000)
}

impl BlockPlan<'_> {
    /// Computes all of it, or simulates what cannot be computed.
    ///
    /// # Errors
    ///
    /// If a walk is too long to be released as a whole, or the observer stops it.
    ///
    /// # Panics
    ///
    /// If a real walk is empty.
    pub fn carry_out(&self, observer: Observer<'_>) -> Result<BlockFindings, BlockPlanError> {
        let steps = self.inquiry.longest();
        if let Some(BlockLength::Whole { longest }) = self.length()
            && steps > longest.get() as usize
        {
            return Err(BlockPlanError::TooLong { steps, longest: longest.get() });
        }
        let mut left_out = vec![LeftOut {
            what: "drift, the long run and the bounds",
            why: "they speak of mechanisms that release one state at a time".to_owned(),
        }];
        match self.inquiry.real {
            Some(walks) if self.affords_exact(walks) => {
                let Inquiry { start, levels, simulate, .. } = self.inquiry;
                let utility = given_walks::utility(self.mechanism, walks, start, levels, observer)?;
                let simulated = simulate.map(|count| self.simulated(count, observer));
                let simulated = simulated.transpose()?;
                let typical = simulated.as_ref().map_or_else(Vec::new, typical_figures);
                if simulated.is_none() {
                    left_out.push(LeftOut {
                        what: "typical walks",
                        why: "in blocks they are known by simulation only; ask for one".to_owned(),
                    });
                }
                Ok(BlockFindings::Exact(Box::new(Analysis {
                    utility,
                    typical,
                    simulated,
                    drift: None,
                    long_run: None,
                    second_eigenvalue: None,
                    mixing: None,
                    bounds: Bounds::default(),
                    left_out,
                })))
            }
            real => {
                left_out.push(LeftOut {
                    what: "exact figures",
                    why: match real {
                        Some(_) => {
                            "they would take long for these walks; a thorough analysis has them"
                        }
                        None => "in blocks they are for given walks; give some real walks",
                    }
                    .to_owned(),
                });
                let count = self.inquiry.simulate.unwrap_or_else(|| self.walks());
                let simulated = self.simulated(count, observer)?;
                Ok(BlockFindings::Simulated(Box::new(simulated), left_out))
            }
        }
    }

    fn length(&self) -> Option<BlockLength> {
        self.mechanism.blocks().map(Blocks::length)
    }

    fn simulated(&self, walks: u64, observer: Observer<'_>) -> Result<SimulatedUtility, Stopped> {
        self.inquiry.simulated(self.mechanism, walks, observer)
    }

    fn affords_exact(&self, walks: &[Vec<StateId>]) -> bool {
        let chain = self.mechanism.model().chain();
        let passes = (2 + self.inquiry.levels.len()) as f64;
        let most = self.length().map_or(1, |length| length.most_steps().get() as usize);
        let block = self.inquiry.longest().min(most);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let bytes = (block * chain.len() * size_of::<f64>() * threads) as f64;
        self.effort == Exactness::Always
            || (passes * steps_of(walks) as f64 * chain.transitions() as f64 <= EXACT_WORK
                && bytes <= EXACT_BYTES)
    }

    /// How many walks to simulate; with several real ones, releases of each, and no fewer than ten.
    fn walks(&self) -> u64 {
        let chain = self.mechanism.model().chain();
        match self.inquiry.real {
            None => affordable_walks(chain, self.inquiry.steps),
            Some(walks) => {
                let each = steps_of(walks) / walks.len().max(1);
                (affordable_walks(chain, each) / walks.len().max(1) as u64).max(10)
            }
        }
    }
}

fn steps_of(walks: &[Vec<StateId>]) -> usize {
    walks.iter().map(|walk| walk.len().saturating_sub(1)).sum()
}

fn typical_figures(simulated: &SimulatedUtility) -> Vec<TypicalFigure> {
    let figure = |typical: &Typical| TypicalFigure::Simulated {
        eta: typical.eta,
        released: typical.released,
        walks: simulated.walks,
    };
    simulated.typical.iter().map(figure).collect()
}
