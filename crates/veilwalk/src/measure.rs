//! What distances are counted in: nats, metres, or the unit of somebody's own table.
//!
//! Inside, a distance is a whole number of units ([`Nats`]), and what a promise holds for each distance is a
//! fraction of 2²⁰ of them, whatever a unit is. So mechanisms, scales and audits know nothing of metres. Where
//! people read or write a distance, its measure says how many units make one of what they think in: 2²⁰ for a
//! nat, a thousand for a metre, which is counted in millimetres.

use std::fmt;
use std::str::FromStr;

use crate::nats::{Nats, in_nats};
use crate::rational::Rational;

/// What distances are counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Information: minus the logarithm of a probability.
    #[default]
    Nats,
    /// Metres, in whole millimetres.
    Metres,
    /// Whatever a table of distances is in, in whole thousandths.
    Own,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Nats, Self::Metres, Self::Own];

    /// How many units of a distance make one.
    #[must_use]
    pub const fn units(self) -> u32 {
        match self {
            Self::Nats => Nats::PER_NAT,
            Self::Metres | Self::Own => 1000,
        }
    }

    /// A word for several.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nats => "nats",
            Self::Metres => "metres",
            Self::Own => "units",
        }
    }

    /// A word for one.
    #[must_use]
    pub const fn one(self) -> &'static str {
        match self {
            Self::Nats => "nat",
            Self::Metres => "metre",
            Self::Own => "unit",
        }
    }

    /// What comes after a number.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Nats => "nats",
            Self::Metres => "m",
            Self::Own => "units",
        }
    }

    /// A number of 2²⁰ units in this measure.
    #[must_use]
    pub fn shown(self, value: f64) -> f64 {
        match self {
            Self::Nats => value,
            // Every distance is a whole number of thousandths. Shown with three more digits, it is what it is.
            Self::Metres | Self::Own => {
                (value * f64::from(Nats::PER_NAT) * 1000.0).round() / 1_000_000.0
            }
        }
    }

    /// A number of this measure as one of 2²⁰ units.
    #[must_use]
    pub fn inside(self, number: f64) -> f64 {
        match self {
            Self::Nats => number,
            Self::Metres | Self::Own => number * f64::from(self.units()) / f64::from(Nats::PER_NAT),
        }
    }

    /// What is so much for each 2²⁰ units, for each one of this measure.
    #[must_use]
    pub fn shown_rate(self, value: f64) -> f64 {
        match self {
            Self::Nats => value,
            Self::Metres | Self::Own => value * f64::from(self.units()) / f64::from(Nats::PER_NAT),
        }
    }

    /// A distance, shown.
    #[must_use]
    pub fn of(self, distance: Nats) -> f64 {
        match self {
            Self::Nats => distance.as_f64(),
            Self::Metres | Self::Own => f64::from(distance.units()) / f64::from(self.units()),
        }
    }

    /// So many of this measure, as a number of 2²⁰ units; `None` if that does not fit.
    #[must_use]
    pub fn to_units(self, number: Rational) -> Option<Rational> {
        scaled(number, self.units(), Nats::PER_NAT)
    }

    /// A number of 2²⁰ units as so many of this measure; `None` if that does not fit.
    #[must_use]
    pub fn from_units(self, value: Rational) -> Option<Rational> {
        scaled(value, Nats::PER_NAT, self.units())
    }

    /// A number that is of this measure already, with its unit: `1 nat`, `2.5 nats`, `200 m`.
    #[must_use]
    pub fn with_unit(self, number: impl fmt::Display) -> String {
        match self {
            Self::Nats => in_nats(number),
            Self::Metres => format!("{number} m"),
            Self::Own => {
                let number = number.to_string();
                let unit = if number == "1" { "unit" } else { "units" };
                format!("{number} {unit}")
            }
        }
    }

    /// A number of 2²⁰ units in words.
    #[must_use]
    pub fn in_words(self, value: f64) -> String {
        self.with_unit(self.shown(value))
    }

    /// A distance in words: in nats with three decimals, otherwise exactly.
    #[must_use]
    pub fn distance(self, distance: Nats) -> String {
        match self {
            Self::Nats => in_nats(distance),
            Self::Metres | Self::Own => self.with_unit(self.of(distance)),
        }
    }
}

/// `number · above / below`; `None` if that does not fit.
fn scaled(number: Rational, above: u32, below: u32) -> Option<Rational> {
    let (n, d) = (u128::from(number.numerator()), u128::from(number.denominator()));
    let (n, d) = (n * u128::from(above), d * u128::from(below));
    let divisor = crate::rational::gcd(n, d);
    Rational::new(u64::try_from(n / divisor).ok()?, u64::try_from(d / divisor).ok()?)
}

/// A number with what it is counted in, as people write it: `3.5`, `200m`, `0.2 km`, `12 units`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measured<'a> {
    /// The text of the number.
    pub number: &'a str,
    /// How many of the measure it counts.
    pub times: u32,
    /// The measure. A bare number is in nats.
    pub measure: Measure,
}

impl<'a> Measured<'a> {
    /// Takes a number and its unit apart.
    #[must_use]
    pub(crate) fn of(text: &'a str) -> Self {
        let text = text.trim();
        let endings = [
            ("nats", 1, Measure::Nats),
            ("nat", 1, Measure::Nats),
            ("units", 1, Measure::Own),
            ("unit", 1, Measure::Own),
            ("km", 1000, Measure::Metres),
            ("m", 1, Measure::Metres),
        ];
        let found = endings.into_iter().find_map(|(ending, times, measure)| {
            let number = text.strip_suffix(ending)?.trim_end();
            Some(Self { number, times, measure })
        });
        found.unwrap_or(Self { number: text, times: 1, measure: Measure::Nats })
    }

    /// The number in its measure.
    ///
    /// # Errors
    ///
    /// If it is not one.
    pub(crate) fn value(self) -> Result<Rational, <Rational as FromStr>::Err> {
        let number: Rational = self.number.parse()?;
        let too_long = || crate::rational::RationalError::TooLong(self.number.to_owned());
        scaled(number, self.times, 1).ok_or_else(too_long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_read() {
        let read = |text| {
            let measured = Measured::of(text);
            (measured.value().unwrap().to_string(), measured.measure)
        };
        assert_eq!(read("3.5"), ("3.5".to_owned(), Measure::Nats));
        assert_eq!(read("1 nat"), ("1".to_owned(), Measure::Nats));
        assert_eq!(read("200m"), ("200".to_owned(), Measure::Metres));
        assert_eq!(read(" 0.2 km"), ("200".to_owned(), Measure::Metres));
        assert_eq!(read("1/3m"), ("1/3".to_owned(), Measure::Metres));
        assert_eq!(read("12 units"), ("12".to_owned(), Measure::Own));
        assert!(Measured::of("m").value().is_err() && Measured::of("200miles").value().is_err());
    }

    #[test]
    fn there_and_back() {
        for measure in Measure::ALL {
            for text in ["1", "200", "0.001", "1/3", "4000000"] {
                let number: Rational = text.parse().unwrap();
                let inside = measure.to_units(number).unwrap();
                assert_eq!(measure.from_units(inside), Some(number));
                let shown = measure.shown(inside.as_f64());
                assert!((shown - number.as_f64()).abs() <= 5.1e-7 * (1.0 + number.as_f64()));
            }
        }
        assert_eq!(Measure::Metres.distance(Nats::from_units(200_500)), "200.5 m");
        assert_eq!(Measure::Metres.shown(200_000.0 / 1_048_576.0), 200.0);
        assert_eq!(Measure::Own.distance(Nats::from_units(1000)), "1 unit");
        assert_eq!(
            Measure::Nats.distance(Nats::from_units(Nats::PER_NAT)),
            "1.000 nat".to_owned() + "s"
        );
    }
}
