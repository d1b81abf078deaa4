//! The saved form of a session: small, versioned, and refused where it does not belong.
//!
//! A version byte, then what follows in `postcard`, then four bytes of a checksum over all of it.
//! Hashes are cut to 16 bytes (the walk's name, and the mark of its key, to 8): they guard against mix-ups,
//! not attackers.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::chain::StateId;
use crate::model::Model;
use crate::random::{Unavailable, WalkKey};

const VERSION: u8 = 2;

#[derive(Serialize, Deserialize)]
struct Saved {
    chain: [u8; 16],
    mechanism: [u8; 16],
    name: [u8; 8],
    /// The mark of the key or seed, if there was one.
    source: Option<[u8; 8]>,
    released: u64,
    last: Option<u32>,
}

/// Why a saved session cannot be taken up.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// Bytes that no session wrote, or that were cut or changed.
    #[error("these bytes are not a saved session, or were cut or changed since it was saved")]
    Damaged,
    /// Another version of the format.
    #[error("the session was saved in format {found}, and this version reads format {VERSION}")]
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
    /// Saved with a key or a seed, and taken up without it.
    #[error(
        "the session was saved with a key or a seed that this is not; resume it with the same one, so that \
         a step that is made again repeats itself"
    )]
    OtherSource,
    /// No randomness to go on with.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

fn cut<const N: usize>(hash: &[u8; 32]) -> [u8; N] {
    *hash.first_chunk().expect("N is at most 32")
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    cut(blake3::hash(bytes).as_bytes())
}

/// What a saved session belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    pub(super) model: &'a Model,
    pub(super) mechanism: [u8; 32],
    pub(super) name: &'a str,
    pub(super) key: &'a WalkKey,
}

impl Owner<'_> {
    fn name_hash(&self) -> [u8; 8] {
        cut(&blake3::derive_key("veilwalk 2026 walk name v1", self.name.as_bytes()))
    }

    fn source_mark(&self) -> Option<[u8; 8]> {
        self.key.mark().as_ref().map(cut)
    }

    /// The bytes of a session of which so much was released.
    pub(super) fn write(&self, released: u64, last: Option<StateId>) -> Vec<u8> {
        let saved = Saved {
            chain: cut(&self.model.hash().0),
            mechanism: cut(&self.mechanism),
            name: self.name_hash(),
            source: self.source_mark(),
            released,
            last: last.map(|state| state.index() as u32),
        };
        let mut bytes = vec![VERSION];
        bytes.extend(postcard::to_allocvec(&saved).expect("plain numbers always serialize"));
        bytes.extend(checksum(&bytes));
        bytes
    }

    /// How much was released, and the last of it.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<(u64, Option<StateId>), ResumeError> {
        let (content, sum) = bytes.split_last_chunk::<4>().ok_or(ResumeError::Damaged)?;
        if checksum(content) != *sum {
            return Err(ResumeError::Damaged);
        }
        let (&version, body) = content.split_first().ok_or(ResumeError::Damaged)?;
        if version != VERSION {
            return Err(ResumeError::Version { found: version });
        }
        let saved: Saved = postcard::from_bytes(body).map_err(|_| ResumeError::Damaged)?;
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
        if saved.source.is_some() && saved.source != self.source_mark() {
            return Err(ResumeError::OtherSource);
        }
        let states = self.model.chain().len();
        let last = saved.last.map(|state| StateId::new(state as usize));
        let exists = last.is_none_or(|state| state.index() < states);
        if !exists || last.is_some() != (saved.released > 0) {
            return Err(ResumeError::Damaged);
        }
        Ok((saved.released, last))
    }
}
