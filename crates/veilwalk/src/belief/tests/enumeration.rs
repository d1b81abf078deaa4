//! Against every path there is: filter, posteriors with a lag, and the answers to them.

use super::*;
use crate::ahead::Ahead;
use crate::belief::window::{posterior_of_first, smooth};
use crate::watch::unwatched;

/// All paths of this many states with their weights: their probability times all likelihoods.
fn paths(chain: &Chain, logs: &[Vec<f64>]) -> Vec<(Vec<usize>, f64)> {
    let mut paths = vec![(Vec::new(), 1.0)];
    for logs in logs {
        let longer = paths.iter().flat_map(|(path, weight): &(Vec<usize>, f64)| {
            chain.states().map(move |x| {
                let moved = match path.last() {
                    Some(&last) => chain.probability(StateId::new(last), x),
                    None => chain.initial().probability(x),
                };
                let path = path.iter().copied().chain([x.index()]).collect();
                (path, weight * moved * logs[x.index()].exp())
            })
        });
        paths = longer.filter(|(_, weight)| *weight > 0.0).collect();
    }
    paths
}

/// The observations as far as they can be explained: one that contradicts all before it says nothing.
fn explained(chain: &Chain, logs: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut taken: Vec<Vec<f64>> = Vec::new();
    for logs in logs {
        taken.push(logs.clone());
        if paths(chain, &taken).is_empty() {
            taken.pop();
            taken.push(vec![0.0; chain.len()]);
        }
    }
    taken
}

/// The law of each state of the path, given all of these observations.
fn posteriors(chain: &Chain, logs: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let paths = paths(chain, logs);
    let total: f64 = paths.iter().map(|(_, weight)| weight).sum();
    let mut laws = vec![vec![0.0; chain.len()]; logs.len()];
    for (path, weight) in &paths {
        path.iter().zip(&mut laws).for_each(|(&x, law)| law[x] += weight / total);
    }
    laws
}

fn assert_same(states: &[StateId], masses: &[f64], law: &[f64]) -> Result<(), TestCaseError> {
    let mut dense = vec![0.0; law.len()];
    states.iter().zip(masses).for_each(|(state, mass)| dense[state.index()] = *mass);
    for (found, real) in dense.iter().zip(law) {
        prop_assert!((found - real).abs() <= 1e-12 * real, "{dense:?} {law:?}");
    }
    Ok(())
}

fn value(table: &Ahead, candidate: StateId, x: StateId) -> f64 {
    f64::from(table.of(candidate)[x.index()]) / table.one()
}

/// `Σ_x b(x)·cost(w, x) + γ·weight` as it is written.
fn cost(tracker: &Tracker, last: Option<StateId>, candidate: StateId, law: &[f64]) -> f64 {
    let model = tracker.model();
    let tracking = tracker.tracking();
    let far = |x: StateId| match tracking.aim {
        TrackAim::Distance => model.symmetric_between(candidate, x).as_f64(),
        TrackAim::States => f64::from(u8::from(x != candidate)),
        // The table has tests of its own.
        TrackAim::StatesAhead => value(model.states_ahead(&unwatched).unwrap(), candidate, x),
        TrackAim::DistanceAhead => value(model.distance_ahead(&unwatched).unwrap(), candidate, x),
    };
    let expected: f64 = model.chain().states().zip(law).map(|(x, b)| b * far(x)).sum();
    let own = last.map_or(0.0, |last| {
        let place = model.chain().successors(last).iter().position(|&y| y == candidate).unwrap();
        tracking.gamma.as_f64() * model.chain().weights(last)[place].as_f64()
    });
    expected + own
}

proptest! {
    #[test]
    fn beliefs_and_posteriors_are_those_of_all_paths(
        model in chains(5, Contrast::Moderate), logs in sensible(5)
    ) {
        let chain = model.chain();
        let logs = explained(chain, &logs);
        // A lag that never fills keeps every step.
        let mut run = Run::new(&model, with_lag(100), 0.0);
        for t in 0..logs.len() {
            run.observe(&logs[t]);
            let laws = posteriors(chain, &logs[..=t]);
            assert_same(run.track.belief.states(), run.track.belief.masses(), &laws[t])?;
            let mut window = run.track.window.clone();
            for law in &laws {
                let posterior = posterior_of_first(chain, window.make_contiguous(), &mut run.space);
                let posterior = posterior.to_vec();
                let first = window.pop_front().unwrap();
                assert_same(first.belief.states(), &posterior, law)?;
            }
            let mut window = run.track.window.clone();
            smooth(chain, window.make_contiguous(), &mut run.space, |_, _, _| ());
            for (seen, law) in window.iter().zip(&laws) {
                assert_same(seen.belief.states(), seen.belief.masses(), law)?;
            }
        }
        prop_assert_eq!(run.track.dropped(), 0.0);
    }

    /// Observations that contradict everything before them are counted, and say nothing.
    #[test]
    fn surprises_are_counted(model in chains(5, Contrast::Moderate), logs in sensible(5)) {
        let taken = explained(model.chain(), &logs);
        let mut run = Run::new(&model, with_lag(0), 0.0);
        for t in 0..logs.len() {
            run.observe(&logs[t]);
            let law = posteriors(model.chain(), &taken[..=t]).pop().unwrap();
            assert_same(run.track.belief.states(), run.track.belief.masses(), &law)?;
        }
        let replaced = logs.iter().zip(&taken).filter(|(given, taken)| given != taken).count();
        // An observation that is as likely everywhere is no surprise, and replaced by itself.
        prop_assert_eq!(run.track.surprises(), replaced as u64);
    }

    /// Each answer has the least cost by the posterior with what was observed up to the lag after it.
    #[test]
    fn answers_are_the_cheapest(
        model in chains(5, Contrast::Moderate),
        logs in sensible(5),
        lag in 0u32..8,
        aim in select(TrackAim::NAMES).prop_map(|(_, aim)| aim),
        gamma in prop_oneof![Just("0"), Just("0.01"), Just("1"), Just("1000")],
    ) {
        let chain = model.chain();
        let logs = explained(chain, &logs);
        let tracking = Tracking { aim, gamma: gamma.parse().unwrap(), lag };
        let mut run = Run::new(&model, tracking, 0.0);
        for (t, logs) in logs.iter().enumerate() {
            run.observe(logs);
            let answered = (t + 1).saturating_sub(lag as usize);
            prop_assert_eq!((run.released.len(), run.track.waiting()), (answered, t + 1 - answered));
        }
        run.finish();
        prop_assert_eq!((run.released.len(), run.track.waiting()), (logs.len(), 0));
        prop_assert_eq!(run.track.last(), run.released.last().copied());
        let mut last = None;
        for (s, &released) in run.released.iter().enumerate() {
            let known = logs.len().min(s + lag as usize + 1);
            let law = &posteriors(chain, &logs[..known])[s];
            let candidates: Vec<_> = match last {
                Some(last) => chain.successors(last).to_vec(),
                None => chain.states().filter(|&x| chain.initial().probability(x) > 0.0).collect(),
            };
            prop_assert!(candidates.contains(&released));
            let cost = |candidate| cost(&run.tracker, last, candidate, law);
            let chosen = cost(released);
            for candidate in candidates {
                let other = cost(candidate);
                prop_assert!(chosen <= other + 1e-9, "{released:?} {chosen} {candidate:?} {other}");
            }
            last = Some(released);
        }
    }
}
