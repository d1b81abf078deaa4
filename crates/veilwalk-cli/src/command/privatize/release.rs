//! The loop: one real state in, one released state out.

use std::collections::HashMap;
use std::io::{Read, Write};

use anyhow::{Result, bail};
use veilwalk::session::{Releaser, Walk};
use veilwalk::{Chain, StateId};
use veilwalk_io::{ReadError, ReadErrorKind, ReleaseWriter, Row, WalkFormat, WalkReader};

use super::UnknownState;
use crate::args::counted;
use crate::{progress, terminal};

/// What a run did.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) walks: usize,
    pub(super) steps: usize,
    pub(super) infeasible: usize,
    pub(super) skipped: usize,
}

/// A walk under way, with the real state it was last seen in.
struct Open {
    walk: Walk,
    last_real: Option<StateId>,
}

/// How walks are released.
pub(super) struct Release<'a> {
    pub(super) releaser: &'a mut Releaser,
    pub(super) unknown_state: UnknownState,
    pub(super) stream: bool,
    /// Called with a walk's name before its first state is released.
    pub(super) charge: &'a dyn Fn(&str) -> Result<()>,
    /// What is said if the run is asked to stop.
    pub(super) stopped: String,
    /// A row of NDJSON, for those who give none.
    pub(super) example: serde_json::Value,
}

impl Release<'_> {
    pub(super) fn run<R: Read, W: Write>(
        self,
        mut reader: WalkReader<R>,
        mut writer: ReleaseWriter<W>,
    ) -> Result<(Counts, W)> {
        let model = self.releaser.mechanism().model().clone();
        let chain = model.chain();
        let input = reader.name().to_owned();
        let mut counts = Counts::default();
        let mut open: HashMap<String, Open> = HashMap::new();
        while let Some(row) = reader.next_row()? {
            let Some(real) = real_state(chain, &input, &row, self.unknown_state)? else {
                counts.skipped += 1;
                continue;
            };
            if progress::stop_requested() {
                bail!(self.stopped);
            }
            if !open.contains_key(row.trajectory) {
                (self.charge)(row.trajectory)?;
                let walk = self.releaser.walk(row.trajectory);
                open.insert(row.trajectory.to_owned(), Open { walk, last_real: None });
            }
            let here = open.get_mut(row.trajectory).expect("just made");
            if here.last_real.is_some_and(|previous| !chain.allows(previous, real)) {
                counts.infeasible += 1;
            }
            here.last_real = Some(real);
            let step = here.walk.released();
            let released = self.releaser.release(&mut here.walk, real);
            writer.write_row(row.trajectory, step, chain.label(released), row.kept)?;
            counts.steps += 1;
            if self.stream {
                writer.flush()?;
            }
        }
        if reader.format() == WalkFormat::Ndjson && counts.steps + counts.skipped == 0 {
            bail!(
                "{input}: the file is empty; it should hold one object a line, such as {}",
                self.example
            );
        }
        counts.walks = open.len();
        writer.flush()?;
        Ok((counts, writer.finish()?))
    }
}

/// The real state of a row; none if the row is to be left out.
pub(super) fn real_state(
    chain: &Chain,
    input: &str,
    row: &Row<'_>,
    unknown_state: UnknownState,
) -> Result<Option<StateId>> {
    match (chain.require(row.state), unknown_state) {
        (Ok(state), _) => Ok(Some(state)),
        (Err(_), UnknownState::Skip) => Ok(None),
        (Err(unknown), UnknownState::Error) => {
            let kind = ReadErrorKind::UnknownState(unknown);
            let error = ReadError::new(input, Some(row.line), kind);
            bail!("{error}, or leave such rows out with --unknown-state skip");
        }
    }
}

impl Counts {
    pub(super) fn tell(&self) {
        terminal::note(format!(
            "released {}, {}",
            counted(self.walks, "walk"),
            counted(self.steps, "state")
        ));
        if self.infeasible > 0 {
            terminal::note(format!(
                "not possible under the chain: {} of the real walks; the guarantee covers them, but \
                 the chain may not fit these walks",
                counted(self.infeasible, "move")
            ));
        }
        if self.skipped > 0 {
            terminal::warning(format!(
                "{} left out because the state is not one of the chain's",
                counted(self.skipped, "row")
            ));
        }
    }
}
