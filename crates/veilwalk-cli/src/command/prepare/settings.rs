//! Turns the flags into the settings of `veilwalk-prepare`.

use anyhow::{Result, anyhow, bail};
use veilwalk_prepare::{Clock, Days, Limits, Padding, Settings, Shaping, Stays};

use super::flags::{Args, WhichDays};

impl Args {
    /// What is asked for, if it can be.
    pub(super) fn settings(&self) -> Result<Settings> {
        let settings = Settings {
            places: self.columns.cells.unwrap_or_default(),
            shaping: self.shaping()?,
            gap: self.walks.gap,
            zone: self.columns.timezone.clone(),
            limits: Limits {
                states: self.limits.max_states,
                memory: self.limits.sort_memory << 20,
            },
        };
        settings.check()?;
        Ok(settings)
    }

    fn shaping(&self) -> Result<Shaping> {
        if self.clock.away.is_some() && self.clock.every.is_none() && self.map.map.is_none() {
            bail!(
                "--away: without a clock or a map nobody is away; give --every SPAN or --map MODEL as well, or leave \
                 the flag out"
            );
        }
        let Some(every) = self.clock.every else {
            let stays = if self.walks.merge_stays { Stays::Merge } else { Stays::Keep };
            let padding = self.walks.end.clone().zip(self.walks.length);
            let padding = padding.map(|(end, length)| Padding { end, length });
            return Ok(Shaping::Events { stays, padding });
        };
        if let (Some(gap), None) = (self.walks.gap, &self.clock.away) {
            bail!(
                "--gap {gap}: with --every, what is known is forgotten after so long, and a state has to take \
                 its place; give --away STATE, or leave --gap out"
            );
        }
        let mut clock = Clock::new(every, self.clock.window)
            .map_err(|error| anyhow!("--every {every} --window {}: {error}", self.clock.window))?;
        clock.away = self.clock.away.clone();
        clock.days = match self.clock.days {
            WhichDays::Seen => Days::Seen,
            WhichDays::All => Days::All,
        };
        Ok(Shaping::Clock(clock))
    }
}
