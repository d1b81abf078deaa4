//! `veilwalk kernel`: the exact distribution of the next released state.

use anyhow::Result;
use comfy_table::CellAlignment;
use serde_json::json;

use crate::args::{ChainArgs, Format, MechanismArgs};
use crate::terminal;

/// Print the exact distribution of the next released state
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    chain: ChainArgs,

    #[command(flatten)]
    mechanism: MechanismArgs,

    /// The last released state
    #[arg(long, value_name = "STATE")]
    previous: String,

    /// The real state
    #[arg(long, value_name = "STATE")]
    real: String,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let model = args.chain.model()?;
    let chain = model.chain();
    let (previous, real) = (chain.require(&args.previous)?, chain.require(&args.real)?);
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
            anstream::println!("{answer:#}");
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
                args.previous,
                args.real,
                chosen.name,
                args.mechanism.promise()
            ));
            anstream::println!("{}", terminal::lines(&table));
        }
    }
    Ok(())
}
