//! The map from the earth to the lattice of `plane`, and back.
//!
//! The lattice lies in the plane that touches the earth at a public origin, the middle of the chain's places. A place
//! is dropped straight onto that plane, and then moved to the nearest point of the lattice. Both are decided by the
//! chain alone.
//!
//! Dropping a point straight onto a plane makes no distance longer: whatever the earth's shape is, it costs no
//! privacy. It makes distances shorter where the earth falls away from the plane, by one part in 4,000 at
//! 140 km, which costs a little accuracy there.
//!
//! What is written and read is where a point of the lattice lies on the earth, in degrees with nine decimals, a tenth
//! of a millimetre: the place that is dropped onto it. Rounding to the lattice gives the same point back.

use crate::chain::{Chain, Coordinates};
use crate::distance::{Earth, GroundError, Line, line};
use crate::outcome::LatticePoint;

/// Where the lattice of `plane` lies on the earth.
///
/// ```
/// use veilwalk::chain::{Coordinates, Places};
/// use veilwalk::mechanism::plane::Chart;
/// use veilwalk::{Chain, LatticePoint};
///
/// let chain = Chain::downtown();
/// let place = |number: i32| Coordinates::new(425_000_000 + 10_000 * number, 15_000_000);
/// let coordinates = (0..chain.len() as i32).map(place).collect::<Result<_, _>>()?;
/// let places = Places { coordinates: Some(coordinates), ..Places::default() };
/// let chart = Chart::of(&chain.with_places(places)?)?;
/// let point = LatticePoint::nearest(120_000, -35_000);
/// assert_eq!(chart.read(&chart.text(point)), Some(point));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    earth: Earth,
    origin: Coordinates,
    /// Where the origin is in space, in micrometres.
    centre: [f64; 3],
    north: [f64; 3],
    east: [f64; 3],
    up: [f64; 3],
}

/// Micrometres in a step of the lattice.
const STEP: f64 = 1000.0;

impl Chart {
    /// That of a chain whose states have coordinates.
    ///
    /// # Errors
    ///
    /// If they have none, or two of them are too near each other.
    pub fn of(chain: &Chain) -> Result<Self, GroundError> {
        Ok(Self::of_line(&line(chain)?))
    }

    pub(super) fn of_line(line: &Line) -> Self {
        Self::at(middle(line.points()), line.earth())
    }

    /// The plane at an origin.
    pub(super) fn at(origin: Coordinates, earth: Earth) -> Self {
        let (north, east) = origin.degrees();
        let (north, east) = (radians(north), radians(east));
        let (sine, cosine) = (libm::sin(north), libm::cos(north));
        let (sine_east, cosine_east) = (libm::sin(east), libm::cos(east));
        Self {
            earth,
            origin,
            centre: earth.place(north, east),
            north: [-sine * cosine_east, -sine * sine_east, cosine],
            east: [-sine_east, cosine_east, 0.0],
            up: [cosine * cosine_east, cosine * sine_east, sine],
        }
    }

    /// Where its origin is.
    #[must_use]
    pub fn origin(&self) -> Coordinates {
        self.origin
    }

    /// The point of the lattice nearest to where a place in space, in micrometres, is dropped.
    pub(super) fn nearest(&self, place: [f64; 3]) -> LatticePoint {
        let away = std::array::from_fn(|axis| place[axis] - self.centre[axis]);
        let steps = |axis: &[f64; 3]| (product(&away, axis) / STEP).round() as i128;
        LatticePoint::nearest(steps(&self.north), steps(&self.east))
    }

    /// The point that a place on the earth, in degrees, is dropped onto.
    #[must_use]
    pub fn nearest_to(&self, latitude: f64, longitude: f64) -> LatticePoint {
        self.nearest(self.earth.place(radians(latitude), radians(longitude)))
    }

    /// How far a place in space is from the origin, in micrometres.
    pub(super) fn away(&self, place: [f64; 3]) -> f64 {
        let away = std::array::from_fn(|axis| place[axis] - self.centre[axis]);
        product(&away, &away).sqrt()
    }

    /// Latitude and longitude of the place on the earth that is dropped onto a point, in degrees.
    #[must_use]
    pub fn degrees(&self, point: LatticePoint) -> (f64, f64) {
        let (north, east) = (f64::from(point.north()) * STEP, f64::from(point.east()) * STEP);
        let flat: [f64; 3] = std::array::from_fn(|axis| {
            self.centre[axis] + north * self.north[axis] + east * self.east[axis]
        });
        let (north, east) = self.earth.surface_along(flat, self.up);
        (north.to_degrees(), east.to_degrees())
    }

    /// A point as it is written: the latitude and longitude of that place, in degrees with nine decimals.
    #[must_use]
    pub fn text(&self, point: LatticePoint) -> String {
        let (north, east) = self.degrees(point);
        format!("{north:.DECIMALS$} {east:.DECIMALS$}")
    }

    /// The point that a text stands for; `None` if it is not one that [`Chart::text`] gives.
    #[must_use]
    pub fn read(&self, text: &str) -> Option<LatticePoint> {
        let (north, east) = text.split_once(' ').filter(|_| is_point(text))?;
        let (north, east) = (north.parse::<f64>().ok()?, east.parse::<f64>().ok()?);
        let point = self.nearest_to(north, east);
        (self.text(point) == text).then_some(point)
    }
}

/// The middle of places in space: the mean of them all, on the earth.
fn middle(places: &[[i64; 3]]) -> Coordinates {
    let sum = |axis: usize| places.iter().map(|place| i128::from(place[axis])).sum::<i128>() as f64;
    let (north, east) = Earth::above(std::array::from_fn(sum));
    Coordinates::from_degrees(north.to_degrees(), east.to_degrees()).unwrap_or_default()
}

const DECIMALS: usize = 9;

/// Whether a text has the form of a point: two numbers of degrees with nine decimals.
pub(super) fn is_point(text: &str) -> bool {
    let is_angle = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let all = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        digits.split_once('.').is_some_and(|(whole, fraction)| {
            fraction.len() == DECIMALS
                && (1..=3).contains(&whole.len())
                && all(whole)
                && all(fraction)
        })
    };
    text.split_once(' ').is_some_and(|(north, east)| is_angle(north) && is_angle(east))
}

fn radians(degrees: f64) -> f64 {
    degrees * (std::f64::consts::PI / 180.0)
}

fn product(one: &[f64; 3], other: &[f64; 3]) -> f64 {
    one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chart(latitude: i32, longitude: i32, scale: f64) -> Chart {
        Chart::at(Coordinates::new(latitude, longitude).unwrap(), Earth::scaled(scale))
    }

    #[test]
    fn the_origin_is_written_as_it_is() {
        let chart = chart(425_063_000, 15_218_000, 0.9999);
        assert_eq!(chart.text(LatticePoint::default()), "42.506300000 1.521800000");
        assert_eq!(chart.read("42.506300000 1.521800000"), Some(LatticePoint::default()));
        // A kilometre north and two east.
        let there = LatticePoint::nearest(1_000_000, 2_000_000);
        let (north, east) = chart.degrees(there);
        assert!((north - 42.5153).abs() < 1e-4 && (east - 1.5462).abs() < 1e-4, "{north} {east}");
        for text in [
            "42.5063 1.5218",
            "42.506300001 1.521800001 ",
            "+42.506300000 1.521800000",
            "042.506300000 1.521800000",
            "-42.506300000 1.521800000",
            "42.506300004 1.521800000",
            "1e3 4",
            "",
        ] {
            assert_eq!(chart.read(text), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// Every point of the lattice is read as it was written, up to its corners, anywhere on the earth.
        #[test]
        fn points_are_read_as_they_are_written(
            latitude in -900_000_000i32..=900_000_000,
            longitude in -1_800_000_000i32..=1_800_000_000,
            north in -LatticePoint::FARTHEST..=LatticePoint::FARTHEST,
            east in -LatticePoint::FARTHEST..=LatticePoint::FARTHEST,
            nearer in 0u32..30,
            scale in 0.66f64..1.0,
        ) {
            let chart = chart(latitude, longitude, scale);
            let point = LatticePoint::nearest((north >> nearer).into(), (east >> nearer).into());
            let text = chart.text(point);
            prop_assert!(is_point(&text), "{}", text);
            prop_assert_eq!(chart.read(&text), Some(point), "{}", text);
        }

        /// Dropping places onto the plane makes no distance longer.
        #[test]
        fn no_distance_grows(
            latitude in -850_000_000i32..=850_000_000,
            longitude in -1_700_000_000i32..=1_700_000_000,
            steps in prop::array::uniform4(-50_000_000i32..50_000_000),
        ) {
            let chart = chart(latitude, longitude, 1.0);
            let place = |north: i32, east: i32| {
                let (n, e) = ((latitude + north) as f64 * 1e-7, (longitude + east) as f64 * 1e-7);
                chart.earth.place(radians(n), radians(e))
            };
            let (one, other) = (place(steps[0], steps[1]), place(steps[2], steps[3]));
            let apart: [f64; 3] = std::array::from_fn(|axis| one[axis] - other[axis]);
            let on_lattice = chart.nearest(one).distance(chart.nearest(other)) as f64;
            // In millimetres: a rounding in each coordinate, and one up.
            prop_assert!(on_lattice <= (product(&apart, &apart).sqrt() / 1000.0 + 1.4143).ceil());
        }
    }
}
