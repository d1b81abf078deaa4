//! Without the features for columns, text is read as ever, and columns are refused with the reason.
//!
//! ```text
//! cargo test -p veilwalk-io --no-default-features --test text_only
//! ```

#![cfg(not(feature = "arrow"))]

use std::fs;

use veilwalk_io::{ReleaseOutput, WalkFormat, WalkInput, WalkOptions, WalkReader};

#[test]
fn columns_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in [("w.parquet", "Parquet"), ("w.arrow", "Arrow"), ("w.arrows", "Arrow")] {
        let path = folder.path().join(name);
        fs::write(&path, "anything").unwrap();
        let reader = WalkReader::open(&path, WalkOptions::default()).map(|_| ()).unwrap_err();
        let input = WalkInput::open(&path, WalkOptions::default()).map(|_| ()).unwrap_err();
        for message in [reader.to_string(), input.to_string()] {
            assert!(message.contains(name), "{message}");
            assert!(message.contains(&format!("does not read {format}")), "{message}");
        }
    }
}

#[test]
fn text_is_read() {
    let text = "trajectory,state\nann,home\n";
    let mut reader = WalkReader::new(text.as_bytes(), "w", WalkOptions::default()).unwrap();
    assert_eq!(reader.next_row().unwrap().unwrap().state, "home");
    let compression = veilwalk_io::Compression::None;
    assert!(ReleaseOutput::new(Vec::new(), "out", WalkFormat::Csv, compression, &[]).is_ok());
}
