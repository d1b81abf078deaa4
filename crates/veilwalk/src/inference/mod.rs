//! What a release says about the real walks: exact inference, at no cost in privacy.
//!
//! The real walk is a walk of a chain, and what was released for it was drawn by a law that is known. So the
//! pair is a hidden Markov model whose parts are all public, and anybody can compute what follows from a
//! release:
//!
//! - [`Inference::posterior`]: how likely each state is at each step, given all that was released.
//! - [`Inference::refine`]: the feasible walk that is expected to be nearest to the real one.
//!
//! - [`estimate`](fn@estimate): what the crowd did. Its moves are learned from many releases together.
//!
//! The same posterior is what an attacker has who knows the chain.
//!
//! # Privacy
//!
//! Only what was released enters, and public things. So all of this is post-processing: it costs nothing, it
//! may be done as often as one likes, and it may be published. It also takes nothing away from the guarantee:
//! for two walks that the promise does not tell apart the probability of every release differs by at most
//! `exp(ε)`, so the odds between the two, whatever they were before, change by no more than that.
//! Odds of a single *state* can change by more, because a chain makes neighbouring states depend on each other.
//!
//! # How
//!
//! `α_t(x) ∝ (α_{t−1} P)(x) · ℓ_t(x)` forward and `β_t(x) = Σ P(x, x') ℓ_{t+1}(x') β_{t+1}(x')` backward, where
//! `ℓ_t(x)` is `K(z_t | z_{t−1}, x)` for a mechanism that draws moves and `K(y_t | x)` for one that draws
//! observations. The posterior of step `t` is `α_t β_t`, and that of a move `α_{t−1}(x) P(x, x') ℓ_t(x') β_t(x')`, both
//! normalised. That is exact but for rounding, and for the states that are dropped on large chains
//! ([`Inference::dropping_below`]).
//!
//! **Blocks are refused.** The law of a block has a normaliser that depends on all real states of the block
//! together. It does not fall into a factor for each of them, and there is no such recursion.
//!
//! **Walks that the chain does not have.** A release of a real walk with moves that the law holds impossible can
//! contradict everything believed. Such a step is counted as a surprise, and leaves what was predicted.

mod emission;
mod estimate;
mod law;
mod posterior;
mod refine;
mod refine_walks;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use thiserror::Error;

pub use estimate::{
    Estimate, EstimateError, EstimateInquiry, EstimateSettings, Expected, Interval,
    IntervalSettings, Intervals, Learned, Sample, Share, Trips, Weights, WithTrips, estimate,
    estimate_by, expected_counts, intervals, intervals_of, learn, trips,
};
pub use law::{Law, OtherStates};
pub use posterior::{InferenceSpace, Marginal, Posterior};
pub use refine::{RefineAim, Refined};
pub use refine_walks::{RefineError, RefineSettings, RefinedWalk};

use crate::belief::Tracker;
use crate::chain::Chain;
use crate::mechanism::{BlockLength, Mechanism, NoPrivateStart, Start};
use emission::Emission;

/// Infers real walks from what a mechanism has released for them.
///
/// ```
/// use std::sync::Arc;
/// use veilwalk::inference::{Inference, InferenceSpace};
/// use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Releaser, Source, Start};
///
/// let model = Arc::new(Model::new(Chain::credit())?);
/// let promise = Promise::within_radius("1".parse()?, "3.5".parse()?);
/// let mechanism = Arc::new(Mechanism::new(model.clone(), Preset::Tight.design(), promise)?);
/// let mut releaser = Releaser::new(mechanism.clone(), &Source::system(), Start::Private)?;
/// let real = ["Caa", "Ca/C", "Caa", "B"].map(|label| model.chain().state(label).unwrap());
/// let released = releaser.release("firm 12", &real)?;
///
/// let inference = Inference::new(mechanism, Start::Private)?;
/// let posterior = inference.posterior(&released.observed, &mut InferenceSpace::default())?;
/// let (state, probability) = posterior.steps()[2].likeliest();
/// println!("step 2 is {} with probability {probability}", model.chain().label(state));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Inference {
    emission: Arc<Emission>,
    law: Law,
    dropped_below: f64,
}

/// Why nothing can be inferred from a release.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// It was released in blocks.
    #[error(
        "what a release in blocks ({length}) says about a single state cannot be \
         computed exactly: the normaliser of a block depends on all its real states together. A release of one \
         step at a time can be inferred from, and so can one with a lag"
    )]
    InBlocks {
        /// Their length.
        length: BlockLength,
    },
    /// Walks cannot have started so.
    #[error(transparent)]
    Start(#[from] NoPrivateStart),
}

/// Why a walk is not one that the mechanism can have released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnlikelyRelease {
    /// It has no states.
    #[error("the walk has no states")]
    Empty,
    /// A state that the chain does not have.
    #[error("step {step} has a state that the chain does not have")]
    NoSuchState {
        /// The step, from zero.
        step: usize,
    },
    /// A state where the mechanism draws points.
    #[error("step {step} is a state, and the mechanism observes points of a plane")]
    NotAPoint {
        /// The step, from zero.
        step: usize,
    },
    /// It starts where no release does.
    #[error("the walk starts at a state where no release starts")]
    Start,
    /// A move that the chain does not have.
    #[error("step {step} is a move that the chain does not have")]
    Move {
        /// The step, from zero.
        step: usize,
    },
}

impl Inference {
    /// From releases of this mechanism that started so, for somebody who takes real walks to be walks of its
    /// chain.
    ///
    /// # Errors
    ///
    /// If the mechanism releases blocks, or cannot start so, or walks may start at too many states of a chain
    /// without a table of distances.
    pub fn new(mechanism: Arc<Mechanism>, start: Start) -> Result<Self, InferenceError> {
        let (law, states) = (Law::of(mechanism.model().chain()), mechanism.model().chain().len());
        let searches = mechanism.model().needs_searches();
        let starts = law.initial().iter().filter(|&&mass| mass > 0.0).count();
        if searches && start != Start::First && starts > Mechanism::MOST_BELIEVED_STARTS {
            return Err(NoPrivateStart::WideBelief { states: starts }.into());
        }
        let small = states <= Self::SMALL;
        let dropped_below = if small { 0.0 } else { Tracker::PRUNED_BELOW };
        let emission = Arc::new(Emission::new(mechanism, start)?);
        Ok(Self { emission, law, dropped_below })
    }

    /// On chains of so many states nothing is dropped unless it is asked for.
    pub const SMALL: usize = 256;

    /// The same for somebody who takes real walks to be walks of another chain with the same states.
    ///
    /// # Errors
    ///
    /// If that chain lacks a state, or leads only to states that this one lacks.
    pub fn with_prior(self, prior: &Chain) -> Result<Self, OtherStates> {
        let law = Law::of_other(prior, self.chain())?;
        Ok(self.with_law(law))
    }

    /// The same for somebody who takes real walks to follow this law.
    #[must_use]
    pub fn with_law(self, law: Law) -> Self {
        Self { law, ..self }
    }

    /// A copy for somebody who takes real walks to follow this law. What is known of the mechanism is shared.
    #[must_use]
    pub fn knowing(&self, law: Law) -> Self {
        self.clone().with_law(law)
    }

    /// The same, dropping states that have less than this part of the largest mass after a step: zero drops
    /// nothing. [`Posterior::dropped`] says how much mass that was.
    ///
    /// # Panics
    ///
    /// If the part is not from zero up and below one.
    #[must_use]
    pub fn dropping_below(self, part: f64) -> Self {
        assert!((0.0..1.0).contains(&part), "a part from zero up and below one");
        Self { dropped_below: part, ..self }
    }

    /// How real walks are taken to move.
    #[must_use]
    pub fn law(&self) -> &Law {
        &self.law
    }

    /// The mechanism that released.
    #[must_use]
    pub fn mechanism(&self) -> &Arc<Mechanism> {
        self.emission.mechanism()
    }

    /// How released walks started.
    #[must_use]
    pub fn start(&self) -> Start {
        self.emission.start()
    }

    fn chain(&self) -> &Chain {
        self.mechanism().model().chain()
    }

    /// How many states are kept after a step at most.
    fn most_states(&self) -> usize {
        match self.mechanism().model().needs_searches() {
            true => Tracker::MOST_SEARCHED,
            false => usize::MAX,
        }
    }
}
