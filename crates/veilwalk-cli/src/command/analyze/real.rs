//! Real walks to analyze a release of, from a file.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Result, bail};
use veilwalk::{Chain, StateId};
use veilwalk_io::{ReadError, ReadErrorKind, WalkOptions, WalkReader};

use crate::args::{UnknownLabels, UnknownState, counted, left_out, unknown_state_error};
use crate::terminal;

/// Where real walks come from.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Real walks")]
pub(super) struct RealArgs {
    /// Analyze the release of these walks, instead of the chain's own: CSV with a header, NDJSON,
    /// Parquet or Arrow, `-` for standard input. The figures are then NOT protected
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "steps"])]
    real: Option<String>,

    /// The column of --real that names the walk
    #[arg(long, value_name = "NAME", default_value = "trajectory")]
    trajectory_column: String,

    /// The column of --real that holds the state
    #[arg(long, value_name = "NAME", default_value = "state")]
    state_column: String,

    /// What to do with a row of --real whose state is not one of the chain's
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", requires = "real")]
    unknown_state: UnknownState,
}

/// Real walks, in the order in which they begin.
pub(super) struct RealWalks {
    pub(super) walks: Vec<Vec<StateId>>,
    pub(super) impossible_moves: usize,
    name: String,
}

impl RealArgs {
    /// Reads the walks, if a file of them was given.
    pub(super) fn read(&self, chain: &Chain) -> Result<Option<RealWalks>> {
        let options = WalkOptions {
            trajectory_column: self.trajectory_column.clone(),
            state_column: self.state_column.clone(),
            ..Default::default()
        };
        Ok(match self.real.as_deref() {
            None => None,
            Some("-") => {
                let reader = WalkReader::new(std::io::stdin().lock(), "standard input", options)?;
                Some(RealWalks::read(reader, chain, self.unknown_state)?)
            }
            Some(path) => {
                let reader = WalkReader::open(Path::new(path), options)?;
                Some(RealWalks::read(reader, chain, self.unknown_state)?)
            }
        })
    }
}

impl RealWalks {
    fn read<R: Read>(
        mut reader: WalkReader<R>,
        chain: &Chain,
        unknown_state: UnknownState,
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
                // What was wrong first is told first.
                Err(_) if first_unknown.is_some() => break,
                Err(error) => return Err(error.into()),
            };
            let Some(state) = chain.state(row.state) else {
                unknown.add(row.state);
                first_unknown.get_or_insert_with(|| {
                    (row.place, ReadErrorKind::UnknownState(chain.unknown(row.state)))
                });
                continue;
            };
            unknown.add_known();
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
        match (first_unknown, unknown_state) {
            (Some((place, kind)), UnknownState::Error) => {
                let error = ReadError::at(name, place, kind);
                return Err(unknown_state_error(&error, Some(unknown)));
            }
            (Some(_), UnknownState::Skip) => terminal::warning(left_out(unknown.rows())),
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

    pub(super) fn in_words(&self) -> String {
        let steps = self.walks.iter().map(|walk| walk.len() - 1).sum();
        let (walks, steps) = (counted(self.walks.len(), "walk"), counted(steps, "step"));
        format!("{} ({walks}, {steps})", self.name)
    }
}
