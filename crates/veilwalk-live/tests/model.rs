//! The engine beside a model that keeps everything in memory: whatever comes, in whatever order, twice or with
//! other real states, each step of each walk has one answer.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Start, StateId};
use veilwalk_live::{Answer, Ask, Done, Engine, Limits, Refusal, Request, Step};

const LIMITS: Limits = Limits {
    idle: Duration::from_secs(1_600),
    open_walks: 3,
    kept_answers: 4,
    // Most walks are read from the store when they are used.
    cached_walks: 2,
};

fn mechanism(preset: Preset) -> Arc<Mechanism> {
    let model = Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
    Arc::new(Mechanism::new(model, preset.design(), promise).unwrap())
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
    answers: Vec<(StateId, Option<StateId>)>,
    over: bool,
    seen: i64,
}

/// What a request has to come to, by the model; answers that are new are not known.
#[derive(Debug, PartialEq)]
enum Expected {
    Answers(Vec<Option<(StateId, Option<StateId>)>>),
    Ended(usize),
    Refused(&'static str),
}

impl Known {
    fn expected(&self, steps: &[Step], may_start: bool) -> Expected {
        if steps.is_empty() {
            return Expected::Refused("no steps");
        }
        if self.over {
            return Expected::Refused("over");
        }
        let mut length = self.answers.len() as u64;
        let mut answers = Vec::new();
        for step in steps {
            if step.number > length {
                return Expected::Refused("gap");
            }
            if step.number == length {
                if step.real.is_err() {
                    return Expected::Refused("unknown");
                }
                length += 1;
                answers.push(None);
                continue;
            }
            match self.answers.get(step.number as usize) {
                // The same step twice in one request.
                None => answers.push(None),
                Some(_) if step.number + LIMITS.kept_answers < self.answers.len() as u64 => {
                    return Expected::Refused("forgotten");
                }
                Some(&answer) => answers.push(Some(answer)),
            }
        }
        if self.answers.is_empty() && !may_start {
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
        _ => "something else",
    }
}

struct Test {
    walks: BTreeMap<u8, Known>,
    clock: Arc<AtomicI64>,
}

impl Test {
    fn requests(&self, batch: &[(u8, Option<Steps>)], chain: &Chain) -> Vec<Request> {
        // Numbers are relative to where a walk stood before the batch, so later requests of it overlap.
        let request = |(walk, steps): &(u8, Option<Steps>)| {
            let name = format!("w{walk}").parse().unwrap();
            let Some(steps) = steps else { return Request::end(&name) };
            let length = self.walks.get(walk).map_or(0, |known| known.answers.len()) as i64;
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
        let open = self.walks.values().filter(|known| !known.over && !known.answers.is_empty());
        let may_start = (open.count() as u64) < LIMITS.open_walks;
        let now = self.clock.load(Ordering::Relaxed);
        let known = self.walks.entry(walk).or_default();
        let expected = match &request.ask {
            Ask::Steps(steps) => known.expected(steps, may_start),
            Ask::End if known.answers.is_empty() => Expected::Refused("no such walk"),
            Ask::End => Expected::Ended(known.answers.len()),
        };
        match (outcome, expected) {
            (Err(refusal), Expected::Refused(word)) => assert_eq!(kind(refusal), word),
            (Ok(Done::Ended { steps }), Expected::Ended(length)) => {
                assert_eq!(*steps, length as u64);
                known.over = true;
            }
            (Ok(Done::Answered(answers)), Expected::Answers(wanted)) => {
                let Ask::Steps(steps) = &request.ask else { panic!("an answer to an end") };
                assert_eq!((answers.len(), wanted.len()), (steps.len(), steps.len()));
                for ((answer, step), wanted) in answers.iter().zip(steps).zip(wanted) {
                    let &Answer { number, state, observed, replayed } = answer;
                    assert_eq!(number, step.number);
                    let is_new = number == known.answers.len() as u64;
                    assert_eq!(replayed, !is_new, "step {number}");
                    if is_new {
                        known.answers.push((state, observed));
                        known.seen = now;
                    }
                    let answered = known.answers[number as usize];
                    assert_eq!((state, observed), wanted.unwrap_or(answered));
                    assert_eq!((state, observed), answered);
                }
            }
            (outcome, expected) => panic!("{expected:?} was expected of {request:?}: {outcome:?}"),
        }
    }

    /// Walks that were idle too long by the model; times are kept in hundreds of seconds.
    fn end_idle(&mut self) -> u64 {
        let now = self.clock.load(Ordering::Relaxed);
        let open = self.walks.values_mut().filter(|known| !known.over && !known.answers.is_empty());
        let mut ended = 0;
        for known in open {
            if known.seen - known.seen.rem_euclid(100) <= now - 1_600 - 100 {
                known.over = true;
                ended += 1;
            }
        }
        ended
    }
}

fn run(preset: Preset, events: &[Event]) {
    let mechanism = mechanism(preset);
    let chain = mechanism.model().chain();
    let folder = tempfile::tempdir().unwrap();
    let mut test = Test { walks: BTreeMap::new(), clock: Arc::new(AtomicI64::new(1_000_000)) };
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
            }
            Event::Pass(seconds) => {
                test.clock.fetch_add(i64::from(*seconds), Ordering::Relaxed);
                assert_eq!(engine.end_idle().unwrap(), test.end_idle());
            }
        }
        let open = test.walks.values().filter(|known| !known.over && !known.answers.is_empty());
        assert_eq!(engine.figures().open(), open.count() as u64);
    }
    for known in test.walks.values() {
        let states: Vec<StateId> = known.answers.iter().map(|&(state, _)| state).collect();
        assert!(states.windows(2).all(|pair| chain.allows(pair[0], pair[1])), "{states:?}");
        let observed = known.answers.iter().filter(|(_, observed)| observed.is_some()).count();
        assert!(observed == if preset == Preset::Tight { states.len() } else { 0 });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn each_step_has_one_answer(events in events()) {
        run(Preset::Sharp, &events);
    }

    #[test]
    fn and_what_was_observed_is_part_of_it(events in events()) {
        run(Preset::Tight, &events);
    }
}
