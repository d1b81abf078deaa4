//! How good releases in blocks are: exact, simulated, and what a delay buys.

mod common;

use std::sync::Arc;

use common::{
    blocks, chance_of, credit, exponential, mean_and_error, radius, scattered_chain, state,
};
use veilwalk::analysis::{AnalysisEffort, Findings, Inquiry, Origin, OwnWalks, Plan, Utility};
use veilwalk::internal::simulate::{Estimate, RealWalks, Simulation, simulate};
use veilwalk::internal::{given_walk, given_walks};
use veilwalk::session::Releaser;
use veilwalk::{Distance, Mechanism, Model, Source, Start, StateId, unwatched};

/// Walks of 100 steps from Baa at one unit of epsilon per nat: exact for each real walk, averaged
/// over 4,000 of the chain's walks.
#[test]
fn a_delay_buys_accuracy_on_the_credit_chain() {
    let model = credit();
    let design = exponential(Distance::Symmetric, "0.5");
    let promise = radius("3.5", "3.5");
    let baa = state(&model, "Baa");
    for (length, wrong, distance) in [("1", 0.14, 0.46), ("5", 0.066, 0.20), ("all", 0.052, 0.16)] {
        let blocks = blocks(&model, design, promise, length);
        let mut randomness = Source::seeded(1).open(blocks.fingerprint()).unwrap();
        let key = randomness.walk(b"real walks");
        let words = randomness.at(&key, 0, None);
        let own = OwnWalks::new(model.chain());
        let figures: Vec<_> = (0..4000)
            .map(|_| {
                let real = own.walk(Origin::At(baa), 100, words);
                given_walk::utility(&blocks, &real, Start::First, &[], &unwatched).unwrap()
            })
            .collect();
        let of =
            |f: fn(&Utility) -> f64| mean_and_error(&figures.iter().map(f).collect::<Vec<_>>());
        let w = of(|figures| figures.wrong_state_share);
        let d = of(|figures| figures.mean_distance_nats);
        println!("{length}: {w:.4?} {d:.4?}");
        // Four standard errors, and half a unit of the last digit.
        let digit = |known: f64| if known < 0.1 { 0.0005 } else { 0.005 };
        assert!((w.0 - wrong).abs() < 4.0 * w.1 + digit(wrong), "{length}: {w:?}");
        assert!((d.0 - distance).abs() < 4.0 * d.1 + 0.005, "{length}: {d:?}");
    }
}

/// The figures by passes, the figures of the exponential rule, and the sampler agree.
#[test]
fn analysis_agrees_with_single_steps_and_with_the_sampler() {
    let model = credit();
    let design = exponential(Distance::Symmetric, "0.5");
    let real: Vec<_> = (0..21).map(|t| StateId::new([3, 3, 4, 5, 6, 6, 7][t % 7])).collect();
    let one = blocks(&model, design, radius("2", "3.5"), "1");
    let rule = Mechanism::new(model.clone(), design, radius("2", "3.5")).unwrap();
    let levels = [2.0, 6.0];
    let by_blocks = given_walk::utility(&one, &real, Start::Initial, &levels, &unwatched).unwrap();
    let by_steps = given_walk::utility(&rule, &real, Start::Initial, &levels, &unwatched).unwrap();
    let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
    for (a, b) in by_blocks.distance_by_step.iter().zip(&by_steps.distance_by_step) {
        assert!(close(*a, *b));
    }
    assert!(close(by_blocks.entropy_nats.released, by_steps.entropy_nats.released));
    assert!(close(by_blocks.exceedance[1].ever, by_steps.exceedance[1].ever));

    let four = Arc::new(blocks(&model, design, radius("2", "3.5"), "4"));
    let exact = given_walk::utility(&four, &real, Start::First, &[], &unwatched).unwrap();
    let mut releaser = Releaser::new(four, &Source::seeded(5), Start::First).unwrap();
    let n = 40_000;
    let mut wrong = vec![0u64; real.len()];
    for i in 0..n {
        let released = releaser.release(&i.to_string(), &real).unwrap();
        for (count, (y, x)) in wrong.iter_mut().zip(released.iter().zip(&real)) {
            *count += u64::from(y != x);
        }
    }
    for (t, &count) in wrong.iter().enumerate().skip(1) {
        let p = exact.wrong_by_step[t];
        assert!(chance_of(count, n, p) > 1e-9, "step {t}: {count} of {n} at {p}");
    }
}

fn agree(exact: f64, estimate: Estimate) {
    let allowed = 5.0 * estimate.standard_error + 1e-9;
    assert!((exact - estimate.mean).abs() <= allowed, "exact {exact}, simulated {estimate:?}");
}

/// Simulated and exact figures of given walks, some shorter than a block and some not.
#[test]
fn simulated_blocks_agree_with_exact_ones() {
    let model = Arc::new(Model::new(scattered_chain(30, 4, 2)).unwrap());
    let walk = |states: &[usize]| states.iter().map(|&i| StateId::new(i)).collect::<Vec<_>>();
    let walks = vec![walk(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), walk(&[20, 21, 5]), walk(&[7])];
    for (distance, length) in
        [(Distance::Symmetric, "4"), (Distance::Cell, "3"), (Distance::Directed, "all")]
    {
        let blocks = blocks(&model, exponential(distance, "0.5"), radius("6", "3"), length);
        for start in [Start::First, Start::Initial] {
            let levels = [1.0, 4.0];
            let exact = given_walks::utility(&blocks, &walks, start, &levels, &unwatched).unwrap();
            let simulation = Simulation {
                real: RealWalks::Given(&[]),
                start,
                walks: 4000,
                seed: 3,
                levels: &levels,
                etas: &[],
            };
            let simulated = given_walks::simulate(&blocks, &walks, simulation, &unwatched).unwrap();
            agree(exact.mean_distance_nats, simulated.mean_distance_nats);
            agree(exact.wrong_state_share, simulated.wrong_state_share);
            agree(exact.entropy_nats.released, simulated.entropy_nats.released);
            for (ours, theirs) in exact.exceedance.iter().zip(&simulated.exceedance) {
                agree(ours.per_step, theirs.per_step);
                agree(ours.ever, theirs.ever);
            }
        }
    }
}

/// Over the chain's own walks, blocks of one step are the exponential rule, whose figures are known
/// exactly, and longer ones agree with exact figures averaged over drawn walks.
#[test]
fn simulated_blocks_agree_over_the_chains_own_walks() {
    use veilwalk::internal::joint::{JointChain, KernelMemory};
    let (model, design) = (credit(), exponential(Distance::Symmetric, "0.5"));
    let promise = radius("3.5", "3.5");
    let origin = Origin::At(state(&model, "Baa"));
    let real = RealWalks::Own { origin, steps: 30 };
    let simulation =
        Simulation { real, start: Start::First, walks: 4000, seed: 4, levels: &[], etas: &[] };
    let one = blocks(&model, design, promise, "1");
    let rule = Mechanism::new(model.clone(), design, promise).unwrap();
    let pair = JointChain::new(&rule, KernelMemory::default(), &unwatched).unwrap();
    let exact = pair.utility(origin, Start::First, 30, &[], &unwatched).unwrap();
    let simulated = simulate(&one, simulation, &unwatched).unwrap();
    agree(exact.wrong_state_share, simulated.wrong_state_share);
    agree(exact.mean_distance_nats, simulated.mean_distance_nats);

    let seven = blocks(&model, design, promise, "7");
    let simulated = simulate(&seven, simulation, &unwatched).unwrap();
    let mut randomness = Source::seeded(9).open(seven.fingerprint()).unwrap();
    let key = randomness.walk(b"real walks");
    let words = randomness.at(&key, 0, None);
    let own = OwnWalks::new(model.chain());
    let exact: Vec<f64> = (0..4000)
        .map(|_| {
            let real = own.walk(origin, 30, words);
            let figures = given_walk::utility(&seven, &real, Start::First, &[], &unwatched);
            figures.unwrap().wrong_state_share
        })
        .collect();
    let (mean, error) = mean_and_error(&exact);
    let estimate = simulated.wrong_state_share;
    let apart = (mean - estimate.mean).abs();
    assert!(apart < 5.0 * error.hypot(estimate.standard_error), "{mean} {estimate:?}");
}

/// One question put to both kinds of releases: blocks of one step are the exponential rule.
#[test]
fn one_inquiry_serves_single_steps_and_blocks() {
    let model = credit();
    let design = exponential(Distance::Symmetric, "0.5");
    let steps = Mechanism::new(model.clone(), design, radius("2", "3.5")).unwrap();
    let one = blocks(&model, design, radius("2", "3.5"), "1");
    let walk = |length: usize| (0..length).map(|t| StateId::new([3, 3, 4, 5, 6][t % 5])).collect();
    let real: [Vec<StateId>; 2] = [walk(21), walk(8)];
    let inquiry = Inquiry {
        origin: Origin::Initial,
        steps: 12,
        start: Start::First,
        real: Some(&real),
        levels: &[2.0, 6.0],
        etas: &[0.5],
        simulate: Some(2000),
        seed: 5,
    };
    assert_eq!(inquiry.longest(), 20);
    let own = Inquiry { real: None, ..inquiry };
    assert_eq!(own.longest(), 12);

    let plan = Plan { mechanism: &steps, inquiry, effort: AnalysisEffort::SOME };
    let by_steps = plan.carry_out(&unwatched).unwrap().exact().unwrap();
    let plan = Plan { mechanism: &one, inquiry, effort: AnalysisEffort::WHATEVER_IT_TAKES };
    let by_blocks = plan.carry_out(&unwatched).unwrap().exact().unwrap();
    let (a, b) = (&by_steps.utility, &by_blocks.utility);
    assert!((a.mean_distance_nats - b.mean_distance_nats).abs() < 1e-9);
    assert!((a.wrong_state_share - b.wrong_state_share).abs() < 1e-9);
    for (a, b) in a.exceedance.iter().zip(&b.exceedance) {
        assert!((a.per_step - b.per_step).abs() < 1e-9 && (a.ever - b.ever).abs() < 1e-9);
    }
    // Simulated: as many walks, and figures that agree with the exact ones.
    for analysis in [&by_steps, &by_blocks] {
        let simulated = analysis.simulated.as_ref().unwrap();
        let Estimate { mean, standard_error } = simulated.mean_distance_nats;
        let exact = analysis.utility.mean_distance_nats;
        assert_eq!(simulated.walks, 2000 * 2);
        assert!((mean - exact).abs() < 5.0 * standard_error, "{mean} {exact} {standard_error}");
    }
    // Over the chain's own walks there are no exact figures in blocks.
    let plan = Plan { mechanism: &one, inquiry: own, effort: AnalysisEffort::WHATEVER_IT_TAKES };
    let found = plan.carry_out(&unwatched).unwrap();
    assert!(matches!(found, Findings::Simulated { ref simulated, .. } if simulated.walks == 2000));
}
