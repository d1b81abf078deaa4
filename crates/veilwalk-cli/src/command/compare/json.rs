//! The comparison for programs.

use serde_json::{Map, Value, json};

use super::delay::Delay;
use super::row::{Basis, Measured, Purpose, Row};
use super::{Comparison, Setting};

pub(super) fn answer(
    setting: &Setting<'_>,
    walks: &str,
    start: &str,
    comparisons: &[Comparison],
    delays: &[Delay],
) -> Value {
    json!({
        "states": setting.model.chain().len(),
        "transitions": setting.model.chain().transitions(),
        "real_walks": walks,
        "start": start,
        "steps": setting.steps,
        "comparisons": comparisons.iter().map(comparison).collect::<Vec<_>>(),
        "delays": delays.iter().map(Delay::to_json).collect::<Vec<_>>(),
    })
}

fn comparison(comparison: &Comparison) -> Value {
    let (basis, radius) = match comparison.basis {
        Basis::Radius(radius) => ("equal_epsilon_and_radius", Some(radius.value().as_f64())),
        Basis::Loss => ("equal_substitution_loss", None),
    };
    let winners: Map<String, Value> = Purpose::ALL
        .iter()
        .filter_map(|&purpose| {
            let (row, measured) = comparison.winner(purpose)?;
            let winner = json!({
                "mechanism": row.preset.name(),
                "figure": purpose.figure(&measured.utility),
                "command": comparison.vacuous.is_none().then_some(&row.command),
            });
            Some((purpose.key().to_owned(), winner))
        })
        .collect();
    json!({
        "basis": basis,
        "epsilon": comparison.epsilon.value().as_f64(),
        "radius_nats": radius,
        "vacuous": comparison.vacuous.is_some(),
        "rows": comparison.rows.iter().map(row).collect::<Vec<_>>(),
        "winners": winners,
    })
}

fn row(row: &Row) -> Value {
    let mut value = json!({
        "mechanism": row.preset.name(),
        "remark": row.remark,
        "refused": row.outcome.as_ref().err(),
    });
    if let Ok(Measured { utility, loss, figures }) = &row.outcome {
        value["mean_distance_nats"] = utility.mean_distance_nats.into();
        value["wrong_state_share"] = utility.wrong_state_share.into();
        value["entropy_nats"] = json!(utility.entropy_nats);
        let levels = utility.exceedance.iter();
        value["exceedance"] = levels
            .map(
                |level| json!({"nats": level.nats, "per_step": level.per_step, "ever": level.ever}),
            )
            .collect();
        value["substitution_loss"] = json!({"max": loss, "figures": figures});
        value["command"] = row.command.as_str().into();
    }
    value
}
