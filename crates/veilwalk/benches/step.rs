//! Time per released step, and to build the tables of cells.
//!
//! `cargo bench -p veilwalk --bench step`. Instruction counts, which a busy machine does not
//! disturb, come from `bench/instructions`.

#[path = "common/grid.rs"]
mod grid;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use grid::grid;
use veilwalk::internal::distance::Nearest;
use veilwalk::internal::mechanism::Workspace;
use veilwalk::mechanism::Unit;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Source, StateId};

fn steps(criterion: &mut Criterion) {
    for (name, chain, start) in [("credit", Chain::credit(), 4), ("grid", grid(), 0)] {
        let model = Arc::new(Model::new(chain).expect("small enough"));
        let mut group = criterion.benchmark_group(name);
        for preset in
            [Preset::Paper, Preset::Exponential, Preset::Sharp, Preset::Cell, Preset::Chen]
        {
            let unit = if preset.counts_substitutions() {
                Unit::Substitutions(1.try_into().expect("one is not zero"))
            } else {
                Unit::Radius("1".parse().expect("a radius"))
            };
            let promise = Promise { epsilon: "1".parse().expect("an epsilon"), unit };
            let mechanism = Mechanism::new(model.clone(), preset.design(), promise).expect("fits");
            let mut randomness = Source::seeded(1).open(mechanism.fingerprint()).expect("a seed");
            let walk = randomness.walk(b"bench");
            let words = randomness.at(&walk, 0, None);
            let mut space = Workspace::default();
            // The real walk goes where the released one has gone, one step behind: both stay near.
            let (mut released, mut real) = (StateId::new(start), StateId::new(start));
            group.bench_function(preset.name(), |bencher| {
                bencher.iter(|| {
                    let next = mechanism.step(released, real, words, &mut space);
                    (real, released) = (released, next);
                    black_box(next)
                });
            });
        }
        group.finish();
    }
}

fn tables(criterion: &mut Criterion) {
    let chain = grid();
    let mut group = criterion.benchmark_group("tables");
    group.sample_size(10);
    group.bench_function("cells", |bencher| {
        bencher.iter_batched(
            || {
                let model = Model::new(chain.clone()).expect("small enough");
                let _ = model.symmetric();
                model
            },
            |model| {
                let cells = model.cells(Nearest::Directed).expect("affordable");
                black_box(cells.distances(StateId::new(0), StateId::new(1)).len())
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, steps, tables);
criterion_main!(benches);
