//! A chain as a table of transitions, one on each line.
//!
//! States are numbered in the order of the column `from`, and only then of `to`. Every state of a
//! chain has a way out, so a written chain, whose lines are in the order of its states, comes back
//! with its states in the same order.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Read;

use veilwalk::chain::{ChainBuilder, Entries};

use crate::number::Quantity;
use crate::read_error::{ReadError, ReadErrorKind};
use crate::table::Table;

/// Where the columns of the table are, and what the third of them holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Columns {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) entry: usize,
    pub(super) quantity: Quantity,
}

pub(super) fn read<R: Read>(
    table: &mut Table<R>,
    columns: Columns,
) -> Result<ChainBuilder, ReadError> {
    let mut labels = Labels::default();
    let mut lines: HashMap<(usize, usize), u64> = HashMap::new();
    let mut moves = Vec::new();
    while let Some(record) = table.next_record()? {
        let line = record.line;
        let (from, to) = (record.get(columns.from), record.get(columns.to));
        let checked = checked(from, to, record.get(columns.entry), columns.quantity);
        let places = (labels.place(from), labels.place(to));
        let checked = checked.and_then(|entry| match lines.entry(places) {
            Entry::Vacant(free) => {
                free.insert(line);
                Ok(entry)
            }
            Entry::Occupied(before) => Err(ReadErrorKind::DuplicateTransition {
                from: from.to_owned(),
                to: to.to_owned(),
                first_line: *before.get(),
            }),
        });
        match checked {
            Ok(entry) => moves.push((places, entry, line)),
            Err(kind) => return Err(table.lines().error_at(line, kind)),
        }
    }
    let mut builder = ChainBuilder::new(match columns.quantity {
        Quantity::Probability => Entries::Probabilities,
        Quantity::Count => Entries::Counts,
    });
    for &((from, _), ..) in &moves {
        builder.state(&labels.names[from]);
    }
    for ((from, to), entry, line) in moves {
        let (from, to) = (builder.state(&labels.names[from]), builder.state(&labels.names[to]));
        builder
            .transition(from, to, entry)
            .map_err(|error| table.lines().error_at(line, ReadErrorKind::Chain(error)))?;
    }
    Ok(builder)
}

fn checked(from: &str, to: &str, entry: &str, quantity: Quantity) -> Result<f64, ReadErrorKind> {
    for (label, column) in [(from, "from"), (to, "to")] {
        if label.is_empty() {
            return Err(ReadErrorKind::EmptyField { column: column.to_owned() });
        }
    }
    quantity.parse(entry)
}

/// Labels, numbered as they come.
#[derive(Default)]
struct Labels {
    names: Vec<Box<str>>,
    places: HashMap<Box<str>, usize>,
}

impl Labels {
    fn place(&mut self, label: &str) -> usize {
        if let Some(&known) = self.places.get(label) {
            return known;
        }
        let place = self.names.len();
        self.names.push(label.into());
        self.places.insert(label.into(), place);
        place
    }
}
