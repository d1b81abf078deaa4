//! Public weights of the states that make an observation as exact as its promise allows.
//!
//! A real state x is answered by `K(y|x) ∝ μ(y)·exp(−η·m(y, x))`, drawn over all states y, with m
//! the symmetric distance. Replacing x by x' changes the exponent by at most `η·m(x, x')`, and so
//! it changes the total `A(x) = Σ μ(y)·exp(−η·m(y, x))` that the kernel is divided by. If weights
//! are even, both may happen at once, and η has to be half of λ, what is allowed for each nat. The
//! one idea: the weights are public and ours to choose, so choose them such that **A is the same
//! for every x**. Then only the exponent changes, and η may be λ itself.
//!
//! - [`Found::Solved`]: one linear system gives those weights. It often has a solution without
//!   negative weights, from some λ on.
//! - [`Found::Program`]: where it has none, a smaller η leaves `ln A` some slope, and a
//!   [linear program](program) finds weights for it.
//! - [`Found::Fitted`]: on more states than that is for, and where distances are those of a graph without directions,
//!   weights are [fitted](fitted) so that totals change slowly along its edges.
//!
//! # Privacy
//!
//! Nothing here decides it. Weights are doubles that have been rounded on the way, and whether they
//! keep the promise is for an exact certifier to say. They are public, so all who use them have to
//! have the same: they have the same bits on every machine and for every number of threads. There
//! are no fused operations, exponentials and logarithms are those of `libm`, and every number comes
//! from a fixed sequence of operations.
//!
//! # Limits
//!
//! The system of n states takes 8·n² bytes and 2/3·n³ operations: 3,800 states take 116 MB and a
//! second, [`MOST_STATES`] half a gigabyte and eight seconds. The program is for at most
//! [`MOST_IN_PROGRAM`]: some thirty are solved, each in twenty or thirty rounds of 6·n³ operations
//! and more, which takes a second for 150 states and about five for the most. States at distance
//! zero from each other count once.

mod classes;
mod fitted;
mod grid;
mod lu;
mod product;
mod program;
mod solved;
#[cfg(test)]
mod tests;
mod worth;

use self::classes::Classes;
use self::grid::Grid;
use crate::distance::DistanceTable;
use crate::nats::Nats;
use crate::rational::Rational;
use crate::state::StateId;
use crate::watch::{Stopped, Watch, part};

/// The most states, those at distance zero counted once, that weights are looked for.
pub(crate) const MOST_STATES: usize = 8_192;
/// The most of them for the linear program.
pub(crate) const MOST_IN_PROGRAM: usize = 256;

/// Public weights of the states, and the scale they are made for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weights {
    /// One for each state: finite, none negative, the largest one.
    pub(crate) weights: Vec<f64>,
    /// The scale η of distances.
    pub(crate) eta: Rational,
    /// How they were found.
    pub(crate) found: Found,
}

/// How weights were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The same total for every state, from a linear system.
    Solved,
    /// Totals that change slowly, from a linear program.
    Program,
    /// Totals that change slowly along the edges of a graph, on many states.
    Fitted,
}

/// By how little η is below λ: what roundings of weights may cost. The second is tried where the
/// first was refused.
const ROOM: [u32; 2] = [14, 11];

/// Weights for a loss of at most λ for each nat of a symmetric distance, which is that of a graph if there are `edges`.
/// `keeps` says, exactly,
/// whether proposed ones are. `None` if there are too many states, or nothing was found that is
/// better than even weights.
///
/// # Errors
///
/// If the watcher asks to stop.
pub(crate) fn find(
    distances: &DistanceTable,
    edges: Option<&[(StateId, StateId, Nats)]>,
    lambda: Rational,
    keeps: &dyn Fn(&Weights) -> bool,
    watch: Watch<'_>,
) -> Result<Option<Weights>, Stopped> {
    let classes = Classes::of(distances);
    if classes.len() == 0 || classes.len() > MOST_STATES {
        return Ok(None);
    }
    let with_program = classes.len() <= MOST_IN_PROGRAM;
    let solving = if with_program { 0.1 } else { 1.0 };
    for (round, bits) in ROOM.into_iter().enumerate() {
        let parts = 1u128 << bits;
        let eta = times(lambda, parts - 1, parts);
        if eta.is_zero() {
            return Ok(None);
        }
        let share = solving / ROOM.len() as f64;
        let watch = part(watch, share * round as f64..share * (round + 1) as f64);
        let Some(weights) = solved::constant_totals(&classes, eta.as_f64(), &watch)? else { break };
        let weights = Weights { weights: classes.spread(&weights), eta, found: Found::Solved };
        if keeps(&weights) {
            return Ok(Some(weights));
        }
    }
    if !with_program {
        let Some(edges) = edges else { return Ok(None) };
        return fitted::best(&classes, &classes.edges(edges), lambda, keeps, watch);
    }
    Grid::new(&classes, lambda).best(keeps, &part(watch, solving..1.0))
}

/// `value·above/below`, rounded down.
fn times(value: Rational, above: u128, below: u128) -> Rational {
    Rational::floor_of_products(
        [value.numerator().into(), above],
        [value.denominator().into(), below],
    )
}
