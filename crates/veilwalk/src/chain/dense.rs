//! Made-up chains for tests in which every state leads to every other.

use super::{Chain, ChainBuilder, Entries};

/// A chain whose counts are made of fixed numbers of 64 bits without a pattern.
pub(crate) fn dense_chain(states: usize, count: impl Fn(u64) -> f64) -> Chain {
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<_> = (0..states).map(|i| builder.state(&i.to_string())).collect();
    let mut random = 12345u64;
    for &i in &ids {
        for &j in &ids {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            builder.transition(i, j, count(random)).unwrap();
        }
    }
    builder.build(Default::default()).unwrap().0
}
