//! `veilwalk chain fit`: a chain from the transitions of walks.

mod private;
mod tables;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use veilwalk::chain::{BuildOptions, ChainError, Scope, TransitionCounts};
use veilwalk::mechanism::Epsilon;
use veilwalk::{Rational, StateId};
use veilwalk_io::{ChainText, ReadError, Row, WalkOptions, WalkReader};

use self::tables::TableArgs;
use crate::args::{self, GraphArgs, LedgerArgs, RandomnessArgs, WalkColumnArgs, count, counted};
use crate::progress::{self, Stoppable};
use crate::terminal;

/// Count the transitions of walks and write them as a chain
///
/// The chain becomes public with everything released under it. Without --epsilon it reveals something about
/// the walks it was fitted on: fit it on walks that need no protection. With --epsilon the counts are noisy,
/// and the chain may be published: adding or removing one person, with all of the person's walks, changes the
/// odds of it by a factor of at most exp(E); replacing a person's walks by any others changes them by at
/// most exp(2E). There is also a way that costs nothing: release walks under an even chain on a public map, and let
/// `veilwalk estimate --what chain` learn a good one from the release.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The walks: CSV with a header, NDJSON, Parquet or Arrow; `-` for standard input
    walks: String,

    /// Where to write the chain, `-` for standard output. A file of that name is replaced, with a
    /// warning
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    columns: WalkColumnArgs,

    /// Count a move from the last state of every walk to its first, for walks that end somewhere
    #[arg(long, conflicts_with = "epsilon")]
    restart: bool,

    /// Keep the largest part whose states all reach each other, and say what was dropped; with --epsilon, of
    /// the graph
    #[arg(long)]
    largest_component: bool,

    /// Write counts instead of probabilities
    #[arg(long)]
    counts: bool,

    /// Make the counts noisy, so that the chain may be published: the privacy parameter for one person
    /// added or removed, a decimal or a fraction
    #[arg(long, value_name = "E", help_heading = "Privacy")]
    epsilon: Option<Epsilon>,

    /// The column that says whose walk it is. Where every walk is of another person, the column that names
    /// the walk
    #[arg(long, value_name = "NAME", requires = "epsilon", help_heading = "Privacy")]
    person_column: Option<String>,

    /// The most moves of one person that are counted, drawn at random from all of the person's. More moves
    /// mean more noise on every count, fewer mean that less is counted. Choose it without a look at the walks
    #[arg(long, value_name = "COUNT", requires = "epsilon", value_parser = count::<NonZeroU32>(),
          help_heading = "Privacy")]
    max_moves: Option<NonZeroU32>,

    #[command(flatten)]
    graph: GraphArgs,

    #[command(flatten)]
    tables: TableArgs,

    /// What is added to every noisy count, so that every public move stays possible; 1 if not given
    #[arg(long, value_name = "COUNT", requires = "epsilon", help_heading = "Privacy")]
    floor: Option<Rational>,

    #[command(flatten)]
    randomness: RandomnessArgs,

    #[command(flatten)]
    budget: LedgerArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    match args.epsilon {
        Some(epsilon) => private::run(args, epsilon),
        None => args.fit_openly(),
    }
}

impl Args {
    /// Counts, and says what that means.
    fn fit_openly(&self) -> Result<()> {
        if self.randomness.is_given() {
            bail!(
                "nothing is random without --epsilon; give it, or leave out --seed and --key-file"
            );
        }
        if self.budget.is_given() {
            bail!(
                "--ledger: without --epsilon nothing is protected, so nothing can be charged; give --epsilon, or \
                 leave out --ledger"
            );
        }
        super::settle_output(&self.output, &[(Path::new(&self.walks), "the walks")])?;
        let mut counts = TransitionCounts::new();
        // The first and the last state of every walk so far.
        let mut ends: HashMap<String, (StateId, StateId)> = HashMap::new();
        self.each_row(&[], |row| {
            let state = counts.state(row.state);
            if let Some((_, last)) = ends.get_mut(row.trajectory) {
                counts.add(*last, state);
                *last = state;
            } else {
                ends.insert(row.trajectory.to_owned(), (state, state));
            }
            Ok(())
        })?;
        let (walks, moves) = (ends.len(), counts.total());
        if moves == 0 {
            bail!(
                "{}: there is not a single transition to count in {}; a chain is fitted to walks of two \
                 states or more",
                self.walks,
                counted(walks, "walk")
            );
        }
        if self.restart {
            ends.values().for_each(|&(first, last)| counts.add(last, first));
        }
        let options = BuildOptions { scope: self.scope(), ..BuildOptions::default() };
        let (chain, counts, report) = counts.build_counted(options).map_err(|error| match error {
            ChainError::NoWayOut(_) | ChainError::NotIrreducible { .. } if !self.restart => anyhow!(
                "{}: {error}; if walks end there, --restart lets them begin anew where they began",
                self.walks
            ),
            other => anyhow::Error::new(other).context(self.walks.clone()),
        })?;
        args::tell(&self.walks, &report);
        let counts = self.counts.then_some(&counts[..]);
        let name =
            super::write(&chain, ChainText { counts, ..ChainText::default() }, &self.output)?;
        terminal::note(format!(
            "{name}: {} and {}, from {} in {}",
            counted(chain.len(), "state"),
            counted(chain.transitions(), "transition"),
            counted(moves as usize, "move"),
            counted(walks, "walk"),
        ));
        terminal::warning(
            "this chain tells about the walks it was fitted on, and becomes public with everything \
             released under it; fit on walks that need no protection, make the counts noisy with \
             --epsilon, or learn a chain from a release (`veilwalk estimate --what chain`)",
        );
        Ok(())
    }

    fn scope(&self) -> Scope {
        if self.largest_component { Scope::LargestComponent } else { Scope::Whole }
    }

    /// Reads all rows, with these columns beside the walk and the state.
    fn each_row(&self, more: &[String], take: impl FnMut(Row<'_>) -> Result<()>) -> Result<()> {
        let options = WalkOptions { keep: more.to_vec(), ..self.columns.options() };
        if self.walks == "-" {
            each(WalkReader::new(std::io::stdin().lock(), "standard input", options), take)
        } else {
            each(WalkReader::open(Path::new(&self.walks), options), take)
        }
    }
}

fn each<R: std::io::Read>(
    reader: Result<WalkReader<R>, ReadError>,
    mut take: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut reader = reader?;
    let _stoppable = Stoppable::new();
    while let Some(row) = reader.next_row()? {
        if progress::stop_requested() {
            return Err(progress::stopped());
        }
        take(row)?;
    }
    Ok(())
}
