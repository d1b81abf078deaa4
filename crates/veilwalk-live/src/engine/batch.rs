//! One batch as one transaction: looked at, drawn, charged, written, and only then counted.

use std::collections::HashMap;
use std::sync::Arc;

use veilwalk::session::{PushError, Released, Walk};
use veilwalk::{Releaser, StateId};
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
    pub(super) drawn: Vec<Drawn<'a>>,
    /// Walks as they were before, where real states wait, which are nowhere else. None for one that starts.
    before: HashMap<&'a WalkName, Option<Cached>>,
    /// Walks in memory that were ended.
    pub(super) over: Vec<(&'a WalkName, Cached)>,
    /// The ledger cannot be used, and has been waited for once.
    no_ledger: Option<Arc<LedgerError>>,
}

/// What one request has drawn.
pub(super) struct Drawn<'a> {
    pub(super) name: &'a WalkName,
    /// With a lag there may be none: what was observed is drawn, and waits.
    pub(super) answers: Vec<Answer>,
    /// Where the walk was ended, and more was drawn because of it.
    pub(super) ended: Option<EndedRow>,
}

/// A walk that was ended.
#[derive(Clone, Copy)]
pub(super) struct EndedRow {
    pub(super) row: i64,
    pub(super) steps: u64,
}

/// Where a walk is.
enum Place {
    New,
    /// In memory.
    Open {
        row: i64,
        steps: u64,
    },
    Over {
        row: i64,
        steps: u64,
    },
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
        let (changed, new, drawn, before, over) = Default::default();
        let no_ledger = None;
        let mut batch =
            Batch { charged, seen, tally, changed, new, drawn, before, over, no_ledger };
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
                // What is held goes before what was there.
                for drawn in batch.drawn.iter().filter(|_| !self.held.is_empty()) {
                    batch.before.remove(drawn.name);
                }
                for (name, before) in batch.before {
                    if let Some(before) = before {
                        self.cache.insert(name.clone(), before);
                    }
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
            let seen = (cached.seen < batch.seen).then_some(batch.seen);
            cached.seen = cached.seen.max(batch.seen);
            let (steps, session) = at_rest(&self.releaser, name, cached)?;
            self.store.keep(cached.row, steps, &session, seen)?;
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
            Place::New => None,
            Place::Open { row, steps } => Some((row, steps)),
            Place::Over { steps, .. } => return Ok(Err(Refusal::Over { steps })),
        };
        let next = place.map_or(0, |(_, next)| next);
        // Everything that can be refused is looked at before anything is drawn.
        let mut expected = next;
        let mut stored = Vec::new();
        for step in steps {
            match (step.number, &step.real) {
                (number, _) if number < next => {
                    for due in self.delay.due_with(number) {
                        // A walk with steps has a row.
                        let answer = place.map(|(row, _)| self.store.answer(row, due));
                        let Some(answer) = answer.transpose()?.flatten() else {
                            let kept = self.limits.kept_answers;
                            return Ok(Err(Refusal::Forgotten { given: number, kept }));
                        };
                        stored.push(answer);
                    }
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
        if let Some(longest) = self.delay.longest().filter(|&longest| expected > longest) {
            return Ok(Err(Refusal::TooLong { longest }));
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
        stored: Vec<Answer>,
        batch: &mut Batch<'a>,
    ) -> Result<Done, Abort> {
        self.note_before(name, batch);
        let Self { cache, releaser, store, delay, .. } = self;
        let Some(cached) = cache.get(name) else {
            return Err(Trouble::Failed("a walk has left memory too early".to_owned()).into());
        };
        let mut stored = stored.into_iter();
        let mut drawn: Vec<Answer> = Vec::new();
        let mut out = Released::default();
        let mut answers = Vec::with_capacity(steps.len());
        for step in steps {
            let number = step.number;
            let due = delay.due_with(number);
            if number < next {
                let count = (due.end - due.start) as usize;
                answers.extend(stored.by_ref().take(count));
                batch.tally.replayed += 1;
                continue;
            }
            // The same step twice in one request.
            if number < cached.steps {
                let first = delay.due(next);
                let again = &drawn[(due.start - first) as usize..(due.end - first) as usize];
                answers.extend(again.iter().map(|&answer| Answer { replayed: true, ..answer }));
                batch.tally.replayed += 1;
                continue;
            }
            let Ok(real) = step.real else { unreachable!("refused before") };
            out.clear();
            releaser.push(&mut cached.walk, real, &mut out).map_err(Abort::Draw)?;
            if out.len() as u64 != due.end - due.start {
                let error = "answers did not come when they were due".to_owned();
                return Err(Trouble::Failed(error).into());
            }
            let new = answers_from(due.start, &out);
            drawn.extend(&new);
            answers.extend(new);
            cached.steps += 1;
        }
        if cached.steps > next {
            batch.changed.push(name);
            batch.tally.released += drawn.len() as u64;
            let (row, steps) = (cached.row, cached.steps);
            // In blocks, nothing is drawn for a step that waits.
            if !drawn.is_empty() || !delay.keeps_real_states() {
                batch.drawn.push(Drawn { name, answers: drawn.clone(), ended: None });
            }
            drawn.iter().try_for_each(|answer| store.keep_answer(row, answer))?;
            self.store.forget_before(row, self.first_kept(steps))?;
        }
        Ok(Done::Answered(answers))
    }

    /// The first answer that is kept of a walk with so many steps. Those that a restart would lose do not count: the walk
    /// would stand before them, with answers gone that it should have.
    pub(super) fn first_kept(&self, steps: u64) -> u64 {
        let lasting = if self.delay.keeps_real_states() { self.delay.due(steps) } else { steps };
        self.delay.due(lasting.saturating_sub(self.limits.kept_answers))
    }

    /// Notes where a walk stands, if that is nowhere else.
    fn note_before<'a>(&mut self, name: &'a WalkName, batch: &mut Batch<'a>) {
        if self.delay.keeps_real_states() && !batch.before.contains_key(name) {
            batch.before.insert(name, self.cache.get(name).cloned());
        }
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
        batch.before.insert(name, None);
        let row = self.store.begin_walk(name, batch.seen)?;
        let walk = self.releaser.walk(name.as_str());
        self.cache.insert(name.clone(), Cached { row, steps: 0, seen: batch.seen, walk });
        batch.new.push(new);
        batch.tally.started += 1;
        Ok(Ok(()))
    }

    fn end<'a>(&mut self, name: &'a WalkName, batch: &mut Batch<'a>) -> Outcome {
        let (row, steps) = match self.place(name)? {
            Place::New => return Ok(Err(Refusal::NoSuchWalk)),
            Place::Over { row, steps } => return Ok(self.ended_before(row, steps)?),
            Place::Open { row, steps } => (row, steps),
        };
        self.note_before(name, batch);
        batch.changed.push(name);
        let Some(cached) = self.cache.remove(name) else {
            return Err(Trouble::Failed("a walk has left memory too early".to_owned()).into());
        };
        let mut rest = Vec::new();
        if cached.walk.waiting() > 0 {
            let (first, mut out) = (cached.walk.released(), Released::default());
            let finished = self.releaser.finish(cached.walk.clone(), &mut out);
            finished.map_err(|error| Abort::Draw(error.into()))?;
            rest = answers_from(first, &out);
            let ended = Some(EndedRow { row, steps });
            batch.drawn.push(Drawn { name, answers: rest.clone(), ended });
        }
        batch.over.push((name, cached));
        self.store.end_walk(row, steps, &rest, batch.seen)?;
        batch.tally.ended += 1;
        batch.tally.released += rest.len() as u64;
        Ok(Ok(Done::Ended { steps, rest }))
    }

    /// The end of a walk that is over, once more.
    fn ended_before(&self, row: i64, steps: u64) -> Result<Result<Done, Refusal>, Trouble> {
        let rest = (self.delay.due(steps)..steps).map(|number| self.store.answer(row, number));
        let rest = rest.collect::<Result<Option<Vec<_>>, _>>()?;
        Ok(rest
            .map_or(Err(Refusal::RestForgotten { steps }), |rest| Ok(Done::Ended { steps, rest })))
    }

    /// How many steps a walk has.
    pub(super) fn steps_of(&mut self, name: &WalkName) -> Result<u64, Trouble> {
        Ok(match self.place(name)? {
            Place::New => 0,
            Place::Open { steps, .. } | Place::Over { steps, .. } => steps,
        })
    }

    /// Where a walk is. If it is open, it is in memory then.
    fn place(&mut self, name: &WalkName) -> Result<Place, Trouble> {
        if let Some(cached) = self.cache.get(name) {
            return Ok(Place::Open { row: cached.row, steps: cached.steps });
        }
        let Some(found) = self.store.find(name)? else { return Ok(Place::New) };
        let (row, steps) = (found.row, found.steps);
        let Life::Open { session, seen } = found.life else {
            return Ok(Place::Over { row, steps });
        };
        let walk = self.taken_up(name, &session, steps)?;
        self.cache.insert(name.clone(), Cached { row, steps, seen, walk });
        Ok(Place::Open { row, steps })
    }

    /// A walk as it was saved.
    fn taken_up(&self, name: &WalkName, session: &[u8], steps: u64) -> Result<Walk, Trouble> {
        let resumed = self.releaser.resume(name.as_str(), session);
        let (walk, _) = resumed.map_err(|error| Trouble::Damaged(error.to_string()))?;
        if walk.released() + walk.waiting() as u64 == steps {
            return Ok(walk);
        }
        Err(Trouble::Damaged("a walk stands elsewhere than its last answer".to_owned()))
    }
}

/// Answers that are new, from this number on.
fn answers_from(first: u64, released: &Released) -> Vec<Answer> {
    let answer = |(at, &state): (usize, &StateId)| Answer {
        number: first + at as u64,
        state,
        observed: released.observed.get(at).copied(),
        replayed: false,
    };
    released.states.iter().enumerate().map(answer).collect()
}

/// How many steps of a walk outlast this process, and the walk as it is after them: without real states that wait.
pub(super) fn at_rest(
    releaser: &Releaser,
    name: &WalkName,
    cached: &Cached,
) -> Result<(u64, Vec<u8>), Trouble> {
    let (name, walk) = (name.as_str(), &cached.walk);
    let waiting = walk.waiting_reals();
    let session = match waiting {
        0 => releaser.save(name, walk, None),
        _ => releaser.save(name, &releaser.walk_at(name, walk.released(), walk.last()), None),
    };
    let session = session.map_err(|error| Trouble::Failed(error.to_string()))?;
    Ok((cached.steps - waiting as u64, session))
}
