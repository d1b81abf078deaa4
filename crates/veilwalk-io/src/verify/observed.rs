//! Walks made of observations: whether each is the one that its observations make.
//!
//! What was observed is public, and so is how a walk is made of it. So anybody can make the walk again,
//! and there is only one.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use veilwalk::mechanism::{Candidates, Mechanism, Start};
use veilwalk::session::{FollowedWalk, Follower};
use veilwalk::{Chain, Outcome, Sight, StateId};

use super::VerifyError;
use super::rows::{ReleasedRows, read_outcome};
use crate::own_columns::OwnColumns;
use crate::read_error::Place;

/// A walk under way: what is believed of it, and its released states that wait for theirs.
struct Under {
    followed: FollowedWalk,
    released: VecDeque<(Place, StateId)>,
    first_row: u64,
    /// How many of its rows were read.
    steps: u64,
}

/// Makes every walk of a release again from what was observed, and compares.
///
/// # Errors
///
/// At the first released state that is another. Also if the release cannot be read, has no observation for
/// a state, or has one that the mechanism never draws.
pub(super) fn check_observed(
    release: &Path,
    mechanism: &Mechanism,
    start: Start,
) -> Result<(), VerifyError> {
    let Some(mut follower) = Follower::new(mechanism, start) else { return Ok(()) };
    let file = || release.display().to_string();
    let compare = Compare { file: file(), chain: mechanism.model().chain() };
    let mut read = ReleasedRows::open(release, OwnColumns::Observations)?;
    let (drawn, outcomes) = (Drawn::by(mechanism), mechanism.outcomes());
    let mut walks: HashMap<String, Under> = HashMap::new();
    let (mut rows, mut made) = (0, Vec::new());
    while let Some(row) = read.next_row()? {
        rows += 1;
        let place = row.place;
        let released = compare.state(place, row.state)?;
        let seen = row.observed.expect("the release has a column of observations");
        let observed = read_outcome(&outcomes, &compare.file, place, seen)?;
        if !walks.contains_key(row.trajectory) {
            let (followed, released) = (FollowedWalk::default(), VecDeque::new());
            let under = Under { followed, released, first_row: rows, steps: 0 };
            walks.insert(row.trajectory.to_owned(), under);
        }
        let walk = walks.get_mut(row.trajectory).expect("just made");
        row.require_step(&compare.file, walk.steps)?;
        walk.steps += 1;
        // A first state that was not observed stands in its place.
        let drawn_otherwise = walk.first_row == rows && start != Start::Private;
        let fits =
            if drawn_otherwise { observed.state().is_some() } else { drawn.can_be(observed) };
        if !fits {
            let found = seen.to_owned();
            return Err(VerifyError::NeverObserved { file: file(), place, found });
        }
        walk.released.push_back((place, released));
        made.clear();
        follower.push(&mut walk.followed, observed, &mut made);
        compare.made(&made, &mut walk.released)?;
    }
    // What waits because of a lag, in the order of the file.
    let mut rest: Vec<Under> = walks.into_values().collect();
    rest.sort_by_key(|walk| walk.first_row);
    for mut walk in rest {
        made.clear();
        follower.finish(walk.followed, &mut made);
        compare.made(&made, &mut walk.released)?;
    }
    Ok(())
}

/// What can be observed, whatever was before.
pub(super) enum Drawn {
    /// Only these states, ascending.
    These(Vec<StateId>),
    /// States: which ones depends on what was observed before.
    Depends,
    /// Points on a plane.
    Points,
}

impl Drawn {
    pub(super) fn by(mechanism: &Mechanism) -> Self {
        match mechanism.design().candidates {
            Candidates::States(_) => {
                Self::These(mechanism.candidates(StateId::new(0)).into_owned())
            }
            Candidates::Moves | Candidates::Believed(_) => Self::Depends,
            Candidates::Plane => Self::Points,
        }
    }

    pub(super) fn can_be(&self, observed: Outcome) -> bool {
        match (self, observed.sight()) {
            (Self::These(states), Sight::State(state)) => states.binary_search(&state).is_ok(),
            (Self::Depends, Sight::State(_)) | (Self::Points, Sight::Point(_)) => true,
            (Self::These(_) | Self::Depends, Sight::Point(_)) | (Self::Points, Sight::State(_)) => {
                false
            }
        }
    }
}

/// Compares states of a file.
struct Compare<'a> {
    file: String,
    chain: &'a Chain,
}

impl Compare<'_> {
    fn state(&self, place: Place, label: &str) -> Result<StateId, VerifyError> {
        self.chain.state(label).ok_or_else(|| VerifyError::NotAState {
            file: self.file.clone(),
            place,
            state: label.to_owned(),
        })
    }

    /// Takes the released states for which these were made, which have to be the same.
    fn made(
        &self,
        made: &[StateId],
        released: &mut VecDeque<(Place, StateId)>,
    ) -> Result<(), VerifyError> {
        for (&expected, (place, found)) in made.iter().zip(released.drain(..made.len())) {
            if expected != found {
                let label = |state| self.chain.label(state).to_owned();
                let (file, expected, found) = (self.file.clone(), label(expected), label(found));
                return Err(VerifyError::NotTracked { file, place, expected, found });
            }
        }
        Ok(())
    }
}
