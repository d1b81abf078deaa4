//! Positions of walks as GeoParquet: a table that every tool for maps takes as it is.
//!
//! [GeoParquet](https://geoparquet.org) is Parquet with points as well-known binary and a note in the file's metadata
//! that says which column they are in and what box they lie in. Rows are written in groups, so the table may be
//! larger than memory; the box is known at the end, where Parquet has its metadata anyway. Positions are longitude and
//! latitude on WGS 84, which is what the format takes for granted if nothing is said.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, TimestampMicrosecondArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::json;
use veilwalk::StateId;
use veilwalk::chain::{Chain, Coordinates};

use crate::columns::{arrow_error, parquet_error};
use crate::write_error::WriteError;

/// A state of a walk, with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position<'a> {
    /// What walk this is, such as `released`.
    pub layer: &'a str,
    /// The name of the walk.
    pub trajectory: &'a str,
    /// Which step of it, from zero.
    pub step: u64,
    /// The state; none if the position is that of no state.
    pub state: Option<StateId>,
    /// When, in microseconds since the start of 1970 in UTC.
    pub time: Option<i64>,
    /// Where; none if that is off the map.
    pub at: Option<Coordinates>,
}

/// Writes positions with the columns `layer`, `trajectory`, `step`, `state`, `name` (if states have names), `time` and `geometry`.
pub struct PositionWriter<'c, W: Write + Send> {
    chain: &'c Chain,
    name: String,
    out: ArrowWriter<W>,
    schema: SchemaRef,
    rows: Rows,
    bounds: Option<Bounds>,
    attribution: Option<String>,
}

/// Rows that are not written yet.
#[derive(Default)]
struct Rows {
    layers: StringBuilder,
    trajectories: StringBuilder,
    steps: Vec<i64>,
    states: StringBuilder,
    names: StringBuilder,
    times: Vec<Option<i64>>,
    points: BinaryBuilder,
}

/// The box that positions lie in.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    least: (i32, i32),
    most: (i32, i32),
}

impl Bounds {
    fn around(at: Coordinates) -> Self {
        let corner = (at.longitude(), at.latitude());
        Self { least: corner, most: corner }
    }

    fn and(self, at: Coordinates) -> Self {
        let (east, north) = (at.longitude(), at.latitude());
        Self {
            least: (self.least.0.min(east), self.least.1.min(north)),
            most: (self.most.0.max(east), self.most.1.max(north)),
        }
    }

    fn in_degrees(self) -> [f64; 4] {
        let degrees = |units: i32| f64::from(units) / f64::from(Coordinates::PER_DEGREE);
        [self.least.0, self.least.1, self.most.0, self.most.1].map(degrees)
    }
}

impl<'c, W: Write + Send> PositionWriter<'c, W> {
    /// So many rows are taken together before they are passed on.
    const BATCH: usize = 1 << 14;
    /// So many rows are in memory until they are packed into a group of the file.
    const GROUP: usize = 1 << 17;

    /// Starts a table. Messages call the output `name`. The attribution, if there is one, goes into the file's metadata.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn new(
        out: W,
        name: &str,
        chain: &'c Chain,
        attribution: Option<&str>,
    ) -> Result<Self, WriteError> {
        let named = chain.places().is_some_and(|places| places.names.is_some());
        let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let mut fields = vec![
            Field::new("layer", DataType::Utf8, false),
            Field::new("trajectory", DataType::Utf8, false),
            Field::new("step", DataType::Int64, false),
            Field::new("state", DataType::Utf8, true),
        ];
        if named {
            fields.push(Field::new("name", DataType::Utf8, true));
        }
        fields.push(Field::new("time", utc, true));
        fields.push(Field::new("geometry", DataType::Binary, true));
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(Self::GROUP))
            .build();
        // Readers of Arrow's own description of the columns see no other key beside it, and would miss where points are.
        let options =
            ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let out = ArrowWriter::try_new_with_options(out, schema.clone(), options)
            .map_err(|error| parquet_error(name, error))?;
        let attribution = attribution.map(str::to_owned);
        let (name, rows) = (name.to_owned(), Rows::default());
        Ok(Self { chain, name, out, schema, rows, bounds: None, attribution })
    }

    /// Writes one position.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn write(&mut self, position: Position<'_>) -> Result<(), WriteError> {
        let Position { layer, trajectory, step, state, time, at } = position;
        let rows = &mut self.rows;
        rows.layers.append_value(layer);
        rows.trajectories.append_value(trajectory);
        rows.steps.push(step as i64);
        rows.states.append_option(state.map(|state| self.chain.label(state)));
        let names = self.chain.places().and_then(|places| places.names.as_ref());
        if let Some(names) = names {
            let name = state.map(|state| names[state.index()].as_str());
            rows.names.append_option(name.filter(|name| !name.is_empty()));
        }
        rows.times.push(time);
        rows.points.append_option(at.map(well_known_binary));
        if let Some(at) = at {
            self.bounds = Some(self.bounds.map_or(Bounds::around(at), |bounds| bounds.and(at)));
        }
        if self.rows.steps.len() == Self::BATCH { self.pass_on() } else { Ok(()) }
    }

    fn pass_on(&mut self) -> Result<(), WriteError> {
        let mut rows = std::mem::take(&mut self.rows);
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(rows.layers.finish()),
            Arc::new(rows.trajectories.finish()),
            Arc::new(Int64Array::from(rows.steps)),
            Arc::new(rows.states.finish()),
        ];
        if self.schema.fields().len() == columns.len() + 3 {
            columns.push(Arc::new(rows.names.finish()));
        }
        columns.push(Arc::new(TimestampMicrosecondArray::from(rows.times).with_timezone("UTC")));
        columns.push(Arc::new(rows.points.finish()));
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        let batch = batch.map_err(|error| arrow_error(&self.name, error))?;
        self.out.write(&batch).map_err(|error| parquet_error(&self.name, error))
    }

    /// Writes what is left and what stands at the end, and gives the output back.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.pass_on()?;
        let mut column = json!({ "encoding": "WKB", "geometry_types": ["Point"] });
        if let Some(bounds) = self.bounds {
            column["bbox"] = json!(bounds.in_degrees());
        }
        let geo = json!({
            "version": "1.1.0",
            "primary_column": "geometry",
            "columns": { "geometry": column },
        });
        let keys =
            [Some(("geo", geo.to_string())), self.attribution.map(|text| ("attribution", text))];
        for (key, value) in keys.into_iter().flatten() {
            self.out.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        let mut out = self.out.into_inner().map_err(|error| parquet_error(&self.name, error))?;
        out.flush().map_err(|error| WriteError::io(&self.name, error))?;
        Ok(out)
    }
}

impl<W: Write + Send> std::fmt::Debug for PositionWriter<'_, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PositionWriter").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A point: the order of bytes, the kind, longitude and latitude.
fn well_known_binary(at: Coordinates) -> [u8; 21] {
    const LEAST_FIRST: u8 = 1;
    const POINT: u32 = 1;
    let (latitude, longitude) = at.degrees();
    let mut bytes = [0; 21];
    bytes[0] = LEAST_FIRST;
    bytes[1..5].copy_from_slice(&POINT.to_le_bytes());
    bytes[5..13].copy_from_slice(&longitude.to_le_bytes());
    bytes[13..].copy_from_slice(&latitude.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use arrow_array::cast::AsArray;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use veilwalk::chain::{Length, Places};

    use super::*;

    fn town() -> Chain {
        let grid = veilwalk::chain::Grid {
            width: 3.try_into().unwrap(),
            height: 2.try_into().unwrap(),
            seed: 1,
        };
        Chain::grid_with_streets(grid, "100".parse::<Length>().unwrap()).unwrap()
    }

    #[test]
    fn a_table_of_many_groups_is_whole() {
        let chain = town();
        let named = Places {
            names: Some((0..6).map(|n| ["", "High Street"][n % 2].to_owned()).collect()),
            ..chain.places().unwrap().clone()
        };
        let chain = chain.with_places(named).unwrap();
        let rows = PositionWriter::<File>::GROUP + PositionWriter::<File>::BATCH + 7;
        let places = chain.places().unwrap().coordinates.clone().unwrap();
        let mut table =
            PositionWriter::new(tempfile::tempfile().unwrap(), "t", &chain, Some("© us")).unwrap();
        let state = |row: usize| StateId::new(row % 6);
        for row in 0..rows {
            let position = Position {
                layer: "released",
                trajectory: ["a", "b"][row / 1000 % 2],
                step: row as u64,
                state: (row % 7 != 0).then_some(state(row)),
                time: (row % 5 != 0).then_some(1_000_000 * row as i64),
                at: (row % 11 != 0).then_some(places[row % 6]),
            };
            table.write(position).unwrap();
        }
        let file = table.finish().unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let keys = reader.metadata().file_metadata().key_value_metadata().unwrap();
        let value =
            |key: &str| keys.iter().find(|pair| pair.key == key).unwrap().value.clone().unwrap();
        assert_eq!(value("attribution"), "© us");
        let geo: serde_json::Value = serde_json::from_str(&value("geo")).unwrap();
        let bbox = geo["columns"]["geometry"]["bbox"].as_array().unwrap();
        let (west, north) = (places[0].degrees().1, places[0].degrees().0);
        assert_eq!((bbox[0].as_f64(), bbox[3].as_f64()), (Some(west), Some(north)));
        let mut row = 0;
        for batch in reader.build().unwrap() {
            let batch = batch.unwrap();
            let states = batch.column_by_name("state").unwrap().as_string::<i32>();
            let names = batch.column_by_name("name").unwrap().as_string::<i32>();
            let points = batch.column_by_name("geometry").unwrap().as_binary::<i32>();
            for at in 0..batch.num_rows() {
                let known = row % 7 != 0;
                let label = states.iter().nth(at).unwrap();
                if row % 4096 == 0 || row + 1 == rows {
                    assert_eq!(label, known.then(|| chain.label(state(row))));
                    let street = names.iter().nth(at).unwrap();
                    assert_eq!(street, (known && row % 2 == 1).then_some("High Street"));
                    let expected = places[row % 6].degrees().1.to_le_bytes();
                    let point = points.iter().nth(at).unwrap();
                    let found = point.map(|bytes| bytes[5..13].to_vec());
                    assert_eq!(found, (row % 11 != 0).then_some(expected.to_vec()));
                }
                row += 1;
            }
        }
        assert_eq!(row, rows);
    }

    #[test]
    fn a_table_without_rows_has_no_box() {
        let chain = town();
        let table = PositionWriter::new(tempfile::tempfile().unwrap(), "t", &chain, None).unwrap();
        let file = table.finish().unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let keys = reader.metadata().file_metadata().key_value_metadata().unwrap();
        let geo = keys.iter().find(|pair| pair.key == "geo").unwrap().value.clone().unwrap();
        assert!(!geo.contains("bbox"));
    }
}
