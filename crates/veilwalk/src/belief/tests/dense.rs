//! Against whole vectors and matrices, on chains of hundreds of states.

use super::*;
use crate::chain::Grid;

fn grid(side: u32) -> Arc<Model> {
    let side = side.try_into().unwrap();
    let chain = Chain::grid(Grid { width: side, height: side, seed: 5 }).unwrap();
    let states = chain.len();
    model_starting(chain, &vec![1.0; states])
}

/// One step of the filter over all states, pruned.
fn dense_step(model: &Model, belief: &[f64], logs: &[f64], threshold: f64) -> Vec<f64> {
    let chain = model.chain();
    let arrives = |x: StateId| -> f64 {
        chain.states().map(|z| belief[z.index()] * chain.probability(z, x)).sum()
    };
    weigh(chain.states().map(arrives).collect(), logs, threshold)
}

fn weigh(mut belief: Vec<f64>, logs: &[f64], threshold: f64) -> Vec<f64> {
    belief.iter_mut().zip(logs).for_each(|(b, log)| *b *= log.exp());
    let largest = belief.iter().copied().fold(0.0, f64::max);
    belief.iter_mut().filter(|b| **b < threshold * largest).for_each(|b| *b = 0.0);
    let sum: f64 = belief.iter().sum();
    belief.iter().map(|b| b / sum).collect()
}

fn compare(run: &Run, dense: &[f64]) {
    let belief = &run.track.belief;
    let kept: Vec<_> = (0..dense.len()).filter(|&i| dense[i] > 0.0).map(StateId::new).collect();
    assert_eq!(belief.states(), kept);
    for (state, mass) in belief.states().iter().zip(belief.masses()) {
        let real = dense[state.index()];
        assert!((mass - real).abs() <= 1e-11 * real, "{state:?} {mass} {real}");
    }
}

/// Observations near a walk that goes on and on to the likeliest state but one.
fn follow(model: &Arc<Model>, threshold: f64, steps: usize) {
    let chain = model.chain();
    let mut run = Run::new(model, Tracking::default(), threshold);
    let mut next = numbers(9);
    let mut real = StateId::new(chain.len() / 2);
    let mut dense: Vec<f64> = chain.states().map(|x| chain.initial().probability(x)).collect();
    for step in 0..steps {
        let near = |x: StateId| -0.7 * model.symmetric_between(x, real).as_f64();
        let logs: Vec<f64> = chain.states().map(|x| near(x) - 3.0 * next()).collect();
        run.observe(&logs);
        dense = match step {
            0 => weigh(dense, &logs, threshold),
            _ => dense_step(model, &dense, &logs, threshold),
        };
        compare(&run, &dense);
        let moves = chain.successors(real);
        real = moves[(next() * moves.len() as f64) as usize];
    }
    let moves = run.released.windows(2).all(|pair| chain.allows(pair[0], pair[1]));
    assert!(moves && run.released.len() == steps);
}

#[test]
fn sparse_beliefs_are_those_of_whole_vectors() {
    for threshold in [0.0, Tracker::PRUNED_BELOW, 1e-2] {
        follow(&credit(), threshold, 60);
        follow(&grid(17), threshold, 30);
    }
}

/// Searched distances and those of a table are the same, from either side: so are the answers.
#[test]
fn answers_do_not_depend_on_where_distances_come_from() {
    let table = grid(12);
    let searched = Arc::new(Model::on_demand(table.chain().clone(), Default::default()));
    for lag in [0, 3] {
        let mut runs = [&table, &searched].map(|model| Run::new(model, with_lag(lag), 1e-4));
        let mut next = numbers(3);
        for _ in 0..20 {
            let logs: Vec<f64> = (0..144).map(|_| -8.0 * next()).collect();
            runs.iter_mut().for_each(|run| drop(run.observe(&logs)));
        }
        runs.iter_mut().for_each(Run::finish);
        assert_eq!(runs[0].released, runs[1].released);
    }
}

/// With more states to start from than are compared, the answer is one of those believed possible.
#[test]
fn a_start_among_very_many_states() {
    let model = {
        let (width, height) = (70.try_into().unwrap(), 60.try_into().unwrap());
        let chain = Chain::grid(Grid { width, height, seed: 1 }).unwrap();
        let initial = Initial::uniform(chain.len());
        Arc::new(Model::on_demand(chain.with_initial(initial), Default::default()))
    };
    let mut run = Run::new(&model, Tracking::default(), Tracker::PRUNED_BELOW);
    let mut logs = vec![f64::NEG_INFINITY; 4200];
    // The crossing in the middle of these four would be nearest to them.
    let around = [2030, 2099, 2101, 2170];
    around.iter().for_each(|&place| logs[place] = 0.0);
    run.observe(&logs);
    assert!(around.contains(&run.released[0].index()), "{:?}", run.released);
}

/// The shortlist leaves out nothing that could be the answer: on a chain with many moves, beliefs from
/// sharp to flat, and both aims of typicality.
#[test]
fn answers_are_those_of_all_candidates() {
    let model = scattered_by(|share| 10f64.powf(4.0 * share));
    let chain = model.chain();
    let mut next = numbers(8);
    let mut shortened = 0;
    for gamma in ["0", "1/100", "2"] {
        for sharpness in [0.2, 0.7, 2.0] {
            let tracking = Tracking { gamma: gamma.parse().unwrap(), ..Tracking::default() };
            let mut run = Run::new(&model, tracking, 1e-9);
            for step in 0..60 {
                let real = StateId::new((next() * 150.0) as usize);
                let near = |x: StateId| -sharpness * model.symmetric_between(x, real).as_f64();
                let logs: Vec<f64> = chain.states().map(near).collect();
                let last = run.released.last().copied();
                run.observe(&logs);
                let belief = &run.track.belief;
                let Some(last) = last else { continue };
                let weights = chain.successors(last).iter().zip(chain.weights(last));
                let cost = |(&w, weight): (&StateId, &crate::nats::Nats)| -> f64 {
                    let pairs = belief.states().iter().zip(belief.masses());
                    let away =
                        |(&x, b): (&StateId, &f64)| b * model.symmetric_between(w, x).as_f64();
                    let gamma = tracking.gamma.as_f64();
                    pairs.map(away).sum::<f64>() + gamma * weight.as_f64()
                };
                let costs: Vec<f64> = weights.map(cost).collect();
                let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
                let place = chain.successors(last).binary_search(&run.released[step]).unwrap();
                assert!(costs[place] <= least + 1e-9, "{} above {least}", costs[place]);
                shortened += usize::from(run.space.answered_from() < costs.len());
            }
        }
    }
    assert!(shortened > 100, "the shortlist was used {shortened} times");
}
