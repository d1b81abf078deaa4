//! When walks were: what was said, or the clock that stands beside them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use veilwalk_io::Prepared;
use veilwalk_map::Times;
use veilwalk_prepare::{Timetable, TimetableError, Zone};

use super::Args;
use crate::terminal;

/// Gives walks their times, if anything says them.
pub(super) struct Clock {
    table: Option<Timetable>,
    /// The zone in which times are shown.
    pub(super) zone: Option<String>,
    /// Where it was found, for messages.
    from: String,
}

impl Clock {
    /// The times of a walk of at least this many states.
    pub(super) fn of(&mut self, walk: &str, states: u64) -> Result<Option<Times>> {
        let Some(table) = &mut self.table else { return Ok(None) };
        let first = table.first(walk, states).map_err(|error| match error {
            TimetableError::NoDay { .. } => anyhow!(
                "{}: the walk {walk:?} is not named after a day, as walks on a clock are (ann/2024-03-01); give --every \
                 and --from instead",
                self.from
            ),
            other => anyhow!("{}: {other}", self.from),
        })?;
        let every = table.every().seconds() as i64 * 1_000_000;
        Ok(Some(Times { first, every }))
    }

    pub(super) fn is_known(&self) -> bool {
        self.table.is_some()
    }
}

impl Args {
    /// What says when walks were.
    pub(super) fn clock(&self) -> Result<Clock> {
        if let (Some(every), Some(from)) = (self.every, &self.from) {
            let table = Timetable::from_moment(from, every, self.timezone.as_ref());
            let table = table.with_context(|| format!("--from {from}"))?;
            let zone = self.timezone.as_ref().map(Zone::to_string);
            return Ok(Clock { table: Some(table), zone, from: "--from".to_owned() });
        }
        let found = match &self.clock {
            Some(file) => {
                let clock = Self::prepared(file)?;
                if clock.is_none() {
                    bail!(
                        "{}: there is no such file; give the one that `veilwalk prepare` wrote",
                        file.display()
                    );
                }
                clock.map(|prepared| (file.clone(), prepared))
            }
            None => self
                .beside()
                .find_map(|file| Some((file.clone(), Self::prepared(&file).transpose()?)))
                .map(|(file, prepared)| anyhow::Ok((file, prepared?)))
                .transpose()?,
        };
        let none = Clock { table: None, zone: None, from: String::new() };
        let Some((file, prepared)) = found else { return Ok(none) };
        let Some(clock) = prepared.clock else {
            if self.clock.is_some() {
                bail!(
                    "{}: these walks were not put on a clock, so nothing says when they were; give --every and --from",
                    file.display()
                );
            }
            return Ok(none);
        };
        let name = file.display().to_string();
        let own = clock.timezone.as_deref().map(str::parse::<Zone>).transpose();
        let own = own.with_context(|| name.clone())?;
        let zone = own.or_else(|| self.timezone.clone());
        if zone.is_none() {
            terminal::note(format!(
                "{name}: the clock has no zone, so its times are taken as those of UTC; --timezone says which they are"
            ));
        }
        let table = Timetable::on_clock(&clock.every, &clock.window, zone.as_ref());
        let table = table.with_context(|| name.clone())?;
        Ok(Clock { table: Some(table), zone: zone.as_ref().map(Zone::to_string), from: name })
    }

    /// What walks were prepared with, by the name of the file that says so.
    fn prepared(file: &Path) -> Result<Option<Prepared>> {
        let name = file.to_string_lossy();
        let Some(walks) = name.strip_suffix(Prepared::SUFFIX) else {
            bail!(
                "{name}: --clock takes the file that `veilwalk prepare` wrote beside the walks, whose name ends in {}",
                Prepared::SUFFIX
            );
        };
        Ok(Prepared::read_for(&PathBuf::from(walks))?)
    }
}
