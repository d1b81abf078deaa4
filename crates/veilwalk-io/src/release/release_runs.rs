//! The second stage, the release itself: every shard releases its runs of a round.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use veilwalk::session::Releaser;

use super::answer::{Answer, Answers};
use super::batch::{Batch, WalkId};
use super::shard::{Deal, PartPlace, Refused, ReleasedRuns, Shard, answers_later};
use super::sink::Piece;
use super::stages::Stages;
use super::waiting_rows::{Emission, WaitingRows, chunks};
use super::write_behind::{Ended, Out};
use super::{NewWalk, ReleaseError, ReleaseStage};
use crate::read_error::{ReadError, ReadErrorKind};
use crate::walks::Shape;

/// A round after the first stage.
pub(super) type Parsed = Vec<(Batch, Deal)>;

/// How far the second stage has come in the input.
#[derive(Default)]
pub(super) struct Reached {
    parts: u64,
    last_walk: Option<WalkId>,
}

impl Stages<'_> {
    /// The second stage.
    pub(super) fn release(
        &self,
        parsed: Parsed,
        shards: &mut [Shard],
        reached: &mut Reached,
    ) -> Result<Vec<Answers>, ReleaseError> {
        self.charge(&parsed, shards)?;
        let released = self.over_shards(&parsed, shards, reached)?;
        let answers_later = answers_later(&self.release.mechanism);
        let answers = |((batch, deal), released): ((Batch, Deal), _)| {
            let rows_wait = answers_later && batch.shape == Shape::Long;
            Answers { batch, deal, released, rows_wait }
        };
        Ok(parsed.into_iter().zip(released).map(answers).collect())
    }

    /// Tells the names that are met for the first time in a round.
    fn charge(&self, parsed: &Parsed, shards: &mut [Shard]) -> Result<(), ReleaseError> {
        let Some(charge) = self.release.charge else { return Ok(()) };
        let names = |(number, shard): (usize, &mut Shard)| {
            let mut names = Vec::new();
            for (batch, deal) in parsed {
                names.extend(shard.new_names(batch, &deal.runs[number]));
            }
            names
        };
        let names: Vec<Vec<&str>> = shards.par_iter_mut().enumerate().map(names).collect();
        let names = names.concat().into_iter();
        let new: Vec<NewWalk<'_>> = names.map(|name| NewWalk { name, person: None }).collect();
        if new.is_empty() {
            return Ok(());
        }
        charge(&new).map_err(ReleaseError::Charge)
    }

    /// Lets every shard release its runs, and gives what they released part by part. The error is
    /// that of the first run that has one.
    fn over_shards(
        &self,
        parsed: &Parsed,
        shards: &mut [Shard],
        reached: &mut Reached,
    ) -> Result<Vec<Vec<ReleasedRuns>>, ReadError> {
        // For each part its number, and the walk before it.
        let mut before = Vec::with_capacity(parsed.len());
        for (batch, _) in parsed {
            before.push((reached.parts, reached.last_walk));
            reached.parts += 1;
            reached.last_walk = batch.runs.last().map(|run| run.id).or(reached.last_walk);
        }
        let grouping = self.release.grouping;
        let by_shard: Vec<Vec<Result<ReleasedRuns, Refused>>> = shards
            .par_iter_mut()
            .enumerate()
            .map(|(number, shard)| {
                let mut released = Vec::with_capacity(parsed.len());
                for ((batch, deal), &(part, before)) in parsed.iter().zip(&before) {
                    let (runs, first_states) = (&deal.runs[number][..], &deal.first_states[..]);
                    let place = PartPlace { part, runs, first_states, grouping, before };
                    released.push(
                        self.releasers
                            .with(|releaser| shard.release(batch, place, releaser, &self.moves)),
                    );
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
        ReadError::at(self.input.file(), run.place, kind)
    }

    /// At the end of the input all walks are over: what waits comes out, in the order in which it
    /// began to wait.
    pub(super) fn finish_waiting(
        &self,
        pool: &rayon::ThreadPool,
        shards: &mut [Shard],
        out: &mut Out,
    ) -> Result<(), Ended> {
        const ROWS: usize = 1 << 12;
        /// It is told how far this is each time about so many states have been released.
        const TELL_AFTER: u64 = 64;
        let mut waiting: Vec<WaitingRows> =
            shards.iter_mut().flat_map(Shard::take_waiting).collect();
        waiting.sort_by_key(|walk| walk.since);
        let mut pieces = chunks(waiting, ROWS).into_iter().peekable();
        while pieces.peek().is_some() {
            out.watch_at(out.states, ReleaseStage::Rest, self.release)?;
            let round: Vec<_> = pieces.by_ref().take(self.round).collect();
            let (released, told) = (AtomicU64::new(out.states), &*out);
            // Long before a round is over: a state may take a millisecond.
            let finish = |walk: WaitingRows, releaser: &mut Releaser| -> Result<_, Ended> {
                let rows = walk.rows() as u64;
                let emission = walk.finish(0, releaser).map_err(|error| Some(error.into()))?;
                let states = released.fetch_add(rows, Ordering::Relaxed) + rows;
                if states / TELL_AFTER > (states - rows) / TELL_AFTER {
                    told.watch_at(states, ReleaseStage::Rest, self.release)?;
                }
                Ok(emission)
            };
            let finish_piece = |walks: Vec<WaitingRows>| -> Result<Piece, Ended> {
                let emissions: Result<Vec<Option<Emission>>, Ended> =
                    self.releasers.with(|releaser| {
                        walks.into_iter().map(|walk| finish(walk, releaser)).collect()
                    });
                let emissions: Vec<Emission> = emissions?.into_iter().flatten().collect();
                let piece = self.format.format(&Answer::of_emissions(&emissions));
                piece.map_err(|error| Some(error.into()))
            };
            let finished: Result<Vec<Piece>, Ended> =
                pool.install(|| round.into_par_iter().map(finish_piece).collect());
            out.write(Ok(finished?), self.release)?;
            out.states = released.into_inner();
        }
        Ok(())
    }
}
