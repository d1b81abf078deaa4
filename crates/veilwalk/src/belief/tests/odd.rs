//! Whatever is observed, on whatever chain: beliefs are distributions, and walks are the chain's.

use super::*;

fn is_distribution(belief: &Belief) -> bool {
    let ascending = belief.states().windows(2).all(|pair| pair[0] < pair[1]);
    let positive = belief.masses().iter().all(|&mass| mass > 0.0 && mass.is_finite());
    let sum: f64 = belief.masses().iter().sum();
    let paired = belief.states().len() == belief.masses().len();
    ascending && positive && paired && (sum - 1.0).abs() < 1e-12
}

/// The ways to start a walk.
#[derive(Clone, Copy, Debug)]
enum Begin {
    Observed,
    Public(usize),
    Blind(usize),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_move_is_the_chains_own(
        model in chains(12, Contrast::Extreme),
        logs in prop_oneof![senseless(12), sensible(12)],
        lag in prop_oneof![Just(0u32), 1u32..6, Just(u32::MAX)],
        aim in select(TrackAim::NAMES).prop_map(|(_, aim)| aim),
        threshold in prop_oneof![Just(0.0), Just(Tracker::PRUNED_BELOW), Just(0.5)],
        begin in prop_oneof![
            Just(Begin::Observed), (0..12usize).prop_map(Begin::Public), (0..12usize).prop_map(Begin::Blind)
        ],
    ) {
        let chain = model.chain();
        let state = |place: usize| StateId::new(place % chain.len());
        let mut run = Run::new(&model, Tracking { lag, aim, ..Tracking::default() }, threshold);
        let before = match begin {
            Begin::Observed => 0,
            Begin::Public(place) => {
                run.track.start_at(state(place), &mut run.released);
                prop_assert_eq!(run.track.belief.states(), &[state(place)]);
                1
            }
            Begin::Blind(place) => {
                run.track.start_blind(&run.tracker, state(place), &mut run.released);
                prop_assert_eq!(&run.track.belief, run.tracker.initial());
                1
            }
        };
        prop_assert_eq!(run.released.len(), before);
        for logs in &logs {
            let predicted = run.observe(logs);
            prop_assert!(is_distribution(&predicted), "{predicted:?}");
            let belief = &run.track.belief;
            prop_assert!(is_distribution(belief), "{belief:?}");
            prop_assert!(belief.states().iter().all(|x| predicted.states().contains(x)));
            prop_assert!(run.track.window.iter().all(|seen| is_distribution(&seen.belief)));
        }
        run.finish();
        prop_assert_eq!(run.released.len(), before + logs.len());
        if before == 0 {
            prop_assert!(chain.initial().probability(run.released[0]) > 0.0);
        }
        prop_assert!(run.released.windows(2).all(|pair| chain.allows(pair[0], pair[1])));
        prop_assert!((0.0..=logs.len() as f64).contains(&run.track.dropped()));
        prop_assert!(run.track.surprises() <= logs.len() as u64);
    }

    #[test]
    fn asking_what_is_predicted_again_changes_nothing(
        model in chains(12, Contrast::Extreme), logs in senseless(12)
    ) {
        let mut once = Run::new(&model, with_lag(2), 0.0);
        let mut often = Run::new(&model, with_lag(2), 0.0);
        for logs in &logs {
            let first = often.track.predicted(&often.tracker, &mut often.space).clone();
            let second = often.track.predicted(&often.tracker, &mut often.space).clone();
            prop_assert_eq!(first, second);
            once.observe(logs);
            often.observe(logs);
            prop_assert_eq!(once.track.to_parts(), often.track.to_parts());
        }
        prop_assert_eq!(once.released, often.released);
    }

    /// Likelihoods matter up to a factor.
    #[test]
    fn a_common_term_says_nothing(model in chains(12, Contrast::Moderate), logs in sensible(12)) {
        let mut run = Run::new(&model, with_lag(1), 1e-6);
        let mut moved = Run::new(&model, with_lag(1), 1e-6);
        for logs in &logs {
            // Whole numbers, so that adding them to multiples of 1/1024 rounds nothing.
            let logs: Vec<_> = logs.iter().map(|log| (log * 1024.0).round() / 1024.0).collect();
            run.observe(&logs);
            moved.observe(&logs.iter().map(|log| log - 4096.0).collect::<Vec<_>>());
        }
        prop_assert_eq!(run.track.to_parts(), moved.track.to_parts());
        prop_assert_eq!(run.released, moved.released);
    }
}

/// The first of equally good states is taken, and the chain's weight decides where it may.
#[test]
fn ties_go_to_the_earlier_state() {
    let mut builder = ChainBuilder::new(Entries::Counts);
    let [a, b, c] = ["a", "b", "c"].map(|label| builder.state(label));
    for (from, to, count) in [(a, b, 1.0), (a, c, 1.0), (b, a, 1.0), (c, a, 1.0), (a, a, 2.0)] {
        builder.transition(from, to, count).unwrap();
    }
    let model = model_starting(builder.build(Default::default()).unwrap().0, &[0.0, 1.0, 1.0]);
    let tracking = Tracking { aim: TrackAim::States, ..Tracking::default() };
    let flat = [0.0; 3];
    let mut run = Run::new(&model, tracking, 0.0);
    run.observe(&flat);
    assert_eq!(run.released, [b], "b and c are as likely, and a is no start");
    let mut run = Run::new(&model, tracking, 0.0);
    run.track.start_at(a, &mut run.released);
    run.observe(&[f64::NEG_INFINITY, 0.0, 0.0]);
    assert_eq!(run.released, [a, b]);
    // Nearly as likely as the others, a wins by its own probability.
    let mut run = Run::new(&model, tracking, 0.0);
    run.track.start_at(a, &mut run.released);
    run.observe(&[-0.7, 0.0, 0.0]);
    assert_eq!(run.released, [a, a]);
}

#[test]
fn a_surprise_leaves_what_was_predicted() {
    let mut run = Run::new(&credit(), Tracking::default(), 0.0);
    run.track.start_at(StateId::new(8), &mut run.released);
    let predicted =
        run.observe(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, f64::NEG_INFINITY, f64::NEG_INFINITY]);
    assert_eq!((run.track.surprises(), run.track.dropped()), (1, 0.0));
    assert_eq!(run.track.belief.states(), predicted.states());
}

#[test]
fn names_are_read_back() {
    for (name, aim) in TrackAim::NAMES {
        assert_eq!((aim.to_string(), name.parse()), ((*name).to_owned(), Ok(*aim)));
    }
    let error = "nats".parse::<TrackAim>().unwrap_err().to_string();
    assert_eq!(
        error,
        "\"nats\" is not a track aim; choose one of distance, states, distance-ahead, states-ahead"
    );
    assert_eq!(Tracking::default().gamma, "0.01".parse().unwrap());
}
