//! What `privatize` says of the states that a promise covers.

mod common;

use common::{Folder, stderr};

const WALKS: &str = "trajectory,state\na,Baa\na,A\n";

fn told(unit: [&str; 2], more: &[&str]) -> String {
    let folder = Folder::with("walks.csv", WALKS);
    let start = ["privatize", "walks.csv", "--chain", "credit", "--epsilon", "1"];
    stderr(&folder.run([&start[..], &unit, more].concat()).success())
}

#[test]
fn it_is_told_how_many_states_are_covered_and_warned_below_95_percent() {
    for (radius, covered, warned) in [
        ("3.5", "6 of 9 states (66.6 %)", true),
        // 95 % of nine states are all of them, at 9.2104 nats.
        ("9.21", "8 of 9 states (88.8 %)", true),
        ("9.2104", "9 of 9 states (100.0 %)", false),
    ] {
        for more in [&[][..], &["--stream"], &["--block", "2"]] {
            let message = told(["--radius", radius], more);
            let note = format!("covered: {covered} have an alternative within the radius");
            assert!(message.contains(&note), "{message}");
            assert_eq!(message.contains("warning: fewer than 95 %"), warned, "{message}");
        }
    }
    let message = told(["--substitutions", "1"], &[]);
    assert!(message.contains("covered: every state may be replaced by any other"), "{message}");
    assert!(!message.contains("fewer than"), "{message}");
}

/// Where distances are searched for on demand, coverage is the same.
#[test]
fn coverage_is_known_without_a_table_of_distances() {
    for radius in ["3.5", "9.2104"] {
        let table = told(["--radius", radius], &["--mechanism", "sharp"]);
        let searched =
            told(["--radius", radius], &["--mechanism", "sharp", "--distances", "on-demand"]);
        let line = |text: &str| {
            let mut lines = text.lines().filter(|line| line.starts_with("covered: "));
            lines.next().unwrap().to_owned()
        };
        assert_eq!(line(&table), line(&searched));
    }
}
