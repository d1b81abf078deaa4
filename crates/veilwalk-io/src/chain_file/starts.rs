//! Where the walks of a chain start, as a comment of its file.
//!
//! A chain that was learned is only half of what was learned without its first states, and files get apart. So
//! one comment may hold them, as JSON: `# {"initial": [["home", 0.6], ["work", 0.4]]}`. Programs that know
//! nothing of it skip it like any other comment.

use serde::Deserialize;
use veilwalk::chain::{Chain, Initial};

use crate::read_error::ReadErrorKind;

/// What such a comment begins with.
const KEY: &str = "{\"initial\":";

/// First states with their probabilities.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Starts {
    initial: Vec<(String, f64)>,
}

/// The first states that a comment gives, if that is what it is about. `known` says whether there were some
/// already.
pub(super) fn parse(comment: &str, known: bool) -> Result<Option<Starts>, ReadErrorKind> {
    if !comment.starts_with(KEY) {
        return Ok(None);
    }
    if known {
        return Err(ReadErrorKind::StartsComment(
            "first states are given a second time".to_owned(),
        ));
    }
    let read = serde_json::from_str(comment);
    read.map(Some).map_err(|error| ReadErrorKind::StartsComment(error.to_string()))
}

/// The initial distribution of the chain that was read. States that were dropped on the way are left out, and
/// the others scaled up.
pub(super) fn initial(
    starts: &Starts,
    chain: &Chain,
    dropped: &[String],
) -> Result<Initial, ReadErrorKind> {
    let wrong = ReadErrorKind::StartsComment;
    let mut probabilities = vec![None; chain.len()];
    for (label, probability) in &starts.initial {
        if dropped.contains(label) {
            continue;
        }
        let state = chain.require(label).map_err(ReadErrorKind::UnknownState)?;
        if probabilities[state.index()].replace(*probability).is_some() {
            return Err(wrong(format!("the state {label:?} is there twice")));
        }
    }
    let mut probabilities: Vec<f64> =
        probabilities.into_iter().map(Option::unwrap_or_default).collect();
    if !dropped.is_empty() {
        let kept: f64 = probabilities.iter().sum();
        if kept <= 0.0 {
            return Err(wrong("walks start at states that were dropped only".to_owned()));
        }
        probabilities.iter_mut().for_each(|p| *p /= kept);
    }
    Initial::from_probabilities(chain, &probabilities).map_err(|error| wrong(error.to_string()))
}

/// The comment for the initial distribution of a chain.
pub(super) fn comment(chain: &Chain) -> String {
    let starts =
        chain.states().map(|state| (chain.label(state), chain.initial().probability(state)));
    let starts: Vec<(&str, f64)> = starts.filter(|(_, probability)| *probability > 0.0).collect();
    let starts = serde_json::to_string(&starts).expect("labels and numbers are always JSON");
    format!("{KEY} {starts}}}")
}
