//! The page: walks and what was estimated, with what has to be known of them.

use std::io::Write;

use anyhow::{Result, anyhow};
use veilwalk_io::{AtomicFile, Manifest, ReleaseReader, WriteError, WriteErrorKind};
use veilwalk_map::{DrawnWalk, Ground, Layer, MapPage, PageError, Path, Visit};
use veilwalk_score::{EstimatedVisit, read_visits};

use super::walks::of_release;
use super::{Args, Drawn};
use crate::args::{counted, thousands};
use crate::estimated;
use crate::progress::Stoppable;

impl Args {
    /// Writes the page. Says whether walks have times.
    pub(super) fn write_page(
        &self,
        ground: &Ground<'_>,
        mut release: ReleaseReader<'_>,
    ) -> Result<(Drawn, bool)> {
        let _stoppable = Stoppable::new();
        let chain = ground.chain();
        let mut clock = self.clock()?;
        let released = self.release.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut page = MapPage::new(ground, &format!("Walks of {released}"));
        if let Some(attribution) = self.attribution(chain) {
            page.attribute(attribution);
        }
        if let Some(zone) = &clock.zone {
            page.show_times_in(zone);
        }
        let visits = self.estimate.as_deref().map(|file| estimated::read(file, chain, read_visits));
        page.visits(visits.transpose()?.unwrap_or_default().into_iter().map(visit).collect());
        let (walks, observed) = of_release(&mut release, self.walks)?;
        let others = self.others(chain);
        let others = others.iter().map(|other| Ok((other.layer, other.read(&walks)?)));
        let others = others.collect::<Result<Vec<_>>>()?;
        let mut drawn = Drawn { walks: walks.names.len(), ..Drawn::default() };
        drawn.count(&others);
        for (name, states) in walks.names.iter().zip(&walks.states) {
            drawn.states += states.len() as u64;
            let mut paths = vec![Path { layer: Layer::Released, states: states.clone() }];
            let seen = observed.as_ref().and_then(|seen| seen.states_of(name));
            let more = others.iter().map(|(layer, walks)| (*layer, walks.of(name)));
            paths.extend(
                more.chain([(Layer::Observed, seen)])
                    .filter_map(|(layer, states)| Some(Path { layer, states: states?.to_vec() })),
            );
            let times = clock.of(name, states.len() as u64)?;
            let observed = observed.as_ref().map_or(&[][..], |seen| seen.points_of(name)).to_vec();
            page.push(DrawnWalk { name: name.clone(), times, paths, observed });
        }
        self.facts(&mut page, release.manifest(), drawn);
        let html = page.to_html().map_err(|error| match error {
            PageError::TooManyStates { states, .. } => {
                let fewer = (walks.names.len() * MapPage::MOST_STATES / states.max(1)).max(1);
                anyhow!(
                    "{}: {error} with --walks {fewer}, or write .geojson or .parquet for a tool that shows more",
                    self.output.display()
                )
            }
            other => anyhow!("{}: {other}", self.output.display()),
        })?;
        let mut file = AtomicFile::create(&self.output)?;
        let name = file.name().to_owned();
        let written = file.write_all(html.as_bytes());
        written.map_err(|error| WriteError::new(name, WriteErrorKind::Io(error)))?;
        file.commit()?;
        Ok((drawn, clock.is_known()))
    }

    /// What is shown, and what was promised for it.
    fn facts(&self, page: &mut MapPage<'_>, manifest: &Manifest, drawn: Drawn) {
        let all = manifest.counts.walks;
        let shown = match (drawn.walks as u64) < all {
            true => format!("the first {} of {}", thousands(drawn.walks), thousands(all as usize)),
            false => thousands(drawn.walks),
        };
        page.fact("walks", &format!("{shown}, {}", counted(drawn.states as usize, "state")));
        let promise = &manifest.promise;
        let unit = match (&promise.radius_nats, &promise.radius, promise.substitutions) {
            (Some(radius), _, _) => format!(" within a radius of {radius} nats"),
            (None, Some(radius), _) => format!(" within a radius of {radius}"),
            (None, None, Some(count)) => {
                format!(" for {}", counted(count as usize, "substitution"))
            }
            (None, None, None) => String::new(),
        };
        page.fact("promise", &format!("ε = {}{unit}, for each walk", promise.epsilon));
        if let Some(metric) = &manifest.metric {
            page.fact("distances", &metric.name);
        }
        page.fact("mechanism", &manifest.mechanism.name);
        if !manifest.private {
            page.fact("not private", &manifest.why_not_private.join("; "));
        }
        if drawn.refined > 0 {
            page.fact("refined walks", "what the release says is nearest to the real ones; nothing but the release was used");
        }
        if self.estimate.is_some() {
            page.fact("visits", "estimated from the release; nothing else was used");
        }
        page.fact("chain", &manifest.chain.hash.chars().take(16).collect::<String>());
    }
}

fn visit(found: EstimatedVisit) -> Visit {
    let EstimatedVisit { state, share, interval } = found;
    Visit { state, share, interval }
}
