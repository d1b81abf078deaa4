//! `veilwalk chain generate`: made-up chains of any size, for trying things out and for benchmarks.

use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::Result;
use veilwalk::Chain;
use veilwalk::chain::Grid;
use veilwalk_io::ChainText;

use crate::args::{any_whole, count, counted};
use crate::terminal;

/// Generate a chain
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Grid(GridArgs),
}

/// The crossings of a made-up street grid
///
/// Streets run both ways between neighbouring crossings; some are missing, some are one-way, and a
/// few arterials draw most of the traffic. Every crossing can be reached from every other. The
/// same size and seed give the same chain on every machine. States are labelled by row and column,
/// such as r12c7.
#[derive(Debug, clap::Args)]
pub(crate) struct GridArgs {
    /// Crossings in a row
    #[arg(
        long,
        value_name = "CROSSINGS",
        allow_negative_numbers = true,
        value_parser = count::<NonZeroU32>()
    )]
    width: NonZeroU32,

    /// Rows of crossings
    #[arg(
        long,
        value_name = "CROSSINGS",
        allow_negative_numbers = true,
        value_parser = count::<NonZeroU32>()
    )]
    height: NonZeroU32,

    /// Decides which streets there are
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        allow_negative_numbers = true,
        value_parser = any_whole::<u64>()
    )]
    seed: u64,

    /// Where to write the chain, `-` for standard output. A file of that name is replaced, with a
    /// warning
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(command: &Command) -> Result<()> {
    let Command::Grid(args) = command;
    super::settle_output(&args.output, &[])?;
    let grid = Grid { width: args.width, height: args.height, seed: args.seed };
    let chain = Chain::grid(grid)?;
    let name = super::write(&chain, ChainText::default(), &args.output)?;
    terminal::note(format!(
        "{name}: {} and {}",
        counted(chain.len(), "state"),
        counted(chain.transitions(), "transition"),
    ));
    Ok(())
}
