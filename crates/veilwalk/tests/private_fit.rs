//! Chains that may be published: their law, what is lost with a release on top, and how near they come.

mod common;

use std::num::NonZeroU32;
use std::sync::Arc;

use common::{chance_of, scattered_chain};
use veilwalk::chain::{
    ChainBuilder, Entries, FitTerms, Fitted, Initial, PrivateFit, TransitionCounts,
};
use veilwalk::internal::fit::chain_of;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Rational, Source, StateId};

/// Three states in a ring, with two ways out of the first two.
fn ring() -> Chain {
    let mut builder = ChainBuilder::new(Entries::Counts);
    let [a, b, c] = ["a", "b", "c"].map(|label| builder.state(label));
    for (from, to) in [(a, a), (a, b), (b, a), (b, c), (c, a)] {
        builder.transition(from, to, 1.0).unwrap();
    }
    builder.build(Default::default()).unwrap().0
}

fn terms(epsilon: &str, moves: u32, starts: Option<&str>) -> FitTerms {
    let moves = NonZeroU32::new(moves).unwrap();
    let terms = FitTerms::new(epsilon.parse().unwrap(), moves).unwrap();
    match starts {
        Some(share) => terms.with_starts(share.parse().unwrap()).unwrap(),
        None => terms,
    }
}

fn fit(graph: &Chain, terms: FitTerms, walks: &[(&str, Vec<&str>)], seed: u64) -> Fitted {
    let mut fit = PrivateFit::new(graph, terms, &Source::seeded(seed)).unwrap();
    for (number, (person, walk)) in walks.iter().enumerate() {
        for state in walk {
            fit.add(person, &number.to_string(), state).unwrap();
        }
    }
    fit.collected().release().unwrap()
}

/// The probability that a count with noise is `k`, or at most zero, or at least the last class.
fn classes(count: i64, rate: f64, classes: i64) -> Vec<f64> {
    let q = (-rate).exp();
    let point = |k: i64| (1.0 - q) / (1.0 + q) * q.powi(k.unsigned_abs() as i32);
    // P(noise ≤ k) for k < 0 and P(noise ≥ k) for k > 0 are geometric sums.
    let tail = |k: i64| q.powi(k as i32) / (1.0 + q);
    let at_most = |k: i64| if k < 0 { tail(-k) } else { 1.0 - tail(k + 1) };
    let mut law = vec![at_most(-count)];
    law.extend((1..classes - 1).map(|k| point(k - count)));
    law.push(1.0 - at_most(classes - 2 - count));
    law
}

/// All ways to count at most `most` of these moves, each as likely as any other.
fn drawn(moves: &[usize], most: usize, places: usize) -> Vec<(f64, Vec<i64>)> {
    let size = most.min(moves.len());
    let subsets = (0u32..1 << moves.len()).filter(|set| set.count_ones() as usize == size);
    let counted = subsets.map(|set| {
        let mut counts = vec![0; places];
        let chosen = (0..moves.len()).filter(|i| set >> i & 1 == 1);
        chosen.for_each(|i| counts[moves[i]] += 1);
        counts
    });
    let counted: Vec<_> = counted.collect();
    let share = 1.0 / counted.len() as f64;
    counted.into_iter().map(|counts| (share, counts)).collect()
}

fn places(graph: &Chain, walk: &[usize]) -> Vec<usize> {
    let place = |from: usize, to: usize| {
        let from = StateId::new(from);
        let within = graph.successors(from).binary_search(&StateId::new(to)).ok()?;
        Some(graph.row(from).start + within)
    };
    walk.windows(2).filter_map(|pair| place(pair[0], pair[1])).collect()
}

/// Every combination of one class for each place.
fn combinations(classes: usize, places: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..classes.pow(places as u32)).map(move |number| {
        (0..places as u32).map(|place| number / classes.pow(place) % classes).collect()
    })
}

const COUNT_CLASSES: usize = 3;
const START_CLASSES: usize = 2;

/// The exact law of the clipped noisy counts of the ring, moves and first states, for two persons.
fn law_of_counts(graph: &Chain, terms: FitTerms, walks: [&[usize]; 2]) -> Vec<f64> {
    let most = terms.max_moves().get() as usize;
    let (moves_rate, starts_rate) = (terms.moves_rate().as_f64(), terms.starts_rate().as_f64());
    let [first, second] = walks.map(|walk| drawn(&places(graph, walk), most, graph.transitions()));
    let starts: Vec<i64> = (0..graph.len())
        .map(|state| walks.iter().filter(|walk| walk[0] == state).count() as i64)
        .collect();
    let starts: Vec<_> =
        starts.iter().map(|&count| classes(count, starts_rate, START_CLASSES as i64)).collect();
    let mut law = Vec::new();
    for outcome in combinations(COUNT_CLASSES, graph.transitions()) {
        let mut probability = 0.0;
        for (p, one) in &first {
            for (r, two) in &second {
                let each = outcome.iter().enumerate().map(|(place, &class)| {
                    classes(one[place] + two[place], moves_rate, COUNT_CLASSES as i64)[class]
                });
                probability += p * r * each.product::<f64>();
            }
        }
        for outcome in combinations(START_CLASSES, graph.len()) {
            let each = outcome.iter().zip(&starts).map(|(&class, law)| law[class]);
            law.push(probability * each.product::<f64>());
        }
    }
    law
}

/// The chain that each outcome stands for, in the same order.
fn chains(graph: &Chain) -> Vec<Chain> {
    let mut chains = Vec::new();
    for outcome in combinations(COUNT_CLASSES, graph.transitions()) {
        let noisy: Vec<i64> = outcome.iter().map(|&class| class as i64).collect();
        let chain = chain_of(graph, &noisy, 0.5).unwrap().chain;
        for starts in combinations(START_CLASSES, graph.len()) {
            let weights: Vec<f64> = starts.iter().map(|&class| class as f64 + 0.5).collect();
            let sum: f64 = weights.iter().sum();
            let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
            let initial = Initial::from_probabilities(&chain, &shares).unwrap();
            chains.push(chain.clone().with_initial(initial));
        }
    }
    chains
}

/// A chain is fitted with noise, and then a walk of one of its persons is released on it. Both together
/// lose no more than the sum of what each promises, over all outcomes and all pairs of walks.
#[test]
fn a_fit_and_a_release_on_it_lose_at_most_the_sum() {
    let (graph, epsilon_release) = (ring(), 1.0);
    let fit_terms = terms("1", 1, Some("0.3"));
    let looser = terms("1", 3, Some("0.3"));
    let promise = Promise::for_substitutions("1".parse().unwrap(), 1.try_into().unwrap());
    let mechanisms: Vec<Mechanism> = chains(&graph)
        .into_iter()
        .map(|chain| {
            let model = Arc::new(Model::new(chain).unwrap());
            Mechanism::new(model, Preset::Chen.design(), promise).unwrap()
        })
        .collect();
    let walks: Vec<Vec<usize>> = combinations(3, 3).collect();
    let other = vec![0, 1, 2];
    // The law of a released walk of three states under every chain.
    let released = |walk: &[usize]| -> Vec<Vec<f64>> {
        let reals: Vec<StateId> = walk.iter().map(|&state| StateId::new(state)).collect();
        mechanisms
            .iter()
            .map(|mechanism| {
                let mut law = vec![0.0; 27];
                for (walk, log) in mechanism.log_law_from_start(&reals) {
                    let number = walk.iter().fold(0, |number, state| 3 * number + state.index());
                    law[number] += log.exp();
                }
                law
            })
            .collect()
    };
    let released: Vec<_> = walks.iter().map(|walk| released(walk)).collect();
    let mut reached = 0.0f64;
    for terms in [fit_terms, looser] {
        let fitted: Vec<_> =
            walks.iter().map(|walk| law_of_counts(&graph, terms, [walk, &other])).collect();
        for law in &fitted {
            assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        let (one_state, person) =
            (terms.one_state().unwrap().as_f64(), terms.replaced_person().unwrap().as_f64());
        for (i, one) in walks.iter().enumerate() {
            for (j, two) in walks.iter().enumerate() {
                let replaced = one.iter().zip(two).filter(|(x, y)| x != y).count();
                let (mut alone, mut both) = (0.0f64, 0.0f64);
                for outcome in 0..mechanisms.len() {
                    let fit = (fitted[i][outcome] / fitted[j][outcome]).ln();
                    alone = alone.max(fit);
                    for (p, q) in released[i][outcome].iter().zip(&released[j][outcome]) {
                        if *p > 0.0 {
                            both = both.max(fit + (p / q).ln());
                        }
                    }
                }
                let bound = match replaced {
                    0 => 0.0,
                    1 => one_state,
                    _ => person,
                };
                assert!(alone <= bound + 1e-9, "{one:?} and {two:?}: {alone} above {bound}");
                let bound = bound + epsilon_release * replaced as f64;
                assert!(both <= bound + 1e-9, "{one:?} and {two:?}: {both} above {bound}");
                reached = reached.max(both / bound.max(1e-9));
            }
        }
    }
    assert!(reached > 0.6, "the bound is not idle: {reached}");
}

/// Without one of the persons the odds change by at most the factor that is promised.
#[test]
fn a_person_more_or_less_changes_little() {
    let graph = ring();
    for (terms, tight) in [(terms("1", 1, Some("0.3")), 0.99), (terms("1/2", 2, Some("0.1")), 0.9)]
    {
        let epsilon = terms.epsilon().as_f64();
        let mut largest = 0.0f64;
        for walk in combinations(3, 4) {
            let with = law_of_counts(&graph, terms, [&walk, &[0, 1, 2]]);
            // Whoever is not there has no move and no first state: a state beyond the graph.
            let without = law_of_counts(&graph, terms, [&[9], &[0, 1, 2]]);
            for (p, q) in with.iter().zip(&without) {
                largest = largest.max((p / q).ln().abs());
            }
        }
        assert!(largest <= epsilon + 1e-9, "{largest} above {epsilon}");
        assert!(largest >= tight * epsilon, "the bound is reached: {largest} of {epsilon}");
    }
}

/// Counts from zero up with the same sum, the slow way: what is taken off each is found by halving.
fn nearest_counts(noisy: &[i64]) -> Vec<f64> {
    let sum = noisy.iter().sum::<i64>().max(0) as f64;
    let after = |off: f64| noisy.iter().map(|&count| (count as f64 - off).max(0.0)).collect();
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        let left: Vec<f64> = after(middle);
        if left.iter().sum::<f64>() > sum { low = middle } else { high = middle }
    }
    // Whole counts come out as thirds at most, so this much is noise of the search.
    after(high).into_iter().map(|count: f64| (count * 6.0).round() / 6.0).collect()
}

/// What the program draws has the law that the tests above compute with.
#[test]
fn fits_have_the_exact_law() {
    let (graph, terms) = (ring(), terms("3", 1, Some("0.5")));
    let walks = [("ann", vec!["a", "b", "c", "a"]), ("bob", vec!["b", "c", "a", "a"])];
    let law = law_of_counts(&graph, terms, [&[0, 1, 2, 0], &[1, 2, 0, 0]]);
    // The only move out of c tells its noisy count, if that is positive.
    let mut expected = [0.0; COUNT_CLASSES];
    for (number, outcome) in combinations(COUNT_CLASSES, graph.transitions()).enumerate() {
        let starts = START_CLASSES.pow(graph.len() as u32);
        expected[outcome[4]] += law[number * starts..][..starts].iter().sum::<f64>();
    }
    let (mut seen, rounds) = ([0u64; COUNT_CLASSES], 100_000);
    let mut least_in_c = 0;
    for seed in 0..rounds {
        let fitted = fit(&graph, terms, &walks, seed);
        let count = (fitted.counts[4] - 1.0) as usize;
        seen[count.min(COUNT_CLASSES - 1)] += 1;
        let p =
            |label: &str| fitted.chain.initial().probability(fitted.chain.state(label).unwrap());
        least_in_c += u64::from(p("c") <= p("a") && p("c") <= p("b"));
    }
    for (seen, p) in seen.into_iter().zip(expected) {
        assert!(chance_of(seen, rounds, p) > 1e-9, "{seen} of {rounds} at {p}");
    }
    // One first state each in a and b, none in c.
    let (mut expected, q) = (0.0, (-terms.starts_rate().as_f64()).exp());
    let point = |k: i64| (1.0 - q) / (1.0 + q) * q.powi(k.unsigned_abs() as i32);
    for noise in combinations(41, 3) {
        let [a, b, c] = [0, 1, 2].map(|place| noise[place] as i64 - 20);
        let probability = point(a) * point(b) * point(c);
        let shares = nearest_counts(&[a + 1, b + 1, c]);
        if shares[2] <= shares[0] && shares[2] <= shares[1] {
            expected += probability;
        }
    }
    let chance = chance_of(least_in_c, rounds, expected);
    assert!(chance > 1e-9, "{least_in_c} of {rounds} at {expected}");
}

/// All three tables beside the moves, each with a share.
fn all_terms(epsilon: &str, longest: u32) -> FitTerms {
    let [start, end, length] = ["0.2", "0.3", "0.4"].map(|share| share.parse().unwrap());
    let terms = terms(epsilon, 1, None).with_starts(start).unwrap().with_ends(end).unwrap();
    terms.with_lengths(length, NonZeroU32::new(longest).unwrap()).unwrap()
}

/// The exact law of the clipped noisy counts of last states and lengths, for persons with any number of walks on the ring.
fn law_of_ends_and_lengths(terms: FitTerms, persons: &[&[Vec<usize>]]) -> Vec<f64> {
    let (states, longest) = (3, terms.longest() as usize);
    // Every way to draw one walk of each person, for its last state and, on its own, for its length.
    let draws = |of: &dyn Fn(&[usize]) -> Option<usize>, places: usize| {
        let mut ways = vec![(1.0, vec![0i64; places])];
        for walks in persons {
            let theirs: Vec<usize> = walks.iter().filter_map(|walk| of(walk)).collect();
            if theirs.is_empty() {
                continue;
            }
            let theirs = &theirs;
            let each = ways.iter().flat_map(|(p, counts)| {
                theirs.iter().map(move |&place| {
                    let mut counts = counts.clone();
                    counts[place] += 1;
                    (p / theirs.len() as f64, counts)
                })
            });
            ways = each.collect();
        }
        ways
    };
    let law = |ways: Vec<(f64, Vec<i64>)>, rate: f64, places: usize| -> Vec<f64> {
        let outcome = |outcome: Vec<usize>| -> f64 {
            let way = |(p, counts): &(f64, Vec<i64>)| {
                let each = outcome.iter().zip(counts);
                let each = each.map(|(&class, &count)| classes(count, rate, 4)[class]);
                p * each.product::<f64>()
            };
            ways.iter().map(way).sum()
        };
        combinations(4, places).map(outcome).collect()
    };
    let last = |walk: &[usize]| walk.last().copied().filter(|&state| state < states);
    let ends = law(draws(&last, states), terms.ends_rate().as_f64(), states);
    let length = |walk: &[usize]| Some((walk.len() - 1).min(longest));
    let lengths = law(draws(&length, longest + 1), terms.lengths_rate().as_f64(), longest + 1);
    ends.iter().flat_map(|end| lengths.iter().map(move |length| end * length)).collect()
}

/// Last states and lengths change the odds by no more than their shares of ε, for a person more or less with one
/// walk, with two, or with a walk that ends beyond the graph. For one replaced state, as `one_state` says.
#[test]
fn ends_and_lengths_lose_their_shares_and_no_more() {
    let terms = all_terms("1", 2);
    let share = (terms.ends_share().as_f64() + terms.lengths_share().as_f64()) * 1.0;
    let bob: &[Vec<usize>] = &[vec![0, 1], vec![1, 2, 0]];
    let without = law_of_ends_and_lengths(terms, &[bob]);
    let loss = |one: &[f64], other: &[f64]| {
        let each = one.iter().zip(other).map(|(p, q)| (p / q).ln().abs());
        each.fold(0.0, f64::max)
    };
    let mut largest = 0.0f64;
    let anns: [&[Vec<usize>]; 5] = [
        &[vec![0, 1, 2]],
        &[vec![0]],
        &[vec![0, 1, 0, 1, 2]],
        &[vec![0, 1], vec![2, 0, 0]],
        &[vec![0, 9], vec![1, 1]],
    ];
    for ann in anns {
        let with = law_of_ends_and_lengths(terms, &[bob, ann]);
        assert!((with.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        largest = largest.max(loss(&with, &without));
    }
    assert!(largest <= share + 1e-9 && largest > 0.99 * share, "{largest} of {share}");
    // One state of one of two walks: its end moves, and its length stays.
    let before: &[Vec<usize>] = &[vec![0, 1], vec![2, 0, 0]];
    let bound = 2.0 * terms.ends_rate().as_f64();
    let mut largest = 0.0f64;
    for state in [0, 2, 9] {
        let after: &[Vec<usize>] = &[vec![0, state], vec![2, 0, 0]];
        let [before, after] =
            [before, after].map(|ann| law_of_ends_and_lengths(terms, &[bob, ann]));
        largest = largest.max(loss(&before, &after));
    }
    assert!(largest <= bound + 1e-9 && largest > 0.3 * bound, "{largest} of {bound}");
}

/// What the program draws, of the walks of a person and of noise, has the exact law.
#[test]
fn ends_and_lengths_have_the_exact_law() {
    let (graph, terms) = (ring(), all_terms("4", 2));
    let walks = [("bob", vec!["a", "b"]), ("bob", vec!["b", "c", "a"]), ("ann", vec!["c", "a"])];
    // Bob's walk is drawn for the end and again for the length. All of ann's moves are one.
    let (ends, lengths) = ([[1, 1, 0], [2, 0, 0]], [[0, 2, 0], [0, 1, 1]]);
    let first_is_least = |counts: &[f64]| counts.iter().all(|&count| counts[0] <= count);
    let expected = |ways: [[i64; 3]; 2], rate: f64| -> f64 {
        let q = (-rate).exp();
        let point = |k: i64| (1.0 - q) / (1.0 + q) * q.powi(k.unsigned_abs() as i32);
        let noise: Vec<Vec<usize>> = combinations(41, 3).collect();
        let way = |counts: [i64; 3]| -> f64 {
            let each = noise.iter().map(|noise| [0, 1, 2].map(|place| noise[place] as i64 - 20));
            let least = each.filter(|noise| {
                let noisy = [0, 1, 2].map(|place| counts[place] + noise[place]);
                first_is_least(&nearest_counts(&noisy))
            });
            least.map(|noise| noise.iter().map(|&k| point(k)).product::<f64>()).sum()
        };
        (way(ways[0]) + way(ways[1])) / 2.0
    };
    let expected = [
        expected(ends, terms.ends_rate().as_f64()),
        expected(lengths, terms.lengths_rate().as_f64()),
    ];
    let (mut seen, rounds) = ([0u64; 2], 100_000);
    for seed in 0..rounds {
        let fitted = fit(&graph, terms, &walks, seed);
        let (ends, lengths) = (fitted.ends.unwrap(), fitted.lengths.unwrap());
        let ends = [0, 1, 2].map(|state| ends.probability(StateId::new(state)));
        let lengths = [0, 1, 2].map(|moves| lengths.probability(moves));
        seen[0] += u64::from(first_is_least(&ends));
        seen[1] += u64::from(first_is_least(&lengths));
    }
    for (seen, p) in seen.into_iter().zip(expected) {
        assert!(p > 0.01 && chance_of(seen, rounds, p) > 1e-9, "{seen} of {rounds} at {p}");
    }
}

fn walks_of(chain: &Chain, persons: usize, moves: usize, seed: u64) -> Vec<(String, Vec<String>)> {
    let mut random = seed;
    let mut uniform = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 11) as f64 / (1u64 << 53) as f64
    };
    let stationary = chain.stationary().unwrap();
    let pick = |shares: &[f64], at: f64| {
        let mut sum = 0.0;
        shares
            .iter()
            .position(|p| {
                sum += p;
                at < sum
            })
            .unwrap_or(shares.len() - 1)
    };
    (0..persons)
        .map(|person| {
            let mut state = StateId::new(pick(&stationary, uniform()));
            let mut walk = vec![chain.label(state).to_owned()];
            for _ in 0..moves {
                state = chain.successors(state)[pick(chain.probabilities(state), uniform())];
                walk.push(chain.label(state).to_owned());
            }
            (format!("p{person}"), walk)
        })
        .collect()
}

fn noiseless(walks: &[(String, Vec<String>)], graph: &Chain) -> Chain {
    let mut counts = TransitionCounts::new();
    graph.states().for_each(|state| {
        counts.state(graph.label(state));
    });
    walks.iter().for_each(|(_, walk)| counts.add_walk(walk.iter().map(String::as_str)));
    counts.build(Default::default()).unwrap().0
}

/// Ten thousand persons of twenty moves each, at ε = 1.
#[test]
fn a_chain_of_twenty_states_comes_out_right() {
    let graph = scattered_chain(20, 5, 7);
    let walks = walks_of(&graph, 10_000, 20, 1);
    let exact = noiseless(&walks, &graph);
    let borrowed: Vec<(&str, Vec<&str>)> = walks
        .iter()
        .map(|(person, walk)| (person.as_str(), walk.iter().map(String::as_str).collect()))
        .collect();
    let mut worst = 0.0f64;
    let (mut error, rounds) = (0.0, 10);
    for seed in 0..rounds {
        let fitted = fit(&graph, terms("1", 20, Some("0.1")), &borrowed, seed).chain;
        let (one, other) = (fitted.stationary().unwrap(), exact.stationary().unwrap());
        let apart = |(state, p): (StateId, f64)| {
            let same = exact.state(fitted.label(state)).unwrap();
            (p - other[same.index()]).abs() / 2.0
        };
        worst = worst.max(fitted.states().zip(one).map(apart).sum());
        error += mean_error(&fitted, &exact) / rounds as f64;
    }
    assert!(worst < 0.02, "the stationary law is off by {worst}");
    assert!(error < 0.02, "transition probabilities are off by {error} on average");
    println!("20 states: stationary law off by {worst:.4} at worst, probabilities by {error:.4}");
}

fn mean_error(fitted: &Chain, exact: &Chain) -> f64 {
    let errors = fitted.states().flat_map(|from| {
        let own = |state| exact.state(fitted.label(state)).unwrap();
        let row = fitted.successors(from).iter().zip(fitted.probabilities(from));
        row.map(move |(&to, p)| (p - exact.probability(own(from), own(to))).abs())
    });
    errors.sum::<f64>() / fitted.transitions() as f64
}

/// The figures of the docs: `cargo test --workspace --test private_fit -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures for the docs"]
fn figures_for_the_docs() {
    for (name, graph) in [("20 states", scattered_chain(20, 5, 7)), ("credit", Chain::credit())] {
        for persons in [1000, 10_000, 100_000] {
            let walks = walks_of(&graph, persons, 20, 1);
            let mut exact = noiseless_on(&walks, &graph);
            exact = exact.with_initial(Initial::uniform(graph.len()));
            let borrowed: Vec<(&str, Vec<&str>)> = walks
                .iter()
                .map(|(person, walk)| (person.as_str(), walk.iter().map(String::as_str).collect()))
                .collect();
            for (epsilon, moves) in [("1", 20), ("1", 5), ("0.1", 20), ("4", 20)] {
                let (mut error, mut weighted, mut law) = (0.0, 0.0, 0.0);
                for seed in 0..5 {
                    let fitted = fit(&graph, terms(epsilon, moves, None), &borrowed, seed).chain;
                    let (one, other) = (fitted.stationary().unwrap(), exact.stationary().unwrap());
                    let apart = one.iter().zip(&other).map(|(a, b)| (a - b).abs() / 2.0);
                    law += apart.sum::<f64>() / 5.0;
                    error += mean_error(&fitted, &exact) / 5.0;
                    for from in fitted.states() {
                        for &to in fitted.successors(from) {
                            let off = fitted.probability(from, to) - exact.probability(from, to);
                            weighted += other[from.index()] * off.abs() / 2.0 / 5.0;
                        }
                    }
                }
                println!(
                    "{name}, {persons} persons, ε {epsilon}, {moves} moves: mean |ΔP| {error:.4}, a move {weighted:.4}, stationary {law:.4}"
                );
            }
        }
    }
}

/// The noiseless fit, with moves that nobody made as rare as can be.
fn noiseless_on(walks: &[(String, Vec<String>)], graph: &Chain) -> Chain {
    let mut counts = vec![0i64; graph.transitions()];
    for (_, walk) in walks {
        for pair in walk.windows(2) {
            let [from, to] = [&pair[0], &pair[1]].map(|label| graph.state(label).unwrap());
            let within = graph.successors(from).binary_search(&to).unwrap();
            counts[graph.row(from).start + within] += 1;
        }
    }
    chain_of(graph, &counts, 1e-9).unwrap().chain
}

/// Equal seeds and equal rows give equal chains; other rows get other noise.
#[test]
fn a_repeated_fit_repeats_itself() {
    let (graph, terms) = (ring(), terms("1", 2, Some("0.1")));
    let walks = [("ann", vec!["a", "b", "c", "a"]), ("bob", vec!["b", "c", "a", "a"])];
    let first = fit(&graph, terms, &walks, 3);
    assert_eq!(first.counts, fit(&graph, terms, &walks, 3).counts);
    assert_ne!(first.counts, fit(&graph, terms, &walks, 4).counts);
    assert_eq!(first.chain.hash(), fit(&graph, terms, &walks, 3).chain.hash());
    let more = [walks[0].clone(), walks[1].clone(), ("eve", vec!["c"])];
    assert_ne!(first.counts, fit(&graph, terms, &more, 3).counts, "no move was added");
    assert_eq!(terms.floor(), Rational::ONE);
    assert!(first.counts.iter().all(|&count| count >= 1.0));
    // Tables that are not wanted are not there, and those that are repeat themselves too.
    assert_eq!((first.ends, first.lengths), (None, None));
    let [one, two] = [0, 0].map(|_| fit(&graph, all_terms("1", 3), &walks, 3));
    assert_eq!((one.ends, one.lengths), (two.ends, two.lengths));
}
