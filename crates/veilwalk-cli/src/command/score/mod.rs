//! `veilwalk score`: whether a release is worth anything.

mod text;
mod walks;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use veilwalk::mechanism::Epsilon;
use veilwalk_io::{Manifest, ReadErrorKind, UnknownStates, WalkOptions};
use veilwalk_score::{Candidate, PlainCounts, ScoreOptions, Walks, as_json, read_estimate, score};

use self::walks::NamedWalks;
use crate::args::{
    ChainArgs, Format, UnknownState, WalkColumnArgs, WantedMetric, any_whole, counted,
    is_same_file, whole,
};
use crate::progress::{self, Stoppable};
use crate::{estimated, terminal};

/// Compare a release with the real walks, and with what the chain alone would have told
///
/// Prints the figures that papers on private trajectories report: where walks are, how they move, where they
/// start and end, frequent patterns, lengths, hotspots, and counts that somebody would ask for. Beside them stand
/// those of the chain alone: as many walks, as long as the real ones, that the public chain makes up without a look
/// at anybody. A release that is no better than that has told nothing new. Where the release has its manifest and promises
/// for replaced states, plain counts of the real walks with Laplace noise at the same price stand there too. It reads the
/// real walks, and what it prints is NOT protected.
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

    #[command(flatten, next_help_heading = "Real walks")]
    columns: WalkColumnArgs,

    /// What to do with a real row whose state is not one of the chain's: `error` (stop there), `skip` (leave it
    /// out), or a state of the chain to take instead, as it was released
    #[arg(long, default_value = "error", value_name = "WHAT", help_heading = "Real walks")]
    unknown_state: UnknownState,

    /// How often the chain makes up walks, and how often walks are drawn again, to know what chance does
    #[arg(long, value_name = "COUNT", default_value_t = 20,
          value_parser = whole::<usize>(2..=10_000))]
    repetitions: usize,

    /// Take the randomness of made-up walks from this number
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = any_whole::<u64>())]
    seed: u64,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let manifest = args.manifest()?;
    let model = args.chain.any_model(&WantedMetric::Anything)?;
    let chain = model.chain();
    let real =
        NamedWalks::read(&args.real, args.columns.options(), chain, args.unknown_state.on(chain)?)?;
    let made =
        |path: &Path| NamedWalks::read(path, WalkOptions::default(), chain, UnknownStates::Refuse);
    let release = made(&args.release)?;
    let refined = args.refined.as_deref().map(made).transpose()?;
    let estimate = args.estimate.as_deref();
    let estimate = estimate.map(|path| estimated::read(path, chain, read_estimate)).transpose()?;
    let real_walks = real.walks();
    if real_walks.is_empty() {
        bail!("{}: there are no walks to compare with", args.real.display());
    }
    if real.has_the_walks_of(&release) {
        terminal::warning(format!(
            "{}: these are the real walks themselves, state by state, so the figures say nothing",
            release.file
        ));
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
    if let Some(counts) = manifest.as_ref().and_then(plain_counts) {
        candidates.push(("Laplace counts".to_owned(), Candidate::Counts(counts)));
    }
    let options = ScoreOptions { repetitions: args.repetitions, seed: args.seed };
    let stoppable = Stoppable::new();
    let found = score(chain, &real_walks, &candidates, options, &progress::stop_requested);
    drop(stoppable);
    let Some(found) = found else { return Err(progress::stopped()) };
    match args.format {
        Format::Json => {
            terminal::print(format_args!("{:#}", as_json(&real_walks, options, &found)))
        }
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

/// What whoever holds the real walks could count at the price of a release; nothing where its promise is not about replaced
/// states, since counts know no distance.
fn plain_counts(manifest: &Manifest) -> Option<PlainCounts> {
    let epsilon: Epsilon = manifest.promise.epsilon.parse().ok()?;
    let substitutions = manifest.promise.substitutions?;
    Some(PlainCounts { epsilon: epsilon.value().as_f64(), substitutions })
}

impl Args {
    /// The manifest of the release, if it has one. Refuses files that stand in each other's place.
    fn manifest(&self) -> Result<Option<Manifest>> {
        let (real, release) = (self.real.display(), self.release.display());
        if self.real == self.release || is_same_file(&self.real, &self.release) {
            bail!(
                "{real}: this is the same file twice; give the real walks first and then the release"
            );
        }
        let of_release = Manifest::path_for(&self.release).exists();
        match (Manifest::path_for(&self.real).exists(), of_release) {
            (true, false) => bail!(
                "{real}: this is a release, since it has a manifest beside it, and {release} has none; give the \
                 real walks first and then the release"
            ),
            (true, true) => terminal::warning(format!(
                "{real}: this is taken for the real walks, and it has the manifest of a release beside it"
            )),
            (false, _) => {}
        }
        match Manifest::read_for(&self.release) {
            Ok(manifest) => Ok(Some(manifest)),
            Err(error) if matches!(error.kind(), ReadErrorKind::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
