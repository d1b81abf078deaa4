//! One walk in blocks: real states come in one at a time, released ones go out a block at a time.
//!
//! The first released state goes out at once, as in a [`Session`](super::Session). Then the walk
//! waits until a block is full, or until it is told that the walk is over. Where a block ends depends
//! on the number of the step alone, never on the real walk: a border is part of what is released.
//!
//! A [`BlockReleaser`] does this for any number of walks at a time. Each is a [`BlockWalk`] that the
//! caller holds: where it stands, and the real states that wait. A [`BlockSession`] is one of each.
//!
//! # Privacy
//!
//! Runs under different release ids are independent, so their losses add up. Under one id, with a keyed
//! source, a block that is tried again with the same real states releases the same states again, which
//! adds nothing. The real states of the whole block decide its randomness: a block in which one of them
//! differs has fresh bits, while the blocks before it repeat. Two releases of a walk and of a changed one
//! under one id therefore part in exactly the block that changed, and that does not compose: the joint
//! loss is infinite ([`random`](crate::random) has the proof). A walk that was cut short by
//! [`BlockSession::finish`] and is released again in full is another walk, and needs another id. That a
//! walk is over is told by its length, which is public.
//!
//! A block that is not full is made of real states. It is held in memory only: a session can be saved
//! between blocks, where nothing waits, and nowhere else.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::saved::Owner;
use super::{Digest, NoSuchState, ReplayError, ResumeError, Start, WalkDigest};
use crate::chain::StateId;
use crate::mechanism::{BlockLength, BlockMechanism, BlockWorkspace};
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
    /// The process was forked since the source was opened.
    #[error(transparent)]
    Forked(#[from] Forked),
}

/// A session that cannot be saved, because real states wait for their block to fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{waiting} real {} for their block ({length}) to fill, and real states are not saved; save after a \
     block was released, or finish the walk",
    if *waiting == 1 { "state waits" } else { "states wait" }
)]
pub struct UnfilledBlock {
    /// How many real states wait.
    pub waiting: usize,
    /// How long blocks are.
    pub length: BlockLength,
}

/// Where a walk stands: what was released last, and the real states of the block that is not full.
///
/// It holds real states, so it is as secret as they are.
#[derive(Clone)]
pub struct BlockWalk {
    key: WalkKey,
    released: u64,
    last: Option<StateId>,
    reals: Vec<StateId>,
}

impl BlockWalk {
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
        self.reals.len()
    }
}

/// Real states are counted, not shown.
impl fmt::Debug for BlockWalk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockWalk")
            .field("released", &self.released)
            .field("last", &self.last)
            .field("waiting", &self.reals.len())
            .finish_non_exhaustive()
    }
}

/// Releases walks in blocks under one mechanism with one source of randomness.
///
/// One thread uses one releaser; open as many as there are threads.
#[derive(Debug)]
pub struct BlockReleaser {
    mechanism: Arc<BlockMechanism>,
    randomness: Randomness,
    workspace: BlockWorkspace,
    start: Start,
}

impl BlockReleaser {
    /// A releaser for this mechanism.
    ///
    /// # Errors
    ///
    /// If the operating system has no randomness to give.
    pub fn new(
        mechanism: Arc<BlockMechanism>,
        source: &Source,
        start: Start,
    ) -> Result<Self, Unavailable> {
        let randomness = source.open(mechanism.fingerprint())?;
        Ok(Self { mechanism, randomness, workspace: BlockWorkspace::default(), start })
    }

    /// The mechanism.
    #[must_use]
    pub fn mechanism(&self) -> &Arc<BlockMechanism> {
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
    pub fn walk(&self, name: &str) -> BlockWalk {
        let key = self.randomness.walk(name.as_bytes());
        BlockWalk { key, released: 0, last: None, reals: Vec::new() }
    }

    /// Takes the next real state of a walk, and appends to `out` what is released now: the first
    /// state at once, a block when it is full, and nothing in between.
    ///
    /// # Errors
    ///
    /// If the real state is not one of the chain's, the walk becomes too long, or the process was forked
    /// since the releaser was made with system randomness. Nothing is released then, and the walk stands
    /// where it stood.
    pub fn push(
        &mut self,
        walk: &mut BlockWalk,
        real: StateId,
        out: &mut Vec<StateId>,
    ) -> Result<(), PushError> {
        self.randomness.check_process()?;
        self.check_state(real)?;
        if walk.last.is_some() {
            self.check_steps(walk.released + walk.reals.len() as u64)?;
        }
        self.take(walk, real, out);
        Ok(())
    }

    /// The walk is over: appends the rest to `out`. The walk is used up, so that no border can come
    /// to lie where it was cut.
    ///
    /// # Errors
    ///
    /// If the process was forked since the releaser was made with system randomness. Nothing is released
    /// then.
    pub fn finish(&mut self, mut walk: BlockWalk, out: &mut Vec<StateId>) -> Result<(), Forked> {
        self.randomness.check_process()?;
        self.flush(&mut walk, out);
        Ok(())
    }

    /// Releases a whole walk, as a [`BlockSession`] of that name would.
    ///
    /// # Errors
    ///
    /// If a real state is not one of the chain's, the walk has too many steps, or the process was forked
    /// since the releaser was made with system randomness. Nothing is released then.
    pub fn release(&mut self, name: &str, reals: &[StateId]) -> Result<Vec<StateId>, PushError> {
        self.randomness.check_process()?;
        reals.iter().try_for_each(|&real| self.check_state(real))?;
        if let Some(steps) = reals.len().checked_sub(1) {
            self.check_steps(steps as u64)?;
        }
        let mut walk = self.walk(name);
        let mut released = Vec::with_capacity(reals.len());
        for &real in reals {
            self.take(&mut walk, real, &mut released);
        }
        self.flush(&mut walk, &mut released);
        Ok(released)
    }

    fn check_state(&self, real: StateId) -> Result<(), NoSuchState> {
        let states = self.mechanism.model().chain().len();
        if real.index() < states {
            Ok(())
        } else {
            Err(NoSuchState { state: real.index(), states })
        }
    }

    fn check_steps(&self, steps: u64) -> Result<(), PushError> {
        match self.mechanism.length() {
            BlockLength::Whole { longest } if steps > u64::from(longest.get()) => {
                Err(PushError::TooLong { longest: longest.get() })
            }
            _ => Ok(()),
        }
    }

    /// Takes a real state, and releases what is due.
    fn take(&mut self, walk: &mut BlockWalk, real: StateId, out: &mut Vec<StateId>) {
        if walk.last.is_none() {
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
            return;
        }
        walk.reals.push(real);
        if let BlockLength::Steps(steps) = self.mechanism.length()
            && walk.reals.len() == steps.get() as usize
        {
            self.flush(walk, out);
        }
    }

    /// Releases the block as far as it goes.
    fn flush(&mut self, walk: &mut BlockWalk, out: &mut Vec<StateId>) {
        let Some(previous) = walk.last.filter(|_| !walk.reals.is_empty()) else { return };
        let words = self.randomness.at_block(&walk.key, walk.released, previous, &walk.reals);
        self.mechanism.release_into(previous, &walk.reals, words, &mut self.workspace, out);
        walk.released += walk.reals.len() as u64;
        walk.last = out.last().copied();
        walk.reals.clear();
    }
}

/// One walk, released a block at a time.
///
/// ```
/// use std::sync::Arc;
/// use veilwalk::mechanism::{BlockMechanism, Design};
/// use veilwalk::session::BlockSession;
/// use veilwalk::{Chain, Model, Preset, Promise, Rule, Source, Start};
///
/// let model = Arc::new(Model::new(Chain::credit())?);
/// let promise = Promise::within_radius("3.5".parse()?, "3.5".parse()?);
/// let design = Design { rule: Rule::Exponential, ..Preset::Sharp.design() };
/// let blocks = Arc::new(BlockMechanism::new(model.clone(), design, promise, "3".parse()?)?);
///
/// let mut session = BlockSession::new(blocks, &Source::system(), Start::Initial, "firm 12")?;
/// let mut counts = Vec::new();
/// for rating in ["Caa", "Ca/C", "Caa", "B", "B", "B"] {
///     counts.push(session.push(model.chain().require(rating)?)?.len());
/// }
/// counts.push(session.finish()?.len());
/// assert_eq!(counts, [1, 0, 0, 3, 0, 0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BlockSession {
    releaser: BlockReleaser,
    name: String,
    walk: BlockWalk,
    digest: Option<WalkDigest>,
    out: Vec<StateId>,
}

impl BlockSession {
    /// A session for the walk with this name.
    ///
    /// # Errors
    ///
    /// If the operating system has no randomness to give.
    pub fn new(
        mechanism: Arc<BlockMechanism>,
        source: &Source,
        start: Start,
        name: &str,
    ) -> Result<Self, Unavailable> {
        let releaser = BlockReleaser::new(mechanism, source, start)?;
        let (walk, digest) = (releaser.walk(name), releaser.walk_digest(name));
        Ok(Self { releaser, name: name.to_owned(), walk, digest, out: Vec::new() })
    }

    /// Takes the next real state, and gives what is released now: the first state at once, a block
    /// when it is full, and nothing in between.
    ///
    /// # Errors
    ///
    /// If the real state is not one of the chain's, the walk becomes too long, or the process was forked
    /// since the session was opened with system randomness. Nothing is released then, and the session
    /// stands where it stood.
    pub fn push(&mut self, real: StateId) -> Result<&[StateId], PushError> {
        self.out.clear();
        self.releaser.push(&mut self.walk, real, &mut self.out)?;
        if let Some(digest) = &mut self.digest {
            digest.push(real);
        }
        Ok(&self.out)
    }

    /// The walk is over: releases the rest.
    ///
    /// # Errors
    ///
    /// If the process was forked since the session was opened with system randomness.
    pub fn finish(mut self) -> Result<Vec<StateId>, Forked> {
        self.out.clear();
        self.releaser.finish(self.walk, &mut self.out)?;
        Ok(self.out)
    }

    /// The release id that randomness is derived from, if it is derived.
    #[must_use]
    pub fn release_id(&self) -> Option<ReleaseId> {
        self.releaser.release_id()
    }

    /// The digest of the real states so far, for a record. None with system randomness.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        self.digest.as_ref().map(WalkDigest::so_far)
    }

    /// How many states have been released, the last of them, and how many real ones wait.
    #[must_use]
    pub fn walk(&self) -> &BlockWalk {
        &self.walk
    }

    /// The mechanism.
    #[must_use]
    pub fn mechanism(&self) -> &Arc<BlockMechanism> {
        &self.releaser.mechanism
    }

    /// The session in about a hundred bytes, to be resumed later or elsewhere. They hold nothing secret.
    ///
    /// # Errors
    ///
    /// If real states wait for their block to fill.
    pub fn save(&self) -> Result<Vec<u8>, UnfilledBlock> {
        match self.walk.waiting() {
            0 => {
                let (released, last) = (self.walk.released, self.walk.last);
                Ok(self.owner().write(released, last, self.digest.as_ref()))
            }
            waiting => Err(UnfilledBlock { waiting, length: self.mechanism().length() }),
        }
    }

    /// Takes a saved session up again, with the same mechanism, name and release id. The source is
    /// given anew: a key is never part of what is saved.
    /// [`SavedSession::read`](super::SavedSession::read) tells the id.
    ///
    /// # Errors
    ///
    /// If the bytes are not a saved session, or belong to another chain, mechanism, walk, release id
    /// or key.
    pub fn resume(
        mechanism: Arc<BlockMechanism>,
        source: &Source,
        start: Start,
        name: &str,
        bytes: &[u8],
    ) -> Result<Self, ResumeError> {
        let mut session = Self::new(mechanism, source, start, name)?;
        let standing = session.owner().read(bytes)?;
        (session.walk.released, session.walk.last) = (standing.released, standing.last);
        session.digest = standing.digest.and_then(|so_far| {
            WalkDigest::resumed(&session.walk.key, start, standing.released, so_far)
        });
        Ok(session)
    }

    /// Takes a saved session up again where its real states come once more from the first, as
    /// [`Session::replay`](super::Session::replay) does.
    ///
    /// # Errors
    ///
    /// As [`BlockSession::resume`]; and if these are not the states that were released, or the session
    /// was saved without a key or a seed. Nothing is released then.
    pub fn replay(
        mechanism: Arc<BlockMechanism>,
        source: &Source,
        start: Start,
        name: &str,
        bytes: &[u8],
        reals: &[StateId],
    ) -> Result<(Self, Vec<StateId>), ReplayError> {
        let mut session = Self::resume(mechanism, source, start, name, bytes)?;
        let given = session.releaser.digest(name, reals);
        let covered = session.walk.released;
        session.owner().check_replay(covered, session.digest.as_ref(), given, reals)?;
        let mut walk = session.releaser.walk(name);
        let mut released = Vec::with_capacity(reals.len());
        for &real in reals {
            session.releaser.push(&mut walk, real, &mut released)?;
        }
        if walk.last != session.walk.last || released.len() != reals.len() {
            return Err(ResumeError::Damaged.into());
        }
        Ok((session, released))
    }

    fn owner(&self) -> Owner<'_> {
        let mechanism = self.mechanism();
        let fingerprint = mechanism.fingerprint();
        let (model, name, key) = (mechanism.model(), &self.name, &self.walk.key);
        Owner { model, mechanism: fingerprint, name, key, release_id: self.release_id() }
    }
}
