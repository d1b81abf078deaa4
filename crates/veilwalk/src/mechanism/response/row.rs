//! What an observation says about real states, several of them at a time.

use pulp::{Arch, Simd, WithSimd};

use crate::chain::StateId;
use crate::mechanism::CostScale;
use crate::nats::Nats;

/// `ln K(y | x)` of one observation `y` for every real state `x`, but for a constant: `−ln A(x)` less what
/// `y` costs. The same on every machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogRow<'a> {
    /// `−ln A(x)` of every state.
    factors: &'a [f64],
    /// How far each state is from what was observed.
    distances: &'a [Nats],
    /// What a unit of distance costs, over the scale's denominator.
    per_distance: f64,
    /// One over the denominator.
    per_cost: f64,
}

impl<'a> LogRow<'a> {
    pub(crate) fn new(scale: CostScale, factors: &'a [f64], distances: &'a [Nats]) -> Self {
        let per_distance = scale.cost(Nats::from_units(1), Nats::ZERO) as f64;
        let per_cost = 1.0 / scale.denominator() as f64;
        Self { factors, distances, per_distance, per_cost }
    }

    /// Puts the logarithms of these states, ascending, into `out`.
    pub(crate) fn fill(self, reals: &[StateId], out: &mut Vec<f64>) {
        out.resize(reals.len(), 0.0);
        Arch::new().dispatch(Listed { row: self, reals, out });
    }

    /// Puts the logarithms of all states that have mass into `out`, and minus infinity for the others.
    pub(crate) fn fill_where(self, masses: &[f64], out: &mut Vec<f64>) {
        out.resize(masses.len(), 0.0);
        Arch::new().dispatch(All { row: self, masses, out });
    }

    /// The cost is a whole number below 2⁶³, rounded to a double. As both of its factors are exact doubles,
    /// their product as doubles is just that, and is quicker than the number turned into a double.
    #[inline(always)]
    fn log(self, factor: f64, distance: Nats) -> f64 {
        factor - self.per_distance * f64::from(distance.units()) * self.per_cost
    }
}

struct Listed<'a> {
    row: LogRow<'a>,
    reals: &'a [StateId],
    out: &'a mut [f64],
}

impl WithSimd for Listed<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { row, reals, out } = self;
        let LogRow { factors, distances, .. } = row;
        let at = |x: &StateId| row.log(factors[x.index()], distances[x.index()]);
        let (eights, rest) = reals.as_chunks::<8>();
        let (out_eights, out_rest) = out.as_chunks_mut::<8>();
        for (slots, eight) in out_eights.iter_mut().zip(eights) {
            // States that follow each other need not be looked up one by one, and mostly all do.
            let (first, last) = (eight[0].index(), eight[7].index());
            if last - first == 7
                && let Some(factors) = factors[first..].first_chunk::<8>()
                && let Some(distances) = distances[first..].first_chunk::<8>()
            {
                for ((slot, &factor), &d) in slots.iter_mut().zip(factors).zip(distances) {
                    *slot = row.log(factor, d);
                }
            } else {
                slots.iter_mut().zip(eight).for_each(|(slot, x)| *slot = at(x));
            }
        }
        out_rest.iter_mut().zip(rest).for_each(|(slot, x)| *slot = at(x));
    }
}

struct All<'a> {
    row: LogRow<'a>,
    masses: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for All<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { row, masses, out } = self;
        let states = row.factors.iter().zip(row.distances).zip(masses);
        for (slot, ((&factor, &distance), &mass)) in out.iter_mut().zip(states) {
            let log = row.log(factor, distance);
            *slot = if mass > 0.0 { log } else { f64::NEG_INFINITY };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        /// To the last bit: the cost as a whole number first, state by state.
        #[test]
        fn logarithms_are_those_of_whole_costs(
            states in vec((-40.0f64..40.0, prop_oneof![0u32.., 0u32..1 << 24], 0u8..3), 1..100),
            parts in (1u64..1 << 31, 1u64..1 << 43),
        ) {
            let scale = CostScale::from_parts([parts.0, 0, parts.1]).unwrap();
            let factors: Vec<f64> = states.iter().map(|state| state.0).collect();
            let distances: Vec<Nats> = states.iter().map(|s| Nats::from_units(s.1)).collect();
            let masses: Vec<f64> = states.iter().map(|state| f64::from(state.2)).collect();
            let cost = |x: usize| scale.cost(distances[x], Nats::ZERO) as f64;
            let per_cost = 1.0 / scale.denominator() as f64;
            let expected = |x: usize| factors[x] - cost(x) * per_cost;
            let row = LogRow::new(scale, &factors, &distances);
            let mut found = vec![0.5; 7];
            row.fill_where(&masses, &mut found);
            prop_assert_eq!(found.len(), states.len());
            for (x, (&found, mass)) in found.iter().zip(&masses).enumerate() {
                let log = if *mass > 0.0 { expected(x) } else { f64::NEG_INFINITY };
                prop_assert_eq!(found.to_bits(), log.to_bits());
            }
            let some: Vec<usize> = (0..states.len()).filter(|&x| masses[x] > 0.0).collect();
            let reals: Vec<StateId> = some.iter().copied().map(StateId::new).collect();
            row.fill(&reals, &mut found);
            prop_assert_eq!(found.len(), some.len());
            for (&x, found) in some.iter().zip(&found) {
                prop_assert_eq!(found.to_bits(), expected(x).to_bits());
            }
        }
    }
}
