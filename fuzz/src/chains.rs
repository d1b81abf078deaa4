//! Chains, where their states are, and tables of shares.

use std::sync::LazyLock;

use veilwalk::Chain;
use veilwalk::chain::{BuildOptions, RowSums, Scope};
use veilwalk_io::{
    ChainText, InitialText, read_chain, read_chain_from, read_graph, read_initial_from,
    read_lengths_from, read_places, read_state_list, write_chain_with, write_distribution,
    write_lengths, write_places,
};

use crate::{Outcome, scratch, taken};

/// A table of transitions or a matrix.
pub(crate) fn chain(data: &[u8]) -> Outcome {
    let path = scratch::file("chain.csv", data);
    let forgiving = BuildOptions { row_sums: RowSums::Normalize, scope: Scope::LargestComponent };
    let as_graph = taken(read_graph(&path, forgiving));
    let strict = taken(read_chain(&path, BuildOptions::default()));
    let read = taken(read_chain_from(data, "chain", forgiving));
    if let Some((chain, _)) = &strict {
        // What needs no mending is not mended.
        let (mended, report) = read.as_ref().expect("a whole chain is taken by whoever forgives");
        assert_eq!(chain.hash(), mended.hash());
        assert!(report.rescaled.is_empty() && report.dropped_states.is_empty());
    }
    let Some((chain, report)) = read else { return as_graph.into() };
    assert_eq!(report.dropped_states.is_empty(), report.dropped_transitions == 0);
    again(&chain);
    Outcome::Accepted
}

/// A chain that is written and read once more is the same, but for the last digits: each row is divided by its sum.
fn again(chain: &Chain) {
    let text = ChainText { initial: InitialText::InAComment, ..ChainText::default() };
    let mut out = Vec::new();
    write_chain_with(chain, text, &mut out).unwrap();
    let (again, _) = read_chain_from(&out[..], "written", BuildOptions::default())
        .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(&out)));
    assert!(chain.states().map(|s| chain.label(s)).eq(again.states().map(|s| again.label(s))));
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.max(b);
    for state in chain.states() {
        assert_eq!(chain.successors(state), again.successors(state));
        let pairs = chain.probabilities(state).iter().zip(again.probabilities(state));
        assert!(pairs.clone().all(|(&a, &b)| near(a, b)), "{:?}", pairs.collect::<Vec<_>>());
        let (a, b) = (chain.initial().probability(state), again.initial().probability(state));
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
    let lengths = |chain: &Chain| chain.places().and_then(|places| places.lengths.clone());
    assert_eq!(lengths(chain), lengths(&again));
}

/// A chain of three states.
static SMALL: LazyLock<Chain> = LazyLock::new(|| {
    let table = "from,to,count\na,b,1\na,a,2\nb,c,1\nc,a,3\n";
    read_chain_from(table.as_bytes(), "small", BuildOptions::default()).unwrap().0
});

/// Where the states of a chain are; also as a plain list of states.
pub(crate) fn places(data: &[u8]) -> Outcome {
    let path = scratch::file("places.csv", data);
    let _ = taken(read_state_list(&path));
    let Some(chain) = taken(read_places(&path, SMALL.clone())) else { return Outcome::Refused };
    let mut out = Vec::new();
    write_places(&chain, &mut out).unwrap();
    let again = read_places(&scratch::file("again.csv", &out), SMALL.clone()).unwrap();
    assert_eq!(chain.places(), again.places());
    assert_eq!(chain.hash(), again.hash());
    Outcome::Accepted
}

/// Where walks start, and how long they are.
pub(crate) fn shares(data: &[u8]) -> Outcome {
    let initial = taken(read_initial_from(data, "initial", &SMALL));
    if let Some(initial) = &initial {
        let mut out = Vec::new();
        write_distribution(&SMALL, initial, &mut out).unwrap();
        let again = read_initial_from(&out[..], "written", &SMALL).unwrap();
        for state in SMALL.states() {
            assert!((initial.probability(state) - again.probability(state)).abs() < 1e-9);
        }
    }
    let lengths = taken(read_lengths_from(data, "lengths"));
    if let Some(lengths) = &lengths {
        let mut out = Vec::new();
        write_lengths(lengths, &mut out).unwrap();
        let again = read_lengths_from(&out[..], "written").unwrap();
        assert_eq!(lengths.longest(), again.longest());
        for moves in 0..=lengths.longest() {
            assert!((lengths.probability(moves) - again.probability(moves)).abs() < 1e-9);
        }
    }
    initial.map(|_| ()).or(lengths.map(|_| ())).into()
}
