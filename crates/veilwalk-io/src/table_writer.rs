//! Tables about walks in every format of walks: what was inferred from a release, say.
//!
//! A table has a few named columns of one kind each and is written batch by batch, so that it may be larger than
//! memory.

use std::io::Write;
#[cfg(feature = "arrow")]
use std::sync::Arc;

#[cfg(feature = "arrow")]
use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use veilwalk::{Chain, StateId};

use crate::compression::Compression;
use crate::row_text::Escape;
use crate::rows_out::{Rows, RowsOut};
use crate::walks::WalkFormat;
use crate::write_error::WriteError;

/// What a column of a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Names of walks.
    Names,
    /// Whole numbers.
    Whole,
    /// States, written as their labels.
    States,
    /// Numbers.
    Numbers,
}

/// Some rows of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Names of walks, each for so many rows.
    Names(Vec<(String, usize)>),
    /// Whole numbers.
    Whole(Vec<i64>),
    /// States.
    States(Vec<StateId>),
    /// Numbers.
    Numbers(Vec<f64>),
}

impl ColumnValues {
    fn kind(&self) -> ColumnKind {
        match self {
            Self::Names(_) => ColumnKind::Names,
            Self::Whole(_) => ColumnKind::Whole,
            Self::States(_) => ColumnKind::States,
            Self::Numbers(_) => ColumnKind::Numbers,
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::Names(names) => names.iter().map(|(_, rows)| rows).sum(),
            Self::Whole(numbers) => numbers.len(),
            Self::States(states) => states.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }
}

/// Writes a table whose states are those of a chain.
///
/// ```
/// use veilwalk::Chain;
/// use veilwalk_io::{ColumnKind, ColumnValues, Compression, TableWriter, WalkFormat};
///
/// let chain = Chain::credit();
/// let columns = [("trajectory", ColumnKind::Names), ("state", ColumnKind::States), ("p", ColumnKind::Numbers)];
/// let (format, compression) = (WalkFormat::Csv, Compression::None);
/// let mut table = TableWriter::new(Vec::new(), "p.csv", format, compression, &chain, &columns)?;
/// let states = ["Ba", "B"].map(|label| chain.state(label).unwrap());
/// table.write(&[
///     ColumnValues::Names(vec![("a".to_owned(), 2)]),
///     ColumnValues::States(states.to_vec()),
///     ColumnValues::Numbers(vec![0.25, 0.75]),
/// ])?;
/// assert_eq!(table.finish()?, b"trajectory,state,p\na,Ba,0.25\na,B,0.75\n");
/// # Ok::<(), veilwalk_io::WriteError>(())
/// ```
#[derive(Debug)]
pub struct TableWriter<'c, W: Write + Send> {
    chain: &'c Chain,
    escape: Escape,
    columns: Vec<(String, ColumnKind)>,
    out: RowsOut<W>,
}

impl<'c, W: Write + Send> TableWriter<'c, W> {
    /// Starts a table with these columns. Messages call the output `name`. Text may be compressed.
    ///
    /// # Errors
    ///
    /// If writing fails, or the format is not built in.
    pub fn new(
        out: W,
        name: &str,
        format: WalkFormat,
        compression: Compression,
        chain: &'c Chain,
        columns: &[(&str, ColumnKind)],
    ) -> Result<Self, WriteError> {
        let escape = Escape::of(format);
        let out = RowsOut::new(out, name, format, compression, header(escape, columns), columns)?;
        let columns = columns.iter().map(|&(name, kind)| (name.to_owned(), kind)).collect();
        Ok(Self { chain, escape, columns, out })
    }

    /// Writes rows: one list for each column.
    ///
    /// # Errors
    ///
    /// If writing fails.
    ///
    /// # Panics
    ///
    /// If there are other columns than the table has, or some have more rows than others.
    pub fn write(&mut self, rows: &[ColumnValues]) -> Result<(), WriteError> {
        let kinds = self.columns.iter().map(|&(_, kind)| kind);
        assert!(kinds.eq(rows.iter().map(ColumnValues::kind)), "the columns of the table");
        let count = rows.first().map_or(0, ColumnValues::rows);
        assert!(rows.iter().all(|column| column.rows() == count), "columns of one length");
        if count == 0 {
            return Ok(());
        }
        let Self { chain, escape, columns, out } = self;
        out.write(&TableRows { chain, escape: *escape, columns, rows, count })
    }

    /// Writes what stands at the end, and gives the output back.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn finish(self) -> Result<W, WriteError> {
        self.out.finish()
    }
}

/// Some rows of a table.
struct TableRows<'a> {
    chain: &'a Chain,
    escape: Escape,
    columns: &'a [(String, ColumnKind)],
    rows: &'a [ColumnValues],
    count: usize,
}

impl Rows for TableRows<'_> {
    fn text(&self) -> Vec<u8> {
        text(self.escape, self.columns, self.chain, self.rows, self.count)
    }

    #[cfg(feature = "arrow")]
    fn columns(&self) -> Vec<ArrayRef> {
        self.rows.iter().map(|column| array(column, self.chain)).collect()
    }
}

/// The line above the rows, if the format has one.
fn header(escape: Escape, columns: &[(&str, ColumnKind)]) -> Vec<u8> {
    let mut line = Vec::new();
    if let Escape::Quotes { delimiter } = escape {
        for (name, _) in columns {
            if !line.is_empty() {
                line.push(delimiter);
            }
            escape.push(&mut line, name);
        }
        line.push(b'\n');
    }
    line
}

/// Rows as text.
fn text(
    escape: Escape,
    columns: &[(String, ColumnKind)],
    chain: &Chain,
    rows: &[ColumnValues],
    count: usize,
) -> Vec<u8> {
    // The name that each column is at, and after which row it changes.
    let mut at: Vec<(usize, usize)> = vec![(0, 0); rows.len()];
    let mut bytes = Vec::new();
    for row in 0..count {
        for (place, ((name, _), values)) in columns.iter().zip(rows).enumerate() {
            match (escape, place) {
                (Escape::Quotes { .. }, 0) => {}
                (Escape::Quotes { delimiter }, _) => bytes.push(delimiter),
                (Escape::Json | Escape::Nothing, _) => {
                    bytes.push(if place == 0 { b'{' } else { b',' });
                    escape.push(&mut bytes, name);
                    bytes.push(b':');
                }
            }
            match values {
                ColumnValues::Names(names) => {
                    let (current, until) = &mut at[place];
                    while *until + names[*current].1 <= row {
                        *until += names[*current].1;
                        *current += 1;
                    }
                    escape.push(&mut bytes, &names[*current].0);
                }
                ColumnValues::Whole(numbers) => {
                    bytes.extend_from_slice(itoa::Buffer::new().format(numbers[row]).as_bytes());
                }
                ColumnValues::States(states) => escape.push(&mut bytes, chain.label(states[row])),
                // As many digits as it takes to read the same number again.
                ColumnValues::Numbers(numbers) => {
                    write!(bytes, "{:?}", numbers[row]).expect("memory takes it");
                }
            }
        }
        if matches!(escape, Escape::Json) {
            bytes.push(b'}');
        }
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(feature = "arrow")]
fn array(column: &ColumnValues, chain: &Chain) -> ArrayRef {
    match column {
        ColumnValues::Names(names) => {
            let each = names.iter().flat_map(|(name, rows)| std::iter::repeat_n(name, *rows));
            Arc::new(each.map(Some).collect::<StringArray>())
        }
        ColumnValues::Whole(numbers) => Arc::new(Int64Array::from(numbers.clone())),
        ColumnValues::States(states) => {
            Arc::new(states.iter().map(|&s| Some(chain.label(s))).collect::<StringArray>())
        }
        ColumnValues::Numbers(numbers) => Arc::new(Float64Array::from(numbers.clone())),
    }
}
