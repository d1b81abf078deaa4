//! What becomes of a message between its coming in and its answer: asked, asked again, waiting for a step before it, refused.
//!
//! A message is handed back exactly once, when it has an answer or a refusal that will not change. Until then it must not
//! be acknowledged, so that the broker sends it again if the process ends.
//!
//! With a lag, the answer to a step comes with a later one, and the last ones with the end. A message is done with when its
//! *step* is on the disk, with what was observed of it, and what it made due is answered. So every answer belongs to one
//! message, that of the step or end it comes with, and is published again whenever that message is not acknowledged.
//!
//! Brokers deliver out of order after a restart. A step that does not follow waits here for the ones before it, up to
//! a limit, and is asked again when they were answered. Where the store or the ledger is in trouble, messages
//! wait until it is not.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use veilwalk_live::{Answer, Ask, Done, Live, Refusal, Request, WalkName};

use crate::pattern::{REFUSED, RELEASED};
use crate::shell::{Refused, Shell};

/// How long it is waited before the store or the ledger is asked again.
const TROUBLE: Duration = Duration::from_millis(500);
/// The same where there was only no room in the queue.
const BUSY: Duration = Duration::from_millis(20);

/// Makes another request of a message whose step did not follow, from the step that does.
pub(crate) type Refill = Box<dyn Fn(u64) -> Option<Request> + Send + Sync>;

/// A message that is under way.
struct Job<T> {
    token: T,
    request: Request,
    refill: Option<Refill>,
    /// Until when it may wait for a step before it.
    until: Instant,
    /// Whether it is asked for the last time.
    last: Last,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    No,
    Yes,
}

/// What came of a message, to be published. With a lag that may be nothing, or answers to steps before.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The number of a step and its answer.
    pub(crate) answers: Vec<(u64, Vec<u8>)>,
    /// That the walk is over, which comes after its answers.
    pub(crate) ended: Option<Vec<u8>>,
    /// That nothing is released.
    pub(crate) refused: Option<Vec<u8>>,
}

impl Reply {
    fn refused(payload: Vec<u8>) -> Self {
        Self { refused: Some(payload), ..Self::default() }
    }

    /// What is published: the word that its topic ends with, what names it in its walk, and the message.
    pub(crate) fn messages(self) -> impl Iterator<Item = (&'static str, Named, Vec<u8>)> {
        let answers = self.answers.into_iter();
        let answers = answers.map(|(step, payload)| (RELEASED, Named::Step(step), payload));
        let ended = self.ended.map(|payload| (RELEASED, Named::End, payload));
        let refused = self.refused.map(|payload| (REFUSED, Named::Nothing, payload));
        answers.chain(ended).chain(refused)
    }
}

/// What names a message in its walk: two of the same name are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// The answer to a step.
    Step(u64),
    /// The end.
    End,
    /// Refusals have no name.
    Nothing,
}

/// A message that is done with, and what came of it.
#[derive(Debug)]
pub(crate) struct Finished<T> {
    pub(crate) token: T,
    pub(crate) walk: WalkName,
    pub(crate) reply: Reply,
}

type Outcome = (u64, Result<Done, Refusal>);

/// All messages that are under way.
pub(crate) struct Desk<T> {
    live: Live,
    shell: Arc<dyn Shell>,
    /// How long a step waits for those before it.
    patience: Duration,
    jobs: HashMap<u64, Job<T>>,
    next: u64,
    /// Those that wait for a step: by walk, by the number of their first step that does not follow.
    gaps: HashMap<WalkName, BTreeSet<(u64, u64)>>,
    /// The same in the order of their limits.
    limits: VecDeque<(Instant, u64, WalkName, u64)>,
    /// Those to be asked again, and when.
    later: VecDeque<(Instant, u64)>,
    ready: VecDeque<Finished<T>>,
    sender: UnboundedSender<Outcome>,
    outcomes: UnboundedReceiver<Outcome>,
}

impl<T> Desk<T> {
    pub(crate) fn new(live: Live, shell: Arc<dyn Shell>, patience: Duration) -> Self {
        let (sender, outcomes) = unbounded_channel();
        let (jobs, gaps, limits, later, ready) = Default::default();
        Self { live, shell, patience, jobs, next: 0, gaps, limits, later, ready, sender, outcomes }
    }

    /// How many messages are under way and do not wait for a step before them.
    pub(crate) fn busy(&self) -> usize {
        let waiting: usize = self.gaps.values().map(BTreeSet::len).sum();
        self.jobs.len() - waiting + self.ready.len()
    }

    /// Takes a message over.
    pub(crate) fn take(&mut self, token: T, request: Request, refill: Option<Refill>) {
        let id = self.next;
        self.next += 1;
        let until = Instant::now() + self.patience;
        self.jobs.insert(id, Job { token, request, refill, until, last: Last::No });
        self.ask(id);
    }

    /// Takes a message over that is refused as it is.
    pub(crate) fn refuse(&mut self, token: T, walk: WalkName, refused: &Refused) {
        let reply = Reply::refused(refused.payload(None));
        self.ready.push_back(Finished { token, walk, reply });
    }

    /// The next message that is done with. May be given up and called again.
    pub(crate) async fn finished(&mut self) -> Finished<T> {
        loop {
            if let Some(finished) = self.ready.pop_front() {
                return finished;
            }
            // A sender is kept here, so there is always one to come.
            if let Some((id, outcome)) = self.outcomes.recv().await {
                self.settle(id, outcome);
            }
        }
    }

    /// Asks again what has waited long enough. To be called every few milliseconds.
    pub(crate) fn tick(&mut self) {
        let now = Instant::now();
        if self.live.is_ready() {
            for _ in 0..self.later.len() {
                let Some((when, id)) = self.later.pop_front() else { break };
                if when <= now {
                    self.ask(id);
                } else {
                    self.later.push_back((when, id));
                }
            }
        }
        while self.limits.front().is_some_and(|(until, ..)| *until <= now) {
            let Some((_, id, walk, number)) = self.limits.pop_front() else { break };
            let Some(gaps) = self.gaps.get_mut(&walk) else { continue };
            let waited = gaps.remove(&(number, id));
            if gaps.is_empty() {
                self.gaps.remove(&walk);
            }
            if waited && let Some(job) = self.jobs.get_mut(&id) {
                // The step may have come another way, so it is asked once more.
                job.last = Last::Yes;
                self.ask(id);
            }
        }
    }

    fn ask(&mut self, id: u64) {
        let Some(job) = self.jobs.get(&id) else { return };
        let sender = self.sender.clone();
        let asked = self.live.ask(job.request.clone(), move |outcome| {
            // If nobody listens any more, the broker sends the message again.
            let _ = sender.send((id, outcome));
        });
        if let Err(refusal) = asked {
            self.settle(id, Err(refusal));
        }
    }

    fn settle(&mut self, id: u64, outcome: Result<Done, Refusal>) {
        self.shell.outcome(&outcome);
        let reply = match outcome {
            Ok(Done::Answered(answers)) => {
                let job = self.jobs.get(&id);
                let walk = job.map(|job| job.request.walk.clone());
                // With a lag, answers are to steps before those that were taken.
                if let (Some(walk), Some(next)) = (walk, job.and_then(|job| after(&job.request))) {
                    self.follow(&walk, next);
                }
                Reply { answers: self.written(&answers), ..Reply::default() }
            }
            Ok(Done::Ended { steps, rest }) => {
                let ended = format!("{{\"ended\":true,\"steps\":{steps}}}").into_bytes();
                Reply { answers: self.written(&rest), ended: Some(ended), ..Reply::default() }
            }
            Err(refusal) => match self.put_off(id, &refusal) {
                PutOff::Yes => return,
                PutOff::No => {
                    let step = self.jobs.get(&id).and_then(|job| first(&job.request));
                    Reply::refused(Refused::from(&refusal).payload(step))
                }
            },
        };
        if let Some(job) = self.jobs.remove(&id) {
            let walk = job.request.walk;
            self.ready.push_back(Finished { token: job.token, walk, reply });
        }
    }

    /// Answers as they are published.
    fn written(&self, answers: &[Answer]) -> Vec<(u64, Vec<u8>)> {
        answers.iter().map(|answer| (answer.number, self.shell.answer(answer))).collect()
    }

    /// Keeps a message for later, if the refusal may not be the last word.
    fn put_off(&mut self, id: u64, refusal: &Refusal) -> PutOff {
        let Some(job) = self.jobs.get_mut(&id) else { return PutOff::No };
        let now = Instant::now();
        match refusal {
            Refusal::Gap { expected, given } => {
                if let Some(request) = job.refill.as_ref().and_then(|refill| refill(*expected)) {
                    // Only once, so that it cannot go on forever.
                    (job.request, job.refill) = (request, None);
                    self.ask(id);
                    return PutOff::Yes;
                }
                if job.last == Last::Yes || job.until <= now {
                    return PutOff::No;
                }
                let (walk, until) = (job.request.walk.clone(), job.until);
                self.gaps.entry(walk.clone()).or_default().insert((*given, id));
                self.limits.push_back((until, id, walk, *given));
                PutOff::Yes
            }
            Refusal::Busy => {
                self.later.push_back((now + BUSY, id));
                PutOff::Yes
            }
            Refusal::Store(_) | Refusal::Ledger(_) | Refusal::Draw(_) | Refusal::Stopping => {
                self.later.push_back((now + TROUBLE, id));
                PutOff::Yes
            }
            _ => PutOff::No,
        }
    }

    /// Asks again what waited for a walk to come as far as this step.
    fn follow(&mut self, walk: &WalkName, next: u64) {
        let Some(gaps) = self.gaps.get_mut(walk) else { return };
        let after = gaps.split_off(&(next + 1, 0));
        let due = std::mem::replace(gaps, after);
        if gaps.is_empty() {
            self.gaps.remove(walk);
        }
        for (_, id) in due {
            self.ask(id);
        }
    }
}

/// Whether a message waits on.
enum PutOff {
    Yes,
    No,
}

/// The number after the last step that is asked for.
fn after(request: &Request) -> Option<u64> {
    match &request.ask {
        Ask::Steps(steps) => steps.iter().map(|step| step.number.saturating_add(1)).max(),
        Ask::End => None,
    }
}

/// The number of the first step that is asked for.
fn first(request: &Request) -> Option<u64> {
    match &request.ask {
        Ask::Steps(steps) => steps.first().map(|step| step.number),
        Ask::End => None,
    }
}
