//! The analysis for programs.

use anyhow::Result;
use serde_json::{Value, json};
use veilwalk::analysis::Analysis;
use veilwalk::internal::plan::LeftOut;
use veilwalk::internal::simulate::SimulatedUtility;

use super::Subject;
use crate::args::block_value;

pub(super) fn answer(subject: &Subject, analysis: &Analysis, by_step: bool) -> Result<Value> {
    let mut answer = serde_json::to_value(analysis)?;
    let steps = [answer["distance_by_step"].take(), answer["wrong_by_step"].take()];
    let fields = answer.as_object_mut().expect("figures are an object");
    for name in ["distance_by_step", "wrong_by_step"] {
        fields.remove(name);
    }
    if by_step {
        let [distance, wrong] = steps;
        fields.insert("by_step".into(), json!({"distance_nats": distance, "wrong_state": wrong}));
    } else {
        strip_steps(&mut answer["exceedance"]);
    }
    name(&mut answer, subject);
    if !by_step && analysis.simulated.is_some() {
        strip_steps(&mut answer["simulated"]["exceedance"]);
    }
    Ok(answer)
}

/// The same where nothing is exact: all figures are under `simulated`.
pub(super) fn simulated_answer(
    subject: &Subject,
    simulated: &SimulatedUtility,
    not_done: &[LeftOut],
    by_step: bool,
) -> Result<Value> {
    let mut answer = json!({
        "simulated": serde_json::to_value(simulated)?,
        "left_out": not_done,
    });
    name(&mut answer, subject);
    if !by_step {
        strip_steps(&mut answer["simulated"]["exceedance"]);
    }
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

/// Takes the lists of every step out of exceedances.
fn strip_steps(exceedance: &mut Value) {
    for level in exceedance.as_array_mut().into_iter().flatten() {
        if let Some(level) = level.as_object_mut() {
            level.retain(|name, _| name != "at_step" && name != "ever_by_step");
        }
    }
}
