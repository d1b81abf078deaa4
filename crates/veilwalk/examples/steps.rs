//! Takes many steps with one mechanism, to be counted by a profiler:
//!
//! ```text
//! cargo build --release -p veilwalk --example steps
//! valgrind --tool=callgrind target/release/examples/steps grid cell 20000
//! ```
//!
//! The chain is `credit` or `grid`. With 0 steps everything is prepared and nothing released, so the
//! difference of two runs is the cost of the steps alone.

#[path = "../benches/common/grid.rs"]
mod grid;

use std::error::Error;
use std::sync::Arc;

use veilwalk::analysis::{Origin, OwnWalks};
use veilwalk::distance::Nearest;
use veilwalk::mechanism::{Unit, Workspace};
use veilwalk::rational::Rational;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Source, StateId};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [chain, preset, steps] = arguments.as_slice() else {
        return Err("give a chain (credit or grid), a mechanism and a number of steps".into());
    };
    let chain = match chain.as_str() {
        "credit" => Chain::credit(),
        "grid" => grid::grid(),
        path => return Err(format!("{path:?} is neither credit nor grid").into()),
    };
    let (preset, steps): (Preset, usize) = (preset.parse()?, steps.parse()?);
    let unit = if preset.counts_substitutions() {
        Unit::Substitutions(1.try_into()?)
    } else {
        Unit::Radius("1".parse()?)
    };
    let model = Arc::new(Model::new(chain)?);
    let promise = Promise { epsilon: "1".parse()?, unit };
    let mechanism = if preset == Preset::Cell {
        // Calibration would take most of the time, and a step costs the same without it.
        // Tables are made when first asked for: now, so that they are not counted as steps.
        let _ = model.cells(Nearest::Directed)?.distances(StateId::new(0), StateId::new(0));
        let scales = vec![Rational::ONE; model.chain().len()];
        Mechanism::with_scales(model.clone(), preset.design(), &scales)?
    } else {
        Mechanism::new(model.clone(), preset.design(), promise)?
    };
    let real = walk(&model);

    let mut randomness = Source::seeded(2).open(mechanism.fingerprint())?;
    let key = randomness.walk(b"steps");
    let words = randomness.at(&key, 0, None);
    let (mut space, mut released, mut wrong) = (Workspace::default(), real[0], 0usize);
    for step in 0..steps {
        let real = real[step % real.len()];
        released = mechanism.step(released, real, words, &mut space);
        wrong += usize::from(released != real);
    }
    println!("{wrong} of {steps} released states are not the real ones");
    Ok(())
}

/// A walk of the chain, the same for all mechanisms.
fn walk(model: &Model) -> Vec<StateId> {
    let mut randomness = Source::seeded(1).open([0; 32]).expect("a seed is always at hand");
    let key = randomness.walk(b"real");
    let from = Origin::At(StateId::new(model.chain().len() / 2));
    OwnWalks::new(model.chain()).walk(from, 19_999, randomness.at(&key, 0, None))
}
