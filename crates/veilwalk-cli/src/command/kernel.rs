//! `veilwalk kernel`: the exact distribution of the next released state.

use anyhow::Result;
use comfy_table::CellAlignment;
use serde_json::json;

use crate::args::{self, ChainArgs, Format, MechanismArgs};
use crate::terminal;

/// Print the exact distribution of the next released state
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The state that was released last
    #[arg(long, value_name = "STATE")]
    previous: String,

    /// The state that the real walk is in now
    #[arg(long, value_name = "STATE")]
    real: String,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    #[command(flatten)]
    chain: ChainArgs,

    #[command(flatten)]
    mechanism: MechanismArgs,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let model = args.chain.any_model()?;
    let chain = model.chain();
    let previous = args::state(chain, "--previous", &args.previous)?;
    let real = args::state(chain, "--real", &args.real)?;
    let chosen = args.mechanism.on(&model)?;
    let kernel = chosen.mechanism.kernel(previous, real);
    let labels = chain.successors(previous).iter().map(|&state| chain.label(state));
    match args.format {
        Format::Json => {
            let probabilities: serde_json::Map<_, _> =
                labels.zip(&kernel).map(|(label, p)| (label.to_owned(), json!(p))).collect();
            let answer = json!({
                "mechanism": chosen.name,
                "previous": args.previous,
                "real": args.real,
                "probabilities": probabilities,
            });
            terminal::print(format_args!("{answer:#}"))?;
        }
        Format::Text => {
            let mut table = terminal::table(&["released", "probability"]);
            for (label, p) in labels.zip(&kernel) {
                table.add_row([label.to_owned(), format!("{p:.6}")]);
            }
            if let Some(column) = table.column_mut(1) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            terminal::note(format!(
                "after {}, when the real state is {} ({}, {})",
                args.previous, args.real, chosen.name, chosen.promise
            ));
            terminal::print(terminal::lines(&table))?;
        }
    }
    Ok(())
}
