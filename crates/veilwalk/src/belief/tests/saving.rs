//! The same to the last bit: after a walk was saved, and from one version to the next.

use super::*;

proptest! {
    /// Taken up again at every step, before and after asking what is predicted, and in scratch memory of
    /// its own, a walk goes on as it would have. (No number here is a zero with a sign or not a number,
    /// so equal numbers have equal bits.)
    #[test]
    fn a_walk_goes_on_where_it_was_saved(
        model in chains(12, Contrast::Extreme),
        logs in prop_oneof![senseless(12), sensible(12)],
        lag in 0u32..5,
        blind in any::<bool>(),
    ) {
        let mut whole = Run::new(&model, with_lag(lag), Tracker::PRUNED_BELOW);
        let mut again = Run::new(&model, with_lag(lag), Tracker::PRUNED_BELOW);
        if blind {
            for run in [&mut whole, &mut again] {
                run.track.start_blind(&run.tracker, StateId::new(0), &mut run.released);
            }
        }
        let reload = |run: &mut Run| {
            run.track = Track::from_parts(run.track.to_parts(), &run.tracker).expect("it was one");
            run.space = BeliefSpace::default();
        };
        reload(&mut again);
        for logs in &logs {
            again.track.predicted(&again.tracker, &mut again.space);
            reload(&mut again);
            again.observe(logs);
            whole.observe(logs);
            reload(&mut again);
            prop_assert_eq!(whole.track.to_parts(), again.track.to_parts());
        }
        whole.finish();
        again.finish();
        reload(&mut again);
        prop_assert_eq!(whole.track.to_parts(), again.track.to_parts());
        prop_assert_eq!(whole.released, again.released);
    }

    /// Parts that are taken, whatever they are, make a walk that goes on.
    #[test]
    fn parts_that_were_tampered_with_do_no_harm(
        model in chains(6, Contrast::Extreme),
        logs in sensible(6),
        lag in 1u32..4,
        state in 0u32..7,
        number in prop_oneof![Just(0.0), Just(f64::NAN), Just(-1.0), Just(1.0), 0.0f64..2.0],
        what in 0usize..10,
        place in any::<prop::sample::Index>(),
    ) {
        let mut run = Run::new(&model, with_lag(lag), 0.0);
        logs.iter().for_each(|logs| drop(run.observe(logs)));
        let mut parts = run.track.to_parts();
        let seen = place.index(parts.window.len());
        let seen = &mut parts.window[seen];
        let place = place.index(seen.states.len());
        match what {
            0 => seen.states[place] = state,
            1 => seen.masses[place] = number,
            2 => seen.factors[place] = number,
            3 => parts.last = Some(state),
            4 => parts.last = None,
            5 => parts.standing = Standing::Predicted,
            6 => parts.dropped = number,
            7 => seen.states.clear(),
            8 => parts.window.clear(),
            _ => parts.masses = vec![number],
        }
        if let Some(track) = Track::from_parts(parts, &run.tracker) {
            (run.track, run.released) = (track, Vec::new());
            logs.iter().for_each(|logs| drop(run.observe(logs)));
            run.finish();
            prop_assert!(run.released.windows(2).all(|pair| model.chain().allows(pair[0], pair[1])));
            prop_assert!(run.track.belief.masses().iter().all(|mass| mass.is_finite()));
        }
    }
}

#[test]
fn parts_of_no_walk_are_refused() {
    let mut run = Run::new(&credit(), with_lag(2), 0.0);
    (0..4).for_each(|_| drop(run.observe(&[0.0; 9])));
    let refused = |change: &dyn Fn(&mut TrackParts)| {
        let mut parts = run.track.to_parts();
        change(&mut parts);
        Track::from_parts(parts, &run.tracker).is_none()
    };
    assert!(!refused(&|_| ()));
    assert!(refused(&|parts| parts.last = Some(9)));
    assert!(refused(&|parts| parts.dropped = f64::NAN));
    assert!(refused(&|parts| parts.states.swap(0, 1)));
    assert!(refused(&|parts| parts.masses[0] += 0.1));
    assert!(refused(&|parts| parts.masses.truncate(3)));
    assert!(refused(&|parts| parts.window.push(parts.window[0].clone())));
    assert!(refused(&|parts| parts.window[0].states[8] = 9));
    assert!(refused(&|parts| parts.window[0].factors[8] = 0.0));
    assert!(refused(&|parts| drop(parts.window.pop())), "the belief is that of the last step");
    assert!(refused(&|parts| parts.standing = Standing::Fresh));
    assert!(refused(&|parts| {
        parts.window.clear();
        parts.last = None;
    }));
}

/// Beliefs and answers are to be the same on every machine and in every version. If this changes, so do
/// releases, and runs cannot be repeated: change it only when that is meant.
#[test]
fn beliefs_are_what_they_were() {
    let model = credit();
    let mut next = numbers(2026);
    let mut hasher = blake3::Hasher::new();
    for lag in [0, 3] {
        let mut run = Run::new(&model, with_lag(lag), Tracker::PRUNED_BELOW);
        let mut real = 3.0;
        for _ in 0..200 {
            real = (real + next() - 0.45_f64).clamp(0.0, 8.0);
            let logs: Vec<_> = (0..9).map(|x| -(f64::from(x) - real).abs() - next()).collect();
            run.observe(&logs);
            let belief = &run.track.belief;
            for (state, mass) in belief.states().iter().zip(belief.masses()) {
                hasher.update(&(state.index() as u32).to_le_bytes());
                hasher.update(&mass.to_bits().to_le_bytes());
            }
        }
        run.finish();
        hasher.update(&run.released.iter().map(|state| state.index() as u8).collect::<Vec<_>>());
    }
    assert_eq!(&hasher.finalize().to_hex()[..32], "36c0c3f2a8cd9a62b2a0bdd928b21674");
}
