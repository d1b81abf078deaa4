//! Tables of two columns: something that each line names, and its probability.

use std::collections::HashMap;
use std::io::{Read, Write};

use crate::lines::Lines;
use crate::number::Quantity;
use crate::read_error::{HeaderHint, ReadError, ReadErrorKind, shortened};
use crate::table::Table;
use crate::write_error::WriteError;

const PROBABILITY: &str = "probability";

/// Reads a table with the column `key` and the column `probability`, in any order, whose header would be `expected`.
/// `place_of` finds where what a line names is put; the places that no line names have probability zero. `make` makes
/// something of all probabilities.
pub(crate) fn read_shares<R: Read, T>(
    lines: Lines<R>,
    (key, expected): (&'static str, &'static str),
    places: usize,
    place_of: impl Fn(&str) -> Result<usize, ReadErrorKind>,
    make: impl FnOnce(Vec<f64>) -> Result<T, ReadErrorKind>,
) -> Result<T, ReadError> {
    let mut table = Table::new(lines, expected)?;
    let (key_column, entry_column) = columns(table.header(), key).map_err(|hint| {
        let found = shortened(&table.header().join(","));
        let kind = ReadErrorKind::UnknownHeader { found, hint, accepted: expected };
        table.lines().error_at(table.header_line(), kind)
    })?;
    let mut probabilities = vec![0.0; places];
    let mut seen = HashMap::new();
    while let Some(record) = table.next_record()? {
        let (line, name, entry) = (record.line, record.get(key_column), record.get(entry_column));
        let found = match place_of(name) {
            _ if name.is_empty() => Err(ReadErrorKind::EmptyField { column: key.to_owned() }),
            Ok(place) => Quantity::Probability.parse(entry).map(|share| (place, share)),
            Err(kind) => Err(kind),
        };
        let once = found.and_then(|(place, share)| match seen.insert(place, line) {
            None => Ok((place, share)),
            Some(first_line) => {
                Err(ReadErrorKind::DuplicateRow { label: name.to_owned(), first_line })
            }
        });
        let (place, share) = match once {
            Ok(found) => found,
            Err(kind) => return Err(table.lines().error_at(line, kind)),
        };
        if place >= probabilities.len() {
            probabilities.resize(place + 1, 0.0);
        }
        probabilities[place] = share;
    }
    make(probabilities).map_err(|kind| table.lines().error(kind))
}

/// Writes such a table, without what has probability zero.
pub(crate) fn write_shares<K: AsRef<str>>(
    key: &str,
    shares: impl Iterator<Item = (K, f64)>,
    out: impl Write,
) -> Result<(), WriteError> {
    const NAME: &str = "output";
    let mut table = csv::Writer::from_writer(out);
    let mut put = |fields: [&str; 2]| {
        table.write_record(fields).map_err(|error| WriteError::csv(NAME, error))
    };
    put([key, PROBABILITY])?;
    for (name, probability) in shares.filter(|(_, probability)| *probability > 0.0) {
        put([name.as_ref(), &format!("{probability:?}")])?;
    }
    table.flush().map_err(|error| WriteError::io(NAME, error))
}

/// The places of the two columns, or what is the matter with the header.
fn columns(header: &[String], key: &str) -> Result<(usize, usize), HeaderHint> {
    let find = |name: &str| header.iter().position(|c| c.trim().eq_ignore_ascii_case(name));
    match (find(key), find(PROBABILITY)) {
        (Some(key), Some(probability)) => {
            match (0..header.len()).find(|&c| c != key && c != probability) {
                None => Ok((key, probability)),
                Some(extra) => Err(HeaderHint::ExtraColumn(header[extra].clone())),
            }
        }
        _ if header.len() == 2 && Quantity::Probability.parse(&header[1]).is_ok() => {
            Err(HeaderHint::NoHeader)
        }
        _ if header.len() == 1 && header[0].contains(';') => Err(HeaderHint::Semicolons),
        _ => Err(HeaderHint::Names),
    }
}
