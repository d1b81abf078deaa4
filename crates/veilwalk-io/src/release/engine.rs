//! The three stages, and what moves rounds through them.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use arrow_schema::SchemaRef;
use hashbrown::HashTable;
use rayon::prelude::*;
use veilwalk::Chain;
use veilwalk::random::Unavailable;
use veilwalk::session::{BlockReleaser, Releaser};

use super::answer::{Answer, Format};
use super::batch::{Batch, Ids, Labels, WalkId};
use super::block_shard::{BlockReleased, BlockShard, Emission, Waiting, chunks, in_order};
use super::input::{Known, Part, Parts, WalkInput};
use super::parse::TextParser;
use super::parse_columns::ColumnParser;
use super::shard::{Deal, Moves, PartPlace, PerThread, Refused, Released, Shard};
use super::sink::{Piece, ReleaseOutput, Sink};
use super::text_format::TextFormat;
use super::{ReleaseError, ReleaseProgress, Releasing, Tally, WalkRelease};
use crate::columns::{ColumnFormat, Shape, arrow_error};
use crate::read_error::{ReadError, ReadErrorKind};
use crate::row_text::RowText;
use crate::write_error::WriteError;

pub(super) fn run<W: Write + Send>(
    release: &WalkRelease<'_>,
    input: WalkInput,
    output: ReleaseOutput<W>,
    threads: usize,
) -> Result<(Tally, W), ReleaseError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| ReleaseError::Threads(error.to_string()))?;
    let known = input.parts.known();
    let engine = Engine::new(release, known, &output, threads)?;
    let mut work = Work::new(release, threads)?;
    let header = engine.header(&output)?;
    let mut sink = Sink::new(output, engine.schema())?;
    if let Some(header) = header {
        sink.write(header)?;
    }
    let read = input.counter();
    let mut parts = input.parts;
    if matches!(release.releasing, Releasing::Blocks(_)) {
        parts.make_small();
    }
    let parts = read_ahead(parts, engine.round);
    std::thread::scope(|scope| {
        let (send, pieces) = sync_channel(engine.round);
        let writer = scope.spawn(move || write_behind(sink, &pieces));
        let out = Out { send, read, states: 0 };
        let released = engine.drive(&pool, &parts, &mut work, out);
        let written = match writer.join() {
            Ok(written) => written,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        match (released, written) {
            (Ok(tally), Ok(Some(out))) => Ok((tally, out)),
            (_, Err(error)) => Err(error.into()),
            (Err(Some(error)), _) => Err(error),
            (Err(None), _) | (Ok(_), Ok(None)) => Err(ReleaseError::Stopped),
        }
    })
}

/// What goes to the thread that writes.
enum Written {
    Piece(Piece),
    End,
}

/// Writes what comes, and finishes the output if the end comes too.
fn write_behind<W: Write + Send>(
    mut sink: Sink<W>,
    pieces: &Receiver<Written>,
) -> Result<Option<W>, WriteError> {
    for piece in pieces {
        match piece {
            Written::Piece(piece) => sink.write(piece)?,
            Written::End => return sink.finish().map(Some),
        }
    }
    Ok(None)
}

type PartOrError = Result<Part, ReadError>;

/// Reads on a thread of its own. It is not waited for: if the release ends early while a pipe is
/// silent, the thread ends with the next byte or with the program.
fn read_ahead(mut input: Parts, ahead: usize) -> Receiver<PartOrError> {
    let (send, parts) = sync_channel(ahead);
    std::thread::spawn(move || {
        while let Some(part) = input.next_part().transpose() {
            let last = part.is_err();
            if send.send(part).is_err() || last {
                return;
            }
        }
    });
    parts
}

/// Waits for one part, and takes what else is there.
fn next_round(parts: &Receiver<PartOrError>, most: usize) -> Vec<PartOrError> {
    let first = parts.recv().into_iter();
    first.chain(parts.try_iter().take(most - 1)).collect()
}

/// Where pieces go, and what has been counted on the way.
struct Out {
    send: SyncSender<Written>,
    read: Arc<AtomicU64>,
    states: u64,
}

/// Why the stages end; nothing if the writer is gone, which then says why.
type Ended = Option<ReleaseError>;

impl Out {
    fn write(&self, pieces: Result<Vec<Piece>, WriteError>) -> Result<(), Ended> {
        for piece in pieces.map_err(|error| Some(error.into()))? {
            self.send.send(Written::Piece(piece)).map_err(|_| None)?;
        }
        Ok(())
    }

    fn watch(&self, release: &WalkRelease<'_>) -> Result<(), Ended> {
        let bytes = self.read.load(Ordering::Relaxed);
        match (release.watch)(ReleaseProgress { bytes, states: self.states }).is_break() {
            true => Err(Some(ReleaseError::Stopped)),
            false => Ok(()),
        }
    }
}

/// The walks, and what releases them.
enum Work {
    Steps { shards: Vec<Shard>, releasers: PerThread<Releaser> },
    Blocks { shards: Vec<BlockShard>, releasers: PerThread<BlockReleaser> },
}

impl Work {
    /// More shards than threads, so that none waits long for the last.
    const SHARDS_A_THREAD: usize = 4;

    fn new(release: &WalkRelease<'_>, threads: usize) -> Result<Self, Unavailable> {
        fn some<T: Default>(threads: usize) -> Vec<T> {
            let mut shards = Vec::new();
            shards.resize_with(Work::SHARDS_A_THREAD * threads, T::default);
            shards
        }
        let (source, start) = (release.source, release.start);
        Ok(match &release.releasing {
            Releasing::Steps(mechanism) => {
                let each = (0..threads).map(|_| Releaser::new(mechanism.clone(), source, start));
                let releasers = PerThread::new(each.collect::<Result<_, _>>()?);
                Self::Steps { shards: some(threads), releasers }
            }
            Releasing::Blocks(mechanism) => {
                let each =
                    (0..threads).map(|_| BlockReleaser::new(mechanism.clone(), source, start));
                let releasers = PerThread::new(each.collect::<Result<_, _>>()?);
                Self::Blocks { shards: some(threads), releasers }
            }
        })
    }

    fn walks(&self) -> u64 {
        match self {
            Self::Steps { shards, .. } => shards.iter().map(|s| s.walks() as u64).sum(),
            Self::Blocks { shards, .. } => shards.iter().map(|s| s.walks() as u64).sum(),
        }
    }

    fn infeasible(&self) -> u64 {
        match self {
            Self::Steps { shards, .. } => shards.iter().map(|s| s.infeasible).sum(),
            Self::Blocks { shards, .. } => shards.iter().map(|s| s.infeasible).sum(),
        }
    }
}

/// A part after the second stage.
enum ReleasedPart {
    Steps { batch: Batch, deal: Deal, released: Vec<Released> },
    Blocks(Vec<Emission>),
}

impl ReleasedPart {
    fn states(&self) -> u64 {
        match self {
            Self::Steps { batch, .. } => batch.states.len() as u64,
            Self::Blocks(emissions) => emissions.iter().map(|e| e.states.len() as u64).sum(),
        }
    }

    fn answer(self) -> Answer {
        match self {
            Self::Steps { batch, deal, released } => Answer::merge(batch, &deal, &released),
            Self::Blocks(emissions) => Answer::of_emissions(&in_order(emissions)),
        }
    }
}

/// A round after the first stage.
type Parsed = Vec<(Batch, Deal)>;

/// Everything the stages share.
struct Engine<'a> {
    release: &'a WalkRelease<'a>,
    input: Known,
    labels: Labels,
    ids: Ids,
    moves: Moves<'a>,
    format: Format,
    shards: usize,
    /// How many parts make a round.
    round: usize,
}

/// How far the second stage has come in the input.
#[derive(Default)]
struct Reached {
    parts: u64,
    last_walk: Option<WalkId>,
}

impl<'a> Engine<'a> {
    fn new<W>(
        release: &'a WalkRelease<'a>,
        input: Known,
        output: &ReleaseOutput<W>,
        threads: usize,
    ) -> Result<Self, ReleaseError> {
        let chain = release.releasing.chain();
        let (kept, name) = (output.kept.len(), output.name.clone());
        let columns = match &input {
            Known::Text(_) => None,
            Known::Columns(columns) => Some(&**columns),
        };
        if kept > 0
            && matches!(release.releasing, Releasing::Blocks(_))
            && columns.is_some_and(|columns| columns.shape == Shape::Long)
        {
            return Err(ReleaseError::KeptInBlocks);
        }
        let format = if output.format.is_text() {
            let text = RowText::new(output.format, &output.kept);
            let format = TextFormat::new(text, chain, kept);
            Format::Text { format, compression: output.compression, output: name }
        } else {
            let format = ColumnFormat::new(output.format, chain, &output.kept, columns)
                .map_err(|error| arrow_error(&name, error))?;
            Format::Columns { format, kept, output: name }
        };
        Ok(Self {
            release,
            input,
            labels: Labels::new(chain),
            ids: Ids::new(),
            moves: Moves::new(chain),
            format,
            shards: Work::SHARDS_A_THREAD * threads,
            round: 2 * threads,
        })
    }

    fn chain(&self) -> &Chain {
        self.release.releasing.chain()
    }

    /// What stands above the rows.
    fn header<W>(&self, output: &ReleaseOutput<W>) -> Result<Option<Piece>, WriteError> {
        let Format::Text { compression, output: name, .. } = &self.format else { return Ok(None) };
        let header = RowText::new(output.format, &output.kept).header(&output.kept);
        let packed = compression.pack(header).map_err(|error| WriteError::io(name, error))?;
        Ok(Some(Piece::Text(packed)))
    }

    fn schema(&self) -> Option<&SchemaRef> {
        match &self.format {
            Format::Text { .. } => None,
            Format::Columns { format, .. } => Some(&format.schema),
        }
    }

    /// Moves rounds through the stages until the input ends.
    fn drive(
        &self,
        pool: &rayon::ThreadPool,
        parts: &Receiver<PartOrError>,
        work: &mut Work,
        mut out: Out,
    ) -> Result<Tally, Ended> {
        let mut skipped = 0;
        let (mut parsed, mut released): (Parsed, Vec<ReleasedPart>) = Default::default();
        let mut reached = Reached::default();
        loop {
            let raw = next_round(parts, self.round);
            if raw.is_empty() && parsed.is_empty() && released.is_empty() {
                break;
            }
            out.watch(self.release)?;
            let (to_release, to_format) = (std::mem::take(&mut parsed), released);
            let (now_parsed, (now_released, formatted)) = pool.install(|| {
                rayon::join(
                    || self.parse(raw),
                    || {
                        rayon::join(
                            || self.release(to_release, work, &mut reached),
                            || self.format(to_format),
                        )
                    },
                )
            });
            out.write(formatted)?;
            released = now_released.map_err(Some)?;
            parsed = now_parsed.map_err(|error| Some(error.into()))?;
            out.states += released.iter().map(ReleasedPart::states).sum::<u64>();
            skipped += parsed.iter().map(|(batch, _)| batch.skipped).sum::<u64>();
        }
        let walks = work.walks();
        if let Work::Blocks { shards, releasers } = work {
            self.finish_blocks(pool, shards, releasers, &mut out)?;
        }
        // If the writer is gone, it says why.
        let _ = out.send.send(Written::End);
        Ok(Tally { walks, states: out.states, infeasible: work.infeasible(), skipped })
    }

    /// The first stage. The error is that of the first part that has one.
    fn parse(&self, parts: Vec<PartOrError>) -> Result<Parsed, ReadError> {
        let parsed: Vec<_> = parts
            .into_par_iter()
            .map(|part| {
                let batch = self.parse_part(part?)?;
                let deal = Deal::new(&batch, self.shards);
                Ok((batch, deal))
            })
            .collect();
        parsed.into_iter().collect()
    }

    fn parse_part(&self, part: Part) -> Result<Batch, ReadError> {
        let (chain, labels, ids) = (self.chain(), &self.labels, &self.ids);
        let unknown = self.release.unknown_states;
        match (part, &self.input) {
            (Part::Text(block), Known::Text(layout)) => {
                TextParser { layout, chain, labels, ids, unknown }.parse(block)
            }
            (Part::Columns(part), Known::Columns(columns)) => {
                ColumnParser { columns, chain, labels, ids, unknown }.parse(&part)
            }
            (Part::Text(_), _) | (Part::Columns(_), _) => {
                unreachable!("all parts come from one input")
            }
        }
    }

    /// The second stage.
    fn release(
        &self,
        parsed: Parsed,
        work: &mut Work,
        reached: &mut Reached,
    ) -> Result<Vec<ReleasedPart>, ReleaseError> {
        self.charge(&parsed, work)?;
        match work {
            Work::Steps { shards, releasers } => {
                let release = |shard: &mut Shard, batch: &Batch, place: PartPlace<'_>| {
                    releasers.with(|releaser| shard.release(batch, place, releaser, &self.moves))
                };
                let released = self.over_shards(&parsed, shards, reached, release)?;
                let parts = parsed.into_iter().zip(released);
                let steps =
                    |((batch, deal), released)| ReleasedPart::Steps { batch, deal, released };
                Ok(parts.map(steps).collect())
            }
            Work::Blocks { shards, releasers } => {
                let release = |shard: &mut BlockShard, batch: &Batch, place: PartPlace<'_>| {
                    releasers.with(|releaser| shard.release(batch, place, releaser, &self.moves))
                };
                let released = self.over_shards(&parsed, shards, reached, release)?;
                let parts = parsed.into_iter().zip(released);
                Ok(parts.map(|((batch, deal), released)| blocks(batch, deal, released)).collect())
            }
        }
    }

    /// Tells the names that are met for the first time in a round.
    fn charge(&self, parsed: &Parsed, work: &mut Work) -> Result<(), ReleaseError> {
        let Some(charge) = self.release.charge else { return Ok(()) };
        let names: Vec<Vec<&str>> = match work {
            Work::Steps { shards, .. } => {
                let names = |(number, shard): (usize, &mut Shard)| {
                    let mut names = Vec::new();
                    for (batch, deal) in parsed {
                        names.extend(shard.new_names(batch, &deal.runs[number]));
                    }
                    names
                };
                shards.par_iter_mut().enumerate().map(names).collect()
            }
            Work::Blocks { shards, .. } => {
                let names = |(number, shard): (usize, &mut BlockShard)| {
                    let (mut names, mut named) = (Vec::new(), HashTable::new());
                    for (batch, deal) in parsed {
                        names.extend(shard.new_names(batch, &deal.runs[number], &mut named));
                    }
                    names
                };
                shards.par_iter_mut().enumerate().map(names).collect()
            }
        };
        let names = names.concat();
        if names.is_empty() {
            return Ok(());
        }
        charge(&names).map_err(ReleaseError::Charge)
    }

    /// Lets every shard release its runs, and gives what they released part by part. The error is
    /// that of the first run that has one.
    fn over_shards<S: Send, T: Send>(
        &self,
        parsed: &Parsed,
        shards: &mut [S],
        reached: &mut Reached,
        release: impl Fn(&mut S, &Batch, PartPlace<'_>) -> Result<T, Refused> + Sync,
    ) -> Result<Vec<Vec<T>>, ReadError> {
        // For each part its number, and the walk before it.
        let mut before = Vec::with_capacity(parsed.len());
        for (batch, _) in parsed {
            before.push((reached.parts, reached.last_walk));
            reached.parts += 1;
            reached.last_walk = batch.runs.last().map(|run| run.id).or(reached.last_walk);
        }
        let grouping = self.release.grouping;
        let by_shard: Vec<Vec<Result<T, Refused>>> = shards
            .par_iter_mut()
            .enumerate()
            .map(|(number, shard)| {
                let mut released = Vec::with_capacity(parsed.len());
                for ((batch, deal), &(part, before)) in parsed.iter().zip(&before) {
                    let (runs, first_states) = (&deal.runs[number][..], &deal.first_states[..]);
                    let place = PartPlace { part, runs, first_states, grouping, before };
                    released.push(release(shard, batch, place));
                }
                released
            })
            .collect();
        let mut by_shard: Vec<_> = by_shard.into_iter().map(Vec::into_iter).collect();
        let mut by_part = Vec::with_capacity(parsed.len());
        for (batch, _) in parsed {
            let (mut released, mut refused) = (Vec::with_capacity(by_shard.len()), Vec::new());
            for part in by_shard.iter_mut().filter_map(Iterator::next) {
                match part {
                    Ok(part) => released.push(part),
                    Err(run) => refused.push(run),
                }
            }
            if let Some(first) = refused.into_iter().min_by_key(|refused| refused.run) {
                return Err(self.refusal(batch, first));
            }
            by_part.push(released);
        }
        Ok(by_part)
    }

    /// Why a run cannot be released.
    fn refusal(&self, batch: &Batch, refused: Refused) -> ReadError {
        let run = &batch.runs[refused.run as usize];
        let name = batch.name(run).to_owned();
        let kind = match refused.problem {
            None => ReadErrorKind::WalkAgain { name, one_row: batch.shape == Shape::Lists },
            Some(problem) => ReadErrorKind::Walk { name, problem },
        };
        let file = match &self.input {
            Known::Text(layout) => &layout.name,
            Known::Columns(columns) => &columns.file,
        };
        ReadError::at(file, run.place, kind)
    }

    /// The third stage.
    fn format(&self, released: Vec<ReleasedPart>) -> Result<Vec<Piece>, WriteError> {
        released.into_par_iter().map(|part| self.format.format(&part.answer())).collect()
    }

    /// At the end of the input all walks are over: what waits comes out, in the order in which it
    /// began to wait.
    fn finish_blocks(
        &self,
        pool: &rayon::ThreadPool,
        shards: &mut [BlockShard],
        releasers: &PerThread<BlockReleaser>,
        out: &mut Out,
    ) -> Result<(), Ended> {
        const ROWS: usize = 1 << 12;
        let mut waiting: Vec<Waiting> = shards.iter_mut().flat_map(BlockShard::take_open).collect();
        waiting.retain(|walk| walk.rows() > 0);
        waiting.sort_by_key(|walk| walk.since);
        let mut pieces = chunks(waiting, ROWS).into_iter().peekable();
        while pieces.peek().is_some() {
            out.watch(self.release)?;
            let round: Vec<_> = pieces.by_ref().take(self.round).collect();
            out.states += round.iter().flatten().map(|walk| walk.rows() as u64).sum::<u64>();
            let finish = |walks: Vec<Waiting>| {
                let emissions: Vec<Emission> = releasers.with(|releaser| {
                    walks.into_iter().filter_map(|walk| walk.finish(releaser)).collect()
                });
                self.format.format(&Answer::of_emissions(&emissions))
            };
            out.write(pool.install(|| round.into_par_iter().map(finish).collect()))?;
        }
        Ok(())
    }
}

/// A part that was released in blocks: all shards give walks, or all give rows.
fn blocks(batch: Batch, deal: Deal, released: Vec<BlockReleased>) -> ReleasedPart {
    let (mut walks, mut rows) = (Vec::new(), Vec::new());
    for part in released {
        match part {
            BlockReleased::Walks(part) => walks.push(part),
            BlockReleased::Rows(part) => rows.extend(part),
        }
    }
    match batch.shape {
        Shape::Lists => ReleasedPart::Steps { batch, deal, released: walks },
        Shape::Long => ReleasedPart::Blocks(rows),
    }
}
