//! A distribution over anything that has a number: pairs of states, patterns, lengths.

/// Shares that add up to one, by key, in the order of the keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares(Vec<(u128, f64)>);

impl Shares {
    /// The shares of what was counted: a key may come many times. Empty if nothing was counted.
    #[must_use]
    pub fn of_counts(mut counts: Vec<(u128, f64)>) -> Self {
        counts.sort_unstable_by_key(|&(key, _)| key);
        counts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        counts.retain(|&(_, count)| count > 0.0);
        let total: f64 = counts.iter().map(|(_, count)| count).sum();
        counts.iter_mut().for_each(|(_, count)| *count /= total);
        Self(counts)
    }

    /// The shares of numbers that are in place of their keys.
    #[must_use]
    pub fn of_list(counts: &[f64]) -> Self {
        Self::of_counts(
            counts.iter().enumerate().map(|(key, &count)| (key as u128, count)).collect(),
        )
    }

    /// The share of a key.
    #[must_use]
    pub fn of(&self, key: u128) -> f64 {
        let place = self.0.binary_search_by_key(&key, |&(key, _)| key);
        place.map_or(0.0, |place| self.0[place].1)
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys of the largest shares, the largest first; of equal ones, the smaller key first.
    #[must_use]
    pub fn top(&self, count: usize) -> Vec<u128> {
        let mut ordered = self.0.clone();
        ordered.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ordered.into_iter().take(count).map(|(key, _)| key).collect()
    }

    /// Both shares of every key that either has.
    pub(crate) fn pairs<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (f64, f64)> + 'a {
        let (mut one, mut two) = (self.0.iter().peekable(), other.0.iter().peekable());
        std::iter::from_fn(move || match (one.peek().copied(), two.peek().copied()) {
            (Some(a), Some(b)) if a.0 == b.0 => {
                one.next();
                two.next();
                Some((a.1, b.1))
            }
            (Some(a), Some(b)) if a.0 > b.0 => {
                two.next();
                Some((0.0, b.1))
            }
            (Some(a), _) => {
                one.next();
                Some((a.1, 0.0))
            }
            (None, Some(b)) => {
                two.next();
                Some((0.0, b.1))
            }
            (None, None) => None,
        })
    }
}
