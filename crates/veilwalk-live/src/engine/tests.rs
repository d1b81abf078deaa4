//! What the engine does when the disk does not do what it should, and what it refuses to open.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use veilwalk::mechanism::Tracking;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Rational, Start, StateId};
use veilwalk_ledger::{Ledger, Limit};

use crate::{
    Answer, Ask, Charging, Done, Engine, Limits, Live, OpenError, Refusal, Request, Step, Trouble,
};

fn mechanism_on(chain: Chain, epsilon: &str) -> Arc<Mechanism> {
    let model = Arc::new(Model::new(chain).unwrap());
    let promise = Promise::within_radius(epsilon.parse().unwrap(), "3.5".parse().unwrap());
    Arc::new(Mechanism::new(model, Preset::Sharp.design(), promise).unwrap())
}

fn engine(folder: &Path) -> Engine {
    let mechanism = mechanism_on(Chain::credit(), "1");
    Engine::open(folder, mechanism, Start::Private, Limits::default()).unwrap()
}

fn step(engine: &mut Engine, walk: &str, number: u64) -> Result<(StateId, bool), Refusal> {
    let request = Request::step(&walk.parse().unwrap(), number, Ok(StateId::new(3)));
    match engine.answer(request)? {
        Done::Answered(answers) => Ok((answers[0].state, answers[0].replayed)),
        Done::Ended { .. } => panic!("a step does not end a walk"),
    }
}

fn trouble(refusal: Refusal) -> Trouble {
    match refusal {
        Refusal::Store(error) => error.trouble,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_full_disk_releases_nothing_and_goes_on_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine(folder.path());
    let (first, _) = step(&mut engine, "a", 0).unwrap();
    engine.store.set_pragma("max_page_count", engine.store.pages());
    let (mut walks, mut answered) = (0, 0);
    // Pages that are there have room for a while.
    let refused = loop {
        walks += 1;
        assert!(walks < 10_000, "the disk is never full");
        match step(&mut engine, &format!("{walks} {}", "x".repeat(200)), 0) {
            Ok(_) => answered += 1,
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(trouble(refused), Trouble::Full);
    assert_eq!(engine.figures().released(), answered + 1);
    assert_eq!(engine.figures().open(), answered + 1);
    engine.store.set_pragma("max_page_count", 1_000_000);
    // If it was drawn, that is its answer.
    let (name, drawn) = (format!("{walks} {}", "x".repeat(200)), !engine.held.is_empty());
    assert_eq!(step(&mut engine, &name, 0).unwrap().1, drawn);
    assert_eq!(engine.figures().open(), answered + 2);
    assert_eq!(step(&mut engine, "a", 0).unwrap(), (first, true));
    assert!(!step(&mut engine, "a", 1).unwrap().1);
}

#[test]
fn what_was_drawn_and_did_not_fit_is_what_is_stored_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let mechanism = mechanism_on(Chain::credit(), "1");
    let limits = Limits { kept_answers: 1 << 20, ..Limits::default() };
    let mut engine = Engine::open(folder.path(), mechanism, Start::Private, limits).unwrap();
    step(&mut engine, "a", 0).unwrap();
    engine.store.set_pragma("max_page_count", engine.store.pages());
    let steps = |name: &str, from: u64, to: u64, real: usize| {
        let step = |number| Step { number, real: Ok(StateId::new(real)) };
        let ask = Ask::Steps((from..to).map(step).collect());
        Request { walk: name.parse().unwrap(), person: None, ask }
    };
    // Also where the walk is new, and where it ends in the same batch.
    let end = Request::end(&"a".parse().unwrap());
    let batch = [steps("a", 1, 40, 3), end, steps("b", 0, 20_000, 3)];
    for outcome in engine.answer_all(&batch) {
        assert_eq!(trouble(outcome.unwrap_err()), Trouble::Full);
    }
    let held: Vec<Vec<StateId>> =
        engine.held.iter().map(|h| h.answers.iter().map(|a| a.state).collect()).collect();
    assert!(held.len() == 2 && held[0].len() == 39 && held[1].len() > 100);
    // Nothing else is drawn before, and what is held stays the same.
    assert_eq!(trouble(step(&mut engine, "c", 0).unwrap_err()), Trouble::Full);
    assert!(!engine.can_store() && engine.end_idle().is_err());
    assert_eq!((engine.held.len(), engine.figures().released()), (2, 1));
    engine.store.set_pragma("max_page_count", 1_000_000);
    for (name, from, held) in [("a", 1, &held[0]), ("b", 0, &held[1])] {
        let to = from + held.len() as u64;
        let outcome = engine.answer(steps(name, from, to + 1, 6)).unwrap();
        let Done::Answered(mut answers) = outcome else { panic!("{outcome:?}") };
        assert!(!answers.pop().unwrap().replayed, "the walk goes on after it");
        assert!(answers.iter().all(|answer| answer.replayed));
        assert!(answers.iter().map(|answer| &answer.state).eq(held));
    }
    assert_eq!(engine.figures().open(), 2);
}

/// Steps of a walk, from one number to another, that are in this real state.
fn steps(name: &str, from: u64, to: u64) -> Request {
    let step = |number| Step { number, real: Ok(StateId::new(3)) };
    let ask = Ask::Steps((from..to).map(step).collect());
    Request { walk: name.parse().unwrap(), person: None, ask }
}

fn end(name: &str) -> Request {
    Request::end(&name.parse().unwrap())
}

fn answers(done: Result<Done, Refusal>) -> Vec<Answer> {
    match done.unwrap() {
        Done::Answered(answers) => answers,
        Done::Ended { rest, .. } => rest,
    }
}

#[test]
fn what_waits_for_a_lag_is_held_too_also_where_the_walk_was_ended() {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
    let tight = Mechanism::new(model, Preset::Tight.design(), promise).unwrap();
    let tight = Arc::new(tight.tracking(Tracking { lag: 3, ..Tracking::default() }));
    let mut engine = Engine::open(folder.path(), tight, Start::Private, Limits::default()).unwrap();
    assert!(answers(engine.answer(steps("a", 0, 2))).is_empty());
    assert!(answers(engine.answer(steps("b", 0, 2))).is_empty());
    engine.store.set_pragma("max_page_count", engine.store.pages());
    // The first goes on and has no answer yet, the second ends, and the third fills the disk.
    let batch = [steps("a", 2, 3), end("b"), steps("c", 0, 900)];
    for outcome in engine.answer_all(&batch) {
        assert_eq!(trouble(outcome.unwrap_err()), Trouble::Full);
    }
    let held: Vec<Vec<StateId>> =
        engine.held.iter().map(|h| h.answers.iter().map(|a| a.state).collect()).collect();
    assert_eq!(held.iter().map(Vec::len).collect::<Vec<_>>()[..2], [0, 2]);
    engine.store.set_pragma("max_page_count", 1_000_000);
    // The step was taken, so the next one is not its first.
    assert!(answers(engine.answer(steps("a", 2, 3))).is_empty());
    let next = answers(engine.answer(steps("a", 3, 4)));
    assert_eq!((next.len(), next[0].number, next[0].replayed), (1, 0, false));
    for _ in 0..2 {
        let rest = answers(engine.answer(end("b")));
        assert!(rest.iter().all(|answer| answer.replayed));
        assert!(rest.iter().map(|answer| &answer.state).eq(&held[1]));
    }
    assert!(matches!(engine.answer(steps("b", 2, 3)), Err(Refusal::Over { steps: 2 })));
    assert_eq!(engine.figures().open(), 2);
    assert_eq!(engine.figures().ended(), 1);
}

#[test]
fn real_states_that_wait_outlast_a_batch_that_fails_and_a_cache_that_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("3.5".parse().unwrap(), "3.5".parse().unwrap());
    let design = Preset::Exponential.design();
    let blocks = Mechanism::in_blocks(model, design, promise, "3".parse().unwrap()).unwrap();
    let limits = Limits { cached_walks: 4, kept_answers: 1 << 20, ..Limits::default() };
    let mut engine = Engine::open(folder.path(), Arc::new(blocks), Start::Private, limits).unwrap();
    for walk in 0..50 {
        assert!(answers(engine.answer(steps(&format!("w{walk}"), 0, 1))).is_empty());
    }
    assert!(engine.cache.len() >= 50, "they are nowhere else");
    engine.store.set_pragma("max_page_count", engine.store.pages());
    let batch = [steps("w0", 1, 2), steps("w1", 1, 3), end("w2"), steps("c", 0, 20_000)];
    for outcome in engine.answer_all(&batch) {
        assert_eq!(trouble(outcome.unwrap_err()), Trouble::Full);
    }
    let held: Vec<usize> = engine.held.iter().map(|held| held.answers.len()).collect();
    assert_eq!((held.len(), &held[1..]), (3, &[3, 1][..]), "c, w1 and w2, by name");
    engine.store.set_pragma("max_page_count", 1_000_000);
    // Nothing was drawn for the first, which stands where it stood.
    assert!(answers(engine.answer(steps("w0", 1, 2))).is_empty());
    assert_eq!(answers(engine.answer(steps("w0", 2, 3))).len(), 3);
    let block = answers(engine.answer(steps("w1", 2, 3)));
    assert!(block.len() == 3 && block.iter().all(|answer| answer.replayed));
    assert_eq!(answers(engine.answer(end("w2"))).len(), 1);
    for walk in 3..50 {
        let block = answers(engine.answer(steps(&format!("w{walk}"), 1, 3)));
        assert_eq!((block.len(), block[0].replayed), (3, false), "the first step is still there");
    }
    assert!(engine.cache.len() <= 10, "nothing waits any more: {}", engine.cache.len());
}

#[test]
fn a_store_that_cannot_be_written_releases_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine(folder.path());
    step(&mut engine, "a", 0).unwrap();
    engine.store.set_pragma("query_only", 1);
    assert_eq!(trouble(step(&mut engine, "a", 1).unwrap_err()), Trouble::ReadOnly);
    assert_eq!(trouble(step(&mut engine, "b", 0).unwrap_err()), Trouble::ReadOnly);
    assert_eq!((engine.figures().released(), engine.figures().open()), (1, 1));
    engine.store.set_pragma("query_only", 0);
    assert!(!step(&mut engine, "a", 1).unwrap().1, "the step was not taken");
    assert!(!step(&mut engine, "b", 0).unwrap().1);
}

#[test]
fn a_batch_that_fails_takes_back_all_walks_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine(folder.path());
    step(&mut engine, "a", 0).unwrap();
    engine.store.set_pragma("query_only", 1);
    let request =
        |walk: &str, number| Request::step(&walk.parse().unwrap(), number, Ok(StateId::new(3)));
    let batch = [request("a", 1), request("a", 0), Request::end(&"a".parse().unwrap())];
    for outcome in engine.answer_all(&batch) {
        assert_eq!(trouble(outcome.unwrap_err()), Trouble::ReadOnly, "replays wait as well");
    }
    engine.store.set_pragma("query_only", 0);
    assert!(step(&mut engine, "a", 0).unwrap().1 && !step(&mut engine, "a", 1).unwrap().1);
}

#[test]
fn one_directory_serves_one_service_and_one_mechanism() {
    let folder = tempfile::tempdir().unwrap();
    let open =
        |mechanism, start| match Engine::open(folder.path(), mechanism, start, Limits::default()) {
            Ok(_) => None,
            Err(OpenError::Store(error)) => Some(error.trouble),
            Err(other) => panic!("{other}"),
        };
    let ours = || mechanism_on(Chain::credit(), "1");
    let running = engine(folder.path());
    let id = running.release_id();
    assert_eq!(open(ours(), Start::Private), Some(Trouble::InUse));
    drop(running);
    assert_eq!(engine(folder.path()).release_id(), id);
    let differs = |found: Option<Trouble>| match found {
        Some(Trouble::Other { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(differs(open(ours(), Start::Initial)), "start");
    assert_eq!(differs(open(mechanism_on(Chain::credit(), "2"), Start::Private)), "promise");
    assert_eq!(differs(open(mechanism_on(Chain::downtown(), "1"), Start::Private)), "chain");
    let cell = Mechanism::new(
        ours().model().clone(),
        Preset::Exponential.design(),
        ours().promise().unwrap(),
    );
    assert_eq!(differs(open(Arc::new(cell.unwrap()), Start::Private)), "mechanism");
    assert_eq!(open(ours(), Start::Private), None);
}

#[test]
fn another_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.db");
    let text = "something else, and longer than the header of a database: ".repeat(20);
    std::fs::write(&path, &text).unwrap();
    let mechanism = mechanism_on(Chain::credit(), "1");
    let refused = Engine::open(folder.path(), mechanism, Start::Private, Limits::default());
    let Err(OpenError::Store(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.trouble, Trouble::NotAStore);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_the_store() {
    use std::os::unix::fs::PermissionsExt;
    // The folder is there already, and others read it.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let mut engine = engine(folder.path());
    step(&mut engine, "a", 0).unwrap();
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap).collect();
    assert!(files.len() >= 2, "the file and its log");
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
}

#[test]
fn a_walk_is_charged_once_when_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine(folder.path());
    let (mechanism, id) = (engine.mechanism().clone(), engine.release_id());
    let limit = Some(Limit::in_all(Rational::whole(2)));
    let path = folder.path().join("spent.ledger");
    let charging = |path: &Path| {
        let ledger = Ledger::open(path).unwrap();
        Charging::new(ledger, &mechanism, Start::Private, id, limit).unwrap()
    };
    engine = engine.charging(charging(&path));
    let ann = |walk: &str| {
        let request = Request::step(&walk.parse().unwrap(), 0, Ok(StateId::new(3)));
        Request { person: Some("ann".to_owned()), ..request }
    };
    let spent = || {
        let ledger = Ledger::open(&path).unwrap();
        let person = ledger.spending_of("ann").unwrap();
        person.and_then(|person| person.spent).map_or(0.0, |spent| spent.as_f64())
    };
    // Charged, and the process is killed before the answer is stored: the attempt after it costs nothing.
    engine.store.set_pragma("query_only", 1);
    engine.answer(ann("monday")).unwrap_err();
    engine.store.set_pragma("query_only", 0);
    charging(&path)
        .charge(&[crate::charging::NewWalk {
            name: &"monday".parse().unwrap(),
            person: Some("ann"),
        }])
        .unwrap();
    assert_eq!(spent(), 1.0);
    engine.answer(ann("monday")).unwrap();
    assert_eq!(spent(), 1.0);
    // Two more, and enough is left for one of them. Others in the batch do not mind.
    let batch = [
        ann("tuesday"),
        ann("wednesday"),
        Request::step(&"bob".parse().unwrap(), 0, Ok(StateId::new(1))),
    ];
    let outcomes = engine.answer_all(&batch);
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
    assert!(matches!(outcomes[1], Err(Refusal::Budget(_))), "{outcomes:?}");
    assert_eq!(spent(), 2.0);
    assert!(!step(&mut engine, "tuesday", 1).unwrap().1, "a walk that goes on costs nothing");
    assert_eq!(spent(), 2.0);
}

#[test]
fn walks_that_are_open_stay_with_their_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let with = |ledger: Option<&str>| {
        let engine = engine(folder.path());
        let Some(ledger) = ledger else { return engine };
        let ledger = Ledger::open(folder.path().join(ledger)).unwrap();
        let (mechanism, id) = (engine.mechanism().clone(), engine.release_id());
        let charging = Charging::new(ledger, &mechanism, Start::Private, id, None).unwrap();
        engine.charging(charging)
    };
    let cases = [(None, Some("one")), (Some("one"), Some("two")), (Some("two"), None)];
    for (walk, (before, other)) in ["a", "b", "c"].into_iter().zip(cases) {
        let (state, _) = step(&mut with(before), walk, 0).unwrap();
        let mut refused = with(other);
        let error = refused.settle_ledger().unwrap_err();
        assert!(matches!(error.trouble, Trouble::OtherLedger { open: 1, .. }), "{error}");
        assert_eq!(trouble(step(&mut refused, walk, 1).unwrap_err()), error.trouble);
        drop(refused);
        let mut engine = with(before);
        engine.settle_ledger().unwrap();
        assert_eq!(step(&mut engine, walk, 0).unwrap(), (state, true));
        engine.answer(Request::end(&walk.parse().unwrap())).unwrap();
        drop(engine);
        // Once none is open, another may be taken.
        with(other).settle_ledger().unwrap();
    }
}

#[test]
fn memory_holds_so_many_walks_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let mechanism = mechanism_on(Chain::credit(), "1");
    let limits = Limits { cached_walks: 10, ..Limits::default() };
    let mut engine = Engine::open(folder.path(), mechanism, Start::Private, limits).unwrap();
    let mut first = Vec::new();
    for walk in 0..100 {
        first.push(step(&mut engine, &format!("w{walk}"), 0).unwrap().0);
        assert!(engine.cache.len() <= 11);
    }
    let requests: Vec<Request> = (0..100)
        .map(|walk| Request::step(&format!("w{walk}").parse().unwrap(), 1, Ok(StateId::new(2))))
        .collect();
    assert!(engine.answer_all(&requests).iter().all(Result::is_ok), "one batch of more");
    assert!(engine.cache.len() <= 11);
    for (walk, &state) in first.iter().enumerate() {
        assert_eq!(step(&mut engine, &format!("w{walk}"), 0).unwrap(), (state, true));
    }
}

#[test]
fn callers_of_all_threads_are_answered_and_a_stop_answers_what_waits() {
    let folder = tempfile::tempdir().unwrap();
    let (live, running) = Live::start(engine(folder.path()), 1_000).unwrap();
    let (sender, answers) = std::sync::mpsc::channel();
    for walk in 0..200 {
        let sender = sender.clone();
        let request = Request::step(&format!("w{walk}").parse().unwrap(), 0, Ok(StateId::new(1)));
        live.ask(request, move |outcome| sender.send(outcome.is_ok()).unwrap()).unwrap();
    }
    live.stop();
    drop(sender);
    running.join().unwrap();
    assert_eq!(answers.iter().filter(|&answered| answered).count(), 200);
    assert!(live.figures().batches_up_to()[crate::BATCH_SECONDS.len()] < 200, "in batches");
    assert!(!live.is_ready());
    let late = Request::step(&"late".parse().unwrap(), 0, Ok(StateId::new(1)));
    assert!(matches!(live.ask(late, |_| ()), Err(Refusal::Stopping)));
}

#[test]
fn a_panic_on_the_engines_thread_shows() {
    let folder = tempfile::tempdir().unwrap();
    let (live, running) = Live::start(engine(folder.path()), 10).unwrap();
    assert!(live.is_ready() && !live.has_stopped());
    let request = Request::step(&"a".parse().unwrap(), 0, Ok(StateId::new(1)));
    live.ask(request, |_| panic!("for the test")).unwrap();
    assert!(running.join().is_err());
    assert!(!live.is_ready() && live.has_stopped());
}

#[test]
fn it_is_ready_again_by_itself_when_the_store_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine(folder.path());
    assert!(engine.can_store());
    engine.store.set_pragma("query_only", 1);
    assert!(!engine.can_store() && !engine.can_store());
    engine.store.set_pragma("query_only", 0);
    assert!(engine.can_store());
    assert!(!step(&mut engine, "a", 0).unwrap().1);
}

#[test]
fn walks_end_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { idle: Duration::from_secs(1), ..Limits::default() };
    let mechanism = mechanism_on(Chain::credit(), "1");
    let engine = Engine::open(folder.path(), mechanism, Start::Private, limits).unwrap();
    let (live, running) = Live::start(engine, 10).unwrap();
    let request = Request::step(&"a".parse().unwrap(), 0, Ok(StateId::new(1)));
    live.ask(request, |_| ()).unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while live.figures().ended() == 0 {
        assert!(std::time::Instant::now() < deadline, "the walk does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!((live.figures().started(), live.figures().open()), (1, 0));
    live.stop();
    running.join().unwrap();
}
