//! Walks made of observations: whether each is the one that its observations make.
//!
//! What was observed is public, and so is how a walk is made of it. So anybody can make the walk again,
//! and there is only one.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use veilwalk::mechanism::{Candidates, Mechanism, Start};
use veilwalk::session::{FollowedWalk, Follower};
use veilwalk::{Chain, StateId};

use super::VerifyError;
use crate::own_columns::{OBSERVED, STEP};
use crate::read_error::{Place, ReadErrorKind};
use crate::walks::{WalkOptions, WalkReader};

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
    // The same file twice: states may be lists, and then what was observed is a list as well.
    let mut states = WalkReader::open(release, WalkOptions::default())?;
    // Where a row is a walk, steps have no numbers.
    if states.header().is_none_or(|columns| columns.iter().any(|column| column.trim() == STEP)) {
        let keep = vec![STEP.to_owned()];
        states = WalkReader::open(release, WalkOptions { keep, ..WalkOptions::default() })?;
    }
    let options = WalkOptions { state_column: OBSERVED.to_owned(), ..WalkOptions::default() };
    let mut observations =
        WalkReader::open(release, options).map_err(|error| match error.kind() {
            ReadErrorKind::MissingColumn { .. } => {
                VerifyError::Column { file: file(), column: OBSERVED.to_owned(), there: false }
            }
            _ => error.into(),
        })?;
    let drawn = Drawn::by(mechanism);
    let mut walks: HashMap<String, Under> = HashMap::new();
    let (mut rows, mut made) = (0, Vec::new());
    loop {
        let (state, seen) = (states.next_row()?, observations.next_row()?);
        let (mut state, seen) = match (state, seen) {
            (None, None) => break,
            (Some(state), Some(seen))
                if (state.place, state.trajectory) == (seen.place, seen.trajectory) =>
            {
                (state, seen)
            }
            (Some(row), _) | (None, Some(row)) => {
                return Err(VerifyError::Unpaired { file: file(), place: row.place });
            }
        };
        rows += 1;
        let place = state.place;
        let released = compare.state(place, state.state)?;
        let observed = compare.state(place, seen.state)?;
        if !walks.contains_key(state.trajectory) {
            let (followed, released) = (FollowedWalk::default(), VecDeque::new());
            let under = Under { followed, released, first_row: rows, steps: 0 };
            walks.insert(state.trajectory.to_owned(), under);
        }
        let walk = walks.get_mut(state.trajectory).expect("just made");
        let expected = walk.steps;
        if let Some(found) = state.kept.next().filter(|step| step.parse() != Ok(expected)) {
            let found = found.to_owned();
            return Err(VerifyError::Step { file: file(), place, expected, found });
        }
        walk.steps += 1;
        // A first state that was not observed stands in its place.
        let drawn_otherwise = walk.first_row == rows && start != Start::Private;
        if !drawn_otherwise && !drawn.can_be(observed) {
            let found = seen.state.to_owned();
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
enum Drawn {
    /// Only these states, ascending.
    These(Vec<StateId>),
    /// That depends on what was observed before.
    Depends,
}

impl Drawn {
    fn by(mechanism: &Mechanism) -> Self {
        match mechanism.design().candidates {
            Candidates::States(_) => {
                Self::These(mechanism.candidates(StateId::new(0)).into_owned())
            }
            Candidates::Moves | Candidates::Believed(_) => Self::Depends,
        }
    }

    fn can_be(&self, observed: StateId) -> bool {
        match self {
            Self::These(states) => states.binary_search(&observed).is_ok(),
            Self::Depends => true,
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
