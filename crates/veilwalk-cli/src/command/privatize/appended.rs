//! A file that a stream is appended to: rows are on the disk as soon as they are answered.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::terminal;

/// A file whose rows are on the disk after each flush.
pub(super) struct Appended {
    file: File,
    sync: Sync,
}

/// Whether the file can be waited for: a device cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sync {
    Yes,
    No,
}

/// What is in the file already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// The header, and perhaps rows.
    Rows,
}

impl Appended {
    /// Opens a file that may have rows under this header, or makes it. A last row that was cut is taken off.
    pub(super) fn open(path: &Path, header: &[u8]) -> Result<(Self, Found)> {
        let name = path.display();
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path);
        let mut file = file.with_context(|| format!("cannot write {name}"))?;
        let kind = file.metadata()?;
        let sync = if kind.is_file() { Sync::Yes } else { Sync::No };
        let found = if kind.is_file() && kind.len() > 0 {
            check_start(&mut file, header)
                .with_context(|| format!("{name} cannot be appended to"))?;
            if cut_row(&mut file, kind.len())? {
                terminal::warning(format!(
                    "{name}: the last row was not complete and is taken off"
                ));
            }
            Found::Rows
        } else {
            Found::Nothing
        };
        Ok((Self { file, sync }, found))
    }

    /// A file of its own.
    pub(super) fn create(path: &Path) -> Result<Self> {
        if path.metadata().is_ok_and(|there| there.is_file() && there.len() > 0) {
            bail!(
                "{}: there is something in this file, and without --state a stream does not go on with it; give \
                 another file, or keep walks with --state DIR",
                path.display()
            );
        }
        Self::open(path, b"").map(|(file, _)| file)
    }
}

fn check_start(file: &mut File, header: &[u8]) -> Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let mut first = Vec::new();
    BufReader::new(&*file).take(header.len().max(1) as u64).read_until(b'\n', &mut first)?;
    match header {
        [] if first != b"{" => bail!("it does not begin with an object; give another file"),
        [_, ..] if first != header => {
            bail!(
                "its first line is not {:?}; give another file",
                String::from_utf8_lossy(header).trim_end()
            )
        }
        _ => Ok(()),
    }
}

/// Takes off what comes after the last newline, and says whether there was anything.
fn cut_row(file: &mut File, length: u64) -> Result<bool> {
    const PIECE: u64 = 1 << 16;
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(PIECE);
        let mut piece = vec![0; (end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut piece)?;
        if let Some(place) = piece.iter().rposition(|&byte| byte == b'\n') {
            let kept = start + place as u64 + 1;
            if kept == length {
                return Ok(false);
            }
            file.set_len(kept)?;
            return Ok(true);
        }
        end = start;
    }
    file.set_len(0)?;
    Ok(true)
}

impl Write for Appended {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.sync {
            Sync::Yes => self.file.sync_data(),
            Sync::No => self.file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_gone_on_with_where_its_last_row_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        let header = b"trajectory,step,state\n";
        let (mut file, found) = Appended::open(&path, header).unwrap();
        assert_eq!(found, Found::Nothing);
        file.write_all(b"trajectory,step,state\na,0,B\na,1,").unwrap();
        file.flush().unwrap();
        let (mut file, found) = Appended::open(&path, header).unwrap();
        assert_eq!(found, Found::Rows);
        file.write_all(b"a,1,Caa\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "trajectory,step,state\na,0,B\na,1,Caa\n");
        assert!(Appended::open(&path, b"trajectory,step,state,observed\n").is_err());
        assert!(Appended::open(&path, b"").is_err(), "no objects");
        assert!(Appended::create(&path).is_err());
    }
}
