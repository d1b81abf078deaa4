//! Maps for other tools. GeoJSON and GPX have walks as lines, so walks are gathered first, at 4 bytes a state; GeoParquet
//! has a row for each state, which goes from the release to the file as it comes.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use veilwalk::Outcome;
use veilwalk::chain::Coordinates;
use veilwalk::mechanism::plane::Outcomes;
use veilwalk_io::{
    AtomicFile, Position, PositionWriter, ReleaseReader, WriteError, WriteErrorKind,
};
use veilwalk_map::{GeoJson, Gpx, Ground, Layer, Times, Walk};

use super::walks::{Stopping, Walks, of_release, place};
use super::{Args, Drawn, Kind};
use crate::progress::Stoppable;
use crate::released;

/// Either of the formats with lines.
enum Lines<'g> {
    GeoJson(GeoJson<'g, AtomicFile>),
    Gpx(Gpx<'g, AtomicFile>),
}

impl<'g> Lines<'g> {
    fn start(
        kind: Kind,
        file: AtomicFile,
        ground: &'g Ground<'g>,
        attribution: Option<&str>,
    ) -> std::io::Result<Self> {
        Ok(match kind {
            Kind::Gpx => Self::Gpx(Gpx::start(file, ground, attribution)?),
            _ => Self::GeoJson(GeoJson::start(file, ground, attribution)?),
        })
    }

    fn walk(&mut self, walk: &Walk<'_>) -> std::io::Result<()> {
        match self {
            Self::GeoJson(map) => map.walk(walk),
            Self::Gpx(map) => map.walk(walk),
        }
    }

    /// Points where a walk was observed, which GPX has none of.
    fn observed(
        &mut self,
        name: &str,
        points: &[Coordinates],
        times: Option<Times>,
    ) -> std::io::Result<()> {
        match self {
            Self::GeoJson(map) => map.observed(name, points, times),
            Self::Gpx(_) => Ok(()),
        }
    }

    fn finish(self) -> std::io::Result<AtomicFile> {
        match self {
            Self::GeoJson(map) => map.finish(),
            Self::Gpx(map) => map.finish(),
        }
    }
}

fn write_error(path: &Path) -> impl Fn(std::io::Error) -> WriteError {
    let name = path.display().to_string();
    move |error| WriteError::new(&name, WriteErrorKind::Io(error))
}

impl Args {
    /// Writes walks as lines. Says whether they have times.
    pub(super) fn write_walks(
        &self,
        ground: &Ground<'_>,
        mut release: ReleaseReader<'_>,
        kind: Kind,
    ) -> Result<(Drawn, bool)> {
        let _stoppable = Stoppable::new();
        let mut clock = self.clock()?;
        let (walks, observed) = of_release(&mut release, self.walks)?;
        let others = self.others(ground.chain());
        let others = others.iter().map(|other| Ok((other.layer, other.read(&walks)?)));
        let others = others.collect::<Result<Vec<_>>>()?;
        let fail = write_error(&self.output);
        let file = AtomicFile::create(&self.output)?;
        let attribution = self.attribution(ground.chain());
        let mut map = Lines::start(kind, file, ground, attribution).map_err(&fail)?;
        let mut drawn = Drawn { walks: walks.names.len(), ..Drawn::default() };
        let mut stopping = Stopping::default();
        for (name, states) in walks.names.iter().zip(&walks.states) {
            drawn.states += states.len() as u64;
            let layers = [(Layer::Released, Some(states.as_slice()))].into_iter();
            let layers = layers.chain(others.iter().map(|(layer, walks)| (*layer, walks.of(name))));
            let seen = observed.as_ref().and_then(|seen| seen.states_of(name));
            for (layer, states) in layers.chain([(Layer::Observed, seen)]) {
                stopping.check()?;
                let Some(states) = states else { continue };
                let times = clock.of(name, states.len() as u64)?;
                map.walk(&Walk { layer, name, states, times }).map_err(&fail)?;
            }
            let points = observed.as_ref().map_or(&[][..], |seen| seen.points_of(name));
            if !points.is_empty() {
                let times = clock.of(name, states.len() as u64)?;
                map.observed(name, points, times).map_err(&fail)?;
            }
        }
        let file = map.finish().map_err(&fail)?;
        file.commit()?;
        drawn.count(&others);
        Ok((drawn, clock.is_known()))
    }

    /// Writes a row for each state.
    pub(super) fn write_positions(
        &self,
        ground: &Ground<'_>,
        mut release: ReleaseReader<'_>,
    ) -> Result<(Drawn, bool)> {
        let _stoppable = Stoppable::new();
        let mut clock = self.clock()?;
        let (chain, name) = (ground.chain(), self.output.display().to_string());
        let file = AtomicFile::create(&self.output)?;
        let mut table = Table {
            out: PositionWriter::new(file, &name, chain, self.attribution(chain))?,
            ground,
        };
        let (mut drawn, mut stopping) = (Drawn::default(), Stopping::default());
        // For each walk its times, as far as they were asked for.
        let mut walks: HashMap<String, Option<Times>> = HashMap::new();
        let outcomes = *release.outcomes();
        while let Some(row) = release.next_state().map_err(released::in_flags)? {
            stopping.check()?;
            if self.walks.is_some_and(|most| row.walk >= most as usize) {
                continue;
            }
            let (trajectory, step) = (row.trajectory, row.step);
            let times = match walks.get(trajectory) {
                Some(&times) => times,
                None => {
                    let times = clock.of(trajectory, 1)?;
                    walks.insert(trajectory.to_owned(), times);
                    times
                }
            };
            drawn.states += 1;
            table.write(Layer::Released, trajectory, step, row.state, times)?;
            if let Some(observed) = row.observed {
                table.write_observed(&outcomes, trajectory, step, observed, times)?;
            }
        }
        drawn.walks = walks.len();
        for other in self.others(chain) {
            let mut steps: HashMap<String, u64> = HashMap::new();
            other.each_state(
                |name| walks.contains_key(name),
                |name, state| {
                    if !steps.contains_key(name) {
                        steps.insert(name.to_owned(), 0);
                    }
                    let step = steps.get_mut(name).expect("just made");
                    table.write(other.layer, name, *step, state, walks[name])?;
                    *step += 1;
                    Ok(())
                },
            )?;
            drawn.count_of(other.layer, steps.len());
        }
        table.out.finish()?.commit()?;
        Ok((drawn, clock.is_known()))
    }
}

impl Drawn {
    pub(super) fn count(&mut self, others: &[(Layer, Walks)]) {
        others.iter().for_each(|(layer, walks)| self.count_of(*layer, walks.names.len()));
    }

    fn count_of(&mut self, layer: Layer, walks: usize) {
        match layer {
            Layer::Refined => self.refined += walks,
            Layer::Real => self.real += walks,
            Layer::Released | Layer::Observed => {}
        }
    }
}

/// Positions on their way to a file.
struct Table<'a, W: Write + Send> {
    out: PositionWriter<'a, W>,
    ground: &'a Ground<'a>,
}

impl<W: Write + Send> Table<'_, W> {
    fn write_observed(
        &mut self,
        outcomes: &Outcomes<'_>,
        trajectory: &str,
        step: u64,
        observed: Outcome,
        times: Option<Times>,
    ) -> Result<()> {
        if let Some(state) = observed.state() {
            return self.write(Layer::Observed, trajectory, step, state, times);
        }
        let time = times.map(|times| times.first + times.every * step as i64);
        let (layer, at) = (Layer::Observed.name(), place(outcomes, observed));
        Ok(self.out.write(Position { layer, trajectory, step, state: None, time, at })?)
    }

    fn write(
        &mut self,
        layer: Layer,
        trajectory: &str,
        step: u64,
        state: veilwalk::StateId,
        times: Option<Times>,
    ) -> Result<()> {
        let time = times.map(|times| times.first + times.every * step as i64);
        let (layer, at) = (layer.name(), self.ground.point(state));
        let state = Some(state);
        Ok(self.out.write(Position { layer, trajectory, step, state, time, at })?)
    }
}
