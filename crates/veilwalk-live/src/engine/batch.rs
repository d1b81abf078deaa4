//! One batch as one transaction: looked at, drawn, charged, written, and only then counted.

use std::sync::Arc;

use veilwalk::StateId;
use veilwalk::session::{PushError, Released, Walk};
use veilwalk_ledger::LedgerError;

use super::Engine;
use crate::cache::Cached;
use crate::charging::NewWalk;
use crate::figures::Tally;
use crate::refusal::Refusal;
use crate::request::{Answer, Ask, Done, Request, Step, WalkName};
use crate::store::{Life, Trouble};

/// When walks that start are charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Charged {
    /// All of a batch at once, before it is committed.
    Together,
    /// Each before it starts, because one of them was refused.
    OneByOne,
}

/// What a batch has done so far.
pub(super) struct Batch<'a> {
    charged: Charged,
    /// The time that walks get which are used in it.
    seen: i64,
    tally: Tally,
    changed: Vec<&'a WalkName>,
    pub(super) new: Vec<NewWalk<'a>>,
    /// What was drawn, in its order.
    pub(super) drawn: Vec<(&'a WalkName, Answer)>,
    /// Walks in memory that were ended.
    pub(super) over: Vec<(&'a WalkName, Cached)>,
    /// The ledger cannot be used, and has been waited for once.
    no_ledger: Option<Arc<LedgerError>>,
}

/// Why a batch is taken back.
enum Abort {
    Store(Trouble),
    /// Some walk is refused by the ledger.
    Charge,
    Draw(PushError),
}

impl From<Trouble> for Abort {
    fn from(trouble: Trouble) -> Self {
        Self::Store(trouble)
    }
}

/// A request's outcome; an abort takes back the whole batch.
type Outcome = Result<Result<Done, Refusal>, Abort>;

impl Engine {
    /// Answers requests, or refuses them.
    pub(super) fn attempt_all(&mut self, requests: &[Request]) -> Vec<Result<Done, Refusal>> {
        if let Some(broken) = &self.broken {
            return requests.iter().map(|_| Err(broken.clone().into())).collect();
        }
        if let Err(error) = self.settle_ledger() {
            return requests.iter().map(|_| Err(error.clone().into())).collect();
        }
        if let Err(hindrance) = self.store_held() {
            return requests.iter().map(|_| Err(hindrance.clone().into())).collect();
        }
        let outcomes = match self.attempt(requests, Charged::Together) {
            Err(Abort::Charge) => self.attempt(requests, Charged::OneByOne),
            outcomes => outcomes,
        };
        match outcomes {
            Ok(outcomes) => outcomes,
            Err(Abort::Store(trouble)) => {
                let error = self.store.named(trouble);
                requests.iter().map(|_| Err(error.clone().into())).collect()
            }
            Err(Abort::Draw(error)) => requests.iter().map(|_| Err(error.into())).collect(),
            Err(Abort::Charge) => unreachable!("one by one, the refusal is that of its request"),
        }
    }

    /// One transaction.
    fn attempt(
        &mut self,
        requests: &[Request],
        charged: Charged,
    ) -> Result<Vec<Result<Done, Refusal>>, Abort> {
        let (seen, tally) = (self.seen(), Tally::default());
        let (changed, new, drawn, over) = Default::default();
        let mut batch = Batch { charged, seen, tally, changed, new, drawn, over, no_ledger: None };
        match self.work(requests, &mut batch) {
            Ok(outcomes) => {
                self.count(batch.tally);
                self.cache.trim();
                Ok(outcomes)
            }
            Err(abort) => {
                if let Abort::Store(Trouble::Full | Trouble::ReadOnly | Trouble::InUse) = &abort
                    && let Err(trouble) = self.hold(&batch)
                {
                    self.broken = Some(self.store.named(trouble));
                }
                for name in &batch.changed {
                    self.cache.remove(name);
                }
                match &abort {
                    Abort::Store(trouble) => self.take_back(trouble),
                    Abort::Charge | Abort::Draw(_) => {
                        if let Err(trouble) = self.store.roll_back() {
                            self.broken = Some(self.store.named(trouble));
                        }
                    }
                }
                Err(abort)
            }
        }
    }

    fn work<'a>(
        &mut self,
        requests: &'a [Request],
        batch: &mut Batch<'a>,
    ) -> Result<Vec<Result<Done, Refusal>>, Abort> {
        self.store.begin()?;
        let outcomes = requests.iter().map(|request| match &request.ask {
            Ask::Steps(steps) => self.step(request, steps, batch),
            Ask::End => self.end(&request.walk, batch),
        });
        let outcomes = outcomes.collect::<Result<Vec<_>, Abort>>()?;
        for name in &batch.changed {
            // A walk that is over is not in memory any more.
            let Some(cached) = self.cache.get(name) else { continue };
            let session = self.releaser.save(name.as_str(), &cached.walk, None);
            // Nothing waits: blocks were refused.
            let session = session.map_err(|error| Trouble::Failed(error.to_string()))?;
            let seen = (cached.seen < batch.seen).then_some(batch.seen);
            cached.seen = cached.seen.max(batch.seen);
            self.store.keep(cached.row, cached.steps, &session, seen)?;
        }
        if let (Some(charging), Charged::Together, false) =
            (&self.charging, batch.charged, batch.new.is_empty())
        {
            charging.charge(&batch.new).map_err(|_| Abort::Charge)?;
        }
        self.store.commit()?;
        Ok(outcomes)
    }

    /// Answers all steps of a request, or none.
    fn step<'a>(
        &mut self,
        request: &'a Request,
        steps: &'a [Step],
        batch: &mut Batch<'a>,
    ) -> Outcome {
        let name = &request.walk;
        if steps.is_empty() {
            return Ok(Err(Refusal::NoSteps));
        }
        let place = match self.place(name)? {
            Ok(place) => place,
            Err(steps) => return Ok(Err(Refusal::Over { steps })),
        };
        let next = place.map_or(0, |(_, next)| next);
        // Everything that can be refused is looked at before anything is drawn.
        let mut expected = next;
        let mut stored = Vec::new();
        for step in steps {
            match (step.number, &step.real) {
                (number, _) if number < next => {
                    // A walk with steps has a row.
                    let answer = place.map(|(row, _)| self.store.answer(row, number));
                    let Some(answer) = answer.transpose()?.flatten() else {
                        let kept = self.limits.kept_answers;
                        return Ok(Err(Refusal::Forgotten { given: number, kept }));
                    };
                    stored.push(answer);
                }
                (number, _) if number < expected => {}
                (number, _) if number > expected => {
                    return Ok(Err(Refusal::Gap { expected, given: number }));
                }
                (number, Err(unknown)) => {
                    let unknown = unknown.clone();
                    return Ok(Err(Refusal::UnknownState { number, unknown }));
                }
                (_, Ok(_)) => expected += 1,
            }
        }
        if place.is_none()
            && let Err(refusal) = self.begin(request, batch)?
        {
            return Ok(Err(refusal));
        }
        self.draw(name, steps, next, stored, batch).map(Ok)
    }

    /// The answers to steps that were looked at.
    fn draw<'a>(
        &mut self,
        name: &'a WalkName,
        steps: &[Step],
        next: u64,
        stored: Vec<(StateId, Option<StateId>)>,
        batch: &mut Batch<'a>,
    ) -> Result<Done, Abort> {
        let Self { cache, releaser, store, limits, .. } = self;
        let Some(cached) = cache.get(name) else {
            return Err(Trouble::Failed("a walk has left memory too early".to_owned()).into());
        };
        let mut stored = stored.into_iter();
        let mut drawn: Vec<Answer> = Vec::new();
        let mut out = Released::default();
        let mut answers = Vec::with_capacity(steps.len());
        for step in steps {
            let number = step.number;
            if number < next {
                let (state, observed) = stored.next().expect("looked up before");
                answers.push(Answer { number, state, observed, replayed: true });
                batch.tally.replayed += 1;
                continue;
            }
            // The same step twice in one request.
            if let Some(&answer) = drawn.get((number - next) as usize) {
                answers.push(Answer { replayed: true, ..answer });
                batch.tally.replayed += 1;
                continue;
            }
            let Ok(real) = step.real else { unreachable!("refused before") };
            if drawn.is_empty() {
                batch.changed.push(name);
            }
            out.clear();
            releaser.push(&mut cached.walk, real, &mut out).map_err(Abort::Draw)?;
            let &[state] = &out.states[..] else {
                return Err(
                    Trouble::Failed("a step was not answered by one state".to_owned()).into()
                );
            };
            let observed = out.observed.first().copied();
            let answer = Answer { number, state, observed, replayed: false };
            batch.drawn.push((name, answer));
            store.keep_answer(cached.row, number, state, observed)?;
            if let Some(old) = number.checked_sub(limits.kept_answers) {
                store.forget_answer(cached.row, old)?;
            }
            cached.steps += 1;
            drawn.push(answer);
            answers.push(answer);
            batch.tally.released += 1;
        }
        Ok(Done::Answered(answers))
    }

    /// Starts a walk, if that is allowed.
    fn begin<'a>(
        &mut self,
        request: &'a Request,
        batch: &mut Batch<'a>,
    ) -> Result<Result<(), Refusal>, Abort> {
        let name = &request.walk;
        let most = self.limits.open_walks;
        if self.open + batch.tally.started - batch.tally.ended >= most {
            return Ok(Err(Refusal::TooManyWalks { most }));
        }
        let new = NewWalk { name, person: request.person.as_deref() };
        if let (Some(charging), Charged::OneByOne) = (&self.charging, batch.charged) {
            if let Some(error) = &batch.no_ledger {
                return Ok(Err(Refusal::Ledger(error.clone())));
            }
            if let Err(refusal) = charging.charge(&[new]) {
                if let Refusal::Ledger(error) = &refusal {
                    batch.no_ledger = Some(error.clone());
                }
                return Ok(Err(refusal));
            }
        }
        batch.changed.push(name);
        let row = self.store.begin_walk(name, batch.seen)?;
        let walk = self.releaser.walk(name.as_str());
        self.cache.insert(name.clone(), Cached { row, steps: 0, seen: batch.seen, walk });
        batch.new.push(new);
        batch.tally.started += 1;
        Ok(Ok(()))
    }

    fn end<'a>(&mut self, name: &'a WalkName, batch: &mut Batch<'a>) -> Outcome {
        Ok(match self.place(name)? {
            Ok(None) => Err(Refusal::NoSuchWalk),
            Err(steps) => Ok(Done::Ended { steps }),
            Ok(Some((row, steps))) => {
                batch.changed.push(name);
                batch.over.extend(self.cache.remove(name).map(|cached| (name, cached)));
                self.store.end_walk(row, steps)?;
                batch.tally.ended += 1;
                Ok(Done::Ended { steps })
            }
        })
    }

    /// The row of an open walk and how many steps it has, which is then in memory. None for one that is new, and as an
    /// error how many steps one had that is over.
    fn place(&mut self, name: &WalkName) -> Result<Result<Option<(i64, u64)>, u64>, Trouble> {
        if let Some(cached) = self.cache.get(name) {
            return Ok(Ok(Some((cached.row, cached.steps))));
        }
        let Some(found) = self.store.find(name)? else { return Ok(Ok(None)) };
        let Life::Open { session, seen } = found.life else { return Ok(Err(found.steps)) };
        let (row, steps) = (found.row, found.steps);
        let walk = self.taken_up(name, &session, steps)?;
        self.cache.insert(name.clone(), Cached { row, steps, seen, walk });
        Ok(Ok(Some((row, steps))))
    }

    /// A walk as it was saved.
    fn taken_up(&self, name: &WalkName, session: &[u8], steps: u64) -> Result<Walk, Trouble> {
        let resumed = self.releaser.resume(name.as_str(), session);
        let (walk, _) = resumed.map_err(|error| Trouble::Damaged(error.to_string()))?;
        if walk.released() == steps {
            return Ok(walk);
        }
        Err(Trouble::Damaged("a walk stands elsewhere than its last answer".to_owned()))
    }
}
