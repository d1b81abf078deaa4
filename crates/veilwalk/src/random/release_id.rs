//! The id of a release: which run a derived random stream belongs to.

use std::str::FromStr;

use thiserror::Error;

use super::Unavailable;
use crate::sixteen_bytes::sixteen_bytes;

/// Names one run: 128 bits, written as 32 hexadecimal digits.
///
/// Keyed randomness is derived from the key *and* this id, so two runs with different ids are
/// independent even under one key. An id is not secret: it belongs in the manifest, so that the run
/// can be repeated. Draw a fresh one for every run, unless the run repeats an earlier one on the same
/// real walks.
///
/// ```
/// use veilwalk::ReleaseId;
///
/// let id = ReleaseId::random()?;
/// assert_eq!(id.to_string().parse::<ReleaseId>()?, id);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseId([u8; 16]);

/// A text that is not a release id.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} is not a release id: an id has 32 hexadecimal digits; copy it from `release_id` in the \
     manifest of the run to repeat"
)]
pub struct NotAReleaseId(String);

impl ReleaseId {
    /// A fresh id from the operating system.
    ///
    /// # Errors
    ///
    /// If the operating system has no randomness to give.
    pub fn random() -> Result<Self, Unavailable> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| Unavailable(error.to_string()))?;
        Ok(Self(bytes))
    }

    /// The id that a seed stands for.
    pub(super) fn of_seed(seed: u64) -> Self {
        let hash = blake3::derive_key("veilwalk 2026 release id of a seed v1", &seed.to_le_bytes());
        Self(*hash.first_chunk().expect("16 of 32 bytes"))
    }
}

sixteen_bytes!(ReleaseId);

impl FromStr for ReleaseId {
    type Err = NotAReleaseId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| digits);
        number
            .map(|number| Self(number.to_be_bytes()))
            .ok_or_else(|| NotAReleaseId(text.chars().take(80).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_bytes_stand_for_the_same_id() {
        let text = "00f1e2d3c4b5a69788796a5b4c3d2e1f";
        let id: ReleaseId = text.parse().unwrap();
        assert_eq!(id.to_string(), text);
        assert_eq!(text.to_uppercase().parse(), Ok(id));
        assert_eq!(id.to_bytes()[..2], [0x00, 0xf1]);
        assert_eq!(ReleaseId::from_bytes(id.to_bytes()), id);
    }

    #[test]
    fn other_texts_are_refused_by_name() {
        let long = "f".repeat(1000);
        for text in ["", "12", &"f".repeat(31), &"f".repeat(33), &"g".repeat(32), &long] {
            let error = text.parse::<ReleaseId>().unwrap_err().to_string();
            assert!(error.contains("32 hexadecimal digits"), "{error}");
            assert!(error.len() < 300, "{error}");
        }
        // A sign is a digit to those who read numbers.
        assert!(format!("+{}", "f".repeat(31)).parse::<ReleaseId>().is_err());
        assert!("é".repeat(16).parse::<ReleaseId>().is_err());
    }

    #[test]
    fn ids_differ() {
        assert_ne!(ReleaseId::random().unwrap(), ReleaseId::random().unwrap());
        assert_ne!(ReleaseId::of_seed(1), ReleaseId::of_seed(2));
        assert_eq!(ReleaseId::of_seed(1), ReleaseId::of_seed(1));
    }
}
