//! A chain as a square matrix of probabilities, with labels in the first line and first column.
//!
//! The columns number the states; the rows may come in any order, each exactly once.

use std::collections::HashMap;
use std::io::Read;

use veilwalk::chain::{ChainBuilder, Entries, StateId};

use crate::number::Quantity;
use crate::read_error::{HeaderHint, ReadError, ReadErrorKind};
use crate::table::{Record, Table};

pub(super) fn read<R: Read>(table: &mut Table<R>) -> Result<ChainBuilder, ReadError> {
    let mut builder = ChainBuilder::new(Entries::Probabilities);
    let columns = columns(table.header(), &mut builder)
        .map_err(|kind| table.lines().error_at(table.header_line(), kind))?;
    let labels = table.header()[1..].to_vec();
    let mut row_lines: Vec<Option<u64>> = vec![None; labels.len()];
    while let Some(record) = table.next_record()? {
        let line = record.line;
        match read_row(record, &labels, &columns, &mut row_lines, &mut builder) {
            Ok(()) => {}
            Err(_) if looks_headerless(table.header()) => {
                return Err(super::unknown_header(table, HeaderHint::NoHeader));
            }
            Err(Refused::NotAMatrix) => {
                return Err(super::unknown_header(table, HeaderHint::Names));
            }
            Err(Refused::Row(kind)) => return Err(table.lines().error_at(line, *kind)),
        }
    }
    let missing: Vec<String> = labels
        .into_iter()
        .zip(&row_lines)
        .filter_map(|(label, line)| line.is_none().then_some(label))
        .collect();
    if missing.is_empty() {
        Ok(builder)
    } else if looks_headerless(table.header()) {
        Err(super::unknown_header(table, HeaderHint::NoHeader))
    } else {
        let kind = ReadErrorKind::MissingRows { labels: missing };
        Err(table.lines().error(kind))
    }
}

/// The state of each column after the first, by label.
fn columns(
    header: &[String],
    builder: &mut ChainBuilder,
) -> Result<HashMap<String, StateId>, ReadErrorKind> {
    let mut columns = HashMap::new();
    for (place, label) in header.iter().enumerate().skip(1) {
        if label.is_empty() {
            return Err(ReadErrorKind::UnlabelledColumn { column: place + 1 });
        }
        if let Some(before) = columns.insert(label.clone(), builder.state(label)) {
            return Err(ReadErrorKind::DuplicateColumn {
                label: label.clone(),
                first: before.index() + 2,
                second: place + 1,
            });
        }
    }
    Ok(columns)
}

/// Why a row is not one of a matrix.
enum Refused {
    /// It is a line of another kind of table, under a header that is not known.
    NotAMatrix,
    /// There is something wrong with it.
    Row(Box<ReadErrorKind>),
}

impl From<ReadErrorKind> for Refused {
    fn from(kind: ReadErrorKind) -> Self {
        Self::Row(Box::new(kind))
    }
}

fn read_row(
    record: Record<'_>,
    labels: &[String],
    columns: &HashMap<String, StateId>,
    row_lines: &mut [Option<u64>],
    builder: &mut ChainBuilder,
) -> Result<(), Refused> {
    let label = record.get(0);
    let Some(&from) = columns.get(label) else {
        // Three columns with text in the second are a table of transitions.
        if record.len() == 3 && Quantity::Probability.parse(record.get(1)).is_err() {
            return Err(Refused::NotAMatrix);
        }
        return Err(ReadErrorKind::UnknownRow { label: label.to_owned() }.into());
    };
    if let Some(first_line) = row_lines[from.index()].replace(record.line) {
        return Err(ReadErrorKind::DuplicateRow { label: label.to_owned(), first_line }.into());
    }
    for (place, field) in record.iter().skip(1).enumerate() {
        let entry =
            Quantity::Probability.parse(field).map_err(|kind| kind.in_column(&labels[place]))?;
        builder.transition(from, StateId::new(place), entry).map_err(ReadErrorKind::Chain)?;
    }
    Ok(())
}

/// Whether the first line could be a transition: two labels and a number.
fn looks_headerless(header: &[String]) -> bool {
    header.len() == 3 && !header[0].is_empty() && Quantity::Probability.parse(&header[2]).is_ok()
}
