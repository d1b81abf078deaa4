//! Tables that appear once they are complete, under a name or on standard output.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use veilwalk::Chain;
use veilwalk_io::{AtomicFile, ColumnKind, Compression, HeldOutput, TableWriter, WalkFormat};

use crate::args::is_standard_output;

/// A table that appears once it is complete.
pub(super) struct Output<'c> {
    pub(super) table: TableWriter<'c, Sink>,
}

/// Where a table goes.
#[derive(Debug)]
pub(super) enum Sink {
    File(Box<AtomicFile>),
    Standard(Box<HeldOutput>),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Standard(held) => held.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Standard(held) => held.flush(),
        }
    }
}

impl<'c> Output<'c> {
    pub(super) fn start(
        path: &Path,
        chain: &'c Chain,
        columns: &[(&str, ColumnKind)],
    ) -> Result<Self> {
        let format = WalkFormat::from_path(path).unwrap_or(WalkFormat::Csv);
        let compression = Compression::from_path(path);
        let (name, sink) = if is_standard_output(path) {
            ("standard output".to_owned(), Sink::Standard(Box::default()))
        } else {
            (path.display().to_string(), Sink::File(Box::new(AtomicFile::create(path)?)))
        };
        Ok(Self { table: TableWriter::new(sink, &name, format, compression, chain, columns)? })
    }

    /// Writes what is left.
    pub(super) fn finish(self) -> Result<Complete> {
        Ok(Complete(self.table.finish()?))
    }
}

/// A table of which everything is written but the name.
pub(super) struct Complete(Sink);

impl Complete {
    /// Gives it its name, or passes it on.
    pub(super) fn commit(self) -> Result<()> {
        match self.0 {
            Sink::File(file) => file.commit()?,
            Sink::Standard(held) => held.pass_on(std::io::stdout().lock())?,
        }
        Ok(())
    }
}
