//! What is charged to a ledger before it is released.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::Path;

use anyhow::{Result, bail};
use veilwalk::internal::request::{Made, PersonTotal};
use veilwalk::internal::session::WalkDigest;
use veilwalk::session::Releaser;
use veilwalk::{Chain, Promise, Start};
use veilwalk_io::{NewWalk, ReadError, ReadErrorKind, UnknownStates, WalkOptions, WalkReader};
use veilwalk_ledger::{Charge, Charged, Ledger, LedgerError, Limit, Terms};

use super::{Args, Run};
use crate::args::counted;
use crate::progress::{self, Stoppable};
use crate::terminal;

/// A ledger, and what each walk of this run costs.
pub(super) struct Charging {
    ledger: Ledger,
    terms: Terms,
    limit: Option<Limit>,
}

/// The walks of a file that was read beforehand, by name.
pub(super) type Known = BTreeMap<String, KnownWalk>;

/// What is known of a walk before it is released.
pub(super) struct KnownWalk {
    person: Option<String>,
    digest: Option<WalkDigest>,
}

impl Charging {
    /// Opens the ledger that was asked for.
    pub(super) fn open(
        args: &Args,
        chosen: &Made,
        release: [u8; 16],
        start: Start,
    ) -> Result<Option<Self>> {
        if !args.budget.is_given() {
            return Ok(None);
        }
        let Some(terms) = Terms::of_release(&chosen.mechanism, start, release) else {
            bail!("the mechanism makes no promise that a ledger could count");
        };
        let limit = args.budget.limit();
        Ok(args.budget.open()?.map(|ledger| Self { ledger, terms, limit }))
    }

    /// Charges walks that are met for the first time.
    pub(super) fn charge_new(&self, new: &[NewWalk<'_>]) -> Result<(), LedgerError> {
        let charges = new.iter().map(|walk| charge_of(walk.name, walk.person));
        self.charge(&charges.collect::<Vec<_>>()).map(|_| ())
    }

    /// Charges all walks of a file.
    pub(super) fn charge_known(&self, known: &Known) -> Result<()> {
        let charges = known.iter().map(|(name, walk)| {
            let digest = walk.digest.as_ref().map(|digest| digest.so_far().to_bytes());
            charge_of(name, walk.person.as_deref()).digest(digest)
        });
        let Charged { repeated, .. } = self.charge(&charges.collect::<Vec<_>>())?;
        if repeated > 0 {
            terminal::note(format!(
                "{} released before under this release id, with the same real states: this is the same \
                 release again, and costs nothing",
                if repeated == 1 {
                    "1 walk was".to_owned()
                } else {
                    format!("{} were", counted(repeated, "walk"))
                }
            ));
        }
        Ok(())
    }

    fn charge(&self, charges: &[Charge<'_>]) -> Result<Charged, LedgerError> {
        self.ledger.charge(&self.terms, charges, self.limit)
    }
}

/// Says what the walks of one person cost together, and gives the largest number of them. That number comes
/// from a column that is not released, so it is for whoever holds the walks.
pub(super) fn tell_persons(known: &Known, promise: Promise) -> Option<u64> {
    let mut walks: BTreeMap<&str, u64> = BTreeMap::new();
    for person in known.values().filter_map(|walk| walk.person.as_deref()) {
        *walks.entry(person).or_default() += 1;
    }
    let most = NonZeroU64::new(walks.values().copied().max()?)?;
    let total = PersonTotal { epsilon: promise.epsilon.value(), walks: most };
    terminal::note(format!(
        "{} of {}, of whom no one has more than {most}. {total}",
        counted(known.len(), "walk"),
        counted(walks.len(), "person"),
    ));
    Some(most.get())
}

fn charge_of<'a>(name: &'a str, person: Option<&'a str>) -> Charge<'a> {
    let charge = Charge::of_walk(name);
    person.map_or(charge, |person| charge.person(person))
}

impl Args {
    /// The column that says whose walk it is, if it is not the walk's name itself.
    pub(super) fn person_column(&self) -> Option<&str> {
        let column = self.person_column.as_deref()?;
        (column.trim() != self.trajectory_column.trim()).then_some(column)
    }

    /// Refuses a column of persons that cannot be one.
    pub(super) fn check_person_column(&self) -> Result<()> {
        let Some(column) = self.person_column() else { return Ok(()) };
        if column.trim() == self.state_column.trim() {
            bail!("--person-column {column}: that is the column of the states");
        }
        if self.keep.iter().any(|kept| kept.trim() == column.trim()) {
            bail!(
                "--keep {column} would release whose walk it is; leave it out, or make a copy of the \
                 column under another name if that is what you want"
            );
        }
        if self.stream && !self.budget.is_given() {
            bail!(
                "--person-column with --stream is for a ledger, which counts what each person's walks cost; \
                 give --ledger, or leave it out"
            );
        }
        if !self.stream && !Path::new(&self.walks).is_file() {
            bail!(
                "--person-column needs the walks in a file, or --stream: a pipe is read once, and whose \
                 a walk is has to be known before it is released"
            );
        }
        Ok(())
    }

    /// What is read of a row beyond the columns that are kept: the person, and the number of the step.
    pub(super) fn options_with_person(&self) -> WalkOptions {
        let mut options = self.options();
        options.keep.extend(self.person_column().map(str::to_owned));
        options.keep.extend(self.step_column.clone().filter(|_| self.state.is_some()));
        options
    }

    /// All walks that will be released, with whose they are and a digest of their states. That they can
    /// be released is checked on the way: a walk is not charged for a file that is refused.
    pub(super) fn known_walks(&self, chain: &Chain, run: &Run<'_>) -> Result<Known> {
        let mut reader = WalkReader::open(Path::new(&self.walks), self.options_with_person())?;
        let digests = Releaser::new(run.chosen.mechanism.clone(), &run.source, run.start)?;
        let input = reader.name().to_owned();
        let has_person = self.person_column().is_some();
        let mut known = Known::new();
        let _stoppable = Stoppable::new();
        while let Some(row) = reader.next_row()? {
            if progress::stop_requested() {
                return Err(progress::stopped());
            }
            let real = match (chain.state(row.state), run.unknown_states) {
                (Some(real), _) | (None, UnknownStates::Replace(real)) => real,
                (None, UnknownStates::Skip) => continue,
                (None, UnknownStates::Refuse) => {
                    let kind = ReadErrorKind::UnknownState(chain.unknown(row.state));
                    let error = ReadError::at(input, row.place, kind);
                    return Err(self.with_advice(chain, error));
                }
            };
            let name = row.trajectory;
            let person = if has_person { row.kept.clone().last() } else { None };
            if person == Some("") {
                let kind = ReadErrorKind::EmptyField {
                    column: self.person_column().unwrap_or_default().to_owned(),
                };
                return Err(ReadError::at(input, row.place, kind).into());
            }
            if !known.contains_key(name) {
                let walk = KnownWalk {
                    person: person.map(str::to_owned),
                    digest: digests.walk_digest(name),
                };
                known.insert(name.to_owned(), walk);
            }
            let Some(walk) = known.get_mut(name) else { continue };
            if walk.person.as_deref() != person {
                let kind = ReadErrorKind::OtherPerson {
                    name: name.to_owned(),
                    first: walk.person.clone().unwrap_or_default(),
                    second: person.unwrap_or_default().to_owned(),
                };
                return Err(ReadError::at(input, row.place, kind).into());
            }
            if let Some(digest) = &mut walk.digest {
                digest.push(real);
            }
        }
        Ok(known)
    }
}
