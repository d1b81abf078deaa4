//! Street networks of OpenStreetMap as chains, and positions as walks on them.
//!
//! A walk through a town is a walk on a Markov chain: its states are streets, each in one direction, and its moves lead over
//! the junctions, as the signs allow. [`RoadMap`] reads a map, and [`RoadMap::chain`] makes the chain of it, with what people
//! need beside it: how long moves are, where states lie, what they are called and how they are drawn.
//!
//! ```no_run
//! use std::path::Path;
//! use veilwalk_roads::{ChainOptions, Mode, RoadMap};
//!
//! let map = RoadMap::read(Path::new("andorra.osm.pbf"), Mode::Car)?;
//! let (chain, report) = map.chain(&ChainOptions::default())?;
//! println!("{} states, {} km of streets", chain.len(), report.metres / 1000.0);
//! # Ok::<(), veilwalk_roads::MapError>(())
//! ```
//!
//! From the ground up: `osm` (files, tags), `geometry`, `network` (streets, junctions, turns), `graph` (states and moves, on a
//! clock or not), `chain` (probabilities, and the part that can be walked forever), `streets` (those of a chain, by place), `matching`
//! (positions to streets).
//!
//! Maps are © OpenStreetMap contributors, under the Open Database Licence: what is made of them has to say so.

mod chain;
mod error;
mod geometry;
mod graph;
mod matching;
mod network;
mod osm;
mod streets;

pub use chain::{Away, ChainOptions, RoadMap, RoadReport, StatesAre, Tick, Turns};
pub use error::{CountsProblem, MapError, MapProblem};
pub use matching::{Found, MatchCounts, MatchSettings, Matcher, Position};
pub use osm::{Mode, ModeError};
pub use streets::{Nearby, Streets, StreetsError};
