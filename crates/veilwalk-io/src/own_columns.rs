//! The columns that every release has. Kept columns come after them.

/// Their names, in order.
pub(crate) const OWN_COLUMNS: [&str; 3] = ["trajectory", "step", "state"];
