//! Where the states of a chain are: how long its moves are, and where its states lie on the earth.
//!
//! A chain of streets or stations knows more than how likely its moves are, and people think in metres. All of
//! this is public, as the chain is, and all of it is optional. What a promise in metres rests on, lengths and
//! coordinates, is part of the chain's content hash; names and lines, which are for people, are not. A chain
//! without places has the hash it always had.
//!
//! Everything is whole numbers: a length is counted in millimetres, an angle in 10⁻⁷ degrees (about a
//! centimetre). So distances that are computed of them are the same on every machine.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use bytemuck::{Pod, Zeroable};
use thiserror::Error;

use super::Chain;

/// A length in whole millimetres.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
pub struct Length(u32);

/// Why a text is no length.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LengthError {
    /// Not a decimal number.
    #[error("the length {0:?} is not a number; write metres as a decimal, such as 12.5")]
    NotANumber(String),
    /// Below zero.
    #[error("the length {0:?} is negative; write metres from zero up")]
    Negative(String),
    /// Longer than any move.
    #[error("the length {0:?} is more than 4000 km; lengths are metres")]
    TooLong(String),
}

impl Length {
    /// No length at all, as of waiting.
    pub const ZERO: Self = Self(0);
    /// The longest that a move may be: 4,000 km.
    pub const LONGEST: Self = Self(4_000_000_000);

    /// A length of this many millimetres; `None` beyond [`Length::LONGEST`].
    #[must_use]
    pub const fn from_millimetres(millimetres: u32) -> Option<Self> {
        if millimetres > Self::LONGEST.0 { None } else { Some(Self(millimetres)) }
    }

    /// The length in millimetres.
    #[must_use]
    pub const fn millimetres(self) -> u32 {
        self.0
    }

    /// The length in metres.
    #[must_use]
    pub fn metres(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl FromStr for Length {
    type Err = LengthError;

    /// Metres as a decimal. What lies beyond whole millimetres is cut off, so that no move is longer than it is.
    fn from_str(text: &str) -> Result<Self, LengthError> {
        let not_a_number = || LengthError::NotANumber(text.to_owned());
        let digits = text.trim();
        if let Some(positive) = digits.strip_prefix('-') {
            let number = positive.parse::<f64>().map_err(|_| not_a_number())?;
            return match number == 0.0 {
                true => Ok(Self::ZERO),
                false => Err(LengthError::Negative(text.to_owned())),
            };
        }
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !plain(whole) || !plain(fraction) {
            return Err(not_a_number());
        }
        let too_long = || LengthError::TooLong(text.to_owned());
        let thousandths = format!("{fraction:0<3.3}");
        let millimetres = format!("{whole}{thousandths}").parse::<u64>().map_err(|_| too_long())?;
        u32::try_from(millimetres).ok().and_then(Self::from_millimetres).ok_or_else(too_long)
    }
}

impl fmt::Display for Length {
    /// In metres, with as many decimals as it takes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1000, self.0 % 1000);
        match rest {
            0 => write!(f, "{whole}"),
            _ => write!(f, "{whole}.{}", format!("{rest:03}").trim_end_matches('0')),
        }
    }
}

/// A place on the earth, in whole 10⁻⁷ degrees of WGS 84.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
pub struct Coordinates {
    latitude: i32,
    longitude: i32,
}

/// Why two numbers are no place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CoordinatesError {
    /// Not a decimal number.
    #[error("the {axis} {found:?} is not a number; write degrees as a decimal, such as 42.5063")]
    NotANumber {
        /// `latitude` or `longitude`.
        axis: &'static str,
        /// What was found.
        found: String,
    },
    /// A latitude that only a longitude can be.
    #[error(
        "the latitude {latitude} is not between -90 and 90, and the longitude {longitude} is: they seem to be \
         swapped; exchange the two columns"
    )]
    Swapped {
        /// The latitude.
        latitude: String,
        /// The longitude.
        longitude: String,
    },
    /// An angle beyond those of the earth.
    #[error("the {axis} {found} is not between -{most} and {most} degrees; correct it")]
    OffTheEarth {
        /// `latitude` or `longitude`.
        axis: &'static str,
        /// What was found.
        found: String,
        /// The largest there is.
        most: u32,
    },
}

impl Coordinates {
    /// Units in one degree.
    pub const PER_DEGREE: i32 = 10_000_000;

    /// The place with these angles in 10⁻⁷ degrees.
    ///
    /// # Errors
    ///
    /// If one of them is not on the earth.
    pub fn new(latitude: i32, longitude: i32) -> Result<Self, CoordinatesError> {
        let degrees = |units: i32| f64::from(units) / f64::from(Self::PER_DEGREE);
        check((degrees(latitude), degrees(longitude)), (&degrees(latitude), &degrees(longitude)))?;
        Ok(Self { latitude, longitude })
    }

    /// The place with these angles in degrees, to the nearest 10⁻⁷.
    ///
    /// # Errors
    ///
    /// If one of them is not on the earth.
    pub fn from_degrees(latitude: f64, longitude: f64) -> Result<Self, CoordinatesError> {
        check((latitude, longitude), (&latitude, &longitude))?;
        Ok(Self::rounded(latitude, longitude))
    }

    /// The place that two texts give in degrees.
    ///
    /// # Errors
    ///
    /// If one of them is not a number, or not on the earth.
    pub fn parse(latitude: &str, longitude: &str) -> Result<Self, CoordinatesError> {
        let degrees = |axis, text: &str| {
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| CoordinatesError::NotANumber { axis, found: text.to_owned() })
        };
        let (north, east) = (degrees("latitude", latitude)?, degrees("longitude", longitude)?);
        check((north, east), (&latitude.trim(), &longitude.trim()))?;
        Ok(Self::rounded(north, east))
    }

    fn rounded(latitude: f64, longitude: f64) -> Self {
        let units = |degrees: f64| (degrees * f64::from(Self::PER_DEGREE)).round() as i32;
        Self { latitude: units(latitude), longitude: units(longitude) }
    }

    /// How far north of the equator, in 10⁻⁷ degrees.
    #[must_use]
    pub const fn latitude(self) -> i32 {
        self.latitude
    }

    /// How far east of Greenwich, in 10⁻⁷ degrees.
    #[must_use]
    pub const fn longitude(self) -> i32 {
        self.longitude
    }

    /// Latitude and longitude in degrees.
    #[must_use]
    pub fn degrees(self) -> (f64, f64) {
        let degrees = |units: i32| f64::from(units) / f64::from(Self::PER_DEGREE);
        (degrees(self.latitude), degrees(self.longitude))
    }
}

/// Angles in degrees, and how to write them.
fn check(
    (north, east): (f64, f64),
    shown: (&dyn fmt::Display, &dyn fmt::Display),
) -> Result<(), CoordinatesError> {
    let off = |axis, found: &dyn fmt::Display, most| {
        Err(CoordinatesError::OffTheEarth { axis, found: found.to_string(), most })
    };
    match (north.abs() <= 90.0, east.abs() <= 180.0) {
        (true, true) => Ok(()),
        (false, _) if north.abs() <= 180.0 && east.abs() <= 90.0 => {
            let (latitude, longitude) = (shown.0.to_string(), shown.1.to_string());
            Err(CoordinatesError::Swapped { latitude, longitude })
        }
        (false, _) => off("latitude", shown.0, 90),
        (true, false) => off("longitude", shown.1, 180),
    }
}

impl fmt::Display for Coordinates {
    /// Latitude and longitude in degrees, with a space between them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (latitude, longitude) = self.degrees();
        write!(f, "{latitude:.7} {longitude:.7}")
    }
}

/// Where the states of a chain are. Each part may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// How long each transition is, in the chain's order.
    pub lengths: Option<Vec<Length>>,
    /// Where each state lies: one point, such as the middle of a street segment. States with the same
    /// coordinates are at one place, as the two directions of a street are.
    pub coordinates: Option<Vec<Coordinates>>,
    /// What people call each state, such as its street; empty where it has no name.
    pub names: Option<Vec<String>>,
    /// The line of each state, for maps. At least one point each.
    pub lines: Option<Vec<Vec<Coordinates>>>,
}

/// Places that do not go with a chain.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlacesError {
    /// Another number of entries than the chain has states or transitions.
    #[error("there are {found} {what}, and the chain has {expected} {of}; give one for each")]
    Count {
        /// What there are too many or too few of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
        /// What they are for.
        of: &'static str,
    },
    /// A line without a point.
    #[error("the line of {0:?} has no point; give at least one")]
    EmptyLine(String),
}

impl Places {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether they go with a chain.
    pub(super) fn fit(&self, chain: &Chain) -> bool {
        self.check(chain).is_ok()
    }

    fn check(&self, chain: &Chain) -> Result<(), PlacesError> {
        let states = (chain.len(), "states");
        let counts = [
            ("lengths", self.lengths.as_ref().map(Vec::len), (chain.transitions(), "transitions")),
            ("coordinates", self.coordinates.as_ref().map(Vec::len), states),
            ("names", self.names.as_ref().map(Vec::len), states),
            ("lines", self.lines.as_ref().map(Vec::len), states),
        ];
        for (what, found, (expected, of)) in counts {
            if let Some(found) = found.filter(|&found| found != expected) {
                return Err(PlacesError::Count { what, found, expected, of });
            }
        }
        match self.lines.iter().flatten().position(Vec::is_empty) {
            Some(state) => Err(PlacesError::EmptyLine(chain.labels.get(state).to_owned())),
            None => Ok(()),
        }
    }

    /// What the content hash of a chain sees of its places.
    pub(super) fn hash_into(&self, mut number: impl FnMut(u64)) {
        const LENGTHS: u64 = 1;
        const COORDINATES: u64 = 2;
        if let Some(lengths) = &self.lengths {
            number(LENGTHS);
            lengths.iter().for_each(|length| number(length.0.into()));
        }
        if let Some(coordinates) = &self.coordinates {
            number(COORDINATES);
            for place in coordinates {
                number(u64::from(place.latitude as u32) << 32 | u64::from(place.longitude as u32));
            }
        }
    }
}

impl Chain {
    /// The same chain with places in place of those it had.
    ///
    /// ```
    /// use veilwalk::Chain;
    /// use veilwalk::chain::{Coordinates, Length, Places};
    ///
    /// let chain = Chain::downtown();
    /// let metres = Length::from_millimetres(80_000).unwrap();
    /// let places = Places { lengths: Some(vec![metres; chain.transitions()]), ..Places::default() };
    /// let chain = chain.with_places(places)?;
    /// let lengths = chain.places().unwrap().lengths.as_ref().unwrap();
    /// assert_eq!(lengths[0].to_string(), "80");
    /// # Ok::<(), veilwalk::chain::PlacesError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are more or fewer lengths than transitions, more or fewer of the others than states, or a line
    /// has no point.
    pub fn with_places(mut self, places: Places) -> Result<Self, PlacesError> {
        places.check(&self)?;
        self.places = (!places.is_empty()).then(|| Arc::new(places));
        self.hash = OnceLock::new();
        Ok(self)
    }

    /// Where its states are, as far as it is known.
    #[must_use]
    pub fn places(&self) -> Option<&Places> {
        self.places.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{BuildOptions, ChainBuilder, ChainError, Entries, Scope};

    #[test]
    fn lengths_are_cut_to_millimetres() {
        let length = |text: &str| text.parse::<Length>().map(Length::millimetres);
        for (text, millimetres) in
            [("12.5", 12_500), ("0", 0), ("-0.0", 0), (" 7 ", 7000), (".0019", 1), ("3.", 3000)]
        {
            assert_eq!(length(text), Ok(millimetres), "{text}");
        }
        assert_eq!(length("4000000"), Ok(4_000_000_000));
        for (text, words) in [
            ("4000000.001", "more than 4000 km"),
            ("99999999999999999999", "more than 4000 km"),
            ("-1", "negative"),
            ("12,5", "not a number"),
            ("1e3", "not a number"),
            ("", "not a number"),
            (".", "not a number"),
            ("nan", "not a number"),
            ("-x", "not a number"),
        ] {
            let error = text.parse::<Length>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        let shown = |text: &str| text.parse::<Length>().unwrap().to_string();
        assert_eq!([shown("12.50"), shown("3"), shown("0.007")], ["12.5", "3", "0.007"]);
    }

    #[test]
    fn places_on_the_earth() {
        let andorra = Coordinates::parse("42.5063", " 1.5218 ").unwrap();
        assert_eq!((andorra.latitude(), andorra.longitude()), (425_063_000, 15_218_000));
        assert_eq!(andorra.to_string(), "42.5063000 1.5218000");
        assert_eq!(Coordinates::new(425_063_000, 15_218_000), Ok(andorra));
        assert_eq!(Coordinates::from_degrees(42.506_3, 1.521_8), Ok(andorra));
        for (latitude, longitude, words) in [
            ("121.47", "31.23", "seem to be swapped"),
            ("-91", "180", "between -90 and 90"),
            ("0", "180.5", "between -180 and 180"),
            ("north", "0", "the latitude \"north\" is not a number"),
            ("0", "nan", "the longitude \"nan\" is not a number"),
        ] {
            let error = Coordinates::parse(latitude, longitude).unwrap_err().to_string();
            assert!(error.contains(words), "{latitude} {longitude}: {error}");
        }
        assert!(Coordinates::new(1_800_000_000, 0).is_err());
        assert!(Coordinates::from_degrees(f64::NAN, 0.0).is_err());
    }

    fn everything(chain: &Chain) -> Places {
        let place =
            |state: usize| Coordinates::new(425_000_000 + state as i32, 15_000_000).unwrap();
        Places {
            lengths: Some(vec![Length(1000); chain.transitions()]),
            coordinates: Some((0..chain.len()).map(place).collect()),
            names: Some((0..chain.len()).map(|state| format!("street {state}")).collect()),
            lines: Some((0..chain.len()).map(|state| vec![place(state), place(0)]).collect()),
        }
    }

    /// The hash of a chain without places is what it was; lengths and coordinates change it, names and lines do not.
    #[test]
    fn the_hash_sees_what_distances_rest_on() {
        let plain = Chain::downtown();
        let all = everything(&plain);
        let with = |places: Places| plain.clone().with_places(places).unwrap().hash();
        assert_eq!(with(Places::default()), plain.hash());
        let (names, lines) = (all.names.clone(), all.lines.clone());
        assert_eq!(with(Places { names, lines, ..Places::default() }), plain.hash());
        let hashes = [
            plain.hash(),
            with(all.clone()),
            with(Places { lengths: all.lengths.clone(), ..Places::default() }),
            with(Places { coordinates: all.coordinates.clone(), ..Places::default() }),
        ];
        assert!((0..4).all(|i| (0..i).all(|j| hashes[i] != hashes[j])));
        let mut moved = all.clone();
        moved.coordinates.as_mut().unwrap()[3].longitude += 1;
        assert_ne!(with(moved), hashes[1]);
        let mut longer = all;
        longer.lengths.as_mut().unwrap()[0].0 += 1;
        assert_ne!(with(longer), hashes[1]);
    }

    #[test]
    fn places_go_with_their_chain() {
        let chain = Chain::downtown();
        let refused = |change: &dyn Fn(&mut Places)| {
            let mut places = everything(&chain);
            change(&mut places);
            chain.clone().with_places(places).unwrap_err().to_string()
        };
        let error = refused(&|places| places.lengths.as_mut().unwrap().truncate(1));
        assert!(error.contains(" lengths, and the chain has ") && error.contains("transitions"));
        assert!(refused(&|places| places.names.as_mut().unwrap().clear()).contains("0 names"));
        assert!(refused(&|places| places.lines.as_mut().unwrap()[2].clear()).contains("no point"));
        let places = everything(&chain);
        let chain = chain.with_places(places.clone()).unwrap();
        let again = Chain::from_parts(chain.parts()).unwrap();
        assert!(again.has_its_hash() && again.places() == Some(&places));
        assert_ne!(Chain::downtown().with_initial(chain.initial().clone()).hash(), chain.hash());
        assert_eq!(chain.clone().with_initial(chain.initial().clone()).hash(), chain.hash());
    }

    /// Lengths follow their transitions through sorting and dropping.
    #[test]
    fn lengths_of_a_builder() {
        let moves = [("b", "a", 1), ("a", "b", 2), ("a", "c", 3), ("c", "c", 4), ("b", "b", 5)];
        let mut builder = ChainBuilder::new(Entries::Counts);
        for (from, to, length) in moves {
            let (from, to) = (builder.state(from), builder.state(to));
            builder.transition_of_length(from, to, 1.0, Length(length)).unwrap();
        }
        let mut mixed = builder.clone();
        let largest = BuildOptions { scope: Scope::LargestComponent, ..BuildOptions::default() };
        let (chain, _) = builder.build(largest).unwrap();
        let lengths = chain.places().unwrap().lengths.as_ref().unwrap();
        // b is the first state; its moves are to itself and to a.
        assert_eq!(lengths.iter().map(|length| length.0).collect::<Vec<_>>(), [5, 1, 2]);
        let (a, c) = (mixed.state("a"), mixed.state("c"));
        mixed.transition(c, a, 1.0).unwrap();
        let error = mixed.build(BuildOptions::default()).unwrap_err();
        assert_eq!(error, ChainError::NoLength { from: "c".into(), to: "a".into() });
    }
}
