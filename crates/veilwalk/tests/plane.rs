//! Observations on a plane: their audit, the walks made of them, what is inferred of them, and what is refused.

mod common;

use std::sync::Arc;

use common::chance_of;
use proptest::prelude::*;
use veilwalk::chain::{BuildOptions, Coordinates, Entries, Length, Places, RowSums};
use veilwalk::guarantee::{AuditPlan, AuditReport, Effort, Guarantee, Price, Verdict, audit};
use veilwalk::inference::{Inference, InferenceSpace, UnlikelyRelease};
use veilwalk::internal::audit::Finding;
use veilwalk::internal::guarantee::{Observed, Sampler, StepSampler, audited_loss};
use veilwalk::internal::request::{Base, Request, RequestError, TrackChoice};
use veilwalk::internal::session::observe_once;
use veilwalk::mechanism::{PlaneError, ScaleError, Tracking, Unit};
use veilwalk::session::{FollowedWalk, Follower, Releaser};
use veilwalk::{
    Chain, ChainBuilder, Ground, LatticePoint, Mechanism, Model, Outcome, Preset, Promise, Session,
    Source, Start, StateId, unwatched,
};

/// A town of streets 90 to 110 m long: crossings, and ways between neighbours and back to where one is.
fn town(width: usize, height: usize) -> Chain {
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<StateId> = (0..width * height)
        .map(|i| builder.state(&format!("r{}c{}", i / width, i % width)))
        .collect();
    let length = Length::from_millimetres(100_000).unwrap();
    for here in 0..width * height {
        builder.transition_of_length(ids[here], ids[here], 1.0, Length::ZERO).unwrap();
        let east = (here % width + 1 < width).then(|| here + 1);
        let south = (here / width + 1 < height).then(|| here + width);
        for there in [east, south].into_iter().flatten() {
            builder.transition_of_length(ids[here], ids[there], 2.0, length).unwrap();
            builder.transition_of_length(ids[there], ids[here], 3.0, length).unwrap();
        }
    }
    let options = BuildOptions { row_sums: RowSums::Normalize, ..BuildOptions::default() };
    let chain = builder.build(options).unwrap().0;
    let place = |state: usize| {
        let (row, column) = ((state / width) as i32, (state % width) as i32);
        Coordinates::new(425_000_000 + 9_000 * row, 15_000_000 + 12_000 * column + 31 * row)
            .unwrap()
    };
    let coordinates = Some((0..chain.len()).map(place).collect());
    let lengths = chain.places().unwrap().lengths.clone();
    chain.with_places(Places { lengths, coordinates, ..Places::default() }).unwrap()
}

fn model(width: usize, height: usize) -> Arc<Model> {
    Arc::new(Model::measured(town(width, height), Ground::Line).unwrap())
}

fn within(epsilon: &str, radius: &str) -> Promise {
    Promise::within_radius(epsilon.parse().unwrap(), radius.parse().unwrap())
}

fn plane(model: &Arc<Model>, epsilon: &str, radius: &str) -> Mechanism {
    Mechanism::new(model.clone(), Preset::Plane.design(), within(epsilon, radius)).unwrap()
}

fn walk(model: &Model, steps: usize) -> Vec<StateId> {
    (0..steps).map(|t| StateId::new(t * 3 / 2 % model.chain().len())).collect()
}

/// Draws with a fault on purpose.
struct Faulty<'a, S> {
    mechanism: &'a Mechanism,
    sampler: S,
    fault: Fault,
    drawn: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// The noise is shorter by three parts in a hundred.
    Short,
    /// Nothing farther than 900 m ever comes up.
    NoTail,
    /// One draw in ten is turned from the south to the north.
    OneSided,
    /// Millimetres are even, as of numbers that were rounded.
    Even,
    /// The real place is a street off, for one of two real states.
    Misplaced,
    /// A state in place of a point, once in ten thousand.
    NotAPoint,
}

impl<S: Sampler> Sampler for Faulty<'_, S> {
    fn sample(&mut self, previous: StateId, real: StateId) -> Outcome {
        self.drawn += 1;
        let shown = match self.fault {
            Fault::Misplaced => StateId::new(real.index() / 2 * 2),
            _ => real,
        };
        let drawn = self.sampler.sample(previous, shown);
        let (point, own) = (drawn.point().unwrap(), self.place(shown));
        let (n, e) = (
            i128::from(point.north()) - i128::from(own.north()),
            i128::from(point.east()) - i128::from(own.east()),
        );
        let (n, e) = match self.fault {
            Fault::Short => (n * 97 / 100, e * 97 / 100),
            Fault::NoTail if point.distance(own) > 900_000 => (n / 4, e / 4),
            Fault::OneSided if self.drawn.is_multiple_of(10) => (n.abs(), e),
            Fault::Even => (n / 2 * 2, e / 2 * 2),
            Fault::NotAPoint if self.drawn.is_multiple_of(10_000) => return real.into(),
            _ => (n, e),
        };
        Outcome::of_point(LatticePoint::nearest(
            i128::from(own.north()) + n,
            i128::from(own.east()) + e,
        ))
    }
}

impl<S> Faulty<'_, S> {
    /// Where a state is, by what is written of its coordinates.
    fn place(&self, state: StateId) -> LatticePoint {
        let chart = self.mechanism.chart().unwrap();
        let places = self.mechanism.model().chain().places().unwrap();
        let (north, east) = places.coordinates.as_ref().unwrap()[state.index()].degrees();
        chart.nearest_to(north, east)
    }
}

fn check(mechanism: &Mechanism, sampler: &mut dyn Sampler, draws: u64) -> AuditReport {
    let losses = audited_loss(mechanism, Effort::default(), &unwatched).unwrap();
    let plan = AuditPlan::new(mechanism, &losses, 3, draws);
    audit(mechanism, sampler, &plan, &unwatched).unwrap()
}

#[test]
fn slow_the_right_sampler_passes_and_every_broken_one_fails() {
    let model = model(4, 4);
    let mechanism = plane(&model, "1", "100m");
    let mut randomness = Source::seeded(1).open(mechanism.fingerprint()).unwrap();
    let key = randomness.walk(b"audit");
    let words = randomness.at(&key, 0, None);
    let draws = 300_000;
    let report = check(&mechanism, &mut StepSampler::new(&mechanism, &mut *words), draws);
    assert_eq!(report.verdict, Verdict::Passed, "{report}");
    assert!(report.outcomes > 100 && report.noticed_from < 1e-3, "{report}");
    for loss in &report.losses {
        assert!(loss.at_least <= loss.exact && loss.exact <= loss.claim * (1.0 + 1e-9), "{report}");
    }
    // The counts say something about the loss, not only that it is positive.
    assert!(report.losses[0].at_least > 0.3 * report.losses[0].exact, "{report}");
    for fault in [
        Fault::Short,
        Fault::NoTail,
        Fault::OneSided,
        Fault::Even,
        Fault::Misplaced,
        Fault::NotAPoint,
    ] {
        let sampler = StepSampler::new(&mechanism, &mut *words);
        let mut faulty = Faulty { mechanism: &mechanism, sampler, fault, drawn: 0 };
        let report = check(&mechanism, &mut faulty, draws);
        assert_eq!(report.verdict, Verdict::Failed, "{fault:?}: {report}");
        let impossible = matches!(report.findings[0], Finding::ImpossibleMove { .. });
        assert_eq!(impossible, fault == Fault::NotAPoint, "{fault:?}: {report}");
        assert!(!format!("{report}").is_empty());
    }
    // Noise for a larger ε than is claimed is a loss above the claim.
    let broken = plane(&model, "3", "100m");
    let report = check(&mechanism, &mut StepSampler::new(&broken, &mut *words), draws);
    let above = |finding: &Finding| matches!(finding, Finding::LossAboveClaim { .. });
    assert!(report.findings.iter().any(above), "{report}");
}

/// The losses that are told: exact, within the promise, and all but all of it.
#[test]
fn the_guarantee_tells_exact_losses_in_metres() {
    let model = model(6, 5);
    let mechanism = plane(&model, "1", "100m");
    let losses = audited_loss(&mechanism, Effort::default(), &unwatched).unwrap();
    let allowed = 1.0 / (100_000.0 / 1_048_576.0);
    assert!(losses.any.per_nat <= allowed * (1.0 + 1e-12), "{}", losses.any.per_nat);
    assert!(losses.any.per_nat >= 0.9999 * allowed, "{} of {allowed}", losses.any.per_nat);
    assert!(losses.walk.unwrap() <= 1.0 + 1e-12 && losses.walk.unwrap() > 0.9);
    let price = Price::of(&mechanism).unwrap();
    assert!(price.linear);
    let diameter = model.diameter().distance.as_f64();
    let one = price.one_state.unwrap().as_f64();
    assert!(one <= allowed * diameter * 1.001 && one >= 0.999 * allowed * diameter, "{one}");
    let guarantee = Guarantee::new(&mechanism, Effort::default(), &unwatched).unwrap();
    assert!(guarantee.to_string().contains("0.9996  of 1 promised"), "{guarantee}");
    let words = Observed::of(&mechanism).unwrap().to_string();
    assert!(words.contains("planar Laplace noise that is drawn exactly"), "{words}");
    assert!(words.contains("latitude and longitude"), "{words}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// One by one or at once, followed again, saved and taken up: the same walk; and it takes moves of the chain only.
    #[test]
    fn a_release_is_what_its_observations_make(
        lag in 0u32..4,
        start in 0usize..4,
        seed in 0u64..1000,
        epsilon in prop_oneof![Just("0.3"), Just("1"), Just("9")],
        at in 0usize..9,
    ) {
        let model = model(4, 3);
        let tracking = Tracking { lag, ..Tracking::default() };
        let mechanism = Arc::new(plane(&model, epsilon, "100m").tracking(tracking));
        let start = [Start::Private, Start::Initial, Start::First, Start::At(StateId::new(2))][start];
        let source = Source::seeded(seed);
        let reals = walk(&model, 9);
        let mut releaser = Releaser::new(mechanism.clone(), &source, start).unwrap();
        let released = releaser.release("a", &reals).unwrap();
        prop_assert_eq!(released.states.len(), reals.len());
        let moves = released.states.windows(2).all(|pair| model.chain().allows(pair[0], pair[1]));
        prop_assert!(moves);
        // What is written is read as it was.
        let outcomes = mechanism.outcomes();
        for (step, &outcome) in released.observed.iter().enumerate() {
            prop_assert_eq!(outcome.state().is_some(), step == 0 && start != Start::Private);
            prop_assert_eq!(outcomes.read(&outcomes.text(outcome)), Some(outcome));
        }
        let mut follower = Follower::new(&mechanism, start).unwrap();
        let (mut followed, mut again) = (FollowedWalk::default(), Vec::new());
        for &outcome in &released.observed {
            follower.push(&mut followed, outcome, &mut again);
        }
        follower.finish(followed, &mut again);
        prop_assert_eq!(&again, &released.states);
        // Saved and taken up in between.
        let mut session = Session::new(mechanism.clone(), &source, start, "a").unwrap();
        let (mut states, mut observed) = (Vec::new(), Vec::new());
        for (step, &real) in reals.iter().enumerate() {
            if step == at {
                let bytes = session.save().unwrap();
                session = Session::resume(mechanism.clone(), &source, start, "a", &bytes).unwrap();
            }
            states.extend(session.push(real).unwrap().to_vec());
            observed.extend_from_slice(session.observed());
        }
        let rest = session.finish().unwrap();
        states.extend(&rest.states);
        observed.extend(&rest.observed);
        prop_assert_eq!((states, observed), (released.states, released.observed));
    }

    /// The posterior is that of Bayes' rule over all real walks, with the law of the noise.
    #[test]
    fn posteriors_are_those_of_all_real_walks(seed in 0u64..500, epsilon in prop_oneof![Just("1"), Just("4")]) {
        let model = model(3, 2);
        let mechanism = Arc::new(plane(&model, epsilon, "100m"));
        let mut randomness = Source::seeded(seed).open(mechanism.fingerprint()).unwrap();
        let key = randomness.walk(b"walk");
        let reals = walk(&model, 3);
        let observed = observe_once(&mechanism, &reals, randomness.at(&key, 0, None)).unwrap();
        let inference = Inference::new(mechanism.clone(), Start::Private).unwrap();
        let posterior = inference.posterior(&observed, &mut InferenceSpace::default()).unwrap();
        let chain = model.chain();
        let chart = mechanism.chart().unwrap();
        let eta = mechanism.scale(StateId::new(0)).eta().as_f64() / 1_048_576.0;
        let places = chain.places().unwrap().coordinates.as_ref().unwrap();
        let weight = |x: StateId, step: usize| {
            let (north, east) = places[x.index()].degrees();
            let own = chart.nearest_to(north, east);
            (-eta * own.distance(observed[step].point().unwrap()) as f64).exp()
        };
        let mut expected = vec![vec![0.0; chain.len()]; 3];
        for a in chain.states() {
            for b in chain.states() {
                for c in chain.states() {
                    let moves = |x, y| {
                        chain.successors(x).iter().position(|&to| to == y).map_or(0.0, |at| chain.probabilities(x)[at])
                    };
                    let p = chain.initial().probability(a) * moves(a, b) * moves(b, c)
                        * weight(a, 0) * weight(b, 1) * weight(c, 2);
                    for (step, x) in [a, b, c].into_iter().enumerate() {
                        expected[step][x.index()] += p;
                    }
                }
            }
        }
        let total: f64 = expected[0].iter().sum();
        for (marginal, expected) in posterior.steps().iter().zip(&expected) {
            for (x, p) in marginal.states().iter().zip(marginal.probabilities()) {
                // A place that lies between two points may be taken for the other one here.
                prop_assert!((p - expected[x.index()] / total).abs() < 1e-4);
            }
        }
    }
}

/// How often each state is nearest: the same from the sampler and from the law.
#[test]
fn observations_lie_as_far_away_as_their_law_says() {
    let model = model(4, 4);
    let mechanism = plane(&model, "2", "100m");
    let noise = mechanism.noise().unwrap();
    let real = StateId::new(5);
    let own = {
        let places = model.chain().places().unwrap();
        let (north, east) = places.coordinates.as_ref().unwrap()[5].degrees();
        mechanism.chart().unwrap().nearest_to(north, east)
    };
    let draws = 200_000;
    let mut randomness = Source::seeded(3).open(mechanism.fingerprint()).unwrap();
    let key = randomness.walk(b"far");
    let words = randomness.at(&key, 0, None);
    let mut distances = Vec::new();
    for _ in 0..draws {
        let drawn = observe_once(&mechanism, &[real], words).unwrap()[0];
        distances.push(drawn.point().unwrap().distance(own) as f64 / 1000.0);
    }
    for metres in [5.0, 50.0, 100.0, 200.0, 400.0, 600.0] {
        let seen = distances.iter().filter(|&&distance| distance > metres).count() as u64;
        assert!(chance_of(seen, draws, noise.beyond(metres)) > 1e-9, "{metres}: {seen}");
    }
}

#[test]
fn what_it_does_not_go_with_is_refused() {
    let make = |model: &Arc<Model>, promise| {
        Mechanism::new(model.clone(), Preset::Plane.design(), promise).unwrap_err()
    };
    let refused = |error: ScaleError| match error {
        ScaleError::Plane(why) => why,
        other => panic!("{other}"),
    };
    let street = Arc::new(Model::measured(town(3, 3), Ground::Street).unwrap());
    let why = refused(make(&street, within("1", "100m")));
    assert_eq!(why, PlaneError::NotLines { ground: "street" });
    assert!(why.to_string().contains("`line`"), "{why}");
    let nats = Arc::new(Model::new(Chain::credit()).unwrap());
    assert_eq!(refused(make(&nats, within("1", "3.5"))), PlaneError::NotLines { ground: "nats" });
    let lines = model(3, 3);
    let one = Promise::for_substitutions("1".parse().unwrap(), 1.try_into().unwrap());
    assert_eq!(refused(make(&lines, one)), PlaneError::Substitutions);
    let why = refused(make(&lines, within("0.00001", "1km")));
    assert!(matches!(why, PlaneError::TooMuchNoise { .. }), "{why}");
    // In nats the radius is of another kind than the distances.
    assert!(matches!(make(&lines, within("1", "3.5")), ScaleError::OtherMeasure { .. }));
    let at =
        |latitude: f64, longitude: f64| Coordinates::from_degrees(latitude, longitude).unwrap();
    let placed = |label: &str, there: Coordinates| {
        let mut builder = ChainBuilder::new(Entries::Probabilities);
        let ids = [builder.state("here"), builder.state(label)];
        for from in ids {
            for to in ids {
                builder.transition(from, to, 0.5).unwrap();
            }
        }
        let chain = builder.build(BuildOptions::default()).unwrap().0;
        let coordinates = Some(vec![at(42.0, 1.0), there]);
        let chain = chain.with_places(Places { coordinates, ..Places::default() }).unwrap();
        Arc::new(Model::measured(chain, Ground::Line).unwrap())
    };
    let why = refused(make(&placed("far", at(-20.0, 140.0)), within("1", "100m")));
    assert!(matches!(why, PlaneError::TooWide { .. }), "{why}");
    let why = refused(make(&placed("42.000000000 1.000000000", at(42.0, 1.1)), within("1", "1km")));
    assert!(matches!(why, PlaneError::LooksLikeAPlace(_)), "{why}");
    // Blocks, and other choices.
    let request = Request::new(Base::Preset(Preset::Plane), within("1", "100m"));
    let blocks = Request { block: Some("5".parse().unwrap()), ..request };
    let error = blocks.make(&lines, &unwatched).unwrap_err();
    assert!(matches!(error, RequestError::ObservationsInBlocks), "{error}");
    let distance = Request { distance: Some(veilwalk::Distance::Cell), ..request };
    assert!(distance.make(&lines, &unwatched).is_err());
    let made = request.make(&lines, &unwatched).unwrap();
    assert_eq!((made.name.as_str(), made.mechanism.blocks().is_none()), ("plane", true));
    // What was not observed on a plane is not inferred from as if it were.
    let inference = Inference::new(made.mechanism, Start::Private).unwrap();
    let states = [StateId::new(0), StateId::new(1)];
    let error = inference.posterior(&states, &mut InferenceSpace::default()).unwrap_err();
    assert_eq!(error, UnlikelyRelease::NotAPoint { step: 0 });
    let tight = Mechanism::new(lines.clone(), Preset::Tight.design(), within("1", "100m")).unwrap();
    let inference = Inference::new(Arc::new(tight), Start::Private).unwrap();
    let point = [Outcome::of_point(LatticePoint::default())];
    let error = inference.posterior(&point, &mut InferenceSpace::default()).unwrap_err();
    assert_eq!(error, UnlikelyRelease::NoSuchState { step: 0 });
}

/// Where the promise is in straight-line metres, `auto` compares it with the others, and never does worse for it.
#[test]
fn auto_knows_it() {
    let lines = model(6, 6);
    let request = Request::new(Base::Auto, within("1", "100m"));
    let observing = TrackChoice { lag: Some(2), ..TrackChoice::default() };
    let made = Request { track: observing, ..request }.make(&lines, &unwatched).unwrap();
    assert!(matches!(made.promise.unit, Unit::Radius(_)));
    assert!(["tight", "plane", "believed"].iter().any(|name| made.name.starts_with(name)));
}

/// What a seed fixes stays fixed.
#[test]
fn value_stability() {
    let model = model(5, 4);
    let mechanism = Arc::new(plane(&model, "1", "100m"));
    let mut releaser =
        Releaser::new(mechanism.clone(), &Source::seeded(1), Start::Private).unwrap();
    let released = releaser.release("pinned", &walk(&model, 6)).unwrap();
    let outcomes = mechanism.outcomes();
    let seen: Vec<String> = released
        .states
        .iter()
        .zip(&released.observed)
        .map(|(&state, &seen)| format!("{} {}", model.chain().label(state), outcomes.text(seen)))
        .collect();
    let expected = [
        "r1c0 42.499615907 1.496870614",
        "r0c0 42.498308968 1.500004308",
        "r0c1 42.499452703 1.502903654",
        "r0c2 42.497321209 1.505921745",
        "r0c1 42.501229911 1.497981666",
        "r0c2 42.500135466 1.504167565",
    ];
    assert_eq!(seen, expected);
}
