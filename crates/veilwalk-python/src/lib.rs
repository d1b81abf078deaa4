//! The native part of the Python package: `veilwalk._native`.
//!
//! Python code under `python/veilwalk` is what users see; this module does the work. It converts
//! between Python's values and the library's types, releases the interpreter's lock while anything
//! long runs, and notices Ctrl-C meanwhile.

// What the macros of pyo3 make public is documented in Python.
#![allow(missing_docs)]

mod analysis;
mod chain;
mod choice;
mod column;
mod error;
mod files;
mod fitting;
mod groups;
mod inference;
mod interrupt;
mod labels;
mod lists;
mod maps;
mod mechanism;
mod people;
mod prepare;
mod release;
mod remedy;
mod roads;
mod sampling;
mod score;
mod session;
mod table;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::analysis::{analyze, attack, compare, tune};
    #[pymodule_export]
    use super::chain::Chain;
    #[pymodule_export]
    use super::error::{
        ChainError, EmptyGuaranteeError, LedgerError, ParameterError, ReleaseFileError,
        SessionError, VeilwalkError, WalkError,
    };
    #[pymodule_export]
    use super::files::{
        charge_ledger, compile_chain, compile_mechanism, read_ledger, read_mechanism,
        save_mechanism, set_ledger_budget, verify, write_manifest,
    };
    #[pymodule_export]
    use super::fitting::{fit_chain, fit_chain_privately};
    #[pymodule_export]
    use super::inference::{
        estimate, estimate_by, expected_counts, expected_trips, intervals_of, refine,
    };
    #[pymodule_export]
    use super::lists::{release_lists, release_numbers};
    #[pymodule_export]
    use super::maps::draw_map;
    #[pymodule_export]
    use super::mechanism::Mechanism;
    #[pymodule_export]
    use super::people::{person_total, visit_substitutions};
    #[pymodule_export]
    use super::prepare::prepare;
    #[pymodule_export]
    use super::release::{Manner, Source, new_release_id};
    #[pymodule_export]
    use super::roads::osm_chain;
    #[pymodule_export]
    use super::sampling::{sample_trips, sample_walks};
    #[pymodule_export]
    use super::score::score;
    #[pymodule_export]
    use super::session::{Session, saved_release_id};
    #[pymodule_export]
    use super::table::{known_rows, release_list_column, release_long, time_library};
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        veilwalk::error::word_remedies(super::remedy::as_keyword);
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
