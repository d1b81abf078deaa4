//! `veilwalk estimate`: what the crowd did, learned from its releases.

mod chain;
mod json;
mod text;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use veilwalk::Chain;
use veilwalk::inference::{
    EstimateError, EstimateInquiry, EstimateSettings, Inference, IntervalSettings, Learned, Sample,
    WithTrips, learn,
};
use veilwalk_io::{AtomicFile, Released, WriteError, WriteErrorKind};

use crate::args::{
    self, ChainArgs, Format, ThreadArgs, WantedMetric, Written, any_whole, counted,
    is_standard_output, whole,
};
use crate::{progress, released, terminal};

/// Learn from releases what the crowd did: visits, moves, trips, or the chain it follows
///
/// Single releases are noisy, but the noise has a known law. So the shares of a crowd's visits and moves can be found as
/// those under which what was released is likeliest: nearly without error where there are many walks, and free, because
/// nothing but the releases is looked at. Mechanisms and promises come from the manifests. It begins with the
/// public chain and stops when a round gains less than 0.01 nats. Every state counts as if it had made --strength
/// moves by the public chain, so that little data says little.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Releases under one chain, each with its manifest beside it
    #[arg(required = true)]
    releases: Vec<PathBuf>,

    /// What to print: the shares of `visits`, of `moves`, of first and last states together (`od`), or the `chain`,
    /// which -o writes to a file. JSON has visits and moves in any case
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    what: What,

    /// The share of intervals that are to cover what they are about, such as 0.95, or `none`. If not given, 0.95 on
    /// chains of up to 512 states, and none beyond, where they take long
    #[arg(long, value_name = "LEVEL")]
    interval: Option<Level>,

    /// How often the estimate is made again, of walks drawn with replacement, to know how sure it is
    #[arg(long, value_name = "COUNT", default_value_t = 100,
          value_parser = whole::<usize>(10..=100_000))]
    replicates: usize,

    /// How many moves of every state, and how many first states, the public chain counts for
    #[arg(long, value_name = "COUNT", default_value_t = 1.0, value_parser = strength)]
    strength: f64,

    /// Which walks are drawn for intervals depends on this number
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = any_whole::<u64>())]
    seed: u64,

    #[command(flatten)]
    threads: ThreadArgs,

    /// How to print it; `json` if not given and -o names a file that ends in `.json`
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Where to write it; standard output if not given. A file of that name is replaced, with a warning
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    chain: ChainArgs,
}

/// What is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum What {
    #[default]
    Visits,
    Moves,
    Od,
    Chain,
}

/// How sure intervals are to be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Level {
    None,
    Share(f64),
}

impl std::str::FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::None);
        }
        let share = text.parse::<f64>().ok().filter(|&share| 0.0 < share && share < 1.0);
        share
            .map(Self::Share)
            .ok_or_else(|| "give a number between zero and one, such as 0.95, or `none`".to_owned())
    }
}

fn strength(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "give a number from zero up".to_owned())
}

pub(crate) fn run(args: &Args) -> Result<()> {
    args.settle()?;
    args.threads.settle()?;
    let wanted = args.releases.first().map(|release| WantedMetric::by_release(release));
    let model = args.chain.any_model(&wanted.unwrap_or_default())?;
    let chain = model.chain();
    let read = args.releases.iter().map(|release| released::read(release, &model));
    let read = read.collect::<Result<Vec<Released>>>()?;
    args.refuse_twice(&read)?;
    let made = args.releases.iter().zip(&read);
    let inferences = made.map(|(release, read)| released::inference(release, read));
    let inferences = inferences.collect::<Result<Vec<Inference>>>()?;
    let drawn: Vec<_> = read.iter().map(Released::drawn).collect();
    let samples = inferences.iter().zip(&drawn);
    let samples: Vec<Sample<'_>> =
        samples.map(|(inference, drawn)| Sample { inference, walks: drawn }).collect();
    let trips = if args.what == What::Od { WithTrips::Yes } else { WithTrips::No };
    let (replicates, seed) = (args.replicates, args.seed);
    let how = |level| IntervalSettings { level, replicates, seed, trips };
    let inquiry = EstimateInquiry {
        settings: EstimateSettings { strength: args.strength, ..EstimateSettings::default() },
        trips,
        intervals: args.level(chain).map(how),
    };
    let found = progress::with_stages(|watch| learn(&samples, inquiry, watch));
    let found = found.map_err(|error| args.in_words(error, &read))?;
    args.print(chain, &found, &read)?;
    args.tell(&found, &read);
    Ok(())
}

impl Args {
    fn settle(&self) -> Result<()> {
        if self.what == What::Chain {
            if self.output.is_none() {
                bail!(
                    "--what chain writes a chain; give -o the name of its file, or `-` for standard output"
                );
            }
            if self.format.is_some() {
                bail!("--what chain writes a chain as every command reads it; leave out --format");
            }
            if self.file().and_then(Path::extension).is_some_and(|end| end == "json") {
                bail!("--what chain writes a table of moves; name a file that ends in .csv");
            }
            if matches!(self.interval, Some(Level::Share(_))) {
                bail!("a chain has no intervals; leave out --interval, or ask for --what moves");
            }
        }
        let mut inputs = self.chain.inputs();
        inputs.extend(self.releases.iter().map(|release| released::input(release)));
        match self.file() {
            Some(file) => args::settle_output(file, Written::Other, &inputs),
            None => Ok(()),
        }
    }

    /// The same release counts once, however often it is named.
    fn refuse_twice(&self, read: &[Released]) -> Result<()> {
        for (number, release) in read.iter().enumerate() {
            let hash = |of: &Released| of.manifest.release.hash.clone();
            let same = |other: &Released| hash(release) == hash(other);
            if let Some(first) = read[..number].iter().position(same) {
                bail!(
                    "{}: this is the same release as {}, and would count twice; name it once",
                    self.releases[number].display(),
                    self.releases[first].display()
                );
            }
        }
        Ok(())
    }

    /// The file that is written, if it is one.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|output| !is_standard_output(output))
    }

    fn level(&self, chain: &Chain) -> Option<f64> {
        /// From more states on, intervals are made only if asked for.
        const MANY: usize = 512;
        match self.interval {
            _ if self.what == What::Chain => None,
            Some(Level::Share(level)) => Some(level),
            Some(Level::None) => None,
            None if chain.len() <= MANY => Some(0.95),
            None => {
                terminal::note(format!(
                    "on a chain of {} intervals take long; --interval 0.95 makes them",
                    counted(chain.len(), "state")
                ));
                None
            }
        }
    }

    fn format(&self) -> Format {
        let named_json = self.file().and_then(Path::extension).is_some_and(|end| end == "json");
        self.format.unwrap_or(if named_json { Format::Json } else { Format::Text })
    }

    fn print(&self, chain: &Chain, found: &Learned, read: &[Released]) -> Result<()> {
        if self.what == What::Chain {
            return chain::write(self, chain, found, read);
        }
        let text = match self.format() {
            Format::Json => format!("{:#}", json::of(chain, found, self.what)),
            Format::Text => text::of(chain, found, self.what),
        };
        let Some(file) = self.file() else { return terminal::print(text) };
        let mut file = AtomicFile::create(file)?;
        let name = file.name().to_owned();
        let written = file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n"));
        written.map_err(|error| WriteError::new(&name, WriteErrorKind::Io(error)))?;
        Ok(file.commit()?)
    }

    fn tell(&self, found: &Learned, read: &[Released]) {
        let (estimate, expected) = (&found.estimate, found.estimate.expected());
        let states: usize = read.iter().flat_map(|release| &release.states).map(Vec::len).sum();
        terminal::note(format!(
            "learned from {} with {} in {}, in {}; this cost nothing",
            counted(expected.walks() as usize, "released walk"),
            counted(states, "state"),
            counted(read.len(), "release"),
            counted(estimate.rounds(), "round"),
        ));
        if !estimate.converged() {
            terminal::warning(
                "the figures still changed when it stopped: they are not the likeliest ones; a larger --strength \
                 settles what the releases say too little about",
            );
        }
        released::tell_quality(expected.dropped(), expected.surprises());
    }

    fn in_words(&self, error: EstimateError, read: &[Released]) -> anyhow::Error {
        match error {
            EstimateError::NoWalks => {
                let files = self.releases.iter().map(|file| file.display().to_string());
                anyhow!("{}: {error}", files.collect::<Vec<_>>().join(", "))
            }
            EstimateError::Walk { sample, walk, why } => {
                let file = self.releases[sample].display();
                anyhow!("{file}: the walk {:?}: {why}", read[sample].names[walk])
            }
            other => other.into(),
        }
    }
}
