//! Sessions: saved, resumed, retried, and light on memory.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use common::{credit, preset};
use veilwalk::session::{Releaser, ReplayError, ResumeError, SavedSession};
use veilwalk::{
    Chain, Initial, Mechanism, Model, Preset, ReleaseId, Secret, Session, Source, Start, StateId,
};

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[allow(unsafe_code, reason = "a global allocator cannot be written without it")]
// SAFETY: every call is handed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        // SAFETY: the caller's promise is the one the system allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn keyed() -> Source {
    keyed_as(1)
}

/// The same secret under another release id.
fn keyed_as(id: u8) -> Source {
    let secret = Secret::new(b"a secret of more than sixteen bytes").unwrap();
    Source::keyed(secret, ReleaseId::from_bytes([id; 16]))
}

fn mechanism(name: Preset) -> Arc<Mechanism> {
    Arc::new(preset(&credit(), name, "1", "3.5"))
}

fn real(t: usize) -> StateId {
    StateId::new([6, 7, 6, 6, 6, 6, 5, 6, 7, 7][t % 10])
}

#[test]
fn a_resumed_session_goes_on_as_if_never_stopped() {
    for name in Preset::OF_MOVES {
        let mechanism = mechanism(name);
        let new = || Session::new(mechanism.clone(), &keyed(), Start::Initial, "w").unwrap();
        let mut whole = new();
        let expected: Vec<_> = (0..50).map(|t| whole.release(real(t)).unwrap()).collect();
        let mut session = new();
        for (t, &expected) in expected.iter().enumerate() {
            // saved and resumed before every single step
            let bytes = session.save().unwrap();
            assert!(bytes.len() <= 104, "small: {}", bytes.len());
            let resume = || {
                Session::resume(mechanism.clone(), &keyed(), Start::Initial, "w", &bytes).unwrap()
            };
            session = resume();
            assert_eq!(session.release(real(t)).unwrap(), expected);
            // a retried step releases the same state again
            assert_eq!(resume().release(real(t)).unwrap(), expected);
        }
        assert_eq!(session.walk().released(), 50);
    }
}

#[test]
fn a_saved_session_is_refused_where_it_does_not_belong() {
    let sharp = mechanism(Preset::Sharp);
    let mut session = Session::new(sharp.clone(), &keyed(), Start::Initial, "w").unwrap();
    session.release(real(0)).unwrap();
    let bytes = session.save().unwrap();
    let resume = |mechanism: &Arc<Mechanism>, name: &str, bytes: &[u8]| {
        Session::resume(mechanism.clone(), &keyed(), Start::Initial, name, bytes).unwrap_err()
    };
    assert!(matches!(resume(&mechanism(Preset::Paper), "w", &bytes), ResumeError::OtherMechanism));
    let other_epsilon = Arc::new(preset(&credit(), Preset::Sharp, "2", "3.5"));
    assert!(matches!(resume(&other_epsilon, "w", &bytes), ResumeError::OtherMechanism));
    let moved = Chain::credit().with_initial(Initial::at(StateId::new(1), 9));
    let other_chain = preset(&Arc::new(Model::new(moved).unwrap()), Preset::Sharp, "1", "3.5");
    assert!(matches!(resume(&Arc::new(other_chain), "w", &bytes), ResumeError::OtherChain { .. }));
    assert!(matches!(resume(&sharp, "v", &bytes), ResumeError::OtherWalk(_)));
    let id = ReleaseId::from_bytes([1; 16]);
    let resumed =
        |source: &Source| Session::resume(sharp.clone(), source, Start::Initial, "w", &bytes);
    for other in [
        Source::system(),
        Source::seeded_with_id(1, id),
        Source::keyed(Secret::new(&[8; 32]).unwrap(), id),
    ] {
        assert!(matches!(resumed(&other).unwrap_err(), ResumeError::OtherSource));
    }
    let error = resumed(&keyed_as(2)).unwrap_err();
    assert!(matches!(error, ResumeError::OtherRelease { .. }), "{error}");
    assert!(error.to_string().contains(&id.to_string()), "{error}");
    // Nor is a session without a key taken up with one.
    let unkeyed = Session::new(sharp.clone(), &Source::system(), Start::Initial, "w").unwrap();
    assert!(matches!(resume(&sharp, "w", &unkeyed.save().unwrap()), ResumeError::OtherSource));
    for cut in 0..bytes.len() {
        assert!(matches!(resume(&sharp, "w", &bytes[..cut]), ResumeError::Damaged));
    }
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 0x10;
        assert!(matches!(resume(&sharp, "w", &changed), ResumeError::Damaged));
    }
}

/// Whoever makes a checksum that is right can write any number. None is counted beyond its end.
#[test]
fn a_walk_longer_than_any_is_refused() {
    let sharp = mechanism(Preset::Sharp);
    let mut session = Session::new(sharp.clone(), &Source::system(), Start::Initial, "w").unwrap();
    session.release(real(0)).unwrap();
    let saved = session.save().unwrap();
    // The version, 40 bytes of hashes, nothing of a key, then how many states were released.
    let at = 1 + 40 + 1;
    assert_eq!(saved[at], 1);
    let with = |number: &[u8]| {
        let content = [&saved[..at], number, &saved[at + 1..saved.len() - 4]].concat();
        let sum = blake3::hash(&content);
        let bytes = [&content[..], &sum.as_bytes()[..4]].concat();
        Session::resume(sharp.clone(), &Source::system(), Start::Initial, "w", &bytes)
    };
    assert_eq!(with(&[7]).unwrap().walk().released(), 7);
    let most = [&[0xff; 9][..], &[1]].concat();
    assert!(matches!(with(&most).unwrap_err(), ResumeError::Damaged));
}

#[test]
fn starts() {
    let mechanism = mechanism(Preset::Sharp);
    let first = |start, name: &str| {
        Session::new(mechanism.clone(), &keyed(), start, name).unwrap().release(real(0)).unwrap()
    };
    assert_eq!(first(Start::First, "w"), real(0));
    assert_eq!(first(Start::At(StateId::new(2)), "w"), StateId::new(2));
    // The initial distribution is uniform: a hundred walks start all over the chain, whatever the
    // real first state is.
    let seen: std::collections::BTreeSet<_> =
        (0..100).map(|i| first(Start::Initial, &i.to_string())).collect();
    assert_eq!(seen.len(), 9);
}

#[test]
fn the_first_state_does_not_depend_on_the_real_one() {
    let mechanism = mechanism(Preset::Sharp);
    for name in ["a", "b", "c"] {
        let released = |x| {
            let mut s = Session::new(mechanism.clone(), &keyed(), Start::Initial, name).unwrap();
            s.release(StateId::new(x)).unwrap()
        };
        assert!((1..9).all(|x| released(x) == released(0)));
    }
}

#[test]
fn a_state_that_does_not_exist_is_refused_and_nothing_lost() {
    let mut session =
        Session::new(mechanism(Preset::Sharp), &Source::system(), Start::Initial, "w").unwrap();
    session.release(real(0)).unwrap();
    assert!(session.release(StateId::new(9)).is_err());
    assert_eq!(session.walk().released(), 1);
    assert!(session.release(real(1)).is_ok());
}

#[test]
fn stepping_allocates_nothing_after_the_first_steps() {
    for name in Preset::OF_MOVES {
        for source in [Source::system(), keyed()] {
            let mut session = Session::new(mechanism(name), &source, Start::Initial, "w").unwrap();
            // Until the widest row has been seen once.
            (0..2000).for_each(|t| assert!(session.release(real(t)).is_ok()));
            let before = ALLOCATIONS.with(Cell::get);
            (0..1000).for_each(|t| assert!(session.release(real(t)).is_ok()));
            assert_eq!(ALLOCATIONS.with(Cell::get), before, "{name}");
        }
    }
}

/// The real states come once more from the first, as after a restart without a place to go on from.
#[test]
fn a_walk_that_comes_again_is_compared_with_the_record() {
    for (name, start) in [(Preset::Sharp, Start::Initial), (Preset::Cell, Start::First)] {
        let mechanism = mechanism(name);
        let mut session = Session::new(mechanism.clone(), &keyed(), start, "w").unwrap();
        let reals: Vec<_> = (0..30).map(real).collect();
        let released: Vec<_> = reals.iter().map(|&x| session.release(x).unwrap()).collect();
        let (bytes, next) = (session.save().unwrap(), session.release(real(30)).unwrap());
        let id = Some(ReleaseId::from_bytes([1; 16]));
        assert_eq!(
            SavedSession::read(&bytes).unwrap(),
            SavedSession { release_id: id, released: 30, covered: 30 }
        );
        let replay = |source: &Source, start, reals: &[StateId]| {
            Session::replay(mechanism.clone(), source, start, "w", &bytes, reals)
        };
        let (mut again, repeated) = replay(&keyed(), start, &reals).unwrap();
        assert_eq!(repeated.states, released);
        assert_eq!(again.release(real(30)).unwrap(), next);
        assert_eq!(again.digest(), session.digest());
        // One other state anywhere is refused; the first one only if it was released.
        for place in 0..30 {
            let mut other = reals.clone();
            other[place] = StateId::new((other[place].index() + 1) % 9);
            match replay(&keyed(), start, &other) {
                Ok(_) => assert_eq!((place, start), (0, Start::Initial)),
                Err(error) => assert!(matches!(error, ReplayError::OtherStates { .. }), "{error}"),
            }
        }
        let error = replay(&keyed(), Start::At(StateId::new(3)), &reals).unwrap_err();
        assert!(matches!(error, ReplayError::OtherStates { .. }), "another start: {error}");
        let error = replay(&keyed(), start, &reals[..29]).unwrap_err();
        assert!(matches!(error, ReplayError::Count { covered: 30, given: 29 }), "{error}");
        let error = replay(&keyed_as(2), start, &reals).unwrap_err();
        let other = |error: &ReplayError| {
            matches!(error, ReplayError::Record(ResumeError::OtherRelease { .. }))
        };
        assert!(other(&error), "{error}");
    }
    let system = Source::system();
    let open = Session::new(mechanism(Preset::Sharp), &system, Start::Initial, "w").unwrap();
    let bytes = open.save().unwrap();
    let replayed =
        Session::replay(mechanism(Preset::Sharp), &system, Start::Initial, "w", &bytes, &[]);
    assert!(matches!(replayed.unwrap_err(), ReplayError::NoDigest));
}

#[test]
fn digests_differ_whenever_the_release_may() {
    let reals: Vec<_> = (0..20).map(real).collect();
    let digest = |mechanism: &Arc<Mechanism>, source: &Source, start, name: &str, reals: &[_]| {
        Releaser::new(mechanism.clone(), source, start).unwrap().digest(name, reals)
    };
    let (sharp, initial) = (mechanism(Preset::Sharp), Start::Initial);
    let base = digest(&sharp, &keyed(), initial, "w", &reals);
    assert!(base.is_some());
    assert_eq!(base, digest(&sharp, &keyed(), initial, "w", &reals));
    let mut changed = reals.clone();
    changed.swap(3, 4);
    changed.swap(5, 6);
    assert_ne!(changed, reals);
    let other_key = Source::keyed(Secret::new(&[8; 32]).unwrap(), ReleaseId::from_bytes([1; 16]));
    let others = [
        digest(&mechanism(Preset::Paper), &keyed(), initial, "w", &reals),
        digest(&sharp, &keyed_as(2), initial, "w", &reals),
        digest(&sharp, &other_key, initial, "w", &reals),
        digest(&sharp, &keyed(), Start::First, "w", &reals),
        digest(&sharp, &keyed(), initial, "v", &reals),
        digest(&sharp, &keyed(), initial, "w", &changed),
        digest(&sharp, &keyed(), initial, "w", &reals[..19]),
        digest(&sharp, &keyed(), initial, "w", &[]),
    ];
    assert!(others.iter().all(|other| other.is_some() && *other != base), "{others:?}");
    assert_eq!(digest(&sharp, &Source::system(), initial, "w", &reals), None);
}
