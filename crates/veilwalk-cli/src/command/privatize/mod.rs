//! `veilwalk privatize`: releases every walk of a file, or of a pipe while it is written.

mod manifest;
mod release;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use veilwalk::guarantee::Cover;
use veilwalk::guarantee::cover::radius_reaching;
use veilwalk::mechanism::Epsilon;
use veilwalk::random::{Secret, SourceKind};
use veilwalk::session::Releaser;
use veilwalk::{Model, Promise, Source, Start};
use veilwalk_io::{
    AtomicFile, Hashing, HeldOutput, Ledger, LedgerScope, ReleaseWriter, WalkFormat, WalkOptions,
    WalkReader,
};

use self::manifest::manifest;
use self::release::{Counts, Release};
use crate::args::{self, ChainArgs, Chosen, MechanismArgs, quoted};
use crate::{progress, terminal};

/// Release every walk: private, feasible, close to the real one
///
/// Reads CSV or TSV with a header, or NDJSON, one state a row; the rows of different walks may
/// alternate. Writes the name of the trajectory as it is, the number of the step and the released
/// state, and nothing else of the input. With -o, a manifest beside the release says what was
/// promised.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The real walks: CSV with a header or NDJSON, `-` for standard input
    walks: String,

    #[command(flatten)]
    chain: ChainArgs,

    #[command(flatten)]
    mechanism: MechanismArgs,

    /// Where to write the release; standard output if not given. The name tells the format (`.csv`,
    /// `.tsv`, `.ndjson` or `.jsonl`); with any other it is that of the input
    #[arg(short, long, value_name = "FILE", help_heading = "Input and output")]
    output: Option<PathBuf>,

    /// The column that names the walk
    #[arg(
        long,
        value_name = "NAME",
        default_value = "trajectory",
        help_heading = "Input and output"
    )]
    trajectory_column: String,

    /// The column that holds the state
    #[arg(long, value_name = "NAME", default_value = "state", help_heading = "Input and output")]
    state_column: String,

    /// Copy this column to the release as it is, unprotected; may be given several times
    #[arg(long, value_name = "NAME", help_heading = "Input and output")]
    keep: Vec<String>,

    /// Answer each line before the next is read. Without it nothing is written until all walks are
    /// released, so that a run that fails has released nothing
    #[arg(long, help_heading = "Input and output")]
    stream: bool,

    /// What to do with a row whose state is not one of the chain's
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHAT",
        help_heading = "Input and output"
    )]
    unknown_state: UnknownState,

    /// How released walks start: `initial` (drawn from the initial distribution), `first` (the real
    /// first state, which is disclosed) or a state
    #[arg(long, value_name = "HOW", default_value = "initial", help_heading = "Release")]
    start: String,

    /// Take randomness from this number: reproducible, and NOT private
    #[arg(long, value_name = "NUMBER", conflicts_with = "key_file", help_heading = "Release")]
    seed: Option<u64>,

    /// Derive randomness from the secret in this file, so that a step tried again releases the same
    /// state again
    #[arg(long, value_name = "FILE", help_heading = "Release")]
    key_file: Option<PathBuf>,

    /// Release even if the guarantee is empty: no two different walks within the radius
    #[arg(long, help_heading = "Release")]
    allow_vacuous: bool,

    /// Charge every walk's epsilon to this ledger before it is released
    #[arg(long, value_name = "FILE", help_heading = "Budget")]
    ledger: Option<PathBuf>,

    /// Release nothing if it would bring a walk's total in the ledger above this
    #[arg(long, value_name = "E", requires = "ledger", help_heading = "Budget")]
    budget: Option<Epsilon>,

    /// Put into the manifest how many real moves the chain does not have and how many rows were left
    /// out. These counts depend on the real walks and are not protected
    #[arg(long, requires = "output", help_heading = "Input and output")]
    disclose_counts: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum UnknownState {
    /// Stop, and say on which line it is
    #[default]
    Error,
    /// Leave the row out, and count it
    Skip,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let source = args.source()?;
    let model = args.chain.model()?;
    let start = args::start(model.chain(), &args.start)?;
    args.refuse_to_overwrite_the_walks()?;
    let settled = args.mechanism.settled()?;
    let promise = settled.promise;
    settled.design(model.chain())?;
    let cover = args.refuse_empty_guarantee(&model, promise)?;
    let chosen = settled.on(&model)?;
    terminal::note(format!("mechanism {}, {promise}", chosen.name));
    args.warn(&source, start);
    let ledger = args.open_ledger(&model, promise)?;
    let releaser = Releaser::new(chosen.mechanism.clone(), &source, start)?;
    let run = Run { args, chosen, cover, source };
    let counts = if args.walks == "-" {
        let reader = WalkReader::new(std::io::stdin().lock(), "standard input", args.options())?;
        // The names are not known beforehand: each walk is charged when it is first seen.
        run.release(reader, releaser, ledger.as_ref())?
    } else {
        if let Some(ledger) = &ledger {
            args.charge_all(ledger, promise)?;
        }
        let reader = WalkReader::open(Path::new(&args.walks), args.options())?;
        run.release(reader, releaser, None)?
    };
    counts.tell();
    Ok(())
}

/// What a release is made with, beyond the releaser itself.
struct Run<'a> {
    args: &'a Args,
    chosen: Chosen,
    cover: Cover,
    source: Source,
}

impl Run<'_> {
    fn release<R: Read>(
        &self,
        reader: WalkReader<R>,
        mut releaser: Releaser,
        ledger: Option<&Ledger>,
    ) -> Result<Counts> {
        let args = self.args;
        let charge = |name: &str| match ledger {
            Some(ledger) => args.charge(ledger, self.chosen.promise, [name]),
            None => Ok(()),
        };
        let release = Release {
            releaser: &mut releaser,
            unknown_state: args.unknown_state,
            stream: args.stream,
            charge: &charge,
            example: serde_json::json!({
                &args.trajectory_column: "north",
                &args.state_column: "Baa",
            }),
        };
        match &args.output {
            Some(path) if path.as_os_str() != "-" => {
                // A request to stop is noticed between two rows, and nothing is left behind.
                progress::listen();
                let format = WalkFormat::from_path(path).unwrap_or(reader.format());
                let file = AtomicFile::create(path)?;
                let name = file.name().to_owned();
                let writer = ReleaseWriter::new(Hashing::new(file), &name, format, &args.keep)?;
                let (counts, hashed) = release.run(reader, writer)?;
                let (file, hash) = hashed.finish();
                // First the manifest: a release under its name is never without one.
                manifest(self, &counts, path, hash).prepare_for(path)?.commit()?;
                file.commit()?;
                Ok(counts)
            }
            _ => {
                const NAME: &str = "standard output";
                let (out, format) = (std::io::stdout().lock(), reader.format());
                if args.stream {
                    let writer = ReleaseWriter::new(out, NAME, format, &args.keep)?;
                    return Ok(release.run(reader, writer)?.0);
                }
                let writer = ReleaseWriter::new(HeldOutput::new(), NAME, format, &args.keep)?;
                let (counts, held) = release.run(reader, writer)?;
                held.pass_on(out).map_err(|error| error.named(NAME))?;
                Ok(counts)
            }
        }
    }
}

impl Args {
    fn refuse_to_overwrite_the_walks(&self) -> Result<()> {
        let same = self.output.as_ref().is_some_and(|output| {
            let (input, output) = (Path::new(&self.walks).canonicalize(), output.canonicalize());
            matches!((input, output), (Ok(input), Ok(output)) if input == output)
        });
        if same {
            bail!("{}: the release would replace the real walks; give -o another file", self.walks);
        }
        Ok(())
    }

    /// What the unit covers on this chain; an error if that is nothing.
    fn refuse_empty_guarantee(&self, model: &Model, promise: Promise) -> Result<Cover> {
        let cover = Cover::new(model, promise.unit);
        let closest = match model.closest_pair() {
            Some(closest) if cover.is_vacuous() => closest,
            _ => return Ok(cover),
        };
        if self.allow_vacuous {
            terminal::warning(format!(
                "--allow-vacuous: no two different walks are within {}, so this release protects \
                 nothing",
                promise.unit
            ));
            return Ok(cover);
        }
        let smallest = radius_reaching(closest.distance);
        let label = |state| model.chain().label(state);
        bail!(
            "the guarantee would be empty: on this chain no two different walks are within {}, so \
             epsilon {} would protect nothing. The two closest states, {:?} and {:?}, are {smallest} \
             nats apart; protect at least those with\n\n  veilwalk privatize {} {} --epsilon {} \
             --radius {smallest}\n\n`veilwalk guarantee` says what a radius protects; \
             --allow-vacuous releases without protection",
            promise.unit,
            promise.epsilon,
            label(closest.from),
            label(closest.to),
            quoted(&self.walks),
            self.chain.as_flags(),
            promise.epsilon,
        )
    }

    fn open_ledger(&self, model: &Model, promise: Promise) -> Result<Option<Ledger>> {
        let Some(path) = &self.ledger else { return Ok(None) };
        let scope = LedgerScope { chain: model.hash().to_string(), unit: promise.unit.to_string() };
        Ok(Some(Ledger::open(path, &scope)?))
    }

    fn charge<'a>(
        &self,
        ledger: &Ledger,
        promise: Promise,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<()> {
        let budget = self.budget.map(Epsilon::value);
        Ok(ledger.charge(names, promise.epsilon.value(), budget)?)
    }

    /// Charges every walk of the file in one go, before the first is released.
    fn charge_all(&self, ledger: &Ledger, promise: Promise) -> Result<()> {
        let mut reader = WalkReader::open(Path::new(&self.walks), self.options())?;
        let mut names = BTreeSet::new();
        while let Some(row) = reader.next_row()? {
            if !names.contains(row.trajectory) {
                names.insert(row.trajectory.to_owned());
            }
        }
        self.charge(ledger, promise, names.iter().map(String::as_str))
    }

    fn source(&self) -> Result<Source> {
        Ok(match (&self.key_file, self.seed) {
            (Some(path), _) => {
                let bytes = args::read_bytes(path).context(
                    "--key-file takes a file of secret bytes; make one with `head -c 32 /dev/urandom`",
                )?;
                let secret = Secret::new(&bytes);
                Source::keyed(secret.with_context(|| path.display().to_string())?)
            }
            (None, Some(seed)) => Source::seeded(seed),
            (None, None) => Source::system(),
        })
    }

    fn options(&self) -> WalkOptions {
        WalkOptions {
            format: None,
            trajectory_column: self.trajectory_column.clone(),
            state_column: self.state_column.clone(),
            keep: self.keep.clone(),
        }
    }

    fn warn(&self, source: &Source, start: Start) {
        if source.kind() == SourceKind::Seeded {
            terminal::warning(
                "released with --seed: whoever knows the seed can undo it. This release is NOT \
                 private; use it for tests only",
            );
        }
        if start == Start::First {
            terminal::warning("--start first: the first state of every walk is disclosed as it is");
        }
        if !self.keep.is_empty() {
            terminal::warning(format!(
                "--keep: {} is released as it is, unprotected",
                self.keep.join(", ")
            ));
        }
    }
}
