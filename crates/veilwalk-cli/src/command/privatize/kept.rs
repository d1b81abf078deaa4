//! `--stream --state DIR`: a stream whose walks are kept, and go on after a restart.
//!
//! The engine is that of `veilwalk serve`: an answer is on the disk before it is written. With --step-column a row that
//! comes again gets the answer that is there. Without it, rows are the next steps of their walks, and one that comes
//! again is another step.
//!
//! Without --state, rows go through [`release_lines`](veilwalk_io::release_lines), with the same reader, releaser, writer and
//! end. It is not this engine with a store in memory. Such a store would have nothing to remember for anybody; and a
//! stream without one has what the engine refuses: keys and seeds that make a release again, rows left out
//! (--unknown-state skip), kept columns beside answers that come later, a manifest at the end.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use veilwalk::random::SourceKind;
use veilwalk_io::{
    Errors, OnError, OwnColumns, ReadError, ReadErrorKind, ReleaseWriter, UnknownStates,
    WalkFormat, WalkReader,
};
use veilwalk_live::{
    Answer, Ask, Charging, Delay, Done, EndedWalk, Engine, Limits, Refusal, Request, Step, Trouble,
    WalkName,
};

use super::appended::{Appended, Found};
use super::draining::is_draining;
use super::{Args, Run};
use crate::args::counted;
use crate::progress::{self, Stoppable};
use crate::terminal;

/// At most so many rows are stored together.
const MOST_TOGETHER: usize = 4_096;
/// How soon it is tried again to store answers.
const RETRY: Duration = Duration::from_secs(1);

impl Args {
    /// Refuses what does not go with walks that are kept.
    pub(super) fn check_kept(&self, kind: SourceKind) -> Result<()> {
        let Some(state) = &self.state else {
            if self.step_column.is_some() && self.stream {
                bail!(
                    "--step-column: rows of a stream are answered as they come, unless walks are kept; give --state DIR \
                     as well, or the walks in a file and no --stream"
                );
            }
            return Ok(());
        };
        if kind != SourceKind::System {
            bail!(
                "--state keeps what was released, so that nothing is released twice, and every draw is from the \
                 system's randomness; leave the key, the seed or the release id out"
            );
        }
        if self.unknown_state.is_skip() {
            bail!(
                "--unknown-state skip: with --state every row has its place in a walk; take a state of the chain \
                 instead with --unknown-state STATE"
            );
        }
        if self.disclose_counts {
            bail!("--disclose-counts: a stream with --state writes no manifest; leave it out");
        }
        if state.exists() && !state.is_dir() {
            bail!("--state {}: this is not a directory", state.display());
        }
        Ok(())
    }
}

/// A line of the input.
struct Line {
    number: u64,
    what: Result<Row, &'static str>,
}

/// A row that is to be answered.
struct Row {
    walk: WalkName,
    person: Option<String>,
    /// None if it is the next one.
    step: Option<u64>,
    real: veilwalk::StateId,
    kept: Vec<String>,
}

/// A stream under way.
struct Stream<'a, W: Write> {
    run: &'a Run<'a>,
    engine: Engine,
    writer: ReleaseWriter<W>,
    input: String,
    on_error: OnError,
    /// With --grouped, the walk of the last row.
    current: Option<WalkName>,
    swept: Instant,
    wrong: u64,
}

/// Answers a stream until it ends or is asked to.
pub(super) fn release<R: Read>(run: &Run<'_>, reader: WalkReader<R>) -> Result<()> {
    let args = run.args;
    let state = args.state.as_deref().expect("asked for");
    let limits = Limits {
        idle: Duration::from_secs(args.idle.seconds()),
        // Rows without a number never come again.
        kept_answers: if args.step_column.is_some() { Limits::default().kept_answers } else { 1 },
        open_walks: u64::MAX,
        ..Limits::default()
    };
    let mechanism = run.chosen.mechanism.clone();
    let mut engine = Engine::open(state, mechanism.clone(), run.start, limits)?;
    let release_id = engine.release_id();
    terminal::note(format!(
        "release id {release_id}, {} open in {}",
        counted(engine.figures().open() as usize, "walk"),
        state.display()
    ));
    if engine.delay() != Delay::None && !args.keep.is_empty() {
        bail!(
            "--keep does not go with --state where answers come later than their rows: kept values would be lost \
             with a restart; leave --keep out"
        );
    }
    if let Some(ledger) = args.budget.open()? {
        let limit = args.budget.limit();
        let charging = Charging::new(ledger, &mechanism, run.start, release_id, limit);
        let charging = charging
            .ok_or_else(|| anyhow!("the mechanism makes no promise that a ledger could count"))?;
        engine = engine.charging(charging);
    }
    engine.settle_ledger()?;
    let _stoppable = Stoppable::new();
    progress::when_stopped("the rows that were written are released, and their walks are kept");
    let (format, own) = (reader.format(), OwnColumns::of(&mechanism));
    let on_error = args.on_error(format);
    let errors = match on_error {
        OnError::Answer => Errors::AmongRows,
        OnError::Stop => Errors::Untold,
    };
    let input = reader.name().to_owned();
    let name = args.output_name();
    match &args.output {
        Some(path) if args.writes_to_file() => {
            let format = args.row_format(path, format)?;
            let kept = &args.keep;
            let header = ReleaseWriter::<Appended>::header(&name, format, own, kept, errors)?;
            let (file, found) = Appended::open(path, &header)?;
            let writer = match found {
                Found::Nothing => {
                    ReleaseWriter::telling_errors(file, &name, format, own, kept, errors)
                }
                Found::Rows => ReleaseWriter::appending(file, &name, format, own, kept, errors),
            };
            let writer = args.with_json(writer?, reader.format(), format);
            Stream::new(run, engine, writer, input, on_error).answer_all(reader)
        }
        _ => {
            let out = std::io::stdout();
            let writer = ReleaseWriter::telling_errors(out, &name, format, own, &args.keep, errors);
            let writer = args.with_json(writer?, format, format);
            Stream::new(run, engine, writer, input, on_error).answer_all(reader)
        }
    }
}

impl Args {
    /// The format of an output that is written row by row.
    pub(super) fn row_format(&self, path: &Path, input: WalkFormat) -> Result<WalkFormat> {
        let format = WalkFormat::from_path(path).unwrap_or(input);
        let packed = veilwalk_io::Compression::from_path(path) != veilwalk_io::Compression::None;
        if packed || !format.is_text() {
            bail!(
                "--stream writes plain CSV, TSV or NDJSON, so that every row can be read \
                 at once; give -o such a name, or leave --stream out"
            );
        }
        Ok(format)
    }

    /// What to do with a row that is wrong: where it is not said, objects are answered with an object.
    pub(super) fn on_error(&self, format: WalkFormat) -> OnError {
        match self.on_error {
            Some(asked) => asked.into(),
            None if format == WalkFormat::Ndjson => OnError::Answer,
            None => OnError::Stop,
        }
    }

    /// Whether kept values go from objects to objects, and stay what they were.
    pub(super) fn keeps_json(&self, input: WalkFormat) -> bool {
        let output = self.output.as_deref().filter(|_| self.writes_to_file());
        let output = output.and_then(WalkFormat::from_path).unwrap_or(input);
        (input, output) == (WalkFormat::Ndjson, WalkFormat::Ndjson)
    }

    fn with_json<W: Write>(
        &self,
        writer: ReleaseWriter<W>,
        input: WalkFormat,
        output: WalkFormat,
    ) -> ReleaseWriter<W> {
        let json = (input, output) == (WalkFormat::Ndjson, WalkFormat::Ndjson);
        if json { writer.with_kept_json() } else { writer }
    }
}

impl<'a, W: Write> Stream<'a, W> {
    fn new(
        run: &'a Run<'a>,
        engine: Engine,
        writer: ReleaseWriter<W>,
        input: String,
        on_error: OnError,
    ) -> Self {
        let (current, swept, wrong) = (None, Instant::now(), 0);
        Self { run, engine, writer, input, on_error, current, swept, wrong }
    }

    fn answer_all<R: Read>(mut self, mut reader: WalkReader<R>) -> Result<()> {
        let outcome = self.answer_lines(&mut reader);
        // What was answered is told also if the rest cannot be.
        let flushed = self.writer.flush();
        outcome?;
        flushed?;
        let steps = self.engine.figures().released();
        terminal::note(format!(
            "released {}; {} open",
            counted(steps as usize, "state"),
            counted(self.engine.figures().open() as usize, "walk")
        ));
        tell_wrong(self.wrong);
        Ok(())
    }

    fn answer_lines<R: Read>(&mut self, reader: &mut WalkReader<R>) -> Result<()> {
        loop {
            let mut lines = Vec::new();
            let ended = loop {
                match self.next(reader) {
                    Ok(Some(line)) => lines.push(line),
                    other => break Some(other),
                }
                if lines.len() == MOST_TOGETHER || !reader.has_row_waiting() {
                    break None;
                }
            };
            self.sweep()?;
            self.answer(lines)?;
            match ended {
                None => {}
                Some(Ok(_)) => return Ok(()),
                Some(Err(error)) => return Err(error),
            }
        }
    }

    /// The next line; what is wrong with it is an error if the stream stops there.
    fn next<R: Read>(&self, reader: &mut WalkReader<R>) -> Result<Option<Line>> {
        let args = self.run.args;
        let chain = self.run.chosen.mechanism.model().chain();
        let row = match reader.next_row() {
            Ok(None) => return Ok(None),
            Ok(Some(row)) => row,
            Err(error) => return self.wrong(error).map(Some),
        };
        let fail = |kind| self.wrong(ReadError::at(&self.input, row.place, kind)).map(Some);
        let mut kept: Vec<String> = row.kept.clone().map(str::to_owned).collect();
        let step = match &args.step_column {
            None => None,
            Some(column) => {
                let text = kept.pop().unwrap_or_default();
                match text.trim().parse::<u64>() {
                    Ok(step) => Some(step),
                    Err(_) => {
                        let column = column.clone();
                        return fail(ReadErrorKind::NotAStep { column, found: text });
                    }
                }
            }
        };
        let person = args.person_column().and_then(|_| kept.pop());
        if person.as_deref() == Some("") {
            let column = args.person_column().unwrap_or_default().to_owned();
            return fail(ReadErrorKind::EmptyField { column });
        }
        let walk = match row.trajectory.parse::<WalkName>() {
            Ok(walk) => walk,
            Err(problem) => {
                let (name, problem) = (row.trajectory.to_owned(), problem.to_string());
                return fail(ReadErrorKind::Walk { name, problem });
            }
        };
        let real = match (chain.state(row.state), self.run.unknown_states) {
            (Some(real), _) | (None, UnknownStates::Replace(real)) => real,
            (None, _) => return fail(ReadErrorKind::UnknownState(chain.unknown(row.state))),
        };
        let row_of = Row { walk, person, step, real, kept };
        Ok(Some(Line { number: row.line, what: Ok(row_of) }))
    }

    /// A line that is answered with an error, if such lines are.
    fn wrong(&self, error: ReadError) -> Result<Line> {
        match error.kind().row_code() {
            Some(code) if self.on_error == OnError::Answer => {
                Ok(Line { number: error.line().unwrap_or(0), what: Err(code) })
            }
            _ => {
                let chain = self.run.chosen.mechanism.model().chain();
                Err(self.run.args.with_advice(chain, error))
            }
        }
    }

    /// Ends walks that were idle for too long.
    fn sweep(&mut self) -> Result<()> {
        let pause = self.engine.limits().idle / 16;
        if self.swept.elapsed() < pause.clamp(Duration::from_millis(100), Duration::from_secs(60)) {
            return Ok(());
        }
        self.swept = Instant::now();
        for EndedWalk { walk, rest, .. } in self.engine.end_idle()? {
            rest.iter().try_for_each(|answer| self.write(&walk, answer, &[]))?;
        }
        Ok(())
    }

    /// Answers these lines, in their order: all steps of a walk together, or one by one where they have numbers.
    fn answer(&mut self, lines: Vec<Line>) -> Result<()> {
        let mut requests: Vec<Request> = Vec::new();
        // The request of each line, and of a walk the last one that takes steps.
        let (mut of_line, mut of_walk) = (Vec::new(), HashMap::<WalkName, usize>::new());
        let grouped = self.run.args.grouped;
        for line in &lines {
            let Ok(row) = &line.what else {
                of_line.push(None);
                continue;
            };
            if grouped
                && self.current.as_ref() != Some(&row.walk)
                && let Some(before) = self.current.replace(row.walk.clone())
            {
                requests.push(Request::end(&before));
                of_walk.remove(&before);
            }
            let known = of_walk.get(&row.walk).copied().filter(|_| row.step.is_none());
            let at = match known {
                Some(at) => at,
                None => {
                    let ask = Ask::Steps(Vec::new());
                    let (walk, person) = (row.walk.clone(), row.person.clone());
                    requests.push(Request { walk, person, ask });
                    of_walk.insert(row.walk.clone(), requests.len() - 1);
                    requests.len() - 1
                }
            };
            let number = match (row.step, &requests[at].ask) {
                (Some(step), _) => step,
                (None, Ask::Steps(steps)) if !steps.is_empty() => {
                    steps[0].number + steps.len() as u64
                }
                _ => self.engine.next_step(&row.walk)?,
            };
            if let Ask::Steps(steps) = &mut requests[at].ask {
                steps.push(Step { number, real: Ok(row.real) });
            }
            of_line.push(Some(at));
        }
        let outcomes = self.outcomes(&requests)?;
        // Before anything is written.
        self.run.chosen.mechanism.model().check_unchanged()?;
        let mut left: Vec<_> = outcomes
            .into_iter()
            .map(|outcome| match outcome {
                Ok(Done::Answered(answers)) => Ok(answers.into_iter()),
                Ok(Done::Ended { rest, .. }) => Ok(rest.into_iter()),
                Err(refusal) => Err(refusal),
            })
            .collect();
        let at_once = self.engine.delay() == Delay::None;
        let mut written = 0;
        for (line, at) in lines.iter().zip(of_line) {
            let (row, at) = match (&line.what, at) {
                (Ok(row), Some(at)) => (row, at),
                (what, _) => {
                    self.tell(line.number, what.as_ref().err().copied().unwrap_or("row"))?;
                    continue;
                }
            };
            // Ends of walks that came before this row.
            while written < at {
                self.write_rest(&requests[written], &mut left[written])?;
                written += 1;
            }
            match &mut left[at] {
                Err(refusal) if self.on_error == OnError::Stop => {
                    self.writer.flush()?;
                    bail!("{}, line {}: {refusal}", self.input, line.number);
                }
                Err(refusal) => {
                    let code = refusal.code();
                    self.tell(line.number, code)?;
                }
                Ok(answers) if at_once => {
                    if let Some(answer) = answers.next() {
                        self.write(&row.walk, &answer, &row.kept)?;
                    }
                }
                Ok(answers) => {
                    let due: Vec<Answer> = answers.collect();
                    due.iter().try_for_each(|answer| self.write(&row.walk, answer, &[]))?;
                }
            }
        }
        while written < left.len() {
            self.write_rest(&requests[written], &mut left[written])?;
            written += 1;
        }
        Ok(self.writer.flush()?)
    }

    /// What came with the end of a walk.
    fn write_rest(
        &mut self,
        request: &Request,
        left: &mut Result<std::vec::IntoIter<Answer>, Refusal>,
    ) -> Result<()> {
        if let (Ask::End, Ok(rest)) = (&request.ask, left) {
            let rest: Vec<Answer> = rest.collect();
            rest.iter().try_for_each(|answer| self.write(&request.walk, answer, &[]))?;
        }
        Ok(())
    }

    /// What the engine says; while the disk or the ledger cannot take it, it is asked again.
    fn outcomes(&mut self, requests: &[Request]) -> Result<Vec<Result<Done, Refusal>>> {
        let mut told = false;
        loop {
            let outcomes = self.engine.answer_all(requests);
            let hindered = outcomes.iter().find_map(|outcome| match outcome {
                Err(refusal @ (Refusal::Store(_) | Refusal::Ledger(_) | Refusal::Draw(_))) => {
                    Some(refusal)
                }
                _ => None,
            });
            let Some(refusal) = hindered else { return Ok(outcomes) };
            let passes = match refusal {
                Refusal::Store(error) => matches!(error.trouble, Trouble::Full | Trouble::ReadOnly),
                Refusal::Ledger(_) => true,
                _ => false,
            };
            if !passes || is_draining() || progress::stop_requested() {
                return Err(anyhow!("{refusal}"));
            }
            if !told {
                terminal::warning(format!("{refusal}; it is tried again until that works"));
                told = true;
            }
            thread::sleep(RETRY);
        }
    }

    fn write(&mut self, walk: &WalkName, answer: &Answer, kept: &[String]) -> Result<()> {
        let mechanism = &self.run.chosen.mechanism;
        let (chain, outcomes) = (mechanism.model().chain(), mechanism.outcomes());
        let (name, number, state) = (walk.as_str(), answer.number, chain.label(answer.state));
        let kept = kept.iter().map(String::as_str);
        let written = match answer.observed {
            None => self.writer.write_row(name, number, state, kept),
            Some(seen) => {
                self.writer.write_observed_row(name, number, state, &outcomes.text(seen), kept)
            }
        };
        Ok(written?)
    }

    fn tell(&mut self, line: u64, code: &str) -> Result<()> {
        self.wrong += 1;
        Ok(self.writer.write_error(line, code)?)
    }
}

/// Says how many lines were answered with an error.
pub(super) fn tell_wrong(wrong: u64) {
    if wrong > 0 {
        terminal::warning(format!("{} answered with an error", counted(wrong as usize, "line")));
    }
}
