//! Numbers in files: probabilities and counts.
//!
//! A number is taken only if it means what it says: one that would round to zero, or a count beyond those that
//! can be told from the next, is refused rather than changed. A count need not be a whole number: counts
//! with noise or with something added to each are not.

use std::fmt;

use crate::read_error::{ReadErrorKind, shortened};

/// What a number in a file stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quantity {
    /// A probability.
    Probability,
    /// A number of times that something was seen.
    Count,
}

impl Quantity {
    /// Every whole number up to this one is exact as a 64-bit floating-point number.
    const LARGEST_COUNT: f64 = (1u64 << 53) as f64;

    /// Reads a number of this kind. Spaces around it are ignored.
    pub(crate) fn parse(self, field: &str) -> Result<f64, ReadErrorKind> {
        let digits = field.trim();
        let problem = match digits.parse::<f64>() {
            Err(_) => NumberProblem::NotANumber,
            Ok(value) if !value.is_finite() => NumberProblem::NotFinite,
            Ok(value) if value < 0.0 => NumberProblem::Negative,
            Ok(0.0) if has_nonzero_digit(digits) => NumberProblem::TooSmall,
            Ok(value) => match self {
                Self::Count if value > Self::LARGEST_COUNT => NumberProblem::TooLarge,
                Self::Count | Self::Probability => return Ok(value),
            },
        };
        Err(ReadErrorKind::BadNumber {
            quantity: self,
            found: shortened(field),
            problem,
            column: None,
        })
    }

    fn example(self) -> &'static str {
        match self {
            Self::Probability => "write a decimal such as 0.25",
            Self::Count => "write a number such as 25",
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Probability => "probability",
            Self::Count => "count",
        })
    }
}

/// What is wrong with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumberProblem {
    /// It cannot be read as a number.
    NotANumber,
    /// It is infinite, too large to hold, or the word for "not a number".
    NotFinite,
    /// It is below zero.
    Negative,
    /// It is positive, but so small that it would become zero.
    TooSmall,
    /// It is a count too large to be held exactly.
    TooLarge,
}

impl NumberProblem {
    /// The second half of a message: what is wrong, and what to write instead.
    pub(crate) fn advice(self, quantity: Quantity) -> String {
        let example = quantity.example();
        match self {
            Self::NotANumber => format!("is not a number; {example}"),
            Self::NotFinite => format!("is not a finite number; {example}"),
            Self::Negative => "is negative; write a number from zero up".to_owned(),
            Self::TooSmall => "is too small to tell from zero; write 0 if the move is impossible, \
                               or a larger number"
                .to_owned(),
            Self::TooLarge => {
                "is larger than 9007199254740992; divide the counts, or give probabilities"
                    .to_owned()
            }
        }
    }
}

/// Whether the digits before the exponent hold one that is not zero.
fn has_nonzero_digit(number: &str) -> bool {
    number
        .split(['e', 'E'])
        .next()
        .is_some_and(|digits| digits.bytes().any(|b| (b'1'..=b'9').contains(&b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(quantity: Quantity, field: &str) -> String {
        quantity.parse(field).unwrap_err().to_string()
    }

    #[test]
    fn numbers_that_are_taken() {
        let p = |field| Quantity::Probability.parse(field).unwrap();
        assert_eq!((p("0.25"), p(" 1e-3 "), p("0"), p("0e0")), (0.25, 1e-3, 0.0, 0.0));
        let c = |field| Quantity::Count.parse(field).unwrap();
        assert_eq!((c("12"), c("3.0"), c("1e3"), c("2.5")), (12.0, 3.0, 1000.0, 2.5));
    }

    #[test]
    fn numbers_that_are_refused() {
        use Quantity::{Count, Probability};
        assert_eq!(
            message(Probability, "abc"),
            "the probability \"abc\" is not a number; write a decimal such as 0.25"
        );
        for (field, word) in [("", "not a number"), ("25%", "not a number"), ("nan", "finite")] {
            assert!(message(Probability, field).contains(word), "{field}");
        }
        for (field, word) in [("inf", "finite"), ("1e999", "finite"), ("-0.1", "negative")] {
            assert!(message(Probability, field).contains(word), "{field}");
        }
        assert!(message(Probability, "1e-999").contains("too small"));
        assert!(message(Count, "many").contains("a number such as 25"));
        assert!(message(Count, "1e300").contains("larger than"));
    }
}
