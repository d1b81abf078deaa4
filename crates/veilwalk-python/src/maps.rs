//! Walks as maps: a page, GeoJSON or GPX, as text.

use std::collections::HashMap;

use pyo3::prelude::*;
use veilwalk::chain::Coordinates;
use veilwalk::mechanism::Candidates;
use veilwalk::mechanism::plane::Outcomes;
use veilwalk::{Outcome, StateId};
use veilwalk_map::{DrawnWalk, GeoJson, Gpx, Ground, Layer, MapPage, Path, Times, Visit, Walk};
use veilwalk_prepare::{Timetable, Zone};

use crate::chain::Chain;
use crate::error::{parameter_error, walk_error};
use crate::labels::Naming;

/// Walks of one kind with their names.
type Named = Vec<(String, Marks)>;

/// Where a walk is drawn.
enum Marks {
    States(Vec<StateId>),
    /// Places that were observed.
    Points(Vec<Coordinates>),
}

impl Marks {
    fn len(&self) -> usize {
        match self {
            Self::States(states) => states.len(),
            Self::Points(points) => points.len(),
        }
    }
}

/// The same as Python has them.
type Given<'py> = Vec<(String, Vec<Bound<'py, PyAny>>)>;

/// Draws walks of some kinds, each with its name and states. `times` are how far apart states are, when all walks begin,
/// and the zone.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn draw_map(
    chain: PyRef<'_, Chain>,
    kind: &str,
    layers: Vec<(String, Given<'_>)>,
    visits: Vec<(Bound<'_, PyAny>, f64)>,
    times: Option<(String, String, Option<String>)>,
    title: &str,
    attribution: Option<String>,
) -> PyResult<String> {
    let ground = Ground::of(chain.labels().chain()).map_err(|error| {
        parameter_error(format!(
            "chain: {error} (Chain.read(..., places=FILE), or a compiled model)"
        ))
    })?;
    let layers = layers.into_iter().map(|(layer, walks)| {
        let known = Layer::ALL.into_iter().find(|known| known.name() == layer);
        let known =
            known.ok_or_else(|| parameter_error(format!("{layer:?} is no kind of walks")))?;
        Ok((known, read(&chain, &layer, walks)?))
    });
    let layers = layers.collect::<PyResult<Vec<_>>>()?;
    let mut clock = Clock::new(times)?;
    let attribution = attribution.as_deref();
    match kind {
        "page" => {
            let visits = visits.into_iter().map(|(state, share)| {
                Ok(Visit { state: chain.state("visits", &state)?, share, interval: None })
            });
            let visits = visits.collect::<PyResult<Vec<_>>>()?;
            let mut page = MapPage::new(&ground, title);
            if let Some(attribution) = attribution {
                page.attribute(attribution);
            }
            if let Some(zone) = &clock.zone {
                page.show_times_in(zone);
            }
            page.visits(visits);
            for walk in together(layers, &mut clock)? {
                page.push(walk);
            }
            page.to_html().map_err(walk_error)
        }
        "geojson" => {
            let mut map = GeoJson::start(Vec::new(), &ground, attribution)?;
            each(&layers, &mut clock, |layer, name, marks, times| match marks {
                Marks::States(states) => map.walk(&Walk { layer, name, states, times }),
                Marks::Points(points) => map.observed(name, points, times),
            })?;
            text(map.finish()?)
        }
        "gpx" => {
            let mut map = Gpx::start(Vec::new(), &ground, attribution)?;
            each(&layers, &mut clock, |layer, name, marks, times| match marks {
                Marks::States(states) => map.walk(&Walk { layer, name, states, times }),
                // GPX has tracks, and no noise.
                Marks::Points(_) => Ok(()),
            })?;
            text(map.finish()?)
        }
        other => Err(parameter_error(format!("{other:?} is not one of page, geojson and gpx"))),
    }
}

fn read(chain: &Chain, layer: &str, walks: Given<'_>) -> PyResult<Named> {
    let observed = layer == Layer::Observed.name();
    let outcomes = observed.then(|| Outcomes::of(chain.labels().chain(), Candidates::Plane));
    let outcomes = outcomes.and_then(Result::ok);
    let walks = walks.into_iter().map(|(name, values)| {
        if let Some(points) = outcomes.and_then(|outcomes| points(&outcomes, &values)) {
            return Ok((name, Marks::Points(points)));
        }
        let states = values.iter().enumerate().map(|(step, value)| {
            let found = chain.labels().state(value, Naming::Integer);
            let wrong = |why| walk_error(format!("{layer}: walk {name:?}, step {step}: {why}"));
            found.map(|(state, _)| state).map_err(wrong)
        });
        Ok((name.clone(), Marks::States(states.collect::<PyResult<Vec<_>>>()?)))
    });
    walks.collect()
}

/// Where `plane` has observed a walk; none if these are states. A first one that was not observed is where it lies.
fn points(outcomes: &Outcomes<'_>, values: &[Bound<'_, PyAny>]) -> Option<Vec<Coordinates>> {
    let read = |value: &Bound<'_, PyAny>| {
        outcomes.read(&value.extract::<std::borrow::Cow<'_, str>>().ok()?)
    };
    let found: Vec<Outcome> = values.iter().map(read).collect::<Option<_>>()?;
    if !found.iter().any(|outcome| outcome.point().is_some()) {
        return None;
    }
    let place = |&outcome: &Outcome| {
        let (north, east) = outcomes.degrees(outcome)?;
        Coordinates::from_degrees(north, east).ok()
    };
    found.iter().map(place).collect()
}

/// When walks are.
struct Clock {
    table: Option<Timetable>,
    zone: Option<String>,
}

impl Clock {
    fn new(times: Option<(String, String, Option<String>)>) -> PyResult<Self> {
        let Some((every, start, zone)) = times else { return Ok(Self { table: None, zone: None }) };
        let every = every.parse().map_err(|error| parameter_error(format!("every: {error}")))?;
        let zone = zone.map(|zone| zone.parse::<Zone>()).transpose();
        let zone = zone.map_err(|error| parameter_error(format!("timezone: {error}")))?;
        let table = Timetable::from_moment(&start, every, zone.as_ref());
        let table = table.map_err(|error| parameter_error(format!("start: {error}")))?;
        Ok(Self { table: Some(table), zone: zone.as_ref().map(Zone::to_string) })
    }

    fn of(&mut self, walk: &str, states: usize) -> PyResult<Option<Times>> {
        let Some(table) = &mut self.table else { return Ok(None) };
        let first = table.first(walk, states as u64);
        let first = first.map_err(|error| parameter_error(format!("start: {error}")))?;
        Ok(Some(Times { first, every: table.every().seconds() as i64 * 1_000_000 }))
    }
}

fn each(
    layers: &[(Layer, Named)],
    clock: &mut Clock,
    mut draw: impl FnMut(Layer, &str, &Marks, Option<Times>) -> std::io::Result<()>,
) -> PyResult<()> {
    for &(layer, ref walks) in layers {
        for (name, marks) in walks {
            let times = clock.of(name, marks.len())?;
            draw(layer, name, marks, times)?;
        }
    }
    Ok(())
}

/// Walks of one name in all their kinds, in the order in which names come first.
fn together(layers: Vec<(Layer, Named)>, clock: &mut Clock) -> PyResult<Vec<DrawnWalk>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut walks: Vec<DrawnWalk> = Vec::new();
    for (layer, named) in layers {
        for (name, marks) in named {
            let times = clock.of(&name, marks.len())?;
            let place = *places.entry(name.clone()).or_insert(walks.len());
            if place == walks.len() {
                walks.push(DrawnWalk { name, times, paths: Vec::new(), observed: Vec::new() });
            }
            match marks {
                Marks::States(states) => walks[place].paths.push(Path { layer, states }),
                Marks::Points(points) => walks[place].observed = points,
            }
        }
    }
    Ok(walks)
}

fn text(bytes: Vec<u8>) -> PyResult<String> {
    String::from_utf8(bytes).map_err(walk_error)
}
