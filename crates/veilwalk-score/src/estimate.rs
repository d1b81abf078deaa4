//! What was estimated from a release, as `veilwalk estimate --format json` writes it.

use serde_json::Value;
use thiserror::Error;
use veilwalk::{Chain, StateId};

use crate::shares::Shares;
use crate::statistics::Statistics;

/// What is wrong with what should be an estimate.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NotAnEstimate(String);

type Result<T> = std::result::Result<T, NotAnEstimate>;

/// How often a state was visited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimatedVisit {
    /// The state.
    pub state: StateId,
    /// The share of all visits that it has.
    pub share: f64,
    /// The interval in which that share is, if one was estimated.
    pub interval: Option<(f64, f64)>,
}

/// Reads how often states were visited, with intervals where there are some.
///
/// # Errors
///
/// If something else is there than shares of the chain's states.
pub fn read_visits(json: &Value, chain: &Chain) -> Result<Vec<EstimatedVisit>> {
    let visit = |entry: &Value| {
        let state = state(entry, "visits", "state", chain)?;
        let share = share(entry, "visits")?;
        let bound = |key| entry.get(key).and_then(Value::as_f64).filter(|bound| bound.is_finite());
        Ok(EstimatedVisit { state, share, interval: bound("low").zip(bound("high")) })
    };
    list(json, "visits")?.iter().map(visit).collect()
}

/// Reads the shares of visits, of moves, and of first and last states together, as far as they are there.
///
/// # Errors
///
/// If something else is there than shares of the chain's states.
pub fn read_estimate(json: &Value, chain: &Chain) -> Result<Statistics> {
    let pairs = |key, from, to| -> Result<Vec<(StateId, StateId, f64)>> {
        let entries = list(json, key)?.iter().map(|entry| {
            let ends = (state(entry, key, from, chain)?, state(entry, key, to, chain)?);
            Ok((ends.0, ends.1, share(entry, key)?))
        });
        entries.collect()
    };
    let shares = |pairs: &[(StateId, StateId, f64)]| {
        Shares::of_counts(pairs.iter().map(|&(a, b, p)| (Statistics::pair(a, b), p)).collect())
    };
    let mut found = Statistics::default();
    if json.get("visits").is_some() || ["moves", "od"].iter().all(|key| json.get(key).is_none()) {
        let mut visits = vec![0.0; chain.len()];
        for visit in read_visits(json, chain)? {
            visits[visit.state.index()] += visit.share;
        }
        found.visits = Some(normalized(visits)?);
    }
    if json.get("moves").is_some() {
        found.moves = Some(shares(&pairs("moves", "from", "to")?));
    }
    if json.get("od").is_some() {
        let trips = pairs("od", "origin", "destination")?;
        found.trips = Some(shares(&trips));
        // Where trips start is the one half of where they start and end.
        let mut starts = vec![0.0; chain.len()];
        trips.iter().for_each(|&(origin, _, share)| starts[origin.index()] += share);
        found.starts = Some(normalized(starts)?);
    }
    Ok(found)
}

fn list<'a>(json: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    let list = json.get(key).and_then(Value::as_array);
    list.ok_or_else(|| {
        NotAnEstimate(format!("{key:?} is not a list; it should hold one object for each share"))
    })
}

fn state(entry: &Value, list: &str, key: &str, chain: &Chain) -> Result<StateId> {
    let Some(label) = entry.get(key).and_then(Value::as_str) else {
        return Err(NotAnEstimate(format!("an entry of {list:?} has no text {key:?}: {entry}")));
    };
    chain.require(label).map_err(|unknown| NotAnEstimate(format!("{list:?}: {unknown}")))
}

fn share(entry: &Value, list: &str) -> Result<f64> {
    let share = entry.get("share").and_then(Value::as_f64);
    match share.filter(|share| share.is_finite() && *share >= 0.0) {
        Some(share) => Ok(share),
        None => Err(NotAnEstimate(format!(
            "an entry of {list:?} has no \"share\" from zero up: {entry}"
        ))),
    }
}

fn normalized(shares: Vec<f64>) -> Result<Vec<f64>> {
    let sum: f64 = shares.iter().sum();
    if sum <= 0.0 {
        return Err(NotAnEstimate("all of its shares are zero".to_owned()));
    }
    Ok(shares.into_iter().map(|share| share / sum).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shares_are_read_and_what_is_none_is_named() {
        let chain = Chain::credit();
        let estimate = json!({
            "walks": 2, "iterations": 9, "log_likelihood": -3.5,
            "visits": [{"state": "B", "share": 0.75, "low": 0.7, "high": 0.8}, {"state": "Ba", "share": 0.25}],
            "moves": [{"from": "B", "to": "Ba", "share": 1.0}],
            "od": [{"origin": "B", "destination": "Ba", "share": 0.5}, {"origin": "Ba", "destination": "Ba", "share": 0.5}],
        });
        let found = read_estimate(&estimate, &chain).unwrap();
        let b = chain.state("B").unwrap();
        assert_eq!(found.visits.unwrap()[b.index()], 0.75);
        assert_eq!(found.starts.unwrap()[b.index()], 0.5);
        let visits = json!({ "visits": estimate["visits"] });
        let intervals = read_visits(&visits, &chain).unwrap();
        assert_eq!(
            intervals.iter().map(|v| v.interval).collect::<Vec<_>>(),
            [Some((0.7, 0.8)), None]
        );
        assert!(read_estimate(&visits, &chain).unwrap().moves.is_none());
        for (bad, word) in [
            (json!({}), "\"visits\" is not a list"),
            (json!({"visits": [{"state": "X", "share": 1}]}), "\"X\" is not a state"),
            (json!({"visits": [{"share": 1}]}), "no text \"state\""),
            (json!({"visits": [{"state": "B"}]}), "no \"share\""),
            (json!({"visits": [{"state": "B", "share": -1}]}), "no \"share\" from zero up"),
            (json!({"visits": []}), "zero"),
        ] {
            let error = read_estimate(&bad, &chain).unwrap_err().to_string();
            assert!(error.contains(word), "no {word:?} in {error}");
        }
    }
}
