//! Walks: text row by row, tables of Arrow, and whole releases.

use std::io::{Cursor, Read};
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use veilwalk::random::{ReleaseId, Secret};
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Source, Start, StateId};
use veilwalk_io::{
    Compression, Grouping, ReadError, ReleaseOutput, ReleaseWriter, UnknownStates, WalkFormat,
    WalkInput, WalkOptions, WalkReader, WalkRelease, WalkWriter, release_rows,
};

use crate::{Outcome, taken};

/// The name of a walk and a state, of each row.
type Rows = Vec<(String, String)>;

/// CSV or TSV, also compressed.
pub(crate) fn csv(data: &[u8]) -> Outcome {
    text(data, WalkFormat::Csv)
}

/// NDJSON, also compressed.
pub(crate) fn ndjson(data: &[u8]) -> Outcome {
    text(data, WalkFormat::Ndjson)
}

fn text(data: &[u8], format: WalkFormat) -> Outcome {
    let at_once = rows(data, Some(format));
    let in_bits = rows(Trickle(data), Some(format));
    let packed = data.starts_with(&[0x1f, 0x8b]) || data.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    // Of packed data that are damaged, more or less is unpacked before it shows; and lines cannot be counted here.
    let words = |read: &Result<Rows, ReadError>| match read {
        Err(_) if packed => Err(String::new()),
        read => read.as_ref().map_err(ToString::to_string).cloned(),
    };
    assert_eq!(words(&at_once), words(&in_bits), "how bytes arrive makes a difference");
    if let Err(error) = &at_once
        && let Some(line) = error.line()
    {
        let lines = data.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        assert!(packed || (1..=lines).contains(&line), "line {line} of {lines}");
    }
    let Some(seen) = taken(at_once) else { return Outcome::Refused };
    for format in [WalkFormat::Csv, WalkFormat::Tsv, WalkFormat::Ndjson] {
        assert_eq!(rows(&written(&seen, format)[..], Some(format)).unwrap(), seen, "{format:?}");
    }
    Outcome::Accepted
}

fn rows(input: impl Read, format: Option<WalkFormat>) -> Result<Rows, ReadError> {
    let options = WalkOptions { format, ..WalkOptions::default() };
    let mut reader = WalkReader::new(input, "walks", options)?;
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row()? {
        assert!(!row.trajectory.is_empty() && !row.state.is_empty(), "an empty name or state");
        rows.push((row.trajectory.to_owned(), row.state.to_owned()));
    }
    Ok(rows)
}

/// Every row as a walk of its own.
fn written(rows: &Rows, format: WalkFormat) -> Vec<u8> {
    let labels: Vec<String> = rows.iter().map(|(_, state)| state.clone()).collect();
    let none = Compression::None;
    let mut writer = WalkWriter::new(Vec::new(), "out", format, none, &labels).unwrap();
    for (place, (walk, _)) in rows.iter().enumerate() {
        writer.write_walk(walk, &[StateId::new(place)]).unwrap();
    }
    writer.finish().unwrap()
}

/// Gives its bytes out one by one, as a slow pipe does.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let amount = self.0.len().min(out.len()).min(1);
        out[..amount].copy_from_slice(&self.0[..amount]);
        self.0 = &self.0[amount..];
        Ok(amount)
    }
}

/// A whole release, by the engine that works on parts and by the one that goes row by row.
pub(crate) fn release(data: &[u8]) -> Outcome {
    static CREDIT: LazyLock<Arc<Mechanism>> = LazyLock::new(|| {
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
        Arc::new(Mechanism::new(model, Preset::Cell.design(), promise).unwrap())
    });
    let secret = Secret::new(b"a secret of sixteen bytes").unwrap();
    let source = Source::keyed(secret, ReleaseId::from_bytes([1; 16]));
    let release = WalkRelease {
        mechanism: CREDIT.clone(),
        source: &source,
        start: Start::Private,
        unknown_states: UnknownStates::Skip,
        grouping: Grouping::Alternating,
        charge: None,
        watch: &|_| ControlFlow::Continue(()),
    };
    let options = || WalkOptions { format: Some(WalkFormat::Csv), ..WalkOptions::default() };
    let by_rows = || {
        let reader = WalkReader::new(data, "walks", options())?;
        release_rows(&release, reader, ReleaseWriter::new(Vec::new(), "out", WalkFormat::Csv, &[])?)
    };
    let in_parts = || {
        let input = WalkInput::new(Box::new(Cursor::new(data.to_vec())), "walks", options())?;
        let (format, none) = (WalkFormat::Csv, Compression::None);
        release.run(input, ReleaseOutput::new(Vec::new(), "out", format, none, &[])?, 1)
    };
    // Where several rows are wrong, either may be told.
    let (by_rows, in_parts) = (taken(by_rows()), taken(in_parts()));
    assert_eq!(by_rows, in_parts, "both engines release the same");
    let Some((tally, out)) = in_parts else { return Outcome::Refused };
    let seen = rows(&out[..], Some(WalkFormat::Csv)).unwrap();
    assert_eq!(seen.len() as u64, tally.states);
    Outcome::Accepted
}
