//! Saved sessions, as they come and with their checksum put right.

use std::sync::{Arc, LazyLock};

use veilwalk::mechanism::Tracking;
use veilwalk::random::{ReleaseId, Secret};
use veilwalk::session::{Released, SavedSession};
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Releaser, Source, Start};

use crate::{Outcome, taken};

/// What saved sessions are taken up by. The first byte of the data says which.
static MECHANISMS: LazyLock<Vec<Arc<Mechanism>>> = LazyLock::new(|| {
    let model = Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("2".parse().unwrap(), "3.5".parse().unwrap());
    let made = |preset: Preset| Mechanism::new(model.clone(), preset.design(), promise).unwrap();
    let lag = |lag| Tracking { lag, ..Tracking::default() };
    vec![
        Arc::new(made(Preset::Cell)),
        Arc::new(made(Preset::Tight).tracking(Tracking::default())),
        Arc::new(made(Preset::Tight).tracking(lag(2))),
        Arc::new(made(Preset::Believed).tracking(lag(3))),
    ]
});

/// The walk that all of them are of.
const NAME: &str = "firm 12";

fn releaser(choice: u8) -> Releaser {
    let kinds = MECHANISMS.len() as u8;
    let mechanism = MECHANISMS[usize::from(choice % kinds)].clone();
    let secret = Secret::new(b"a secret of sixteen bytes").unwrap();
    let source = match choice / kinds % 2 {
        0 => Source::keyed(secret, ReleaseId::from_bytes([1; 16])),
        _ => Source::system(),
    };
    Releaser::new(mechanism, &source, Start::Private).unwrap()
}

/// A saved session: a byte that chooses who takes it up, and its bytes.
pub(crate) fn session(data: &[u8]) -> Outcome {
    let Some((&choice, bytes)) = data.split_first() else { return Outcome::Refused };
    let as_it_is = one(choice, bytes);
    let Some((content, _)) = bytes.split_last_chunk::<4>() else { return as_it_is };
    let sum = blake3::hash(content);
    one(choice, &[content, &sum.as_bytes()[..4]].concat())
}

fn one(choice: u8, bytes: &[u8]) -> Outcome {
    let read = taken(SavedSession::read(bytes));
    let mut releaser = releaser(choice);
    let Some((mut walk, digest)) = taken(releaser.resume(NAME, bytes)) else {
        return Outcome::Refused;
    };
    let read = read.expect("what can be taken up can be read");
    assert_eq!(walk.released(), read.released);
    let saved = releaser.save(NAME, &walk, digest.as_ref()).unwrap();
    assert_eq!(SavedSession::read(&saved).unwrap(), read, "saved once more");
    // It goes on.
    let mut out = Released::default();
    let mechanism = releaser.mechanism().clone();
    let chain = mechanism.model().chain();
    for real in chain.states() {
        if taken(releaser.push(&mut walk, real, &mut out)).is_none() {
            return Outcome::Refused;
        }
    }
    releaser.finish(walk, &mut out).unwrap();
    Outcome::Accepted
}

/// Sessions that are taken: of every mechanism, after every number of steps up to five.
#[must_use]
pub fn examples() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for choice in 0..2 * MECHANISMS.len() as u8 {
        let mut releaser = releaser(choice);
        let states: Vec<_> = releaser.mechanism().model().chain().states().collect();
        let mut walk = releaser.walk(NAME);
        let mut out = Released::default();
        for steps in 0..6 {
            let digest = releaser.release_id().map(|_| &states[..steps]);
            let digest = digest.and_then(|reals| {
                let mut digest = releaser.walk_digest(NAME)?;
                reals.iter().for_each(|&real| digest.push(real));
                Some(digest)
            });
            let saved = releaser.save(NAME, &walk, digest.as_ref()).unwrap();
            all.push([&[choice][..], &saved].concat());
            releaser.push(&mut walk, states[steps], &mut out).unwrap();
        }
    }
    all
}
