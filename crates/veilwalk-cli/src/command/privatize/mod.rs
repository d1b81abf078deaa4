//! `veilwalk privatize`: releases every walk of a file, or of a pipe while it is written.

mod appended;
mod charging;
mod draining;
mod kept;
mod manifest;
mod order;
mod release;

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result, anyhow, bail};
use clap::ValueEnum;
use veilwalk::guarantee::Cover;
use veilwalk::internal::request::Made;
use veilwalk::mechanism::BlockLength;
use veilwalk::random::{ReleaseId, SourceKind};
use veilwalk::{Chain, Mechanism, Promise, Source, Start};
use veilwalk_io::{
    AtomicFile, Compression, Hashing, HeldOutput, NewWalk, OnError, OwnColumns, ReadError,
    ReadErrorKind, UnknownStates, WalkFormat, WalkOptions, WalkReader,
};

use self::appended::Appended;
use self::charging::{Charging, Known};
use self::manifest::manifest;
use self::release::{Output, Release, Walks};
use crate::args::{
    self, Input, LedgerArgs, ProtectionArgs, RandomnessArgs, ReleaseArgs, UnknownLabels,
    UnknownState, Written, blocks_in_words, counted, unknown_state_error, whole,
};
use crate::progress;
use crate::terminal;
use veilwalk_ledger::Window;

/// Release every walk: private, feasible, close to the real one
///
/// Reads CSV or TSV with a header, NDJSON, Parquet or Arrow, with one state per row; the rows of different
/// walks may be mixed. Parquet and Arrow may also have one row per walk, with the list of its states.
/// Text may be compressed with gzip or zstd. Writes the name of the trajectory as it is, the number of
/// the step and the released state, and nothing else of the input, in the order of the input. With
/// --block, rows come out when their block is released, with --lag when so many more steps were read. With a
/// mechanism that observes (`tight`, `believed`, `plane`) there is a column `observed` as well. With -o, a manifest beside the release says
/// what was promised. A file without walks gives an empty release, with a warning and status 0.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The real walks: CSV with a header, NDJSON, Parquet or Arrow; `-` for standard input
    walks: String,

    #[command(flatten)]
    release: ReleaseArgs,

    /// Where to write the release; standard output if not given. The name tells the format (`.csv`,
    /// `.tsv`, `.ndjson` or `.jsonl`, compressed with a further `.gz` or `.zst`; `.parquet`, `.arrow`,
    /// `.arrows` for a stream of Arrow); with any other it is that of the input. A file of that name
    /// is replaced, with a warning, once the release is complete
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

    /// The column that holds the state, or in Parquet and Arrow the list of a walk's states
    #[arg(long, value_name = "NAME", default_value = "state", help_heading = "Input and output")]
    state_column: String,

    /// The column that says which step of its walk a row is, in numbers that grow. The rows of a walk are released in the
    /// order in which they stand, and a file in which that is another order is refused. If not given, that is the column `step`
    /// where there is one. `none` takes rows as they stand, as is done with --stream and with pipes. With --state, the column with the
    /// number of the step, from 0 in each walk: a row that comes again gets the same answer. Without it rows are the next steps of
    /// their walks
    #[arg(long, value_name = "NAME|none", help_heading = "Input and output")]
    step_column: Option<String>,

    /// Copy this column to the release unchanged and unprotected; may be given several times
    #[arg(long, value_name = "NAME", help_heading = "Input and output")]
    keep: Vec<String>,

    /// Answer each line before the next is read. Without it nothing is written until all walks are
    /// released, so that a run that fails has released nothing. With -o, rows are appended, and on the disk
    /// as soon as they are answered. SIGTERM and SIGHUP end a stream in good order
    #[arg(long, help_heading = "Input and output")]
    stream: bool,

    /// With --stream, what to do with a line that is wrong: `stop` there, or `answer` it with an error and go
    /// on: an object with `error` and `line`, or in a table a row with the column `error`. `answer` if not given
    /// for objects (NDJSON), `stop` for tables
    #[arg(long, value_name = "WHAT", requires = "stream", help_heading = "Input and output")]
    on_error: Option<WhenWrong>,

    /// With --stream, the longest line that is taken, in bytes
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 1 << 20,
        allow_negative_numbers = true,
        value_parser = whole::<usize>(16..=1 << 30),
        help_heading = "Input and output"
    )]
    max_line: usize,

    /// With --stream, keep walks in this directory, so that they go on after a restart: each answer is on the
    /// disk before it is written, and real states never are. The directory belongs to this chain, mechanism,
    /// promise and start from then on. Walks stay open at the end of the input, until --idle or with --grouped
    /// until another begins
    #[arg(long, value_name = "DIR", requires = "stream", help_heading = "Input and output")]
    state: Option<PathBuf>,

    /// With --state, end a walk for which nothing came for this long
    #[arg(long, value_name = "SPAN", default_value = "2h", help_heading = "Input and output")]
    idle: Window,

    /// The rows of each walk are next to each other, and a walk is over when another begins. With --block
    /// or --lag, it is then released without waiting for the end of the input; a walk that goes on later is an error
    #[arg(long, help_heading = "Input and output")]
    grouped: bool,

    /// How many threads release walks; one for each core if not given. What is released with a key
    /// or a seed does not depend on it
    #[arg(
        long,
        value_name = "COUNT",
        allow_negative_numbers = true,
        value_parser = whole::<NonZeroUsize>(1..=1024),
        help_heading = "Input and output"
    )]
    threads: Option<NonZeroUsize>,

    /// What to do with a row whose state is not one of the chain's: `error` (stop there), `skip` (leave it
    /// out, so that the length of a walk reveals something about it; not with --keep), or a state of the
    /// chain to use in its place, which does not show (`state:NAME` for a state called `error` or `skip`)
    #[arg(long, default_value = "error", value_name = "WHAT", help_heading = "Input and output")]
    unknown_state: UnknownState,

    /// How released walks start: `private` (drawn near the real first state, as private as every other),
    /// `initial` (drawn from the initial distribution, whatever the real first state is), `first` (the
    /// real first state, which is disclosed) or a state
    #[arg(long, value_name = "HOW", default_value = "private", help_heading = "Release")]
    start: String,

    #[command(flatten)]
    randomness: RandomnessArgs,

    #[command(flatten)]
    protection: ProtectionArgs,

    #[command(flatten)]
    budget: LedgerArgs,

    /// The column that says whose walk it is: the losses of all walks of a person add up. Each walk is its
    /// own person if not given
    #[arg(long, value_name = "NAME", help_heading = "Budget")]
    person_column: Option<String>,

    /// Put into the manifest how many real moves the chain does not have and how many rows were left
    /// out. These counts depend on the real walks and are not protected
    #[arg(long, requires = "output", help_heading = "Input and output")]
    disclose_counts: bool,
}

/// What to do with a line that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WhenWrong {
    Answer,
    Stop,
}

impl From<WhenWrong> for OnError {
    fn from(what: WhenWrong) -> Self {
        match what {
            WhenWrong::Answer => Self::Answer,
            WhenWrong::Stop => Self::Stop,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let outcome = release(args);
    match outcome {
        // Whoever reads a stream relies on it; that it is gone is no success.
        Err(error) if args.stream && terminal::is_broken_pipe(&error) => {
            Err(terminal::OutputClosed.into())
        }
        outcome => outcome,
    }
}

fn release(args: &Args) -> Result<()> {
    args.randomness.refuse_known_secret(&args.other_inputs())?;
    let source = args.randomness.source()?;
    args.check_kept(source.kind())?;
    let release_id = match source.release_id() {
        Some(id) => id,
        None => ReleaseId::random()?,
    };
    let model = args.release.any_model()?;
    let start = args::start(model.chain(), &args.start)?;
    let unknown_states = args.unknown_states(model.chain())?;
    if let Some(output) = args.output.as_ref().filter(|_| args.writes_to_file()) {
        if args.stream {
            args::refuse_to_replace(output, &args.inputs())?;
        } else {
            args::settle_output(output, Written::Release, &args.inputs())?;
        }
    }
    if args.walks != "-" {
        args.release.mechanism.look_at_walks(Path::new(&args.walks))?;
    }
    let asked = args.release.asked()?.starting(start);
    let length = asked.request.block;
    let promise = asked.request.promise;
    asked.check(model.chain())?;
    let cover = args.protection.cover(&model, promise)?;
    args.check_person_column()?;
    args.check_order()?;
    let chosen = asked.on(&model)?;
    let ledger = match args.state {
        // The engine charges walks.
        Some(_) => None,
        None => Charging::open(args, &chosen, release_id.to_bytes(), start)?,
    };
    let run = Run { args, chosen, cover, source, release_id, start, unknown_states, ledger };
    let walks = match Walks::open(args).map_err(|error| error.downcast::<ReadError>()) {
        Ok(walks) => walks,
        Err(Ok(error)) if args.stream && matches!(error.kind(), ReadErrorKind::Empty { .. }) => {
            terminal::warning(format!("{}: there is nothing in it", error.file()));
            return Ok(());
        }
        Err(Ok(error)) => return Err(args.with_advice(model.chain(), error)),
        Err(Err(other)) => return Err(other),
    };
    // Before anything is charged, or said of a release that there will not be.
    OwnColumns::of(&run.chosen.mechanism).check_kept(&args.output_name(), &args.keep)?;
    let walks = match walks {
        Walks::Stream(reader, _) if args.state.is_some() => {
            run.tell(length, promise);
            return run.chosen.mechanism.model().guarded(|| kept::release(&run, reader));
        }
        walks => walks,
    };
    let looks_first = run.ledger.is_some() || args.person_column().is_some();
    let known = match (looks_first, walks.can_be_read_twice()) {
        (true, true) => {
            args.known_walks(model.chain(), &run).map_err(|error| match error.downcast() {
                Ok(error) => args.with_advice(model.chain(), error),
                Err(other) => other,
            })?
        }
        // In a pipe the walks are not known beforehand: each is charged when it is first seen.
        _ => Known::new(),
    };
    run.tell(length, promise);
    let most_walks = args.person_column().and_then(|_| charging::tell_persons(&known, promise));
    run.release(walks, &known, most_walks)
}

/// What is said of rows on standard output when a stream is stopped.
const PRINTED: &str = "the rows that were printed are released";

/// What a release is made with, beyond the releaser itself.
struct Run<'a> {
    args: &'a Args,
    chosen: Made,
    cover: Cover,
    source: Source,
    release_id: ReleaseId,
    start: Start,
    unknown_states: UnknownStates,
    ledger: Option<Charging>,
}

impl Run<'_> {
    /// Says what is about to be released, once nothing stands against it but what may be wrong with a row.
    fn tell(&self, length: Option<BlockLength>, promise: Promise) {
        let blocks = length.map(|length| format!(" in {}", blocks_in_words(length)));
        let blocks = blocks.unwrap_or_default();
        terminal::note(format!("mechanism {}{blocks}, {promise}", self.chosen.name));
        if self.args.state.is_none() {
            terminal::note(format!("release id {}", self.release_id));
        }
        if let Some(visit) = self.args.release.mechanism.visit() {
            terminal::note(visit);
        }
        tell_observation(&self.chosen.mechanism);
        args::tell_coverage(&self.cover, promise);
        self.args.warn(&self.source, self.start);
        if !self.args.writes_to_file() && self.args.state.is_none() {
            terminal::note(
                "printed without a manifest; -o FILE writes one beside the release, by which `veilwalk verify`, \
                 `refine` and `estimate` know what was promised",
            );
        }
    }

    /// Releases all that is read. The walks that are known are charged in one go, as soon as there
    /// is somewhere to write them to; any other before its first state is released.
    fn release(&self, walks: Walks, known: &Known, most_walks: Option<u64>) -> Result<()> {
        let args = self.args;
        self.when_stopped(if args.prints_at_once() { PRINTED } else { "nothing was written" });
        let charge = |new: &[NewWalk<'_>]| {
            let new = new.iter().copied().filter(|walk| !known.contains_key(walk.name));
            let new: Vec<NewWalk<'_>> = new.collect();
            self.ledger.as_ref().map_or(Ok(()), |ledger| ledger.charge_new(&new))?;
            Ok(())
        };
        let charge_first = || self.ledger.as_ref().map_or(Ok(()), |l| l.charge_known(known));
        let release = Release { run: self, charge: &charge };
        match &args.output {
            Some(path) if args.writes_to_file() => {
                let format = WalkFormat::from_path(path).unwrap_or(walks.format());
                let compression = Compression::from_path(path);
                if args.stream {
                    return self.append(&release, walks, path, most_walks, &charge_first);
                }
                let file = AtomicFile::create(path)?;
                let name = file.name().to_owned();
                charge_first()?;
                let output = Output { out: Hashing::new(file), name: &name, format, compression };
                let (tally, hashed) = release.run(walks, output)?;
                let (file, hash) = hashed.finish();
                // First the manifest: a release under its name is never without one.
                let manifest = manifest(self, &tally, most_walks, path, hash).prepare_for(path)?;
                let manifest_name = manifest.name().to_owned();
                manifest.commit()?;
                file.commit()?;
                terminal::note(format!("wrote {name} and {manifest_name}"));
            }
            _ => {
                let name = "standard output";
                let (format, compression) = (walks.format(), Compression::None);
                if !format.is_text() && std::io::stdout().is_terminal() {
                    bail!(
                        "this would print bytes on the terminal; give -o FILE, such as -o out.csv"
                    );
                }
                charge_first()?;
                if args.stream {
                    let out = std::io::stdout();
                    release.run(walks, Output { out, name, format, compression })?;
                } else {
                    let out = HeldOutput::new();
                    let (_, held) =
                        release.run(walks, Output { out, name, format, compression })?;
                    self.when_stopped("a part of the release was printed");
                    held.pass_on(std::io::stdout().lock()).map_err(|error| error.named(name))?;
                }
            }
        }
        Ok(())
    }

    /// A stream into a file of its own: rows are there at once, and the manifest when it ends.
    fn append(
        &self,
        release: &Release<'_>,
        walks: Walks,
        path: &Path,
        most_walks: Option<u64>,
        charge_first: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let format = self.args.row_format(path, walks.format())?;
        let name = path.display().to_string();
        let was_there = path.exists();
        let file = Appended::create(path)?;
        self.when_stopped("the rows that were written are released; there is no manifest");
        charge_first().inspect_err(|_| {
            if !was_there {
                let _ = std::fs::remove_file(path);
            }
        })?;
        let (out, compression) = (Hashing::new(file), Compression::None);
        let (tally, hashed) =
            release.run(walks, Output { out, name: &name, format, compression })?;
        let (_, hash) = hashed.finish();
        let manifest = manifest(self, &tally, most_walks, path, hash).prepare_for(path)?;
        let manifest_name = manifest.name().to_owned();
        manifest.commit()?;
        terminal::note(format!("wrote {name} and {manifest_name}"));
        Ok(())
    }

    /// Sets what is said if the release is stopped from here on: what was written, and that a
    /// charge stays, whether Ctrl-C comes before it, after it or meanwhile.
    fn when_stopped(&self, written: &'static str) {
        match self.ledger {
            Some(_) => progress::when_stopped(format!(
                "{written}; what was charged to the ledger stays charged"
            )),
            None => progress::when_stopped(written),
        }
    }
}

impl Args {
    /// What is done with unknown states. Rows that are left out must not show in what is kept.
    fn unknown_states(&self, chain: &Chain) -> Result<UnknownStates> {
        let unknown_states = self.unknown_state.on(chain)?;
        if unknown_states == UnknownStates::Skip && !self.keep.is_empty() {
            bail!(
                "--unknown-state skip does not go with --keep: the values of {} that are missing would \
                 show which rows were left out; leave --keep out, or take a state of the chain instead \
                 with --unknown-state STATE",
                self.keep.join(", ")
            );
        }
        Ok(unknown_states)
    }

    /// The files that are read, and the ledger.
    fn inputs(&self) -> Vec<Input<'_>> {
        let mut inputs = self.other_inputs();
        inputs.extend(self.randomness.input());
        inputs
    }

    /// All of them but the secret.
    fn other_inputs(&self) -> Vec<Input<'_>> {
        let mut inputs = self.release.chain.inputs();
        inputs.push((Path::new(&self.walks), "the real walks"));
        inputs.extend(self.release.mechanism.input());
        inputs.extend(self.budget.input());
        inputs
    }

    /// What can be done about an error, beyond what it says itself.
    fn with_advice(&self, chain: &Chain, error: ReadError) -> Error {
        match error.kind() {
            ReadErrorKind::MissingColumn { column, found, .. }
                if self.person_column() == Some(column) =>
            {
                anyhow!(
                    "{}: there is no column {column:?} for --person-column; the columns are {}",
                    self.walks,
                    found.join(", ")
                )
            }
            ReadErrorKind::UnknownState(_) => {
                unknown_state_error(&error, self.unknown_labels(chain))
            }
            ReadErrorKind::MissingColumn { found, .. } => {
                match found.iter().find(|name| chain.state(name).is_some()) {
                    Some(state) => anyhow!(
                        "{error}; {state:?} is a state of the chain: if the first line is data, add a \
                         header line above it, such as trajectory,state"
                    ),
                    None => error.into(),
                }
            }
            _ => error.into(),
        }
    }

    /// All labels that are not the chain's, where the walks can be read once more.
    fn unknown_labels(&self, chain: &Chain) -> Option<UnknownLabels> {
        let path = Path::new(&self.walks);
        let mut reader = path.is_file().then(|| WalkReader::open(path, self.options()))?.ok()?;
        let mut labels = UnknownLabels::default();
        while let Some(row) = reader.next_row().ok()? {
            match chain.state(row.state) {
                Some(_) => labels.add_known(),
                None => labels.add(row.state),
            }
            if progress::stop_requested() {
                return None;
            }
        }
        Some(labels)
    }

    fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(all).get()
    }

    /// Whether rows are on standard output as soon as they are released.
    fn prints_at_once(&self) -> bool {
        self.stream && !self.writes_to_file()
    }

    /// What messages call the output.
    fn output_name(&self) -> String {
        match &self.output {
            Some(path) if self.writes_to_file() => path.display().to_string(),
            _ => "standard output".to_owned(),
        }
    }

    fn writes_to_file(&self) -> bool {
        self.output.as_ref().is_some_and(|path| !args::is_standard_output(path))
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

/// Says what else is released where real states are observed, and when.
fn tell_observation(mechanism: &Mechanism) {
    let Some(observation) = mechanism.observation() else { return };
    terminal::note(
        "the release has one more column, `observed`: what was observed of each real state, from which \
         the released walk is made. The promise covers both",
    );
    let lag = observation.tracking().lag;
    if lag > 0 {
        terminal::note(format!(
            "with a lag of {}: a state is answered that many rows of its walk later, or at the end of the walk",
            counted(lag as usize, "step")
        ));
    }
}
