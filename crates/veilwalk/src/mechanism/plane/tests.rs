//! The law of observations on a plane, point by point, where there are few enough.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::chain::{Chain, ChainBuilder, Coordinates, Entries, Places};
use crate::mechanism::{Mechanism, Preset, Promise};
use crate::outcome::length;

fn chain_at(places: &[Coordinates]) -> Chain {
    let mut builder = ChainBuilder::new(Entries::Probabilities);
    let ids: Vec<StateId> = (0..places.len()).map(|i| builder.state(&format!("s{i}"))).collect();
    for &from in &ids {
        for &to in &ids {
            builder.transition(from, to, 1.0 / ids.len() as f64).unwrap();
        }
    }
    let options = crate::chain::BuildOptions {
        row_sums: crate::chain::RowSums::Normalize,
        ..Default::default()
    };
    let chain = builder.build(options).unwrap().0;
    let places = Places { coordinates: Some(places.to_vec()), ..Places::default() };
    chain.with_places(places).unwrap()
}

fn plane_at(places: &[Coordinates], epsilon: &str, radius: &str) -> (Arc<Model>, Mechanism) {
    let model = Arc::new(Model::measured(chain_at(places), Ground::Line).unwrap());
    let promise = Promise::within_radius(epsilon.parse().unwrap(), radius.parse().unwrap());
    let mechanism = Mechanism::new(model.clone(), Preset::Plane.design(), promise).unwrap();
    (model, mechanism)
}

fn plane_of(mechanism: &Mechanism) -> &Plane {
    mechanism.observation().unwrap().plane().unwrap()
}

/// `ln K(y | x)` of every point around the origin within a square, by the definition; and how much of the whole that
/// leaves out, at most.
fn log_law(plane: &Plane, real: StateId, half: i64) -> (Vec<f64>, f64) {
    let at = plane.point_of(real);
    let (north, east) = (i64::from(at.north()), i64::from(at.east()));
    let eta = plane.per_step();
    let mut logs = Vec::new();
    for n in -half..=half {
        for e in -half..=half {
            let steps = length((n - north).unsigned_abs().into(), (e - east).unsigned_abs().into());
            logs.push(-eta * steps as f64);
        }
    }
    let total: f64 = logs.iter().map(|log| log.exp()).sum();
    logs.iter_mut().for_each(|log| *log -= total.ln());
    // Whatever is outside is farther away than the border.
    let nearest = half - north.abs().max(east.abs());
    let tail = plane.law().beyond_steps(nearest.max(0) as u64);
    (logs, tail)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Two whole walks, every observation: the loss keeps to the promise, however near places are to each other, and is
    /// what is certified.
    #[test]
    fn slow_whole_walks_keep_the_promise(
        south in -700_000_000i32..700_000_000,
        west in -1_700_000_000i32..1_700_000_000,
        steps in prop::collection::vec((-5i32..5, -5i32..5), 2..5),
        epsilon in prop_oneof![Just("1"), Just("3")],
        radius in prop_oneof![Just("0.01m"), Just("0.02m")],
    ) {
        let place = |&(n, e): &(i32, i32)| Coordinates::new(south + n, west + e).unwrap();
        let places: Vec<Coordinates> = steps.iter().map(place).collect();
        if Model::measured(chain_at(&places), Ground::Line).is_err() {
            return Ok(());
        }
        let (model, mechanism) = plane_at(&places, epsilon, radius);
        let plane = plane_of(&mechanism);
        let promise = mechanism.promise().unwrap();
        let allowed = super::super::cell::allowed(promise).as_f64();
        let laws: Vec<(Vec<f64>, f64)> =
            model.chain().states().map(|x| log_law(plane, x, 700)).collect();
        let count = laws.len();
        let mut worst = vec![vec![0f64; count]; count];
        for (x, (one, tail)) in laws.iter().enumerate() {
            prop_assert!(*tail < 1e-8, "{}", tail);
            for (y, (other, _)) in laws.iter().enumerate() {
                let pairs = one.iter().zip(other);
                worst[x][y] = pairs.map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
                let (x, y) = (StateId::new(x), StateId::new(y));
                let certified = plane.pair_loss(x, y);
                // What is left out is less than a part in 10⁸ of each normaliser.
                prop_assert!(worst[x.index()][y.index()] <= certified + 4e-8);
                prop_assert!(worst[x.index()][y.index()] >= certified - 4e-8, "it is attained");
                let apart = model.symmetric_between(x, y).as_f64();
                prop_assert!(certified <= allowed * apart * (1.0 + 1e-12), "{} {}", certified, apart);
            }
        }
        // Walks of two steps: their laws are products, and the largest ratio of a product is that of its factors.
        let epsilon = promise.epsilon.value().as_f64();
        let crate::mechanism::Unit::Radius(radius) = promise.unit else { unreachable!() };
        for a in 0..count * count {
            for b in 0..count * count {
                let pairs = [(a / count, b / count), (a % count, b % count)];
                let apart: f64 = pairs
                    .iter()
                    .map(|&(x, y)| model.symmetric_between(StateId::new(x), StateId::new(y)).as_f64())
                    .sum();
                if apart <= radius.value().as_f64() {
                    let loss: f64 = pairs.iter().map(|&(x, y)| worst[x][y]).sum();
                    prop_assert!(loss <= epsilon * (1.0 + 1e-12) + 1e-7, "{} of {}", loss, epsilon);
                }
            }
        }
    }

    /// The likelihood is minus the cost, on whole numbers, wherever the place is.
    #[test]
    fn likelihoods_are_the_costs(
        south in -850_000_000i32..850_000_000,
        west in -1_700_000_000i32..1_700_000_000,
        steps in prop::collection::vec((-90_000i32..90_000, -90_000i32..90_000), 1..6),
        north in -40_000_000i32..40_000_000,
        east in -40_000_000i32..40_000_000,
    ) {
        let place = |&(n, e): &(i32, i32)| Coordinates::new(south + n, west + e).unwrap();
        let places: Vec<Coordinates> = steps.iter().map(place).collect();
        if Model::measured(chain_at(&places), Ground::Line).is_err() {
            return Ok(());
        }
        let (model, mechanism) = plane_at(&places, "1", "100m");
        let plane = plane_of(&mechanism);
        let seen = LatticePoint::nearest(north.into(), east.into());
        let reals: Vec<StateId> = model.chain().states().collect();
        let mut logs = Vec::new();
        plane.fill_log_likelihoods(Outcome::of_point(seen), &reals, &mut logs);
        for (&real, log) in reals.iter().zip(&logs) {
            let cost = plane.scale().cost(
                crate::nats::Nats::from_units(plane.point_of(real).distance(seen) as u32),
                crate::nats::Nats::ZERO,
            );
            let expected = -(cost as f64) / plane.scale().denominator() as f64;
            prop_assert!((log - expected).abs() <= 1e-12 * expected.abs() + 1e-12, "{} {}", log, expected);
        }
    }
}

#[test]
fn places_a_street_apart_keep_nearly_the_whole_scale() {
    let place = |n: i32, e: i32| Coordinates::new(425_000_000 + n, 15_000_000 + e).unwrap();
    // Some 80 m, and two states at one place.
    let (model, mechanism) =
        plane_at(&[place(0, 0), place(7200, 0), place(0, 9800), place(0, 0)], "1", "100m");
    let plane = plane_of(&mechanism);
    let allowed = 1.0 / (100_000.0 / 1_048_576.0);
    let share = plane.scale().eta().as_f64() / allowed;
    assert!(share > 0.9999 - 1e-6 && share <= 1.0, "{share}");
    let state = StateId::new;
    assert_eq!(plane.pair_loss(state(0), state(3)), 0.0);
    let loss = plane.pair_loss(state(0), state(1));
    let apart = model.symmetric_between(state(0), state(1)).as_f64();
    assert!(loss <= allowed * apart && loss > 0.9998 * allowed * apart, "{loss}");
    // Places that are a centimetre apart may cost a part of the scale, and the promise holds for them.
    let (model, near) =
        plane_at(&[place(0, 0), place(1, 0), place(1, 1), place(0, 9800)], "1", "100m");
    for x in model.chain().states() {
        for y in model.chain().states() {
            let apart = model.symmetric_between(x, y).as_f64();
            let loss = plane_of(&near).pair_loss(x, y);
            assert!(loss <= allowed * apart * (1.0 + 1e-12), "{loss} at {apart}");
        }
    }
}

#[test]
fn the_origin_is_in_the_middle() {
    let place = |n: i32, e: i32| Coordinates::new(425_000_000 + n, 15_000_000 + e).unwrap();
    let (_, mechanism) = plane_at(&[place(-9000, -9000), place(9000, 9000)], "1", "100m");
    let origin = plane_of(&mechanism).chart().origin();
    let off = (origin.latitude() - 425_000_000, origin.longitude() - 15_000_000);
    assert!(off.0.abs() < 50 && off.1.abs() < 50, "{origin}");
}

#[test]
fn the_ends_of_the_earth() {
    let place = |north: f64, east: f64| Coordinates::from_degrees(north, east).unwrap();
    for places in [
        vec![place(-17.8, 179.99), place(-17.8, -179.99), place(-17.9, 180.0)],
        vec![place(89.99, 10.0), place(89.99, -170.0), place(89.98, 100.0)],
        vec![place(0.0, 0.0)],
    ] {
        let (model, mechanism) = plane_at(&places, "1", "1km");
        let plane = plane_of(&mechanism);
        for state in model.chain().states() {
            let (north, east) = plane.chart().degrees(plane.point_of(state));
            let at = places[state.index()].degrees();
            let turn = (east - at.1).rem_euclid(360.0);
            let off = turn.min(360.0 - turn) * at.0.to_radians().cos();
            assert!((north - at.0).abs() < 2e-8 && off < 2e-8, "{north} {east} {at:?}");
        }
    }
}
