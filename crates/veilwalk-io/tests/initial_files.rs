//! Initial distributions in files.

use veilwalk::chain::Chain;
use veilwalk_io::{ReadError, read_initial, read_initial_from};

fn read(text: &str) -> Result<veilwalk::chain::Initial, ReadError> {
    read_initial_from(text.as_bytes(), "start.csv", &Chain::credit())
}

#[track_caller]
fn refused(text: &str, line: Option<u64>, words: &[&str]) {
    let error = read(text).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("start.csv"), "{message}");
    assert_eq!(error.line(), line, "{message}");
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}

#[test]
fn states_left_out_have_probability_zero() {
    let chain = Chain::credit();
    let p = |label: &str, text: &str| read(text).unwrap().probability(chain.state(label).unwrap());
    let text = "state,probability\nAa,0.25\nDef,0.75\n";
    assert_eq!((p("Aa", text), p("Def", text), p("B", text)), (0.25, 0.75, 0.0));
    let other = "\u{feff}PROBABILITY\tState\r\n\r\n0.25\tAa\r\n0.75\tDef\r\n";
    assert_eq!(read(other).unwrap(), read(text).unwrap());
    assert!(read("state,probability\nAa,0.9999999\n").is_ok());
}

#[test]
fn a_file_is_read_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("start.tsv");
    let error = read_initial(&path, &Chain::credit()).unwrap_err();
    assert!(error.to_string().contains("no such file"), "{error}");
    std::fs::write(&path, "state\tprobability\nB\t1\n").unwrap();
    let initial = read_initial(&path, &Chain::credit()).unwrap();
    assert_eq!(initial.only(), Chain::credit().state("B"));
}

#[test]
fn what_is_refused() {
    refused("", None, &["empty", "state,probability"]);
    refused("state,p\nAa,1\n", Some(1), &["state,p", "accepted are state,probability"]);
    refused("Aa,0.5\nB,0.5\n", Some(1), &["add a header line"]);
    refused("state;probability\n", Some(1), &["commas"]);
    refused("state,probability,x\n", Some(1), &["remove the column \"x\""]);
    refused("state,probability\n\nZzz,1\n", Some(3), &["\"Zzz\"", "not a state"]);
    refused("state,probability\naa,1\n", Some(2), &["did you mean \"Aa\""]);
    refused("state,probability\nAa,0.5\nB,0\nAa,0.5\n", Some(4), &["\"Aa\"", "line 2"]);
    refused("state,probability\nAa,half\n", Some(2), &["\"half\"", "not a number"]);
    refused("state,probability\nAa,-1\n", Some(2), &["negative"]);
    refused("state,probability\nAa,1,\n", Some(2), &["3 fields"]);
    refused("state,probability\n,1\n", Some(2), &["\"state\"", "empty"]);
    refused("state,probability\nAa,0.5\nB,0.4999\n", None, &["0.999900000", "not to 1"]);
    refused("state,probability\n", None, &["sum to 0.000000000"]);
}
