//! How far one state is from another.
//!
//! The distance `d(i, j)` is the smallest total weight of a path from `i` to `j`: the information,
//! in nats, of the likeliest way to get there. `d(i, i) = 0`, whatever self-loops there are. It is
//! a quasi-metric on integers: the triangle inequality holds exactly, symmetry does not hold at all.
//!
//! Mechanisms ask through the trait [`Metric`], which gets a whole step's question at once (all
//! candidates, one real state), so that an answer may come from a table or from a search.

mod cells;
mod dense;
mod edges;
mod full_search;
mod metric;
mod on_demand;
mod resumable_search;
mod table;

pub use cells::{Cells, CellsTooLarge, Nearest};
pub use edges::Edges;
pub use metric::{Directed, Hamming, Metric, Symmetric};
pub use on_demand::{CacheSize, OnDemand, SearchedDirected, SearchedSymmetric};
pub use table::DistanceTable;
