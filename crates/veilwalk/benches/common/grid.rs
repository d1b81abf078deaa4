//! A chain that is easy to picture, for measurements.

use veilwalk::Chain;
use veilwalk::chain::Grid;

/// The crossings of 20 by 25 streets.
pub(crate) fn grid() -> Chain {
    let (width, height) = (25.try_into().expect("a width"), 20.try_into().expect("a height"));
    Chain::grid(Grid { width, height, seed: 1 }).expect("small enough")
}
