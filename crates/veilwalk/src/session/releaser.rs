//! Releases any number of walks, each of which is held by the caller.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::observer::{First, Observer};
use super::{Digest, Start, WalkDigest};
use crate::belief::Track;
use crate::chain::StateId;
use crate::mechanism::{BlockLength, Blocks, Mechanism, NoPrivateStart, Workspace};
use crate::outcome::Outcome;
use crate::random::{Forked, Randomness, ReleaseId, Source, Unavailable, WalkKey};
use crate::watch::unwatched;

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
    /// One state was asked for of a mechanism that waits.
    #[error(
        "the answer to a state comes {lag} steps later, so there is none to give at once; push real states \
         one after another, and finish the walk"
    )]
    WithLag {
        /// How many steps later.
        lag: u32,
    },
    /// The process was forked since the source was opened.
    #[error(transparent)]
    Forked(#[from] Forked),
}

/// Why nothing can be released.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The operating system has no randomness to give.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The mechanism cannot start privately.
    #[error(transparent)]
    Start(#[from] NoPrivateStart),
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
    /// What is believed of the walk, and what was observed of it and waits because of a lag: public. None
    /// under a mechanism that draws moves.
    pub(super) followed: Option<Box<Followed>>,
}

/// The public part of a walk whose real states are observed.
#[derive(Clone, Debug, Default)]
pub(super) struct Followed {
    pub(super) track: Track,
    /// Observations that wait to go out with their released state.
    pub(super) observed: VecDeque<Outcome>,
}

/// What is released at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// The released states.
    pub states: Vec<StateId>,
    /// What was observed for each of them, in the same order. Empty under a mechanism that draws moves.
    pub observed: Vec<Outcome>,
}

impl Released {
    /// Forgets what was released.
    pub fn clear(&mut self) {
        self.states.clear();
        self.observed.clear();
    }
}

/// The released states.
impl IntoIterator for Released {
    type Item = StateId;
    type IntoIter = std::vec::IntoIter<StateId>;

    fn into_iter(self) -> Self::IntoIter {
        self.states.into_iter()
    }
}

/// The released states.
impl std::ops::Deref for Released {
    type Target = [StateId];

    fn deref(&self) -> &[StateId] {
        &self.states
    }
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

    /// How many real states wait for their block to fill, or observations of them for the lag to pass.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len() + self.followed.as_ref().map_or(0, |followed| followed.observed.len())
    }

    /// How many of these are real states.
    #[must_use]
    pub fn waiting_reals(&self) -> usize {
        self.waiting.len()
    }

    /// Whether how many states were released, and the last of them, is all there is to know of it
    /// ([`Releaser::walk_at`]).
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.waiting.is_empty() && self.followed.is_none()
    }

    /// How many real states were taken so far.
    pub(super) fn taken(&self) -> u64 {
        self.released + self.waiting() as u64
    }
}

/// Real states are counted, not shown.
impl fmt::Debug for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk")
            .field("released", &self.released)
            .field("last", &self.last)
            .field("waiting", &self.waiting())
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
    /// The mechanism's: computed once, because every saved walk has it.
    fingerprint: [u8; 32],
    /// How many states the chain has.
    states: usize,
    /// Where the mechanism draws observations.
    observer: Option<Observer>,
}

impl Releaser {
    /// A releaser for this mechanism.
    ///
    /// # Errors
    ///
    /// If the operating system has no randomness to give, or the start is private and the mechanism cannot
    /// start so.
    pub fn new(
        mechanism: Arc<Mechanism>,
        source: &Source,
        start: Start,
    ) -> Result<Self, OpenError> {
        mechanism.check_start(start, &unwatched)?;
        let observer = Observer::new(&mechanism);
        let fingerprint = mechanism.fingerprint();
        let randomness = source.open(fingerprint)?;
        let states = mechanism.model().chain().len();
        let workspace = Workspace::default();
        Ok(Self { mechanism, randomness, workspace, start, fingerprint, states, observer })
    }

    /// The mechanism.
    #[must_use]
    pub fn mechanism(&self) -> &Arc<Mechanism> {
        &self.mechanism
    }

    #[cfg_attr(not(feature = "serde"), allow(dead_code, reason = "for saved sessions"))]
    pub(super) fn start(&self) -> Start {
        self.start
    }

    #[cfg_attr(not(feature = "serde"), allow(dead_code, reason = "for saved sessions"))]
    pub(super) fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// What observes real states, if they are observed.
    #[cfg_attr(not(feature = "serde"), allow(dead_code, reason = "for saved sessions"))]
    pub(super) fn observer(&self) -> Option<&Observer> {
        self.observer.as_ref()
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
        Walk { key, released: 0, last: None, waiting: Vec::new(), followed: None }
    }

    /// A walk that stands where another of the same name stood when it was [at rest](Walk::is_at_rest): for
    /// those who keep the place of many walks in few bytes each.
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
    /// blocks a block when it is full, and nothing in between. With a lag nothing comes until it has passed.
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
        out: &mut Released,
    ) -> Result<(), PushError> {
        self.randomness.check_process()?;
        self.check_state(real)?;
        if self.observer.is_some() {
            self.observe(walk, real, out);
            return Ok(());
        }
        match walk.last {
            Some(previous) if self.mechanism.blocks().is_none() => {
                let words = self.randomness.at(&walk.key, walk.released, Some((previous, real)));
                let next = self.mechanism.step(previous, real, words, &mut self.workspace);
                walk.released += 1;
                walk.last = Some(next);
                out.states.push(next);
            }
            Some(_) => {
                self.check_steps(walk.released + walk.waiting.len() as u64)?;
                self.wait(walk, real, &mut out.states);
            }
            None if self.starts_in_a_block() => {
                self.check_steps(walk.waiting.len() as u64 + 1)?;
                self.wait(walk, real, &mut out.states);
            }
            None => self.begin(walk, real, &mut out.states),
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
    pub fn finish(&mut self, mut walk: Walk, out: &mut Released) -> Result<(), Forked> {
        self.randomness.check_process()?;
        if let (Some(observer), Some(followed)) = (&mut self.observer, &mut walk.followed) {
            observer.finish(&mut followed.track, &mut out.states);
            out.observed.extend(followed.observed.drain(..));
            return Ok(());
        }
        self.flush(&mut walk, &mut out.states);
        Ok(())
    }

    /// Releases a whole walk, as a [`Session`](super::Session) of that name would.
    ///
    /// # Errors
    ///
    /// If a real state is not one of the chain's, the walk has too many steps, or the process was forked
    /// since the releaser was made with system randomness. Nothing is released then.
    pub fn release(&mut self, name: &str, reals: &[StateId]) -> Result<Released, PushError> {
        reals.iter().try_for_each(|&real| self.check_state(real))?;
        let before_the_first_block = usize::from(!self.starts_in_a_block());
        if let Some(together) = reals.len().checked_sub(before_the_first_block) {
            self.check_steps(together as u64)?;
        }
        let mut walk = self.walk(name);
        let mut released = Released::default();
        released.states.reserve(reals.len());
        for &real in reals {
            self.push(&mut walk, real, &mut released)?;
        }
        self.finish(walk, &mut released)?;
        Ok(released)
    }

    /// Observes a real state, and releases what is due.
    fn observe(&mut self, walk: &mut Walk, real: StateId, out: &mut Released) {
        let Self { observer, randomness, mechanism, start, .. } = self;
        let Some(observer) = observer else { return };
        let number = walk.taken();
        let Followed { track, observed } = &mut **walk.followed.get_or_insert_default();
        let first = match start {
            _ if number > 0 => None,
            Start::Private => None,
            Start::First => Some(First::Public(real)),
            Start::At(state) => Some(First::Public(*state)),
            Start::Initial => {
                let words = randomness.at(&walk.key, 0, None);
                Some(First::Blind(mechanism.model().chain().initial().draw(words)))
            }
        };
        let before = out.states.len();
        observed.push_back(match first {
            Some(first) => observer.start(track, first, &mut out.states).into(),
            None => {
                let words = randomness.at_observation(&walk.key, number, real);
                observer.observe(track, real, words, &mut out.states)
            }
        });
        let released = out.states.len() - before;
        out.observed.extend(observed.drain(..released));
        walk.released += released as u64;
        walk.last = track.last();
    }

    /// Whether the first state waits for its block.
    fn starts_in_a_block(&self) -> bool {
        self.start == Start::Private && self.mechanism.starts_in_a_block()
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
            Start::Private => {
                // Looked up when the releaser was opened.
                let response = self.mechanism.private_start().expect("a private start");
                response.draw(real, self.randomness.at_observation(&walk.key, 0, real))
            }
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
        if walk.waiting.is_empty() {
            return;
        }
        let words = self.randomness.at_block(&walk.key, walk.released, walk.last, &walk.waiting);
        let (mechanism, space) = (&self.mechanism, &mut self.workspace);
        match walk.last {
            Some(previous) => mechanism.release_after(previous, &walk.waiting, words, space, out),
            None => {
                let released = mechanism.release_from_start(&walk.waiting, words, space, out);
                released.expect("looked up when the releaser was opened");
            }
        }
        walk.released += walk.waiting.len() as u64;
        walk.last = out.last().copied();
        walk.waiting.clear();
    }
}
