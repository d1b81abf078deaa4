//! `veilwalk chain check`: the figures of a chain.

use anyhow::{Context, Result, bail};
use serde_json::json;
use veilwalk::{Chain, Ground};

use crate::args::{ChainOptions, DistanceOptions, Format, Loaded, WantedMetric, thousands};
use crate::progress::with_progress;
use crate::{terminal, units};

/// Check a chain and print its figures
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A built-in chain (`credit` or `downtown`) or a file: a square matrix, transitions with the
    /// header `from,to,probability` or `from,to,count`, or a model that `veilwalk chain compile` wrote
    chain: String,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Of a compiled model: compute everything in it again, and compare
    #[arg(long)]
    verify: bool,

    #[command(flatten)]
    options: ChainOptions,

    #[command(flatten)]
    distances: DistanceOptions,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let loaded = args.options.read(&args.chain)?;
    if args.verify {
        verify(&args.chain, &loaded)?;
    }
    let model = args.distances.model(loaded, &WantedMetric::Anything)?;
    let chain = model.chain();
    // On a large chain what cannot be told is left out; on any other it is an error.
    let large = model.require_tables().is_err();
    let stationary = match chain.stationary() {
        Err(error) if large => Err(error.to_string()),
        found => Ok(found?),
    };
    // Minus zero is a sum of nothing but certain moves.
    let entropy_rate = stationary.as_ref().map(|shares| chain.entropy_rate(shares) + 0.0);
    let diameter = (!large).then(|| model.diameter());
    let closest = model.closest_pair();
    match args.format {
        Format::Json => {
            let stationary: Option<serde_json::Map<_, _>> =
                stationary.as_ref().ok().map(|shares| {
                    let share = |s| (chain.label(s).to_owned(), json!(shares[s.index()]));
                    chain.states().map(share).collect()
                });
            let answer = json!({
                "states": chain.len(),
                "transitions": chain.transitions(),
                "irreducible": true,
                "period": chain.period(),
                "diameter_nats": diameter.map(|pair| pair.distance.as_f64()),
                "closest_pair": closest.map(|pair| json!({
                    "from": chain.label(pair.from),
                    "to": chain.label(pair.to),
                    "nats": pair.distance.as_f64(),
                })),
                "entropy_rate_nats": entropy_rate.ok(),
                "stationary": stationary,
                "hash": chain.hash().to_string(),
            });
            terminal::print(format_args!("{:#}", units::json(answer)))?;
        }
        Format::Text => {
            let mut table = terminal::table(&["chain", &args.chain]);
            let mut row = |what: &str, figure: String| {
                table.add_row([what, &figure]);
            };
            row("states", thousands(chain.len()));
            row("transitions", thousands(chain.transitions()));
            row("irreducible", "yes".into());
            row("period", chain.period().to_string());
            row(
                "diameter",
                match diameter {
                    Some(pair) => format!(
                        "{}, from {} to {}",
                        units::distance(pair.distance),
                        chain.label(pair.from),
                        chain.label(pair.to)
                    ),
                    None => "not computed: the chain is too large for all distances".to_owned(),
                },
            );
            if let Some(pair) = closest {
                row(
                    "closest pair",
                    format!(
                        "{}, {} and {}: a radius below this protects nothing",
                        units::distance(pair.distance),
                        chain.label(pair.from),
                        chain.label(pair.to)
                    ),
                );
            }
            match (entropy_rate, &stationary) {
                (Ok(rate), Ok(shares)) => {
                    row("entropy rate", format!("{rate:.6} nats a step"));
                    row("in the long run", in_the_long_run(chain, shares));
                }
                (_, Err(why)) | (Err(why), _) => {
                    row("in the long run", format!("not computed: {why}"));
                }
            }
            if *model.ground() != Ground::Nats {
                row("distances", model.ground().to_string());
            }
            row("hash", chain.hash().to_string());
            terminal::print(terminal::lines(&table))?;
        }
    }
    Ok(())
}

/// Holds a compiled model against what is computed from its chain alone.
fn verify(name: &str, loaded: &Loaded) -> Result<()> {
    let Loaded::Model(model) = loaded else {
        bail!("{name}: --verify is for compiled models; a chain has nothing in it to verify");
    };
    with_progress("computing everything again", |watch| model.verify(watch))
        .with_context(|| name.to_owned())?;
    terminal::note(format!("{name}: everything in this model follows from its chain"));
    Ok(())
}

/// The states that are visited most.
fn in_the_long_run(chain: &Chain, stationary: &[f64]) -> String {
    let mut states: Vec<_> = chain.states().collect();
    states.sort_by(|a, b| stationary[b.index()].total_cmp(&stationary[a.index()]));
    let shown: Vec<String> = states
        .iter()
        .take(3)
        .map(|&s| format!("{} {:.2} %", chain.label(s), 100.0 * stationary[s.index()]))
        .collect();
    shown.join(", ") + if states.len() > 3 { ", …" } else { "" }
}
