//! `veilwalk verify`: whether a release is what its manifest says.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use veilwalk::analysis::tune::name_of;
use veilwalk::guarantee::Cover;
use veilwalk::mechanism::{BlockLength, BlockMechanism, Unit};
use veilwalk::{Design, Model, Preset, Promise, StateId};
use veilwalk_io::{BlockPart, GuaranteePart, Manifest, WalkOptions, WalkReader, hash_file};

use super::privatize::{block_part, guarantee_part, scales_in_force};
use crate::args::{Calibrate, ChainArgs, calibrated, counted};
use crate::terminal;

/// Check a release against its manifest and the chain
///
/// The file and the chain have to be those of the manifest, every released state has to be one of
/// the chain's, and every move a possible one. The scale and the guarantee are computed again from
/// what the manifest says was promised. The manifest is not signed: whoever can write both files can
/// forge both.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The release; its manifest is beside it
    release: PathBuf,

    #[command(flatten)]
    chain: ChainArgs,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let name = args.release.display();
    let manifest = Manifest::read_for(&args.release)?;
    let model = args.chain.any_model()?;
    let chain = model.chain();
    if chain.hash().to_string() != manifest.chain.hash {
        bail!(
            "{name}: released under a chain with hash {}, and this one has {}; give the chain, \
             --normalize, --largest-component and --initial of the release",
            manifest.chain.hash,
            chain.hash()
        );
    }
    let hash = hash_file(&args.release)?;
    if hash != manifest.release.hash {
        bail!(
            "{name}: the file has hash {hash}, and its manifest says {}; it was changed after the \
             release",
            manifest.release.hash
        );
    }
    let mut reader = WalkReader::open(&args.release, WalkOptions::default())?;
    let mut last: HashMap<String, StateId> = HashMap::new();
    let mut steps = 0u64;
    while let Some(row) = reader.next_row()? {
        let Some(state) = chain.state(row.state) else {
            bail!("{name}, {}: {:?} is not a state of the chain", row.place, row.state);
        };
        steps += 1;
        if let Some(previous) = last.insert(row.trajectory.to_owned(), state)
            && !chain.allows(previous, state)
        {
            bail!(
                "{name}, {}: the chain cannot move from {:?} to {:?}",
                row.place,
                chain.label(previous),
                row.state
            );
        }
    }
    if (last.len() as u64, steps) != (manifest.counts.walks, manifest.counts.steps) {
        bail!(
            "{name}: {} walks and {steps} states, where the manifest counts {} and {}",
            last.len(),
            manifest.counts.walks,
            manifest.counts.steps
        );
    }
    recompute(&manifest, &model).with_context(|| name.to_string())?;
    terminal::print(format_args!(
        "{name}: {}, {}, every move possible under the chain; file, chain, scale and guarantee are \
         those of the manifest",
        counted(last.len(), "walk"),
        counted(steps as usize, "state")
    ))?;
    if !manifest.private {
        terminal::warning(format!(
            "{name}: the manifest says that this release is not private (randomness: {}{})",
            manifest.randomness,
            if manifest.guarantee.vacuous { "; nothing is within the radius" } else { "" }
        ));
    }
    if manifest.start == "first" {
        terminal::warning(format!("{name}: the first state of every walk is the real one"));
    }
    if !manifest.kept_columns.is_empty() {
        let kept = manifest.kept_columns.join(", ");
        terminal::warning(format!("{name}: {kept} was copied as it is, unprotected"));
    }
    Ok(())
}

/// What follows from the promise and the choices in the manifest has to be what the manifest says.
fn recompute(manifest: &Manifest, model: &Arc<Model>) -> Result<()> {
    let (told, promised) = (&manifest.mechanism, &manifest.promise);
    let design = Design {
        distance: told.distance.parse()?,
        rule: told.rule.parse()?,
        chain_weight: told.chain_weight.parse()?,
    };
    let unit = match (&promised.radius_nats, promised.substitutions.and_then(NonZeroU32::new)) {
        (Some(radius), None) => Unit::Radius(radius.parse()?),
        (None, Some(count)) => Unit::Substitutions(count),
        _ => bail!("the manifest has to promise for either a radius or substitutions"),
    };
    let promise = Promise { epsilon: promised.epsilon.parse()?, unit };
    let calibrate = Calibrate::named(&told.calibration)?;
    let (scale, block) = match &told.block {
        None => (scales_in_force(&calibrated(model, design, promise, calibrate)?.0), None),
        Some(block) => {
            let length = match (block.length.parse()?, block.longest_walk) {
                (BlockLength::Whole { .. }, Some(longest)) => BlockLength::Whole { longest },
                (length, _) => length,
            };
            let mechanism = BlockMechanism::new(model.clone(), design, promise, length)?;
            (vec![mechanism.scale().eta().to_string()], Some(block_part(&mechanism)))
        }
    };
    let agree = |what: &str, told: String, found: String| {
        if told == found {
            return Ok(());
        }
        bail!("the manifest says {what} {told}, and what it promises gives {found}")
    };
    agree("scale", told.scale.join(" to "), scale.join(" to "))?;
    let rounding = |block: &Option<BlockPart>| match block {
        Some(block) => format!("{:.6e}", block.rounding_cost),
        None => "none".to_owned(),
    };
    agree("rounding cost", rounding(&told.block), rounding(&block))?;
    let named = name_of(design, unit).map(|preset| preset.name());
    let known = Preset::NAMES.iter().any(|(name, _)| *name == told.name);
    if known && named != Some(told.name.as_str()) {
        bail!("the manifest calls the mechanism {}, and its choices are not those", told.name);
    }
    let (told, found) = (&manifest.guarantee, guarantee_part(model, &Cover::new(model, unit)));
    // Six digits: numbers that went through a text file may differ in the last of a double.
    let figures = |part: &GuaranteePart| {
        let smallest = part.smallest_radius_nats.unwrap_or(0.0);
        let (vacuous, share, pairs) = (part.vacuous, part.covered_states, part.covered_pairs);
        format!("vacuous {vacuous}, from {smallest:.6} nats, {share:.6} of states, {pairs} pairs")
    };
    agree("guarantee", figures(told), figures(&found))?;
    let private = manifest.randomness != "seed" && !found.vacuous;
    agree("private", manifest.private.to_string(), private.to_string())
}
