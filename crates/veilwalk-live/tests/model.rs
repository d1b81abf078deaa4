//! The engine beside a model that keeps everything in memory: whatever comes, in whatever order, twice or with
//! other real states, each step of each walk has one answer.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use veilwalk::mechanism::Tracking;
use veilwalk::{Chain, Mechanism, Model, Outcome, Preset, Promise, Start, StateId};
use veilwalk_live::{Answer, Ask, Done, EndedWalk, Engine, Limits, Refusal, Request, Step};

const LIMITS: Limits = Limits {
    idle: Duration::from_secs(1_600),
    open_walks: 3,
    kept_answers: 4,
    // Most walks are read from the store when they are used.
    cached_walks: 2,
};

/// When answers come, counted step by step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timing {
    AtOnce,
    Observed { lag: usize },
    Blocks(usize),
    Whole(usize),
}

impl Timing {
    fn mechanism(self) -> Arc<Mechanism> {
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
        let design = match self {
            Self::AtOnce => Preset::Sharp,
            Self::Observed { .. } => Preset::Tight,
            Self::Blocks(_) | Self::Whole(_) => Preset::Exponential,
        };
        let design = design.design();
        let blocks = |length: &str| {
            let promise = Promise::within_radius("3.5".parse().unwrap(), "3.5".parse().unwrap());
            Mechanism::in_blocks(model.clone(), design, promise, length.parse().unwrap()).unwrap()
        };
        Arc::new(match self {
            Self::AtOnce => Mechanism::new(model, design, promise).unwrap(),
            Self::Observed { lag } => {
                let lag = lag as u32;
                let made = Mechanism::new(model, design, promise).unwrap();
                made.tracking(Tracking { lag, ..Tracking::default() })
            }
            Self::Blocks(length) => blocks(&length.to_string()),
            Self::Whole(longest) => {
                let longest = std::num::NonZeroU32::new(longest as u32).unwrap();
                let promise =
                    Promise::within_radius("3.5".parse().unwrap(), "3.5".parse().unwrap());
                let length = veilwalk::BlockLength::Whole { longest };
                Mechanism::in_blocks(model.clone(), design, promise, length).unwrap()
            }
        })
    }

    /// How many answers are out after so many steps, all walks of these tests starting privately.
    fn out(self, taken: usize) -> usize {
        let (mut out, mut waiting) = (0, 0);
        for _ in 0..taken {
            waiting += 1;
            match self {
                Self::AtOnce => (out, waiting) = (out + 1, 0),
                Self::Observed { lag } if waiting > lag => (out, waiting) = (out + 1, lag),
                Self::Blocks(length) if waiting == length => (out, waiting) = (out + length, 0),
                _ => {}
            }
        }
        out
    }

    /// How many of so many steps outlast a restart.
    fn lasting(self, taken: usize) -> usize {
        match self {
            Self::Blocks(_) | Self::Whole(_) => self.out(taken),
            _ => taken,
        }
    }
}

fn open(folder: &Path, mechanism: &Arc<Mechanism>, clock: &Arc<AtomicI64>) -> Engine {
    let engine = Engine::open(folder, mechanism.clone(), Start::Private, LIMITS).unwrap();
    let clock = clock.clone();
    engine.with_clock(move || clock.load(Ordering::Relaxed))
}

/// What can happen.
#[derive(Clone, Debug)]
enum Event {
    /// Requests in one batch: a walk, the first number relative to the next one, and real states. None ends it.
    Batch(Vec<(u8, Option<Steps>)>),
    Restart,
    /// Seconds pass.
    Pass(u16),
}

/// Numbers relative to the next step, and real states; none is unknown.
type Steps = Vec<(i8, Option<u8>)>;

fn events() -> impl Strategy<Value = Vec<Event>> {
    let step = (
        prop_oneof![6 => 0..1_i8, 2 => -6..0_i8, 1 => 1..3_i8],
        prop_oneof![12 => (0..8_u8).prop_map(Some), 1 => Just(None)],
    );
    let steps = prop::collection::vec(step, 0..7);
    let request = (0..5_u8, prop_oneof![10 => steps.prop_map(Some), 1 => Just(None)]);
    let event = prop_oneof![
        8 => prop::collection::vec(request, 1..6).prop_map(Event::Batch),
        1 => Just(Event::Restart),
        1 => (0..2_000_u16).prop_map(Event::Pass),
    ];
    prop::collection::vec(event, 1..25)
}

/// A walk as the model has it.
#[derive(Default)]
struct Known {
    /// All that were ever out.
    answers: Vec<(StateId, Option<Outcome>)>,
    begun: bool,
    taken: usize,
    over: bool,
    seen: i64,
    /// The last answers are not kept any more.
    rest_gone: bool,
}

/// What a request has to come to, by the model: the numbers of the answers, and whether they are new.
#[derive(Debug, PartialEq)]
enum Expected {
    Answers(Vec<(usize, bool)>),
    Ended(Vec<(usize, bool)>),
    Refused(&'static str),
}

impl Known {
    fn is_open(&self) -> bool {
        self.begun && !self.over
    }

    /// The end of the walk, which may be over.
    fn expected_end(&self, timing: Timing) -> Expected {
        let rest = timing.out(self.taken)..self.taken;
        match (self.begun, self.over) {
            (false, _) => Expected::Refused("no such walk"),
            (true, true) if self.rest_gone && !rest.is_empty() => Expected::Refused("rest"),
            (true, over) => Expected::Ended(rest.map(|number| (number, !over)).collect()),
        }
    }

    fn expected(&self, steps: &[Step], may_start: bool, timing: Timing) -> Expected {
        if steps.is_empty() {
            return Expected::Refused("no steps");
        }
        if self.over {
            return Expected::Refused("over");
        }
        let mut length = self.taken;
        let first_kept =
            timing.out(timing.lasting(self.taken).saturating_sub(LIMITS.kept_answers as usize));
        let mut answers = Vec::new();
        for step in steps {
            let number = step.number as usize;
            let due = timing.out(number)..timing.out(number + 1);
            if number > length {
                return Expected::Refused("gap");
            }
            let is_new = number == length;
            if is_new && step.real.is_err() {
                return Expected::Refused("unknown");
            }
            length += usize::from(is_new);
            if number < self.taken && !due.is_empty() && due.start < first_kept {
                return Expected::Refused("forgotten");
            }
            answers.extend(due.map(|number| (number, is_new)));
        }
        if let Timing::Whole(longest) = timing
            && length > longest
        {
            return Expected::Refused("too long");
        }
        if !self.begun && !may_start {
            return Expected::Refused("too many");
        }
        Expected::Answers(answers)
    }
}

fn kind(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NoSteps => "no steps",
        Refusal::Over { .. } => "over",
        Refusal::Gap { .. } => "gap",
        Refusal::UnknownState { .. } => "unknown",
        Refusal::Forgotten { .. } => "forgotten",
        Refusal::TooManyWalks { .. } => "too many",
        Refusal::NoSuchWalk => "no such walk",
        Refusal::TooLong { .. } => "too long",
        Refusal::RestForgotten { .. } => "rest",
        _ => "something else",
    }
}

struct Test {
    timing: Timing,
    walks: BTreeMap<u8, Known>,
    clock: Arc<AtomicI64>,
}

impl Test {
    fn requests(&self, batch: &[(u8, Option<Steps>)], chain: &Chain) -> Vec<Request> {
        // Numbers are relative to where a walk stood before the batch, so later requests of it overlap.
        let request = |(walk, steps): &(u8, Option<Steps>)| {
            let name = format!("w{walk}").parse().unwrap();
            let Some(steps) = steps else { return Request::end(&name) };
            let length = self.walks.get(walk).map_or(0, |known| known.taken) as i64;
            let mut next = length;
            let steps = steps.iter().map(|&(offset, real)| {
                let number = (next + i64::from(offset)).max(0);
                next = next.max(number + 1);
                let real = match real {
                    Some(state) => Ok(StateId::new(state as usize)),
                    None => chain.require("nowhere"),
                };
                Step { number: number as u64, real }
            });
            Request { walk: name, person: None, ask: Ask::Steps(steps.collect()) }
        };
        batch.iter().map(request).collect()
    }

    /// Holds an outcome against the model, and takes over what is new.
    fn check(&mut self, walk: u8, request: &Request, outcome: &Result<Done, Refusal>) {
        let may_start = self.open() < LIMITS.open_walks;
        let timing = self.timing;
        let now = self.clock.load(Ordering::Relaxed);
        let known = self.walks.entry(walk).or_default();
        let expected = match &request.ask {
            Ask::Steps(steps) => known.expected(steps, may_start, timing),
            Ask::End => known.expected_end(timing),
        };
        match (outcome, expected) {
            (Err(refusal), Expected::Refused(word)) => assert_eq!(kind(refusal), word),
            (Ok(Done::Ended { steps, rest }), Expected::Ended(wanted)) => {
                assert_eq!(*steps, known.taken as u64);
                known.take_over(rest, &wanted);
                if !known.over {
                    (known.over, known.seen) = (true, now);
                }
            }
            (Ok(Done::Answered(answers)), Expected::Answers(wanted)) => {
                let Ask::Steps(steps) = &request.ask else { panic!("an answer to an end") };
                known.take_over(answers, &wanted);
                known.begun = true;
                for step in steps {
                    if step.number as usize == known.taken {
                        known.taken += 1;
                        known.seen = now;
                    }
                }
            }
            (outcome, expected) => panic!("{expected:?} was expected of {request:?}: {outcome:?}"),
        }
    }

    fn open(&self) -> u64 {
        self.walks.values().filter(|known| known.is_open()).count() as u64
    }

    /// Holds walks that were idle too long against the model; times are kept in hundreds of seconds.
    fn end_idle(&mut self, ended: &[EndedWalk]) {
        let now = self.clock.load(Ordering::Relaxed);
        let mut expected = 0;
        for (walk, known) in &mut self.walks {
            let idle = known.seen - known.seen.rem_euclid(100) <= now - 1_600 - 100;
            if known.over && idle {
                known.rest_gone = true;
            }
            if known.is_open() && idle {
                expected += 1;
                let name = format!("w{walk}");
                let ended = ended.iter().find(|ended| ended.walk.as_str() == name).unwrap();
                let Expected::Ended(wanted) = known.expected_end(self.timing) else { panic!() };
                assert_eq!(ended.steps, known.taken as u64);
                known.take_over(&ended.rest, &wanted);
                (known.over, known.seen) = (true, now);
            }
        }
        assert_eq!(ended.len(), expected);
    }

    fn restart(&mut self) {
        for known in self.walks.values_mut().filter(|known| known.is_open()) {
            known.taken = self.timing.lasting(known.taken);
        }
    }
}

impl Known {
    /// Holds answers against the model, and takes over what is new.
    fn take_over(&mut self, answers: &[Answer], wanted: &[(usize, bool)]) {
        assert_eq!(answers.len(), wanted.len(), "{wanted:?}");
        for (answer, &(number, is_new)) in answers.iter().zip(wanted) {
            assert_eq!((answer.number, answer.replayed), (number as u64, !is_new));
            let answered = (answer.state, answer.observed);
            if is_new {
                assert_eq!(self.answers.len(), number, "a second release");
                self.answers.push(answered);
            }
            assert_eq!(self.answers[number], answered);
        }
    }
}

fn run(timing: Timing, events: &[Event]) {
    let mechanism = timing.mechanism();
    let chain = mechanism.model().chain();
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicI64::new(1_000_000));
    let mut test = Test { timing, walks: BTreeMap::new(), clock };
    let mut engine = open(folder.path(), &mechanism, &test.clock);
    for event in events {
        match event {
            Event::Batch(batch) => {
                let requests = test.requests(batch, chain);
                let outcomes = engine.answer_all(&requests);
                assert_eq!(outcomes.len(), requests.len());
                for (((walk, _), request), outcome) in batch.iter().zip(&requests).zip(&outcomes) {
                    test.check(*walk, request, outcome);
                }
            }
            Event::Restart => {
                drop(engine);
                engine = open(folder.path(), &mechanism, &test.clock);
                test.restart();
            }
            Event::Pass(seconds) => {
                test.clock.fetch_add(i64::from(*seconds), Ordering::Relaxed);
                test.end_idle(&engine.end_idle().unwrap());
            }
        }
        assert_eq!(engine.figures().open(), test.open());
    }
    for known in test.walks.values() {
        let states: Vec<StateId> = known.answers.iter().map(|&(state, _)| state).collect();
        assert!(states.windows(2).all(|pair| chain.allows(pair[0], pair[1])), "{states:?}");
        let observed = known.answers.iter().filter(|(_, observed)| observed.is_some()).count();
        let all = matches!(timing, Timing::Observed { .. });
        assert!(observed == if all { states.len() } else { 0 });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn each_step_has_one_answer(events in events()) {
        run(Timing::AtOnce, &events);
    }

    #[test]
    fn and_what_was_observed_is_part_of_it(events in events()) {
        run(Timing::Observed { lag: 0 }, &events);
    }

    #[test]
    fn with_a_lag_too(events in events(), lag in 1..4_usize) {
        run(Timing::Observed { lag }, &events);
    }

    #[test]
    fn and_in_blocks(events in events(), length in 2..5_usize) {
        run(Timing::Blocks(length), &events);
    }

    #[test]
    fn and_as_a_whole(events in events()) {
        run(Timing::Whole(9), &events);
    }
}
