//! Parameters at the ends of what fits: each is refused with a typed error, or gives what whole
//! numbers of any size give.
//!
//! `unchecked.rs` runs all of this again without overflow checks.

use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock};

use num_bigint::BigUint;
use proptest::prelude::*;
use veilwalk::Rational;
use veilwalk::chain::{ChainBuilder, Entries};
use veilwalk::guarantee::Verdict;
use veilwalk::guarantee::{AuditPlan, Effort, Guarantee};
use veilwalk::internal::guarantee::{StepSampler, audited_loss};
use veilwalk::internal::mechanism::Workspace;
use veilwalk::mechanism::Calibration;
use veilwalk::mechanism::{
    BlockError, BlockLength, ChainWeight, Epsilon, Radius, ScaleError, Unit,
};
use veilwalk::random::Words;
use veilwalk::rounding::log_kernel_error;
use veilwalk::{Chain, Design, Distance, Mechanism, Model, Nats, Preset, Promise, Rule, StateId};
use veilwalk::{guarantee, unwatched};

/// With `VEILWALK_UNCHECKED` set this has to be a build whose additions wrap, and without it one
/// whose additions do not: a run that tests something else than it says fails here.
#[test]
fn the_build_is_the_one_that_was_asked_for() {
    let wraps =
        std::panic::catch_unwind(|| std::hint::black_box(u8::MAX) + std::hint::black_box(1));
    let asked_for = std::env::var_os("VEILWALK_UNCHECKED").is_some();
    assert_eq!(wraps.is_ok(), asked_for, "overflow checks are not what this run asked for");
    assert!(!(asked_for && cfg!(debug_assertions)), "debug assertions are on");
}

/// Small numbers, powers of two and their neighbours, the largest numbers, and any number.
fn part() -> impl Strategy<Value = u64> {
    prop_oneof![
        1..=20u64,
        (0u32..64, -2i64..3).prop_map(|(bit, by)| (1u64 << bit).saturating_add_signed(by).max(1)),
        (0u64..50).prop_map(|less| u64::MAX - less),
        1u64..,
    ]
}

fn fraction() -> impl Strategy<Value = Rational> {
    (part(), part()).prop_map(|(n, d)| Rational::new(n, d).unwrap())
}

fn unit() -> impl Strategy<Value = Unit> {
    let count = prop_oneof![1..=5u32, (0u32..5).prop_map(|less| u32::MAX - less), 1u32..];
    prop_oneof![
        fraction().prop_map(|radius| Unit::Radius(Radius::new(radius).unwrap())),
        count.prop_map(|b| Unit::Substitutions(NonZeroU32::new(b).unwrap())),
    ]
}

fn promise() -> impl Strategy<Value = Promise> {
    (fraction(), unit())
        .prop_map(|(epsilon, unit)| Promise { epsilon: Epsilon::new(epsilon).unwrap(), unit })
}

/// Presets, and any other member with chain weights up to the largest that is allowed.
fn design() -> impl Strategy<Value = Design> {
    let distance = proptest::sample::select(Distance::NAMES.to_vec());
    let rule = proptest::sample::select(Rule::NAMES.to_vec());
    let weight = prop_oneof![
        Just((0, 1)),
        Just((1, 2)),
        Just((1_000_000_000, 1)),
        Just((999_999_937, 999_983)),
        (0..=1_000_000_000u64, 1..=1_000_000u64)
    ];
    prop_oneof![
        proptest::sample::select(Preset::OF_MOVES.to_vec()).prop_map(Preset::design),
        (distance, rule, weight).prop_map(|((_, distance), (_, rule), (n, d))| {
            let chain_weight = ChainWeight::new(Rational::new(n, d).unwrap()).unwrap();
            Design::of_moves(distance, rule, chain_weight)
        }),
    ]
}

fn chain(edges: &[(usize, usize, f64)]) -> Arc<Model> {
    let mut builder = ChainBuilder::new(Entries::Counts);
    let states = edges.iter().map(|e| e.0).max().unwrap() + 1;
    let ids: Vec<_> = (0..states).map(|i| builder.state(&i.to_string())).collect();
    for &(from, to, count) in edges {
        builder.transition(ids[from], ids[to], count).unwrap();
    }
    Arc::new(Model::new(builder.build(Default::default()).unwrap().0).unwrap())
}

/// Ordinary distances; states one unit of 2⁻²⁰ nats apart; distances at the ceiling; distances of
/// zero.
static MODELS: LazyLock<[Arc<Model>; 4]> = LazyLock::new(|| {
    let near =
        [(0, 1, 999_999.0), (0, 2, 1.0), (1, 0, 999_999.0), (1, 2, 1.0), (2, 0, 1.0), (2, 1, 1.0)];
    let far: Vec<_> = (0..9).flat_map(|i| [(i, 0, 1.0), (i, (i + 1) % 9, 1e-300)]).collect();
    let far: Vec<_> = far.into_iter().filter(|e| e.2 == 1.0 || e.1 != 0).collect();
    let models = [
        Arc::new(Model::new(Chain::credit()).unwrap()),
        chain(&near),
        chain(&far),
        chain(&[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0)]),
    ];
    assert_eq!(models[1].closest_pair().unwrap().distance.units(), 1);
    assert_eq!(models[2].diameter().distance, Nats::MAX);
    assert_eq!(models[3].diameter().distance, Nats::ZERO);
    models
});

/// A fraction of whole numbers of any size.
#[derive(Clone, Debug)]
struct Big(BigUint, BigUint);

impl Big {
    fn of(value: Rational) -> Self {
        Self(value.numerator().into(), value.denominator().into())
    }

    fn whole(value: impl Into<BigUint>) -> Self {
        Self(value.into(), 1u8.into())
    }

    fn over(&self, other: &Self) -> Self {
        Self(&self.0 * &other.1, &self.1 * &other.0)
    }

    fn floor(&self) -> BigUint {
        &self.0 / &self.1
    }

    fn at_most(&self, other: &Self) -> bool {
        &self.0 * &other.1 <= &other.0 * &self.1
    }

    /// The nearest double, or about that.
    fn as_f64(&self) -> f64 {
        let shift = self.1.bits() as i64 - self.0.bits() as i64 + 64;
        let scaled = match u64::try_from(shift) {
            Ok(left) => (&self.0 << left) / &self.1,
            Err(_) => &self.0 / (&self.1 << shift.unsigned_abs()),
        };
        u128::try_from(scaled).unwrap() as f64 * 2f64.powi(-shift as i32)
    }
}

/// ε over what all replaced states can change the distance by: what the scale times two (or one)
/// may be at most. `None` if nothing bounds that.
fn allowed(model: &Model, design: Design, promise: Promise) -> Option<Big> {
    let per_nat = BigUint::from(Nats::PER_NAT);
    let sensitivity = match (design.distance, promise.unit) {
        (Distance::Hamming, Unit::Radius(radius)) => {
            let closest = model.closest_pair()?.distance.units();
            if closest == 0 {
                return None;
            }
            let radius =
                Big(per_nat * radius.value().numerator(), radius.value().denominator().into());
            let count = radius.over(&Big::whole(closest)).floor();
            Big::whole(count.max(1u8.into()))
        }
        (_, Unit::Radius(radius)) => Big::of(radius.value()),
        (Distance::Directed | Distance::Symmetric, Unit::Substitutions(b)) => {
            Big(BigUint::from(b.get()) * model.diameter().distance.units(), per_nat)
        }
        (_, Unit::Substitutions(b)) => Big::whole(b.get()),
    };
    (sensitivity.0 != BigUint::ZERO).then(|| Big::of(promise.epsilon.value()).over(&sensitivity))
}

fn half(value: &Big) -> Big {
    Big(value.0.clone(), &value.1 * 2u8)
}

/// Whether all numbers are so ordinary that a scale can be near what it may be.
fn is_ordinary(design: Design, most: &Big) -> bool {
    let weight = design.chain_weight.value();
    (1e-3..1e3).contains(&most.as_f64())
        && weight.numerator() <= 1000
        && weight.denominator() <= 1000
}

/// Not above what is allowed and, where that is an ordinary number, not far below.
fn check_scale(design: Design, eta: Rational, most: &Big) -> Result<(), TestCaseError> {
    prop_assert!(Big::of(eta).at_most(most), "{eta} above {}", most.as_f64());
    prop_assert!(!eta.is_zero());
    if is_ordinary(design, most) {
        prop_assert!(eta.as_f64() >= most.as_f64() * (1.0 - 1e-5), "{eta} {}", most.as_f64());
    }
    Ok(())
}

fn distances(mechanism: &Mechanism, z: StateId, x: StateId) -> Vec<u32> {
    let (model, design) = (mechanism.model(), mechanism.design());
    let candidates = model.chain().successors(z).iter();
    let nat = |wrong: bool| if wrong { Nats::PER_NAT } else { 0 };
    match (design.distance, mechanism.promise().unwrap().unit) {
        (Distance::Hamming, _) => candidates.map(|&y| nat(y != x)).collect(),
        (Distance::Directed, _) => {
            candidates.map(|&y| model.directed().between(y, x).units()).collect()
        }
        (Distance::Symmetric, _) => {
            candidates.map(|&y| model.symmetric().between(y, x).units()).collect()
        }
        (_, unit) => {
            let cells = model.cells(design.distance.nearest().unwrap()).unwrap();
            match unit {
                Unit::Radius(_) => cells.distances(z, x).iter().map(|d| d.units()).collect(),
                Unit::Substitutions(_) => {
                    (0..candidates.len()).map(|place| nat(place != cells.best(z, x))).collect()
                }
            }
        }
    }
}

/// The logarithms of the kernel, from costs in whole numbers of any size.
fn log_kernel(mechanism: &Mechanism, z: StateId, x: StateId) -> Option<Vec<f64>> {
    let [distance, weight, common] = mechanism.scale(z).parts();
    let weights = mechanism.model().chain().weights(z).iter();
    let costs: Vec<BigUint> = distances(mechanism, z, x)
        .into_iter()
        .zip(weights)
        .map(|(d, w)| BigUint::from(distance) * d + BigUint::from(weight) * w.units())
        .collect();
    let least = costs.iter().min().unwrap();
    let denominator = BigUint::from(common) << Nats::FRACTION_BITS;
    let excess: Vec<f64> = costs
        .iter()
        .map(
            |cost| {
                if cost == least { 0.0 } else { Big(cost - least, denominator.clone()).as_f64() }
            },
        )
        .collect();
    match mechanism.design().rule {
        Rule::Exponential => {
            let total = excess.iter().map(|e| (-e).exp()).sum::<f64>().ln();
            Some(excess.iter().map(|e| -e - total).collect())
        }
        Rule::PermuteAndFlip if excess.len() <= 4 => {
            let accept: Vec<f64> = excess.iter().map(|e| (-e).exp()).collect();
            // Visited after some others that were refused, for every set of others.
            let n = accept.len();
            let factorial = |k: usize| (1..=k).map(|i| i as f64).product::<f64>();
            let of = |y: usize| -> f64 {
                let before = (0..1u32 << n).filter(|set| set >> y & 1 == 0);
                before
                    .map(|set| {
                        let members = (0..n).filter(|i| set >> i & 1 == 1);
                        let refused: f64 = members.clone().map(|i| 1.0 - accept[i]).product();
                        let k = members.count();
                        refused * factorial(k) * factorial(n - 1 - k) / factorial(n)
                    })
                    .sum()
            };
            Some((0..n).map(|y| of(y).ln() - excess[y]).collect())
        }
        Rule::PermuteAndFlip => None,
    }
}

/// A fixed stream of words.
struct Numbers(u64);

impl Words for Numbers {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// What is all but impossible: a few thousand steps never see it.
const IMPOSSIBLE: f64 = -60.0;

/// Kernels are those of the oracle, steps are taken by them, and replaced states lose what they may.
fn check_mechanism(mechanism: &Mechanism, seed: u64) -> Result<(), TestCaseError> {
    let model = mechanism.model();
    let (chain, promise) = (model.chain(), mechanism.promise().unwrap());
    let (mut words, mut space) = (Numbers(seed), Workspace::default());
    let per_unit = allowed(model, mechanism.design(), promise).map(|most| most.as_f64());
    for z in chain.states() {
        let kernels: Vec<Vec<f64>> = chain.states().map(|x| mechanism.log_kernel(z, x)).collect();
        let candidates = chain.successors(z);
        let largest = kernels.iter().flatten().fold(0f64, |m, l| m.max(l.abs()));
        let error = log_kernel_error(candidates.len(), largest);
        for (x, kernel) in chain.states().zip(&kernels) {
            prop_assert!(kernel.iter().all(|log| log.is_finite() && *log <= error));
            if let Some(oracle) = log_kernel(mechanism, z, x) {
                for (ours, exact) in kernel.iter().zip(oracle) {
                    let slack = 1e-9 * (1.0 + exact.abs());
                    prop_assert!((ours - exact).abs() <= slack, "{ours} {exact}");
                }
            }
            for _ in 0..4 {
                let step = mechanism.step(z, x, &mut words, &mut space);
                let place = candidates.iter().position(|&y| y == step).expect("a successor");
                prop_assert!(kernel[place] > IMPOSSIBLE, "{}", kernel[place]);
            }
            for (other, theirs) in chain.states().zip(&kernels) {
                let loss =
                    kernel.iter().zip(theirs).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
                // One replaced state, or as many nats as there are between the two.
                let apart = match (mechanism.design().distance, promise.unit) {
                    (Distance::Directed | Distance::Symmetric, Unit::Substitutions(_)) => {
                        model.diameter().distance.as_f64()
                    }
                    (Distance::Hamming, _) | (_, Unit::Substitutions(_)) => 1.0,
                    (_, Unit::Radius(_)) => model.symmetric().between(x, other).as_f64(),
                };
                if let Some(per_unit) = per_unit {
                    let most = per_unit * apart * (1.0 + 1e-9) + 2.0 * error;
                    prop_assert!(loss <= most, "{loss} {most}");
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn fractions_are_added_and_rounded_as_whole_numbers_say(a in fraction(), b in fraction()) {
        let exact = Big(
            Big::of(a).0 * b.denominator() + Big::of(b).0 * a.denominator(),
            Big::of(a).1 * b.denominator(),
        );
        match a.add_rounding_up(b) {
            Some(sum) => {
                prop_assert!(exact.at_most(&Big::of(sum)));
                let above = Big(Big::of(sum).0 * 1_000_000_000_000u64, Big::of(sum).1);
                let most = Big(&exact.0 * 1_000_000_000_000u64 + &exact.1 * 2u8, exact.1);
                prop_assert!(above.at_most(&most));
            }
            None => prop_assert!(exact.floor() >= BigUint::from(1_000_000u32)),
        }
        prop_assert_eq!(a <= b, Big::of(a).at_most(&Big::of(b)));
        let product = |x: u64, y: u64| u128::from(x) * u128::from(y);
        let (above, below) =
            (product(a.numerator(), b.denominator()), product(a.denominator(), b.numerator()));
        let rounded = Rational::floor_to_32_bits(above, below);
        prop_assert!(rounded.numerator() < 1 << 32 && rounded.denominator() < 1 << 32);
        let exact = Big(above.into(), below.into());
        prop_assert!(Big::of(rounded).at_most(&exact));
        // The next multiple of the power of two that was used, or of 2^-31, is above.
        if exact.floor() < BigUint::from(u32::MAX) {
            let finest = exact.floor().bits().saturating_sub(1);
            let next = Big(
                Big::of(rounded).0 * (1u64 << 31) + (Big::of(rounded).1 << (finest + 1)),
                Big::of(rounded).1 * (1u64 << 31),
            );
            prop_assert!(exact.at_most(&next));
        }
        prop_assert_eq!(a.to_string().parse::<Rational>().unwrap(), a);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_member_is_refused_or_right(
        which in 0usize..4, design in design(), promise in promise(), seed in any::<u64>()
    ) {
        let model = &MODELS[which];
        let cells = design.distance.nearest().is_some();
        match Mechanism::new(model.clone(), design, promise) {
            Ok(mechanism) => {
                let most = allowed(model, design, promise);
                for z in model.chain().states() {
                    let eta = mechanism.scale(z).eta();
                    match &most {
                        Some(most) if cells => {
                            prop_assert!(Big::of(eta).at_most(most));
                            if is_ordinary(design, most) {
                                prop_assert!(eta.as_f64() >= most.as_f64() * 0.49999);
                            }
                        }
                        Some(most) => {
                            let plain = design.distance == Distance::Hamming
                                && design.rule == Rule::Exponential
                                && design.chain_weight == ChainWeight::ZERO;
                            check_scale(design, eta, &if plain { most.clone() } else { half(most) })?;
                        }
                        None => prop_assert!(false, "nothing bounds what is lost"),
                    }
                }
                check_mechanism(&mechanism, seed)?;
            }
            Err(ScaleError::TooSmall { .. }) => {
                let most = allowed(model, design, promise).unwrap();
                let is_tiny = most.as_f64() < 2f64.powi(-30);
                prop_assert!(is_tiny || !is_ordinary(design, &most), "{}", most.as_f64());
            }
            Err(ScaleError::NoDistances | ScaleError::UnboundedSubstitutions { .. }) => {
                prop_assert!(allowed(model, design, promise).is_none());
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
        if cells {
            let theorem = Calibration::Theorem;
            let made = Mechanism::with_cells(model.clone(), design, promise, theorem, &unwatched);
            if let Ok(mechanism) = made {
                check_mechanism(&mechanism, seed)?;
            }
        }
    }

    #[test]
    fn every_block_is_refused_or_right(
        which in 0usize..4, design in design(), promise in promise(), seed in any::<u64>(),
        length in proptest::sample::select(vec!["1", "2", "5", "4294967295", "all"])
    ) {
        let (model, length) = (&MODELS[which], length.parse::<BlockLength>().unwrap());
        let design = Design { rule: Rule::Exponential, ..design };
        let blocks = match Mechanism::in_blocks(model.clone(), design, promise, length) {
            Ok(blocks) => blocks,
            Err(BlockError::Rule(rule)) => return Err(TestCaseError::fail(format!("{rule}"))),
            Err(_) => return Ok(()),
        };
        let most = allowed(model, design, promise).expect("something bounds what is lost");
        let cost = blocks.blocks().unwrap().rounding_cost();
        prop_assert!(cost >= 0.0 && cost <= promise.epsilon.value().as_f64());
        let eta = Big::of(blocks.scale(StateId::new(0)).eta());
        let one_step = length.most_steps().get() == 1 && design.distance == Distance::Hamming;
        let most = if one_step { most } else { half(&most) };
        prop_assert!(eta.at_most(&most));
        let chain = model.chain();
        let steps = usize::try_from(length.most_steps().get().min(2)).unwrap();
        let (mut words, mut space) = (Numbers(seed), Workspace::default());
        for z in chain.states() {
            let reals: Vec<_> =
                (0..steps).map(|i| StateId::new((z.index() + 2 * i) % chain.len())).collect();
            let law = blocks.log_law(z, &reals);
            let total: f64 = law.iter().map(|(_, log)| log.exp()).sum();
            // The logarithms are floats: the larger they are, the less is known of each.
            let largest = law.iter().map(|(_, log)| log.abs()).fold(0.0, f64::max);
            let slack = 1e-9 + 16.0 * f64::EPSILON * largest;
            prop_assert!((total - 1.0).abs() < slack, "{total} {slack}");
            for _ in 0..3 {
                let mut path = Vec::new();
                blocks.release_after(z, &reals, &mut words, &mut space, &mut path);
                let (_, log) = law.iter().find(|(known, _)| *known == path).expect("a path");
                prop_assert!(*log > IMPOSSIBLE, "{log}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn guarantees_calibrations_and_audits_stay_within_the_promise(
        which in 0usize..4, design in design(), promise in promise()
    ) {
        let model = &MODELS[which];
        let Ok(mechanism) = Mechanism::new(model.clone(), design, promise) else { return Ok(()) };
        let effort = Effort::comparisons(10_000_000);
        let guarantee = Guarantee::new(&mechanism, effort, &unwatched).unwrap();
        prop_assert!(!guarantee.to_string().contains("NaN"));
        let losses = audited_loss(&mechanism, effort, &unwatched).unwrap();
        prop_assert!(!losses.any.max.is_nan() && losses.any.max >= 0.0);
        if design.distance.nearest().is_none()
            && let Ok((calibrated, found)) = guarantee::calibrate(&mechanism, effort, &unwatched)
        {
            prop_assert!(found.audited_epsilon <= found.epsilon);
            let losses = audited_loss(&calibrated, effort, &unwatched).unwrap();
            let walk = match promise.unit {
                Unit::Radius(_) => losses.walk.unwrap(),
                Unit::Substitutions(b) => losses.any.max * f64::from(b.get()),
            };
            prop_assert!(walk <= found.epsilon * (1.0 + 1e-9), "{walk} {}", found.epsilon);
        }
        let plan = AuditPlan::new(&mechanism, &losses, 2, 200);
        let mut words = Numbers(1);
        let mut sampler = StepSampler::new(&mechanism, &mut words);
        let report = guarantee::audit(&mechanism, &mut sampler, &plan, &unwatched).unwrap();
        prop_assert!(report.verdict != Verdict::Failed, "{:?}", report.findings);
    }
}

/// The parameters that once stopped the program, or wrapped where nothing checks.
#[test]
fn parameters_that_once_overflowed() {
    let model = &MODELS[1];
    let text = |n: u64, d: u64| format!("{n}/{d}");
    let all = u64::MAX;
    for (epsilon, radius) in [
        (text(1, all), text(all, 1)),
        (text(all, all - 1), text(all, all - 1)),
        (text(all, all - 1), text(all - 2, 1)),
        (text(all - 1, all), text(all, 3)),
        (text(all, 1), text(all, 1)),
    ] {
        let promise = Promise::within_radius(epsilon.parse().unwrap(), radius.parse().unwrap());
        for preset in Preset::OF_MOVES {
            let design = preset.design();
            if let Ok(mechanism) = Mechanism::new(model.clone(), design, promise) {
                let most = allowed(model, design, promise).unwrap();
                let eta = mechanism.scale(StateId::new(0)).eta();
                assert!(Big::of(eta).at_most(&most), "{preset} {epsilon} {radius}");
                check_mechanism(&mechanism, 5).unwrap();
            }
        }
    }
    // So many states can be replaced that their number does not fit 64 bits.
    let all = Rational::whole(all);
    let (epsilon, radius) = (Epsilon::new(all).unwrap(), Radius::new(all).unwrap());
    let promise = Promise::within_radius(epsilon, radius);
    let chen = Mechanism::new(model.clone(), Preset::Chen.design(), promise).unwrap();
    assert_eq!(chen.scale(StateId::new(0)).eta(), Rational::new(1, 1 << 20).unwrap());
    // One text that would be read once for each of its signs.
    assert!("-".repeat(1 << 20).parse::<Rational>().is_err());
}
