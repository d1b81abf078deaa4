//! Writes made-up trips on a map for other programs: `trips MAP FOLDER COUNT`.
//!
//! The folder gets `positions.csv` (person, time, latitude, longitude), `truth.csv` (the streets of each trip) and `streets.csv` (the line
//! of each street). See bench/roads.

#[path = "../tests/common/mod.rs"]
mod common;

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use veilwalk_roads::{ChainOptions, Mode, RoadMap};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [map, folder, count] = &args[..] else { return Err("trips MAP FOLDER COUNT".into()) };
    let (chain, _) = RoadMap::read(Path::new(map), Mode::Car)?.chain(&ChainOptions::default())?;
    let (mut positions, mut truth, mut streets) = (
        "person,time,latitude,longitude\n".to_owned(),
        "person,state\n".to_owned(),
        "state,latitude,longitude\n".to_owned(),
    );
    for (number, trip) in common::trips(&chain, count.parse()?, 10.0, 1).iter().enumerate() {
        for position in &trip.positions {
            let (latitude, longitude) = position.place.degrees();
            let seconds = position.moment as f64 / 1e6;
            writeln!(positions, "{number},{seconds:.3},{latitude:.7},{longitude:.7}")?;
        }
        for &state in &trip.streets {
            writeln!(truth, "{number},{}", chain.label(state))?;
        }
    }
    for state in chain.states() {
        for point in common::line(&chain, state) {
            let (latitude, longitude) = point.degrees();
            writeln!(streets, "{},{latitude:.7},{longitude:.7}", chain.label(state))?;
        }
    }
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    for (name, text) in [("positions", positions), ("truth", truth), ("streets", streets)] {
        std::fs::write(folder.join(name).with_extension("csv"), text)?;
    }
    Ok(())
}
