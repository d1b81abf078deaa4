//! Distances on demand are the table's, and so is everything released with them, to the last bit.

mod common;

use std::sync::Arc;

use common::{random_chain, scattered_chain};
use proptest::prelude::*;
use veilwalk::CacheSize;
use veilwalk::chain::{ChainBuilder, Entries, Grid};
use veilwalk::guarantee::{Cover, Effort, Guarantee, calibrate};
use veilwalk::internal::cover::SuggestedRadii;
use veilwalk::internal::distance::Metric;
use veilwalk::mechanism::{Design, Distance, Unit};
use veilwalk::session::Releaser;
use veilwalk::unwatched;
use veilwalk::{
    Chain, Mechanism, Model, Nats, Preset, Promise, ReleaseId, Secret, Source, Start, StateId,
};

fn grid(width: u32, height: u32, seed: u64) -> Chain {
    let (width, height) = (width.try_into().unwrap(), height.try_into().unwrap());
    Chain::grid(Grid { width, height, seed }).unwrap()
}

/// Ever onward at 690 nats a move, or back to the start: the far end is beyond the ceiling.
fn saturating() -> Chain {
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<StateId> = (0..12).map(|i| builder.state(&i.to_string())).collect();
    for i in 0..11 {
        builder.transition(ids[i], ids[i + 1], 1e-300).unwrap();
        builder.transition(ids[i], ids[0], 1.0).unwrap();
    }
    builder.transition(ids[11], ids[0], 1.0).unwrap();
    builder.build(Default::default()).unwrap().0
}

/// A ring in which every second move is certain, and so weighs nothing.
fn with_certain_moves() -> Chain {
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<StateId> = (0..30).map(|i| builder.state(&i.to_string())).collect();
    for i in 0..30 {
        builder.transition(ids[i], ids[(i + 1) % 30], 3.0).unwrap();
        if i % 2 == 0 {
            builder.transition(ids[i], ids[(i * 7) % 30], 1.0).unwrap();
        }
    }
    builder.build(Default::default()).unwrap().0
}

fn chains() -> Vec<Chain> {
    vec![
        Chain::credit(),
        Chain::downtown(),
        grid(10, 9, 3),
        grid(1, 1, 0),
        scattered_chain(60, 6, 5),
        saturating(),
        with_certain_moves(),
    ]
}

/// All answers of both metrics agree, asked in an order that makes a small cache forget.
fn assert_same_distances(table: &Model, searched: &Model) {
    let chain = table.chain();
    let pairs = [
        (table.directed_metric(), searched.directed_metric()),
        (table.symmetric_metric(), searched.symmetric_metric()),
    ];
    for (expected, found) in pairs {
        let fill = |metric: &Arc<dyn Metric>, z: StateId, x: StateId| {
            let mut out = vec![Nats::ZERO; chain.successors(z).len()];
            metric.fill(z, chain.successors(z), x, &mut out);
            out
        };
        for z in chain.states() {
            for x in chain.states() {
                assert_eq!(fill(&expected, z, x), fill(&found, z, x), "{z:?} {x:?}");
            }
        }
        for x in chain.states() {
            for z in chain.states() {
                assert_eq!(fill(&expected, z, x), fill(&found, z, x), "{z:?} {x:?}");
            }
        }
    }
}

#[test]
fn distances_are_the_tables_whatever_the_cache() {
    for chain in chains() {
        let table = Model::new(chain.clone()).unwrap();
        for size in [0, 1, 50, 1 << 18] {
            let searched = Model::on_demand(chain.clone(), CacheSize(size));
            assert_same_distances(&table, &searched);
            assert_eq!(searched.closest_pair(), table.closest_pair());
        }
    }
}

/// A walk of the chain: every step one of the moves there are.
fn real_walk(chain: &Chain, steps: usize, seed: u64) -> Vec<StateId> {
    let mut random = seed;
    let mut state = StateId::new(0);
    let mut walk = vec![state];
    for _ in 1..steps {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let next = chain.successors(state);
        state = next[(random >> 33) as usize % next.len()];
        walk.push(state);
    }
    walk
}

fn released(model: &Arc<Model>, preset: Preset, name: &str, walk: &[StateId]) -> Vec<StateId> {
    let promise = common::promise(preset, "2", "3");
    let mechanism = Mechanism::new(model.clone(), preset.design(), promise).unwrap();
    let source = Source::keyed(Secret::new(&[7; 32]).unwrap(), ReleaseId::from_bytes([1; 16]));
    let mut releaser = Releaser::new(Arc::new(mechanism), &source, Start::Initial).unwrap();
    releaser.release(name, walk).unwrap().states
}

/// A table is looked at rounded first, and searches give exact distances only: with many candidates
/// and at every scale the two release the same.
#[test]
fn rounded_distances_release_what_exact_ones_do() {
    let chain = scattered_chain(50, 40, 8);
    let table = Arc::new(Model::new(chain.clone()).unwrap());
    let searched = Arc::new(Model::on_demand(chain.clone(), CacheSize::default()));
    // Each state often enough that its distances are rounded.
    let walk = real_walk(&chain, 8_000, 1);
    let paper = Preset::Paper.design();
    for design in [paper, Design { distance: Distance::Symmetric, ..paper }] {
        for epsilon in ["0.000001", "0.01", "0.3", "1", "3", "20", "1000"] {
            let promise = Promise::within_radius(epsilon.parse().unwrap(), "1".parse().unwrap());
            let released = [&table, &searched].map(|model| {
                let mechanism = Mechanism::new(model.clone(), design, promise).unwrap();
                let mut releaser =
                    Releaser::new(Arc::new(mechanism), &Source::seeded(3), Start::Initial).unwrap();
                releaser.release("w", &walk).unwrap().states
            });
            assert_eq!(released[0], released[1], "{design}, epsilon {epsilon}");
        }
    }
}

#[test]
fn keyed_releases_are_the_same_either_way_on_one_thread_and_on_several() {
    for chain in chains() {
        let table = Arc::new(Model::new(chain.clone()).unwrap());
        let searched = Arc::new(Model::on_demand(chain.clone(), CacheSize(20)));
        for preset in [Preset::Sharp, Preset::Paper, Preset::Exponential, Preset::Chen] {
            let walks: Vec<_> = (0..4).map(|i| real_walk(&chain, 300, i)).collect();
            let expected: Vec<_> = walks.iter().map(|w| released(&table, preset, "w", w)).collect();
            let alone: Vec<_> = walks.iter().map(|w| released(&searched, preset, "w", w)).collect();
            assert_eq!(alone, expected, "{preset}");
            let together: Vec<_> = std::thread::scope(|scope| {
                let searched = &searched;
                let running: Vec<_> = walks
                    .iter()
                    .map(|walk| scope.spawn(move || released(searched, preset, "w", walk)))
                    .collect();
                running.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(together, expected, "{preset}");
        }
    }
}

#[test]
fn cover_and_suggested_radii_are_the_tables() {
    for chain in chains() {
        let table = Model::new(chain.clone()).unwrap();
        let searched = Model::on_demand(chain, CacheSize::default());
        for radius in ["0.1", "1", "2.733", "5", "40", "4095", "5000"] {
            let unit = Unit::Radius(radius.parse().unwrap());
            assert_eq!(Cover::new(&searched, unit), Cover::new(&table, unit), "{radius}");
        }
        assert_eq!(SuggestedRadii::new(&searched), SuggestedRadii::new(&table));
    }
}

/// A chain beyond the largest table: what needs none works, what needs one says so.
#[test]
fn a_large_chain_is_released_explained_and_refused_where_tables_are_needed() {
    let chain = grid(130, 130, 2);
    assert!(chain.len() > Model::LARGEST_TABLE);
    assert!(Model::new(chain.clone()).unwrap_err().to_string().contains("16900 states"));
    let model = Arc::new(Model::of_any_size(chain));
    let walk = real_walk(model.chain(), 100, 1);
    let out = released(&model, Preset::Sharp, "w", &walk);
    assert!(out.windows(2).all(|pair| model.chain().allows(pair[0], pair[1])));

    let promise = Promise::within_radius("3".parse().unwrap(), "1".parse().unwrap());
    let sharp = Mechanism::new(model.clone(), Preset::Sharp.design(), promise).unwrap();
    let guarantee = Guarantee::new(&sharp, Effort::default(), &unwatched).unwrap();
    let losses = guarantee.of_steps().unwrap();
    assert!(!guarantee.vacuous && losses.coverage.is_none());
    assert_eq!(losses.loss_per_nat.bound, Some(3.0));
    assert_eq!(losses.loss_per_nat.exact, 3.0);
    assert_eq!(losses.walk_loss.audited, 3.0);
    let example = losses.example.as_ref().unwrap();
    assert!(example.distance_nats <= 1.0 && example.loss <= 3.0 * example.distance_nats + 1e-9);
    let words = guarantee.to_string();
    assert!(words.contains("too large to compare") && words.contains("not computed"), "{words}");

    let refused = calibrate(&sharp, Effort::default(), &unwatched).unwrap_err().to_string();
    assert!(refused.contains("needs a table of all distances"), "{refused}");
    let counted = Promise::for_substitutions("1".parse().unwrap(), 1.try_into().unwrap());
    let design = Preset::ExponentialHamming.design();
    let refused = Mechanism::new(model.clone(), design, counted).unwrap_err().to_string();
    assert!(refused.contains("needs a table of all distances"), "{refused}");
    let refused = Mechanism::new(model.clone(), Preset::Cell.design(), promise).unwrap_err();
    assert!(refused.to_string().contains("sharp"), "{refused}");
    assert!(Mechanism::new(model, Preset::Chen.design(), counted).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn searches_agree_with_the_table(chain in random_chain(24), size in 0usize..200) {
        let table = Model::new(chain.clone()).unwrap();
        let searched = Model::on_demand(chain, CacheSize(size));
        assert_same_distances(&table, &searched);
        prop_assert_eq!(searched.closest_pair(), table.closest_pair());
        prop_assert_eq!(SuggestedRadii::new(&searched), SuggestedRadii::new(&table));
        for radius in ["0.5", "3", "30"] {
            let unit = Unit::Radius(radius.parse().unwrap());
            prop_assert_eq!(Cover::new(&searched, unit), Cover::new(&table, unit));
        }
    }
}
