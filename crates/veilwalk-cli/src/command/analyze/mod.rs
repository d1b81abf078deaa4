//! `veilwalk analyze`: how good a release is, computed rather than simulated.

mod blocks;
mod json;
mod text;

use anyhow::{Result, bail};
use veilwalk::analysis::{AnalysisEffort, Plan};
use veilwalk::analysis::{Inquiry, usual_levels};
use veilwalk::guarantee::Cover;
use veilwalk::mechanism::BlockLength;
use veilwalk::{Model, Promise, Start};

pub(crate) use self::blocks::refuse_too_long;
pub(crate) use self::text::{chance, percent};
use crate::args::{Format, any_whole, whole};
use crate::own_walks::{parse_nats, start_in_words};
use crate::progress::with_stages;
use crate::real_walks::RealWalks;
use crate::study::{Study, StudyArgs};
use crate::{terminal, units};

/// Compute how good a release is: distance, wrong states, entropy, drift, bounds
///
/// Exact where nothing else is said: kernels are known, so nothing has to be simulated. Figures are
/// averages over the chain's own walks, which tells nothing about real ones, or with --real over
/// given walks. With --block, figures are exact for given walks and simulated for the chain's own; for
/// walks that are made of observations they are always simulated.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Figures")]
pub(crate) struct Args {
    #[command(flatten)]
    study: StudyArgs,

    /// Distances whose exceedance is computed, in nats. If not given: a tenth, two, four and six tenths
    /// of the chain's diameter in round numbers, such as 2,5,10,15 on the credit chain
    #[arg(long, value_name = "NATS,…", value_delimiter = ',', value_parser = parse_nats)]
    levels: Vec<f64>,

    /// How far a typical walk may be from the chain's entropy rate, in nats per transition
    #[arg(long, value_name = "NATS,…", value_delimiter = ',', default_value = "0.1,0.5",
          value_parser = parse_nats)]
    eta: Vec<f64>,

    /// Simulate this many walks as well (with --real: this many releases of each walk), for the same
    /// figures with standard errors by an independent route
    #[arg(long, value_name = "WALKS", value_parser = whole::<u64>(2..=u64::MAX))]
    simulate: Option<u64>,

    /// Take the randomness of simulated walks from this number
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = any_whole::<u64>())]
    seed: u64,

    /// Compute everything, however long it takes and whatever memory it needs
    #[arg(long)]
    thorough: bool,

    /// With --format json, give the figures of every step as well
    #[arg(long)]
    by_step: bool,

    /// How to print it
    #[arg(long, value_enum, default_value_t, help_heading = None)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.by_step && args.format == Format::Text {
        bail!("--by-step is for programs; give --format json with it");
    }
    let model = args.study.release.model()?;
    let chain = model.chain();
    let Study { origin, start, real } = args.study.read(chain)?;
    let asked = args.study.release.asked()?.starting(start);
    let length = asked.request.block;
    Args::warn_of_nothing_protected(&model, asked.request.promise);
    let real = real.as_ref();
    let levels = match args.levels.as_slice() {
        [] => usual_levels(&model),
        given => given.iter().map(|&level| units::inside(level)).collect(),
    };
    let inquiry = Inquiry {
        origin,
        steps: args.study.own.steps,
        start,
        real: real.map(|real| real.walks.as_slice()),
        levels: &levels,
        etas: &args.eta,
        simulate: args.simulate,
        seed: args.seed,
    };
    let chosen = asked.on(&model)?;
    if let Some(length) = length {
        let whose = if real.is_some() { "the walks of --real" } else { "the walks" };
        refuse_too_long(length, inquiry.longest(), whose)?;
    }
    let effort =
        if args.thorough { AnalysisEffort::WHATEVER_IT_TAKES } else { AnalysisEffort::SOME };
    let plan = Plan { mechanism: &chosen.mechanism, inquiry, effort };
    let found = with_stages(|watch| plan.carry_out(watch))?;
    let subject = args.subject(&model, chosen.name, chosen.promise, length, start, real);
    match args.format {
        Format::Json => {
            let answer = json::answer(&subject, &found, args.by_step)?;
            terminal::print(format_args!("{:#}", units::json(answer)))
        }
        Format::Text => terminal::print(text::page(&subject, &found)),
    }
}

/// What was analyzed, by name.
struct Subject {
    mechanism: String,
    promise: String,
    /// How long blocks are; none for one state at a time.
    block: Option<BlockLength>,
    /// The real walks.
    walks: String,
    /// How releases start, in words and as the flag has it.
    start: (String, String),
    /// How many real moves the chain does not have; none where walks are its own.
    impossible_moves: usize,
    states: usize,
    transitions: usize,
}

impl Args {
    fn subject(
        &self,
        model: &Model,
        mechanism: String,
        promise: Promise,
        block: Option<BlockLength>,
        start: Start,
        real: Option<&RealWalks>,
    ) -> Subject {
        let chain = model.chain();
        Subject {
            mechanism,
            promise: promise.to_string(),
            block,
            walks: match real {
                Some(real) => real.in_words(),
                None => {
                    format!("{}, averaged over the chain's own walks", self.study.own.in_words())
                }
            },
            start: start_in_words(chain, start),
            impossible_moves: real.map_or(0, |real| real.impossible_moves),
            states: chain.len(),
            transitions: chain.transitions(),
        }
    }

    fn warn_of_nothing_protected(model: &Model, promise: Promise) {
        let cover = Cover::new(model, promise.unit);
        if let (true, Some(closest)) = (cover.is_vacuous(), model.closest_pair()) {
            terminal::warning(format!(
                "no two different walks are within {}, so this promise protects nothing; the closest \
                 two states are {} apart",
                promise.unit,
                units::distance(closest.distance)
            ));
        }
    }
}
