//! Walks in, release out, and what is said about it.

use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Error, Result, anyhow, bail};
use serde_json::json;
use veilwalk_io::{
    Charge, Compression, Errors, Grouping, OnError, OwnColumns, ReleaseError, ReleaseOutput,
    ReleaseWatch, ReleaseWriter, Tally, UnknownStates, WalkFormat, WalkInput, WalkReader,
    WalkRelease, release_lines,
};

use super::draining::{DRAINING, Draining};
use super::kept::tell_wrong;
use super::{Args, Run};
use crate::args::{counted, left_out, rate, replaced};
use crate::progress::{self, Waiting};
use crate::terminal;

/// The real walks, opened.
#[expect(clippy::large_enum_variant, reason = "there is one for a whole run")]
pub(super) enum Walks {
    /// To be answered row by row.
    Stream(WalkReader<Box<dyn Read + Send>>, Again),
    /// To be answered as a whole.
    Whole(WalkInput, Again),
}

/// Whether the input can be read once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    Yes,
    No,
}

impl Walks {
    pub(super) fn open(args: &Args) -> Result<Self> {
        let path = Path::new(&args.walks);
        let mut options = if args.stream { args.options_with_person() } else { args.options() };
        let pipe: Option<Box<dyn Read + Send>> = if args.walks == "-" {
            Some(read_from(args, std::io::stdin())?)
        } else if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            let file = std::fs::File::open(path);
            let file = file.with_context(|| format!("cannot read {}", args.walks))?;
            Some(read_from(args, file)?)
        } else {
            None
        };
        let name = if args.walks == "-" { "standard input" } else { &args.walks };
        if pipe.is_some() {
            options.format = WalkFormat::from_path(path);
        }
        let walks = match (pipe, args.stream) {
            (Some(pipe), true) => Self::Stream(WalkReader::new(pipe, name, options)?, Again::No),
            (Some(pipe), false) => Self::Whole(WalkInput::new(pipe, name, options)?, Again::No),
            (None, true) => {
                // What is wrong with it is said as for any other file.
                let file = WalkReader::open(path, options.clone())?;
                if file.format().is_text() {
                    options.format = Some(file.format());
                    let file = std::fs::File::open(path);
                    let file = file.with_context(|| format!("cannot read {}", args.walks))?;
                    let file = read_from(args, file)?;
                    Self::Stream(WalkReader::new(file, name, options)?, Again::Yes)
                } else {
                    Self::Stream(file, Again::Yes)
                }
            }
            (None, false) => Self::Whole(WalkInput::open(path, options)?, Again::Yes),
        };
        if args.stream && !walks.format().is_text() {
            bail!("{name}: --stream answers lines of text; leave it out for Parquet and Arrow");
        }
        Ok(match walks {
            Self::Stream(reader, again) => {
                let mut reader = reader.with_limits(args.max_line, &DRAINING);
                if args.keeps_json(reader.format()) {
                    reader = reader.with_kept_json(args.keep.len());
                }
                Self::Stream(reader, again)
            }
            walks => walks,
        })
    }

    pub(super) fn format(&self) -> WalkFormat {
        match self {
            Self::Stream(reader, _) => reader.format(),
            Self::Whole(input, _) => input.format(),
        }
    }

    pub(super) fn can_be_read_twice(&self) -> bool {
        let (Self::Stream(_, again) | Self::Whole(_, again)) = self;
        *again == Again::Yes
    }
}

/// Input that whoever wants to stop does not wait for.
fn read_from(args: &Args, input: impl Read + Send + 'static) -> Result<Box<dyn Read + Send>> {
    Ok(match args.stream {
        true => Box::new(Waiting(Draining::new(input)?)),
        false => Box::new(Waiting(input)),
    })
}

/// Where the release goes.
pub(super) struct Output<'a, W> {
    pub(super) out: W,
    pub(super) name: &'a str,
    pub(super) format: WalkFormat,
    pub(super) compression: Compression,
}

/// How walks are released.
pub(super) struct Release<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) charge: &'a Charge<'a>,
}

impl Release<'_> {
    pub(super) fn run<W: Write + Send>(
        &self,
        walks: Walks,
        output: Output<'_, W>,
    ) -> Result<(Tally, W)> {
        let started = Instant::now();
        let (input, format) = match &walks {
            Walks::Stream(reader, _) => (reader.name().to_owned(), walks.format()),
            Walks::Whole(input, _) => (input.name().to_owned(), walks.format()),
        };
        let (size, timed) = match &walks {
            Walks::Stream(..) => (None, false),
            Walks::Whole(input, _) => (input.size(), true),
        };
        let released = progress::releasing(size, |watch| self.run_watched(walks, output, watch));
        let (tally, wrong, out) = released.map_err(|error| self.explain(error))?;
        let nothing = tally.states + tally.skipped == 0;
        if format == WalkFormat::Ndjson && nothing && !self.run.args.stream {
            let args = self.run.args;
            bail!(
                "{input}: the file is empty; it should hold one object a line, such as {}",
                json!({ &args.trajectory_column: "north", &args.state_column: "Baa" })
            );
        }
        if tally.states == 0 {
            let why = match tally.skipped {
                0 => "there are no walks in it",
                _ => "not one of its rows has a state of the chain",
            };
            terminal::warning(format!("{input}: {why}, so the release is empty"));
        }
        let kind = if timed { Kind::Whole } else { Kind::Stream };
        tell(&tally, timed.then(|| started.elapsed().as_secs_f64()), kind);
        self.tell_unknown(&tally);
        tell_wrong(wrong);
        Ok((tally, out))
    }

    fn run_watched<W: Write + Send>(
        &self,
        walks: Walks,
        output: Output<'_, W>,
        watch: &ReleaseWatch<'_>,
    ) -> Result<(Tally, u64, W), ReleaseError> {
        let Run { args, chosen, source, start, unknown_states, ledger, .. } = self.run;
        let release = WalkRelease {
            mechanism: chosen.mechanism.clone(),
            source,
            start: *start,
            unknown_states: *unknown_states,
            grouping: if args.grouped { Grouping::Together } else { Grouping::Alternating },
            charge: ledger.is_some().then_some(self.charge),
            watch,
        };
        let Output { out, name, format, compression } = output;
        match walks {
            Walks::Stream(reader, _) => {
                let own = OwnColumns::of(&release.mechanism);
                let on_error = args.on_error(reader.format());
                let errors = match on_error {
                    OnError::Answer => Errors::AmongRows,
                    OnError::Stop => Errors::Untold,
                };
                let kept = &args.keep;
                let mut writer =
                    ReleaseWriter::telling_errors(out, name, format, own, kept, errors)?;
                if args.keeps_json(reader.format()) {
                    writer = writer.with_kept_json();
                }
                release_lines(&release, reader, writer, on_error)
            }
            Walks::Whole(input, _) => {
                let output = ReleaseOutput::new(out, name, format, compression, &args.keep)?;
                let released = release.run(input, output, args.threads());
                released.map(|(tally, out)| (tally, 0, out))
            }
        }
    }

    /// Says what was done with unknown states, and what that gives away.
    fn tell_unknown(&self, tally: &Tally) {
        match self.run.unknown_states {
            UnknownStates::Refuse => {}
            UnknownStates::Replace(state) if tally.replaced > 0 => {
                let label = self.run.chosen.mechanism.model().chain().label(state);
                terminal::note(replaced(tally.replaced, label));
            }
            UnknownStates::Replace(_) => {}
            UnknownStates::Skip => {
                if tally.skipped > 0 {
                    terminal::warning(left_out(tally.skipped));
                }
                if tally.vanished > 0 {
                    let walks = counted(tally.vanished as usize, "walk");
                    terminal::warning(format!("{walks} left out whole, with all of their rows"));
                }
                terminal::warning(
                    "--unknown-state skip: how long released walks are, and which there are, depends on \
                     what was left out, and that is not protected; --unknown-state STATE takes a state \
                     of the chain instead",
                );
            }
        }
    }

    fn explain(&self, error: ReleaseError) -> Error {
        match error {
            // The request may be met while a pipe is read.
            ReleaseError::Read(_) | ReleaseError::Stopped if progress::stop_requested() => {
                progress::stopped()
            }
            ReleaseError::Read(error) => {
                let chain = self.run.chosen.mechanism.model().chain();
                self.run.args.with_advice(chain, error)
            }
            ReleaseError::Write(error) => error.into(),
            ReleaseError::Charge(error) => anyhow!(error),
            other => other.into(),
        }
    }
}

/// How walks were answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Stream,
    Whole,
}

/// Says what was released, and how fast where no one was waited for.
fn tell(tally: &Tally, seconds: Option<f64>, kind: Kind) {
    let speed = seconds.map_or_else(String::new, |seconds| {
        format!(" in {seconds:.1} s, {} a second", rate(tally.states, seconds))
    });
    terminal::note(format!(
        "released {}, {}{speed}",
        counted(tally.walks as usize, "walk"),
        counted(tally.states as usize, "state"),
    ));
    // What is said of a stream goes into logs, which never depend on real states.
    if tally.infeasible > 0 && kind == Kind::Whole {
        terminal::note(format!(
            "not possible under the chain: {} of the real walks; the guarantee covers them, but \
             the chain may not fit these walks",
            counted(tally.infeasible as usize, "move")
        ));
    }
}
