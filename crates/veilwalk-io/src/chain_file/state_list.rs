//! The states of a chain and nothing else, as a table with the column `state`.

use std::collections::HashMap;
use std::path::Path;

use crate::lines::Lines;
use crate::read_error::{HeaderHint, ReadError, ReadErrorKind, shortened};
use crate::table::Table;

const HEADER: &str = "state";

/// Reads the labels of states from a file with the column `state`, in the order of its lines. Other columns
/// are not looked at.
///
/// # Errors
///
/// If the file cannot be read, has no such column, or a label is empty or there twice.
pub fn read_state_list(path: &Path) -> Result<Vec<String>, ReadError> {
    let mut table = Table::new(Lines::open(path)?, HEADER)?;
    let column = table.header().iter().position(|name| name.trim().eq_ignore_ascii_case(HEADER));
    let Some(column) = column else {
        let kind = ReadErrorKind::UnknownHeader {
            found: shortened(&table.header().join(",")),
            hint: HeaderHint::Names,
            accepted: HEADER,
        };
        return Err(table.lines().error_at(table.header_line(), kind));
    };
    let (mut states, mut lines) = (Vec::new(), HashMap::new());
    while let Some(record) = table.next_record()? {
        let (line, label) = (record.line, record.get(column).to_owned());
        let kind = match lines.insert(label.clone(), line) {
            _ if label.is_empty() => ReadErrorKind::EmptyField { column: HEADER.to_owned() },
            Some(first_line) => ReadErrorKind::DuplicateRow { label, first_line },
            None => {
                states.push(label);
                continue;
            }
        };
        return Err(table.lines().error_at(line, kind));
    }
    Ok(states)
}
