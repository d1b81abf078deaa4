//! Posteriors equal enumeration, and move by no more than the promise says.

use super::*;

fn assert_near(found: f64, expected: f64, what: &str) {
    assert!(
        (found - expected).abs() <= 1e-12 * expected.abs() + 1e-300,
        "{what}: {found} {expected}"
    );
}

/// Posteriors and expected moves of one release against all real walks.
fn compare(inference: &Inference, drawn: &[StateId], all: &[(Vec<StateId>, f64)]) {
    let chain = inference.chain().clone();
    let posterior = inference.posterior(drawn, &mut InferenceSpace::default()).unwrap();
    assert_eq!((posterior.dropped(), posterior.surprises()), (0.0, 0));
    for (t, marginal) in posterior.steps().iter().enumerate() {
        for x in chain.states() {
            let expected = all.iter().filter(|(walk, _)| walk[t] == x).map(|(_, w)| w).sum();
            assert_near(marginal.probability(x), expected, "a state");
        }
    }
    let mut space = InferenceSpace::default();
    let mut seen = inference.filter(inference.law(), &Outcome::all(drawn), &mut space).seen;
    let mut moves = vec![0.0; chain.transitions()];
    smooth(inference.law(), &mut seen, &mut space.beliefs, |from, place, p| {
        moves[chain.row(from).start + place] += p;
    });
    let mut expected = vec![0.0; chain.transitions()];
    for (walk, weight) in all {
        for pair in walk.windows(2) {
            let place = chain.successors(pair[0]).binary_search(&pair[1]).unwrap();
            expected[chain.row(pair[0]).start + place] += weight;
        }
    }
    moves.iter().zip(&expected).for_each(|(m, e)| assert_near(*m, *e, "a move"));
    let likeliest = inference.likeliest_walk(&posterior);
    let weight = all.iter().find(|(walk, _)| *walk == likeliest).map_or(0.0, |(_, weight)| *weight);
    let most = all.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
    assert_near(weight, most, "the likeliest walk");
}

/// Five steps of every preset, and every start; up to eight for one.
#[test]
fn posteriors_are_those_of_all_real_walks() {
    let model = credit();
    let chain = model.chain();
    let b = chain.require("B").unwrap();
    for preset in Preset::OF_STATES {
        if matches!(preset, Preset::Believed) {
            continue;
        }
        let promise = match preset {
            Preset::Chen | Preset::ExponentialHamming => {
                Promise::for_substitutions("2".parse().unwrap(), 1.try_into().unwrap())
            }
            _ => within("3", "3.5"),
        };
        let mechanism = Arc::new(Mechanism::new(model.clone(), preset.design(), promise).unwrap());
        for (start, seed) in
            [Start::Private, Start::Initial, Start::First, Start::At(b)].into_iter().zip(1..)
        {
            let steps = if preset == Preset::Cell && seed == 1 { 7 } else { 4 };
            let real = own_walk(chain, Some(b), steps - 1, &mut words(seed));
            let drawn = drawn_for(&mechanism, start, &real, seed);
            let inference = Inference::new(mechanism.clone(), start).unwrap();
            let law = |walk: &[StateId]| log_law(&mechanism, start, &drawn, walk);
            compare(&inference, &drawn, &every_walk(chain, steps, law));
        }
    }
}

/// The law of believed candidates depends on everything observed before.
#[test]
fn posteriors_follow_beliefs() {
    let model = credit();
    let chain = model.chain();
    let design = |share: &str| crate::mechanism::Design {
        candidates: Candidates::Believed(share.parse::<LeastShare>().unwrap()),
        ..Preset::Believed.design()
    };
    let replaced = Promise::for_substitutions("2".parse().unwrap(), 1.try_into().unwrap());
    for (share, promise) in [("0.1", within("3", "3.5")), ("0.02", replaced), ("0", replaced)] {
        let mechanism = Arc::new(Mechanism::new(model.clone(), design(share), promise).unwrap());
        let real = ["B", "Caa", "Caa"].map(|label| chain.require(label).unwrap());
        let drawn = drawn_for(&mechanism, Start::Private, &real, 3);
        let inference = Inference::new(mechanism.clone(), Start::Private).unwrap();
        let law = |walk: &[StateId]| {
            let laws = log_law_of_observations(&mechanism, walk).unwrap();
            laws.iter().find(|(path, _)| *path == drawn).map_or(f64::NEG_INFINITY, |(_, log)| *log)
        };
        compare(&inference, &drawn, &every_walk(chain, 3, law));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever was released, and whatever somebody holds likely of real walks, the odds of two real walks that
    /// the promise does not tell apart move by no more than it says.
    #[test]
    fn odds_of_adjacent_walks_move_by_no_more_than_epsilon(
        model in small_chains(), epsilon in 1u32..4, kind in 0usize..3, seed in 0u64..1000
    ) {
        let chain = model.chain();
        let preset = [Preset::Cell, Preset::Sharp, Preset::Tight][kind];
        let promise = Promise::for_substitutions(
            epsilon.to_string().parse().unwrap(), 1.try_into().unwrap());
        let Ok(mechanism) = Mechanism::new(model.clone(), preset.design(), promise) else {
            return Ok(());
        };
        let mechanism = Arc::new(mechanism);
        let real = own_walk(chain, None, 3, &mut words(seed));
        if mechanism.check_start(Start::Private, &unwatched).is_err() {
            return Ok(());
        }
        let drawn = drawn_for(&mechanism, Start::Private, &real, seed + 1);
        let law = |walk: &[StateId]| log_law(&mechanism, Start::Private, &drawn, walk);
        let all = every_walk(chain, 4, law);
        let prior = every_walk(chain, 4, |_| 0.0);
        for (a, prior_a) in all.iter().zip(&prior) {
            for (b, prior_b) in all.iter().zip(&prior) {
                let differ = a.0.iter().zip(&b.0).filter(|(x, y)| x != y).count();
                if differ == 1 {
                    let moved = (a.1 / b.1).ln() - (prior_a.1 / prior_b.1).ln();
                    prop_assert!(moved <= f64::from(epsilon) * (1.0 + 1e-9), "{moved}");
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_inferred_from_is_refused() {
    let model = credit();
    let chain = model.chain();
    let state = |label| chain.require(label).unwrap();
    let design = crate::mechanism::Design {
        rule: crate::mechanism::Rule::Exponential,
        ..Preset::Sharp.design()
    };
    let blocks =
        Mechanism::in_blocks(model.clone(), design, within("3", "3.5"), "3".parse().unwrap())
            .unwrap();
    let refused = Inference::new(Arc::new(blocks), Start::First).unwrap_err();
    assert!(matches!(refused, InferenceError::InBlocks { .. }), "{refused}");
    let cell = Mechanism::new(model.clone(), Preset::Cell.design(), within("3", "3.5")).unwrap();
    let inference = Inference::new(Arc::new(cell), Start::At(state("B"))).unwrap();
    let mut space = InferenceSpace::default();
    let mut why = |drawn: &[StateId]| inference.posterior(drawn, &mut space).unwrap_err();
    assert_eq!(why(&[]), UnlikelyRelease::Empty);
    assert_eq!(why(&[state("Caa")]), UnlikelyRelease::Start);
    assert_eq!(why(&[state("B"), state("Aaa")]), UnlikelyRelease::Move { step: 1 });
    assert_eq!(why(&[state("B"), StateId::new(99)]), UnlikelyRelease::NoSuchState { step: 1 });
}

/// What nobody can have drawn contradicts everything: it is counted, and there is still a posterior.
#[test]
fn contradictions_are_counted() {
    let model = Arc::new(Model::new(scattered(30, 2)).unwrap());
    let promise = Promise::for_substitutions("4".parse().unwrap(), 1.try_into().unwrap());
    let mechanism = Mechanism::new(model.clone(), Preset::Believed.design(), promise).unwrap();
    let inference = Inference::new(Arc::new(mechanism), Start::Private).unwrap();
    // A circle of states that nearly all lie beyond the moves of the one before.
    let drawn: Vec<StateId> = (0..12).map(|t| StateId::new(7 * t % 30)).collect();
    let posterior = inference.posterior(&drawn, &mut InferenceSpace::default()).unwrap();
    assert!(posterior.surprises() > 0);
    for marginal in posterior.steps() {
        assert!((marginal.probabilities().iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
