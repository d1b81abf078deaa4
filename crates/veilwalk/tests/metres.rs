//! Distances in metres: against slow counterparts, through every mechanism, searched and in a table.

use std::sync::Arc;

use veilwalk::chain::{Coordinates, Entries, Length, Places};
use veilwalk::guarantee::Effort;
use veilwalk::internal::distance::OwnDistances;
use veilwalk::internal::guarantee::audited_loss;
use veilwalk::mechanism::{BlockLength, ScaleError};
use veilwalk::{
    CacheSize, Chain, ChainBuilder, Ground, GroundError, Measure, Mechanism, Model, Nats, Preset,
    Promise, Rule, StateId, unwatched,
};

/// A made-up town: crossings on a crooked grid, most streets both ways, some one way, and a second state at one place.
fn town(width: usize, height: usize, seed: u64) -> Chain {
    let mut state = seed;
    let mut next = move |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % most
    };
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<StateId> = (0..width * height)
        .map(|i| builder.state(&format!("r{}c{}", i / width, i % width)))
        .collect();
    let mut lengths = Vec::new();
    for row in 0..height {
        for column in 0..width {
            let here = row * width + column;
            let east = (column + 1 < width).then(|| here + 1);
            let south = (row + 1 < height).then(|| here + width);
            for there in [east, south].into_iter().flatten() {
                let length = 60_000 + next(80_000) as u32;
                let back = if next(4) == 0 { length + next(9_000) as u32 } else { length };
                lengths.push((here, there, length));
                // A ring of streets both ways keeps everything connected.
                if next(5) > 0 || row == 0 || column == 0 {
                    lengths.push((there, here, back));
                }
            }
        }
    }
    for here in 0..width * height {
        lengths.push((here, here, 0));
    }
    for &(from, to, length) in &lengths {
        let length = Length::from_millimetres(length).unwrap();
        let weight = 1.0 + next(9) as f64;
        builder.transition_of_length(ids[from], ids[to], weight, length).unwrap();
    }
    let options = veilwalk::chain::BuildOptions {
        scope: veilwalk::chain::Scope::LargestComponent,
        ..Default::default()
    };
    let chain = builder.build(options).unwrap().0;
    let place = |state: usize| {
        // The first two states are at one place.
        let at = if state == 1 { 0 } else { state as i32 };
        let (row, column) = (at / width as i32, at % width as i32);
        Coordinates::new(425_000_000 + 9_000 * row, 15_000_000 + 12_000 * column + 31 * row)
            .unwrap()
    };
    let coordinates = Some((0..chain.len()).map(place).collect());
    let lengths = chain.places().unwrap().lengths.clone();
    chain.with_places(Places { lengths, coordinates, ..Places::default() }).unwrap()
}

/// Floyd and Warshall, on both directions of every street and the same places.
fn slow_streets(chain: &Chain) -> Vec<Vec<u64>> {
    let n = chain.len();
    let places = chain.places().unwrap();
    let lengths = places.lengths.as_ref().unwrap();
    let mut d = vec![vec![u64::MAX / 4; n]; n];
    for x in 0..n {
        for y in 0..n {
            if places.coordinates.as_ref().is_some_and(|at| at[x] == at[y]) || x == y {
                d[x][y] = 0;
            }
        }
        let from = StateId::new(x);
        for (to, length) in chain.successors(from).iter().zip(&lengths[chain.row(from)]) {
            let (y, length) = (to.index(), u64::from(length.millimetres()));
            if x != y {
                d[x][y] = d[x][y].min(length);
                d[y][x] = d[y][x].min(length);
            }
        }
    }
    for k in 0..n {
        for x in 0..n {
            for y in 0..n {
                d[x][y] = d[x][y].min(d[x][k] + d[k][y]);
            }
        }
    }
    d
}

#[test]
fn streets_are_the_shortest_ways_whatever_their_direction() {
    for seed in 0..12 {
        let chain = town(4 + seed as usize % 3, 4, seed);
        let slow = slow_streets(&chain);
        let model = Model::measured(chain.clone(), Ground::Street).unwrap();
        let searched = Model::measured(chain.clone(), Ground::Street).unwrap();
        let searched = searched.searching(CacheSize::default());
        for x in chain.states() {
            for y in chain.states() {
                let expected = slow[x.index()][y.index()];
                let got = |model: &Model| u64::from(model.symmetric_between(x, y).units());
                assert_eq!((got(&model), got(&searched)), (expected, expected), "{seed}");
                assert_eq!(model.directed().between(x, y), model.directed().between(y, x));
            }
        }
        assert_eq!(model.closest_pair().map(|p| p.distance), Some(Nats::ZERO));
        assert_eq!(
            searched.closest_pair().map(|p| p.distance),
            model.closest_pair().map(|p| p.distance)
        );
    }
}

#[test]
fn the_metric_is_part_of_what_names_a_model() {
    let chain = town(4, 4, 3);
    let plain = Model::new(chain.clone()).unwrap();
    assert_eq!(plain.hash(), chain.hash());
    let street = Model::measured(chain.clone(), Ground::Street).unwrap();
    let line = Model::measured(chain.clone(), Ground::Line).unwrap();
    let own = |longer: u32| {
        let pairs = chain.states().flat_map(|x| chain.states().map(move |y| (x, y)));
        let pairs =
            pairs.filter(|(x, y)| x != y).map(|(x, y)| (x, y, Nats::from_units(1000 + longer)));
        let table = OwnDistances::new(chain.len(), pairs, Measure::Own).unwrap();
        Model::measured(chain.clone(), Ground::Table(Arc::new(table))).unwrap()
    };
    let hashes = [plain.hash(), street.hash(), line.hash(), own(0).hash(), own(1).hash()];
    assert!((0..5).all(|i| (0..i).all(|j| hashes[i] != hashes[j])));
    assert_eq!(own(1).hash(), own(1).hash());
}

/// Every mechanism keeps ε/ρ for each metre, exactly audited, on every metric.
#[test]
fn every_mechanism_keeps_its_promise_in_metres() {
    let chain = town(4, 4, 5);
    let promise = Promise::within_radius("1".parse().unwrap(), "100m".parse().unwrap());
    for ground in [Ground::Street, Ground::Line] {
        let model = Arc::new(Model::measured(chain.clone(), ground.clone()).unwrap());
        let presets = [
            Preset::Paper,
            Preset::Exponential,
            Preset::Sharp,
            Preset::Cell,
            Preset::Tight,
            Preset::Believed,
        ];
        for preset in presets {
            let made = Mechanism::new(model.clone(), preset.design(), promise).unwrap();
            let losses = audited_loss(&made, Effort::UNLIMITED, &unwatched).unwrap();
            let per_metre = model.measure().shown_rate(losses.any.per_nat);
            assert!(per_metre <= 0.01 * (1.0 + 1e-9), "{preset} {ground}: {per_metre}");
            assert!(per_metre > 0.0025, "{preset} {ground}: {per_metre}");
        }
        let design = veilwalk::Design { rule: Rule::Exponential, ..Preset::Sharp.design() };
        let length: BlockLength = "3".parse().unwrap();
        let blocks = Mechanism::in_blocks(model.clone(), design, promise, length).unwrap();
        let scale = model.measure().shown_rate(blocks.scale(StateId::new(0)).eta().as_f64());
        assert!(scale <= 0.005 && scale > 0.0049, "{scale}");
    }
}

#[test]
fn a_radius_has_to_be_in_the_measure_of_the_model() {
    let chain = town(4, 4, 5);
    let nats = Arc::new(Model::new(chain.clone()).unwrap());
    let street = Arc::new(Model::measured(chain, Ground::Street).unwrap());
    for preset in [Preset::Sharp, Preset::Cell, Preset::Tight, Preset::Believed] {
        let made = |model: &Arc<Model>, radius: &str| {
            let radius = radius.parse().unwrap();
            let promise = Promise::within_radius("1".parse().unwrap(), radius);
            Mechanism::new(model.clone(), preset.design(), promise)
        };
        assert!(made(&street, "100m").is_ok() && made(&nats, "3.5").is_ok());
        let refused = made(&street, "3.5").unwrap_err();
        assert!(matches!(refused, ScaleError::OtherMeasure { .. }), "{refused}");
        let refused = made(&nats, "100m").unwrap_err().to_string();
        assert!(refused.contains("radius 100 m") && refused.contains("in nats"), "{refused}");
    }
}

#[test]
fn a_chain_has_to_know_what_its_metric_rests_on() {
    let plain = Chain::downtown();
    let refused = |ground| Model::measured(plain.clone(), ground).unwrap_err();
    assert_eq!(refused(Ground::Street), GroundError::NoLengths);
    assert_eq!(refused(Ground::Line), GroundError::NoCoordinates);
    assert_eq!(Ground::usual(Measure::Metres, &plain), Err(GroundError::NoMetres));
    assert_eq!(Ground::usual(Measure::Nats, &plain), Ok(Ground::Nats));
    let town = town(4, 4, 1);
    assert_eq!(Ground::usual(Measure::Metres, &town), Ok(Ground::Street));
    let Places { coordinates, .. } = town.places().unwrap().clone();
    let only = Places { coordinates, ..Places::default() };
    let without = town.with_places(only).unwrap();
    assert_eq!(Ground::usual(Measure::Metres, &without), Ok(Ground::Line));
}

/// Twenty by twenty crossings: more than a linear program takes. Weights are fitted or even, the audit of the edges is
/// that of all pairs, and what is drawn loses no more than that.
#[test]
fn tight_weights_are_found_for_a_town() {
    let chain = town(20, 20, 7);
    assert!(chain.len() > 300, "{}", chain.len());
    let model = Arc::new(Model::measured(chain, Ground::Street).unwrap());
    for epsilon in ["0.5", "2"] {
        let promise = Promise::within_radius(epsilon.parse().unwrap(), "100m".parse().unwrap());
        let made = Mechanism::new(model.clone(), Preset::Tight.design(), promise).unwrap();
        let found = made.observation().unwrap().weights_found().unwrap().name();
        let allowed: f64 = epsilon.parse::<f64>().unwrap() / 100.0;
        let scale = model.measure().shown_rate(made.scale(StateId::new(0)).eta().as_f64());
        assert!(scale > 0.5 * allowed && scale <= allowed, "{found}: {scale} of {allowed}");
        // All pairs, by the kernel itself: its logarithms are good to some 10⁻¹².
        let last = StateId::new(0);
        let states: Vec<StateId> = model.chain().states().collect();
        let kernels: Vec<Vec<f64>> = states.iter().map(|&x| made.log_kernel(last, x)).collect();
        for x in 0..states.len() {
            for y in 0..x {
                let apart = model.measure().of(model.symmetric_between(states[x], states[y]));
                let each = kernels[x].iter().zip(&kernels[y]);
                let loss = each.fold(0f64, |most, (p, q)| most.max((p - q).abs()));
                assert!(loss <= allowed * apart + 1e-9, "{found}: {loss} at {apart} m");
            }
        }
    }
}
