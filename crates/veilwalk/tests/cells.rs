//! Cells: the cost's properties, the guarantee, the certificate, and known figures.

mod common;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::{credit, random_chain, state};
use proptest::prelude::*;
use rayon::prelude::*;
use veilwalk::internal::cell::Obtained;
use veilwalk::internal::distance::{Cells, Nearest};
use veilwalk::mechanism::Calibration;
use veilwalk::mechanism::{ChainWeight, ScaleError, Unit};
use veilwalk::{Chain, Design, Distance, Mechanism, Model, Nats, Preset, Promise, Rule, StateId};
use veilwalk::{Progress, Stopped, unwatched};

fn designs() -> impl Strategy<Value = Design> {
    let distance = prop_oneof![Just(Distance::Cell), Just(Distance::CellSymmetric)];
    let rule = prop_oneof![Just(Rule::Exponential), Just(Rule::PermuteAndFlip)];
    let weight = prop_oneof![2 => Just("0"), 1 => Just("0.5")];
    (distance, rule, weight).prop_map(|(distance, rule, weight)| {
        Design::of_moves(distance, rule, weight.parse::<ChainWeight>().unwrap())
    })
}

/// The definition, word for word.
fn by_definition(model: &Model, cells: &Cells, z: StateId, place: usize, x: StateId) -> Nats {
    let states = model.chain().states();
    let cell = states.filter(|&other| cells.best(z, other) == place);
    let distances = cell.map(|other| model.symmetric().between(x, other));
    let itself = model.chain().successors(z)[place];
    distances.min().unwrap_or_else(|| model.symmetric().between(x, itself))
}

/// The largest loss of a step over what is allowed, by every last state, outcome and pair.
fn largest_excess(mechanism: &Mechanism, lambda: f64) -> f64 {
    let model = mechanism.model();
    let mut worst = f64::NEG_INFINITY;
    for z in model.chain().states() {
        let kernels: Vec<_> = model.chain().states().map(|x| mechanism.log_kernel(z, x)).collect();
        for x in model.chain().states() {
            for other in model.chain().states() {
                let apart = match mechanism.promise().unwrap().unit {
                    Unit::Radius(_) => model.symmetric().between(x, other).as_f64(),
                    Unit::Substitutions(_) => f64::from(u8::from(x != other)),
                };
                for (p, q) in kernels[x.index()].iter().zip(&kernels[other.index()]) {
                    worst = worst.max((p - q).abs() - lambda * apart);
                }
            }
        }
    }
    worst
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_cost_is_what_it_says(chain in random_chain(40)) {
        let model = Model::new(chain).unwrap();
        let chain = model.chain();
        for nearest in [Nearest::Directed, Nearest::Symmetric] {
            let cells = model.cells(nearest).unwrap();
            let table = match nearest {
                Nearest::Directed => model.directed(),
                Nearest::Symmetric => model.symmetric(),
            };
            for z in chain.states() {
                let successors = chain.successors(z);
                for x in chain.states() {
                    // The right answer is nearest; among the nearest likeliest; then first.
                    let best = cells.best(z, x);
                    let rank = |place: usize| {
                        let p = chain.probabilities(z)[place];
                        (table.between(successors[place], x), std::cmp::Reverse(p.to_bits()), place)
                    };
                    prop_assert!((0..successors.len()).all(|other| rank(best) <= rank(other)));
                    let row = cells.distances(z, x);
                    prop_assert_eq!(row[best], Nats::ZERO);
                    for (place, &distance) in row.iter().enumerate() {
                        prop_assert_eq!(distance, by_definition(&model, cells, z, place, x));
                        for other in chain.states() {
                            let moved = cells.distances(z, other)[place].units();
                            let apart = model.symmetric().between(x, other).units();
                            prop_assert!(distance.units().abs_diff(moved) <= apart);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_loss_is_within_the_promise(
        chain in random_chain(14),
        design in designs(),
        epsilon in prop_oneof![Just("0.2"), Just("1"), Just("6")],
        substitutions in any::<bool>(),
    ) {
        let model = Arc::new(Model::new(chain).unwrap());
        let unit = if substitutions {
            Unit::Substitutions(2.try_into().unwrap())
        } else {
            Unit::Radius("2".parse().unwrap())
        };
        let promise = Promise { epsilon: epsilon.parse().unwrap(), unit };
        let lambda = epsilon.parse::<f64>().unwrap() / 2.0;
        let make = |c| Mechanism::with_cells(model.clone(), design, promise, c, &unwatched).unwrap();
        let (exact, theorem) = (make(Calibration::Exact), make(Calibration::Theorem));
        prop_assert!(largest_excess(&exact, lambda) <= 0.0 + 1e-13);
        prop_assert!(largest_excess(&theorem, lambda) <= 0.0 + 1e-13);
        for z in model.chain().states() {
            prop_assert!(theorem.scale(z).eta() <= exact.scale(z).eta());
            let half = lambda / 2.0 * (1.0 - 1e-6);
            prop_assert!(theorem.scale(z).eta().as_f64() >= half);
        }
        // The certificate holds: recomputed from the kernels alone.
        for certificate in [exact.certificate().unwrap(), theorem.certificate().unwrap()] {
            prop_assert!(certificate.iter().all(|c| c.loss <= lambda));
        }
        let certified = exact.certificate().unwrap().iter().map(|c| c.loss).fold(0.0, f64::max);
        prop_assert!(largest_excess(&exact, certified) <= 1e-13);
    }
}

/// Share of wrong states and mean distance over the chain's own walks, by the joint distribution of
/// real and released state, step by step.
fn over_own_walks(mechanism: &Mechanism, start: StateId, steps: usize) -> (f64, f64) {
    let model = mechanism.model();
    let chain = model.chain();
    let n = chain.len();
    let mut joint = vec![0.0; n * n]; // [x][z]
    joint[start.index() * n + start.index()] = 1.0;
    let kernels: Vec<Vec<Vec<f64>>> =
        chain.states().map(|z| chain.states().map(|x| mechanism.kernel(z, x)).collect()).collect();
    let (mut wrong, mut distance) = (0.0, 0.0);
    for _ in 0..steps {
        let mut next = vec![0.0; n * n];
        for x in chain.states() {
            for z in chain.states() {
                let mass = joint[x.index() * n + z.index()];
                for (to, p) in chain.successors(x).iter().zip(chain.probabilities(x)) {
                    let kernel = &kernels[z.index()][to.index()];
                    for (y, k) in chain.successors(z).iter().zip(kernel) {
                        next[to.index() * n + y.index()] += mass * p * k;
                    }
                }
            }
        }
        joint = next;
        for x in chain.states() {
            for z in chain.states() {
                let mass = joint[x.index() * n + z.index()];
                distance += mass * model.directed().between(z, x).as_f64();
                wrong += if x == z { 0.0 } else { mass };
            }
        }
    }
    (wrong / steps as f64, distance / steps as f64)
}

#[test]
fn known_figures_on_credit() {
    let model = credit();
    let start = state(&model, "Baa");
    let close =
        |(ours, known): (f64, f64)| assert!((ours / known - 1.0).abs() < 5e-3, "{ours} {known}");
    for (epsilon, wrong, distance) in
        [("1", 0.0554, 0.1712), ("0.3", 0.4167, 1.6467), ("0.1", 0.6989, 3.4595)]
    {
        let promise = Promise::within_radius(epsilon.parse().unwrap(), "1".parse().unwrap());
        let mechanism = Mechanism::new(model.clone(), Preset::Cell.design(), promise).unwrap();
        let ours = over_own_walks(&mechanism, start, 100);
        close((ours.0, wrong));
        close((ours.1, distance));
        if epsilon == "1" {
            let etas = model.chain().states().map(|z| mechanism.scale(z).eta().as_f64());
            let (low, high) = etas.fold((f64::INFINITY, 0f64), |(l, h), e| (l.min(e), h.max(e)));
            assert!(
                (0.9805..=0.9825).contains(&low) && (0.999..=1.0).contains(&high),
                "{low} {high}"
            );
        }
    }
    let promise = Promise::for_substitutions("3".parse().unwrap(), 1.try_into().unwrap());
    for (preset, wrong, distance) in
        [(Preset::Cell, 0.1823, 0.9356), (Preset::Chen, 0.2057, 1.3270)]
    {
        let mechanism = Mechanism::new(model.clone(), preset.design(), promise).unwrap();
        let ours = over_own_walks(&mechanism, start, 100);
        close((ours.0, wrong));
        close((ours.1, distance));
    }
}

#[test]
fn substitutions_are_randomised_response() {
    let model = credit();
    let promise = Promise::for_substitutions("1.5".parse().unwrap(), 2.try_into().unwrap());
    let mechanism = Mechanism::new(model.clone(), Preset::Cell.design(), promise).unwrap();
    assert!(mechanism.certificate().unwrap().iter().all(|c| c.obtained == Obtained::Exact));
    let cells = model.cells(Nearest::Directed).unwrap();
    for z in model.chain().states() {
        let n = model.chain().successors(z).len() as f64;
        let right = 1.0 / (1.0 + (n - 1.0) * (-0.75f64).exp());
        for x in model.chain().states() {
            for (place, p) in mechanism.kernel(z, x).into_iter().enumerate() {
                let closed =
                    if place == cells.best(z, x) { right } else { (1.0 - right) / (n - 1.0) };
                assert!((p - closed).abs() < 1e-14);
            }
        }
    }
}

/// Permute-and-flip with the scales that the exponential rule may have: the audit sees it.
#[test]
fn the_other_rules_scales_break_the_guarantee_and_are_caught() {
    let model = credit();
    let promise = Promise::within_radius("1".parse().unwrap(), "1".parse().unwrap());
    let design = Preset::Cell.design();
    let right = Mechanism::new(model.clone(), design, promise).unwrap();
    let etas: Vec<_> = model.chain().states().map(|z| right.scale(z).eta()).collect();
    let flipped = Design { rule: Rule::PermuteAndFlip, ..design };
    let wrong = Mechanism::with_scales(model.clone(), flipped, &etas).unwrap();
    let mut worst = 0f64;
    for z in model.chain().states() {
        for x in model.chain().states() {
            for other in model.chain().states().filter(|&other| other != x) {
                let apart = model.symmetric().between(x, other).as_f64();
                let (a, b) = (wrong.log_kernel(z, x), wrong.log_kernel(z, other));
                let loss = a.iter().zip(&b).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
                worst = worst.max(loss / apart);
            }
        }
    }
    assert!(worst > 1.05, "loss per nat {worst}, where 1 was promised");
    let own = Mechanism::new(model, flipped, promise).unwrap();
    assert!(largest_excess(&own, 1.0) <= 0.0);
    let etas = own.model().chain().states().map(|z| own.scale(z).eta().as_f64());
    let (low, high) = etas.fold((f64::INFINITY, 0f64), |(l, h), e| (l.min(e), h.max(e)));
    assert!((0.74..0.78).contains(&low) && (0.9..0.96).contains(&high), "{low} {high}");
}

/// By the theorem and exactly.
#[test]
fn making_cells_tells_how_far_it_is_and_can_be_stopped_anywhere() {
    let model = || Arc::new(Model::new(Chain::downtown()).unwrap());
    let design = Preset::Cell.design();
    let promise = Promise::within_radius("2".parse().unwrap(), "2".parse().unwrap());
    for calibration in [Calibration::Theorem, Calibration::Exact] {
        let shares = Mutex::new(Vec::new());
        let watch = |Progress { share, .. }: Progress| {
            shares.lock().unwrap().push(share);
            ControlFlow::Continue(())
        };
        let made = Mechanism::with_cells(model(), design, promise, calibration, &watch).unwrap();
        // Threads tell at once, and may overtake each other.
        let mut shares = shares.into_inner().unwrap();
        shares.sort_by(f64::total_cmp);
        let end = shares.last().copied();
        assert!(shares[0] > 0.0 && shares[0] < 0.05 && end == Some(1.0), "{shares:?}");
        assert!(shares.windows(2).all(|pair| pair[1] - pair[0] < 0.05), "{shares:?}");

        for stop_at in [0.0, 0.1, 0.19, 0.21, 0.7] {
            let model = model();
            let told_after = AtomicUsize::new(0);
            let watch = |progress: Progress| {
                if progress.share < stop_at {
                    return ControlFlow::Continue(());
                }
                told_after.fetch_add(1, Ordering::Relaxed);
                ControlFlow::Break(())
            };
            let stopped =
                Mechanism::with_cells(model.clone(), design, promise, calibration, &watch);
            assert_eq!(stopped.unwrap_err(), ScaleError::Stopped(Stopped));
            // Each thread ends with the state it is at.
            let threads = rayon::current_num_threads();
            assert!(told_after.into_inner() <= 2 * threads, "it went on for long after");
            // What was stopped leaves nothing behind that would change what is made after it.
            let again =
                Mechanism::with_cells(model, design, promise, calibration, &unwatched).unwrap();
            assert_eq!(again.certificate(), made.certificate());
            assert_eq!(again.fingerprint(), made.fingerprint());
        }
    }
}

/// Tables that parallel work asks for first, by many threads at once.
#[test]
fn distances_may_be_asked_for_first_by_many_threads() {
    let model = Model::new(Chain::downtown()).unwrap();
    let table = model.cells(Nearest::Directed).unwrap().all_distances().to_vec();
    for threads in [2, 3, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fresh = Model::new(Chain::downtown()).unwrap();
        let cells = fresh.cells(Nearest::Directed).unwrap();
        let same = pool
            .install(|| (0..32).into_par_iter().all(|_| cells.all_distances() == table.as_slice()));
        assert!(same);
    }
}
