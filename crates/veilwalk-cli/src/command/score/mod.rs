//! `veilwalk score`: whether a release is worth anything.

mod estimate;
mod text;
mod walks;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use veilwalk_io::{UnknownStates, WalkOptions};
use veilwalk_score::{Against, Candidate, Figure, Score, ScoreOptions, Scored, Walks, score};

use self::walks::NamedWalks;
use crate::args::{ChainArgs, Format, UnknownState, any_whole, counted, whole};
use crate::progress::{self, Stoppable};
use crate::terminal;

/// Compare a release with the real walks, and with what the chain alone would have told
///
/// Prints the figures that papers on private trajectories report: where walks are, how they move, where they
/// start and end, frequent patterns, lengths, hotspots, and counts that somebody would ask for. Beside them stand
/// those of the chain alone: as many walks, as long as the real ones, that the public chain makes up without a look
/// at anybody. A release that is no better than that has told nothing new. It reads the real walks, and what it
/// prints is NOT protected.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The real walks: CSV with a header, NDJSON, Parquet or Arrow
    real: PathBuf,

    /// The release of them
    release: PathBuf,

    #[command(flatten)]
    chain: ChainArgs,

    /// Walks that were made of the release afterwards, in the columns `trajectory` and `state`
    #[arg(long, value_name = "FILE")]
    refined: Option<PathBuf>,

    /// What was estimated from the release: JSON with the shares of `visits`, `moves` and `od`
    #[arg(long, value_name = "FILE")]
    estimate: Option<PathBuf>,

    /// The column of the real walks that names the walk
    #[arg(long, value_name = "NAME", default_value = "trajectory", help_heading = "Real walks")]
    trajectory_column: String,

    /// The column of the real walks that holds the state
    #[arg(long, value_name = "NAME", default_value = "state", help_heading = "Real walks")]
    state_column: String,

    /// What to do with a real row whose state is not one of the chain's: `error` (stop there), `skip` (leave it
    /// out), or a state of the chain to take instead, as it was released
    #[arg(long, default_value = "error", value_name = "WHAT", help_heading = "Real walks")]
    unknown_state: UnknownState,

    /// How often the chain makes up walks, and how often walks are drawn again, to know what chance does
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 20,
        allow_negative_numbers = true,
        value_parser = whole::<usize>(2..=10_000)
    )]
    repetitions: usize,

    /// Take the randomness of made-up walks from this number
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        allow_negative_numbers = true,
        value_parser = any_whole::<u64>()
    )]
    seed: u64,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let model = args.chain.any_model()?;
    let chain = model.chain();
    let options = WalkOptions {
        trajectory_column: args.trajectory_column.clone(),
        state_column: args.state_column.clone(),
        ..WalkOptions::default()
    };
    let real = NamedWalks::read(&args.real, options, chain, args.unknown_state.on(chain)?)?;
    let made =
        |path: &Path| NamedWalks::read(path, WalkOptions::default(), chain, UnknownStates::Refuse);
    let release = made(&args.release)?;
    let refined = args.refined.as_deref().map(made).transpose()?;
    let estimate = args.estimate.as_deref().map(|path| estimate::read(path, chain)).transpose()?;
    let real_walks = real.walks();
    if real_walks.is_empty() {
        bail!("{}: there are no walks to compare with", args.real.display());
    }
    terminal::warning(
        "these figures come from the real walks and are NOT protected; do not publish them with the release",
    );
    let ordered: Vec<(&str, Walks, bool)> = [("release", Some(&release)), ("refined", refined.as_ref())]
        .into_iter()
        .filter_map(|(name, walks)| Some((name, walks?)))
        .map(|(name, walks)| match walks.in_the_order_of(&real) {
            Some(paired) => (name, paired, true),
            None => {
                terminal::note(format!(
                    "{}: the walks have other names than the real ones, so they are compared as a whole",
                    walks.file
                ));
                (name, walks.walks(), false)
            }
        })
        .collect();
    let mut candidates: Vec<(String, Candidate<'_>)> = Vec::new();
    for (name, walks, paired) in &ordered {
        if walks.is_empty() {
            bail!("there are no walks in the {name} walks to compare");
        }
        let candidate = if *paired { Candidate::Paired(walks) } else { Candidate::Walks(walks) };
        candidates.push(((*name).to_owned(), candidate));
    }
    if let Some(statistics) = &estimate {
        candidates.push(("estimate".to_owned(), Candidate::Estimate(statistics)));
    }
    let options = ScoreOptions { repetitions: args.repetitions, seed: args.seed };
    let stoppable = Stoppable::new();
    let found = score(chain, &real_walks, &candidates, options, &progress::stop_requested);
    drop(stoppable);
    let Some(found) = found else { return Err(progress::stopped()) };
    match args.format {
        Format::Json => terminal::print(format_args!("{:#}", as_json(args, &real_walks, &found))),
        Format::Text => {
            terminal::note(format!(
                "{} with {} in all, {} of the chain alone",
                counted(real_walks.len(), "real walk"),
                counted(real_walks.states(), "state"),
                counted(args.repetitions, "repetition"),
            ));
            text::print(&found)
        }
    }
}

fn as_json(args: &Args, real: &Walks, found: &Score) -> Value {
    let figure = |figure: &Figure| json!({ "value": figure.value, "deviation": figure.deviation });
    let alone: Map<String, Value> =
        found.chain_alone.iter().map(|one| (one.measure.key().to_owned(), figure(one))).collect();
    let judged = |scored: &Scored| -> Value {
        let figures = scored.figures.iter().map(|(one, against)| {
            let mut value = figure(one);
            value["against_chain_alone"] = json!(match against {
                Against::Better => "better",
                Against::Worse => "worse",
                Against::Equal => "equal",
            });
            (one.measure.key().to_owned(), value)
        });
        figures.collect::<Map<_, _>>().into()
    };
    let mut answer = json!({
        "protected": false,
        "walks": real.len(),
        "states": real.states(),
        "repetitions": args.repetitions,
        "seed": args.seed,
        "chain_alone": alone,
    });
    for scored in &found.candidates {
        answer[&scored.name] = judged(scored);
    }
    answer["verdict"] = found.candidates.iter().map(text::verdict).collect();
    answer
}
