//! Locations as the app OwnTracks sends them, put on a clock: one walk for each device and day, with one state for each tick.
//!
//! The number of a step is that of the tick that the location's own time (`tst`) is in. So the same location asks for
//! the same step whenever it comes, and however often. The first location within a tick is the one that is
//! released; later ones get its answer. Ticks that were missed are in the walk too: they have the last known state, as long as
//! that is not older than the gap, and the state for being away after it. So neither their number nor a hole in it tells when
//! a phone was silent.
//!
//! The last known state is real, so it is held in memory and nowhere else. After a restart nothing is known: ticks that were missed are away
//! then, or, without a state for that, where the next location is. That is what `veilwalk prepare` does before a first event.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use thiserror::Error;
use veilwalk::StateId;
use veilwalk::chain::UnknownState;
use veilwalk_live::{Ask, Request, Step, WalkName};
use veilwalk_prepare::LiveClock;

use crate::desk::Refill;
use crate::shell::Refused;

/// How far ahead of ours a device's clock may be, in seconds.
const AHEAD: i64 = 300;
/// How long ago a location may be, in seconds.
const OLDEST: i64 = 31 * 86_400;
/// How many devices are remembered.
const MOST_DEVICES: usize = 1_000_000;

/// Where somebody says they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Location {
    /// Degrees north of the equator.
    pub latitude: f64,
    /// Degrees east of Greenwich.
    pub longitude: f64,
    /// In which direction they move, in degrees clockwise from north, if they do.
    pub course: Option<f64>,
}

/// Which state of the chain a location is. None if there is no such place on the earth.
pub type States = Arc<dyn Fn(Location) -> Option<Result<StateId, UnknownState>> + Send + Sync>;

/// What is wrong with a clock for locations.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TracksError {
    /// A walk would be over before its day is.
    #[error(
        "a walk goes on for a day, and walks for which nothing came are ended after {idle} s; wait for {least} s at least"
    )]
    Idle {
        /// After how many seconds walks are ended.
        idle: u64,
        /// How many it has to be.
        least: u64,
    },
    /// More ticks than answers.
    #[error(
        "a day has {ticks} ticks, and answers are kept for {kept} steps; keep {ticks} at least"
    )]
    Kept {
        /// How many ticks a day has.
        ticks: u32,
        /// For how many steps answers are kept.
        kept: u64,
    },
}

/// Makes requests of locations.
pub struct Tracks {
    clock: LiveClock,
    away: Option<StateId>,
    /// In seconds.
    gap: Option<i64>,
    states: States,
    now: Box<dyn Fn() -> i64 + Send + Sync>,
    devices: HashMap<String, Device>,
}

impl fmt::Debug for Tracks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracks").field("devices", &self.devices.len()).finish_non_exhaustive()
    }
}

/// What is known of a device.
struct Device {
    day: String,
    /// The step that follows those that were asked for.
    next: u64,
    /// When it was there.
    time: i64,
    state: Option<StateId>,
}

/// The fields of a message that matter here; others are left alone.
#[derive(Deserialize)]
struct Message {
    #[serde(rename = "_type")]
    kind: String,
    lat: Option<f64>,
    lon: Option<f64>,
    tst: Option<i64>,
    /// The course, and the speed.
    cog: Option<f64>,
    vel: Option<f64>,
}

/// What a request comes to, and how to make it again.
type Asked = (Request, Option<Refill>);

impl Tracks {
    /// Locations on this clock, as these states. `away` is where a device is of which nothing is known, or
    /// nothing for longer than `gap` seconds.
    ///
    /// # Errors
    ///
    /// If walks would end before their day does, or answers of a day be forgotten on it.
    pub fn new(
        clock: LiveClock,
        away: Option<StateId>,
        gap: Option<i64>,
        states: States,
        limits: &veilwalk_live::Limits,
    ) -> Result<Self, TracksError> {
        const LEAST: u64 = 25 * 3600;
        let idle = limits.idle.as_secs();
        if idle < LEAST {
            return Err(TracksError::Idle { idle, least: LEAST });
        }
        if limits.kept_answers < u64::from(clock.ticks()) {
            return Err(TracksError::Kept { ticks: clock.ticks(), kept: limits.kept_answers });
        }
        let (devices, now) = (HashMap::new(), Box::new(now));
        Ok(Self { clock, away, gap, states, now, devices })
    }

    /// Takes the time, in seconds since the beginning of 1970, from here instead of the clock.
    #[doc(hidden)]
    #[must_use]
    pub fn with_clock(self, now: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self { now: Box::new(now), ..self }
    }

    /// What a message of a device asks for, if it is a location within the hours of the clock.
    pub(crate) fn read(&mut self, device: &str, payload: &[u8]) -> Result<Option<Asked>, Refused> {
        let body =
            || Refused::new("body", "send a message of OwnTracks, with _type, lat, lon and tst");
        let message: Message = serde_json::from_slice(payload).map_err(|_| body())?;
        match message.kind.as_str() {
            "location" => {}
            "encrypted" => {
                let error = "encrypted messages cannot be read; turn the encryption of payloads off, and use TLS";
                return Err(Refused::new("encrypted", error));
            }
            _ => return Ok(None),
        }
        let (Some(lat), Some(lon), Some(time)) = (message.lat, message.lon, message.tst) else {
            return Err(body());
        };
        let now = (self.now)();
        if time > now.saturating_add(AHEAD) || time < now.saturating_sub(OLDEST) {
            let error =
                "tst is in the future, or more than 31 days ago; set the clock of the device";
            return Err(Refused::new("time", error));
        }
        // Whoever stands still has a course too, which says nothing.
        let course = message.cog.filter(|_| message.vel.is_none_or(|speed| speed > 0.0));
        let location = Location { latitude: lat, longitude: lon, course };
        let real = (self.states)(location).ok_or_else(|| {
            Refused::new("body", "lat and lon have to be degrees of latitude and longitude")
        })?;
        let Some(tick) = self.clock.tick_of(time) else { return Ok(None) };
        let walk: WalkName = format!("{device}/{}", tick.day)
            .parse()
            .map_err(|_| Refused::new("name", "the name of the device is too long"))?;
        let number = u64::from(tick.number);
        let known = self.devices.get(device);
        // After a start, everything of the day is asked for: answers that are stored may not have been published.
        let begin =
            known.filter(|known| known.day == tick.day).map_or(0, |known| known.next.min(number));
        // A location that comes late says nothing of what was before a newer one.
        let last = known
            .filter(|known| known.time <= time)
            .and_then(|known| Some((known.time, known.state?)));
        let here = real.as_ref().ok().copied();
        let filled = Filled {
            walk,
            number,
            last: last.map(|(_, state)| state),
            until: last
                .map_or(i64::MIN, |(last, _)| last.saturating_add(self.gap.unwrap_or(i64::MAX))),
            unknown: self.away.map_or_else(|| real.clone(), Ok),
            real,
            start: tick.start,
            every: self.clock.every(),
        };
        let request = filled.request(begin);
        self.remember(device, time, tick.day, number, here);
        let refill: Refill =
            Box::new(move |expected| (expected <= filled.number).then(|| filled.request(expected)));
        Ok(Some((request, Some(refill))))
    }

    /// Has all of each device's day asked for again: answers may have been lost with a connection.
    pub(crate) fn begin_again(&mut self) {
        for device in self.devices.values_mut() {
            device.next = 0;
        }
    }

    fn remember(
        &mut self,
        device: &str,
        time: i64,
        day: String,
        number: u64,
        state: Option<StateId>,
    ) {
        if self.devices.len() >= MOST_DEVICES && !self.devices.contains_key(device) {
            // What is known of them is known again with their next location.
            self.devices.clear();
        }
        let next = number + 1;
        match self.devices.get_mut(device) {
            None => {
                self.devices.insert(device.to_owned(), Device { day, next, time, state });
            }
            Some(known) if known.time > time => {}
            Some(known) => {
                let next = if known.day == day { known.next.max(next) } else { next };
                let state = state.or(known.state);
                *known = Device { day, next, time, state };
            }
        }
    }
}

/// A location at its tick, and what goes into ticks before it that were missed.
struct Filled {
    walk: WalkName,
    number: u64,
    real: Result<StateId, UnknownState>,
    /// The last known state, and until when it is known.
    last: Option<StateId>,
    until: i64,
    /// The state where nothing is known.
    unknown: Result<StateId, UnknownState>,
    /// When the first tick of the day is, and how far apart ticks are.
    start: i64,
    every: i64,
}

impl Filled {
    /// All steps from this one to the tick of the location.
    fn request(&self, begin: u64) -> Request {
        let step = |number: u64| {
            let time = self.start.saturating_add(self.every.saturating_mul(number as i64));
            let real = match self.last {
                _ if number == self.number => self.real.clone(),
                Some(last) if time <= self.until => Ok(last),
                _ => self.unknown.clone(),
            };
            Step { number, real }
        };
        let steps = (begin..=self.number).map(step).collect();
        Request { walk: self.walk.clone(), person: None, ask: Ask::Steps(steps) }
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use veilwalk_live::Limits;
    use veilwalk_prepare::{Clock, Places};

    use super::*;

    /// 2024-03-01, 06:00 in UTC.
    const SIX: i64 = 1_709_272_800;
    /// Two places far apart, and one that the chain does not have.
    const PLACES: [(f64, f64); 3] = [(48.8584, 2.2945), (37.7759, -122.4180), (0.0, 0.0)];

    fn limits() -> Limits {
        Limits { idle: Duration::from_secs(26 * 3600), ..Limits::default() }
    }

    fn tracks(away: Option<StateId>, gap: Option<i64>) -> Tracks {
        let clock = Clock::new("5m".parse().unwrap(), "06:00-22:00".parse().unwrap()).unwrap();
        let clock = LiveClock::new(&clock, "UTC".parse().unwrap());
        let places: Places = "h3:9".parse().unwrap();
        let known: Vec<String> =
            PLACES[..2].iter().map(|&(lat, lon)| places.label(lat, lon).unwrap()).collect();
        let states: States = Arc::new(move |at: Location| {
            let label = places.label(at.latitude, at.longitude)?;
            let found = known.iter().position(|known| *known == label).map(StateId::new);
            Some(found.ok_or_else(|| UnknownState { label: String::new(), closest: None }))
        });
        let tracks = Tracks::new(clock, away, gap, states, &limits()).unwrap();
        tracks.with_clock(|| SIX + 40 * 3600)
    }

    fn message(place: usize, time: i64) -> String {
        let (lat, lon) = PLACES[place];
        format!(
            r#"{{"_type":"location","lat":{lat},"lon":{lon},"tst":{time},"acc":12,"tid":"an"}}"#
        )
    }

    /// The walk, and the steps that are asked for; none for an unknown state.
    fn asked(request: &Request) -> (&str, Vec<(u64, Option<usize>)>) {
        let Ask::Steps(steps) = &request.ask else { panic!("{request:?}") };
        let steps = steps
            .iter()
            .map(|step| (step.number, step.real.as_ref().ok().map(|state| state.index())));
        (request.walk.as_str(), steps.collect())
    }

    fn read(tracks: &mut Tracks, place: usize, time: i64) -> (String, Vec<(u64, Option<usize>)>) {
        let (request, _) =
            tracks.read("ann/phone", message(place, time).as_bytes()).unwrap().unwrap();
        let (walk, steps) = asked(&request);
        (walk.to_owned(), steps)
    }

    #[test]
    fn the_time_of_a_location_says_which_step_it_is() {
        let mut tracks = tracks(None, None);
        let (walk, steps) = read(&mut tracks, 0, SIX + 7);
        assert_eq!((walk.as_str(), steps), ("ann/phone/2024-03-01", vec![(0, Some(0))]));
        // Later in the same tick, and the same message again: the same step.
        assert_eq!(read(&mut tracks, 1, SIX + 299).1, [(0, Some(1))]);
        assert_eq!(read(&mut tracks, 0, SIX + 7).1, [(0, Some(0))]);
        assert_eq!(read(&mut tracks, 1, SIX + 300).1, [(1, Some(1))]);
        // Three ticks without a location: the last that is known, which is not the one that came late.
        assert_eq!(
            read(&mut tracks, 0, SIX + 1_500).1,
            [(2, Some(1)), (3, Some(1)), (4, Some(1)), (5, Some(0))]
        );
        assert_eq!(read(&mut tracks, 0, SIX + 320).1, [(1, Some(0))], "late");
        assert_eq!(read(&mut tracks, 1, SIX + 1_810).1, [(6, Some(1))]);
        // The next day.
        let (walk, steps) = read(&mut tracks, 1, SIX + 86_400 + 301);
        assert_eq!(
            (walk.as_str(), steps),
            ("ann/phone/2024-03-02", vec![(0, Some(1)), (1, Some(1))])
        );
    }

    #[test]
    fn what_is_known_for_too_long_or_not_at_all_is_away() {
        let mut tracks = tracks(Some(StateId::new(7)), Some(600));
        assert_eq!(read(&mut tracks, 0, SIX + 300).1, [(0, Some(7)), (1, Some(0))]);
        let steps = read(&mut tracks, 1, SIX + 1_800).1;
        assert_eq!(steps, [(2, Some(0)), (3, Some(0)), (4, Some(7)), (5, Some(7)), (6, Some(1))]);
        // A location of which the chain knows nothing is asked for as it is; it may have been answered before.
        assert_eq!(read(&mut tracks, 2, SIX + 2_100).1, [(7, None)]);
        assert_eq!(read(&mut tracks, 0, SIX + 2_400).1, [(8, Some(0))]);
    }

    #[test]
    fn after_a_restart_the_whole_day_is_asked_for() {
        let mut tracks = tracks(None, None);
        let steps = read(&mut tracks, 1, SIX + 900).1;
        assert_eq!(steps, [(0, Some(1)), (1, Some(1)), (2, Some(1)), (3, Some(1))]);
        tracks.begin_again();
        assert_eq!(read(&mut tracks, 0, SIX + 1_200).1.len(), 5);
        assert_eq!(read(&mut tracks, 0, SIX + 1_500).1.len(), 1);
    }

    #[test]
    fn a_step_that_does_not_follow_is_asked_for_with_those_before_it() {
        let mut tracks = tracks(None, None);
        read(&mut tracks, 0, SIX);
        let message = message(1, SIX + 900);
        let (request, refill) = tracks.read("ann/phone", message.as_bytes()).unwrap().unwrap();
        assert_eq!(asked(&request).1.len(), 3);
        let refill = refill.unwrap();
        let request = refill(0).unwrap();
        assert_eq!(asked(&request).1, [(0, Some(0)), (1, Some(0)), (2, Some(0)), (3, Some(1))]);
        assert!(refill(4).is_none());
    }

    #[test]
    fn other_messages_are_left_alone_or_refused() {
        let mut tracks = tracks(None, None);
        for nothing in
            [r#"{"_type":"lwt","tst":1}"#, r#"{"_type":"transition"}"#, &message(0, SIX - 1)]
        {
            assert!(tracks.read("a", nothing.as_bytes()).unwrap().is_none(), "{nothing}");
        }
        for refused in [
            "",
            "[]",
            r#"{"_type":"location"}"#,
            r#"{"_type":"location","lat":"48","lon":2,"tst":3}"#,
            r#"{"_type":"encrypted","data":"…"}"#,
            &message(0, SIX + 50 * 3600),
            &message(0, SIX - 40 * 86_400),
            &message(0, i64::MAX),
            &message(0, i64::MIN),
            &message(0, SIX).replace("48.8584", "148.8584"),
        ] {
            assert!(tracks.read("a", refused.as_bytes()).is_err(), "{refused}");
        }
        assert!(tracks.read(&"x".repeat(250), message(0, SIX).as_bytes()).is_err());
        let short = Limits::default();
        let clock = Clock::new("5m".parse().unwrap(), "06:00-22:00".parse().unwrap()).unwrap();
        let clock = || LiveClock::new(&clock, "UTC".parse().unwrap());
        let new = |limits: &Limits| {
            Tracks::new(clock(), None, None, tracks.states.clone(), limits).map(drop)
        };
        assert!(matches!(new(&short), Err(TracksError::Idle { .. })));
        assert!(matches!(
            new(&Limits { kept_answers: 191, ..limits() }),
            Err(TracksError::Kept { .. })
        ));
        assert!(new(&Limits { kept_answers: 192, ..limits() }).is_ok());
    }
}
