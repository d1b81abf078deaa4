//! Releases in blocks: exact for given walks where that is affordable, simulated elsewhere.
//!
//! Between two borders the released walk depends on real states to come, so the pair of a real and a
//! released state is no Markov chain, and what rests on it (drift, the long run, the bounds) is left
//! out.

use anyhow::{Result, bail};
use veilwalk::analysis::simulate::{
    RealWalks as Simulated, SimulatedUtility, Simulation, simulate,
};
use veilwalk::analysis::{Origin, given_walks};
use veilwalk::mechanism::{BlockLength, BlockMechanism};
use veilwalk::{Chain, Start};

use super::figures::{Analysis, Bounds, LeftOut, TypicalFigure};
use super::real::RealWalks;
use crate::args::{counted, thousands};
use crate::progress::observed;

/// What to analyze.
pub(super) struct Plan<'a> {
    pub(super) mechanism: &'a BlockMechanism,
    pub(super) origin: Origin,
    pub(super) steps: usize,
    pub(super) start: Start,
    pub(super) real: Option<&'a RealWalks>,
    pub(super) levels: &'a [f64],
    pub(super) etas: &'a [f64],
    pub(super) simulate: Option<u64>,
    pub(super) seed: u64,
    pub(super) thorough: bool,
}

/// What was found.
pub(super) enum Found {
    Exact(Box<Analysis>),
    Simulated(SimulatedUtility, Vec<LeftOut>),
}

/// Transitions passed over, in both directions, for exact figures: tens of seconds.
const EXACT_WORK: f64 = 2e9;
/// Bytes for the messages of the longest block.
const EXACT_BYTES: f64 = 4.0 * (1u64 << 30) as f64;
/// Transitions passed over for a simulation that nobody gave a number of walks for.
const SIMULATED_WORK: f64 = 5e8;

/// How many walks of so many steps are simulated if nobody says: at least fifty, so that there is an
/// error bar.
pub(crate) fn affordable_walks(chain: &Chain, steps: usize) -> u64 {
    // Drawing a state takes as long as passing over some two hundred transitions.
    let each = (chain.transitions() + 200) as f64 * steps.max(1) as f64;
    ((SIMULATED_WORK / each) as u64).clamp(50, 2000)
}

/// Refuses walks of more steps than were allowed for.
pub(crate) fn refuse_too_long(length: BlockLength, steps: usize, whose: &str) -> Result<()> {
    match length {
        BlockLength::Whole { longest } if steps > longest.get() as usize => bail!(
            "{whose} take up to {} steps, and --block all allows for {}; give --longest-walk {steps}",
            thousands(steps),
            thousands(longest.get() as usize)
        ),
        _ => Ok(()),
    }
}

impl Plan<'_> {
    pub(super) fn carry_out(&self) -> Result<Found> {
        let longest = match self.real {
            Some(real) => real.walks.iter().map(|walk| walk.len() - 1).max().unwrap_or(0),
            None => self.steps,
        };
        let whose = if self.real.is_some() { "the walks of --real" } else { "the walks" };
        refuse_too_long(self.mechanism.length(), longest, whose)?;
        let mut left_out = vec![LeftOut {
            what: "drift, the long run and the bounds",
            why: "they speak of mechanisms that release one state at a time".to_owned(),
        }];
        match self.real {
            Some(real) if self.affords_exact(real, longest) => {
                let (walks, start, levels) = (&real.walks, self.start, self.levels);
                let utility = observed("real walks", |observer| {
                    given_walks::utility(self.mechanism, walks, start, levels, observer)
                })?;
                let simulated = self.simulate.map(|walks| self.simulated(walks)).transpose()?;
                let typical = simulated.as_ref().map_or_else(Vec::new, typical_figures);
                if simulated.is_none() {
                    left_out.push(LeftOut {
                        what: "typical walks",
                        why: "in blocks they are known by simulation only; --simulate does it"
                            .to_owned(),
                    });
                }
                Ok(Found::Exact(Box::new(Analysis {
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
                        Some(_) => "they would take long for these walks; --thorough computes them",
                        None => "in blocks they are for given walks; give some with --real FILE",
                    }
                    .to_owned(),
                });
                let walks = self.simulate.unwrap_or_else(|| self.walks());
                Ok(Found::Simulated(self.simulated(walks)?, left_out))
            }
        }
    }

    fn affords_exact(&self, real: &RealWalks, longest: usize) -> bool {
        let chain = self.mechanism.model().chain();
        let steps: usize = real.walks.iter().map(|walk| walk.len() - 1).sum();
        let passes = (2 + self.levels.len()) as f64;
        let block = longest.min(self.mechanism.length().most_steps().get() as usize);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let bytes = (block * chain.len() * size_of::<f64>() * threads) as f64;
        self.thorough
            || (passes * steps as f64 * chain.transitions() as f64 <= EXACT_WORK
                && bytes <= EXACT_BYTES)
    }

    /// How many walks to simulate; with several real ones, releases of each, and no fewer than ten.
    fn walks(&self) -> u64 {
        let chain = self.mechanism.model().chain();
        match self.real {
            None => affordable_walks(chain, self.steps),
            Some(real) => {
                let steps: usize = real.walks.iter().map(|walk| walk.len() - 1).sum();
                let walks = real.walks.len();
                (affordable_walks(chain, steps / walks) / walks as u64).max(10)
            }
        }
    }

    fn simulated(&self, walks: u64) -> Result<SimulatedUtility> {
        let simulation = Simulation {
            real: Simulated::Own { origin: self.origin, steps: self.steps },
            start: self.start,
            walks,
            seed: self.seed,
            levels: self.levels,
            etas: self.etas,
        };
        Ok(observed("simulation", |observer| match self.real {
            Some(real) => given_walks::simulate(self.mechanism, &real.walks, simulation, observer),
            None => simulate(self.mechanism, simulation, observer),
        })?)
    }
}

fn typical_figures(simulated: &SimulatedUtility) -> Vec<TypicalFigure> {
    let figure = |typical: &veilwalk::analysis::simulate::Typical| TypicalFigure::Simulated {
        eta: typical.eta,
        released: typical.released,
        walks: simulated.walks,
    };
    simulated.typical.iter().map(figure).collect()
}

/// `1,234 walks`, for headings.
pub(super) fn walks_in_words(simulated: &SimulatedUtility) -> String {
    counted(simulated.walks as usize, "walk")
}
