//! The flags that several subcommands share, and words for what they print. Groups of flags that only a few commands
//! share are beside `command/`, in `own_walks`, `real_walks` and `study`.

mod block;
mod chain;
mod columns;
mod graph;
mod ledger;
mod mechanism;
mod metric;
mod number;
mod observation;
mod output;
mod protection;
mod randomness;
mod release;
mod threads;
mod unknown;

use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;

pub(crate) use block::{BlockArgs, block_flag, block_value, blocks_in_words};
pub(crate) use chain::{
    ChainArgs, ChainOptions, DistanceOptions, Loaded, prior, start, state, tell,
};
pub(crate) use columns::WalkColumnArgs;
pub(crate) use graph::{GraphArgs, all_moves, read_moves};
pub(crate) use ledger::LedgerArgs;
pub(crate) use mechanism::MechanismArgs;
pub(crate) use metric::WantedMetric;
pub(crate) use number::{any_whole, count, metres, whole};
pub(crate) use output::{
    Input, Written, is_same_file, is_standard_output, refuse_to_replace, settle_output,
};
pub(crate) use protection::{ProtectionArgs, tell_coverage};
pub(crate) use randomness::RandomnessArgs;
pub(crate) use release::ReleaseArgs;
pub(crate) use threads::ThreadArgs;
pub(crate) use unknown::{UnknownLabels, UnknownState, left_out, replaced, unknown_state_error};
pub(crate) use veilwalk_report::{counted, thousands};

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// How many there are in a second, with thousands set apart.
pub(crate) fn rate(count: u64, seconds: f64) -> String {
    thousands((count as f64 / seconds.max(1e-3)).round() as usize)
}

/// Reads a file whole, or says what is wrong with it.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
