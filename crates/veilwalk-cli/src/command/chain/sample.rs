//! `veilwalk chain sample`: walks that a chain would make.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Result;
use veilwalk::analysis::{Origin, OwnWalks};
use veilwalk::{Chain, Source};
use veilwalk_io::{AtomicFile, Compression, WalkFormat, WalkWriter};

use crate::args::{self, ChainOptions, Loaded, any_whole, counted, is_standard_output, whole};
use crate::progress::{self, Stoppable};
use crate::terminal;

/// Write walks that the chain itself would make
///
/// Every walk starts at the chain's initial distribution and moves as the chain does. The walks are made up: no
/// real walk is read. The output has the columns `trajectory`, `step` and `state`, as a release has.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A built-in chain (`credit` or `downtown`) or a file, as for `chain check`
    chain: String,

    #[command(flatten)]
    options: ChainOptions,

    /// How many walks
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 100,
        allow_negative_numbers = true,
        value_parser = whole::<u64>(1..=1_000_000_000)
    )]
    walks: u64,

    /// How many moves each walk has; it has one state more
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 20,
        allow_negative_numbers = true,
        value_parser = whole::<u64>(0..=1_000_000_000)
    )]
    steps: u64,

    /// Start every walk here instead
    #[arg(long, value_name = "STATE", conflicts_with = "initial")]
    from: Option<String>,

    /// Make the same walks again: those of this number
    #[arg(
        long,
        value_name = "NUMBER",
        allow_negative_numbers = true,
        value_parser = any_whole::<u64>()
    )]
    seed: Option<u64>,

    /// Where to write the walks, `-` for standard output. The name tells the format, as for
    /// `veilwalk privatize`. A file of that name is replaced, with a warning
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    super::settle_output(&args.output, &args.options.inputs(&args.chain))?;
    let chain = match args.options.read(&args.chain)? {
        Loaded::Chain(chain) => *chain,
        Loaded::Model(model) => model.chain().clone(),
    };
    let origin = match &args.from {
        Some(label) => Origin::At(args::state(&chain, "--from", label)?),
        None => Origin::Initial,
    };
    let format = WalkFormat::from_path(&args.output).unwrap_or(WalkFormat::Csv);
    let compression = Compression::from_path(&args.output);
    let name = if is_standard_output(&args.output) {
        let name = "standard output";
        let out = BufWriter::new(std::io::stdout());
        let walks = WalkWriter::new(out, name, format, compression, &chain)?;
        args.write(&chain, origin, walks)?;
        name.to_owned()
    } else {
        let file = AtomicFile::create(&args.output)?;
        let name = file.name().to_owned();
        let walks = WalkWriter::new(file, &name, format, compression, &chain)?;
        args.write(&chain, origin, walks)?.commit()?;
        name
    };
    terminal::note(format!(
        "{name}: {} of {} each, made up by the chain",
        counted(args.walks as usize, "walk"),
        counted(args.steps as usize, "step"),
    ));
    Ok(())
}

impl Args {
    /// Draws the walks, each from bits of its own, so that its name says which it is.
    fn write<W: Write + Send>(
        &self,
        chain: &Chain,
        origin: Origin,
        mut walks: WalkWriter<'_, W>,
    ) -> Result<W> {
        let source = self.seed.map_or_else(Source::system, Source::seeded);
        let mut randomness = source.open(chain.hash().0)?;
        let own = OwnWalks::new(chain);
        let _stoppable = Stoppable::new();
        for number in 0..self.walks {
            if progress::stop_requested() {
                return Err(progress::stopped());
            }
            let name = number.to_string();
            let key = randomness.walk(name.as_bytes());
            let walk = own.walk(origin, self.steps as usize, randomness.at(&key, 0, None));
            walks.write_walk(&name, &walk)?;
        }
        Ok(walks.finish()?)
    }
}
