//! What was inferred of walks, as the rows of tables.

use veilwalk::StateId;
use veilwalk::inference::RefinedWalk;
use veilwalk_io::{ColumnKind, ColumnValues};

/// The columns of refined walks.
pub(super) const WALKS: [(&str, ColumnKind); 5] = [
    ("trajectory", ColumnKind::Names),
    ("step", ColumnKind::Whole),
    ("state", ColumnKind::States),
    ("released", ColumnKind::States),
    ("confidence", ColumnKind::Numbers),
];

pub(super) fn walk_rows(
    names: &[String],
    released: &[Vec<StateId>],
    walks: &[RefinedWalk],
) -> Vec<ColumnValues> {
    let each = || walks.iter().map(|walk| &walk.refined);
    let names = names.iter().cloned().zip(each().map(|walk| walk.states.len()));
    vec![
        ColumnValues::Names(names.collect()),
        ColumnValues::Whole(each().flat_map(|walk| 0..walk.states.len() as i64).collect()),
        ColumnValues::States(each().flat_map(|walk| walk.states.iter().copied()).collect()),
        ColumnValues::States(released.iter().flatten().copied().collect()),
        ColumnValues::Numbers(each().flat_map(|walk| walk.confidence.iter().copied()).collect()),
    ]
}

/// The columns of likely states.
pub(super) const POSTERIOR: [(&str, ColumnKind); 4] = [
    ("trajectory", ColumnKind::Names),
    ("step", ColumnKind::Whole),
    ("state", ColumnKind::States),
    ("probability", ColumnKind::Numbers),
];

pub(super) fn posterior_rows(names: &[String], walks: Vec<RefinedWalk>) -> Vec<ColumnValues> {
    let (mut of_walks, mut steps, mut states, mut probabilities) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (name, walk) in names.iter().zip(walks) {
        of_walks.push((name.clone(), walk.likely.iter().map(Vec::len).sum()));
        for (step, likely) in (0..).zip(walk.likely) {
            for (state, probability) in likely {
                steps.push(step);
                states.push(state);
                probabilities.push(probability);
            }
        }
    }
    vec![
        ColumnValues::Names(of_walks),
        ColumnValues::Whole(steps),
        ColumnValues::States(states),
        ColumnValues::Numbers(probabilities),
    ]
}
