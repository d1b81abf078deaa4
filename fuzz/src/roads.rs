//! Maps of OpenStreetMap, in XML and PBF.

use veilwalk_roads::{ChainOptions, Mode, RoadMap, StatesAre};

use crate::{Outcome, scratch, taken};

/// A map, whose first bytes say which format it has, and the chains of it.
pub(crate) fn map(data: &[u8]) -> Outcome {
    let path = scratch::file("map", data);
    let maps = [Mode::Car, Mode::Foot].map(|mode| taken(RoadMap::read(&path, mode)));
    for map in maps.iter().flatten() {
        for states in [StatesAre::Segments, StatesAre::Crossings] {
            let options = ChainOptions { states, ..ChainOptions::default() };
            let Some((chain, report)) = taken(map.chain(&options)) else { continue };
            let places = chain.places().expect("a map says where its states are");
            assert!(places.lengths.is_some() && places.coordinates.is_some());
            assert!(report.metres.is_finite() && report.metres >= 0.0, "{}", report.metres);
        }
    }
    maps.into_iter().flatten().next().map(|_| ()).into()
}
