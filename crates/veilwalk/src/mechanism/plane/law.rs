//! How far observations on a plane are from the real place: the law of the noise, for whoever asks.
//!
//! `k` millimetres have the probability `n(k)·exp(−η·k)` over a normaliser, with `n(k)` the number of points whose
//! distance, rounded up, is `k`. For small `k` they are counted. Beyond, `π(2k − 1)` stands for them: a ring of the width of
//! one. The points of a disc of radius `r` are as many as its area but for about `r^⅔`, so a probability is off by
//! less than 10⁻⁶.

use super::Plane;
use crate::mechanism::{Mechanism, Observation};
use crate::outcome::length;

/// The law of the distance between an observation on a plane and the real place, in straight-line metres.
#[derive(Clone, Debug)]
pub struct NoiseLaw {
    /// What a millimetre costs.
    eta: f64,
    /// `Σ n(i)·exp(−η·i)` over `i ≥ k`, for each `k` that was counted, and the one after these.
    from: Vec<f64>,
}

/// So many millimetres are counted.
const COUNTED: u64 = 2048;

impl NoiseLaw {
    fn new(eta: f64) -> Self {
        let counted = COUNTED.min((60.0 / eta).ceil() as u64 + 1);
        let mut from = vec![0.0; counted as usize + 2];
        from[counted as usize + 1] = after(counted, eta);
        let mut larger = disc(counted);
        for k in (0..=counted).rev() {
            let smaller = if k == 0 { 0 } else { disc(k - 1) };
            let here = (larger - smaller) as f64 * (-eta * k as f64).exp();
            from[k as usize] = from[k as usize + 1] + here;
            larger = smaller;
        }
        Self { eta, from }
    }

    /// The probability that an observation is farther than so many metres from the real place.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use veilwalk::chain::{Coordinates, Places};
    /// use veilwalk::{Chain, Ground, Mechanism, Model, Preset, Promise};
    ///
    /// let chain = Chain::downtown();
    /// let place = |number: i32| Coordinates::new(425_000_000 + 10_000 * number, 15_000_000);
    /// let coordinates = (0..chain.len() as i32).map(place).collect::<Result<_, _>>()?;
    /// let places = Places { coordinates: Some(coordinates), ..Places::default() };
    /// let model = Arc::new(Model::measured(chain.with_places(places)?, Ground::Line)?);
    /// let promise = Promise::within_radius("1".parse()?, "100m".parse()?);
    /// let plane = Mechanism::new(model, Preset::Plane.design(), promise)?;
    /// // Planar Laplace noise with ε = 1 for 100 m: (1 + 2)/e² beyond 200 m.
    /// let beyond = plane.noise().unwrap().beyond(200.0);
    /// assert!((beyond - 0.406).abs() < 0.001);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn beyond(&self, metres: f64) -> f64 {
        self.beyond_steps((1000.0 * metres.max(0.0)).floor() as u64)
    }

    /// The same for a distance in whole millimetres.
    pub(crate) fn beyond_steps(&self, steps: u64) -> f64 {
        let counted = self.from.len() as u64 - 2;
        let tail = match steps < counted {
            true => self.from[steps as usize + 1],
            false => after(steps, self.eta),
        };
        tail / self.from[0]
    }

    /// The least distance, in metres, that this share of observations are within.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        self.steps_within(1.0 - share.clamp(0.0, 1.0 - 1e-12)) as f64 / 1000.0
    }

    /// The least number of steps beyond which no more than this share lies.
    pub(crate) fn steps_within(&self, beyond: f64) -> u64 {
        let (mut below, mut above) = (0, 1 << 40);
        while below < above {
            let middle = below + (above - below) / 2;
            match self.beyond_steps(middle) <= beyond {
                true => above = middle,
                false => below = middle + 1,
            }
        }
        below
    }

    /// How many steps cost so many nats.
    pub(crate) fn steps_of(&self, nats: f64) -> u64 {
        (nats / self.eta).round() as u64
    }

    /// The probability of going as far north or south as east or west.
    pub(crate) fn diagonal(&self) -> f64 {
        let far = (50.0 / self.eta) as u64 + 1;
        let term = |k: u64| (-self.eta * length(k.into(), k.into()) as f64).exp();
        (1.0 + 4.0 * (1..=far).map(term).sum::<f64>()) / self.from[0]
    }

    /// The probabilities of an even or odd number of steps north and east: both even, east odd, north odd, both odd.
    /// They are a quarter each but for less than 10⁻⁶, unless the noise is some centimetres small.
    pub(crate) fn parities(&self) -> [f64; 4] {
        if self.eta < Self::SMALL {
            return [0.25; 4];
        }
        let far = (50.0 / self.eta) as u64 + 2;
        let mut sums = [0.0; 4];
        for north in 0..=far {
            for east in 0..=far {
                let copies = f64::from(1 << (u32::from(north > 0) + u32::from(east > 0)));
                let weight = (-self.eta * length(north.into(), east.into()) as f64).exp();
                sums[2 * (north % 2) as usize + (east % 2) as usize] += copies * weight;
            }
        }
        sums.map(|sum| sum / self.from[0])
    }

    /// At a scale of less than this for a millimetre, the lattice is fine.
    const SMALL: f64 = 0.02;
}

/// How many points of the lattice are within a distance.
fn disc(radius: u64) -> u64 {
    let column = |x: u64| 2 * (radius * radius - x * x).isqrt() + 1;
    column(0) + 2 * (1..=radius).map(column).sum::<u64>()
}

/// `Σ π(2i − 1)·exp(−η·i)` over `i > k`.
fn after(k: u64, eta: f64) -> f64 {
    let (q, rest) = ((-eta).exp(), -(-eta).exp_m1());
    let first = (2.0 * k as f64 - 1.0) * q / rest + 2.0 * q / (rest * rest);
    std::f64::consts::PI * (-eta * k as f64).exp() * first
}

impl Plane {
    /// The law of its noise.
    pub(crate) fn law(&self) -> NoiseLaw {
        NoiseLaw::new(self.per_step())
    }
}

impl Mechanism {
    /// How far its observations are from the real places, if it draws points on a plane.
    #[must_use]
    pub fn noise(&self) -> Option<NoiseLaw> {
        self.observation().and_then(Observation::plane).map(Plane::law)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every point by itself.
    #[test]
    fn probabilities_are_those_of_the_points() {
        for eta in [0.02, 0.1, 0.7, 3.0] {
            let law = NoiseLaw::new(eta);
            let far = (45.0 / eta) as i64 + 2;
            let mut rings = vec![0u64; 2 * far as usize];
            for n in -far..=far {
                for e in -far..=far {
                    rings[length(n.unsigned_abs().into(), e.unsigned_abs().into()) as usize] += 1;
                }
            }
            let weights: Vec<f64> = rings
                .iter()
                .enumerate()
                .map(|(k, &count)| count as f64 * (-eta * k as f64).exp())
                .collect();
            let total: f64 = weights.iter().sum();
            for k in [0, 1, 2, 5, 17, 40] {
                let beyond: f64 = weights.iter().skip(k + 1).sum::<f64>() / total;
                let found = law.beyond_steps(k as u64);
                assert!((found - beyond).abs() < 1e-6, "{eta}: beyond {k}: {found}, {beyond}");
            }
            let weight = |n: i64, e: i64| {
                (-eta * length(n.unsigned_abs().into(), e.unsigned_abs().into()) as f64).exp()
            };
            let all = || (-far..=far).flat_map(move |n| (-far..=far).map(move |e| (n, e)));
            let of = |kind: &dyn Fn(i64, i64) -> bool| {
                all().filter(|&(n, e)| kind(n, e)).map(|(n, e)| weight(n, e)).sum::<f64>() / total
            };
            let diagonal = of(&|n, e| n.abs() == e.abs());
            assert!((law.diagonal() - diagonal).abs() < 1e-6, "{eta}: {diagonal}");
            for (place, found) in law.parities().into_iter().enumerate() {
                let (north, east) = (place as i64 / 2, place as i64 % 2);
                let expected = of(&|n, e| n.rem_euclid(2) == north && e.rem_euclid(2) == east);
                assert!((found - expected).abs() < 1e-6, "{eta}: {found}, {expected}");
            }
        }
    }

    #[test]
    fn large_noise_is_that_of_planar_laplace() {
        let law = NoiseLaw::new(1e-5);
        for nats in [0.5f64, 1.0, 2.0, 5.0, 12.0] {
            let expected = (1.0 + nats) * (-nats).exp();
            let found = law.beyond(nats * 100.0);
            assert!((found - expected).abs() < 1e-4 * expected, "{nats}: {found}, {expected}");
        }
        let median = law.quantile(0.5);
        assert!(
            (law.beyond(median) - 0.5).abs() < 1e-6 && (median - 167.8).abs() < 0.1,
            "{median}"
        );
        assert_eq!(law.quantile(0.0), 0.0);
    }
}
