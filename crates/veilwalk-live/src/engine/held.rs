//! What was drawn and could not be stored, kept until it is.
//!
//! How many bytes an answer takes depends on what was drawn. If a draw that does not fit were forgotten and made
//! anew, only draws that fit would ever be released, which is another law than the mechanism's. So what was
//! drawn stays in memory when there is no room, and nothing else is drawn before it is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use veilwalk_ledger::LedgerError;

use super::Engine;
use super::batch::{Batch, Drawn, EndedRow, at_rest};
use crate::charging::NewWalk;
use crate::figures::Tally;
use crate::refusal::Refusal;
use crate::request::{Answer, WalkName};
use crate::store::{StoreError, Trouble};

/// What was drawn of a walk.
#[derive(Debug)]
pub(super) struct Held {
    name: WalkName,
    person: Option<String>,
    /// None if the walk starts with it.
    row: Option<i64>,
    pub(super) answers: Vec<Answer>,
    /// How many steps the walk has with it.
    steps: u64,
    then: Then,
}

/// What becomes of a walk with what is held of it.
#[derive(Debug)]
enum Then {
    GoesOn {
        session: Vec<u8>,
    },
    /// Its last answers were drawn because it was ended.
    Ends,
}

/// Why what is held cannot be stored yet.
#[derive(Clone, Debug)]
pub(super) enum Hindrance {
    Store(StoreError),
    Ledger(Arc<LedgerError>),
}

impl From<Hindrance> for Refusal {
    fn from(hindrance: Hindrance) -> Self {
        match hindrance {
            Hindrance::Store(error) => Self::Store(error),
            Hindrance::Ledger(error) => Self::Ledger(error),
        }
    }
}

/// Why an attempt is taken back.
enum Abort {
    Store(Trouble),
    Ledger(Arc<LedgerError>),
}

impl From<Trouble> for Abort {
    fn from(trouble: Trouble) -> Self {
        Self::Store(trouble)
    }
}

impl Engine {
    /// Takes over what a batch has drawn, while its walks are still in memory.
    pub(super) fn hold(&mut self, batch: &Batch<'_>) -> Result<(), Trouble> {
        let mut drawn: BTreeMap<&WalkName, (Vec<Answer>, Option<EndedRow>)> = BTreeMap::new();
        for Drawn { name, answers, ended } in &batch.drawn {
            let (all, end) = drawn.entry(name).or_default();
            all.extend(answers);
            *end = *ended;
        }
        for (name, (answers, end)) in drawn {
            let new = batch.new.iter().find(|new| new.name == name);
            let person = new.and_then(|new| new.person).map(str::to_owned);
            let name_of = name.clone();
            if let Some(EndedRow { row, steps }) = end {
                let row = new.is_none().then_some(row);
                let then = Then::Ends;
                self.held.push(Held { name: name_of, person, row, answers, steps, then });
                continue;
            }
            let ended = batch.over.iter().find(|(over, _)| over == &name).map(|(_, cached)| cached);
            let cached = match ended {
                Some(cached) => cached,
                None => self.cache.get(name).ok_or_else(|| {
                    Trouble::Failed("a walk has left memory too early".to_owned())
                })?,
            };
            let (steps, session) = at_rest(&self.releaser, name, cached)?;
            let row = new.is_none().then_some(cached.row);
            let then = Then::GoesOn { session };
            self.held.push(Held { name: name_of, person, row, answers, steps, then });
        }
        Ok(())
    }

    /// Stores what is held, all of it. Until that is done nothing else may be drawn or ended.
    pub(super) fn store_held(&mut self) -> Result<(), Hindrance> {
        if let Some(broken) = &self.broken {
            return Err(Hindrance::Store(broken.clone()));
        }
        if self.held.is_empty() {
            return Ok(());
        }
        match self.write_held() {
            Ok(tally) => {
                self.held.clear();
                self.count(tally);
                Ok(())
            }
            Err(Abort::Store(trouble)) => {
                self.take_back(&trouble);
                Err(Hindrance::Store(self.store.named(trouble)))
            }
            Err(Abort::Ledger(error)) => {
                if let Err(trouble) = self.store.roll_back() {
                    self.broken = Some(self.store.named(trouble));
                }
                Err(Hindrance::Ledger(error))
            }
        }
    }

    /// One transaction.
    fn write_held(&self) -> Result<Tally, Abort> {
        let seen = self.seen();
        let mut tally = Tally::default();
        self.store.begin()?;
        for held in &self.held {
            let row = match held.row {
                Some(row) => row,
                None => {
                    let row = self.store.begin_walk(&held.name, seen)?;
                    tally.started += 1;
                    let new = NewWalk { name: &held.name, person: held.person.as_deref() };
                    match self.charging.as_ref().map(|charging| charging.charge(&[new])) {
                        None | Some(Ok(())) => row,
                        Some(Err(Refusal::Ledger(error))) => return Err(Abort::Ledger(error)),
                        // It may not be released, and a second draw may not take its place: it is over.
                        Some(Err(_)) => {
                            self.store.end_walk(row, 0, &[], seen)?;
                            tally.ended += 1;
                            continue;
                        }
                    }
                }
            };
            tally.released += held.answers.len() as u64;
            match &held.then {
                Then::GoesOn { session } => {
                    held.answers.iter().try_for_each(|new| self.store.keep_answer(row, new))?;
                    self.store.forget_before(row, self.first_kept(held.steps))?;
                    self.store.keep(row, held.steps, session, Some(seen))?;
                }
                Then::Ends => {
                    let already =
                        held.answers.partition_point(|new| new.number < self.delay.due(held.steps));
                    self.store.end_walk(row, held.steps, &held.answers[already..], seen)?;
                    tally.ended += 1;
                }
            }
        }
        self.store.commit()?;
        Ok(tally)
    }
}
