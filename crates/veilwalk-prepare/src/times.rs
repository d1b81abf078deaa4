//! Checks that all times of a file are written in the same way, and keeps the first and the last.

use crate::clock::FARTHEST;
use crate::error::EventError;
use crate::moment::{self, Moment, TimeKind, shortened};
use crate::settings::{Settings, Shaping};

/// How the times of a file are written, and the first and the last of them.
#[derive(Debug)]
pub(crate) struct Times {
    kind: Option<TimeKind>,
    first: Moment,
    last: Moment,
}

impl Default for Times {
    fn default() -> Self {
        Self { kind: None, first: Moment(i64::MAX), last: Moment(i64::MIN) }
    }
}

impl Times {
    /// What a time means, if it is written like those before it.
    pub(crate) fn read(&mut self, time: &str, settings: &Settings) -> Result<Moment, EventError> {
        let (kind, read) = moment::read(time)?;
        match self.kind {
            Some(before) if before != kind => {
                return Err(EventError::MixedTimes { found: kind, before });
            }
            Some(_) => {}
            None => {
                let on_a_clock = matches!(settings.shaping, Shaping::Clock(_));
                if on_a_clock && kind != TimeKind::Local && settings.zone.is_none() {
                    return Err(EventError::NoZone { kind });
                }
                self.kind = Some(kind);
            }
        }
        let moment = match (&settings.zone, kind) {
            (Some(zone), TimeKind::Local) => zone.moment_of(read),
            _ => Some(read),
        };
        let near = moment.filter(|moment| (-FARTHEST..=FARTHEST).contains(&moment.0));
        near.ok_or_else(|| EventError::FarAway { found: shortened(time) })
    }

    pub(crate) fn include(&mut self, time: Moment) {
        (self.first, self.last) = (self.first.min(time), self.last.max(time));
    }

    /// The first and the last time.
    pub(crate) fn range(&self) -> (Moment, Moment) {
        if self.first > self.last { (Moment(0), Moment(0)) } else { (self.first, self.last) }
    }
}
