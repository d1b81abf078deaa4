//! Kills of the service and of the broker under load, with messages that come twice, late, and out of order: each step has one
//! answer among all that was ever published, every step that was sent has one, and what was published is in the store.
//!
//! `VEILWALK_KILLS=250 cargo test -p veilwalk-brokers --test kill` does more of it.

mod common;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use common::{Broker, Kind, Service, Wire, Words, engine, within};
use veilwalk::StateId;
use veilwalk_live::{Done, Request};

/// So many that there is something to send while some wait to be delivered again.
const WALKS: u64 = 96;
/// How many steps of a walk are sent before their answers are there.
const AHEAD: u64 = 4;
/// How long it is waited for an answer before a step is sent again, where the broker may have lost it.
const PATIENCE: Duration = Duration::from_secs(4);

#[test]
fn child() {
    common::child();
}

/// What was sent of all walks.
struct Load {
    words: Words,
    /// The first step of each walk that was not sent.
    next: Vec<u64>,
    /// When steps were sent that have no answer.
    open: BTreeMap<(String, u64), Instant>,
    again: u64,
    /// How many refusals were looked at, and how many steps were sent again because of one.
    looked: usize,
    refused: u64,
}

impl Load {
    fn send(&mut self, wire: &Wire) {
        let walk = self.words.below(WALKS);
        let name = format!("w{walk}");
        let Self { words, next, open, .. } = self;
        let next = &mut next[walk as usize];
        let before = wire.look(|seen| {
            open.retain(|key, _| !seen.states.contains_key(key));
            open.keys().filter(|(walk, _)| *walk == name).count() as u64
        });
        if before >= AHEAD {
            return;
        }
        let mut numbers: Vec<u64> = (*next..*next + AHEAD - before).collect();
        *next += AHEAD - before;
        // Some in another order.
        for place in 1..numbers.len() {
            if words.below(10) < 3 {
                numbers.swap(place - 1, place);
            }
        }
        for number in numbers {
            open.insert((name.clone(), number), Instant::now());
            // Some twice, with other states, and some late.
            for _ in 0..1 + u64::from(words.below(10) < 3) {
                let late = if words.below(10) < 3 { words.below(300) } else { 0 };
                wire.step(&name, number, words.below(8), Duration::from_millis(late));
            }
        }
    }

    /// Sends steps once more that were refused because one before them came too late, as the refusal says. A message that was
    /// lost is not refused, so it stays without an answer.
    fn send_refused(&mut self, wire: &Wire) {
        let Self { words, open, looked, refused, .. } = self;
        let new: Vec<(String, u64)> = wire.look(|seen| {
            let new = seen.refused[*looked..].iter().map(|(walk, body)| {
                assert_eq!(body["code"], "gap", "{body}");
                (walk.clone(), body["step"].as_u64().unwrap())
            });
            let new = new.collect();
            *looked = seen.refused.len();
            new
        });
        for (walk, number) in new {
            if open.contains_key(&(walk.clone(), number)) {
                *refused += 1;
                wire.step(&walk, number, words.below(8), Duration::ZERO);
            }
        }
    }

    /// Sends what has no answer for long once more.
    fn send_again(&mut self, wire: &Wire) {
        let Self { words, open, again, .. } = self;
        wire.look(|seen| open.retain(|key, _| !seen.states.contains_key(key)));
        let now = Instant::now();
        for ((walk, number), sent) in open {
            if now - *sent > PATIENCE {
                *sent = now;
                *again += 1;
                wire.step(walk, *number, words.below(8), Duration::ZERO);
            }
        }
    }
}

/// `share` of ten kills are of the broker.
fn kills(kind: Kind, share: u64, seed: u64) {
    let kills =
        std::env::var("VEILWALK_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(10);
    let folder = tempfile::tempdir().unwrap();
    let Some(mut broker) = Broker::start(kind, folder.path()) else { return };
    let wire = Wire::new(&broker);
    let mut service = Service::start(folder.path(), &broker.url()).ready();
    let next = vec![0; WALKS as usize];
    let mut load =
        Load { words: Words(seed), next, open: BTreeMap::new(), again: 0, looked: 0, refused: 0 };
    // mosquitto keeps in memory what it has acknowledged; JetStream does not.
    let may_lose = kind == Kind::Mqtt && share > 0;
    for _ in 0..kills {
        let until = Instant::now() + Duration::from_millis(80 + load.words.below(600));
        while Instant::now() < until {
            load.send(&wire);
            load.send_refused(&wire);
            if may_lose {
                load.send_again(&wire);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if load.words.below(10) < share {
            broker.kill();
            broker.start_again();
        } else {
            service.kill();
            service.start_again();
        }
    }
    let mut all_answered = |seconds| {
        within(Duration::from_secs(seconds), || {
            wire.look(|seen| load.open.retain(|key, _| !seen.states.contains_key(key)));
            load.send_refused(&wire);
            if may_lose {
                load.send_again(&wire);
            }
            std::thread::sleep(Duration::from_millis(50));
            load.open.is_empty()
        })
    };
    // Time enough for the longest wait there is. What is open then was not heard, or lost.
    let heard = all_answered(if kind == Kind::Nats { 30 } else { 120 });
    let unheard = if heard { 0 } else { wire.read_stored() };
    let all = heard || all_answered(60);
    let refused = wire.look(|seen| seen.refused.clone());
    assert!(all, "no answer to {:?}; refused were {refused:?}", load.open);
    service.kill();
    let sent: u64 = load.next.iter().sum();
    let (states, answers) = wire.look(|seen| (seen.states.clone(), seen.answers));
    assert_eq!(
        states.len() as u64,
        sent,
        "a step was lost, or one was answered that was never sent"
    );
    assert!(sent > kills * 5, "{sent} steps");
    let mut engine = engine(folder.path());
    for ((walk, number), state) in states {
        let request = Request::step(&walk.parse().unwrap(), number, Ok(StateId::new(0)));
        let Ok(Done::Answered(found)) = engine.answer(request) else {
            panic!("{walk} {number} was lost")
        };
        assert!(found[0].replayed && found[0].state.index() as u64 == state, "{walk} {number}");
    }
    let (again, refused) = (load.again, load.refused);
    eprintln!(
        "{kind:?}: {kills} kills, {sent} steps, {answers} answers seen, {unheard} of them only in the \
         server's stream, {again} sent again, {refused} again because they were refused"
    );
}

#[test]
fn mqtt_service_killed() {
    kills(Kind::Mqtt, 0, 0x9e37_79b9);
}

#[test]
fn mqtt_broker_and_service_killed() {
    kills(Kind::Mqtt, 5, 0x1234_5678_9abc);
}

#[test]
fn nats_service_killed() {
    kills(Kind::Nats, 0, 0xdead_beef);
}

#[test]
fn nats_server_and_service_killed() {
    kills(Kind::Nats, 5, 0x0bad_cafe_f00d);
}
