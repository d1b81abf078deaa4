//! What was estimated from a release, as the JSON that `veilwalk estimate` writes.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use veilwalk::{Chain, StateId};

use crate::args::read_bytes;

/// How often a state was visited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Visit {
    pub(crate) state: StateId,
    pub(crate) share: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

/// Reads a file of estimates.
pub(crate) fn read(path: &Path) -> Result<Value> {
    let name = path.display();
    let bytes = read_bytes(&path.to_owned())?;
    serde_json::from_slice(&bytes)
        .with_context(|| format!("{name}: this is not JSON; --estimate takes a file of estimates"))
}

/// Reads how often states were visited.
pub(crate) fn visits(path: &Path, chain: &Chain) -> Result<Vec<Visit>> {
    let json = read(path)?;
    let each = || list(&json, "visits")?.iter().map(|entry| visit(entry, chain)).collect();
    let visits: Result<Vec<_>> = each();
    visits.with_context(|| format!("{}: this is not an estimate", path.display()))
}

fn visit(entry: &Value, chain: &Chain) -> Result<Visit> {
    let (state, share) = (state(entry, "visits", "state", chain)?, share(entry, "visits")?);
    let bound = |key| entry.get(key).and_then(Value::as_f64).filter(|bound| bound.is_finite());
    Ok(Visit { state, share, interval: bound("low").zip(bound("high")) })
}

/// A list of shares.
pub(crate) fn list<'a>(json: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    let list = json.get(key).and_then(Value::as_array);
    list.ok_or_else(|| anyhow!("{key:?} is not a list; it should hold one object for each share"))
}

/// The state that an entry of a list names.
pub(crate) fn state(entry: &Value, list: &str, key: &str, chain: &Chain) -> Result<StateId> {
    let Some(label) = entry.get(key).and_then(Value::as_str) else {
        bail!("an entry of {list:?} has no text {key:?}: {entry}");
    };
    chain.require(label).with_context(|| format!("{list:?}"))
}

/// The share of an entry of a list.
pub(crate) fn share(entry: &Value, list: &str) -> Result<f64> {
    let share = entry.get("share").and_then(Value::as_f64);
    match share.filter(|share| share.is_finite() && *share >= 0.0) {
        Some(share) => Ok(share),
        None => bail!("an entry of {list:?} has no \"share\" from zero up: {entry}"),
    }
}
