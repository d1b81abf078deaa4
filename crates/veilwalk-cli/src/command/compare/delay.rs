//! What a delay buys: blocks of several lengths at the same guarantee, simulated, as a table with a
//! curve.

use std::fmt::Write;
use std::sync::Arc;

use anyhow::Result;
use comfy_table::CellAlignment;
use serde_json::{Value, json};
use veilwalk::analysis::Comparison;
use veilwalk::guarantee::Cover;
use veilwalk::internal::plan::affordable_walks;
use veilwalk::internal::simulate::{Estimate, RealWalks, SimulatedUtility, Simulation, simulate};
use veilwalk::mechanism::{BlockLength, Unit};
use veilwalk::{Design, Measure, Mechanism, Preset, Promise, Rule, unwatched};

use super::Setting;
use crate::args::{block_flag, block_value, counted};
use crate::command::analyze::refuse_too_long;
use crate::progress::with_progress;
use crate::{terminal, units};

/// The design that is released in blocks.
const DESIGN: Design = Design { rule: Rule::Exponential, ..Preset::Sharp.design() };

/// Blocks of several lengths at one promise.
pub(super) struct Delay {
    promise: Promise,
    /// Whether that promise protects nothing, so that no command would release walks under it.
    vacuous: bool,
    rows: Vec<Row>,
}

struct Row {
    length: BlockLength,
    /// The figures, or why there are none.
    outcome: Result<SimulatedUtility, String>,
}

impl Delay {
    /// Simulates every length, with the same seed.
    pub(super) fn new(
        setting: &Setting,
        lengths: &[BlockLength],
        promise: Promise,
        walks: Option<u64>,
    ) -> Result<Self> {
        let mut rows: Vec<Row> = Vec::new();
        for &length in lengths {
            refuse_too_long(length, setting.steps, "the walks")?;
            let made = Mechanism::in_blocks(Arc::clone(&setting.model), DESIGN, promise, length);
            let made = made.map_err(|refusal| refusal.to_string()).and_then(|mechanism| {
                let starts = mechanism.check_start(setting.start, &unwatched);
                starts.map(|()| mechanism).map_err(|refusal| refusal.to_string())
            });
            let outcome = match made {
                Ok(mechanism) => Ok(simulated(setting, &mechanism, length, walks)?),
                Err(refusal) => Err(refusal),
            };
            rows.push(Row { length, outcome });
        }
        let vacuous = Cover::new(&setting.model, promise.unit).is_vacuous();
        Ok(Self { promise, vacuous, rows })
    }

    pub(super) fn to_json(&self, chain_flags: &str) -> Value {
        let row = |row: &Row| {
            let mut value = json!({
                "block": block_value(row.length),
                "refused": row.outcome.as_ref().err(),
            });
            if let Ok(figures) = &row.outcome {
                value["walks"] = figures.walks.into();
                value["wrong_state_share"] = json!(figures.wrong_state_share);
                value["mean_distance_nats"] = json!(figures.mean_distance_nats);
                value["entropy_nats"] = json!(figures.entropy_nats);
                value["command"] =
                    json!((!self.vacuous).then(|| command(chain_flags, self.promise, row.length)));
            }
            value
        };
        let radius = match self.promise.unit {
            Unit::Radius(radius) => Some(radius.value().as_f64()),
            Unit::Substitutions(_) => None,
        };
        json!({
            "epsilon": self.promise.epsilon.value().as_f64(),
            "radius_nats": radius,
            "substitutions": match self.promise.unit {
                Unit::Radius(_) => None,
                Unit::Substitutions(count) => Some(count.get()),
            },
            "design": DESIGN.to_string(),
            "known": "simulated",
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    /// The table, with a bar for each figure, so that a column of bars is the curve.
    pub(super) fn section(&self, page: &mut String, comparisons: &[Comparison], chain_flags: &str) {
        let _ = writeln!(page, "\nWhat a delay buys: blocks of L steps at {}", self.promise);
        let about = format!(
            "The same guarantee for every L, with {DESIGN}. {}",
            match self.figures().next() {
                Some(figures) => {
                    let walks = counted(figures.walks as usize, "walk");
                    format!("Simulated over {walks}, with standard errors.")
                }
                None => String::new(),
            }
        );
        let _ = writeln!(page, "{}", terminal::wrapped(&about));
        let largest = |of: fn(&SimulatedUtility) -> Estimate| {
            self.figures().map(|figures| of(figures).mean).fold(0.0, f64::max)
        };
        let (most_wrong, farthest) =
            (largest(|f| f.wrong_state_share), largest(|f| f.mean_distance_nats));
        let mut table = terminal::table(&["L", "wrong states", "", "mean distance", ""]);
        for row in &self.rows {
            let Ok(figures) = &row.outcome else { continue };
            let (wrong, distance) = (figures.wrong_state_share, figures.mean_distance_nats);
            table.add_row([
                block_flag(row.length),
                with_error(wrong, 100.0, 2, " %"),
                bar(wrong.mean, most_wrong),
                match units::measure() {
                    Measure::Nats => with_error(distance, 1.0, 4, " nats"),
                    measure => {
                        let metres = measure.shown(1.0);
                        with_error(distance, metres, 1, &format!(" {}", measure.suffix()))
                    }
                },
                bar(distance.mean, farthest),
            ]);
        }
        for place in [0, 1, 3] {
            if let Some(column) = table.column_mut(place) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in terminal::lines(&table).lines() {
            let _ = writeln!(page, "  {line}");
        }
        for row in &self.rows {
            if let Err(why) = &row.outcome {
                let remark = format!("L = {}: {why}", block_flag(row.length));
                let _ = writeln!(page, "{}", terminal::wrapped(&remark));
            }
        }
        if let Some((preset, wrong)) = self.best_without_delay(comparisons)
            && let Some(best) = self.figures().map(|f| f.wrong_state_share.mean).reduce(f64::min)
        {
            let than = if wrong < best { "fewer than with any of these blocks" } else { "more" };
            let remark = format!(
                "Without any delay, {preset} has {:.2} % wrong states at the same promise: {than}.",
                100.0 * wrong
            );
            let _ = writeln!(page, "{}", terminal::wrapped(&remark));
            if wrong < best {
                return;
            }
        }
        let delayed = |row: &&Row| row.outcome.is_ok() && row.length.most_steps().get() > 1;
        if let Some(row) = self.rows.iter().rfind(delayed).filter(|_| !self.vacuous) {
            let _ = writeln!(page, "    {}", command(chain_flags, self.promise, row.length));
        }
    }

    /// The mechanism that releases state by state under the same promise with the fewest wrong states.
    fn best_without_delay(&self, comparisons: &[Comparison]) -> Option<(Preset, f64)> {
        let same =
            |comparison: &&Comparison| comparison.basis.promise(comparison.epsilon) == self.promise;
        let rows = comparisons.iter().filter(same).flat_map(|comparison| &comparison.rows);
        let measured = rows.filter_map(|row| {
            let measured = row.outcome.as_ref().ok()?;
            Some((row.preset, measured.utility.wrong_state_share))
        });
        measured.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn figures(&self) -> impl Iterator<Item = &SimulatedUtility> {
        self.rows.iter().filter_map(|row| row.outcome.as_ref().ok())
    }
}

fn simulated(
    setting: &Setting,
    mechanism: &Mechanism,
    length: BlockLength,
    walks: Option<u64>,
) -> Result<SimulatedUtility> {
    let (origin, steps) = (setting.origin, setting.steps);
    let simulation = Simulation {
        real: RealWalks::Own { origin, steps },
        start: setting.start,
        walks: walks.unwrap_or_else(|| affordable_walks(setting.model.chain(), steps)),
        seed: 1,
        levels: &[],
        etas: &[],
    };
    let label = format!("blocks of {}", block_flag(length));
    Ok(with_progress(&label, |watch| simulate(mechanism, simulation, watch))?)
}

fn command(chain_flags: &str, promise: Promise, length: BlockLength) -> String {
    let (chain, epsilon) = (chain_flags, promise.epsilon);
    let unit = match promise.unit {
        Unit::Radius(radius) => format!("--radius {radius}"),
        Unit::Substitutions(b) => format!("--substitutions {b}"),
    };
    let block = block_flag(length);
    format!("veilwalk privatize WALKS {chain} --epsilon {epsilon} {unit} --block {block}")
}

/// `13.42 % ± 0.10`.
fn with_error(estimate: Estimate, times: f64, digits: usize, unit: &str) -> String {
    let (mean, error) = (times * estimate.mean, times * estimate.standard_error);
    format!("{mean:.digits$}{unit} ± {error:.digits$}")
}

/// A bar whose length is a share of the longest, to an eighth of a character.
fn bar(value: f64, largest: f64) -> String {
    const WIDTH: f64 = 16.0;
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if largest <= 0.0 {
        return String::new();
    }
    let eighths = (value / largest * WIDTH * 8.0).round() as usize;
    // Something is shown for everything but zero.
    let eighths = if value > 0.0 { eighths.max(1) } else { eighths };
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_never_vanish() {
        assert_eq!(bar(2.0, 2.0), "█".repeat(16));
        assert_eq!(bar(1.0, 2.0), "█".repeat(8));
        assert_eq!(bar(0.27, 2.0), "██▏");
        assert_eq!(bar(1e-9, 2.0), "▏");
        assert_eq!(bar(0.0, 2.0), "");
        assert_eq!(bar(0.0, 0.0), "");
    }
}
