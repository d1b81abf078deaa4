//! A promise in the words of people: what it comes to for somebody who has several walks.
//!
//! A promise is for one walk. Walks are released independently of each other, so what is lost by replacing walks of
//! one person is at most the sum over these walks.

use std::fmt;
use std::num::NonZeroU64;

use crate::rational::Rational;

/// A promise for each walk, and a person with so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PersonTotal {
    /// What is promised for one walk.
    pub epsilon: Rational,
    /// How many walks the person has.
    pub walks: NonZeroU64,
}

impl PersonTotal {
    /// At least what all walks of the person lose together; `None` if that is beyond what can be counted.
    #[must_use]
    pub fn total(self) -> Option<Rational> {
        self.epsilon.multiply_rounding_up(Rational::whole(self.walks.get()))
    }
}

impl fmt::Display for PersonTotal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (walks, plural) = (self.walks, if self.walks.get() == 1 { "" } else { "s" });
        write!(
            f,
            "The promise is for each walk, and the losses of a person's walks add up: with {walks} walk{plural}, "
        )?;
        match self.total() {
            Some(total) => write!(f, "epsilon {total} in all."),
            None => write!(f, "more in all than can be counted."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_add_up() {
        let person = |epsilon: &str, walks: u64| PersonTotal {
            epsilon: epsilon.parse().unwrap(),
            walks: NonZeroU64::new(walks).unwrap(),
        };
        assert_eq!(person("0.1", 3).total(), Some("0.3".parse().unwrap()));
        assert_eq!(person("1/3", 3).total(), Some(Rational::ONE));
        assert!(person("2", 5).to_string().ends_with("with 5 walks, epsilon 10 in all."));
        assert!(person("2", 1).to_string().contains("with 1 walk, epsilon 2 in all."));
        assert!(person("2", u64::MAX).to_string().contains("than can be counted"));
    }
}
