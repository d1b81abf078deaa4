//! The analysis for programs.

use anyhow::Result;
use serde_json::{Value, json};
use veilwalk::analysis::bounds::{EntropyBound, ErrorBound, TypicalityBound};

use super::Subject;
use super::figures::{Analysis, TypicalFigure};

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
    answer["mechanism"] = subject.mechanism.as_str().into();
    answer["promise"] = subject.promise.as_str().into();
    answer["real_walks"] = subject.walks.as_str().into();
    answer["start"] = subject.start.1.as_str().into();
    answer["impossible_moves"] = subject.impossible_moves.into();
    answer["states"] = subject.states.into();
    answer["transitions"] = subject.transitions.into();
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
    let left_out = analysis.left_out.iter();
    answer["left_out"] = left_out.map(|left| json!({"what": left.what, "why": left.why})).collect();
    Ok(answer)
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
