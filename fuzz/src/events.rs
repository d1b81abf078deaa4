//! Events of persons: tables, positions on a clock, and logs of cases.

use std::path::Path;

use veilwalk_io::{EventColumns, EventOptions, EventPlace, EventReader};
use veilwalk_prepare::{
    AddError, Clock, Event, EventAt, Limits, Places, Preparation, PrepareError, Settings, Shaping,
};

use crate::{Outcome, scratch, taken};

/// A table of states, each event a step.
pub(crate) fn table(data: &[u8]) -> Outcome {
    prepared(&scratch::file("events", data), &EventOptions::default(), Settings::default())
}

/// A log of cases.
pub(crate) fn xes(data: &[u8]) -> Outcome {
    prepared(&scratch::file("events.xes", data), &EventOptions::default(), Settings::default())
}

/// A table of positions, which become cells, on a clock in a zone with summer time.
pub(crate) fn positions(data: &[u8]) -> Outcome {
    let place = EventColumns::Position { latitude: "lat".into(), longitude: "lon".into() };
    let options = EventOptions { place, ..EventOptions::default() };
    let mut clock = Clock::new("30m".parse().unwrap(), "06:00-22:00".parse().unwrap()).unwrap();
    clock.away = Some("away".to_owned());
    let settings = Settings {
        places: "h3:9".parse::<Places>().unwrap(),
        shaping: Shaping::Clock(clock),
        gap: Some("2h".parse().unwrap()),
        zone: Some("Europe/Berlin".parse().unwrap()),
        limits: Limits::default(),
    };
    prepared(&scratch::file("positions", data), &options, settings)
}

fn prepared(path: &Path, options: &EventOptions, settings: Settings) -> Outcome {
    taken(prepare(path, options, settings)).into()
}

fn prepare(path: &Path, options: &EventOptions, settings: Settings) -> Result<(), String> {
    let on_a_clock = matches!(settings.shaping, Shaping::Clock(_));
    let mut events = EventReader::open(path, options).map_err(|error| error.to_string())?;
    let mut preparation = Preparation::new(settings);
    let mut count = 0;
    while let Some(row) = events.next_event().map_err(|error| error.to_string())? {
        assert!(!row.person.is_empty() && !row.time.is_empty(), "an empty person or time");
        let at = match row.at {
            EventPlace::State(state) => EventAt::State(state),
            EventPlace::Position { latitude, longitude } => {
                EventAt::Position { latitude, longitude }
            }
        };
        let event = Event { person: row.person, time: row.time, at };
        preparation.add(event).map_err(|error: AddError| error.to_string())?;
        count += 1;
    }
    let sorted = preparation.finish().map_err(|error| error.to_string())?;
    let labels = sorted.labels().to_vec();
    let mut rows = 0;
    let walked = sorted.each_walk(|walk| {
        assert!(walk.name.starts_with(walk.person), "{:?} of {:?}", walk.name, walk.person);
        assert!(walk.states.iter().all(|state| state.index() < labels.len()));
        rows += walk.states.len() as u64;
        Ok::<(), PrepareError>(())
    });
    let summary = walked.map_err(|error| error.to_string())?;
    assert_eq!((summary.events, summary.rows), (count, rows));
    // Repeated events are left out, nothing else is, and nothing is added.
    assert!(on_a_clock || rows + summary.repeats == count, "{summary:?}");
    Ok(())
}
