//! `veilwalk compare`: mechanisms side by side on the user's own chain.

mod delay;
mod json;
mod success;
mod text;

use std::num::NonZeroU32;

use anyhow::Result;
use veilwalk::Preset;
use veilwalk::analysis::{Comparison, Setting};
use veilwalk::guarantee::Effort;
use veilwalk::internal::compare::Basis;
use veilwalk::mechanism::{BlockLength, Epsilon, Radius, Unit};

use self::delay::Delay;
use self::success::{Success, Wanted};
use crate::args::{ChainArgs, Format, WantedMetric, count, whole};
use crate::own_walks::{OwnWalkArgs, parse_nats, start_flag, start_in_words};
use crate::progress::with_labelled_progress;
use crate::{terminal, units};

/// Compare mechanisms on a chain, and name the best for each purpose
///
/// Two comparisons are made. At equal epsilon and radius, each mechanism has the scale that its own
/// theorem gives for walks within the radius. That is what its user gets, but not a fair comparison:
/// a mechanism whose proof counts replaced states and one whose proof adds up distances protect
/// different sets of walks, and one proof may be looser than another. At equal exact loss, each
/// mechanism's scale is chosen so that a walk and the same walk with any one state replaced by the
/// worst other are told apart with odds of exactly exp(epsilon), as audited and not as proven. All
/// then give the same away about two such walks, whichever adjacency they were made for, and only
/// accuracy is left to differ.
///
/// The line to beat is the chain alone: a walk drawn without looking at the real one, which gives nothing
/// away. A mechanism that does not beat it is named. Walks that are made of observations (`tight`,
/// `believed`) are simulated, with standard errors; all other figures are exact.
///
/// With --equal-attacker there is a third one: each mechanism has the epsilon at which somebody who knows the
/// chain guesses an equal share of states right from its release.
///
/// Then it shows what a delay buys at the same epsilon: releases in blocks of several lengths, up to
/// whole walks.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    chain: ChainArgs,

    #[command(flatten)]
    own: OwnWalkArgs,

    /// The privacy parameter
    #[arg(
        long,
        value_name = "E",
        allow_negative_numbers = true,
        required_unless_present = "epsilons",
        help_heading = "Mechanisms"
    )]
    epsilon: Option<Epsilon>,

    /// Several privacy parameters, with a comparison for each
    #[arg(
        long,
        value_name = "E,…",
        value_delimiter = ',',
        allow_negative_numbers = true,
        help_heading = "Mechanisms"
    )]
    epsilons: Vec<Epsilon>,

    /// The radius of the first comparison, in nats, or in metres such as 200m; without it, only the second is made
    #[arg(
        long,
        visible_alias = "per",
        value_name = "NATS|METRES",
        allow_negative_numbers = true,
        help_heading = "Mechanisms"
    )]
    radius: Option<Radius>,

    /// Instead of a radius: the number of replaced states of the first comparison
    #[arg(
        long,
        value_name = "COUNT",
        allow_negative_numbers = true,
        value_parser = count::<NonZeroU32>(),
        conflicts_with = "radius",
        help_heading = "Mechanisms"
    )]
    substitutions: Option<NonZeroU32>,

    /// The mechanisms to compare
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        default_value = "paper,exponential,chen,sharp,cell,tight,believed",
        help_heading = "Mechanisms"
    )]
    mechanisms: Vec<Preset>,

    /// The lengths of blocks to show: numbers of steps, and `all` for whole walks
    #[arg(
        long,
        value_name = "STEPS,…",
        value_delimiter = ',',
        default_value = "1,2,5,10,25,all",
        allow_negative_numbers = true,
        help_heading = "Blocks"
    )]
    blocks: Vec<BlockLength>,

    /// How many walks are simulated for each length; if not given, what takes a few seconds
    #[arg(long, value_name = "COUNT", value_parser = whole::<u64>(2..=u64::MAX),
          allow_negative_numbers = true, help_heading = "Blocks")]
    block_walks: Option<u64>,

    /// Leave blocks out
    #[arg(long, conflicts_with_all = ["blocks", "block_walks"], help_heading = "Blocks")]
    no_blocks: bool,

    /// Also compare mechanisms at equal success of an attacker who knows the chain: at the epsilon at which this
    /// share of states is guessed right, such as 0.8, or as many as from the `closest` mechanism of the first
    /// comparison. Takes a while
    #[arg(
        long,
        value_name = "SHARE|closest",
        value_parser = success::parse,
        allow_negative_numbers = true,
        help_heading = "Mechanisms"
    )]
    equal_attacker: Option<Wanted>,

    /// The distance whose exceedance is shown, in nats. If not given: a fifth of the chain's diameter
    /// in a round number, such as 5 on the credit chain
    #[arg(long, value_name = "NATS", value_parser = parse_nats, allow_negative_numbers = true)]
    level: Option<f64>,

    /// Compare all pairs of states when losses are audited, however long it takes
    #[arg(long)]
    all_pairs: bool,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let model = args.chain.model(&WantedMetric::by(args.radius.map(Unit::Radius)))?;
    let origin = args.own.origin(model.chain())?;
    let setting = Setting {
        model: model.clone(),
        origin,
        start: args.own.start(model.chain(), origin)?,
        steps: args.own.steps,
        level: args.level.unwrap_or_else(|| Setting::usual_level(&model)),
        effort: if args.all_pairs { Effort::UNLIMITED } else { Setting::SOME_EFFORT },
    };
    let bases = args.bases();
    let (mut comparisons, mut successes, mut delays) = (Vec::new(), Vec::new(), Vec::new());
    for epsilon in args.epsilons() {
        for &basis in &bases {
            let presets = args.mechanisms();
            comparisons.push(with_labelled_progress(|tell| {
                Comparison::new(&setting, &presets, basis, epsilon, &|preset, progress| {
                    tell(&format!("{preset}: {}", progress.stage), progress.share)
                })
            })?);
        }
        if let Some(wanted) = args.equal_attacker {
            let first = &comparisons[comparisons.len() - bases.len()];
            successes.push(Success::new(&setting, &args.mechanisms(), wanted, first)?);
        }
        if !args.no_blocks {
            let promise = bases[0].promise(epsilon);
            delays.push(Delay::new(&setting, &args.blocks(), promise, args.block_walks)?);
        }
    }
    // What every command that is shown begins with.
    let chain_flags = args.chain.as_flags() + &start_flag(model.chain(), setting.start);
    let walks = format!("{}, averaged over the chain's own walks", args.own.in_words());
    let start = start_in_words(model.chain(), setting.start);
    match args.format {
        Format::Json => {
            let mut answer =
                json::answer(&setting, &walks, &start.1, &comparisons, &delays, &chain_flags)?;
            if !successes.is_empty() {
                answer["equal_attacker"] = successes.iter().map(Success::to_json).collect();
            }
            terminal::print(format_args!("{:#}", units::json(answer)))
        }
        Format::Text => {
            terminal::print(text::page(
                &setting,
                &walks,
                &start.0,
                &comparisons,
                &successes,
                &delays,
                &chain_flags,
            ))?;
            if args.radius.is_none() && args.substitutions.is_none() {
                terminal::note(
                    "give --radius for a comparison at equal epsilon and radius as well, or \
                     --substitutions for one at an equal number of replaced states",
                );
            }
            Ok(())
        }
    }
}

impl Args {
    /// What is equal in the comparisons, in their order.
    fn bases(&self) -> Vec<Basis> {
        let first = match (self.radius, self.substitutions) {
            (Some(radius), _) => Some(Basis::Radius(radius)),
            (None, Some(count)) => Some(Basis::Substitutions(count)),
            (None, None) => None,
        };
        first.into_iter().chain([Basis::Loss]).collect()
    }

    /// All of them, ascending, each once.
    fn epsilons(&self) -> Vec<Epsilon> {
        let mut all: Vec<Epsilon> = self.epsilons.iter().copied().chain(self.epsilon).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The lengths of blocks, ascending, each once.
    fn blocks(&self) -> Vec<BlockLength> {
        let mut all = self.blocks.clone();
        all.sort_by_key(|length| length.most_steps());
        all.dedup();
        all
    }

    /// The mechanisms in the order in which they were named, each once.
    fn mechanisms(&self) -> Vec<Preset> {
        let mut all = Vec::new();
        for &preset in &self.mechanisms {
            if !all.contains(&preset) {
                all.push(preset);
            }
        }
        all
    }
}

/// The command that releases walks with a mechanism of a comparison.
fn command(chain_flags: &str, comparison: &Comparison, preset: Preset) -> String {
    let epsilon = comparison.epsilon;
    let start = format!("veilwalk privatize WALKS {chain_flags} --mechanism");
    match comparison.basis {
        // The names of those that count substitutions do not go with a radius; their choices do.
        Basis::Radius(radius) => {
            let choices = match preset {
                Preset::Chen => "exponential --distance hamming",
                Preset::ExponentialHamming => "exponential",
                other => other.name(),
            };
            format!("{start} {choices} --epsilon {epsilon} --radius {radius}")
        }
        Basis::Substitutions(count) => {
            format!("{start} {preset} --epsilon {epsilon} --substitutions {count}")
        }
        Basis::Loss => {
            let how = match preset {
                // They are calibrated exactly in any case.
                Preset::Cell | Preset::Tight | Preset::Believed | Preset::Plane => "",
                _ => " --calibrate exact",
            };
            format!("{start} {preset} --epsilon {epsilon} --substitutions 1{how}")
        }
    }
}
