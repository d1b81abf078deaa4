//! Noisy counts made counts again, of which none is negative.
//!
//! To set negative counts to zero alone would make rare moves too likely: noise that is negative is cut off, and
//! noise that is positive stays. So the same amount is taken off every count that remains, such that the sum of
//! a row stays what the noise made of it. Of all counts from zero up with that sum these are the nearest
//! ones (the projection onto a simplex; Wang et al. 2020 call it Norm-Sub).

/// The nearest counts from zero up with the same sum; all zero if the sum is not positive.
pub(super) fn consistent(noisy: &[i64]) -> Vec<f64> {
    let sum: i128 = noisy.iter().map(|&count| i128::from(count)).sum();
    if sum <= 0 {
        return vec![0.0; noisy.len()];
    }
    let mut ordered = noisy.to_vec();
    ordered.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
    // The largest counts stay, as many as are above what has to be taken off each.
    let (mut taken_off, mut above) = (0.0, 0i128);
    for (place, &count) in ordered.iter().enumerate() {
        above += i128::from(count);
        let staying = place as i128 + 1;
        // `count > (above − sum)/staying`, in whole numbers.
        if i128::from(count) * staying <= above - sum {
            break;
        }
        taken_off = (above - sum) as f64 / staying as f64;
    }
    noisy.iter().map(|&count| (count as f64 - taken_off).max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        assert_eq!(consistent(&[5, 0, 3]), [5.0, 0.0, 3.0]);
        assert_eq!(consistent(&[10, -2, 4]), [9.0, 0.0, 3.0]);
        assert_eq!(consistent(&[10, -9, 1]), [2.0, 0.0, 0.0]);
        assert_eq!(consistent(&[3, -5, 1]), [0.0; 3]);
        assert_eq!(consistent(&[i64::MAX, i64::MAX]), [i64::MAX as f64; 2]);
        assert_eq!(consistent(&[]), [0.0; 0]);
    }

    proptest! {
        /// The slow way: halve the interval that what is taken off lies in.
        #[test]
        fn what_is_taken_off_keeps_the_sum(noisy in proptest::collection::vec(-50i64..100, 1..12)) {
            let sum = noisy.iter().sum::<i64>() as f64;
            let found = consistent(&noisy);
            prop_assert!(found.iter().all(|&count| count >= 0.0));
            prop_assert!((found.iter().sum::<f64>() - sum.max(0.0)).abs() < 1e-9);
            let after = |off: f64| noisy.iter().map(move |&count| (count as f64 - off).max(0.0));
            let (mut low, mut high) = (0.0, 200.0);
            for _ in 0..100 {
                let middle = (low + high) / 2.0;
                if after(middle).sum::<f64>() > sum.max(0.0) { low = middle } else { high = middle }
            }
            for (one, other) in found.iter().zip(after(high)) {
                prop_assert!((one - other).abs() < 1e-6);
            }
        }
    }
}
