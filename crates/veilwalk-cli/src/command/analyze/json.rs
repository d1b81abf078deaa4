//! The analysis for programs.

use anyhow::Result;
use serde_json::{Value, json};
use veilwalk::analysis::bounds::{EntropyBound, ErrorBound, TypicalityBound};
use veilwalk::analysis::simulate::SimulatedUtility;

use super::Subject;
use super::figures::{Analysis, LeftOut, TypicalFigure};
use crate::args::block_value;

pub(super) fn answer(subject: &Subject, analysis: &Analysis, by_step: bool) -> Result<Value> {
    let mut answer = serde_json::to_value(&analysis.utility)?;
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
    answer["typical"] = analysis.typical.iter().map(typical).collect();
    answer["drift"] = serde_json::to_value(analysis.drift)?;
    answer["long_run"] = serde_json::to_value(analysis.long_run)?;
    answer["second_eigenvalue"] = serde_json::to_value(analysis.second_eigenvalue)?;
    answer["mixing_time"] = match analysis.mixing {
        Some(mixing) => json!({"real_chain": mixing.chain, "pair": mixing.pair}),
        None => Value::Null,
    };
    answer["bounds"] = bounds(analysis)?;
    answer["simulated"] = serde_json::to_value(&analysis.simulated)?;
    if !by_step && analysis.simulated.is_some() {
        strip_steps(&mut answer["simulated"]["exceedance"]);
    }
    answer["left_out"] = left_out(&analysis.left_out);
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
        "left_out": left_out(not_done),
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

fn left_out(left_out: &[LeftOut]) -> Value {
    left_out.iter().map(|left| json!({"what": left.what, "why": left.why})).collect()
}

/// Takes the lists of every step out of exceedances.
fn strip_steps(exceedance: &mut Value) {
    for level in exceedance.as_array_mut().into_iter().flatten() {
        if let Some(level) = level.as_object_mut() {
            level.retain(|name, _| name != "at_step" && name != "ever_by_step");
        }
    }
}

fn typical(figure: &TypicalFigure) -> Value {
    match figure {
        TypicalFigure::Enclosed(enclosed) => json!({
            "eta": enclosed.eta,
            "known": if enclosed.at_least == enclosed.at_most { "exact" } else { "enclosed" },
            "at_least": enclosed.at_least,
            "at_most": enclosed.at_most,
        }),
        TypicalFigure::Simulated { eta, released, walks } => json!({
            "eta": eta,
            "known": "simulated",
            "mean": released.mean,
            "standard_error": released.standard_error,
            "walks": walks,
        }),
    }
}

fn bounds(analysis: &Analysis) -> Result<Value> {
    let bounds = &analysis.bounds;
    let error = match &bounds.error {
        Some((levels, constants)) => json!({
            "levels": levels,
            "published_constants": constants,
            "published_note": ErrorBound::NOTE,
        }),
        None => Value::Null,
    };
    let entropy = match &bounds.entropy {
        Some(entropy) => {
            let mut value = serde_json::to_value(entropy)?;
            value["published_note"] = EntropyBound::NOTE.into();
            value
        }
        None => Value::Null,
    };
    let typicality = match &bounds.typicality {
        Some(figures) => json!({"etas": figures, "published_note": TypicalityBound::NOTE}),
        None => Value::Null,
    };
    Ok(json!({"error": error, "entropy": entropy, "typicality": typicality}))
}
