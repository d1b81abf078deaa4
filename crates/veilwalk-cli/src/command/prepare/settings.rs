//! What to make of events, by flags.

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use veilwalk_prepare::{Clock, Days, Limits, Padding, Settings, Shaping, Stays};

use super::Args;

/// The days on which a person has a walk, as the flag has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WhichDays {
    /// Those with an event in the window
    Seen,
    /// All
    All,
}

impl Args {
    /// What is asked for, if it can be.
    pub(super) fn settings(&self) -> Result<Settings> {
        let settings = Settings {
            places: self.cells.unwrap_or_default(),
            shaping: self.shaping()?,
            gap: self.gap,
            zone: self.timezone.clone(),
            limits: Limits { states: self.max_states, memory: self.sort_memory << 20 },
        };
        settings.check()?;
        Ok(settings)
    }

    fn shaping(&self) -> Result<Shaping> {
        if self.away.is_some() && self.every.is_none() && self.map.is_none() {
            bail!(
                "--away: without a clock or a map nobody is away; give --every SPAN or --map MODEL as well, or leave \
                 the flag out"
            );
        }
        let Some(every) = self.every else {
            let stays = if self.merge_stays { Stays::Merge } else { Stays::Keep };
            let padding = self.end.clone().zip(self.length);
            let padding = padding.map(|(end, length)| Padding { end, length });
            return Ok(Shaping::Events { stays, padding });
        };
        if let (Some(gap), None) = (self.gap, &self.away) {
            bail!(
                "--gap {gap}: with --every, what is known is forgotten after so long, and a state has to take \
                 its place; give --away STATE, or leave --gap out"
            );
        }
        let mut clock = Clock::new(every, self.window)
            .map_err(|error| anyhow!("--every {every} --window {}: {error}", self.window))?;
        clock.away = self.away.clone();
        clock.days = match self.days {
            WhichDays::Seen => Days::Seen,
            WhichDays::All => Days::All,
        };
        Ok(Shaping::Clock(clock))
    }
}
