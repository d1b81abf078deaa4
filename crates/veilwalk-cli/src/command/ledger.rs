//! `veilwalk ledger`: what was spent on each walk.

use std::path::PathBuf;

use anyhow::Result;
use comfy_table::CellAlignment;
use serde_json::json;
use veilwalk_io::Ledger;

use crate::args::Format;
use crate::terminal;

/// Look at a budget ledger
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Show(Show),
}

/// Print how much epsilon was spent on each walk
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The ledger
    ledger: PathBuf,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(command: &Command) -> Result<()> {
    let Command::Show(args) = command;
    let ledger = Ledger::open_existing(&args.ledger)?;
    let (scope, entries) = (ledger.scope()?, ledger.entries()?);
    match args.format {
        Format::Json => {
            let walks: serde_json::Map<_, _> = entries
                .into_iter()
                .map(|entry| {
                    let spent = json!({
                        "epsilon": entry.spent.as_f64(),
                        "exact": entry.spent.to_string(),
                        "releases": entry.releases,
                    });
                    (entry.trajectory, spent)
                })
                .collect();
            let answer = json!({ "chain": scope.chain, "unit": scope.unit, "spent": walks });
            terminal::print(format_args!("{answer:#}"))?;
        }
        Format::Text => {
            terminal::note(format!("epsilon for {}, chain {}", scope.unit, scope.chain));
            let mut table = terminal::table(&["trajectory", "epsilon", "releases"]);
            for entry in entries {
                let (spent, releases) = (entry.spent.to_string(), entry.releases.to_string());
                table.add_row([entry.trajectory, spent, releases]);
            }
            for column in table.column_iter_mut().skip(1) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            terminal::print(terminal::lines(&table))?;
        }
    }
    Ok(())
}
