//! What was estimated, for programs. `veilwalk score --estimate` takes it as it is.

use serde_json::{Value, json};
use veilwalk::inference::{Interval, Learned};
use veilwalk::{Chain, StateId};

use super::What;

pub(super) fn of(chain: &Chain, found: &Learned, what: What) -> Value {
    let expected = found.estimate.expected();
    let label = |state: StateId| chain.label(state);
    let visits = found.visits.iter().map(|visit| {
        with(json!({ "state": label(visit.of), "share": visit.share }), visit.interval)
    });
    let moves = found.moves.iter().map(|one| {
        let (from, to) = (label(one.of.0), label(one.of.1));
        with(json!({ "from": from, "to": to, "share": one.share }), one.interval)
    });
    let mut answer = json!({
        "walks": expected.walks() as u64,
        "iterations": found.estimate.rounds(),
        "log_likelihood": expected.log_likelihood(),
        "visits": visits.collect::<Value>(),
        "moves": moves.collect::<Value>(),
    });
    if what == What::Od {
        let trips = found.trips.iter().map(|trip| {
            let (origin, end) = (label(trip.of.0), label(trip.of.1));
            with(
                json!({ "origin": origin, "destination": end, "share": trip.share }),
                trip.interval,
            )
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
