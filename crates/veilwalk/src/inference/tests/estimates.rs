//! What is learned of a crowd, and how sure it is.

use super::*;

/// A crowd that does not follow the public chain.
fn crowd(model: &Model, contrast: f64, seed: u64) -> Chain {
    let chain = model.chain();
    let mut words = words(seed);
    let mut builder = ChainBuilder::new(Entries::Counts);
    let states: Vec<_> = chain.states().map(|s| builder.state(chain.label(s))).collect();
    for from in chain.states() {
        for (&to, p) in chain.successors(from).iter().zip(chain.probabilities(from)) {
            let u = (words.word() >> 11) as f64 * 2f64.powi(-53);
            let tilted = p * (contrast * (2.0 * u - 1.0)).exp();
            builder.transition(states[from.index()], states[to.index()], tilted).unwrap();
        }
    }
    builder.build(Default::default()).unwrap().0
}

fn releases(
    mechanism: &Arc<Mechanism>,
    crowd: &Chain,
    walks: usize,
    steps: usize,
    seed: u64,
) -> (Vec<Vec<StateId>>, Vec<Vec<Outcome>>) {
    let mut walker = Walker::new(mechanism);
    let mut stream = words(seed);
    (0..walks)
        .map(|_| {
            let real = own_walk(crowd, None, steps, &mut stream);
            let released = walker.release(Start::Private, &real, &mut stream);
            let observes = mechanism.observation().is_some();
            let drawn = match observes {
                true => released.observed.clone(),
                false => Outcome::all(&released.states),
            };
            (real, drawn)
        })
        .unzip()
}

fn drawn_states(drawn: &[Vec<Outcome>]) -> Vec<Vec<StateId>> {
    let states = |walk: &Vec<Outcome>| walk.iter().map(|drawn| drawn.state().unwrap()).collect();
    drawn.iter().map(states).collect()
}

/// The shares of moves in walks, in the order of the chain's.
fn counted(chain: &Chain, walks: &[Vec<StateId>]) -> Vec<f64> {
    let mut counts = vec![0.0; chain.len() * chain.len()];
    for pair in walks.iter().flat_map(|walk| walk.windows(2)) {
        counts[pair[0].index() * chain.len() + pair[1].index()] += 1.0;
    }
    let total: f64 = counts.iter().sum();
    counts.iter_mut().for_each(|count| *count /= total);
    counts
}

/// On credit, 4,000 walks: moves are at least ten times closer than counting what was observed.
#[test]
fn a_crowds_moves_are_learned_from_its_releases() {
    let model = credit();
    let chain = model.chain();
    let crowd = crowd(&model, 1.2, 7);
    for (radius, most, times) in [("3.45", 0.05, 10.0), ("1", 0.01, 10.0)] {
        let mechanism = Mechanism::new(model.clone(), Preset::Tight.design(), within("1", radius));
        let mechanism = Arc::new(mechanism.unwrap());
        let (real, drawn) = releases(&mechanism, &crowd, 4000, 40, 11);
        let inference = Inference::new(mechanism, Start::Private).unwrap();
        let sample = [Sample { inference: &inference, walks: &drawn }];
        let began = std::time::Instant::now();
        let found = estimate(&sample, EstimateSettings::default(), &unwatched).unwrap();
        let took = began.elapsed();
        assert!(found.converged());
        let mut moves = vec![0.0; chain.len() * chain.len()];
        let total: f64 = found.expected().moves().iter().sum();
        for ((from, to), count) in found.law().all_moves().zip(found.expected().moves()) {
            moves[from.index() * chain.len() + to.index()] = count / total;
        }
        let truth = counted(chain, &real);
        let off =
            |shares: &[f64]| -> f64 { shares.iter().zip(&truth).map(|(a, b)| (a - b).abs()).sum() };
        let (learned, counting) = (off(&moves), off(&counted(chain, &drawn_states(&drawn))));
        println!(
            "{radius}: learned {learned:.4}, counting {counting:.3}, rounds {}, {took:?}",
            found.rounds()
        );
        assert!(learned < most && learned * times < counting, "{learned} {counting}");
        // Trips add up to walks, and agree with the starts.
        let ends = trips(&sample, &Weights::one_each(&sample), found.law(), &unwatched).unwrap();
        assert!((ends.values().sum::<f64>() - 4000.0).abs() < 1e-6);
        for state in chain.states() {
            let from = ends.iter().filter(|((o, _), _)| *o == state).map(|(_, n)| n).sum::<f64>();
            assert!((from - found.expected().starts()[state.index()]).abs() < 1e-6);
        }
    }
}

/// Walks that are with two others give what they give here.
#[test]
fn counts_that_others_make_give_the_same_estimate() {
    let model = credit();
    let crowd = crowd(&model, 1.0, 3);
    let mechanism = Mechanism::new(model.clone(), Preset::Cell.design(), within("1", "2")).unwrap();
    let (_, drawn) = releases(&Arc::new(mechanism.clone()), &crowd, 128, 10, 5);
    let inference = Inference::new(Arc::new(mechanism), Start::Private).unwrap();
    let settings = EstimateSettings::default();
    let all = [Sample { inference: &inference, walks: &drawn }];
    let here = estimate(&all, settings, &unwatched).unwrap();
    let by_others = |law: &Law| -> Result<_, EstimateError> {
        let (first, second) = drawn.split_at(64);
        let mut sum: Vec<f64> = Vec::new();
        for walks in [first, second] {
            let part = [Sample { inference: &inference, walks }];
            let numbers =
                expected_counts(&part, &Weights::one_each(&part), law, &unwatched)?.to_numbers();
            sum.resize(numbers.len(), 0.0);
            sum.iter_mut().zip(&numbers).for_each(|(sum, number)| *sum += number);
        }
        assert!(Expected::from_numbers(&sum[1..], law).is_none());
        Ok(Expected::from_numbers(&sum, law).unwrap())
    };
    let there =
        estimate_by(inference.law(), inference.law(), settings, by_others, &unwatched).unwrap();
    assert_eq!(here.expected(), there.expected());
    assert_eq!((here.rounds(), here.law()), (there.rounds(), there.law()));
}

/// Each round gains, and a leap never loses.
#[test]
fn the_likelihood_never_falls() {
    let model = credit();
    let crowd = crowd(&model, 1.0, 3);
    let mechanism =
        Mechanism::new(model.clone(), Preset::Cell.design(), within("1", "3.45")).unwrap();
    let mechanism = Arc::new(mechanism);
    let (_, drawn) = releases(&mechanism, &crowd, 200, 20, 5);
    let inference = Inference::new(mechanism, Start::Private).unwrap();
    let sample = [Sample { inference: &inference, walks: &drawn }];
    let mut last = f64::NEG_INFINITY;
    for most_rounds in [1, 3, 5, 9, 20, 60] {
        let settings = EstimateSettings { most_rounds, strength: 0.0, gain: 0.0 };
        let found = estimate(&sample, settings, &unwatched).unwrap();
        let reached = found.expected().log_likelihood();
        assert!(reached >= last - 1e-9, "{reached} after {last}");
        last = reached;
    }
}

/// How often intervals cover what they are about, over many crowds' releases. `repetitions` of them.
fn coverage(model: &Arc<Model>, repetitions: u64, walks: usize, steps: usize) -> (f64, f64) {
    let chain = model.chain();
    let crowd = crowd(model, 1.0, 13);
    // What the crowd does on average, from its own law.
    let law = Law::of_other(&crowd, chain).unwrap();
    let (mut here, mut visits, mut moves) =
        (law.initial().to_vec(), vec![0.0; chain.len()], vec![0.0; chain.transitions()]);
    for t in 0..=steps {
        for state in chain.states() {
            visits[state.index()] += here[state.index()] / (steps + 1) as f64;
            if t < steps {
                for place in law.row(state) {
                    moves[place] +=
                        here[state.index()] * law.all_probabilities()[place] / steps as f64;
                }
            }
        }
        here = law.moved(&here);
    }
    let mechanism =
        Mechanism::new(model.clone(), Preset::Tight.design(), within("1", "1.5")).unwrap();
    let mechanism = Arc::new(mechanism);
    let (mut inside, mut of) = ([0.0; 2], [0.0; 2]);
    for repetition in 0..repetitions {
        let (_, drawn) = releases(&mechanism, &crowd, walks, steps, 1000 + repetition);
        let inference = Inference::new(mechanism.clone(), Start::Private).unwrap();
        let sample = [Sample { inference: &inference, walks: &drawn }];
        let settings = EstimateSettings::default();
        let found = estimate(&sample, settings, &unwatched).unwrap();
        let how = IntervalSettings { replicates: 40, trips: WithTrips::No, ..Default::default() };
        let made = intervals(&sample, &found, &Trips::new(), settings, how, &unwatched).unwrap();
        for (k, (truth, made)) in
            [(&visits, &made.visits), (&moves, &made.moves)].iter().enumerate()
        {
            for (share, interval) in truth.iter().zip(made.iter()) {
                of[k] += 1.0;
                inside[k] += f64::from(u8::from(interval.low <= *share && *share <= interval.high));
            }
        }
        if (repetition + 1).is_multiple_of(20) {
            let so_far = (inside[0] / of[0], inside[1] / of[1], found.rounds());
            println!("{} repetitions: {so_far:.4?}", repetition + 1);
        }
    }
    (inside[0] / of[0], inside[1] / of[1])
}

#[test]
fn intervals_cover_about_as_often_as_they_say() {
    let (visits, moves) = coverage(&credit(), 12, 300, 15);
    println!("visits {visits:.3}, moves {moves:.3}");
    assert!(
        (0.88..=0.995).contains(&visits) && (0.88..=0.995).contains(&moves),
        "{visits} {moves}"
    );
}

fn cover_as_often_as_they_say(model: &Arc<Model>) {
    let (visits, moves) = coverage(model, 200, 300, 15);
    println!("visits {visits:.3}, moves {moves:.3}");
    let good = 0.93..=0.97;
    assert!(good.contains(&visits) && good.contains(&moves), "{visits} {moves}");
}

#[test]
#[ignore = "takes minutes; prints a figure of the documentation"]
fn intervals_cover_as_often_as_they_say_on_credit() {
    cover_as_often_as_they_say(&credit());
}

#[test]
#[ignore = "takes minutes; prints a figure of the documentation"]
fn intervals_cover_as_often_as_they_say_on_20_states() {
    cover_as_often_as_they_say(&Arc::new(Model::new(scattered(20, 5)).unwrap()));
}

/// A prior that leads, or starts, nowhere else than out of the chain is refused.
#[test]
fn priors_that_lead_away_are_refused() {
    let made = |moves: &[(&str, &str)]| {
        let mut builder = ChainBuilder::new(Entries::Counts);
        for (from, to) in moves {
            let (from, to) = (builder.state(from), builder.state(to));
            builder.transition(from, to, 1.0).unwrap();
        }
        builder.build(Default::default()).unwrap().0
    };
    let chain = made(&[("A", "B"), ("B", "A"), ("A", "A")]);
    let away = made(&[("A", "X"), ("B", "A"), ("X", "A"), ("X", "B")]);
    let refused = Law::of_other(&away, &chain).unwrap_err();
    assert_eq!(refused, OtherStates::LeadsAway { label: "A".to_owned() });
    let partly = made(&[("A", "X"), ("A", "B"), ("B", "A"), ("X", "A")]);
    let law = Law::of_other(&partly, &chain).unwrap();
    assert_eq!(law.all_probabilities(), [1.0, 1.0]);
    let x = partly.require("X").unwrap();
    let states = partly.len();
    let elsewhere = partly.with_initial(crate::chain::Initial::at(x, states));
    assert_eq!(Law::of_other(&elsewhere, &chain).unwrap_err(), OtherStates::StartsElsewhere);
    let lacking = made(&[("A", "A")]);
    assert_eq!(
        Law::of_other(&lacking, &chain).unwrap_err(),
        OtherStates::Lacks { label: "B".to_owned() }
    );
}
