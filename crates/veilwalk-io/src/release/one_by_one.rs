//! The same release one row at a time: for pipes that are answered line by line, and for tests to
//! compare with.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{Read, Write};

use veilwalk::session::{BlockReleaser, BlockWalk, Releaser, Walk};
use veilwalk::{Chain, StateId};

use super::parse::unknown_state;
use super::{
    Grouping, ReleaseError, ReleaseProgress, ReleaseStage, Releasing, Tally, UnknownStates,
    WalkRelease,
};
use crate::read_error::{ReadError, ReadErrorKind};
use crate::release_writer::ReleaseWriter;
use crate::walks::{Row, WalkReader};
use crate::write_error::WriteError;

/// Releases walks row by row; what is released is sent on its way before the next row is read.
///
/// # Errors
///
/// As [`WalkRelease::run`].
pub fn release_rows<R: Read, W: Write>(
    release: &WalkRelease<'_>,
    mut reader: WalkReader<R>,
    mut writer: ReleaseWriter<W>,
) -> Result<(Tally, W), ReleaseError> {
    let (source, start) = (release.source, release.start);
    let mut answering = match &release.releasing {
        Releasing::Steps(mechanism) => {
            Answering::Steps(Releaser::new(mechanism.clone(), source, start)?, HashMap::new())
        }
        Releasing::Blocks(mechanism) => {
            Answering::Blocks(BlockReleaser::new(mechanism.clone(), source, start)?, HashMap::new())
        }
    };
    let chain = release.releasing.chain();
    let input = reader.name().to_owned();
    let mut tally = Tally::default();
    let mut last_real: HashMap<String, StateId> = HashMap::new();
    let mut current: Option<String> = None;
    let mut ended: HashSet<String> = HashSet::new();
    let mut rows = 0;
    while let Some(row) = reader.next_row()? {
        let waiting = rows - tally.states;
        let (states, stage) = (tally.states, ReleaseStage::Reading);
        let progress = ReleaseProgress { bytes: 0, states, waiting, stage };
        if (release.watch)(progress).is_break() {
            return Err(ReleaseError::Stopped);
        }
        let Some(real) = chain.state(row.state) else {
            if release.unknown_states == UnknownStates::Skip {
                tally.skipped += 1;
                continue;
            }
            return Err(unknown_state(chain, &input, row.place, row.state).into());
        };
        if release.grouping == Grouping::Together && current.as_deref() != Some(row.trajectory) {
            if let Some(before) = current.replace(row.trajectory.to_owned()) {
                tally.states += answering.finish(&before, chain, &mut writer)?;
                ended.insert(before);
            }
            if ended.contains(row.trajectory) {
                let name = row.trajectory.to_owned();
                let kind = ReadErrorKind::WalkAgain { name, one_row: false };
                return Err(ReadError::at(&input, row.place, kind).into());
            }
        }
        match last_real.get_mut(row.trajectory) {
            Some(previous) => {
                tally.infeasible += u64::from(!chain.allows(*previous, real));
                *previous = real;
            }
            None => {
                if let Some(charge) = release.charge {
                    charge(&[row.trajectory]).map_err(ReleaseError::Charge)?;
                }
                last_real.insert(row.trajectory.to_owned(), real);
            }
        }
        rows += 1;
        tally.states += answering.take(&row, rows, real, chain, &input, &mut writer)?;
        writer.flush()?;
    }
    tally.walks = last_real.len() as u64;
    tally.states += answering.finish_all(chain, &mut writer)?;
    Ok((tally, writer.finish()?))
}

/// Walks under way, and what answers them.
enum Answering {
    Steps(Releaser, HashMap<String, Walk>),
    Blocks(BlockReleaser, HashMap<String, Waiting>),
}

/// A walk that waits for its block to fill.
struct Waiting {
    walk: BlockWalk,
    /// The kept values of the rows that wait.
    kept: VecDeque<Vec<String>>,
    /// The first row that waits.
    since: u64,
}

impl Answering {
    /// Takes a row, writes what is released, and says how many states that is.
    fn take<W: Write>(
        &mut self,
        row: &Row<'_>,
        number: u64,
        real: StateId,
        chain: &Chain,
        input: &str,
        writer: &mut ReleaseWriter<W>,
    ) -> Result<u64, ReleaseError> {
        let name = row.trajectory;
        match self {
            Self::Steps(releaser, walks) => {
                if !walks.contains_key(name) {
                    walks.insert(name.to_owned(), releaser.walk(name));
                }
                let walk = walks.get_mut(name).expect("just made");
                let step = walk.released();
                let released = releaser.release(walk, real)?;
                writer.write_row(name, step, chain.label(released), row.kept.clone())?;
                Ok(1)
            }
            Self::Blocks(releaser, walks) => {
                if !walks.contains_key(name) {
                    let (walk, kept) = (releaser.walk(name), VecDeque::new());
                    walks.insert(name.to_owned(), Waiting { walk, kept, since: number });
                }
                let waiting = walks.get_mut(name).expect("just made");
                if waiting.walk.waiting() == 0 {
                    waiting.since = number;
                }
                waiting.kept.push_back(row.kept.clone().map(str::to_owned).collect());
                let mut states = Vec::new();
                releaser.push(&mut waiting.walk, real, &mut states).map_err(|error| {
                    let (name, problem) = (name.to_owned(), error.to_string());
                    ReadError::at(input, row.place, ReadErrorKind::Walk { name, problem })
                })?;
                let first = waiting.walk.released() - states.len() as u64;
                Ok(write(name, first, &states, &mut waiting.kept, chain, writer)?)
            }
        }
    }

    /// A walk is over: writes what is left of it.
    fn finish<W: Write>(
        &mut self,
        name: &str,
        chain: &Chain,
        writer: &mut ReleaseWriter<W>,
    ) -> Result<u64, ReleaseError> {
        let Self::Blocks(releaser, walks) = self else { return Ok(0) };
        let Some(Waiting { walk, mut kept, .. }) = walks.remove(name) else { return Ok(0) };
        let first = walk.released();
        let mut states = Vec::new();
        releaser.finish(walk, &mut states)?;
        Ok(write(name, first, &states, &mut kept, chain, writer)?)
    }

    /// All walks are over: writes what is left, in the order in which it began to wait.
    fn finish_all<W: Write>(
        &mut self,
        chain: &Chain,
        writer: &mut ReleaseWriter<W>,
    ) -> Result<u64, ReleaseError> {
        let Self::Blocks(_, walks) = self else { return Ok(0) };
        let mut order: Vec<(u64, String)> =
            walks.iter().map(|(name, waiting)| (waiting.since, name.clone())).collect();
        order.sort();
        order.iter().map(|(_, name)| self.finish(name, chain, writer)).sum()
    }
}

fn write<W: Write>(
    name: &str,
    first_step: u64,
    states: &[StateId],
    kept: &mut VecDeque<Vec<String>>,
    chain: &Chain,
    writer: &mut ReleaseWriter<W>,
) -> Result<u64, WriteError> {
    for (step, &state) in (first_step..).zip(states) {
        let values = kept.pop_front().unwrap_or_default();
        writer.write_row(name, step, chain.label(state), values.iter().map(String::as_str))?;
    }
    Ok(states.len() as u64)
}
