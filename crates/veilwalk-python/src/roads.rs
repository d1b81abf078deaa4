//! Chains of maps.

use std::path::PathBuf;

use pyo3::prelude::*;
use veilwalk::internal::request::Span;
use veilwalk_roads::{Away, ChainOptions, Mode, RoadMap, StatesAre, Tick, Turns};

use crate::chain::Chain;
use crate::error::{chain_error, parameter_error};

/// The chain of a map of OpenStreetMap, which says what was dropped of it.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn osm_chain(
    py: Python<'_>,
    path: PathBuf,
    mode: &str,
    states: &str,
    turns: &str,
    counts: Option<PathBuf>,
    every: Option<String>,
    speed: Option<f64>,
    away: Option<String>,
) -> PyResult<Chain> {
    let mode: Mode = mode.parse().map_err(|error| parameter_error(format!("mode: {error}")))?;
    let states = match states {
        "segments" => StatesAre::Segments,
        "crossings" => StatesAre::Crossings,
        other => {
            let message = format!("states: {other:?} is neither \"segments\" nor \"crossings\"");
            return Err(parameter_error(message));
        }
    };
    let turns = match (counts, turns) {
        (Some(path), _) => Turns::Counted(path),
        (None, "even") => Turns::Even,
        (None, "class") => Turns::ByClass,
        (None, other) => {
            let message = format!("turns: {other:?} is neither \"even\" nor \"class\"");
            return Err(parameter_error(message));
        }
    };
    let tick = every.map(|every| -> PyResult<Tick> {
        let span: Span =
            every.parse().map_err(|error| parameter_error(format!("every: {error}")))?;
        Ok(Tick { seconds: span.seconds(), speed })
    });
    if speed.is_some_and(|speed| !(1.0..=300.0).contains(&speed)) {
        return Err(parameter_error("speed: give a speed between 1 and 300 km/h"));
    }
    let options = ChainOptions { states, turns, tick: tick.transpose()?, away: away.map(Away) };
    let map = RoadMap::read(&path, mode).map_err(chain_error)?;
    let (chain, report) = map.chain(&options).map_err(chain_error)?;
    let mut notes = Vec::new();
    if !report.dropped_states.is_empty() {
        notes.push(format!(
            "{} states with {:.1} km of streets dropped: not all reach the others and are reached from them",
            report.dropped_states.len(),
            report.dropped_metres / 1000.0
        ));
    }
    Ok(Chain::new(py, chain, notes))
}
