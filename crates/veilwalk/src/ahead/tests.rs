//! The table beside its definition, written down as it stands.

use std::ops::ControlFlow;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::chain::{ChainBuilder, Entries, Grid};
use crate::watch::unwatched;

/// A chain with its distances.
#[derive(Debug)]
struct Sample {
    chain: Chain,
    symmetric: DistanceTable,
}

impl Sample {
    fn new(chain: Chain) -> Self {
        let symmetric = DistanceTable::directed(&chain).symmetric();
        Self { chain, symmetric }
    }
}

/// Chains of 2 to `most` states: a random cycle, and more moves.
fn samples(most: usize) -> impl Strategy<Value = Sample> {
    let entry = prop_oneof![4 => 0.05f64..1.0, 1 => Just(1e-9), 1 => Just(1e-300)];
    (2..=most)
        .prop_flat_map(move |n| {
            let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
            (order, vec(entry.clone(), n), vec((0..n, 0..n, entry.clone()), 0..3 * n))
        })
        .prop_map(|(order, along, extra)| {
            let n = order.len();
            let mut moves: std::collections::BTreeMap<_, f64> =
                (0..n).map(|i| ((order[i], order[(i + 1) % n]), along[i])).collect();
            moves.extend(extra.into_iter().map(|(i, j, entry)| ((i, j), entry)));
            let mut builder = ChainBuilder::new(Entries::Counts);
            let states: Vec<_> = (0..n).map(|i| builder.state(&i.to_string())).collect();
            for ((i, j), entry) in moves {
                builder.transition(states[i], states[j], entry).unwrap();
            }
            Sample::new(builder.build(Default::default()).unwrap().0)
        })
}

/// The definition, without a table: every answer to every move, and again from there.
fn by_definition(sample: &Sample, loss: &str, y: StateId, x: StateId, moves: usize) -> f64 {
    let here = match loss {
        "states" => f64::from(u8::from(y != x)),
        _ => sample.symmetric.between(y, x).as_f64(),
    };
    if moves == 0 {
        return here;
    }
    let chain = &sample.chain;
    let mut later = 0.0;
    for &next in chain.successors(x) {
        let values = chain.successors(y).iter();
        let values = values.map(|&answer| by_definition(sample, loss, answer, next, moves - 1));
        later += chain.probability(x, next) * values.fold(f64::INFINITY, f64::min);
    }
    here + 0.9 * later
}

fn both(sample: &Sample) -> [(&'static str, Loss<'_>); 2] {
    [("states", Loss::States), ("distance", Loss::Distance(&sample.symmetric))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn values_are_those_of_the_definition(sample in samples(4), rounds in 0usize..4) {
        for (name, loss) in both(&sample) {
            let table = Ahead::with_rounds(&sample.chain, loss, rounds, &unwatched).unwrap();
            // At most half a unit is lost in each round, and losses are below the largest.
            let largest = sample.symmetric.largest().2.as_f64().max(1.0);
            for y in sample.chain.states() {
                for x in sample.chain.states() {
                    let found = f64::from(table.of(y)[x.index()]) / table.one();
                    let known = by_definition(&sample, name, y, x, rounds);
                    prop_assert!((found - known).abs() < 1e-7 * largest, "{name} {found} {known}");
                }
            }
        }
    }

    /// More moves ahead change little after all rounds, nothing overflows, and right answers cost least.
    #[test]
    fn values_settle(sample in samples(20)) {
        for (_, loss) in both(&sample) {
            let table = Ahead::new(&sample.chain, loss, &unwatched).unwrap();
            let more = Ahead::with_rounds(&sample.chain, loss, 200, &unwatched).unwrap();
            let largest = Ahead::LARGEST_LOSS / (1.0 - Ahead::DISCOUNT);
            for (&value, &settled) in table.rows.iter().zip(&more.rows) {
                prop_assert!(value <= settled + 10, "{value} {settled}");
                prop_assert!(f64::from(settled - value.min(settled)) < 0.0151 * largest);
                prop_assert!(f64::from(settled) <= largest + 10.0);
            }
            for x in sample.chain.states() {
                // Whoever is right and sees the walk stays right.
                prop_assert_eq!(table.of(x)[x.index()], 0);
            }
        }
    }

    #[test]
    fn it_is_the_same_for_any_number_of_threads(sample in samples(40)) {
        for (_, loss) in both(&sample) {
            let made = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| Ahead::with_rounds(&sample.chain, loss, 5, &unwatched).unwrap())
            };
            let one = made(1);
            prop_assert!(made(2) == one && made(5) == one);
        }
    }
}

fn grid(side: u32) -> Chain {
    let side = side.try_into().unwrap();
    Chain::grid(Grid { width: side, height: side, seed: 5 }).unwrap()
}

#[test]
fn tables_have_the_bits_that_were_pinned() {
    let mut found = Vec::new();
    for chain in [Chain::credit(), grid(9), Chain::downtown()] {
        let sample = Sample::new(chain);
        for (_, loss) in both(&sample) {
            let table = Ahead::new(&sample.chain, loss, &unwatched).unwrap();
            let mut hasher = blake3::Hasher::new();
            table.rows.iter().for_each(|value| {
                hasher.update(&value.to_le_bytes());
            });
            found.push(hasher.finalize().to_hex()[..16].to_owned());
        }
    }
    assert_eq!(found, PINS);
}

const PINS: [&str; 6] = [
    "06fcdc71afa398c3",
    "46bac1df13c86129",
    "dd1f913ce2b44298",
    "7dd69e2ea5edb171",
    "10f52dbcbf441536",
    "6e61547c8d7bf5fb",
];

#[test]
fn it_can_be_stopped() {
    let chain = grid(9);
    let stop = |progress: crate::watch::Progress| {
        assert_eq!(progress.stage, Stage::Ahead);
        if progress.share < 0.3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    assert_eq!(Ahead::new(&chain, Loss::States, &stop), Err(Stopped));
}

#[test]
fn what_is_too_large_is_refused() {
    assert_eq!(Ahead::affordable(&Chain::downtown()), Ok(()));
    let chain = grid(91);
    let error = Ahead::affordable(&chain).unwrap_err();
    assert_eq!((error.states, error.transitions), (8281, chain.transitions()));
    let told = error.to_string();
    assert!(told.contains("8192 states") && told.contains("`distance`"), "{told}");
}
