//! The analysis for programs.

use anyhow::Result;
use serde_json::{Value, json};
use veilwalk::analysis::Findings;

use super::Subject;
use crate::args::block_value;

pub(super) fn answer(subject: &Subject, found: &Findings, by_step: bool) -> Result<Value> {
    let mut answer = serde_json::to_value(found)?;
    let fields = answer.as_object_mut().expect("figures are an object");
    let [distance, wrong] = ["distance_by_step", "wrong_by_step"].map(|name| fields.remove(name));
    if !by_step {
        strip_steps(answer.pointer_mut("/exceedance"));
        strip_steps(answer.pointer_mut("/simulated/exceedance"));
    } else if distance.is_some() {
        answer["by_step"] = json!({"distance_nats": distance, "wrong_state": wrong});
    }
    name(&mut answer, subject);
    Ok(answer)
}

/// What was analyzed.
fn name(answer: &mut Value, subject: &Subject) {
    answer["mechanism"] = subject.mechanism.as_str().into();
    answer["promise"] = subject.promise.as_str().into();
    answer["block"] = subject.block.map_or(Value::Null, block_value);
    answer["real_walks"] = subject.walks.as_str().into();
    answer["start"] = subject.start.1.as_str().into();
    answer["impossible_moves"] = subject.impossible_moves.into();
    answer["states"] = subject.states.into();
    answer["transitions"] = subject.transitions.into();
}

/// Takes the lists of every step out of exceedances, where there are any.
fn strip_steps(exceedance: Option<&mut Value>) {
    for level in exceedance.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(level) = level.as_object_mut() {
            level.retain(|name, _| name != "at_step" && name != "ever_by_step");
        }
    }
}
