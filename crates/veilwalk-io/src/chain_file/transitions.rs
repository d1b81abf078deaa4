//! A chain as a table of transitions, one on each line.
//!
//! States are numbered in the order of the column `from`, and only then of `to`. Every state of a
//! chain has a way out, so a written chain, whose lines are in the order of its states, comes back
//! with its states in the same order.

use std::collections::HashMap;
use std::io::Read;

use veilwalk::chain::{ChainBuilder, Entries, Length};

use crate::number::Quantity;
use crate::read_error::{ReadError, ReadErrorKind};
use crate::table::Table;

/// Where the columns of the table are, and what the third of them holds, if there is one. The length of a move, if it
/// is told, is in a fourth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Columns {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) entry: Option<(usize, Quantity)>,
    pub(super) length: Option<usize>,
}

/// A line of the table: the places of its labels, and its entry.
struct Move {
    from: u32,
    to: u32,
    entry: f64,
    length: Option<Length>,
    line: u64,
}

pub(super) fn read<R: Read>(
    table: &mut Table<R>,
    columns: Columns,
) -> Result<ChainBuilder, ReadError> {
    let mut labels = Labels::default();
    let mut moves = Vec::new();
    while let Some(record) = table.next_record()? {
        let line = record.line;
        let (from, to) = (record.get(columns.from), record.get(columns.to));
        let entry = columns.entry.map(|(column, quantity)| (record.get(column), quantity));
        let length = columns.length.map(|column| record.get(column));
        match checked(from, to, entry, length) {
            Ok((entry, length)) => {
                let (from, to) = (labels.place(from), labels.place(to));
                moves.push(Move { from, to, entry, length, line });
            }
            Err(kind) => return Err(table.lines().error_at(line, kind)),
        }
    }
    let names = labels.names;
    drop(labels.places);
    let mut builder = ChainBuilder::new(match columns.entry {
        Some((_, Quantity::Probability)) => Entries::Probabilities,
        Some((_, Quantity::Count)) | None => Entries::Counts,
    });
    let mut ids = vec![None; names.len()];
    let places = moves.iter().map(|m| m.from).chain(moves.iter().map(|m| m.to));
    for place in places.map(|place| place as usize) {
        ids[place].get_or_insert_with(|| builder.state(&names[place]));
    }
    // In order of the transitions one that is there twice is beside itself.
    moves.sort_by_key(|m| (m.from, m.to));
    let twice = moves.windows(2).filter(|w| (w[0].from, w[0].to) == (w[1].from, w[1].to));
    if let Some(two) = twice.min_by_key(|w| w[1].line) {
        let kind = ReadErrorKind::DuplicateTransition {
            from: names[two[0].from as usize].to_string(),
            to: names[two[0].to as usize].to_string(),
            first_line: two[0].line,
        };
        return Err(table.lines().error_at(two[1].line, kind));
    }
    for Move { from, to, entry, length, line } in moves {
        let id = |place: u32| ids[place as usize].expect("every label has its state");
        let added = match length {
            Some(length) => builder.transition_of_length(id(from), id(to), entry, length),
            None => builder.transition(id(from), id(to), entry),
        };
        added.map_err(|error| table.lines().error_at(line, ReadErrorKind::Chain(error)))?;
    }
    Ok(builder)
}

fn checked(
    from: &str,
    to: &str,
    entry: Option<(&str, Quantity)>,
    length: Option<&str>,
) -> Result<(f64, Option<Length>), ReadErrorKind> {
    for (label, column) in [(from, "from"), (to, "to")] {
        if label.is_empty() {
            return Err(ReadErrorKind::EmptyField { column: column.to_owned() });
        }
    }
    let entry = entry.map_or(Ok(1.0), |(entry, quantity)| quantity.parse(entry))?;
    let length = length.map(str::parse).transpose().map_err(ReadErrorKind::Length)?;
    Ok((entry, length))
}

/// Labels, numbered as they come.
#[derive(Default)]
struct Labels {
    names: Vec<Box<str>>,
    places: HashMap<Box<str>, u32>,
}

impl Labels {
    fn place(&mut self, label: &str) -> u32 {
        if let Some(&known) = self.places.get(label) {
            return known;
        }
        let place = u32::try_from(self.names.len()).expect("fewer than 2^32 labels");
        self.names.push(label.into());
        self.places.insert(label.into(), place);
        place
    }
}
