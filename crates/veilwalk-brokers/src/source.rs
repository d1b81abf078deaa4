//! What all transports are told, and how a message becomes a request.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use veilwalk_live::{Live, NotAName, Request, WalkName};

use crate::desk::Refill;
use crate::owntracks::Tracks;
use crate::pattern::Pattern;
use crate::shell::{Refused, Shell};

/// How messages are written.
#[derive(Debug)]
pub enum Form {
    /// As the shell reads them.
    Shell,
    /// Locations as the app OwnTracks sends them, on a clock.
    OwnTracks(Box<Tracks>),
}

/// What is read from a broker, and what is done with it.
pub struct Source {
    /// Which topics.
    pub pattern: Pattern,
    /// How messages are written.
    pub form: Form,
    /// Who we are: the broker keeps under this name what was not acknowledged.
    pub client: String,
    /// How long a step waits for those before it.
    pub patience: Duration,
    /// The longest message, in bytes.
    pub longest: usize,
    /// Where requests go.
    pub live: Live,
    /// Who reads messages and tells what happens.
    pub shell: Arc<dyn Shell>,
    /// Becomes true when the service stops.
    pub stop: watch::Receiver<bool>,
}

/// Waits until the service stops. If nobody can stop it any more, it has.
pub(crate) async fn stopped(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("pattern", &self.pattern).finish_non_exhaustive()
    }
}

/// What a message comes to.
pub(crate) enum Read {
    /// To be asked.
    Ask(Request, Option<Refill>),
    /// To be refused.
    Refuse(WalkName, Refused),
    /// Nothing to answer: a message of another kind, or to a topic that is not read any more.
    Nothing,
}

impl Source {
    /// A connection is new: answers may have been lost with the one before.
    #[cfg(feature = "mqtt")]
    pub(crate) fn begin_again(&mut self) {
        if let Form::OwnTracks(tracks) = &mut self.form {
            tracks.begin_again();
        }
    }

    /// An answer as it is published: with the walk, where the topic does not say which it is.
    #[cfg(feature = "mqtt")]
    pub(crate) fn named(&self, walk: &WalkName, payload: Vec<u8>) -> Vec<u8> {
        match (&self.form, payload.strip_prefix(b"{")) {
            (Form::OwnTracks(_), Some(fields)) => {
                let mut named =
                    format!("{{\"walk\":{},", serde_json::json!(walk.as_str())).into_bytes();
                named.extend_from_slice(fields);
                named
            }
            _ => payload,
        }
    }

    /// Reads a message.
    pub(crate) fn read(&mut self, topic: &str, payload: &[u8]) -> Read {
        let Some(name) = self.pattern.walk(topic) else { return Read::Nothing };
        // An empty message takes back one that was retained.
        if payload.is_empty() {
            return Read::Nothing;
        }
        let walk: WalkName = match name.parse() {
            Ok(walk) => walk,
            Err(NotAName) => {
                let nobody: WalkName = "?".parse().expect("a name");
                return Read::Refuse(nobody, Refused::new("name", NotAName.to_string()));
            }
        };
        if payload.len() > self.longest {
            let error = format!("the message is longer than {} bytes", self.longest);
            return Read::Refuse(walk, Refused::new("too-long", error));
        }
        let read = match &mut self.form {
            Form::Shell => {
                self.shell.read(walk.clone(), payload).map(|request| Some((request, None)))
            }
            Form::OwnTracks(tracks) => tracks.read(walk.as_str(), payload),
        };
        match read {
            Ok(Some((request, refill))) => Read::Ask(request, refill),
            Ok(None) => Read::Nothing,
            Err(refused) => Read::Refuse(walk, refused),
        }
    }
}

#[cfg(all(test, feature = "mqtt"))]
mod tests {
    use proptest::prelude::*;
    use veilwalk::chain::UnknownState;
    use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Start, StateId};
    use veilwalk_live::{Answer, Ask, Done, Engine, Limits, Refusal};
    use veilwalk_prepare::{Clock, LiveClock};

    use super::*;
    use crate::owntracks::Location;
    use crate::pattern::Syntax;
    use crate::shell::News;

    /// The time of the clock of devices.
    const NOW: i64 = 1_709_272_800;

    /// Takes every message for the first step.
    struct First;

    impl Shell for First {
        fn read(&self, walk: WalkName, payload: &[u8]) -> Result<Request, Refused> {
            let state = payload.first().map_or(0, |byte| usize::from(byte % 8));
            Ok(Request::step(&walk, 0, Ok(StateId::new(state))))
        }

        fn answer(&self, _: &Answer) -> Vec<u8> {
            Vec::new()
        }

        fn tell(&self, _: News<'_>) {}

        fn outcome(&self, _: &Result<Done, Refusal>) {}
    }

    fn tracks() -> Form {
        let clock = Clock::new("5m".parse().unwrap(), "06:00-22:00".parse().unwrap()).unwrap();
        let clock = LiveClock::new(&clock, "Europe/Berlin".parse().unwrap());
        let states = Arc::new(|at: Location| {
            let unknown = UnknownState { label: String::new(), closest: None };
            let on_earth = at.latitude.abs() <= 90.0 && at.longitude.abs() <= 180.0;
            let known = (at.latitude >= 0.0).then(|| StateId::new(3)).ok_or(unknown);
            on_earth.then_some(known)
        });
        let limits = Limits { idle: Duration::from_secs(26 * 3600), ..Limits::default() };
        let tracks = Tracks::new(clock, None, Some(600), states, &limits).unwrap();
        Form::OwnTracks(Box::new(tracks.with_clock(|| NOW)))
    }

    fn payload() -> impl Strategy<Value = Vec<u8>> {
        let number = || {
            prop_oneof![
                (-200..200_i32).prop_map(|number| number.to_string()),
                "-?[0-9]{1,22}(\\.[0-9]{1,3})?(e-?[0-9]{1,3})?",
                Just("null".to_owned()),
                Just("\"x\"".to_owned()),
            ]
        };
        let time = prop_oneof![
            4 => (NOW - 40 * 86_400..NOW + 1_000).prop_map(|time| time.to_string()),
            1 => number(),
        ];
        let kind =
            prop::sample::select(vec!["location", "location", "location", "lwt", "encrypted"]);
        let location = (kind, number(), number(), time, number(), number());
        let location = location.prop_map(|(kind, lat, lon, tst, cog, vel)| {
            format!(
                "{{\"_type\":\"{kind}\",\"lat\":{lat},\"lon\":{lon},\"tst\":{tst},\"cog\":{cog},\"vel\":{vel}}}"
            )
            .into_bytes()
        });
        // Some are cut, or have a byte changed.
        let damaged = (location.clone(), any::<prop::sample::Index>(), any::<u8>(), any::<bool>());
        let damaged = damaged.prop_map(|(mut bytes, at, byte, cut)| {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(if cut { at } else { bytes.len() });
            bytes
        });
        prop_oneof![4 => location, 1 => damaged, 1 => prop::collection::vec(any::<u8>(), 0..1_200)]
    }

    /// `VEILWALK_REQUESTS=1000000 cargo test -p veilwalk-brokers --lib whatever` reads more of them.
    #[test]
    fn whatever_comes_is_asked_refused_or_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
        let mechanism = Mechanism::new(model, Preset::Sharp.design(), promise).unwrap();
        let (mechanism, limits) = (Arc::new(mechanism), Limits::default());
        let engine = Engine::open(folder.path(), mechanism, Start::Private, limits).unwrap();
        let (live, running) = Live::start(engine, 100).unwrap();
        let (_stop, stop) = watch::channel(false);
        let source = |pattern: &str, syntax, form| Source {
            pattern: Pattern::new(pattern, syntax).unwrap(),
            form,
            client: "veilwalk".to_owned(),
            patience: Duration::ZERO,
            longest: 1_000,
            live: live.clone(),
            shell: Arc::new(First),
            stop: stop.clone(),
        };
        let sources = std::cell::RefCell::new([
            source("owntracks/+/+", Syntax::Mqtt, tracks()),
            source("fleet/+/real", Syntax::Mqtt, Form::Shell),
            source("fleet.*.real", Syntax::Nats, Form::Shell),
        ]);
        let part = prop_oneof![
            3 => prop::sample::select(vec!["owntracks", "fleet", "real", "released", "+", "#", "*", ">", ""])
                .prop_map(str::to_owned),
            1 => "\\PC{0,4}",
            1 => ".{0,300}",
        ];
        let topic = prop_oneof![
            2 => "[a-c]{1,2}".prop_map(|name| format!("owntracks/ann/{name}")),
            1 => "[a-c.*\\x00-\\x7f]{0,9}".prop_map(|name| format!("fleet/{name}/real")),
            1 => "[a-c/+\\x00-\\x7f]{0,9}".prop_map(|name| format!("fleet.{name}.real")),
            1 => (prop::collection::vec(part, 0..5), prop::sample::select(vec!["/", "."]))
                .prop_map(|(parts, between)| parts.join(between)),
        ];
        let cases = std::env::var("VEILWALK_REQUESTS").ok().and_then(|cases| cases.parse().ok());
        let cases = ProptestConfig::with_cases(cases.unwrap_or(3_000));
        let config = ProptestConfig { failure_persistence: None, ..cases };
        let asked = std::cell::Cell::new([0_u64; 3]);
        proptest!(config, |(topic in topic, payload in payload())| {
            for (at, source) in sources.borrow_mut().iter_mut().enumerate() {
                match source.read(&topic, &payload) {
                    Read::Ask(request, refill) => {
                        let mut counts = asked.get();
                        counts[at] += 1;
                        asked.set(counts);
                        let Ask::Steps(steps) = &request.ask else { panic!("nobody ends a walk") };
                        prop_assert!((1..=192).contains(&steps.len()), "a day has 192 ticks");
                        if let Some(refill) = refill {
                            let last = steps.last().unwrap().number;
                            prop_assert!(refill(0).is_some() && refill(last + 1).is_none());
                        }
                        let released = source.pattern.beside(&topic, crate::pattern::RELEASED);
                        prop_assert!(source.pattern.walk(&released).is_none(), "it is read again");
                    }
                    Read::Refuse(_, refused) => {
                        let text = String::from_utf8(refused.payload(None)).unwrap();
                        prop_assert!(text.len() < 300, "{text}");
                    }
                    Read::Nothing => {}
                }
            }
        });
        assert!(asked.get().iter().all(|&count| count > 0), "some were requests: {asked:?}");
        live.stop();
        running.join().unwrap();
    }
}
