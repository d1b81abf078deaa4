//! The library's errors as Python exceptions, with the same messages.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(veilwalk, VeilwalkError, PyValueError, "Anything that veilwalk refuses.");
create_exception!(veilwalk, ChainError, VeilwalkError, "Something that is not a chain.");
create_exception!(
    veilwalk,
    ParameterError,
    VeilwalkError,
    "A parameter or choice that cannot be, or cannot be kept on this chain."
);
create_exception!(
    veilwalk,
    EmptyGuaranteeError,
    ParameterError,
    "A release that would protect nothing: no two different walks are within the radius."
);
create_exception!(
    veilwalk,
    WalkError,
    VeilwalkError,
    "Walks that cannot be read: an unknown state, a missing value, a wrong type. Says where."
);
create_exception!(
    veilwalk,
    LedgerError,
    VeilwalkError,
    "A ledger that cannot be used, or a person who has not enough of the budget left."
);
create_exception!(
    veilwalk,
    ReleaseFileError,
    VeilwalkError,
    "A release in a file that is not what its manifest says, or no release under the chain."
);
create_exception!(
    veilwalk,
    SessionError,
    VeilwalkError,
    "A session that is closed, not started, or saved under something else."
);

pub(crate) fn chain_error(error: impl Display) -> PyErr {
    ChainError::new_err(error.to_string())
}

pub(crate) fn parameter_error(error: impl Display) -> PyErr {
    ParameterError::new_err(error.to_string())
}

pub(crate) fn walk_error(error: impl Display) -> PyErr {
    WalkError::new_err(error.to_string())
}

pub(crate) fn session_error(error: impl Display) -> PyErr {
    SessionError::new_err(error.to_string())
}

pub(crate) fn ledger_error(error: impl Display) -> PyErr {
    LedgerError::new_err(error.to_string())
}

pub(crate) fn release_error(error: impl Display) -> PyErr {
    ReleaseFileError::new_err(error.to_string())
}
