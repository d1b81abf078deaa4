//! `veilwalk chain sample`: walks that a chain would make.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Result;
use veilwalk::analysis::{EndedWalks, Origin, OwnWalks};
use veilwalk::chain::WalkLengths;
use veilwalk::random::Words;
use veilwalk::{Chain, Source, StateId};
use veilwalk_io::{AtomicFile, Compression, WalkFormat, WalkWriter};

use crate::args::{self, ChainOptions, Loaded, any_whole, counted, is_standard_output, whole};
use crate::progress::{self, Stoppable, with_progress};
use crate::terminal;

/// Write walks that the chain itself would make
///
/// Every walk starts at the chain's initial distribution and moves as the chain does. With --ends it is one of those
/// walks of the chain that end where they should. The walks are made up: no real walk is read. The output has the columns
/// `trajectory`, `step` and `state`, as a release has.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A built-in chain (`credit` or `downtown`) or a file, as for `chain check`
    chain: String,

    #[command(flatten)]
    options: ChainOptions,

    /// How many walks
    #[arg(long, value_name = "COUNT", default_value_t = 100,
          value_parser = whole::<u64>(1..=1_000_000_000))]
    walks: u64,

    /// How many moves each walk has; it has one state more
    #[arg(long, value_name = "COUNT", default_value_t = 20,
          value_parser = whole::<u64>(0..=1_000_000_000))]
    steps: u64,

    /// Draw how many moves each walk has from this file instead: a table with the columns `moves` and
    /// `probability`, as `veilwalk chain fit --lengths` writes it
    #[arg(long, value_name = "FILE", conflicts_with = "steps")]
    lengths: Option<PathBuf>,

    /// Let walks end where this file says: a table with the columns `state` and `probability`, as
    /// `veilwalk chain fit --ends` writes it
    #[arg(long, value_name = "FILE")]
    ends: Option<PathBuf>,

    /// Start every walk here instead
    #[arg(long, value_name = "STATE", conflicts_with = "initial")]
    from: Option<String>,

    /// Make the same walks again: those of this number
    #[arg(long, value_name = "NUMBER", value_parser = any_whole::<u64>())]
    seed: Option<u64>,

    /// Where to write the walks, `-` for standard output. The name tells the format, as for
    /// `veilwalk privatize`. A file of that name is replaced, with a warning
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let mut inputs = args.options.inputs(&args.chain);
    inputs.extend(args.lengths.iter().map(|path| (path.as_path(), "the lengths")));
    inputs.extend(args.ends.iter().map(|path| (path.as_path(), "the last states")));
    super::settle_output(&args.output, &inputs)?;
    let chain = match args.options.read(&args.chain)? {
        Loaded::Chain(chain) => *chain,
        Loaded::Model(model) => model.chain().clone(),
    };
    let origin = match &args.from {
        Some(label) => Origin::At(args::state(&chain, "--from", label)?),
        None => Origin::Initial,
    };
    let lengths = match &args.lengths {
        Some(path) => veilwalk_io::read_lengths(path)?,
        None => WalkLengths::always(args.steps as usize),
    };
    let walks = args.own_walks(&chain, origin, lengths)?;
    let format = WalkFormat::from_path(&args.output).unwrap_or(WalkFormat::Csv);
    let compression = Compression::from_path(&args.output);
    let name = if is_standard_output(&args.output) {
        let name = "standard output";
        let out = BufWriter::new(std::io::stdout());
        let out = WalkWriter::new(out, name, format, compression, &chain)?;
        args.write(&chain, &walks, out)?;
        name.to_owned()
    } else {
        let file = AtomicFile::create(&args.output)?;
        let name = file.name().to_owned();
        let out = WalkWriter::new(file, &name, format, compression, &chain)?;
        args.write(&chain, &walks, out)?.commit()?;
        name
    };
    let number = counted(args.walks as usize, "walk");
    terminal::note(match args.lengths {
        Some(_) => format!("{name}: {number}, made up by the chain"),
        None => {
            let steps = counted(args.steps as usize, "step");
            format!("{name}: {number} of {steps} each, made up by the chain")
        }
    });
    Ok(())
}

/// Where walks come from: the chain alone, or those of its walks that end where they should.
enum Walks<'c> {
    Own { own: OwnWalks<'c>, origin: Origin, lengths: WalkLengths },
    Ended(EndedWalks<'c>),
}

impl Walks<'_> {
    fn walk(&self, words: &mut impl Words) -> Vec<StateId> {
        match self {
            Self::Own { own, origin, lengths } => own.walk(*origin, lengths.draw(words), words),
            Self::Ended(ended) => ended.walk(words),
        }
    }
}

impl Args {
    /// What is said if more walks than this end where they should not: one in a hundred.
    const FAR: f64 = 0.01;

    fn own_walks<'c>(
        &self,
        chain: &'c Chain,
        origin: Origin,
        lengths: WalkLengths,
    ) -> Result<Walks<'c>> {
        let Some(path) = &self.ends else {
            return Ok(Walks::Own { own: OwnWalks::new(chain), origin, lengths });
        };
        let ends = veilwalk_io::read_initial(path, chain)?;
        let ended = with_progress("last states", |watch| {
            EndedWalks::new(chain, origin, lengths, &ends, watch)
        })?;
        if ended.ends_off() > Self::FAR {
            terminal::warning(format!(
                "{}: walks of this chain with these starts and lengths do not all end where they should; {:.1} % \
                 end elsewhere",
                path.display(),
                100.0 * ended.ends_off()
            ));
        }
        Ok(Walks::Ended(ended))
    }

    /// Draws the walks, each from bits of its own, so that its name says which it is.
    fn write<W: Write + Send>(
        &self,
        chain: &Chain,
        walks: &Walks<'_>,
        mut out: WalkWriter<'_, W>,
    ) -> Result<W> {
        let source = self.seed.map_or_else(Source::system, Source::seeded);
        let mut randomness = source.open(chain.hash().0)?;
        let _stoppable = Stoppable::new();
        for number in 0..self.walks {
            if progress::stop_requested() {
                return Err(progress::stopped());
            }
            let name = number.to_string();
            let key = randomness.walk(name.as_bytes());
            let walk = walks.walk(randomness.at(&key, 0, None));
            out.write_walk(&name, &walk)?;
        }
        Ok(out.finish()?)
    }
}
