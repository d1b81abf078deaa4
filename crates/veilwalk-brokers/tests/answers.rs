//! What is published for what comes in, by real brokers.

mod common;

use std::time::Duration;

use common::{Broker, Kind, Service, Wire, within};
use serde_json::json;

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(60);

#[test]
fn child() {
    common::child();
}

/// Steps that come once, twice, too early, unknown, late, and to walks that are over.
fn answers(kind: Kind) {
    let folder = tempfile::tempdir().unwrap();
    let Some(broker) = Broker::start(kind, folder.path()) else { return };
    let wire = Wire::new(&broker);
    let service = Service::start(folder.path(), &broker.url()).ready();
    let has = |walk: &str, number: u64| {
        wire.look(|seen| seen.states.contains_key(&(walk.to_owned(), number)))
    };
    wire.step("a", 0, 6, NOW);
    assert!(within(LONG, || has("a", 0)));
    // The same again with another state: the same answer, which is looked at when it is seen.
    wire.step("a", 0, 1, NOW);
    wire.step("a", 0, 99, NOW);
    assert!(within(LONG, || wire.look(|seen| seen.answers >= 3)));
    // Too early, and then the one before it.
    wire.step("a", 2, 5, NOW);
    wire.step("a", 1, 5, Duration::from_millis(300));
    assert!(within(LONG, || has("a", 2)));
    // One that is unknown, and messages that are none.
    for payload in
        [r#"{"step":3,"state":99}"#, "no", r#"{"step":3,"state":"Caa"}"#, &" ".repeat(1_001)]
    {
        wire.send("a", payload, NOW);
    }
    assert!(within(LONG, || wire.look(|seen| seen.refused.len() == 4)));
    wire.look(|seen| {
        let mut codes: Vec<_> =
            seen.refused.iter().map(|(_, body)| body["code"].as_str().unwrap()).collect();
        codes.sort_unstable();
        assert_eq!(codes, ["body", "body", "too-long", "unknown-state"]);
        let all = format!("{:?}", seen.refused);
        assert!(!all.contains("99") && !all.contains("Caa"), "{all}");
    });
    wire.send("a", json!({ "end": true }).to_string(), NOW);
    assert!(within(LONG, || wire
        .look(|seen| seen.ended == [("a".to_owned(), json!({"ended": true, "steps": 3}))])));
    wire.step("a", 0, 1, NOW);
    assert!(within(LONG, || wire.look(|seen| seen.refused.last().unwrap().1["code"] == "over")));
    // What is sent while nobody is there waits at the broker.
    service.stop();
    for number in 0..20 {
        wire.step("b", number, number % 8, Duration::from_millis(number * 10));
    }
    std::thread::sleep(Duration::from_millis(600));
    assert!(!has("b", 0));
    let service = Service::start(folder.path(), &broker.url()).ready();
    assert!(within(LONG, || (0..20).all(|number| has("b", number))));
    service.stop();
}

#[test]
fn mqtt_answers() {
    answers(Kind::Mqtt);
}

#[test]
fn nats_answers() {
    answers(Kind::Nats);
}

/// A step that never comes: those after it are refused in the end, and others are not held up.
fn gap(kind: Kind) {
    let folder = tempfile::tempdir().unwrap();
    let Some(broker) = Broker::start(kind, folder.path()) else { return };
    let wire = Wire::new(&broker);
    let service = Service::start(folder.path(), &broker.url()).ready();
    wire.step("a", 7, 0, NOW);
    wire.step("b", 0, 0, Duration::from_millis(50));
    assert!(within(Duration::from_secs(5), || wire.look(|seen| seen.states.len() == 1)));
    assert!(within(LONG, || wire.look(|seen| seen.refused.len() == 1)));
    wire.look(|seen| {
        let body = &seen.refused[0].1;
        assert_eq!(
            (&body["code"], &body["next"], &body["step"]),
            (&json!("gap"), &json!(0), &json!(7))
        );
    });
    service.stop();
}

#[test]
fn mqtt_refuses_a_gap_in_the_end() {
    gap(Kind::Mqtt);
}

#[test]
fn nats_refuses_a_gap_in_the_end() {
    gap(Kind::Nats);
}

/// With a lag, answers come with later steps, and the last ones with the end: after a kill too, and when all comes once more.
fn lag(kind: Kind) {
    const STEPS: u64 = 30;
    const LAG: u32 = 3;
    let folder = tempfile::tempdir().unwrap();
    let Some(broker) = Broker::start(kind, folder.path()) else { return };
    let wire = Wire::new(&broker);
    let mut service = Service::start_with_lag(folder.path(), &broker.url(), LAG).ready();
    let answered = |steps: u64| {
        let steps = 0..steps;
        within(LONG, || {
            wire.look(|seen| {
                steps.clone().all(|step| seen.states.contains_key(&("a".to_owned(), step)))
            })
        })
    };
    for number in 0..STEPS / 2 {
        wire.step("a", number, number % 8, NOW);
    }
    assert!(answered(STEPS / 2 - u64::from(LAG)));
    std::thread::sleep(Duration::from_millis(300));
    let first_half = wire.look(|seen| seen.states.len() as u64);
    assert_eq!(first_half, STEPS / 2 - u64::from(LAG), "the others are not due");
    service.kill();
    for number in (0..STEPS).rev() {
        wire.step("a", number, 7 - number % 8, NOW);
    }
    service.start_again();
    let service = service.ready();
    assert!(answered(STEPS - u64::from(LAG)));
    wire.send("a", json!({ "end": true }).to_string(), Duration::from_millis(300));
    assert!(answered(STEPS));
    assert!(within(LONG, || wire.look(|seen| !seen.ended.is_empty())));
    wire.look(|seen| {
        assert_eq!(seen.ended, [("a".to_owned(), json!({"ended": true, "steps": STEPS}))]);
        assert_eq!(seen.states.len() as u64, STEPS);
        assert!(seen.refused.is_empty(), "{:?}", seen.refused);
    });
    service.stop();
}

#[test]
fn mqtt_answers_come_later() {
    lag(Kind::Mqtt);
}

#[test]
fn nats_answers_come_later() {
    lag(Kind::Nats);
}

/// A disk that takes no more: nothing is published, nothing is acknowledged, and all is answered when there is room.
fn full_disk(kind: Kind) {
    const STEPS: u64 = 1_500;
    let folder = tempfile::tempdir().unwrap();
    let Some(broker) = Broker::start(kind, folder.path()) else { return };
    let wire = Wire::new(&broker);
    let mut service = Service::start_on_small_disk(folder.path(), &broker.url(), 150).ready();
    for number in 0..STEPS {
        wire.step(
            &format!("w{}", number % 4),
            number / 4,
            number % 8,
            NOW + Duration::from_millis(number / 4),
        );
    }
    // Until no more come.
    let mut last = 0;
    let stands = |last: &mut usize| {
        std::thread::sleep(Duration::from_millis(1_500));
        let now = wire.look(|seen| seen.states.len());
        std::mem::replace(last, now) == now && now > 0
    };
    assert!(within(LONG, || stands(&mut last)));
    assert!((last as u64) < STEPS, "the disk was never full");
    assert!(wire.look(|seen| seen.refused.is_empty()), "nothing is refused for good");
    service.kill();
    service.start_again();
    let service = service.ready();
    assert!(within(LONG, || wire.look(|seen| seen.states.len() as u64 == STEPS)));
    assert!(wire.look(|seen| seen.refused.is_empty()));
    service.stop();
}

#[test]
fn mqtt_on_a_full_disk_releases_nothing_and_loses_nothing() {
    full_disk(Kind::Mqtt);
}

#[test]
fn nats_on_a_full_disk_releases_nothing_and_loses_nothing() {
    full_disk(Kind::Nats);
}

/// Two runs that differ in real states only.
fn alike(kind: Kind) {
    /// Which steps were answered, and what was refused.
    type Shown = (Vec<(String, u64)>, Vec<String>);
    let run = |states: [u64; 4]| -> Option<Shown> {
        let folder = tempfile::tempdir().unwrap();
        let broker = Broker::start(kind, folder.path())?;
        let wire = Wire::new(&broker);
        let service = Service::start(folder.path(), &broker.url()).ready();
        for number in 0..40 {
            wire.step("a", number, states[number as usize % 4], Duration::from_millis(number * 5));
        }
        wire.step("a", 3, states[1], Duration::from_millis(300));
        wire.step("b", 0, 8 + states[0], Duration::from_millis(300));
        let done = || wire.look(|seen| seen.answers >= 41 && seen.refused.len() == 1);
        assert!(within(LONG, done));
        service.stop();
        Some(wire.look(|seen| {
            let refused = seen.refused.iter().map(|refused| format!("{refused:?}"));
            (seen.states.keys().cloned().collect(), refused.collect())
        }))
    };
    let (one, other) = (run([0, 1, 2, 3]), run([7, 7, 4, 0]));
    assert_eq!(one, other);
}

#[test]
fn mqtt_shows_nothing_of_real_states() {
    alike(Kind::Mqtt);
}

#[test]
fn nats_shows_nothing_of_real_states() {
    alike(Kind::Nats);
}

#[test]
fn a_consumer_belongs_to_one_directory() {
    let folder = tempfile::tempdir().unwrap();
    let Some(broker) = Broker::start(Kind::Nats, folder.path()) else { return };
    Service::start(&folder.path().join("one"), &broker.url()).ready().stop();
    let mut other = Service::start(&folder.path().join("two"), &broker.url());
    assert!(!other.status().success(), "it would release walks a second time");
    Service::start(&folder.path().join("one"), &broker.url()).ready().stop();
}
