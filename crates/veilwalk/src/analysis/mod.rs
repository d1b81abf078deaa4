//! How good a release is, computed rather than simulated.
//!
//! The kernel of every mechanism is known exactly, so the questions that are usually put to
//! thousands of simulated walks have exact answers:
//!
//! - [`given_walk`]: for one real walk, the distribution of the released state at every step;
//!   [`given_walks`] puts several together.
//! - [`given_block`]: the same for a walk that is released in blocks.
//! - [`joint`]: the pair (real state, released state) is a Markov chain with |S|² states. Its
//!   operator is applied as two sparse moves and never written down, so it reaches chains of
//!   thousands of states. Averages over the chain's own walks come from here.
//! - [`profile`]: the same for every length of a walk at once, and the spread of the real ones.
//! - [`long_run`]: the stationary law of the pair, its second eigenvalue and its mixing time.
//! - [`drift`]: whether the released walk is drawn back, state by state.
//! - [`bounds`]: closed-form bounds as published, and ones that hold.
//! - [`typical`]: how likely the released walk is one that the chain would typically make.
//! - [`tune`](mod@tune): which member of the family serves an aim best on a chain.
//! - [`plan`]: all of it together, as far as it is affordable.
//! - [`compare`]: mechanisms side by side.
//! - [`simulate`]: the real sampler on all cores, an independent route to the same figures, and the
//!   only one for blocks over the chain's own walks ([`OwnWalks`]).
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

pub mod block_plan;
pub mod bounds;
pub mod compare;
pub mod drift;
mod figures;
mod given_block;
pub mod given_walk;
pub mod given_walks;
mod inquiry;
pub mod joint;
mod kernels;
mod levels;
pub mod long_run;
mod own_walks;
pub mod plan;
pub mod profile;
mod progress;
pub mod simulate;
pub mod tune;
pub mod typical;

pub use figures::{DistanceLaw, EntropyFigures, Exceedance, Utility};
pub use inquiry::Inquiry;
pub use levels::usual_levels;
pub use own_walks::OwnWalks;
pub use progress::{Observer, Progress, Stage, Stopped, unobserved};

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
