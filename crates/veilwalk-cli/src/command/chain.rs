//! `veilwalk chain`: look at a chain, or fit one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::json;
use veilwalk::chain::TransitionCounts;
use veilwalk::{Chain, Model};
use veilwalk_io::{AtomicFile, WalkOptions, WalkReader, write_chain};

use crate::args::{self, ChainOptions, Format, counted, thousands};
use crate::terminal;

/// Look at a chain, or fit one to walks
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Check(Check),
    Fit(Fit),
}

/// Check a chain and print its figures
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// A built-in chain (`credit` or `downtown`) or a file: a square matrix, or transitions with the
    /// header `from,to,probability` or `from,to,count`
    chain: String,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    #[command(flatten)]
    options: ChainOptions,
}

/// Count the transitions of walks and write them as a chain
///
/// The chain becomes public with everything released under it, and it tells about the walks it was
/// fitted on: fit on walks that need no protection.
#[derive(Debug, clap::Args)]
pub(crate) struct Fit {
    /// The walks: CSV with a header, NDJSON, Parquet or Arrow; `-` for standard input
    walks: String,

    /// Where to write the chain, `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The column that names the walk
    #[arg(long, value_name = "NAME", default_value = "trajectory")]
    trajectory_column: String,

    /// The column that holds the state
    #[arg(long, value_name = "NAME", default_value = "state")]
    state_column: String,

    /// Keep the largest part whose states all reach each other, and say what was dropped
    #[arg(long)]
    largest_component: bool,
}

pub(crate) fn run(command: &Command) -> Result<()> {
    match command {
        Command::Check(args) => check(args),
        Command::Fit(args) => fit(args),
    }
}

fn check(args: &Check) -> Result<()> {
    let model = Model::new(args.options.read(&args.chain)?)?;
    let chain = model.chain();
    let stationary = chain.stationary()?;
    // Minus zero is a sum of nothing but certain moves.
    let entropy_rate = chain.entropy_rate(&stationary) + 0.0;
    let diameter = model.diameter();
    let closest = model.closest_pair();
    match args.format {
        Format::Json => {
            let stationary: serde_json::Map<_, _> = chain
                .states()
                .map(|s| (chain.label(s).to_owned(), json!(stationary[s.index()])))
                .collect();
            let answer = json!({
                "states": chain.len(),
                "transitions": chain.transitions(),
                "irreducible": true,
                "period": chain.period(),
                "diameter_nats": diameter.distance.as_f64(),
                "closest_pair": closest.map(|pair| json!({
                    "from": chain.label(pair.from),
                    "to": chain.label(pair.to),
                    "nats": pair.distance.as_f64(),
                })),
                "entropy_rate_nats": entropy_rate,
                "stationary": stationary,
                "hash": chain.hash().to_string(),
            });
            terminal::print(format_args!("{answer:#}"))?;
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
                format!(
                    "{} nats, from {} to {}",
                    diameter.distance,
                    chain.label(diameter.from),
                    chain.label(diameter.to)
                ),
            );
            if let Some(pair) = closest {
                row(
                    "closest pair",
                    format!(
                        "{} nats, {} and {}: a radius below this protects nothing",
                        pair.distance,
                        chain.label(pair.from),
                        chain.label(pair.to)
                    ),
                );
            }
            row("entropy rate", format!("{entropy_rate:.6} nats a step"));
            row("in the long run", in_the_long_run(chain, &stationary));
            row("hash", chain.hash().to_string());
            terminal::print(terminal::lines(&table))?;
        }
    }
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

fn fit(args: &Fit) -> Result<()> {
    let options = WalkOptions {
        trajectory_column: args.trajectory_column.clone(),
        state_column: args.state_column.clone(),
        ..Default::default()
    };
    let mut counts = TransitionCounts::new();
    let mut last = std::collections::HashMap::new();
    let mut count = |trajectory: &str, state: &str| {
        let state = counts.state(state);
        if let Some(previous) = last.insert(trajectory.to_owned(), state) {
            counts.add(previous, state);
        }
    };
    if args.walks == "-" {
        let mut reader = WalkReader::new(std::io::stdin().lock(), "standard input", options)?;
        while let Some(row) = reader.next_row()? {
            count(row.trajectory, row.state);
        }
    } else {
        let mut reader = WalkReader::open(Path::new(&args.walks), options)?;
        while let Some(row) = reader.next_row()? {
            count(row.trajectory, row.state);
        }
    }
    let (walks, moves) = (last.len(), counts.total());
    if moves == 0 {
        bail!(
            "{}: there is not a single transition to count in {}; a chain is fitted to walks of two \
             states or more",
            args.walks,
            counted(walks, "walk")
        );
    }
    let scope = if args.largest_component {
        veilwalk::chain::Scope::LargestComponent
    } else {
        veilwalk::chain::Scope::Whole
    };
    let (chain, report) = counts
        .build(veilwalk::chain::BuildOptions { scope, ..Default::default() })
        .with_context(|| args.walks.clone())?;
    args::tell(&args.walks, &report);
    let name = if args.output.as_os_str() == "-" {
        let name = "standard output".to_owned();
        write_chain(&chain, std::io::stdout().lock()).map_err(|e| e.named(&name))?;
        name
    } else {
        let mut file = AtomicFile::create(&args.output)?;
        let name = file.name().to_owned();
        write_chain(&chain, &mut file).map_err(|e| e.named(&name))?;
        file.commit()?;
        name
    };
    terminal::note(format!(
        "{name}: {} and {}, from {} in {}",
        counted(chain.len(), "state"),
        counted(chain.transitions(), "transition"),
        counted(moves as usize, "move"),
        counted(walks, "walk"),
    ));
    terminal::warning(
        "this chain tells about the walks it was fitted on, and becomes public with everything \
         released under it; fit on walks that need no protection",
    );
    Ok(())
}
