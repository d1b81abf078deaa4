//! Reading events, each with its file and line if there is something wrong with it.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Error, Result, anyhow};
use veilwalk_io::{EventColumns, EventOptions, EventPlace, EventReader, ReadError};
use veilwalk_prepare::{AddError, Event, EventAt, Preparation, Settings, Sorted};
use veilwalk_roads::Streets;

use super::Args;
use crate::progress;

impl Args {
    /// Reads all events and puts them in order.
    pub(super) fn read<'s>(
        &self,
        settings: Settings,
        streets: Option<&'s Streets>,
    ) -> Result<Sorted<'s>> {
        let options = self.event_options();
        let taking = match streets {
            None => Preparation::new(settings),
            Some(streets) => {
                let away = self.clock.away.clone();
                Preparation::on_streets(settings, streets, self.matching(), away)
            }
        };
        if self.events == "-" {
            let input = std::io::stdin().lock();
            take_all(EventReader::new(input, "standard input", &options), taking)
        } else {
            take_all(EventReader::open(Path::new(&self.events), &options), taking)
        }
    }

    fn event_options(&self) -> EventOptions {
        let place = match self.columns.cells.is_some() || self.map.map.is_some() {
            false => EventColumns::State(self.columns.state_column.clone()),
            true => EventColumns::Position {
                latitude: self.columns.latitude_column.clone(),
                longitude: self.columns.longitude_column.clone(),
            },
        };
        EventOptions {
            person_column: self.columns.person_column.clone(),
            time_column: self.columns.time_column.clone(),
            place,
        }
    }
}

fn take_all<R: Read>(
    reader: Result<EventReader<R>, ReadError>,
    mut taking: Preparation<'_>,
) -> Result<Sorted<'_>> {
    /// So many events are read before the bar is looked at again.
    const AT_ONCE: u32 = 1 << 12;
    let mut reader = reader?;
    let name = reader.name().to_owned();
    progress::with_labelled_progress(|tell| {
        let mut until_told = 0;
        while let Some(row) = reader.next_event()? {
            let at = match row.at {
                EventPlace::State(label) => EventAt::State(label),
                EventPlace::Position { latitude, longitude } => {
                    EventAt::Position { latitude, longitude }
                }
            };
            let event = Event { person: row.person, time: row.time, at };
            if let Err(error) = taking.add(event) {
                return Err(match error {
                    AddError::Event(error) => anyhow!("{name}, {}: {error}", row.place),
                    other => Error::new(other),
                });
            }
            if until_told == 0 {
                until_told = AT_ONCE;
                if let ControlFlow::Break(()) = tell("reading", reader.share_read()) {
                    return Err(progress::stopped());
                }
            }
            until_told -= 1;
        }
        Ok(())
    })?;
    taking.finish().map_err(|error| anyhow!("{name}: {error}"))
}
