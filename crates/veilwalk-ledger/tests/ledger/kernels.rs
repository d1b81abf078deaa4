//! Totals against exact losses: a ledger never says less than kernels do.

use std::sync::Arc;

use proptest::prelude::*;
use veilwalk::chain::{ChainBuilder, Entries};
use veilwalk::guarantee::{Effort, Price, calibrate, pair_loss};
use veilwalk::mechanism::Unit;
use veilwalk::unwatched;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise};
use veilwalk_ledger::total::CountedIn;
use veilwalk_ledger::{Charge, Ledger, Terms};

/// A chain of three or four states on which everything can move everywhere.
fn chain(weights: &[u8]) -> Chain {
    let states = if weights[0].is_multiple_of(2) { 3 } else { 4 };
    let mut builder = ChainBuilder::new(Entries::Counts);
    let all: Vec<_> = (0..states).map(|number| builder.state(&format!("s{number}"))).collect();
    for (from, &state) in all.iter().enumerate() {
        for (&to, &weight) in all.iter().zip(&weights[from * 4..]) {
            builder.transition(state, to, f64::from(weight) + 1.0).unwrap();
        }
    }
    builder.build(Default::default()).unwrap().0
}

/// What one release of a walk can lose in this unit, from the kernels alone.
fn exact_loss(mechanism: &Mechanism, counted_in: CountedIn) -> f64 {
    let model = mechanism.model();
    let states: Vec<_> = model.chain().states().collect();
    let mut pairs = Vec::new();
    for (place, &x) in states.iter().enumerate() {
        for &y in &states[..place] {
            pairs.push((model.symmetric_between(x, y).as_f64(), pair_loss(mechanism, x, y).loss));
        }
    }
    let worst = pairs.iter().map(|pair| pair.1).fold(0.0, f64::max);
    match counted_in {
        CountedIn::Person => unreachable!("nothing was fitted"),
        CountedIn::ReplacedStates => worst,
        CountedIn::Unit(Unit::Substitutions(b), _) => worst * f64::from(b.get()),
        CountedIn::Unit(Unit::Radius(radius), _) => fill(&pairs, radius.value().as_f64() + 1e-12),
    }
}

/// The largest sum of losses of pairs whose distances fit, however often each is taken.
fn fill(pairs: &[(f64, f64)], left: f64) -> f64 {
    let Some((&(distance, loss), rest)) = pairs.split_first() else { return 0.0 };
    if distance <= 0.0 {
        return fill(rest, left);
    }
    let most = (left / distance).floor() as u32;
    let taken = |count: u32| {
        let count = f64::from(count);
        count * loss + fill(rest, left - count * distance)
    };
    (0..=most).map(taken).fold(0.0, f64::max)
}

#[derive(Clone, Debug)]
struct Release {
    preset: usize,
    epsilon: u32,
    size: u32,
    substitutions: bool,
    audited: bool,
    other_chain: bool,
}

fn releases() -> impl Strategy<Value = Vec<Release>> {
    let one = (0usize..16, 1u32..8, 1u32..6, any::<bool>(), 0u8..4, 0u8..4);
    let one = one.prop_map(|(preset, epsilon, size, substitutions, audited, other)| Release {
        preset,
        epsilon,
        size,
        substitutions,
        audited: audited == 0,
        other_chain: other == 0,
    });
    proptest::collection::vec(one, 1..6)
}

fn mechanism(model: &Arc<Model>, release: &Release, radii: bool) -> Option<Mechanism> {
    let (_, preset) = Preset::NAMES[release.preset % Preset::NAMES.len()];
    let epsilon = format!("{}/4", release.epsilon).parse().unwrap();
    let promise = match release.substitutions && !radii {
        true => Promise::for_substitutions(epsilon, release.size.try_into().unwrap()),
        false => {
            Promise::within_radius(epsilon, format!("{}/2", release.size + 1).parse().unwrap())
        }
    };
    let made = Mechanism::new(model.clone(), preset.design(), promise).ok()?;
    match release.audited && made.certificate().is_none() {
        true => calibrate(&made, Effort::default(), &unwatched).ok().map(|(made, _)| made),
        false => Some(made),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn a_total_is_never_less_than_the_exact_losses(
        weights in proptest::collection::vec(any::<u8>(), 16),
        others in proptest::collection::vec(any::<u8>(), 16),
        all in releases(),
        radii in any::<bool>(),
    ) {
        let models = [&weights, &others].map(|w| Arc::new(Model::new(chain(w)).unwrap()));
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path().join("spent")).unwrap();
        let mut made = Vec::new();
        for (number, release) in all.iter().enumerate() {
            let model = &models[usize::from(release.other_chain && !radii)];
            let Some(mechanism) = mechanism(model, release, radii) else { continue };
            let price = Price::of(&mechanism).unwrap();
            let terms = Terms {
                release: [number as u8; 16],
                promise: price.promise.into(),
                chain: model.hash(),
                one_state: price.one_state,
                linear: price.linear,
                start_disclosed: false,
            };
            ledger.charge(&terms, &[Charge::of_walk("w").person("p")], None).unwrap();
            made.push(mechanism);
        }
        let Some(total) = ledger.spending_of("p").unwrap() else { return Ok(()) };
        let exact: f64 = made.iter().map(|m| exact_loss(m, total.counted_in)).sum();
        let said = total.spent.unwrap().as_f64();
        prop_assert!(said >= exact * (1.0 - 1e-9), "{said} < {exact} in {}", total.counted_in);
    }
}
