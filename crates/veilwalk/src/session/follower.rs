//! Makes released walks of observations, as anybody can who has them.

use super::observer::{First, Observer};
use crate::belief::Track;
use crate::chain::StateId;
use crate::mechanism::{Mechanism, Start};
use crate::outcome::Outcome;
use crate::random::Words;

/// Follows the observations of walks under one mechanism: the walks that come out are those that were
/// released.
///
/// ```
/// use std::sync::Arc;
/// use veilwalk::session::{FollowedWalk, Follower, Releaser};
/// use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Source, Start};
///
/// let model = Arc::new(Model::new(Chain::credit())?);
/// let promise = Promise::within_radius("1".parse()?, "3.5".parse()?);
/// let mechanism = Arc::new(Mechanism::new(model.clone(), Preset::Tight.design(), promise)?);
/// let mut releaser = Releaser::new(mechanism.clone(), &Source::system(), Start::Private)?;
/// let reals = ["Caa", "Ca/C", "Caa", "B"].map(|label| model.chain().state(label).unwrap());
/// let released = releaser.release("firm 12", &reals)?;
///
/// let mut follower = Follower::new(&mechanism, Start::Private).unwrap();
/// let mut walk = FollowedWalk::default();
/// let mut again = Vec::new();
/// released.observed.iter().for_each(|&seen| follower.push(&mut walk, seen, &mut again));
/// follower.finish(walk, &mut again);
/// assert_eq!(again, released.states);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Follower {
    observer: Observer,
    start: Start,
}

/// Where one walk stands.
#[derive(Clone, Debug, Default)]
pub struct FollowedWalk {
    track: Track,
    begun: Begun,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Begun {
    #[default]
    No,
    Yes,
}

impl FollowedWalk {
    /// The shares of the mass that were dropped from the belief, added up over the steps: what that costs
    /// in accuracy, on average.
    #[must_use]
    pub fn dropped(&self) -> f64 {
        self.track.dropped()
    }

    /// How many bytes the belief takes, and what waits because of a lag.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.track.memory()
    }

    /// How many observations no believed state could explain.
    #[must_use]
    pub fn surprises(&self) -> u64 {
        self.track.surprises()
    }
}

impl Follower {
    /// For walks that were released by this mechanism and started so. None if it draws moves.
    #[must_use]
    pub fn new(mechanism: &Mechanism, start: Start) -> Option<Self> {
        Some(Self { observer: Observer::new(mechanism)?, start })
    }

    /// Takes what was observed for the next step of a walk, and appends to `states` what is released now.
    /// A first state that was not observed stands in its place.
    pub fn push(&mut self, walk: &mut FollowedWalk, observed: Outcome, states: &mut Vec<StateId>) {
        let begun = std::mem::replace(&mut walk.begun, Begun::Yes);
        let first = match (begun, self.start, observed.state()) {
            // A point in place of a state is followed as an observation.
            (Begun::Yes, ..) | (_, Start::Private, _) | (.., None) => None,
            (_, Start::First | Start::At(_), Some(state)) => Some(First::Public(state)),
            (_, Start::Initial, Some(state)) => Some(First::Blind(state)),
        };
        match first {
            Some(first) => {
                self.observer.start(&mut walk.track, first, states);
            }
            None => self.observer.follow(&mut walk.track, observed, states),
        }
    }

    /// The walk is over: appends what waits because of the lag.
    pub fn finish(&mut self, mut walk: FollowedWalk, states: &mut Vec<StateId>) {
        self.observer.finish(&mut walk.track, states);
    }
}

/// Every sequence of observations that a mechanism can draw for these real states from a private start,
/// with the logarithm of its probability: for small chains, and to check everything else. None if it draws
/// moves.
///
/// # Complexity
///
/// The number of sequences, which grows exponentially with their length.
#[must_use]
pub fn log_law_of_observations(
    mechanism: &Mechanism,
    reals: &[StateId],
) -> Option<Vec<(Vec<StateId>, f64)>> {
    let mut observer = Observer::new(mechanism)?;
    let mut paths = vec![(Vec::new(), 0.0, Track::new())];
    for &real in reals {
        let mut longer = Vec::new();
        for (path, log, track) in paths {
            for (observed, choice) in observer.log_choices(&track, real) {
                let mut path: Vec<StateId> = path.clone();
                path.push(observed);
                let mut track = track.clone();
                observer.follow(&mut track, observed.into(), &mut Vec::new());
                longer.push((path, log + choice, track));
            }
        }
        paths = longer;
    }
    Some(paths.into_iter().map(|(path, log, _)| (path, log)).collect())
}

/// Observes walks with words of the caller's: for tests of the sampler.
#[must_use]
pub fn observe_once(
    mechanism: &Mechanism,
    reals: &[StateId],
    words: &mut impl Words,
) -> Option<Vec<Outcome>> {
    let mut observer = Observer::new(mechanism)?;
    let mut track = Track::new();
    let mut states = Vec::new();
    let observe = |&real| observer.observe(&mut track, real, words, &mut states);
    Some(reals.iter().map(observe).collect())
}
