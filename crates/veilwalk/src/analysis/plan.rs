//! Everything at once: what is computed, in which order, and what is left out because it would take
//! too long.
//!
//! A [`Plan`] says what is asked and how much may be spent on it; an [`Analysis`] is what was found.
//! As JSON it is what `veilwalk analyze` prints.

#[cfg(feature = "serde")]
use serde::{Serialize, Serializer};
use thiserror::Error;

use super::bounds::{
    EntropyBound, ErrorBound, ErrorBoundFigures, PublishedConstants, TypicalityBound,
    TypicalityFigures,
};
use super::drift::{Drift, DriftReport};
use super::joint::{JointChain, KernelMemory};
use super::long_run::{
    self, LongRun, LongRunError, MixingKind, MixingTime, SecondEigenvalue, chain_mixing_time,
};
use super::simulate::{Estimate, SimulatedUtility};
use super::typical::{self, Spending, TypicalEnclosure};
use super::{Inquiry, Utility, given_walks};
use crate::mechanism::{Mechanism, NoPrivateStart};
use crate::session::Start;
use crate::watch::{Stopped, Watch};

/// What to analyze.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The mechanism.
    pub mechanism: &'a Mechanism,
    /// What is asked.
    pub inquiry: Inquiry<'a>,
    /// How much may be spent.
    pub effort: AnalysisEffort,
}

/// Why there is no analysis.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The pair of walks does not fit into memory.
    #[error(
        "averages over the chain's own walks need {memory} on a chain of this size; give real walks \
         to average over, or ask for a thorough analysis to do it all the same"
    )]
    TooLarge {
        /// How much memory.
        memory: String,
    },
    /// Walks of more steps than releases of whole walks were allowed for.
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
    /// The mechanism cannot start as asked.
    #[error(transparent)]
    Start(#[from] NoPrivateStart),
    /// The long run has no figures.
    #[error(transparent)]
    LongRun(#[from] LongRunError),
    /// Stopped on request.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// How much may be spent on what the main figures do not need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnalysisEffort {
    /// Multiplications in sweeps, for each figure that takes many.
    sweeping: f64,
    /// The most sweeps for each.
    sweeps: usize,
    /// Multiplications for the exact mixing time.
    mixing: f64,
    typical: Spending,
    /// Transitions passed over, in both directions, for exact figures in blocks.
    blocks: f64,
    /// Bytes for laws of the pair, or for the messages of the longest block.
    bytes: f64,
}

impl AnalysisEffort {
    /// Seconds on chains of hundreds of states, minutes on thousands.
    pub const SOME: Self = Self {
        sweeping: 5e10,
        sweeps: 5_000,
        mixing: 2e9,
        typical: Spending { operations: 1e9, numbers: 1 << 26 },
        blocks: 2e9,
        bytes: 4.0 * (1u64 << 30) as f64,
    };

    /// No limit worth the name.
    pub const WHATEVER_IT_TAKES: Self = Self {
        sweeping: f64::INFINITY,
        sweeps: 100_000,
        mixing: 1e18,
        typical: Spending { operations: 1e12, numbers: 1 << 28 },
        blocks: f64::INFINITY,
        bytes: f64::INFINITY,
    };

    pub(super) fn affords_blocks(&self, transitions: f64, bytes: f64) -> bool {
        transitions <= self.blocks && bytes <= self.bytes
    }
}

/// Fewer sweeps than this seldom settle anything.
const FEWEST_SWEEPS: usize = 100;
/// How much longer a sweep takes if kernels are computed in it.
const WITHOUT_STORED_KERNELS: f64 = 30.0;
/// Walks that are simulated where an enclosure is not affordable.
const FALLBACK_WALKS: u64 = 10_000;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
pub enum Findings {
    /// Exact figures.
    Exact(Box<Analysis>),
    /// In blocks, simulated ones where exact ones cannot be had.
    Simulated {
        /// The figures.
        simulated: Box<SimulatedUtility>,
        /// What was not computed.
        left_out: Vec<LeftOut>,
    },
}

impl Findings {
    /// The exact figures, if there are any.
    #[must_use]
    pub fn exact(self) -> Option<Analysis> {
        match self {
            Self::Exact(analysis) => Some(*analysis),
            Self::Simulated { .. } => None,
        }
    }
}

/// Everything that was found.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Analysis {
    /// Closeness and entropy over the steps.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub utility: Utility,
    /// How likely a release is typical, for each width asked for.
    pub typical: Vec<TypicalFigure>,
    /// The same by simulation, if it was asked for.
    pub simulated: Option<SimulatedUtility>,
    /// Whether the released walk is drawn back.
    pub drift: Option<DriftReport>,
    /// Figures of a walk without end.
    pub long_run: Option<LongRun>,
    /// How fast the pair settles.
    pub second_eigenvalue: Option<SecondEigenvalue>,
    /// After how many steps it has.
    #[cfg_attr(feature = "serde", serde(rename = "mixing_time"))]
    pub mixing: Option<MixingFigures>,
    /// Closed-form bounds, as published and corrected.
    pub bounds: Bounds,
    /// What was not computed.
    pub left_out: Vec<LeftOut>,
}

impl Analysis {
    /// The main figures, and nothing else so far.
    pub(super) fn of(utility: Utility, left_out: Vec<LeftOut>) -> Self {
        Self {
            utility,
            typical: Vec::new(),
            simulated: None,
            drift: None,
            long_run: None,
            second_eigenvalue: None,
            mixing: None,
            bounds: Bounds::default(),
            left_out,
        }
    }
}

/// Mixing times of the real chain and of the pair.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct MixingFigures {
    /// Of the real chain.
    #[cfg_attr(feature = "serde", serde(rename = "real_chain"))]
    pub chain: MixingTime,
    /// Of the pair of walks.
    pub pair: MixingTime,
}

/// Bounds in closed form.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Bounds {
    /// On the probability of a large distance.
    pub error: Option<ErrorFigures>,
    /// On the mean entropy.
    pub entropy: Option<WithNote<EntropyBound>>,
    /// On the probability of a typical release.
    pub typicality: Option<Typicality>,
}

/// Bounds on the probability of a large distance.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct ErrorFigures {
    /// One for each level asked for.
    pub levels: Vec<ErrorBoundFigures>,
    /// The constants of the published bound.
    pub published_constants: Option<PublishedConstants>,
    /// What to know of the published bound.
    pub published_note: &'static str,
}

/// Figures, with what to know of the published ones.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct WithNote<T> {
    /// The figures.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub figures: T,
    /// What to know of the published ones.
    pub published_note: &'static str,
}

/// Bounds on the probability of a typical release.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Typicality {
    /// One for each width asked for.
    pub etas: Vec<TypicalityFigures>,
    /// What to know of the published bound.
    pub published_note: &'static str,
}

/// How likely the released walk is typical, and how that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TypicalFigure {
    /// Computed, as a value or an interval.
    Enclosed(TypicalEnclosure),
    /// Estimated, where an enclosure would take too long.
    Simulated {
        /// The width.
        eta: f64,
        /// The share of releases.
        released: Estimate,
        /// From how many walks.
        walks: u64,
    },
}

#[cfg(feature = "serde")]
impl Serialize for TypicalFigure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Figure {
            Enclosed { eta: f64, known: &'static str, at_least: f64, at_most: f64 },
            Simulated { eta: f64, known: &'static str, mean: f64, standard_error: f64, walks: u64 },
        }
        match *self {
            Self::Enclosed(TypicalEnclosure { eta, at_least, at_most, .. }) => {
                let known = if at_least == at_most { "exact" } else { "enclosed" };
                Figure::Enclosed { eta, known, at_least, at_most }
            }
            Self::Simulated { eta, released: Estimate { mean, standard_error }, walks } => {
                Figure::Simulated { eta, known: "simulated", mean, standard_error, walks }
            }
        }
        .serialize(serializer)
    }
}

/// Something that was not computed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct LeftOut {
    /// What.
    pub what: &'static str,
    /// Why, and what to do about it.
    pub why: String,
}

const ASK_FOR_MORE: &str = "a thorough analysis computes it";

impl Plan<'_> {
    /// Computes what can be afforded, and simulates the main figures where they cannot be computed,
    /// which happens in blocks only. How far it is, is told to the watch stage by stage.
    ///
    /// # Errors
    ///
    /// If the pair of walks does not fit into memory, a walk is too long to be released as a whole, or
    /// the watcher asks to stop.
    ///
    /// # Panics
    ///
    /// If a real walk is empty.
    pub fn carry_out(&self, watch: Watch<'_>) -> Result<Findings, PlanError> {
        if self.mechanism.observation().is_some() {
            return self.of_observations(watch);
        }
        if self.inquiry.start == Start::Private {
            self.mechanism.private_start_watched(watch)?;
        }
        match self.mechanism.blocks() {
            Some(blocks) => self.in_blocks(blocks.length(), watch),
            None => Ok(Findings::Exact(Box::new(self.step_by_step(watch)?))),
        }
    }

    /// A walk that is made of observations depends on all of them so far, so the pair of a real and a
    /// released state is no Markov chain: its figures are simulated.
    fn of_observations(&self, watch: Watch<'_>) -> Result<Findings, PlanError> {
        let left_out = vec![LeftOut {
            what: "exact figures",
            why: "a walk that is made of observations depends on all of them, so its figures are simulated"
                .to_owned(),
        }];
        let count = self.inquiry.simulate.unwrap_or_else(|| self.walks_to_simulate());
        let simulated = self.simulated(count, watch)?;
        Ok(Findings::Simulated { simulated: Box::new(simulated), left_out })
    }

    fn step_by_step(&self, watch: Watch<'_>) -> Result<Analysis, PlanError> {
        let mut left_out = Vec::new();
        let (pair, utility) = match self.inquiry.real {
            None => {
                self.refuse_too_large_a_pair()?;
                let pair = self.pair(watch)?;
                let Inquiry { origin, start, steps, levels, .. } = self.inquiry;
                let utility = pair.utility(origin, start, steps, levels, watch)?;
                (Some(pair), utility)
            }
            Some(walks) => {
                let Inquiry { start, levels, .. } = self.inquiry;
                let utility = given_walks::utility(self.mechanism, walks, start, levels, watch)?;
                let pair = if self.pair_bytes() > self.effort.bytes {
                    left_out.push(LeftOut {
                        what: "drift and the long run",
                        why: format!("they need {}; {ASK_FOR_MORE}", self.pair_memory()),
                    });
                    None
                } else {
                    Some(self.pair(watch)?)
                };
                (pair, utility)
            }
        };
        let mut analysis = Analysis::of(utility, left_out);
        if let Some(pair) = &pair {
            self.of_the_pair(pair, &mut analysis, watch)?;
        }
        if let Some(walks) = self.inquiry.simulate {
            analysis.simulated = Some(self.simulated(walks, watch)?);
        }
        self.typical(pair.as_ref(), &mut analysis, watch)?;
        Ok(analysis)
    }

    fn pair(&self, watch: Watch<'_>) -> Result<JointChain<'_>, Stopped> {
        JointChain::new(self.mechanism, KernelMemory::default(), watch)
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

    fn refuse_too_large_a_pair(&self) -> Result<(), PlanError> {
        if self.pair_bytes() <= self.effort.bytes {
            return Ok(());
        }
        Err(PlanError::TooLarge { memory: self.pair_memory() })
    }

    /// Everything that follows from the chain of pairs.
    fn of_the_pair(
        &self,
        pair: &JointChain<'_>,
        analysis: &mut Analysis,
        watch: Watch<'_>,
    ) -> Result<(), PlanError> {
        let chain = self.mechanism.model().chain();
        let factor = if pair.stores_kernels() { 1.0 } else { WITHOUT_STORED_KERNELS };
        let per_sweep = factor * (2 * chain.len() * chain.transitions()) as f64;
        let drift = Drift::new(pair, watch)?;
        analysis.drift = Some(drift.report());
        let sweeps = ((self.effort.sweeping / per_sweep) as usize).min(self.effort.sweeps);
        if sweeps < FEWEST_SWEEPS {
            analysis.left_out.push(LeftOut {
                what: "the long run",
                why: format!("each of its sweeps takes long on this chain; {ASK_FOR_MORE}"),
            });
        } else {
            self.long_run(pair, sweeps, analysis, watch)?;
        }
        if self.inquiry.real.is_some() {
            analysis.left_out.push(LeftOut {
                what: "the bounds",
                why: "they speak of the chain's own walks; analyze those instead".to_owned(),
            });
            return Ok(());
        }
        self.bounds(pair, &drift, sweeps, analysis, watch)
    }

    fn long_run(
        &self,
        pair: &JointChain<'_>,
        sweeps: usize,
        analysis: &mut Analysis,
        watch: Watch<'_>,
    ) -> Result<(), PlanError> {
        let chain = self.mechanism.model().chain();
        let effort = long_run::LongRunEffort { sweeps, ..Default::default() };
        let settled = pair.stationary(effort, watch);
        let (law, figures) = match settled {
            Ok(settled) => settled,
            Err(LongRunError::Stopped(stopped)) => return Err(stopped.into()),
            Err(error) => {
                analysis.left_out.push(LeftOut { what: "the long run", why: error.to_string() });
                return Ok(());
            }
        };
        analysis.long_run = Some(figures);
        let second = pair.second_eigenvalue(effort, watch)?;
        analysis.second_eigenvalue = Some(second);
        let operations = self.effort.mixing;
        let mixing = MixingFigures {
            chain: chain_mixing_time(chain, &second, operations, watch)?,
            pair: pair.mixing_time(&law, &second, operations, watch)?,
        };
        analysis.mixing = Some(mixing);
        Ok(())
    }

    fn bounds(
        &self,
        pair: &JointChain<'_>,
        drift: &Drift,
        sweeps: usize,
        analysis: &mut Analysis,
        watch: Watch<'_>,
    ) -> Result<(), PlanError> {
        // One sweep for each of forty constants.
        if sweeps < 40 {
            analysis.left_out.push(LeftOut {
                what: "the bounds",
                why: format!("they take forty sweeps; {ASK_FOR_MORE}"),
            });
            return Ok(());
        }
        let model = self.mechanism.model();
        let start = pair.start(self.inquiry.origin, self.inquiry.start);
        let error = ErrorBound::new(pair, drift, &start, watch)?;
        let figures = error.figures(self.inquiry.steps, self.inquiry.levels);
        analysis.bounds.error = Some(ErrorFigures {
            levels: figures,
            published_constants: error.published_constants(),
            published_note: ErrorBound::NOTE,
        });
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
        let typicality = TypicalityBound::new(model, &entropy, exact, chain, pair);
        analysis.bounds.entropy =
            Some(WithNote { figures: entropy, published_note: EntropyBound::NOTE });
        analysis.bounds.typicality = typicality.map(|bound| Typicality {
            etas: self.inquiry.etas.iter().map(|&eta| bound.figures(eta)).collect(),
            published_note: TypicalityBound::NOTE,
        });
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

    fn typical(
        &self,
        pair: Option<&JointChain<'_>>,
        analysis: &mut Analysis,
        watch: Watch<'_>,
    ) -> Result<(), PlanError> {
        if analysis.utility.entropy_nats.rate.is_none() {
            analysis.left_out.push(LeftOut {
                what: "typical walks",
                why: "the chain's entropy rate could not be computed".to_owned(),
            });
            return Ok(());
        }
        let mut fallback: Option<SimulatedUtility> = None;
        for (place, &eta) in self.inquiry.etas.iter().enumerate() {
            let spending = self.effort.typical;
            let enclosed = match (self.inquiry.real, pair) {
                (Some(walks), _) => given_walks::typical(
                    self.mechanism,
                    walks,
                    self.inquiry.start,
                    eta,
                    spending,
                    watch,
                )?,
                (None, Some(pair)) => {
                    let Inquiry { origin, start, steps, .. } = self.inquiry;
                    typical::of_own_walks(pair, (origin, start), steps, eta, spending, watch)?
                }
                (None, None) => None,
            };
            analysis.typical.push(match enclosed {
                Some(enclosed) => TypicalFigure::Enclosed(enclosed),
                None => {
                    let simulated = match (&analysis.simulated, &mut fallback) {
                        (Some(simulated), _) => simulated,
                        (None, Some(simulated)) => simulated,
                        (None, fallback @ None) => {
                            fallback.insert(self.simulated(self.fallback_walks(), watch)?)
                        }
                    };
                    let released = simulated.typical[place].released;
                    TypicalFigure::Simulated { eta, released, walks: simulated.walks }
                }
            });
        }
        Ok(())
    }

    pub(super) fn simulated(
        &self,
        walks: u64,
        watch: Watch<'_>,
    ) -> Result<SimulatedUtility, Stopped> {
        self.inquiry.simulated(self.mechanism, walks, watch)
    }

    /// With several real walks, releases of each; fewer than ten would give no error bar.
    fn fallback_walks(&self) -> u64 {
        let real = self.inquiry.real.map_or(1, |walks| walks.len() as u64);
        (FALLBACK_WALKS / real).max(10)
    }
}
