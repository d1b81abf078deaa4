//! `veilwalk privatize`: releases every walk of a file, or of a pipe while it is written.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use veilwalk::random::{Secret, SourceKind};
use veilwalk::session::{Releaser, Walk};
use veilwalk::{Chain, Source, Start, StateId};
use veilwalk_io::{
    AtomicFile, HeldOutput, ReadError, ReadErrorKind, ReleaseWriter, WalkFormat, WalkOptions,
    WalkReader,
};

use crate::args::{self, ChainArgs, MechanismArgs, counted};
use crate::terminal;

/// Release every walk: private, feasible, close to the real one
///
/// Reads CSV or TSV with a header, or NDJSON, one state a row; the rows of different walks may
/// alternate. Writes the name of the trajectory as it is, the number of the step and the released
/// state, and nothing else of the input.
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
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum UnknownState {
    /// Stop, and say on which line it is
    #[default]
    Error,
    /// Leave the row out, and count it
    Skip,
}

/// What a run did.
#[derive(Debug, Default)]
struct Counts {
    walks: usize,
    steps: usize,
    infeasible: usize,
    skipped: usize,
}

/// A walk under way, with the real state it was last seen in.
struct Open {
    walk: Walk,
    last_real: Option<StateId>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let source = args.source()?;
    let model = args.chain.model()?;
    let start = args.start(model.chain())?;
    let chosen = args.mechanism.on(&model)?;
    terminal::note(format!("mechanism {}, {}", chosen.name, args.mechanism.promise()));
    args.warn(&source, start);
    let mut releaser = Releaser::new(chosen.mechanism, &source, start)?;
    let counts = if args.walks == "-" {
        let reader = WalkReader::new(std::io::stdin().lock(), "standard input", args.options())?;
        args.release_to_output(reader, &mut releaser)?
    } else {
        let reader = WalkReader::open(Path::new(&args.walks), args.options())?;
        args.release_to_output(reader, &mut releaser)?
    };
    counts.tell();
    Ok(())
}

impl Args {
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

    fn start(&self, chain: &Chain) -> Result<Start> {
        Ok(match self.start.as_str() {
            "initial" => Start::Initial,
            "first" => Start::First,
            label => {
                Start::At(args::state(chain, "--start (`initial`, `first` or a state)", label)?)
            }
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

    fn release_to_output<R: Read>(
        &self,
        reader: WalkReader<R>,
        releaser: &mut Releaser,
    ) -> Result<Counts> {
        match &self.output {
            Some(path) if path.as_os_str() != "-" => {
                let format = WalkFormat::from_path(path).unwrap_or(reader.format());
                let file = AtomicFile::create(path)?;
                let name = file.name().to_owned();
                let writer = ReleaseWriter::new(file, &name, format, &self.keep)?;
                let (counts, file) = self.release(reader, writer, releaser)?;
                file.commit()?;
                Ok(counts)
            }
            _ => {
                const NAME: &str = "standard output";
                let (out, format) = (std::io::stdout().lock(), reader.format());
                if self.stream {
                    let writer = ReleaseWriter::new(out, NAME, format, &self.keep)?;
                    return Ok(self.release(reader, writer, releaser)?.0);
                }
                let writer = ReleaseWriter::new(HeldOutput::new(), NAME, format, &self.keep)?;
                let (counts, held) = self.release(reader, writer, releaser)?;
                held.pass_on(out).map_err(|error| error.named(NAME))?;
                Ok(counts)
            }
        }
    }

    fn release<R: Read, W: Write>(
        &self,
        mut reader: WalkReader<R>,
        mut writer: ReleaseWriter<W>,
        releaser: &mut Releaser,
    ) -> Result<(Counts, W)> {
        let model = releaser.mechanism().model().clone();
        let chain = model.chain();
        let input = reader.name().to_owned();
        let mut counts = Counts::default();
        let mut open: HashMap<String, Open> = HashMap::new();
        while let Some(row) = reader.next_row()? {
            let real = match (chain.require(row.state), self.unknown_state) {
                (Ok(state), _) => state,
                (Err(_), UnknownState::Skip) => {
                    counts.skipped += 1;
                    continue;
                }
                (Err(unknown), UnknownState::Error) => {
                    let kind = ReadErrorKind::UnknownState(unknown);
                    let error = ReadError::new(input, Some(row.line), kind);
                    bail!("{error}, or leave such rows out with --unknown-state skip");
                }
            };
            if !open.contains_key(row.trajectory) {
                let walk = releaser.walk(row.trajectory);
                open.insert(row.trajectory.to_owned(), Open { walk, last_real: None });
            }
            let here = open.get_mut(row.trajectory).expect("just made");
            if here.last_real.is_some_and(|previous| !chain.allows(previous, real)) {
                counts.infeasible += 1;
            }
            here.last_real = Some(real);
            let step = here.walk.released();
            let released = releaser.release(&mut here.walk, real);
            writer.write_row(row.trajectory, step, chain.label(released), row.kept)?;
            counts.steps += 1;
            if self.stream {
                writer.flush()?;
            }
        }
        if reader.format() == WalkFormat::Ndjson && counts.steps + counts.skipped == 0 {
            bail!(
                "{input}: the file is empty; it should hold one object a line, such as {}",
                serde_json::json!({&self.trajectory_column: "north", &self.state_column: "Baa"})
            );
        }
        counts.walks = open.len();
        writer.flush()?;
        Ok((counts, writer.finish()?))
    }
}

impl Counts {
    fn tell(&self) {
        terminal::note(format!(
            "released {}, {}",
            counted(self.walks, "walk"),
            counted(self.steps, "state")
        ));
        if self.infeasible > 0 {
            terminal::note(format!(
                "not possible under the chain: {} of the real walks; the guarantee covers them, but \
                 the chain may not fit these walks",
                counted(self.infeasible, "move")
            ));
        }
        if self.skipped > 0 {
            terminal::warning(format!(
                "{} left out because the state is not one of the chain's",
                counted(self.skipped, "row")
            ));
        }
    }
}
