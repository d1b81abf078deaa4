//! Rows whose state is not one of the chain's: what to do with them, and how many there are.

use std::collections::HashSet;
use std::convert::Infallible;
use std::str::FromStr;

use anyhow::{Error, Result, anyhow};
use veilwalk::Chain;
use veilwalk_io::{Manifest, ReadError, UnknownStates};

use super::{counted, state, thousands};

/// What to do with a row whose state is not one of the chain's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnknownState {
    /// Stop, and say on which line it is.
    Error,
    /// Leave the row out, and count it.
    Skip,
    /// Take this state instead.
    Label(String),
}

impl FromStr for UnknownState {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "error" => Self::Error,
            Manifest::SKIPPED => Self::Skip,
            // The prefix is for states that are called `error` or `skip`.
            label => {
                Self::Label(label.strip_prefix(Manifest::REPLACED_BY).unwrap_or(label).to_owned())
            }
        })
    }
}

impl UnknownState {
    pub(crate) fn is_skip(&self) -> bool {
        *self == Self::Skip
    }

    /// The same, on a chain that has to have the state.
    pub(crate) fn on(&self, chain: &Chain) -> Result<UnknownStates> {
        Ok(match self {
            Self::Error => UnknownStates::Refuse,
            Self::Skip => UnknownStates::Skip,
            Self::Label(label) => UnknownStates::Replace(state(
                chain,
                "--unknown-state (`error`, `skip` or a state)",
                label,
            )?),
        })
    }
}

/// Adds what can be done to an error about an unknown state, and how many others there are.
pub(crate) fn unknown_state_error(error: &ReadError, all: Option<UnknownLabels>) -> Error {
    let more = all.and_then(|all| all.in_words()).unwrap_or_default();
    anyhow!(
        "{error}; or take a state of the chain instead with --unknown-state STATE, or leave such rows \
         out with --unknown-state skip{more}"
    )
}

/// What is said of rows whose state was replaced.
pub(crate) fn replaced(rows: u64, by: &str) -> String {
    let rows = counted(rows as usize, "row");
    format!("{rows} taken as {by:?} because the state is not one of the chain's")
}

/// What a warning says of rows that were left out.
pub(crate) fn left_out(rows: u64) -> String {
    let rows = counted(rows as usize, "row");
    format!("{rows} left out because the state is not one of the chain's")
}

/// The labels of a file that are not the chain's.
#[derive(Debug, Default)]
pub(crate) struct UnknownLabels {
    known_rows: u64,
    rows: u64,
    first: Vec<String>,
    labels: HashSet<String>,
}

impl UnknownLabels {
    /// How many are named.
    const NAMED: usize = 5;
    /// From here on different labels are not told apart, so that memory has a bound.
    const COUNTED: usize = 10_000;

    pub(crate) fn add_known(&mut self) {
        self.known_rows += 1;
    }

    pub(crate) fn add(&mut self, label: &str) {
        self.rows += 1;
        if self.labels.len() < Self::COUNTED && !self.labels.contains(label) {
            self.labels.insert(label.to_owned());
            if self.first.len() < Self::NAMED {
                self.first.push(label.to_owned());
            }
        }
    }

    /// How many rows have one.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The sentence about all of them, where there is more than one.
    fn in_words(&self) -> Option<String> {
        if self.rows < 2 {
            return None;
        }
        let rows = thousands(self.rows as usize);
        if self.known_rows == 0 {
            return Some(format!(
                ". Not one of the {rows} rows has a state of the chain: check that --chain is that of \
                 these walks, and --state-column the column of their states"
            ));
        }
        let named: Vec<String> = self.first.iter().map(|label| format!("{label:?}")).collect();
        let named = named.join(", ");
        let labels = match self.labels.len() {
            1 => "this label".to_owned(),
            Self::COUNTED => format!("{} labels or more", thousands(Self::COUNTED)),
            count => format!("{} such labels", thousands(count)),
        };
        let named = match self.labels.len() {
            1 => String::new(),
            count if count > self.first.len() => format!(": {named}, …"),
            _ => format!(": {named}"),
        };
        Some(format!(". In all, {rows} rows have {labels}{named}"))
    }
}
