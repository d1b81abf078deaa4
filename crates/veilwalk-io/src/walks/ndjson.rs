//! Rows as JSON objects, one on each line.
//!
//! The parser hands the wanted values straight into one buffer, in the order of the roles, so that a
//! row of JSON looks like a row of a table to the rest and costs no allocation. All other keys are
//! passed over.

use std::fmt;
use std::ops::Range;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{ColumnRole, Wanted};
use crate::read_error::ReadErrorKind;
use crate::table::Record;

/// The wanted values of the current line.
pub(super) struct Objects {
    wanted: Wanted,
    /// The values at these places are given as JSON.
    as_json: Range<usize>,
    values: Values,
}

/// Values as they came, and where each of the wanted ones is.
#[derive(Default)]
struct Values {
    /// In the order of the keys on the line.
    found: String,
    places: Vec<Option<(usize, usize)>>,
    problem: Option<ReadErrorKind>,
    /// In the order of the names.
    text: String,
    ends: Vec<usize>,
}

impl Objects {
    pub(super) fn new(wanted: Wanted) -> Self {
        Self { wanted, as_json: 0..0, values: Values::default() }
    }

    /// Gives the values of this many kept columns as JSON.
    pub(super) fn keep_json(&mut self, columns: usize) {
        let kept = |place: &usize| self.wanted.role(*place) == ColumnRole::Kept;
        let first = (0..self.wanted.len()).find(kept).unwrap_or(0);
        self.as_json = first..first + columns;
    }

    pub(super) fn read(&mut self, line: &str, number: u64) -> Result<Record<'_>, ReadErrorKind> {
        let Self { wanted, as_json, values } = self;
        values.clear(wanted.len());
        let mut parser = serde_json::Deserializer::from_str(line.trim_end());
        Object { wanted, as_json, values }
            .deserialize(&mut parser)
            .and_then(|()| parser.end())
            .map_err(|error| json_error(&error))?;
        if let Some(problem) = values.problem.take() {
            return Err(problem);
        }
        if let Some(missing) = values.places.iter().position(Option::is_none) {
            return Err(missing_key(wanted, missing, line));
        }
        values.arrange();
        Ok(Record { line: number, text: &values.text, ends: &values.ends, gap: 0 })
    }
}

impl Values {
    fn clear(&mut self, names: usize) {
        self.found.clear();
        self.places.clear();
        self.places.resize(names, None);
        self.problem = None;
    }

    /// Copies the values into the order of the names.
    fn arrange(&mut self) {
        self.text.clear();
        self.ends.clear();
        for &(start, end) in self.places.iter().flatten() {
            self.text.push_str(&self.found[start..end]);
            self.ends.push(self.text.len());
        }
    }

    /// Notes the first thing that is wrong; the parser goes on, so that a line that is not JSON at
    /// all is told first.
    fn note(&mut self, problem: ReadErrorKind) {
        self.problem.get_or_insert(problem);
    }
}

fn json_error(error: &serde_json::Error) -> ReadErrorKind {
    let text = error.to_string();
    // The parser saw one line only: its own line number is always one.
    let problem = text.split(" at line ").next().unwrap_or(&text);
    ReadErrorKind::Json { column: error.column().max(1), problem: problem.to_owned() }
}

fn missing_key(wanted: &Wanted, missing: usize, line: &str) -> ReadErrorKind {
    let object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(line).unwrap_or_default();
    ReadErrorKind::MissingColumn {
        column: wanted.name(missing).to_owned(),
        role: wanted.role(missing),
        found: object.into_iter().map(|(key, _)| key).collect(),
    }
}

/// Reads an object, keeping the values under the wanted names.
struct Object<'a> {
    wanted: &'a Wanted,
    as_json: &'a Range<usize>,
    values: &'a mut Values,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { wanted, as_json, values } = self;
        while let Some(place) = map.next_key_seed(Key(wanted))? {
            let Some(place) = place else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let start = values.found.len();
            let kind = if as_json.contains(&place) { Kind::Json } else { Kind::Text };
            let numbers = Numbers::of(wanted.role(place));
            let cell = Cell { out: &mut values.found, numbers, kind };
            if let Some(found) = map.next_value_seed(cell)? {
                let key = wanted.name(place).to_owned();
                values.note(ReadErrorKind::JsonType { key, found });
            }
            let end = values.found.len();
            if values.places[place].replace((start, end)).is_some() {
                let key = wanted.name(place).to_owned();
                values.note(ReadErrorKind::JsonKeyTwice { key });
            }
        }
        Ok(())
    }
}

/// Reads a key, and gives its place among the wanted names.
struct Key<'a>(&'a Wanted);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|(_, name)| name == key))
    }
}

/// Reads a string or a number into a buffer; of anything else, gives what it is.
struct Cell<'a> {
    out: &'a mut String,
    numbers: Numbers,
    kind: Kind,
}

/// How a value is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Json,
}

/// Which numbers a value may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// What names something is never a fraction.
    Whole,
    /// What measures something may be.
    Any,
}

impl Numbers {
    fn of(role: ColumnRole) -> Self {
        match role {
            ColumnRole::Time | ColumnRole::Latitude | ColumnRole::Longitude => Self::Any,
            _ => Self::Whole,
        }
    }
}

type Refused = Option<&'static str>;

impl<'de> DeserializeSeed<'de> for Cell<'_> {
    type Value = Refused;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Refused, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Cell<'_> {
    type Value = Refused;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Refused, E> {
        match self.kind {
            Kind::Text => self.out.push_str(text),
            Kind::Json => {
                self.out.push_str(&serde_json::to_string(text).map_err(E::custom)?);
            }
        }
        Ok(None)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Refused, E> {
        self.out.push_str(itoa::Buffer::new().format(number));
        Ok(None)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Refused, E> {
        self.out.push_str(itoa::Buffer::new().format(number));
        Ok(None)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Refused, E> {
        if self.kind == Kind::Json {
            // As JSON, and never infinite: it came as JSON.
            self.out.push_str(&serde_json::to_string(&number).map_err(E::custom)?);
            return Ok(None);
        }
        if self.numbers == Numbers::Any {
            self.out.push_str(&number.to_string());
            return Ok(None);
        }
        Ok(Some("a number with a fraction, an exponent or over 64 bits"))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Refused, E> {
        Ok(Some("true or false"))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Refused, E> {
        Ok(Some("null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Refused, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Some("a list"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Refused, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Some("an object"))
    }
}
