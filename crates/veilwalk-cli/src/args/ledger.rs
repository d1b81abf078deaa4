//! The ledger that releases are charged to, and what a person may spend.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use veilwalk::internal::mechanism::Budget;
use veilwalk_ledger::{Ledger, Limit, Window};

use super::{Input, is_standard_output};

/// A ledger, by flag.
#[derive(Debug, Args)]
#[command(next_help_heading = "Budget")]
pub(crate) struct LedgerArgs {
    /// Charge what is released to this ledger before it is written: a file, or postgres://… for several
    /// machines
    #[arg(long, value_name = "LEDGER")]
    ledger: Option<PathBuf>,

    /// Release nothing if it would bring a person's total in the ledger above this. A budget that the
    /// ledger keeps (`veilwalk ledger set-budget`) holds as well
    #[arg(long, value_name = "E", requires = "ledger")]
    budget: Option<Budget>,

    /// Count only what was released in this time, such as 30d
    #[arg(long, value_name = "SPAN", requires = "budget")]
    window: Option<Window>,
}

impl LedgerArgs {
    pub(crate) fn is_given(&self) -> bool {
        self.ledger.is_some()
    }

    /// The ledger as a file that is read.
    pub(crate) fn input(&self) -> Option<Input<'_>> {
        self.path().map(|path| (path, "the ledger"))
    }

    /// Opens the ledger that was asked for.
    pub(crate) fn open(&self) -> Result<Option<Ledger>> {
        let Some(path) = self.path() else { return Ok(None) };
        if is_standard_output(path) {
            bail!("a ledger is kept in a file; give --ledger the name of one");
        }
        Ok(Some(Ledger::open(path)?))
    }

    /// What a person may spend, beside the budget that the ledger keeps.
    pub(crate) fn limit(&self) -> Option<Limit> {
        let budget = self.budget.map(Budget::value);
        budget.map(|budget| Limit { budget, window: self.window })
    }

    fn path(&self) -> Option<&Path> {
        self.ledger.as_deref()
    }
}
