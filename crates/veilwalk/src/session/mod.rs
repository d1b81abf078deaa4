//! One walk, online: start, step, save, resume.
//!
//! A [`Session`] follows one real walk and answers every real state with a released one. A
//! [`Releaser`] does the same for any number of walks at a time, each of which is no more than a
//! [`Walk`]: a few bytes that say where it stands. A [`BlockSession`] waits for several real states
//! and answers them together.
//!
//! # Privacy
//!
//! The first real state is not looked at: the first released state comes from the chain's initial
//! distribution, or is a state of the caller's choice. [`Start::First`] releases the real first
//! state itself. That state is then disclosed, and the guarantee holds for the states after it.
//!
//! Sessions under different release ids are independent, so their losses add up. Under one id a walk
//! that comes again with the same real states gets the same answers, which adds nothing. The same id
//! with other real states is not a release that composes ([`random`](crate::random) has the proof):
//! two answers that part at one step show that the real states differ there.
//!
//! A saved session holds nothing secret: what was released, how many steps, the release id, and hashes,
//! among them a keyed [`Digest`] of the real states. [`Session::resume`] goes on after the states that
//! the record covers. A step that is made again from the same bytes repeats itself, if the source is
//! keyed and the real state is the same. With system randomness it is a second release of that step,
//! and with a key and another real state it is one that does not compose. [`Session::replay`] is for
//! those who give a walk once more from its first state: the states that the record covers are compared
//! with the digest, and others are refused before anything is released.

mod block;
mod digest;
mod saved;

use std::sync::Arc;

use thiserror::Error;

pub use block::{BlockReleaser, BlockSession, BlockWalk, PushError, UnfilledBlock};
pub use digest::{Digest, WalkDigest};
pub use saved::{ReplayError, ResumeError, SavedSession};

use saved::Owner;

use crate::chain::StateId;
use crate::mechanism::{Mechanism, Workspace};
use crate::random::{Forked, Randomness, ReleaseId, Source, Unavailable, WalkKey};

/// How a released walk starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// With a state drawn from the chain's initial distribution.
    #[default]
    Initial,
    /// With the real walk's first state, which is thereby **disclosed**.
    First,
    /// With this state.
    At(StateId),
}

/// Where a walk stands: how many states were released, and the last of them.
#[derive(Clone, Debug)]
pub struct Walk {
    key: WalkKey,
    released: u64,
    last: Option<StateId>,
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
        Ok(Self { mechanism, randomness, workspace: Workspace::default(), start })
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
        Walk { key: self.randomness.walk(name.as_bytes()), released: 0, last: None }
    }

    /// A walk that stands where another of the same name stood: for those who keep the place of many
    /// walks in few bytes each.
    ///
    /// # Panics
    ///
    /// If something was released and there is no last state, or the other way round.
    #[must_use]
    pub fn walk_at(&self, name: &str, released: u64, last: Option<StateId>) -> Walk {
        assert_eq!(released > 0, last.is_some(), "a walk that was released has a last state");
        Walk { released, last, ..self.walk(name) }
    }

    /// The released state for the next real state of a walk.
    ///
    /// # Errors
    ///
    /// If randomness comes from the operating system, and the process was forked since the releaser
    /// was made. Nothing is released then.
    #[inline]
    pub fn release(&mut self, walk: &mut Walk, real: StateId) -> Result<StateId, Forked> {
        self.randomness.check_process()?;
        let next = match (walk.last, self.start) {
            (Some(previous), _) => {
                let words = self.randomness.at(&walk.key, walk.released, Some((previous, real)));
                self.mechanism.step(previous, real, words, &mut self.workspace)
            }
            (None, Start::First) => real,
            (None, Start::At(state)) => state,
            (None, Start::Initial) => {
                let words = self.randomness.at(&walk.key, 0, None);
                self.mechanism.model().chain().initial().draw(words)
            }
        };
        walk.released += 1;
        walk.last = Some(next);
        Ok(next)
    }
}

/// One walk, released while it happens.
///
/// ```
/// use std::sync::Arc;
/// use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Session, Source, Start};
///
/// let model = Arc::new(Model::new(Chain::credit())?);
/// let promise = Promise::within_radius("1".parse()?, "3.5".parse()?);
/// let mechanism = Arc::new(Mechanism::new(model.clone(), Preset::Sharp.design(), promise)?);
///
/// let mut session = Session::new(mechanism, &Source::system(), Start::Initial, "firm 12")?;
/// for rating in ["Caa", "Ca/C", "Caa", "B"] {
///     let released = session.release(model.chain().require(rating)?)?;
///     println!("{rating} -> {}", model.chain().label(released));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session {
    releaser: Releaser,
    name: String,
    walk: Walk,
    digest: Option<WalkDigest>,
}

/// Why a real state is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StepError {
    /// Not one of the chain's.
    #[error(transparent)]
    NoSuchState(#[from] NoSuchState),
    /// The process was forked since the session was opened.
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

impl Session {
    /// A session for the walk with this name.
    ///
    /// # Errors
    ///
    /// If the operating system has no randomness to give.
    pub fn new(
        mechanism: Arc<Mechanism>,
        source: &Source,
        start: Start,
        name: &str,
    ) -> Result<Self, Unavailable> {
        let releaser = Releaser::new(mechanism, source, start)?;
        let (walk, digest) = (releaser.walk(name), releaser.walk_digest(name));
        Ok(Self { releaser, name: name.to_owned(), walk, digest })
    }

    /// The released state for the next real state.
    ///
    /// # Errors
    ///
    /// If the real state is not one of the chain's, or the process was forked since the session was
    /// opened with system randomness. Nothing is released then, and the session stands where it stood.
    pub fn release(&mut self, real: StateId) -> Result<StateId, StepError> {
        let states = self.releaser.mechanism.model().chain().len();
        if real.index() >= states {
            return Err(NoSuchState { state: real.index(), states }.into());
        }
        let released = self.releaser.release(&mut self.walk, real)?;
        if let Some(digest) = &mut self.digest {
            digest.push(real);
        }
        Ok(released)
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

    /// How many states have been released, and the last of them.
    #[must_use]
    pub fn walk(&self) -> &Walk {
        &self.walk
    }

    /// The mechanism.
    #[must_use]
    pub fn mechanism(&self) -> &Arc<Mechanism> {
        &self.releaser.mechanism
    }

    /// The session in about a hundred bytes, to be resumed later or elsewhere.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        self.owner().write(self.walk.released, self.walk.last, self.digest.as_ref())
    }

    /// Takes a saved session up again, with the same mechanism, name and release id. The source is
    /// given anew: a key is never part of what is saved. [`SavedSession::read`] tells the id.
    ///
    /// # Errors
    ///
    /// If the bytes are not a saved session, or belong to another chain, mechanism, walk, release id
    /// or key.
    pub fn resume(
        mechanism: Arc<Mechanism>,
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

    /// Takes a saved session up again where its real states come once more from the first: those that
    /// the record covers ([`SavedSession::released`] says how many). Gives the session, and what was
    /// released for these states, once more.
    ///
    /// # Errors
    ///
    /// As [`Session::resume`]; and if these are not the states that were released, or the session was
    /// saved without a key or a seed. Nothing is released then.
    pub fn replay(
        mechanism: Arc<Mechanism>,
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
        let released: Result<Vec<_>, Forked> =
            reals.iter().map(|&real| session.releaser.release(&mut walk, real)).collect();
        if walk.last != session.walk.last {
            return Err(ResumeError::Damaged.into());
        }
        Ok((session, released?))
    }

    fn owner(&self) -> Owner<'_> {
        let mechanism = self.mechanism();
        let fingerprint = mechanism.fingerprint();
        let (model, name, key) = (mechanism.model(), &self.name, &self.walk.key);
        Owner { model, mechanism: fingerprint, name, key, release_id: self.release_id() }
    }
}
