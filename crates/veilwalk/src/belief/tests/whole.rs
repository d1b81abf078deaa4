//! A step over all states at once, beside the list of what is predicted and its update.

use super::*;
use crate::mechanism::{CostScale, LogRow};
use crate::nats::Nats;

/// What observations say: how far each state is from each of them, and a term for each state. Some states
/// are so far that they count as impossible.
#[derive(Clone, Debug)]
struct Rows {
    distances: Vec<Vec<Nats>>,
    factors: Vec<f64>,
}

fn rows(most: usize) -> impl Strategy<Value = Rows> {
    let nats =
        prop_oneof![2 => 0.0f64..3.0, 4 => 0.0f64..20.0, 1 => Just(0.0), 1 => 500.0f64..900.0];
    let units = nats.prop_map(|nats| Nats::from_units((nats * f64::from(Nats::PER_NAT)) as u32));
    let distances = vec(vec(units, most), 1..=8);
    let factors = prop_oneof![vec(-1e-15f64..1e-15, most), vec(-5.0f64..5.0, most)];
    (distances, factors).prop_map(|(distances, factors)| Rows { distances, factors })
}

/// Follows the same observations both ways. Gives how many steps were taken over all states at once.
fn compare(
    model: &Arc<Model>,
    rows: &Rows,
    tracking: Tracking,
    threshold: f64,
) -> Result<usize, TestCaseError> {
    let scale = CostScale::from_parts([3, 0, 4]).unwrap();
    let states = model.chain().len();
    let mut listed = Run::new(model, tracking, threshold);
    let mut whole = Run::new(model, tracking, threshold);
    let mut at_once = 0;
    for distances in &rows.distances {
        let row = LogRow::new(scale, &rows.factors[..states], &distances[..states]);
        let Run { tracker, track, space, released } = &mut listed;
        let mut logs = Vec::new();
        row.fill(track.predicted(tracker, space).states(), &mut logs);
        track.observe(tracker, &logs, space, released);
        let Run { tracker, track, space, released } = &mut whole;
        let moves = track.standing == Standing::Observed;
        at_once += usize::from(moves && track.belief.moves_widely(model.chain()));
        track.observe_row(tracker, row, space, released);
        prop_assert_eq!(&track.belief, &listed.track.belief);
        prop_assert_eq!(&track.window, &listed.track.window);
        prop_assert_eq!((track.last, track.standing), (listed.track.last, listed.track.standing));
        prop_assert_eq!(track.surprises, listed.track.surprises);
        prop_assert!((track.dropped - listed.track.dropped).abs() < 1e-12);
    }
    listed.finish();
    whole.finish();
    prop_assert_eq!(whole.released, listed.released);
    Ok(at_once)
}

proptest! {
    #[test]
    fn a_step_at_once_is_the_two_steps_to_the_last_bit(
        model in chains(12, Contrast::Moderate),
        rows in rows(12),
        lag in 0u32..3,
        threshold in prop_oneof![Just(0.0), Just(1e-6), Just(0.05)],
    ) {
        // The first step starts with the initial distribution; all others are taken at once on a chain so small.
        let at_once = compare(&model, &rows, with_lag(lag), threshold)?;
        prop_assert!(model.chain().len() >= 8 || at_once == rows.distances.len() - 1);
    }

    /// With more states than there are bits in a word or lanes in a register.
    #[test]
    fn a_step_at_once_over_many_states(rows in rows(150), lag in 0u32..2) {
        let model = pinned::scattered();
        let at_once = compare(&model, &rows, with_lag(lag), Tracker::PRUNED_BELOW)?;
        prop_assert!(at_once >= rows.distances.len().saturating_sub(1) / 2);
    }
}
