//! Figures for programs, in what distances are counted in.
//!
//! The core counts distances in 2²⁰ units and calls that a nat, which it is where distances are information. Where they
//! are metres, `mean_distance_nats` is given as `mean_distance_metres`, and a loss for each nat as one for each metre.
//! Entropies are information on every chain, and stay in nats.

use serde_json::{Map, Value};
use veilwalk::Measure;

/// What ends in `_nats` and is information.
const INFORMATION: [&str; 4] =
    ["entropy_nats", "real_entropy_nats", "entropy_rate_nats", "entropy_gap_nats"];

/// Turns all distances in a figure into the measure, and their names with them. Nothing is changed for nats.
pub fn in_measure(value: &mut Value, measure: Measure) {
    if measure == Measure::Nats {
        return;
    }
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| in_measure(value, measure)),
        Value::Object(fields) => {
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(name, value)| renamed(name, value, measure))
                .collect::<Map<_, _>>();
        }
        _ => {}
    }
}

fn renamed(name: String, mut value: Value, measure: Measure) -> (String, Value) {
    if INFORMATION.contains(&name.as_str()) {
        return (name, value);
    }
    // A scale that is a text is an exact fraction, and stays what it is.
    if name.contains("per_nat") || name == "scale" {
        each(&mut value, &|rate| measure.shown_rate(rate));
        return (name.replace("per_nat", &format!("per_{}", measure.one())), value);
    }
    if name == "nats" || name.ends_with("_nats") {
        in_measure(&mut value, measure);
        each(&mut value, &|distance| measure.shown(distance));
        return (name.replace("nats", measure.name()), value);
    }
    in_measure(&mut value, measure);
    (name, value)
}

/// Every number in a value.
fn each(value: &mut Value, change: &dyn Fn(f64) -> f64) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| each(value, change)),
        Value::Object(fields) => fields.values_mut().for_each(|value| each(value, change)),
        Value::Number(number) => {
            if let Some(number) = number.as_f64() {
                *value = change(number).into();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn distances_are_metres_and_entropies_are_not() {
        let mut value = json!({
            "mean_distance_nats": 0.25,
            "entropy_nats": {"released": 0.5},
            "loss_per_nat": {"exact": 1.0, "bound": null},
            "levels": [{"nats": 0.5, "per_step": 0.1}],
            "share": 0.5,
        });
        let before = value.clone();
        in_measure(&mut value, Measure::Nats);
        assert_eq!(value, before);
        in_measure(&mut value, Measure::Metres);
        assert_eq!(
            value,
            json!({
                "mean_distance_metres": 262.144,
                "entropy_nats": {"released": 0.5},
                "loss_per_metre": {"exact": 1000.0 / 1_048_576.0, "bound": null},
                "levels": [{"metres": 524.288, "per_step": 0.1}],
                "share": 0.5,
            })
        );
    }
}
