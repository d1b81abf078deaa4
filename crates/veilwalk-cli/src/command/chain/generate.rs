//! `veilwalk chain generate`: chains that nobody had to be asked for. Made-up street grids of any size, and even chains: a map and
//! nothing else.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ArgGroup;
use veilwalk::Chain;
use veilwalk::chain::{Grid, Length, Scope};
use veilwalk_io::{AtomicFile, ChainText, write_places};

use crate::args::{
    Input, Written, all_moves, any_whole, count, counted, is_same_file, metres, read_moves,
    settle_output,
};
use crate::terminal;

/// Generate a chain
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Grid(GridArgs),
    Even(EvenArgs),
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
    #[arg(long, value_name = "CROSSINGS", value_parser = count::<NonZeroU32>())]
    width: NonZeroU32,

    /// Rows of crossings
    #[arg(long, value_name = "CROSSINGS", value_parser = count::<NonZeroU32>())]
    height: NonZeroU32,

    /// Decides which streets there are
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = any_whole::<u64>())]
    seed: u64,

    /// How long streets are, such as 100m. The chain then has a column `length`, and its crossings a place on the
    /// earth: around the meeting of equator and prime meridian, at sea
    #[arg(long, value_name = "LENGTH", requires = "places", value_parser = metres)]
    spacing: Option<Length>,

    /// Where to write the places of the crossings, as `--places` of other commands reads them
    #[arg(long, value_name = "FILE", requires = "spacing")]
    places: Option<PathBuf>,

    /// Where to write the chain, `-` for standard output. A file of that name is replaced, with a
    /// warning
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// An even chain: every move of a state is as likely as its other moves
///
/// It is what is known of a map, or of a list of states, without a look at any walk. Release a first round of walks
/// under it, and `veilwalk estimate --what chain` learns a better one from that release, at no cost.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("map").required(true).args(["edges", "states"]))]
pub(crate) struct EvenArgs {
    /// Which moves there are: a table with the columns `from` and `to`, a chain's file, a compiled model, or a built-in
    /// chain. Its numbers mean nothing
    #[arg(long, value_name = "GRAPH")]
    edges: Option<String>,

    /// All moves between these states: a table with the column `state`
    #[arg(long, value_name = "FILE")]
    states: Option<PathBuf>,

    /// Keep the largest part whose states all reach each other, and say what was dropped
    #[arg(long, requires = "edges")]
    largest_component: bool,

    /// Where to write the chain, `-` for standard output. A file of that name is replaced, with a
    /// warning
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(command: &Command) -> Result<()> {
    let (chain, output, places) = match command {
        Command::Grid(args) => {
            super::settle_output(&args.output, &[])?;
            let grid = Grid { width: args.width, height: args.height, seed: args.seed };
            let chain = match args.spacing {
                Some(spacing) => Chain::grid_with_streets(grid, spacing)?,
                None => Chain::grid(grid)?,
            };
            let places = args.places.as_deref().map(|path| args.write_places(&chain, path));
            (chain, &args.output, places.transpose()?)
        }
        Command::Even(args) => (args.chain()?, &args.output, None),
    };
    let name = super::write(&chain, ChainText::default(), output)?;
    places.map(AtomicFile::commit).transpose()?;
    terminal::note(format!(
        "{name}: {} and {}",
        counted(chain.len(), "state"),
        counted(chain.transitions(), "transition"),
    ));
    Ok(())
}

impl EvenArgs {
    fn chain(&self) -> Result<Chain> {
        let edges = self.edges.iter().map(|name| (Path::new(name), "the graph"));
        let states = self.states.iter().map(|path| (path.as_path(), "the states"));
        let inputs: Vec<Input<'_>> = edges.chain(states).collect();
        super::settle_output(&self.output, &inputs)?;
        let scope = if self.largest_component { Scope::LargestComponent } else { Scope::Whole };
        let graph = match (&self.edges, &self.states) {
            (Some(name), _) => read_moves(name, scope)?,
            (None, Some(path)) => all_moves(path)?,
            (None, None) => unreachable!("one of them has to be given"),
        };
        Ok(graph.evened()?)
    }
}

impl GridArgs {
    /// Writes the places of the crossings to a file that is complete but for its name.
    fn write_places(&self, chain: &Chain, path: &Path) -> Result<AtomicFile> {
        if is_same_file(path, &self.output) || path == self.output {
            bail!("{}: the chain goes there; give --places another file", path.display());
        }
        settle_output(path, Written::Other, &[])?;
        let mut file = AtomicFile::create(path)?;
        write_places(chain, &mut file).map_err(|error| error.named(path.display().to_string()))?;
        Ok(file)
    }
}
