//! Every format in and out: the same walks under the same key are released the same.

use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, StringViewBuilder};
use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;
use veilwalk::mechanism::Tracking;
use veilwalk::random::{ReleaseId, Secret};
use veilwalk::{Chain, Design, Mechanism, Model, Preset, Promise, Rule, Source, Start};
use veilwalk_io::{
    Compression, Grouping, ReleaseError, ReleaseOutput, UnknownStates, WalkFormat, WalkInput,
    WalkOptions, WalkReader, WalkRelease,
};

const STATES: [&str; 5] = ["Baa", "Ba", "B", "Caa", "Ca/C"];

/// Rows of a few walks that alternate: trajectory, state and year.
fn rows() -> Vec<(i64, &'static str, i32)> {
    (0..500).map(|i| (i * i % 7, STATES[(i * 13 % 11 % 5) as usize], 2000 + i as i32)).collect()
}

/// The same walks, one after another.
fn walks() -> Vec<(i64, Vec<&'static str>)> {
    let mut walks: Vec<(i64, Vec<&str>)> = Vec::new();
    for (name, state, _) in rows() {
        match walks.iter_mut().find(|(other, _)| *other == name) {
            Some((_, states)) => states.push(state),
            None => walks.push((name, vec![state])),
        }
    }
    walks
}

fn model() -> Arc<Model> {
    Arc::new(Model::new(Chain::credit()).unwrap())
}

fn steps() -> Arc<Mechanism> {
    let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
    let design = Preset::Paper.design();
    Arc::new(Mechanism::new(model(), design, promise).unwrap())
}

fn blocks(length: &str) -> Arc<Mechanism> {
    let promise = Promise::within_radius("3.5".parse().unwrap(), "3.5".parse().unwrap());
    let design = Design { rule: Rule::Exponential, ..Preset::Sharp.design() };
    let length = length.parse().unwrap();
    Arc::new(Mechanism::in_blocks(model(), design, promise, length).unwrap())
}

fn observing(lag: u32) -> Arc<Mechanism> {
    let promise = Promise::within_radius("2".parse().unwrap(), "3.5".parse().unwrap());
    let made = Mechanism::new(model(), Preset::Tight.design(), promise).unwrap();
    Arc::new(made.tracking(Tracking { lag, ..Tracking::default() }))
}

fn options(keep: &[&str]) -> WalkOptions {
    let keep = keep.iter().map(|&column| column.to_owned()).collect();
    WalkOptions { keep, ..Default::default() }
}

/// Releases a file into another under a fixed key.
fn release_with(
    mechanism: Arc<Mechanism>,
    from: &Path,
    to: &Path,
    keep: &[&str],
) -> Result<u64, ReleaseError> {
    let options = options(keep);
    let release = WalkRelease {
        mechanism,
        source: &Source::keyed(
            Secret::new(b"sixteen bytes ok").unwrap(),
            ReleaseId::from_bytes([1; 16]),
        ),
        start: Start::Initial,
        unknown_states: UnknownStates::Refuse,
        grouping: Grouping::Alternating,
        charge: None,
        watch: &|_| ControlFlow::Continue(()),
    };
    let input = WalkInput::open(from, options.clone())?;
    let format = WalkFormat::from_path(to).unwrap();
    let (file, packed) = (File::create(to).unwrap(), Compression::from_path(to));
    let output = ReleaseOutput::new(file, "out", format, packed, &options.keep)?;
    let (tally, _) = release.run(input, output, 2)?;
    Ok(tally.states)
}

fn release(from: &Path, to: &Path, keep: &[&str]) -> Result<u64, ReleaseError> {
    release_with(steps(), from, to, keep)
}

/// The rows of a file of walks: trajectory, state and kept values.
fn read(path: &Path, keep: &[&str]) -> Vec<Vec<String>> {
    let mut reader = WalkReader::open(path, options(keep)).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row().unwrap() {
        let own = [row.trajectory.to_owned(), row.state.to_owned()];
        rows.push(own.into_iter().chain(row.kept.map(str::to_owned)).collect());
    }
    rows
}

/// Rows in the order of the walks.
fn by_walk(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort_by_key(|row| row[0].clone());
    rows
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The rows as text, in the format and compression of the name.
    fn text(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let format = WalkFormat::from_path(&path).unwrap();
        let line = |fields: [&str; 3]| match format {
            WalkFormat::Ndjson => format!(
                "{{\"trajectory\":{},\"state\":\"{}\",\"year\":{}}}\n",
                fields[0], fields[1], fields[2]
            ),
            WalkFormat::Tsv => fields.join("\t") + "\n",
            _ => fields.join(",") + "\n",
        };
        let mut text = match format {
            WalkFormat::Ndjson => String::new(),
            _ => line(["trajectory", "state", "year"]),
        };
        for (name, state, year) in rows() {
            text += &line([&name.to_string(), state, &year.to_string()]);
        }
        fs::write(&path, packed(text.as_bytes(), Compression::from_path(&path))).unwrap();
        path
    }

    /// A table of columns, in the format of the name.
    fn columns(&self, name: &str, batch: &RecordBatch) -> PathBuf {
        let path = self.path(name);
        let file = File::create(&path).unwrap();
        let schema = batch.schema();
        // In two parts, so that rows have to be counted over them.
        let half = batch.num_rows() / 2;
        let parts = [batch.slice(0, half), batch.slice(half, batch.num_rows() - half)];
        match WalkFormat::from_path(&path).unwrap() {
            WalkFormat::Parquet => {
                let mut writer = ArrowWriter::try_new(file, schema, None).unwrap();
                for part in &parts {
                    writer.write(part).unwrap();
                    writer.flush().unwrap();
                }
                writer.close().unwrap();
            }
            WalkFormat::ArrowFile => {
                let mut writer = FileWriter::try_new(file, &schema).unwrap();
                parts.iter().for_each(|part| writer.write(part).unwrap());
                writer.finish().unwrap();
            }
            _ => {
                let mut writer = StreamWriter::try_new(file, &schema).unwrap();
                parts.iter().for_each(|part| writer.write(part).unwrap());
                writer.finish().unwrap();
            }
        }
        path
    }
}

fn packed(bytes: &[u8], compression: Compression) -> Vec<u8> {
    match compression {
        Compression::None => bytes.to_vec(),
        Compression::Gzip => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Compression::Zstd => zstd::encode_all(bytes, 0).unwrap(),
    }
}

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

/// The rows as columns, with names and states of these types.
fn long(name: &DataType, state: &DataType) -> RecordBatch {
    let (names, rest): (Vec<i64>, Vec<_>) = rows().into_iter().map(|(n, s, y)| (n, (s, y))).unzip();
    let (states, years): (Vec<&str>, Vec<i32>) = rest.into_iter().unzip();
    let names = cast(&Int64Array::from(names), &DataType::Utf8).unwrap();
    table(vec![
        ("year", Arc::new(Int32Array::from(years))),
        ("state", cast(&StringArray::from(states), state).unwrap()),
        ("trajectory", cast(&names, name).unwrap()),
    ])
}

/// The walks as lists.
fn lists(item: &DataType) -> RecordBatch {
    let mut states = ListBuilder::new(StringBuilder::new());
    let (mut names, mut lengths) = (Vec::new(), Vec::new());
    for (name, walk) in walks() {
        names.push(name);
        lengths.push(walk.len() as i32);
        walk.iter().for_each(|state| states.values().append_value(state));
        states.append(true);
    }
    let item = DataType::LargeList(Arc::new(Field::new_list_field(item.clone(), true)));
    table(vec![
        ("trajectory", Arc::new(Int64Array::from(names))),
        ("state", cast(&states.finish(), &item).unwrap()),
        ("year", Arc::new(Int32Array::from(lengths))),
    ])
}

fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Utf8))
}

#[test]
fn every_format_is_read() {
    let folder = Folder::new();
    let expected = folder.path("expected.csv");
    assert_eq!(release(&folder.text("walks.csv"), &expected, &["year"]).unwrap(), 500);
    let expected = fs::read_to_string(expected).unwrap();
    let inputs = ["w.csv.gz", "w.csv.zst", "w.tsv", "w.tsv.gz", "w.ndjson", "w.jsonl.zst"];
    let mut paths: Vec<PathBuf> = inputs.iter().map(|name| folder.text(name)).collect();
    let strings = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View, dictionary()];
    for (number, state) in strings.iter().enumerate() {
        for (other, name) in strings.iter().chain(&[DataType::Int64, DataType::UInt8]).enumerate() {
            let format = ["parquet", "arrow", "arrows"][(number + other) % 3];
            let batch = long(name, state);
            paths.push(folder.columns(&format!("{number}-{other}.{format}"), &batch));
        }
    }
    for path in paths {
        let out = folder.path("out.csv");
        release(&path, &out, &["year"]).unwrap();
        assert_eq!(fs::read_to_string(&out).unwrap(), expected, "{}", path.display());
        assert_eq!(read(&path, &["year"]), read(&folder.path("walks.csv"), &["year"]));
        // The first bytes tell as well as the name.
        let nameless = folder.path("nameless");
        fs::copy(&path, &nameless).unwrap();
        release(&nameless, &out, &["year"]).unwrap();
        assert_eq!(fs::read_to_string(&out).unwrap(), expected, "{} renamed", path.display());
    }
}

#[test]
fn every_format_is_written() {
    let folder = Folder::new();
    let walks = folder.text("walks.csv");
    let expected = folder.path("expected.csv");
    release(&walks, &expected, &["year"]).unwrap();
    let expected = read(&expected, &["step", "year"]);
    for name in [
        "out.csv.gz",
        "out.csv.zst",
        "out.tsv",
        "out.ndjson",
        "out.ndjson.gz",
        "out.jsonl.zst",
        "out.parquet",
        "out.arrow",
        "out.feather",
        "out.arrows",
    ] {
        for input in
            [&walks, &folder.columns("walks.parquet", &long(&DataType::Int64, &dictionary()))]
        {
            release(input, &folder.path(name), &["year"]).unwrap();
            assert_eq!(read(&folder.path(name), &["step", "year"]), expected, "{name}");
        }
    }
}

#[test]
fn columns_keep_their_types() {
    let folder = Folder::new();
    let kinds = [
        (DataType::Int64, DataType::Utf8),
        (DataType::LargeUtf8, DataType::LargeUtf8),
        (DataType::Utf8View, DataType::Utf8View),
        (dictionary(), DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))),
    ];
    for (name, state) in kinds {
        let walks = folder.columns("walks.parquet", &long(&name, &state));
        let out = folder.path("out.parquet");
        release(&walks, &out, &["year"]).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&out).unwrap()).unwrap();
        let kind =
            |column: &str| reader.schema().field_with_name(column).unwrap().data_type().clone();
        assert_eq!(kind("trajectory"), name);
        assert_eq!(kind("step"), DataType::Int64);
        assert_eq!(kind("state"), state);
        assert_eq!(kind("year"), DataType::Int32);
    }
}

fn on_chain(table: &str) -> (Arc<Model>, Arc<Mechanism>) {
    let (chain, _) =
        veilwalk_io::read_chain_from(table.as_bytes(), "c", Default::default()).unwrap();
    let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
    let model = Arc::new(Model::new(chain).unwrap());
    let mechanism = Mechanism::new(model.clone(), Preset::Paper.design(), promise).unwrap();
    (model, Arc::new(mechanism))
}

/// One walk to and fro between the states 1 and 2.
fn numbers(steps: usize) -> RecordBatch {
    let states = (0..steps).map(|step| 1 + step as i32 % 2);
    table(vec![
        ("trajectory", Arc::new(Int64Array::from(vec![7; steps]))),
        ("state", Arc::new(Int32Array::from_iter_values(states))),
    ])
}

#[test]
fn states_that_are_numbers_stay_numbers() {
    let (_, mechanism) = on_chain("from,to,count\n1,1,5\n1,2,5\n2,1,3\n2,3,3\n3,1,1\n");
    let folder = Folder::new();
    let walks = folder.columns("walks.arrow", &numbers(3));
    let out = folder.path("out.parquet");
    release_with(mechanism, &walks, &out, &[]).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&out).unwrap()).unwrap();
    assert_eq!(reader.schema().field(2).data_type(), &DataType::Int32);
    assert_eq!(read(&out, &[]).len(), 3);
}

/// Where a label is not written as numbers are, states are texts: else two would become one.
#[test]
fn labels_that_only_look_like_numbers_stay_texts() {
    let (model, mechanism) = on_chain("from,to,count\n1,1,5\n1,01,5\n01,1,3\n01,2,3\n2,1,1\n");
    let folder = Folder::new();
    let walks = folder.columns("walks.arrow", &numbers(200));
    let out = folder.path("out.parquet");
    release_with(mechanism, &walks, &out, &[]).unwrap();
    let released = read(&out, &[]);
    assert!(released.iter().any(|row| row[1] == "01"));
    for moved in released.windows(2) {
        let [from, to] = [0, 1].map(|i| model.chain().state(&moved[i][1]).unwrap());
        assert!(model.chain().allows(from, to), "{moved:?}");
    }
}

/// Views show a part of a text that also holds the real state.
#[test]
fn what_lies_beside_a_kept_column_stays_out() {
    let folder = Folder::new();
    let whole: Vec<String> =
        (0..40).map(|i| format!("on day number {i:04} in|SECRET {}", STATES[i % 5])).collect();
    let buffer = arrow_buffer::Buffer::from(whole.concat().into_bytes());
    let mut views = StringViewBuilder::new();
    let block = views.append_block(buffer);
    let mut start = 0;
    for text in &whole {
        views.try_append_view(block, start, 21).unwrap();
        start += text.len() as u32;
    }
    let batch = table(vec![
        ("trajectory", Arc::new(Int64Array::from(vec![7; 40]))),
        ("state", Arc::new(StringArray::from_iter_values((0..40).map(|i| STATES[i % 5])))),
        ("day", Arc::new(views.finish())),
    ]);
    let walks = folder.columns("walks.arrow", &batch);
    let tells = |path: &Path| fs::read(path).unwrap().windows(6).any(|part| part == b"SECRET");
    assert!(tells(&walks));
    for out in ["out.arrow", "out.arrows", "out.parquet"] {
        let out = folder.path(out);
        release(&walks, &out, &["day"]).unwrap();
        assert!(!tells(&out), "{}", out.display());
        assert_eq!(read(&out, &["day"])[3][2], "on day number 0003 in");
    }
}

#[test]
fn lists_of_states_are_walks() {
    let folder = Folder::new();
    let expected = folder.path("expected.csv");
    for mechanism in [steps(), blocks("4"), blocks("all")] {
        release_with(mechanism.clone(), &folder.text("walks.csv"), &expected, &[]).unwrap();
        let expected = by_walk(read(&expected, &["step"]));
        let states = [DataType::Utf8, dictionary()];
        for (input, state) in
            [("l.parquet", &states[0]), ("l.arrow", &states[1]), ("l.arrows", &states[0])]
        {
            let input = folder.columns(input, &lists(state));
            let out = folder.path("out.csv");
            release_with(mechanism.clone(), &input, &out, &[]).unwrap();
            assert_eq!(by_walk(read(&out, &["step"])), expected);
            for out in ["out.parquet", "out.arrow", "out.arrows"] {
                let out = folder.path(out);
                release_with(mechanism.clone(), &input, &out, &["year"]).unwrap();
                let found = by_walk(read(&out, &[]));
                let without_step: Vec<_> = expected.iter().map(|row| row[..2].to_vec()).collect();
                assert_eq!(found, without_step, "{}", out.display());
            }
            let out = File::open(folder.path("out.parquet")).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(out).unwrap();
            assert!(matches!(reader.schema().field(1).data_type(), DataType::List(_)));
            assert_eq!(reader.schema().field(2).name(), "year");
            let rows: usize = reader.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
            assert_eq!(rows, walks().len(), "one row for each walk");
        }
    }
}

#[test]
fn blocks_come_out_of_every_format_alike() {
    let folder = Folder::new();
    let expected = folder.path("expected.csv");
    release_with(blocks("4"), &folder.text("walks.csv"), &expected, &[]).unwrap();
    let expected = read(&expected, &["step"]);
    let walks = folder.columns("walks.parquet", &long(&DataType::Int64, &dictionary()));
    let out = folder.path("out.arrow");
    release_with(blocks("4"), &walks, &out, &[]).unwrap();
    assert_eq!(read(&out, &["step"]), expected);
    let error = release_with(blocks("4"), &walks, &out, &["year"]).unwrap_err();
    assert!(matches!(error, ReleaseError::KeptInBlocks), "{error}");
    let text = folder.text("w.csv");
    release_with(blocks("4"), &text, &out, &["year"]).unwrap();
    let kept = read(&out, &["step", "year"]);
    let plain: Vec<_> = kept.iter().map(|row| row[..3].to_vec()).collect();
    assert_eq!(plain, expected);
    // The year of a row is that of the real row of the same step.
    let mut seen = std::collections::HashMap::new();
    let years: std::collections::HashMap<(String, String), String> = rows()
        .iter()
        .map(|(name, _, year)| {
            let step = seen.entry(*name).or_insert(0);
            *step += 1;
            ((name.to_string(), (*step - 1).to_string()), year.to_string())
        })
        .collect();
    assert!(kept.iter().all(|row| years[&(row[0].clone(), row[2].clone())] == row[3]));
}

/// Rows with what was observed, whatever the format: as rows of text or of columns.
fn read_observed(path: &Path) -> Vec<[String; 3]> {
    let observed = WalkOptions { state_column: "observed".into(), ..WalkOptions::default() };
    let mut observed = WalkReader::open(path, observed).unwrap();
    let mut rows = Vec::new();
    for row in read(path, &[]) {
        let seen = observed.next_row().unwrap().unwrap();
        assert_eq!(seen.trajectory, row[0]);
        rows.push([row[0].clone(), row[1].clone(), seen.state.to_owned()]);
    }
    assert!(observed.next_row().unwrap().is_none());
    rows
}

#[test]
fn observations_come_out_of_every_format_alike() {
    let folder = Folder::new();
    let (text, out) = (folder.text("walks.csv"), folder.path("out.csv"));
    let columns = folder.columns("walks.parquet", &long(&DataType::Int64, &dictionary()));
    let walks = folder.columns("lists.arrow", &lists(&dictionary()));
    for lag in [0, 3] {
        release_with(observing(lag), &text, &out, &[]).unwrap();
        let expected = read_observed(&out);
        assert_eq!(expected.len(), 500);
        assert!(
            expected.iter().any(|[_, state, seen]| state != seen),
            "observations are their own"
        );
        for (number, name) in
            ["o.tsv", "o.ndjson", "o.ndjson.gz", "o.csv.zst", "o.parquet", "o.arrow", "o.arrows"]
                .iter()
                .enumerate()
        {
            let out = folder.path(name);
            let input = if number % 2 == 0 { &columns } else { &text };
            release_with(observing(lag), input, &out, &[]).unwrap();
            assert_eq!(read_observed(&out), expected, "{name}, lag {lag}");
        }
        // In lists, the walks one after another.
        let by_walk = |mut rows: Vec<[String; 3]>| {
            rows.sort_by_key(|row| row[0].clone());
            rows
        };
        for name in ["l.parquet", "l.arrow", "l.arrows", "l.csv"] {
            let out = folder.path(name);
            release_with(observing(lag), &walks, &out, &["year"]).unwrap();
            assert_eq!(by_walk(read_observed(&out)), by_walk(expected.clone()), "{name}");
        }
        let out = File::open(folder.path("l.parquet")).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(out).unwrap();
        let names: Vec<&str> = reader.schema().fields().iter().map(|f| f.name().as_str()).collect();
        assert_eq!(names, ["trajectory", "state", "observed", "year"]);
        for column in [1, 2] {
            assert!(matches!(reader.schema().field(column).data_type(), DataType::List(_)));
        }
    }
}

/// What is answered at once keeps its columns; what is answered later cannot.
#[test]
fn columns_are_kept_beside_observations_without_a_lag() {
    let folder = Folder::new();
    let walks = folder.columns("walks.parquet", &long(&DataType::Int64, &dictionary()));
    for out in ["out.parquet", "out.arrow", "out.arrows", "out.csv", "out.ndjson"] {
        let out = folder.path(out);
        release_with(observing(0), &walks, &out, &["year"]).unwrap();
        let years: Vec<String> =
            read(&out, &["year"]).into_iter().map(|row| row[2].clone()).collect();
        assert!(years.iter().map(|year| year.parse::<i32>().unwrap()).eq(2000..2500));
        let error = release_with(observing(3), &walks, &out, &["year"]).unwrap_err();
        assert!(matches!(error, ReleaseError::KeptInBlocks), "{error}");
        assert!(error.to_string().contains("a lag"), "{error}");
        let error = release_with(observing(0), &walks, &out, &["observed"]).unwrap_err();
        assert!(error.to_string().contains("no column \"observed\""), "{error}");
    }
    // Text waits with its rows.
    let (text, out) = (folder.text("w.csv"), folder.path("out.arrow"));
    release_with(observing(3), &text, &out, &["year"]).unwrap();
    let mut kept = read(&out, &["step", "year"]);
    kept.sort_by_key(|row| row[3].clone());
    let mut steps = std::collections::HashMap::new();
    for (row, (name, _, year)) in kept.iter().zip(rows()) {
        let step = steps.entry(name).or_insert(0);
        assert_eq!(
            [&row[0], &row[2], &row[3]],
            [&name.to_string(), &step.to_string(), &year.to_string()]
        );
        *step += 1;
    }
}

#[test]
fn nothing_in_is_nothing_out() {
    let folder = Folder::new();
    let empty = long(&DataType::Int64, &DataType::Utf8).slice(0, 0);
    fs::write(folder.path("e.csv"), "trajectory,state\n").unwrap();
    let mut inputs = vec![folder.path("e.csv")];
    inputs.extend(["e.parquet", "e.arrow", "e.arrows"].map(|name| folder.columns(name, &empty)));
    for input in inputs {
        for out in ["o.csv", "o.csv.gz", "o.ndjson.zst", "o.parquet", "o.arrow", "o.arrows"] {
            let out = folder.path(out);
            assert_eq!(release(&input, &out, &[]).unwrap(), 0);
            assert!(read(&out, &[]).is_empty(), "{}", out.display());
        }
    }
}

/// Refuses a file, with these words, both when it is released and when it is read.
fn refuses(path: &Path, words: &[&str]) {
    let out = path.with_extension("released.csv");
    let released = release(path, &out, &[]).unwrap_err().to_string();
    let read = || {
        let mut reader = WalkReader::open(path, WalkOptions::default())?;
        let chain = Chain::credit();
        while let Some(row) = reader.next_row()? {
            if chain.state(row.state).is_none() {
                break;
            }
        }
        Ok::<_, veilwalk_io::ReadError>(())
    };
    for message in [Some(released), read().err().map(|error| error.to_string())].iter().flatten() {
        for word in words {
            assert!(message.contains(word), "no {word:?} in: {message}");
        }
        assert!(message.contains(path.file_name().unwrap().to_str().unwrap()), "{message}");
    }
}

#[test]
fn what_is_wrong_in_columns_is_said_with_row_and_column() {
    let folder = Folder::new();
    let names: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("a"), None]));
    let states: ArrayRef = Arc::new(StringArray::from(vec!["Baa", "Ba", "B"]));
    let of = |names: &ArrayRef, states: &ArrayRef| {
        table(vec![("trajectory", names.clone()), ("state", states.clone())])
    };
    for format in ["parquet", "arrow", "arrows"] {
        let file =
            |name: &str, batch: &RecordBatch| folder.columns(&format!("{name}.{format}"), batch);
        refuses(&file("null", &of(&names, &states)), &["row 3", "\"trajectory\"", "null"]);
        let all: ArrayRef = Arc::new(StringArray::from(vec!["a", "a", "b"]));
        let null: ArrayRef = Arc::new(StringArray::from(vec![Some("Baa"), None, Some("B")]));
        refuses(&file("no-state", &of(&all, &null)), &["row 2", "\"state\"", "null"]);
        let empty: ArrayRef = Arc::new(StringArray::from(vec!["Baa", "Ba", ""]));
        refuses(&file("empty", &of(&all, &empty)), &["row 3", "\"state\"", "empty"]);
        let unknown: ArrayRef = Arc::new(StringArray::from(vec!["Baa", "Ba", "Zzz"]));
        let path = file("unknown", &of(&all, &unknown));
        let message = release(&path, &folder.path("o.csv"), &[]).unwrap_err().to_string();
        assert!(message.contains("row 3: \"Zzz\""), "{message}");
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]));
        refuses(&file("float", &of(&all, &floats)), &["\"state\"", "Float64", "a string"]);
        refuses(&file("float2", &of(&floats, &states)), &["\"trajectory\"", "Float64"]);
        let other = table(vec![("name", all.clone()), ("state", states.clone())]);
        refuses(&file("other", &other), &["no column \"trajectory\"", "\"name\""]);
        let mut lists = ListBuilder::new(StringBuilder::new());
        lists.values().append_value("Baa");
        lists.append(true);
        lists.values().append_value("Ba");
        lists.values().append_null();
        lists.append(true);
        lists.append(false);
        let lists: ArrayRef = Arc::new(lists.finish());
        refuses(&file("list", &of(&all, &lists)), &["row 2", "\"state\"", "null"]);
        let rest = of(&all, &lists).slice(2, 1);
        refuses(&file("no-list", &rest), &["row 1", "\"state\"", "null"]);
        let twice = of(&all, &lists).slice(0, 1);
        let twice =
            arrow_select::concat::concat_batches(&twice.schema(), [&twice, &twice]).unwrap();
        let path = file("twice", &twice);
        let message = release(&path, &folder.path("o.csv"), &[]).unwrap_err().to_string();
        assert!(message.contains("row 2: the walk \"a\" goes on"), "{message}");
    }
}

#[test]
fn damaged_files_are_refused() {
    let folder = Folder::new();
    let batch = long(&DataType::Int64, &DataType::Utf8);
    for name in ["w.parquet", "w.arrow", "w.arrows"] {
        let bytes = fs::read(folder.columns(name, &batch)).unwrap();
        for cut in [bytes.len() / 2, bytes.len() - 9, 5] {
            let path = folder.path(&format!("cut{cut}-{name}"));
            fs::write(&path, &bytes[..cut]).unwrap();
            // A stream may lack its last mark, and then is whole.
            if !(name.ends_with('s') && cut == bytes.len() - 9) {
                refuses(&path, &["this is not a whole"]);
            }
        }
        fs::write(folder.path(&format!("text-{name}")), "trajectory,state\na,Baa\n").unwrap();
        refuses(&folder.path(&format!("text-{name}")), &["this is not a whole"]);
    }
    for (name, what) in [("w.csv.gz", "gzip"), ("w.csv.zst", "zstd")] {
        let bytes = fs::read(folder.text(name)).unwrap();
        fs::write(folder.path(&format!("cut-{name}")), &bytes[..bytes.len() - 5]).unwrap();
        refuses(&folder.path(&format!("cut-{name}")), &[what, "damaged or cut short"]);
        fs::write(folder.path(&format!("plain-{name}")), "trajectory,state\n").unwrap();
        refuses(&folder.path(&format!("plain-{name}")), &[what, "rename the file"]);
    }
}

#[test]
fn what_is_read_from_its_end_needs_a_file() {
    let folder = Folder::new();
    let batch = long(&DataType::Int64, &DataType::Utf8);
    for (name, word) in [("w.parquet", "Parquet"), ("w.arrow", "Arrow")] {
        let file = File::open(folder.columns(name, &batch)).unwrap();
        let error = WalkInput::new(Box::new(file), "pipe", WalkOptions::default()).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(word) && message.contains("save it to a file"), "{message}");
    }
    let file = File::open(folder.columns("w.arrows", &batch)).unwrap();
    let input = WalkInput::new(Box::new(file), "pipe", WalkOptions::default()).unwrap();
    assert_eq!(input.format(), WalkFormat::ArrowStream);
}
