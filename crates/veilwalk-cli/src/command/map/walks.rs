//! The walks that are drawn: those of the release, and others of the same names.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Result, bail};
use veilwalk::chain::Coordinates;
use veilwalk::mechanism::plane::Outcomes;
use veilwalk::{Chain, Outcome, StateId};
use veilwalk_io::{ReadError, ReadErrorKind, ReleaseReader, WalkOptions, WalkReader};
use veilwalk_map::Layer;

use crate::args::counted;
use crate::{progress, released, terminal};

/// Walks beside those of the release, in a file of their own.
pub(super) struct OtherWalks<'a> {
    pub(super) layer: Layer,
    file: &'a Path,
    chain: &'a Chain,
    options: WalkOptions,
}

/// Walks in memory, in the order in which they begin.
#[derive(Default)]
pub(super) struct Walks {
    pub(super) names: Vec<String>,
    pub(super) states: Vec<Vec<StateId>>,
    pub(super) numbers: HashMap<String, usize>,
}

impl Walks {
    pub(super) fn push(&mut self, name: &str, state: StateId) {
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                self.numbers.insert(name.to_owned(), self.names.len());
                self.names.push(name.to_owned());
                self.states.push(Vec::new());
                self.names.len() - 1
            }
        };
        self.states[number].push(state);
    }

    pub(super) fn of(&self, name: &str) -> Option<&[StateId]> {
        self.numbers.get(name).map(|&number| self.states[number].as_slice())
    }
}

/// Whether somebody wants to stop, which is asked now and then.
#[derive(Default)]
pub(super) struct Stopping(u32);

impl Stopping {
    pub(super) fn check(&mut self) -> Result<()> {
        self.0 = self.0.wrapping_add(1);
        match self.0.is_multiple_of(1 << 12) && progress::stop_requested() {
            true => Err(progress::stopped()),
            false => Ok(()),
        }
    }
}

/// What was observed for walks.
pub(super) enum Seen {
    /// States.
    States(Walks),
    /// Points, by the name of the walk. A first state that was not observed is where it lies.
    Points(HashMap<String, Vec<Coordinates>>),
}

impl Seen {
    /// The states that were observed for a walk.
    pub(super) fn states_of(&self, name: &str) -> Option<&[StateId]> {
        match self {
            Self::States(walks) => walks.of(name),
            Self::Points(_) => None,
        }
    }

    /// The points that were observed for a walk.
    pub(super) fn points_of(&self, name: &str) -> &[Coordinates] {
        match self {
            Self::States(_) => &[],
            Self::Points(points) => points.get(name).map_or(&[], Vec::as_slice),
        }
    }
}

/// Where an outcome lies, to the nearest 10⁻⁷ degrees; none for a state off the map.
pub(super) fn place(outcomes: &Outcomes<'_>, outcome: Outcome) -> Option<Coordinates> {
    let (north, east) = outcomes.degrees(outcome)?;
    Coordinates::from_degrees(north, east).ok()
}

/// The walks of a release and what was observed for them: the first `most` walks, if so many are there.
pub(super) fn of_release(
    release: &mut ReleaseReader<'_>,
    most: Option<u32>,
) -> Result<(Walks, Option<Seen>)> {
    let outcomes = *release.outcomes();
    let (mut walks, mut observed) = (Walks::default(), None);
    if release.observes() {
        observed = Some(match outcomes.chart() {
            None => Seen::States(Walks::default()),
            Some(_) => Seen::Points(HashMap::new()),
        });
    }
    let mut stopping = Stopping::default();
    while let Some(row) = release.next_state().map_err(released::in_flags)? {
        stopping.check()?;
        if most.is_some_and(|most| row.walk >= most as usize) {
            continue;
        }
        walks.push(row.trajectory, row.state);
        let Some(outcome) = row.observed else { continue };
        match &mut observed {
            None => {}
            Some(Seen::States(walks)) => {
                outcome.state().into_iter().for_each(|state| walks.push(row.trajectory, state));
            }
            Some(Seen::Points(points)) => {
                let of_walk = points.entry(row.trajectory.to_owned()).or_default();
                of_walk.extend(place(&outcomes, outcome));
            }
        }
    }
    Ok((walks, observed))
}

impl<'a> OtherWalks<'a> {
    pub(super) fn refined(file: &'a Path, chain: &'a Chain) -> Self {
        Self { layer: Layer::Refined, file, chain, options: WalkOptions::default() }
    }

    pub(super) fn real(
        file: &'a Path,
        chain: &'a Chain,
        trajectory_column: &str,
        state_column: &str,
    ) -> Self {
        let options = WalkOptions {
            trajectory_column: trajectory_column.to_owned(),
            state_column: state_column.to_owned(),
            ..WalkOptions::default()
        };
        Self { layer: Layer::Real, file, chain, options }
    }

    /// Gives out each state of the walks that the release has. The others are counted; if the release has none of these
    /// walks, something was mixed up.
    pub(super) fn each_state(
        &self,
        released: impl Fn(&str) -> bool,
        mut give: impl FnMut(&str, StateId) -> Result<()>,
    ) -> Result<()> {
        let mut reader = WalkReader::open(self.file, self.options.clone())?;
        let name = reader.name().to_owned();
        let (mut stopping, mut any) = (Stopping::default(), false);
        let mut others = HashSet::new();
        while let Some(row) = reader.next_row()? {
            stopping.check()?;
            let Some(state) = self.chain.state(row.state) else {
                let kind = ReadErrorKind::UnknownState(self.chain.unknown(row.state));
                return Err(ReadError::at(name, row.place, kind).into());
            };
            if released(row.trajectory) {
                any = true;
                give(row.trajectory, state)?;
            } else if !others.contains(row.trajectory) {
                others.insert(row.trajectory.to_owned());
            }
        }
        if !any && !others.is_empty() {
            bail!(
                "{name}: none of these walks has the name of a walk that is drawn; give the walks that the release was \
                 made of, under the names they had"
            );
        }
        if !others.is_empty() {
            let left = if others.len() == 1 { "is left out" } else { "are left out" };
            terminal::note(format!(
                "{name}: {} that the map does not have under that name {left}",
                counted(others.len(), "walk")
            ));
        }
        Ok(())
    }

    /// All of them in memory.
    pub(super) fn read(&self, released: &Walks) -> Result<Walks> {
        let mut walks = Walks::default();
        self.each_state(
            |name| released.numbers.contains_key(name),
            |name, state| {
                walks.push(name, state);
                Ok(())
            },
        )?;
        Ok(walks)
    }
}
