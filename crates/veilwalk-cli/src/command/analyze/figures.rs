//! What is computed, in which order, and what is left out because it would take too long.

use anyhow::{Result, bail};
use veilwalk::analysis::bounds::{
    EntropyBound, ErrorBound, ErrorBoundFigures, PublishedConstants, TypicalityBound,
    TypicalityFigures,
};
use veilwalk::analysis::drift::{Drift, DriftReport};
use veilwalk::analysis::joint::{JointChain, KernelMemory};
use veilwalk::analysis::long_run::{
    self, LongRun, LongRunError, MixingKind, MixingTime, SecondEigenvalue, chain_mixing_time,
};
use veilwalk::analysis::simulate::{
    Estimate, RealWalks as Simulated, SimulatedUtility, Simulation, simulate,
};
use veilwalk::analysis::typical::{self, Spending, TypicalEnclosure};
use veilwalk::analysis::{Origin, Stopped, Utility, given_walks};
use veilwalk::{Mechanism, Start};

use super::real::RealWalks;
use crate::progress::{observed, observed_passes};

/// What to analyze.
pub(super) struct Plan<'a> {
    pub(super) mechanism: &'a Mechanism,
    pub(super) origin: Origin,
    pub(super) steps: usize,
    pub(super) start: Start,
    pub(super) real: Option<&'a RealWalks>,
    pub(super) levels: &'a [f64],
    pub(super) etas: &'a [f64],
    pub(super) simulate: Option<u64>,
    pub(super) seed: u64,
    pub(super) effort: Effort,
}

/// How much may be spent on what the main figures do not need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Multiplications in sweeps, for each figure that takes many.
    sweeping: f64,
    /// The most sweeps for each.
    sweeps: usize,
    /// Multiplications for the exact mixing time.
    mixing: f64,
    typical: Spending,
    /// Bytes for laws of the pair.
    bytes: f64,
}

impl Effort {
    /// Seconds on chains of hundreds of states, minutes on thousands.
    pub(super) const SOME: Self = Self {
        sweeping: 5e10,
        sweeps: 5_000,
        mixing: 2e9,
        typical: Spending { operations: 1e9, numbers: 1 << 26 },
        bytes: 4.0 * (1u64 << 30) as f64,
    };

    pub(super) const WHATEVER_IT_TAKES: Self = Self {
        sweeping: f64::INFINITY,
        sweeps: 100_000,
        mixing: 1e18,
        typical: Spending { operations: 1e12, numbers: 1 << 28 },
        bytes: f64::INFINITY,
    };
}

/// Fewer sweeps than this seldom settle anything.
const FEWEST_SWEEPS: usize = 100;
/// How much longer a sweep takes if kernels are computed in it.
const WITHOUT_STORED_KERNELS: f64 = 30.0;
/// Walks that are simulated where an enclosure is not affordable.
const FALLBACK_WALKS: u64 = 10_000;

/// Everything that was found.
pub(super) struct Analysis {
    pub(super) utility: Utility,
    pub(super) typical: Vec<TypicalFigure>,
    pub(super) simulated: Option<SimulatedUtility>,
    pub(super) drift: Option<DriftReport>,
    pub(super) long_run: Option<LongRun>,
    pub(super) second_eigenvalue: Option<SecondEigenvalue>,
    pub(super) mixing: Option<MixingFigures>,
    pub(super) bounds: Bounds,
    pub(super) left_out: Vec<LeftOut>,
}

/// Mixing times of the real chain and of the pair.
#[derive(Clone, Copy)]
pub(super) struct MixingFigures {
    pub(super) chain: MixingTime,
    pub(super) pair: MixingTime,
}

#[derive(Default)]
pub(super) struct Bounds {
    pub(super) error: Option<(Vec<ErrorBoundFigures>, Option<PublishedConstants>)>,
    pub(super) entropy: Option<EntropyBound>,
    pub(super) typicality: Option<Vec<TypicalityFigures>>,
}

/// How likely the released walk is typical, and how that is known.
#[derive(Clone, Copy)]
pub(super) enum TypicalFigure {
    Enclosed(TypicalEnclosure),
    Simulated { eta: f64, released: Estimate, walks: u64 },
}

/// Something that was not computed.
pub(super) struct LeftOut {
    pub(super) what: &'static str,
    pub(super) why: String,
}

const ASK_FOR_MORE: &str = "--thorough computes it";

impl Plan<'_> {
    pub(super) fn carry_out(&self) -> Result<Analysis> {
        let mut left_out = Vec::new();
        let (pair, utility) = match self.real {
            None => {
                self.refuse_too_large_a_pair()?;
                let pair = self.pair()?;
                let utility = observed_passes("steps", self.levels.len(), |observer| {
                    pair.utility(self.origin, self.start, self.steps, self.levels, observer)
                })?;
                (Some(pair), utility)
            }
            Some(real) => {
                let utility = observed("real walks", |observer| {
                    let (walks, levels) = (&real.walks, self.levels);
                    given_walks::utility(self.mechanism, walks, self.start, levels, observer)
                })?;
                let pair = if self.pair_bytes() > self.effort.bytes {
                    left_out.push(LeftOut {
                        what: "drift and the long run",
                        why: format!("they need {}; {ASK_FOR_MORE}", self.pair_memory()),
                    });
                    None
                } else {
                    Some(self.pair()?)
                };
                (pair, utility)
            }
        };
        let mut analysis = Analysis {
            utility,
            typical: Vec::new(),
            simulated: None,
            drift: None,
            long_run: None,
            second_eigenvalue: None,
            mixing: None,
            bounds: Bounds::default(),
            left_out,
        };
        if let Some(pair) = &pair {
            self.of_the_pair(pair, &mut analysis)?;
        }
        if let Some(walks) = self.simulate {
            analysis.simulated = Some(self.simulated(walks)?);
        }
        self.typical(pair.as_ref(), &mut analysis)?;
        Ok(analysis)
    }

    fn pair(&self) -> Result<JointChain<'_>, Stopped> {
        observed("kernels", |observer| {
            JointChain::new(self.mechanism, KernelMemory::default(), observer)
        })
    }

    /// What laws of the pair and their working space take.
    fn pair_bytes(&self) -> f64 {
        const ARRAYS: f64 = 6.0;
        let states = self.mechanism.model().chain().len() as f64;
        ARRAYS * states * states * size_of::<f64>() as f64
    }

    fn pair_memory(&self) -> String {
        format!("about {:.0} GiB of memory", self.pair_bytes() / (1u64 << 30) as f64)
    }

    fn refuse_too_large_a_pair(&self) -> Result<()> {
        if self.pair_bytes() <= self.effort.bytes {
            return Ok(());
        }
        bail!(
            "averages over the chain's own walks need {} on a chain of this size; give walks with \
             --real FILE, or --thorough to do it all the same",
            self.pair_memory()
        )
    }

    /// Everything that follows from the chain of pairs.
    fn of_the_pair(&self, pair: &JointChain<'_>, analysis: &mut Analysis) -> Result<()> {
        let chain = self.mechanism.model().chain();
        let factor = if pair.stores_kernels() { 1.0 } else { WITHOUT_STORED_KERNELS };
        let per_sweep = factor * (2 * chain.len() * chain.transitions()) as f64;
        let drift = observed("drift", |observer| Drift::new(pair, observer))?;
        analysis.drift = Some(drift.report());
        let sweeps = ((self.effort.sweeping / per_sweep) as usize).min(self.effort.sweeps);
        if sweeps < FEWEST_SWEEPS {
            analysis.left_out.push(LeftOut {
                what: "the long run",
                why: format!("each of its sweeps takes long on this chain; {ASK_FOR_MORE}"),
            });
        } else {
            self.long_run(pair, sweeps, analysis)?;
        }
        if self.real.is_some() {
            analysis.left_out.push(LeftOut {
                what: "the bounds",
                why: "they speak of the chain's own walks; run without --real".to_owned(),
            });
            return Ok(());
        }
        self.bounds(pair, &drift, sweeps, analysis)
    }

    fn long_run(
        &self,
        pair: &JointChain<'_>,
        sweeps: usize,
        analysis: &mut Analysis,
    ) -> Result<()> {
        let chain = self.mechanism.model().chain();
        let effort = long_run::Effort { sweeps, ..Default::default() };
        let settled = observed("stationary law", |observer| pair.stationary(effort, observer));
        let (law, figures) = match settled {
            Ok(settled) => settled,
            Err(LongRunError::Stopped(stopped)) => return Err(stopped.into()),
            Err(error) => {
                analysis.left_out.push(LeftOut { what: "the long run", why: error.to_string() });
                return Ok(());
            }
        };
        analysis.long_run = Some(figures);
        let second =
            observed("second eigenvalue", |observer| pair.second_eigenvalue(effort, observer))?;
        analysis.second_eigenvalue = Some(second);
        let mixing = observed("mixing time", |observer| -> Result<_, LongRunError> {
            let operations = self.effort.mixing;
            Ok(MixingFigures {
                chain: chain_mixing_time(chain, &second, operations, observer)?,
                pair: pair.mixing_time(&law, &second, operations, observer)?,
            })
        })?;
        analysis.mixing = Some(mixing);
        Ok(())
    }

    fn bounds(
        &self,
        pair: &JointChain<'_>,
        drift: &Drift,
        sweeps: usize,
        analysis: &mut Analysis,
    ) -> Result<()> {
        // One sweep for each of forty constants.
        if sweeps < 40 {
            analysis.left_out.push(LeftOut {
                what: "the bounds",
                why: format!("they take forty sweeps; {ASK_FOR_MORE}"),
            });
            return Ok(());
        }
        let model = self.mechanism.model();
        let start = pair.start(self.origin, self.start);
        let error =
            observed("error bound", |observer| ErrorBound::new(pair, drift, &start, observer))?;
        let figures = error.figures(self.steps, self.levels);
        analysis.bounds.error = Some((figures, error.published_constants()));
        let (Some(second), Some(mixing)) = (analysis.second_eigenvalue, analysis.mixing) else {
            analysis.left_out.push(LeftOut {
                what: "bounds on entropy",
                why: "they need the long run".to_owned(),
            });
            return Ok(());
        };
        let exact = &analysis.utility;
        let entropy = EntropyBound::new(model, &error, &second, &start, exact);
        let MixingFigures { chain, pair } = mixing;
        let typicality = TypicalityBound::new(model, &error, &second, &start, exact, chain, pair);
        analysis.bounds.entropy = Some(entropy);
        analysis.bounds.typicality =
            typicality.map(|bound| self.etas.iter().map(|&eta| bound.figures(eta)).collect());
        if pair.kind == MixingKind::LowerBound {
            analysis.left_out.push(LeftOut {
                what: "the corrected bound on typicality",
                why: format!(
                    "the pair's mixing time is only bounded from below; {ASK_FOR_MORE}, in a time that \
                     grows as the cube of the number of states times the transitions"
                ),
            });
        }
        Ok(())
    }

    fn typical(&self, pair: Option<&JointChain<'_>>, analysis: &mut Analysis) -> Result<()> {
        if analysis.utility.entropy_nats.rate.is_none() {
            analysis.left_out.push(LeftOut {
                what: "typical walks",
                why: "the chain's entropy rate could not be computed".to_owned(),
            });
            return Ok(());
        }
        let mut fallback: Option<SimulatedUtility> = None;
        for (place, &eta) in self.etas.iter().enumerate() {
            let spending = self.effort.typical;
            let enclosed = observed("typical walks", |observer| match (self.real, pair) {
                (Some(real), _) => {
                    let (walks, start) = (&real.walks, self.start);
                    given_walks::typical(self.mechanism, walks, start, eta, spending, observer)
                }
                (None, Some(pair)) => {
                    let from = (self.origin, self.start);
                    typical::of_own_walks(pair, from, self.steps, eta, spending, observer)
                }
                (None, None) => Ok(None),
            })?;
            analysis.typical.push(match enclosed {
                Some(enclosed) => TypicalFigure::Enclosed(enclosed),
                None => {
                    let simulated = match (&analysis.simulated, &mut fallback) {
                        (Some(simulated), _) => simulated,
                        (None, Some(simulated)) => simulated,
                        (None, fallback @ None) => {
                            fallback.insert(self.simulated(self.fallback_walks())?)
                        }
                    };
                    let released = simulated.typical[place].released;
                    TypicalFigure::Simulated { eta, released, walks: simulated.walks }
                }
            });
        }
        Ok(())
    }

    /// With several real walks, releases of each; fewer than ten would give no error bar.
    fn fallback_walks(&self) -> u64 {
        let real = self.real.map_or(1, |real| real.walks.len() as u64);
        (FALLBACK_WALKS / real).max(10)
    }

    fn simulated(&self, walks: u64) -> Result<SimulatedUtility, Stopped> {
        let simulation = Simulation {
            real: Simulated::Own { origin: self.origin, steps: self.steps },
            start: self.start,
            walks,
            seed: self.seed,
            levels: self.levels,
            etas: self.etas,
        };
        observed("simulation", |observer| match self.real {
            Some(real) => given_walks::simulate(self.mechanism, &real.walks, simulation, observer),
            None => simulate(self.mechanism, simulation, observer),
        })
    }
}
