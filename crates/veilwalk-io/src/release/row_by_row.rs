//! The same release one row at a time: for pipes that are answered line by line, and for tests to
//! compare with.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{Read, Write};

use veilwalk::StateId;
use veilwalk::session::{PushError, Released, Releaser, Walk};

use super::parse::unknown_state;
use super::{
    Grouping, NewWalk, ReleaseError, ReleaseProgress, ReleaseStage, Tally, UnknownStates,
    WalkRelease,
};
use crate::own_columns::OwnColumns;
use crate::read_error::{Place, ReadError, ReadErrorKind};
use crate::release_writer::ReleaseWriter;
use crate::walks::WalkReader;
use crate::write_error::{WriteError, WriteErrorKind};

/// At most so many rows are charged and answered together.
const MOST_TOGETHER: usize = 1 << 13;

/// Releases walks row by row; what is released is sent on its way before it waits for another row. Rows
/// that are there already are charged together, so that a pipe that is full does not wait for the disk
/// once for each walk.
///
/// The writer has to write the [columns](OwnColumns) of the mechanism. If the reader keeps one column more
/// than the writer writes, its last value is the walk's person.
///
/// # Errors
///
/// As [`WalkRelease::run`]. Rows before the one that is wrong are released.
pub fn release_rows<R: Read, W: Write>(
    release: &WalkRelease<'_>,
    reader: WalkReader<R>,
    writer: ReleaseWriter<W>,
) -> Result<(Tally, W), ReleaseError> {
    release_lines(release, reader, writer, OnError::Stop).map(|(tally, _, out)| (tally, out))
}

/// What to do with a row that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// Stop there.
    Stop,
    /// Say so [among the answers](ReleaseWriter::write_error), and go on.
    Answer,
}

/// The same for input that may have rows that are wrong, and how many of them were answered so.
///
/// # Errors
///
/// As [`release_rows`], but for what is wrong with one row if that is answered.
pub fn release_lines<R: Read, W: Write>(
    release: &WalkRelease<'_>,
    reader: WalkReader<R>,
    writer: ReleaseWriter<W>,
    on_error: OnError,
) -> Result<(Tally, u64, W), ReleaseError> {
    release.mechanism.model().guarded(|| answer_rows(release, reader, writer, on_error))
}

fn answer_rows<R: Read, W: Write>(
    release: &WalkRelease<'_>,
    mut reader: WalkReader<R>,
    writer: ReleaseWriter<W>,
    on_error: OnError,
) -> Result<(Tally, u64, W), ReleaseError> {
    let mut rows = RowByRow::new(release, &reader, writer, on_error)?;
    let mut together = Vec::new();
    loop {
        // What is wrong is told after what came before it is released.
        let ended = loop {
            match rows.next(&mut reader) {
                Ok(Some(row)) => together.push(Line::Row(row)),
                Err(ReleaseError::Read(error)) if rows.answers(&error) => {
                    together.push(Line::Wrong(error));
                }
                other => break Some(other),
            }
            if together.len() == MOST_TOGETHER || !reader.has_row_waiting() {
                break None;
            }
        };
        rows.answer(&together)?;
        together.clear();
        match ended {
            None => {}
            Some(Ok(_)) => return rows.finish(),
            Some(Err(error)) => return Err(error),
        }
    }
}

/// A line that waits to be answered.
enum Line {
    Row(Taken),
    Wrong(ReadError),
}

/// A row that waits to be answered.
struct Taken {
    place: Place,
    name: String,
    person: Option<String>,
    real: StateId,
    kept: Vec<String>,
}

/// A walk of which a row was answered.
struct Seen {
    last_real: StateId,
    person: Option<String>,
}

/// A release row by row, under way.
struct RowByRow<'a, W: Write> {
    release: &'a WalkRelease<'a>,
    releaser: Releaser,
    walks: HashMap<String, OpenWalk>,
    writer: ReleaseWriter<W>,
    input: String,
    person_column: Option<String>,
    tally: Tally,
    seen: HashMap<String, Seen>,
    skipped_walks: HashSet<String>,
    current: Option<String>,
    ended: HashSet<String>,
    rows: u64,
    on_error: OnError,
    wrong: u64,
}

impl<'a, W: Write> RowByRow<'a, W> {
    fn new<R: Read>(
        release: &'a WalkRelease<'a>,
        reader: &WalkReader<R>,
        writer: ReleaseWriter<W>,
        on_error: OnError,
    ) -> Result<Self, ReleaseError> {
        let own = writer.own_columns();
        if own != OwnColumns::of(&release.mechanism) {
            return Err(WriteError::new(writer.name(), WriteErrorKind::OtherColumns(own)).into());
        }
        let releaser = Releaser::new(release.mechanism.clone(), release.source, release.start)?;
        let extra = reader.kept_columns().get(writer.kept_columns());
        let person_column = extra.cloned();
        let (tally, rows) = (Tally::default(), 0);
        let (seen, current, ended) = (HashMap::new(), None, HashSet::new());
        let input = reader.name().to_owned();
        Ok(Self {
            release,
            releaser,
            walks: HashMap::new(),
            writer,
            input,
            person_column,
            tally,
            seen,
            skipped_walks: HashSet::new(),
            current,
            ended,
            rows,
            on_error,
            wrong: 0,
        })
    }

    /// The next row that has a state of the chain.
    fn next<R: Read>(&mut self, reader: &mut WalkReader<R>) -> Result<Option<Taken>, ReleaseError> {
        let chain = self.release.mechanism.model().chain();
        while let Some(row) = reader.next_row()? {
            let (states, stage) = (self.tally.states, ReleaseStage::Reading);
            let waiting = self.rows - states;
            let progress = ReleaseProgress { bytes: 0, states, waiting, stage };
            if (self.release.watch)(progress).is_break() {
                return Err(ReleaseError::Stopped);
            }
            let real = match (chain.state(row.state), self.release.unknown_states) {
                (Some(real), _) => real,
                (None, UnknownStates::Replace(state)) => {
                    self.tally.replaced += 1;
                    state
                }
                (None, UnknownStates::Skip) => {
                    self.tally.skipped += 1;
                    if !self.skipped_walks.contains(row.trajectory) {
                        self.skipped_walks.insert(row.trajectory.to_owned());
                    }
                    continue;
                }
                (None, UnknownStates::Refuse) => {
                    return Err(unknown_state(chain, &self.input, row.place, row.state).into());
                }
            };
            let mut kept: Vec<String> = row.kept.map(str::to_owned).collect();
            let person = self.person_column.as_ref().and_then(|_| kept.pop());
            let (place, name) = (row.place, row.trajectory.to_owned());
            if person.as_deref() == Some("") {
                let column = self.person_column.clone().unwrap_or_default();
                let kind = ReadErrorKind::EmptyField { column };
                return Err(ReadError::at(&self.input, place, kind).into());
            }
            return Ok(Some(Taken { place, name, person, real, kept }));
        }
        Ok(None)
    }

    /// Whether this is answered, and the stream goes on.
    fn answers(&self, error: &ReadError) -> bool {
        self.on_error == OnError::Answer && error.kind().row_code().is_some()
    }

    /// Says that a row was wrong.
    fn answer_wrong(&mut self, error: &ReadError) -> Result<(), ReleaseError> {
        self.wrong += 1;
        let code = error.kind().row_code().unwrap_or("row");
        Ok(self.writer.write_error(error.line().unwrap_or(0), code)?)
    }

    /// Charges and answers these rows, in order.
    fn answer(&mut self, rows: &[Line]) -> Result<(), ReleaseError> {
        let mut new: Vec<NewWalk<'_>> = Vec::new();
        if self.release.charge.is_some() {
            let mut names = HashSet::new();
            let taken = rows.iter().filter_map(|line| match line {
                Line::Row(row) => Some(row),
                Line::Wrong(_) => None,
            });
            for row in taken.filter(|row| !self.seen.contains_key(&row.name)) {
                if names.insert(row.name.as_str()) {
                    new.push(row.new_walk());
                }
            }
        }
        // If they cannot be charged together, those that can be by themselves still are, up to the
        // first that cannot.
        let together = new.len() > 1 && self.charge(&new).is_ok();
        for line in rows {
            match line {
                Line::Row(row) => self.answer_one(row, together)?,
                Line::Wrong(error) => self.answer_wrong(error)?,
            }
        }
        Ok(self.writer.flush()?)
    }

    fn charge(&self, new: &[NewWalk<'_>]) -> Result<(), ReleaseError> {
        self.release.charge.map_or(Ok(()), |charge| charge(new).map_err(ReleaseError::Charge))
    }

    fn answer_one(&mut self, row: &Taken, charged: bool) -> Result<(), ReleaseError> {
        let chain = self.release.mechanism.model().chain();
        let together = self.release.grouping == Grouping::Together;
        if together
            && self.current.as_deref() != Some(&*row.name)
            && let Some(before) = self.current.replace(row.name.clone())
        {
            self.finish_walk(&before)?;
            self.ended.insert(before);
        }
        if self.ended.contains(&row.name) {
            let kind = ReadErrorKind::WalkAgain { name: row.name.clone(), one_row: false };
            return self.fail(row, kind);
        }
        match self.seen.get_mut(&row.name) {
            Some(seen) => {
                if seen.person != row.person {
                    let (first, second) = (seen.person.clone(), row.person.clone());
                    let kind = ReadErrorKind::OtherPerson {
                        name: row.name.clone(),
                        first: first.unwrap_or_default(),
                        second: second.unwrap_or_default(),
                    };
                    return self.fail(row, kind);
                }
                self.tally.infeasible += u64::from(!chain.allows(seen.last_real, row.real));
                seen.last_real = row.real;
            }
            None => {
                if !charged && let Err(error) = self.charge(&[row.new_walk()]) {
                    self.writer.flush()?;
                    return Err(error);
                }
                let seen = Seen { last_real: row.real, person: row.person.clone() };
                self.seen.insert(row.name.clone(), seen);
            }
        }
        self.rows += 1;
        self.take(row)
    }

    /// Sends what was answered, and tells what is wrong with a row.
    fn fail(&mut self, row: &Taken, kind: ReadErrorKind) -> Result<(), ReleaseError> {
        let error = ReadError::at(&self.input, row.place, kind);
        if self.answers(&error) {
            return self.answer_wrong(&error);
        }
        self.writer.flush()?;
        Err(error.into())
    }

    fn finish(mut self) -> Result<(Tally, u64, W), ReleaseError> {
        self.tally.walks = self.seen.len() as u64;
        let vanished = self.skipped_walks.iter().filter(|&name| !self.seen.contains_key(name));
        self.tally.vanished = vanished.count() as u64;
        // All walks are over: what is left is written in the order in which it began to wait.
        let mut order: Vec<(u64, String)> = self
            .walks
            .iter()
            .filter(|(_, walk)| walk.walk.waiting() > 0)
            .map(|(name, walk)| (walk.since, name.clone()))
            .collect();
        order.sort();
        order.iter().try_for_each(|(_, name)| self.finish_walk(name))?;
        Ok((self.tally, self.wrong, self.writer.finish()?))
    }
}

impl Taken {
    fn new_walk(&self) -> NewWalk<'_> {
        NewWalk { name: &self.name, person: self.person.as_deref() }
    }
}

/// A walk under way.
struct OpenWalk {
    walk: Walk,
    /// The kept values of the rows that wait for their block to fill.
    kept: VecDeque<Vec<String>>,
    /// The first row that waits.
    since: u64,
}

impl<W: Write> RowByRow<'_, W> {
    /// Takes a row, and writes what is released.
    fn take(&mut self, row: &Taken) -> Result<(), ReleaseError> {
        let name = row.name.as_str();
        if !self.walks.contains_key(name) {
            let (walk, kept) = (self.releaser.walk(name), VecDeque::new());
            self.walks.insert(name.to_owned(), OpenWalk { walk, kept, since: self.rows });
        }
        let waiting = self.walks.get_mut(name).expect("just made");
        if waiting.walk.waiting() == 0 {
            waiting.since = self.rows;
        }
        waiting.kept.push_back(row.kept.clone());
        let mut released = Released::default();
        match self.releaser.push(&mut waiting.walk, row.real, &mut released) {
            Ok(()) => {}
            Err(PushError::Forked(error)) => return Err(error.into()),
            Err(error) => {
                // The walk stands where it stood.
                waiting.kept.pop_back();
                let problem = error.to_string();
                let kind = ReadErrorKind::Walk { name: name.to_owned(), problem };
                return self.fail(row, kind);
            }
        }
        let first = waiting.walk.released() - released.len() as u64;
        let kept: Vec<_> = waiting.kept.drain(..released.len()).collect();
        self.write(name, first, &released, &kept)
    }

    /// A walk is over: writes what is left of it.
    fn finish_walk(&mut self, name: &str) -> Result<(), ReleaseError> {
        let Some(OpenWalk { walk, kept, .. }) = self.walks.remove(name) else { return Ok(()) };
        let first = walk.released();
        let mut released = Released::default();
        self.releaser.finish(walk, &mut released)?;
        self.write(name, first, &released, &Vec::from(kept))
    }

    fn write(
        &mut self,
        name: &str,
        first_step: u64,
        released: &Released,
        kept: &[Vec<String>],
    ) -> Result<(), ReleaseError> {
        let model = self.release.mechanism.model();
        // Before anything is written: a writer that is dropped still sends what it holds.
        model.check_unchanged()?;
        let (chain, outcomes) = (model.chain(), self.release.mechanism.outcomes());
        for (row, (&state, kept)) in released.states.iter().zip(kept).enumerate() {
            let (step, label) = (first_step + row as u64, chain.label(state));
            let kept = kept.iter().map(String::as_str);
            match released.observed.get(row) {
                None => self.writer.write_row(name, step, label, kept)?,
                Some(&seen) => {
                    let seen = outcomes.text(seen);
                    self.writer.write_observed_row(name, step, label, &seen, kept)?;
                }
            }
        }
        self.tally.states += released.len() as u64;
        Ok(())
    }
}
