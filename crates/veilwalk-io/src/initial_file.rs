//! Where released walks start, as a table `state,probability`.
//!
//! States that are not in the file have probability zero.

use std::io::{Read, Write};
use std::path::Path;

use veilwalk::chain::{Chain, Initial};

use crate::lines::Lines;
use crate::number::Quantity;
use crate::read_error::{HeaderHint, ReadError, ReadErrorKind, shortened};
use crate::table::Table;
use crate::write_error::WriteError;

const HEADER: &str = "state,probability";

/// Reads an initial distribution from a file with the columns `state` and `probability`, separated
/// by a comma or a tab, in any order.
///
/// States that are not in the file have probability zero.
///
/// # Errors
///
/// If the file cannot be read, names a state that the chain does not have, names one twice, has an
/// entry that is not a number from zero up, or its entries do not sum to one (within 10⁻⁶).
pub fn read_initial(path: &Path, chain: &Chain) -> Result<Initial, ReadError> {
    read_lines(Lines::open(path)?, chain)
}

/// Reads an initial distribution from anything, as [`read_initial`] does from a file. Messages call
/// it `name`.
///
/// # Errors
///
/// As [`read_initial`].
pub fn read_initial_from(
    input: impl Read,
    name: &str,
    chain: &Chain,
) -> Result<Initial, ReadError> {
    read_lines(Lines::new(input, name), chain)
}

/// Writes the initial distribution of a chain as a table `state,probability`, without states that no walk
/// starts in.
///
/// # Errors
///
/// If writing fails.
pub fn write_initial(chain: &Chain, out: impl Write) -> Result<(), WriteError> {
    const NAME: &str = "output";
    let mut table = csv::Writer::from_writer(out);
    let mut put = |fields: [&str; 2]| {
        table.write_record(fields).map_err(|error| WriteError::csv(NAME, error))
    };
    put(["state", "probability"])?;
    for state in chain.states() {
        let probability = chain.initial().probability(state);
        if probability > 0.0 {
            put([chain.label(state), &format!("{probability:?}")])?;
        }
    }
    table.flush().map_err(|error| WriteError::io(NAME, error))
}

fn read_lines<R: Read>(lines: Lines<R>, chain: &Chain) -> Result<Initial, ReadError> {
    let mut table = Table::new(lines, HEADER)?;
    let (label_column, entry_column) = columns(table.header()).map_err(|hint| {
        let kind = ReadErrorKind::UnknownHeader {
            found: shortened(&table.header().join(",")),
            hint,
            accepted: HEADER,
        };
        table.lines().error_at(table.header_line(), kind)
    })?;
    let mut probabilities = vec![0.0; chain.len()];
    let mut seen: Vec<Option<u64>> = vec![None; chain.len()];
    while let Some(record) = table.next_record()? {
        let line = record.line;
        let (label, entry) = (record.get(label_column), record.get(entry_column));
        match read_row(chain, label, entry, line, &mut seen) {
            Ok((place, probability)) => probabilities[place] = probability,
            Err(kind) => return Err(table.lines().error_at(line, kind)),
        }
    }
    Initial::from_probabilities(chain, &probabilities)
        .map_err(|error| table.lines().error(ReadErrorKind::Initial(error)))
}

fn read_row(
    chain: &Chain,
    label: &str,
    entry: &str,
    line: u64,
    seen: &mut [Option<u64>],
) -> Result<(usize, f64), ReadErrorKind> {
    if label.is_empty() {
        return Err(ReadErrorKind::EmptyField { column: "state".to_owned() });
    }
    let state = chain.require(label).map_err(ReadErrorKind::UnknownState)?;
    let probability = Quantity::Probability.parse(entry)?;
    match seen[state.index()].replace(line) {
        None => Ok((state.index(), probability)),
        Some(first_line) => {
            Err(ReadErrorKind::DuplicateRow { label: label.to_owned(), first_line })
        }
    }
}

/// The places of the two columns, or what is the matter with the header.
fn columns(header: &[String]) -> Result<(usize, usize), HeaderHint> {
    let find = |name: &str| header.iter().position(|c| c.trim().eq_ignore_ascii_case(name));
    match (find("state"), find("probability")) {
        (Some(state), Some(probability)) => {
            match (0..header.len()).find(|&c| c != state && c != probability) {
                None => Ok((state, probability)),
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
