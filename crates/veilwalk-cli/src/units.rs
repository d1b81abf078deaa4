//! What distances are shown in: nats, metres, or the units of a table.
//!
//! A command works with one model, and all that it says of distances is in that model's measure. The model says
//! which when it is opened; until then it is nats.

use std::sync::OnceLock;

use serde_json::Value;
use veilwalk::{Measure, Nats};

static MEASURE: OnceLock<Measure> = OnceLock::new();

/// Settles what distances are shown in. The first model that is opened decides.
pub(crate) fn settle(measure: Measure) {
    let _ = MEASURE.set(measure);
}

/// What distances are shown in.
pub(crate) fn measure() -> Measure {
    MEASURE.get().copied().unwrap_or_default()
}

/// A distance with its unit.
pub(crate) fn distance(distance: Nats) -> String {
    measure().distance(distance)
}

/// A figure that is a distance, as the core has it, with its unit: with as many digits as are of use.
pub(crate) fn figure(value: f64) -> String {
    match measure() {
        Measure::Nats => nats(value),
        measure => match measure.shown(value) {
            v if !v.is_finite() => "infinite".to_owned(),
            v if v.abs() >= 1e6 => measure.with_unit(format!("{v:.2e}")),
            v if v == 0.0 || v.abs() >= 10.0 => measure.with_unit(format!("{v:.1}")),
            v if v.abs() >= 0.01 => measure.with_unit(format!("{v:.3}")),
            v => measure.with_unit(format!("{v:.2e}")),
        },
    }
}

/// A number of nats: of information, whatever distances are in.
pub(crate) fn nats(value: f64) -> String {
    match value {
        v if !v.is_finite() => "infinite".to_owned(),
        v if v.abs() >= 1e6 => format!("{v:.2e} nats"),
        v if v != 0.0 && v.abs() < 1e-3 => format!("{v:.3e} nats"),
        v => format!("{v:.4} nats"),
    }
}

/// A number of the core's, as short as it is, with its unit: for levels and radii.
pub(crate) fn number(value: f64) -> String {
    measure().in_words(value)
}

/// A number that somebody gave in the measure, as the core has it.
pub(crate) fn inside(value: f64) -> f64 {
    measure().inside(value)
}

/// Figures for programs in the measure.
pub(crate) fn json(mut value: Value) -> Value {
    veilwalk_io::in_measure(&mut value, measure());
    value
}
