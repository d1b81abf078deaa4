//! A batch after its release, in the order of the output.

use super::batch::{Batch, WalkRun};
use super::shard::{Deal, ReleasedRuns, shard_of};
use super::waiting_rows::{Emission, in_order};
use crate::read_error::Place;
use crate::walks::Shape;

/// A part after the second stage.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) batch: Batch,
    pub(super) deal: Deal,
    /// By shard.
    pub(super) released: Vec<ReleasedRuns>,
    /// Whether rows come out when their block is released.
    pub(super) rows_wait: bool,
}

impl Answers {
    pub(super) fn states(&self) -> u64 {
        let emissions = self.released.iter().flat_map(|released| &released.emissions);
        let in_blocks: usize = emissions.map(|emission| emission.released.len()).sum();
        let others: usize = self.released.iter().map(|runs| runs.released.len()).sum();
        (in_blocks + others) as u64
    }

    /// One answer, in the order in which rows come out.
    pub(super) fn merge(self) -> Answer {
        if !self.rows_wait {
            return Answer::merge(self.batch, &self.deal, &self.released);
        }
        let emissions = self.released.into_iter().flat_map(|released| released.emissions);
        Answer::of_emissions(&in_order(emissions.collect()))
    }
}

/// A batch after its release: its states are the released ones.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) batch: Batch,
    /// For each run, the number of its first step.
    pub(super) first_steps: Vec<u64>,
}

impl Answer {
    /// Puts what the shards released back into the order of the input.
    fn merge(mut batch: Batch, deal: &Deal, released: &[ReleasedRuns]) -> Self {
        // For each shard, how many runs and states have been taken.
        let mut taken = vec![(0, 0); released.len()];
        let mut first_steps = Vec::with_capacity(batch.runs.len());
        for (run, &first) in batch.runs.iter().zip(&deal.first_states) {
            let shard = shard_of(run.id, released.len());
            let (runs, states) = &mut taken[shard];
            let (count, first) = (run.states as usize, first as usize);
            let (runs_of, taken) = (&released[shard].released, *states..*states + count);
            batch.states[first..first + count].copy_from_slice(&runs_of.states[taken.clone()]);
            batch.observed.extend(runs_of.observed.get(taken).unwrap_or_default());
            first_steps.push(released[shard].first_steps[*runs]);
            *runs += 1;
            *states += count;
        }
        Self { batch, first_steps }
    }

    /// What came out of blocks, in this order.
    pub(super) fn of_emissions(emissions: &[Emission]) -> Self {
        let rows = emissions.iter().map(|emission| emission.released.len()).sum();
        let mut batch = Batch::new(Shape::Long, rows);
        let mut first_steps = Vec::with_capacity(emissions.len());
        for emission in emissions {
            let name = batch.add_text(&emission.name);
            emission.kept.iter().for_each(|value| batch.keep_text(value));
            let (id, states) = (emission.id, emission.released.len() as u32);
            // Where the rows were is of no more interest.
            batch.runs.push(WalkRun { id, name, states, place: Place::Row(0) });
            batch.states.extend_from_slice(&emission.released.states);
            batch.observed.extend_from_slice(&emission.released.observed);
            first_steps.push(emission.first_step);
        }
        Self { batch, first_steps }
    }
}
