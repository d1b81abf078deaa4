//! How far one state is from another.
//!
//! The distance `d(i, j)` is the smallest total weight of a path from `i` to `j`: the information,
//! in nats, of the likeliest way to get there. `d(i, i) = 0`, whatever self-loops there are. It is
//! a quasi-metric on integers: the triangle inequality holds exactly, symmetry does not hold at all.
//!
//! That is the metric of a chain that nothing else is known of. Where a chain knows lengths or coordinates, or
//! somebody gives distances, there are others ([`Ground`]).
//!
//! Mechanisms ask through the trait [`Metric`], which gets a whole step's question at once (all
//! candidates, one real state), so that an answer may come from a table or from a search.

mod cells;
mod computed;
mod dense;
mod edges;
mod full_search;
mod ground;
mod line;
mod metric;
mod on_demand;
mod own;
mod resumable_search;
mod table;

pub use cells::{Cells, CellsTooLarge, Nearest};
pub use edges::Edges;
pub(crate) use ground::line;
pub use ground::{Ground, GroundError};
pub(crate) use line::{Earth, Line, widest_axis};
pub use metric::{Directed, Hamming, Metric, Symmetric};
pub use on_demand::{CacheSize, OnDemand, SearchedDirected, SearchedSymmetric};
pub use own::{NotAMetric, OwnDistances};
pub use table::DistanceTable;
