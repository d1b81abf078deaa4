//! `veilwalk compare`: mechanisms side by side on the user's own chain.

mod delay;
mod flags;
mod json;
mod success;
mod text;

use anyhow::Result;
use veilwalk::Preset;
use veilwalk::analysis::{Comparison, Setting};
use veilwalk::guarantee::Effort;
use veilwalk::internal::compare::Basis;
use veilwalk::mechanism::Unit;

use self::delay::Delay;
use self::flags::{BlockArgs, PromiseArgs};
use self::success::Success;
use crate::args::{ChainArgs, Format, WantedMetric};
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

    #[command(flatten)]
    promises: PromiseArgs,

    #[command(flatten)]
    delays: BlockArgs,

    /// The distance whose exceedance is shown, in nats. If not given: a fifth of the chain's diameter
    /// in a round number, such as 5 on the credit chain
    #[arg(long, value_name = "NATS", value_parser = parse_nats)]
    level: Option<f64>,

    /// Compare all pairs of states when losses are audited, however long it takes
    #[arg(long)]
    all_pairs: bool,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let model = args.chain.model(&WantedMetric::by(args.promises.radius.map(Unit::Radius)))?;
    let origin = args.own.origin(model.chain())?;
    let setting = Setting {
        model: model.clone(),
        origin,
        start: args.own.start(model.chain(), origin)?,
        steps: args.own.steps,
        level: args.level.unwrap_or_else(|| Setting::usual_level(&model)),
        effort: if args.all_pairs { Effort::UNLIMITED } else { Setting::SOME_EFFORT },
    };
    let bases = args.promises.bases();
    let (mut comparisons, mut successes, mut delays) = (Vec::new(), Vec::new(), Vec::new());
    for epsilon in args.promises.epsilons() {
        for &basis in &bases {
            let presets = args.promises.mechanisms();
            comparisons.push(with_labelled_progress(|tell| {
                Comparison::new(&setting, &presets, basis, epsilon, &|preset, progress| {
                    tell(&format!("{preset}: {}", progress.stage), progress.share)
                })
            })?);
        }
        if let Some(wanted) = args.promises.equal_attacker {
            let first = &comparisons[comparisons.len() - bases.len()];
            successes.push(Success::new(&setting, &args.promises.mechanisms(), wanted, first)?);
        }
        if !args.delays.no_blocks {
            let promise = bases[0].promise(epsilon);
            delays.push(Delay::new(
                &setting,
                &args.delays.lengths(),
                promise,
                args.delays.block_walks,
            )?);
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
            if args.promises.radius.is_none() && args.promises.substitutions.is_none() {
                terminal::note(
                    "give --radius for a comparison at equal epsilon and radius as well, or \
                     --substitutions for one at an equal number of replaced states",
                );
            }
            Ok(())
        }
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
