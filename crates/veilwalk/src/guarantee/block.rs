//! The exact loss of a block, by enumerating every path: for small chains, and to check the bound.

use super::rounding::log_kernel_error;
use crate::chain::StateId;
use crate::mechanism::BlockMechanism;

/// The largest log-ratio of the probabilities of any released block, over every last released state,
/// when the real block is `reals` and when it is `others`. Rounded up by what doubles can be off.
///
/// # Panics
///
/// If the two have different lengths, or are longer than a block.
///
/// # Complexity
///
/// The number of paths of that length in the whole chain.
#[must_use]
pub fn block_loss(mechanism: &BlockMechanism, reals: &[StateId], others: &[StateId]) -> f64 {
    assert_eq!(reals.len(), others.len(), "adjacent walks are of equal length");
    if reals == others {
        return 0.0;
    }
    let chain = mechanism.model().chain();
    let candidates = chain.largest_out_degree();
    let losses = chain.states().flat_map(|previous| {
        let one = mechanism.log_law(previous, reals);
        let two = mechanism.log_law(previous, others);
        let pairs = one.into_iter().zip(two);
        pairs.map(|((_, a), (_, b))| {
            // One rounding error for each of the choices that a path is made of.
            let each = log_kernel_error(candidates, a.abs().max(b.abs()));
            (a - b).abs() + 2.0 * reals.len() as f64 * each
        })
    });
    losses.fold(0.0, f64::max)
}
