//! The guarantee: known losses, bounds that hold on random chains, the report and its words, and
//! calibrated scales.

mod common;

use std::ops::ControlFlow;
use std::sync::Arc;

use common::{credit, preset, promise, random_chain, state};
use proptest::prelude::*;
use veilwalk::guarantee::{
    CalibrationError, Effort, Guarantee, GuaranteeError, calibrate, pair_loss,
};
use veilwalk::internal::guarantee::{Coverage, FigureKind, Losses, audited_loss};
use veilwalk::mechanism::{ChainWeight, Unit};
use veilwalk::unwatched;
use veilwalk::{
    Chain, Design, Distance, Mechanism, Model, Nats, Preset, Progress, Promise, Rule, StateId,
};

/// The loss as it is defined, one probability after the other.
fn slow_loss(mechanism: &Mechanism, x: StateId, other: StateId) -> f64 {
    let mut worst = 0f64;
    for z in mechanism.model().chain().states() {
        let (a, b) = (mechanism.log_kernel(z, x), mechanism.log_kernel(z, other));
        for (p, q) in a.iter().zip(&b) {
            worst = worst.max((p - q).abs());
        }
    }
    worst
}

fn all(mechanism: &Mechanism) -> Losses {
    audited_loss(mechanism, Effort::UNLIMITED, &unwatched).unwrap()
}

fn guarantee(mechanism: &Mechanism) -> Guarantee {
    Guarantee::new(mechanism, Effort::default(), &unwatched).unwrap()
}

/// Every distance with every rule, without and with a chain weight.
fn designs() -> Vec<Design> {
    let mut designs = Vec::new();
    for &(_, distance) in Distance::NAMES {
        for &(_, rule) in Rule::NAMES {
            for chain_weight in [ChainWeight::ZERO, ChainWeight::HALF] {
                designs.push(Design::of_moves(distance, rule, chain_weight));
            }
        }
    }
    designs
}

#[test]
fn known_losses_on_the_credit_chain() {
    let model = credit();
    let known = [(Preset::Paper, 9.888, 0.8911), (Preset::Exponential, 9.227, 0.7223)];
    for (name, substitution, per_nat) in known {
        let found = guarantee(&preset(&model, name, "1", "1"));
        assert!(found.vacuous);
        assert_eq!(found.mechanism, name.name());
        assert!((found.smallest_radius_nats.unwrap() - 2.733).abs() < 5e-4);
        assert!(
            (found.of_steps().unwrap().substitution_loss.max - substitution).abs() < 5e-4,
            "{name}"
        );
        assert!((found.of_steps().unwrap().loss_per_nat.exact - per_nat).abs() < 5e-5, "{name}");
        assert_eq!(found.of_steps().unwrap().loss_per_nat.bound, Some(1.0));
        assert_eq!((found.covered_states, found.covered_pairs), (0.0, 0));
    }
    let chen = guarantee(&preset(&model, Preset::Chen, "1", "1"));
    assert_eq!(chen.of_steps().unwrap().substitution_loss.max, 1.0);
    assert!(!chen.vacuous);
    assert_eq!((chen.covered_states, chen.covered_pairs), (1.0, 36));
    assert_eq!((chen.radius_nats, chen.substitutions), (None, Some(1)));
}

#[test]
fn the_audit_is_the_definition() {
    let model = credit();
    for name in Preset::OF_MOVES {
        let mechanism = preset(&model, name, "2", "3.5");
        let losses = all(&mechanism);
        let states = || model.chain().states();
        let (mut max, mut sum, mut per_nat, mut edges) = (0f64, 0.0, 0f64, 0f64);
        for x in states() {
            for other in states().filter(|&other| other > x) {
                let loss = slow_loss(&mechanism, x, other);
                let distance = model.symmetric().between(x, other).as_f64();
                let pair = pair_loss(&mechanism, x, other).loss;
                assert!(pair >= loss && pair < loss + 1e-10);
                max = max.max(loss);
                sum += loss;
                per_nat = per_nat.max(loss / distance);
                if model.chain().allows(x, other) || model.chain().allows(other, x) {
                    edges = edges.max(loss);
                }
            }
        }
        let close = |found: f64, known: f64| found >= known && found < known + 1e-9;
        assert!(close(losses.any.max, max), "{name}");
        assert!(close(losses.any.mean, sum / 36.0), "{name}");
        assert!(close(losses.any.per_nat, per_nat), "{name}");
        assert!(close(losses.transitions.max, edges), "{name}");
        // The witness attains it.
        let worst = losses.any.worst.unwrap();
        let (z, y) = worst.attained.unwrap();
        let place = model.chain().successors(z).binary_search(&y).unwrap();
        let at = |x| mechanism.log_kernel(z, x)[place];
        assert!(close(worst.loss, (at(worst.real) - at(worst.other)).abs()));
    }
}

/// Blocks of columns, bands of rows and lists give what one pair at a time gives.
#[test]
fn many_pairs_at_once_are_one_pair_at_a_time() {
    let model = Arc::new(Model::new(Chain::downtown()).unwrap());
    let mechanism = preset(&model, Preset::Sharp, "1", "2");
    let losses = all(&mechanism);
    let n = model.chain().len();
    let mut max = 0f64;
    let mut sum = 0.0;
    for x in 0..n {
        for other in x + 1..n {
            let loss = slow_loss(&mechanism, StateId::new(x), StateId::new(other));
            max = max.max(loss);
            sum += loss;
        }
    }
    assert!(losses.any.max >= max && losses.any.max < max + 1e-9);
    assert!((losses.any.mean - sum / (n * (n - 1) / 2) as f64).abs() < 1e-9);
}

#[test]
fn transitions_bound_all_pairs() {
    for chain in [Chain::credit(), Chain::downtown()] {
        let model = Arc::new(Model::new(chain).unwrap());
        for name in Preset::OF_MOVES {
            let mechanism = preset(&model, name, "1", "3.5");
            let exact = all(&mechanism);
            let bound = audited_loss(&mechanism, Effort::LEAST, &unwatched).unwrap();
            assert_eq!(exact.coverage, Coverage::AllPairs);
            assert_eq!(bound.coverage, Coverage::TransitionsOnly);
            assert_eq!(bound.any.figures, FigureKind::UpperBound);
            assert_eq!(bound.transitions, exact.transitions);
            assert!((bound.per_weight - exact.per_weight).abs() < 1e-9);
            let slack = 1.0 - 1e-9;
            for (bound, exact) in [(bound.any, exact.any), (bound.feasible, exact.feasible)] {
                assert_eq!(bound.pairs, exact.pairs);
                assert!(bound.max >= exact.max * slack, "{name}");
                assert!(bound.mean >= exact.mean * slack, "{name}");
                assert!(bound.per_nat >= exact.per_nat * slack, "{name}");
            }
            // The simple form: a loss per weight bounds every pair by its shorter direction.
            for x in model.chain().states() {
                for other in model.chain().states().filter(|&other| other != x) {
                    let shorter =
                        model.directed().between(x, other).min(model.directed().between(other, x));
                    let loss = slow_loss(&mechanism, x, other);
                    assert!(loss <= bound.per_weight * shorter.as_f64() + 1e-9);
                }
            }
        }
    }
}

fn units() -> [Promise; 4] {
    let (small, one) = ("0.3".parse().unwrap(), "1".parse().unwrap());
    [
        Promise::within_radius(one, "1".parse().unwrap()),
        Promise::within_radius(small, "7/3".parse().unwrap()),
        Promise::for_substitutions(one, 1.try_into().unwrap()),
        Promise::for_substitutions(small, 3.try_into().unwrap()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Self-loops, single successors, near-certain and near-impossible moves: the exact loss is
    /// within what the theorem promises, for every member of the family and every unit.
    #[test]
    fn slow_the_exact_loss_is_within_the_bound(chain in random_chain(9)) {
        let model = Arc::new(Model::new(chain).unwrap());
        // The allowance for rounding weighs more the closer two states are.
        let positive = |x| model.symmetric().to(x).iter().filter(|d| **d > Nats::ZERO);
        let least = model.chain().states().flat_map(positive).min().map_or(1.0, |d| d.as_f64());
        for design in designs() {
            for promise in units() {
                // Some promises cannot be kept where states are at distance zero.
                let Ok(mechanism) = Mechanism::new(model.clone(), design, promise) else {
                    continue;
                };
                let losses = all(&mechanism);
                let epsilon = promise.epsilon.value().as_f64();
                match (promise.unit, design.distance) {
                    (Unit::Substitutions(b), _) => {
                        let bound = epsilon / f64::from(b.get());
                        prop_assert!(losses.any.max <= bound + 1e-9, "{} {}", design, promise);
                    }
                    // Counting states keeps a radius' promise for walks, not per nat.
                    (Unit::Radius(_), Distance::Hamming) => {
                        let within = losses.within_radius.unwrap();
                        prop_assert!(within.max <= epsilon + 1e-9, "{} {}", design, promise);
                    }
                    (Unit::Radius(radius), _) => {
                        let bound = epsilon / radius.value().as_f64();
                        let rate = losses.any.per_nat;
                        prop_assert!(
                            rate <= bound * (1.0 + 1e-9) + 1e-10 / least,
                            "{} {}: {} {}", design, promise, rate, bound
                        );
                    }
                }
                let report = Guarantee::from_losses(&mechanism, &losses).unwrap();
                let told = report.of_steps().unwrap();
                if let Some(bound) = told.loss_per_nat.bound {
                    prop_assert!(told.loss_per_nat.exact <= bound * (1.0 + 1e-9) + 1e-10 / least);
                }
                if design.distance != Distance::Hamming {
                    prop_assert!(losses.walk.unwrap() <= epsilon * (1.0 + 1e-4) + 1e-9);
                }
                prop_assert_eq!(report.vacuous, report.covered_pairs == 0);
            }
        }
    }

    #[test]
    fn slow_calibrated_scales_keep_their_promise(chain in random_chain(6)) {
        let model = Arc::new(Model::new(chain).unwrap());
        for design in designs() {
            for promise in units() {
                let Ok(theorem) = Mechanism::new(model.clone(), design, promise) else {
                    continue;
                };
                let (mechanism, found) = match calibrate(&theorem, Effort::default(), &unwatched) {
                    Ok(calibrated) => calibrated,
                    Err(CalibrationError::Vacuous { .. } | CalibrationError::OutOfReach { .. }) => {
                        continue;
                    }
                    Err(other) => return Err(TestCaseError::fail(other.to_string())),
                };
                let epsilon = promise.epsilon.value().as_f64();
                prop_assert!(found.audited_epsilon <= epsilon);
                // Rounding distances down can let one more replaced state into the radius.
                let counted = design.distance == Distance::Hamming;
                let least = if counted { 0.3 } else { 0.999 };
                prop_assert!(found.gain > least, "{} {}: {:?}", design, promise, found);
                let pairs: Vec<(f64, f64)> = model
                    .chain()
                    .states()
                    .flat_map(|x| model.chain().states().map(move |other| (x, other)))
                    .filter(|(x, other)| x < other)
                    .map(|(x, other)| {
                        let apart = model.symmetric().between(x, other).as_f64();
                        (apart, slow_loss(&mechanism, x, other))
                    })
                    .collect();
                match promise.unit {
                    Unit::Substitutions(b) => {
                        let allowed = epsilon / f64::from(b.get());
                        prop_assert!(pairs.iter().all(|(_, loss)| *loss <= allowed + 1e-12));
                    }
                    Unit::Radius(radius) => {
                        let worst = two_kinds(&pairs, radius.value().as_f64());
                        prop_assert!(worst <= epsilon + 1e-9, "{} {}: {}", design, promise, worst);
                    }
                }
            }
        }
    }
}

/// The largest loss of walks that differ by one or two kinds of replaced states, as often as fits.
fn two_kinds(pairs: &[(f64, f64)], radius: f64) -> f64 {
    let mut worst = 0f64;
    let within = || pairs.iter().filter(|(apart, _)| *apart <= radius);
    for (d, loss) in within() {
        if *d == 0.0 {
            worst = worst.max(if *loss > 0.0 { f64::INFINITY } else { 0.0 });
            continue;
        }
        let most = (radius / d).floor().min(200.0) as u32;
        for (other_d, other_loss) in within().filter(|(d, _)| *d > 0.0) {
            for count in 0..=most {
                let rest = radius - f64::from(count) * d;
                let others = (rest / other_d).floor().max(0.0);
                worst = worst.max(f64::from(count) * loss + others * other_loss);
            }
        }
    }
    worst
}

#[test]
fn calibration_comes_within_a_thousandth() {
    let model = credit();
    let one = Promise::for_substitutions("1".parse().unwrap(), 1.try_into().unwrap());
    let near = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
    for design in designs() {
        for promise in [one, near] {
            let theorem = Mechanism::new(model.clone(), design, promise).unwrap();
            let (mechanism, found) = calibrate(&theorem, Effort::default(), &unwatched).unwrap();
            assert_eq!(mechanism.promise(), Some(promise));
            assert!(found.audited_epsilon <= 1.0 && found.audited_epsilon > 0.999, "{found}");
            assert!(found.trials < 20, "{design}: {found}");
            let losses = all(&mechanism);
            let audited = match promise.unit {
                Unit::Substitutions(_) => losses.any.max,
                Unit::Radius(_) => losses.walk.unwrap(),
            };
            assert!(audited <= 1.0 && audited > 0.999, "{design}, {promise}: {audited}");
            let scales = model.chain().states().map(|z| mechanism.scale(z).eta());
            assert_eq!(found.scale, scales.min().unwrap().as_f64());
        }
    }
}

#[test]
fn calibration_by_transitions_is_safe_and_says_so() {
    let model = credit();
    let promise = promise(Preset::Sharp, "1", "3.5");
    let theorem = Mechanism::new(model.clone(), Preset::Sharp.design(), promise).unwrap();
    let (_, all_pairs) = calibrate(&theorem, Effort::UNLIMITED, &unwatched).unwrap();
    let (mechanism, bound) = calibrate(&theorem, Effort::LEAST, &unwatched).unwrap();
    assert_eq!(bound.coverage, Coverage::TransitionsOnly);
    assert!(bound.scale <= all_pairs.scale);
    assert!(all(&mechanism).walk.unwrap() <= 1.0);
}

#[test]
fn what_cannot_be_calibrated_or_explained_says_why() {
    let model = credit();
    let empty = preset(&model, Preset::Paper, "1", "1");
    let error = calibrate(&empty, Effort::default(), &unwatched).unwrap_err();
    assert!(error.to_string().contains("2.73"), "{error}");
    let bare =
        Mechanism::with_scale(model.clone(), Preset::Paper.design(), "1".parse().unwrap()).unwrap();
    assert!(matches!(
        calibrate(&bare, Effort::default(), &unwatched),
        Err(CalibrationError::NoPromise)
    ));
    assert_eq!(
        Guarantee::new(&bare, Effort::default(), &unwatched),
        Err(GuaranteeError::NoPromise)
    );
    let stop = |_: Progress| ControlFlow::Break(());
    assert!(matches!(
        Guarantee::new(&empty, Effort::default(), &stop),
        Err(GuaranteeError::Stopped(_))
    ));
}

#[test]
fn the_report_has_the_promised_keys() {
    let model = credit();
    let found = guarantee(&preset(&model, Preset::Paper, "1", "3.5"));
    let json = serde_json::to_value(&found).unwrap();
    for key in [
        "mechanism",
        "epsilon",
        "radius_nats",
        "substitutions",
        "scale",
        "vacuous",
        "smallest_radius_nats",
        "covered_states",
        "covered_pairs",
        "loss_per_nat",
        "substitution_loss",
        "suggested_radii",
    ] {
        assert!(json.get(key).is_some(), "{key}");
    }
    assert_eq!(json["mechanism"], "paper");
    assert_eq!(json["vacuous"], false);
    assert_eq!(json["substitutions"], serde_json::Value::Null);
    assert_eq!(json["loss_per_nat"]["bound"], 1.0 / 3.5);
    assert!(json["loss_per_nat"]["exact"].as_f64().unwrap() < 1.0 / 3.5);
    assert!(
        json["substitution_loss"]["max"].is_f64() && json["substitution_loss"]["mean"].is_f64()
    );
    assert_eq!(json["coverage"], "all-pairs");
    let radii = &json["suggested_radii"];
    let radius = |name: &str| radii[name].as_f64().unwrap();
    assert!(radius("something") <= radius("half_of_states"));
    assert!(radius("most_states") <= radius("any_state"));
    assert_eq!(found.released(7).epsilon, 7.0);
    let neighbour = json["neighbour_loss"]["max"].as_f64().unwrap();
    assert!(neighbour <= json["substitution_loss"]["max"].as_f64().unwrap());
}

#[test]
fn the_words_can_be_read_by_anyone() {
    let model = credit();
    for (name, epsilon, radius) in
        [(Preset::Paper, "1", "1"), (Preset::Sharp, "1", "3.5"), (Preset::Chen, "1", "1")]
    {
        let text = guarantee(&preset(&model, name, epsilon, radius)).to_string();
        println!("{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flowing.contains("two walks that differ in the third state only"), "{text}");
        assert!(!flowing.contains("however long"), "{text}");
        let empty = name == Preset::Paper;
        assert_eq!(flowing.contains("stay of k steps counts"), !empty, "{text}");
        assert_eq!(flowing.contains("states of a walk are correlated"), !empty, "{text}");
        assert_eq!(text.contains("EMPTY"), name == Preset::Paper, "{text}");
        assert!(text.contains(name.name()), "{text}");
    }
    let paper = guarantee(&preset(&model, Preset::Paper, "1", "1")).to_string();
    assert!(paper.contains("9.888") && paper.contains("0.8911"), "{paper}");
    let chen = guarantee(&preset(&model, Preset::Chen, "1", "1")).to_string();
    assert!(chen.contains("1.0000") && chen.contains("2.72"), "{chen}");
}

/// Two states that always follow each other are at distance zero: no loss, and none per nat.
#[test]
fn states_at_distance_zero() {
    use veilwalk::chain::{ChainBuilder, Entries};
    let mut builder = ChainBuilder::new(Entries::Probabilities);
    let states = ["a", "b", "c"].map(|label| builder.state(label));
    for (i, j, p) in [(0, 1, 1.0), (1, 0, 1.0 - 1e-8), (1, 2, 1e-8), (2, 0, 0.5), (2, 1, 0.5)] {
        builder.transition(states[i], states[j], p).unwrap();
    }
    let model = Arc::new(Model::new(builder.build(Default::default()).unwrap().0).unwrap());
    assert_eq!(model.closest_pair().unwrap().distance, Nats::ZERO);
    let sharp = preset(&model, Preset::Sharp, "1", "1");
    assert_eq!(pair_loss(&sharp, state(&model, "a"), state(&model, "b")).loss, 0.0);
    for effort in [Effort::UNLIMITED, Effort::LEAST] {
        let losses = audited_loss(&sharp, effort, &unwatched).unwrap();
        assert!(losses.any.per_nat.is_finite() && losses.any.per_nat <= 1.0 + 1e-9);
    }
    let report = guarantee(&sharp);
    assert!(!report.vacuous && report.smallest_radius_nats == Some(0.0));
    // Counting states tells the two apart, at any rate per nat.
    let chen = preset(&model, Preset::Chen, "1", "1");
    let losses = all(&chen);
    assert!(losses.any.per_nat.is_infinite());
    let json = serde_json::to_value(guarantee(&chen)).unwrap();
    assert_eq!(json["loss_per_nat"]["exact"], serde_json::Value::Null);
}

/// On a cycle no state can be replaced in a walk that stays possible: that is not a loss of zero.
#[test]
fn a_replacement_that_is_never_possible_is_not_covered() {
    use veilwalk::chain::{ChainBuilder, Entries};
    let mut builder = ChainBuilder::new(Entries::Probabilities);
    let states = ["a", "b", "c"].map(|label| builder.state(label));
    for i in 0..3 {
        builder.transition(states[i], states[(i + 1) % 3], 1.0).unwrap();
    }
    let model = Arc::new(Model::new(builder.build(Default::default()).unwrap().0).unwrap());
    for name in [Preset::Chen, Preset::Sharp] {
        let report = guarantee(&preset(&model, name, "1", "1"));
        assert_eq!(report.of_steps().unwrap().feasible_loss.pairs, 0);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["feasible_loss"]["max"], serde_json::Value::Null);
        assert_eq!(json["feasible_loss"]["mean"], serde_json::Value::Null);
        let text = report.to_string();
        let line = text.lines().find(|line| line.contains("keeps the walk possible")).unwrap();
        assert!(line.contains("not covered") && !line.contains("0.0"), "{text}");
        assert!(!text.contains("A loss above epsilon"), "{text}");
        assert!(report.of_steps().unwrap().substitution_loss.max.is_finite());
    }
}

#[test]
fn a_stay_is_covered_for_as_many_steps_as_the_unit_has_room_for() {
    let model = credit();
    // The closest two are 2.733 nats apart, and half of the states have an alternative at 3.352.
    for (radius, closest, typical, words) in [
        ("3", 1, 0, "more than half of the states are not covered for a single step"),
        ("4", 1, 1, "half of the states are covered for 1 step or more"),
        ("27.5", 10, 8, "half of the states are covered for 8 steps or more"),
    ] {
        let report = guarantee(&preset(&model, Preset::Sharp, "1", radius));
        let stays = report.stays.unwrap();
        assert_eq!(stays.closest_pair_steps, Some(closest), "{radius}");
        assert_eq!(stays.typical_state_steps, Some(typical), "{radius}");
        let text = report.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{text}");
    }
    let text = guarantee(&preset(&model, Preset::Chen, "1", "1")).to_string();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("stayed for more than 1 step is not protected"), "{text}");
}

/// Nothing can be confused with the only state there is.
#[test]
fn a_single_state() {
    use veilwalk::chain::{ChainBuilder, Entries};
    let mut builder = ChainBuilder::new(Entries::Probabilities);
    let only = builder.state("only");
    builder.transition(only, only, 1.0).unwrap();
    let model = Arc::new(Model::new(builder.build(Default::default()).unwrap().0).unwrap());
    for name in Preset::OF_MOVES {
        let mechanism = preset(&model, name, "1", "1");
        let report = guarantee(&mechanism);
        assert!(
            report.vacuous
                && report.suggested_radii.is_none()
                && report.of_steps().unwrap().example.is_none()
        );
        assert!(
            report.of_steps().unwrap().substitution_loss.max.is_infinite()
                && report.stays.is_none()
        );
        assert!(report.to_string().contains("not covered"), "{report}");
        assert!(report.to_string().contains("EMPTY"));
        assert!(calibrate(&mechanism, Effort::default(), &unwatched).is_err());
    }
}

#[test]
fn progress_goes_from_nothing_to_all() {
    let model = Arc::new(Model::new(Chain::downtown()).unwrap());
    let mechanism = preset(&model, Preset::Paper, "1", "2");
    for effort in [Effort::UNLIMITED, Effort::LEAST] {
        let seen = std::sync::Mutex::new(Vec::new());
        let watch = |Progress { share: done, .. }: Progress| {
            seen.lock().unwrap().push(done);
            ControlFlow::Continue(())
        };
        let check = || {
            let seen = std::mem::take(&mut *seen.lock().unwrap());
            assert!(seen.is_sorted(), "{seen:?}");
            assert!(seen[0] >= 0.0 && (seen[seen.len() - 1] - 1.0).abs() < 1e-9, "{seen:?}");
        };
        audited_loss(&mechanism, effort, &watch).unwrap();
        check();
        calibrate(&mechanism, effort, &watch).unwrap();
        check();
    }
}
