//! Walks of a file with their names, to put one file in the order of another.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use veilwalk::{Chain, StateId};
use veilwalk_io::{ReadError, ReadErrorKind, UnknownStates, WalkOptions, WalkReader};
use veilwalk_score::Walks;

use crate::args::{UnknownLabels, unknown_state_error};
use crate::progress::{self, Stoppable};

/// The walks of a file, in the order in which they begin.
pub(super) struct NamedWalks {
    pub(super) file: String,
    places: HashMap<String, usize>,
    walks: Vec<Vec<StateId>>,
}

impl NamedWalks {
    pub(super) fn read(
        path: &Path,
        options: WalkOptions,
        chain: &Chain,
        unknown_states: UnknownStates,
    ) -> Result<Self> {
        let mut reader = WalkReader::open(path, options)?;
        let mut all =
            Self { file: reader.name().to_owned(), places: HashMap::new(), walks: Vec::new() };
        let _stoppable = Stoppable::new();
        while let Some(row) = reader.next_row()? {
            if progress::stop_requested() {
                return Err(progress::stopped());
            }
            let state = match (chain.state(row.state), unknown_states) {
                (Some(state), _) | (None, UnknownStates::Replace(state)) => state,
                (None, UnknownStates::Skip) => continue,
                (None, UnknownStates::Refuse) => {
                    let kind = ReadErrorKind::UnknownState(chain.unknown(row.state));
                    let error = ReadError::at(all.file, row.place, kind);
                    return Err(unknown_state_error(&error, None::<UnknownLabels>));
                }
            };
            let place = match all.places.get(row.trajectory) {
                Some(&place) => place,
                None => {
                    all.places.insert(row.trajectory.to_owned(), all.walks.len());
                    all.walks.push(Vec::new());
                    all.walks.len() - 1
                }
            };
            all.walks[place].push(state);
        }
        Ok(all)
    }

    /// Whether these are others' walks, state by state, whatever their names.
    pub(super) fn has_the_walks_of(&self, other: &Self) -> bool {
        let alike = |place: usize| self.walks[place] == other.walks[place];
        self.walks.len() == other.walks.len() && (0..self.walks.len()).all(alike)
    }

    pub(super) fn walks(&self) -> Walks {
        self.walks.iter().map(Vec::as_slice).collect()
    }

    /// These walks in the order of others, if they have the same names.
    pub(super) fn in_the_order_of(&self, others: &Self) -> Option<Walks> {
        if self.walks.len() != others.walks.len() {
            return None;
        }
        let mut own = vec![None; self.walks.len()];
        for (name, &place) in &others.places {
            own[place] = Some(self.walks[*self.places.get(name)?].as_slice());
        }
        own.into_iter().collect()
    }
}
