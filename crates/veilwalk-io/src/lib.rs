//! The files of veilwalk: chains, initial distributions, walks and releases.
//!
//! The library crate `veilwalk` never touches a file. This crate turns text into its types and
//! back, and says of every refusal where it is and how to mend it:
//!
//! ```text
//! trips.csv, line 7: the probability "abc" is not a number; write a decimal such as 0.25
//! ```
//!
//! - [`read_chain`] and [`write_chain`]: a chain as a square matrix, or as a table of transitions;
//! - [`read_places`]: where the states of a chain lie; [`read_distances`]: a metric of one's own;
//! - [`read_initial`]: where walks start, or end; [`read_lengths`]: how long they are;
//! - [`WalkReader`]: walks, one row at a time, from CSV, TSV or NDJSON, also from a pipe;
//! - [`EventReader`]: events of persons, one at a time, also from logs of cases in XES;
//! - [`ReleaseWriter`]: released walks, as CSV, TSV or NDJSON;
//! - [`WalkRelease`]: releases whole files on all cores;
//! - [`read_released`]: a release and its manifest, for inference;
//! - [`ReleaseReader`]: a release state by state, for whoever shows it;
//! - [`PositionWriter`]: positions of walks as GeoParquet;
//! - [`TableWriter`]: tables about walks, in every format of walks;
//! - [`AtomicFile`]: a file that appears under its name only once it is complete, and
//!   [`HeldOutput`], the same for output without a name;
//! - [`Manifest`]: what a release is, in a file beside it;
//! - [`read_model`] and [`write_model`]: a chain with everything that was computed of it, used in
//!   place;
//! - [`MechanismFile`]: a mechanism that was chosen, with its promise.
//!
//! Nothing is repaired in silence: text that is not exactly what it should be is an error.
//!
//! The module `release` draws the way of a row through a release. Tables of Arrow and Parquet are read
//! and written with the features `arrow` and `parquet`, which are on by default; without them the crate
//! reads and writes text only.
//!
//! # Example
//!
//! ```
//! use veilwalk_io::{WalkOptions, WalkReader, read_chain_from};
//!
//! let table = "from,to,count\nsun,sun,8\nsun,rain,2\nrain,sun,5\n";
//! let (chain, _) = read_chain_from(table.as_bytes(), "weather.csv", Default::default())?;
//! assert_eq!(chain.probabilities(chain.state("sun").unwrap()), [0.8, 0.2]);
//!
//! let text = "trajectory,state\nmay,sun\nmay,rain\n";
//! let mut walks = WalkReader::new(text.as_bytes(), "walks.csv", WalkOptions::default())?;
//! while let Some(row) = walks.next_row()? {
//!     assert!(chain.state(row.state).is_some(), "line {}", row.line);
//! }
//! # Ok::<(), veilwalk_io::ReadError>(())
//! ```

mod chain_file;
mod choice_texts;
#[cfg(feature = "arrow")]
mod columns;
mod compression;
mod counted;
mod distances_file;
mod early_sync;
mod events;
mod in_measure;
mod initial_file;
mod lengths_file;
mod lines;
mod manifest;
mod mechanism_file;
mod model_file;
mod number;
mod output;
mod own_columns;
#[cfg(feature = "parquet")]
mod position_writer;
mod prepared;
mod read_error;
mod release;
mod release_writer;
mod row_text;
mod rows_out;
mod shares_table;
mod table;
mod table_writer;
mod unknown_states;
mod verify;
mod walk_writer;
mod walks;
mod write_error;

pub use chain_file::{
    ChainText, InitialText, read_chain, read_chain_from, read_graph, read_places, read_state_list,
    write_chain, write_chain_with, write_places,
};
#[cfg(feature = "arrow")]
pub use columns::{
    IntegerStates, LEFT_OUT, NotAState, NotAStateValue, StateColumn, StateTypeError, WalkLists,
    as_texts, is_text, keys_of, plain_texts, read_states,
};
pub use compression::Compression;
pub use distances_file::read_distances;
pub use events::{EventColumns, EventOptions, EventPlace, EventReader, EventRow};
pub use in_measure::in_measure;
pub use initial_file::{read_initial, read_initial_from, write_distribution, write_initial};
pub use lengths_file::{read_lengths, read_lengths_from, write_lengths};
pub use manifest::{
    BlockPart, ChainPart, Counts, CoveragePart, FinishedRelease, GuaranteePart, Hashing, Manifest,
    MechanismPart, MetricPart, PersonsPart, PromisePart, ReleasePart, hash_file,
};
pub use mechanism_file::{MechanismFile, MechanismFileError, ScaleMismatch, ScalePart};
pub use model_file::{
    ModelProblem, chain_from_bytes, chain_to_bytes, is_model, read_model, write_model,
};
pub use number::{NumberProblem, Quantity};
pub use output::{AtomicFile, HeldOutput, remove_unfinished_files};
pub use own_columns::OwnColumns;
#[cfg(feature = "parquet")]
pub use position_writer::{Position, PositionWriter};
pub use prepared::{ClockPart, Prepared};
pub use read_error::{HeaderHint, Place, ReadError, ReadErrorKind};
pub use release::{
    Charge, Grouping, NewWalk, OnError, ReleaseError, ReleaseOutput, ReleaseProgress, ReleaseStage,
    ReleaseWatch, Tally, UnknownStates, WalkInput, WalkRelease, release_lines, release_rows,
};
pub use release_writer::{Errors, ReleaseWriter};
pub use table_writer::{ColumnKind, ColumnValues, TableWriter};
pub use verify::{
    ReleaseReader, Released, ReleasedState, VerifyError, check_release, count_release,
    read_released, shortened, verify_release,
};
pub use walk_writer::{Labels, WalkWriter};
pub use walks::{ColumnRole, Kept, Row, WalkFormat, WalkOptions, WalkReader};
pub use write_error::{WriteError, WriteErrorKind};
