//! Files and streams of Arrow, of which nothing is taken on trust.
//!
//! The decoder takes as much memory as a message says before it reads a byte of it, and panics at numbers that do not fit
//! together. So every message is first read as far as there is input for it, and its lengths are compared with what is
//! there; panics that are left become errors.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::{FileDecoder, StreamReader, read_footer_length};
use arrow_ipc::{Block, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};

/// Does what may panic if a file is damaged, and says so as an error. The decoders of tables check much, and not all:
/// they take offsets, types and counts of a file as if their own writer had made it.
///
/// Such a panic prints nothing: it is told as an error of the file.
pub(super) fn caught<T>(work: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    thread_local!(static CAUGHT_HERE: Cell<bool> = const { Cell::new(false) });
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !CAUGHT_HERE.get() {
                usual(panic);
            }
        }));
    });
    let before = CAUGHT_HERE.replace(true);
    // Whoever gets an error reads no further, so what a panic left half done is not seen.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    CAUGHT_HERE.set(before);
    outcome.unwrap_or_else(|_| Err(damaged("its parts do not fit together")))
}

fn damaged(what: &str) -> ArrowError {
    ArrowError::ParseError(format!("the file is damaged: {what}"))
}

fn cut_short() -> ArrowError {
    damaged("it is cut short")
}

/// What comes before the length of a message, but for the oldest writers.
const MARK: [u8; 4] = [0xff; 4];

/// A stream of messages, of which each is given only when all of it is there.
pub(super) struct WholeMessages<R> {
    input: R,
    message: Vec<u8>,
    given: usize,
}

impl<R: Read> WholeMessages<R> {
    /// The batches of a stream.
    pub(super) fn of(input: R) -> Result<StreamReader<Self>, ArrowError> {
        let messages = Self { input, message: Vec::new(), given: 0 };
        caught(|| StreamReader::try_new(messages, None))
    }

    /// Reads as many bytes, or none at the end. Takes no more memory than there is input.
    fn more(&mut self, count: u64) -> Result<bool, ArrowError> {
        match (&mut self.input).take(count).read_to_end(&mut self.message)? as u64 {
            read if read == count => Ok(true),
            0 => Ok(false),
            _ => Err(cut_short()),
        }
    }

    /// Reads the next message; an empty one at the end.
    fn next(&mut self) -> Result<(), ArrowError> {
        self.message.clear();
        self.given = 0;
        let whole = |there: bool| if there { Ok(()) } else { Err(cut_short()) };
        if !self.more(4)? {
            return Ok(());
        }
        if self.message == MARK {
            whole(self.more(4)?)?;
        }
        let start = self.message.len();
        let length = &self.message[start - 4..];
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]);
        if length == 0 {
            return Ok(());
        }
        whole(self.more(length.into())?)?;
        let body = body_length(&self.message[start..])?;
        let end = self.message.len();
        whole(self.more(body)?)?;
        check_lengths(&self.message[start..end], &self.message[end..])
    }
}

impl<R: Read> Read for WholeMessages<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.given == self.message.len() {
            self.next().map_err(|error| match error {
                ArrowError::IoError(_, error) => error,
                other => io::Error::other(other),
            })?;
        }
        let count = (&self.message[self.given..]).read(out)?;
        self.given += count;
        Ok(count)
    }
}

/// A file of batches.
pub(super) struct ArrowFile {
    input: File,
    length: u64,
    decoder: FileDecoder,
    schema: SchemaRef,
    batches: std::vec::IntoIter<Block>,
}

impl ArrowFile {
    pub(super) fn open(input: File) -> Result<Self, ArrowError> {
        caught(|| Self::try_open(input))
    }

    fn try_open(mut input: File) -> Result<Self, ArrowError> {
        /// The length of the footer, and what a file ends with.
        const TRAILER: u64 = 10;
        let length = input.metadata()?.len();
        let trailer = length.checked_sub(TRAILER).ok_or_else(cut_short)?;
        let mut ending = [0; TRAILER as usize];
        input.seek(SeekFrom::Start(trailer))?;
        input.read_exact(&mut ending)?;
        let size = read_footer_length(ending)? as u64;
        let start = trailer.checked_sub(size).ok_or_else(cut_short)?;
        let footer = bytes_at(&mut input, start, size)?;
        let footer = root_as_footer(&footer).map_err(|error| damaged(&error.to_string()))?;
        let blocks = footer.recordBatches().ok_or_else(|| damaged("it lists no batches"))?;
        let schema = footer.schema().ok_or_else(|| damaged("it names no columns"))?;
        if !schema.endianness().equals_to_target_endianness() {
            let other = "its numbers are in the byte order of another kind of processor";
            return Err(ArrowError::IpcError(other.to_owned()));
        }
        let schema = Arc::new(arrow_ipc::convert::fb_to_schema(schema));
        let mut file = Self {
            input,
            length,
            decoder: FileDecoder::new(schema.clone(), footer.version()),
            schema,
            batches: blocks.iter().copied().collect::<Vec<_>>().into_iter(),
        };
        for block in footer.dictionaries().into_iter().flatten() {
            let bytes = file.block(block)?;
            file.decoder.read_dictionary(block, &bytes)?;
        }
        Ok(file)
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The message of a block.
    fn block(&mut self, block: &Block) -> Result<Buffer, ArrowError> {
        let number =
            |number: i64| u64::try_from(number).map_err(|_| damaged("a length is negative"));
        let start = number(block.offset())?;
        let (about, body) = (number(block.metaDataLength().into())?, number(block.bodyLength())?);
        let size = about
            .checked_add(body)
            .filter(|size| start.checked_add(*size).is_some_and(|end| end <= self.length));
        let bytes = bytes_at(&mut self.input, start, size.ok_or_else(cut_short)?)?;
        let (message, body) = bytes.split_at(about as usize);
        let prefix = if message.starts_with(&MARK) { 8 } else { 4 };
        check_lengths(message.get(prefix..).ok_or_else(cut_short)?, body)?;
        Ok(Buffer::from_vec(bytes))
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        while let Some(block) = self.batches.next() {
            let bytes = self.block(&block)?;
            if let Some(batch) = self.decoder.read_record_batch(&block, &bytes)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

impl Iterator for ArrowFile {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

/// Bytes of a file that is at least this long.
fn bytes_at(input: &mut File, start: u64, count: u64) -> Result<Vec<u8>, ArrowError> {
    input.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    match input.take(count).read_to_end(&mut bytes)? as u64 == count {
        true => Ok(bytes),
        false => Err(cut_short()),
    }
}

fn body_length(message: &[u8]) -> Result<u64, ArrowError> {
    let message = root_as_message(message).map_err(|error| damaged(&error.to_string()))?;
    u64::try_from(message.bodyLength()).map_err(|_| damaged("a length is negative"))
}

/// Compares what compressed buffers say of their length with what the best codec could make of their bytes.
fn check_lengths(message: &[u8], body: &[u8]) -> Result<(), ArrowError> {
    /// Four bytes of zstd can be a block of 128 KiB, and no codec of Arrow says more in fewer.
    const MOST_OF_A_BYTE: u64 = 1 << 15;
    let message = root_as_message(message).map_err(|error| damaged(&error.to_string()))?;
    let batch = message
        .header_as_record_batch()
        .or_else(|| message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()));
    let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else { return Ok(()) };
    for buffer in batch.buffers().into_iter().flatten() {
        let bytes = usize::try_from(buffer.offset()).ok().and_then(|start| {
            let end = start.checked_add(usize::try_from(buffer.length()).ok()?)?;
            body.get(start..end)
        });
        let bytes = bytes.ok_or_else(|| damaged("a column is outside of its batch"))?;
        let Some((&says, packed)) = bytes.split_first_chunk::<8>() else { continue };
        // -1 is for bytes that are not compressed.
        let says = i64::from_le_bytes(says);
        if says > 0 && says as u64 / MOST_OF_A_BYTE > packed.len() as u64 {
            return Err(damaged("a column is said to be longer than its bytes can hold"));
        }
    }
    Ok(())
}
