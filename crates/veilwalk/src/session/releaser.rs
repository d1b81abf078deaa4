//! Releases any number of walks, each of which is held by the caller.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::{Digest, Start, WalkDigest};
use crate::chain::StateId;
use crate::mechanism::{BlockLength, Blocks, Mechanism, Workspace};
use crate::random::{Forked, Randomness, ReleaseId, Source, Unavailable, WalkKey};

/// Why a real state is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PushError {
    /// Not one of the chain's.
    #[error(transparent)]
    NoSuchState(#[from] NoSuchState),
    /// More steps than were paid for.
    #[error(
        "more than {longest} steps, the longest walk that the promise was made for; allow for longer \
         ones, or release a number of steps at a time"
    )]
    TooLong {
        /// The most steps.
        longest: u32,
    },
    /// One state was asked for of a mechanism that releases blocks.
    #[error(
        "the mechanism releases blocks of {length}, so there may be no state to answer with; push real \
         states one after another, and finish the walk"
    )]
    InBlocks {
        /// How long blocks are.
        length: BlockLength,
    },
    /// The process was forked since the source was opened.
    #[error(transparent)]
    Forked(#[from] Forked),
}

/// A real state that is not one of the chain's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("state number {state} does not exist; the chain has {states} states")]
pub struct NoSuchState {
    /// The number that was given.
    pub state: usize,
    /// How many states there are.
    pub states: usize,
}

/// Where a walk stands: how many states were released, the last of them, and in blocks the real states
/// of the block that is not full.
///
/// It holds real states as long as some wait, and is then as secret as they are.
#[derive(Clone)]
pub struct Walk {
    pub(super) key: WalkKey,
    pub(super) released: u64,
    pub(super) last: Option<StateId>,
    /// Empty between blocks, and always where states are released one at a time.
    waiting: Vec<StateId>,
}

impl Walk {
    /// How many states have been released.
    #[must_use]
    pub fn released(&self) -> u64 {
        self.released
    }

    /// The last released state.
    #[must_use]
    pub fn last(&self) -> Option<StateId> {
        self.last
    }

    /// How many real states wait for their block to fill.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

/// Real states are counted, not shown.
impl fmt::Debug for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk")
            .field("released", &self.released)
            .field("last", &self.last)
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}

/// Releases walks under one mechanism with one source of randomness.
///
/// One thread uses one releaser; open as many as there are threads.
#[derive(Debug)]
pub struct Releaser {
    mechanism: Arc<Mechanism>,
    randomness: Randomness,
    workspace: Workspace,
    start: Start,
    /// How many states the chain has.
    states: usize,
}

impl Releaser {
    /// A releaser for this mechanism.
    ///
    /// # Errors
    ///
    /// If the operating system has no randomness to give.
    pub fn new(
        mechanism: Arc<Mechanism>,
        source: &Source,
        start: Start,
    ) -> Result<Self, Unavailable> {
        let randomness = source.open(mechanism.fingerprint())?;
        let states = mechanism.model().chain().len();
        Ok(Self { mechanism, randomness, workspace: Workspace::default(), start, states })
    }

    /// The mechanism.
    #[must_use]
    pub fn mechanism(&self) -> &Arc<Mechanism> {
        &self.mechanism
    }

    /// The release id that randomness is derived from, if it is derived.
    #[must_use]
    pub fn release_id(&self) -> Option<ReleaseId> {
        self.randomness.release_id()
    }

    /// The digest of a walk at its beginning, for a record of what was released. None with system
    /// randomness.
    #[must_use]
    pub fn walk_digest(&self, name: &str) -> Option<WalkDigest> {
        WalkDigest::new(&self.randomness.walk(name.as_bytes()), self.start)
    }

    /// The digest of a whole walk.
    #[must_use]
    pub fn digest(&self, name: &str, reals: &[StateId]) -> Option<Digest> {
        let mut digest = self.walk_digest(name)?;
        reals.iter().for_each(|&real| digest.push(real));
        Some(digest.so_far())
    }

    /// A walk at its beginning. With a keyed source, two walks of the same name share their
    /// randomness, so every walk needs a name of its own.
    #[must_use]
    pub fn walk(&self, name: &str) -> Walk {
        let key = self.randomness.walk(name.as_bytes());
        Walk { key, released: 0, last: None, waiting: Vec::new() }
    }

    /// A walk that stands where another of the same name stood when nothing of it waited: for those
    /// who keep the place of many walks in few bytes each.
    ///
    /// # Panics
    ///
    /// If something was released and there is no last state, or the other way round.
    #[must_use]
    pub fn walk_at(&self, name: &str, released: u64, last: Option<StateId>) -> Walk {
        assert_eq!(released > 0, last.is_some(), "a walk that was released has a last state");
        Walk { released, last, ..self.walk(name) }
    }

    /// Takes the next real state of a walk, and appends to `out` what is released now: one state, or in
    /// blocks the first state at once, a block when it is full, and nothing in between.
    ///
    /// # Errors
    ///
    /// If the real state is not one of the chain's, the walk becomes too long to be released as a
    /// whole, or the process was forked since the releaser was made with system randomness. Nothing is
    /// released then, and the walk stands where it stood.
    #[inline]
    pub fn push(
        &mut self,
        walk: &mut Walk,
        real: StateId,
        out: &mut Vec<StateId>,
    ) -> Result<(), PushError> {
        self.randomness.check_process()?;
        self.check_state(real)?;
        match walk.last {
            Some(previous) if self.mechanism.blocks().is_none() => {
                let words = self.randomness.at(&walk.key, walk.released, Some((previous, real)));
                let next = self.mechanism.step(previous, real, words, &mut self.workspace);
                walk.released += 1;
                walk.last = Some(next);
                out.push(next);
            }
            Some(_) => {
                self.check_steps(walk.released + walk.waiting.len() as u64)?;
                self.wait(walk, real, out);
            }
            None => self.begin(walk, real, out),
        }
        Ok(())
    }

    /// The walk is over: appends the rest to `out`. The walk is used up, so that no border can come
    /// to lie where it was cut.
    ///
    /// # Errors
    ///
    /// If the process was forked since the releaser was made with system randomness. Nothing is released
    /// then.
    pub fn finish(&mut self, mut walk: Walk, out: &mut Vec<StateId>) -> Result<(), Forked> {
        self.randomness.check_process()?;
        self.flush(&mut walk, out);
        Ok(())
    }

    /// Releases a whole walk, as a [`Session`](super::Session) of that name would.
    ///
    /// # Errors
    ///
    /// If a real state is not one of the chain's, the walk has too many steps, or the process was forked
    /// since the releaser was made with system randomness. Nothing is released then.
    pub fn release(&mut self, name: &str, reals: &[StateId]) -> Result<Vec<StateId>, PushError> {
        reals.iter().try_for_each(|&real| self.check_state(real))?;
        if let Some(steps) = reals.len().checked_sub(1) {
            self.check_steps(steps as u64)?;
        }
        let mut walk = self.walk(name);
        let mut released = Vec::with_capacity(reals.len());
        for &real in reals {
            self.push(&mut walk, real, &mut released)?;
        }
        self.finish(walk, &mut released)?;
        Ok(released)
    }

    fn check_state(&self, real: StateId) -> Result<(), NoSuchState> {
        let (state, states) = (real.index(), self.states);
        if state < states { Ok(()) } else { Err(NoSuchState { state, states }) }
    }

    fn check_steps(&self, steps: u64) -> Result<(), PushError> {
        match self.mechanism.blocks().map(Blocks::length) {
            Some(BlockLength::Whole { longest }) if steps > u64::from(longest.get()) => {
                Err(PushError::TooLong { longest: longest.get() })
            }
            _ => Ok(()),
        }
    }

    /// Releases the first state.
    fn begin(&mut self, walk: &mut Walk, real: StateId, out: &mut Vec<StateId>) {
        let first = match self.start {
            Start::First => real,
            Start::At(state) => state,
            Start::Initial => {
                let words = self.randomness.at(&walk.key, 0, None);
                self.mechanism.model().chain().initial().draw(words)
            }
        };
        (walk.last, walk.released) = (Some(first), 1);
        out.push(first);
    }

    /// Lets a real state wait, and releases its block if it is full.
    fn wait(&mut self, walk: &mut Walk, real: StateId, out: &mut Vec<StateId>) {
        walk.waiting.push(real);
        if let Some(BlockLength::Steps(steps)) = self.mechanism.blocks().map(Blocks::length)
            && walk.waiting.len() == steps.get() as usize
        {
            self.flush(walk, out);
        }
    }

    /// Releases the block as far as it goes.
    fn flush(&mut self, walk: &mut Walk, out: &mut Vec<StateId>) {
        let Some(previous) = walk.last.filter(|_| !walk.waiting.is_empty()) else { return };
        let words = self.randomness.at_block(&walk.key, walk.released, previous, &walk.waiting);
        self.mechanism.release_after(previous, &walk.waiting, words, &mut self.workspace, out);
        walk.released += walk.waiting.len() as u64;
        walk.last = out.last().copied();
        walk.waiting.clear();
    }
}
