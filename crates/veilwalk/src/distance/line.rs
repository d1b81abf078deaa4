//! Straight lines between places on the earth, in whole millimetres.
//!
//! A place of WGS 84 is a point in space, on the ellipsoid, and two places are as far apart as the straight line between
//! their points is long: a chord, which is at most as long as any way on the ground.
//!
//! **Rounding.** A distance has to be a whole number of millimetres, the triangle inequality has to hold exactly, and no
//! two places may seem farther apart than they are. Rounding down keeps the last and breaks the triangle inequality.
//! Rounding up keeps it, since `⌈a + b⌉ ≤ ⌈a⌉ + ⌈b⌉`, and breaks the last. So the whole earth is made smaller
//! first, by so little that rounding up makes up for it.
//!
//! **Claim.** Let `m` be the smallest distance between two different places, in millimetres, or 10,000 if it is larger.
//! Scale all points by `s = 1 − 1.01/m`, put them on a lattice of micrometres, and let `d` be the distance of two
//! of these points in millimetres, rounded up. Then `d` is a metric on places, and at most their distance.
//!
//! **Proof.** Points of the lattice are points in space, so their distances keep the triangle inequality, and so do
//! these rounded up. A coordinate on the lattice is off by half a micrometre for rounding and, computed in doubles of
//! some 6·10⁶ m, by far less for all else, so that a point is off by less than 1 µm. Two places with a distance of `c ≥ m`
//! have points at most `s·c + 0.002` apart, and `d < s·c + 1.002 = c − 1.01·c/m + 1.002 ≤ c`. Beyond
//! the ceiling of [`Nats`], distances are cut off, which keeps both. ∎
//!
//! The distance rounded up is decided by whole numbers: the smallest `d` with `(1000·d)² ≥ N`, the square of the
//! distance in micrometres. Coordinates are in 10⁻⁷ degrees, so places are some centimetres apart or the same but for
//! longitudes near the poles. Places nearer than three millimetres are refused.

use rayon::prelude::*;

use super::DistanceTable;
use crate::chain::Coordinates;
use crate::nats::Nats;

/// Where states are in space, in whole micrometres.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    earth: Earth,
    points: Vec<[i64; 3]>,
}

/// The earth, made smaller by this factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Earth {
    scale: f64,
}

/// Two places that are too near each other.
#[derive(Debug)]
pub(crate) struct TooClose(pub(super) usize, pub(super) usize);

/// The axes of WGS 84: the larger one in micrometres, and the square of the eccentricity.
const EQUATOR: f64 = 6_378_137e6;
const FLATTENING: f64 = 1.0 / 298.257_223_563;
const ECCENTRICITY: f64 = FLATTENING * (2.0 - FLATTENING);

/// Beyond this many micrometres it does not matter how far places are from each other.
const FAR: f64 = 10_000_000.0;
/// Places that are not the same are at least so many micrometres apart.
const NEAR: f64 = 3_000.0;

impl Line {
    pub(crate) fn new(coordinates: &[Coordinates]) -> Result<Self, TooClose> {
        let earth = Earth::scaled(1.0);
        let whole: Vec<[i64; 3]> = coordinates.iter().map(|&place| earth.point(place)).collect();
        let closest = closest(&whole, coordinates);
        if let Some((apart, one, other)) = closest
            && apart < NEAR
        {
            return Err(TooClose(one.min(other), one.max(other)));
        }
        // The points are each off by one micrometre at most.
        let least = closest.map_or(FAR, |(apart, ..)| apart.min(FAR) - 3.0) / 1000.0;
        let earth = Earth::scaled(1.0 - 1.01 / least);
        Ok(Self { earth, points: coordinates.iter().map(|&place| earth.point(place)).collect() })
    }

    /// The earth that distances are taken on.
    pub(crate) fn earth(&self) -> Earth {
        self.earth
    }

    /// Where states are.
    pub(crate) fn points(&self) -> &[[i64; 3]] {
        &self.points
    }

    pub(crate) fn between(&self, one: usize, other: usize) -> Nats {
        rounded_up(square(self.points[one], self.points[other]))
    }

    pub(super) fn table(&self) -> DistanceTable {
        let states = self.points.len();
        let mut rows = vec![Nats::ZERO; states * states];
        rows.par_chunks_mut(states.max(1)).enumerate().for_each(|(x, row)| {
            row.iter_mut().enumerate().for_each(|(y, slot)| *slot = self.between(x, y));
        });
        DistanceTable::from_rows(states, rows.into()).expect("as many rows as states")
    }
}

impl Earth {
    /// The earth, made smaller by this factor.
    pub(crate) fn scaled(scale: f64) -> Self {
        Self { scale }
    }

    /// A place in space, to the nearest micrometre.
    fn point(self, place: Coordinates) -> [i64; 3] {
        let radians = |units: i32| {
            f64::from(units) / f64::from(Coordinates::PER_DEGREE) * (std::f64::consts::PI / 180.0)
        };
        let (north, east) = (radians(place.latitude()), radians(place.longitude()));
        self.place(north, east).map(|axis| axis.round() as i64)
    }

    /// A place in space, in micrometres, by its latitude and longitude in radians.
    pub(crate) fn place(self, north: f64, east: f64) -> [f64; 3] {
        let (sine, cosine) = (libm::sin(north), libm::cos(north));
        let normal = self.scale * EQUATOR / (1.0 - ECCENTRICITY * sine * sine).sqrt();
        let around = normal * cosine;
        let along = normal * (1.0 - ECCENTRICITY) * sine;
        [around * libm::cos(east), around * libm::sin(east), along]
    }

    /// Latitude and longitude, in radians, of the place on the surface that lies above or below a point in this
    /// direction: of two the one farther up. The nearest thing to one, if there is none.
    pub(crate) fn surface_along(self, from: [f64; 3], up: [f64; 3]) -> (f64, f64) {
        // With the third axis stretched, the earth is a ball.
        let stretch = 1.0 / (1.0 - ECCENTRICITY).sqrt();
        let round = |[x, y, z]: [f64; 3]| [x, y, z * stretch];
        let (p, u) = (round(from), round(up));
        let product = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let radius = self.scale * EQUATOR;
        // |p + t·u|² = radius², with numbers of about the size of one.
        let (p, square) = (p.map(|axis| axis / radius), product(u, u));
        let half = product(p, u);
        let rest = product(p, p) - 1.0;
        let root = (half * half - square * rest).max(0.0).sqrt();
        let t = (root - half) / square * radius;
        Self::above(std::array::from_fn(|axis| from[axis] + t * up[axis]))
    }

    /// Latitude and longitude, in radians, of a place on the surface; and nearly those of the place above a point that is
    /// a little below it.
    pub(crate) fn above([x, y, z]: [f64; 3]) -> (f64, f64) {
        let around = (x * x + y * y).sqrt();
        (libm::atan2(z, (1.0 - ECCENTRICITY) * around), libm::atan2(y, x))
    }
}

fn square(one: [i64; 3], other: [i64; 3]) -> u128 {
    (0..3).map(|axis| u128::from(one[axis].abs_diff(other[axis])).pow(2)).sum()
}

/// The square root of micrometres squared, in millimetres and rounded up.
fn rounded_up(square: u128) -> Nats {
    let root = (square as f64).sqrt() / 1000.0;
    let up = root.ceil();
    // The root is off by a relative 2⁻⁵⁰ at most, and below 2³⁴.
    let is_clear = (root - root.round()).abs() > 1e-4;
    let mut units = up as u128;
    if !is_clear {
        units = (root as u128).saturating_sub(1);
        while (1000 * units).pow(2) < square {
            units += 1;
        }
    }
    Nats::from_units(u32::try_from(units).unwrap_or(u32::MAX))
}

/// The axis along which points lie farthest apart.
pub(crate) fn widest_axis(points: &[[i64; 3]]) -> usize {
    let spread = |axis: &usize| {
        let along = || points.iter().map(|point| point[*axis]);
        along().max().unwrap_or(0).abs_diff(along().min().unwrap_or(0))
    };
    (0..3).max_by_key(spread).unwrap_or(0)
}

/// The smallest distance between two different places in micrometres, if it is below [`FAR`], with the places.
fn closest(points: &[[i64; 3]], coordinates: &[Coordinates]) -> Option<(f64, usize, usize)> {
    // Along one axis: whoever is farther along it than the best so far needs no look.
    let axis = widest_axis(points);
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_unstable_by_key(|&state| (points[state][axis], state));
    let mut best: Option<(f64, usize, usize)> = None;
    for (rank, &one) in order.iter().enumerate() {
        for &other in &order[rank + 1..] {
            let limit = best.map_or(FAR, |(apart, ..)| apart);
            if points[other][axis].abs_diff(points[one][axis]) as f64 > limit {
                break;
            }
            if coordinates[one] == coordinates[other] {
                continue;
            }
            let apart = (square(points[one], points[other]) as f64).sqrt();
            if apart < limit {
                best = Some((apart, one, other));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(latitude: i32, longitude: i32) -> Coordinates {
        Coordinates::new(latitude, longitude).unwrap()
    }

    /// In millimetres, by a longer way: the chord of two points in metres.
    fn chord(one: Coordinates, other: Coordinates) -> f64 {
        let at = |place: Coordinates| {
            let (north, east) = place.degrees();
            let (north, east) = (north.to_radians(), east.to_radians());
            let a = 6_378_137.0f64;
            let b = a * (1.0 - 1.0 / 298.257_223_563);
            let n = a * a / ((a * north.cos()).powi(2) + (b * north.sin()).powi(2)).sqrt();
            let flat = n * north.cos();
            [flat * east.cos(), flat * east.sin(), n * (b / a) * (b / a) * north.sin()]
        };
        let (p, q) = (at(one), at(other));
        1000.0 * (0..3).map(|i| (p[i] - q[i]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn known_lines() {
        // A degree along the equator, and a quarter of a meridian.
        let line = Line::new(&[place(0, 0), place(0, 10_000_000), place(900_000_000, 0)]);
        let line = line.unwrap_or_else(|_| panic!("far apart"));
        let degree = 2.0 * 6_378_137_000.0 * (0.5f64.to_radians()).sin();
        let got = f64::from(line.between(0, 1).units());
        assert!(got <= degree && got > degree * (1.0 - 1.1e-4), "{got} {degree}");
        // A chord through the earth is longer than what is counted.
        assert_eq!(line.between(0, 2), Nats::MAX);
        assert_eq!(line.between(2, 2), Nats::ZERO);
    }

    #[test]
    fn places_that_are_almost_one_are_refused() {
        let near = Line::new(&[place(850_000_000, 0), place(850_000_000, 1)]);
        assert!(matches!(near, Err(TooClose(0, 1))));
        assert!(Line::new(&[place(850_000_000, 1), place(850_000_000, 1)]).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// The triangle inequality holds exactly, no line is longer than it is, and hardly shorter.
        #[test]
        fn lines_are_a_metric_and_not_too_long(
            south in -800_000_000i32..800_000_000,
            west in -1_790_000_000i32..1_790_000_000,
            steps in prop::collection::vec((-3000i32..3000, -3000i32..3000), 3..12),
            fine in 1i32..500,
        ) {
            let places: Vec<Coordinates> = steps
                .iter()
                .map(|&(north, east)| place(south + north * fine, west + east * fine))
                .collect();
            let Ok(line) = Line::new(&places) else { return Ok(()) };
            let n = places.len();
            for x in 0..n {
                for y in 0..n {
                    let d = line.between(x, y);
                    prop_assert_eq!(d, line.between(y, x));
                    prop_assert_eq!(d == Nats::ZERO, places[x] == places[y]);
                    // The test's own chord is good to some micrometres.
                    let exact = chord(places[x], places[y]);
                    prop_assert!(f64::from(d.units()) <= exact + 0.005);
                    for z in 0..n {
                        let around = line.between(y, z).saturating_add(line.between(x, y));
                        prop_assert!(line.between(x, z) <= around);
                    }
                }
            }
        }

        /// Rounding is that of whole numbers, however near a root is to one.
        #[test]
        fn roots_are_rounded_up_exactly(root in 0u128..4_000_000_000, off in -3i64..4) {
            let square = (1000 * root).pow(2);
            let square = (square as i128 + i128::from(off)).max(0) as u128;
            let up = u128::from(rounded_up(square).units());
            prop_assert!((1000 * up).pow(2) >= square);
            prop_assert!(up == 0 || (1000 * (up - 1)).pow(2) < square);
        }
    }
}
