//! Lengths and places on the earth.
//!
//! A length is that of the great circle on a sphere. Trigonometry comes from one library, so that a map gives the same model on
//! every machine. Near one place the earth is taken as flat: within a few kilometres that is good to millimetres a hundred metres.

use veilwalk::chain::Coordinates;

/// The mean radius of the earth, in metres.
const RADIUS: f64 = 6_371_008.8;

/// How long the straight line between two places is, in metres.
pub(crate) fn distance(a: Coordinates, b: Coordinates) -> f64 {
    let ((south, west), (north, east)) = (a.degrees(), b.degrees());
    let half = |degrees: f64| libm::sin(degrees.to_radians() / 2.0);
    let (up, along) = (half(north - south), half(east - west));
    let cosines = libm::cos(south.to_radians()) * libm::cos(north.to_radians());
    let square = (up * up + cosines * along * along).min(1.0);
    2.0 * RADIUS * libm::asin(libm::sqrt(square))
}

/// How long a line is, in metres.
pub(crate) fn length(line: &[Coordinates]) -> f64 {
    line.windows(2).map(|ends| distance(ends[0], ends[1])).sum()
}

/// The place on a line with as much of it before as behind.
pub(crate) fn middle(line: &[Coordinates]) -> Coordinates {
    let mut left = length(line) / 2.0;
    for ends in line.windows(2) {
        let piece = distance(ends[0], ends[1]);
        if left <= piece && piece > 0.0 {
            return between(ends[0], ends[1], left / piece);
        }
        left -= piece;
    }
    line[line.len() - 1]
}

/// The place at a share of the way from one to another that is near.
pub(crate) fn between(a: Coordinates, b: Coordinates, share: f64) -> Coordinates {
    let part = |from: i32, to: i32| {
        let way = f64::from(to) - f64::from(from);
        (f64::from(from) + way * share).round() as i32
    };
    let (latitude, longitude) =
        (part(a.latitude(), b.latitude()), part(a.longitude(), b.longitude()));
    Coordinates::new(latitude, longitude).unwrap_or(a)
}

/// The earth near one place, as a plane: metres east and north of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    latitude: i32,
    longitude: i32,
    east: f64,
}

/// Metres for each unit of latitude.
pub(crate) const NORTH: f64 =
    RADIUS * std::f64::consts::PI / 180.0 / Coordinates::PER_DEGREE as f64;

impl Plane {
    pub(crate) fn at(place: Coordinates) -> Self {
        let east = NORTH * libm::cos(place.degrees().0.to_radians());
        Self { latitude: place.latitude(), longitude: place.longitude(), east }
    }

    /// Metres for each unit of longitude.
    pub(crate) fn east(&self) -> f64 {
        self.east
    }

    pub(crate) fn point(&self, place: Coordinates) -> (f64, f64) {
        let units = |to: i32, from: i32| f64::from(to) - f64::from(from);
        (
            units(place.longitude(), self.longitude) * self.east,
            units(place.latitude(), self.latitude) * NORTH,
        )
    }

    /// How far the place itself is from a line between two others, and at what share of the line it is nearest.
    pub(crate) fn nearest(&self, a: Coordinates, b: Coordinates) -> (f64, f64) {
        let ((ax, ay), (bx, by)) = (self.point(a), self.point(b));
        let (dx, dy) = (bx - ax, by - ay);
        let square = dx * dx + dy * dy;
        let share =
            if square > 0.0 { (-(ax * dx + ay * dy) / square).clamp(0.0, 1.0) } else { 0.0 };
        let (x, y) = (ax + share * dx, ay + share * dy);
        ((x * x + y * y).sqrt(), share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(latitude: f64, longitude: f64) -> Coordinates {
        Coordinates::from_degrees(latitude, longitude).unwrap()
    }

    #[test]
    fn distances_on_the_earth() {
        // A degree of latitude on a sphere of this radius.
        assert!((distance(place(42.0, 1.5), place(43.0, 1.5)) - 111_195.08).abs() < 0.1);
        // London to Paris, within what a sphere is off.
        let far = distance(place(51.5074, -0.1278), place(48.8566, 2.3522));
        assert!((far - 343_600.0).abs() < 400.0, "{far}");
        assert_eq!(distance(place(42.0, 1.5), place(42.0, 1.5)), 0.0);
    }

    #[test]
    fn the_middle_of_a_line() {
        let line = [place(42.0, 1.5), place(42.0, 1.5), place(42.001, 1.5), place(42.004, 1.5)];
        assert_eq!(middle(&line), place(42.002, 1.5));
        assert_eq!(middle(&line[..1]), line[0]);
        assert_eq!(middle(&line[..2]), line[0]);
    }

    #[test]
    fn the_plane_agrees_with_the_sphere_nearby() {
        let (here, a, b) = (place(42.5, 1.52), place(42.501, 1.519), place(42.502, 1.523));
        let (near, share) = Plane::at(here).nearest(a, b);
        let slow = (0..=100_000).map(|n| {
            let share = f64::from(n) / 100_000.0;
            (distance(here, between(a, b, share)), share)
        });
        let (least, at) = slow.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        assert!((near - least).abs() < 0.02 && (share - at).abs() < 0.001, "{near} {least}");
    }
}
