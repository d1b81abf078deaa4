//! Where the bits come from.
//!
//! Three sources, one generator (ChaCha20):
//!
//! - **system**: keyed once from the operating system. The one to use.
//! - **seeded**: from a number anyone may know. For tests and papers; whoever knows the seed can
//!   undo the release, so what it makes is not private and says so.
//! - **keyed**: from a secret, the id of the run, the walk's name and the step, so that a run that is
//!   tried again releases the same states again. Fresh randomness on a retry would be a second release.
//!
//! # Privacy
//!
//! A derived stream (seeded or keyed) is a BLAKE3 keyed hash of everything that decides the step: the
//! key, the [release id](ReleaseId), the chain, the mechanism with its parameters and the version of
//! the sampler, the walk's name, the step's number, the last released state and the real one. The hash
//! is taken to be a random function for whoever does not know the key: streams with different inputs
//! are independent, and equal inputs give equal streams. Three cases follow.
//!
//! **Runs with different ids are independent**, so their losses add up: two runs that each lose at most
//! ε lose at most 2ε together, whatever real walks they were given. No input of one run occurs in the
//! other, because every input has the id in it. Within one run, walks with different names are
//! independent for the same reason, and within a walk every step has a number of its own, so all steps
//! have fresh bits, as the proof for one walk needs.
//!
//! **A true repetition adds nothing.** The same id, key, mechanism, start and real walks give the same
//! bits, so the same release. Whoever sees it twice has seen it once.
//!
//! **Repeating an id with other real states is not a release that composes.** Suppose walk `x` is
//! released and then, under the same id, walk `x′` that differs at step `t` only. Before `t` all inputs
//! agree, so both releases agree. At `t` the real states differ, the bits are fresh, and the releases can
//! part. Had the second walk been `x` again, they could not part at all. An outcome in which the two
//! releases part for the first time at step `t` therefore has positive probability for the pair
//! `(x, x′)` and probability zero for `(x, x)`: the joint loss is infinite, not 2ε, however small ε is.
//! Leaving the real state out of the hash would not help; two real states would then be looked at
//! through the same noise. So an id is given again only to repeat a run on the same real walks. Whoever
//! keeps a record of a run can hold it to that: [`Releaser::digest`](crate::session::Releaser::digest)
//! tells walks apart without telling what they are.
//!
//! A first state that does not depend on the real walk has a stream that does not either. A private start and an
//! observation have the real state in what their stream is derived from.
//!
//! **Forks and snapshots.** System randomness is a running generator. A fork copies it, and two copies
//! would answer two real walks through the same noise, so a releaser refuses to go on in a forked child
//! ([`Forked`]). A snapshot of a whole machine that is restored twice cannot be noticed from inside.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use thiserror::Error;

use super::fork_check::Process;
use super::{Forked, ReleaseId, Words};
use crate::remedy::Remedy;
use crate::state::StateId;

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
    "the secret has {found} bytes, and at least {} are needed; make one with {}",
    Secret::LEAST_BYTES,
    Remedy::NewSecret
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
    Seeded(u64, ReleaseId),
    Keyed(Secret, ReleaseId),
}

/// The operating system gave no randomness.
#[derive(Clone, Debug, Error)]
#[error("the operating system gave no randomness: {0}")]
pub struct Unavailable(pub(super) String);

impl Source {
    /// Fresh randomness from the operating system.
    #[must_use]
    pub fn system() -> Self {
        Self(Choice::System)
    }

    /// Reproducible and **not private**. The seed stands for its release id too.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Choice::Seeded(seed, ReleaseId::of_seed(seed)))
    }

    /// The same under a release id of the caller's choice.
    #[must_use]
    pub fn seeded_with_id(seed: u64, id: ReleaseId) -> Self {
        Self(Choice::Seeded(seed, id))
    }

    /// Derived from a secret and the id of the run: a repeated run repeats its release. Draw a new
    /// id for every run ([`ReleaseId::random`]); give one again only to repeat a run on the same real
    /// walks.
    #[must_use]
    pub fn keyed(secret: Secret, id: ReleaseId) -> Self {
        Self(Choice::Keyed(secret, id))
    }

    /// The id that the randomness is derived from. None for the operating system's: nothing can
    /// repeat it, and whoever keeps a record of the run draws an id to name it by.
    #[must_use]
    pub fn release_id(&self) -> Option<ReleaseId> {
        match self.0 {
            Choice::System => None,
            Choice::Seeded(_, id) | Choice::Keyed(_, id) => Some(id),
        }
    }

    /// Which kind this is.
    #[must_use]
    pub fn kind(&self) -> SourceKind {
        match self.0 {
            Choice::System => SourceKind::System,
            Choice::Seeded(..) => SourceKind::Seeded,
            Choice::Keyed(..) => SourceKind::Keyed,
        }
    }

    /// Opens the source for releases under one mechanism, named by its fingerprint.
    ///
    /// # Errors
    ///
    /// If the operating system has no randomness to give.
    pub fn open(&self, fingerprint: [u8; 32]) -> Result<Randomness, Unavailable> {
        let derived = |kind: &[u8], secret: &[u8], id: &ReleaseId| {
            let mut hasher = blake3::Hasher::new_derive_key("veilwalk 2026 release key v2");
            hasher.update(&fingerprint).update(&id.to_bytes()).update(kind).update(secret);
            Randomness {
                stream: Stream::from_key([0; 32]),
                origin: Origin::Derived { from: *hasher.finalize().as_bytes(), id: *id },
            }
        };
        Ok(match &self.0 {
            Choice::System => {
                let process = Process::current();
                let mut key = [0; 32];
                getrandom::fill(&mut key).map_err(|e| Unavailable(e.to_string()))?;
                Randomness { stream: Stream::from_key(key), origin: Origin::System(process) }
            }
            Choice::Seeded(seed, id) => derived(b"seed", &seed.to_le_bytes(), id),
            Choice::Keyed(secret, id) => derived(b"key", &secret.0, id),
        })
    }

    /// A plain stream of words, for tests of samplers.
    #[cfg(test)]
    pub(crate) fn words_for_tests(&self) -> Stream {
        let Choice::Seeded(seed, _) = self.0 else { panic!("tests use seeds") };
        Stream::from_key(blake3::derive_key("veilwalk tests", &seed.to_le_bytes()))
    }
}

/// The key of one walk under one source. Empty where randomness is not derived.
#[derive(Clone, PartialEq, Eq)]
pub struct WalkKey(Option<[u8; 32]>);

impl WalkKey {
    /// Tells keys apart without telling anything else of them: a hash under the key of what no step asks for.
    pub(crate) fn mark(&self) -> Option<[u8; 32]> {
        self.subkey(b"mark of a saved session")
    }

    /// The key under which the walk's real states are digested. No step asks for it either.
    pub(crate) fn for_digests(&self) -> Option<[u8; 32]> {
        self.subkey(b"digest of real states")
    }

    /// A hash under the key. Steps hash 16 bytes, and blocks what starts with `block`.
    fn subkey(&self, purpose: &[u8]) -> Option<[u8; 32]> {
        self.0.as_ref().map(|key| *blake3::keyed_hash(key, purpose).as_bytes())
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
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    System(Process),
    Derived { from: [u8; 32], id: ReleaseId },
}

impl Randomness {
    /// The id that it is derived from, if it is derived.
    #[must_use]
    pub fn release_id(&self) -> Option<ReleaseId> {
        match self.origin {
            Origin::System(_) => None,
            Origin::Derived { id, .. } => Some(id),
        }
    }

    /// Whether its words are nobody else's. To be asked before words are used for a release.
    ///
    /// # Errors
    ///
    /// If it comes from the operating system, and the process was forked since.
    #[inline]
    pub fn check_process(&self) -> Result<(), Forked> {
        match &self.origin {
            Origin::System(process) => process.check(),
            Origin::Derived { .. } => Ok(()),
        }
    }

    /// The key of the walk with this name.
    #[must_use]
    pub fn walk(&self, name: &[u8]) -> WalkKey {
        WalkKey(match &self.origin {
            Origin::System(_) => None,
            Origin::Derived { from, .. } => Some(*blake3::keyed_hash(from, name).as_bytes()),
        })
    }

    /// The words for a step of a walk. `moved` is the last released state and the real one, and
    /// nothing for a first state that is drawn without the real one.
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

    /// The words for what is drawn for a real state alone, whatever was released before: a private start or
    /// an observation.
    pub fn at_observation(&mut self, walk: &WalkKey, step: u64, real: StateId) -> &mut Stream {
        // No state has the number that stands for the one before.
        self.at(walk, step, Some((StateId::NONE, real)))
    }

    /// The words for a block of steps, of which the first has this number. All real states of the
    /// block decide the stream: a retried block repeats, and one that differs anywhere, or is cut
    /// short, is independent. The first block of a walk may begin with its first state, after none.
    pub fn at_block(
        &mut self,
        walk: &WalkKey,
        first_step: u64,
        previous: Option<StateId>,
        reals: &[StateId],
    ) -> &mut Stream {
        if let Some(key) = &walk.0 {
            let mut hasher = blake3::Hasher::new_keyed(key);
            hasher.update(b"block").update(&first_step.to_le_bytes());
            for state in std::iter::once(&previous.unwrap_or(StateId::NONE)).chain(reals) {
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

    const ID: ReleaseId = ReleaseId::from_bytes([0x5e; 16]);

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
        let keyed =
            |id| Source::keyed(Secret::new(&[9; 32]).unwrap(), ReleaseId::from_bytes([id; 16]));
        let again = ReleaseId::from_bytes([2; 16]);
        let pairs = [(Source::seeded(1), Source::seeded_with_id(1, again)), (keyed(1), keyed(2))];
        for (source, other_id) in pairs {
            let base = first_words(&source, 0, "a", 3, 2);
            assert_eq!(base, first_words(&source, 0, "a", 3, 2));
            let others = [
                first_words(&source, 1, "a", 3, 2),
                first_words(&source, 0, "b", 3, 2),
                first_words(&source, 0, "a", 4, 2),
                first_words(&source, 0, "a", 3, 5),
                first_words(&Source::seeded(2), 0, "a", 3, 2),
                first_words(&other_id, 0, "a", 3, 2),
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
            randomness.at_block(&walk, step, Some(StateId::new(previous)), &reals).word()
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
        let shown = format!("{:?}", Source::keyed(Secret::new(&[0xab; 16]).unwrap(), ID));
        assert_eq!(shown, format!("Source(Keyed(Secret(…), ReleaseId({ID})))"));
    }

    #[test]
    fn value_stability() {
        let keyed = Source::keyed(Secret::new(b"sixteen bytes ok").unwrap(), ID);
        assert_eq!(
            first_words(&Source::seeded(1), 0, "a", 0, 0),
            [1_352_733_514_366_084_402, 11_221_303_773_565_982_478]
        );
        assert_eq!(
            first_words(&keyed, 0, "a", 0, 0),
            [8_899_312_052_448_183_809, 2_809_529_051_234_675_954]
        );
    }
}
