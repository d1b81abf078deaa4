use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::*;
use crate::chain::{Chain, ChainBuilder, Entries, StateId};
use crate::nats::Nats;
use crate::watch::{Progress, Stage, unwatched};

fn symmetric(chain: &Chain) -> DistanceTable {
    DistanceTable::directed(chain).symmetric()
}

fn rational(text: &str) -> Rational {
    text.parse().unwrap()
}

/// Numbers in [0, 1) that are the same each time.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Distances along streets between places that are strewn over a plane: each has a way to the three
/// nearest others, and a long one to the next.
pub(super) fn streets(places: usize, seed: u64) -> DistanceTable {
    let n = places;
    let side = (n as f64 / 4.0).sqrt();
    let mut next = numbers(seed);
    let at: Vec<(f64, f64)> = (0..n).map(|_| (next() * side, next() * side)).collect();
    // Rounded up, so that the triangle inequality holds exactly once ways are added up.
    let apart = |i: usize, j: usize| {
        let (x, y) = (at[i].0 - at[j].0, at[i].1 - at[j].1);
        ((x * x + y * y).sqrt() * f64::from(Nats::PER_NAT)).ceil() as u64
    };
    let mut d = vec![u64::from(u32::MAX); n * n];
    for i in 0..n {
        let mut nearest: Vec<usize> = (0..n).collect();
        nearest.sort_by_key(|&j| apart(i, j));
        for &j in nearest.iter().take(4).chain([&((i + 1) % n)]) {
            (d[i * n + j], d[j * n + i]) = (apart(i, j), apart(i, j));
        }
    }
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                d[i * n + j] = d[i * n + j].min(d[i * n + k] + d[k * n + j]);
            }
        }
    }
    let rows: Vec<Nats> = d.into_iter().map(|units| Nats::from_units(units as u32)).collect();
    DistanceTable::from_rows(n, rows.into()).unwrap()
}

/// The kernel of every state, computed the obvious way.
fn kernel(distances: &DistanceTable, of: &Weights) -> Vec<Vec<f64>> {
    let eta = of.eta.as_f64();
    let row = |x| {
        let row = distances.to(StateId::new(x)).iter().zip(&of.weights);
        let row: Vec<f64> = row.map(|(m, w)| w * (-eta * m.as_f64()).exp()).collect();
        let total: f64 = row.iter().sum();
        row.into_iter().map(|p| p / total).collect()
    };
    (0..distances.states()).map(row).collect()
}

/// Whether no observation tells two states apart by more than λ for each nat between them.
fn keeps(distances: &DistanceTable, lambda: Rational, of: &Weights) -> bool {
    let kernel = kernel(distances, of);
    let states = 0..distances.states();
    let pair_keeps = |x: usize, z: usize| {
        let m = distances.between(StateId::new(x), StateId::new(z)).as_f64();
        states.clone().all(|y| {
            let (here, there) = (kernel[x][y].ln(), kernel[z][y].ln());
            // Logarithms of this size are off by so much.
            let error = 1e-14 * (1.0 + here.abs() + there.abs());
            of.weights[y] == 0.0 || (here - there).abs() <= lambda.as_f64() * m + error
        })
    };
    states.clone().all(|x| states.clone().all(|z| pair_keeps(x, z)))
}

fn well_formed(distances: &DistanceTable, of: &Weights) -> bool {
    of.weights.len() == distances.states()
        && of.weights.iter().copied().fold(0.0, f64::max) == 1.0
        && of.weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0)
}

fn found(distances: &DistanceTable, lambda: Rational) -> Option<Weights> {
    find(distances, None, lambda, &|of| keeps(distances, lambda, of), &unwatched).unwrap()
}

/// How far the best guess from an observation is from the real state, by plain loops.
fn of_guesses(distances: &DistanceTable, of: &Weights) -> f64 {
    let kernel = kernel(distances, of);
    let n = distances.states();
    let mut sum = 0.0;
    for y in 0..n {
        let mut least = f64::INFINITY;
        for guess in 0..n {
            let row = distances.to(StateId::new(guess)).iter().zip(&kernel);
            least = least.min(row.map(|(m, of_real)| m.as_f64() * of_real[y]).sum());
        }
        sum += least;
    }
    sum / n as f64
}

fn even(distances: &DistanceTable, lambda: Rational) -> Weights {
    let weights = vec![1.0; distances.states()];
    Weights { weights, eta: times(lambda, 1, 2), found: Found::Program }
}

fn hash(of: &Weights) -> String {
    let bits: Vec<u8> =
        of.weights.iter().flat_map(|weight| weight.to_bits().to_le_bytes()).collect();
    blake3::hash(&bits).to_hex()[..16].to_owned()
}

#[test]
fn credit_has_the_same_total_everywhere() {
    let distances = symmetric(&Chain::credit());
    for lambda in ["0.29", "0.5", "1"] {
        let lambda = rational(lambda);
        let of = found(&distances, lambda).unwrap();
        assert_eq!(of.found, Found::Solved);
        assert_eq!(of.eta, times(lambda, (1 << 14) - 1, 1 << 14));
        assert!(well_formed(&distances, &of));
        assert!(of.weights.iter().all(|&weight| weight > 0.0), "{of:?}");
        let eta = of.eta.as_f64();
        let totals = (0..distances.states()).map(|x| {
            let row = distances.to(StateId::new(x)).iter().zip(&of.weights);
            row.map(|(m, w)| w * (-eta * m.as_f64()).exp()).sum::<f64>()
        });
        let (least, most) =
            totals.fold((f64::INFINITY, 0.0), |(a, b), t| (f64::min(a, t), f64::max(b, t)));
        assert!(most - least <= 1e-12 * most, "{least} {most}");
    }
}

#[test]
fn where_a_weight_would_be_negative_a_program_finds_others() {
    let credit = symmetric(&Chain::credit());
    let streets = streets(40, 1);
    for (distances, lambda) in [(&credit, "0.05"), (&credit, "0.1"), (&streets, "1")] {
        let lambda = rational(lambda);
        let of = found(distances, lambda).unwrap();
        assert_eq!(of.found, Found::Program);
        assert!(well_formed(distances, &of) && keeps(distances, lambda, &of));
        assert!(of.eta > times(lambda, 1, 2) && of.eta < lambda);
        assert!(of_guesses(distances, &of) < of_guesses(distances, &even(distances, lambda)));
    }
}

#[test]
fn guesses_are_judged_as_plain_loops_judge_them() {
    let distances = streets(23, 5);
    let classes = Classes::of(&distances);
    let mut next = numbers(9);
    let weights: Vec<f64> = (0..23).map(|_| next()).collect();
    let of = Weights { weights, eta: rational("0.7"), found: Found::Program };
    let fast = worth::Worth::new(&classes).of_guesses(&of.weights, of.eta.as_f64());
    assert!((fast - of_guesses(&distances, &of)).abs() < 1e-12);
}

/// The bits of weights on every machine. They are public, and kept in files: they must not change
/// without a word in the change log.
#[test]
fn the_bits_are_these() {
    let credit = symmetric(&Chain::credit());
    let (many, few) = (streets(150, 2), streets(60, 8));
    let cases = [(&credit, "0.29"), (&credit, "0.05"), (&many, "8"), (&few, "1")];
    let hashes = cases.map(|(distances, lambda)| {
        let of = find(distances, None, rational(lambda), &|_| true, &unwatched).unwrap().unwrap();
        format!("{:?} {}", of.found, hash(&of))
    });
    let known = [
        "Solved e3dd776113eaabb5",
        "Program 2be03b51bf64cdcf",
        "Solved 3a1eadd776ba1183",
        "Program 5d8a1a71320883cc",
    ];
    assert_eq!(hashes, known);
}

#[test]
fn threads_do_not_show() {
    // One with tiles and bands to share, and one with programs to share.
    for (distances, lambda) in [(streets(300, 3), "16"), (streets(45, 4), "1")] {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let found = pool.install(|| {
                find(&distances, None, rational(lambda), &|_: &Weights| true, &unwatched)
            });
            hash(&found.unwrap().unwrap())
        };
        assert_eq!(with(1), with(2));
        assert_eq!(with(1), with(3));
    }
}

#[test]
fn a_refusal_is_answered_with_less() {
    let distances = symmetric(&Chain::credit());
    let refuse = |times: usize| {
        let proposed = RefCell::new(Vec::new());
        let accepts = |of: &Weights| {
            proposed.borrow_mut().push((of.found, of.eta));
            proposed.borrow().len() > times
        };
        let found = find(&distances, None, rational("0.5"), &accepts, &unwatched).unwrap();
        (found, proposed.into_inner())
    };
    let (second, _) = refuse(1);
    assert_eq!(second.unwrap().eta, times(rational("0.5"), (1 << 11) - 1, 1 << 11));
    let (third, _) = refuse(2);
    assert_eq!(third.unwrap().found, Found::Program);
    let (none, proposed) = refuse(usize::MAX);
    assert_eq!(none, None);
    assert!(proposed.len() > 3 && proposed.iter().all(|(_, eta)| *eta < rational("0.5")));
}

#[test]
fn it_stops_when_asked() {
    for (distances, lambda) in [(streets(130, 6), "8"), (streets(20, 7), "0.5")] {
        let asked = AtomicUsize::new(0);
        let search = |last: usize| {
            asked.store(0, Ordering::Relaxed);
            let watch = |at: Progress| {
                assert!(at.stage == Stage::Weights && (0.0..=1.0).contains(&at.share));
                match asked.fetch_add(1, Ordering::Relaxed) < last {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            };
            find(&distances, None, rational(lambda), &|_| true, &watch)
        };
        assert!(search(usize::MAX).unwrap().is_some());
        let all = asked.load(Ordering::Relaxed);
        for last in [0, all / 2, all - 1] {
            assert_eq!(search(last), Err(Stopped));
        }
    }
}

#[test]
fn one_state_and_no_scale() {
    let alone = DistanceTable::from_rows(1, vec![Nats::ZERO].into()).unwrap();
    assert_eq!(found(&alone, Rational::ONE).unwrap().weights, [1.0]);
    assert_eq!(found(&alone, Rational::ZERO), None);
    let nothing = DistanceTable::from_rows(0, Vec::new().into()).unwrap();
    assert_eq!(found(&nothing, Rational::ONE), None);
}

/// Chains in which some neighbours are at distance zero from each other: nearly all walks go from
/// one to the other and back.
fn chains() -> impl Strategy<Value = Chain> {
    let counts = proptest::collection::vec(prop_oneof![Just(0u32), 1u32..1000], 81);
    (2usize..=9, counts, proptest::collection::vec(any::<bool>(), 9)).prop_map(
        |(n, counts, twins)| {
            let mut builder = ChainBuilder::new(Entries::Counts);
            let ids: Vec<StateId> = (0..n).map(|i| builder.state(&i.to_string())).collect();
            for i in 0..n {
                for j in 0..n {
                    let twin = (i ^ 1) == j && twins[i / 2];
                    let count = match twin {
                        true => 1e12,
                        false => f64::from(counts[i * 9 + j].max(u32::from(j == (i + 1) % n))),
                    };
                    if count > 0.0 {
                        builder.transition(ids[i], ids[j], count).unwrap();
                    }
                }
            }
            builder.build(Default::default()).unwrap().0
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_found_keeps_the_promise(chain in chains(), thousandths in 20u64..4000) {
        let distances = symmetric(&chain);
        let lambda = Rational::new(thousandths, 1000).unwrap();
        let proposals = Cell::new(0);
        let accept = |of: &Weights| {
            proposals.set(proposals.get() + 1);
            // Each of them, before anyone has refused it.
            assert!(well_formed(&distances, of) && keeps(&distances, lambda, of), "{of:?}");
            true
        };
        let found = find(&distances, None, lambda, &accept, &unwatched).unwrap();
        prop_assert_eq!(proposals.get(), usize::from(found.is_some()));
        if let Some(of) = found {
            prop_assert!(of.eta < lambda && of.eta >= times(lambda, 1, 2));
            for state in 0..chain.len() {
                let earlier = &distances.to(StateId::new(state))[..state];
                prop_assert!(of.weights[state] == 0.0 || !earlier.contains(&Nats::ZERO));
            }
        }
    }
}
