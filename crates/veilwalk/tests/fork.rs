//! A forked child does not release with its parent's randomness.
#![cfg(target_os = "linux")]

mod common;

use std::sync::Arc;

use common::{blocks, credit, exponential, preset, radius};
use veilwalk::random::Forked;
use veilwalk::session::{PushError, Released, Releaser};
use veilwalk::{Distance, Preset, ReleaseId, Secret, Session, Source, Start, StateId};

/// What a child of a fork finds: one bit for each thing that is as it should be.
#[allow(unsafe_code, reason = "a fork cannot be had without it")]
fn in_a_child(child: impl FnOnce() -> u8) -> u8 {
    // SAFETY: the child works on its copy of this thread's memory, and leaves without running anything
    // of its parent's.
    unsafe {
        match libc::fork() {
            -1 => panic!("no fork: {}", std::io::Error::last_os_error()),
            0 => libc::_exit(i32::from(child())),
            pid => {
                let mut status = 0;
                assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
                assert!(libc::WIFEXITED(status), "the child was killed");
                libc::WEXITSTATUS(status) as u8
            }
        }
    }
}

#[test]
fn a_forked_child_is_refused_until_it_opens_its_own() {
    let (model, real) = (credit(), StateId::new(6));
    let steps = Arc::new(preset(&model, Preset::Sharp, "1", "3.5"));
    let design = exponential(Distance::Symmetric, "0.5");
    let five = Arc::new(blocks(&model, design, radius("2", "3.5"), "5"));
    let (system, start) = (Source::system(), Start::Initial);
    let secret = Secret::new(&[7; 32]).unwrap();
    let key = Source::keyed(secret, ReleaseId::from_bytes([1; 16]));

    let mut session = Session::new(steps.clone(), &system, start, "w").unwrap();
    session.release(real).unwrap();
    let mut releaser = Releaser::new(steps.clone(), &system, start).unwrap();
    let mut walk = releaser.walk("w");
    let mut block_session = Session::new(five.clone(), &system, start, "w").unwrap();
    block_session.push(real).unwrap();
    let mut block_releaser = Releaser::new(five, &system, start).unwrap();
    let mut keyed = Session::new(steps.clone(), &key, start, "w").unwrap();
    let mut keyed_twin = Session::new(steps.clone(), &key, start, "w").unwrap();

    let found = in_a_child(|| {
        let mut bits = 0;
        bits |= u8::from(session.release(real) == Err(PushError::Forked(Forked)));
        bits |= u8::from(
            releaser.push(&mut walk, real, &mut Released::default())
                == Err(PushError::Forked(Forked)),
        ) << 1;
        bits |= u8::from(block_session.push(real) == Err(PushError::Forked(Forked))) << 2;
        let whole = block_releaser.release("w", &[real; 3]);
        bits |= u8::from(whole == Err(PushError::Forked(Forked))) << 3;
        // A key has randomness of its own for every step, in whatever process.
        bits |= u8::from(keyed.release(real).is_ok()) << 4;
        // What the child opens itself works, and what it inherited still does not.
        let own = Session::new(steps.clone(), &system, start, "w");
        bits |= u8::from(own.is_ok_and(|mut own| own.release(real).is_ok())) << 5;
        bits |= u8::from(session.release(real).is_err()) << 6;
        // Nor may it finish what waits.
        bits |= u8::from(block_session.finish() == Err(Forked)) << 7;
        bits
    });
    assert_eq!(found, 0xff, "{found:08b}");
    // The parent goes on.
    assert!(session.release(real).is_ok());
    assert_eq!(keyed_twin.release(real), keyed.release(real));
}
