//! What pruning does to beliefs, and that no more than the documented bound comes of it.

use super::*;

/// The law of the last state, and the probability that the path left the kept states at some step, by
/// all paths.
fn exact(chain: &Chain, logs: &[Vec<f64>], kept: &[Vec<StateId>]) -> (Vec<f64>, f64, f64) {
    // For paths that stayed, and those that left: the weight by last state.
    let mut laws = [vec![0.0; chain.len()], vec![0.0; chain.len()]];
    for (t, logs) in logs.iter().enumerate() {
        let moved = laws.map(|law| -> Vec<f64> {
            let arrive = |x: StateId| -> f64 {
                chain.states().map(|z| law[z.index()] * chain.probability(z, x)).sum()
            };
            chain.states().map(arrive).collect()
        });
        laws = [vec![0.0; chain.len()], vec![0.0; chain.len()]];
        for x in chain.states() {
            let i = x.index();
            let fresh = if t == 0 { chain.initial().probability(x) } else { 0.0 };
            let stays = usize::from(!kept[t].contains(&x));
            laws[stays][i] += (moved[0][i] + fresh) * logs[i].exp();
            laws[1][i] += moved[1][i] * logs[i].exp();
        }
    }
    let total: f64 = laws.iter().flatten().sum();
    let left: f64 = laws[1].iter().sum();
    let law = (0..chain.len()).map(|i| (laws[0][i] + laws[1][i]) / total).collect();
    (law, left / total, total)
}

fn apart(belief: &Belief, law: &[f64]) -> f64 {
    let mut difference = law.to_vec();
    let masses = belief.states().iter().zip(belief.masses());
    masses.for_each(|(state, mass)| difference[state.index()] -= mass);
    difference.iter().map(|d| d.abs()).sum::<f64>() / 2.0
}

proptest! {
    #[test]
    fn beliefs_are_off_by_the_chance_of_having_left(
        model in chains(6, Contrast::Moderate),
        logs in vec(vec(-8.0f64..0.0, 6), 1..=6),
        threshold in prop_oneof![Just(1e-3), Just(0.05), Just(0.5)],
    ) {
        let mut run = Run::new(&model, Tracking::default(), threshold);
        let mut kept = Vec::new();
        for t in 0..logs.len() {
            let before = run.track.dropped();
            run.observe(&logs[t]);
            kept.push(run.track.belief.states().to_vec());
            let (law, left, _) = exact(model.chain(), &logs[..=t], &kept);
            let off = apart(&run.track.belief, &law);
            prop_assert!(off <= left + 1e-12, "{off} {left}");
            if t == 0 {
                let dropped = run.track.dropped() - before;
                prop_assert!((off - dropped).abs() < 1e-12, "one step: {off} {dropped}");
            }
        }
    }

    /// Over all sequences of observations, each with its probability, beliefs are off by no more than
    /// what was dropped.
    #[test]
    fn in_the_mean_beliefs_are_off_by_what_was_dropped(
        model in chains(5, Contrast::Moderate),
        kernel in vec(vec(0.01f64..1.0, 3), 5),
        threshold in prop_oneof![Just(0.01), Just(0.1), Just(0.5)],
    ) {
        let chain = model.chain();
        let logs: Vec<Vec<f64>> = (0..3)
            .map(|y| kernel.iter().map(|row| (row[y] / row.iter().sum::<f64>()).ln()).collect())
            .collect();
        let (mut off, mut left, mut dropped, mut whole) = (0.0, 0.0, 0.0, 0.0);
        for sequence in 0..3usize.pow(4) {
            let seen: Vec<_> =
                (0..4).map(|t| logs[sequence / 3usize.pow(t) % 3].clone()).collect();
            let mut run = Run::new(&model, Tracking::default(), threshold);
            let mut kept = Vec::new();
            for logs in &seen {
                run.observe(logs);
                kept.push(run.track.belief.states().to_vec());
            }
            let (law, has_left, probability) = exact(chain, &seen, &kept);
            off += probability * apart(&run.track.belief, &law);
            left += probability * has_left;
            dropped += probability * run.track.dropped();
            whole += probability;
        }
        prop_assert!((whole - 1.0).abs() < 1e-9);
        prop_assert!(off <= left + 1e-12 && left <= dropped + 1e-12, "{off} {left} {dropped}");
    }
}

/// On the credit chain and a small grid the usual pruning changes beliefs by less than a thousandth,
/// and no answer.
#[test]
fn the_usual_pruning_changes_no_answer() {
    let grid = Chain::grid(crate::chain::Grid {
        width: 15.try_into().unwrap(),
        height: 15.try_into().unwrap(),
        seed: 1,
    });
    for model in [credit(), model_starting(grid.unwrap(), &[1.0; 225])] {
        let chain = model.chain();
        let thresholds = [0.0, Tracker::PRUNED_BELOW];
        let mut runs = thresholds.map(|threshold| Run::new(&model, with_lag(2), threshold));
        let mut next = numbers(4);
        let mut real = StateId::new(4);
        for _ in 0..100 {
            let near = |x: StateId| -0.5 * model.symmetric_between(x, real).as_f64();
            let logs: Vec<f64> = chain.states().map(|x| near(x) - next()).collect();
            runs.iter_mut().for_each(|run| drop(run.observe(&logs)));
            let mut law = vec![0.0; chain.len()];
            let exact = &runs[0].track.belief;
            let masses = exact.states().iter().zip(exact.masses());
            masses.for_each(|(state, mass)| law[state.index()] = *mass);
            assert!(apart(&runs[1].track.belief, &law) < 1e-3);
            let (moves, odds) = (chain.successors(real), chain.probabilities(real));
            let mut left = next();
            let place = odds.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            real = moves[place.unwrap_or(0)];
        }
        assert_eq!(runs[0].released, runs[1].released);
        assert!(runs[1].track.dropped() < 1e-2);
    }
}

#[test]
fn the_heaviest_states_are_kept_and_the_rest_is_counted() {
    let mut space = BeliefSpace::default();
    let mut belief = Belief::initial(credit().chain());
    let logs = [0.0, -1.0, -2.0, -1.0, 0.0, -3.0, -1.0, -4.0, -5.0];
    belief.update(&logs, 0.0, &mut space);
    let whole = belief.clone();
    assert_eq!(belief.keep_heaviest(9, &mut space), 0.0);
    assert_eq!(belief, whole);
    let dropped = belief.keep_heaviest(4, &mut space);
    // Of the three that are equal, the first two.
    let kept = [0, 1, 3, 4].map(StateId::new);
    assert_eq!(belief.states(), kept);
    let mass = |state: StateId| whole.masses()[state.index()];
    let left: f64 = kept.iter().map(|&state| mass(state)).sum();
    assert!((dropped - (1.0 - left)).abs() < 1e-12);
    for (&state, &now) in kept.iter().zip(belief.masses()) {
        assert!((now - mass(state) / left).abs() < 1e-12);
    }
    assert_eq!(space.factors.len(), 4);
}
