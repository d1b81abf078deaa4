//! What goes into the manifest of a release.

use std::path::Path;

use veilwalk_io::{Counts, FinishedRelease, Manifest, PersonsPart, Tally};

use super::Run;

/// The manifest of a finished release.
pub(super) fn manifest(
    run: &Run<'_>,
    tally: &Tally,
    most_walks: Option<u64>,
    path: &Path,
    hash: String,
) -> Manifest {
    let disclosed = |count: u64| run.args.disclose_counts.then_some(count);
    Manifest::describing(FinishedRelease {
        name: &run.chosen.name,
        mechanism: &run.chosen.mechanism,
        promise: run.chosen.promise,
        calibration: run.chosen.calibration,
        cover: &run.cover,
        source: run.source.kind(),
        release_id: run.release_id,
        start: &run.args.start,
        kept_columns: &run.args.keep,
        unknown_states: run.unknown_states,
        counts: Counts {
            walks: tally.walks,
            steps: tally.states,
            infeasible: disclosed(tally.infeasible),
            skipped: disclosed(tally.skipped),
            vanished: disclosed(tally.vanished),
            replaced: disclosed(tally.replaced),
        },
        persons: run.args.person_column().map(|_| PersonsPart {
            losses_add_up: true,
            most_walks: most_walks.and_then(disclosed),
        }),
        file: path,
        hash,
    })
}
