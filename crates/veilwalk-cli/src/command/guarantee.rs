//! `veilwalk guarantee`: what a promise means on a chain, before anything is released.

use anyhow::Result;
use veilwalk::guarantee::{Effort, Guarantee};

use crate::args::{ChainArgs, Format, MechanismArgs};
use crate::progress::with_progress;
use crate::terminal;

/// Say in words and numbers what epsilon and a radius mean on this chain
///
/// Computed exactly and from public things only: the chain, the mechanism and its parameters.
/// Figures are rounded up.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    chain: ChainArgs,

    #[command(flatten)]
    mechanism: MechanismArgs,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Compare all pairs of states, however long it takes
    #[arg(long)]
    all_pairs: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let model = args.chain.model()?;
    let chosen = args.mechanism.on(&model)?;
    let effort = if args.all_pairs { Effort::UNLIMITED } else { Effort::default() };
    let guarantee = with_progress("comparing states", |watch| {
        Guarantee::new(&chosen.mechanism, effort, watch)
    })?;
    match args.format {
        Format::Json => {
            let mut answer = serde_json::to_value(&guarantee)?;
            answer["mechanism"] = chosen.name.into();
            answer["calibration"] = serde_json::to_value(chosen.calibration)?;
            if let Some(certificate) = chosen.mechanism.certificate() {
                let states = model.chain().states().map(|state| model.chain().label(state));
                answer["certificate"] = states
                    .zip(certificate)
                    .map(|(state, c)| {
                        serde_json::json!({
                            "previous": state,
                            "scale": c.scale.eta().to_string(),
                            "loss": c.loss,
                            "obtained": c.obtained.name(),
                        })
                    })
                    .collect();
            }
            terminal::print(format_args!("{answer:#}"))?;
        }
        Format::Text => {
            terminal::print(&guarantee)?;
            if let Some(found) = &chosen.calibration {
                terminal::print(format_args!("\nCalibrated exactly: {found}."))?;
            }
            if let Some(certificate) = chosen.mechanism.certificate() {
                terminal::print(format_args!("\n{}", in_words(certificate)))?;
            }
        }
    }
    Ok(())
}

/// What is certified of the scales of cells.
fn in_words(certificate: &[veilwalk::mechanism::cell::CellScale]) -> String {
    let mut how = std::collections::BTreeMap::new();
    for each in certificate {
        *how.entry(each.obtained.name()).or_insert(0usize) += 1;
    }
    let how: Vec<String> = how.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let worst = certificate.iter().map(|each| each.loss).fold(0.0, f64::max);
    format!(
        "Each last released state has a scale of its own ({}); the largest certified loss is \
         {worst:.6}\nper unit. --format json lists them all.",
        how.join(", ")
    )
}
