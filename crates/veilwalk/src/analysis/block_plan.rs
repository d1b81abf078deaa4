//! Releases in blocks: exact for given walks where that is affordable, simulated elsewhere.
//!
//! Between two borders the released walk depends on real states to come, so the pair of a real and a
//! released state is no Markov chain, and what rests on it (drift, the long run, the bounds) is left
//! out.

use super::plan::{Analysis, Findings, LeftOut, Plan, PlanError, TypicalFigure};
use super::simulate::{SimulatedUtility, Typical};
use super::{Inquiry, given_walks};
use crate::chain::{Chain, StateId};
use crate::mechanism::BlockLength;
use crate::watch::Watch;

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

/// The same for walks that are made of observations: a belief has up to as many states as the chain, and an
/// answer weighs each of them.
#[must_use]
pub fn affordable_tracked_walks(chain: &Chain, steps: usize) -> u64 {
    let each = (chain.transitions() + 100 * chain.len()) as f64 * steps.max(1) as f64;
    ((SIMULATED_WORK / each) as u64).clamp(50, 2000)
}

impl Plan<'_> {
    /// What a plan for releases in blocks finds: exact figures for given walks where that is affordable,
    /// and simulated ones elsewhere.
    pub(super) fn in_blocks(
        &self,
        length: BlockLength,
        watch: Watch<'_>,
    ) -> Result<Findings, PlanError> {
        let steps = self.inquiry.longest();
        if let BlockLength::Whole { longest } = length
            && steps > longest.get() as usize
        {
            return Err(PlanError::TooLong { steps, longest: longest.get() });
        }
        let mut left_out = vec![LeftOut {
            what: "drift, the long run and the bounds",
            why: "they speak of mechanisms that release one state at a time".to_owned(),
        }];
        match self.inquiry.real {
            Some(walks) if self.affords_exact(walks, length) => {
                let Inquiry { start, levels, simulate, .. } = self.inquiry;
                let utility = given_walks::utility(self.mechanism, walks, start, levels, watch)?;
                let simulated = simulate.map(|count| self.simulated(count, watch));
                let simulated = simulated.transpose()?;
                let typical = simulated.as_ref().map_or_else(Vec::new, typical_figures);
                if simulated.is_none() {
                    left_out.push(LeftOut {
                        what: "typical walks",
                        why: "in blocks they are known by simulation only; ask for one".to_owned(),
                    });
                }
                let main = Analysis::of(utility, left_out);
                Ok(Findings::Exact(Box::new(Analysis { typical, simulated, ..main })))
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
                let count = self.inquiry.simulate.unwrap_or_else(|| self.walks_to_simulate());
                let simulated = self.simulated(count, watch)?;
                Ok(Findings::Simulated { simulated: Box::new(simulated), left_out })
            }
        }
    }

    fn affords_exact(&self, walks: &[Vec<StateId>], length: BlockLength) -> bool {
        let chain = self.mechanism.model().chain();
        let passes = (2 + self.inquiry.levels.len()) as f64;
        let block = self.inquiry.longest().min(length.most_steps().get() as usize);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let bytes = (block * chain.len() * size_of::<f64>() * threads) as f64;
        let work = passes * steps_of(walks) as f64 * chain.transitions() as f64;
        self.effort.affords_blocks(work, bytes)
    }

    /// How many walks to simulate; with several real ones, releases of each, and no fewer than ten.
    pub(super) fn walks_to_simulate(&self) -> u64 {
        let chain = self.mechanism.model().chain();
        let affordable = match self.mechanism.observation() {
            Some(_) => affordable_tracked_walks,
            None => affordable_walks,
        };
        match self.inquiry.real {
            None => affordable(chain, self.inquiry.steps),
            Some(walks) => {
                let each = steps_of(walks) / walks.len().max(1);
                (affordable(chain, each) / walks.len().max(1) as u64).max(10)
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
