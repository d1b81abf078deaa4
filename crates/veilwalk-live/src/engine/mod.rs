//! (walk, number of the step, real state) in, released state out, a batch at a time.
//!
//! A batch is one transaction: everything is drawn, written and charged, then the disk is waited for once, and
//! only then does anybody see an answer. If any of it fails, all of it is taken back: the store by its transaction, the
//! walks in memory by forgetting them. What was drawn is [held](held) where there was no room for it, and is stored
//! before anything else is drawn.

mod batch;
mod held;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use thiserror::Error;
use veilwalk::{Mechanism, ReleaseId, Releaser, Source, Start};

use self::held::{Held, Hindrance};
use crate::cache::Cache;
use crate::charging::Charging;
use crate::delay::Delay;
use crate::figures::{Figures, Tally};
use crate::refusal::Refusal;
use crate::request::{Answer, Done, Request, WalkName};
use crate::store::{Identity, Store, StoreError, Trouble};

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A walk for which nothing came for this long is over.
    pub idle: Duration,
    /// How many walks may be open.
    pub open_walks: u64,
    /// For how many of the last steps of each open walk the answers are kept.
    pub kept_answers: u64,
    /// How many walks are held in memory; the others are read when they are needed.
    pub cached_walks: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let idle = Duration::from_secs(2 * 3600);
        Self { idle, open_walks: 1_000_000, kept_answers: 1_000, cached_walks: 100_000 }
    }
}

/// Why no walks can be released live.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The mechanism makes no promise.
    #[error("the mechanism makes no promise, so it releases nothing live")]
    NoPromise,
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The releaser cannot be opened.
    #[error(transparent)]
    Release(#[from] veilwalk::session::OpenError),
}

/// A walk that was idle for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedWalk {
    /// The walk.
    pub walk: WalkName,
    /// How many steps were taken in all.
    pub steps: u64,
    /// With a [delay](Delay), the answers that had not come yet.
    pub rest: Vec<Answer>,
}

/// Whether the ledger is the one that open walks were charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    Yes,
    NotYet,
}

/// Releases live walks.
pub struct Engine {
    releaser: Releaser,
    delay: Delay,
    store: Store,
    cache: Cache,
    limits: Limits,
    charging: Option<Charging>,
    figures: Arc<Figures>,
    /// How many walks are open in the store.
    open: u64,
    clock: Box<dyn Fn() -> i64 + Send>,
    settled: Settled,
    /// What was drawn and is not stored yet.
    held: Vec<Held>,
    /// What the disk holds is not known since then.
    broken: Option<StoreError>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens the store in this folder, or makes it. It belongs to this mechanism and start from then on.
    ///
    /// # Errors
    ///
    /// If the mechanism makes no promise, the store belongs to something else, is in use by another process,
    /// damaged, or cannot be written, or the operating system has no randomness to give.
    pub fn open(
        folder: &Path,
        mechanism: Arc<Mechanism>,
        start: Start,
        limits: Limits,
    ) -> Result<Self, OpenError> {
        let promise = mechanism.promise().ok_or(OpenError::NoPromise)?;
        let chain = mechanism.model().chain();
        let identity = Identity {
            chain: mechanism.model().hash().to_string(),
            promise: promise.to_string(),
            mechanism: hex(&mechanism.fingerprint()),
            start: start.name(chain).to_owned(),
        };
        let delay = Delay::of(&mechanism, start);
        let releaser = Releaser::new(mechanism, &Source::system(), start)?;
        let store = Store::open(folder, &identity)?;
        let open = store.open_walks().map_err(|trouble| store.named(trouble))?;
        let figures = Arc::new(Figures::default());
        figures.set_open(open);
        let (cache, clock) = (Cache::new(limits.cached_walks), Box::new(now));
        let (charging, settled, held, broken) = (None, Settled::NotYet, Vec::new(), None);
        Ok(Self {
            releaser,
            delay,
            store,
            cache,
            limits,
            charging,
            figures,
            open,
            clock,
            settled,
            held,
            broken,
        })
    }

    /// Charges every walk when it starts.
    #[must_use]
    pub fn charging(self, charging: Charging) -> Self {
        Self { charging: Some(charging), settled: Settled::NotYet, ..self }
    }

    /// Looks whether walks that are open were started with this ledger, or without one like now, and keeps which it
    /// is. The first request does this too; a service does it before it starts.
    ///
    /// # Errors
    ///
    /// If walks are open that were charged elsewhere, or the store cannot be used.
    pub fn settle_ledger(&mut self) -> Result<(), StoreError> {
        if self.settled == Settled::Yes {
            return Ok(());
        }
        let settle = || {
            const NONE: &str = "no ledger";
            let now = self.charging.as_ref();
            let now = now.map_or(NONE.to_owned(), |now| format!("the ledger {}", now.place()));
            let before = self.store.ledger()?;
            if before.as_ref() == Some(&now) {
                return Ok(());
            }
            if self.open > 0 {
                let before = before.unwrap_or_else(|| NONE.to_owned());
                return Err(Trouble::OtherLedger { open: self.open, before, now });
            }
            self.store.keep_ledger(&now)
        };
        settle().map_err(|trouble| self.store.named(trouble))?;
        self.settled = Settled::Yes;
        Ok(())
    }

    /// Takes the time, in seconds since the beginning of 1970, from here instead of the clock.
    #[doc(hidden)]
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> i64 + Send + 'static) -> Self {
        Self { clock: Box::new(clock), ..self }
    }

    /// The id of everything that is released into this store, for a ledger.
    #[must_use]
    pub fn release_id(&self) -> ReleaseId {
        self.store.release_id()
    }

    /// The mechanism.
    #[must_use]
    pub fn mechanism(&self) -> &Arc<Mechanism> {
        self.releaser.mechanism()
    }

    /// When answers come.
    #[must_use]
    pub fn delay(&self) -> Delay {
        self.delay
    }

    /// What was done so far.
    #[must_use]
    pub fn figures(&self) -> &Arc<Figures> {
        &self.figures
    }

    /// How much is kept, and for how long.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The number of the next step of a walk: for those who take steps in the order in which they come. That of a
    /// walk that is over is how many it had.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn next_step(&mut self, walk: &WalkName) -> Result<u64, StoreError> {
        self.steps_of(walk).map_err(|trouble| self.store.named(trouble))
    }

    /// Answers one request.
    ///
    /// # Errors
    ///
    /// If nothing is released.
    pub fn answer(&mut self, request: Request) -> Result<Done, Refusal> {
        let mut outcomes = self.answer_all(&[request]);
        outcomes.pop().expect("as many outcomes as requests")
    }

    /// Answers requests, in their order. When this returns, all answers are on the disk.
    pub fn answer_all(&mut self, requests: &[Request]) -> Vec<Result<Done, Refusal>> {
        let began = Instant::now();
        let outcomes = self.attempt_all(requests);
        let refused = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        self.figures.add_refused(refused as u64);
        self.figures.add_batch(began.elapsed());
        outcomes
    }

    /// Whether the store can be written: by writing what is held and what is there.
    pub(crate) fn can_store(&mut self) -> bool {
        if self.store_held().is_err() {
            return false;
        }
        let written = self.store.begin().and_then(|()| self.store.rewrite());
        match written.and_then(|()| self.store.commit()) {
            Ok(()) => true,
            Err(trouble) => {
                self.take_back(&trouble);
                false
            }
        }
    }

    /// Ends some of the walks that were idle for too long, and says which. Also forgets the last answers of walks that
    /// have been over for as long.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    pub fn end_idle(&mut self) -> Result<Vec<EndedWalk>, StoreError> {
        match self.store_held() {
            Err(Hindrance::Store(error)) => return Err(error),
            // What is held belongs to walks that are not idle; they are ended later.
            Err(Hindrance::Ledger(_)) => return Ok(Vec::new()),
            Ok(()) => {}
        }
        let idle = i64::try_from(self.limits.idle.as_secs()).unwrap_or(i64::MAX);
        // Times are rounded down when they are kept.
        let until = (self.clock)().saturating_sub(idle).saturating_sub(self.grain());
        match self.delay {
            Delay::None => self.end_at_rest(until),
            _ => self.end_with_rest(until),
        }
    }

    /// Where all answers are out, an end is a row in the store.
    fn end_at_rest(&mut self, until: i64) -> Result<Vec<EndedWalk>, StoreError> {
        const MOST: u32 = 10_000;
        let work = |engine: &Self| -> Result<Vec<EndedWalk>, Trouble> {
            let idle = engine.store.idle(until, MOST)?;
            if idle.is_empty() {
                return Ok(Vec::new());
            }
            engine.store.begin()?;
            for (row, steps, _) in &idle {
                engine.store.end_walk(*row, *steps, &[], until)?;
            }
            engine.store.commit()?;
            let ended = |(_, steps, walk)| EndedWalk { walk, steps, rest: Vec::new() };
            Ok(idle.into_iter().map(ended).collect())
        };
        match work(self) {
            Ok(walks) => {
                for ended in &walks {
                    self.cache.remove(&ended.walk);
                }
                let ended = walks.len() as u64;
                self.count(Tally { ended, ..Tally::default() });
                Ok(walks)
            }
            Err(trouble) => {
                self.take_back(&trouble);
                Err(self.store.named(trouble))
            }
        }
    }

    /// With a delay, the last answers come with the end, so it is a request like any other.
    fn end_with_rest(&mut self, until: i64) -> Result<Vec<EndedWalk>, StoreError> {
        const MOST: u32 = 1_000;
        let forget = |store: &Store| {
            store.begin()?;
            store.forget_rests(until, MOST)?;
            store.commit()?;
            store.idle(until, MOST)
        };
        let idle = match forget(&self.store) {
            Ok(idle) => idle,
            Err(trouble) => {
                self.take_back(&trouble);
                return Err(self.store.named(trouble));
            }
        };
        if idle.is_empty() {
            return Ok(Vec::new());
        }
        let requests: Vec<Request> = idle.iter().map(|(_, _, name)| Request::end(name)).collect();
        let mut walks = Vec::new();
        for (request, outcome) in requests.iter().zip(self.attempt_all(&requests)) {
            match outcome {
                Ok(Done::Ended { steps, rest }) => {
                    walks.push(EndedWalk { walk: request.walk.clone(), steps, rest });
                }
                Err(Refusal::Store(error)) => return Err(error),
                Err(Refusal::Draw(error)) => {
                    return Err(self.store.named(Trouble::Failed(error.to_string())));
                }
                _ => {}
            }
        }
        Ok(walks)
    }

    /// After an error of the store. What it was does not matter where the file is known to be as before.
    fn take_back(&mut self, trouble: &Trouble) {
        let rolled_back = self.store.roll_back();
        let known = matches!(trouble, Trouble::Full | Trouble::ReadOnly | Trouble::InUse);
        let lasting = if known { rolled_back.err() } else { Some(trouble.clone()) };
        if let Some(trouble) = lasting {
            self.broken = Some(self.store.named(trouble));
        }
    }

    fn count(&mut self, tally: Tally) {
        self.open = (self.open + tally.started).saturating_sub(tally.ended);
        self.figures.add(tally);
        self.figures.set_open(self.open);
    }

    /// The time that walks get which are used now.
    fn seen(&self) -> i64 {
        let now = (self.clock)();
        now - now.rem_euclid(self.grain())
    }

    /// Times are kept to a sixteenth of the idle time: then most steps change no index.
    fn grain(&self) -> i64 {
        (self.limits.idle.as_secs() / 16).clamp(1, 3600) as i64
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().try_into().unwrap_or(i64::MAX)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
