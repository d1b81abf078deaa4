//! Which distances are worth asking about, where nobody says: a few round numbers across the chain.

use crate::model::Model;

/// A tenth, two, four and six tenths of the chain's diameter, in round numbers of nats or metres; none if all
/// states are at distance zero. On the credit chain these are 2, 5, 10 and 15.
///
/// # Panics
///
/// If the model has [no tables](Model::require_tables).
#[must_use]
pub fn usual_levels(model: &Model) -> Vec<f64> {
    let measure = model.measure();
    let levels = across(measure.of(model.diameter().distance));
    levels.into_iter().map(|level| measure.inside(level)).collect()
}

fn across(diameter: f64) -> Vec<f64> {
    if diameter <= 0.0 {
        return Vec::new();
    }
    [0.1, 0.2, 0.4, 0.6].map(|share| round(share * diameter)).into()
}

/// The nearest number that has one digit, or one and a half.
fn round(number: f64) -> f64 {
    // Two neighbours are less than half as much again apart, so different shares stay different.
    const ROUND: [i32; 9] = [10, 15, 20, 30, 40, 50, 60, 80, 100];
    let power = number.log10().floor() as i32 - 1;
    // Decimals come out as they are written: 0.3, not 0.30000000000000004.
    let scaled = |digits: i32| match power {
        0.. => f64::from(digits) * 10f64.powi(power),
        _ => f64::from(digits) / 10f64.powi(-power),
    };
    let off = |digits: &i32| (scaled(*digits) - number).abs();
    let nearest = ROUND.into_iter().min_by(|a, b| off(a).total_cmp(&off(b)));
    scaled(nearest.unwrap_or(ROUND[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_chains_have_round_levels() {
        let of = |chain| usual_levels(&Model::new(chain).unwrap());
        assert_eq!(of(crate::Chain::credit()), [2.0, 5.0, 10.0, 15.0]);
        assert_eq!(across(21.3558), [2.0, 4.0, 8.0, 15.0]);
        assert_eq!(across(1.0), [0.1, 0.2, 0.4, 0.6]);
        assert_eq!(across(0.5), [0.05, 0.1, 0.2, 0.3]);
        assert_eq!(across(1999.0), [200.0, 400.0, 800.0, 1000.0]);
        assert!(across(0.0).is_empty());
    }

    proptest! {
        #[test]
        fn levels_ascend_and_stay_inside(diameter in 1e-6f64..4096.0) {
            let levels = across(diameter);
            prop_assert_eq!(levels.len(), 4);
            prop_assert!(levels.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", levels);
            prop_assert!(levels[0] > 0.0 && levels[3] < diameter, "{:?}", levels);
        }
    }
}
