//! Exact analysis against figures worked out by others, and against a matrix that is written down.

mod common;

use common::{credit, preset, state};
use veilwalk::analysis::drift::Drift;
use veilwalk::analysis::joint::{JointChain, KernelMemory};
use veilwalk::analysis::{Origin, unobserved};
use veilwalk::{Preset, Start};

#[test]
fn the_exceedance_table() {
    let model = credit();
    let levels = [2.0, 5.0, 10.0, 15.0];
    let known = [
        (Preset::Paper, [0.079301, 0.0075241, 1.6694e-4, 4.3579e-6]),
        (Preset::Exponential, [0.122159, 0.0118401, 3.2297e-4, 6.4174e-6]),
        (Preset::Chen, [0.331120, 0.180178, 0.0724526, 0.0106249]),
    ];
    for (name, known) in known {
        let mechanism = preset(&model, name, "1", "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unobserved).unwrap();
        let origin = Origin::At(state(&model, "Caa"));
        let figures = joint.utility(origin, Start::First, 100, &levels, &unobserved).unwrap();
        for (ours, known) in figures.exceedance.iter().zip(known) {
            assert!((ours.per_step / known - 1.0).abs() < 2e-5, "{name}: {} {known}", ours.per_step);
            assert!(ours.ever > ours.per_step && ours.ever <= 1.0);
        }
    }
}

#[test]
fn wrong_states_and_distances_on_credit() {
    let model = credit();
    let known = [
        (Preset::Paper, "0.3", 0.665, 2.66),
        (Preset::Paper, "1", 0.298, 0.855),
        (Preset::Sharp, "0.3", 0.420, 2.75),
        (Preset::Sharp, "1", 0.095, 0.318),
    ];
    for (name, epsilon, wrong, distance) in known {
        let mechanism = preset(&model, name, epsilon, "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unobserved).unwrap();
        let origin = Origin::At(state(&model, "Baa"));
        let figures = joint.utility(origin, Start::First, 100, &[], &unobserved).unwrap();
        println!("{name} {epsilon} {} {}", figures.wrong_state_share, figures.mean_distance_nats);
        assert!((figures.wrong_state_share - wrong).abs() < 6e-4, "{figures:?}");
        assert!((figures.mean_distance_nats - distance).abs() < 6e-3 * distance, "{figures:?}");
    }
}

#[test]
fn drift_shares_on_credit() {
    let model = credit();
    let known =
        [("0.5", 28.4), ("1", 37.0), ("2", 61.7), ("3", 80.2), ("5", 85.2), ("10", 86.4)];
    for (epsilon, corrected) in known {
        let mechanism = preset(&model, Preset::Paper, epsilon, "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unobserved).unwrap();
        let drift = Drift::new(&joint, &unobserved).unwrap().report();
        println!("{epsilon} {drift:?}");
        assert_eq!(drift.attractive, 72.0 / 81.0);
        assert!((100.0 * drift.corrected.unwrap() - corrected).abs() < 0.05, "{drift:?}");
    }
}
