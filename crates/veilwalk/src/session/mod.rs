//! One walk, online: start, step, save, resume.
//!
//! A [`Session`] follows one real walk: real states come in one at a time, released ones go out. A
//! [`Releaser`] does the same for any number of walks at a time. Each is a [`Walk`] that the caller
//! holds: a few bytes that say where it stands.
//!
//! A mechanism that releases one step at a time answers every real state with a released one, the first one
//! too. One that releases blocks takes real states until a block is full, or until it is told that the
//! walk is over, and releases them together. Where a block ends depends on the number of the step alone,
//! never on the real walk: a border is part of what is released.
//!
//! # Privacy
//!
//! The first released state is drawn near the first real one, as private as every other
//! ([`Start::Private`]); or it comes from the chain's initial distribution, or is a state of the caller's
//! choice, and the real one is not looked at. [`Start::First`] releases the real first state itself. That
//! state is then disclosed, and the guarantee holds for the states after it.
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
//!
//! ## Blocks
//!
//! The real states of a whole block decide its randomness: a block in which one of them differs has
//! fresh bits, while the blocks before it repeat. Two releases of a walk and of a changed one under one
//! id therefore part in exactly the block that changed, and that does not compose: the joint loss is
//! infinite. A walk that was cut short by [`Session::finish`] and is released again in full is another
//! walk, and needs another id. That a walk is over is told by its length, which is public.
//!
//! A block that is not full is made of real states. It is held in memory only: a session can be saved
//! between blocks, where nothing waits, and nowhere else.

pub(crate) mod digest;
pub(crate) mod follower;
mod observer;
mod releaser;
#[cfg(feature = "serde")]
mod saved;

use std::sync::Arc;

pub(crate) use digest::{Digest, WalkDigest};
pub use follower::{FollowedWalk, Follower};
pub(crate) use observer::Walker;
pub use releaser::{NoSuchState, OpenError, PushError, Released, Releaser, Walk};
#[cfg(feature = "serde")]
pub use saved::{ReplayError, ResumeError, SavedSession, UnfilledBlock};

pub use crate::mechanism::Start;

use crate::chain::StateId;
use crate::mechanism::{Blocks, Mechanism};
use crate::outcome::Outcome;
use crate::random::{Forked, ReleaseId, Source};

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
/// let mut session = Session::new(mechanism, &Source::system(), Start::Private, "firm 12")?;
/// for rating in ["Caa", "Ca/C", "Caa", "B"] {
///     let released = session.release(model.chain().require(rating)?)?;
///     println!("{rating} -> {}", model.chain().label(released));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// In blocks, some real states are answered with nothing, and some with a whole block:
///
/// ```
/// use std::sync::Arc;
/// use veilwalk::{Chain, Design, Mechanism, Model, Preset, Promise, Rule, Session, Source, Start};
///
/// let model = Arc::new(Model::new(Chain::credit())?);
/// let promise = Promise::within_radius("3.5".parse()?, "3.5".parse()?);
/// let design = Design { rule: Rule::Exponential, ..Preset::Sharp.design() };
/// let blocks = Arc::new(Mechanism::in_blocks(model.clone(), design, promise, "3".parse()?)?);
///
/// let mut session = Session::new(blocks, &Source::system(), Start::Private, "firm 12")?;
/// let mut counts = Vec::new();
/// for rating in ["Caa", "Ca/C", "Caa", "B", "B", "B", "B"] {
///     counts.push(session.push(model.chain().require(rating)?)?.len());
/// }
/// counts.push(session.finish()?.len());
/// assert_eq!(counts, [0, 0, 3, 0, 0, 3, 0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session {
    releaser: Releaser,
    name: String,
    walk: Walk,
    digest: Option<WalkDigest>,
    out: Released,
}

impl Session {
    /// A session for the walk with this name.
    ///
    /// # Errors
    ///
    /// As [`Releaser::new`].
    pub fn new(
        mechanism: Arc<Mechanism>,
        source: &Source,
        start: Start,
        name: &str,
    ) -> Result<Self, OpenError> {
        let releaser = Releaser::new(mechanism, source, start)?;
        let (walk, digest) = (releaser.walk(name), releaser.walk_digest(name));
        Ok(Self { releaser, name: name.to_owned(), walk, digest, out: Released::default() })
    }

    /// Takes the next real state, and gives what is released now: one state, or in blocks a block when it is
    /// full, and nothing in between. With a lag nothing comes until it has passed.
    ///
    /// # Errors
    ///
    /// If the real state is not one of the chain's, the walk becomes too long to be released as a
    /// whole, or the process was forked since the session was opened with system randomness. Nothing is
    /// released then, and the session stands where it stood.
    pub fn push(&mut self, real: StateId) -> Result<&[StateId], PushError> {
        self.out.clear();
        self.releaser.push(&mut self.walk, real, &mut self.out)?;
        if let Some(digest) = &mut self.digest {
            digest.push(real);
        }
        Ok(&self.out.states)
    }

    /// What was observed for the states that the last [`Session::push`] released, in the same order. Empty
    /// under a mechanism that draws moves.
    #[must_use]
    pub fn observed(&self) -> &[Outcome] {
        &self.out.observed
    }

    /// The released state for the next real state, with a mechanism that releases one step at a time.
    ///
    /// # Errors
    ///
    /// As [`Session::push`], and if the mechanism releases blocks or waits for a lag: then there may be
    /// nothing to answer with.
    pub fn release(&mut self, real: StateId) -> Result<StateId, PushError> {
        if let Some(length) = self.mechanism().blocks().map(Blocks::length) {
            return Err(PushError::InBlocks { length });
        }
        if let Some(lag @ 1..) = self.mechanism().observation().map(|o| o.tracking().lag) {
            return Err(PushError::WithLag { lag });
        }
        self.push(real).map(|released| released[0])
    }

    /// The walk is over: releases the rest, which is nothing unless states wait for their block to fill.
    ///
    /// # Errors
    ///
    /// If the process was forked since the session was opened with system randomness.
    pub fn finish(mut self) -> Result<Released, Forked> {
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
    pub fn walk(&self) -> &Walk {
        &self.walk
    }

    /// The mechanism.
    #[must_use]
    pub fn mechanism(&self) -> &Arc<Mechanism> {
        self.releaser.mechanism()
    }
}
