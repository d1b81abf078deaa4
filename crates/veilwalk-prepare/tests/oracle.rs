//! Walks beside those of slow, obvious rules: every tick looks at every event.

use std::collections::BTreeMap;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use proptest::collection::vec;
use proptest::prelude::*;
use veilwalk_prepare::{
    Clock, Days, Event, EventAt, Limits, Padding, Preparation, PrepareError, Settings, Shaping,
    Stays, Summary, Window,
};

/// Person, seconds since 1970, state.
type Raw = (u8, i64, u8);

type Walks = BTreeMap<String, Vec<String>>;

const STATES: [&str; 3] = ["home", "shop", "work"];

fn prepared(events: &[Raw], settings: Settings) -> (Walks, Summary) {
    settings.check().unwrap();
    let mut preparation = Preparation::new(settings);
    for &(person, time, state) in events {
        let (person, time) = (person.to_string(), time.to_string());
        let at = EventAt::State(STATES[usize::from(state)]);
        preparation.add(Event { person: &person, time: &time, at }).unwrap();
    }
    let sorted = preparation.finish().unwrap();
    let labels = sorted.labels().to_vec();
    let mut walks = Walks::new();
    let summary = sorted.each_walk(|walk| {
        assert!(walk.name.starts_with(walk.person));
        let states = walk.states.iter().map(|state| labels[state.index()].clone()).collect();
        assert!(walks.insert(walk.name.to_owned(), states).is_none(), "{} twice", walk.name);
        Ok::<(), PrepareError>(())
    });
    (walks, summary.unwrap())
}

/// The events of each person in the order of time, without repeats.
fn by_person(events: &[Raw]) -> BTreeMap<u8, Vec<(i64, u8)>> {
    let mut persons = BTreeMap::<u8, Vec<(i64, u8)>>::new();
    for &(person, time, state) in events {
        let list = persons.entry(person).or_default();
        if !list.contains(&(time, state)) {
            list.push((time, state));
        }
    }
    persons.values_mut().for_each(|list| list.sort_by_key(|event| event.0));
    persons
}

fn label(state: u8) -> String {
    STATES[usize::from(state)].to_owned()
}

/// Where the window of a day begins; nothing on a day that is not in the calendar of the place.
fn window_start(zone: &TimeZone, date: Date, from: i8) -> Option<i64> {
    let local: DateTime = date.at(from, 0, 0, 0);
    let start = zone.to_ambiguous_timestamp(local).compatible().unwrap();
    (zone.to_datetime(start).date() == date).then(|| start.as_second())
}

struct Rules {
    every: i64,
    from: i8,
    hours: i64,
    away: Option<&'static str>,
    gap: Option<i64>,
    days: Days,
}

fn slow_clock(events: &[Raw], zone: &TimeZone, rules: &Rules) -> Walks {
    let mut walks = Walks::new();
    let length = rules.hours * 3600;
    let date = |time: i64| zone.to_datetime(Timestamp::from_second(time).unwrap()).date();
    let Some(first) = events.iter().map(|event| event.1).min() else { return walks };
    let last = events.iter().map(|event| event.1).max().unwrap();
    for (person, list) in by_person(events) {
        let mut day = date(first).checked_sub(3.days()).unwrap();
        let mut begun = rules.days == Days::Seen;
        while day <= date(last) {
            if let Some(start) = window_start(zone, day, rules.from) {
                let mut later = day;
                let next = loop {
                    later = later.tomorrow().unwrap();
                    if let Some(next) = window_start(zone, later, rules.from) {
                        break next;
                    }
                };
                let within = |time: i64| (start..start + length).contains(&time) && time < next;
                begun |= within(first) || day >= date(first);
                let wanted = match rules.days {
                    Days::Seen => list.iter().any(|event| within(event.0)),
                    Days::All => begun,
                };
                if wanted {
                    let state = |tick: i64| {
                        let latest = list.iter().rev().find(|event| event.0 <= tick);
                        let fresh = latest
                            .filter(|event| rules.gap.is_none_or(|gap| tick - event.0 <= gap));
                        match (fresh, rules.away) {
                            (Some(event), _) => label(event.1),
                            (None, Some(away)) => away.to_owned(),
                            (None, None) => label(list[0].1),
                        }
                    };
                    let ticks = (0..length / rules.every).map(|n| start + n * rules.every);
                    let mut states: Vec<String> = Vec::new();
                    for tick in ticks {
                        states.push(match rules.away {
                            _ if tick < next => state(tick),
                            Some(away) => away.to_owned(),
                            None => states.last().unwrap().clone(),
                        });
                    }
                    walks.insert(format!("{person}/{day}"), states);
                }
            }
            day = day.tomorrow().unwrap();
        }
    }
    walks
}

/// Around the last Sundays of March and October 2024, and the day that Samoa left out.
fn times() -> impl Strategy<Value = i64> {
    prop_oneof![
        1_711_756_800..1_711_980_000_i64,
        1_729_900_800..1_730_160_000_i64,
        1_325_100_000..1_325_400_000_i64,
    ]
}

fn starts() -> impl Strategy<Value = (i64, Vec<Raw>)> {
    let near = vec((0..3_u8, 0..400_000_i64, 0..3_u8), 0..25);
    (times(), near).prop_map(|(from, events)| {
        (from, events.into_iter().map(|(p, t, s)| (p, from + t - 200_000, s)).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// On days of 23, 24 and 25 hours, with windows over midnight, with and without a state for absence.
    #[test]
    fn every_tick_has_the_latest_state(
        (_, events) in starts(),
        zone in prop_oneof![
            Just("Europe/Berlin"), Just("America/New_York"), Just("UTC"), Just("Pacific/Apia"),
            Just("Australia/Lord_Howe"),
        ],
        minutes in prop_oneof![Just(5), Just(30), Just(60), Just(120)],
        (from, hours) in prop_oneof![
            Just((6_i8, 16_i64)), Just((0, 24)), Just((22, 8)), Just((2, 2)), Just((23, 24)),
        ],
        away in prop_oneof![Just(None), Just(Some("away")), Just(Some("shop"))],
        gap in prop_oneof![Just(None), Just(Some(7200)), Just(Some(36_000))],
        days in prop_oneof![Just(Days::Seen), Just(Days::All)],
    ) {
        let gap = gap.filter(|_| away.is_some());
        let to = (i64::from(from) + hours - 1) % 24 + 1;
        let window: Window = format!("{from:02}:00-{to:02}:00").parse().unwrap();
        let mut clock = Clock::new(format!("{minutes}m").parse().unwrap(), window).unwrap();
        clock.away = away.map(str::to_owned);
        clock.days = days;
        let ticks = clock.ticks().get() as usize;
        let settings = Settings {
            shaping: Shaping::Clock(clock),
            gap: gap.map(|gap| format!("{gap}s").parse().unwrap()),
            zone: Some(zone.parse().unwrap()),
            ..Settings::default()
        };
        let (walks, summary) = prepared(&events, settings);
        prop_assert!(walks.values().all(|walk| walk.len() == ticks));
        let zone = TimeZone::get(zone).unwrap();
        let rules = Rules { every: 60 * minutes, from, hours, away, gap, days };
        prop_assert_eq!(&walks, &slow_clock(&events, &zone, &rules));
        prop_assert_eq!(summary.walks, walks.len() as u64);
        let with_walks = walks.keys().map(|name| &name[..1]).collect::<std::collections::BTreeSet<_>>();
        prop_assert_eq!(summary.persons - summary.persons_without_walk, with_walks.len() as u64);
    }

    /// What `--visit` counts on, whatever windows and days are: a stay is told by as many ticks as it lasts, in all walks
    /// together. No tick of one day is at a moment that a tick of another is at, or made of what was there then.
    #[test]
    fn a_stay_is_told_once(
        near in vec((-200_000..200_000_i64, 0..3_u8), 0..25),
        (from, zone) in prop_oneof![
            // The midnight after a night in which clocks were put forward, and back, and left out a day.
            Just((1_711_922_400_i64, "Europe/Berlin")), Just((1_710_129_600, "America/New_York")),
            Just((1_728_219_600, "Australia/Lord_Howe")), Just((1_730_070_000, "Europe/Berlin")),
            Just((1_325_239_200, "Pacific/Apia")),
        ],
        at in prop_oneof![-240..240_i64, -2880..2880_i64],
        (minutes, seconds) in (1..=240_i64, 0..60_i64),
        every in prop_oneof![Just(5_i64), Just(15), Just(30)],
        window in prop_oneof![Just("00:00-24:00"), Just("23:00-23:00"), Just("03:00-02:00"), Just("22:00-06:00")],
        days in prop_oneof![Just(Days::Seen), Just(Days::All)],
    ) {
        let mut clock = Clock::new(format!("{every}m").parse().unwrap(), window.parse().unwrap()).unwrap();
        clock.away = Some("away".to_owned());
        clock.days = days;
        let settings = Settings {
            shaping: Shaping::Clock(clock),
            zone: Some(zone.parse().unwrap()),
            ..Settings::default()
        };
        let came = from + 60 * at + seconds;
        let left = came + 60 * minutes;
        // At home on both sides of the stay, and wherever else at other times.
        let mut events: Vec<Raw> = near.iter().map(|&(time, state)| (0, from + time, state)).collect();
        events.retain(|(_, time, _)| !(came..=left).contains(time));
        events.push((0, came - 1, 0));
        events.push((0, left, 0));
        let with = |state: u8| {
            let stay = std::iter::once((0, came, state));
            prepared(&events.iter().copied().chain(stay).collect::<Vec<_>>(), settings.clone()).0
        };
        let (home, work) = (with(0), with(2));
        prop_assert!(home.keys().eq(work.keys()));
        let states = |walks: &Walks| walks.values().flatten().cloned().collect::<Vec<_>>();
        let changed = states(&home).iter().zip(&states(&work)).filter(|(a, b)| a != b).count();
        let lasts = (minutes as u64).div_ceil(every as u64);
        prop_assert!(changed as u64 <= lasts, "{changed} states for a stay of {lasts} ticks");
    }

    #[test]
    fn walks_without_a_clock_are_cut_at_gaps(
        events in vec((0..3_u8, 0..60_i64, 0..3_u8), 0..60),
        gap in prop_oneof![Just(None), (1..20_i64).prop_map(Some)],
        merge in any::<bool>(),
        length in prop_oneof![Just(None), (1..6_usize).prop_map(Some)],
        memory in prop_oneof![Just(100_usize), Just(Limits::MEMORY)],
    ) {
        let end = "end".to_owned();
        let padding = length.map(|length| Padding { end, length: length.try_into().unwrap() });
        let stays = if merge { Stays::Merge } else { Stays::Keep };
        let settings = Settings {
            shaping: Shaping::Events { stays, padding },
            gap: gap.map(|gap| format!("{gap}s").parse().unwrap()),
            limits: Limits { memory, ..Limits::default() },
            ..Settings::default()
        };
        let (walks, summary) = prepared(&events, settings);
        let (mut expected, mut repeats, mut merged, mut cut) = (Walks::new(), events.len(), 0, 0);
        for (person, list) in by_person(&events) {
            repeats -= list.len();
            let mut parts = vec![vec![list[0]]];
            for pair in list.windows(2) {
                if gap.is_some_and(|gap| pair[1].0 - pair[0].0 > gap) {
                    parts.push(Vec::new());
                }
                parts.last_mut().unwrap().push(pair[1]);
            }
            for (part, number) in parts.iter().zip(1..) {
                let mut states: Vec<String> = part.iter().map(|event| label(event.1)).collect();
                if merge {
                    merged += states.len();
                    states.dedup();
                    merged -= states.len();
                }
                if let Some(length) = length {
                    cut += states.len().saturating_sub(length);
                    states.resize(length, "end".to_owned());
                }
                let name = match gap {
                    Some(_) => format!("{person}/{number}"),
                    None => person.to_string(),
                };
                expected.insert(name, states);
            }
        }
        prop_assert_eq!(&walks, &expected);
        prop_assert_eq!(summary.repeats, repeats as u64);
        prop_assert_eq!(summary.stays_merged, merged as u64);
        prop_assert_eq!(summary.states_cut, cut as u64);
        prop_assert_eq!(summary.rows, walks.values().map(Vec::len).sum::<usize>() as u64);
        prop_assert_eq!(summary.events, events.len() as u64);
    }
}

/// The hour after a day of 23 hours: the next day's, and only the next day's.
#[test]
fn a_short_day_lends_no_hour_of_the_next() {
    let walks = |away: Option<&str>| {
        let mut clock = Clock::new("15m".parse().unwrap(), Window::default()).unwrap();
        clock.away = away.map(str::to_owned);
        let settings = Settings {
            shaping: Shaping::Clock(clock),
            zone: Some("Europe/Berlin".parse().unwrap()),
            ..Settings::default()
        };
        let mut preparation = Preparation::new(settings);
        for (time, state) in [
            ("2024-03-31 00:00", "home"),
            ("2024-04-01 00:00", "clinic"),
            ("2024-04-01 01:00", "home"),
        ] {
            preparation.add(Event { person: "ann", time, at: EventAt::State(state) }).unwrap();
        }
        let sorted = preparation.finish().unwrap();
        let labels = sorted.labels().to_vec();
        let mut walks = Vec::new();
        let summary = sorted.each_walk(|walk| {
            let states = walk.states.iter().map(|state| labels[state.index()].clone());
            walks.push((walk.name.to_owned(), states.collect::<Vec<_>>()));
            Ok::<(), PrepareError>(())
        });
        (walks, summary.unwrap())
    };
    for (away, beyond) in [(None, "home"), (Some("away"), "away")] {
        let (walks, summary) = walks(away);
        let [(short, first), (_, second)] = &walks[..] else { panic!("{walks:?}") };
        assert_eq!((short.as_str(), first.len(), second.len()), ("ann/2024-03-31", 96, 96));
        assert!(first[..92].iter().all(|state| state == "home"), "{first:?}");
        assert!(first[92..].iter().all(|state| state == beyond), "{first:?}");
        assert!(second[..4].iter().all(|state| state == "clinic"), "{second:?}");
        assert!(second[4..].iter().all(|state| state == "home"), "{second:?}");
        assert_eq!(summary.ticks_away, if away.is_some() { 4 } else { 0 });
        assert_eq!(summary.rows, 192);
    }
}

/// What happens to a file of local times that has both a time that was skipped and one that was there twice.
#[test]
fn local_times_are_those_of_the_place() {
    let settings = Settings {
        zone: Some("Europe/Berlin".parse().unwrap()),
        gap: Some("90m".parse().unwrap()),
        ..Settings::default()
    };
    let mut preparation = Preparation::new(settings);
    // Half past one to half past three: an hour in real time. And the other way round: three hours.
    for (person, time, state) in [
        ("spring", "2024-03-31 01:30", "home"),
        ("spring", "2024-03-31 03:30", "work"),
        ("autumn", "2024-10-27 01:30", "home"),
        ("autumn", "2024-10-27 03:30", "work"),
    ] {
        preparation.add(Event { person, time, at: EventAt::State(state) }).unwrap();
    }
    let mut names = Vec::new();
    let sorted = preparation.finish().unwrap();
    let taken = sorted.each_walk(|walk| {
        names.push((walk.name.to_owned(), walk.states.len()));
        Ok::<(), PrepareError>(())
    });
    assert_eq!(taken.unwrap().walks, 3);
    let names: Vec<_> = names.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(names, [("spring/1", 2), ("autumn/1", 1), ("autumn/2", 1)]);
}

#[test]
fn what_is_wrong_is_said() {
    let add = |settings: Settings, events: &[(&str, &str)]| {
        let mut preparation = Preparation::new(settings);
        for (time, state) in events {
            let at = EventAt::State(state);
            if let Err(error) = preparation.add(Event { person: "ann", time, at }) {
                return error.to_string();
            }
        }
        preparation.finish().unwrap_err().to_string()
    };
    let mixed = [("2024-03-01T08:00Z", "a"), ("2024-03-01 09:00", "b")];
    assert!(add(Settings::default(), &mixed).contains("without a zone, and those before it"));
    let clock = Clock::new("1h".parse().unwrap(), Window::default()).unwrap();
    let clock = Settings { shaping: Shaping::Clock(clock), ..Settings::default() };
    assert!(add(clock.clone(), &mixed[..1]).contains("Europe/Berlin"));
    let gap = Settings { gap: Some("2h".parse().unwrap()), ..clock };
    assert!(gap.check().unwrap_err().to_string().contains("forgotten"));
    let padding = Padding { end: "a".into(), length: 3.try_into().unwrap() };
    let shaping = Shaping::Events { stays: Stays::Keep, padding: Some(padding) };
    let ended = Settings { shaping, ..Settings::default() };
    assert!(add(ended, &mixed).contains("\"a\" is a state of an event"));
    let own: Vec<String> = (0..1200).map(|n| format!("{n},{n}")).collect();
    let own: Vec<(&str, &str)> = own.iter().map(|state| ("0", state.as_str())).collect();
    let error = add(Settings::default(), &own);
    assert!(error.contains("1200 different states in 1200 events"), "{error}");
}
