//! A keyed digest of a walk's real states: tells walks apart without telling what they are.
//!
//! Whoever keeps a record of a release (a ledger, a checkpoint, a saved session) keeps this with it.
//! When the same release id is given again, equal digests show a true repetition. Different ones show
//! other real states, another key, another mechanism or another start, and nothing may be released.
//!
//! # Privacy
//!
//! Under the key `k` of a walk, which comes from the secret, the release id, the mechanism and the
//! walk's name, a subkey `s` is derived that no step uses. Then
//!
//! ```text
//! d_0 = H_s(start),        d_{t+1} = H_s(d_t, x_t),
//! ```
//!
//! each cut to 16 bytes, with `H` the keyed BLAKE3 hash. To whoever does not know the secret it is
//! random; all that shows is whether two digests under one key, id, mechanism and name are equal. With a
//! seed in place of a secret anyone can compute it, as anyone can undo such a release.
//!
//! The real first state is part of the digest only if it decides what is released ([`Start::looks`]).
//! Otherwise two walks that differ in it alone have the same release.

use std::fmt;

use super::Start;
use crate::chain::StateId;
use crate::random::WalkKey;
use crate::sixteen_bytes::sixteen_bytes;

/// What stands for the real states of a walk in a record: 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 16]);

sixteen_bytes!(Digest);

/// The digest of a walk whose real states come one after another.
#[derive(Clone)]
pub struct WalkDigest {
    key: [u8; 32],
    so_far: Digest,
    /// Whether the next state is the first and is not looked at.
    skips_next: bool,
}

impl WalkDigest {
    /// The digest of a walk of which nothing was taken yet. None where randomness is not derived.
    pub(super) fn new(walk: &WalkKey, start: Start) -> Option<Self> {
        let key = walk.for_digests()?;
        let (kind, state) = match start {
            Start::Private => (b'p', u32::MAX),
            Start::Initial => (b'i', u32::MAX),
            Start::First => (b'f', u32::MAX),
            Start::At(state) => (b'a', state.index() as u32),
        };
        let mut input = [kind; 5];
        input[1..].copy_from_slice(&state.to_le_bytes());
        let so_far = cut(&key, &input);
        Some(Self { key, so_far, skips_next: !start.looks() })
    }

    /// The digest of a walk that goes on from a record.
    pub(super) fn resumed(
        walk: &WalkKey,
        start: Start,
        released: u64,
        so_far: Digest,
    ) -> Option<Self> {
        let new = Self::new(walk, start)?;
        Some(Self { so_far, skips_next: new.skips_next && released == 0, ..new })
    }

    /// Takes the next real state.
    pub fn push(&mut self, real: StateId) {
        let state = if self.skips_next { u32::MAX } else { real.index() as u32 };
        self.skips_next = false;
        let mut input = [0; 20];
        input[..16].copy_from_slice(&self.so_far.0);
        input[16..].copy_from_slice(&state.to_le_bytes());
        self.so_far = cut(&self.key, &input);
    }

    /// The digest of the states so far.
    #[must_use]
    pub fn so_far(&self) -> Digest {
        self.so_far
    }
}

impl fmt::Debug for WalkDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WalkDigest").field("so_far", &self.so_far).finish_non_exhaustive()
    }
}

fn cut(key: &[u8; 32], input: &[u8]) -> Digest {
    Digest(*blake3::keyed_hash(key, input).as_bytes().first_chunk().expect("16 of 32 bytes"))
}
