//! Finds the state of an event: its label, or the H3 cell of its position.
//!
//! A chain is worth something if many events share a state. A log in which every event has one of its own (a
//! coordinate, a number, a text that somebody typed) is refused, early enough to hold only so many of them.

use std::fmt;
use std::str::FromStr;

use h3o::{LatLng, Resolution};
use thiserror::Error;

use crate::error::{EventError, StatesAre};
use crate::moment::shortened;
use crate::names::Names;
use crate::preparation::EventAt;

/// What becomes of where an event was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Places {
    /// States are labels.
    #[default]
    Labels,
    /// Positions become cells of H3, a map of the earth in hexagons, of this fineness: at 9 a cell is about 350 m
    /// across, and each number more or less makes it 2.6 times smaller or larger.
    Cells(Resolution),
}

/// Text that names no cells.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} are no cells; write h3: and a number from 0 to 15, such as h3:9 for cells of about 350 m"
)]
pub struct CellsError(String);

impl FromStr for Places {
    type Err = CellsError;

    fn from_str(text: &str) -> Result<Self, CellsError> {
        let resolution = || {
            let number = text.trim().strip_prefix("h3:")?.parse::<u8>().ok()?;
            Resolution::try_from(number).ok()
        };
        let cells = resolution().map(Self::Cells);
        cells.ok_or_else(|| CellsError(shortened(text)))
    }
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Labels => f.write_str("labels"),
            Self::Cells(resolution) => write!(f, "h3:{}", u8::from(*resolution)),
        }
    }
}

impl Places {
    /// The label of the state at a position in degrees. None if it is no position, or states are no cells.
    #[must_use]
    pub fn label(self, latitude: f64, longitude: f64) -> Option<String> {
        let Self::Cells(resolution) = self else { return None };
        let on_earth = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
        let position = on_earth.then(|| LatLng::new(latitude, longitude).ok()).flatten()?;
        Some(position.to_cell(resolution).to_string())
    }

    pub(crate) fn states_are(self) -> StatesAre {
        match self {
            Self::Labels => StatesAre::Labels,
            Self::Cells(_) => StatesAre::Cells,
        }
    }
}

/// Numbers for states, in the order in which they came.
#[derive(Debug)]
pub(crate) struct PlaceNumbers {
    places: Places,
    most: usize,
    labels: Names,
    /// The numbers of cells, which have their labels in the list too.
    cells: hashbrown::HashMap<u64, u32>,
}

impl PlaceNumbers {
    pub(crate) fn new(places: Places, most: usize) -> Self {
        Self { places, most, labels: Names::default(), cells: hashbrown::HashMap::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn into_labels(self) -> Names {
        self.labels
    }

    /// The number of the state of a place.
    pub(crate) fn number(&mut self, at: EventAt<'_>) -> Result<u32, EventError> {
        let number = match (self.places, at) {
            (Places::Labels, EventAt::State(label)) => self.labels.number(label),
            (Places::Cells(resolution), EventAt::Position { latitude, longitude }) => {
                let cell = position(latitude, longitude)?.to_cell(resolution);
                match self.cells.get(&u64::from(cell)) {
                    Some(&known) => return Ok(known),
                    None => {
                        let number = self.labels.number(&cell.to_string());
                        number.inspect(|number| {
                            self.cells.insert(u64::from(cell), *number);
                        })
                    }
                }
            }
            (Places::Labels, EventAt::Position { .. }) => {
                return Err(EventError::OtherPlace { found: "a position", before: "states" });
            }
            (Places::Cells(_), EventAt::State(_)) => {
                return Err(EventError::OtherPlace { found: "a state", before: "positions" });
            }
        };
        match number {
            Some(number) if self.labels.len() <= self.most => Ok(number),
            _ => {
                Err(EventError::TooManyStates { most: self.most, cells: self.places.states_are() })
            }
        }
    }
}

/// A position on the earth, in degrees.
fn position(latitude: &str, longitude: &str) -> Result<LatLng, EventError> {
    let degrees = |axis, text: &str| {
        let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| EventError::NotDegrees { axis, found: shortened(text) })
    };
    let (north, east) = (degrees("latitude", latitude)?, degrees("longitude", longitude)?);
    let off = |axis, text: &str, most| {
        Err(EventError::OffTheEarth { axis, found: shortened(text), most })
    };
    match (north.abs() <= 90.0, east.abs() <= 180.0) {
        (true, true) => LatLng::new(north, east)
            .map_err(|_| EventError::NotDegrees { axis: "latitude", found: shortened(latitude) }),
        (false, _) if north.abs() <= 180.0 && east.abs() <= 90.0 => Err(EventError::Swapped {
            latitude: shortened(latitude),
            longitude: shortened(longitude),
        }),
        (false, _) => off("latitude", latitude, 90),
        (true, false) => off("longitude", longitude, 180),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'a>(latitude: &'a str, longitude: &'a str) -> EventAt<'a> {
        EventAt::Position { latitude, longitude }
    }

    #[test]
    fn positions_become_the_cells_of_h3() {
        let mut places = PlaceNumbers::new("h3:9".parse().unwrap(), 10);
        // From the documentation of H3: the Ferry Building in San Francisco.
        assert_eq!(places.number(at("37.775938728915946", "-122.41795063018799")), Ok(0));
        assert_eq!(places.number(at("48.8584", "2.2945")), Ok(1));
        assert_eq!(places.number(at(" 48.85841 ", "2.29451")), Ok(1), "a few metres away");
        assert_eq!(places.into_labels().to_vec()[0], "8928308280fffff");
        for text in ["", "9", "h3:16", "h3:-1", "s2:9"] {
            assert!(text.parse::<Places>().unwrap_err().to_string().contains("h3:9"), "{text}");
        }
    }

    #[test]
    fn a_single_position_has_the_label_that_a_file_of_them_gets() {
        let cells: Places = "h3:9".parse().unwrap();
        assert_eq!(
            cells.label(37.775938728915946, -122.41795063018799).unwrap(),
            "8928308280fffff"
        );
        for (latitude, longitude) in
            [(91.0, 0.0), (0.0, 180.5), (f64::NAN, 0.0), (0.0, f64::INFINITY)]
        {
            assert_eq!(cells.label(latitude, longitude), None);
        }
        assert_eq!(Places::Labels.label(0.0, 0.0), None);
    }

    #[test]
    fn positions_that_are_refused() {
        let mut places = PlaceNumbers::new("h3:9".parse().unwrap(), 10);
        for (latitude, longitude, words) in [
            ("121.47", "31.23", "seem to be swapped"),
            ("-91", "180", "between -90 and 90"),
            ("191", "0", "between -90 and 90"),
            ("0", "180.5", "between -180 and 180"),
            ("north", "0", "the latitude \"north\" is not a number"),
            ("0", "nan", "the longitude \"nan\" is not a number"),
        ] {
            let error = places.number(at(latitude, longitude)).unwrap_err().to_string();
            assert!(error.contains(words), "{latitude} {longitude}: {error}");
        }
        assert!(places.number(EventAt::State("home")).is_err());
    }

    #[test]
    fn so_many_states_and_no_more() {
        let mut places = PlaceNumbers::new(Places::Labels, 2);
        assert_eq!(places.number(EventAt::State("a")), Ok(0));
        assert_eq!(places.number(EventAt::State("b")), Ok(1));
        assert_eq!(places.number(EventAt::State("a")), Ok(0));
        let error = places.number(EventAt::State("c")).unwrap_err().to_string();
        assert!(error.contains("more than 2 different states"), "{error}");
    }
}
