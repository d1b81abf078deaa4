//! Refined walks are the best feasible ones.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Refined walks are feasible, cost least of all feasible walks, and never more than the release.
    #[test]
    fn refined_walks_are_the_best_feasible_ones(
        model in small_chains(), kind in 0usize..3, seed in 0u64..1000, states in any::<bool>()
    ) {
        let chain = model.chain();
        let preset = [Preset::Cell, Preset::Sharp, Preset::Tight][kind];
        let promise = Promise::for_substitutions("1".parse().unwrap(), 1.try_into().unwrap());
        let Ok(mechanism) = Mechanism::new(model.clone(), preset.design(), promise) else {
            return Ok(());
        };
        let mechanism = Arc::new(mechanism);
        let real = own_walk(chain, None, 4, &mut words(seed));
        let mut walker = Walker::new(&mechanism);
        if mechanism.check_start(Start::Private, &unwatched).is_err() {
            return Ok(());
        }
        let released = walker.release(Start::Private, &real, &mut words(seed)).clone();
        let drawn = match kind {
            2 => released.observed.clone(),
            _ => Outcome::all(&released.states),
        };
        let aim = if states { RefineAim::States } else { RefineAim::Distance };
        let inference = Inference::new(mechanism.clone(), Start::Private).unwrap();
        let posterior = inference.posterior(&drawn, &mut InferenceSpace::default()).unwrap();
        let refined = inference.refine(&posterior, &released.states, aim);
        prop_assert!(refined.states.windows(2).all(|pair| chain.allows(pair[0], pair[1])));
        prop_assert!(refined.cost <= refined.released_cost);
        let cost = |walk: &[StateId]| -> f64 {
            walk.iter().zip(posterior.steps()).map(|(&w, marginal)| {
                let each = marginal.states().iter().zip(marginal.probabilities());
                each.map(|(&x, p)| p * match aim {
                    RefineAim::States => f64::from(u8::from(w != x)),
                    RefineAim::Distance => model.symmetric_between(w, x).as_f64(),
                }).sum::<f64>()
            }).sum()
        };
        prop_assert!((cost(&refined.states) - refined.cost).abs() < 1e-9);
        prop_assert!((cost(&released.states) - refined.released_cost).abs() < 1e-9);
        let mut feasible: Vec<Vec<StateId>> = chain.states().map(|x| vec![x]).collect();
        feasible.retain(|walk| chain.initial().probability(walk[0]) > 0.0);
        for _ in 1..real.len() {
            feasible = feasible.iter().flat_map(|walk| {
                chain.successors(*walk.last().unwrap()).iter().map(move |&to| {
                    walk.iter().copied().chain([to]).collect()
                })
            }).collect();
        }
        let least = feasible.iter().map(|walk| cost(walk)).fold(f64::INFINITY, f64::min);
        prop_assert!((least - refined.cost).abs() < 1e-9, "{least} {}", refined.cost);
    }
}

/// With a lag as long as the walk the first state is known as well as from the whole release, and every move
/// is possible; the lag that a mechanism tracks with gives the walk that it released.
#[test]
fn a_lag_gives_what_would_have_been_released_with_it() {
    let model = credit();
    let chain = model.chain();
    for lag in [0u32, 2] {
        let tracking =
            Tracking { lag, gamma: crate::rational::Rational::ZERO, ..Tracking::default() };
        let mechanism =
            Mechanism::new(model.clone(), Preset::Tight.design(), within("1", "1")).unwrap();
        let mechanism = Arc::new(mechanism.tracking(tracking));
        let mut releaser =
            Releaser::new(mechanism.clone(), &Source::seeded(5), Start::Private).unwrap();
        for walk in 0..20 {
            let real = own_walk(chain, None, 20, &mut words(walk));
            let released = releaser.release(&format!("{walk}"), &real).unwrap();
            let inference = Inference::new(mechanism.clone(), Start::Private)
                .unwrap()
                .dropping_below(crate::belief::Tracker::PRUNED_BELOW);
            let refined = inference.refine_with_lag(
                &released.observed,
                &released.states,
                lag as usize,
                RefineAim::Distance,
                &mut InferenceSpace::default(),
            );
            let refined = refined.unwrap();
            let endless = inference.refine_with_lag(
                &released.observed,
                &released.states,
                usize::MAX,
                RefineAim::Distance,
                &mut InferenceSpace::default(),
            );
            assert_eq!(endless.unwrap().states.len(), released.states.len());
            assert_eq!(refined.states, released.states);
            assert_eq!(refined.cost, refined.released_cost);
        }
    }
}
