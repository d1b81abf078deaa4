//! One pass for every length gives what a pass for each length gives.

mod common;

use common::{credit, preset, scattered_chain, state};
use proptest::prelude::*;
use veilwalk::analysis::Origin;
use veilwalk::internal::joint::{JointChain, KernelMemory};
use veilwalk::internal::profile::own_entropy;
use veilwalk::{Chain, Preset, Start, StateId, unwatched};

const LEVELS: [f64; 5] = [0.0, 2.0, 5.0, 10.0, 15.0];

#[test]
fn every_length_agrees_with_its_own_pass() {
    let model = credit();
    for (name, origin, start) in [
        (Preset::Paper, Origin::At(state(&model, "Caa")), Start::First),
        (Preset::Cell, Origin::Initial, Start::Initial),
    ] {
        let mechanism = preset(&model, name, "1", "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let first = joint.start(origin, start);
        let profile = joint.profile(first, 40, &LEVELS, &unwatched).unwrap();
        let entropies = profile.entropy_by_length();
        assert_eq!(entropies.len(), 40);
        for steps in [1, 7, 40] {
            let exact = joint.utility(origin, start, steps, &LEVELS, &unwatched).unwrap();
            assert!((entropies[steps - 1] - exact.entropy_nats.released).abs() < 1e-12);
            assert_eq!(profile.distance_by_step[..=steps], exact.distance_by_step);
            assert_eq!(profile.wrong_by_step[..=steps], exact.wrong_by_step);
            if steps == 40 {
                for (found, level) in profile.exceedance.iter().zip(&exact.exceedance) {
                    assert!((found - level.per_step).abs() < 1e-12, "{found} {level:?}");
                }
            }
        }
    }
}

/// Every walk of some length, with its probability and its weights added up.
fn walks(chain: &Chain, at: StateId, steps: usize, p: f64, sum: f64, out: &mut Vec<(f64, f64)>) {
    if steps == 0 {
        out.push((p, sum));
        return;
    }
    for (&y, q) in chain.successors(at).iter().zip(chain.probabilities(at)) {
        walks(chain, y, steps - 1, p * q, sum - q.ln(), out);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_spread_of_real_walks_is_that_of_all_of_them(seed in 0u64..1000, steps in 1usize..6) {
        let chain = scattered_chain(6, 3, seed);
        let mut first = vec![0.0; 6];
        (first[1], first[4]) = (0.25, 0.75);
        let found = own_entropy(&chain, &first, steps)[steps - 1];
        let mut all = Vec::new();
        for (x, p) in [(1, 0.25), (4, 0.75)] {
            walks(&chain, StateId::new(x), steps, p, 0.0, &mut all);
        }
        let n = steps as f64;
        let mean: f64 = all.iter().map(|(p, sum)| p * sum / n).sum();
        let variance: f64 = all.iter().map(|(p, sum)| p * (sum / n - mean).powi(2)).sum();
        prop_assert!((found.mean - mean).abs() < 1e-12);
        prop_assert!((found.deviation - variance.sqrt()).abs() < 1e-7);
    }
}
