//! Releasing whole files on all cores.
//!
//! This is the way of a row, from a line of `trips.csv` to a line of the release. Each stage is in the
//! file of its name:
//!
//! ```text
//!  input          opens the file: its format and its header
//!    |
//!  read_ahead     a thread: cuts text into blocks of whole rows (text_blocks),
//!    |            or decodes some rows of columns (columns/)
//!    |  parts
//!  parse          on all threads, part by part: rows become walks and numbers of states
//!    |            (parse_columns for columns)
//!    |  batches
//!  release_runs   on all threads, shard by shard: real states become released ones
//!    |            (shard; waiting_rows where a block has to fill or a lag to pass first)
//!    |  answers
//!  format         on all threads, part by part: rows of text (text_format), compressed
//!    |            if asked for, or columns (format_columns)
//!    |  pieces
//!  write_behind   a thread: writes pieces in order (sink)
//! ```
//!
//! `stages` moves rounds of parts through the three stages in the middle; three rounds are under way at
//! a time, one in each. A walk belongs to one shard, so its states are released in order. The output has
//! the order of the input, and what a derived source of randomness releases does not depend on the
//! number of threads. Memory holds three rounds and 32 bytes for each walk (38 to 75 with what the table
//! of walks takes), however long the file is. Releases in blocks also hold what waits, and a name with
//! it; releases of observations what is believed of every walk that may go on.
//!
//! [`release_rows`] does the same one row at a time (`row_by_row`), for pipes that are answered line by
//! line. Tests compare the two.

mod answer;
mod batch;
mod format;
#[cfg(feature = "arrow")]
mod format_columns;
mod input;
mod parse;
#[cfg(feature = "arrow")]
mod parse_columns;
mod read_ahead;
mod release_runs;
mod row_by_row;
mod shard;
mod sink;
mod stages;
#[cfg(test)]
mod tests;
mod text_blocks;
mod text_format;
mod waiting_rows;
mod write_behind;

use std::error::Error;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use thiserror::Error;
use veilwalk::error::ModelChanged;
use veilwalk::random::Forked;
use veilwalk::session::OpenError;
use veilwalk::{Mechanism, Source, Start};

pub use input::WalkInput;
pub use row_by_row::{OnError, release_lines, release_rows};
pub use sink::ReleaseOutput;

use crate::read_error::ReadError;
pub use crate::unknown_states::UnknownStates;
use crate::write_error::WriteError;

/// Whether the rows of different walks may alternate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// They may: a walk may go on at any time.
    #[default]
    Alternating,
    /// The rows of each walk stand together: it is over when another begins. If it then goes on, that
    /// is an error.
    Together,
}

/// What a release did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Walks.
    pub walks: u64,
    /// Released states.
    pub states: u64,
    /// Real moves that the chain does not have.
    pub infeasible: u64,
    /// Rows that were left out.
    pub skipped: u64,
    /// Walks of which every row was left out.
    pub vanished: u64,
    /// Rows whose state was replaced by one of the chain's.
    pub replaced: u64,
}

/// How far a release has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReleaseProgress {
    /// Bytes that have been read, as they are in the file.
    pub bytes: u64,
    /// States that have been released.
    pub states: u64,
    /// States that have been read and wait for their block to fill, for the lag to pass or for their walk to
    /// end.
    pub waiting: u64,
    /// What is left to do.
    pub stage: ReleaseStage,
}

/// What is left of a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReleaseStage {
    /// There may be more to read.
    #[default]
    Reading,
    /// Everything has been read, and all walks are over: what waits is released.
    Rest,
}

impl ReleaseProgress {
    /// How much is done of a file of this many bytes, about: what was read of it, but for what waits.
    #[must_use]
    pub fn share_of(self, size: u64) -> f64 {
        let read = self.bytes as f64 / size.max(1) as f64;
        let released = self.states as f64 / (self.states + self.waiting).max(1) as f64;
        if self.waiting == 0 { read } else { read * released }
    }
}

/// A walk that is met for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewWalk<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whose it is, where that is read ([`release_rows`]).
    pub person: Option<&'a str>,
}

/// Called with walks before anything of them is released; an error ends the release.
pub type Charge<'a> =
    dyn Fn(&[NewWalk<'_>]) -> Result<(), Box<dyn Error + Send + Sync>> + Send + Sync + 'a;

/// Told how far a release has come, and may end it.
pub type ReleaseWatch<'a> = dyn Fn(ReleaseProgress) -> ControlFlow<()> + Sync + 'a;

/// Why a release ended early. Nothing of it should be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// Something is wrong with the walks.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The release cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Nothing can be released by the mechanism here.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The process was forked while it released.
    #[error(transparent)]
    Forked(#[from] Forked),
    /// The walks must not be released.
    #[error(transparent)]
    Charge(Box<dyn Error + Send + Sync>),
    /// The model was changed in place while it was in use.
    #[error(transparent)]
    Model(#[from] ModelChanged),
    /// It was asked to stop.
    #[error("stopped on request")]
    Stopped,
    /// Kept values of columns where rows come out later than they are read.
    #[error(
        "kept columns of Parquet and Arrow cannot wait for a block to fill or a lag to pass; keep none, give \
         one row for each walk with a list of its states, or give the walks as CSV"
    )]
    KeptInBlocks,
    /// The operating system gave no threads.
    #[error("threads could not be started ({0}); ask for fewer")]
    Threads(String),
}

/// How walks are released.
pub struct WalkRelease<'a> {
    /// What releases them. In blocks and with a lag, rows come out in the order in which they are released.
    pub mechanism: Arc<Mechanism>,
    /// Where randomness comes from.
    pub source: &'a Source,
    /// How released walks start.
    pub start: Start,
    /// What to do with states that the chain does not have.
    pub unknown_states: UnknownStates,
    /// Whether walks may alternate.
    pub grouping: Grouping,
    /// Called with every name before its walk is released.
    pub charge: Option<&'a Charge<'a>>,
    /// Told how far it has come.
    pub watch: &'a ReleaseWatch<'a>,
}

impl std::fmt::Debug for WalkRelease<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WalkRelease").field("start", &self.start).finish_non_exhaustive()
    }
}

impl WalkRelease<'_> {
    /// Releases all walks on this many threads, and gives the output back with everything written.
    ///
    /// # Errors
    ///
    /// At the first row that is wrong, at a walk that cannot be released (a row nearby that is wrong in
    /// itself may be told instead), if something cannot be written or charged, and if the watch says
    /// so. What was written until then should not be used.
    pub fn run<W: Write + Send>(
        &self,
        input: WalkInput,
        output: ReleaseOutput<W>,
        threads: usize,
    ) -> Result<(Tally, W), ReleaseError> {
        self.mechanism.model().guarded(|| stages::run(self, input, output, threads.max(1)))
    }
}
