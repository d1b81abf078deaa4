//! The models that this run has opened. Their tables may lie in a mapped file that somebody overwrites,
//! so no result is printed or written before they were checked once more.

use std::sync::{Arc, Mutex, PoisonError};

use veilwalk::Model;
use veilwalk::error::ModelChanged;

static OPEN: Mutex<Vec<Arc<Model>>> = Mutex::new(Vec::new());

/// Lists a model that results will depend on.
pub(crate) fn list(model: &Arc<Model>) {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).push(model.clone());
}

/// Whether what was computed so far comes from the models as they were opened.
pub(crate) fn check() -> Result<(), ModelChanged> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.iter().try_for_each(|model| model.check_unchanged())
}
