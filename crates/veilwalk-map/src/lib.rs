//! Walks on maps: in forms that tools for maps take, and as a page that needs nothing else.
//!
//! A walk is a list of states. Where these lie is public and part of the chain ([`veilwalk::chain::Places`]), so
//! whoever has a release and its chain can draw it. This crate does that, for walks of any kind: released ones, what
//! was observed, refined ones, and for their owner real ones. It knows neither files nor the terminal.
//!
//! From the ground up: `ground` (where states lie, and the way between two), `walk` (a walk, what kind it is, and
//! when it was), `number` (degrees and times as text), `geojson`, `gpx`, `page`.
//!
//! ```
//! use veilwalk::chain::{Chain, Grid, Length};
//! use veilwalk_map::{GeoJson, Ground, Layer, Walk};
//!
//! let grid = Grid { width: 5.try_into()?, height: 4.try_into()?, seed: 1 };
//! let chain = Chain::grid_with_streets(grid, "100".parse::<Length>()?)?;
//! let ground = Ground::of(&chain)?;
//! let states = ["r0c0", "r1c0", "r1c0"].map(|label| chain.state(label).unwrap());
//! let mut map = GeoJson::start(Vec::new(), &ground, None)?;
//! map.walk(&Walk { layer: Layer::Released, name: "ann", states: &states, times: None })?;
//! let text = String::from_utf8(map.finish()?)?;
//! assert!(text.contains("\"LineString\"") && text.contains("\"ann\""));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod geojson;
mod gpx;
mod ground;
mod number;
mod page;
mod walk;

pub use geojson::GeoJson;
pub use gpx::Gpx;
pub use ground::{Ground, GroundError, Way};
pub use page::{DrawnWalk, MapPage, PageError, Path, Visit};
pub use walk::{Layer, Times, Walk};

/// What has to stand beside maps that were made of OpenStreetMap.
pub const OPENSTREETMAP: &str = "© OpenStreetMap contributors";
