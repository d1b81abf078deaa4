//! What is released beside the moves: where walks start, where they end, and how long they are.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use veilwalk::Rational;
use veilwalk::chain::{FitTerms, Fitted};
use veilwalk_io::{AtomicFile, WriteError, write_distribution, write_initial, write_lengths};

use crate::args::{self, Input, Written, whole};

/// Tables beside the chain, by flags.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Privacy")]
pub(super) struct TableArgs {
    /// Write noisy shares of first states as well, one first state of each person, as a file for --initial
    #[arg(long, value_name = "FILE", requires = "epsilon")]
    starts: Option<PathBuf>,

    /// The share of epsilon that goes to first states; 0.1 if not given
    #[arg(long, value_name = "SHARE", requires = "starts")]
    starts_share: Option<Rational>,

    /// Write noisy shares of last states as well, one last state of each person, as a file for
    /// `chain sample --ends`
    #[arg(long, value_name = "FILE", requires = "epsilon")]
    ends: Option<PathBuf>,

    /// The share of epsilon that goes to last states; 0.1 if not given
    #[arg(long, value_name = "SHARE", requires = "ends")]
    ends_share: Option<Rational>,

    /// Write noisy shares of numbers of moves as well, those of one walk of each person, as a file for
    /// `chain sample --lengths`
    #[arg(long, value_name = "FILE", requires_all = ["epsilon", "longest_walk"])]
    lengths: Option<PathBuf>,

    /// The share of epsilon that goes to lengths; 0.1 if not given
    #[arg(long, value_name = "SHARE", requires = "lengths")]
    lengths_share: Option<Rational>,

    /// Walks of more moves than this count as that long. Choose it without a look at the walks
    #[arg(long, value_name = "MOVES", requires = "lengths",
          value_parser = whole::<NonZeroU32>(1..=FitTerms::LONGEST as u64))]
    longest_walk: Option<NonZeroU32>,
}

/// Files that have their names once everything is in them.
pub(super) struct TableFiles {
    starts: Option<AtomicFile>,
    ends: Option<AtomicFile>,
    lengths: Option<AtomicFile>,
}

impl TableArgs {
    /// The terms with what these tables cost.
    pub(super) fn share(&self, mut terms: FitTerms) -> Result<FitTerms> {
        let share = |given: Option<Rational>| given.unwrap_or(FitTerms::USUAL_SHARE);
        if self.starts.is_some() {
            terms = terms.with_starts(share(self.starts_share)).context("--starts-share")?;
        }
        if self.ends.is_some() {
            terms = terms.with_ends(share(self.ends_share)).context("--ends-share")?;
        }
        if let (Some(_), Some(longest)) = (&self.lengths, self.longest_walk) {
            let lengths = terms.with_lengths(share(self.lengths_share), longest);
            terms = lengths.context("--lengths-share")?;
        }
        Ok(terms)
    }

    /// Refuses to write over anything that is read or written beside it.
    pub(super) fn settle_outputs<'a>(&'a self, inputs: &mut Vec<Input<'a>>) -> Result<()> {
        let named = [
            (&self.starts, "the first states"),
            (&self.ends, "the last states"),
            (&self.lengths, "the lengths"),
        ];
        for (path, name) in named {
            if let Some(path) = path {
                args::settle_output(path, Written::Other, inputs)?;
                inputs.push((path, name));
            }
        }
        Ok(())
    }

    pub(super) fn create(&self) -> Result<TableFiles> {
        let create = |path: &Option<PathBuf>| -> Result<Option<AtomicFile>> {
            Ok(path.as_deref().map(|path: &Path| AtomicFile::create(path)).transpose()?)
        };
        Ok(TableFiles {
            starts: create(&self.starts)?,
            ends: create(&self.ends)?,
            lengths: create(&self.lengths)?,
        })
    }
}

impl TableFiles {
    pub(super) fn write(self, fitted: &Fitted) -> Result<()> {
        let chain = &fitted.chain;
        if let Some(file) = self.starts {
            write(file, |file| write_initial(chain, file))?;
        }
        if let (Some(file), Some(ends)) = (self.ends, &fitted.ends) {
            write(file, |file| write_distribution(chain, ends, file))?;
        }
        if let (Some(file), Some(lengths)) = (self.lengths, &fitted.lengths) {
            write(file, |file| write_lengths(lengths, file))?;
        }
        Ok(())
    }
}

fn write(
    mut file: AtomicFile,
    put: impl FnOnce(&mut AtomicFile) -> Result<(), WriteError>,
) -> Result<()> {
    let name = file.name().to_owned();
    put(&mut file).map_err(|error| error.named(&name))?;
    Ok(file.commit()?)
}
