//! `veilwalk audit`: a black-box check of the sampler that releases walks.

use std::process::ExitCode;

use anyhow::Result;
use veilwalk::Source;
use veilwalk::guarantee::Verdict;
use veilwalk::guarantee::{AuditPlan, Effort, audit};
use veilwalk::internal::guarantee::{StepSampler, audited_loss};

use crate::args::{ChainArgs, Format, MechanismArgs, any_whole, count, whole};
use crate::progress::with_progress;
use crate::{terminal, units};

/// Draw many steps and compare them with the exact kernel and the claim
///
/// The sampler is a black box: what it draws for the worst pairs of real states is compared with the
/// exact probabilities, rare outcomes included, and the counts alone give a lower bound on the loss.
/// A correct sampler fails with a chance below one in a million. Ends with status 1 if it fails.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    chain: ChainArgs,

    #[command(flatten)]
    mechanism: MechanismArgs,

    /// How many pairs of real states to look at
    #[arg(long, value_name = "COUNT", default_value_t = 12, value_parser = count::<usize>())]
    pairs: usize,

    /// How many steps to draw for each last and real state
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000,
          value_parser = whole::<u64>(1..=u64::MAX))]
    draws: u64,

    /// Take randomness from this number, to repeat an audit
    #[arg(long, value_name = "NUMBER", value_parser = any_whole::<u64>())]
    seed: Option<u64>,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let model = args.chain.model(&args.mechanism.wanted()?)?;
    let chosen = args.mechanism.on(&model)?;
    let mechanism = &chosen.mechanism;
    let losses = with_progress("comparing states", |watch| {
        audited_loss(mechanism, Effort::default(), watch)
    })?;
    let plan = AuditPlan::new(mechanism, &losses, args.pairs, args.draws);
    let source = args.seed.map_or_else(Source::system, Source::seeded);
    let mut randomness = source.open(mechanism.fingerprint())?;
    let walk = randomness.walk(b"audit");
    let mut sampler = StepSampler::new(mechanism, randomness.at(&walk, 0, None));
    let report =
        with_progress("drawing steps", |watch| audit(mechanism, &mut sampler, &plan, watch))?;
    match args.format {
        Format::Json => {
            terminal::print(format_args!("{:#}", units::json(serde_json::to_value(&report)?)))?;
        }
        Format::Text => terminal::print(report.to_string().trim_end())?,
    }
    Ok(match report.verdict {
        Verdict::Passed => ExitCode::SUCCESS,
        Verdict::Failed | Verdict::Inconclusive => ExitCode::from(1),
    })
}
