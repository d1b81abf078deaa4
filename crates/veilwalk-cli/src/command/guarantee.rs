//! `veilwalk guarantee`: what a promise means on a chain, before anything is released.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use veilwalk::guarantee::{Calibrated, Effort, Guarantee};
use veilwalk::internal::analysis::{Attacks, USUAL_STEPS, attack_in_words, usual_attack};
use veilwalk::internal::cell::CellScale;
use veilwalk::internal::guarantee::{Coverage, Observed};
use veilwalk::internal::request::{Made, PersonTotal};
use veilwalk::mechanism::Calibration;
use veilwalk::{Distance, Watch};

use crate::args::{Format, ReleaseArgs, count};
use crate::progress::{with_progress, with_stages};
use crate::{terminal, units};

/// Say in words and numbers what epsilon and a radius mean on this chain
///
/// Computed exactly and from public things only: the chain, the mechanism and its parameters.
/// Figures are rounded up. Ends with status 1 if the guarantee is empty: then no two different walks
/// are within the radius, and `veilwalk privatize` would refuse to release anything.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseArgs,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Compare all pairs of states, however long it takes; with --block, spend minutes on exact
    /// losses
    #[arg(long)]
    all_pairs: bool,

    /// Count how often somebody who knows the chain guesses right, however long it takes; on small chains that
    /// is done in any case. `veilwalk attack` has more of it
    #[arg(long)]
    attack: bool,

    /// Say too what it comes to for somebody who has so many walks
    #[arg(long, value_name = "COUNT", value_parser = count::<NonZeroU64>())]
    walks_per_person: Option<NonZeroU64>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let asked = args.release.asked()?;
    let length = asked.request.block;
    let model = if length.is_some() { args.release.model()? } else { args.release.any_model()? };
    let chosen = asked.on(&model)?;
    let effort = if args.all_pairs { Effort::UNLIMITED } else { Effort::default() };
    let comparing = if length.is_some() { "comparing blocks" } else { "comparing states" };
    let mut guarantee =
        with_progress(comparing, |watch| Guarantee::new(&chosen.mechanism, effort, watch))?;
    if length.is_some() {
        guarantee.mechanism.clone_from(&chosen.name);
    }
    let when = if args.attack { Attacks::Always } else { Attacks::WhereQuick };
    let attacker = match guarantee.vacuous {
        true => None,
        false => with_stages(|watch| usual_attack(&chosen.mechanism, when, watch))?,
    };
    let person = args.walks_per_person.map(|walks| {
        let epsilon = chosen.promise.epsilon.value();
        PersonTotal { epsilon, walks }
    });
    match args.format {
        Format::Json => {
            let mut answer = serde_json::to_value(&guarantee)?;
            if let Some(found) = &attacker {
                answer["attacker"] = serde_json::to_value(found)?;
                answer["attacker"]["steps"] = USUAL_STEPS.into();
                answer["attacker"]["in_words"] = attack_in_words(found, model.chain()).into();
            }
            answer["mechanism"] = chosen.name.clone().into();
            if length.is_none() {
                answer["calibration"] = serde_json::to_value(chosen.calibrated)?;
            }
            if let Some(observation) = Observed::of(&chosen.mechanism) {
                answer["observation"] = serde_json::to_value(observation)?;
            }
            if let Some(certificate) = chosen.mechanism.certificate() {
                if let Some((min, max)) = cell_gains(&chosen)? {
                    answer["calibration"] = json!({ "gain": { "min": min, "max": max } });
                }
                let states = model.chain().states().map(|state| model.chain().label(state));
                answer["certificate"] = states
                    .zip(certificate)
                    .map(|(state, c)| {
                        json!({
                            "previous": state,
                            "scale": c.scale.eta().to_string(),
                            "loss": c.loss,
                            "obtained": c.obtained.name(),
                        })
                    })
                    .collect();
            }
            if let Some(visit) = args.release.mechanism.visit() {
                answer["visit"] = json!({
                    "stay": visit.stay.to_string(),
                    "every": visit.every.to_string(),
                    "substitutions": visit.substitutions(),
                    "in_words": visit.to_string(),
                });
            }
            if let Some(person) = person {
                answer["person"] = json!({
                    "walks": person.walks,
                    "epsilon": person.total().map(|total| total.to_string()),
                    "in_words": person.to_string(),
                });
            }
            terminal::print(format_args!("{:#}", units::json(answer)))?;
        }
        Format::Text => {
            if let Some(visit) = args.release.mechanism.visit() {
                terminal::print(format_args!("{}\n", terminal::wrapped(&visit.to_string())))?;
            }
            terminal::print(guarantee.to_string().trim_end())?;
            if let Some(found) = &attacker {
                terminal::print(format_args!("\nWhat somebody who knows the chain can guess"))?;
                let words = attack_in_words(found, model.chain());
                terminal::print(terminal::wrapped(&words))?;
            }
            if let Some(person) = person {
                terminal::print(format_args!("\n{}", terminal::wrapped(&person.to_string())))?;
            }
            if let Some(words) = Observed::of(&chosen.mechanism) {
                terminal::print(format_args!("\n{words}"))?;
            }
            if let Some(found) = &chosen.calibrated {
                terminal::print(format_args!(
                    "\n{}",
                    in_words(&chosen, found, guarantee.radius_nats)
                ))?;
            }
            if let Some(certificate) = chosen.mechanism.certificate() {
                let words = cells_in_words(&chosen, certificate, guarantee.radius_nats)?;
                terminal::print(format_args!("\n{words}"))?;
            }
        }
    }
    Ok(status(guarantee.vacuous))
}

/// The status: a promise of nothing is not a success.
fn status(vacuous: bool) -> ExitCode {
    if vacuous { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

/// What an exact calibration gained, and what it gave up.
fn in_words(chosen: &Made, found: &Calibrated, radius: Option<f64>) -> String {
    let compared = match found.coverage {
        Coverage::AllPairs => "every pair of states that matters",
        Coverage::TransitionsOnly => "all transitions, and bounds for the other pairs",
    };
    // The last digit shown is rounded up, as all losses are.
    let audited = ((found.audited_epsilon * 1e6).ceil() / 1e6).min(found.epsilon);
    let mut text = format!(
        "Calibrated exactly\n  {:<37}{:.3} times the theorem's, {:.7} instead of {:.7}\n  \
         {:<37}{audited:.6} of {} promised\n  {:<37}{compared}; {} audits",
        "scale",
        found.gain,
        found.scale,
        found.theorem_scale,
        "audited epsilon",
        found.epsilon,
        "compared",
        found.trials,
    );
    // Only distances along transitions have a loss for each nat.
    let by_nats = chosen.mechanism.design().distance != Distance::Hamming;
    if let Some(radius) = radius.filter(|_| by_nats) {
        text += &format!(
            "\n  Beyond the radius nothing is promised. (By the theorem's scale, walks within {} \
             would\n  still have had epsilon {}.)",
            units::number(2.0 * radius),
            2.0 * found.epsilon
        );
    }
    text
}

/// What is certified of the scales of cells, and what was gained over the theorem's.
fn cells_in_words(chosen: &Made, certificate: &[CellScale], radius: Option<f64>) -> Result<String> {
    let mut how = BTreeMap::new();
    for each in certificate {
        *how.entry(each.obtained.name()).or_insert(0usize) += 1;
    }
    let how: Vec<String> = how.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let worst = certificate.iter().map(|each| each.loss).fold(0.0, f64::max);
    let unit = if radius.is_some() { units::measure().one() } else { "replaced state" };
    let worst = if radius.is_some() { units::measure().shown_rate(worst) } else { worst };
    let mut text = format!(
        "Each last released state has a scale of its own: {}.\nThe largest certified loss is \
         {:.6} per {unit}. --format json lists them all.",
        how.join(", "),
        (worst * 1e6).ceil() / 1e6
    );
    if let Some((least, most)) = cell_gains(chosen)? {
        text += &format!(
            "\nCalibrated exactly, these scales are {least:.3} to {most:.3} times the theorem's."
        );
    }
    Ok(text)
}

/// The smallest and the largest gain over the theorem's scale, if cells were calibrated exactly.
fn cell_gains(chosen: &Made) -> Result<Option<(f64, f64)>> {
    if chosen.calibration != Calibration::Exact {
        return Ok(None);
    }
    let gains = |watch: Watch<'_>| chosen.mechanism.gains_over_theorem(watch);
    Ok(with_progress("calibrating by the theorem", gains)?)
}
