//! The saved form of a session: small, versioned, and refused where it does not belong.
//!
//! A version byte, then what follows in `postcard`, then four bytes of a checksum over all of it.
//! Hashes are cut to 16 bytes (the walk's name, and the mark of its key, to 8): they guard against mix-ups,
//! not attackers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::releaser::Followed;
use super::{
    Digest, NoSuchState, OpenError, PushError, Released, Releaser, Session, Start, Walk, WalkDigest,
};
use crate::belief::{Track, TrackParts};
use crate::chain::StateId;
use crate::mechanism::{BlockLength, Mechanism};
use crate::model::Model;
use crate::outcome::Outcome;
use crate::random::{ReleaseId, Source, WalkKey};

const VERSION: u8 = 4;

/// More steps than any walk has.
const LONGEST: u64 = 1 << 62;

#[derive(Serialize, Deserialize)]
struct Saved {
    chain: [u8; 16],
    mechanism: [u8; 16],
    name: [u8; 8],
    derived: Option<Derived>,
    released: u64,
    last: Option<u32>,
    /// Where real states are observed.
    followed: Option<SavedTrack>,
}

/// What anybody can infer of the walk from what was released, and observations that are not out yet. All of
/// it is public: it is made of observations.
#[derive(Serialize, Deserialize)]
struct SavedTrack {
    track: TrackParts,
    observed: Vec<u64>,
}

/// What is saved where randomness is derived from a key or a seed.
#[derive(Serialize, Deserialize)]
struct Derived {
    release_id: [u8; 16],
    /// The mark of the key or seed.
    mark: [u8; 8],
    /// Of the real states so far.
    digest: [u8; 16],
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

/// What anybody can read from the bytes of a saved session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedSession {
    /// The release id under which it has to be taken up; none without a key or a seed.
    pub release_id: Option<ReleaseId>,
    /// How many states were released.
    pub released: u64,
    /// How many real states the record covers: with a lag, more than were released.
    pub covered: u64,
}

impl SavedSession {
    /// Reads the bytes of a saved session.
    ///
    /// # Errors
    ///
    /// If the bytes are not a saved session of this format.
    pub fn read(bytes: &[u8]) -> Result<Self, ResumeError> {
        let saved = Saved::read(bytes)?;
        let covered = saved.covered();
        let release_id = saved.derived.map(|derived| ReleaseId::from_bytes(derived.release_id));
        let released = saved.released;
        Ok(Self { release_id, released, covered })
    }
}

impl Session {
    /// The session in about a hundred bytes, to be resumed later or elsewhere. They hold nothing secret.
    ///
    /// # Errors
    ///
    /// If real states wait for their block to fill.
    pub fn save(&self) -> Result<Vec<u8>, UnfilledBlock> {
        self.releaser.save(&self.name, &self.walk, self.digest.as_ref())
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
        let releaser = Releaser::new(mechanism, source, start)?;
        let (walk, digest) = releaser.resume(name, bytes)?;
        Ok(Self { releaser, name: name.to_owned(), walk, digest, out: Released::default() })
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
    ) -> Result<(Self, Released), ReplayError> {
        let mut session = Self::resume(mechanism, source, start, name, bytes)?;
        let given = session.releaser.digest(name, reals);
        let covered = session.walk.taken();
        let owner = session.releaser.owner(name, &session.walk.key);
        owner.check_replay(covered, session.digest.as_ref(), given, reals)?;
        let mut walk = session.releaser.walk(name);
        let mut released = Released::default();
        for &real in reals {
            session.releaser.push(&mut walk, real, &mut released)?;
        }
        if walk.last != session.walk.last || walk.released != session.walk.released {
            return Err(ResumeError::Damaged.into());
        }
        Ok((session, released))
    }
}

/// For those who hold many walks: what [`Session::save`] and [`Session::resume`] do for one.
impl Releaser {
    /// A walk in about a hundred bytes, with the digest of its real states where randomness is derived.
    ///
    /// # Errors
    ///
    /// If real states wait for their block to fill.
    pub fn save(
        &self,
        name: &str,
        walk: &Walk,
        digest: Option<&WalkDigest>,
    ) -> Result<Vec<u8>, UnfilledBlock> {
        if let (waiting @ 1.., Some(blocks)) = (walk.waiting_reals(), self.mechanism().blocks()) {
            return Err(UnfilledBlock { waiting, length: blocks.length() });
        }
        Ok(self.owner(name, &walk.key).write(walk, digest))
    }

    /// Takes a saved walk up again, with the digest of its real states where randomness is derived.
    ///
    /// # Errors
    ///
    /// If the bytes are not a saved session, or belong to another chain, mechanism, walk, release id
    /// or key.
    pub fn resume(
        &self,
        name: &str,
        bytes: &[u8],
    ) -> Result<(Walk, Option<WalkDigest>), ResumeError> {
        let mut walk = self.walk(name);
        let standing = self.owner(name, &walk.key).read(bytes)?;
        (walk.released, walk.last) = (standing.released, standing.last);
        walk.followed = self.follow(&walk, standing.followed)?;
        let digest = standing
            .digest
            .and_then(|so_far| WalkDigest::resumed(&walk.key, self.start(), walk.taken(), so_far));
        Ok((walk, digest))
    }

    /// The public part of the walk, as it was saved.
    fn follow(
        &self,
        walk: &Walk,
        saved: Option<SavedTrack>,
    ) -> Result<Option<Box<Followed>>, ResumeError> {
        let (saved, observer) = match (saved, self.observer()) {
            (None, None) => return Ok(None),
            (None, Some(_)) if walk.released == 0 => return Ok(None),
            (Some(saved), Some(observer)) => (saved, observer),
            _ => return Err(ResumeError::Damaged),
        };
        let tracker = observer.tracker();
        let states = tracker.model().chain().len();
        let known = |outcome: &Outcome| outcome.state().is_none_or(|state| state.index() < states);
        let outcome = |&number: &u64| Outcome::from_number(number).filter(known);
        let observed: Option<_> = saved.observed.iter().map(outcome).collect();
        let observed = observed.ok_or(ResumeError::Damaged)?;
        let track = Track::from_parts(saved.track, tracker);
        let followed = Followed { track: track.ok_or(ResumeError::Damaged)?, observed };
        let fits = followed.track.last() == walk.last
            && followed.track.waiting() == followed.observed.len();
        if fits { Ok(Some(Box::new(followed))) } else { Err(ResumeError::Damaged) }
    }

    fn owner<'a>(&'a self, name: &'a str, key: &'a WalkKey) -> Owner<'a> {
        let (model, mechanism) = (self.mechanism().model(), self.fingerprint());
        Owner { model, mechanism, name, key, release_id: self.release_id() }
    }
}

/// Why a saved session cannot be taken up.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// Bytes that no session wrote, or that were cut or changed.
    #[error("these bytes are not a saved session, or were cut or changed since it was saved")]
    Damaged,
    /// Another version of the format.
    #[error(
        "the session was saved in format {found}, and this version reads format {VERSION}; finish it with \
         the version that saved it, or start the walk anew as another release"
    )]
    Version {
        /// The format's number.
        found: u8,
    },
    /// Saved on another chain.
    #[error(
        "the session was saved on another chain (hash {saved}…, this one has {ours}…); load the \
         chain it was started with, including the initial distribution"
    )]
    OtherChain {
        /// The start of the hash in the saved session.
        saved: String,
        /// The start of this chain's hash.
        ours: String,
    },
    /// Saved under another mechanism.
    #[error(
        "the session was saved under another mechanism or other parameters; resume it with the \
         mechanism, epsilon, radius and blocks it was started with"
    )]
    OtherMechanism,
    /// Saved for another walk.
    #[error("the session was saved for a walk with another name than {0:?}")]
    OtherWalk(String),
    /// Saved under another release id.
    #[error(
        "the session was saved under release id {saved}, and this is {ours}; resume it under its own id"
    )]
    OtherRelease {
        /// The id in the saved session.
        saved: ReleaseId,
        /// The id that was given.
        ours: ReleaseId,
    },
    /// Saved with a key or a seed, and taken up without it, or the other way round.
    #[error(
        "the session was saved with another key or seed, or with none; resume it with the one it was \
         started with, so that a step that is made again repeats itself"
    )]
    OtherSource,
    /// Nothing can be released here.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Why a walk cannot be repeated from its first state and then go on.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The record cannot be taken up.
    #[error(transparent)]
    Record(#[from] ResumeError),
    /// Saved with the operating system's randomness.
    #[error(
        "the session was saved without a key or a seed, so it has no digest to compare the real states \
         with, and its steps cannot be repeated; resume it where it stands"
    )]
    NoDigest,
    /// Not as many states as the record covers.
    #[error(
        "the record covers {covered} real states, and {given} were given; give exactly those, from the first"
    )]
    Count {
        /// How many the record covers.
        covered: u64,
        /// How many there are.
        given: usize,
    },
    /// Other real states than those that were released.
    #[error(
        "the walk {name:?} was released under release id {id} with other real states, or another start; \
         nothing was released. Releasing other states under the same id would show where they differ: give \
         the walk's own states, or start a new release with a new id"
    )]
    OtherStates {
        /// The walk.
        name: String,
        /// The id.
        id: ReleaseId,
    },
    /// A state that does not exist.
    #[error(transparent)]
    NoSuchState(#[from] NoSuchState),
    /// A state that cannot be released.
    #[error(transparent)]
    Push(#[from] PushError),
}

fn cut<const N: usize>(hash: &[u8; 32]) -> [u8; N] {
    *hash.first_chunk().expect("N is at most 32")
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    cut(blake3::hash(bytes).as_bytes())
}

impl Saved {
    /// How many real states were taken.
    fn covered(&self) -> u64 {
        let waiting = self.followed.as_ref().map_or(0, |followed| followed.observed.len());
        self.released + waiting as u64
    }

    fn read(bytes: &[u8]) -> Result<Self, ResumeError> {
        let (content, sum) = bytes.split_last_chunk::<4>().ok_or(ResumeError::Damaged)?;
        if checksum(content) != *sum {
            return Err(ResumeError::Damaged);
        }
        let (&version, body) = content.split_first().ok_or(ResumeError::Damaged)?;
        if version != VERSION {
            return Err(ResumeError::Version { found: version });
        }
        let saved: Self = postcard::from_bytes(body).map_err(|_| ResumeError::Damaged)?;
        let known = saved.last.is_some() == (saved.released > 0);
        // No walk is that long, and counting on from there would run over.
        let countable = saved.released <= LONGEST;
        // Each observation can surprise once.
        let surprises = saved.followed.as_ref().map_or(0, |followed| followed.track.surprises);
        let possible = known && countable && surprises <= saved.covered();
        if possible { Ok(saved) } else { Err(ResumeError::Damaged) }
    }
}

/// Where a saved session stands.
pub(super) struct Standing {
    pub(super) released: u64,
    pub(super) last: Option<StateId>,
    /// Of the real states so far, where randomness is derived.
    pub(super) digest: Option<Digest>,
    followed: Option<SavedTrack>,
}

/// What a saved session belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    pub(super) model: &'a Model,
    pub(super) mechanism: [u8; 32],
    pub(super) name: &'a str,
    pub(super) key: &'a WalkKey,
    pub(super) release_id: Option<ReleaseId>,
}

impl Owner<'_> {
    fn name_hash(&self) -> [u8; 8] {
        cut(&blake3::derive_key("veilwalk 2026 walk name v1", self.name.as_bytes()))
    }

    /// The bytes of a session that stands here.
    pub(super) fn write(&self, walk: &Walk, digest: Option<&WalkDigest>) -> Vec<u8> {
        let number = |state: StateId| state.index() as u32;
        let derived = || {
            Some(Derived {
                release_id: self.release_id?.to_bytes(),
                mark: cut(&self.key.mark()?),
                digest: digest?.so_far().to_bytes(),
            })
        };
        let saved = Saved {
            chain: cut(&self.model.hash().0),
            mechanism: cut(&self.mechanism),
            name: self.name_hash(),
            derived: derived(),
            released: walk.released,
            last: walk.last.map(number),
            followed: walk.followed.as_ref().map(|followed| SavedTrack {
                track: followed.track.to_parts(),
                observed: followed.observed.iter().map(|outcome| outcome.number()).collect(),
            }),
        };
        let mut bytes = vec![VERSION];
        bytes.extend(postcard::to_allocvec(&saved).expect("plain numbers always serialize"));
        bytes.extend(checksum(&bytes));
        bytes
    }

    /// Where the session stands, if it belongs here.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<Standing, ResumeError> {
        let saved = Saved::read(bytes)?;
        let ours: [u8; 16] = cut(&self.model.hash().0);
        if saved.chain != ours {
            let start = |hash: [u8; 16]| hash[..6].iter().map(|b| format!("{b:02x}")).collect();
            return Err(ResumeError::OtherChain { saved: start(saved.chain), ours: start(ours) });
        }
        if saved.mechanism != cut(&self.mechanism) {
            return Err(ResumeError::OtherMechanism);
        }
        if saved.name != self.name_hash() {
            return Err(ResumeError::OtherWalk(self.name.to_owned()));
        }
        let digest = match (saved.derived, self.release_id, self.key.mark()) {
            (None, None, _) => None,
            (Some(derived), Some(ours), Some(mark)) => {
                let saved = ReleaseId::from_bytes(derived.release_id);
                if saved != ours {
                    return Err(ResumeError::OtherRelease { saved, ours });
                }
                if derived.mark != cut(&mark) {
                    return Err(ResumeError::OtherSource);
                }
                Some(Digest::from_bytes(derived.digest))
            }
            _ => return Err(ResumeError::OtherSource),
        };
        let last = saved.last.map(|state| StateId::new(state as usize));
        if last.is_some_and(|state| state.index() >= self.model.chain().len()) {
            return Err(ResumeError::Damaged);
        }
        Ok(Standing { released: saved.released, last, digest, followed: saved.followed })
    }

    /// Compares the real states of a walk, from its first one, with a record.
    pub(super) fn check_replay(
        &self,
        covered: u64,
        recorded: Option<&WalkDigest>,
        given: Option<Digest>,
        reals: &[StateId],
    ) -> Result<(), ReplayError> {
        let (Some(recorded), Some(given), Some(id)) = (recorded, given, self.release_id) else {
            return Err(ReplayError::NoDigest);
        };
        if reals.len() as u64 != covered {
            return Err(ReplayError::Count { covered, given: reals.len() });
        }
        let states = self.model.chain().len();
        if let Some(real) = reals.iter().find(|real| real.index() >= states) {
            return Err(NoSuchState { state: real.index(), states }.into());
        }
        if recorded.so_far() != given {
            return Err(ReplayError::OtherStates { name: self.name.to_owned(), id });
        }
        Ok(())
    }
}
