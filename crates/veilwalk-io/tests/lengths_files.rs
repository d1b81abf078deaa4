//! Lengths of walks in files, and other distributions over states.

use veilwalk::chain::{Chain, Initial, WalkLengths};
use veilwalk_io::{
    ReadError, read_initial_from, read_lengths, read_lengths_from, write_distribution,
    write_lengths,
};

fn read(text: &str) -> Result<WalkLengths, ReadError> {
    read_lengths_from(text.as_bytes(), "lengths.csv")
}

#[track_caller]
fn refused(text: &str, line: Option<u64>, words: &[&str]) {
    let error = read(text).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("lengths.csv"), "{message}");
    assert_eq!(error.line(), line, "{message}");
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}

#[test]
fn what_is_written_is_read() {
    let lengths = read("Probability\tmoves\n0.25\t7\n0.5\t0\n0.25\t3\n").unwrap();
    assert_eq!((lengths.longest(), lengths.probability(3)), (7, 0.25));
    let mut text = Vec::new();
    write_lengths(&lengths, &mut text).unwrap();
    assert_eq!(text, b"moves,probability\n0,0.5\n3,0.25\n7,0.25\n");
    assert_eq!(read(std::str::from_utf8(&text).unwrap()).unwrap(), lengths);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lengths.csv");
    std::fs::write(&path, &text).unwrap();
    assert_eq!(read_lengths(&path).unwrap(), lengths);
}

#[test]
fn ends_are_written_as_starts_are() {
    let chain = Chain::credit();
    let mut p = vec![0.0; chain.len()];
    (p[2], p[8]) = (0.75, 0.25);
    let ends = Initial::from_probabilities(&chain, &p).unwrap();
    let mut text = Vec::new();
    write_distribution(&chain, &ends, &mut text).unwrap();
    let (first, last) = (chain.states().nth(2).unwrap(), chain.states().nth(8).unwrap());
    let expected =
        format!("state,probability\n{},0.75\n{},0.25\n", chain.label(first), chain.label(last));
    assert_eq!(String::from_utf8(text.clone()).unwrap(), expected);
    assert_eq!(read_initial_from(&text[..], "ends.csv", &chain).unwrap(), ends);
}

#[test]
fn what_is_refused() {
    refused("", None, &["empty", "moves,probability"]);
    refused("moves,p\n1,1\n", Some(1), &["accepted are moves,probability"]);
    refused("3,0.5\n4,0.5\n", Some(1), &["add a header line"]);
    refused("moves,probability\n2.5,1\n", Some(2), &["\"2.5\"", "whole number", "1000000"]);
    refused("moves,probability\n-1,1\n", Some(2), &["not a number of moves"]);
    refused("moves,probability\n1000001,1\n", Some(2), &["not a number of moves"]);
    refused("moves,probability\n,1\n", Some(2), &["\"moves\"", "empty"]);
    refused("moves,probability\n3,0.5\n03,0.5\n", Some(3), &["\"03\"", "line 2"]);
    refused("moves,probability\n3,many\n", Some(2), &["\"many\"", "not a number"]);
    refused("moves,probability\n3,0.5\n", None, &["0.500000000", "not to 1"]);
    refused("moves,probability\n", None, &["sum to 0.000000000"]);
}
