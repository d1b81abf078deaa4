//! The third comparison: mechanisms at equal success of an attacker.

use std::fmt::Write;

use anyhow::{Result, bail};
use comfy_table::CellAlignment;
use serde_json::{Value, json};
use veilwalk::analysis::{Comparison, Setting};
use veilwalk::internal::compare::{AtSuccess, Purpose, at_success, attacked};
use veilwalk::mechanism::Epsilon;
use veilwalk::{Preset, Promise};

use crate::args::counted;
use crate::command::analyze::percent;
use crate::progress::with_labelled_progress;
use crate::terminal;

/// The share of right guesses that mechanisms are brought to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wanted {
    /// As many as the closest mechanism of the first comparison gives away.
    AsTheClosest,
    /// This share.
    Share(f64),
}

pub(super) fn parse(text: &str) -> Result<Wanted, String> {
    match (text, text.parse::<f64>()) {
        ("closest", _) => Ok(Wanted::AsTheClosest),
        (_, Ok(share)) if share > 0.0 && share < 1.0 => Ok(Wanted::Share(share)),
        _ => {
            Err("give a share of right guesses between 0 and 1, such as 0.8, or `closest`"
                .to_owned())
        }
    }
}

/// All mechanisms at one share of right guesses.
pub(super) struct Success {
    promise: Promise,
    share: f64,
    rows: Vec<AtSuccess>,
}

impl Success {
    pub(super) fn new(
        setting: &Setting,
        presets: &[Preset],
        wanted: Wanted,
        first: &Comparison,
    ) -> Result<Self> {
        let epsilon: Epsilon = first.epsilon;
        let promise = first.basis.promise(epsilon);
        let share = match wanted {
            Wanted::Share(share) => share,
            Wanted::AsTheClosest => {
                let Some((row, _)) = first.winner(Purpose::Closeness) else {
                    bail!("no mechanism keeps {promise}, so there is no attacker to equal");
                };
                let found = with_labelled_progress(|tell| {
                    attacked(setting, row.preset, promise, &|progress| {
                        tell(&format!("{}: {}", row.preset, progress.stage), progress.share)
                    })
                })?;
                found.map_err(anyhow::Error::msg)?.state.attacker
            }
        };
        let rows = presets.iter().map(|&preset| {
            with_labelled_progress(|tell| {
                at_success(setting, preset, promise.unit, share, &|progress| {
                    tell(&format!("{preset}: {}", progress.stage), progress.share)
                })
            })
        });
        let rows = rows.collect::<Result<_, _>>()?;
        Ok(Self { promise, share, rows })
    }

    pub(super) fn to_json(&self) -> Value {
        let row = |row: &AtSuccess| match &row.outcome {
            Ok((epsilon, found)) => {
                let mut value = json!(found);
                value["mechanism"] = row.preset.name().into();
                value["epsilon"] = json!(epsilon.value().as_f64());
                value
            }
            Err(why) => json!({ "mechanism": row.preset.name(), "refused": why }),
        };
        json!({
            "basis": "equal_attacker_success",
            "attacker": self.share,
            "unit": self.promise.unit.to_string(),
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    pub(super) fn section(&self, page: &mut String) {
        let _ = writeln!(
            page,
            "\nAt equal success of an attacker: {} of states are guessed right by somebody who knows the chain",
            percent(self.share)
        );
        let walks = self.rows.iter().find_map(|row| Some(row.outcome.as_ref().ok()?.1.walks));
        let about = format!(
            "Each mechanism has the epsilon for {} at which that is so, found by bisection{}. \
             Of use: right released states for each right guess.",
            self.promise.unit,
            walks.map_or(String::new(), |walks| format!(
                " over {}",
                counted(walks, "simulated walk")
            ))
        );
        let _ = writeln!(page, "{}", terminal::wrapped(&about));
        let header = ["mechanism", "epsilon", "guessed", "released right", "of use", "chain alone"];
        let mut table = terminal::table(&header);
        for row in &self.rows {
            let Ok((epsilon, found)) = &row.outcome else { continue };
            let error = 100.0 * found.state.standard_error;
            table.add_row([
                row.preset.to_string(),
                format!("{:.3}", epsilon.value().as_f64()),
                format!("{} ±{error:.1}", percent(found.state.attacker)),
                percent(found.state.release),
                format!("{:.2}", found.efficiency),
                percent(found.state.chain_alone),
            ]);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for line in terminal::lines(&table).lines() {
            let _ = writeln!(page, "  {line}");
        }
        for row in &self.rows {
            if let Err(why) = &row.outcome {
                let _ = writeln!(page, "{}", terminal::wrapped(&format!("{}: {why}", row.preset)));
            }
        }
    }
}
