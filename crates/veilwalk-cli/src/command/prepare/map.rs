//! Which streets positions are matched with.

use anyhow::{Result, anyhow};
use veilwalk_roads::{MatchSettings, Streets};

use super::Args;
use crate::args::prior;

/// How far positions may be off.
pub(super) fn metres(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.5..=500.0).contains(number));
    number.ok_or_else(|| "give metres between 0.5 and 500".to_owned())
}

impl Args {
    /// The streets of the map, if there is one.
    pub(super) fn streets(&self) -> Result<Option<Streets>> {
        let Some(map) = &self.map.map else { return Ok(None) };
        let name = map.display().to_string();
        let streets = Streets::of(&prior(&name)?);
        streets.map(Some).map_err(|error| anyhow!("--map {name}: {error}"))
    }

    pub(super) fn matching(&self) -> MatchSettings {
        MatchSettings::with_sigma(self.map.sigma)
    }
}
