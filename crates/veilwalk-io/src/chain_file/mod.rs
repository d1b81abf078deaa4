//! Chains in files: a square matrix, or a table of transitions.
//!
//! Which of the two a file is stands in its first line. A table of transitions has the header
//! `from,to,probability` or `from,to,count`; anything else has to be a matrix, with the states'
//! labels in the first line and the first column. A table that forgot its header must not pass for
//! a matrix, so the first cell of a matrix may be neither a number nor one of the labels. Lines before it
//! that start with `# ` are comments, which say where a chain comes from. One of them may say where its walks
//! start (`starts`).
//!
//! A table of transitions may have a column `length`, in metres. Where the states of a chain lie is in a file of its
//! own ([`read_places`]).
//!
//! A graph is the same without numbers: where only the moves count, a table of transitions may have the columns
//! `from` and `to` alone.

mod matrix;
mod places;
mod starts;
mod state_list;
mod transitions;
mod write;

use std::io::Read;
use std::path::Path;

use veilwalk::chain::{BuildOptions, BuildReport, Chain};

use crate::lines::{Blank, Lines};
use crate::number::Quantity;
use crate::read_error::{HeaderHint, ReadError, ReadErrorKind, shortened};
use crate::table::Table;

pub use places::{read_places, write_places};
pub use state_list::read_state_list;
pub use write::{ChainText, InitialText, write_chain, write_chain_with};

const ACCEPTED: &str = "from,to,probability; from,to,count; either with a column length; or, for a square matrix, an empty cell \
                        followed by the labels of all states";

/// Reads a chain from a file.
///
/// The file is UTF-8 text with fields separated by commas or tabs (the first line tells which), and
/// one of:
///
/// - a table with the columns `from`, `to` and `probability`, in any order;
/// - a table with the columns `from`, `to` and `count`, whose rows are divided by their sums (counts need not
///   be whole numbers);
/// - either of these with a column `length`: how long each move is, in metres, which is cut to millimetres;
/// - a square matrix of probabilities, with the labels of the states in the first line and the first
///   column. The rows may be in another order than the columns.
///
/// States are numbered in the order of the column `from` (then of `to`), or of a matrix's columns. Lines before
/// the first that start with `# ` are comments. One that holds `{"initial": [["home", 0.6], ["work", 0.4]]}`
/// says where walks start; without it they start anywhere alike.
///
/// # Errors
///
/// If the file cannot be read, is not such a table, or does not make a chain. The message names the
/// file and, where there is one, the line.
pub fn read_chain(path: &Path, options: BuildOptions) -> Result<(Chain, BuildReport), ReadError> {
    read_lines(Lines::open(path)?, options, Numbers::Needed)
}

/// Reads a graph from a file: a chain as [`read_chain`] takes it, or a table with the columns `from` and `to`
/// alone, whose moves are all as likely as each other.
///
/// # Errors
///
/// As [`read_chain`].
pub fn read_graph(path: &Path, options: BuildOptions) -> Result<(Chain, BuildReport), ReadError> {
    read_lines(Lines::open(path)?, options, Numbers::Optional)
}

/// Reads a chain from anything, as [`read_chain`] does from a file. Messages call it `name`.
///
/// # Errors
///
/// As [`read_chain`].
pub fn read_chain_from(
    input: impl Read,
    name: &str,
    options: BuildOptions,
) -> Result<(Chain, BuildReport), ReadError> {
    read_lines(Lines::new(input, name), options, Numbers::Needed)
}

/// Whether a table of transitions has to say how likely they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    Needed,
    Optional,
}

fn read_lines<R: Read>(
    mut lines: Lines<R>,
    options: BuildOptions,
    numbers: Numbers,
) -> Result<(Chain, BuildReport), ReadError> {
    let mut starts = None;
    while let Some(comment) = lines.peek()?.and_then(|line| line.strip_prefix("# ")) {
        match starts::parse(comment, starts.is_some()) {
            Ok(None) => {}
            Ok(Some(found)) => starts = Some((found, lines.number())),
            Err(problem) => return Err(lines.error_at(lines.number(), problem)),
        }
        lines.advance(Blank::Skip)?;
    }
    let mut table = Table::new(lines, "from,to,probability")?;
    let builder = match Layout::of(table.header(), numbers) {
        Ok(Layout::Transitions(columns)) => transitions::read(&mut table, columns)?,
        Ok(Layout::Matrix) => matrix::read(&mut table)?,
        Err(hint) => return Err(unknown_header(&table, hint)),
    };
    let built = builder.build(options);
    let (chain, report) =
        built.map_err(|error| table.lines().error(ReadErrorKind::Chain(error)))?;
    match starts {
        Some((starts, line)) if numbers == Numbers::Needed => {
            let initial = starts::initial(&starts, &chain, &report.dropped_states);
            let initial = initial.map_err(|kind| table.lines().error_at(line, kind))?;
            Ok((chain.with_initial(initial), report))
        }
        _ => Ok((chain, report)),
    }
}

/// How a file holds its chain.
#[derive(Debug, PartialEq)]
enum Layout {
    Transitions(transitions::Columns),
    Matrix,
}

impl Layout {
    fn of(header: &[String], numbers: Numbers) -> Result<Self, HeaderHint> {
        let find = |name: &str| header.iter().position(|c| c.trim().eq_ignore_ascii_case(name));
        let (from, to) = (find("from"), find("to"));
        let entry = find("probability")
            .map(|column| (column, Quantity::Probability))
            .or_else(|| find("count").map(|column| (column, Quantity::Count)));
        let length = find("length");
        if let (Some(from), Some(to)) = (from, to) {
            let known = [Some(from), Some(to), entry.map(|(column, _)| column), length];
            let columns = transitions::Columns { from, to, entry, length };
            match (0..header.len()).find(|&column| !known.contains(&Some(column))) {
                Some(extra) if entry.is_some() => {
                    return Err(HeaderHint::ExtraColumn(header[extra].clone()));
                }
                None if entry.is_some() || numbers == Numbers::Optional => {
                    return Ok(Self::Transitions(columns));
                }
                _ => {}
            }
        }
        let corner = header[0].trim();
        if header.len() < 2 {
            return Err(match corner.contains(';') {
                true => HeaderHint::Semicolons,
                false => HeaderHint::Names,
            });
        }
        if corner.parse::<f64>().is_ok()
            || (!corner.is_empty() && header[1..].iter().any(|label| label == corner))
        {
            return Err(HeaderHint::NoHeader);
        }
        let starts_a_table = corner.eq_ignore_ascii_case("from") && to == Some(1);
        if starts_a_table && header.len() <= 3 {
            return Err(HeaderHint::Names);
        }
        Ok(Self::Matrix)
    }
}

fn unknown_header<R: Read>(table: &Table<R>, hint: HeaderHint) -> ReadError {
    let kind = ReadErrorKind::UnknownHeader {
        found: shortened(&table.header().join(",")),
        hint,
        accepted: ACCEPTED,
    };
    table.lines().error_at(table.header_line(), kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(header: &str) -> Result<Layout, HeaderHint> {
        let cells: Vec<String> = header.split(',').map(str::to_owned).collect();
        Layout::of(&cells, Numbers::Needed)
    }

    #[test]
    fn headers_are_told_apart() {
        for header in ["from,to,probability", "To, Count,FROM"] {
            assert!(matches!(layout(header), Ok(Layout::Transitions(_))));
        }
        for header in [",a,b", "state,a,b", "state,1,2", ",from,to", "x,a", "from,a,b"] {
            assert_eq!(layout(header), Ok(Layout::Matrix), "{header}");
        }
        for header in ["1,2,0.5", "a,a,0.5", "1,1,2"] {
            assert_eq!(layout(header), Err(HeaderHint::NoHeader), "{header}");
        }
        for header in ["from,to", "from,to,weight", "from"] {
            assert_eq!(layout(header), Err(HeaderHint::Names), "{header}");
        }
        for header in ["from,to,probability,length", "length,to,count,from"] {
            let columns = layout(header);
            assert!(
                matches!(columns, Ok(Layout::Transitions(c)) if c.length.is_some()),
                "{header}"
            );
        }
        assert_eq!(layout("from;to;count"), Err(HeaderHint::Semicolons));
        let graph = |header: &[&str]| {
            let cells: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
            Layout::of(&cells, Numbers::Optional)
        };
        assert!(matches!(graph(&["to", "From"]), Ok(Layout::Transitions(_))));
        assert!(matches!(graph(&["from", "to", "count"]), Ok(Layout::Transitions(_))));
        assert_eq!(graph(&["from", "there"]), Ok(Layout::Matrix));
        let extra = Err(HeaderHint::ExtraColumn("when".into()));
        assert_eq!(layout("from,to,count,when"), extra);
        let extra = Err(HeaderHint::ExtraColumn("count".into()));
        assert_eq!(layout("from,to,probability,count"), extra);
    }
}
