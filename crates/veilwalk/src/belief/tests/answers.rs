//! Answers from a shortlist, beside the sums of all candidates.

use std::sync::LazyLock;

use super::*;
use crate::chain::Grid;
use crate::nats::Nats;

static SCATTERED: LazyLock<Arc<Model>> = LazyLock::new(pinned::scattered);

/// A grid whose streets cost the same: moves in two directions are often just as good as each other.
static EQUAL_STREETS: LazyLock<Arc<Model>> = LazyLock::new(|| {
    let side = 10.try_into().unwrap();
    let chain = Chain::grid(Grid { width: side, height: side, seed: 5 }).unwrap();
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<_> = chain.states().map(|x| builder.state(chain.label(x))).collect();
    for from in chain.states() {
        for to in chain.successors(from) {
            builder.transition(ids[from.index()], ids[to.index()], 1.0).unwrap();
        }
    }
    model_starting(builder.build(Default::default()).unwrap().0, &[1.0; 100])
});

/// Masses of up to `states` states: a few that differ little, or by many powers of ten, some of them nothing.
fn masses(states: usize) -> impl Strategy<Value = Vec<f64>> {
    let flat = vec(prop_oneof![Just(1.0), 0.5f64..1.0], 1..=states);
    let steep = (0.05f64..0.9, vec(0.1f64..1.0, 1..=states)).prop_map(|(by, masses)| {
        let masses = (0..).zip(masses).map(|(place, mass)| mass * by.powi(place % 29));
        masses.collect()
    });
    let any = vec(prop_oneof![Just(0.0), Just(1e-320), 1e-12f64..1e-6, 0.0f64..1.0], states);
    prop_oneof![flat, steep, any].prop_map(|masses: Vec<f64>| {
        let total: f64 = masses.iter().sum();
        masses.iter().map(|mass| if total > 0.0 { mass / total } else { 1.0 }).collect()
    })
}

/// Adds up every distance, in the order that counts.
fn nearest(
    model: &Model,
    gamma: f64,
    last: StateId,
    states: &[StateId],
    masses: &[f64],
) -> StateId {
    let chain = model.chain();
    let moves = chain.successors(last).iter().zip(chain.weights(last));
    let mut best = (f64::INFINITY, last);
    for (&candidate, weight) in moves {
        let mut cost = 0.0;
        for (&state, mass) in states.iter().zip(masses) {
            cost += mass * f64::from(model.symmetric_between(candidate, state).units());
        }
        cost = cost / f64::from(Nats::PER_NAT) + gamma * weight.as_f64();
        if cost < best.0 {
            best = (cost, candidate);
        }
    }
    best.1
}

fn compare(
    model: &Arc<Model>,
    gamma: &str,
    last: usize,
    first: usize,
    masses: &[f64],
) -> Result<(), TestCaseError> {
    let tracking = Tracking { gamma: gamma.parse().unwrap(), ..Tracking::default() };
    let tracker = Tracker::new(model.clone(), tracking);
    let (last, len) = (StateId::new(last), model.chain().len());
    // Any run of states, so that the heaviest are not always the same.
    let mut states: Vec<_> = (0..masses.len()).map(|i| StateId::new((first + i) % len)).collect();
    states.sort_unstable();
    let mut space = BeliefSpace::default();
    let found = tracker.answer(Some(last), &states, masses, &mut space.answer);
    let gamma = tracking.gamma.as_f64();
    prop_assert_eq!(found, nearest(model, gamma, last, &states, masses));
    Ok(())
}

proptest! {
    #[test]
    fn answers_are_the_nearest_of_all_moves(
        masses in masses(150),
        (last, first) in (0usize..150, 0usize..150),
        gamma in select(vec!["0", "1/100", "2"]),
    ) {
        compare(&SCATTERED, gamma, last, first, &masses)?;
    }

    #[test]
    fn of_equals_the_first_is_the_answer(
        masses in masses(100),
        (last, first) in (0usize..100, 0usize..100),
    ) {
        compare(&EQUAL_STREETS, "0", last, first, &masses)?;
    }
}
