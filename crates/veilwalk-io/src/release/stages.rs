//! The three stages, and what moves rounds through them.

use std::collections::HashSet;
use std::io::Write;
use std::sync::mpsc::{Receiver, sync_channel};

use rayon::prelude::*;
use veilwalk::session::Releaser;

use super::answer::Answers;
use super::batch::{Ids, WalkId};
use super::format::Format;
use super::input::{InputLayout, WalkInput};
use super::parse::Parser;
use super::read_ahead::{PartOrError, next_round, read_ahead};
use super::release_runs::{Parsed, Reached};
use super::shard::{Deal, Moves, PerThread, Shard, answers_later, holds_walks, shard_of};
use super::sink::{Piece, ReleaseOutput, Sink};
use super::write_behind::{Ended, Out, Written, write_behind};
use super::{ReleaseError, Tally, WalkRelease};
use crate::read_error::ReadError;
use crate::write_error::WriteError;

pub(super) fn run<W: Write + Send>(
    release: &WalkRelease<'_>,
    input: WalkInput,
    output: ReleaseOutput<W>,
    threads: usize,
) -> Result<(Tally, W), ReleaseError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| ReleaseError::Threads(error.to_string()))?;
    let layout = input.parts.layout();
    let stages = Stages::new(release, layout, &output, threads)?;
    let mut shards: Vec<Shard> = Vec::new();
    shards.resize_with(stages.shards, Shard::default);
    let header = stages.format.header(&output)?;
    let mut sink = Sink::new(output, &stages.format)?;
    if let Some(header) = header {
        sink.write(header)?;
    }
    let read = input.counter();
    let mut parts = input.parts;
    if holds_walks(&release.mechanism) {
        parts.make_small();
    }
    let parts = read_ahead(parts, stages.round);
    std::thread::scope(|scope| {
        let (send, pieces) = sync_channel(stages.round);
        let writer = scope.spawn(move || write_behind(sink, &pieces));
        let out = Out { send, read, states: 0, taken: 0 };
        let released = stages.drive(&pool, &parts, &mut shards, out);
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

/// More shards than threads, so that none waits long for the last.
const SHARDS_A_THREAD: usize = 4;

/// Everything the stages share.
pub(super) struct Stages<'a> {
    pub(super) release: &'a WalkRelease<'a>,
    pub(super) input: InputLayout,
    ids: Ids,
    pub(super) moves: Moves<'a>,
    pub(super) releasers: PerThread<Releaser>,
    pub(super) format: Format,
    shards: usize,
    /// How many parts make a round.
    pub(super) round: usize,
}

impl<'a> Stages<'a> {
    fn new<W>(
        release: &'a WalkRelease<'a>,
        input: InputLayout,
        output: &ReleaseOutput<W>,
        threads: usize,
    ) -> Result<Self, ReleaseError> {
        if answers_later(&release.mechanism)
            && !output.kept.is_empty()
            && input.keeps_columns_of_states()
        {
            return Err(ReleaseError::KeptInBlocks);
        }
        let format = Format::new(release, &input, output)?;
        let releaser = |_| Releaser::new(release.mechanism.clone(), release.source, release.start);
        Ok(Self {
            releasers: PerThread::new((0..threads).map(releaser).collect::<Result<_, _>>()?),
            release,
            input,
            ids: Ids::new(),
            moves: Moves::new(release.mechanism.model().chain()),
            format,
            shards: SHARDS_A_THREAD * threads,
            round: 2 * threads,
        })
    }

    /// Moves rounds through the stages until the input ends.
    fn drive(
        &self,
        pool: &rayon::ThreadPool,
        parts: &Receiver<PartOrError>,
        shards: &mut [Shard],
        mut out: Out,
    ) -> Result<Tally, Ended> {
        let (mut skipped, mut replaced) = (0, 0);
        let mut skipped_walks: HashSet<WalkId> = HashSet::new();
        let (mut parsed, mut released): (Parsed, Vec<Answers>) = Default::default();
        let mut reached = Reached::default();
        loop {
            let raw = next_round(parts, self.round);
            if raw.is_empty() && parsed.is_empty() && released.is_empty() {
                break;
            }
            out.watch(self.release)?;
            let (to_release, to_format) = (std::mem::take(&mut parsed), released);
            out.taken += to_release.iter().map(|(batch, _)| batch.states.len() as u64).sum::<u64>();
            let (now_parsed, (now_released, formatted)) = pool.install(|| {
                rayon::join(
                    || self.parse(raw),
                    || {
                        rayon::join(
                            || self.release(to_release, shards, &mut reached),
                            || self.format(to_format),
                        )
                    },
                )
            });
            out.write(formatted, self.release)?;
            released = now_released.map_err(Some)?;
            parsed = now_parsed.map_err(|error| Some(error.into()))?;
            out.states += released.iter().map(Answers::states).sum::<u64>();
            for (batch, _) in &parsed {
                skipped += batch.skipped;
                replaced += batch.replaced;
                skipped_walks.extend(&batch.skipped_walks);
            }
        }
        let walks = shards.iter().map(|shard| shard.walks() as u64).sum();
        skipped_walks.retain(|&id| !shards[shard_of(id, shards.len())].knows(id));
        let vanished = skipped_walks.len() as u64;
        self.finish_waiting(pool, shards, &mut out)?;
        // If the writer is gone, it says why.
        let _ = out.send.send(Written::End);
        let infeasible = shards.iter().map(|shard| shard.infeasible).sum();
        let states = out.states;
        Ok(Tally { walks, states, infeasible, skipped, vanished, replaced })
    }

    /// The first stage. The error is that of the first part that has one.
    fn parse(&self, parts: Vec<PartOrError>) -> Result<Parsed, ReadError> {
        let parser = Parser {
            chain: self.release.mechanism.model().chain(),
            ids: &self.ids,
            unknown: self.release.unknown_states,
        };
        let parsed: Vec<_> = parts
            .into_par_iter()
            .map(|part| {
                let batch = parser.parse(part?)?;
                let deal = Deal::new(&batch, self.shards);
                Ok((batch, deal))
            })
            .collect();
        parsed.into_iter().collect()
    }

    /// The third stage.
    fn format(&self, released: Vec<Answers>) -> Result<Vec<Piece>, WriteError> {
        released.into_par_iter().map(|part| self.format.format(&part.merge())).collect()
    }
}
