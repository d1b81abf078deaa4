//! What distances are taken from, by flag.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Result, bail};
use veilwalk::mechanism::Unit;
use veilwalk::{Chain, Ground, Measure};
use veilwalk_io::{Manifest, read_distances};

/// A metric as the flag names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MetricChoice {
    Named(Ground),
    Table(PathBuf),
}

impl FromStr for MetricChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match Ground::named(text) {
            Some(ground) => Ok(Self::Named(ground)),
            None if text.contains(['/', '.']) || Path::new(text).exists() => {
                Ok(Self::Table(PathBuf::from(text)))
            }
            None => {
                Err("give nats, street, line or the CSV file of a table of distances".to_owned())
            }
        }
    }
}

impl MetricChoice {
    /// The metric on a chain.
    pub(crate) fn ground(&self, chain: &Chain) -> Result<Ground> {
        Ok(match self {
            Self::Named(ground) => ground.clone(),
            Self::Table(path) => Ground::Table(Arc::new(read_distances(path, chain)?)),
        })
    }

    /// The file of the table, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Named(_) => None,
            Self::Table(path) => Some(path),
        }
    }

    /// As the flag has it.
    pub(crate) fn flag(&self) -> String {
        match self {
            Self::Named(ground) => ground.to_string(),
            Self::Table(path) => {
                let path = path.display().to_string();
                // A name without a dot or a folder could be taken for that of a metric.
                if path.contains(['/', '.']) { path } else { format!("./{path}") }
            }
        }
    }
}

/// What else says which metric is meant, where no flag does.
#[derive(Clone, Debug, Default)]
pub(crate) enum WantedMetric {
    /// Nothing: that of a compiled model, or nats.
    #[default]
    Anything,
    /// A promise in some measure.
    Measured(Measure),
    /// The metric of a release or a mechanism file.
    Of(String, String),
}

impl WantedMetric {
    /// What a promise for this unit wants.
    pub(crate) fn by(unit: Option<Unit>) -> Self {
        unit.and_then(Unit::measure).map_or(Self::Anything, Self::Measured)
    }

    /// What a release was made with, as its manifest has it. Whether there is one is for whoever needs it.
    pub(crate) fn by_release(release: &Path) -> Self {
        let metric = Manifest::read_for(release).ok().map(|manifest| manifest.metric());
        metric.map_or(Self::Anything, |metric| Self::Of(release.display().to_string(), metric))
    }

    /// The metric for a chain; none if it does not matter.
    pub(crate) fn ground(&self, chain: &Chain) -> Result<Option<Ground>> {
        Ok(match self {
            Self::Anything | Self::Measured(Measure::Nats) => None,
            Self::Measured(measure) => Some(Ground::usual(*measure, chain)?),
            Self::Of(file, name) => match Ground::named(name) {
                Some(ground) => Some(ground),
                None if name == "table" => bail!(
                    "{file}: this was made with a table of distances; give the table with --metric FILE"
                ),
                None => bail!(
                    "{file}: this was made with distances by {name:?}, which this version does not know"
                ),
            },
        })
    }
}
