//! A table of walks, one state at a time, for those who need no more speed.

use std::io::Read;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray, make_array};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType};

use super::{ColumnPart, ColumnReader, Columns, WalkLists, decode_error};
use crate::read_error::ReadError;
use crate::table::Record;
use crate::walks::ColumnRole;

/// Reads states one by one.
pub(crate) struct Rows<R: Read> {
    pub(crate) reader: ColumnReader<R>,
    part: Option<PartTexts>,
    /// The row of the part, and the state among all of its states, that come next.
    row: usize,
    state: usize,
    text: String,
    ends: Vec<usize>,
}

/// A part whose values are plain strings.
struct PartTexts {
    part: ColumnPart,
    names: StringArray,
    states: StringArray,
    lists: WalkLists,
    kept: Vec<StringArray>,
}

impl<R: Read> Rows<R> {
    pub(crate) fn new(reader: ColumnReader<R>) -> Self {
        Self { reader, part: None, row: 0, state: 0, text: String::new(), ends: Vec::new() }
    }

    /// The next state: the trajectory's name, the state and the kept values, as a record of the row
    /// they are in.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        loop {
            if self.part.as_ref().is_none_or(|part| self.row == part.names.len()) {
                let Some(part) = self.reader.next_part()? else { return Ok(None) };
                self.part = Some(PartTexts::new(&self.reader.columns, part)?);
                (self.row, self.state) = (0, 0);
            }
            let Some(PartTexts { part, names, states, lists, kept }) = &self.part else {
                return Ok(None);
            };
            let columns = &self.reader.columns;
            let (at, row) = (self.row, part.first_row + self.row as u64);
            let name = columns.name(names, at, row)?;
            if part.batch.column(1).is_null(at) {
                return Err(columns.error(row, columns.missing(ColumnRole::State)));
            }
            if self.state == lists.row(at).end {
                self.row += 1;
                continue;
            }
            let place = self.state;
            if states.is_null(place) {
                return Err(columns.error(row, columns.missing(ColumnRole::State)));
            }
            self.state += 1;
            self.text.clear();
            self.ends.clear();
            for value in [name, states.value(place)] {
                self.text.push_str(value);
                self.ends.push(self.text.len());
            }
            for column in kept {
                self.text.push_str(column.value(at));
                self.ends.push(self.text.len());
            }
            return Ok(Some(Record { line: row, text: &self.text, ends: &self.ends, gap: 0 }));
        }
    }
}

impl PartTexts {
    fn new(columns: &Columns, part: ColumnPart) -> Result<Self, ReadError> {
        let (names, lists) = columns.take_apart(&part)?;
        let fail = |error| decode_error(&columns.file, columns.format, error);
        let states = plain_texts(&lists.values).map_err(fail)?;
        let kept = part.batch.columns()[2..].iter().map(|column| shown(column.as_ref()));
        let kept = kept.collect::<Result<_, _>>().map_err(fail)?;
        Ok(Self { part, names, states, lists, kept })
    }
}

/// Names, labels, numbers and times as texts, row by row. A time with the name of a zone is shown in UTC.
///
/// # Errors
///
/// If they cannot be.
pub fn plain_texts(column: &ArrayRef) -> Result<StringArray, ArrowError> {
    let shown = match column.data_type() {
        // Such a time counts from 1970 in UTC, whatever its zone is called.
        DataType::Timestamp(unit, Some(_)) => {
            let kind = DataType::Timestamp(*unit, Some("+00:00".into()));
            let in_utc = make_array(column.to_data().into_builder().data_type(kind).build()?);
            cast(&in_utc, &DataType::Utf8)?
        }
        _ => cast(column, &DataType::Utf8)?,
    };
    Ok(shown.as_string().clone())
}

/// Values as texts; an empty one if there is none.
fn shown(column: &dyn Array) -> Result<StringArray, ArrowError> {
    let options = FormatOptions::default().with_null("");
    let formatter = ArrayFormatter::try_new(column, &options)?;
    let texts = (0..column.len()).map(|at| formatter.value(at).try_to_string());
    texts.map(|text| text.map(Some)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, TimestampMicrosecondArray};

    use super::*;

    /// pandas and Polars name zones; nothing here needs to know where they are.
    #[test]
    fn times_are_shown_in_utc_whatever_their_zone_is_called() {
        let times = || TimestampMicrosecondArray::from(vec![Some(1_709_280_000_250_000), None]);
        for (zone, shown) in [
            (Some("Europe/Berlin"), "2024-03-01T08:00:00.250Z"),
            (Some("UTC"), "2024-03-01T08:00:00.250Z"),
            (Some("+05:00"), "2024-03-01T08:00:00.250Z"),
            (None, "2024-03-01T08:00:00.250"),
        ] {
            let column: ArrayRef = Arc::new(times().with_timezone_opt(zone));
            let texts = plain_texts(&column).unwrap();
            assert_eq!((texts.value(0), texts.is_null(1)), (shown, true), "{zone:?}");
        }
        let degrees: ArrayRef = Arc::new(Float64Array::from(vec![121.47, -33.0]));
        let texts = plain_texts(&degrees).unwrap();
        assert_eq!((texts.value(0), texts.value(1)), ("121.47", "-33.0"));
    }
}
