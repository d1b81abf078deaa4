//! Tables of Arrow of which some bytes are others: an error or another table, and never the end of the program.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray, types::Int32Type};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use veilwalk_io::{ReadError, WalkFormat, WalkOptions, WalkReader};

fn batch() -> RecordBatch {
    let walks: StringArray = (0..40).map(|row| Some(["ann", "bob"][row / 20])).collect();
    let states: DictionaryArray<Int32Type> = (0..40).map(|row| ["home", "work"][row % 2]).collect();
    let columns: [(&str, ArrayRef); 2] =
        [("trajectory", Arc::new(walks)), ("state", Arc::new(states))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn written(format: WalkFormat, compression: Option<CompressionType>) -> Vec<u8> {
    let batch = batch();
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    match format {
        WalkFormat::ArrowFile => {
            let mut out =
                FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
            out.write(&batch).unwrap();
            out.into_inner().unwrap()
        }
        _ => {
            let mut out =
                StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
            out.write(&batch).unwrap();
            out.into_inner().unwrap()
        }
    }
}

/// The number of rows.
fn read(path: &Path, format: WalkFormat) -> Result<usize, ReadError> {
    let options = WalkOptions { format: Some(format), ..WalkOptions::default() };
    let mut reader = WalkReader::open(path, options)?;
    let mut rows = 0;
    while reader.next_row()?.is_some() {
        rows += 1;
    }
    Ok(rows)
}

/// The decoder alone takes as much memory as a byte in a length asks for, and panics at some others.
#[test]
fn no_byte_ends_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("walks");
    let compressions = [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)];
    for format in [WalkFormat::ArrowFile, WalkFormat::ArrowStream] {
        for compression in compressions {
            let good = written(format, compression);
            std::fs::write(&path, &good).unwrap();
            assert_eq!(read(&path, format).unwrap(), 40);
            let mut refused = 0;
            for place in 0..good.len() {
                for change in [0x01, 0x40] {
                    let mut bytes = good.clone();
                    bytes[place] ^= change;
                    std::fs::write(&path, &bytes).unwrap();
                    if let Err(error) = read(&path, format) {
                        assert!(!error.to_string().trim().is_empty());
                        refused += 1;
                    }
                }
            }
            println!("{format:?}, {compression:?}: {refused} of {} refused", 2 * good.len());
            assert!(refused > good.len() / 8, "{format:?}, {compression:?}: {refused}");
        }
    }
}

/// Cut anywhere, a file is refused; of a stream no message is lost without an error.
#[test]
fn what_is_cut_short_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("walks");
    for format in [WalkFormat::ArrowFile, WalkFormat::ArrowStream] {
        let good = written(format, None);
        for length in 0..good.len() {
            std::fs::write(&path, &good[..length]).unwrap();
            let read = read(&path, format);
            match format {
                WalkFormat::ArrowFile => drop(read.unwrap_err()),
                // Between two messages a stream may end.
                _ => assert!(matches!(read, Err(_) | Ok(0 | 40)), "{length}: {read:?}"),
            }
        }
    }
}

/// A length that nobody's memory holds, where it matters most: the bytes of a batch, and of a compressed column.
#[test]
fn a_length_beyond_all_memory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("walks");
    for format in [WalkFormat::ArrowFile, WalkFormat::ArrowStream] {
        let good = written(format, Some(CompressionType::ZSTD));
        let mut refused = 0;
        // Numbers of eight bytes lie at multiples of eight.
        for place in (0..good.len() - 8).step_by(8) {
            for length in [i64::MAX, i64::MAX / 4096, 1 << 45, -9] {
                let mut bytes = good.clone();
                bytes[place..place + 8].copy_from_slice(&length.to_le_bytes());
                std::fs::write(&path, &bytes).unwrap();
                refused += usize::from(read(&path, format).is_err());
            }
        }
        assert!(refused > good.len() / 8, "{format:?}: {refused}");
    }
}
