//! Is a release worth anything?
//!
//! Released walks are compared with the real ones by the figures that papers on private trajectories report:
//! where people are, how they move, where they start and end, which patterns are frequent, how long walks are,
//! and how wrong counts are that somebody would ask for. What a figure is worth shows only beside the figure of
//! *the chain alone*: walks that the public chain makes up, without a look at anybody. A release that is no
//! better has told nothing that was not public.
//!
//! - [`Walks`]: walks as numbers of states;
//! - [`Yardstick`]: what is measured, made of the public chain and the real walks;
//! - [`Statistics`]: what is known of some walks, or estimated;
//! - [`PlainCounts`]: counts with noise, at the price of the release, to compare with;
//! - [`Measure`]: a figure, with its formula in [`metrics`];
//! - [`score`](score()): all figures of some candidates and of the chain alone, with their chance.
//!
//! Everything here reads real walks, and nothing of it is protected.

mod answer;
mod estimate;
pub mod metrics;
mod plain_counts;
mod queries;
mod score;
mod shares;
mod statistics;
mod walks;

pub use answer::{as_json, verdict};
pub use estimate::{EstimatedVisit, NotAnEstimate, read_estimate, read_visits};
pub use plain_counts::PlainCounts;
pub use queries::Queries;
pub use score::{Against, Candidate, Figure, Score, ScoreOptions, Scored, score};
pub use shares::Shares;
pub use statistics::{Measure, Statistics, Yardstick};
pub use walks::Walks;
