//! Chains in files: what is read, what is refused and with which words, and that writing a chain and
//! reading it back gives the same one.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use veilwalk::chain::{BuildOptions, Chain, ChainBuilder, Entries, RowSums, Scope, StateId};
use veilwalk_io::{
    ChainText, InitialText, ReadError, WriteErrorKind, read_chain, read_chain_from, read_graph,
    read_state_list, write_chain, write_chain_with,
};

fn read(text: impl AsRef<[u8]>) -> Result<Chain, ReadError> {
    read_chain_from(text.as_ref(), "trips.csv", BuildOptions::default()).map(|(chain, _)| chain)
}

/// Checks that a text is refused, on this line, with these words.
#[track_caller]
fn refused(text: impl AsRef<[u8]>, line: Option<u64>, words: &[&str]) {
    let error = read(text).unwrap_err();
    let message = error.to_string();
    let place = match line {
        Some(line) => format!("trips.csv, line {line}: "),
        None => "trips.csv: ".to_owned(),
    };
    assert!(message.starts_with(&place), "{message}");
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
    assert_eq!((error.file(), error.line()), ("trips.csv", line));
}

fn labels(chain: &Chain) -> Vec<&str> {
    chain.states().map(|s| chain.label(s)).collect()
}

#[track_caller]
fn assert_weather(chain: &Chain) {
    assert_eq!(labels(chain), ["sun", "rain"]);
    let (sun, rain) = (chain.state("sun").unwrap(), chain.state("rain").unwrap());
    assert_eq!(chain.probabilities(sun), [0.75, 0.25]);
    assert_eq!(chain.successors(rain), [sun]);
}

#[test]
fn comments_stand_at_the_top_and_lines_are_counted_with_them() {
    refused("# one\n# two\nfrom,to,count\na,a,x\n", Some(4), &["\"x\""]);
    // A state may be called so.
    let chain = read("from,to,count\n# a,b,1\nb,# a,1\n").unwrap();
    assert_eq!(labels(&chain), ["# a", "b"]);
    let chain = read("#,a,b\na,0,1\nb,1,0\n").unwrap();
    assert_eq!(labels(&chain), ["a", "b"]);
    let text = ChainText {
        comments: &["one".to_owned()],
        counts: Some(&[0.5, 2.0]),
        ..ChainText::default()
    };
    let mut written = Vec::new();
    write_chain_with(&chain, text, &mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    assert_eq!(written, "# one\nfrom,to,count\na,b,0.5\nb,a,2.0\n");
    assert_eq!(read(&written).unwrap().hash(), chain.hash());
}

#[test]
fn a_comment_says_where_walks_start() {
    let moves = "from,to,count\na,b,1\nb,a,1\n";
    let chain =
        read(format!("# {{\"initial\": [[\"b\", 0.75], [\"a\", 0.25]]}}\n{moves}")).unwrap();
    let starts = |chain: &Chain| -> Vec<f64> {
        chain.states().map(|state| chain.initial().probability(state)).collect()
    };
    assert_eq!(starts(&chain), [0.25, 0.75]);
    assert_eq!(starts(&read(moves).unwrap()), [0.5, 0.5]);
    // What is not named is never a start, and other comments mean nothing.
    let chain =
        read(format!("# {{\"initial\":[[\"b\",1]]}}\n# {{\"other\": 1}}\n{moves}")).unwrap();
    assert_eq!(starts(&chain), [0.0, 1.0]);
    let mut written = Vec::new();
    let text = ChainText { initial: InitialText::InAComment, ..ChainText::default() };
    write_chain_with(&chain, text, &mut written).unwrap();
    assert_eq!(read(String::from_utf8(written).unwrap()).unwrap().hash(), chain.hash());
    for (comment, word) in [
        ("{\"initial\": [[\"b\", 0.5]]}", "sum"),
        ("{\"initial\": [[\"b\", -1], [\"a\", 2]]}", "-1"),
        ("{\"initial\": [[\"c\", 1]]}", "\"c\" is not a state"),
        ("{\"initial\": [[\"b\", 0.5], [\"b\", 0.5]]}", "there twice"),
        ("{\"initial\": [[\"b\", 1]]", "where walks start"),
        ("{\"initial\": {\"b\": 1}}", "write it as"),
        ("{\"initial\": [[\"b\", 1]], \"more\": 1}", "more"),
    ] {
        refused(format!("# one\n# {comment}\n{moves}"), Some(2), &[word]);
    }
    let twice = "# {\"initial\": [[\"b\", 1]]}\n".repeat(2);
    refused(format!("{twice}{moves}"), Some(2), &["second time"]);
}

/// States that are dropped take their walks with them.
#[test]
fn starts_follow_the_largest_component() {
    let moves = "from,to,count\na,b,1\nb,a,1\nc,a,1\n";
    let largest = BuildOptions { scope: Scope::LargestComponent, ..BuildOptions::default() };
    let read = |starts: &str| {
        let text = format!("# {{\"initial\": {starts}}}\n{moves}");
        read_chain_from(text.as_bytes(), "chain.csv", largest)
    };
    let (chain, _) = read("[[\"a\", 0.25], [\"b\", 0.25], [\"c\", 0.5]]").unwrap();
    assert_eq!(chain.initial().probability(chain.state("a").unwrap()), 0.5);
    let error = read("[[\"c\", 1]]").unwrap_err().to_string();
    assert!(error.contains("chain.csv, line 1") && error.contains("dropped only"), "{error}");
}

#[test]
fn a_graph_needs_no_numbers_and_a_chain_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.csv");
    let graph = "to,from\nb,a\nc,a\na,b\na,c\n";
    fs::write(&path, graph).unwrap();
    let (chain, _) = read_graph(&path, BuildOptions::default()).unwrap();
    assert_eq!(chain.probabilities(chain.state("a").unwrap()), [0.5, 0.5]);
    refused("from,to\na,b\nb,a\n", Some(1), &["from,to", "rename"]);
    fs::write(&path, "state,x\na,1\nb,2\n").unwrap();
    assert_eq!(read_state_list(&path).unwrap(), ["a", "b"]);
    fs::write(&path, "state\na\nb\na\n").unwrap();
    let error = read_state_list(&path).unwrap_err();
    assert_eq!((error.line(), error.to_string().contains("already has line 2")), (Some(4), true));
    fs::write(&path, "states\na\n").unwrap();
    assert!(read_state_list(&path).unwrap_err().to_string().contains("state"));
}

#[test]
fn every_layout_gives_the_same_chain() {
    for text in [
        "from,to,count\nsun,sun,1.5\nsun,rain,0.5\nrain,sun,0.001\n",
        "# where it comes from\n# {\"epsilon\":1}\nfrom,to,count\nsun,sun,3\nsun,rain,1\nrain,sun,12\n",
        "# a,b\n,sun,rain\nsun,0.75,0.25\nrain,1,0\n",
        "from,to,probability\nsun,sun,0.75\nsun,rain,0.25\nrain,sun,1\n",
        "from,to,count\nsun,sun,3\nsun,rain,1\nrain,sun,12\n",
        "Count, TO ,From\n3,sun,sun\n1,rain,sun\n12,sun,rain\n",
        "from\tto\tcount\nsun\tsun\t3\nsun\train\t1\nrain\tsun\t12\n",
        ",sun,rain\nsun,0.75,0.25\nrain,1,0\n",
        "state,sun,rain\nrain,1,0\nsun,0.75, 0.25\n",
        "\tsun\train\nsun\t0.75\t0.25\nrain\t1\t0",
    ] {
        assert_weather(&read(text).unwrap());
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_weather(&read(windows).unwrap());
        assert_weather(&read(text.replace('\n', "\n\n  \n")).unwrap());
    }
}

#[test]
fn labels_are_taken_as_they_are() {
    let chain = read("from,to,count\n\"a, b\",\" é\",1\n\" é\",\"a, b\",1\n").unwrap();
    assert_eq!(labels(&chain), ["a, b", " é"]);
    let chain = read(",1,2\n1,0,1\n2,1,0\n").unwrap();
    assert_eq!(labels(&chain), ["1", "2"]);
    let chain = read(",\"a\nb\"\n\"a\nb\",1\n").unwrap();
    assert_eq!(labels(&chain), ["a\nb"]);
}

#[test]
fn files_that_cannot_be_read() {
    let error = read_chain(Path::new("no/such.csv"), BuildOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "no/such.csv: there is no such file; check the path");
    let folder = tempfile::tempdir().unwrap();
    let error = read_chain(folder.path(), BuildOptions::default()).unwrap_err();
    assert!(error.to_string().contains("could not be read"), "{error}");
    let path = folder.path().join("ok.csv");
    fs::write(&path, "from,to,count\na,a,1\n").unwrap();
    let (chain, _) = read_chain(&path, BuildOptions::default()).unwrap();
    assert_eq!(chain.len(), 1);
}

#[test]
fn text_that_is_no_table() {
    refused("", None, &["empty", "from,to,probability"]);
    refused("\u{feff}\n \r\n", None, &["empty"]);
    refused(b"from,to,count\na,b,1\nb,\xe9,1\n", Some(3), &["UTF-8"]);
    refused(b"\xff\xfef\0r\0", Some(1), &["UTF-8"]);
    refused("from,to,count\na,\"b,1\nb,a,1\n", Some(2), &["quote", "never closed"]);
    refused("from,to,count\na,b,1\n\nb,a\n", Some(4), &["2 fields", "has 3"]);
    refused("from,to,count\r\na,b,1\r\n\r\nb,a,1,1\r\n", Some(4), &["4 fields"]);
}

#[test]
fn headers_that_are_not_known() {
    let accepted = ["from,to,probability", "from,to,count", "matrix"];
    refused("from,to,weight\na,b,1\n", Some(1), &accepted);
    refused("from,to,weight\na,b,1\n", Some(1), &["\"from,to,weight\""]);
    refused("source,target,p\na,b,1\nb,a,1\n", Some(1), &["source,target,p", "rename"]);
    refused("from;to;count\na;b;1\n", Some(1), &["commas or tabs"]);
    refused("hello\n", Some(1), &accepted);
    refused(",from,to,count\n0,a,b,1\n", Some(1), &["column without a name"]);
    refused("\n\nfrom,to,count,when\n", Some(3), &["remove the column \"when\""]);
    refused("from,to,count,from\n", Some(1), &["remove the column \"from\""]);
}

#[test]
fn a_table_without_a_header_is_recognised() {
    for text in [
        "a,b,0.5\na,a,0.5\nb,a,1\n",
        "a,b,1\nb,a,1\n",
        "a,a,0.5\na,b,0.5\nb,a,1\n",
        "1,1,2\n1,2,5\n2,1,3\n",
        "a,b,0.5\n",
        "x,1,2\nx,2,5\n1,x,3\n",
    ] {
        refused(text, Some(1), &["add a header line"]);
    }
}

#[test]
fn numbers_that_are_not() {
    let message = read("from,to,probability\na,a,0.5\na,b,abc\n").unwrap_err().to_string();
    assert_eq!(
        message,
        "trips.csv, line 3: the probability \"abc\" is not a number; write a decimal such as 0.25"
    );
    for (entry, word) in [
        ("", "not a number"),
        ("NaN", "finite"),
        ("inf", "finite"),
        ("-0.5", "negative"),
        ("1e-400", "too small"),
    ] {
        let text = format!("from,to,probability\n\na,a,{entry}\n");
        refused(text, Some(3), &["probability", word]);
        let text = format!(",a,b\nb,1,0\na,0.5,{entry}\n");
        refused(text, Some(3), &["in column \"b\"", word]);
    }
    refused("from,to,count\na,a,1.5x\n", Some(2), &["count \"1.5x\"", "a number such as 25"]);
    refused("from,to,count\na,a,-1\n", Some(2), &["negative"]);
    refused("from,to,count\na,a,1e17\n", Some(2), &["larger than"]);
}

#[test]
fn labels_and_transitions_given_twice() {
    let text = "from,to,count\na,b,1\n\nb,a,1\na,b,2\n";
    refused(text, Some(5), &["from \"a\" to \"b\"", "line 2", "once"]);
    refused(",a,b,a\n", Some(1), &["columns 2 and 4", "\"a\""]);
    refused(",a,b\na,0,1\nb,1,0\na,0,1\n", Some(4), &["\"a\"", "line 2"]);
    refused(",a,\na,0,1\n", Some(1), &["column 3", "no label"]);
    refused("from,to,count\n,b,1\n", Some(2), &["\"from\"", "empty"]);
    refused("from,to,count\na,,1\n", Some(2), &["\"to\"", "empty"]);
}

#[test]
fn matrices_that_are_not_square() {
    refused(",a,b\na,0,1\nc,1,0\n", Some(3), &["\"c\"", "same labels"]);
    refused(",a,b,c\na,0,1,0\nb,1,0,0\n", None, &["no row for \"c\""]);
    refused(",a,b\na,0\nb,1,0\n", Some(2), &["2 fields"]);
}

#[test]
fn tables_that_are_no_chain() {
    refused("from,to,count\n", None, &["no transitions"]);
    refused(",a,b\na,0.5,0.4\nb,1,0\n", None, &["\"a\"", "0.900000000", "RowSums::Rescale"]);
    refused("from,to,count\na,b,1\n", None, &["\"b\"", "no way out"]);
    refused("from,to,count\na,b,1\nb,b,1\n", None, &["cannot be reached"]);
}

#[test]
fn repairs_are_made_on_request_and_reported() {
    let options = BuildOptions { row_sums: RowSums::Normalize, scope: Scope::LargestComponent };
    let text = ",a,b,c\na,0.5,0.4,0\nb,1,0,0\nc,1,0,0\n";
    let (chain, report) = read_chain_from(text.as_bytes(), "m.csv", options).unwrap();
    assert_eq!(labels(&chain), ["a", "b"]);
    assert_eq!(report.dropped_states, ["c"]);
    assert_eq!(report.rescaled.len(), 1);
}

fn written(chain: &Chain) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_chain(chain, &mut bytes).unwrap();
    bytes
}

#[track_caller]
fn assert_same(a: &Chain, b: &Chain) {
    assert_eq!(labels(a), labels(b));
    for state in a.states() {
        assert_eq!(a.successors(state), b.successors(state));
        for (p, q) in a.probabilities(state).iter().zip(b.probabilities(state)) {
            assert!((p - q).abs() <= 4.0 * f64::EPSILON * p, "{p} and {q}");
        }
    }
}

#[test]
fn the_built_in_chains_come_back() {
    for chain in [Chain::credit(), Chain::downtown()] {
        assert_same(&chain, &read(written(&chain)).unwrap());
    }
}

#[test]
fn writing_says_what_is_wrong() {
    let mut builder = ChainBuilder::new(Entries::Counts);
    let nameless = builder.state("");
    builder.transition(nameless, nameless, 1.0).unwrap();
    let (chain, _) = builder.build(BuildOptions::default()).unwrap();
    let error = write_chain(&chain, Vec::new()).unwrap_err();
    assert!(matches!(error.kind(), WriteErrorKind::EmptyLabel(0)));
    assert!(error.named("c.csv").to_string().starts_with("c.csv: state"));
    let error = write_chain(&Chain::credit(), &mut [0u8; 10][..]).unwrap_err();
    assert!(error.to_string().contains("writing failed"), "{error}");
}

/// Labels with everything that could upset a table.
fn label() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,4}", "[ ,\"'\t\r\n;{}=#é→0-9\u{feff}-]{1,5}", "\\PC{1,6}",]
}

prop_compose! {
    /// A chain on a cycle through all its states, with more moves at random.
    fn chains()(
        names in proptest::collection::btree_set(label(), 1..8)
            .prop_map(|set| set.into_iter().collect::<Vec<_>>())
            .prop_shuffle(),
    )(
        weights in proptest::collection::vec(1e-9f64..1.0, names.len()),
        more in proptest::collection::btree_map((0..names.len(), 0..names.len()), 1e-12f64..5.0, 0..9),
        names in Just(names),
    ) -> Chain {
        let mut builder = ChainBuilder::new(Entries::Counts);
        let states: Vec<_> = names.iter().map(|name| builder.state(name)).collect();
        let next = |i: usize| (i + 1) % names.len();
        for (i, &weight) in weights.iter().enumerate() {
            builder.transition(states[i], states[next(i)], weight).unwrap();
        }
        for (&(i, j), &weight) in more.iter().filter(|((i, j), _)| next(*i) != *j) {
            builder.transition(states[i], states[j], weight).unwrap();
        }
        builder.build(BuildOptions::default()).unwrap().0
    }
}

/// A matrix as a program of another kind would write it.
fn matrix(chain: &Chain) -> Vec<u8> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut header = vec![String::new()];
    header.extend(labels(chain).into_iter().map(str::to_owned));
    table.write_record(&header).unwrap();
    for from in (0..chain.len()).rev().map(StateId::new) {
        let mut row = vec![0.0; chain.len()];
        for (to, p) in chain.successors(from).iter().zip(chain.probabilities(from)) {
            row[to.index()] = *p;
        }
        table.write_field(chain.label(from)).unwrap();
        for p in row {
            table.write_field(p.to_string()).unwrap();
        }
        table.write_record(None::<&[u8]>).unwrap();
    }
    table.into_inner().unwrap()
}

proptest! {
    #[test]
    fn a_written_chain_comes_back(chain in chains()) {
        let bytes = written(&chain);
        assert_same(&chain, &read(&bytes).unwrap());
        // What is read was divided by its sum once more, and does not change again.
        let again = read(written(&read(&bytes).unwrap())).unwrap();
        assert_same(&chain, &again);
    }

    #[test]
    fn a_matrix_comes_back(chain in chains()) {
        // A tab in the first line would make it the delimiter.
        prop_assume!(!labels(&chain).iter().any(|label| label.contains('\t')));
        assert_same(&chain, &read(matrix(&chain)).unwrap());
    }

    #[test]
    fn no_text_makes_it_panic(
        header in prop_oneof![Just("from,to,count\n"), Just(",a,b\n"), Just("")],
        text in "[ab01.,\"\n\r\té-]{0,60}",
    ) {
        let _ = read(format!("{header}{text}"));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(bytes);
    }
}
