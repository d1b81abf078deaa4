//! What the stages work on: the walks with what releases them, and parts on their way.

use veilwalk::random::Unavailable;
use veilwalk::session::{BlockReleaser, Releaser};

use super::answer::Answer;
use super::batch::{Batch, WalkId};
use super::block_shard::{BlockReleased, BlockShard, Emission, in_order};
use super::shard::{Deal, PerThread, Released, Shard, shard_of};
use super::{Releasing, WalkRelease};
use crate::columns::Shape;

/// The walks, and what releases them.
pub(super) enum Work {
    Steps { shards: Vec<Shard>, releasers: PerThread<Releaser> },
    Blocks { shards: Vec<BlockShard>, releasers: PerThread<BlockReleaser> },
}

impl Work {
    /// More shards than threads, so that none waits long for the last.
    pub(super) const SHARDS_A_THREAD: usize = 4;

    pub(super) fn new(release: &WalkRelease<'_>, threads: usize) -> Result<Self, Unavailable> {
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

    pub(super) fn walks(&self) -> u64 {
        match self {
            Self::Steps { shards, .. } => shards.iter().map(|s| s.walks() as u64).sum(),
            Self::Blocks { shards, .. } => shards.iter().map(|s| s.walks() as u64).sum(),
        }
    }

    /// Whether a state of this walk has been taken.
    pub(super) fn knows(&self, id: WalkId) -> bool {
        match self {
            Self::Steps { shards, .. } => shards[shard_of(id, shards.len())].knows(id),
            Self::Blocks { shards, .. } => shards[shard_of(id, shards.len())].knows(id),
        }
    }

    pub(super) fn infeasible(&self) -> u64 {
        match self {
            Self::Steps { shards, .. } => shards.iter().map(|s| s.infeasible).sum(),
            Self::Blocks { shards, .. } => shards.iter().map(|s| s.infeasible).sum(),
        }
    }
}

/// A part after the second stage.
pub(super) enum ReleasedPart {
    Steps { batch: Batch, deal: Deal, released: Vec<Released> },
    Blocks(Vec<Emission>),
}

impl ReleasedPart {
    pub(super) fn states(&self) -> u64 {
        match self {
            Self::Steps { batch, .. } => batch.states.len() as u64,
            Self::Blocks(emissions) => emissions.iter().map(|e| e.states.len() as u64).sum(),
        }
    }

    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Steps { batch, deal, released } => Answer::merge(batch, &deal, &released),
            Self::Blocks(emissions) => Answer::of_emissions(&in_order(emissions)),
        }
    }
}

/// A round after the first stage.
pub(super) type Parsed = Vec<(Batch, Deal)>;

/// How far the second stage has come in the input.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) parts: u64,
    pub(super) last_walk: Option<WalkId>,
}

/// A part that was released in blocks: all shards give walks, or all give rows.
pub(super) fn blocks(batch: Batch, deal: Deal, released: Vec<BlockReleased>) -> ReleasedPart {
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
