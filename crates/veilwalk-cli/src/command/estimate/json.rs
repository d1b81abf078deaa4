//! What was estimated, for programs. `veilwalk score --estimate` takes it as it is.

use serde_json::{Value, json};
use veilwalk::inference::Interval;

use super::{Found, What};

pub(super) fn of(found: &Found<'_>, what: What) -> Value {
    let chain = found.chain;
    let expected = found.estimate.expected();
    let visits = found.visits().into_iter().map(|(state, share, interval)| {
        with(json!({ "state": chain.label(state), "share": share }), interval)
    });
    let moves = found.moves().into_iter().map(|((from, to), share, interval)| {
        with(json!({ "from": chain.label(from), "to": chain.label(to), "share": share }), interval)
    });
    let mut answer = json!({
        "walks": expected.walks() as u64,
        "iterations": found.estimate.rounds(),
        "log_likelihood": expected.log_likelihood(),
        "visits": visits.collect::<Value>(),
        "moves": moves.collect::<Value>(),
    });
    if what == What::Od {
        let trips = found.trips().into_iter().map(|((origin, end), share, interval)| {
            let (origin, end) = (chain.label(origin), chain.label(end));
            with(json!({ "origin": origin, "destination": end, "share": share }), interval)
        });
        answer["od"] = trips.collect();
    }
    answer
}

fn with(mut entry: Value, interval: Option<Interval>) -> Value {
    if let Some(Interval { low, high }) = interval {
        (entry["low"], entry["high"]) = (low.into(), high.into());
    }
    entry
}
