//! Which columns of a file hold its walks, by flags.

use clap::Args;
use veilwalk_io::WalkOptions;

/// The columns of walks.
#[derive(Debug, Args)]
pub(crate) struct WalkColumnArgs {
    /// The column that names the walk
    #[arg(long, value_name = "NAME", default_value = "trajectory")]
    pub(crate) trajectory_column: String,

    /// The column that holds the state
    #[arg(long, value_name = "NAME", default_value = "state")]
    state_column: String,
}

impl WalkColumnArgs {
    /// How walks with these columns are read.
    pub(crate) fn options(&self) -> WalkOptions {
        WalkOptions {
            trajectory_column: self.trajectory_column.clone(),
            state_column: self.state_column.clone(),
            ..WalkOptions::default()
        }
    }
}
