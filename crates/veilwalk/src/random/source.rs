//! Where the bits come from.
//!
//! Three sources, one generator (ChaCha20):
//!
//! - **system**: keyed once from the operating system. The one to use.
//! - **seeded**: from a number anyone may know. For tests and papers; whoever knows the seed can
//!   undo the release, so what it makes is not private and says so.
//! - **keyed**: from a secret, the walk's name and the step, so that a step that is tried again
//!   releases the same state again. Fresh randomness on a retry would be a second release.
//!
//! # Privacy
//!
//! A derived stream (seeded or keyed) is a BLAKE3 keyed hash of everything that decides the step:
//! the chain, the mechanism and its parameters, the walk's name, the step's number, the last
//! released state and the real one. Whenever any of these differs the bits are independent, as the
//! guarantee for several releases together assumes; only a true repetition repeats. The real state
//! is among them so that a step run twice with different real states is two independent releases
//! (which add up) and never two looks through the same noise (which would not). The first state
//! is drawn without reference to the real walk, and so is its stream.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use thiserror::Error;

use super::Words;
use crate::chain::StateId;

/// A running ChaCha20 stream of words.
#[derive(Debug)]
pub struct Stream(ChaCha20Rng);

impl Stream {
    fn from_key(key: [u8; 32]) -> Self {
        Self(ChaCha20Rng::from_seed(key))
    }
}

impl Words for Stream {
    #[inline]
    fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    #[inline]
    fn fill(&mut self, out: &mut [u64]) {
        self.0.fill_bytes(bytemuck::cast_slice_mut(out));
        out.iter_mut().for_each(|word| *word = u64::from_le(*word));
    }
}

/// A secret for keyed randomness. Its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

/// A secret with too few bytes to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the secret has {found} bytes, and at least {} are needed; make one with `head -c 32 /dev/urandom`",
    Secret::LEAST_BYTES
)]
pub struct SecretTooShort {
    /// How many bytes there are.
    pub found: usize,
}

impl Secret {
    /// The fewest bytes that are taken.
    pub const LEAST_BYTES: usize = 16;

    /// The secret made of these bytes, all of them.
    ///
    /// # Errors
    ///
    /// If there are fewer than [`Secret::LEAST_BYTES`].
    pub fn new(bytes: &[u8]) -> Result<Self, SecretTooShort> {
        if bytes.len() < Self::LEAST_BYTES {
            return Err(SecretTooShort { found: bytes.len() });
        }
        Ok(Self(blake3::derive_key("veilwalk 2026 secret v1", bytes)))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Which kind of source made a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The operating system.
    System,
    /// A public seed: not private.
    Seeded,
    /// A secret key.
    Keyed,
}

/// A choice of randomness, from which any number of [`Randomness`] can be opened.
#[derive(Clone, Debug)]
pub struct Source(Choice);

#[derive(Clone, Debug)]
enum Choice {
    System,
    Seeded(u64),
    Keyed(Secret),
}

/// The operating system gave no randomness.
#[derive(Clone, Debug, Error)]
#[error("the operating system gave no randomness: {0}")]
pub struct Unavailable(String);

impl Source {
    /// Fresh randomness from the operating system.
    #[must_use]
    pub fn system() -> Self {
        Self(Choice::System)
    }

    /// Reproducible and **not private**.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Choice::Seeded(seed))
    }

    /// Derived from a secret: a repeated step repeats its release.
    #[must_use]
    pub fn keyed(secret: Secret) -> Self {
        Self(Choice::Keyed(secret))
    }

    /// Which kind this is.
    #[must_use]
    pub fn kind(&self) -> SourceKind {
        match self.0 {
            Choice::System => SourceKind::System,
            Choice::Seeded(_) => SourceKind::Seeded,
            Choice::Keyed(_) => SourceKind::Keyed,
        }
    }

    /// Opens the source for releases under one mechanism, named by its fingerprint.
    ///
    /// # Errors
    ///
    /// If the operating system has no randomness to give.
    pub fn open(&self, fingerprint: [u8; 32]) -> Result<Randomness, Unavailable> {
        let derived = |secret: &[u8]| {
            let mut hasher = blake3::Hasher::new_derive_key("veilwalk 2026 release key v1");
            hasher.update(&fingerprint).update(secret);
            Randomness {
                stream: Stream::from_key([0; 32]),
                derive_from: Some(*hasher.finalize().as_bytes()),
            }
        };
        Ok(match &self.0 {
            Choice::System => {
                let mut key = [0; 32];
                getrandom::fill(&mut key).map_err(|e| Unavailable(e.to_string()))?;
                Randomness { stream: Stream::from_key(key), derive_from: None }
            }
            Choice::Seeded(seed) => derived(&[&b"seed"[..], &seed.to_le_bytes()].concat()),
            Choice::Keyed(secret) => derived(&[&b"key"[..], &secret.0].concat()),
        })
    }

    /// A plain stream of words, for tests of samplers.
    #[cfg(test)]
    pub(crate) fn words_for_tests(&self) -> Stream {
        let Choice::Seeded(seed) = self.0 else { panic!("tests use seeds") };
        Stream::from_key(blake3::derive_key("veilwalk tests", &seed.to_le_bytes()))
    }
}

/// The key of one walk under one source. Empty where randomness is not derived.
#[derive(Clone, PartialEq, Eq)]
pub struct WalkKey(Option<[u8; 32]>);

impl WalkKey {
    /// Tells keys apart without telling anything else of them: a hash under the key of what no step asks for.
    pub(crate) fn mark(&self) -> Option<[u8; 32]> {
        let mark = |key: &[u8; 32]| *blake3::keyed_hash(key, b"mark of a saved session").as_bytes();
        self.0.as_ref().map(mark)
    }
}

impl std::fmt::Debug for WalkKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WalkKey(…)")
    }
}

/// An open source: hands out the stream of words for each step of each walk.
#[derive(Debug)]
pub struct Randomness {
    stream: Stream,
    derive_from: Option<[u8; 32]>,
}

impl Randomness {
    /// The key of the walk with this name.
    #[must_use]
    pub fn walk(&self, name: &[u8]) -> WalkKey {
        WalkKey(self.derive_from.map(|key| *blake3::keyed_hash(&key, name).as_bytes()))
    }

    /// The words for a step of a walk. `moved` is the last released state and the real one, and
    /// nothing for the first state.
    pub fn at(
        &mut self,
        walk: &WalkKey,
        step: u64,
        moved: Option<(StateId, StateId)>,
    ) -> &mut Stream {
        if let Some(key) = &walk.0 {
            let mut input = [0xff; 16];
            input[..8].copy_from_slice(&step.to_le_bytes());
            if let Some((previous, real)) = moved {
                input[8..12].copy_from_slice(&(previous.index() as u32).to_le_bytes());
                input[12..].copy_from_slice(&(real.index() as u32).to_le_bytes());
            }
            self.stream = Stream::from_key(*blake3::keyed_hash(key, &input).as_bytes());
        }
        &mut self.stream
    }

    /// The words for a block of steps, of which the first has this number. All real states of the
    /// block decide the stream: a retried block repeats, and one that differs anywhere, or is cut
    /// short, is independent.
    pub fn at_block(
        &mut self,
        walk: &WalkKey,
        first_step: u64,
        previous: StateId,
        reals: &[StateId],
    ) -> &mut Stream {
        if let Some(key) = &walk.0 {
            let mut hasher = blake3::Hasher::new_keyed(key);
            hasher.update(b"block").update(&first_step.to_le_bytes());
            for state in std::iter::once(&previous).chain(reals) {
                hasher.update(&(state.index() as u32).to_le_bytes());
            }
            self.stream = Stream::from_key(*hasher.finalize().as_bytes());
        }
        &mut self.stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_words(
        source: &Source,
        fingerprint: u8,
        name: &str,
        step: u64,
        real: usize,
    ) -> [u64; 2] {
        let mut randomness = source.open([fingerprint; 32]).unwrap();
        let walk = randomness.walk(name.as_bytes());
        let words = randomness.at(&walk, step, Some((StateId::new(1), StateId::new(real))));
        [words.word(), words.word()]
    }

    #[test]
    fn derived_streams_repeat_and_differ_in_everything() {
        let keyed = Source::keyed(Secret::new(&[9; 32]).unwrap());
        for source in [Source::seeded(1), keyed] {
            let base = first_words(&source, 0, "a", 3, 2);
            assert_eq!(base, first_words(&source, 0, "a", 3, 2));
            let others = [
                first_words(&source, 1, "a", 3, 2),
                first_words(&source, 0, "b", 3, 2),
                first_words(&source, 0, "a", 4, 2),
                first_words(&source, 0, "a", 3, 5),
                first_words(&Source::seeded(2), 0, "a", 3, 2),
            ];
            assert!(others.iter().all(|&other| other != base));
        }
    }

    #[test]
    fn blocks_repeat_and_differ_in_everything() {
        let first_word = |name: &[u8], step, previous, reals: &[usize]| {
            let mut randomness = Source::seeded(1).open([0; 32]).unwrap();
            let walk = randomness.walk(name);
            let reals: Vec<_> = reals.iter().map(|&x| StateId::new(x)).collect();
            randomness.at_block(&walk, step, StateId::new(previous), &reals).word()
        };
        let base = first_word(b"a", 1, 0, &[1, 2, 3]);
        assert_eq!(base, first_word(b"a", 1, 0, &[1, 2, 3]));
        let others = [
            first_word(b"b", 1, 0, &[1, 2, 3]),
            first_word(b"a", 2, 0, &[1, 2, 3]),
            first_word(b"a", 1, 1, &[1, 2, 3]),
            first_word(b"a", 1, 0, &[1, 2, 4]),
            first_word(b"a", 1, 0, &[2, 1, 3]),
            first_word(b"a", 1, 0, &[1, 2]),
            first_word(b"a", 1, 0, &[1, 2, 3, 0]),
        ];
        assert!(others.iter().all(|&other| other != base));
    }

    #[test]
    fn words_are_the_same_together_and_one_by_one() {
        let (mut together, mut single) =
            (Source::seeded(8).words_for_tests(), Source::seeded(8).words_for_tests());
        for length in [0, 1, 31, 32, 33, 5, 200, 3] {
            let mut filled = vec![0; length];
            together.fill(&mut filled);
            assert!(filled.iter().all(|&word| word == single.word()), "{length}");
        }
    }

    #[test]
    fn the_system_never_repeats() {
        let source = Source::system();
        assert_ne!(first_words(&source, 0, "a", 3, 2), first_words(&source, 0, "a", 3, 2));
    }

    #[test]
    fn secrets_are_long_enough_and_never_shown() {
        assert_eq!(Secret::new(&[1; 15]), Err(SecretTooShort { found: 15 }));
        let shown = format!("{:?}", Source::keyed(Secret::new(&[0xab; 16]).unwrap()));
        assert_eq!(shown, "Source(Keyed(Secret(…)))");
    }

    #[test]
    fn value_stability() {
        let keyed = Source::keyed(Secret::new(b"sixteen bytes ok").unwrap());
        assert_eq!(
            first_words(&Source::seeded(1), 0, "a", 0, 0),
            [1_663_789_811_174_123_389, 13_539_819_298_444_022_244]
        );
        assert_eq!(
            first_words(&keyed, 0, "a", 0, 0),
            [7_010_995_746_734_147_904, 17_945_771_165_957_426_891]
        );
    }
}
