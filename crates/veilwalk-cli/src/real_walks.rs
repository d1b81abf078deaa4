//! Real walks from a file, for figures about releases of them.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Result, bail};
use veilwalk::{Chain, StateId};
use veilwalk_io::{ReadError, ReadErrorKind, UnknownStates, WalkReader};

use crate::args::{
    UnknownLabels, UnknownState, WalkColumnArgs, counted, left_out, replaced, unknown_state_error,
};
use crate::terminal;

/// Where real walks come from.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Real walks")]
pub(crate) struct RealArgs {
    /// Take these walks instead of the chain's own: CSV with a header, NDJSON,
    /// Parquet or Arrow, `-` for standard input. The figures are then NOT protected
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "steps"])]
    real: Option<String>,

    #[command(flatten)]
    columns: WalkColumnArgs,

    /// What to do with a row of --real whose state is not one of the chain's: `error` (stop there),
    /// `skip` (leave it out), or a state of the chain to take instead (`state:NAME` for one that is
    /// called `error` or `skip`)
    #[arg(long, default_value = "error", value_name = "WHAT", requires = "real")]
    unknown_state: UnknownState,
}

/// Real walks, in the order in which they begin.
pub(crate) struct RealWalks {
    pub(crate) walks: Vec<Vec<StateId>>,
    pub(crate) impossible_moves: usize,
    name: String,
}

impl RealArgs {
    /// Reads the walks, if a file of them was given.
    pub(crate) fn read(&self, chain: &Chain) -> Result<Option<RealWalks>> {
        let options = self.columns.options();
        let unknown_states = self.unknown_state.on(chain)?;
        Ok(match self.real.as_deref() {
            None => None,
            Some("-") => {
                let reader = WalkReader::new(std::io::stdin().lock(), "standard input", options)?;
                Some(RealWalks::read(reader, chain, unknown_states)?)
            }
            Some(path) => {
                let reader = WalkReader::open(Path::new(path), options)?;
                Some(RealWalks::read(reader, chain, unknown_states)?)
            }
        })
    }
}

impl RealWalks {
    fn read<R: Read>(
        mut reader: WalkReader<R>,
        chain: &Chain,
        unknown_states: UnknownStates,
    ) -> Result<Self> {
        let name = reader.name().to_owned();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut walks: Vec<Vec<StateId>> = Vec::new();
        let mut impossible_moves = 0;
        let mut unknown = UnknownLabels::default();
        let mut first_unknown = None;
        loop {
            let row = match reader.next_row() {
                Ok(Some(row)) => row,
                Ok(None) => break,
                // The first problem is the one that is reported.
                Err(_) if first_unknown.is_some() => break,
                Err(error) => return Err(error.into()),
            };
            let known = chain.state(row.state);
            match known {
                Some(_) => unknown.add_known(),
                None => {
                    unknown.add(row.state);
                    first_unknown.get_or_insert_with(|| {
                        (row.place, ReadErrorKind::UnknownState(chain.unknown(row.state)))
                    });
                }
            }
            let state = match (known, unknown_states) {
                (Some(state), _) | (None, UnknownStates::Replace(state)) => state,
                (None, UnknownStates::Refuse | UnknownStates::Skip) => continue,
            };
            let place = match places.get(row.trajectory) {
                Some(&place) => place,
                None => {
                    places.insert(row.trajectory.to_owned(), walks.len());
                    walks.push(Vec::new());
                    walks.len() - 1
                }
            };
            if walks[place].last().is_some_and(|&previous| !chain.allows(previous, state)) {
                impossible_moves += 1;
            }
            walks[place].push(state);
        }
        match (first_unknown, unknown_states) {
            (Some((place, kind)), UnknownStates::Refuse) => {
                let error = ReadError::at(name, place, kind);
                return Err(unknown_state_error(&error, Some(unknown)));
            }
            (Some(_), UnknownStates::Skip) => terminal::warning(left_out(unknown.rows())),
            (Some(_), UnknownStates::Replace(state)) => {
                terminal::note(replaced(unknown.rows(), chain.label(state)));
            }
            (None, _) => {}
        }
        if walks.iter().all(|walk| walk.len() < 2) {
            bail!(
                "{name}: there is no step to analyze in {}; give walks of two states or more",
                counted(walks.len(), "walk")
            );
        }
        Ok(Self { walks, impossible_moves, name })
    }

    pub(crate) fn in_words(&self) -> String {
        let steps = self.walks.iter().map(|walk| walk.len() - 1).sum();
        let (walks, steps) = (counted(self.walks.len(), "walk"), counted(steps, "step"));
        format!("{} ({walks}, {steps})", self.name)
    }
}
