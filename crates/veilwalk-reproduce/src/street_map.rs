//! A road network from a map: what the paper's city would be, had its data been published.

use std::path::Path;

use anyhow::Result;
use veilwalk::Chain;
use veilwalk_roads::{ChainOptions, Mode, RoadMap, Turns};

use crate::ground::{Ground, Place};

/// The chain of the streets of a map by car, larger roads more likely, and the map to draw.
pub(crate) fn read(path: &Path) -> Result<(Chain, Ground)> {
    let options = ChainOptions { turns: Turns::ByClass, ..ChainOptions::default() };
    let (chain, _) = RoadMap::read(path, Mode::Car)?.chain(&options)?;
    let lines = chain.places().and_then(|places| places.lines.clone()).unwrap_or_default();
    let norths = lines.iter().flatten().map(|point| point.degrees().0);
    let north = norths.sum::<f64>() / lines.iter().map(Vec::len).sum::<usize>().max(1) as f64;
    // On a map a degree of longitude is shorter than one of latitude.
    let squeeze = north.to_radians().cos();
    let stretch = |line: &Vec<veilwalk::chain::Coordinates>| {
        let at = |point: &veilwalk::chain::Coordinates| {
            let (north, east) = point.degrees();
            (east * squeeze, north)
        };
        Some(Place::Stretch(at(line.first()?), at(line.last()?)))
    };
    let caption =
        "Streets between junctions, drawn as straight lines. © OpenStreetMap contributors, ODbL.";
    let ground = Ground::of_stretches(lines.iter().map(stretch).collect(), caption);
    Ok((chain, ground))
}
