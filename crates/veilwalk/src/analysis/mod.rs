//! How good a release is, computed rather than simulated.
//!
//! The kernel of every mechanism is known exactly, so the questions that are usually put to
//! thousands of simulated walks have exact answers. Four of them are asked here:
//!
//! - [`Plan`] analyzes one mechanism: for given real walks, or for the chain's own ([`OwnWalks`]). An
//!   [`Analysis`] has the distance to the real walk and the share of wrong states ([`Utility`]), entropy, drift,
//!   mixing, and bounds, as far as they are affordable.
//! - [`Comparison`] puts mechanisms side by side, at equal ε and at equal exact loss, and beside walks that
//!   are drawn from the chain alone ([`chain_alone`](fn@chain_alone)).
//! - [`attack`](fn@attack): how often somebody who knows the chain guesses right from a release.
//! - [`tune`](fn@tune) finds the member of the family that serves an [`Aim`] best on a chain.
//!
//! How it is done: for one real walk, the distribution of the released state moves along step by step
//! (`given_walk`). Over the chain's own walks, the pair (real state, released state) is a Markov chain
//! with |S|² states, whose operator is applied as two sparse moves and never written down (`joint`). Its
//! stationary law, second eigenvalue and mixing time are in `long_run`. `drift` and `bounds` have the drift,
//! and the published bounds beside bounds that hold. `simulate` runs the real sampler on all cores: an
//! independent route to the same figures, and the only one for blocks over the chain's own walks.
//!
//! Conventions: `x` is the real state, `z` the last released one, and `V(x, z) = d(z, x)` the
//! distance from the released state to the real one. In a step the real state moves first, to `x'`,
//! and then the released one, to `y` with probability `K(y | z, x')`. Step 0 is the start; figures
//! that are averaged over steps start with step 1. Entropies add up the transitions' own weights
//! `w(z, y) = −ln P(y | z)` as real numbers: never distances, in which a self-loop would cost
//! nothing.
//!
//! Everything here is `f64`: nothing here decides a release. Sums are taken in a fixed order, so
//! results do not depend on the number of threads.

pub(crate) mod attack;
pub(crate) mod block_plan;
pub(crate) mod bounds;
pub(crate) mod chain_alone;
pub(crate) mod compare;
pub(crate) mod drift;
mod ended_walks;
pub(crate) mod equal_success;
pub(crate) mod figures;
mod given_block;
pub(crate) mod given_walk;
pub(crate) mod given_walks;
mod inquiry;
pub(crate) mod joint;
mod kernels;
mod levels;
pub(crate) mod long_run;
mod own_walks;
pub(crate) mod plan;
pub(crate) mod profile;
pub(crate) mod simulate;
pub(crate) mod tune;
pub(crate) mod typical;
pub(crate) mod usual_attack;

pub use attack::{Attack, Attacked, Guess, Odds, affordable_attack, attack};
pub use chain_alone::chain_alone;
pub use compare::{Comparison, Setting};
pub use ended_walks::{EndedWalks, EndedWalksError};
pub use figures::Utility;
pub use inquiry::Inquiry;
pub use levels::usual_levels;
pub use own_walks::OwnWalks;
pub use plan::{Analysis, AnalysisEffort, Findings, Plan, PlanError};
pub use tune::{Aim, AimError, Question, Ranking, TuneError, tune};

use crate::chain::{Chain, StateId};

/// Where the chain's own walks start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// At a state drawn from the chain's initial distribution.
    #[default]
    Initial,
    /// At this state.
    At(StateId),
}

/// `Σ −P ln P` for every state: the expected weight of a move from it.
fn row_entropies(chain: &Chain) -> Vec<f64> {
    let entropy = |p: &f64| -p * p.ln();
    chain.states().map(|i| chain.probabilities(i).iter().map(entropy).sum()).collect()
}

/// `−ln P` of every transition, in the order of [`Chain::row`].
fn edge_weights(chain: &Chain) -> Vec<f64> {
    chain.states().flat_map(|i| chain.probabilities(i)).map(|p| -p.ln()).collect()
}
