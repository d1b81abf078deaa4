//! Every reader of veilwalk, fed with any bytes.
//!
//! A [`Target`] takes bytes, gives them to a reader, and panics if something is wrong with what comes back. What has to
//! hold is the same everywhere: a reader never panics and takes no memory that the input does not account for; what it
//! refuses it explains; and what it accepts comes back the same when it is written and read again.
//!
//! libFuzzer finds the bytes (`scripts/fuzz`). The tests of this crate run every target over its corpus, and over
//! mutations of it that are the same in every run. So what a fuzzer once found stays found: its input goes into the
//! corpus.
//!
//! Formats with checksums would end every run at the checksum. Their targets put the checksum right first, so that what
//! is behind it is reached, too.

mod chains;
mod events;
mod ledgers;
mod models;
mod mutate;
mod numbers;
mod roads;
mod scratch;
mod sessions;
mod settings;
mod walks;

pub use ledgers::example as ledger;
pub use mutate::Mutations;
pub use sessions::examples as sessions;

/// What a reader made of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It took them.
    Accepted,
    /// It refused them, and said why.
    Refused,
}

/// A reader with what has to hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, and that of its folder under `corpus`.
    pub name: &'static str,
    /// What one run costs, beside reading a few lines.
    pub cost: Cost,
    run: fn(&[u8]) -> Outcome,
}

/// What one run of a target costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Some lines are read.
    Low,
    /// A file is written for it.
    Middle,
    /// A mechanism is made, or a database opened.
    High,
}

impl Target {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::new("csv", Cost::Low, walks::csv),
        Self::new("ndjson", Cost::Low, walks::ndjson),
        Self::new("release", Cost::High, walks::release),
        Self::new("events", Cost::Middle, events::table),
        Self::new("positions", Cost::Middle, events::positions),
        Self::new("xes", Cost::Middle, events::xes),
        Self::new("osm", Cost::Middle, roads::map),
        Self::new("chain", Cost::Middle, chains::chain),
        Self::new("places", Cost::Middle, chains::places),
        Self::new("shares", Cost::Low, chains::shares),
        Self::new("model", Cost::High, models::model),
        Self::new("mechanism", Cost::High, settings::mechanism),
        Self::new("manifest", Cost::Middle, settings::manifest),
        Self::new("session", Cost::Low, sessions::session),
        Self::new("ledger", Cost::High, ledgers::file),
        Self::new("entry", Cost::High, ledgers::entry),
        Self::new("numbers", Cost::Low, numbers::numbers),
    ];

    const fn new(name: &'static str, cost: Cost, run: fn(&[u8]) -> Outcome) -> Self {
        Self { name, cost, run }
    }

    /// The target of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|target| target.name == name)
    }

    /// Gives these bytes to the reader.
    ///
    /// # Panics
    ///
    /// If something does not hold that has to.
    pub fn read(&self, data: &[u8]) -> Outcome {
        (self.run)(data)
    }
}

/// What was read, if it was; an error has to say something.
fn taken<T, E: std::fmt::Display>(read: Result<T, E>) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(!error.to_string().trim().is_empty(), "an error without words");
            None
        }
    }
}

impl<T> From<Option<T>> for Outcome {
    fn from(taken: Option<T>) -> Self {
        if taken.is_some() { Self::Accepted } else { Self::Refused }
    }
}
