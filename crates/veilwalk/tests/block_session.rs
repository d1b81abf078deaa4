//! Walks released in blocks: when what goes out, saved and resumed, many at a time.

mod common;

use std::sync::Arc;

use common::{blocks, credit, exponential, radius};
use veilwalk::mechanism::{BlockLength, Blocks};
use veilwalk::session::{
    PushError, Released, Releaser, ReplayError, ResumeError, UnfilledBlock, Walk,
};
use veilwalk::{Distance, Mechanism, ReleaseId, Secret, Session, Source, Start, StateId};

fn keyed() -> Source {
    let secret = Secret::new(b"a secret of more than sixteen bytes").unwrap();
    Source::keyed(secret, ReleaseId::from_bytes([1; 16]))
}

fn real(t: usize) -> StateId {
    StateId::new([6, 7, 6, 6, 5][t % 5])
}

fn on_credit(length: &str) -> Arc<Mechanism> {
    let design = exponential(Distance::Symmetric, "0.5");
    Arc::new(blocks(&credit(), design, radius("2", "3.5"), length))
}

#[test]
fn sessions_release_a_block_when_it_is_full_and_the_rest_at_the_end() {
    let model = credit();
    let source = keyed();
    let real: Vec<_> = (0..24).map(|t| StateId::new([6, 7, 6, 6, 5][t % 5])).collect();
    let mut all = Vec::new();
    for length in ["1", "5", "23", "30", "all"] {
        let blocks = Arc::new(blocks(
            &model,
            exponential(Distance::Symmetric, "0.5"),
            radius("2", "3.5"),
            length,
        ));
        let most = blocks.blocks().map(Blocks::length).unwrap().most_steps().get() as usize;
        let run = || {
            let mut session = Session::new(blocks.clone(), &source, Start::Initial, "w").unwrap();
            let mut released: Vec<StateId> = Vec::new();
            for (t, &real) in real.iter().enumerate() {
                let now = session.push(real).unwrap();
                let due = match t {
                    0 => 1,
                    _ if t % most == 0 => most,
                    _ => 0,
                };
                assert_eq!(now.len(), due, "{length}, step {t}");
                released.extend(now);
                assert_eq!(session.walk().waiting(), t % most);
                assert_eq!(session.walk().released(), released.len() as u64);
            }
            released.extend(session.finish().unwrap());
            released
        };
        let whole = run();
        assert_eq!(whole, run(), "a repeated walk repeats its release");
        assert_eq!(whole.len(), real.len());
        assert!(whole.windows(2).all(|pair| model.chain().allows(pair[0], pair[1])));
        let mut releaser = Releaser::new(blocks.clone(), &source, Start::Initial).unwrap();
        assert_eq!(releaser.release("w", &real).unwrap().states, whole);
        assert_ne!(releaser.release("v", &real).unwrap().states, whole);
        all.push(whole);
    }
    assert_ne!(all[1], all[2]);
}

#[test]
fn what_a_session_does_not_take_leaves_it_where_it_was() {
    let model = credit();
    let length = BlockLength::Whole { longest: 2.try_into().unwrap() };
    let design = exponential(Distance::Symmetric, "0.5");
    let blocks = Mechanism::in_blocks(model, design, radius("2", "3.5"), length).unwrap();
    let blocks = Arc::new(blocks);
    let source = Source::seeded(1);
    let mut session = Session::new(blocks.clone(), &source, Start::First, "w").unwrap();
    let x = StateId::new(4);
    assert!(matches!(session.push(StateId::new(9)), Err(PushError::NoSuchState(_))));
    assert_eq!(session.push(x), Ok(&[x][..]));
    for _ in 0..2 {
        assert_eq!(session.push(x), Ok(&[][..]));
    }
    assert_eq!(session.push(x), Err(PushError::TooLong { longest: 2 }));
    assert_eq!(session.walk().waiting(), 2);
    assert_eq!(session.finish().unwrap().len(), 2);
    let mut releaser = Releaser::new(blocks, &source, Start::First).unwrap();
    assert_eq!(releaser.release("w", &[x; 4]), Err(PushError::TooLong { longest: 2 }));
    assert_eq!(releaser.release("w", &[]).unwrap().states, []);
    assert_eq!(releaser.release("w", &[x]).unwrap().states, [x]);
}

#[test]
fn one_state_cannot_be_asked_for_where_blocks_are_released() {
    let mut session = Session::new(on_credit("5"), &keyed(), Start::First, "w").unwrap();
    let length = BlockLength::Steps(5.try_into().unwrap());
    assert_eq!(session.release(real(0)), Err(PushError::InBlocks { length }));
    assert_eq!(session.walk().released(), 0);
}

#[test]
fn walks_that_alternate_are_released_as_if_each_were_alone() {
    let names = ["a", "b", "c"];
    for length in ["1", "4", "all"] {
        let blocks = on_credit(length);
        let new = || Releaser::new(blocks.clone(), &keyed(), Start::Initial).unwrap();
        let mut releaser = new();
        let mut walks: Vec<Walk> = names.iter().map(|name| releaser.walk(name)).collect();
        let mut released = vec![Vec::new(); names.len()];
        // One buffer for all, as someone would have who writes what comes out at once.
        let mut out = Released::default();
        for t in 0..30 {
            for (i, walk) in walks.iter_mut().enumerate().filter(|(i, _)| t % (i + 1) == 0) {
                let before = out.len();
                releaser.push(walk, real(t + i), &mut out).unwrap();
                released[i].extend_from_slice(&out[before..]);
                assert_eq!(walk.last(), released[i].last().copied());
                assert_eq!(walk.released(), released[i].len() as u64);
            }
        }
        for (i, walk) in walks.into_iter().enumerate() {
            let before = out.len();
            releaser.finish(walk, &mut out).unwrap();
            released[i].extend_from_slice(&out[before..]);
        }
        for (i, name) in names.iter().enumerate() {
            let reals: Vec<_> = (0..30).step_by(i + 1).map(|t| real(t + i)).collect();
            assert_eq!(
                released[i],
                new().release(name, &reals).unwrap().states,
                "{length}, {name}"
            );
        }
    }
}

#[test]
fn a_resumed_session_goes_on_as_if_never_stopped() {
    for length in ["1", "5", "all"] {
        let blocks = on_credit(length);
        let most = blocks.blocks().map(Blocks::length).unwrap().most_steps().get() as usize;
        let reals: Vec<_> = (0..24).map(real).collect();
        let mut releaser = Releaser::new(blocks.clone(), &keyed(), Start::Initial).unwrap();
        let expected = releaser.release("w", &reals).unwrap().states;
        let mut session = Session::new(blocks.clone(), &keyed(), Start::Initial, "w").unwrap();
        let mut released = Vec::new();
        for (t, &real) in reals.iter().enumerate() {
            released.extend_from_slice(session.push(real).unwrap());
            match session.save() {
                Ok(bytes) => {
                    assert_eq!(t % most, 0, "{length}, step {t}");
                    assert!(bytes.len() <= 104, "small: {}", bytes.len());
                    let (blocks, source) = (blocks.clone(), keyed());
                    session = Session::resume(blocks, &source, Start::Initial, "w", &bytes)
                        .unwrap_or_else(|error| panic!("{length}, step {t}: {error}"));
                }
                Err(error) => {
                    let length = blocks.blocks().map(Blocks::length).unwrap();
                    assert_eq!(error, UnfilledBlock { waiting: t % most, length });
                }
            }
        }
        released.extend(session.finish().unwrap());
        assert_eq!(released, expected, "{length}");
    }
}

#[test]
fn real_states_that_wait_are_neither_saved_nor_shown() {
    let mut session = Session::new(on_credit("5"), &keyed(), Start::First, "w").unwrap();
    (0..4).for_each(|t| assert!(session.push(real(t)).is_ok()));
    let error = session.save().unwrap_err().to_string();
    assert!(error.contains("3 real states wait for their block (5 steps)"), "{error}");
    let mut other = Session::new(on_credit("5"), &keyed(), Start::First, "w").unwrap();
    for t in [0, 2, 4, 4] {
        other.push(real(t)).unwrap();
    }
    assert_eq!(format!("{:?}", session.walk()), format!("{:?}", other.walk()));
}

#[test]
fn a_saved_session_is_refused_where_it_does_not_belong() {
    let five = on_credit("5");
    let mut session = Session::new(five.clone(), &keyed(), Start::First, "w").unwrap();
    session.push(real(0)).unwrap();
    let bytes = session.save().unwrap();
    let resume = |length: &str, name: &str, bytes: &[u8]| {
        Session::resume(on_credit(length), &keyed(), Start::First, name, bytes).unwrap_err()
    };
    // Borders would come to lie elsewhere.
    for length in ["4", "all"] {
        assert!(matches!(resume(length, "w", &bytes), ResumeError::OtherMechanism));
    }
    assert!(matches!(resume("5", "v", &bytes), ResumeError::OtherWalk(_)));
    assert!(matches!(resume("5", "w", &bytes[1..]), ResumeError::Damaged));
    // Nor is it a session of single steps, though these have the same costs.
    let promise = radius("2", "3.5");
    let steps = Mechanism::new(credit(), five.design(), promise).unwrap();
    let error = Session::resume(Arc::new(steps), &keyed(), Start::First, "w", &bytes).unwrap_err();
    assert!(matches!(error, ResumeError::OtherMechanism), "{error}");
}

#[test]
fn a_walk_that_comes_again_is_compared_with_the_record() {
    let five = on_credit("5");
    let reals: Vec<_> = (0..16).map(real).collect();
    let mut session = Session::new(five.clone(), &keyed(), Start::First, "w").unwrap();
    let mut released = Vec::new();
    reals.iter().for_each(|&x| released.extend(session.push(x).unwrap()));
    let bytes = session.save().unwrap();
    let replay = |source: &Source, reals: &[StateId]| {
        Session::replay(five.clone(), source, Start::First, "w", &bytes, reals)
    };
    let (mut again, repeated) = replay(&keyed(), &reals).unwrap();
    assert_eq!(repeated.states, released);
    for t in 16..21 {
        assert_eq!(again.push(real(t)).unwrap(), session.push(real(t)).unwrap());
    }
    assert_eq!(again.digest(), session.digest());
    let whole = Releaser::new(five.clone(), &keyed(), Start::First).unwrap();
    let all: Vec<_> = (0..21).map(real).collect();
    assert_eq!(whole.digest("w", &all), session.digest());
    for place in 0..16 {
        let mut other = reals.clone();
        other[place] = StateId::new((other[place].index() + 1) % 9);
        let error = replay(&keyed(), &other).unwrap_err();
        assert!(matches!(error, ReplayError::OtherStates { .. }), "{error}");
    }
    let error = replay(&keyed(), &reals[..15]).unwrap_err();
    assert!(matches!(error, ReplayError::Count { covered: 16, given: 15 }), "{error}");
    let other = Source::keyed(Secret::new(&[8; 32]).unwrap(), ReleaseId::from_bytes([1; 16]));
    let error = replay(&other, &reals).unwrap_err();
    assert!(matches!(error, ReplayError::Record(ResumeError::OtherSource)), "{error}");
}
