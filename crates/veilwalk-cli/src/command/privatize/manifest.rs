//! What goes into the manifest of a release.

use std::path::Path;

use veilwalk::guarantee::Cover;
use veilwalk::mechanism::{BlockLength, BlockMechanism, Unit};
use veilwalk::random::SourceKind;
use veilwalk::{Mechanism, Model};
use veilwalk_io::{
    BlockPart, ChainPart, Counts as CountsPart, GuaranteePart, Manifest, MechanismPart,
    PromisePart, ReleasePart, Releasing, Tally,
};

use super::Run;

/// The manifest of a finished release.
pub(super) fn manifest(run: &Run<'_>, tally: &Tally, path: &Path, hash: String) -> Manifest {
    let (model, design, scale, block) = match &run.chosen.releasing {
        Releasing::Steps(mechanism) => {
            (mechanism.model(), mechanism.design(), scales_in_force(mechanism), None)
        }
        Releasing::Blocks(mechanism) => {
            let scale = vec![mechanism.scale().eta().to_string()];
            (mechanism.model(), mechanism.design(), scale, Some(block_part(mechanism)))
        }
    };
    let promise = run.chosen.promise;
    let (radius_nats, substitutions) = match promise.unit {
        Unit::Radius(radius) => (Some(radius.to_string()), None),
        Unit::Substitutions(count) => (None, Some(count.get())),
    };
    let vacuous = run.cover.is_vacuous();
    let randomness = match run.source.kind() {
        SourceKind::System => "system",
        SourceKind::Keyed => "key",
        SourceKind::Seeded => "seed",
    };
    let disclosed = |count: u64| run.args.disclose_counts.then_some(count);
    Manifest {
        format: Manifest::FORMAT,
        veilwalk: env!("CARGO_PKG_VERSION").to_owned(),
        private: run.source.kind() != SourceKind::Seeded && !vacuous,
        mechanism: MechanismPart {
            name: run.chosen.name.clone(),
            distance: design.distance.to_string(),
            rule: design.rule.to_string(),
            chain_weight: design.chain_weight.to_string(),
            scale,
            calibration: run.chosen.calibrate.name().to_owned(),
            block,
        },
        promise: PromisePart { epsilon: promise.epsilon.to_string(), radius_nats, substitutions },
        guarantee: guarantee_part(model, &run.cover),
        chain: ChainPart {
            hash: model.hash().to_string(),
            states: model.chain().len(),
            transitions: model.chain().transitions(),
        },
        counts: CountsPart {
            walks: tally.walks,
            steps: tally.states,
            infeasible: disclosed(tally.infeasible),
            skipped: disclosed(tally.skipped),
        },
        randomness: randomness.to_owned(),
        start: run.args.start.clone(),
        kept_columns: run.args.keep.clone(),
        release: ReleasePart {
            file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            hash,
        },
    }
}

/// The scale, or the smallest and the largest where it depends on the last released state.
pub(in crate::command) fn scales_in_force(mechanism: &Mechanism) -> Vec<String> {
    let etas = || mechanism.model().chain().states().map(|z| mechanism.scale(z).eta());
    let mut scale: Vec<String> =
        [etas().min(), etas().max()].iter().flatten().map(ToString::to_string).collect();
    scale.dedup();
    scale
}

/// How long blocks are, and what rounding costs.
pub(in crate::command) fn block_part(mechanism: &BlockMechanism) -> BlockPart {
    let (length, longest_walk) = match mechanism.length() {
        BlockLength::Steps(steps) => (steps.to_string(), None),
        BlockLength::Whole { longest } => ("all".to_owned(), Some(longest)),
    };
    BlockPart { length, longest_walk, rounding_cost: mechanism.rounding_cost() }
}

/// What a unit covers on the chain.
pub(in crate::command) fn guarantee_part(model: &Model, cover: &Cover) -> GuaranteePart {
    GuaranteePart {
        vacuous: cover.is_vacuous(),
        smallest_radius_nats: model.closest_pair().map(|pair| pair.distance.as_f64()),
        covered_states: cover.share(),
        covered_pairs: cover.covered_pairs,
    }
}
