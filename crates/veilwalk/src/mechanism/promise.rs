//! What is promised: ε, and between which walks it holds. Its numbers are read from text here.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use thiserror::Error;

use crate::measure::{Measure, Measured};
use crate::rational::{Rational, RationalError};

/// Why a number cannot be a privacy parameter.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// Not a number at all.
    #[error("{name}: {source}")]
    NotANumber {
        /// The parameter.
        name: &'static str,
        /// What is wrong with it.
        source: RationalError,
    },
    /// Zero where something positive is needed.
    #[error("{name} is zero; give a number above it, such as 0.5 or 1/3")]
    Zero {
        /// The parameter.
        name: &'static str,
    },
    /// Below zero where something positive is needed.
    #[error("{name} is negative; give a number above zero, such as 0.5 or 1/3")]
    Negative {
        /// The parameter.
        name: &'static str,
    },
    /// Above one where a share is needed.
    #[error("{name} is {value}; give a share from 0 to 1, such as 0.1")]
    AboveOne {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: Rational,
    },
    /// More digits than the arithmetic keeps.
    #[error("{name} is {value}; use a number below 1000 with at most six decimals")]
    TooFine {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: Rational,
    },
}

fn positive(name: &'static str, text: &str) -> Result<Rational, ParameterError> {
    let value: Rational = text.parse().map_err(|source| match source {
        RationalError::Negative(_) => ParameterError::Negative { name },
        source => ParameterError::NotANumber { name, source },
    })?;
    if value.is_zero() { Err(ParameterError::Zero { name }) } else { Ok(value) }
}

/// ε: the largest log-ratio of the probabilities of any release from two adjacent walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epsilon(Rational);

/// The adjacency radius: two walks of equal length are adjacent when the symmetric
/// distances between their states, added up over all steps, are at most this.
///
/// It is a number with its measure, `3.5` nats or `200m`. [`Radius::value`] counts it in 2²⁰ units of a
/// distance, which are nats where distances are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Radius {
    value: Rational,
    measure: Measure,
}

impl Radius {
    /// A radius in nats; `None` for zero.
    #[must_use]
    pub fn new(nats: Rational) -> Option<Self> {
        Self::in_units(nats, Measure::Nats)
    }

    /// A radius of so many nats, metres or units of a table; `None` for zero, or what does not fit.
    ///
    /// ```
    /// use veilwalk::{Measure, Radius, Rational};
    ///
    /// let radius = Radius::of(Rational::whole(200), Measure::Metres).unwrap();
    /// assert_eq!(radius, "0.2km".parse()?);
    /// assert_eq!(radius.to_string(), "200m");
    /// # Ok::<(), veilwalk::mechanism::ParameterError>(())
    /// ```
    #[must_use]
    pub fn of(number: Rational, measure: Measure) -> Option<Self> {
        Self::in_units(measure.to_units(number)?, measure)
    }

    /// A radius of so many times 2²⁰ units; `None` for zero.
    #[must_use]
    pub fn in_units(value: Rational, measure: Measure) -> Option<Self> {
        (!value.is_zero()).then_some(Self { value, measure })
    }

    /// The exact value, in 2²⁰ units of a distance.
    #[must_use]
    pub const fn value(self) -> Rational {
        self.value
    }

    /// What it is counted in.
    #[must_use]
    pub const fn measure(self) -> Measure {
        self.measure
    }

    /// The number of nats, metres or units that it is. (Exact unless it was made of a number with some
    /// fifteen digits.)
    #[must_use]
    pub fn number(self) -> Rational {
        let number = self.measure.from_units(self.value);
        number.unwrap_or_else(|| {
            Rational::at_least(self.measure.shown(self.value.as_f64())).unwrap_or(self.value)
        })
    }

    /// The radius with its unit, for sentences: `200 m`.
    #[must_use]
    pub fn in_words(self) -> String {
        self.measure.with_unit(self.number())
    }
}

impl FromStr for Radius {
    type Err = ParameterError;

    /// A number with its unit, such as `200m` or `0.2km`. A number without one is in nats.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const NAME: &str = "the radius";
        let measured = Measured::of(text);
        positive(NAME, measured.number)?;
        let too_long = |source| ParameterError::NotANumber { name: NAME, source };
        let number = measured.value().map_err(too_long)?;
        let fits = Self::of(number, measured.measure);
        fits.ok_or_else(|| too_long(RationalError::TooLong(text.to_owned())))
    }
}

impl fmt::Display for Radius {
    /// As it can be read back: `3.5`, `200m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.measure {
            Measure::Nats => self.value.fmt(f),
            measure => write!(f, "{}{}", self.number(), measure.suffix()),
        }
    }
}

/// The ε that all releases of one walk may add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget(Rational);

/// The chain weight β: how much a candidate's own unlikeliness counts against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChainWeight(Rational);

macro_rules! positive_parameter {
    ($type:ident, $name:literal) => {
        impl $type {
            /// The parameter with this value; `None` for zero.
            #[must_use]
            pub fn new(value: Rational) -> Option<Self> {
                (!value.is_zero()).then_some(Self(value))
            }

            /// The exact value.
            #[must_use]
            pub const fn value(self) -> Rational {
                self.0
            }
        }

        impl FromStr for $type {
            type Err = ParameterError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                positive($name, text).map(Self)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

positive_parameter!(Epsilon, "epsilon");
positive_parameter!(Budget, "the budget");

impl ChainWeight {
    /// The chain plays no part beyond saying which moves are possible.
    pub const ZERO: Self = Self(Rational::ZERO);
    /// One half, as in `sharp`.
    pub const HALF: Self = Self(Rational::HALF);

    const LARGEST_PART: u64 = 1_000_000_000;

    /// The chain weight with this value.
    ///
    /// # Errors
    ///
    /// If it has more digits than exact costs have room for.
    pub fn new(value: Rational) -> Result<Self, ParameterError> {
        if value.denominator() > 1_000_000 || value.numerator() > Self::LARGEST_PART {
            return Err(ParameterError::TooFine { name: "the chain weight", value });
        }
        Ok(Self(value))
    }

    /// The exact value.
    #[must_use]
    pub const fn value(self) -> Rational {
        self.0
    }
}

impl FromStr for ChainWeight {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let value = text
            .parse()
            .map_err(|source| ParameterError::NotANumber { name: "the chain weight", source })?;
        Self::new(value)
    }
}

impl fmt::Display for ChainWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the guarantee is counted in: which walks are to be hard to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Walks whose states differ by at most this much in all.
    Radius(Radius),
    /// Walks that differ in at most this many states, however far apart those are.
    Substitutions(NonZeroU32),
}

impl Unit {
    /// What it is counted in, if that is a distance.
    #[must_use]
    pub const fn measure(self) -> Option<Measure> {
        match self {
            Self::Radius(radius) => Some(radius.measure()),
            Self::Substitutions(_) => None,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Radius(radius) => write!(f, "radius {}", radius.in_words()),
            Self::Substitutions(b) if b.get() == 1 => write!(f, "1 substitution"),
            Self::Substitutions(b) => write!(f, "{b} substitutions"),
        }
    }
}

/// A promise: ε for a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The largest loss.
    pub epsilon: Epsilon,
    /// Between which walks.
    pub unit: Unit,
}

impl Promise {
    /// ε for walks within a radius.
    #[must_use]
    pub fn within_radius(epsilon: Epsilon, radius: Radius) -> Self {
        Self { epsilon, unit: Unit::Radius(radius) }
    }

    /// ε for walks that differ in at most `b` states.
    #[must_use]
    pub fn for_substitutions(epsilon: Epsilon, b: NonZeroU32) -> Self {
        Self { epsilon, unit: Unit::Substitutions(b) }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epsilon {}, {}", self.epsilon, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_to_be_positive_numbers() {
        assert_eq!("0.1".parse::<Epsilon>().unwrap().value(), Rational::new(1, 10).unwrap());
        let message = |text: &str| text.parse::<Epsilon>().unwrap_err().to_string();
        assert_eq!(message("0"), "epsilon is zero; give a number above it, such as 0.5 or 1/3");
        assert!(message("-1").contains("negative"));
        assert!(message("many").contains("not a number"));
        assert!("0".parse::<Radius>().is_err());
        assert!("0".parse::<ChainWeight>().is_ok());
        assert!("0.12345678".parse::<ChainWeight>().is_err());
        for text in ["0m", "-5m", "m", "5 miles", "99999999999999999999km"] {
            assert!(text.parse::<Radius>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_radius_is_read_as_it_is_shown() {
        for (text, words) in [
            ("3.5", "3.5 nats"),
            ("1", "1 nat"),
            ("1/3", "1/3 nats"),
            ("200m", "200 m"),
            ("1/3m", "1/3 m"),
            ("0.001m", "0.001 m"),
            ("12units", "12 units"),
        ] {
            let radius: Radius = text.parse().unwrap();
            assert_eq!((radius.to_string().as_str(), radius.in_words().as_str()), (text, words));
        }
        let metres: Radius = "0.2 km".parse().unwrap();
        assert_eq!(metres.value(), Rational::new(200_000, 1 << 20).unwrap());
    }
}
