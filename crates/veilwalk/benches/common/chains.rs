//! Chains that several measurements share.

use veilwalk::Chain;
use veilwalk::chain::{BuildOptions, ChainBuilder, Entries, Scope};

/// A cycle with seven more transitions from every state, to pseudo-random states.
pub(crate) fn scattered(states: usize) -> Chain {
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<_> = (0..states).map(|i| builder.state(&i.to_string())).collect();
    let mut random = 1u64;
    let mut below = |n: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % n
    };
    for i in 0..states {
        let mut to = std::collections::BTreeSet::from([(i + 1) % states]);
        while to.len() < 8 {
            to.insert(below(states));
        }
        for j in to {
            builder.transition(ids[i], ids[j], 1.0 + below(9) as f64).expect("a count");
        }
    }
    builder.build(BuildOptions::default()).expect("a chain").0
}

/// A file of click counts: from, to, count, separated by tabs.
pub(crate) fn wikispeedia(path: &str) -> Chain {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let mut builder = ChainBuilder::new(Entries::Counts);
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let (from, to) = (builder.state(fields[0]), builder.state(fields[1]));
        builder.transition(from, to, fields[2].parse().expect("a count")).expect("a count");
    }
    let options = BuildOptions { scope: Scope::LargestComponent, ..BuildOptions::default() };
    builder.build(options).expect("a chain").0
}
