//! The comparison for programs.

use anyhow::Result;
use serde_json::{Value, json};
use veilwalk::Preset;
use veilwalk::analysis::{Comparison, Setting};

use super::command;
use super::delay::Delay;

pub(super) fn answer(
    setting: &Setting,
    walks: &str,
    start: &str,
    comparisons: &[Comparison],
    delays: &[Delay],
    chain_flags: &str,
) -> Result<Value> {
    let comparisons = comparisons.iter().map(|each| comparison(each, chain_flags));
    Ok(json!({
        "states": setting.model.chain().len(),
        "transitions": setting.model.chain().transitions(),
        "real_walks": walks,
        "start": start,
        "steps": setting.steps,
        "comparisons": comparisons.collect::<Result<Vec<_>>>()?,
        "delays": delays.iter().map(|delay| delay.to_json(chain_flags)).collect::<Vec<_>>(),
    }))
}

/// The figures, with the commands that release walks.
fn comparison(comparison: &Comparison, chain_flags: &str) -> Result<Value> {
    let mut value = serde_json::to_value(comparison)?;
    let command = |preset: Preset| Value::from(command(chain_flags, comparison, preset));
    for (row, figures) in comparison.rows.iter().zip(0..) {
        if row.outcome.is_ok() {
            value["rows"][figures]["command"] = command(row.preset);
        }
    }
    for winner in value["winners"].as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
        let preset = winner["mechanism"].as_str().and_then(|name| name.parse().ok());
        let protects = comparison.vacuous.is_none();
        winner["command"] = preset.filter(|_| protects).map_or(Value::Null, command);
    }
    Ok(value)
}
