//! gzip and zstd: told by their first bytes when read, by the name of the file when written.
//!
//! Both formats allow one compressed part to follow another. A release is compressed part by part on
//! all cores that way, and every reader of the format takes the parts for one file.

use std::fmt;
use std::io::{self, BufReader, Cursor, Read, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// How the bytes of a text file are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// gzip, `.gz`.
    Gzip,
    /// Zstandard, `.zst`.
    Zstd,
}

impl Compression {
    /// The compression that a file's last extension stands for.
    #[must_use]
    pub fn from_path(path: &Path) -> Self {
        match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("gz") => Self::Gzip,
            Some("zst" | "zstd") => Self::Zstd,
            _ => Self::None,
        }
    }

    /// The compression of data that starts with these bytes.
    fn of_magic(bytes: &[u8]) -> Self {
        match bytes {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// These bytes as one compressed part.
    pub(crate) fn pack(self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(bytes),
            Self::Gzip => {
                let out = Vec::with_capacity(bytes.len() / 3);
                let mut encoder = GzEncoder::new(out, flate2::Compression::default());
                encoder.write_all(&bytes)?;
                encoder.finish()
            }
            Self::Zstd => {
                let mut encoder = zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                encoder.compress(&bytes)
            }
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "not compressed",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// Compressed data that cannot be unpacked.
#[derive(Debug)]
pub(crate) struct Damaged {
    pub(crate) compression: Compression,
    pub(crate) problem: String,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Damaged {}

/// Input whose first bytes have been looked at, and come again.
pub(crate) type Peeked<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// Input of which nothing needs to be looked at.
pub(crate) fn unpeeked<R: Read>(input: R) -> Peeked<R> {
    Cursor::new(Vec::new()).chain(input)
}

/// Looks at the first bytes, up to the longest magic number, without waiting for more of them than it
/// takes to tell.
pub(crate) fn peek<R: Read>(mut input: R, magics: &[&[u8]]) -> io::Result<(Vec<u8>, Peeked<R>)> {
    let mut first = Vec::new();
    let undecided =
        |first: &[u8]| magics.iter().any(|m| m.len() > first.len() && m.starts_with(first));
    while undecided(&first) {
        let mut byte = [0];
        match input.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => first.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((first.clone(), Cursor::new(first).chain(input)))
}

/// Input that is unpacked if its first bytes say that it is packed. They are looked at when it is
/// first read.
pub(crate) struct Unpacked<R: Read>(Stage<R>);

enum Stage<R: Read> {
    Unread(Option<R>),
    Plain(Peeked<R>),
    Gzip(Box<MultiGzDecoder<BufReader<Peeked<R>>>>),
    Zstd(Box<zstd::Decoder<'static, BufReader<Peeked<R>>>>),
}

impl<R: Read> Unpacked<R> {
    const BUFFER: usize = 1 << 16;

    pub(crate) fn new(input: R) -> Self {
        Self(Stage::Unread(Some(input)))
    }

    /// Input that is not packed, whatever its first bytes are.
    pub(crate) fn plain(input: R) -> Self {
        Self(Stage::Plain(unpeeked(input)))
    }

    /// Looks at the first bytes, and says how the input is packed.
    pub(crate) fn compression(&mut self) -> io::Result<Compression> {
        if let Stage::Unread(input) = &mut self.0 {
            let input = input.take().ok_or_else(|| io::Error::other("the input has failed"))?;
            let (first, input) = peek(input, &[&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd]])?;
            let buffered = |input| BufReader::with_capacity(Self::BUFFER, input);
            self.0 = match Compression::of_magic(&first) {
                Compression::None => Stage::Plain(input),
                Compression::Gzip => Stage::Gzip(Box::new(MultiGzDecoder::new(buffered(input)))),
                Compression::Zstd => {
                    Stage::Zstd(Box::new(zstd::Decoder::with_buffer(buffered(input))?))
                }
            };
        }
        Ok(match self.0 {
            Stage::Gzip(_) => Compression::Gzip,
            Stage::Zstd(_) => Compression::Zstd,
            _ => Compression::None,
        })
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let compression = self.compression()?;
        let result = match &mut self.0 {
            Stage::Unread(_) => Ok(0),
            Stage::Plain(input) => return input.read(buffer),
            Stage::Gzip(input) => input.read(buffer),
            Stage::Zstd(input) => input.read(buffer),
        };
        result.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::Other => {
                io::Error::other(Damaged { compression, problem: error.to_string() })
            }
            _ => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        Unpacked::new(bytes).read_to_end(&mut out).map(|_| out)
    }

    #[test]
    fn parts_read_as_one() {
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            let pack = |bytes: &[u8]| compression.pack(bytes.to_vec()).unwrap();
            let packed = [pack(b"first, "), pack(b""), pack(&b"second".repeat(10_000))].concat();
            let expected = [&b"first, "[..], &b"second".repeat(10_000)].concat();
            assert_eq!(unpacked(&packed).unwrap(), expected, "{compression}");
            assert_eq!(Unpacked::new(&packed[..]).compression().unwrap(), compression);
        }
    }

    #[test]
    fn short_and_empty_input_is_plain() {
        for bytes in [&b""[..], b"a", b"\x1f", b"\x28\xb5", b"(\n"] {
            assert_eq!(unpacked(bytes).unwrap(), bytes);
        }
    }

    #[test]
    fn what_is_cut_or_changed_is_damaged() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let packed = compression.pack(b"walk".repeat(1000)).unwrap();
            let mut changed = packed.clone();
            changed[packed.len() / 2] ^= 0x55;
            for bad in [&packed[..packed.len() - 3], &changed] {
                let error = unpacked(bad).unwrap_err();
                let inner = error.get_ref().unwrap().downcast_ref::<Damaged>();
                assert_eq!(inner.unwrap().compression, compression);
            }
        }
    }
}
