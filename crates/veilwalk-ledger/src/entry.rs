//! One released walk in the ledger, and its checksum.

use std::fmt;
use std::num::NonZeroU32;

use veilwalk::chain::ChainHash;
use veilwalk::guarantee::Price;
use veilwalk::mechanism::{Epsilon, Promise, Radius, Unit};
use veilwalk::{Measure, Mechanism, Rational, Start};

use crate::error::Problem;

/// What is lost at most, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// ε.
    pub epsilon: Epsilon,
    /// What may be replaced by what.
    pub unit: LossUnit,
}

/// What may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossUnit {
    /// The walk that was released, by any other within this unit.
    Walk(Unit),
    /// All walks of the person, by any others: the loss of a chain that was fitted on them.
    Person,
}

/// What a charge is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A release of walks.
    Release,
    /// A chain that is fitted on all walks of a person.
    Fit,
}

impl LossUnit {
    /// What is charged in this unit.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        match self {
            Self::Walk(_) => Purpose::Release,
            Self::Person => Purpose::Fit,
        }
    }
}

impl From<Promise> for Loss {
    fn from(promise: Promise) -> Self {
        Self { epsilon: promise.epsilon, unit: LossUnit::Walk(promise.unit) }
    }
}

impl fmt::Display for LossUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Walk(unit) => unit.fmt(f),
            Self::Person => f.write_str("all walks of the person replaced"),
        }
    }
}

/// What a run promises for every walk that it releases, or for every person whose walks it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The id of the release. Two runs with different ids are independent.
    pub release: [u8; 16],
    /// ε, and what it refers to.
    pub promise: Loss,
    /// The hash of the chain; with another metric than nats, that of both.
    pub chain: ChainHash,
    /// At least the loss of replacing one real state; see
    /// [`Price`](veilwalk::guarantee::Price::one_state).
    pub one_state: Option<Rational>,
    /// Whether walks `d` nats apart, beyond the radius, lose at most `ε·d/ρ`.
    pub linear: bool,
    /// Whether the first state of every walk is released as it is. No loss covers that state.
    pub start_disclosed: bool,
}

impl Terms {
    /// The terms of a release by this mechanism. None if it makes no promise.
    #[must_use]
    pub fn of_release(mechanism: &Mechanism, start: Start, release: [u8; 16]) -> Option<Self> {
        let price = Price::of(mechanism)?.starting(start);
        Some(Self {
            release,
            promise: price.promise.into(),
            chain: mechanism.model().hash(),
            one_state: price.one_state,
            linear: price.linear,
            start_disclosed: start == Start::First,
        })
    }
}

/// A walk that was charged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Whose walk it is.
    pub person: String,
    /// The walk's name; for what has to do with all walks of a person, the person's.
    pub walk: String,
    /// What was promised.
    pub terms: Terms,
    /// How many releases this stands for: one, but for what was migrated.
    pub releases: u64,
    /// When it was charged, in seconds since the beginning of 1970.
    pub charged: i64,
    /// A keyed digest of the real walk, where it was known when the walk was charged.
    pub digest: Option<[u8; 16]>,
}

/// How the unit of a whole person is written down.
const PERSON: &str = "person";

/// An entry as a database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) release: Vec<u8>,
    pub(crate) walk: String,
    pub(crate) person: String,
    /// A fraction, such as `1/2`.
    pub(crate) epsilon: String,
    /// `radius 7/2`, `radius 25/128 metres` (of 2²⁰ millimetres), `substitutions 2` or `person`.
    pub(crate) unit: String,
    pub(crate) chain: Vec<u8>,
    pub(crate) one_state: Option<String>,
    pub(crate) linear: bool,
    pub(crate) start_disclosed: bool,
    pub(crate) releases: i64,
    pub(crate) charged: i64,
    pub(crate) digest: Option<Vec<u8>>,
    pub(crate) checksum: Vec<u8>,
}

impl Row {
    /// A hash of everything but the checksum. Its first half is the checksum.
    pub(crate) fn hash(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("veilwalk 2026 ledger entry v1");
        let mut field = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        field(&self.release);
        field(self.walk.as_bytes());
        field(self.person.as_bytes());
        field(self.epsilon.as_bytes());
        field(self.unit.as_bytes());
        field(&self.chain);
        // A missing value and an empty one are different.
        field(&[u8::from(self.one_state.is_some())]);
        field(self.one_state.as_deref().unwrap_or_default().as_bytes());
        field(&[u8::from(self.linear), u8::from(self.start_disclosed)]);
        field(&self.releases.to_le_bytes());
        field(&self.charged.to_le_bytes());
        field(&[u8::from(self.digest.is_some())]);
        field(self.digest.as_deref().unwrap_or_default());
        *hasher.finalize().as_bytes()
    }

    /// The entry, if the checksum is right.
    pub(crate) fn entry(self) -> Result<(Entry, [u8; 32]), Problem> {
        let hash = self.hash();
        if self.checksum != hash[..16] {
            return Err(Problem::Damaged(format!(
                "the record of {:?} has a wrong checksum",
                self.walk
            )));
        }
        let entry = self.decoded().ok_or_else(|| {
            Problem::Damaged("a record holds something that this version cannot read".to_owned())
        })?;
        Ok((entry, hash))
    }

    fn decoded(self) -> Option<Entry> {
        let unit = match self.unit.split_once(' ') {
            Some(("radius", number)) => {
                let (number, measure) = number.split_once(' ').unwrap_or((number, "nats"));
                let measure = Measure::ALL.into_iter().find(|known| known.name() == measure)?;
                LossUnit::Walk(Unit::Radius(Radius::in_units(fraction(number)?, measure)?))
            }
            Some(("substitutions", number)) => {
                LossUnit::Walk(Unit::Substitutions(number.parse::<NonZeroU32>().ok()?))
            }
            None if self.unit == PERSON => LossUnit::Person,
            _ => return None,
        };
        let one_state = match &self.one_state {
            Some(text) => Some(fraction(text)?),
            None => None,
        };
        let digest = match self.digest {
            Some(bytes) => Some(bytes.try_into().ok()?),
            None => None,
        };
        Some(Entry {
            person: self.person,
            walk: self.walk,
            terms: Terms {
                release: self.release.try_into().ok()?,
                promise: Loss { epsilon: Epsilon::new(fraction(&self.epsilon)?)?, unit },
                chain: ChainHash(self.chain.try_into().ok()?),
                one_state,
                linear: self.linear,
                start_disclosed: self.start_disclosed,
            },
            releases: self.releases.try_into().ok()?,
            charged: self.charged,
            digest,
        })
    }
}

impl Entry {
    /// As it is written down, with its hash.
    pub(crate) fn row(&self) -> (Row, [u8; 32]) {
        let Terms { release, promise, chain, one_state, linear, start_disclosed } = self.terms;
        let mut row = Row {
            release: release.to_vec(),
            walk: self.walk.clone(),
            person: self.person.clone(),
            epsilon: written(promise.epsilon.value()),
            unit: match promise.unit {
                LossUnit::Walk(Unit::Radius(radius)) => match radius.measure() {
                    Measure::Nats => format!("radius {}", written(radius.value())),
                    measure => format!("radius {} {}", written(radius.value()), measure.name()),
                },
                LossUnit::Walk(Unit::Substitutions(b)) => format!("substitutions {b}"),
                LossUnit::Person => PERSON.to_owned(),
            },
            chain: chain.0.to_vec(),
            one_state: one_state.map(written),
            linear,
            start_disclosed,
            releases: i64::try_from(self.releases).unwrap_or(i64::MAX),
            charged: self.charged,
            digest: self.digest.map(Vec::from),
            checksum: Vec::new(),
        };
        let hash = row.hash();
        row.checksum = hash[..16].to_vec();
        (row, hash)
    }
}

/// A fraction that is read back as it was, however large its parts are.
pub(crate) fn written(value: Rational) -> String {
    format!("{}/{}", value.numerator(), value.denominator())
}

pub(crate) fn fraction(text: &str) -> Option<Rational> {
    let (above, below) = text.split_once('/')?;
    Rational::new(above.parse().ok()?, below.parse().ok()?)
}

/// The id as people see it.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn terms(promise: impl Into<Loss>) -> Terms {
        Terms {
            release: [3; 16],
            promise: promise.into(),
            chain: ChainHash([9; 32]),
            one_state: Rational::new(u64::MAX, 7),
            linear: true,
            start_disclosed: false,
        }
    }

    #[test]
    fn an_entry_comes_back_and_every_field_is_in_its_checksum() {
        let epsilon = Epsilon::new(Rational::new(u64::MAX, u64::MAX - 2).unwrap()).unwrap();
        let radius = Radius::new(Rational::new(7, 2).unwrap()).unwrap();
        let entry = Entry {
            person: "ann".into(),
            walk: "mon\0day".into(),
            terms: terms(Promise::within_radius(epsilon, radius)),
            releases: 1,
            charged: -5,
            digest: Some([1; 16]),
        };
        let (row, hash) = entry.row();
        let person = Loss { epsilon, unit: LossUnit::Person };
        let person = Entry { terms: terms(person), ..entry.clone() };
        assert_eq!(person.row().0.entry().unwrap().0, person);
        let metres = Promise::within_radius(epsilon, "200m".parse().unwrap());
        let metres = Entry { terms: terms(metres), ..entry.clone() };
        let written = metres.row().0;
        assert_eq!(written.unit, "radius 3125/16384 metres");
        assert_eq!(written.entry().unwrap().0, metres);
        assert_eq!(row.clone().entry().unwrap(), (entry, hash));
        let changes: [fn(&mut Row); 13] = [
            |row| row.release[0] ^= 1,
            |row| row.walk.push('x'),
            |row| row.person.push('x'),
            |row| row.epsilon = "1/1".into(),
            |row| row.unit = "radius 7/3".into(),
            |row| row.chain[31] ^= 128,
            |row| row.one_state = None,
            |row| row.linear = false,
            |row| row.start_disclosed = true,
            |row| row.releases = 2,
            |row| row.charged = 5,
            |row| row.digest = None,
            |row| row.checksum[3] ^= 4,
        ];
        for change in changes {
            let mut row = row.clone();
            change(&mut row);
            assert!(matches!(row.entry(), Err(Problem::Damaged(_))));
        }
    }
}
